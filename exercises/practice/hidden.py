"""Hidden checks of the assignment practice. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from course_lib.lessons.practice import checks as public
from exercises.engine.inputs import Answer, generator

WORDS = ("none", "training", "serving", "both")


def _fractions(seed: int, length: int, least: int = 1, most: int = 12, below: int = 12) -> list[Fraction]:
    return [Fraction(int(x), below) for x in generator(seed).integers(least, most + 1, size=length)]


def _law(seed: int, length: int) -> list[Fraction]:
    values = _fractions(seed, length)
    return [value / sum(values) for value in values]


def _whole(seed: int, length: int, least: int, most: int) -> list[int]:
    return [int(x) for x in generator(seed).integers(least, most + 1, size=length)]


def sampled(answer: Answer, **numbers: Any) -> None:
    """Task 1: the first and the last rank, lists longer than the sample, and many items."""
    cases = [(1, 7, 3, 2), (8, 7, 3, 2), (5, 9, 2, 4), (120, 681, 20, 10), (400, 681, 100, 10), (11, 40, 40, 10)]
    public.check_sampled(answer, [*cases, *((rank, 30, 9, 4) for rank in _whole(11, 2, 5, 25))], **numbers)


def holm(answer: Answer, **numbers: Any) -> None:
    """Task 2: one comparison, equal ones, large ones, and twelve in another order."""
    twelve = [Fraction(n, 400) for n in _whole(12, 12, 1, 399)]
    public.check_holm(
        answer, [[Fraction(1, 25)], [Fraction(1, 9)] * 3, [Fraction(2, 3), Fraction(1, 2)], twelve], **numbers
    )


def mixture(answer: Answer, **numbers: Any) -> None:
    """Task 3a: no uniform draw, nothing else, and mixtures."""
    cases = [(_whole(13 + n, 4 + n, 1, 30), share) for n, share in enumerate(map(Fraction, ("0", "1", "1/3", "4/5")))]
    public.check_mixture(answer, cases, **numbers)


def served(answer: Answer, **numbers: Any) -> None:
    """Task 3b: all corrections, with and without hits."""
    cases = [
        (_law(20 + n, 3 + n), _law(30 + n, 3 + n), _whole(40 + n, 3 + n, 1, 9), weight, word)
        for n, word in enumerate(WORDS)
        for weight in (0, 1, 2)
    ]
    public.check_served(answer, cases, **numbers)


def floor(answer: Answer, **numbers: Any) -> None:
    """Task 4a: two items, a catalogue, and temperatures small and large."""
    public.check_floor(answer, [(2, 0.3), (682, 0.5), (682, 0.05), (1_000_000, 0.1), (20, 3.0)], **numbers)


def largest_tau(answer: Answer, **numbers: Any) -> None:
    """Task 4b: small and large probabilities."""
    public.check_tau(answer, [(682, 0.01), (682, 0.99), (1_000_000, 0.5), (9, 0.6)], **numbers)


def moves(answer: Answer, **numbers: Any) -> None:
    """Task 5a: other widths, a film that shares no feature with the batch, and a batch of one."""
    cases = []
    for n, (films, features, width) in enumerate(((3, 4, 2), (1, 2, 3), (5, 3, 1))):
        x = [_fractions(50 + 10 * n + row, features, -6, 6, 3) for row in range(films)]
        g = [_fractions(150 + 10 * n + row, width, -6, 6, 5) for row in range(films)]
        cases += [
            (x, g, new, Fraction(1, 3)) for new in (_fractions(250 + n, features, 1, 6, 3), [Fraction(0)] * features)
        ]
    public.check_moves(answer, cases, **numbers)


def rates(answer: Answer, **numbers: Any) -> None:
    """Task 5b: other priors, films that nobody has watched yet, and films watched for long."""
    cases = [
        (a, b, _whole(61 + n, 4, 0, 9), [0, 1, 7, 90])
        for n, (a, b) in enumerate([(Fraction(1, 20), Fraction(2)), (Fraction(3), Fraction(1, 4))])
    ]
    public.check_rates(answer, cases, **numbers)


def bound(answer: Answer, **numbers: Any) -> None:
    """Task 6a: negative numbers, zeros, one coordinate."""
    cases = [
        (_fractions(71, 5, -9, 9), _fractions(72, 5)),
        ([Fraction(0)] * 2, _fractions(73, 2)),
        ([Fraction(-7, 2)], [Fraction(1, 8)]),
    ]
    public.check_bound(answer, cases, **numbers)


def candidates(answer: Answer, **numbers: Any) -> None:
    """Task 6b: exact scores, a gap that is just too small, bounds that certify nothing, many items."""
    many = _fractions(81, 40, 1, 400, 8)
    tied = [Fraction(n) for n in (9, 7, 7, 5, 4, 1)]
    cases = [(many, bound, k) for bound in map(Fraction, ("0", "1/8", "2", "90")) for k in (1, 10)]
    public.check_candidates(
        answer, [*cases, (tied, Fraction(1), 1), (tied, Fraction(1), 3), (tied, Fraction(4), 2)], **numbers
    )
