"""Hidden checks of the assignment ddc. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib.lessons.ddc import checks as public
from exercises.engine.inputs import Answer, drawn, generator

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def preference(answer: Answer) -> None:
    """Task 1a: many equal scores, one item, whole histories, shares that a float would round up."""
    rng = generator(201)
    items = rng.integers(-3, 4, size=(30, 4)).astype(float).tolist()
    cases = [
        (rng.integers(-1, 2, size=4).astype(float).tolist(), rng.permutation(30)[:n].tolist(), share)
        for n, share in (
            (10, Fraction(3, 10)),
            (11, Fraction(3, 10)),
            (30, Fraction(1, 10)),
            (1, Fraction(1, 20)),
            (7, Fraction(1)),
        )
    ]
    public.check_preference(answer, [(user, items, history, share) for user, history, share in cases])
    public.check_preference(answer, [([0.0, 1.0], [[1.0, 2.0], [-1.0, -2.0], [3.0, -9.0]], [1, 0, 2], HALF)])
    opposite = [[1.0, 2.0], [3.0, -9.0], [-1.0, -2.0]]
    public.check_preference(answer, [([0.0, 0.0], opposite, [2, 0], Fraction(1)), ([0.0, 0.0], opposite, [2, 0], HALF)])


def loss(answer: Answer, **numbers: Any) -> None:
    """Task 1b: as many positives as negatives, one of each, margins in the thousands."""
    rng = generator(202)
    cases: list[Any] = [([-3000.0, 4.0], [2000.0, 0.5], [1.0, -1.0], [0.5, 1.0], 2.0, 3.0)]
    for p, q, alpha, beta in ((5, 5, -0.7, 2.0), (1, 1, 0.3, 0.1), (20, 300, 1.5, -2.5)):
        s, t, a, b = (rng.normal(size=size).tolist() for size in (p, q, p, q))
        cases.append((s, t, a, b, alpha, beta))
    public.check_loss(answer, cases, **numbers)


def minimisers(answer: Answer) -> None:
    """Task 2a: zeros among the entries, one sign in one vector or in both, zero throughout."""
    kinds = {
        "both": [-1.0, 0.0, 2.0],
        "up": [0.5, 3.0],
        "down": [-2.0, -0.5],
        "edge": [0.0, 0.0, 1.0],
        "low edge": [-1.0, 0.0],
        "zero": [0.0, 0.0],
    }
    public.check_minimisers(answer, [(a, b) for a in kinds.values() for b in kinds.values()])


def without(answer: Answer) -> None:
    """Task 2b: random tables; the films after some epochs, at two shares."""
    rng = generator(203)
    for m, n, d, share in ((30, 12, 3, Fraction(3, 10)), (40, 9, 2, HALF)):
        users, items, pop = (rng.normal(size=shape).tolist() for shape in ((m, d), (n, d), d))
        histories = [rng.permutation(n)[: rng.integers(1, n - 1)].tolist() for _ in range(m)]
        public.check_without(answer, [(users, items, histories, pop, share)])
    users, items, histories, _, _, pop = public.films(10, 8, seed=drawn(4))
    public.check_without(answer, [(users, items, histories, pop, share) for share in (Fraction(3, 10), Fraction(1))])


def surrogate(answer: Answer, **numbers: Any) -> None:
    """Task 3a: fractions, a mean of b that is zero, and 5,000 on each side."""
    rng = generator(204)

    def whole(size: int) -> Any:
        return rng.integers(-5, 6, size=size).tolist()

    public.check_surrogate(
        answer,
        [
            (whole(7), whole(4), whole(7), whole(4)),
            ([HALF, THIRD], [1, -2, THIRD], [2, HALF], [1, -3, 2]),
            ([1], [0, 2], [3], [1, 5]),
            (whole(5000), whole(5001), whole(5000), whole(5001)),
        ],
        **numbers,
    )


def solve(answer: Answer, **numbers: Any) -> None:
    """Task 3b: users of many sizes, and more who have no minimiser."""
    rng = generator(205)
    for p, q in ((2, 2), (5, 60), (40, 700)):
        s, t, a, b = (rng.normal(size=size).tolist() for size in (p, q, p, q))
        a[0], a[1], b[0], b[1] = -abs(a[0]), abs(a[1]), -abs(b[0]), abs(b[1])
        cases = [(s, t, a, b), (s, t, np.abs(a).tolist(), b), (s, t, a, (-np.abs(b)).tolist())]
        public.check_solve(answer, cases, **numbers)


def solve_hard(answer: Answer, **numbers: Any) -> None:
    """Task 3b: large margins, very different scales."""
    shapes = ((0, 6, 30), (5, 30, 200), (6, 9, 100), (7, 50, 50))
    public.check_solve(answer, [public.hard(drawn(seed), p, q) for seed, p, q in shapes], **numbers)


def sign(answer: Answer, **numbers: Any) -> None:
    """Task 4a: users whose weights overrule the mean of b, at several betas."""
    rng = generator(206)
    for p, q, beta, side in (
        (3, 8, 0.0, 1),
        (6, 40, 1.0, -1),
        (5, 30, -2.0, -1),
        (4, 20, 9.0, 1),
        (8, 15, 9.0, -1),
        (2, 30, 9.0, 1),
    ):
        b = rng.normal(size=q)
        b += side * 0.2 - b.mean()  # the mean says one side, the negatives with the highest scores the other
        scores = rng.normal(size=p) + (2 - beta), -4 * side * b + 0.5 * rng.normal(size=q)
        a = 1 + 0.1 * rng.normal(size=p)
        public.check_sign(answer, [(scores[0].tolist(), scores[1].tolist(), a.tolist(), b.tolist(), beta)], **numbers)


def flip(answer: Answer, **numbers: Any) -> None:
    """Task 4b: both signs, more dimensions, more items."""
    cases = ((1, 6, 20, 3), (2, 6, 20, 3), (5, 6, 20, 3), (23, 10, 60, 4))
    public.check_flip(answer, [public.shifted(*case) for case in cases], **numbers)


def worse(answer: Answer, **numbers: Any) -> None:
    """Task 5a: small and large drops."""
    public.check_worse(answer, [0.3, 0.6, 0.9], **numbers)


def inflation(answer: Answer, **numbers: Any) -> None:
    """Task 5b: many margins, tiny and huge ones, zeros, and loss that a scale can lower only for a while."""
    rng = generator(207)
    cases = [
        (rng.exponential(size=500).tolist(), 0.05),
        ([0.001, 0.002], 0.05),
        ([40.0, 50.0], 0.01),
        ([1.0, 0.0], 0.9),
        ([1.0, 0.0], 0.5),
        ([1.0, 2.0, 3.0, -0.05], 0.7),
        ([1.0, 2.0, 3.0, -0.05], 0.65),
        ([1.0, 2.0, 3.0, -0.05], 0.05),
        ([-1.0, -2.0], 0.9),
    ]
    public.check_inflation(answer, cases, **numbers)


def _lists() -> list[Any]:
    rng = generator(208)
    cases = []
    for m, n, k in ((20, 15, 3), (9, 30, 10)):
        users, items = (
            rng.integers(-2, 3, size=(rows, 2)).astype(float).tolist() for rows in (m, n)
        )  # many equal scores
        orders = [rng.permutation(n).tolist() for _ in range(m)]
        histories, held_out = [order[:4] for order in orders], [order[4 : 4 + u % 3] for u, order in enumerate(orders)]
        cases.append((users, items, histories, held_out, rng.integers(1, 99, size=n).tolist(), k))
    users, items, histories, held_out, counts, _ = public.films(10, 8, seed=drawn(4))
    return [*cases, (users, items, histories, held_out, counts, 10)]


def average_popularity(answer: Answer, **numbers: Any) -> None:
    """Task 6: many equal scores; the films."""
    public.check_measure(answer, _lists(), place=0, **numbers)


def reciprocal_rank(answer: Answer, **numbers: Any) -> None:
    """Task 6: users with nothing held out, and lists without a hit."""
    public.check_measure(answer, _lists(), place=1, **numbers)
