"""Counterexamples: each assumption of the chapter dropped once."""

from __future__ import annotations

from fractions import Fraction

from course_lib.lessons.shared.counterexample import Counterexample


def absolute_distances() -> Counterexample:
    """With distances that are not squared, the mean of 0, 0, 3 is not the nearest point: the median is.

    claimed: the sum of the distances to the mean; actual: to the median, which is smaller.
    FILL IN: one function for each assumption.
    """
    numbers = [Fraction(0), Fraction(0), Fraction(3)]
    mean, median = sum(numbers) / len(numbers), numbers[1]
    at_mean, at_median = (sum(abs(x - at) for x in numbers) for at in (mean, median))
    return Counterexample("distances are squared", at_mean, at_median, Fraction(-1))
