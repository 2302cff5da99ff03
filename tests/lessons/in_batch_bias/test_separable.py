"""No minimiser where labels are separable: by exact fractions over all label matrices, by derivatives, and broken.

The objective is F(U, V) = sum_ij w_ij log(1 + exp(-z_ij <u_i, v_j>)) with the sign z_ij = 1 of a positive pair and -1
of a negative one, and weights w_ij > 0. Tables that give every score its sign are called separating; their margin is
min_ij z_ij <u_i, v_j>. P3's Unbiased and Pos-Neg are of this form. Its In-Batch and Popularity are not: there a
positive pair of popularity above 1 pays as a negative, too, and its own best score is finite.
"""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Float = NDArray[np.float64]
LABELS = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]])


def signs(labels: Any) -> NDArray[np.int64]:
    """(m, n) 1 for a positive pair, -1 for a negative one."""
    return np.where(np.asarray(labels) == 1, 1, -1)


def margin(U: Any, V: Any, labels: Any) -> Any:
    """The least z_ij <u_i, v_j>: above 0 exactly for separating tables; exact for Fractions."""
    return (signs(labels) * (np.asarray(U) @ np.asarray(V).T)).min()


def objective(U: Float, V: Float, labels: Any, weights: Any = 1.0) -> float:
    """F(U, V)."""
    return float((weights * np.logaddexp(0, -signs(labels) * (U @ V.T))).sum())


def gradient_norm(U: Float, V: Float, labels: Any, weights: Any = 1.0) -> float:
    """The length of the gradient of F in both tables."""
    z = signs(labels)
    slope = -weights * z * expit(-z * (U @ V.T))
    return float(np.sqrt(((slope @ V) ** 2).sum() + ((slope.T @ U) ** 2).sum()))


def separating_tables(labels: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Tables of Fractions, of rank 2 r + 1, that separate labels with at most r positives in a row.

    Item j is the vector (1, t, ..., t^2r) at t = j, and user i the coefficients of 1/2 - prod (t - j)^2 over their
    items j: at their own items this polynomial is 1/2, and at any other whole number at most 1/2 - 1.
    """
    z = signs(labels)
    degree = 2 * int((z == 1).sum(axis=1).max(initial=0))
    items = np.array(
        [[Fraction(int(t) ** power) for power in range(degree + 1)] for t in range(z.shape[1])], dtype=object
    )
    users = np.full((len(z), degree + 1), Fraction(0), dtype=object)
    for i, row in enumerate(z):
        product = np.array([Fraction(1)], dtype=object)
        for j in np.flatnonzero(row == 1):
            for _ in range(2):
                product = np.convolve(product, np.array([Fraction(-int(j)), Fraction(1)], dtype=object))
        users[i, : len(product)] = -product
        users[i, 0] += Fraction(1, 2)
    return users, items


def bounds(U: Float, V: Float, labels: Any, weights: Any = 1.0) -> tuple[float, float]:
    """What the margin g alone says of F: w_min log(1 + exp(-g)) <= F <= sum(w) exp(-g)."""
    least = margin(U, V, labels)
    w = np.broadcast_to(np.asarray(weights, dtype=np.float64), np.shape(labels))
    return float(w.min() * np.logaddexp(0, -least)), float(w.sum() * np.exp(-least))


def enough_norm(gap: float, labels: Any, weights: Any = 1.0) -> float:
    """The squared norm t^2 from which on the best tables of that norm miss the best margin by less than `gap` t^2.

    With |U|^2 + |V|^2 = t^2 and t^2 g* the best margin, tables of margin t^2 (g* - gap) >= 0 have F at least
    w_min exp(-t^2 (g* - gap)) / 2. The tables of the best margin have F at most sum(w) exp(-t^2 g*), which is less as
    soon as t^2 gap > log(2 sum(w) / w_min).
    """
    w = np.broadcast_to(np.asarray(weights, dtype=np.float64), np.shape(labels))
    return float(np.log(2 * w.sum() / w.min()) / gap)


def as_floats(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    users, items = separating_tables(labels)
    return users.astype(float), items.astype(float)


def test_every_label_matrix_is_separated_at_twice_its_longest_row_and_one() -> None:
    for cells in product((0, 1), repeat=8):
        labels = np.reshape(cells, (2, 4))
        users, items = separating_tables(labels)
        assert users.shape[1] == 2 * labels.sum(axis=1).max() + 1
        assert margin(users, items, labels) >= Fraction(1, 2)


def test_the_gradient_is_that_of_the_objective() -> None:
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2, LABELS.shape)
    start = rng.normal(size=14)

    def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[:6].reshape(3, 2), x[6:].reshape(4, 2)

    numeric = minimize(lambda x: objective(*split(x), LABELS, weights), start, options={"maxiter": 0}).jac
    assert np.linalg.norm(numeric) == pytest.approx(gradient_norm(*split(start), LABELS, weights), rel=1e-6)


def test_any_rule_on_the_gradient_norm_is_met_by_models_with_different_lists() -> None:
    """Two separating models, the items in another order; user 1's best new item differs, and both pass 1e-7."""
    order = np.array([2, 0, 3, 1])
    lists = []
    for places in (np.arange(4), order):
        users, items = as_floats(LABELS[:, places])
        items = items[np.argsort(places)]
        assert margin(users, items, LABELS) > 0
        scale = next(t for t in 2.0 ** np.arange(12) if gradient_norm(t * users, t * items, LABELS) < 1e-7)
        scores = scale**2 * users @ items.T
        lists.append(np.where(LABELS == 1, -np.inf, scores).argmax(axis=1).tolist())
        assert objective(scale * users, scale * items, LABELS) > 0
    assert lists[0] != lists[1]


@pytest.mark.parametrize("weights", [1.0, np.array([[1, 9, 2, 1], [3, 1, 1, 5], [1, 1, 7, 1]]) / 4])
def test_the_margin_bounds_the_objective(weights: np.ndarray | float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        users, items = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
        low, high = bounds(users, items, LABELS, weights)
        assert low <= objective(users, items, LABELS, weights) <= high * (1 + 1e-12)


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
        assert enough_norm(gap, labels, weights) == pytest.approx(squared)
        assert best - found <= gap + 1e-3


def test_a_positive_that_pays_as_a_negative_has_a_finite_best_score() -> None:
    """Breaking the form: In-Batch's l+ + c l- has its least value at -log c, so the positives do not run away."""
    for cost in (0.1, 2.0):
        least = minimize(lambda s, c=cost: np.logaddexp(0, -s[0]) + c * np.logaddexp(0, s[0]), [0.0]).x[0]
        assert least == pytest.approx(-np.log(cost), abs=1e-4)
