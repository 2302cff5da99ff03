"""Gauges with a purpose: neighbours of one's choice, rows that no gauge moves, and what weight decay leads to."""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib import checking, geometry
from course_lib.arrays import Array, like, namespace, shape_of
from course_lib.gauge.algebra import checked_pair, checked_table, index_for, rank


def gauge_for_neighbours(B: Any, query: int, chosen: Any, *, stretch: float = 100.0) -> Array:
    """R (k, k) such that in B R^-T the rows `chosen` have almost the direction of row `query`, and the others have not.

    With f the vector for which <f, b> = 1 on the query and the chosen rows, P the projection on their span, s their
    mean length: R^-1 = s (f/||f||) f^T + P / stretch + stretch (I - P). The chosen rows land within an angle of order
    1/stretch of each other; every other row is dragged out of that direction by stretch times its part outside the
    span. The condition number grows like stretch^2. Raises ValueError unless the 1 + len(chosen) rows are linearly
    independent and fewer than k.
    """
    B = checked_table(B, "B")
    xp, k = namespace(B), shape_of(B)[-1]
    rows = [int(query), *(int(c) for c in chosen)]
    if len(set(rows)) < len(rows) or len(rows) >= k:
        raise ValueError(f"query and chosen are {len(rows)} rows; expected different ones, fewer than the width {k}")
    C = B[index_for(np.array(rows), B)]  # (c, k)
    if rank(C) < len(rows):
        raise ValueError("the query and the chosen rows are linearly dependent: no gauge can treat them freely")
    checking.real(stretch, "stretch", above=0)
    inverse = xp.linalg.pinv(C)  # (k, c)
    P, f = inverse @ C, inverse.sum(-1)
    length = geometry.norm(C).mean()
    one = like(np.eye(k), B, "one")
    back = length * (f / geometry.norm(f))[:, None] * f[None, :] + P / stretch + stretch * (one - P)
    return xp.linalg.inv(back)


def score_rows(A: Any, B: Any) -> Array:
    """B (A^T A)^(1/2): rows whose inner products are those of the columns of scores A b_j. (m, k), (n, k) -> (n, k).

    A cosine between these rows compares two items by what the model predicts for them, and is the same in every gauge:
    b_i^T (A^T A) b_j does not change when A -> A R, B -> B R^-T.
    """
    A, B = checked_pair(A, B)
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(xp.matrix_transpose(A) @ A)
    root = vectors * xp.sqrt(xp.clip(values, 0, None))  # (k, k): any root will do, roots differ by a rotation
    return B @ (root @ xp.matrix_transpose(vectors))


def balance_tables(A: Any, B: Any) -> tuple[Array, Array]:
    """The tables of the same scores with A^T A = B^T B diagonal: the gauge with the least ||A||^2 + ||B||^2.

    A (m, k), B (n, k) of rank k. This is where weight decay on both tables leads, up to a rotation. Raises ValueError
    where a table has rank below k.
    """
    A, B = checked_pair(A, B)
    xp, k = namespace(A), shape_of(A)[-1]
    if min(rank(A), rank(B)) < k:
        raise ValueError(f"the tables have ranks {rank(A)} and {rank(B)}, expected the width {k}")
    (qa, ra), (qb, rb) = xp.linalg.qr(A), xp.linalg.qr(B)
    u, s, vt = xp.linalg.svd(ra @ xp.matrix_transpose(rb))
    return qa @ u * xp.sqrt(s), qb @ xp.matrix_transpose(vt) * xp.sqrt(s)
