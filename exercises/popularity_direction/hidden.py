"""Hidden checks of the assignment popularity-direction. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib.lessons.popularity_direction import checks as public
from exercises.engine.inputs import Answer, drawn, generator

THIRD, FIFTH = Fraction(1, 3), Fraction(1, 5)


def _table(seed: int, n: int, d: int) -> Any:
    return generator(seed).normal(size=(n, d)).tolist()


def _counts(seed: int, n: int) -> Any:
    return generator(seed).geometric(0.1, size=n).tolist()


def direction(answer: Answer) -> None:
    """Task 1a: many equal counts, few items, a single item at each end, the films."""
    items, counts, _ = public.films(4, seed=drawn(3))
    cases = [(_table(101, 60, 5), _counts(101, 60), ratio) for ratio in (0.05, 0.3, 0.5)]
    ties = (_table(102, 20, 3), [5, 1, 1, 5, 1] * 4, 0.15)
    public.check_direction(
        answer, [*cases, ties, (_table(103, 7, 2), [3, 3, 3, 1, 1, 1, 2], 0.01), (items, counts, 0.05)]
    )


def cross_fitted(answer: Answer, **numbers: Any) -> None:
    """Task 1b: two to four folds of different sizes, items without any popularity in them, the films."""
    rng = generator(104)
    for folds, n, d in ((2, 40, 3), (4, 60, 8), (3, 45, 2)):
        fold = rng.permutation(n) % folds
        fold[:2] = 0
        public.check_cross_fitted(
            answer, [(_table(105 + folds, n, d), _counts(folds, n), 0.1, fold.tolist())], **numbers
        )
    items, counts, _ = public.films(4, seed=drawn(3))
    public.check_cross_fitted(answer, [(items, counts, 0.05, (rng.permutation(len(counts)) % 2).tolist())], **numbers)


def _labels(seed: int, m: int, n: int, sizes: list[int]) -> list[Any]:
    return _liked(generator(seed), m, n, sizes)


def _liked(rng: np.random.Generator, m: int, n: int, sizes: list[int]) -> list[Any]:
    return [
        np.isin(np.arange(n), rng.choice(n, size=sizes[u % len(sizes)], replace=False)).astype(int).tolist()
        for u in range(m)
    ]


def _still_liked(seed: int, m: int, n: int, sizes: list[int]) -> list[Any]:
    """Labels where every user lacks an item that somebody has, as task 3 promises: drawn again until they are so."""
    rng = generator(seed)
    while True:
        labels = _liked(rng, m, n, sizes)
        table = np.array(labels)
        if ((1 - table) @ table.sum(axis=0)).all():
            return labels


def _tastes(seed: int, m: int, d: int) -> Any:
    return generator(seed).integers(-4, 5, size=(m, d)).tolist()


def pull_even(answer: Answer, **numbers: Any) -> None:
    """Task 2: other sizes, one dimension."""
    public.check_pull(
        answer,
        [(_labels(111, 5, 7, [3]), _tastes(111, 5, 3)), (_labels(112, 2, 5, [1]), _tastes(112, 2, 1))],
        **numbers,
    )


def pull_uneven(answer: Answer, **numbers: Any) -> None:
    """Task 2: users with one item and with all but one, embeddings that are fractions."""
    tastes = [[Fraction(x, 3) for x in row] for row in _tastes(113, 6, 2)]
    public.check_pull(
        answer,
        [(_labels(113, 6, 6, [1, 5, 2]), tastes), (_labels(114, 9, 12, [4, 1, 11, 7]), _tastes(114, 9, 4))],
        **numbers,
    )


def negatives_uniform(answer: Answer, **numbers: Any) -> None:
    """Task 3: users who have nearly everything, items that everybody has."""
    everybody = [[1, *row] for row in _still_liked(115, 5, 4, [3, 1])]
    for labels in (everybody, _still_liked(116, 8, 9, [2, 8, 5])):
        public.check_negatives(answer, [(labels, law) for law in ("unseen", "all")], **numbers)


def negatives_popular(answer: Answer, **numbers: Any) -> None:
    """Task 3: the same users, and items of very different counts."""
    everybody = [[1, *row] for row in _still_liked(115, 5, 4, [3, 1])]
    tables = (everybody, _still_liked(116, 8, 9, [2, 8, 5]))
    public.check_negatives(answer, [(labels, "popularity") for labels in tables], **numbers)


def step(answer: Answer, **numbers: Any) -> None:
    """Task 4a: hundreds of triples, margins in the hundreds, and large steps.

    At rates above 1 the steps magnify rounding: single precision, which is enough by the statement, would be refused.
    """
    rng = generator(117)
    for m, n, d, number, lr, scale in ((4, 6, 3, 200, 0.1, 0.5), (2, 3, 2, 30, 0.7, 1.0), (2, 3, 2, 4, 0.01, 30.0)):
        users, items = (rng.normal(scale=scale, size=(rows, d)).tolist() for rows in (m, n))
        pairs = [rng.choice(n, size=2, replace=False).tolist() for _ in range(number)]
        public.check_step(answer, [(users, items, [(int(rng.integers(m)), i, j) for i, j in pairs], lr)], **numbers)


def decayed_sum(answer: Answer, **numbers: Any) -> None:
    """Task 4b: many steps, no decay, no sum, a decay that turns the sum round."""
    cases: list[Any] = [
        ([3, THIRD, -1], FIFTH, Fraction(1, 7), 12),
        ([5, 2], Fraction(1, 3), 0, 9),
        ([0, 0], 1, THIRD, 4),
        ([1, -4], 2, Fraction(1, 2), 3),
        ([7, 1], FIFTH, THIRD, 0),
    ]
    public.check_sum(answer, cases, **numbers)


def gap(answer: Answer) -> None:
    """Task 4c: one positive and all but one, fractions."""
    cases: list[Any] = [
        ([[2, -1, THIRD]], [0, 0, 0], 9),
        ([[1, 2], [0, 5], [-3, FIFTH]], [4, -1], 4),
        ([[1], [2], [4]], [Fraction(-7, 2)], 100),
        (_tastes(118, 4, 3), _tastes(119, 1, 3)[0], 12),
    ]
    public.check_gap(answer, cases)


def two_tastes(answer: Answer) -> None:
    """Task 5a: few and many, wide and tall."""
    public.check_two_tastes(answer, [(6, 10), (12, 8), (30, 14), (10, 40)])


def against_the_mean(answer: Answer, **numbers: Any) -> None:
    """Task 5b: from one liker to all users but one."""
    public.check_against(answer, [(2, 1), (7, 2), (7, 5), (10, 9), (51, 50), (50, 49), (100, 51)], **numbers)


def null_small(answer: Answer, **numbers: Any) -> None:
    """Task 6: few and many items, wide and narrow tables."""
    cases = [(_counts(118, n), d, ratio) for n, d, ratio in ((300, 64, 0.05), (25, 3, 0.5), (12, 2, 0.01))]
    public.check_null(answer, cases, **numbers)


def null_films(answer: Answer, **numbers: Any) -> None:
    """Task 6 on the films, at several widths and ratios."""
    counts = public.films(0)[1]
    public.check_null(answer, [(counts, d, ratio) for d, ratio in ((64, 0.05), (2, 0.2), (256, 0.01))], **numbers)
