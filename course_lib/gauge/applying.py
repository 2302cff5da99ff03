"""Gauges applied, found between two tables, and drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from course_lib import checking, geometry
from course_lib.arrays import Array, all_finite, first_index, is_exact, like, namespace, shape_of
from course_lib.gauge.algebra import checked_pair, checked_table, doubled, exact_inverse, in_floats, rank


def apply_gauge(A: Any, B: Any, d: Any) -> tuple[Array, Array]:
    """Return two tables after a diagonal gauge, which leaves all scores as they are.

    ``(A D, B D^-1)`` with ``D = diag(d)``. The scores are the same, since ``(A D)(B D^-1)^T = A B^T``.

    Parameters
    ----------
    A : array_like, shape (..., m, k)
        The first table: NumPy, torch or exact.
    B : array_like, shape (..., n, k)
        The second table.
    d : array_like, shape (k,) or (..., k)
        One factor for each axis, none of them zero.

    Returns
    -------
    A D : array, shape (..., m, k)
        The first table after the gauge.
    B D^-1 : array, shape (..., n, k)
        The second table after the gauge.

    Raises
    ------
    ValueError
        For widths that differ, and for entries of ``d`` that are zero or not finite.

    Notes
    -----
    Source: P2, Definition 3 and Proposition 6.

    Examples
    --------
    The score of the pair is 3 before and after. The cosine of the two rows of ``A`` is 0.6 before, and 0 after:

    >>> import numpy as np
    >>> from course_lib import gauge, geometry
    >>> A, B = np.array([[2.0, 1.0], [2.0, -1.0]]), np.array([[1.0, 1.0]])
    >>> A2, B2 = gauge.apply_gauge(A, B, [0.5, 1.0])
    >>> (A @ B.T).tolist(), (A2 @ B2.T).tolist()
    ([[3.0], [1.0]], [[3.0], [1.0]])
    >>> round(float(geometry.cosine(A[0], A[1])), 4), round(float(geometry.cosine(A2[0], A2[1])), 4)
    (0.6, 0.0)
    """
    A, B = checked_pair(A, B, stack=True)
    d = like(d, A, "d")
    if not d.shape or shape_of(d)[-1] != shape_of(A)[-1]:
        raise ValueError(f"d has shape {shape_of(d)}; expected ({shape_of(A)[-1]},): one factor per axis")
    if not all_finite(d) or first_index(d == 0) is not None:
        raise ValueError(f"d must hold finite numbers other than 0, so that D is invertible; got {_plain(d)}")
    return A * d[..., None, :], B / d[..., None, :]


def apply_linear_gauge(A: Any, B: Any, R: Any) -> tuple[Array, Array]:
    """Return two tables after a gauge with any invertible matrix, which leaves all scores as they are.

    ``(A R, B R^-T)``. The scores are the same, since ``(A R)(B R^-T)^T = A B^T``.

    Parameters
    ----------
    A : array_like, shape (..., m, k)
        The first table: NumPy, torch or exact.
    B : array_like, shape (..., n, k)
        The second table.
    R : array_like, shape (k, k)
        The matrix of the gauge, invertible.

    Returns
    -------
    A R : array, shape (..., m, k)
        The first table after the gauge.
    B R^-T : array, shape (..., n, k)
        The second table after the gauge. Tables of 16 bits come back in float32.

    Raises
    ------
    ValueError
        For shapes that do not fit and for a singular ``R``.

    See Also
    --------
    apply_gauge : The case of a diagonal ``R``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import gauge
    >>> A, B = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 4.0]])
    >>> A2, B2 = gauge.apply_linear_gauge(A, B, [[1.0, 1.0], [0.0, 1.0]])
    >>> A2.tolist(), B2.tolist(), (A2 @ B2.T).tolist()  # the scores are still 3 and 4
    ([[1.0, 1.0], [0.0, 1.0]], [[-1.0, 4.0]], [[3.0], [4.0]])
    """
    A, B = (x if is_exact(x) else in_floats(x) for x in checked_pair(A, B, stack=True))
    R = checked_table(like(R, A, "R"), "R")
    k = shape_of(A)[-1]
    if shape_of(R) != (k, k):
        raise ValueError(f"R has shape {shape_of(R)}, but the tables have width {k}: expected ({k}, {k})")
    if rank(R) < k:
        raise ValueError("R is singular (to working precision), so no table B R^-T keeps the scores")
    xp = namespace(A)
    if is_exact(A):
        return A @ R, B @ exact_inverse(R).T
    return A @ R, xp.matrix_transpose(xp.linalg.solve(R, xp.matrix_transpose(B)))  # (k, k) \ (k, n) -> (k, n) -> (n, k)


def find_gauge(A: Any, other: Any) -> tuple[Array, float]:
    """Return the matrix that takes one table as near as possible to another, and what is left between them.

    ``R`` has the least ``||A R - other||``, and ``misfit = ||A R - other|| / ||other||``.

    Parameters
    ----------
    A, other : array_like, shape (m, k)
        Two tables of floats with the same rows, for example from two trainings of one model.

    Returns
    -------
    R : array, shape (k, k)
        The matrix.
    misfit : float
        The relative misfit. A misfit of rounding size says that the two tables differ by a gauge only (if ``R`` is
        invertible).

    Raises
    ------
    ValueError
        Where the columns of ``A`` are linearly dependent (``R`` is then not unique), where ``other`` is zero, and for
        shapes that differ.

    Examples
    --------
    The second column of ``other`` is twice that of ``A``: a gauge explains the difference.

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> R, misfit = gauge.find_gauge(A, A * [1.0, 2.0])
    >>> abs(R).round(3).tolist(), misfit < 1e-12
    ([[1.0, 0.0], [0.0, 2.0]], True)
    """
    A, other = checked_pair(A, other, names=("A", "other"))
    if shape_of(A) != shape_of(other):
        raise ValueError(f"other has shape {shape_of(other)}; expected that of A, {shape_of(A)}")
    A, other = (doubled(table) if is_exact(table) else table for table in (A, other))
    if rank(A) < shape_of(A)[-1]:
        raise ValueError(f"A has rank {rank(A)} but width {shape_of(A)[-1]}: the gauge is not unique")
    xp, A, other = namespace(A), in_floats(A), in_floats(other)
    length = geometry.norm(xp.reshape(other, (-1,)))
    if length == 0:
        raise ValueError("other is zero everywhere, so a misfit relative to its length says nothing")
    R = xp.linalg.pinv(A) @ other
    return R, float(geometry.norm(xp.reshape(A @ R - other, (-1,))) / length)


def random_diagonal_gauge(k: int, *, spread: float, rng: Generator) -> np.ndarray:
    """Return the factors of a random diagonal gauge.

    Parameters
    ----------
    k : int
        The width of the tables.
    spread : float
        The standard deviation of ``log d``, at least 0: 0 is the identity, 1 is a typical factor of ``e``.
    rng : numpy.random.Generator
        Where the numbers come from.

    Returns
    -------
    NumPy array, shape (k,)
        The factors ``d``, with ``log d`` normal of mean 0. All are above 0.

    Raises
    ------
    ValueError
        For a ``k`` below 1, a spread below 0 or not finite, and for an ``rng`` that is no Generator.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import gauge
    >>> gauge.random_diagonal_gauge(3, spread=0.0, rng=np.random.default_rng(0)).tolist()
    [1.0, 1.0, 1.0]
    >>> d = gauge.random_diagonal_gauge(10_000, spread=1.0, rng=np.random.default_rng(0))
    >>> round(float(np.log(d).std()), 1)
    1.0
    """
    checking.whole(k, "k")
    checking.real(spread, "spread", least=0)
    checking.generator(rng)
    factors: np.ndarray = np.exp(spread * rng.standard_normal(k))
    return factors


def random_linear_gauge(k: int, *, spread: float, rng: Generator, rows: Any = None) -> np.ndarray:
    """Return the matrix of a random gauge: a random rotation or reflection, then a random diagonal gauge.

    ``R = Q diag(d)``, with ``d`` as in :func:`random_diagonal_gauge` and ``Q`` uniform among rotations and reflections.

    Parameters
    ----------
    k : int
        The width of the tables.
    spread : float
        The standard deviation of ``log d``, at least 0.
    rng : numpy.random.Generator
        Where the numbers come from.
    rows : array_like, shape (n, k), optional
        A table of rank ``k`` whose neighbours the gauge will move. With it, ``Q`` is drawn in the frame of the table
        (see Notes).

    Returns
    -------
    NumPy array, shape (k, k)
        The matrix ``R``.

    Raises
    ------
    ValueError
        For ``rows`` without the width ``k``, a spread below 0 or not finite, and an ``rng`` that is no Generator.

    Notes
    -----
    Without ``rows``, ``Q`` is drawn in the axes in which the table is given. Where these are singular vectors, their
    signs are the processor's choice, and so is what the gauge does to the neighbours. With ``rows``, ``Q`` is drawn in
    the table's own frame: ``rows^T G = U diag(s) V^T`` with ``G`` (n, k) standard normal, and ``Q = U V^T``. This ``Q``
    is uniform as well (``G O`` has the law of ``G`` for every rotation ``O``), and ``rows Q`` is the same table,
    whichever rotation or reflection of it was given.

    Examples
    --------
    A spread of 0 leaves the rotation alone:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> R = gauge.random_linear_gauge(3, spread=0.0, rng=np.random.default_rng(0))
    >>> bool(np.allclose(R @ R.T, np.eye(3)))
    True

    With ``rows``, the signs of the table's axes do not matter:

    >>> rows = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, -1.0]])
    >>> moved = [t @ gauge.random_linear_gauge(2, spread=1.0, rng=np.random.default_rng(0), rows=t)
    ...          for t in (rows, rows * [1.0, -1.0])]
    >>> bool(np.allclose(*moved))
    True
    """
    checking.whole(k, "k")
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
