"""Ranks and null spaces of tables, in floats and in Fractions, and how a table is read.

Ranks are computed in float64 (exactly for Fractions), with a tolerance that the rounding of the input can reach, and
no larger: sigma_max (4 sqrt(columns) eps + max(shape) eps64), eps that of the input's dtype.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import arrays, checking
from course_lib.arrays import Array, is_exact, is_torch, like, namespace, shape_of

EPS64 = float(np.finfo(np.float64).eps)
BLOCK_NUMBERS = 2**21  # numbers held at once where a table is worked through in blocks


def rank(rows: Array, *, relative_to: float | None = None) -> int:
    """The rank of (n, p), by the tolerance of the module docstring, with `relative_to` in place of sigma_max."""
    if is_exact(rows):
        return len(_echelon(rows)[1])
    sigma = namespace(rows).linalg.svdvals(doubled(rows))
    return int((sigma > _tolerance(rows, sigma if relative_to is None else relative_to)).sum())


def null_space(rows: Array) -> Array:
    """An orthonormal basis of {x : rows x = 0} as columns, (p, g), in the dtype of rows."""
    xp, p = namespace(rows), shape_of(rows)[1]
    wide = doubled(rows)
    if shape_of(rows)[0] < p:  # the null space needs p right singular vectors
        wide = xp.concat([wide, xp.broadcast_to(wide[:1] * 0, (p - shape_of(rows)[0], p))])
    _, sigma, vt = xp.linalg.svd(wide, full_matrices=False)
    return like(xp.matrix_transpose(vt)[:, int((sigma > _tolerance(rows, sigma)).sum()) :], rows, "basis")


def row_space(rows: Array) -> Array:
    """An orthonormal basis of the span of the rows as columns, (p, r)."""
    xp = namespace(rows)
    _, sigma, vt = xp.linalg.svd(doubled(rows), full_matrices=False)
    return like(xp.matrix_transpose(vt)[:, : int((sigma > _tolerance(rows, sigma)).sum())], rows, "basis")


def _tolerance(rows: Array, sigma: Any) -> float:
    largest = float(sigma) if isinstance(sigma, float) else float(sigma[0]) if shape_of(sigma)[0] else 0.0
    return largest * (4 * math.sqrt(shape_of(rows)[1]) * machine_epsilon(rows) + max(shape_of(rows)) * EPS64)


def _echelon(rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Reduced row echelon form of Fractions, and its pivot columns."""
    m = rows.copy()
    pivots: list[int] = []
    for col in range(m.shape[1]):
        at = len(pivots)
        candidates = [r for r in range(at, m.shape[0]) if m[r, col] != 0]
        if not candidates:
            continue
        m[[at, candidates[0]]] = m[[candidates[0], at]]
        m[at] = m[at] / m[at, col]
        for r in range(m.shape[0]):
            if r != at and m[r, col] != 0:
                m[r] = m[r] - m[at] * m[r, col]
        pivots.append(col)
    return m, pivots


def exact_inverse(R: np.ndarray) -> np.ndarray:
    """The inverse of an invertible matrix of Fractions."""
    k = len(R)
    identity = np.array([[Fraction(int(i == j)) for j in range(k)] for i in range(k)], dtype=object)
    return _echelon(np.concatenate([R, identity], axis=1))[0][:, k:]


def exact_null_space(rows: np.ndarray) -> np.ndarray:
    """A rational basis of {x : rows x = 0} as columns, (p, g)."""
    m, pivots = _echelon(rows)
    free = [c for c in range(rows.shape[1]) if c not in pivots]
    basis = np.full((rows.shape[1], len(free)), Fraction(0), dtype=object)
    for g, c in enumerate(free):
        basis[c, g] = Fraction(1)
        for r, pivot in enumerate(pivots):
            basis[pivot, g] = -m[r, c]
    return basis


def checked_table(A: Any, name: str) -> Array:
    return arrays.check_finite(arrays.as_table(A, name), name)


def checked_pair(A: Any, B: Any, names: tuple[str, str] = ("A", "B")) -> tuple[Array, Array]:
    A = checked_table(A, names[0])
    B = checked_table(like(arrays.as_array(B, names[1]), A, names[1]), names[1])
    checking.same_width(A, B, *names)
    return A, B


def doubled(x: Array) -> Array:
    return x.double() if is_torch(x) else x.astype(np.float64)


def machine_epsilon(x: Array) -> float:
    return 0.0 if is_exact(x) else float(namespace(x).finfo(x.dtype).eps)


def index_for(ids: np.ndarray, reference: Array) -> Array:
    """Integer ids for indexing `reference`: a tensor on its device, or the array itself."""
    if not is_torch(reference):
        return ids
    return namespace(reference).asarray(ids, device=reference.device)
