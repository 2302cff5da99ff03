"""Gauges applied, found between two tables, and drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from course_lib import checking, geometry
from course_lib.arrays import Array, all_finite, first_index, is_exact, like, namespace, shape_of
from course_lib.gauge.algebra import checked_pair, checked_table, exact_inverse, rank


def apply_gauge(A: Any, B: Any, d: Any) -> tuple[Array, Array]:
    """(A D, B D^-1) with D = diag(d): same scores, since (A D)(B D^-1)^T = A B^T.

    A (..., m, k), B (..., n, k), d (k,) or (..., k). Raises ValueError for widths that differ and for entries of d that
    are zero or not finite. Source: P2, Definition 3 and Proposition 6.
    """
    A, B = checked_pair(A, B)
    d = like(d, A, "d")
    if not d.shape or shape_of(d)[-1] != shape_of(A)[-1]:
        raise ValueError(f"d has shape {shape_of(d)}; expected ({shape_of(A)[-1]},): one factor per axis")
    if not all_finite(d) or first_index(d == 0) is not None:
        raise ValueError(f"d must hold finite numbers other than 0, so that D is invertible; got {_plain(d)}")
    return A * d[..., None, :], B / d[..., None, :]


def apply_linear_gauge(A: Any, B: Any, R: Any) -> tuple[Array, Array]:
    """(A R, B R^-T): same scores, since (A R)(B R^-T)^T = A B^T.

    A (..., m, k), B (..., n, k), R (k, k) invertible. Raises ValueError for shapes that do not fit and for a singular
    R.
    """
    A, B = checked_pair(A, B)
    R = like(R, A, "R")
    k = shape_of(A)[-1]
    if shape_of(R)[-2:] != (k, k):
        raise ValueError(f"R has shape {shape_of(R)}, but the tables have width {k}: expected ({k}, {k})")
    if rank(R) < k:
        raise ValueError("R is singular (to working precision), so no table B R^-T keeps the scores")
    xp = namespace(A)
    if is_exact(A):
        return A @ R, B @ exact_inverse(R).T
    return A @ R, xp.matrix_transpose(xp.linalg.solve(R, xp.matrix_transpose(B)))  # (k, k) \ (k, n) -> (k, n) -> (n, k)


def find_gauge(A: Any, other: Any) -> tuple[Array, float]:
    """(R, misfit): the matrix with the least ||A R - other||, and misfit = ||A R - other|| / ||other||.

    A, other (m, k). A misfit of rounding size says that two trained tables differ by a gauge only. Raises ValueError
    when the columns of A are linearly dependent (R is then not unique).
    """
    A, other = checked_pair(A, other, names=("A", "other"))
    if rank(A) < shape_of(A)[-1]:
        raise ValueError(f"A has rank {rank(A)} but width {shape_of(A)[-1]}: the gauge is not unique")
    xp = namespace(A)
    R = xp.linalg.pinv(A) @ other
    return R, float(geometry.norm(xp.reshape(A @ R - other, (-1,))) / geometry.norm(xp.reshape(other, (-1,))))


def random_diagonal_gauge(k: int, *, spread: float, rng: Generator) -> np.ndarray:
    """d (k,) with log d normal, mean 0, standard deviation `spread` (>= 0): 0 is the identity, 1 is a factor of e."""
    checking.real(spread, "spread", least=0)
    checking.generator(rng)
    factors: np.ndarray = np.exp(spread * rng.standard_normal(k))
    return factors


def random_linear_gauge(k: int, *, spread: float, rng: Generator, rows: Any = None) -> np.ndarray:
    """R = Q diag(d) (k, k): d as in `random_diagonal_gauge`, Q a uniform rotation or reflection.

    rows: a table (n, k) whose neighbours the gauge will move. Without it Q is drawn in the axes in which the table is
    given; where these are singular vectors, their signs are the processor's choice, and so is what the gauge does to
    the neighbours. With it Q is drawn in the table's own frame: rows^T G = U diag(s) V^T with G (n, k) standard normal,
    Q = U V^T. This Q is uniform as well (G O has the law of G for every rotation O), and rows Q is the same table,
    whichever rotation or reflection of it was given. Raises ValueError where rows has not the width k.
    """
    checking.generator(rng)
    q = _uniform_rotation(k, rng) if rows is None else _rotation_in_frame(_plain_table(rows, k), rng)
    gauge: np.ndarray = q * random_diagonal_gauge(k, spread=spread, rng=rng)
    return gauge


def _uniform_rotation(k: int, rng: Generator) -> np.ndarray:
    """(k, k), uniform among rotations and reflections, by QR with a positive diagonal."""
    q, r = np.linalg.qr(rng.standard_normal((k, k)))
    turned: np.ndarray = q * np.sign(np.diag(r))
    return turned


def _rotation_in_frame(rows: np.ndarray, rng: Generator) -> np.ndarray:
    """Q (k, k) uniform, with rows Q the same for every rotation of rows (n, k): the polar factor of rows^T G."""
    u, _, vt = np.linalg.svd(rows.T @ rng.standard_normal(rows.shape))
    turned: np.ndarray = u @ vt
    return turned


def _plain_table(rows: Any, k: int) -> np.ndarray:
    rows = checked_table(rows, "rows")
    if len(shape_of(rows)) != 2 or shape_of(rows)[1] != k:
        raise ValueError(f"rows has shape {shape_of(rows)}, expected (n, {k})")
    return np.asarray(checking.as_numpy(rows), dtype=np.float64)


def _plain(x: Array) -> list[float]:
    return [float(value) for value in checking.as_numpy(x).reshape(-1)[:8]]
