"""What lists show, beside how many test items they find: how many items, how evenly, and how far they are the hits.

A list without any taste, the most popular items for everybody, is the first thing to compare a model with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import checking
from course_lib.interactions import Interactions

Ids = NDArray[np.int64]


def coverage(lists: Any, n_items: int) -> float:
    """Compute the share of the items that stand in at least one list.

    Parameters
    ----------
    lists : array of int, shape (u, K)
        The item ids of each user's list; -1 stands for "none".
    n_items : int
        The number ``n`` of items.

    Returns
    -------
    float
        ``|union of the lists| / n``, in [0, 1].

    Raises
    ------
    ValueError
        For lists of another shape or kind, and for an id that is no item.

    Examples
    --------
    Everybody gets the same two of four items:

    >>> from course_lib import metrics
    >>> metrics.coverage([[0, 1], [1, 0]], 4)
    0.5
    """
    return float((_shown(lists, n_items) > 0).mean())


def gini(lists: Any, n_items: int) -> float:
    """Compute how unevenly the places of the lists are spread over the items, as their Gini coefficient.

    With ``c_(1) <= ... <= c_(n)`` the places that each item has, ``sum_r (2 r - n - 1) c_(r) / (n sum_r c_(r))``.

    Parameters
    ----------
    lists : array of int, shape (u, K)
        The item ids of each user's list; -1 stands for "none".
    n_items : int
        The number ``n`` of items.

    Returns
    -------
    float
        0 where every item has the same number of places, ``1 - 1/n`` where one item has them all.

    Raises
    ------
    ValueError
        For lists of another shape or kind, for an id that is no item, and where no list holds an item.

    Examples
    --------
    Four lists of one place: four items once each, and one of four items four times:

    >>> from course_lib import metrics
    >>> metrics.gini([[0], [1], [2], [3]], 4), metrics.gini([[2], [2], [2], [2]], 4)
    (0.0, 0.75)
    """
    places = np.sort(_shown(lists, n_items))
    if not places[-1]:
        raise ValueError("lists hold no item, only -1; expected at least one item")
    n = len(places)
    return float((2 * np.arange(1, n + 1) - n - 1) @ places / (n * places.sum()))


def overlap(lists: Any, others: Any) -> float:
    """Compute the mean share of a list's items that stand in another list for the same user.

    Parameters
    ----------
    lists, others : array of int, shape (u, K) and (u, K')
        The item ids of two lists of each user, such as a model's and the most popular items; -1 stands for "none". The
        two lengths may differ.

    Returns
    -------
    float
        The mean over users of ``|list & other| / |list|``, in [0, 1]. Users whose list in ``lists`` is empty are left
        out; an empty list in ``others`` shares nothing.

    Raises
    ------
    ValueError
        For lists of another shape or kind, for two numbers of users, and where no list holds an item.

    Examples
    --------
    >>> from course_lib import metrics
    >>> metrics.overlap([[0, 1], [2, 3]], [[1, 0], [3, 4]])
    0.75
    """
    first, second = _lists(lists, "lists"), _lists(others, "others")
    if len(first) != len(second):
        raise ValueError(f"lists has {len(first)} rows and others {len(second)}; expected a list of each user in both")
    lengths = (first >= 0).sum(axis=1)
    if not lengths.any():
        raise ValueError("lists hold no item, only -1; expected at least one item")
    common = ((first[:, :, None] == second[:, None, :]) & (first[:, :, None] >= 0)).any(axis=2).sum(axis=1)
    return float((common[lengths > 0] / lengths[lengths > 0]).mean())


def popularity_scores(train: Interactions, *, lately: float | None = None) -> NDArray[np.float64]:
    """Count the pairs of each item, all of them or the latest: the scores of a list of hits.

    ``metrics.top_k(np.ones((m, 1)), scores[:, None], train, K)`` makes the lists.

    Parameters
    ----------
    train : Interactions
        The known pairs.
    lately : float, optional
        The share of the pairs, latest in time, that count; by default all pairs count. 0.1 is the last tenth. Pairs of
        one time count together, so that they can be more.

    Returns
    -------
    array of float64, shape (n,)
        The number of pairs of each item.

    Raises
    ------
    ValueError
        For a share outside (0, 1), and, with ``lately``, for a ``train`` without times or with one time only.

    Examples
    --------
    Item 0 has two early pairs, item 1 a late one:

    >>> from course_lib import metrics
    >>> from course_lib.interactions import Interactions
    >>> train = Interactions([0, 1, 2], [0, 0, 1], n_users=3, n_items=2, times=[1, 2, 3])
    >>> metrics.popularity_scores(train).tolist(), metrics.popularity_scores(train, lately=0.3).tolist()
    ([2.0, 1.0], [0.0, 1.0])
    """
    checking.instance(train, "train", Interactions, "Interactions, the known pairs")
    if lately is None:
        return train.col_counts.astype(np.float64)
    share, expected = checking.real(lately, "lately", above=0, below=1), "a train with times on both sides of the cut"
    try:
        return train.split_by_time(1 - share)[1].col_counts.astype(np.float64)
    except ValueError as error:
        raise checking.refuse(lately, "lately", expected) from error


def _lists(lists: Any, name: str) -> Ids:
    found = checking.as_numpy(lists, name)
    if found.ndim != 2 or found.dtype.kind not in "iu":
        raise ValueError(f"{name} has shape {found.shape} and dtype {found.dtype}; expected whole ids of shape (u, K)")
    if found.size and found.min() < -1:
        raise ValueError(f"{name} holds {found.min()}; expected item ids from 0 on, or -1 for none")
    return found.astype(np.int64, copy=False)


def _shown(lists: Any, n_items: int) -> Ids:
    """(n,) how many places of the lists each item has."""
    n = checking.whole(n_items, "n_items")
    ids = _lists(lists, "lists").ravel()
    wrong = ids[ids >= n]
    if wrong.size:
        raise ValueError(f"lists holds {wrong[0]}; expected items in 0..{n - 1} (n_items={n}), or -1")
    return np.bincount(ids[ids >= 0], minlength=n)
