"""What lists are worth where scores are equal: the mean over all orders of the tied items, as chance would deal them.

Source: F. McSherry, M. Najork, Computing information retrieval performance measures efficiently in the presence of tied
scores, ECIR 2008. With the K items of a list goes their group: `start` items score more, `size` items score the same,
`relevant` of these are test items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

SAME = 1e-12  # of |u| max |v|: scores of float64 that are no farther apart are one number, but for rounding
BLOCK_BYTES = 64 * 2**20

AnyArray = NDArray[Any]
Float = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Tied:
    """The lists with a tie: rows (t,) of the lists; of each place its group: start, size, relevant, each (t, K)."""

    rows: Ids
    start: Ids
    size: Ids
    relevant: Ids


def tied(
    users: AnyArray, items: AnyArray, seen: sp.csr_matrix, test: sp.csr_matrix, ranked: Ids, hits: NDArray[np.bool_]
) -> Tied:
    """The ties of lists (u, K + 1) of the users (u, d) among items (n, d), with hits (u, K + 1).

    One more place than is judged shows whether a group goes on beyond the list; then it is counted over all items.
    seen, test: (u, n). Scores are computed anew in float64, where those differ that were only rounded to one number.
    """
    longest = float(np.linalg.norm(items, axis=1).max())
    k = ranked.shape[1] - 1
    wide, found = None, list[tuple[int, Ids, Ids, Ids]]()
    block = max(1, BLOCK_BYTES // (8 * ranked.shape[1] * items.shape[1]))
    for begin in range(0, len(users), block):
        part, lists = users[begin : begin + block].astype(np.float64), ranked[begin : begin + block]
        rows = items[np.maximum(lists, 0)].astype(np.float64)
        scores = np.einsum("bkd,bd->bk", rows, part)  # (b, K + 1)
        tolerance = SAME * longest * np.linalg.norm(part, axis=1)
        equal = (lists[:, 1:] >= 0) & (np.abs(np.diff(scores, axis=1)) <= tolerance[:, None])
        if wide is None and equal[:, -1].any():
            wide = items.astype(np.float64)
        for row in np.flatnonzero(equal.any(axis=1)):
            user, first = begin + int(row), np.append(True, ~equal[row])  # whether a group begins, at K + 1 places
            start = np.flatnonzero(first)
            size, relevant = np.diff(np.append(start, k + 1)), np.add.reduceat(hits[user].astype(np.int64), start)
            if equal[row, -1] and wide is not None:
                same = np.abs(wide @ part[row] - scores[row, -1]) <= tolerance[row]
                same[_of(seen, user)] = False
                size[-1], relevant[-1] = same.sum(), same[_of(test, user)].sum()
            group = np.cumsum(first)[:k] - 1  # of each place
            found.append((user, start[group], size[group], relevant[group]))
    users_found, *groups = zip(*found, strict=True) if found else ((), *3 * [np.zeros((0, k))])
    return Tied(np.array(users_found, np.int64), *(np.array(each, np.int64) for each in groups))


def _of(matrix: sp.csr_matrix, user: int) -> Ids:
    items: Ids = matrix.indices[matrix.indptr[user] : matrix.indptr[user + 1]]
    return items


def expected_at(found: Tied, n_test: Ids, k: int) -> dict[str, Float]:
    """The metrics at k of the tied lists, means over the orders of each group; n_test (t,) test items of each user."""
    start, size, relevant = (values[:, :k].astype(np.float64) for values in (found.start, found.size, found.relevant))
    ranks = np.arange(1.0, k + 1)
    within = ranks - 1 - start  # places of the group before this one
    share = relevant / size  # chance of a hit
    before = np.cumsum(np.pad(share, ((0, 0), (1, 0))), axis=1)
    earlier = np.take_along_axis(before, found.start[:, :k], axis=1)  # hits before the group
    others = within * (relevant - 1) / np.maximum(size - 1, 1)  # and within it, where this place is a hit
    first = np.minimum(relevant / (size - within), 1)  # chance of a hit where there was none before
    none = np.cumprod(np.pad(1 - first, ((0, 0), (1, 0)), constant_values=1), axis=1)[:, :-1]
    possible = np.minimum(n_test, k)
    discount = 1 / np.log2(1 + ranks)
    return {
        "precision": share.sum(axis=1) / k,
        "recall": share.sum(axis=1) / n_test,
        "ndcg": share @ discount / np.cumsum(discount)[possible - 1],
        "mrr": (none * first / ranks).sum(axis=1),
        "map": (share * (earlier + 1 + others) / ranks).sum(axis=1) / possible,
    }
