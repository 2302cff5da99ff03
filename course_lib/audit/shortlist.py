"""A few items of a long table that surely hold the best of every user: the lists of these are those of all items.

Scores are matrix products, without numba too. Of each group of items only the largest score is kept, and the groups
with the largest ones hold the best items.
"""

from __future__ import annotations

import math

import numpy as np

from course_lib.audit.tables import AnyArray, Ids
from course_lib.interactions import Interactions

LONG = 50_000  # items; shorter tables are ranked as they are
GROUP, MORE = 64, 24  # items of a group, and places beyond the list: so many may score as its last one does
HELD = 2**22  # scores held at once
ROUNDED = 1e-5  # of |u| max |v|: more than rounding changes a score


def shortlist(users: AnyArray, items: AnyArray, known: Interactions, k: int) -> Ids | None:
    """Ids with the k best unknown items of each user, and all that may score as the last of them; None: not found."""
    n, wanted = len(items), k + MORE
    if n < LONG or not len(users) or users.dtype != items.dtype:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are refused where all are ranked
        tops = _tops(users, items, known)
        groups = np.argpartition(tops.T, -wanted, axis=1)[:, -wanted:]  # (u, wanted)
        longest = math.sqrt(float(np.einsum("nd,nd->n", items, items).max()))
        found = []
        for user, row in enumerate(users):
            ids = (groups[user][:, None] * GROUP + np.arange(GROUP)).ravel()
            ids = np.setdiff1d(ids[ids < n], known.items_of(user), assume_unique=True)
            scores = items[ids] @ row
            best = np.argsort(scores)[-wanted:]
            if len(best) < wanted or not scores[best[-k]] - scores[best[0]] > ROUNDED * longest * np.linalg.norm(row):
                return None
            found.append(ids[best])
    return np.unique(np.concatenate(found))


def _tops(users: AnyArray, items: AnyArray, known: Interactions) -> AnyArray:
    """(groups, u) the largest score of each group of items that a user does not know."""
    by_item = known.matrix.tocsc()
    step = max(1, HELD // (len(users) * GROUP)) * GROUP
    scores = np.empty((step, len(users)), users.dtype)
    found = []
    for first in range(0, len(items), step):
        part = items[first : first + step]
        starts = by_item.indptr[first : first + len(part) + 1]
        np.matmul(part, users.T, out=scores[: len(part)])
        scores[len(part) :] = -np.inf
        scores[np.repeat(np.arange(len(part)), np.diff(starts)), by_item.indices[starts[0] : starts[-1]]] = -np.inf
        found.append(scores.reshape(-1, GROUP, len(users)).max(axis=1))
    return np.concatenate(found)
