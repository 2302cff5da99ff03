"""Data whose whole truth is known: planted tastes, seen through power-law exposure.

Taste. User i mixes r tastes, p_i on the simplex; item j appeals to taste t with probability v_jt. User i likes item j
with probability P_ij = <p_i, v_j>, a matrix of rank at most r. The label is then drawn once and for all; it is the
truth.

Exposure. Users differ in activity a_i and items in popularity b_j (each sums to 1, each a power law of its rank). Pair
(i, j) is shown a Poisson number of times with mean lambda a_i b_j, so at least once with probability 1 - exp(-lambda
a_i b_j), whatever the taste. A pair is observed when it was shown and is liked. A pair that is liked and was not shown
is a false negative: a positive that every training set calls negative. Popularity here is exposure alone; a popular
item is liked no more.

The label of a pair is a function of the pair and a key: no m x n array is needed to know it, so that `synthetic_large`
can have millions of users and still answer for every single pair whether its "negative" label is true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from course_lib import checking
from course_lib.interactions import LABELS_LIMIT, Interactions, check_ids

__all__ = ["PlantedTaste", "power_law", "synthetic", "synthetic_large"]

Float = NDArray[np.float64]
Ids = NDArray[np.int64]
CHUNK = 1 << 21  # exposures that are worked on at a time
BINS = 256  # of activity and of popularity, to predict the number of observed pairs


@dataclass(frozen=True, eq=False)
class PlantedTaste:
    """Observed pairs together with the law that made them and the truth behind them.

    Parameters
    ----------
    interactions : Interactions
        The observed positives.
    user_tastes : array, shape (m, r)
        The mix of tastes of each user. Rows sum to 1.
    item_appeal : array, shape (n, r)
        How likely each item appeals to a taste, in [0, 1].
    activity : array, shape (m,)
        The activity of each user. It sums to 1.
    popularity : array, shape (n,)
        The popularity of each item. It sums to 1.
    exposures : float
        lambda, the expected number of showings of all pairs.
    retention : float
        The share of the observed pairs that was kept to meet a number asked for (1 in ``synthetic``).
    key : int
        The number that seeds the labels.

    Examples
    --------
    Every observed pair is a true positive, but most true positives are not observed:

    >>> import numpy as np
    >>> from course_lib import datasets
    >>> planted = datasets.synthetic(30, 20, rng=np.random.default_rng(0))
    >>> observed = planted.interactions
    >>> bool(planted.is_positive(observed.users, observed.items).all())
    True
    >>> planted.n_false_negatives > len(observed)
    True
    """

    interactions: Interactions
    user_tastes: Float
    item_appeal: Float
    activity: Float
    popularity: Float
    exposures: float
    retention: float
    key: int

    def __repr__(self) -> str:
        return f"PlantedTaste(rank {self.user_tastes.shape[1]}, {self.interactions!r})"

    def taste_probability(self, users: ArrayLike, items: ArrayLike) -> Float:
        """P_ij = <user_tastes_i, item_appeal_j> of each pair; users and items broadcast. ValueError for other ids."""
        return self._chance(*self._checked(users, items))

    def _chance(self, left: Ids, right: Ids) -> Float:
        tastes = np.take(self.user_tastes, left, axis=0)  # (..., r); np.take is twice as fast here as indexing
        chance: Float = np.einsum("...t,...t->...", tastes, np.take(self.item_appeal, right, axis=0))
        return chance

    def is_positive(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.bool_]:
        """The true label of each pair, observed or not; users and items broadcast. ValueError for ids out of range."""
        return self._labels(*self._checked(users, items))

    def _checked(self, users: ArrayLike, items: ArrayLike) -> tuple[Ids, Ids]:
        left, right = np.asarray(users), np.asarray(items)
        m, n = self.interactions.shape
        return (
            check_ids(left.ravel(), m, "users", "n_users").reshape(left.shape),
            check_ids(right.ravel(), n, "items", "n_items").reshape(right.shape),
        )

    def _labels(self, left: Ids, right: Ids) -> NDArray[np.bool_]:
        """The labels of pairs that are known to exist."""
        chance = uniform_of_cell(left * self.interactions.n_items + right, self.key)
        return chance < self._chance(left, right)

    @cached_property
    def truth(self) -> NDArray[np.bool_]:
        """(m, n) all true labels. More than 50 million cells raise ValueError: use `is_positive` for some pairs."""
        return self._labels(*self._all_cells("truth"))

    @cached_property
    def n_false_negatives(self) -> int:
        """Number of pairs of [m] x [n] that are positive in truth and not observed."""
        return int(self.truth.sum()) - len(self.interactions)

    def _all_cells(self, caller: str) -> tuple[Ids, Ids]:
        m, n = self.interactions.shape
        if m * n > LABELS_LIMIT:
            raise ValueError(f"{caller} would write {m} x {n} cells; ask is_positive(users, items) for some pairs")
        return np.arange(m)[:, None], np.arange(n)[None, :]


def uniform_of_cell(cells: Ids, key: int) -> Float:
    """Return a number in [0, 1) for each cell index, the same every time.

    It is the splitmix64 mixer of S. Vigna on key + index.

    Parameters
    ----------
    cells : array of int64
        The indices of cells.
    key : int
        Another key gives other numbers.

    Returns
    -------
    array of float64
        The numbers, in the shape of ``cells``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.datasets import planted
    >>> first = planted.uniform_of_cell(np.arange(1000), 7)
    >>> again = planted.uniform_of_cell(np.arange(1000), 7)
    >>> bool((first == again).all()), round(float(first.mean()), 1)
    (True, 0.5)
    """
    state = cells.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state += np.uint64(key)
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def power_law(size: int, exponent: float, rng: Generator) -> Float:
    """Return probabilities that follow a power law of the rank, with the ranks dealt out at random.

    They are proportional to ``rank^-exponent``.

    Parameters
    ----------
    size : int
        The number of probabilities.
    exponent : float
        0 is uniform, 1 is Zipf's law.
    rng : numpy.random.Generator
        The source of chance.

    Returns
    -------
    array of float64, shape (size,)
        The probabilities.

    Examples
    --------
    Zipf's law over three ranks, ``1 : 1/2 : 1/3``:

    >>> import numpy as np
    >>> from course_lib.datasets import planted
    >>> np.sort(planted.power_law(3, 1.0, np.random.default_rng(0))).round(4).tolist()
    [0.1818, 0.2727, 0.5455]
    """
    weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
    return rng.permutation(weights / weights.sum())


def synthetic(
    n_users: int = 300,
    n_items: int = 200,
    *,
    rng: Generator,
    rank: int = 4,
    mean_taste: float = 0.3,
    observed_share: float = 0.3,
    popularity_exponent: float = 0.8,
    activity_exponent: float = 0.5,
) -> PlantedTaste:
    """Make a small data set with its whole truth.

    It has about ``n_users * n_items * mean_taste`` true positives, some of them observed. Some users and items may stay
    empty.

    Parameters
    ----------
    n_users, n_items : int, optional
        The numbers of users and items.
    rng : numpy.random.Generator
        The source of chance.
    rank : int, optional
        The number of tastes.
    mean_taste : float, optional
        The mean of ``P_ij``, the probability that a user likes an item, in (0, 1).
    observed_share : float, optional
        The expected share of the true positives that is observed, in (0, 1). lambda is solved for it.
    popularity_exponent, activity_exponent : float, optional
        The exponents of the power laws, at least 0. 0 makes the exposure uniform; 1 is Zipf's law.

    Returns
    -------
    PlantedTaste
        The observed pairs, the law and the truth.

    Raises
    ------
    ValueError
        For numbers out of their range, and for more than 50 million cells: use ``synthetic_large``.

    Examples
    --------
    About 30 of 100 cells are true positives, and about 30 of 100 true positives are observed:

    >>> import numpy as np
    >>> from course_lib import datasets
    >>> planted = datasets.synthetic(rng=np.random.default_rng(0))
    >>> planted.truth.shape
    (300, 200)
    >>> round(len(planted.interactions) / int(planted.truth.sum()), 1)
    0.3
    """
    checking.whole(n_users, "n_users"), checking.whole(n_items, "n_items")
    if int(n_users) * int(n_items) > LABELS_LIMIT:
        raise ValueError(f"synthetic writes n_users x n_items cells, got {n_users} x {n_items}; use synthetic_large")
    checking.real(observed_share, "observed_share", above=0, below=1)
    planted = _plant(n_users, n_items, rng, rank, mean_taste, popularity_exponent, activity_exponent)
    liked_users, liked_items = np.nonzero(planted.truth)
    rate = planted.activity[liked_users] * planted.popularity[liked_items]
    exposures = _solve_exposures(lambda size: -np.expm1(-size * rate).mean(), observed_share, start=1 / rate.mean())
    shown = rng.random(len(rate)) < -np.expm1(-exposures * rate)
    return _finish(planted, liked_users[shown], liked_items[shown], exposures, 1.0)


def synthetic_large(
    n_users: int,
    n_items: int,
    n_pairs: int,
    *,
    rng: Generator,
    rank: int = 4,
    mean_taste: float = 0.3,
    popularity_exponent: float = 0.8,
    activity_exponent: float = 0.5,
) -> PlantedTaste:
    """Make a data set like ``synthetic`` with exactly ``n_pairs`` observed pairs, up to tens of millions.

    No array of ``m x n`` cells is formed.

    Parameters
    ----------
    n_users, n_items : int
        The numbers of users and items.
    n_pairs : int
        The number of observed pairs, at most half the expected number of true positives.
    rng : numpy.random.Generator
        The source of chance.
    rank, mean_taste, popularity_exponent, activity_exponent
        As in ``synthetic``.

    Returns
    -------
    PlantedTaste
        The observed pairs, the law, and the truth for any pair asked for.

    Raises
    ------
    ValueError
        For numbers out of their range, and when the shape cannot hold ``n_pairs`` liked pairs.

    Notes
    -----
    lambda is chosen so that a little more than ``n_pairs`` are expected. A uniform subset of ``n_pairs`` is kept
    (``retention``).

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import datasets
    >>> planted = datasets.synthetic_large(1000, 500, 5000, rng=np.random.default_rng(0))
    >>> len(planted.interactions), planted.retention < 1
    (5000, True)
    """
    checking.whole(n_users, "n_users"), checking.whole(n_items, "n_items"), checking.whole(n_pairs, "n_pairs", 0)
    checking.real(mean_taste, "mean_taste", above=0, below=1)
    if not 1 <= n_pairs <= 0.5 * mean_taste * n_users * n_items:
        raise ValueError(
            f"n_pairs must lie between 1 and half the expected number of true positives, "
            f"{0.5 * mean_taste * n_users * n_items:,.0f}, got {n_pairs:,}"
        )
    planted = _plant(n_users, n_items, rng, rank, mean_taste, popularity_exponent, activity_exponent)
    activity, popularity = _binned(planted.activity), _binned(planted.popularity)

    def expected_pairs(size: float) -> float:
        shown = -np.expm1(-size * np.outer(activity[0], popularity[0]))
        return float(mean_taste * activity[1] @ shown @ popularity[1])

    wanted = 1.02 * n_pairs + 10 * n_pairs**0.5
    exposures, cells = 0.0, np.empty(0, dtype=np.int64)
    while len(cells) < n_pairs:
        total = _solve_exposures(expected_pairs, wanted, start=n_pairs / mean_taste)
        cells = _merge(cells, _observe(planted, total - exposures, rng))
        exposures, wanted = total, 1.1 * wanted
    retention = n_pairs / len(cells)
    kept = np.ones(len(cells), dtype=bool)
    kept[rng.choice(len(cells), size=len(cells) - n_pairs, replace=False, shuffle=False)] = False
    return _finish(planted, *np.divmod(cells[kept], n_items), exposures, retention)


# ---------------------------------------------------------------------------------------------------------------- parts
def _plant(
    n_users: int,
    n_items: int,
    rng: Generator,
    rank: int,
    mean_taste: float,
    popularity_exponent: float,
    activity_exponent: float,
) -> PlantedTaste:
    """Tastes, appeal, activity, popularity and key, of which nothing was observed yet."""
    for name, size in (("n_users", n_users), ("n_items", n_items), ("rank", rank)):
        checking.whole(size, name)
    for name, exponent in (("popularity_exponent", popularity_exponent), ("activity_exponent", activity_exponent)):
        checking.real(exponent, name, least=0)
    checking.real(mean_taste, "mean_taste", above=0, below=1)
    checking.generator(rng)
    nothing = np.empty(0, dtype=np.int64)
    return PlantedTaste(
        Interactions(nothing, nothing, n_users=n_users, n_items=n_items, name="synthetic"),
        user_tastes=rng.dirichlet(np.full(rank, 0.5), size=n_users),
        item_appeal=rng.beta(mean_taste, 1 - mean_taste, size=(n_items, rank)),
        activity=power_law(n_users, activity_exponent, rng),
        popularity=power_law(n_items, popularity_exponent, rng),
        exposures=0.0,
        retention=1.0,
        key=int(rng.integers(2**63)),
    )


def _finish(planted: PlantedTaste, users: Ids, items: Ids, exposures: float, retention: float) -> PlantedTaste:
    observed = replace(planted.interactions, users=users, items=items)
    return replace(planted, interactions=observed, exposures=float(exposures), retention=float(retention))


def _solve_exposures(share_at: Callable[[float], float], target: float, *, start: float) -> float:
    """The lambda at which the increasing function `share_at` meets the target, by bisection."""
    low, high = 0.0, start
    while share_at(high) < target:
        low, high = high, 4 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if share_at(middle) < target else (low, middle)
    return (low + high) / 2


def _binned(probabilities: Float) -> tuple[Float, Float]:
    """(means, counts) of the probabilities sorted into at most BINS groups of near values."""
    ordered = np.sort(probabilities)
    edges = np.linspace(np.log(ordered[0]), np.log(ordered[-1]) + 1e-9, BINS + 1)
    counts, _ = np.histogram(np.log(ordered), edges)
    sums, _ = np.histogram(np.log(ordered), edges, weights=ordered)
    return sums[counts > 0] / counts[counts > 0], counts[counts > 0].astype(np.float64)


def _observe(planted: PlantedTaste, exposures: float, rng: Generator) -> Ids:
    """The cells (i n + j, ascending) that are liked and shown at least once in Poisson(exposures a_i b_j) showings."""
    n_items = planted.interactions.n_items
    counts = rng.poisson(exposures * planted.activity)  # showings of each user
    draw_items = _sampler(planted.popularity)
    bounds = np.searchsorted(np.cumsum(counts), np.arange(0, counts.sum(), CHUNK)[1:])
    cells = []
    for block in np.split(np.arange(len(counts)), np.unique(bounds)):
        users = np.repeat(block, counts[block])
        shown = _distinct(users * n_items + draw_items(rng.random(len(users))))
        cells.append(shown[planted._labels(*np.divmod(shown, n_items))])
    return np.concatenate(cells)


def _sampler(probabilities: Float) -> Callable[[Float], Ids]:
    """The inverse of the distribution function: from uniform numbers in [0, 1) to indices, exactly as by binary search.

    A guide table gives the first index whose cell reaches into a slice of [0, 1); from there it is a step or two up.
    """
    cumulative = np.cumsum(probabilities)
    cumulative /= cumulative[-1]
    slices = 4 * len(cumulative)
    guide = np.searchsorted(cumulative, np.arange(slices) / slices, side="right")

    def draw(uniform: Float) -> Ids:
        index = guide[(uniform * slices).astype(np.int64)]
        behind = np.flatnonzero(uniform >= cumulative[index])
        while behind.size:
            index[behind] += 1
            behind = behind[uniform[behind] >= cumulative[index[behind]]]
        return index

    return draw


def _merge(first: Ids, second: Ids) -> Ids:
    return second if not len(first) else _distinct(np.concatenate((first, second)))


def _distinct(cells: Ids) -> Ids:
    """The distinct cells, ascending. (np.unique hashes integers since NumPy 2.3: five times slower here.)"""
    cells = np.sort(cells)
    return cells[np.diff(cells, prepend=-1) > 0]
