"""How popularity shows in embeddings and in recommendations: a few numbers, each with its definition.

The popularity of an item is its count in the training data. Two numbers look at the embeddings (does the norm know the
count? is there a direction that knows it?), two at the lists (how much of them is the head? how popular are they?).

Counts are never negative. Where items are ranked by count, equal counts go by the lower id.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.sparse import issparse

from course_lib import arrays, checking
from course_lib.arrays import Array, as_array, as_index, at_least_single, first_index, namespace, shape_of
from course_lib.interactions import Interactions, TripleLaw

__all__ = [
    "LIBRARY_LAWS",
    "ChanceLaw",
    "DirectionError",
    "PullParts",
    "TripleLaw",
    "average_popularity",
    "chance_cosine",
    "chance_share",
    "correlation_across_parts",
    "cross_fitted_correlation",
    "direction_error",
    "double_dipping_draws",
    "double_dipping_law",
    "expected_roles",
    "head_items",
    "log_log_slope",
    "norm_correlation",
    "pearson",
    "popularity_direction",
    "projection_correlation",
    "pull_matrix",
    "pull_parts",
    "shuffled_correlations",
    "tail_items",
    "top_share",
]


# ------------------------------------------------------------------------------------------------- norms against counts


def pearson(x: Any, y: Any) -> Any:
    """Return Pearson's correlation of two vectors.

    ``cov(x, y) / (sd(x) sd(y))``.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        The vectors, with ``n >= 2``. ``y`` is taken as the kind of array that ``x`` is. Vectors of 16 bits are taken as
        float32.

    Returns
    -------
    float or tensor
        The correlation, in [-1, 1] up to rounding: a Python float for NumPy, a tensor without axes for torch.

    Raises
    ------
    ValueError
        For a constant vector, for NaN or infinite entries, and for two different lengths.

    Examples
    --------
    >>> from course_lib import popularity
    >>> round(popularity.pearson([1, 2, 3], [10, 20, 30]), 4), round(popularity.pearson([1, 2, 3], [3, 2, 1]), 4)
    (1.0, -1.0)
    >>> popularity.pearson([1, 2, 3], [5, 5, 5])
    Traceback (most recent call last):
    ValueError: y is constant, so its correlation with anything is not defined
    """
    return _correlation(x=x, y=y)


def _correlation(**given: Any) -> Any:
    """`pearson` of two vectors, under the names that the caller's arguments have."""
    x, y = _pair(*given.values(), *given)
    xp = namespace(x)
    with np.errstate(over="ignore", invalid="ignore"):  # seen by `_in_range`
        dx, dy = x - xp.mean(x), y - xp.mean(y)
        spread = xp.sum(dx * dx), xp.sum(dy * dy)
    if not all(_in_range(value) for value in spread) and not (_constant(x) or _constant(y)):
        x, y = (values / float(abs(arrays.detached(values)).max()) for values in (x, y))  # changes no correlation
        dx, dy = x - xp.mean(x), y - xp.mean(y)
        spread = xp.sum(dx * dx), xp.sum(dy * dy)
    for name, values, value in zip(given, (x, y), spread, strict=True):
        if _constant(values) or bool(value == 0):
            raise ValueError(f"{name} is constant, so its correlation with anything is not defined")
    return _scalar(xp.sum(dx * dy) / (spread[0] ** 0.5 * spread[1] ** 0.5))


def norm_correlation(norms: Any, counts: Any) -> Any:
    """Return Pearson's correlation between the norms of the items and their counts.

    Parameters
    ----------
    norms : array_like, shape (n,)
        The norms of the items, never negative.
    counts : array_like, shape (n,)
        The counts of the items in the training data, never negative.

    Returns
    -------
    float or tensor
        The correlation, as in :func:`pearson`.

    Raises
    ------
    ValueError
        For a negative norm or count, and as in :func:`pearson`.

    Notes
    -----
    Items that were never trained on (count 0) belong in it only if the question is about them too. Source: P0, Section
    4.2.

    Examples
    --------
    One item of count 0 changes the answer, because its norm is still the one that it was drawn with:

    >>> from course_lib import popularity
    >>> round(popularity.norm_correlation([1, 2, 3], [10, 20, 30]), 4)
    1.0
    >>> round(popularity.norm_correlation([1, 2, 3, 5], [10, 20, 30, 0]), 4)
    -0.378
    """
    return _correlation(norms=_checked_norms(norms), counts=checking.counts(counts))


