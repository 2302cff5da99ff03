"""The K best unseen items of each user, compiled with numba.

The scores of a tile of items are computed, and the best among them are searched at once. A tile of scores is used while
it lies in the processor's first cache, so the m x n scores never exist, not even for a block of users. Each score is
one sum in a fixed order: it does not depend on the number of threads or on which users are ranked together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.compiled import njit

USERS = 1024  # ranked together, so that a tile of items is prepared once for all of them
TILE = 1024  # items
CHUNK = 32  # scores that are compared with the worst of the best at once
FUSED = {"contract"}  # a * b + c in one instruction


@njit(nogil=True, cache=True)
def rank(users: Any, items: Any, pointers: Any, seen: Any, start: int, stop: int, out: Any) -> None:
    """Write the ids of each user's best unseen items into ``out``.

    Row ``u`` of ``out`` gets the ids of the ``out.shape[1]`` items with the highest ``<users[u], items[j]>`` that the
    user has not seen. Equal scores: the lower id first. -1 where there are too few items.

    Parameters
    ----------
    users : array, shape (m, d)
        The embeddings of the users.
    items : array, shape (n, d)
        The embeddings of the items.
    pointers : array of int, shape (m + 1,)
        Where the seen items of each user begin, as in a CSR matrix.
    seen : array of int
        The items left out: those of user ``u`` are ``seen[pointers[u]:pointers[u + 1]]``, ascending.
    start, stop : int
        The users ``start`` to ``stop - 1`` are ranked.
    out : array of int, shape (m, K)
        The result.

    Examples
    --------
    The scores are 3, 2 and 1, and item 0 was seen:

    >>> import numpy as np
    >>> from course_lib.metrics import ranking
    >>> users, items = np.array([[1.0]]), np.array([[3.0], [2.0], [1.0]])
    >>> out = np.empty((1, 2), np.int64)
    >>> ranking.rank(users, items, np.array([0, 1], np.int32), np.array([0], np.int32), 0, 1, out)
    >>> out.tolist()
    [[1, 2]]
    """
    n, d, k = len(items), users.shape[1], out.shape[1]
    wide = (d + 3) // 4 * 4  # filled up with zeros
    left = np.zeros((USERS, wide), users.dtype)
    tile = np.zeros((wide, TILE), users.dtype)
    scores = np.empty((4, TILE), users.dtype)
    best = np.empty((USERS, k), users.dtype)
    cursor = np.empty(USERS, np.int64)
    for first in range(start, stop, USERS):
        size = min(USERS, stop - first)
        for u in range(size):  # loops, not slices: those take numba twice as long to compile
            for f in range(d):
                left[u, f] = users[first + u, f]
            for at in range(k):
                best[u, at], out[first + u, at] = -np.inf, -1
            cursor[u] = pointers[first + u]
        for u in range(size, (size + 3) // 4 * 4):
            for f in range(d):
                left[u, f] = 0
        for begin in range(0, n, TILE):
            width = min(TILE, n - begin)
            for f in range(d):
                for t in range(width):
                    tile[f, t] = items[begin + t, f]
            for four in range(0, size, 4):
                _products(left[four : four + 4], tile, scores)
                for a in range(min(4, size - four)):
                    u = four + a
                    at = cursor[u]
                    while at < pointers[first + u + 1] and seen[at] < begin + width:
                        scores[a, seen[at] - begin] = -np.inf
                        at += 1
                    cursor[u] = at
                    _keep_best(scores[a], width, begin, best[u], out[first + u])


@njit(nogil=True, cache=True, fastmath=FUSED)
def _products(left: Any, tile: Any, scores: Any) -> None:
    """scores (4, TILE) = left (4, w) @ tile (w, TILE), w a multiple of 4."""
    a, b, c, d = scores[0], scores[1], scores[2], scores[3]
    scores[:] = 0
    for f in range(0, len(tile), 4):
        w, x, y, z = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
        a0, a1, a2, a3 = left[0, f], left[0, f + 1], left[0, f + 2], left[0, f + 3]
        b0, b1, b2, b3 = left[1, f], left[1, f + 1], left[1, f + 2], left[1, f + 3]
        c0, c1, c2, c3 = left[2, f], left[2, f + 1], left[2, f + 2], left[2, f + 3]
        d0, d1, d2, d3 = left[3, f], left[3, f + 1], left[3, f + 2], left[3, f + 3]
        for t in range(TILE):
            p, q, r, s = w[t], x[t], y[t], z[t]
            a[t] += a0 * p + a1 * q + a2 * r + a3 * s
            b[t] += b0 * p + b1 * q + b2 * r + b3 * s
            c[t] += c0 * p + c1 * q + c2 * r + c3 * s
            d[t] += d0 * p + d1 * q + d2 * r + d3 * s


@njit(nogil=True, cache=True)
def _keep_best(scores: Any, width: int, begin: int, best: Any, ids: Any) -> None:
    """Puts scores[:width], of the items from `begin` on, into the descending list (best, ids), stably."""
    last = len(best) - 1
    if width == TILE:  # most tiles hold none of the best
        worst, better = best[last], np.int32(0)
        for t in range(TILE):
            better += np.int32(scores[t] > worst)
        if better == 0:
            return
    for low in range(0, width, CHUNK):
        high = min(low + CHUNK, width)
        if high - low == CHUNK:  # a length that is known lets the compiler use the widest vectors
            worst, better = best[last], np.int32(0)
            for t in range(CHUNK):
                better += np.int32(scores[low + t] > worst)
            if better == 0:
                continue
        for t in range(low, high):
            score = scores[t]
            if score > best[last]:
                at = last
                while at > 0 and score > best[at - 1]:
                    best[at], ids[at] = best[at - 1], ids[at - 1]
                    at -= 1
                best[at], ids[at] = score, begin + t
