"""Wrong laws are found out by the proofs, and counterexamples hold what the chapter says of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from course_lib import norms as laws
from course_lib.checking import some
from course_lib.lessons.popularity_norm_coupling import proofs


@pytest.mark.parametrize(
    ("function", "wrong", "caught_by"),
    [
        ("update_probability", lambda p, B, **_: B * p if B * p < 1 else 1, "enumerate_update_count"),
        ("update_probability", lambda p, B, **_: 1 - (1 - p) ** B, "enumerate_update_count"),  # forgets the negatives
        ("expected_updates", lambda p, *, batch_size, steps, **_: steps * batch_size * p, "enumerate_update_count"),
        (
            "coupled_updates",
            lambda chance, u: np.array([[(1 - x if k else x) < q for x in u] for k, q in enumerate(chance)]),
            "enumerate_monotone_coupling",
        ),
        (
            "squared_norm_path",
            lambda s, *, lr, squared_gradients: np.array([s, s + lr**2 * squared_gradients.sum() / s]),
            "enumerate_quartic_law",
        ),
        (
            "expected_squared_gradient",
            lambda p, *, batch_size, coherence: batch_size * p + coherence * (batch_size * p) ** 2,
            "enumerate_saturation",
        ),
        ("expected_squared_gradient_slope", lambda p, **_: 1, "enumerate_saturation"),
        (
            "decayed_path",
            lambda s, *, squared_gradients, **_: np.array([s + sum(squared_gradients)]),
            "enumerate_lazy_decay",
        ),
    ],
)
def test_a_wrong_law_is_found_out(function: str, wrong, caught_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, function, wrong)
    assert getattr(proofs, caught_by)() != 0


def test_the_quartic_law_needs_its_factor_two() -> None:
    """Dropping the 2, or the last sum, leaves something."""
    s, lr, h = proofs.s, proofs.lr, proofs.h
    step2 = lr**2 * h**2 / s
    assert sp.simplify((s + step2) ** 2 - (s**2 + lr**2 * h**2 + step2**2)) != 0
    assert sp.simplify((s + step2) ** 2 - (s**2 + 2 * lr**2 * h**2)) == sp.simplify(step2**2)


def test_the_theorem_of_the_increments_says_how_much() -> None:
    """A single positive increment at the end: E f moves by its own probability."""
    pi = Fraction(1, 2)
    assert proofs._binomial(4, 4, pi) == Fraction(1, 16)


def test_a_rare_item_outgrows_a_popular_one_exactly() -> None:
    broken = proofs.growth_without_popularity((6, 3))
    assert broken.claimed == 0 and broken.actual < 0
    assert float(broken.gap) == pytest.approx(-0.045070, abs=1e-6)
    assert proofs.growth_without_popularity((3, 3)).actual < 0  # as often, and shorter
    with_more = proofs.growth_without_popularity((9, 3))  # more updates do not help the popular one
    assert with_more.actual < 0


def test_the_audits_two_items() -> None:
    consistent, conflicting = proofs.conflicting_items((1000, 100))
    assert consistent == pytest.approx(1.0895, abs=5e-5)
    assert conflicting == pytest.approx(2.3227, abs=5e-5)


def test_corrected_theorem_by_hand() -> None:
    """One batch, pi = 1, h^2 = 1 or 3: E s^2 = 4 + 2 lr^2 2 + lr^4 (1 + 9)/2 / 4 from s = 2, lr = 1."""
    after = [(2 + Fraction(h2, 2)) ** 2 for h2 in (1, 3)]
    assert sum(after) / 2 == 4 + 2 * 2 + Fraction(10, 2) / 4


def test_ordering_in_the_corrected_theorem_is_tight_enough_to_use() -> None:
    """At twice the update probability and eta^2 m <= 2 h^2 ||q_0||^4 the more popular item is longer, by simulation."""
    rng = np.random.default_rng(0)
    moved = laws.coupled_updates(np.array([0.1, 0.2]), rng.random(400))
    fourth = []
    for row in moved:
        h2 = rng.exponential(1.0, (2000, 400)) * row  # E h^2 = 1, E h^4 = 2
        path = laws.squared_norm_path(1.0, lr=1.0, squared_gradients=h2)
        fourth.append((path[:, -1] ** 2).mean())
    bounds = [1 + 2 * row.sum() for row in moved]
    assert fourth[1] > fourth[0] and all(f > b for f, b in some(zip(fourth, bounds, strict=True)))
