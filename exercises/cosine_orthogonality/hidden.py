"""Hidden checks of the assignment cosine-orthogonality. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import geometry
from course_lib.lessons.cosine_orthogonality import checks as public
from course_lib.lessons.shared.forms import CLOSE, expect
from exercises.engine.inputs import Answer, drawn, generator


def gradient_at_unit_length(answer: Answer, **numbers: Any) -> None:
    """Task 1: unit vectors q in 2 to 7 dimensions, keys of every length."""
    cases = []
    for d, q, k in _pairs(seed=11):
        cases.append(((q / np.linalg.norm(q)).tolist(), (k * 10.0 ** (d - 4)).tolist()))
    public.check_gradient(answer, cases, **numbers)


def gradient_at_any_length(answer: Answer, **numbers: Any) -> None:
    """Task 1: lengths from a thousandth to a thousand."""
    cases = [((q * 10.0 ** (d - 4)).tolist(), k.tolist()) for d, q, k in _pairs(seed=12)]
    public.check_gradient(answer, cases, **numbers)


def norm_after(answer: Answer, **numbers: Any) -> None:
    """Task 2: short and long vectors, a key along q, a large step."""
    cases: list[Any] = [(Fraction(9, 4), Fraction(1, 3), Fraction(-2, 5), Fraction(7, 3)), (100, Fraction(0), 1, 3)]
    cases += [(Fraction(1, 50), Fraction(8, 9), -5, Fraction(1, 10)), (5, Fraction(1), -1, 2)]
    public.check_norm_after(answer, cases, **numbers)


def shrinking(answer: Answer, eps: str = public.EPS) -> None:
    """Task 3a: the step is taken."""
    q, k, lr = public.shrinking_form(answer())
    radius = float(Fraction(eps))
    gradient = geometry.clamped_cosine_gradient(q, k, eps=radius)
    before, after = float(np.linalg.norm(q)), float(np.linalg.norm(q + lr * gradient))
    expect(
        before < radius,
        f"your q has the length {before:.3g}, so nothing is clamped: there the step is orthogonal to q",
    )
    expect(after > 1e-9 * before, "the step ends at zero, where no direction is left")
    expect(
        after <= before / 2 * (1 + CLOSE),  # exactly half is right, and may be rounded up
        f"the step changes the length from {before:.6g} to {after:.6g}; at most half of it may be left. "
        "The loss is -cos_eps, so the step goes towards k: where must q point, and how far may the step go?",
    )


def radial(answer: Answer, **numbers: Any) -> None:
    """Task 3b: inside and outside the clamp, negative cosines, other eps."""
    cases = [(Fraction(1, 7), Fraction(-2, 3), Fraction(1, 5)), (Fraction(3, 7), Fraction(-2, 3), Fraction(1, 5))]
    cases += [(Fraction(1, 10**9), Fraction(1), Fraction(1, 10**8)), (Fraction(5), Fraction(1, 2), Fraction(6))]
    public.check_radial(answer, cases, **numbers)


def longer_than_one(answer: Answer, **numbers: Any) -> None:
    """Task 4: random keys, also more keys than dimensions."""
    public.check_longer_than_one(answer, _key_cases(), **numbers)


def longest(answer: Answer, **numbers: Any) -> None:
    """Task 4: the same cases, against the largest singular value."""
    public.check_longest(answer, _key_cases(), **numbers)


def share_small(answer: Answer) -> None:
    """Task 5: random batches of seven."""
    rng = generator(15)
    for tau, tol, similarity in ((0.3, 0.4, "dot"), (2.0, 0.6, "dot"), (0.3, 1e-3, "cos"), (2.0, 0.2, "dot")):
        users, items = _undecided(rng, tau)
        public.check_share(answer, users.tolist(), items.tolist(), tau=tau, tol=tol, similarity=similarity)


def share_on_films(answer: Answer) -> None:
    """Task 5: other films, other ranks and temperatures."""
    for rank, tau, tol, similarity in ((8, 0.1, 0.3, "dot"), (16, 1.0, 0.5, "dot"), (16, 0.1, 1e-3, "cos")):
        users, items = public.films(150, rank, seed=drawn(rank + 100))
        public.check_share(answer, users, items, tau=tau, tol=tol, similarity=similarity)


def _pairs(seed: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """A pair in each dimension, not nearly parallel: single precision, which must be enough, has few digits there."""
    rng = generator(seed)
    return [(d, *_apart(rng, d)) for d in range(2, 8)]


def _apart(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    while True:
        q, k = rng.normal(size=d), rng.normal(size=d)
        if abs(geometry.cosine(q, k)) < 0.98:
            return q, k


def _undecided(rng: np.random.Generator, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """A batch where no user's own item is certain: such a gradient is nothing but rounding in single precision."""
    while True:
        users, items = rng.normal(size=(7, 3)), 2 * rng.normal(size=(7, 3))
        scores = users @ items.T / tau
        if (np.diag(scores) - (scores - 1e9 * np.eye(7)).max(axis=1)).max() < 6:
            return users, items


def _key_cases() -> list[tuple[list[Any], list[Any]]]:
    rng = generator(14)
    cases = [(rng.normal(size=d).tolist(), rng.normal(size=(r, d)).tolist()) for d, r in ((2, 3), (3, 5), (6, 3))]
    along = [[1.0, 0.1, 0.0], [0.2, 1.0, 0.3], [0.1, -0.9, 0.5]]  # a key almost along q, and two that pull apart
    return [*cases, ([2.0, 0.0, 0.0], along)]
