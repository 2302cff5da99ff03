"""What is popular now, and how a cosine model is served together with it.

A list of today's hits needs no model: count each pair by its age (`decayed_counts`), and rank. `with_hits` adds the
logarithm of these counts to the scores of two trained tables, as one more coordinate, so that a single inner product
still gives the score: an index needs to know nothing of it, and tomorrow only one number of each item changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib import checking, geometry
from course_lib.interactions import Interactions, check_pairs

__all__ = ["decayed_counts", "known_later", "with_hits"]

DAY = 86_400.0
LATEST = 1e11  # seconds since 1970: the year 5138. As milliseconds, numbers pass it from March 1973 on
FLOOR = 0.05  # pairs of today that every item is given, so that a logarithm exists


def known_later(pairs: Interactions, share: float = 0.9) -> tuple[Interactions, Interactions]:
    """Split by time, and keep of the later pairs those of users who have an earlier pair.

    Parameters
    ----------
    pairs : Interactions
        Pairs with times.
    share : float, optional
        The share of the pairs that is earlier, in (0, 1).

    Returns
    -------
    earlier, later : Interactions
        As ``pairs.split_by_time(share)``; `later` without the users whom nobody could know at the cut.

    Raises
    ------
    ValueError
        As ``split_by_time``, and where no later pair has a known user.

    Examples
    --------
    User 1 comes after the cut only:

    >>> from course_lib.hits import known_later
    >>> from course_lib.interactions import Interactions
    >>> pairs = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2, times=[1, 3, 2])
    >>> earlier, later = known_later(pairs, 0.4)
    >>> earlier.pairs.tolist(), later.pairs.tolist()
    ([[0, 0]], [[0, 1]])
    """
    check_pairs(pairs, "pairs")
    if pairs.times is None:
        raise ValueError("pairs has no times; expected a time for each pair, to split by")
    earlier, later = pairs._cut_in_time(share, "share")
    known = later.select(earlier.row_counts[later.users] > 0)
    if not len(known):
        raise ValueError(f"share is {share}: none of the {len(later)} later pairs has a user with an earlier pair")
    return earlier, known


def decayed_counts(train: Interactions, half_life: float, *, now: float | None = None) -> NDArray[np.float64]:
    """Count the pairs of each item by their age: ``sum over its pairs of 2^(-age / half_life)``.

    Parameters
    ----------
    train : Interactions
        The known pairs, with times in seconds since 1970.
    half_life : float
        After how many days a pair counts one half. Of ``inf`` days, all pairs count 1.
    now : float, optional
        The moment of serving, in seconds; by default the time of the latest pair. No pair may be later.

    Returns
    -------
    array of float64, shape (n,)
        The decayed count of each item.

    Raises
    ------
    ValueError
        Without times, for a half life of 0 or less, for a pair later than `now`, and for moments above 1e11 (the year
        5138), which look like milliseconds.

    Examples
    --------
    Item 0 has a pair of today, item 1 two pairs of two days ago:

    >>> from course_lib.hits import decayed_counts
    >>> from course_lib.interactions import Interactions
    >>> days = 86_400.0
    >>> train = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2, times=[2 * days, 0.0, 0.0])
    >>> decayed_counts(train, half_life=1.0).tolist()
    [1.0, 0.5]
    """
    check_pairs(train, "train")
    if train.times is None:
        raise ValueError("train has no times; expected a time for each pair, to count it by its age")
    if not (isinstance(half_life, float) and half_life == np.inf):
        half_life = checking.real(half_life, "half_life", above=0)
    latest = float(train.times.max()) if len(train) else 0.0
    now = latest if now is None else checking.real(now, "now")
    for name, moment in (("train.times", latest), ("now", now)):
        if moment > LATEST:
            looks = "seconds since 1970; these look like milliseconds: divide by 1000"
            raise ValueError(f"{name} has {moment:.0f}; expected {looks}")
    if latest > now:
        raise ValueError(f"now is {now}, and train has a pair at {latest}; expected no pair later than now")
    weights = np.exp2(-(now - train.times) / (half_life * DAY))
    return np.bincount(train.items, weights=weights, minlength=train.n_items).astype(np.float64)


def with_hits(
    users: Any, items: Any, hits: ArrayLike, *, tau: float, weight: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two tables whose inner product is ``cos(u, v) / tau + weight * log(hits + 0.05)``.

    Parameters
    ----------
    users : array or tensor, shape (m, d)
        The vectors of the users; none is 0.
    items : array or tensor, shape (n, d)
        The vectors of the items; none is 0.
    hits : array_like, shape (n,)
        How popular each item is now, such as `decayed_counts`.
    tau : float
        The temperature that the model was trained with.
    weight : float
        The weight of the logarithm: 0 serves the model alone, and a weight below 0 shows fewer of today's hits than the
        model does, such as a model that holds popularity itself because it was trained with logQ.

    Returns
    -------
    users : array of float64, shape (m, d + 1)
        ``[u / (|u| tau), weight]``.
    items : array of float64, shape (n, d + 1)
        ``[v / |v|, log(hits + 0.05)]``.

    Raises
    ------
    ValueError
        For tables of other shapes, a vector of length 0, hits that are negative or not one for each item, ``tau`` of 0
        or less and a weight that is no finite number.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.hits import with_hits
    >>> users, items = with_hits([[3.0, 0.0]], [[1.0, 0.0], [0.0, 2.0]], [0.95, 0.95], tau=0.5, weight=1.0)
    >>> np.round(users @ items.T, 3).tolist()
    [[2.0, 0.0]]
    """
    tables = (
        (checking.table(table, name).astype(np.float64), name) for table, name in ((users, "users"), (items, "items"))
    )
    left, right = (geometry.normalise(table, name=name) for table, name in tables)
    checking.same_width(left, right, "users", "items")
    counts = checking.counts(hits, "hits", len(right))
    tau, weight = checking.real(tau, "tau", above=0), checking.real(weight, "weight")
    return (
        np.column_stack((left / tau, np.full(len(left), weight))),
        np.column_stack((right, np.log(counts + FLOOR))),
    )
