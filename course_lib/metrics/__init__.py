"""Ranking quality at K from one blocked, masked top-K.

Every number is computed per user and then averaged over the users who have at least one test item:

- precision@K = hits / K (also where fewer than K items are left to recommend),
- recall@K    = hits / |test items|,
- ndcg@K      = DCG / ideal DCG, DCG = sum over hits of 1 / log2(1 + rank), ideal: the first min(K, |test items|) hit,
- mrr@K       = 1 / rank of the first hit, 0 without a hit,
- map@K       = sum over hits of (precision at that rank) / min(K, |test items|)
  (trec_eval and ranx divide by |test items| instead; the two agree for users with at most K test items).

A user's train items are never recommended. `top_k` orders equal scores by item id, the lower id first, so that a
result does not depend on the block size, the number of threads or the library's sorting. Ids often follow popularity,
so `evaluate` does not let them decide: where scores are equal it takes the mean over all orders (`metrics.ties`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from course_lib import checking
from course_lib.arrays import is_torch
from course_lib.interactions import Interactions, check_ids
from course_lib.metrics.index import index_recall
from course_lib.metrics.lists import coverage, gini, overlap, popularity_scores
from course_lib.metrics.sampled import estimate_hit, sampled_hit
from course_lib.metrics.ties import expected_at, tied

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "METRICS",
    "check_split",
    "coverage",
    "estimate_hit",
    "evaluate",
    "gini",
    "index_recall",
    "lists_and_metrics",
    "metrics_from_ranking",
    "overlap",
    "popularity_scores",
    "sampled_hit",
    "top_k",
]

METRICS = ("precision", "recall", "ndcg", "mrr", "map")
BLOCK_BYTES = 8 * 2**20  # one block of scores; small enough to stay in the processor's cache
USERS = 1024  # ranked by one call of the compiled loop
LONGEST_COMPILED = 128  # lists; longer ones are sorted, not searched for
TOO_LARGE = "scores hold NaN or +inf or -inf: the embeddings are too large for their dtype, or training diverged"


def top_k(
    users: np.ndarray | Tensor,
    items: np.ndarray | Tensor,
    train: Interactions,
    k: int,
    *,
    user_ids: ArrayLike | None = None,
    block: int | None = None,
) -> np.ndarray:
    """Return the ids of the ``K`` items with the highest ``<user, item>`` that each user does not have in ``train``.

    Parameters
    ----------
    users : array or tensor, shape (m, d)
        The embeddings of the users, on any device. Scores have the users' dtype, and float32 for 16 bits.
    items : array or tensor, shape (n, d)
        The embeddings of the items.
    train : Interactions
        The known pairs, of shape (m, n). They are never recommended.
    k : int
        The length ``K`` of the lists, at least 1.
    user_ids : array_like of int, shape (u,), optional
        Rank only for these users, in this order.
    block : int, optional
        How many users are ranked together. The result does not depend on it.

    Returns
    -------
    array of int64, shape (m, K) or (u, K)
        The lists, best item first; ties by the lower item id; -1 where a user has fewer than ``K`` items left.

    Raises
    ------
    ValueError
        For shapes that do not fit, ``k < 1``, ids that are no users, and embeddings or scores that are not finite.

    Notes
    -----
    Memory: a block of scores, 8 MiB at most, and the result. On a CPU a compiled loop ranks lists of up to 128 items
    (``course_lib.metrics.ranking``).

    Examples
    --------
    The scores are 3, 2 and 1. The user knows the best item, and only two items are left for three places:

    >>> import numpy as np
    >>> from course_lib import metrics
    >>> from course_lib.interactions import Interactions
    >>> train = Interactions([0], [0], n_users=1, n_items=3)
    >>> metrics.top_k(np.array([[1.0]]), np.array([[3.0], [2.0], [1.0]]), train, 3).tolist()
    [[1, 2, -1]]
    """
    left, right = _embeddings(users, items, train)
    k, n, seen = checking.whole(k, "k"), train.n_items, train.matrix
    block = None if block is None else checking.whole(block, "block")
    if user_ids is not None:
        chosen = check_ids(user_ids, train.n_users, "user_ids", "n_users")
        left, seen = left[chosen], seen[chosen]
    result = np.full((len(left), k), -1, dtype=np.int64)
    if _compiles(left, right, k):
        _ranked_compiled(left, right, seen, block or USERS, result)
    else:
        _ranked(left, right, seen, block or max(1, BLOCK_BYTES // (n * left.itemsize)), result[:, : min(k, n)])
    return result


def evaluate(
    users: np.ndarray | Tensor,
    items: np.ndarray | Tensor,
    train: Interactions,
    test: Interactions,
    k: int | tuple[int, ...],
    *,
    block: int | None = None,
) -> dict[str, Any]:
    """Return precision, recall, NDCG, MRR and MAP at each ``K``, as means over the users with a test item.

    The formulas are in the docstring of ``course_lib.metrics``.

    Parameters
    ----------
    users : array or tensor, shape (m, d)
        The embeddings of the users.
    items : array or tensor, shape (n, d)
        The embeddings of the items.
    train, test : Interactions
        The two parts of a split, of shape (m, n), without a common pair.
    k : int or tuple of int
        One or several cut-offs.
    block : int, optional
        How many users are ranked together.

    Returns
    -------
    dict
        ``"precision@5"`` and so on: the means, fractions in [0, 1]. ``"users"``: the ids (u,) of the users counted.
        ``"per_user"``: a dict with the values (u,) of each metric.

    Raises
    ------
    ValueError
        As ``top_k``, and for an empty test set and for a pair that both parts share.

    Notes
    -----
    Equal scores count as the mean over their orders, so that a constant model gets the values of a random ranking.

    Examples
    --------
    The test item is second of the two items that are left:

    >>> import numpy as np
    >>> from course_lib import metrics
    >>> from course_lib.interactions import Interactions
    >>> train = Interactions([0], [0], n_users=1, n_items=3)
    >>> test = Interactions([0], [2], n_users=1, n_items=3)
    >>> found = metrics.evaluate(np.array([[1.0]]), np.array([[3.0], [2.0], [1.0]]), train, test, (1, 2))
    >>> found["recall@1"], found["recall@2"], found["mrr@2"]
    (0.0, 1.0, 0.5)
    """
    return lists_and_metrics(users, items, train, test, k, block=block)[1]


def lists_and_metrics(
    users: np.ndarray | Tensor,
    items: np.ndarray | Tensor,
    train: Interactions,
    test: Interactions,
    k: int | tuple[int, ...],
    *,
    block: int | None = None,
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the lists of the users with a test item, and what ``evaluate`` says of these lists.

    Parameters
    ----------
    users : array or tensor, shape (m, d)
        The embeddings of the users.
    items : array or tensor, shape (n, d)
        The embeddings of the items.
    train, test : Interactions
        The two parts of a split, of shape (m, n), without a common pair.
    k : int or tuple of int
        One or several cut-offs.
    block : int, optional
        How many users are ranked together.

    Returns
    -------
    lists : array of int64, shape (u, max(k))
        The lists, as ``top_k`` makes them.
    found : dict
        The metrics, as ``evaluate`` returns them.

    Raises
    ------
    ValueError
        As ``evaluate``, and for no cut-off.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import metrics
    >>> from course_lib.interactions import Interactions
    >>> train = Interactions([0], [0], n_users=2, n_items=3)
    >>> test = Interactions([0], [2], n_users=2, n_items=3)
    >>> users, items = np.ones((2, 1)), np.array([[3.0], [2.0], [1.0]])
    >>> lists, found = metrics.lists_and_metrics(users, items, train, test, 2)
    >>> found["users"].tolist(), lists.tolist(), found["recall@2"]
    ([0], [[1, 2]], 1.0)
    """
    cutoffs = tuple(sorted({checking.whole(value, "k") for value in (k if isinstance(k, tuple | list) else (k,))}))
    if not cutoffs:
        raise ValueError("k is empty: give one cut-off, such as 5, or several, such as (1, 5, 25)")
    check_split(train, test)
    counted = np.flatnonzero(test.row_counts)
    longest = cutoffs[-1]
    ranked = top_k(users, items, train, longest + 1, user_ids=counted, block=block)  # one more shows a tie that goes on
    found = _means(ranked[:, :longest], counted, test, cutoffs)
    left, right = map(checking.as_numpy, _embeddings(users, items, train))
    known, wanted = train.matrix[counted], test.matrix[counted]
    groups = tied(left[counted], right, known, wanted, ranked, _hits(ranked, counted, test.matrix))
    if len(groups.rows):
        for at in cutoffs:
            for name, values in expected_at(groups, test.row_counts[counted[groups.rows]], at).items():
                found["per_user"][f"{name}@{at}"][groups.rows] = values
                found[f"{name}@{at}"] = float(found["per_user"][f"{name}@{at}"].mean())
    return ranked[:, :longest], found


