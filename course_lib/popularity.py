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
    """Pearson's correlation of two vectors (n,) with n >= 2: cov(x, y) / (sd(x) sd(y)), a number in [-1, 1].

    A scalar of the kind of x (a Python float for NumPy); vectors of 16 bits are taken as float32. Raises ValueError
    where one of them is constant.
    """
    x, y = _pair(x, y, "x", "y")
    xp = namespace(x)
    dx, dy = x - xp.mean(x), y - xp.mean(y)
    spread = xp.sum(dx * dx), xp.sum(dy * dy)
    for name, values, value in zip(("x", "y"), (x, y), spread, strict=True):
        if _constant(values) or bool(value == 0):
            raise ValueError(f"{name} is constant, so its correlation with anything is not defined")
    return _scalar(xp.sum(dx * dy) / (spread[0] ** 0.5 * spread[1] ** 0.5))


def norm_correlation(norms: Any, counts: Any) -> Any:
    """Pearson's correlation between the norms (n,) and the counts (n,) of the items.

    Source: P0, Section 4.2. Items that were never trained on (count 0) belong in it only if the question is about them
    too.
    """
    return pearson(_checked_norms(norms), checking.counts(counts))


def log_log_slope(norms: Any, counts: Any) -> Any:
    """The least-squares slope b of log(norm) = a + b log(count).

    norms, counts (n,), all positive: leave out the items that the training data does not hold. 1/4 is the slope of the
    quartic law far beyond the crossover (`course_lib.norms`), 0 the slope where nothing has grown yet.
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
    """Ids of the `share` of the items with the highest counts, at least one: (h,) with h = round(share n)."""
    return _ranking(counts)[: _group_size(counts, share, "share")]


def tail_items(counts: Any, share: float = 0.01) -> np.ndarray:
    """Ids of the `share` of the items with the lowest counts, at least one."""
    return _ranking(counts)[::-1][: _group_size(counts, share, "share")]


def top_share(ranked_items: Any, counts: Any, share: float = 0.01) -> float:
    """The part of all recommended items that belongs to the `share` most popular ones: a number in [0, 1].

    ranked_items (m, K) ids, -1 for an empty place (it does not count); counts (n,). Lists drawn at random from all
    items give about `share`, lists without known items less (`chance_share`). A user with most of the head already is
    shown little of it, so the greatest possible value is below 1 when the ranking leaves out known items. Source: P0,
    Table 2 (top-1 % in the top 100).
    """
    ranked, counts = _ranked(ranked_items, counts)
    is_head = np.zeros(len(counts), dtype=bool)
    is_head[head_items(counts, share)] = True
    return float(is_head[ranked[ranked >= 0]].mean())


def chance_share(known: Interactions, share: float = 0.01) -> float:
    """What `top_share` is on average for lists drawn at random from the items that a user does not know.

    mean over users i of (H - h_i) / (n - k_i): H items are in the head by their count in `known`, of which user i knows
    h_i, and k_i of all n. Exact for lists of any one length that every user's unknown items can fill; users who know
    all items are left out. Users know popular items more often than others, so it is below `share`.
    """
    in_head = np.zeros(known.n_items, dtype=bool)
    in_head[head_items(known.col_counts, share)] = True
    known_head = np.bincount(known.users, weights=in_head[known.items], minlength=known.n_users)
    free = known.n_items - known.row_counts
    if not free.any():
        raise ValueError("known holds every pair of a user and an item; expected a user with an item left to list")
    return float(((in_head.sum() - known_head)[free > 0] / free[free > 0]).mean())


def average_popularity(ranked_items: Any, counts: Any) -> float:
    """AvgPop: the mean over users of the mean count of the items that they are shown, in interactions per item.

    ranked_items (m, K) ids, -1 for an empty place; users without any item are left out. Source: P1, Table 4.
    """
    ranked, counts = _ranked(ranked_items, counts)
    shown = ranked >= 0
    per_user = np.where(shown, counts[ranked], 0.0).sum(axis=1)
    length = shown.sum(axis=1)
    return float((per_user[length > 0] / length[length > 0]).mean())


# ----------------------------------------------------------------------------------------- a direction of popularity


def popularity_direction(items: Any, counts: Any, ratio: float = 0.05) -> Array:
    """The unit vector from the mean of the tail items to the mean of the head items: (d,).

    items (n, d); counts (n,); ratio: the part of the items in the head, and as many in the tail.
    Source: P1, equation (4), with ratio 0.05. Raises ValueError when the two means agree, or head and tail overlap.
    """
    items, counts = _table(items, counts)
    size = _half_size(counts, ratio)
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


def cross_fitted_correlation(items: Any, counts: Any, ratio: float = 0.05, *, rng: Generator, folds: int = 2) -> float:
    """`projection_correlation` of items along a direction that was found without them, averaged over the folds.

    The items are split at random into `folds` parts; each part is projected on the direction of the others. Random
    embeddings score 0 on average. Our correction of P1's measure (claim X13).
    """
    items, counts = _table(items, counts)
    checking.generator(rng)
    if folds < 2 or folds > len(counts) // 2:
        raise ValueError(f"folds is {folds}; expected 2 to {len(counts) // 2}, so that each part has two items")
    return correlation_across_parts(items, counts, rng.permutation(len(counts)) % folds, ratio)


def correlation_across_parts(items: Any, counts: Any, part: Any, ratio: float = 0.05) -> float:
    """`cross_fitted_correlation` with parts of one's own choice: part (n,) holds for each item the number of its part.

    Each part is projected on the direction found on all others; the mean of Pearson's correlations within the parts.
    """
    items, counts = _table(items, counts)
    part = np.asarray(checking.as_numpy(part))
    if part.shape != counts.shape or part.dtype.kind not in "iu":
        raise ValueError(f"part has shape {part.shape} and dtype {part.dtype}; expected integers {counts.shape}")
    names = np.unique(part)
    if len(names) < 2:
        raise ValueError(f"part holds one part only, {names[0]}; expected at least two")
    found = []
    for name in names:
        inside, outside = np.flatnonzero(part == name), np.flatnonzero(part != name)
        direction = popularity_direction(items[as_index(outside, items, "ids")], counts[outside], ratio)
        found.append(float(pearson(items[as_index(inside, items, "ids")] @ direction, counts[inside])))
    return float(np.mean(found))


# ------------------------------------------------------------------------------------------------- what chance gives


class ChanceLaw(NamedTuple):
    """Mean and standard deviation of `projection_correlation` where the embeddings know nothing of popularity."""

    mean: float
    sd: float


class DirectionError(NamedTuple):
    """How well head and tail determine their direction.

    length: of head mean minus tail mean; error: its root mean square error; cosine: estimated cosine between the
    direction found and the true one, 0 where the length is no more than noise.
    """

    length: float
    error: float
    cosine: float


def chance_cosine(counts: Any, ratio: float = 0.05) -> float:
    """The correlation of the contrast (1/h on the head, -1/h on the tail, else 0) with the counts, in (0, 1].

    sqrt(ratio / 2) (mean count of the head - that of the tail) / sd(counts) where h = ratio n. Raises ValueError as
    `popularity_direction` does, and where the counts are all equal.
    """
    counts = checking.counts(counts)
    return float(pearson(_contrast(counts, ratio), counts))


def double_dipping_law(counts: Any, width: int, ratio: float = 0.05) -> ChanceLaw:
    """Mean and sd of `projection_correlation` for n embeddings from N(mu, s^2 I) in `width` dimensions.

    Exact, whatever the counts: r = k sqrt(B) + sqrt(1 - k^2) sqrt(1 - B) T with k = `chance_cosine`, B ~ Beta(width/2,
    (n-2)/2), and T, independent of it, the first coordinate of a uniform point on the unit sphere in n - 2 dimensions.
    So the mean is k E sqrt(B), about k sqrt(width / (width + n)), and not 0. Needs n >= 4. Our correction of P1's
    Figure 1 (claim X13).
    """
    k, n, width = _chance_arguments(counts, width, ratio)
    half = [math.lgamma(x / 2) for x in (width + 1, width, width + n - 2, width + n - 1)]
    mean = k * math.exp(half[0] - half[1] + half[2] - half[3])
    share = width / (width + n - 2)  # E B
    square = k**2 * share + (1 - k**2) * (1 - share) / (n - 2)
    return ChanceLaw(mean, math.sqrt(max(0.0, square - mean**2)))


def double_dipping_draws(counts: Any, width: int, ratio: float = 0.05, *, size: int, rng: Generator) -> np.ndarray:
    """`size` correlations from the exact law of `double_dipping_law`, without drawing a single embedding: (size,)."""
    k, n, width = _chance_arguments(counts, width, ratio)
    checking.generator(rng)
    share = rng.beta(width / 2, (n - 2) / 2, size)
    first = np.sqrt(rng.beta(0.5, (n - 3) / 2, size)) * rng.choice([-1.0, 1.0], size)
    drawn: np.ndarray = k * np.sqrt(share) + math.sqrt(1 - k**2) * np.sqrt(1 - share) * first
    return drawn


def shuffled_correlations(
    items: Any, counts: Any, ratio: float = 0.05, *, repeats: int = 200, rng: Generator
) -> np.ndarray:
    """`projection_correlation` after the counts were dealt out anew at random, `repeats` times: (repeats,).

    What the measure gives for these very embeddings, of whatever shape their cloud is, when popularity has nothing to
    do with it.
    """
    items, counts = _table(items, counts)
    checking.generator(rng)
    repeats = checking.whole(repeats, "repeats")
    found = [projection_correlation(items, rng.permutation(counts), ratio) for _ in range(repeats)]
    return np.array([float(value) for value in found])


def direction_error(items: Any, counts: Any, ratio: float = 0.05) -> DirectionError:
    """How far (4) is from the direction between the *expected* head and tail embeddings, for independent items.

    E ||v_hat - v||^2 = tr S_head / H + tr S_tail / T with the covariances S within head and tail, estimated without
    bias; so ||v||^2 is estimated by ||v_hat||^2 - error^2. Head and tail need two items each. Source: claim X13.
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
    """(m, n) M with M_ui = expected number of triples (u, i, .) minus that of triples (u, ., i) in one pass.

    labels (m, n) of zeros and ones; exact for Fractions. At margins of zero -M' U / 2 is the gradient of the expected
    BPR loss with respect to the items. Rows sum to 0 under every law; columns sum to expected positives minus expected
    negatives. Source: claim X10.
    """
    labels = _checked_labels(labels)
    parts = pull_parts(labels, law or TripleLaw())
    return parts.plain[:, None] * labels - (parts.pushed[:, None] - parts.owned[:, None] * labels) * parts.chance


