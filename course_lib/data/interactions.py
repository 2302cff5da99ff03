"""The set O of positive pairs of a recommender data set, in CSR order, with its counts, splits and samplers.

Every chapter speaks of m left entities (users), n right entities (items) and a set O of positive pairs (i, j).
`Interactions` holds exactly that set. It never changes after it was made: filters and splits return new objects.

Samplers are plain functions. Each states the law it samples from, because estimators that look alike differ only there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

__all__ = [
    "NEGATIVE_LAWS",
    "POSITIVE_LAWS",
    "Interactions",
    "epoch_batches",
    "sample_bpr",
    "sample_cross",
    "sample_in_batch",
    "sample_naive",
    "sample_negatives",
    "train_statistics",
]

IntArray = NDArray[np.int64]
NEGATIVE_LAWS = ("uniform", "popularity", "everything")
POSITIVE_LAWS = ("pairs", "users")
LABELS_LIMIT = 50_000_000  # cells that `Interactions.labels` is willing to write out


# ----------------------------------------------------------------------------------------------------------- validation
def _check_size(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    return int(value)


def _check_ids(values: ArrayLike, size: int, name: str, size_name: str) -> IntArray:
    ids = np.asarray(values)
    if ids.ndim != 1:
        raise ValueError(f"{name} must have one axis, one id per pair, got shape {ids.shape}")
    if ids.size and not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(f"{name} must hold integers, got dtype {ids.dtype}")
    ids = ids.astype(np.int64)  # always a copy: the caller's array stays his
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        where = int(np.flatnonzero((ids < 0) | (ids >= size))[0])
        raise ValueError(f"{name} must lie in 0..{size - 1} ({size_name}={size}), got {ids[where]} at position {where}")
    return ids


def _check_column(values: ArrayLike | None, length: int, name: str) -> NDArray | None:
    if values is None:
        return None
    column = np.array(values)
    if column.shape != (length,):
        raise ValueError(f"{name} must have one entry per pair, shape ({length},), got shape {column.shape}")
    if not np.issubdtype(column.dtype, np.number):
        raise ValueError(f"{name} must hold numbers, got dtype {column.dtype}")
    if not np.isfinite(column).all():
        raise ValueError(f"{name} must be finite, got {column[~np.isfinite(column)][0]}")
    return column


def _check_table(table: Mapping[str, ArrayLike], length: int, name: str) -> dict[str, NDArray]:
    columns = {key: np.array(values) for key, values in table.items()}
    for key, column in columns.items():
        if column.shape[:1] != (length,):
            raise ValueError(f"{name}[{key!r}] must have {length} entries, got shape {column.shape}")
        column.setflags(write=False)
    return columns


def _check_fraction(fraction: float) -> float:
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must lie strictly between 0 and 1 (the share that goes to train), got {fraction!r}")
    return float(fraction)


def _check_generator(rng: Generator) -> Generator:
    if not isinstance(rng, Generator):
        raise ValueError(f"rng must be a numpy.random.Generator such as numpy.random.default_rng(0), got {rng!r}")
    return rng


def _take(column: NDArray | None, where: NDArray) -> NDArray | None:
    return None if column is None else column[where]


# --------------------------------------------------------------------------------------------------------- Interactions
@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """The set O of positive pairs (i, j), i in 0..m-1 and j in 0..n-1, sorted by user and then by item.

    Arguments
    ---------
    users, items : (|O|,) integers, one entry per pair, in any order. A pair may occur only once.
    n_users, n_items : m and n, at least 1. Users and items without a pair are allowed (a test split has many).
    times : (|O|,) seconds since 1970, or None. ratings : (|O|,) in the data set's own unit, or None.
    name : shown by `repr`. user_table, item_table : columns of length m and n, such as ``item_table["name"]``.

    Raises ValueError for ids out of range, arrays of different length, and duplicate pairs: `Interactions.merged` is
    the explicit way to merge them, because which rating and time should survive is a decision.

    Two objects are equal when shape, pairs, times and ratings are equal; names and tables do not count.
    """

    users: IntArray
    items: IntArray
    n_users: int = field(kw_only=True)
    n_items: int = field(kw_only=True)
    times: NDArray | None = field(default=None, kw_only=True)
    ratings: NDArray | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    user_table: Mapping[str, NDArray] = field(default_factory=dict, kw_only=True)
    item_table: Mapping[str, NDArray] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        n_users, n_items = _check_size(self.n_users, "n_users"), _check_size(self.n_items, "n_items")
        users = _check_ids(self.users, n_users, "users", "n_users")
        items = _check_ids(self.items, n_items, "items", "n_items")
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
        values = {"users": users, "items": items, "times": times, "ratings": ratings, "n_users": n_users}
        values |= {"n_items": n_items, "user_table": _check_table(self.user_table, n_users, "user_table")}
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
        **names: object,
    ) -> Interactions:
        """The set of distinct pairs of a log in which pairs repeat.

        keep : which of the equal pairs lends its time and rating: "first" or "last" in the order given, or
        "highest" rating (the first of those).
        """
        if keep not in ("first", "last", "highest"):
            raise ValueError(f"keep must be 'first', 'last' or 'highest', got {keep!r}")
        if keep == "highest" and ratings is None:
            raise ValueError("keep='highest' compares ratings, so ratings must be given, got None")
        left = _check_ids(users, _check_size(n_users, "n_users"), "users", "n_users")
        right = _check_ids(items, _check_size(n_items, "n_items"), "items", "n_items")
        if left.shape != right.shape:
            raise ValueError(f"users and items must have one entry per pair each, got {len(left)} and {len(right)}")
        times = _check_column(times, len(left), "times")
        ratings = _check_column(ratings, len(left), "ratings")
        position = np.arange(len(left))
        preference = {"first": position, "last": -position}.get(keep)
        if preference is None:
            preference = -np.asarray(ratings, dtype=np.float64)
        keys = left * int(n_items) + right
        order = np.lexsort((position, preference, keys))
        kept = order[np.diff(keys[order], prepend=-1) > 0]
        return cls(
            left[kept],
            right[kept],
            n_users=n_users,
            n_items=n_items,
            times=_take(times, kept),
            ratings=_take(ratings, kept),
            **names,
        )

    # ------------------------------------------------------------------------------------------------------ description
    def __len__(self) -> int:
        """|O|, the number of positive pairs."""
        return len(self.users)

    def __repr__(self) -> str:
        extras = [word for word, column in (("times", self.times), ("ratings", self.ratings)) if column is not None]
        label = f"{self.name}: " if self.name else ""
        with_extras = f", with {' and '.join(extras)}" if extras else ""
        return (
            f"Interactions({label}{len(self):,} pairs of {self.n_users:,} users x {self.n_items:,} items{with_extras})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interactions):
            return NotImplemented
        columns = zip(self._columns(), other._columns(), strict=True)
        return self.shape == other.shape and all(_same(mine, theirs) for mine, theirs in columns)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def _columns(self) -> tuple[NDArray | None, ...]:
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
    def user_names(self) -> NDArray | None:
        """(m,) names of the users where the data set has them, else None."""
        return self.user_table.get("name")

    @property
    def item_names(self) -> NDArray | None:
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
            raise ValueError(
                f"labels() would write {self.n_users} x {self.n_items} cells; use .matrix (sparse) instead"
            )
        dense = np.zeros(self.shape)
        dense[self.users, self.items] = 1.0
        return dense

    def items_of(self, user: int) -> IntArray:
        """The items of one user, ascending."""
        if not 0 <= user < self.n_users:
            raise ValueError(f"user must lie in 0..{self.n_users - 1}, got {user}")
        return self.items[self.row_starts[user] : self.row_starts[user + 1]]

    def contains(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.bool_]:
        """Whether each pair (users[b], items[b]) is in O. users and items broadcast against each other."""
        left, right = np.broadcast_arrays(np.asarray(users), np.asarray(items))
        shape = left.shape
        left = _check_ids(left.ravel(), self.n_users, "users", "n_users")
        right = _check_ids(right.ravel(), self.n_items, "items", "n_items")
        wanted = left * self.n_items + right
        if not len(self):
            return np.zeros(shape, dtype=bool)
        found = np.searchsorted(self._keys, wanted)
        return (self._keys[np.minimum(found, len(self) - 1)] == wanted).reshape(shape)

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
        where = np.asarray(where)
        if where.dtype == bool and where.shape != self.users.shape:
            raise ValueError(f"where must be a mask with one entry per pair ({len(self)}), got shape {where.shape}")
        return Interactions(
            self.users[where],
            self.items[where],
            n_users=self.n_users,
            n_items=self.n_items,
            times=_take(self.times, where),
            ratings=_take(self.ratings, where),
            name=self.name,
            user_table=self.user_table,
            item_table=self.item_table,
        )

    def k_core(self, k: int) -> Interactions:
        """The largest subset of O in which every user and every item that occurs does so at least k times.

        It is unique (the union of two such subsets is one too). Found by peeling: drop the pairs of users and items
        with fewer than k, until none is left. Shape and tables stay; `compact` drops the emptied rows and columns.
        """
        k = _check_size(k, "k")
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
        return Interactions(
            (np.cumsum(rows) - 1)[self.users],
            (np.cumsum(cols) - 1)[self.items],
            n_users=int(rows.sum()),
            n_items=int(cols.sum()),
            times=self.times,
            ratings=self.ratings,
            name=self.name,
            user_table={key: column[rows] for key, column in self.user_table.items()},
            item_table={key: column[cols] for key, column in self.item_table.items()},
        )

    # ----------------------------------------------------------------------------------------------------------- splits
    def split_random(self, fraction: float, rng: Generator) -> tuple[Interactions, Interactions]:
        """(train, test): train is a uniform subset of exactly round(fraction |O|) pairs. Both keep the shape (m, n)."""
        size = round(_check_fraction(fraction) * len(self))
        chosen = _check_generator(rng).choice(len(self), size=size, replace=False, shuffle=False)
        return self._divide(_mask(len(self), chosen))

    def split_bernoulli(self, fraction: float, rng: Generator) -> tuple[Interactions, Interactions]:
        """(train, test): each pair goes to train with probability `fraction`, independently of all others.

        |train| is then random with standard deviation sqrt(fraction (1 - fraction) |O|). P3's 517,770 training pairs of
        ML-1M are not a 90 % split of exact size (that has 517,753); under this law they are an ordinary draw.
        """
        fraction = _check_fraction(fraction)
        return self._divide(_check_generator(rng).random(len(self)) < fraction)

    def split_temporal(self, fraction: float) -> tuple[Interactions, Interactions]:
        """(train, test): train holds the round(fraction |O|) earliest pairs. Equal times are taken in CSR order."""
        size = round(_check_fraction(fraction) * len(self))
        earliest = np.argsort(self._times_or_raise("split_temporal"), kind="stable")[:size]
        return self._divide(_mask(len(self), earliest))

    def split_leave_one_out(self, rng: Generator | None = None) -> tuple[Interactions, Interactions]:
        """(train, test): test holds one pair of every user who has at least two, train all others.

        With `rng` the pair is uniform among the user's; without it is his latest (at equal times, the last item).
        """
        if rng is None:
            priority = self._times_or_raise("split_leave_one_out without rng")
        else:
            priority = _check_generator(rng).random(len(self))
        order = np.lexsort((priority, self.users))  # stable, so users stay in CSR blocks
        last = order[self.row_starts[1:][self.row_counts >= 2] - 1]
        return self._divide(~_mask(len(self), last))

    def _times_or_raise(self, caller: str) -> NDArray:
        if self.times is None:
            raise ValueError(f"{caller} needs times, but {self!r} has none; use a random split instead")
        return self.times

    def _divide(self, train: NDArray[np.bool_]) -> tuple[Interactions, Interactions]:
        return self.select(train), self.select(~train)


def train_statistics(
    split: Callable[[Generator], tuple[Interactions, Interactions]], *, repeats: int, rng: Generator
) -> dict[str, NDArray[np.float64]]:
    """P3's Table 3 for the training part of `repeats` random splits: how far chance alone moves each number.

    split : from a generator to (train, test), such as ``lambda rng: data.split_bernoulli(0.9, rng)``.
    Returns m, n, positives and mean_pair_popularity, each (repeats,), where m and n count the users and items that have
    a training pair, as P3 counts them.
    """
    _check_size(repeats, "repeats")
    rows = [split(_check_generator(rng))[0].compact().statistics() for _ in range(repeats)]
    return {key: np.array([row[key] for row in rows], dtype=np.float64) for key in rows[0]}


def _mask(length: int, where: NDArray) -> NDArray[np.bool_]:
    mask = np.zeros(length, dtype=bool)
    mask[where] = True
    return mask


def _read_only(array: NDArray) -> NDArray:
    array = array.astype(np.int64, copy=False)
    array.setflags(write=False)
    return array


def _same(mine: NDArray | None, theirs: NDArray | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return np.array_equal(mine, theirs)


# ------------------------------------------------------------------------------------------------------------- samplers
def _check_batch_size(batch_size: int, largest: int, what: str) -> int:
    size = _check_size(batch_size, "batch_size")
    if size > largest:
        raise ValueError(f"batch_size must be at most {largest}, {what}, got {batch_size}")
    return size


def sample_in_batch(interactions: Interactions, batch_size: int, rng: Generator) -> IntArray:
    """(s,) positions of s distinct pairs: uniform over all subsets of O with s pairs, without replacement.

    This is the law of P3 (Section 3.2.3 and Appendix E.2); `interactions.pairs[positions]` are the pairs. The batch is
    then the s x s grid of their users and items. The order of the positions is random too.
    """
    size = _check_batch_size(batch_size, len(interactions), "the number of pairs |O|")
    return _check_generator(rng).choice(len(interactions), size=size, replace=False)


def sample_naive(interactions: Interactions, batch_size: int, rng: Generator) -> tuple[IntArray, IntArray]:
    """(users, items), each (B,): B distinct cells, uniform over [m] x [n] (P3, Section 3.2.1)."""
    cells = interactions.n_users * interactions.n_items
    size = _check_batch_size(batch_size, cells, "the number of cells m n")
    return np.divmod(_check_generator(rng).choice(cells, size=size, replace=False), interactions.n_items)


def sample_cross(interactions: Interactions, n_rows: int, n_cols: int, rng: Generator) -> tuple[IntArray, IntArray]:
    """(rows, cols): n_rows distinct users and n_cols distinct items, each uniform (P3, Section 3.2.2).

    The batch is the grid rows x cols, so it may hold no positive at all.
    """
    n_rows, n_cols = _check_size(n_rows, "n_rows"), _check_size(n_cols, "n_cols")
    for name, size, largest in (("n_rows", n_rows, interactions.n_users), ("n_cols", n_cols, interactions.n_items)):
        if size > largest:
            raise ValueError(f"{name} must be at most {largest} for {interactions!r}, got {size}")
    rows = _check_generator(rng).choice(interactions.n_users, size=n_rows, replace=False)
    return rows, rng.choice(interactions.n_items, size=n_cols, replace=False)


def epoch_batches(
    interactions: Interactions, batch_size: int, rng: Generator, *, drop_last: bool = False
) -> Iterator[IntArray]:
    """Positions of one pass over O in random order, s at a time; the last batch is shorter unless `drop_last`.

    Each batch alone follows the law of `sample_in_batch`; two batches of one epoch are disjoint, so not independent.
    """
    size = _check_batch_size(batch_size, len(interactions), "the number of pairs |O|")
    order = _check_generator(rng).permutation(len(interactions))
    end = len(order) - len(order) % size if drop_last else len(order)
    return (order[start : start + size] for start in range(0, end, size))


def sample_negatives(interactions: Interactions, users: ArrayLike, rng: Generator, *, law: str = "uniform") -> IntArray:
    """(B,) for each user i one item j' as a negative example, independently, under one of `NEGATIVE_LAWS`:

    - "uniform": uniform over the n - |O_i,:| items outside O_i,: (RecBole);
    - "popularity": outside O_i,: too, with probability proportional to |O_:,j'| (LightFM, which draws the item of a
    random pair
      until it is none of i's). implicit draws the same way but gives up a triple whose negative is a positive of i:
      given that it stays, its negative has this law, but users with many popular items lose triples;
    - "everything": uniform over all n items, positives of i among them (Spotlight).

    Exact and without rejection. For "uniform" draw r uniform in 0..n-|O_i,:|-1 and return the r-th item outside O_i,:.
    Before the k-th positive x_k of a user stand x_k - k negatives, so the r-th negative is r + #{k : x_k - k <= r}: one
    binary search. "popularity" does the same with pairs in place of items: r is uniform over the pairs of the items
    outside O_i,:.
    """
    users = _check_ids(users, interactions.n_users, "users", "n_users")
    _check_generator(rng)
    if law == "everything":
        return rng.integers(0, interactions.n_items, size=len(users))
    if law not in NEGATIVE_LAWS:
        raise ValueError(f"law={law!r} is not a law of negatives; expected one of {NEGATIVE_LAWS}")
    return (_uniform_negatives if law == "uniform" else _popular_negatives)(interactions, users, rng)


def _uniform_negatives(interactions: Interactions, users: IntArray, rng: Generator) -> IntArray:
    free = interactions.n_items - interactions.row_counts[users]
    if (free == 0).any():
        raise ValueError(f"user {users[free == 0][0]} has all {interactions.n_items} items, so he has no negative item")
    rank = rng.integers(0, free)
    before = np.searchsorted(interactions._negatives_before, users * (interactions.n_items + 1) + rank, side="right")
    return rank + before - interactions.row_starts[users]


def _popular_negatives(interactions: Interactions, users: IntArray, rng: Generator) -> IntArray:
    starts, taken, before = interactions._pairs_by_item
    free = len(interactions) - (taken[interactions.row_starts[users + 1]] - taken[interactions.row_starts[users]])
    if (free == 0).any():
        who = users[free == 0][0]
        raise ValueError(f"user {who} has every item that has a pair, so no item outside his has a popularity above 0")
    rank = rng.integers(0, free)
    passed = np.searchsorted(
        before, users * (len(interactions) + 1) + rank, side="right"
    )  # positives that stand before it
    place = rank + taken[passed] - taken[interactions.row_starts[users]]
    return np.searchsorted(starts, place, side="right") - 1


def sample_bpr(
    interactions: Interactions, batch_size: int, rng: Generator, *, negatives: str = "uniform", positives: str = "pairs"
) -> tuple[IntArray, IntArray, IntArray]:
    """(users, positives, negatives), each (B,): the triples (i, j, j') of BPR, independent of each other.

    positives: the law of (i, j), one of `POSITIVE_LAWS`: "pairs", uniform over O (RecBole, implicit), so a user counts
    as often as he has pairs; "users", uniform over the users with a pair and then over his pairs, so all users count
    alike (LightGCN's own code). negatives: the law of j' given i, explained at `sample_negatives`.
    """
    size = _check_size(batch_size, "batch_size")
    if not len(interactions):
        raise ValueError(f"sample_bpr needs at least one pair, got {interactions!r}")
    if positives not in POSITIVE_LAWS:
        raise ValueError(f"positives={positives!r} is not a law of positives; expected one of {POSITIVE_LAWS}")
    _check_generator(rng)
    if positives == "pairs":
        where = rng.integers(0, len(interactions), size=size)
    else:
        chosen = rng.choice(np.flatnonzero(interactions.row_counts), size=size)
        where = interactions.row_starts[chosen] + rng.integers(0, interactions.row_counts[chosen])
    users = interactions.users[where]
    return users, interactions.items[where], sample_negatives(interactions, users, rng, law=negatives)
