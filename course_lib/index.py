"""Serving from an index: what a table of vectors needs before it is searched, and a certificate for lists from int8.

`arranged` brings the tables into the space of a search, `build` makes an index of faiss, `nearest` asks it. What the
index loses, by group of items, `metrics.index_recall` says. `certified` says for which queries the ten best of rounded
vectors, scored once more by `rescored`, are the exact ten best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib import checking, extras, geometry

__all__ = [
    "KINDS",
    "SPACES",
    "arranged",
    "build",
    "certified",
    "int8_bound",
    "int8_table",
    "nearest",
    "one_more_coordinate",
    "rescored",
]

SPACES = ("inner product", "one more coordinate", "cosine")
KINDS = ("exact", "ivf", "hnsw", "pq", "int8")
LEVELS = 255  # steps of a coordinate in one byte, from its least value to its largest
LINKS, LOOKED_AT = 32, 64  # of an HNSW graph: neighbours of a vector, and vectors kept in mind during a search
PARTS = 16  # bytes of a vector under product quantisation
ROUNDING = 2.0**-24  # of float32

Vectors = NDArray[np.float32]
Table = NDArray[np.float64]


def one_more_coordinate(users: Any, items: Any) -> tuple[Table, Table]:
    """Turn the search for the largest inner product into a search for the nearest vector.

    With ``M`` the largest length of an item, ``v' = (v, sqrt(M^2 - |v|^2))`` and ``u' = (u, 0)``::

        |u' - v'|^2 = |u|^2 + M^2 - 2 <u, v>,

    so that the nearest items of `u'` are those with the largest inner products with `u`, in the same order.

    Parameters
    ----------
    users : array or tensor, shape (m, d)
        The vectors that ask.
    items : array or tensor, shape (n, d)
        The vectors that are searched.

    Returns
    -------
    users : array of float64, shape (m, d + 1)
        The rows ``u'``.
    items : array of float64, shape (n, d + 1)
        The rows ``v'``, all of length ``M``.

    Raises
    ------
    ValueError
        For tables that are no finite matrices of one width.

    References
    ----------
    Bachrach et al. 2014, "Speeding up the Xbox recommender system using a Euclidean transformation for inner-product
    spaces".

    Examples
    --------
    >>> from course_lib import index
    >>> users, items = index.one_more_coordinate([[1.0, 0.0]], [[3.0, 4.0], [0.0, 3.0]])
    >>> items.tolist(), users.tolist()
    ([[3.0, 4.0, 0.0], [0.0, 3.0, 4.0]], [[1.0, 0.0, 0.0]])
    """
    left, right = _tables(users, items)
    squares = (right**2).sum(axis=1)
    return np.column_stack((left, np.zeros(len(left)))), np.column_stack((right, np.sqrt(squares.max() - squares)))


def arranged(users: Any, items: Any, space: str) -> tuple[Vectors, Vectors]:
    """Bring two tables into the space of a search.

    Parameters
    ----------
    users, items : array or tensor, shape (m, d) and (n, d)
        The two tables.
    space : {"inner product", "one more coordinate", "cosine"}
        As they are; by `one_more_coordinate`; or each row divided by its length.

    Returns
    -------
    users, items : array of float32
        For `nearest` and `build`.

    Raises
    ------
    ValueError
        For another space, tables that are no finite matrices of one width, and a row of length 0 under the cosine.

    Examples
    --------
    >>> from course_lib import index
    >>> index.arranged([[0.0, 2.0]], [[3.0, 4.0]], "cosine")[0].tolist()
    [[0.0, 1.0]]
    >>> index.arranged([[0.0, 2.0]], [[0.0, 0.0]], "cosine")
    Traceback (most recent call last):
    ValueError: items[0] is the zero vector, which has no direction; expected nonzero finite vectors of shape (1, 2)
    """
    checking.choice(space, "space", SPACES)
    left, right = _tables(users, items)
    if space == "one more coordinate":
        left, right = one_more_coordinate(left, right)
    elif space == "cosine":
        left, right = geometry.normalise(left, name="users"), geometry.normalise(right, name="items")
    return _in_float32(left, "users"), _in_float32(right, "items")


def build(
    vectors: Any, kind: str, *, space: str = "inner product", cells: int = 1, probes: int = 1, seed: int = 0
) -> Any:
    """Build an index of faiss over the vectors that `arranged` gives.

    Parameters
    ----------
    vectors : array, shape (n, d)
        The items, in the space of the search.
    kind : {"exact", "ivf", "hnsw", "pq", "int8"}
        Every vector; the vectors of the `probes` cells that fit best, of `cells` cells; a graph with 32 neighbours a
        vector; 16 bytes a vector (product quantisation); one byte a coordinate.
    space : str
        One of `SPACES`: with one more coordinate the nearest vectors are searched, else the largest inner products.
    cells : int
        Of "ivf": how many cells k-means makes; no more than there are vectors.
    probes : int
        Of "ivf": how many cells a query looks into.
    seed : int
        Of k-means, in "ivf" and "pq".

    Returns
    -------
    faiss.Index
        The index, with all vectors in it.

    Raises
    ------
    ValueError
        For another kind or space, vectors that are not finite, fewer vectors than cells or probes than 1, and fewer
        than 256 vectors for "pq", which makes 256 cells of each part.
    ModuleNotFoundError
        Without the extra ``index``, which brings faiss.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import index
    >>> vectors = np.eye(4, dtype=np.float32)
    >>> exact = index.build(vectors, "exact")
    >>> index.nearest(exact, [[0.0, 3.0, 0.0, 1.0]], 2).tolist()
    [[1, 3]]
    >>> index.build(vectors, "ivf", cells=5)
    Traceback (most recent call last):
    ValueError: cells is 5; expected a whole number from 1 to 4, as there are 4 vectors
    """
    faiss = _faiss()
    checking.choice(kind, "kind", KINDS)
    checking.choice(space, "space", SPACES)
    table = _in_float32(vectors, "vectors")
    if not table.shape[1]:
        raise ValueError(f"vectors has shape {table.shape}; expected at least one coordinate")
    cells = checking.whole(cells, "cells", 1, len(table), why=f"as there are {len(table)} vectors")
    probes = checking.whole(probes, "probes", 1, cells, why="the cells")
    seed = checking.whole(seed, "seed", 0, 2**31 - 2)  # faiss takes the next one, of 32 bits
    if kind == "pq":
        checking.whole(len(table), "the number of vectors", 256, why="one for each value of a byte")
        table = _padded(table, -(-table.shape[1] // PARTS) * PARTS)
    width = table.shape[1]
    metric = faiss.METRIC_L2 if space == "one more coordinate" else faiss.METRIC_INNER_PRODUCT
    if kind == "ivf":
        made = faiss.IndexIVFFlat(faiss.IndexFlat(width, metric), width, cells, metric)
        made.nprobe, made.cp.seed = probes, seed + 1
        made.cp.min_points_per_centroid = 1  # faiss warns of fewer than 39 vectors a cell; `cells` is checked above
    elif kind == "hnsw":
        made = faiss.IndexHNSWFlat(width, LINKS, metric)
        made.hnsw.efSearch = LOOKED_AT
    elif kind == "pq":
        made = faiss.IndexPQ(width, PARTS, 8, metric)
        made.pq.cp.seed, made.pq.cp.min_points_per_centroid = seed + 1, 1
    elif kind == "int8":
        made = faiss.IndexScalarQuantizer(width, faiss.ScalarQuantizer.QT_8bit, metric)
    else:
        made = faiss.IndexFlat(width, metric)
    made.train(table)
    made.add(table)
    return made


def nearest(built: Any, queries: Any, k: int) -> NDArray[np.int64]:
    """Ask an index for the `k` best of each query.

    Parameters
    ----------
    built : faiss.Index
        From `build`.
    queries : array, shape (u, d)
        In the space of the search.
    k : int
        How many; no more than the index holds.

    Returns
    -------
    array of int64, shape (u, k)
        The best first; -1 where the visited cells hold fewer than `k`.

    Raises
    ------
    ValueError
        For `k` larger than the number of vectors, and queries that are not finite or of another width.

    Examples
    --------
    >>> from course_lib import index
    >>> index.nearest(index.build([[1.0], [2.0]], "exact"), [[1.0]], 3)
    Traceback (most recent call last):
    ValueError: k is 3; expected a whole number from 1 to 2, as the index holds 2 vectors
    """
    faiss = _faiss()
    if not isinstance(built, faiss.Index):
        raise checking.refuse(built, "built", "an index of faiss, from build")
    k = checking.whole(k, "k", 1, built.ntotal, why=f"as the index holds {built.ntotal} vectors")
    table = _in_float32(queries, "queries")
    short = built.d - table.shape[1]
    if not 0 <= short < (PARTS if isinstance(built, faiss.IndexPQ) else 1):  # only "pq" fills its vectors up with zeros
        raise ValueError(f"queries have width {table.shape[1]}; expected {built.d}, that of the index")
    found: NDArray[np.int64] = built.search(_padded(table, built.d), k)[1]
    return found


def int8_table(items: Any) -> tuple[Table, Table]:
    """Round each coordinate to one of 256 values, equally far apart between its least and its largest value.

    Parameters
    ----------
    items : array or tensor, shape (n, d)
        The vectors.

    Returns
    -------
    rounded : array of float64, shape (n, d)
        ``low + (code + 1/2) step`` with ``code = min(255, floor((v - low) / step))``, as faiss's ``QT_8bit`` decodes.
    steps : array of float64, shape (d,)
        ``(largest - least) / 255`` of each coordinate: no coordinate moves by more than half of it.

    Raises
    ------
    ValueError
        For a table that is no finite matrix, or has no row.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import index
    >>> rounded, steps = index.int8_table([[0.0], [1.0], [0.3]])
    >>> bool((np.abs(rounded - [[0.0], [1.0], [0.3]]) <= steps / 2 + 1e-12).all()), round(1 / steps[0])
    (True, 255)
    """
    table = checking.table(items, "items").astype(np.float64)
    if not len(table):
        raise ValueError("items has no row; expected at least one")
    low = table.min(axis=0)
    steps = (table.max(axis=0) - low) / LEVELS
    codes = np.minimum(np.floor((table - low) / np.where(steps > 0, steps, 1)), LEVELS)
    return low + (codes + 0.5) * steps, steps


def int8_bound(queries: Any, items: Any) -> Table:
    """How far a score can be from the score of the rounded vector: ``1/2 sum_k |u_k| step_k``, and float32's rounding.

    Parameters
    ----------
    queries : array or tensor, shape (u, d)
        The vectors that ask; they are not rounded.
    items : array or tensor, shape (n, d)
        The vectors before they are rounded.

    Returns
    -------
    array of float64, shape (u,)
        A bound for each query, over all items.

    Raises
    ------
    ValueError
        For tables that are no finite matrices of one width.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import index
    >>> items, queries = np.random.default_rng(0).normal(size=(2, 50, 8))
    >>> moved = queries @ (index.int8_table(items)[0] - items).T
    >>> bool((np.abs(moved).max(axis=1) <= index.int8_bound(queries, items)).all())
    True
    """
    left, right = _tables(queries, items, "queries")
    steps = (right.max(axis=0) - right.min(axis=0)) / LEVELS
    sizes = np.abs(right).max(axis=0) + steps
    half, width = 0.5 + 2 * LEVELS * ROUNDING, right.shape[1]  # the code itself is computed in float32
    bound: Table = np.abs(left) @ (half * steps + (width + 2) * ROUNDING * sizes)
    return bound


def certified(scores: ArrayLike, bounds: ArrayLike, k: int) -> NDArray[np.bool_]:
    """Say for which queries the exact `k` best lie among the first N candidates of rounded vectors.

    Parameters
    ----------
    scores : array_like, shape (u, N + 1)
        The ``N + 1`` best rounded scores of each query, in falling order.
    bounds : array_like, shape (u,)
        How far a rounded score can be from the exact one, as from `int8_bound`.
    k : int
        How many are asked for, at most N.

    Returns
    -------
    array of bool, shape (u,)
        Where ``scores[k - 1] - scores[N] > 2 bound``: then at least `k` items have exact scores of
        ``scores[k - 1] - bound`` or more, and every item beyond the N has a smaller one.

    Raises
    ------
    ValueError
        For scores that are not finite or do not fall, negative bounds, and `k` outside 1 to N.

    Examples
    --------
    >>> from course_lib import index
    >>> index.certified([[5.0, 4.0, 1.0], [5.0, 4.0, 3.9]], [0.1, 0.1], k=2).tolist()
    [True, False]
    """
    best = checking.table(scores, "scores").astype(np.float64)
    radius = checking.counts(bounds, "bounds", len(best))
    k = checking.whole(k, "k", 1, best.shape[1] - 1, why="one less than the scores of a query")
    if (np.diff(best, axis=1) > 0).any():
        raise ValueError("scores rise in a row; expected the best score of each query first")
    held: NDArray[np.bool_] = best[:, k - 1] - best[:, -1] > 2 * radius
    return held


def rescored(users: Any, items: Any, found: Any, k: int) -> NDArray[np.int64]:
    """Order candidates by their exact scores, and keep the `k` best.

    Parameters
    ----------
    users : array or tensor, shape (u, d)
        The queries.
    items : array or tensor, shape (n, d)
        The exact vectors.
    found : array of int, shape (u, N)
        The candidates of each query; none may be -1.
    k : int
        At most N.

    Returns
    -------
    array of int64, shape (u, k)
        The candidates with the largest inner products, the largest first.

    Raises
    ------
    ValueError
        For ids outside the items, -1 among them, candidates that are not one row for each query, tables that do not
        fit, and `k` outside 1 to N.

    Examples
    --------
    >>> from course_lib import index
    >>> index.rescored([[1.0]], [[1.0], [3.0], [2.0]], [[0, 2, 1]], k=2).tolist()
    [[1, 2]]
    """
    left, right = _tables(users, items)
    ids = checking.as_numpy(found, "found")
    if ids.ndim != 2 or len(ids) != len(left) or ids.dtype.kind not in "iu":
        raise checking.refuse(found, "found", f"the ids of candidates, one row for each of the {len(left)} queries")
    if ids.size and not 0 <= ids.min() <= ids.max() < len(right):
        place, wrong = next((row, i) for row, found_of in enumerate(ids) for i in found_of if not 0 <= i < len(right))
        raise ValueError(f"found[{place}] holds {wrong}; expected items 0..{len(right) - 1}: look into more cells")
    k = checking.whole(k, "k", 1, ids.shape[1], why=f"as there are {ids.shape[1]} candidates")
    scores = np.einsum("ud,und->un", left, right[ids])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(ids, order, axis=1).astype(np.int64)


def _in_float32(values: Any, name: str) -> Vectors:
    """A finite table in float32, row after row, as faiss reads it."""
    table = checking.table(values, name)
    largest = np.abs(table).max(initial=0)
    if largest > np.finfo(np.float32).max:
        raise ValueError(f"{name} holds an entry of size {largest:g}; expected at most 3.4e+38, the largest of float32")
    return np.ascontiguousarray(table, dtype=np.float32)


def _tables(users: Any, items: Any, name: str = "users") -> tuple[Table, Table]:
    """Two finite tables of one width, in float64; name: what a message calls the first."""
    left, right = checking.table(users, name).astype(np.float64), checking.table(items, "items").astype(np.float64)
    checking.same_width(left, right, name, "items")
    if not len(right):
        raise ValueError("items has no row; expected at least one")
    return left, right


def _padded(rows: Vectors, width: int) -> Vectors:
    """The rows with zeros at their ends: inner products and distances stay."""
    return np.ascontiguousarray(np.pad(rows, ((0, 0), (0, width - rows.shape[1]))))


def _faiss() -> Any:
    """The library, or the error that says how to install it."""
    try:
        import faiss
    except ImportError as error:
        raise extras.missing(error, "course_lib.index.build") from error
    return faiss
