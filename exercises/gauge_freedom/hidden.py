"""Hidden checks of the assignment gauge-freedom. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import gauge
from course_lib.lessons.gauge_freedom import checks as public
from exercises.engine.inputs import Answer, drawn, generator

ALL_CORNERS = [[Fraction(sign, 2) for sign in signs] for signs in itertools.product((1, -1), repeat=4)]
FEW = [[1, 2, 2, 0], [2, -1, 2, 0], [0, 3, 0, 1]]
MANY = [[1, 2, 2], [2, 1, -2], [3, 0, 4], [1, -1, 0], [0, 2, 1], [2, 2, 2], [1, 1, -3]]
REPEATED = [[1, 2, 3], [2, 4, 6], [1, 2, -3], [3, 1, 2]]
PAIRED = [[1, 1, 2], [3, -3, 1], [2, 2, -5], [1, -1, 0], [1, 1, 7]]


def diagonal_dimension(answer: Answer, **numbers: Any) -> None:
    """Task 1a: sign codes, fewer rows than columns, repeated rows, equal squares, a generic table."""
    public.check_diagonal(answer, [ALL_CORNERS, FEW, MANY, REPEATED, PAIRED, _wide()], **numbers)


def linear_dimension(answer: Answer, **numbers: Any) -> None:
    """Task 1b: the same tables."""
    public.check_linear(answer, [ALL_CORNERS, FEW, MANY, REPEATED, PAIRED, _wide()], **numbers)


def _wide() -> Any:
    """Few rows and many columns: every condition costs a freedom."""
    return generator(41).integers(-5, 6, size=(8, 17)).tolist()


def feasible_square(answer: Answer, **numbers: Any) -> None:
    """Task 2: as many rows as columns."""
    public.check_feasible(answer, [(2, 2), (3, 3), (5, 5)], **numbers)


def feasible_many(answer: Answer, **numbers: Any) -> None:
    """Task 2: more rows than all linear gauges have dimensions."""
    public.check_feasible(answer, [(3, 12), (4, 25), (6, 60)], **numbers)


def nearest(answer: Answer) -> None:
    """Task 3: items in three and four dimensions; j is far from the nearest at first."""
    public.check_nearest(answer, [_attainable(seed, k) for seed, k in ((1, 3), (2, 3), (3, 4), (4, 4))])


def _attainable(seed: int, k: int) -> tuple[list[Any], int, int]:
    """(B, i, j) for which some diagonal gauge makes j the nearest to i by a margin of 0.05, and it is not so now."""
    rng = generator(43, seed)
    while True:
        B = rng.normal(size=(7, k))
        d = gauge.random_diagonal_gauge(k, spread=1.0, rng=rng)
        rows = B / d
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        cosines = np.sort(rows[0] @ rows[1:].T)
        j = int(gauge.neighbours(rows, 1, queries=[0])[0, 0])
        if cosines[-1] - cosines[-2] > 0.05 and gauge.neighbours(B, 3, queries=[0])[0].tolist().count(j) == 0:
            return B.tolist(), 0, j


def survives(answer: Answer, **numbers: Any) -> None:
    """Task 4: rotations, reflections, multiples of them, shears, diagonal maps, in two and three dimensions."""
    a, b = Fraction(3, 5), Fraction(4, 5)
    public.check_survives(
        answer,
        {
            "I": [[1, 0], [0, 1]],
            "-I": [[-1, 0], [0, -1]],
            "I/3": [[Fraction(1, 3), 0], [0, Fraction(1, 3)]],
            "a rotation": [[a, -b], [b, a]],
            "twice a rotation": [[2 * a, -2 * b], [2 * b, 2 * a]],
            "-2 I": [[-2, 0], [0, -2]],
            "diag(1, -1)": [[1, 0], [0, -1]],
            "diag(3, 1, 1)": [[3, 0, 0], [0, 1, 0], [0, 0, 1]],
            "a shear": [[1, 1], [0, 1]],
            "a permutation": [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
            "diag(2, 1/2)": [[2, 0], [0, Fraction(1, 2)]],
            "diag(2, -2, 2)": [[2, 0, 0], [0, -2, 0], [0, 0, 2]],
        },
        **numbers,
    )


def pinning(answer: Answer, **numbers: Any) -> None:
    """Task 5: one to six dimensions."""
    public.check_pinning(answer, [1, 3, 4, 6], **numbers)


def decay(answer: Answer, **numbers: Any) -> None:
    """Task 6: tables of different sizes and scales."""
    rng = generator(46)
    tables = [
        (rng.normal(size=(m, k)) * 10.0 ** rng.integers(-2, 3, size=k), rng.normal(size=(n, k)))
        for m, n, k in ((5, 3, 4), (2, 9, 2))
    ]
    public.check_decay(answer, [(A.tolist(), B.tolist()) for A, B in tables], **numbers)


def neighbours_small(answer: Answer) -> None:
    """Task 7: random tables."""
    rng = generator(47)
    before = rng.normal(size=(12, 3))
    public.check_neighbours(answer, before.tolist(), (before / [0.3, 1.0, 2.0]).tolist(), [1, 3, 5])


def neighbours_films(answer: Answer) -> None:
    """Task 7: other ranks and spreads."""
    public.check_neighbours(answer, *public.films(0.5, rank=8, n=200, seed=drawn(101)), [5])
    public.check_neighbours(answer, *public.films(1.5, rank=24, n=200, seed=drawn(102)), [10])
