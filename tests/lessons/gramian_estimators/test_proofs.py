"""The proofs of Gramian estimation: every residual is zero, and is not when the code or the statement is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp

from course_lib import gramians
from course_lib.lessons.gramian_estimators import broken as broken_gramians
from course_lib.lessons.gramian_estimators import proofs


def residuals(name: str) -> list[Any]:
    found = getattr(proofs, name)()
    return found if isinstance(found, list) else [found]


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


class Frozen(gramians.SAGram):
    """The cache is never renewed."""

    def renew(self, indices: Any, embeddings: Any, partners: Any = None) -> None:
        return


@pytest.mark.parametrize(
    ("target", "wrong", "caught"),
    [
        ("SOGram", ASum, "enumerate_sogram_average"),
        ("SAGram", Reused, "enumerate_sagram"),
        ("SAGram", Reused, "enumerate_unbiased_gravity"),
        ("SOGram", ASum, "enumerate_fold_afterwards"),
        ("SAGram", Frozen, "enumerate_sagram_memory"),
        ("same_batch_share", lambda b, n=None: 1 / b, "enumerate_same_batch"),
        (
            "gravity_with_prior",
            lambda u, v, q, r: gramians.gravity(u, v) + gramians.gravity(q, r),
            "enumerate_prior_gravity",
        ),
        ("coherent_error", lambda a, delta, sigma: sigma**2 * a + delta**2 * (1 / a - 1) ** 2, "thm_optimal_alpha"),
        ("sagram_error", lambda b, mean_square, variance: (1 - b) * mean_square + b**2 * variance, "thm_optimal_beta"),
        (
            "sogram_variance",
            lambda a, sigma=1, steps=None, corrected=False: sigma**2 * a / (1 - a),
            "prop_sampling_by_memory",
        ),
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


def test_every_counterexample_is_in_the_list() -> None:
    written = {
        name
        for name, thing in vars(broken_gramians).items()
        if callable(thing) and getattr(thing, "__module__", "") == broken_gramians.__name__
    }
    repaired = {"batch_folded_in_afterwards"}
    assert set(broken_gramians.COUNTEREXAMPLES) == {name for name in written if not name.startswith("_")} - repaired


def test_one_batch_without_replacement() -> None:
    found = broken_gramians.one_batch_for_both(replace=False)
    assert np.any(found.gap != 0) and np.all(found.unexplained == 0)


def test_folding_the_batch_in_afterwards_repairs_it() -> None:
    assert np.all(broken_gramians.batch_folded_in_afterwards().gap == 0)
    assert np.any(broken_gramians.batch_folded_in_first().gap != 0)


def test_the_numbers_that_the_chapter_quotes() -> None:
    assert broken_gramians.leaving_the_cone().actual.tolist() == [-2, 2]
    assert broken_gramians.projecting().actual == 1
    reused = broken_gramians.index_reused()
    assert reused.claimed == Fraction(1, 19) and reused.actual > Fraction(99, 100)
    pair = broken_gramians.overshooting_pair()
    assert pair.claimed > 0 > pair.actual