def metrics_from_ranking(ranked: np.ndarray, test: Interactions, cutoffs: tuple[int, ...]) -> dict[str, Any]:
    """Return the metrics of ``evaluate`` for a given ranking.

    Only the lists of users with a test item are looked at.

    Parameters
    ----------
    ranked : array of int, shape (m, K)
        The item ids of each user's list, best first; -1 stands for "none".
    test : Interactions
        The test pairs, of shape (m, n).
    cutoffs : tuple of int
        The cut-offs, from 1 to ``K``.

    Returns
    -------
    dict
        As ``evaluate`` returns it.

    Raises
    ------
    ValueError
        For a ranking of another shape, for lists with an id that is none of the ``n`` items or twice the same, for
        cut-offs outside 1 to ``K``, and for an empty test set.

    Examples
    --------
    The only test item is at rank 2:

    >>> import numpy as np
    >>> from course_lib import metrics
    >>> from course_lib.interactions import Interactions
    >>> test = Interactions([0], [2], n_users=1, n_items=3)
    >>> found = metrics.metrics_from_ranking(np.array([[1, 2]]), test, (2,))
    >>> found["precision@2"], found["recall@2"], found["mrr@2"], found["map@2"]
    (0.5, 1.0, 0.5, 0.5)
    """
    _check_interactions(test=test)
    ranked = checking.as_numpy(ranked, "ranked")
    if ranked.ndim != 2 or len(ranked) != test.n_users or ranked.dtype.kind not in "iu":
        found = f"ranked has shape {ranked.shape} and dtype {ranked.dtype}"
        raise ValueError(f"{found}; expected whole ids of shape ({test.n_users}, K), a row for each of test's users")
    if not isinstance(cutoffs, tuple | list) or not cutoffs:
        raise checking.refuse(cutoffs, "cutoffs", "one or several cut-offs in a tuple, such as (1, 5, 25)")
    cutoffs = tuple(checking.whole(k, "cutoffs", 1, ranked.shape[1], why="the length of the lists") for k in cutoffs)
    counted = np.flatnonzero(test.row_counts)
    if not len(counted):
        raise ValueError("test is empty: no user to average over")
    lists = ranked[counted].astype(np.int64, copy=False)
    _check_lists(lists, counted, test.n_items)
    return _means(lists, counted, test, cutoffs)


