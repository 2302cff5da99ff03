"""Gramians of embedding tables and the sums over all pairs that they make cheap.

sum_ij <u_i, v_j>^2 looks like m n dot products. It is the Frobenius product of two d x d matrices (P4, Section 2.2),
which costs O((m + n) d^2).
"""

from __future__ import annotations

from typing import Any

from .arrays import Array, as_array, like, namespace, shape_of


def gramian(embeddings: Any, *, weights: Any = None) -> Array:
    """(1/n) sum_i w_i e_i e_i^T: the (weighted) mean of the outer products.

    embeddings (..., n, d); weights (n,) or (..., n), ones by default. Returns (..., d, d).
    Source: P4, equation (4) for weights = 1.
    """
    embeddings = _table(embeddings, "embeddings")
    return _outer_sum(embeddings, _weights(weights, embeddings, "weights")) / shape_of(embeddings)[-2]


def gravity(left: Any, right: Any) -> Array:
    """<gramian(left), gramian(right)> = (1/n^2) sum_xy <left_x, right_y>^2 over all n^2 pairs.

    left, right (..., n, d): row x of both tables belongs to training pair x, so they have the same number of rows.
    Use `all_pairs_square` for tables of different length. Returns (...). Source: P4, equations (3) and (5).
    """
    left, right = _table(left, "left"), _table(right, "right")
    if shape_of(left)[-2] != shape_of(right)[-2]:
        raise ValueError(
            f"left has {shape_of(left)[-2]} rows and right has {shape_of(right)[-2]}; gravity takes one row per "
            f"training pair in both. For all m x n pairs use all_pairs_square"
        )
    return _frobenius(gramian(left), gramian(right))


def all_pairs_square(left: Any, right: Any, *, left_weights: Any = None, right_weights: Any = None) -> Array:
    """sum_ij w_i z_j <left_i, right_j>^2 over all m n pairs, in O((m + n) d^2).

    left (..., m, d), right (..., n, d); left_weights w (m,) and right_weights z (n,), ones by default. Returns (...).
    It equals <sum_i w_i u_i u_i^T, sum_j z_j v_j v_j^T>. With w = |O_i,:| and z = |O_:,j| it is the popularity term
    of P3, equation (15), and |O|^2 times P4's gravity term over the pairs of O: the two papers meet here.
    """
    left, right = _table(left, "left"), _table(right, "right")
    if shape_of(left)[-1] != shape_of(right)[-1]:
        raise ValueError(f"left has width {shape_of(left)[-1]} but right has width {shape_of(right)[-1]}")
    return _frobenius(
        _outer_sum(left, _weights(left_weights, left, "left_weights")),
        _outer_sum(right, _weights(right_weights, right, "right_weights")),
    )


def _table(embeddings: Any, name: str) -> Array:
    embeddings = as_array(embeddings, name)
    if len(embeddings.shape) < 2 or 0 in shape_of(embeddings)[-2:]:
        raise ValueError(f"{name} must have shape (..., n, d) with n, d >= 1, but has shape {shape_of(embeddings)}")
    return embeddings


def _weights(weights: Any, embeddings: Array, name: str) -> Array | None:
    if weights is None:
        return None
    weights = like(weights, embeddings, name)
    if not weights.shape or shape_of(weights)[-1] != shape_of(embeddings)[-2]:
        raise ValueError(f"{name} has shape {shape_of(weights)} but there are {shape_of(embeddings)[-2]} embeddings")
    return weights


def _outer_sum(embeddings: Array, weights: Array | None) -> Array:
    weighted = embeddings if weights is None else embeddings * weights[..., None]
    return embeddings.swapaxes(-1, -2) @ weighted  # (..., d, n) @ (..., n, d) -> (..., d, d)


def _frobenius(a: Array, b: Array) -> Array:
    return namespace(a, b).sum(a * b, axis=(-2, -1))