def log_log_slope(norms: Any, counts: Any) -> Any:
    """Return the slope of the log of the norm in the log of the count, by least squares.

    ``b`` of ``log(norm) = a + b log(count)``.

    Parameters
    ----------
    norms, counts : array_like, shape (n,)
        The norms and the counts of the items, all positive: leave out the items that the training data does not hold.

    Returns
    -------
    float or tensor
        The slope: a Python float for NumPy, a tensor without axes for torch.

    Raises
    ------
    ValueError
        For values that are not positive and finite, for two different lengths, and for counts that are all equal.

    Notes
    -----
    1/4 is the slope of the quartic law far beyond the crossover (:mod:`course_lib.norms`), 0 the slope where nothing
    has grown yet.

    Examples
    --------
    Sixteen times the count, twice the norm:

    >>> from course_lib import popularity
    >>> round(popularity.log_log_slope([1, 2, 4], [1, 16, 256]), 4)
    0.25
    """
    norms, counts = _pair(_checked_norms(norms), checking.counts(counts), "norms", "counts")
    for name, values in (("norms", norms), ("counts", counts)):
        where = first_index(values <= 0)
        if where is not None:
            raise ValueError(f"{name}{list(where)} is {float(values[where])}; a logarithm needs positive values")
    xp = namespace(norms)
    x, y = xp.log(counts), xp.log(norms)
    if _constant(counts) or _constant(x):
        raise ValueError("counts are all equal, so there is no slope in them")
    x = x - xp.mean(x)
    return _scalar(xp.sum(x * y) / xp.sum(x * x))


# ------------------------------------------------------------------------------------------------- head and tail


def head_items(counts: Any, share: float = 0.01) -> np.ndarray:
    """Return the ids of the items with the highest counts.

    Parameters
    ----------
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    share : float
        The part of the items to return, in (0, 1].

    Returns
    -------
    array of int, shape (h,)
        The ids, by falling count, with ``h = round(share n)``, but at least one. Equal counts go by the lower id.

    Raises
    ------
    ValueError
        For a ``share`` outside (0, 1], and for negative or infinite counts.

    Examples
    --------
    >>> from course_lib import popularity
    >>> popularity.head_items([5, 9, 5, 1], share=0.5).tolist()
    [1, 0]
    """
    return _ranking(counts)[: _group_size(counts, share, "share")]


def tail_items(counts: Any, share: float = 0.01) -> np.ndarray:
    """Return the ids of the items with the lowest counts.

    Parameters
    ----------
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    share : float
        The part of the items to return, in (0, 1].

    Returns
    -------
    array of int, shape (h,)
        The ids, by rising count, with ``h = round(share n)``, but at least one. The ranking is that of
        :func:`head_items` from its end, so of equal counts the higher id comes first.

    Raises
    ------
    ValueError
        For a ``share`` outside (0, 1], and for negative or infinite counts.

    Examples
    --------
    >>> from course_lib import popularity
    >>> popularity.tail_items([5, 9, 5, 1], share=0.5).tolist()
    [3, 2]
    """
    return _ranking(counts)[::-1][: _group_size(counts, share, "share")]


def top_share(ranked_items: Any, counts: Any, share: float = 0.01) -> float:
    """Return the part of all recommended items that belongs to the most popular items.

    Parameters
    ----------
    ranked_items : array_like of int, shape (m, K)
        The ids that each user is shown, -1 for an empty place, which does not count.
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    share : float
        The part of the items that is the head, in (0, 1].

    Returns
    -------
    float
        The part, in [0, 1].

    Raises
    ------
    ValueError
        For ids that are no integers from -1 to ``n - 1``, for lists without any item, and as in :func:`head_items`.

    See Also
    --------
    chance_share : The value for lists drawn at random from the items that a user does not know.

    Notes
    -----
    Lists drawn at random from all items give about ``share``, lists without known items less. A user with most of the
    head already is shown little of it, so the greatest possible value is below 1 when the ranking leaves out known
    items. Source: P0, Table 2 (top-1 % in the top 100).

    Examples
    --------
    The head is item 0. It takes two of the three places that are not empty:

    >>> from course_lib import popularity
    >>> round(popularity.top_share([[0, 1], [0, -1]], counts=[9, 1, 1, 1], share=0.25), 4)
    0.6667
    """
    ranked, counts = _ranked(ranked_items, counts)
    is_head = np.zeros(len(counts), dtype=bool)
    is_head[head_items(counts, share)] = True
    return float(is_head[ranked[ranked >= 0]].mean())


def chance_share(known: Interactions, share: float = 0.01) -> float:
    """Return the :func:`top_share` that lists drawn at random from a user's unknown items have on average.

    The mean over users ``i`` of ``(H - h_i) / (n - k_i)``: ``H`` items are in the head, of which user ``i`` knows
    ``h_i``, and ``k_i`` of all ``n``.

    Parameters
    ----------
    known : Interactions
        The items that each user knows. Their counts in it say which are the head.
    share : float
        The part of the items that is the head, in (0, 1].

    Returns
    -------
    float
        The mean part. It is below ``share`` where users know popular items more often than others, as in most data;
        users who know nearly all items but the head raise it.

    Raises
    ------
    ValueError
        For a ``share`` outside (0, 1], and where every user knows all items.

    Notes
    -----
    Exact for lists of any one length that every user's unknown items can fill. Users who know all items are left out.

    Examples
    --------
    The head is item 0. Two of the three users know it; for the third it is one of three unknown items:

    >>> from course_lib import popularity
    >>> from course_lib.interactions import Interactions
    >>> known = Interactions(users=[0, 1, 2], items=[0, 0, 1], n_users=3, n_items=4)
    >>> round(popularity.chance_share(known, share=0.25), 4)  # (0 + 0 + 1/3) / 3
    0.1111
    """
    in_head = np.zeros(checking.instance(known, "known", Interactions).n_items, dtype=bool)
    in_head[head_items(known.col_counts, share)] = True
    known_head = np.bincount(known.users, weights=in_head[known.items], minlength=known.n_users)
    free = known.n_items - known.row_counts
    if not free.any():
        raise ValueError("known holds every pair of a user and an item; expected a user with an item left to list")
    return float(((in_head.sum() - known_head)[free > 0] / free[free > 0]).mean())


