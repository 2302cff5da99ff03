"""The logistic objective over all pairs has no minimiser where a model of its rank separates the labels.

The objective is F(U, V) = sum_ij w_ij log(1 + exp(-z_ij <u_i, v_j>)) with the sign z_ij = 1 of a positive pair and -1
of a negative one, and weights w_ij > 0. Tables that give every score its sign are called separating; their margin is
min_ij z_ij <u_i, v_j>. P3's Unbiased and Pos-Neg are of this form. Its In-Batch and Popularity are not: there a
positive pair of popularity above 1 pays as a negative, too, and its own best score is finite.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Float = NDArray[np.float64]


def signs(labels: Any) -> NDArray[np.int64]:
    """(m, n) 1 for a positive pair, -1 for a negative one."""
    labels = np.asarray(labels)
    if labels.ndim != 2 or not np.isin(labels, (0, 1)).all():
        raise ValueError(f"labels has shape {labels.shape}; expected a matrix of zeros and ones")
    return np.where(labels == 1, 1, -1)


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
