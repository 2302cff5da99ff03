"""The set O of positive pairs of a recommender data set, in CSR order, with its counts, splits and samplers.

Every chapter speaks of m left entities (users), n right entities (items) and a set O of positive pairs (i, j).
`Interactions` holds exactly that set. It never changes after it was made: filters and splits return new objects.

Samplers are plain functions. Each states the law it samples from, because estimators that look alike differ only there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from course_lib import checking

__all__ = ["NEGATIVE_LAWS", "Interactions", "TripleLaw", "epoch_batches", "sample_in_batch", "sample_negatives"]

IntArray = NDArray[np.int64]
AnyArray = NDArray[Any]
LABELS_LIMIT = 50_000_000  # cells that `Interactions.labels` is willing to write out


# ----------------------------------------------------------------------------------------------------------- validation
def check_ids(values: ArrayLike, size: int, name: str, size_name: str) -> IntArray:
    """Return a copy of ids, after checking that each is in 0 to ``size - 1``.

    Parameters
    ----------
    values : array_like of int
        The ids, along one axis.
    size : int
        The number of ids that exist.
    name, size_name : str
        What an error calls ``values`` and ``size``.

    Returns
    -------
    array of int64
        The ids.

    Raises
    ------
    ValueError
        For more than one axis, numbers that are not integers, and an id out of range: the error names the first.

    Examples
    --------
    >>> from course_lib.interactions import check_ids
    >>> check_ids([0, 2], 3, "users", "n_users").tolist()
    [0, 2]
    >>> check_ids([0, 3], 3, "users", "n_users")
    Traceback (most recent call last):
        ...
    ValueError: users must lie in 0..2 (n_users=3), got 3 at position 1
    """
    ids = checking.as_numpy(values, name)
    if ids.ndim != 1:
        raise ValueError(f"{name} must have one axis of ids, got shape {ids.shape}")
    if ids.size and ids.dtype.kind not in "iu":  # a timedelta64 is a np.integer
        raise ValueError(f"{name} must hold integers, got dtype {ids.dtype}")
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        where = int(np.flatnonzero((ids < 0) | (ids >= size))[0])
        raise ValueError(f"{name} must lie in 0..{size - 1} ({size_name}={size}), got {ids[where]} at position {where}")
    return ids.astype(np.int64)  # always a copy: the caller's array stays as it is


def _check_column(values: ArrayLike | None, length: int, name: str) -> AnyArray | None:
    if values is None:
        return None
    column = np.array(checking.as_numpy(values, name))
    if column.shape != (length,):
        raise ValueError(f"{name} must have one entry per pair, shape ({length},), got shape {column.shape}")
    if column.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold numbers, got dtype {column.dtype}")
    if not np.isfinite(column).all():
        raise ValueError(f"{name} must be finite, got {column[~np.isfinite(column)][0]}")
    return column


def _check_table(table: Mapping[str, ArrayLike], length: int, name: str) -> dict[str, AnyArray]:
    if not isinstance(table, Mapping):
        raise checking.refuse(table, name, "a dict of columns")
    columns = {key: np.array(checking.as_numpy(values, f"{name}[{key!r}]")) for key, values in table.items()}
    for key, column in columns.items():
        if column.shape[:1] != (length,):
            raise ValueError(f"{name}[{key!r}] must have {length} entries, got shape {column.shape}")
        column.setflags(write=False)
    return columns


def _check_cells(n_users: int, n_items: int) -> None:
    """Raises ValueError where the number of a cell, user n_items + item, could pass 64 bits, and the order be wrong."""
    if n_users * (n_items + 1) > np.iinfo(np.int64).max:
        raise ValueError(
            f"n_users * n_items is {n_users * n_items:,}; expected fewer than 2^63 cells: number from 0 the users and "
            "items that occur"
        )


def _take(column: AnyArray | None, where: AnyArray) -> AnyArray | None:
    return None if column is None else column[where]


# ----------------------------------------------------------------------------------------------------- laws of triples
@dataclass(frozen=True)
class TripleLaw:
    """How triples (user, positive, negative), such as BPR's, are drawn in one pass of ``|O|`` draws.

    Parameters
    ----------
    users : {"pairs", "users"}, optional
        "pairs" is uniform over the positive pairs, so a user counts as often as they have pairs. "users" is uniform
        over the users, then over their positives.
    negatives : {"uniform", "popularity"}, optional
        The law of the negative: uniform over the items, or proportional to the count.
    collision : {"redraw", "skip", "keep"}, optional
        What happens when the drawn negative is one of the user's own items: "redraw" until it is none, "skip" the
        triple, or "keep" it.

    Raises
    ------
    ValueError
        For any other word.

    Examples
    --------
    >>> from course_lib.interactions import TripleLaw
    >>> TripleLaw(negatives="popularity")
    TripleLaw(users='pairs', negatives='popularity', collision='redraw')
    """

    users: str = "pairs"
    negatives: str = "uniform"
    collision: str = "redraw"

    def __post_init__(self) -> None:
        checking.choice(self.users, "users", ("pairs", "users"))
        checking.choice(self.negatives, "negatives", ("uniform", "popularity"))
        checking.choice(self.collision, "collision", ("redraw", "skip", "keep"))


# The laws of a negative, given its user, that `sample_negatives` draws from, and what each means in a TripleLaw.
NEGATIVE_LAWS = {
    "uniform": TripleLaw(negatives="uniform", collision="redraw"),
    "popularity": TripleLaw(negatives="popularity", collision="redraw"),
    "everything": TripleLaw(negatives="uniform", collision="keep"),
}


# --------------------------------------------------------------------------------------------------------- Interactions
@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """The set ``O`` of positive pairs ``(i, j)`` of users and items, sorted by user and then by item.

    ``i`` is in 0 to ``m - 1`` and ``j`` in 0 to ``n - 1``. An object never changes: filters and splits return new ones.

    Parameters
    ----------
    users, items : array_like of int, shape (N,)
        One entry for each of the ``N = |O|`` pairs, in any order. A pair may occur only once.
    n_users, n_items : int
        ``m`` and ``n``, at least 1. Users and items without a pair are allowed; a test split has many.
    times : array_like, shape (N,), optional
        Seconds since 1970.
    ratings : array_like, shape (N,), optional
        In the data set's own unit.
    name : str, optional
        The name that ``repr`` shows.
    user_table, item_table : mapping of str to array_like, optional
        Columns of length ``m`` and ``n``, such as ``item_table["name"]``.

    Raises
    ------
    ValueError
        For ids out of range, arrays of different length, ``2^63`` cells or more, and duplicate pairs.
        ``Interactions.merged`` is the explicit way to merge duplicates, because which rating and which time should
        survive is a decision.

    Notes
    -----
    Two objects are equal when shape, pairs, times and ratings are equal; names and tables do not count.

    Examples
    --------
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([1, 0, 0], [1, 1, 0], n_users=2, n_items=3)
    >>> data
    Interactions(3 pairs of 2 users x 3 items)
    >>> data.pairs.tolist()
    [[0, 0], [0, 1], [1, 1]]
    >>> data.row_counts.tolist(), data.col_counts.tolist()
    ([2, 1], [1, 2, 0])
    """

    users: IntArray
    items: IntArray
    n_users: int = field(kw_only=True)
    n_items: int = field(kw_only=True)
    times: AnyArray | None = field(default=None, kw_only=True)
    ratings: AnyArray | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    user_table: Mapping[str, AnyArray] = field(default_factory=dict, kw_only=True)
    item_table: Mapping[str, AnyArray] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise checking.refuse(self.name, "name", "a string")
        n_users, n_items = checking.whole(self.n_users, "n_users"), checking.whole(self.n_items, "n_items")
        _check_cells(n_users, n_items)
        users = check_ids(self.users, n_users, "users", "n_users")
        items = check_ids(self.items, n_items, "items", "n_items")
        if users.shape != items.shape:
            raise ValueError(f"users and items must have one entry per pair each, got {len(users)} and {len(items)}")
        times = _check_column(self.times, len(users), "times")
        ratings = _check_column(self.ratings, len(users), "ratings")
        keys = users * n_items + items
        if (np.diff(keys) <= 0).any():  # not yet in strict CSR order
            order = np.argsort(keys)
            keys, users, items = keys[order], users[order], items[order]
            times, ratings = _take(times, order), _take(ratings, order)
            repeated = np.flatnonzero(np.diff(keys) == 0)
            if repeated.size:
                first = repeated[0]
                raise ValueError(
                    f"duplicate pairs: {repeated.size} rows repeat an earlier pair, for example user {users[first]}, "
                    f"item {items[first]}. O is a set; merge them explicitly with Interactions.merged(..., keep=...)"
                )
        for column in (users, items, times, ratings):
            if column is not None:
                column.setflags(write=False)
        values: dict[str, object] = {"users": users, "items": items, "times": times, "ratings": ratings}
        values |= {"n_users": n_users, "n_items": n_items}
        values |= {"user_table": _check_table(self.user_table, n_users, "user_table")}
        values |= {"item_table": _check_table(self.item_table, n_items, "item_table")}
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @classmethod
    def merged(
        cls,
        users: ArrayLike,
        items: ArrayLike,
        *,
        n_users: int,
        n_items: int,
        keep: str,
        times: ArrayLike | None = None,
        ratings: ArrayLike | None = None,
        name: str = "",
        user_table: Mapping[str, ArrayLike] | None = None,
        item_table: Mapping[str, ArrayLike] | None = None,
    ) -> Interactions:
        """The set of distinct pairs of a log in which pairs repeat.

        keep : which of the equal pairs lends its time and rating: "first" or "last" in the order given, or
        "highest" rating (the first of those). name, user_table, item_table : as for `Interactions`.
        """
        checking.choice(keep, "keep", ("first", "last", "highest"))
        if keep == "highest" and ratings is None:
            raise ValueError("keep='highest' compares ratings, so ratings must be given, got None")
        n_users, n_items = checking.whole(n_users, "n_users"), checking.whole(n_items, "n_items")
        _check_cells(n_users, n_items)
        left = check_ids(users, n_users, "users", "n_users")
        right = check_ids(items, n_items, "items", "n_items")
        if left.shape != right.shape:
            raise ValueError(f"users and items must have one entry per pair each, got {len(left)} and {len(right)}")
        when, rated = _check_column(times, len(left), "times"), _check_column(ratings, len(left), "ratings")
        keys = left * n_items + right
        if keep == "highest":
            order = np.lexsort((-np.asarray(rated, np.float64), keys))
        else:
            order = np.argsort(keys, kind="stable")
        other = np.diff(keys[order]) > 0  # does the next row hold another pair?
        kept = order[np.append(other, True) if keep == "last" else np.append(True, other)] if len(order) else order
        return cls(
            left[kept],
            right[kept],
            n_users=n_users,
            n_items=n_items,
            times=_take(when, kept),
            ratings=_take(rated, kept),
            name=name,
            user_table=_check_table(user_table or {}, n_users, "user_table"),
            item_table=_check_table(item_table or {}, n_items, "item_table"),
        )

    # ------------------------------------------------------------------------------------------------------ description
    def __len__(self) -> int:
        """|O|, the number of positive pairs."""
        return len(self.users)

    def __repr__(self) -> str:
        extras = [word for word, column in (("times", self.times), ("ratings", self.ratings)) if column is not None]
        label = f"{self.name}: " if self.name else ""
        extra = f", with {' and '.join(extras)}" if extras else ""
        return f"Interactions({label}{len(self):,} pairs of {self.n_users:,} users x {self.n_items:,} items{extra})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interactions):
            return NotImplemented
        columns = zip(self._columns(), other._columns(), strict=True)
        return self.shape == other.shape and all(_same(mine, theirs) for mine, theirs in columns)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def _columns(self) -> tuple[AnyArray | None, ...]:
        return self.users, self.items, self.times, self.ratings

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        return self.n_users, self.n_items

    @cached_property
    def sha256(self) -> str:
        """A fingerprint of shape, pairs, times and ratings: the data hash in an experiment's provenance."""
        digest = hashlib.sha256(f"{self.n_users} {self.n_items}".encode())
        for column, dtype in zip(self._columns(), ("<i8", "<i8", "<f8", "<f8"), strict=True):
            digest.update(b"none" if column is None else np.ascontiguousarray(column, dtype=dtype).tobytes())
        return digest.hexdigest()

    @property
    def user_names(self) -> AnyArray | None:
        """(m,) names of the users where the data set has them, else None."""
        return self.user_table.get("name")

    @property
    def item_names(self) -> AnyArray | None:
        """(n,) names of the items (film titles, article names) where the data set has them, else None."""
        return self.item_table.get("name")

    @cached_property
    def pairs(self) -> IntArray:
        """(|O|, 2) the pairs (i, j) in CSR order."""
        pairs = np.stack((self.users, self.items), axis=1)
        pairs.setflags(write=False)
        return pairs

    @cached_property
    def row_counts(self) -> IntArray:
        """(m,) |O_i,:|, the number of positives of each user."""
        return _read_only(np.bincount(self.users, minlength=self.n_users))

    @cached_property
    def col_counts(self) -> IntArray:
        """(n,) |O_:,j|, the number of positives of each item: its popularity."""
        return _read_only(np.bincount(self.items, minlength=self.n_items))

    @cached_property
    def row_starts(self) -> IntArray:
        """(m + 1,) CSR pointer: the pairs of user i stand at positions row_starts[i] .. row_starts[i + 1] - 1."""
        return _read_only(np.concatenate(([0], np.cumsum(self.row_counts))))

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """(m, n) label matrix Y as a float32 CSR array with a 1.0 for each positive pair."""
        ones = np.ones(len(self), dtype=np.float32)
        small = max(len(self), self.n_items) < np.iinfo(np.int32).max
        index = np.int32 if small else np.int64
        pointers = self.row_starts.astype(index)
        return sparse.csr_array((ones, self.items.astype(index), pointers), shape=self.shape)

    def labels(self) -> NDArray[np.float64]:
        """(m, n) label matrix Y of zeros and ones. Only for small sets: more than 50 million cells raise ValueError."""
        if self.n_users * self.n_items > LABELS_LIMIT:
            raise ValueError(f"labels() would write {self.n_users} x {self.n_items} cells; use .matrix instead")
        dense = np.zeros(self.shape)
        dense[self.users, self.items] = 1.0
        return dense

    def items_of(self, user: int) -> IntArray:
        """The items of one user, ascending."""
        user = checking.whole(user, "user", 0, self.n_users - 1)
        return self.items[self.row_starts[user] : self.row_starts[user + 1]]

    def contains(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.bool_]:
        """Whether each pair (users[b], items[b]) is in O. users and items broadcast against each other."""
        left, right = checking.as_numpy(users, "users"), checking.as_numpy(items, "items")
        try:
            left, right = np.broadcast_arrays(left, right)
        except ValueError:
            shapes = f"users has shape {left.shape} and items {right.shape}"
            raise ValueError(f"{shapes}; expected shapes that broadcast against each other") from None
        shape = left.shape
        left = check_ids(left.ravel(), self.n_users, "users", "n_users")
        right = check_ids(right.ravel(), self.n_items, "items", "n_items")
        wanted = left * self.n_items + right
        if not len(self):
            return np.zeros(shape, dtype=bool)
        found = np.searchsorted(self._keys, wanted)
        known: NDArray[np.bool_] = self._keys[np.minimum(found, len(self) - 1)] == wanted
        return known.reshape(shape)

    @cached_property
    def _keys(self) -> IntArray:
        return self.users * self.n_items + self.items  # ascending

    @cached_property
    def _negatives_before(self) -> IntArray:
        """(|O|,) number of negatives of the same user before each positive, shifted per user so that all ascend."""
        rank_in_row = np.arange(len(self)) - self.row_starts[self.users]
        return self.users * (self.n_items + 1) + self.items - rank_in_row

    @cached_property
    def _pairs_by_item(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where the pairs stand when they are sorted by item, and which of them belong to items that a user has.

        starts (n,): pairs of the items before each item. taken (|O| + 1,): running sum, over O in CSR order, of
        |O_:,j|. before (|O|,): pairs of the same user's negatives before each positive, shifted per user so that all
        ascend.
        """
        starts = np.cumsum(self.col_counts) - self.col_counts
        taken = np.concatenate(([0], np.cumsum(self.col_counts[self.items])))
        before = starts[self.items] - (taken[:-1] - taken[self.row_starts[self.users]]) + self.users * (len(self) + 1)
        return starts, taken, before

    @property
    def mean_pair_popularity(self) -> float:
        """|O|^2 / (m n): the mean of |O_i,:| |O_:,j| over all m n cells (the last column of P3's Table 3)."""
        return len(self) ** 2 / (self.n_users * self.n_items)

    def statistics(self) -> dict[str, float]:
        """P3's Table 3 for this object as it is: m, n, positives |O| and mean_pair_popularity.

        m and n count all rows and columns, empty ones too. P3 counts those with a positive: ask ``x.compact()``.
        """
        row = {"m": self.n_users, "n": self.n_items, "positives": len(self)}
        return row | {"mean_pair_popularity": self.mean_pair_popularity}

    # ---------------------------------------------------------------------------------------------------------- filters
    def select(self, where: ArrayLike) -> Interactions:
        """The pairs at these positions (integers, or a mask of length |O|); shape and tables stay."""
        where = checking.as_numpy(where, "where")
        if where.dtype != bool:
            where = check_ids(where, len(self), "where", "pairs")
        elif where.shape != self.users.shape:
            raise ValueError(f"where must be a mask with one entry per pair ({len(self)}), got shape {where.shape}")
        times, ratings = _take(self.times, where), _take(self.ratings, where)
        return replace(self, users=self.users[where], items=self.items[where], times=times, ratings=ratings)

    def k_core(self, k: int) -> Interactions:
        """The largest subset of O in which every user and every item that occurs does so at least k times.

        It is unique (the union of two such subsets is one too). Found by peeling: drop the pairs of users and items
        with fewer than k, until none is left. Shape and tables stay; `compact` drops the emptied rows and columns.
        """
        k = checking.whole(k, "k")
        kept = np.arange(len(self))
        while True:
            users, items = self.users[kept], self.items[kept]
            enough_left = np.bincount(users, minlength=self.n_users) >= k
            enough_right = np.bincount(items, minlength=self.n_items) >= k
            stays = enough_left[users] & enough_right[items]
            if stays.all():
                return self.select(kept)
            kept = kept[stays]

    def compact(self) -> Interactions:
        """The same pairs with empty rows and columns dropped and ids relabelled to 0..m-1 and 0..n-1, order kept.

        This establishes P3's Assumption E.1 (every row and column has a positive). Raises ValueError when O is empty.
        """
        if not len(self):
            raise ValueError("compact() needs at least one pair: O is empty, so no user and no item would remain")
        rows, cols = self.row_counts > 0, self.col_counts > 0
        return replace(
            self,
            users=(np.cumsum(rows) - 1)[self.users],
            items=(np.cumsum(cols) - 1)[self.items],
            n_users=int(rows.sum()),
            n_items=int(cols.sum()),
            user_table={key: column[rows] for key, column in self.user_table.items()},
            item_table={key: column[cols] for key, column in self.item_table.items()},
        )

    # ----------------------------------------------------------------------------------------------------------- splits
    def split_random(self, fraction: float, rng: Generator) -> tuple[Interactions, Interactions]:
        """(train, test): train is a uniform subset of exactly round(fraction |O|) pairs. Both keep the shape (m, n)."""
        size = round(checking.real(fraction, "fraction", above=0, below=1) * len(self))
        chosen = checking.generator(rng).choice(len(self), size=size, replace=False, shuffle=False)
        return self._divide(_mask(len(self), chosen))

    def split_bernoulli(self, fraction: float, rng: Generator) -> tuple[Interactions, Interactions]:
        """(train, test): each pair goes to train with probability `fraction`, independently of all others.

        |train| is then random with standard deviation sqrt(fraction (1 - fraction) |O|). P3's 517,770 training pairs of
        ML-1M are not a 90 % split of exact size (that has 517,753); under this law they are an ordinary draw.
        """
        fraction = checking.real(fraction, "fraction", above=0, below=1)
        return self._divide(checking.generator(rng).random(len(self)) < fraction)

    def split_by_time(self, fraction: float) -> tuple[Interactions, Interactions]:
        """(earlier, later): the cut is the time of the pair that is number round(fraction |O|) + 1 in order of time.

        A pair lies in `later` if its time is the cut or after it. So pairs of one time stay together, every pair of
        `earlier` comes before every pair of `later`, and `earlier` has round(fraction |O|) pairs, or fewer where times
        are equal at the cut. Both keep the shape (m, n). A `k_core` that was taken before the split holds for the two
        together: a user or an item may have fewer than k earlier pairs, or none.

        Raises ValueError without times, for a fraction outside (0, 1), and where one side would be empty.
        """
        return self._cut_in_time(fraction, "fraction")

    def _cut_in_time(self, share: float, name: str) -> tuple[Interactions, Interactions]:
        """`split_by_time`, whose share has another name where the caller of another function gave it."""
        share = checking.real(share, name, above=0, below=1)
        if self.times is None:
            raise ValueError("times is None; expected a time for each pair, to split by")
        size = round(share * len(self))
        if size == len(self):
            raise ValueError(f"{name} is {share}; expected one that leaves a later pair, of {len(self)} pairs")
        earlier = self.times < np.partition(self.times, size)[size]
        if not earlier.any():
            raise ValueError(f"{name} is {share}; expected one with a pair before the cut, of {len(self)} pairs")
        return self._divide(earlier)

    def split_leave_last(self, leave: int = 1) -> tuple[Interactions, Interactions]:
        """(train, test): test has the `leave` latest pairs of each user who has more; of equal times the higher id.

        Users with `leave` pairs or fewer keep them all in train. Both keep the shape (m, n). One user's last pair may
        be earlier than what another user's train pairs tell, so a model can know the future: `split_by_time` has one
        moment for all.

        Raises ValueError without times, and where no user has more than `leave` pairs.
        """
        leave = checking.whole(leave, "leave")
        if self.times is None:
            raise ValueError("times is None; expected a time for each pair, to find the last of each user")
        order = np.lexsort((self.items, self.times, self.users))
        from_last = self.row_starts[self.users + 1] - np.arange(len(self))  # 1 for the last in `order`
        last = np.zeros(len(self), dtype=bool)
        last[order] = (from_last <= leave) & (self.row_counts[self.users] > leave)
        if not last.any():
            raise ValueError(f"leave is {leave}; expected fewer than the most pairs of a user, {self.row_counts.max()}")
        return self._divide(~last)

    def _divide(self, train: NDArray[np.bool_]) -> tuple[Interactions, Interactions]:
        return self.select(train), self.select(~train)


def check_pairs(value: Any, name: str) -> Interactions:
    """The pairs, if they are Interactions; ValueError for anything else."""
    if not isinstance(value, Interactions):
        raise checking.refuse(value, name, "Interactions")
    return value


def _mask(length: int, where: AnyArray) -> NDArray[np.bool_]:
    mask = np.zeros(length, dtype=bool)
    mask[where] = True
    return mask


def _read_only(array: AnyArray) -> AnyArray:
    array = array.astype(np.int64, copy=False)
    array.setflags(write=False)
    return array


def _same(mine: AnyArray | None, theirs: AnyArray | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return np.array_equal(mine, theirs)


# ------------------------------------------------------------------------------------------------------------- samplers
def sample_in_batch(interactions: Interactions, batch_size: int, rng: Generator) -> IntArray:
    """Draw the positions of ``s`` distinct pairs, uniform over all subsets of ``O`` with ``s`` pairs.

    The pairs are drawn without replacement. ``interactions.pairs[positions]`` are the pairs, and the batch is then the
    ``s x s`` grid of their users and items. The order of the positions is random too.

    Parameters
    ----------
    interactions : Interactions
        The positive pairs.
    batch_size : int
        The number ``s`` of pairs, from 1 to ``|O|``.
    rng : numpy.random.Generator
        The source of chance.

    Returns
    -------
    array of int64, shape (s,)
        The positions.

    Raises
    ------
    ValueError
        For a batch size out of range, and for an ``rng`` that is no generator.

    Notes
    -----
    This is the law of P3 (Section 3.2.3 and Assumption E.2).

    Examples
    --------
    Two of three pairs, never the same pair twice:

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions, sample_in_batch
    >>> data = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2)
    >>> positions = sample_in_batch(data, 2, np.random.default_rng(0))
    >>> len(set(positions.tolist()))
    2
    """
    most = len(check_pairs(interactions, "interactions"))
    size = checking.whole(batch_size, "batch_size", 1, most, why="the number of pairs |O|")
    return checking.generator(rng).choice(len(interactions), size=size, replace=False)


def epoch_batches(
    interactions: Interactions, batch_size: int, rng: Generator, *, drop_last: bool = False
) -> Iterator[IntArray]:
    """Yield the positions of one pass over ``O`` in random order, ``s`` at a time.

    Parameters
    ----------
    interactions : Interactions
        The positive pairs.
    batch_size : int
        The number ``s`` of pairs in a batch, from 1 to ``|O|``.
    rng : numpy.random.Generator
        The source of chance.
    drop_last : bool, optional
        Whether to leave out the last batch where it is shorter.

    Returns
    -------
    iterator of array of int64, shape (s,)
        The positions of each batch.

    Raises
    ------
    ValueError
        For a batch size out of range, and for an ``rng`` that is no generator.

    Notes
    -----
    Each batch alone follows the law of ``sample_in_batch``. Two batches of one epoch are disjoint, so they are not
    independent.

    Examples
    --------
    Three pairs make a batch of two and a shorter one, which hold each pair once:

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions, epoch_batches
    >>> data = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2)
    >>> batches = list(epoch_batches(data, 2, np.random.default_rng(0)))
    >>> [len(batch) for batch in batches], sorted(np.concatenate(batches).tolist())
    ([2, 1], [0, 1, 2])
    """
    most = len(check_pairs(interactions, "interactions"))
    size = checking.whole(batch_size, "batch_size", 1, most, why="the number of pairs |O|")
    order = checking.generator(rng).permutation(len(interactions))
    end = len(order) - len(order) % size if drop_last else len(order)
    return (order[start : start + size] for start in range(0, end, size))


def sample_negatives(interactions: Interactions, users: ArrayLike, rng: Generator, *, law: str = "uniform") -> IntArray:
    """Draw for each user one item as a negative example, independently.

    The laws of ``NEGATIVE_LAWS``:

    - "uniform": uniform over the ``n - |O_i,:|`` items outside ``O_i,:`` (RecBole).
    - "popularity": outside ``O_i,:`` too, with probability proportional to ``|O_:,j'|`` (LightFM, which draws the item
      of a random pair until it is none of the user's). The library implicit draws the same way but gives up a triple
      whose negative is a positive of the user: given that the triple stays, its negative has this law, but users with
      many popular items lose triples.
    - "everything": uniform over all ``n`` items, with the user's positives among them (Spotlight).

    Parameters
    ----------
    interactions : Interactions
        The positive pairs.
    users : array_like of int, shape (B,)
        The users.
    rng : numpy.random.Generator
        The source of chance.
    law : {"uniform", "popularity", "everything"}, optional
        The law of a negative, given its user.

    Returns
    -------
    array of int64, shape (B,)
        The negative items.

    Raises
    ------
    ValueError
        For ids out of range, an unknown law, and a user for whom no item is negative.

    Notes
    -----
    The draws are exact and without rejection. For "uniform", draw ``r`` uniform in 0 to ``n - |O_i,:| - 1`` and
    return the ``r``-th item outside ``O_i,:``. Before the ``k``-th positive ``x_k`` of a user there are ``x_k - k``
    negatives, so the ``r``-th negative is ``r + #{k : x_k - k <= r}``: one binary search. "popularity" does the same
    with pairs in place of items: ``r`` is uniform over the pairs of the items outside ``O_i,:``.

    Examples
    --------
    User 0 has the items 0 and 1 of three, so that item 2 is the only negative:

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions, sample_negatives
    >>> data = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=3)
    >>> sample_negatives(data, [0, 0, 0], np.random.default_rng(0)).tolist()
    [2, 2, 2]
    """
    users = check_ids(users, check_pairs(interactions, "interactions").n_users, "users", "n_users")
    checking.generator(rng)
    drawn = NEGATIVE_LAWS[checking.choice(law, "law", NEGATIVE_LAWS)]
    if drawn.collision == "keep":
        return rng.integers(0, interactions.n_items, size=len(users))
    return (_uniform_negatives if drawn.negatives == "uniform" else _popular_negatives)(interactions, users, rng)


def _uniform_negatives(interactions: Interactions, users: IntArray, rng: Generator) -> IntArray:
    free = interactions.n_items - interactions.row_counts[users]
    if (free == 0).any():
        raise ValueError(f"user {users[free == 0][0]} has all {interactions.n_items} items, so no item is negative")
    rank = rng.integers(0, free)
    before = np.searchsorted(interactions._negatives_before, users * (interactions.n_items + 1) + rank, side="right")
    return rank + before - interactions.row_starts[users]


def _popular_negatives(interactions: Interactions, users: IntArray, rng: Generator) -> IntArray:
    starts, taken, before = interactions._pairs_by_item
    free = len(interactions) - (taken[interactions.row_starts[users + 1]] - taken[interactions.row_starts[users]])
    if (free == 0).any():
        who = users[free == 0][0]
        raise ValueError(f"user {who} has every item that has a pair: no other has a popularity above 0")
    rank = rng.integers(0, free)
    passed = np.searchsorted(before, users * (len(interactions) + 1) + rank, side="right")  # positives before it
    place = rank + taken[passed] - taken[interactions.row_starts[users]]
    return np.searchsorted(starts, place, side="right") - 1