def average_popularity(ranked_items: Any, counts: Any) -> float:
    """Return the mean over users of the mean count of the items that they are shown (AvgPop).

    Parameters
    ----------
    ranked_items : array_like of int, shape (m, K)
        The ids that each user is shown, -1 for an empty place. Users without any item are left out.
    counts : array_like, shape (n,)
        The counts of the items, never negative.

    Returns
    -------
    float
        The mean, in interactions per item.

    Raises
    ------
    ValueError
        For ids that are no integers from -1 to ``n - 1``, for lists without any item, and for negative or infinite
        counts.

    Notes
    -----
    Source: P1, Table 4.

    Examples
    --------
    The first user sees counts of 5 on average, the second of 3:

    >>> from course_lib import popularity
    >>> popularity.average_popularity([[0, 1], [2, -1]], counts=[9, 1, 3])
    4.0
    """
    ranked, counts = _ranked(ranked_items, counts)
    shown = ranked >= 0
    per_user = np.where(shown, counts[ranked], 0.0).sum(axis=1)
    length = shown.sum(axis=1)
    return float((per_user[length > 0] / length[length > 0]).mean())


# ----------------------------------------------------------------------------------------- a direction of popularity


def popularity_direction(items: Any, counts: Any, ratio: float = 0.05) -> Array:
    """Return the unit vector from the mean of the tail items to the mean of the head items.

    Parameters
    ----------
    items : array_like, shape (n, d)
        The embeddings of the items, NumPy array or torch tensor.
    counts : array_like, shape (n,)
        The counts of the items, never negative. Equal counts go by the lower id, also where all are equal.
    ratio : float
        The part of the items in the head, and as many in the tail: ``round(ratio n)`` each, but at least one.

    Returns
    -------
    array, shape (d,)
        The direction.

    Raises
    ------
    ValueError
        Where the two means agree, where head and tail overlap, for NaN or infinite entries, and for shapes that do not
        fit.

    Notes
    -----
    Source: P1, equation (4), with ratio 0.05.

    Examples
    --------
    A quarter of four items is one item, so the direction leads from the last item to the first:

    >>> from course_lib import popularity
    >>> items = [[3.0, 4.0], [7.0, 7.0], [8.0, 8.0], [0.0, 0.0]]
    >>> popularity.popularity_direction(items, counts=[9, 5, 4, 1], ratio=0.25).round(3).tolist()
    [0.6, 0.8]
    """
    items, counts = _table(items, counts)
    size = _half_size(counts, ratio)
    order = _ranking(counts)
    head, tail = (items[as_index(np.ascontiguousarray(ids), items, "ids")] for ids in (order[:size], order[-size:]))
    xp = namespace(items)
    difference = xp.mean(head, axis=0) - xp.mean(tail, axis=0)
    with np.errstate(over="ignore"):
        square = xp.sum(difference * difference)
    length = xp.sqrt(square) if arrays.is_torch(square) else float(square) ** 0.5
    if length == 0:
        raise ValueError("head and tail have the same mean embedding, so there is no direction of popularity")
    if not length < math.inf:
        raise ValueError(f"items are so large that squares overflow in {items.dtype}; scale them, the direction stays")
    return difference / length


def projection_correlation(items: Any, counts: Any, ratio: float = 0.05) -> Any:
    """Return the correlation between the counts and the items' projections on their popularity direction.

    This is Pearson's correlation between ``<item, popularity_direction>`` and the count, over the same items.

    Parameters
    ----------
    items : array_like, shape (n, d)
        The embeddings of the items, NumPy array or torch tensor.
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    ratio : float
        The part of the items in the head, and as many in the tail.

    Returns
    -------
    float or tensor
        The correlation, as in :func:`pearson`.

    Raises
    ------
    ValueError
        As in :func:`popularity_direction` and :func:`pearson`.

    Warnings
    --------
    The correlation is biased upwards: the head items and their counts have chosen the direction that they are then
    measured along, so even random embeddings score above 0 on average.

    See Also
    --------
    cross_fitted_correlation : The measure without this fault.
    double_dipping_law : The bias, exactly.

    Notes
    -----
    Source: P1, Figure 1.

    Examples
    --------
    These embeddings are random, and their correlation with the counts is far from 0:

    >>> import numpy as np
    >>> from course_lib import popularity
    >>> items = np.random.default_rng(0).normal(size=(200, 200))
    >>> popularity.projection_correlation(items, np.arange(200)) > 0.2
    True
    """
    items, counts = _table(items, counts)
    return _correlation(projections=items @ popularity_direction(items, counts, ratio), counts=counts)


