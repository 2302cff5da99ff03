"""Gauges with a purpose: neighbours of one's choice, rows that no gauge moves, and what weight decay leads to."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import checking, geometry
from course_lib.arrays import Array, like, namespace, shape_of
from course_lib.gauge.algebra import checked_pair, checked_table, in_floats, index_for, rank


def gauge_for_neighbours(B: Any, query: int, chosen: Any, *, stretch: float = 100.0) -> Array:
    """Return a gauge after which chosen rows, and none outside their span, point almost where a given row points.

    In ``B R^-T`` the rows ``chosen`` have almost the direction of row ``query``, and rows with a part outside the span
    of query and chosen rows have not.

    Parameters
    ----------
    B : array_like, shape (n, k)
        The table of floats, NumPy or torch.
    query : int
        The id of the row.
    chosen : sequence of int
        The ids of the rows that become its neighbours.
    stretch : float
        How strongly the gauge acts, above 0.

    Returns
    -------
    array, shape (k, k)
        The matrix ``R``, in floats of at least 32 bits. Its condition number grows like ``stretch^2``.

    Raises
    ------
    ValueError
        Unless the ``1 + len(chosen)`` rows are rows of ``B``, linearly independent and fewer than ``k``; for a
        ``stretch`` that is not above 0.

    Notes
    -----
    With ``P`` the projection on the span of the query and the chosen rows, ``f`` the vector of this span for which
    ``<f, b> = 1`` on all of them, and ``s`` their mean length, it is
    ``R^-1 = s (f/||f||) f^T + P / stretch + stretch (I - P)``. The chosen rows land within an angle of order
    ``1/stretch`` of each other. Every other row is dragged out of that direction by ``stretch`` times its part outside
    the span. So a row inside the span with ``<f, b> > 0``, such as the sum of two of these rows, becomes a neighbour as
    well.

    Examples
    --------
    The nearest neighbour of row 0 is row 2. After the gauge it is row 1, which was orthogonal to row 0:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> B = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    >>> R = gauge.gauge_for_neighbours(B, 0, [1])
    >>> _, moved = gauge.apply_linear_gauge(B, B, R)
    >>> gauge.neighbours(B, 1, queries=[0]).tolist(), gauge.neighbours(moved, 1, queries=[0]).tolist()
    ([[2]], [[1]])
    """
    B = checked_table(B, "B")
    xp, k = namespace(B), shape_of(B)[-1]
    n, chosen = shape_of(B)[0], checking.instance(chosen, "chosen", Iterable, "ids of rows")
    rows = [checking.whole(row, name, 0, n - 1) for name, row in [("query", query), *(("chosen", c) for c in chosen)]]
    if len(set(rows)) < len(rows) or len(rows) >= k:
        raise ValueError(f"query and chosen are {len(rows)} rows; expected different ones, fewer than the width {k}")
    C = B[index_for(np.array(rows), B)]  # (c, k)
    if rank(C) < len(rows):
        raise ValueError("the query and the chosen rows are linearly dependent: no gauge can treat them freely")
    checking.real(stretch, "stretch", above=0)
    C, stretch = in_floats(C), float(stretch) if isinstance(stretch, Fraction) else stretch
    inverse = xp.linalg.pinv(C)  # (k, c)
    P, f = inverse @ C, inverse.sum(-1)
    length = geometry.norm(C).mean()
    one = like(np.eye(k), C, "one")
    back = length * (f / geometry.norm(f))[:, None] * f[None, :] + P / stretch + stretch * (one - P)
    return xp.linalg.inv(back)


def score_rows(A: Any, B: Any) -> Array:
    """Return a row for each item such that inner products of rows are those of the items' columns of scores.

    ``B (A^T A)^(1/2)``: rows i and j have the inner product of the columns of scores ``A b_i`` and ``A b_j``, which no
    gauge changes. (The rows themselves turn with the gauge.)

    Parameters
    ----------
    A : array_like, shape (m, k)
        The queries' table of floats, NumPy or torch.
    B : array_like, shape (n, k)
        The items' table.

    Returns
    -------
    array, shape (n, k)
        The rows, in floats of at least 32 bits.

    Raises
    ------
    ValueError
        For widths that differ and for tables that are not finite.

    Notes
    -----
    A cosine between these rows compares two items by what the model predicts for them, and is the same in every gauge:
    ``b_i^T (A^T A) b_j`` does not change when ``A -> A R``, ``B -> B R^-T``.

    Examples
    --------
    The scores of the two items are (3, 0) and (3, 4); their inner products are 9, 9 and 25. A gauge leaves them:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> A, B = np.diag([3.0, 4.0]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> rows = gauge.score_rows(A, B)
    >>> (rows @ rows.T).round(3).tolist()
    [[9.0, 9.0], [9.0, 25.0]]
    >>> rows = gauge.score_rows(*gauge.apply_gauge(A, B, [10.0, 1.0]))
    >>> (rows @ rows.T).round(3).tolist()
    [[9.0, 9.0], [9.0, 25.0]]
    """
    A, B = map(in_floats, checked_pair(A, B))
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(xp.matrix_transpose(A) @ A)
    root = vectors * xp.sqrt(xp.clip(values, 0, None))  # (k, k): any root will do, roots differ by a rotation
    return B @ (root @ xp.matrix_transpose(vectors))


def balance_tables(A: Any, B: Any) -> tuple[Array, Array]:
    """Return the tables of the same scores with the least sum of squares, where weight decay leads.

    They have ``A^T A = B^T B``, diagonal. Every rotation of both has the same, least ``||A||^2 + ||B||^2``.

    Parameters
    ----------
    A : array_like, shape (m, k)
        The first table of floats, NumPy or torch, of rank ``k``.
    B : array_like, shape (n, k)
        The second table, of rank ``k``.

    Returns
    -------
    A : array, shape (m, k)
        The first table in this gauge.
    B : array, shape (n, k)
        The second table in this gauge.

    Raises
    ------
    ValueError
        Where a table has rank below ``k``, and for widths that differ.

    Notes
    -----
    This is where weight decay on both tables leads, up to a rotation.

    Examples
    --------
    The scores are diag(4, 9). The squares sum to 99 before (16 + 81 + 1 + 1), and to 26 after (9 + 4 + 9 + 4):

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> A, B = gauge.balance_tables(np.diag([4.0, 9.0]), np.eye(2))
    >>> np.diag(A.T @ A).round(3).tolist(), np.diag(B.T @ B).round(3).tolist()
    ([9.0, 4.0], [9.0, 4.0])
    >>> bool(np.allclose(A @ B.T, np.diag([4.0, 9.0])))
    True
    """
    A, B = checked_pair(A, B)
    xp, k = namespace(A), shape_of(A)[-1]
    if min(rank(A), rank(B)) < k:
        raise ValueError(f"the tables have ranks {rank(A)} and {rank(B)}, expected the width {k}")
    (qa, ra), (qb, rb) = xp.linalg.qr(in_floats(A)), xp.linalg.qr(in_floats(B))
    u, s, vt = xp.linalg.svd(ra @ xp.matrix_transpose(rb))
    return qa @ u * xp.sqrt(s), qb @ xp.matrix_transpose(vt) * xp.sqrt(s)
