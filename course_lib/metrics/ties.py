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
    """The lists with a tie, and for each place of a list the group of items that share its score.

    Parameters
    ----------
    rows : array of int, shape (t,)
        The lists.
    start : array of int, shape (t, K)
        How many items score more than the group of a place.
    size : array of int, shape (t, K)
        How many items the group has.
    relevant : array of int, shape (t, K)
        How many of these are test items.

    Examples
    --------
    In list 0, the two best items share one score, and one of them is a test item:

    >>> import numpy as np
    >>> from course_lib.metrics import ties
    >>> group = ties.Tied(np.array([0]), start=np.array([[0, 0]]), size=np.array([[2, 2]]), relevant=np.array([[1, 1]]))
    >>> (group.relevant / group.size).tolist()
    [[0.5, 0.5]]
    """

    rows: Ids
    start: Ids
    size: Ids
    relevant: Ids


def tied(
    users: AnyArray, items: AnyArray, seen: sp.csr_matrix, test: sp.csr_matrix, ranked: Ids, hits: NDArray[np.bool_]
) -> Tied:
    """Return the ties in the lists of some users.

    The lists have one place more than is judged. It shows whether a group goes on beyond the list; then the group is
    counted over all items. Scores are computed anew in float64: those that were only rounded to one number differ
    there.

    Parameters
    ----------
    users : array, shape (u, d)
        The embeddings of the users.
    items : array, shape (n, d)
        The embeddings of the items.
    seen, test : sparse matrix, shape (u, n)
        The known items of the users, and their test items.
    ranked : array of int, shape (u, K + 1)
        The lists.
    hits : array of bool, shape (u, K + 1)
        Which places hold a test item.

    Returns
    -------
    Tied
        The ties.

    Examples
    --------
    Items 0 and 1 score the same. The list of length 1 shows one of them, and the test item is the other:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from course_lib.metrics import ties
    >>> seen, test = sp.csr_matrix([[0, 0, 0]]), sp.csr_matrix([[0, 1, 0]])
    >>> users, items = np.array([[1.0]]), np.array([[1.0], [1.0], [0.0]])
    >>> found = ties.tied(users, items, seen, test, np.array([[0, 1]]), np.array([[False, True]]))
    >>> found.size.tolist(), found.relevant.tolist()
    ([[2]], [[1]])
    """
    scale = float(np.abs(items).max(initial=0)) or 1.0  # squares of large numbers have no room in their dtype
    longest = scale * float(np.linalg.norm(items / scale, axis=1).max())
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
    """Return the metrics at ``k`` of the tied lists, as means over the orders of each group.

    Parameters
    ----------
    found : Tied
        The ties.
    n_test : array of int, shape (t,)
        The number of test items of each user.
    k : int
        The cut-off.

    Returns
    -------
    dict of str to array, shape (t,)
        "precision", "recall", "ndcg", "mrr" and "map".

    Examples
    --------
    Two items share the first place, and one is a test item. A list of one holds it in half of the orders:

    >>> import numpy as np
    >>> from course_lib.metrics import ties
    >>> group = ties.Tied(np.array([0]), start=np.array([[0]]), size=np.array([[2]]), relevant=np.array([[1]]))
    >>> found = ties.expected_at(group, np.array([1]), 1)
    >>> found["precision"].tolist(), found["mrr"].tolist()
    ([0.5], [0.5])
    """
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
