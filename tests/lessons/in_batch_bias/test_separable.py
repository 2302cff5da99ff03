"""No minimiser where labels are separable: by exact fractions over all label matrices, by derivatives, and broken."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from course_lib.lessons.in_batch_bias import proofs, separable

LABELS = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]])


def as_floats(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    users, items = separable.separating_tables(labels)
    return users.astype(float), items.astype(float)


def test_every_label_matrix_is_separated_at_twice_its_longest_row_and_one() -> None:
    for cells in product((0, 1), repeat=8):
        labels = np.reshape(cells, (2, 4))
        users, items = separable.separating_tables(labels)
        assert users.shape[1] == 2 * labels.sum(axis=1).max() + 1
        assert separable.margin(users, items, labels) >= Fraction(1, 2)


def test_the_proofs_leave_nothing() -> None:
    assert {*proofs.thm_no_logistic_minimiser(), *proofs.prop_logistic_margin()} == {0}


def test_the_gradient_is_that_of_the_objective() -> None:
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2, LABELS.shape)
    start = rng.normal(size=14)

    def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[:6].reshape(3, 2), x[6:].reshape(4, 2)

    numeric = minimize(lambda x: separable.objective(*split(x), LABELS, weights), start, options={"maxiter": 0}).jac
    assert np.linalg.norm(numeric) == pytest.approx(separable.gradient_norm(*split(start), LABELS, weights), rel=1e-6)


def test_any_rule_on_the_gradient_norm_is_met_by_models_with_different_lists() -> None:
    """Two separating models, the items in another order; user 1's best new item differs, and both pass 1e-7."""
    order = np.array([2, 0, 3, 1])
    lists = []
    for places in (np.arange(4), order):
        users, items = as_floats(LABELS[:, places])
        items = items[np.argsort(places)]
        assert separable.margin(users, items, LABELS) > 0
        scale = next(t for t in 2.0 ** np.arange(12) if separable.gradient_norm(t * users, t * items, LABELS) < 1e-7)
        scores = scale**2 * users @ items.T
        lists.append(np.where(LABELS == 1, -np.inf, scores).argmax(axis=1).tolist())
        assert separable.objective(scale * users, scale * items, LABELS) > 0
    assert lists[0] != lists[1]


@pytest.mark.parametrize("weights", [1.0, np.array([[1, 9, 2, 1], [3, 1, 1, 5], [1, 1, 7, 1]]) / 4])
def test_the_margin_bounds_the_objective(weights: np.ndarray | float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        users, items = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
        low, high = separable.bounds(users, items, LABELS, weights)
        assert low <= separable.objective(users, items, LABELS, weights) <= high * (1 + 1e-12)


@pytest.mark.parametrize("weights", [1.0, np.where(LABELS == 1, 1.0, 0.01)])
def test_the_best_tables_of_a_norm_come_as_close_to_the_best_margin_as_proved_whatever_the_weights(
    weights: np.ndarray | float,
) -> None:
    """Labels of one user and two items at width 1: the best margin of unit norm is 1 / (2 sqrt 2), by hand."""
    labels = np.array([[1, 0]])
    weights = weights if np.isscalar(weights) else weights[:1, 2:4]
    best = 1 / (2 * np.sqrt(2))
    for squared in (20.0, 80.0, 320.0):
        angle = np.linspace(0, 2 * np.pi, 721)
        tilt = np.linspace(0, np.pi, 361)
        u, along = np.cos(tilt)[:, None] + 0 * angle, np.sin(tilt)[:, None]
        v = np.stack([along * np.cos(angle), along * np.sin(angle)], axis=-1)
        margins = np.minimum(u * v[..., 0], -u * v[..., 1])
        w = np.broadcast_to(weights, (1, 2))[0]
        values = w[0] * np.logaddexp(0, -squared * u * v[..., 0]) + w[1] * np.logaddexp(0, squared * u * v[..., 1])
        found = margins[np.unravel_index(values.argmin(), values.shape)]
        gap = np.log(2 * w.sum() / w.min()) / squared
        assert separable.enough_norm(gap, labels, weights) == pytest.approx(squared)
        assert best - found <= gap + 1e-3


def test_a_positive_that_pays_as_a_negative_has_a_finite_best_score() -> None:
    """Breaking the form: In-Batch's l+ + c l- has its least value at -log c, so the positives do not run away."""
    for cost in (0.1, 2.0):
        least = minimize(lambda s, c=cost: np.logaddexp(0, -s[0]) + c * np.logaddexp(0, s[0]), [0.0]).x[0]
        assert least == pytest.approx(-np.log(cost), abs=1e-4)


def test_labels_that_are_no_zeros_and_ones_are_refused() -> None:
    with pytest.raises(ValueError, match="labels"):
        separable.signs([[0.5, 1]])