def _check_lists(lists: np.ndarray, users: np.ndarray, n: int) -> None:
    """ValueError for an id that is no item and not -1, and for an item that stands in a list twice."""
    ordered = np.sort(lists, axis=1)
    outside = np.flatnonzero((ordered[:, 0] < -1) | (ordered[:, -1] >= n))
    if len(outside):
        row = lists[outside[0]]
        raise ValueError(
            f"ranked[{users[outside[0]]}] holds {row[(row < -1) | (row >= n)][0]}; expected items in 0..{n - 1}, or -1"
        )
    twice = np.argwhere((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0))
    if len(twice):
        user, item = users[twice[0, 0]], ordered[twice[0, 0], twice[0, 1]]
        raise ValueError(f"ranked[{user}] holds item {item} twice; expected each item once")


def _means(ranked: np.ndarray, counted: np.ndarray, test: Interactions, cutoffs: tuple[int, ...]) -> dict[str, Any]:
    """Means over the users `counted`, those with a test item, whose lists are the rows of `ranked`."""
    hits, counts = _hits(ranked, counted, test.matrix), test.row_counts[counted]
    per_user = {f"{name}@{k}": values for k in cutoffs for name, values in _at(hits[:, :k], counts, k).items()}
    means = {name: float(values.mean()) for name, values in per_user.items()}
    return {**means, "users": counted, "per_user": per_user}


def _at(hits: np.ndarray, n_test: np.ndarray, k: int) -> dict[str, np.ndarray]:
    """Per-user metrics of hits (u, k) bool, column = rank - 1; n_test (u,) test items of each user."""
    ranks = np.arange(1, hits.shape[1] + 1)
    found = np.cumsum(hits, axis=1)  # (u, k) hits up to each rank
    discount = 1.0 / np.log2(1.0 + ranks)
    possible = np.minimum(n_test, k)
    ideal = np.cumsum(1.0 / np.log2(1.0 + np.arange(1, k + 1)))[possible - 1]
    first = np.where(hits.any(axis=1), 1.0 / (1.0 + hits.argmax(axis=1)), 0.0)
    return {
        "precision": found[:, -1] / k,
        "recall": found[:, -1] / n_test,
        "ndcg": hits @ discount / ideal,
        "mrr": first,
        "map": (hits * found) @ (1.0 / ranks) / possible,
    }


