"""The chapter's proofs: every residual is zero, every counterexample refutes, and wrong formulas do not pass."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp

from course_lib import in_batch, losses
from course_lib.arrays import exact
from course_lib.checking import some
from course_lib.lessons.in_batch_bias import broken, enumeration
from course_lib.lessons.in_batch_bias import proofs as symbolic
from course_lib.lessons.in_batch_bias.enumeration import SMALL_LABELS, positives
from course_lib.lessons.shared.counterexample import all_zero

PARTS = ("batch", "cells", "coefficients", "moments", "objectives", "sampling", "square")


# ---- the checks can fail: put a wrong formula in and see them complain


def replace_everywhere(monkeypatch: pytest.MonkeyPatch, name: str, function) -> None:
    """Puts `function` in the place of in_batch's `name`, in every module of the package that knows it."""
    for module in (in_batch, *(sys.modules[f"course_lib.in_batch.{part}"] for part in PARTS)):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, function)


def found_out(check: Callable[..., Any]) -> bool:
    """Whether a proof or an enumeration names a case that does not hold: up to the first, for all take seconds."""
    return any(sp.simplify(sp.sympify(case)) != 0 for case in check.__wrapped__())


# What is wrong with the coefficients c, where every batch has the factor a and the balance rho.
MISTAKES = {
    "hat missing (E.5)": lambda c, a, rho: replace(c, inverse=c.inverse * rho),
    "popularity kept": lambda c, a, rho: replace(c, power=0),
    "no correction on the diagonal": lambda c, a, rho: replace(c, inverse=0 * a),
    "positives scaled by 2": lambda c, a, rho: replace(c, positive=2 * a),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_unbiased_loss_is_found_out(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = in_batch.coefficients_from

    def changed(kind: str, *, a: Any, rho: Any) -> in_batch.Coefficients:
        return MISTAKES[mistake](right(kind, a=a, rho=rho), a, rho)

    replace_everywhere(monkeypatch, "coefficients_from", changed)
    assert any(r != 0 for r in symbolic.thm_unbiased_loss())
    assert enumeration.enumerate_expected_weights("unbiased") > 0


@pytest.mark.parametrize(
    ("name", "enumerate_"),
    [
        ("expected_positive_sum", "enumerate_positive_sum"),
        ("expected_pair_sum", "enumerate_pair_sum"),
        ("change_of_variables", "enumerate_change_of_variables"),
        ("inclusion_probability", "enumerate_inclusion"),
        ("horvitz_thompson_weight", "enumerate_horvitz_thompson"),
        ("count_weight_second_moment", "enumerate_horvitz_thompson"),
        ("expected_objective", "enumerate_square_closed_form"),
    ],
)
def test_a_wrong_lemma_is_found_out(name: str, enumerate_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(in_batch, name)
    replace_everywhere(monkeypatch, name, lambda *args, **kwargs: right(*args, **kwargs) * Fraction(1001, 1000))
    assert getattr(enumeration, enumerate_)() > 0


@pytest.mark.seconds
def test_a_wrong_variance_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = in_batch.inclusion_probability
    replace_everywhere(
        monkeypatch, "inclusion_probability", lambda order, **sizes: right(order, **sizes) * (2 if order == 3 else 1)
    )
    assert found_out(enumeration.enumerate_batch_variance) and found_out(symbolic.thm_batch_variance)


# ---- counterexamples: one per dropped assumption, one per formula as printed

CASES = [(labels, s) for labels in SMALL_LABELS[1:] for s in (2, 3)]
CHAIN = SMALL_LABELS[2]


@pytest.mark.parametrize(("labels", "s"), CASES)
def test_sogram_with_one_batch(labels: np.ndarray, s: int) -> None:
    example = broken.sogram_with_one_batch(labels, s)
    assert all_zero(example.unexplained)
    assert all_zero(example.gap) == (s == labels.sum())  # the full batch is no longer random


@pytest.mark.parametrize(("labels", "s"), CASES)
def test_sampling_with_replacement(labels: np.ndarray, s: int) -> None:
    assert broken.sampling_with_replacement(labels, s).refutes
    assert all_zero(broken.repaired_with_replacement(labels, s).gap)


def test_sampling_with_replacement_breaks_every_kind() -> None:
    for kind in ("in_batch", "popularity", "pos_neg", "masked"):
        assert broken.sampling_with_replacement(CHAIN, 2, kind=kind).refutes


@pytest.mark.parametrize("labels", SMALL_LABELS)
def test_empty_column(labels: np.ndarray) -> None:
    assert broken.empty_column(labels, 2).refutes


@pytest.mark.parametrize("pair", positives(CHAIN))
@pytest.mark.parametrize("s", [2, 3, 5])
def test_duplicate_pairs(pair: tuple[int, int], s: int) -> None:
    example = broken.duplicate_pairs(CHAIN, pair, s)
    assert example.refutes
    assert example.actual[1][pair] < 0


def test_17_is_unbounded_below_for_the_logistic_loss() -> None:
    slope = float(broken.unbounded_slope())
    scores = (10, 100, 1000, 10_000)
    values = [broken.unbounded_below(score).actual for score in scores]
    assert values[-1] < -1000
    assert np.diff(values) / np.diff(scores) == pytest.approx([slope] * 3, rel=1e-4)


def test_the_masked_loss_is_not_always_quieter() -> None:
    """At equal scores the best mix lies between 0, the masked loss, and beyond 1, the unbiased loss."""
    best = []
    for labels in some(one for one in SMALL_LABELS if one.sum() >= 3):
        pos_loss, neg_loss = losses.pair_losses("square", exact(np.ones(labels.shape, dtype=int)) * Fraction(1, 2))
        best.append(in_batch.optimal_mix(pos_loss=pos_loss, neg_loss=neg_loss, labels=labels, batch_size=3).c)
    assert min(best) == 0 and max(best) > 1


def test_softmax_mixed_derivatives() -> None:
    """(-1)^(n-1) (n-1)! / n^n at equal scores."""
    assert [symbolic.softmax_mixed_derivative(n) for n in (2, 3, 4)] == [
        sp.Rational(-1, 4),
        sp.Rational(2, 27),
        sp.Rational(-6, 256),
    ]


def test_symbols_go_through_the_library() -> None:
    """The proof is about the formulas that training runs: symbols in, the coefficients of a real batch out."""
    numbers = {symbolic.M: 7, symbolic.s: 3, symbolic.m: 3, symbolic.n: 4}
    for kind in some(in_batch.KINDS[:2]):
        form = in_batch.coefficients_from(kind, a=symbolic.A, rho=symbolic.RHO)
        real = in_batch.batch_coefficients(kind, batch_size=3, n_positives=7, shape=(3, 4))
        for part in ("positive", "grid", "constant", "inverse"):
            assert sp.sympify(getattr(form, part)).subs(numbers) == sp.Rational(getattr(real, part))
