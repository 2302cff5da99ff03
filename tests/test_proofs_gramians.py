"""The proofs of Gramian estimation: every residual is zero, and is not when the code or the statement is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from course_lib import gramians
from course_lib.proofs import gramians as proofs


def residuals(name: str) -> list[Any]:
    found = getattr(proofs, name)()
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("name", proofs.__all__)
def test_every_residual_is_zero(name: str) -> None:
    found = residuals(name)
    assert found and all(residual == 0 for residual in found)


def test_closed_sums_are_the_sums() -> None:
    """The helper that drops sympy's case q = 1 keeps the right one: numbers at q = 1/3, t = 5."""
    q, t = sp.Symbol("q", positive=True), sp.Symbol("t", integer=True, positive=True)
    value = proofs._sum_of_k_powers(q, t).subs({q: sp.Rational(1, 3), t: 5})
    assert sp.simplify(value) == sum(k * sp.Rational(1, 3) ** k for k in range(5))


class ASum(gramians.SOGram):
    """P4's Section 4.1: a sum over the batch where a mean belongs."""

    def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Any:
        estimate = super().update(indices, embeddings, partners)
        self._estimate = estimate * 2
        return self._estimate


class Reused(gramians.SAGram):
    """The cache is renewed before the estimate is taken from it: nothing is corrected."""

    def look(self, indices: Any, embeddings: Any, partners: Any = None) -> Any:
        super().look(indices, embeddings, partners)
        self.renew(indices, embeddings, partners)
        return super().look(indices, embeddings, partners)


@pytest.mark.parametrize(
    ("target", "wrong", "caught"),
    [
        ("SOGram", ASum, "enumerate_sogram"),
        ("SAGram", Reused, "enumerate_sagram"),
        ("SAGram", Reused, "enumerate_unbiased_gravity"),
        ("same_batch_share", lambda b, n=None: 1 / b, "enumerate_same_batch"),
        ("gravity_with_prior", lambda u, v, q, r: gramians.gravity(u, v) + gramians.gravity(q, r), "enumerate_prior_gravity"),
        ("coherent_error", lambda a, delta, sigma: sigma**2 * a + delta**2 * (1 / a - 1) ** 2, "thm_optimal_alpha"),
        ("sagram_error", lambda b, mean_square, variance: (1 - b) * mean_square + b**2 * variance, "thm_optimal_beta"),
        ("sogram_variance", lambda a, sigma=1, steps=None, corrected=False: sigma**2 * a / (1 - a), "prop_sampling_by_memory"),
    ],
)
def test_a_wrong_formula_is_caught(monkeypatch: pytest.MonkeyPatch, target: str, wrong: Callable, caught: str) -> None:
    monkeypatch.setattr(proofs.gramians, target, wrong)
    assert any(residual != 0 for residual in residuals(caught))


def test_sogram_bound_in_numbers() -> None:
    """The bound (13) at one place, and where it is attained: a Gramian that moves straight on, long after the start."""
    alpha = Fraction(1, 4)
    lag = sum(alpha * (1 - alpha) ** k * k for k in range(400))
    assert math.isclose(lag, gramians.sogram_bias_bound(alpha, delta=1, norm=0), rel_tol=1e-9)
