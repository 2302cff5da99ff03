"""Nearest neighbours within a table, and how many of them two lists share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib import checking, geometry
from course_lib.arrays import Array, all_finite, at_least_single, namespace, shape_of
from course_lib.gauge.algebra import BLOCK_NUMBERS, checked_table, index_for

METRICS = ("cosine", "chord", "geodesic", "euclidean", "dot")


def neighbours(X: Any, k: int, metric: str = "cosine", *, queries: Any = None) -> Array:
    """Return the ids of the nearest other rows of each row of a table.

    Parameters
    ----------
    X : array_like, shape (n, d)
        The table of floats, NumPy or torch.
    k : int
        How many neighbours, from 1 to n - 1.
    metric : {"cosine", "chord", "geodesic", "euclidean", "dot"}
        What "near" means: the largest "cosine" or "dot", the smallest "chord", "geodesic" or "euclidean". The first
        three agree for all rows; "euclidean" joins them on a sphere.
    queries : array_like of int, shape (q,), optional
        The ids of the rows to ask for, all by default.

    Returns
    -------
    array of int, shape (q, k)
        The ids, nearest first. Ties go to the lower id. A row is not its own neighbour.

    Raises
    ------
    ValueError
        For an unknown metric, ``k`` outside 1 ... n - 1, ``queries`` that are no ids of rows, zero rows where a
        direction is needed, and numbers so large that a distance overflows.

    Examples
    --------
    Row 3 has the direction of row 0, and row 1 is the one beside it:

    >>> from course_lib import gauge
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [10.0, 0.0]]
    >>> gauge.neighbours(X, 1, "cosine", queries=[0]).tolist()
    [[3]]
    >>> gauge.neighbours(X, 1, "euclidean", queries=[0]).tolist()
    [[1]]
    """
    X = checked_table(X, "X")
    n = shape_of(X)[0]
    checking.choice(metric, "metric", METRICS)
    checking.whole(k, "k", 1, n - 1, why="the number of other rows")
    xp, queries = namespace(X), np.arange(n) if queries is None else checking.as_numpy(queries, "queries")
    whole = queries.ndim == 1 and queries.dtype.kind in "iu"
    if not queries.size or not whole or queries.min() < 0 or queries.max() >= n:
        raise checking.refuse(queries, "queries", f"the ids of one row or more, from 0 to {n - 1}")
    queries = queries.astype(np.int64, copy=False)  # torch takes uint8 for a mask
    if metric in ("cosine", "chord", "geodesic"):
        X = geometry.normalise(X)
    X = at_least_single(X)
    found = []
    for ids in _blocks(queries, n * (shape_of(X)[1] if metric in ("chord", "geodesic", "euclidean") else 1)):
        far = _distances(X, X[index_for(ids, X)], metric)
        if not all_finite(far):  # they would tie, and the lowest ids win
            raise ValueError(f"X holds numbers so large that a distance by {metric!r} overflows; scale X down")
        far[index_for(np.arange(len(ids)), X), index_for(ids, X)] = math.inf  # a row is not its own neighbour
        found.append(xp.argsort(far, axis=-1, stable=True)[:, :k])
    return xp.concat(found)


def neighbour_overlap(first: Any, second: Any) -> np.ndarray:
    """Return the share of common ids in each row of two neighbour lists.

    Parameters
    ----------
    first, second : array_like of int, shape (q, k)
        The neighbours of the same q rows, for example before and after a gauge.

    Returns
    -------
    NumPy array, shape (q,)
        The shares, in [0, 1]. Two lists drawn at random from n - 1 rows share ``k / (n - 1)`` on average.

    Raises
    ------
    ValueError
        For two different shapes, and for lists that are not (q, k).

    Examples
    --------
    The order within a list does not matter:

    >>> from course_lib import gauge
    >>> gauge.neighbour_overlap([[1, 2], [0, 2]], [[2, 1], [0, 3]]).tolist()
    [1.0, 0.5]
    """
    first, second = checking.as_numpy(first, "first"), checking.as_numpy(second, "second")
    if first.shape != second.shape or first.ndim != 2 or not first.size:
        raise ValueError(f"first and second have shapes {first.shape} and {second.shape}; expected the same (q, k)")
    if not {first.dtype.kind, second.dtype.kind} <= set("iu"):
        raise ValueError(f"first and second have dtypes {first.dtype} and {second.dtype}; expected whole ids")
    shares: np.ndarray = (first[:, :, None] == second[:, None, :]).any(-1).mean(-1)
    return shares


def _distances(X: Array, rows: Array, metric: str) -> Array:
    """Something that grows with the distance, (q, d), (n, d) -> (q, n)."""
    if metric in ("cosine", "dot"):
        return -(rows @ X.T)
    if metric == "euclidean":
        return geometry.norm(rows[:, None, :] - X[None, :, :])
    return getattr(geometry, metric)(rows[:, None, :], X[None, :, :])


def _blocks(ids: np.ndarray, width: int) -> Iterator[np.ndarray]:
    size = max(1, BLOCK_NUMBERS // max(width, 1))
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
