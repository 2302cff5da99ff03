"""Hidden checks of the assignment popularity-norm-coupling. They run in the judge's process, with a pristine
course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import norms
from course_lib.lessons.popularity_norm_coupling import checks as public
from course_lib.lessons.shared.forms import expect
from exercises.engine.inputs import Answer, generator

LENGTH_RATIO = 1.5


def update_plain(answer: Answer, **numbers: Any) -> None:
    """Task 1: rare and common items, one slot, an item that is all there is."""
    public.check_update(answer, [(2, 7, 3, 0, 5), (1, 100, 12, 0, 40), (5, 6, 1, 0, 2), (4, 4, 3, 0, 1)], **numbers)


def update_extra(answer: Answer, **numbers: Any) -> None:
    """Task 1: further negatives, many and few."""
    public.check_update(answer, [(2, 7, 3, 4, 5), (1, 100, 5, 9, 40), (0, 6, 3, 2, 7)], **numbers)


def growth(answer: Answer, **numbers: Any) -> None:
    """Task 2a: long and short starts, a pull of zero, one huge step."""
    cases: list[Any] = [
        (4, [1, 0, 1, Fraction(1, 3)], Fraction(1, 2)),
        (Fraction(1, 9), [1, 2], Fraction(2, 3)),
        (100, [1] * 6, 7),
    ]
    public.check_growth(answer, cases, **numbers)


def symmetry(answer: Answer) -> None:
    """Task 2b: longer and shorter; first the check itself is checked on two exact runs in the plane."""
    cases = [
        (Fraction(1, 10), Fraction(2), Fraction(1, 3)),
        (Fraction(7), Fraction(3, 2), Fraction(6)),
        (Fraction(1), Fraction(5), Fraction(5)),
    ]
    lr, norm, other = (Fraction(int(x), 7) for x in generator(32).integers(1, 40, size=3))
    cases.append((lr, norm, other))
    for lr, norm, other in cases:
        if exact_run(lr * (other / norm) ** 2, other) != [other / norm * x for x in exact_run(lr, norm)]:
            raise RuntimeError("the symmetry of the two runs does not hold: this check is wrong, not the answer")
    public.check_symmetry(answer, cases)


def exact_run(lr: Fraction, norm: Fraction) -> list[Fraction]:
    """q after four steps from norm times (3/5, 4/5);
    the gradient is turn_k times q turned by 90 degrees, over ||q||^2.
    """
    q = [norm * Fraction(3, 5), norm * Fraction(4, 5)]
    for turn in (1, -2, Fraction(1, 2), 3):
        square = q[0] ** 2 + q[1] ** 2
        q = [q[0] + lr * turn * q[1] / square, q[1] - lr * turn * q[0] / square]
    return q


def equilibrium(answer: Answer) -> None:
    """Task 3: strong and weak decay, rare and common items, lazy and not."""
    cases = [
        (0.05, 10.0, 0.02, 1.5, False),
        (1.0, 2.0, 0.3, 1.0, False),
        (0.05, 10.0, 0.02, 1.5, True),
        (0.7, 0.5, 0.01, 3.0, False),
    ]
    probability, lr, shrunk, h = generator(33).uniform(0.05, 0.9, size=4).tolist()
    cases += [(probability, lr, shrunk, h, lazy) for lazy in (False, True)]
    public.check_equilibrium(answer, cases)


def rare(answer: Answer, **numbers: Any) -> None:
    """Task 4a: both runs are made."""
    start, lr, rare_keys, popular_keys = public.rare_form(answer(), **numbers)
    rare_norm, _ = public.run(start, lr, rare_keys)
    popular_norm, moved = public.run(start, lr, popular_keys)
    expect(
        moved >= 0.01,
        f"the popular item is hardly moved: its sum of ||h||^2 is {moved:.3g}. Its keys must not lie along start",
    )
    expect(
        rare_norm >= LENGTH_RATIO * popular_norm,
        f"the rare item ends at {rare_norm:.4g}, the popular one at {popular_norm:.4g}: not {LENGTH_RATIO} times as "
        "long. Which keys stop pulling once they are reached, and which never do?",
    )


def pulls(answer: Answer, **numbers: Any) -> None:
    """Task 4b: more dimensions, contradictory keys, small and large steps; the quartic law must explain the norms."""
    rng = generator(34)
    cases = [
        (rng.normal(size=d).tolist(), lr, rng.normal(size=(n, d)).tolist())
        for d, lr, n in ((3, 0.3, 8), (5, 3.0, 5), (2, 0.01, 3))
    ]
    public.check_pulls(answer, [*cases, ([2.0, 0.0], 1.0, [[0.0, 1.0], [0.0, -1.0]] * 6)], **numbers)


def slope(answer: Answer, **numbers: Any) -> None:
    """Task 5a: random norms, and films with one that nobody saw."""
    rng = generator(35)
    counts = np.r_[rng.integers(1, 1000, size=30), 0, 1:13]
    public.check_slope(answer, counts.tolist(), rng.uniform(0.5, 4.0, size=len(counts)).tolist(), **numbers)
    counts = np.array(public.film_counts())
    lengths = norms.predicted_norm(0.8, lr=0.7, h=1.0, updates=counts) * np.exp(0.1 * rng.normal(size=len(counts)))
    public.check_slope(answer, [0, *counts.tolist()], [1.0, *lengths.tolist()], **numbers)


def prediction(answer: Answer, **numbers: Any) -> None:
    """Task 5b: the films, at a low, a middle and a high learning rate."""
    cases = [(512, 3000, lr, 1.2, 0.002) for lr in (0.01, 1.0, 40.0)]
    cases.append((64, 500, 5.0, 0.7, 0.3))
    public.check_prediction(answer, [*range(1, 13), *public.film_counts()], cases, **numbers)


def largest(answer: Answer) -> None:
    """Task 6: the films, and ratios that no learning rate reaches."""
    cases = [(512, 3000, 1.2, 0.002, ratio) for ratio in (1.1, 1.4, 3.0)]
    public.check_largest(answer, public.film_counts(), [*cases, (16, 500, 0.7, 0.3, 1.8)])
    counts = generator(36).integers(1, 400, size=25).tolist()
    public.check_largest(answer, counts, [(8, 200, 0.9, 0.1, ratio) for ratio in (1.1, 1.3)])
