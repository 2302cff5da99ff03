"""Items that nobody has rated yet: what is known of them, where an untrained row stands, how many ratings to expect.

`film_features` turns a table of films into numbers that a tower can read. `expected_place` says where an item stands
whose row was never drawn in training. `GammaPrior` is what one may expect of an item before its first rating, learned
from items that were new before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from course_lib import checking
from course_lib.interactions import Interactions

__all__ = [
    "YEARS",
    "GammaPrior",
    "NewByTime",
    "expected_place",
    "film_features",
    "film_years",
    "first_times",
    "new_by_time",
]

Float = NDArray[np.float64]
YEARS = (1950, 1960, 1970, 1980, 1990, 2000, 2005, 2010, 2011, 2012, 2013)  # where the groups of years begin
DAY = 86_400.0
# How far from `_around` the log of the best rate is looked for: first, and where the search ended at that bound.
NEAR, FAR = 3.0, 30.0


def first_times(pairs: Interactions) -> Float:
    """Return the time of the first pair of each item, ``inf`` where an item has none.

    Parameters
    ----------
    pairs : Interactions
        Pairs with times.

    Returns
    -------
    array of float64, shape (n,)
        The times, in the unit of ``pairs.times``.

    Raises
    ------
    ValueError
        Without times.

    Examples
    --------
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.new_items import first_times
    >>> pairs = Interactions([0, 1], [0, 0], n_users=2, n_items=2, times=[5.0, 3.0])
    >>> first_times(pairs).tolist()
    [3.0, inf]
    """
    return _first_times(pairs, "pairs")


def _first_times(pairs: Interactions, name: str) -> Float:
    """`first_times`, under the name that the caller's argument has."""
    checking.instance(pairs, name, Interactions, "Interactions with times")
    if pairs.times is None:
        raise ValueError(f"{name} has no times; expected a time for each pair, to find the first of each item")
    first = np.full(pairs.n_items, np.inf)
    np.minimum.at(first, pairs.items, pairs.times)
    return first


@dataclass(frozen=True)
class NewByTime:
    """What is known at a moment, and which items are new after it; users and items are those of the core and the new.

    Parameters
    ----------
    train : Interactions
        The core of the pairs before the moment. New items have none.
    later : Interactions
        The pairs of the same users and items, from the moment to the end.
    new : array of bool, shape (n,)
        Which items are new.
    cut, end : float
        The moment, and the end, in the unit of the times.
    users, items : array of int, shape (m,) and (n,)
        Their numbers in the data.

    Examples
    --------
    See `new_by_time`.
    """

    train: Interactions
    later: Interactions
    new: NDArray[np.bool_]
    cut: float
    end: float
    users: NDArray[np.int64]
    items: NDArray[np.int64]


def new_by_time(
    ratings: Interactions, share: float, *, length: float = 0.1, liked: float = 7, core: int = 5
) -> NewByTime:
    """Split by time, and find the items whose first rating of any value, by anybody, comes after the cut.

    Parameters
    ----------
    ratings : Interactions
        All ratings, with times and values.
    share : float
        Which share of the pairs is before the cut, in (0, 1). A pair is a rating of at least `liked`.
    length : float, optional
        Which share of the pairs comes between the cut and the end.
    liked : float, optional
        From which rating on a user likes an item.
    core : int, optional
        The earlier pairs are cut down to users and items with so many earlier pairs each; new items have none.

    Returns
    -------
    NewByTime
        The earlier pairs, the later pairs of their users, and the new items.

    Raises
    ------
    ValueError
        Without times or values, for shares out of range, and where no user, or no new item, is left.

    Examples
    --------
    Item 1 gets its first rating, a low one, after the cut, and is liked later:

    >>> from course_lib.interactions import Interactions
    >>> from course_lib.new_items import new_by_time
    >>> data = {"times": [0.0, 3.0, 1.0, 2.0], "ratings": [9, 9, 8, 4]}
    >>> ratings = Interactions([0, 0, 1, 1], [0, 1, 0, 1], n_users=2, n_items=2, **data)
    >>> found = new_by_time(ratings, 0.6, length=0.4, core=1)
    >>> found.new.tolist(), found.train.pairs.tolist(), found.later.pairs.tolist()
    ([False, True], [[0, 0], [1, 0]], [[0, 1]])
    """
    first = _first_times(ratings, "ratings")
    if ratings.ratings is None:
        raise ValueError("ratings has no values; expected a rating for each pair, to say what is liked")
    share = checking.real(share, "share", above=0, below=1)
    length = checking.real(length, "length", above=0, most=1 - share + 1e-9)
    liked, core = checking.real(liked, "liked"), checking.whole(core, "core")
    pairs = ratings.select(ratings.ratings >= liked)
    times = np.asarray(pairs.times)
    if not len(times):
        raise ValueError(f"liked is {liked}; expected at least one rating from that on")
    cut, end = (float(np.quantile(times, min(at, 1.0))) for at in (share, share + length))
    end += float(share + length > 1 - 1e-9)  # the last pair counts, too
    before = pairs.select(times < cut).k_core(core)
    new = (first >= cut) & (first < end)
    users, items = before.row_counts > 0, (before.col_counts > 0) | new
    if not users.any() or not new.any():
        raise ValueError(
            f"share is {share} and core {core}: {users.sum()} users and {new.sum()} new items are left; expected some"
        )
    later = pairs.select((times >= cut) & (times < end))
    train, later = (_among(part, users, items) for part in (before, later))
    return NewByTime(train, later, new[items], cut, end, np.flatnonzero(users), np.flatnonzero(items))