def _hits(ranked: np.ndarray, users: np.ndarray, test: sp.csr_matrix) -> np.ndarray:
    """(u, K) bool: is ranked[a, r] a test item of users[a]? One binary search per entry among the sorted test pairs."""
    n = test.shape[1]
    wanted = users[:, None] * n + ranked
    keys = _keys(test)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: np.ndarray = (keys[place] == wanted) & (ranked >= 0)
    return found


def _keys(matrix: sp.csr_matrix) -> np.ndarray:
    """Every pair of a CSR matrix as one number user * n + item, ascending."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    keys = rows * matrix.shape[1] + matrix.indices
    return keys if matrix.has_sorted_indices else np.sort(keys)


def _compiles(users: Any, items: Any, k: int) -> bool:
    """Whether numba's loop may rank: short lists on a CPU, and no score can overflow, since |<u, v>| <= |u| |v|."""
    from course_lib.compiled import COMPILES  # brings numba, which takes half a second

    if not (COMPILES and isinstance(users, np.ndarray) and len(users) and k <= LONGEST_COMPILED):
        return False
    if users.dtype not in (np.float32, np.float64):
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.linalg.norm(users, axis=1).max() * np.linalg.norm(items, axis=1).max()))


def _ranked_compiled(users: np.ndarray, items: np.ndarray, seen: sp.csr_matrix, block: int, out: np.ndarray) -> None:
    """Fills out (m, k) with each user's best items; the threads share the users, `block` at a time."""
    from course_lib.metrics.ranking import rank

    tables = [np.ascontiguousarray(table) for table in (users, items)]

    def work(start: int) -> None:
        rank(tables[0], tables[1], seen.indptr, seen.indices, start, min(start + block, len(out)), out)

    starts, threads = range(0, len(out), block), _threads()
    if threads == 1 or len(starts) == 1:
        for start in starts:
            work(start)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, starts))


def _threads() -> int:
    """As many as torch uses where it is loaded, else what OMP_NUM_THREADS says, else one for each processor."""
    if torch := sys.modules.get("torch"):
        return int(torch.get_num_threads())
    said = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return max(1, int(said)) if said.isdecimal() else os.cpu_count() or 1


