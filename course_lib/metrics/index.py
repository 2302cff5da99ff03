"""What an approximate index loses: the share of the exact lists that it returns, in all and by group of items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import checking
from course_lib.metrics.lists import _lists


def index_recall(found: Any, exact: Any, groups: Any = None) -> float | NDArray[np.float64]:
    """Compute the share of the places of exact lists that an index's lists hold, in all or by group of items.

    Parameters
    ----------
    found : array of int, shape (u, K')
        What the index returned for each query; -1 stands for "none" (faiss fills short lists with it).
    exact : array of int, shape (u, K)
        The exact best items of each query; -1 stands for "none".
    groups : array_like of int, shape (n,), optional
        The group of each item, 0 to ``G - 1``: by popularity or by length, say.

    Returns
    -------
    float or array of float64, shape (G,)
        ``places of exact lists that found holds / places of exact lists``; with ``groups``, the same over the places
        that hold an item of each group, and NaN for a group with no place.

    Raises
    ------
    ValueError
        For lists of another shape or kind or of another number of queries, where ``exact`` holds no item, for ids
        without a group, and for a group that no item has.

    Examples
    --------
    The index finds the popular items 0 and 1 (group 0) and misses item 2:

    >>> from course_lib import metrics
    >>> metrics.index_recall([[0, 1], [0, -1]], [[0, 1], [0, 2]])
    0.75
    >>> metrics.index_recall([[0, 1], [0, -1]], [[0, 1], [0, 2]], groups=[0, 0, 1]).tolist()
    [1.0, 0.0]
    """
    returned, wanted = _lists(found, "found"), _lists(exact, "exact")
    if len(returned) != len(wanted):
        raise ValueError(f"found has {len(returned)} rows and exact {len(wanted)}; expected one of each query in both")
    places = wanted >= 0
    if not places.any():
        raise ValueError("exact holds no item, only -1; expected at least one item")
    held = (wanted[:, :, None] == returned[:, None, :]).any(axis=2)
    if groups is None:
        return float(held[places].mean())
    group = checking.as_numpy(groups, "groups")
    if group.ndim != 1 or group.dtype.kind not in "iu" or (group < 0).any():
        raise checking.refuse(groups, "groups", "a group 0 to G - 1 for each item, shape (n,)")
    if wanted.max() >= len(group):
        raise ValueError(f"exact holds item {wanted.max()}, but groups has {len(group)} entries; expected one an item")
    empty = np.flatnonzero(np.bincount(group) == 0)
    if empty.size:
        raise ValueError(f"groups has no item of group {empty[0]}; expected groups 0..{group.max()} without a gap")
    of_place = group[wanted[places]]
    all_of, held_of = (np.bincount(of_place, weights=w, minlength=group.max() + 1) for w in (None, held[places]))
    with np.errstate(invalid="ignore"):
        return np.asarray(held_of / all_of, dtype=np.float64)
