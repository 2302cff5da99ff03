"""How popularity shows in embeddings and in recommendations: a few numbers, each with its definition.

The popularity of an item is its count in the training data. Two numbers look at the embeddings (does the norm know the
count? is there a direction that knows it?), two at the lists (how much of them is the head? how popular are they?).

Counts are never negative. Where items are ranked by count, equal counts go by the lower id.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, all_finite, as_array, as_index, first_index, is_torch, like, namespace, shape_of

__all__ = [
    "average_popularity",
    "cross_fitted_correlation",
    "head_items",
    "log_log_slope",
    "norm_correlation",
    "pearson",
    "popularity_direction",
    "projection_correlation",
    "tail_items",
    "top_share",
]


# ------------------------------------------------------------------------------------------------- norms against counts


def pearson(x: Any, y: Any) -> Any:
    """Pearson's correlation of two vectors (n,) with n >= 2: cov(x, y) / (sd(x) sd(y)), a number in [-1, 1].

    A scalar of the kind of x (a Python float for NumPy). Raises ValueError where one of them is constant.
    """
    x, y = _pair(x, y, "x", "y")
    xp = namespace(x)
    dx, dy = x - xp.mean(x), y - xp.mean(y)
    spread = xp.sum(dx * dx), xp.sum(dy * dy)
    for name, value in zip(("x", "y"), spread, strict=True):
        if bool(value == 0):
            raise ValueError(f"{name} is constant, so its correlation with anything is not defined")
    return _scalar(xp.sum(dx * dy) / (spread[0] ** 0.5 * spread[1] ** 0.5))


def norm_correlation(norms: Any, counts: Any) -> Any:
    """Pearson's correlation between the norms (n,) and the counts (n,) of the items.

    Source: P0, Section 4.2. Items that were never trained on (count 0) belong in it only if the question is about them too.
    """
    return pearson(_checked_norms(norms), _checked_counts(counts))


def log_log_slope(norms: Any, counts: Any) -> Any:
    """The least-squares slope b of log(norm) = a + b log(count).

    norms, counts (n,), all positive: leave out the items that the training data does not hold. 1/4 is the slope of the
    quartic law far beyond the crossover (`course_lib.norms`), 0 the slope where nothing has grown yet.
    """
    norms, counts = _pair(_checked_norms(norms), _checked_counts(counts), "norms", "counts")
    for name, values in (("norms", norms), ("counts", counts)):
        where = first_index(values <= 0)
        if where is not None:
            raise ValueError(f"{name}{list(where)} is {float(values[where])}; a logarithm needs positive values: select them first")
    xp = namespace(norms)
    x, y = xp.log(counts), xp.log(norms)
    x = x - xp.mean(x)
    if bool(xp.sum(x * x) == 0):
        raise ValueError("counts are all equal, so there is no slope in them")
    return _scalar(xp.sum(x * y) / xp.sum(x * x))


# ------------------------------------------------------------------------------------------------- head and tail


def head_items(counts: Any, share: float = 0.01) -> np.ndarray:
    """Ids of the `share` of the items with the highest counts, at least one: (h,) with h = round(share n)."""
    return _ranking(counts)[: _group_size(counts, share, "share")]


def tail_items(counts: Any, share: float = 0.01) -> np.ndarray:
    """Ids of the `share` of the items with the lowest counts, at least one."""
    return _ranking(counts)[::-1][: _group_size(counts, share, "share")]


def top_share(ranked_items: Any, counts: Any, share: float = 0.01) -> float:
    """The part of all recommended items that belongs to the `share` most popular ones: a number in [0, 1].

    ranked_items (m, K) ids, -1 for an empty place (it does not count); counts (n,). Lists drawn at random give about `share`.
    A user who has most of the head already is shown little of it, so the greatest possible value is below 1 when the
    ranking leaves out known items. Source: P0, Table 2 (top-1 % in the top 100).
    """
    ranked, counts = _ranked(ranked_items, counts)
    is_head = np.zeros(len(counts), dtype=bool)
    is_head[head_items(counts, share)] = True
    return float(is_head[ranked[ranked >= 0]].mean())


def average_popularity(ranked_items: Any, counts: Any) -> float:
    """AvgPop: the mean over users of the mean count of the items that they are shown, in interactions per item.

    ranked_items (m, K) ids, -1 for an empty place; users without any item are left out. Source: P1, Table 4.
    """
    ranked, counts = _ranked(ranked_items, counts)
    shown = ranked >= 0
    per_user = np.where(shown, counts[ranked], 0.0).sum(axis=1)
    length = shown.sum(axis=1)
    return float((per_user[length > 0] / length[length > 0]).mean())


# ------------------------------------------------------------------------------------------------- a direction of popularity


def popularity_direction(items: Any, counts: Any, ratio: float = 0.05) -> Array:
    """The unit vector from the mean of the tail items to the mean of the head items: (d,).

    items (n, d); counts (n,); ratio: the part of the items in the head, and as many in the tail.
    Source: P1, equation (4), with ratio 0.05. Raises ValueError when the two means agree, or head and tail overlap.
    """
    items, counts = _table(items, counts)
    size = _group_size(counts, ratio, "ratio")
    if 2 * size > len(counts):
        raise ValueError(f"ratio is {ratio}: head and tail of {size} items each overlap among {len(counts)}")
    order = _ranking(counts)
    head, tail = (items[as_index(np.ascontiguousarray(ids), items, "ids")] for ids in (order[:size], order[-size:]))
    xp = namespace(items)
    difference = xp.mean(head, axis=0) - xp.mean(tail, axis=0)
    length = float(xp.sum(difference * difference)) ** 0.5
    if length == 0:
        raise ValueError("head and tail have the same mean embedding, so there is no direction of popularity")
    return difference / length


def projection_correlation(items: Any, counts: Any, ratio: float = 0.05) -> Any:
    """Pearson's correlation between <item, popularity_direction> and the count, over the same items.

    Biased upwards: the head items and their counts have chosen the direction that they are then measured along, so even
    random embeddings score above 0. `cross_fitted_correlation` does not have this fault. Source: P1, Figure 1.
    """
    items, counts = _table(items, counts)
    return pearson(items @ popularity_direction(items, counts, ratio), counts)


def cross_fitted_correlation(
    items: Any, counts: Any, ratio: float = 0.05, *, rng: np.random.Generator, folds: int = 2
) -> float:
    """`projection_correlation` of items along a direction that was found without them, averaged over the folds.

    The items are split at random into `folds` parts; each part is projected on the direction of the others. Random
    embeddings score 0 on average. Our correction of P1's measure (audit X13).
    """
    items, counts = _table(items, counts)
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator such as numpy.random.default_rng(0), got {rng!r}")
    if folds < 2 or folds > len(counts) // 2:
        raise ValueError(f"folds is {folds}; expected 2 to {len(counts) // 2}, so that each part has two items")
    part = rng.permutation(len(counts)) % folds
    found = []
    for fold in range(folds):
        inside, outside = np.flatnonzero(part == fold), np.flatnonzero(part != fold)
        direction = popularity_direction(items[as_index(outside, items, "ids")], counts[outside], ratio)
        found.append(float(pearson(items[as_index(inside, items, "ids")] @ direction, counts[inside])))
    return float(np.mean(found))


# ------------------------------------------------------------------------------------------------- arguments


def _numpy(values: Any) -> np.ndarray:
    return values.detach().cpu().numpy() if is_torch(values) else np.asarray(values)


def _scalar(value: Any) -> Any:
    return value if is_torch(value) else float(value)


def _checked_norms(norms: Any) -> Array:
    norms = as_array(norms, "norms")
    where = first_index(norms < 0)
    if where is not None:
        raise ValueError(f"norms{list(where)} is {float(norms[where])}; a norm is never negative")
    return norms


def _checked_counts(counts: Any) -> np.ndarray:
    """The counts as float64 in NumPy: they only rank and select, so they need no autograd and no device."""
    array = np.asarray(_numpy(counts), dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"counts has shape {array.shape}; expected (n,), one count for each item")
    where = first_index(~(array >= 0) | np.isinf(array))
    if where is not None:
        raise ValueError(f"counts{list(where)} is {array[where]}; expected a finite count of at least 0")
    return array


def _pair(x: Any, y: Any, x_name: str, y_name: str) -> tuple[Array, Array]:
    x = as_array(x, x_name)
    y = like(as_array(y, y_name), x, y_name)
    for name, values in ((x_name, x), (y_name, y)):
        if len(shape_of(values)) != 1:
            raise ValueError(f"{name} has shape {shape_of(values)}; expected (n,)")
        if not all_finite(values):
            raise ValueError(f"{name} holds NaN or infinity at {first_index(~namespace(values).isfinite(values))}")
    if shape_of(x) != shape_of(y) or shape_of(x)[0] < 2:
        raise ValueError(f"{x_name} has shape {shape_of(x)} and {y_name} {shape_of(y)}; expected the same (n,), n at least 2")
    return x, y


def _table(items: Any, counts: Any) -> tuple[Array, np.ndarray]:
    items, counts = as_array(items, "items"), _checked_counts(counts)
    if len(shape_of(items)) != 2 or shape_of(items)[0] != len(counts):
        raise ValueError(f"items has shape {shape_of(items)}; expected ({len(counts)}, d), a row for each of the counts")
    if not all_finite(items):
        raise ValueError(f"items holds NaN or infinity at {first_index(~namespace(items).isfinite(items))}")
    return items, counts


def _ranked(ranked_items: Any, counts: Any) -> tuple[np.ndarray, np.ndarray]:
    ranked, counts = _numpy(ranked_items), _checked_counts(counts)
    if ranked.ndim != 2 or ranked.dtype.kind not in "iu":
        raise ValueError(f"ranked_items has shape {ranked.shape} and dtype {ranked.dtype}; expected whole numbers of shape (m, K)")
    if ranked.size and (ranked.min() < -1 or ranked.max() >= len(counts)):
        raise ValueError(f"ranked_items holds ids {ranked.min()} to {ranked.max()}; expected -1 to {len(counts) - 1}")
    if not (ranked >= 0).any():
        raise ValueError("ranked_items is empty: nothing was recommended")
    return ranked, counts


def _ranking(counts: Any) -> np.ndarray:
    """All ids by falling count, equal counts by the lower id."""
    return np.argsort(-_checked_counts(counts), kind="stable")


def _group_size(counts: Any, share: float, name: str) -> int:
    if not 0 < share <= 1:
        raise ValueError(f"{name} is {share}; expected a value in (0, 1]")
    return max(1, round(share * len(_checked_counts(counts))))