def _among(pairs: Interactions, users: NDArray[np.bool_], items: NDArray[np.bool_]) -> Interactions:
    """The pairs of these users and items, both numbered anew."""
    kept = users[pairs.users] & items[pairs.items]
    return Interactions(
        (np.cumsum(users) - 1)[pairs.users[kept]],
        (np.cumsum(items) - 1)[pairs.items[kept]],
        n_users=int(users.sum()),
        n_items=int(items.sum()),
        times=None if pairs.times is None else pairs.times[kept],
        name=pairs.name,
        item_table={key: column[items] for key, column in pairs.item_table.items()},
    )


def film_years(names: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Return the year of each title, as in ``"Alien (1979)"``.

    Parameters
    ----------
    names : sequence of str
        Titles that end in a year in brackets.

    Returns
    -------
    array of int64, shape (n,)
        The years.

    Raises
    ------
    ValueError
        For an empty title and for one without a year.

    Examples
    --------
    >>> from course_lib.new_items import film_years
    >>> film_years(["Alien (1979)"]).tolist()
    [1979]
    """
    found = []
    for at, name in enumerate(_texts(names, "names")):
        year = name.strip()[-5:-1]
        if not (name.strip().endswith(f"({year})") and year.isdecimal()):
            raise ValueError(f'names[{at}] is {name!r}; expected a title with its year, such as "Alien (1979)"')
        found.append(int(year))
    return np.array(found, dtype=np.int64)


def _texts(values: Any, name: str) -> list[str]:
    """Several texts. One alone is refused: it would be read letter by letter, and None as a genre called None."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise checking.refuse(values, name, "a sequence of texts")
    found = list(values)
    for at, value in enumerate(found):
        if not isinstance(value, str):
            raise checking.refuse(value, f"{name}[{at}]", "a text")
    return found


def film_features(
    names: Sequence[Any] | NDArray[Any],
    genres: Sequence[Any] | NDArray[Any],
    *,
    known: Sequence[str] | None = None,
    years: bool = True,
) -> tuple[Float, list[str]]:
    """Write what is known of each film as a row of numbers of length 1: its genres, its group of years, and a 1.

    Parameters
    ----------
    names : sequence of str, shape (n,)
        Titles with their years; read only for ``years``.
    genres : sequence of str, shape (n,)
        The genres of each film, such as ``"Comedy|Drama"``; ``""`` where they are not known.
    known : sequence of str, optional
        The genres that there may be. By default, all that occur.
    years : bool, optional
        Whether the groups of `YEARS` have columns. A film of before 1950 is in the first group.

    Returns
    -------
    rows : array of float64, shape (n, h)
        The rows, each divided by its length.
    columns : list of str, shape (h,)
        What the columns say.

    Raises
    ------
    ValueError
        For other lengths, a genre that is not in `known`, an empty title and a title without a year.

    Examples
    --------
    >>> from course_lib.new_items import film_features
    >>> rows, columns = film_features(["Alien (1979)"], ["Horror|Sci-Fi"], years=False)
    >>> columns, rows.round(2).tolist()
    (['Horror', 'Sci-Fi', 'every film'], [[0.58, 0.58, 0.58]])
    """
    titles, years = _texts(names, "names"), checking.choice(years, "years", (True, False))
    own = [[genre for genre in text.split("|") if genre] for text in _texts(genres, "genres")]
    if len(own) != len(titles):
        raise ValueError(f"genres has {len(own)} entries; expected {len(titles)}, one for each of names")
    columns = sorted({genre for found in own for genre in found} if known is None else set(_texts(known, "known")))
    place = {genre: at for at, genre in enumerate(columns)}
    groups = [f"from {year}" for year in YEARS] if years else []
    rows = np.zeros((len(own), len(columns) + len(groups) + 1))
    for at, found in enumerate(own):
        for genre in found:
            if genre not in place:
                raise ValueError(f"genres[{at}] holds {genre!r}; expected some of {', '.join(columns)}")
            rows[at, place[genre]] = 1
    if years:
        group = np.maximum(np.searchsorted(YEARS, film_years(titles), side="right") - 1, 0)
        rows[np.arange(len(rows)), len(columns) + group] = 1
    rows[:, -1] = 1  # so that no row is zero
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, [*columns, *groups, "every film"]


def expected_place(scores: ArrayLike, width: int, *, k: int = 10) -> tuple[Float, Float]:
    """Compute where an item with a random direction stands among items with given cosines.

    The cosine ``c`` of a direction that is uniform on the sphere with any fixed unit vector has the law ``(1 + c) / 2 ~
    Beta((d - 1) / 2, (d - 1) / 2)``. With its distribution function ``F``, the mean place is ``1 + sum_j F(s_j)``, and
    the item is in the list of ``k`` with probability ``1 - F(s_(k))``, ``s_(k)`` the ``k``-th highest cosine.

    Parameters
    ----------
    scores : array_like, shape (..., n)
        The cosines of a user with the other items, in [-1, 1].
    width : int
        The number ``d`` of coordinates, at least 2.
    k : int, optional
        The length of the list, from 1 to ``n``.

    Returns
    -------
    place : array of float64, shape (...)
        The expected place; 1 is the best.
    chance : array of float64, shape (...)
        The probability of the list.

    Raises
    ------
    ValueError
        For cosines out of range, and numbers out of range.

    Examples
    --------
    In three dimensions a random cosine is uniform on [-1, 1]:

    >>> from course_lib.new_items import expected_place
    >>> place, chance = expected_place([0.5, -0.5], 3, k=1)
    >>> round(float(place), 6), round(float(chance), 6)
    (2.0, 0.25)
    """
    cosines, width = checking.as_numpy(scores, "scores"), checking.whole(width, "width", 2)
    if (
        cosines.ndim < 1 or cosines.dtype.kind not in "fiu" or not (np.abs(cosines) <= 1 + 1e-6).all()
    ):  # NaN is refused, too
        raise checking.refuse(scores, "scores", "cosines in [-1, 1], shape (..., n)")
    cosines = cosines.astype(np.float64)
    k = checking.whole(k, "k", 1, cosines.shape[-1], why="the number of scores")
    law = stats.beta((width - 1) / 2, (width - 1) / 2)
    last = np.partition(cosines, -k, axis=-1)[..., -k]
    place = 1 + law.cdf((1 + cosines) / 2).sum(axis=-1)
    return np.asarray(place), np.asarray(law.sf((1 + last) / 2))


@dataclass(frozen=True)
class GammaPrior:
    """What is known of the ratings per day of an item before any is seen: a Gamma law.

    An item with the rate ``r`` gets a Poisson number of ratings, of mean ``r t`` in ``t`` days. If ``r ~
    Gamma(shape, rate)``, then after ``c`` ratings in ``t`` days its mean is ``(shape + c) / (rate + t)``.

    Parameters
    ----------
    shape : float
        As if so many ratings had been seen before the first day.
    rate : float
        As if so many days had been watched.

    Raises
    ------
    ValueError
        For numbers that are not above 0.

    Examples
    --------
    >>> from course_lib.new_items import GammaPrior
    >>> GammaPrior(0.5, 10.0).mean([0, 0, 4], [0.0, 30.0, 30.0]).round(4).tolist()
    [0.05, 0.0125, 0.1125]
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            checking.real(getattr(self, name), name, above=0)

    @classmethod
    def fit(cls, counts: ArrayLike, days: ArrayLike) -> GammaPrior:
        """Fit shape and rate to items that were new before, by maximum likelihood.

        The number of ratings of an item is then negative binomial: ``shape`` and the probability ``rate / (rate +
        t)``. Where no law fits best, as for counts that vary less than Poisson's, the shape ends at 1000.

        Parameters
        ----------
        counts : array_like of int, shape (n,)
            How many ratings each item got.
        days : array_like, shape (n,)
            In how many days, above 0.

        Returns
        -------
        GammaPrior
            The most likely one.

        Raises
        ------
        ValueError
            For fewer than two items, other lengths, counts that are not whole, days of 0 and no rating at all.

        Examples
        --------
        >>> import numpy as np
        >>> from course_lib.new_items import GammaPrior
        >>> rng = np.random.default_rng(0)
        >>> counts = rng.poisson(rng.gamma(0.5, 1 / 2.0, size=20_000) * 10)
        >>> prior = GammaPrior.fit(counts, np.full(20_000, 10.0))
        >>> round(prior.shape, 1), round(prior.rate, 1)
        (0.5, 2.0)
        """
        seen, t = checking.vector(counts, "counts"), checking.vector(days, "days")
        if len(seen) < 2 or seen.shape != t.shape:
            raise ValueError(f"counts and days have {len(seen)} and {len(t)} items; expected equally many, at least 2")
        if (seen < 0).any() or (seen != np.round(seen)).any():
            raise checking.refuse(counts, "counts", "whole numbers of ratings, 0 or more")
        if (t <= 0).any():
            raise ValueError(f"days has the entry {t.min()}; expected days above 0")
        if not seen.any():
            raise ValueError("counts has no rating; expected at least one, to fit a rate")

        def fitted(room: float) -> tuple[float, float]:
            def loss(log_shape: float) -> float:
                return -_best_rate(float(np.exp(log_shape)), seen, t, room)[0]

            found = optimize.minimize_scalar(loss, bounds=(np.log(1e-4), np.log(1e3)), method="bounded")
            shape = float(np.exp(found.x))
            return shape, _best_rate(shape, seen, t, room)[1]

        shape, rate = fitted(NEAR)
        if abs(np.log(rate) - _around(shape, seen, t)) > NEAR - 0.01:  # the search ended at its bound
            shape, rate = fitted(FAR)
        return cls(shape, rate)

    def mean(self, counts: ArrayLike, days: ArrayLike) -> Float:
        """Return the expected ratings per day of items, after what was seen of them.

        Parameters
        ----------
        counts : array_like, shape (n,)
            How many ratings each item has, 0 or more. Decayed counts are allowed, with decayed days.
        days : array_like, shape (n,)
            Since how many days, 0 or more.

        Returns
        -------
        array of float64, shape (n,)
            ``(shape + counts) / (rate + days)``.

        Raises
        ------
        ValueError
            For negative numbers and other lengths.

        Examples
        --------
        >>> from course_lib.new_items import GammaPrior
        >>> GammaPrior(1.0, 4.0).mean([0], [0]).tolist()
        [0.25]
        """
        seen = checking.vector(counts, "counts")
        t = checking.vector(days, "days", len(seen))
        for name, values in (("counts", seen), ("days", t)):
            if (values < 0).any():
                raise ValueError(f"{name} has the entry {values.min()}; expected numbers of at least 0")
        mean: Float = (self.shape + seen) / (self.rate + t)
        return mean


def _around(shape: float, counts: Float, days: Float) -> float:
    """The log of the rate where the means agree: the most likely one for equal days."""
    return float(np.log(shape * days.sum() / counts.sum()))


def _best_rate(shape: float, counts: Float, days: Float, room: float) -> tuple[float, float]:
    """The most likely rate for a shape, and the log likelihood: (log likelihood, rate)."""

    def loss(log_rate: float) -> float:
        rate = float(np.exp(log_rate))
        return -float(stats.nbinom.logpmf(counts, shape, rate / (rate + days)).sum())

    around = _around(shape, counts, days)
    bounds = around - room, around + room
    found = optimize.minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return -float(found.fun), float(np.exp(found.x))
