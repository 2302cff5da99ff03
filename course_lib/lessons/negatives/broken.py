"""Counterexamples of the chapter: each assumption dropped once, in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from course_lib.lessons.negatives.proofs import law, slot_gradient
from course_lib.lessons.shared.counterexample import Counterexample

WINDOWS = law(7, 1, 1, 1), law(1, 7, 1, 1)  # what is popular, then and later
VISITS = law(9, 1), law(1, 9)  # of two people, over the two windows


def negatives_alone_corrected() -> Counterexample:
    """The correction on the negatives alone: at s = log p, which logQ promises, the gradient is not 0.

    Two films, p = (1/2, 1/2), q = (3/4, 1/4), one candidate beside the positive. The sum then holds exp(s) of the
    positive and exp(s) / q of the other.
    """
    p, q = law(1, 1), law(3, 1)
    slope = [Fraction(0), Fraction(0)]
    for own in range(2):
        for other in range(2):
            own_weight, weight = p[own], p[other] / q[other]
            share = own_weight / (own_weight + weight)
            slope[own] += p[own] * q[other] * (share - 1)
            slope[other] += p[own] * q[other] * (1 - share)
    return Counterexample("the positive is corrected too", Fraction(0), slope[0])


def negatives_and_positive_corrected() -> Counterexample:
    """The same with both corrected, exp(s) / q with s = log p: the gradient is 0."""
    p, q = law(1, 1), law(3, 1)
    slope = slot_gradient(p, q, [a / b for a, b in zip(p, q, strict=True)], 1)
    return Counterexample("nothing: the correction on both", Fraction(0), slope[0])


def shuffled_optimum(person: int) -> list[Fraction]:
    """exp(score) of each film at the optimum of shuffled batches, for a person without any taste of their own."""
    visits = VISITS[person]
    chosen = [sum(visit * window[film] for visit, window in zip(visits, WINDOWS, strict=True)) for film in range(4)]
    drawn = [sum(window[film] for window in WINDOWS) / 2 for film in range(4)]
    return [Fraction(a) / Fraction(b) for a, b in zip(chosen, drawn, strict=True)]


def shuffled_batches() -> Counterexample:
    """Two people without taste, who come at different times: shuffled batches give them tastes, 8/5, 2/5, 1, 1.

    claimed: exp(score) in batches of one window, the same for every film.
    """
    return Counterexample(
        "a batch is of one window",
        np.array([Fraction(1)] * 4, dtype=object),
        np.array(shuffled_optimum(0), dtype=object),
    )


def log_q_twice() -> Counterexample:
    """Trained with logQ and multiplied back as well: a film's probability times its share, not its probability.

    claimed: p_1 / p_2 = 1; actual: p_1 q_1 / (p_2 q_2) at q = (4/5, 1/5).
    """
    p, q = law(1, 1), law(4, 1)
    return Counterexample("one correction, not two", Fraction(1), p[0] * q[0] / (p[1] * q[1]), Fraction(3))


def a_number_beside_the_cosine() -> Counterexample:
    """Two people who differ by 8 logits on two films, at τ 1/2, and a number for each film beside the cosine: 3 apart.

    claimed: popularity squared and taste squared are 4 / τ² = 16 together; actual: 9 + 16.
    """
    tau, own = Fraction(1, 2), Fraction(3)
    gaps = [(own + sign * 2 / tau) for sign in (1, -1)]  # u = v and u = w, with w = -v
    mean = sum(gaps) / 2
    variance = sum((gap - mean) ** 2 for gap in gaps) / 2
    return Counterexample("the score is a cosine and nothing else", 4 / tau**2, mean**2 + variance, Fraction(9))
