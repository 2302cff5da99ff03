"""Hidden checks of the assignment gramian-estimators. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib.lessons.gramian_estimators import checks as public
from exercises.engine.inputs import Answer, drawn, generator

HALF, THIRD, FIFTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 5)


def _whole(rng: np.random.Generator, *shape: int) -> Any:
    return rng.integers(-4, 5, size=shape).tolist()


def pairs(answer: Answer, **numbers: Any) -> None:
    """Task 1a: tables of different sizes, weights that are fractions or zero, a fraction c; then 4,000 rows."""
    rng = generator(71)
    cases: list[Any] = [
        (_whole(rng, 4, 3), _whole(rng, 2, 3), [1, 0, HALF, 2], [THIRD, 3], Fraction(-3, 2)),
        (_whole(rng, 2, 1), _whole(rng, 5, 1), [1, 1], [1, 2, 3, 4, 5], 1),
        ([[HALF, 1], [THIRD, -2]], [[FIFTH, 4]], [2, 3], [HALF], 0),
    ]
    m, n = 4000, 3900
    cases.append((_whole(rng, m, 2), _whole(rng, n, 2), [1 + i % 3 for i in range(m)], [HALF] * n, 1))
    public.check_pairs(answer, cases, **numbers)


def gradient(answer: Answer, **numbers: Any) -> None:
    """Task 1b: entities that stand in many pairs, in one, and in none; tables of different lengths."""
    rng = generator(72)
    left, right = _whole(rng, 4, 3), _whole(rng, 3, 3)
    examples = [(0, 0), (0, 1), (0, 2), (2, 2), (2, 2), (3, 1)]
    cases: list[Any] = [(left, right, examples, x) for x in (0, 1, 2, 3)]
    public.check_gradient(
        answer, [*cases, ([[HALF, -2]], [[1, THIRD], [3, 0]], [(0, 1), (0, 1), (0, 0)], 0)], **numbers
    )


def _batches(seed: int, sizes: list[int], width: int) -> list[Any]:
    rng = generator(seed)
    return [_whole(rng, size, width) for size in sizes]


def sogram_constant(answer: Answer) -> None:
    """Task 2: batches of equal and of different sizes, up to twelve of them; one batch; the rate 1."""
    public.check_sogram(
        answer,
        [
            (_batches(73, [2] * 12, 3), [Fraction(1, 10)] * 12),
            (_batches(74, [4, 1, 3, 2], 2), [Fraction(2, 3)] * 4),
            (_batches(75, [3], 2), [FIFTH]),
            (_batches(76, [2, 3], 1), [Fraction(1)] * 2),
        ],
    )


def sogram_rates(answer: Answer) -> None:
    """Task 2: rates that fall, that rise, and 1/t."""
    public.check_sogram(
        answer,
        [
            (_batches(77, [1, 2, 3, 1], 2), [Fraction(1, t + 2) for t in range(4)]),
            (_batches(78, [3, 3, 2], 3), [FIFTH, HALF, Fraction(3, 4)]),
            (_batches(79, [2, 1, 2, 1, 2], 2), [Fraction(1, t) for t in range(1, 6)]),
        ],
    )


def _moving(seed: int, steps: int, n: int, width: int = 2) -> list[Any]:
    rng = generator(seed)
    return [_whole(rng, n, width) for _ in range(steps + 1)]


def sagram_one(answer: Answer) -> None:
    """Task 3, one step: batches of one to three, beta from 1/n to 1."""
    for seed, (n, b, beta) in enumerate(((3, 1, THIRD), (3, 2, Fraction(3, 4)), (2, 3, HALF), (4, 1, Fraction(1)))):
        public.check_sagram(answer, [(_moving(80 + seed, 1, n), beta, b)])


def sagram_steps(answer: Answer) -> None:
    """Task 3, two to four steps."""
    cases = ((3, 1, THIRD, 4), (3, 2, FIFTH, 2), (2, 3, Fraction(3, 4), 2), (2, 2, Fraction(1, 10), 3))
    for seed, (n, b, beta, steps) in enumerate(cases):
        public.check_sagram(answer, [(_moving(90 + seed, steps, n), beta, b)])


def leaving(answer: Answer, **numbers: Any) -> None:
    """Task 4a: few examples and many, beta = 1 and barely above 1/n."""
    sizes = ((2, HALF + Fraction(1, 1000)), (3, Fraction(1)), (5, Fraction(21, 100)), (40, Fraction(1, 39)))
    public.check_leaving(answer, list(sizes), **numbers)


def always(answer: Answer, **numbers: Any) -> None:
    """Task 4b: every draw, for two to twenty examples."""
    public.check_always(answer, [2, 3, 4, 7, 20], **numbers)


SHARES = [
    (Fraction(1, 100), 50),
    (Fraction(1, 100), 10**6),
    (Fraction(3, 17), 4),
    (Fraction(1), 9),
    (Fraction(2, 999), 10**4),
    (HALF, 2),
]


def batch_with(answer: Answer, **numbers: Any) -> None:
    """Task 5: shares whose inverse is no whole number, and the share 1."""
    public.check_batch(answer, SHARES, replace=True, **numbers)


def batch_without(answer: Answer, **numbers: Any) -> None:
    """Task 5: few data, where nearly all of them are needed, and many."""
    public.check_batch(answer, SHARES, replace=False, **numbers)


def rate_small(answer: Answer, **numbers: Any) -> None:
    """Task 6: random walks of Gramians, of several widths, speeds and noises."""
    for seed, (width, steps, speed, noise) in enumerate(((2, 8, 0.1, 1.0), (3, 5, 2.0, 0.5), (1, 30, 0.01, 3.0))):
        rng = generator(95, seed)
        moves = rng.normal(size=(steps + 1, width, width)) * speed
        path = np.cumsum(moves + moves.swapaxes(1, 2), axis=0)
        errors = rng.normal(size=path.shape) * noise
        public.check_rate(answer, path.tolist(), (path + errors + errors.swapaxes(1, 2)).tolist(), **numbers)


def rate_films(answer: Answer, **numbers: Any) -> None:
    """Task 6 on films: slow and fast training, small and large batches."""
    for batch_size, learning_rate in ((16, 2.0), (500, 30.0)):
        public.check_rate(answer, *public.films(batch_size, learning_rate, steps=30, seed=drawn(5)), **numbers)