def _ranked(users: Any, items: Any, seen: sp.csr_matrix, block: int, out: np.ndarray) -> None:
    """The same through a matrix product and a selection: for long lists, without numba, and on a GPU."""
    best = _best_of_tensor if is_torch(users) else _best
    for start, scores in _masked_scores(users, items, seen, block):
        out[start : start + len(scores)] = best(scores, out.shape[1])


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """Ids (b, k) of the k highest finite scores of each row, ties by the lower id, -1 for a masked place."""
    last = np.partition(scores, scores.shape[1] - k, axis=1)[:, scores.shape[1] - k, None]  # the k-th highest
    above, equal = scores > last, scores == last
    room = k - above.sum(axis=1, keepdims=True)
    ids = np.nonzero(above | (equal & (np.cumsum(equal, axis=1) <= room)))[1].reshape(len(scores), k)
    values = np.take_along_axis(scores, ids, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    ids, values = np.take_along_axis(ids, order, axis=1), np.take_along_axis(values, order, axis=1)
    return np.where(np.isneginf(values), -1, ids)


def _best_of_tensor(scores: Tensor, k: int) -> np.ndarray:
    """The same on the device of the scores."""
    import torch

    values, ids = torch.topk(scores, min(k + 1, scores.shape[1]), dim=1)
    if values.shape[1] > k:
        cut_in_a_tie = torch.nonzero((values[:, k - 1] == values[:, k]) & torch.isfinite(values[:, k])).flatten()
        values, ids = values[:, :k], ids[:, :k]
        if len(cut_in_a_tie):
            full = torch.sort(scores[cut_in_a_tie], dim=1, descending=True, stable=True)
            values[cut_in_a_tie], ids[cut_in_a_tie] = full.values[:, :k], full.indices[:, :k]
    ids, order = torch.sort(ids, dim=1)
    values, order = torch.sort(values.gather(1, order), dim=1, descending=True, stable=True)
    return checking.as_numpy(torch.where(torch.isneginf(values), -1, ids.gather(1, order)))


def _masked_scores(users: Any, items: Any, seen: sp.csr_matrix, block: int) -> Iterator[tuple[int, Any]]:
    """(first user, scores (b, n) with -inf at the seen pairs) block by block."""
    for start in range(0, seen.shape[0], block):
        stop = min(start + block, seen.shape[0])
        rows = np.repeat(np.arange(stop - start), np.diff(seen.indptr[start : stop + 1]))
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by name
            scores = users[start:stop] @ items.T  # (b, d) @ (d, n) -> (b, n)
        if not (scores.isfinite() if is_torch(scores) else np.isfinite(scores)).all():
            raise ValueError(TOO_LARGE)
        scores[rows, seen.indices[seen.indptr[start] : seen.indptr[stop]]] = -np.inf
        yield start, scores


def _embeddings(users: Any, items: Any, train: Interactions) -> tuple[Any, Any]:
    """Both tables in one dtype and on one device, checked against the shape of the interactions."""
    _check_interactions(train=train)
    users, items = _floats(users, "users"), _floats(items, "items")
    for name, table, rows in (("users", users, train.matrix.shape[0]), ("items", items, train.matrix.shape[1])):
        if table.ndim != 2 or table.shape[0] != rows:
            raise ValueError(f"{name} has shape {tuple(table.shape)}; expected ({rows}, d), a row for each of train's")
        if not (table.isfinite() if is_torch(table) else np.isfinite(table)).all():
            raise ValueError(f"{name} holds NaN or infinite entries: training diverged? (lower the learning rate)")
    checking.same_width(users, items, "users", "items")
    if is_torch(users):
        return users, (items if is_torch(items) else users.new_tensor(items)).to(users)
    with np.errstate(over="ignore"):
        items = checking.as_numpy(items).astype(users.dtype, copy=False)
    if not np.isfinite(items).all():
        raise ValueError(f"items hold numbers too large for {users.dtype}, the dtype of users")
    return users, items


def _floats(table: Any, name: str) -> Any:
    """The table as constant floats of 32 bits at least: a tensor where it lies on another device, else an array."""
    table = checking.as_numpy(table, name) if isinstance(table, (list, tuple)) else table
    if is_torch(table):
        import torch

        if table.is_complex():
            raise ValueError(f"{name} has dtype {table.dtype}; expected real numbers")
        wide = torch.promote_types(table.dtype, torch.float32) if table.is_floating_point() else torch.float64
        table = table.detach().resolve_neg().to(wide)
        return table.numpy() if table.device.type == "cpu" else table
    if not isinstance(table, np.ndarray):
        found = f"{name} is a {type(table).__name__}"
        raise ValueError(f"{found}; expected a NumPy array or a tensor (n, d), such as matrix.toarray()")
    array = checking.table(table, name)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check_interactions(**given: Any) -> None:
    for name, value in given.items():
        checking.instance(value, name, Interactions)


def check_split(train: Interactions, test: Interactions) -> None:
    """Check that two parts of a split fit each other.

    Parameters
    ----------
    train, test : Interactions
        The two parts.

    Raises
    ------
    ValueError
        For shapes that differ, for a shared pair, and for a test part without a pair.

    Examples
    --------
    >>> from course_lib import metrics
    >>> from course_lib.interactions import Interactions
    >>> train = Interactions([0, 0], [0, 1], n_users=1, n_items=3)
    >>> metrics.check_split(train, Interactions([0], [1], n_users=1, n_items=3))
    Traceback (most recent call last):
        ...
    ValueError: test shares 1 pairs with train, which can never be recommended; expected none
    """
    _check_interactions(train=train, test=test)
    if train.matrix.shape != test.matrix.shape:
        raise ValueError(f"test has shape {test.matrix.shape}, train {train.matrix.shape}; expected the same")
    if test.matrix.nnz == 0:
        raise ValueError("test is empty: no user to average over")
    if train.matrix.nnz:
        known, wanted = _keys(train.matrix), _keys(test.matrix)
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        shared = int((known[place] == wanted).sum())
        if shared:
            raise ValueError(f"test shares {shared} pairs with train, which can never be recommended; expected none")