def cross_fitted_correlation(items: Any, counts: Any, ratio: float = 0.05, *, rng: Generator, folds: int = 2) -> float:
    """Return the correlation of the counts with projections on a direction that was found without the items.

    The items are split at random into parts. Each part is projected on the popularity direction of the others, and the
    correlations within the parts are averaged.

    Parameters
    ----------
    items : array_like, shape (n, d)
        The embeddings of the items, NumPy array or torch tensor.
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    ratio : float
        The part of the items in the head, and as many in the tail, among the items that a direction is found with.
    rng : numpy.random.Generator
        Splits the items.
    folds : int
        The number of parts, from 2 to ``n // 2``.

    Returns
    -------
    float
        The mean correlation. Random embeddings score 0 on average.

    Raises
    ------
    ValueError
        For a number of folds outside its bounds, for an ``rng`` that is no Generator, and as in
        :func:`projection_correlation`.

    Notes
    -----
    Our correction of P1's measure (claim X13).

    Examples
    --------
    Of random embeddings, the correlation along their own direction is far from 0, the cross-fitted one is not:

    >>> import numpy as np
    >>> from course_lib import popularity
    >>> items, counts = np.random.default_rng(0).normal(size=(200, 200)), np.arange(200)
    >>> popularity.projection_correlation(items, counts) > 0.2
    True
    >>> abs(popularity.cross_fitted_correlation(items, counts, rng=np.random.default_rng(1))) < 0.2
    True
    """
    items, counts = _table(items, counts)
    checking.generator(rng)
    checking.whole(folds, "folds", 2, len(counts) // 2, why="so that each part has two items")
    return correlation_across_parts(items, counts, rng.permutation(len(counts)) % folds, ratio)


def correlation_across_parts(items: Any, counts: Any, part: Any, ratio: float = 0.05) -> float:
    """Return the cross-fitted correlation for parts of one's own choice.

    Each part is projected on the popularity direction that is found on all others.

    Parameters
    ----------
    items : array_like, shape (n, d)
        The embeddings of the items, NumPy array or torch tensor.
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    part : array_like of int, shape (n,)
        The number of the part of each item. At least two parts.
    ratio : float
        The part of the items in the head, and as many in the tail, among the items that a direction is found with.

    Returns
    -------
    float
        The mean of Pearson's correlations within the parts.

    Raises
    ------
    ValueError
        For a ``part`` that is not of that shape, holds no integers or holds one part only, and as in
        :func:`projection_correlation`.

    See Also
    --------
    cross_fitted_correlation : The same with random parts.

    Examples
    --------
    In the first part the embedding rises with the count, in the second it falls. So each part says the opposite of what
    is true in the other:

    >>> from course_lib import popularity
    >>> items = [[1.0], [2.0], [2.0], [1.0]]
    >>> round(popularity.correlation_across_parts(items, counts=[1, 2, 1, 2], part=[0, 0, 1, 1]), 4)
    -1.0
    """
    items, counts = _table(items, counts)
    part = checking.as_numpy(part, "part")
    if part.shape != counts.shape or part.dtype.kind not in "iu":
        raise ValueError(f"part has shape {part.shape} and dtype {part.dtype}; expected integers {counts.shape}")
    names = np.unique(part)
    if len(names) < 2:
        raise ValueError(f"part holds one part only, {names[0]}; expected at least two")
    found = []
    for name in names:
        inside, outside = np.flatnonzero(part == name), np.flatnonzero(part != name)
        direction = popularity_direction(items[as_index(outside, items, "ids")], counts[outside], ratio)
        projections = items[as_index(inside, items, "ids")] @ direction
        found.append(float(_correlation(projections=projections, counts=counts[inside])))
    return float(np.mean(found))


# ------------------------------------------------------------------------------------------------- what chance gives


class ChanceLaw(NamedTuple):
    """Hold the mean and standard deviation of a correlation that chance gives.

    The correlation is :func:`projection_correlation` where the embeddings know nothing of popularity.

    Parameters
    ----------
    mean : float
        The mean of the correlation.
    sd : float
        The standard deviation of the correlation.

    Examples
    --------
    How many standard deviations a correlation of 0.5 is above what chance gives:

    >>> from course_lib import popularity
    >>> law = popularity.ChanceLaw(mean=0.25, sd=0.125)
    >>> (0.5 - law.mean) / law.sd
    2.0
    """

    mean: float
    sd: float


class DirectionError(NamedTuple):
    """Say how well head and tail determine their direction.

    Parameters
    ----------
    length : float
        The length of head mean minus tail mean.
    error : float
        The root mean square error of this difference.
    cosine : float
        The estimated cosine between the direction found and the true one, 0 where the length is no more than noise.

    See Also
    --------
    direction_error : Finds the three numbers.

    Examples
    --------
    >>> from course_lib import popularity
    >>> found = popularity.direction_error([[3.0, 1.0], [3.0, -1.0], [0.0, 1.0], [0.0, -1.0]], [9, 8, 2, 1], ratio=0.5)
    >>> found.length, round(found.error, 4), round(found.cosine, 4)
    (3.0, 1.4142, 0.8819)
    """

    length: float
    error: float
    cosine: float


def chance_cosine(counts: Any, ratio: float = 0.05) -> float:
    """Return the correlation of the counts with the contrast of head against tail.

    The contrast is ``1/h`` on the head, ``-1/h`` on the tail and 0 elsewhere. The correlation is
    ``sqrt(h / (2 n)) (mean count of the head - that of the tail) / sd(counts)`` for the ``h = round(ratio n)`` items of
    either group, the standard deviation ``sd`` with the divisor ``n``.

    Parameters
    ----------
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    ratio : float
        The part of the items in the head, and as many in the tail.

    Returns
    -------
    float
        The correlation, in (0, 1].

    Raises
    ------
    ValueError
        Where head and tail overlap, and where the counts are all equal.

    Examples
    --------
    The correlation is 1 where the counts look like such a contrast themselves:

    >>> from course_lib import popularity
    >>> round(popularity.chance_cosine([2, 1, 1, 0], ratio=0.25), 4)
    1.0
    >>> round(popularity.chance_cosine([4, 3, 2, 1], ratio=0.25), 4)  # 3 / sqrt(2 * 5)
    0.9487
    """
    counts = checking.counts(counts)
    return min(1.0, float(_correlation(contrast=_contrast(counts, ratio), counts=counts)))


def double_dipping_law(counts: Any, width: int, ratio: float = 0.05) -> ChanceLaw:
    """Return mean and standard deviation of :func:`projection_correlation` for random embeddings.

    The law of ``n`` embeddings from ``N(mu, s^2 I)``. It is exact, whatever the counts.

    Parameters
    ----------
    counts : array_like, shape (n,)
        The counts of the items, never negative, with ``n >= 4``.
    width : int
        The number of dimensions of the embeddings, at least 1.
    ratio : float
        The part of the items in the head, and as many in the tail.

    Returns
    -------
    ChanceLaw
        The mean and the standard deviation.

    Raises
    ------
    ValueError
        For fewer than 4 items, for a ``width`` that is no whole number, and as in :func:`chance_cosine`.

    Notes
    -----
    ``r = k sqrt(B) + sqrt(1 - k^2) sqrt(1 - B) T`` with ``k = chance_cosine(counts, ratio)``, ``B`` of the law
    Beta(``width/2``, ``(n-2)/2``), and ``T``, independent of it, the first coordinate of a uniform point on the unit
    sphere in ``n - 2`` dimensions. So the mean is ``k E sqrt(B)``, about ``k sqrt(width / (width + n))``, and not 0.
    Our correction of P1's Figure 1 (claim X13).

    Examples
    --------
    Chance gives more correlation where the embeddings are wider:

    >>> from course_lib import popularity
    >>> counts = range(1, 101)
    >>> round(popularity.double_dipping_law(counts, width=10).mean, 3)
    0.155
    >>> round(popularity.double_dipping_law(counts, width=100).mean, 3)
    0.369
    """
    k, n, width = _chance_arguments(counts, width, ratio)
    half = [math.lgamma(x / 2) for x in (width + 1, width, width + n - 2, width + n - 1)]
    mean = k * math.exp(half[0] - half[1] + half[2] - half[3])
    share = width / (width + n - 2)  # E B
    square = k**2 * share + (1 - k**2) * (1 - share) / (n - 2)
    return ChanceLaw(mean, math.sqrt(max(0.0, square - mean**2)))


def double_dipping_draws(counts: Any, width: int, ratio: float = 0.05, *, size: int, rng: Generator) -> np.ndarray:
    """Return correlations drawn from the law of :func:`double_dipping_law`.

    They are drawn from the exact law, without drawing a single embedding.

    Parameters
    ----------
    counts : array_like, shape (n,)
        The counts of the items, never negative, with ``n >= 4``.
    width : int
        The number of dimensions of the embeddings, at least 1.
    ratio : float
        The part of the items in the head, and as many in the tail.
    size : int
        The number of draws.
    rng : numpy.random.Generator
        Draws them.

    Returns
    -------
    array, shape (size,)
        The correlations.

    Raises
    ------
    ValueError
        For an ``rng`` that is no Generator, and as in :func:`double_dipping_law`.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import popularity
    >>> draws = popularity.double_dipping_draws(range(1, 101), width=10, size=10_000, rng=np.random.default_rng(0))
    >>> law = popularity.double_dipping_law(range(1, 101), width=10)
    >>> bool(abs(draws.mean() - law.mean) < 0.01), bool(abs(draws.std() - law.sd) < 0.01)
    (True, True)
    """
    k, n, width = _chance_arguments(counts, width, ratio)
    checking.generator(rng)
    checking.whole(size, "size", 0)
    share = rng.beta(width / 2, (n - 2) / 2, size)
    first = np.sqrt(rng.beta(0.5, (n - 3) / 2, size)) * rng.choice([-1.0, 1.0], size)
    drawn: np.ndarray = k * np.sqrt(share) + math.sqrt(1 - k**2) * np.sqrt(1 - share) * first
    return drawn


def shuffled_correlations(
    items: Any, counts: Any, ratio: float = 0.05, *, repeats: int = 200, rng: Generator
) -> np.ndarray:
    """Return :func:`projection_correlation` after the counts were dealt out anew at random, many times.

    This is what the measure gives for these very embeddings, of whatever shape their cloud is, when popularity has
    nothing to do with it.

    Parameters
    ----------
    items : array_like, shape (n, d)
        The embeddings of the items, NumPy array or torch tensor.
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    ratio : float
        The part of the items in the head, and as many in the tail.
    repeats : int
        How often the counts are dealt out, at least 1.
    rng : numpy.random.Generator
        Deals them out.

    Returns
    -------
    array, shape (repeats,)
        The correlations.

    Raises
    ------
    ValueError
        For an ``rng`` that is no Generator, for ``repeats`` that is no whole number, and as in
        :func:`projection_correlation`.

    Examples
    --------
    The first coordinate of these embeddings is the count, so the true order scores better than any shuffled one:

    >>> import numpy as np
    >>> from course_lib import popularity
    >>> counts = np.arange(100)
    >>> items = np.column_stack([counts, np.random.default_rng(0).normal(size=100)])
    >>> shuffled = popularity.shuffled_correlations(items, counts, repeats=20, rng=np.random.default_rng(1))
    >>> bool(popularity.projection_correlation(items, counts) > shuffled.max())
    True
    """
    items, counts = _table(items, counts)
    checking.generator(rng)
    repeats = checking.whole(repeats, "repeats")
    found = [projection_correlation(items, rng.permutation(counts), ratio) for _ in range(repeats)]
    return np.array([float(value) for value in found])


def direction_error(items: Any, counts: Any, ratio: float = 0.05) -> DirectionError:
    """Return how far the popularity direction may be from that between the expected head and tail embeddings.

    The items count as independent, each with an expected embedding. The direction found is that of equation (4) of P1.

    Parameters
    ----------
    items : array_like, shape (n, d)
        The embeddings of the items, NumPy array or torch tensor.
    counts : array_like, shape (n,)
        The counts of the items, never negative.
    ratio : float
        The part of the items in the head, and as many in the tail. Both need two items.

    Returns
    -------
    DirectionError
        The length of head mean minus tail mean, its error, and the estimated cosine of the angle to the true direction.

    Raises
    ------
    ValueError
        For a ``ratio`` that leaves one item in the head, where head and tail overlap, for NaN or infinite entries, and
        for shapes that do not fit.

    Notes
    -----
    ``E ||v_hat - v||^2 = tr S_head / H + tr S_tail / T`` with the covariances ``S`` within the ``H`` items of the head
    and the ``T`` of the tail, estimated without bias. So ``||v||^2`` is estimated by ``||v_hat||^2 - error^2``. Source:
    claim X13.

    Examples
    --------
    Head and tail are 3 apart. Each has a variance of 2, so each mean has one of 1, and the squared error is 2:

    >>> from course_lib import popularity
    >>> items = [[3.0, 1.0], [3.0, -1.0], [0.0, 1.0], [0.0, -1.0]]
    >>> found = popularity.direction_error(items, counts=[9, 8, 2, 1], ratio=0.5)
    >>> found.length, round(found.error**2, 4), round(found.cosine, 4)
    (3.0, 2.0, 0.8819)
    """
    items, counts = _table(items, counts)
    size = _half_size(counts, ratio)
    if size < 2:
        raise ValueError(f"ratio is {ratio}: one item has no spread; choose at least {2 / len(counts):.3g}")
    order, table = _ranking(counts), np.asarray(checking.as_numpy(items), dtype=np.float64)
    groups = table[order[:size]], table[order[-size:]]
    gap = groups[0].mean(0) - groups[1].mean(0)
    error = sum(float(group.var(0, ddof=1).sum()) / size for group in groups)
    square = float(gap @ gap)
    cosine = math.sqrt(max(0.0, 1 - error / square)) if square else 0.0
    return DirectionError(math.sqrt(square), math.sqrt(error), cosine)


# ------------------------------------------------------------------------------------------- which triples BPR sees


# Read in their sources; file and version: the chapter "The popularity direction".
LIBRARY_LAWS = {
    "RecBole": TripleLaw("pairs", "uniform", "redraw"),
    "cornac": TripleLaw("pairs", "uniform", "skip"),
    "Spotlight": TripleLaw("pairs", "uniform", "keep"),
    "LightFM": TripleLaw("pairs", "popularity", "redraw"),
    "implicit": TripleLaw("pairs", "popularity", "skip"),
    "LightGCN": TripleLaw("users", "uniform", "redraw"),
}


def pull_matrix(labels: Any, law: TripleLaw | None = None) -> Array:
    """Return how much each user pulls each item towards them, in expectation, in one pass over the triples.

    ``M_ui`` is the expected number of triples (u, i, .) minus that of triples (u, ., i).

    Parameters
    ----------
    labels : array_like, shape (m, n)
        Ones for the positive pairs, zeros elsewhere. Exact for Fractions.
    law : TripleLaw, optional
        How triples are drawn. The default is ``TripleLaw()``: a positive pair, and a uniform negative that the user
        does not have.

    Returns
    -------
    array, shape (m, n)
        The matrix ``M``.

    Raises
    ------
    ValueError
        For labels that are not a matrix of zeros and ones, and as in :func:`pull_parts`.

    Notes
    -----
    At margins of zero ``-M' U / 2`` is the gradient of the expected BPR loss with respect to the items. Rows sum to 0
    under every law; columns sum to expected positives minus expected negatives. Source: claim X10.

    Examples
    --------
    The one positive pair of this user is drawn once, with either of the other two items as the negative:

    >>> from course_lib import popularity
    >>> popularity.pull_matrix([[1, 0, 0]]).round(3).tolist()
    [[1.0, -0.5, -0.5]]
    """
    labels = _checked_labels(labels)
    parts = pull_parts(labels, TripleLaw() if law is None else law)
    return parts.plain[:, None] * labels - (parts.pushed[:, None] - parts.owned[:, None] * labels) * parts.chance


def expected_roles(labels: Any, law: TripleLaw | None = None) -> tuple[Array, Array]:
    """Return how often each item is expected as a positive and as a negative in one pass.

    Parameters
    ----------
    labels : array_like, shape (m, n)
        Ones for the positive pairs, zeros elsewhere. Exact for Fractions.
    law : TripleLaw, optional
        How triples are drawn. The default is ``TripleLaw()``: a positive pair, and a uniform negative that the user
        does not have.

    Returns
    -------
    positives : array, shape (n,)
        The expected number of triples with the item as the positive.
    negatives : array, shape (n,)
        The expected number of triples with the item as the negative. Both have the same sum.

    Raises
    ------
    ValueError
        As in :func:`pull_matrix`.

    Examples
    --------
    Both users have item 0, so it is never a negative. The negative of the first user, who has two pairs, is item 2:

    >>> from course_lib import popularity
    >>> positives, negatives = popularity.expected_roles([[1, 1, 0], [1, 0, 0]])
    >>> positives.tolist(), negatives.round(3).tolist()
    ([2.0, 1.0, 0.0], [0.0, 0.5, 2.5])
    """
    labels = _checked_labels(labels)
    parts = pull_parts(labels, TripleLaw() if law is None else law)
    negatives = (parts.pushed[:, None] - parts.owned[:, None] * labels).sum(axis=0) * parts.chance
    return (parts.plain[:, None] * labels).sum(axis=0), negatives


class PullParts(NamedTuple):
    """Hold the parts of the pull matrix.

    ``M_ui = plain_u Y_ui - (pushed_u - owned_u Y_ui) q_i``, where ``Y`` are the labels.

    Parameters
    ----------
    plain : array, shape (m,)
        The weight of each of a user's positives.
    pushed : array, shape (m,)
        The weight of all of a user's draws of a negative.
    owned : array, shape (m,)
        The weight of the draws that fall on an item of the user's own.
    chance : array, shape (n,)
        The probability ``q`` of each item in one draw.

    See Also
    --------
    pull_parts : Finds the parts.

    Examples
    --------
    The parts make the matrix:

    >>> import numpy as np
    >>> from course_lib import popularity
    >>> labels = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    >>> plain, pushed, owned, chance = popularity.pull_parts(labels, popularity.TripleLaw())
    >>> made = plain[:, None] * labels - (pushed[:, None] - owned[:, None] * labels) * chance
    >>> bool(np.allclose(made, popularity.pull_matrix(labels)))
    True
    """

    plain: Array
    pushed: Array
    owned: Array
    chance: Array


def pull_parts(labels: Any, law: TripleLaw) -> PullParts:
    """Return the parts of the pull matrix: four vectors in place of m x n numbers.

    Parameters
    ----------
    labels : array_like or sparse array, shape (m, n)
        Ones for the positive pairs, zeros elsewhere; sparse as in ``Interactions.matrix``, whose float32 the parts then
        have.
    law : TripleLaw
        How triples are drawn.

    Returns
    -------
    PullParts
        The parts.

    Raises
    ------
    ValueError
        For a user without a positive, and under "redraw" for a user who has every item that could be drawn.

    Notes
    -----
    Let ``n_u`` be the number of a user's positives, ``Q_u = sum_i Y_ui q_i`` the chance that a draw falls on an item of
    their own, and ``w_u`` how often each of their pairs is drawn in a pass of ``M`` draws: 1 where pairs are drawn,
    ``M / (m n_u)`` where users are. Then ``plain = w`` and ``pushed = owned = w n``, but

    - under "skip" ``plain = w (1 - Q)``,
    - under "redraw" ``pushed = owned = w n / (1 - Q)``,
    - under "keep" ``owned = 0``.

    Examples
    --------
    The first user has two of three items. A draw is redrawn until it falls on the third, after three draws on average:

    >>> import numpy as np
    >>> from course_lib import popularity
    >>> parts = popularity.pull_parts(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), popularity.TripleLaw())
    >>> parts.pushed.round(3).tolist()  # 2 pairs * 3 draws, 1 pair * 3/2 draws
    [6.0, 1.5]
    """
    checking.instance(law, "law", TripleLaw)
    if issparse(labels):
        _checked_labels(labels.data[None, :])
    else:
        labels = _checked_labels(labels)
    n_u, counts = labels.sum(axis=1), labels.sum(axis=0)
    if (empty := first_index(n_u == 0)) is not None:
        raise ValueError(f"labels: user {empty[0]} has no positive; drop empty rows first (Interactions.compact)")
    total = counts.sum()
    weight = 1 + 0 * n_u if law.users == "pairs" else total / (len(n_u) * n_u)
    chance = counts / total if law.negatives == "popularity" else (1 + 0 * counts) / len(counts)
    own = labels @ chance
    drawable = (chance > 0).sum()  # all of a user's items are among them: counts are exact, the sum `own` is rounded
    if law.collision == "redraw" and (full := first_index(n_u == drawable)) is not None:
        raise ValueError(f"labels: user {full[0]} has no item left to draw as a negative")
    pushed = weight * n_u / (1 - own) if law.collision == "redraw" else weight * n_u
    plain = weight * (1 - own) if law.collision == "skip" else weight
    return PullParts(plain, pushed, 0 * pushed if law.collision == "keep" else pushed, chance)


# ------------------------------------------------------------------------------------------------- arguments


def _scalar(value: Any) -> Any:
    return value if arrays.is_torch(value) else float(value)


def _in_range(square: Array) -> bool:
    """Whether the squares behind a sum have kept their digits: none overflowed, and none that counts underflowed."""
    if arrays.is_exact(square):
        return True
    kind = namespace(square).finfo(square.dtype)
    return bool(float(kind.tiny) / float(kind.eps) < square) and bool(square < math.inf)


def _constant(values: Array) -> bool:
    """Asked of the numbers themselves: their distances from a rounded mean need not be 0."""
    return bool(values.min() == values.max())


def _checked_norms(norms: Any) -> Array:
    norms = as_array(norms, "norms")
    where = first_index(norms < 0)
    if where is not None:
        raise ValueError(f"norms{list(where)} is {float(norms[where])}; a norm is never negative")
    return norms


def _pair(x: Any, y: Any, x_name: str, y_name: str) -> tuple[Array, Array]:
    x = at_least_single(as_array(x, x_name))
    y = arrays.like(as_array(y, y_name), x, y_name)
    for name, values in ((x_name, x), (y_name, y)):
        if len(shape_of(values)) != 1:
            raise ValueError(f"{name} has shape {shape_of(values)}; expected (n,)")
        arrays.check_finite(values, name)
    if shape_of(x) != shape_of(y) or shape_of(x)[0] < 2:
        raise ValueError(f"{x_name} has shape {shape_of(x)} and {y_name} {shape_of(y)}; expected both (n,), n >= 2")
    return x, y


def _table(items: Any, counts: Any) -> tuple[Array, np.ndarray]:
    items, counts = at_least_single(as_array(items, "items")), checking.counts(counts)
    if len(shape_of(items)) != 2 or shape_of(items)[0] != len(counts):
        raise ValueError(f"items has shape {shape_of(items)}; expected ({len(counts)}, d), a row for each count")
    return arrays.check_finite(items, "items"), counts


def _ranked(ranked_items: Any, counts: Any) -> tuple[np.ndarray, np.ndarray]:
    ranked, counts = checking.as_numpy(ranked_items, "ranked_items"), checking.counts(counts)
    if ranked.ndim != 2 or ranked.dtype.kind not in "iu":
        raise ValueError(f"ranked_items has shape {ranked.shape} and dtype {ranked.dtype}; expected integers (m, K)")
    if ranked.size and (ranked.min() < -1 or ranked.max() >= len(counts)):
        raise ValueError(f"ranked_items holds ids {ranked.min()} to {ranked.max()}; expected -1 to {len(counts) - 1}")
    if not (ranked >= 0).any():
        raise ValueError("ranked_items is empty: nothing was recommended")
    return ranked, counts


def _ranking(counts: Any) -> np.ndarray:
    """All ids by falling count, equal counts by the lower id."""
    order: np.ndarray = np.argsort(-checking.counts(counts), kind="stable")
    return order


def _group_size(counts: Any, share: float, name: str) -> int:
    return max(1, round(checking.share(share, name) * len(checking.counts(counts))))


def _half_size(counts: Any, ratio: float) -> int:
    """The number of items in the head, and in the tail: together at most all."""
    size = _group_size(counts, ratio, "ratio")
    if 2 * size > len(checking.counts(counts)):
        raise ValueError(f"ratio is {ratio}: head and tail of {size} items overlap in {len(checking.counts(counts))}")
    return size


def _contrast(counts: np.ndarray, ratio: float) -> np.ndarray:
    """(n,) 1/h on the head, -1/h on the tail, 0 elsewhere."""
    size, order = _half_size(counts, ratio), _ranking(counts)
    contrast = np.zeros(len(counts))
    contrast[order[:size]], contrast[order[-size:]] = 1 / size, -1 / size
    return contrast


def _chance_arguments(counts: Any, width: int, ratio: float) -> tuple[float, int, int]:
    width = checking.whole(width, "width")
    n = len(checking.counts(counts))
    if n < 4:
        raise ValueError(f"counts has {n} entries; expected at least 4")
    return chance_cosine(counts, ratio), n, width


def _checked_labels(labels: Any) -> Array:
    labels = as_array(labels, "labels")
    if len(shape_of(labels)) != 2:
        raise ValueError(f"labels has shape {shape_of(labels)}; expected (m, n)")
    if not bool(((labels == 0) | (labels == 1)).all()):
        raise ValueError("labels must hold zeros and ones only")
    return labels