def expected_roles(labels: Any, law: TripleLaw | None = None) -> tuple[Array, Array]:
    """(positives, negatives), each (n,): how often an item is expected in either role in one pass.

    Both have the same sum.
    """
    labels = _checked_labels(labels)
    parts = pull_parts(labels, law or TripleLaw())
    negatives = (parts.pushed[:, None] - parts.owned[:, None] * labels).sum(axis=0) * parts.chance
    return (parts.plain[:, None] * labels).sum(axis=0), negatives


class PullParts(NamedTuple):
    """The pull matrix in parts: M_ui = plain_u Y_ui - (pushed_u - owned_u Y_ui) q_i.

    plain, pushed, owned (m,): weights of a user's positives, of all their draws of a negative, and of the draws that
    fall on an item of their own; chance q (n,): probability of each item in one draw.
    """

    plain: Array
    pushed: Array
    owned: Array
    chance: Array


def pull_parts(labels: Any, law: TripleLaw) -> PullParts:
    """The parts of the pull matrix of labels Y (m, n): an array of zeros and ones, or a sparse one (`matrix`).

    With n_u the positives of a user, Q_u = sum_i Y_ui q_i the chance that a draw falls on an item of their own, and w_u
    their weight in a pass, plain = w, pushed = owned = w n; but "skip" gives plain = w (1 - Q), "redraw" pushed = owned
    = w n / (1 - Q), and "keep" owned = 0. Raises ValueError for a user without a positive, and under "redraw" for a
    user who has every item that could be drawn.
    """
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
    ranked, counts = checking.as_numpy(ranked_items), checking.counts(counts)
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
