"""What the questions look at: the tables, the counts, the pairs, and what several of them need."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from course_lib import geometry, metrics, popularity
from course_lib.audit.ids import numbers_of
from course_lib.audit.shortlist import shortlist
from course_lib.audit.training import Training
from course_lib.interactions import Interactions

AnyArray = NDArray[Any]
Ids = NDArray[np.int64]
Float = NDArray[np.float64]

SPHERE_TOLERANCE = 1e-3  # relative: half-precision tables have rows within 0.1 % of their sphere
CANDIDATES, QUERIES = 20_000, 500  # items among which neighbours are looked for, and those whose neighbours are
SPLITS, SHUFFLES, AXIS_ITEMS = 4, 20, 100_000  # of the cross-fitted correlation, of its chance, and the items it takes
BLOCK = 2**17  # numbers of a long table that are worked on at once: they stay in the cache
NONE = np.zeros(0, dtype=np.int64)
LEAK = 0.01  # share of the training pairs later than a held-out one: from here on the pairs are not split by time
FEWEST_ITEMS = 100  # below them a correlation or a share says little


@dataclass(frozen=True)
class Axis:
    """How well the popularity direction, found on other items, predicts the count.

    correlation: mean of the cross-fitted Pearson correlations of random splits; chance: the root mean square of the
    same where the counts are dealt out anew; items: how many there were.
    """

    correlation: float
    chance: float
    items: int


@dataclass(frozen=True)
class Evidence:
    """items (n, d), users (m, d) or None, counts (n,) or None, pairs and held_out of shape (m, n) or None.

    k: neighbours, and length of the lists; seed: every question draws from a generator of its own (`rng`), so that an
    answer does not depend on which others were asked. zero_items, zero_users: rows that were left out; shared: held-out
    pairs that are training pairs too, of the `offered` ones (held_out is without them). places (n,), user_places (m,):
    the row of each item and user in its source; item_ids (n,): its name in the pairs; None where that is the row here.
    """

    items: AnyArray
    users: AnyArray | None = None
    counts: Float | None = None
    pairs: Interactions | None = None
    held_out: Interactions | None = None
    training: Training = field(default_factory=Training)
    k: int = 10
    seed: int = 0
    zero_items: int = 0
    zero_users: int = 0
    shared: int = 0
    offered: int = 0
    places: Ids | None = None
    item_ids: AnyArray | None = None
    user_places: Ids | None = None

    def rng(self, purpose: str) -> Generator:
        """The generator of one purpose."""
        return np.random.default_rng([self.seed, zlib.crc32(purpose.encode())])

    def id_of(self, item: int) -> Any:
        """The id of an item: a number where it is one, else a text; without ids, the row in the source."""
        if self.item_ids is None:
            return item if self.places is None else int(self.places[item])
        (number,), (fits,) = numbers_of(self.item_ids[item : item + 1])
        return int(number) if fits else str(self.item_ids[item])

    def named(self, item: int) -> str:
        """What a reader calls an item: its id, or its row in the source."""
        return f"{'row ' * (self.item_ids is None)}{self.id_of(item)}"

    @cached_property
    def order(self) -> Ids:
        """(n,) the items in a random order: among equal scores, lists take the first in it."""
        return self.rng("order of ties").permutation(len(self.items))

    def lists(self, users: AnyArray, items: AnyArray, known: Interactions) -> Ids:
        """(u, k) `metrics.top_k` with ties in a random order, which ids, often by popularity, would decide."""
        some = self.among(users, items, known)
        ranked = metrics.top_k(users, items[some], part_of(known, items=some), self.k)
        found: Ids = np.where(ranked >= 0, some[ranked], -1)
        return found

    def among(self, users: AnyArray, items: AnyArray, known: Interactions, more: Ids = NONE) -> Ids:
        """Items in a random order, without whose others no list of these users changes, with `more` among them."""
        found = shortlist(users, items, known, self.k + 1)  # one more shows a tie that goes on
        if found is None:
            return self.order
        kept = np.zeros(len(items), bool)
        kept[found] = kept[more] = True
        return self.order[kept[self.order]]

    @cached_property
    def norms(self) -> Float:
        """(n,) lengths of the items."""
        return np.asarray(geometry.norm(self.items), dtype=np.float64)

    @cached_property
    def unevenness(self) -> float:
        """The largest relative distance of an item's length from the median."""
        return uneven(self.norms)

    @cached_property
    def on_sphere(self) -> bool:
        """Whether all items have one length, up to half precision."""
        return self.unevenness <= SPHERE_TOLERANCE

    @cached_property
    def unit(self) -> AnyArray:
        """(n, d) the items, each divided by its length."""
        rows: AnyArray = self.items / self.norms[:, None].astype(self.items.dtype)
        return rows

    @cached_property
    def chosen(self) -> Ids:
        """Ids of the items among which neighbours are looked for: all, or CANDIDATES drawn at random."""
        n = len(self.items)
        return np.arange(n) if n <= CANDIDATES else np.sort(self.rng("candidates").choice(n, CANDIDATES, replace=False))

    @cached_property
    def part(self) -> AnyArray:
        """(c, d) the rows of the chosen items."""
        rows: AnyArray = self.items if len(self.chosen) == len(self.items) else self.items[self.chosen]
        return rows

    @cached_property
    def queries(self) -> Ids:
        """Places in `part` of the items whose neighbours are looked for."""
        size = len(self.part)
        return self.rng("queries").choice(size, min(QUERIES, size), replace=False)

    @cached_property
    def neighbours(self) -> Ids:
        """(q, k) places in `part` of the nearest others by cosine, for each query."""
        return nearest(self.part, self.k, self.queries)

    @cached_property
    def triangles(self) -> tuple[Float, Float | None]:
        """`reduced` items, and users."""
        return reduced(self.items), None if self.users is None else reduced(self.users)

    @cached_property
    def cold(self) -> dict[str, int]:
        """How much of the model no training pair supports: items, and of the held-out pairs users, their pairs, pairs.

        items_without_pair needs counts; the others training and held-out pairs.
        """
        found = {} if self.counts is None else {"items_without_pair": int((self.counts == 0).sum())}
        if self.pairs is not None and self.held_out is not None:
            new = (self.pairs.row_counts == 0) & (self.held_out.row_counts > 0)
            found["held_out_users_without_training"] = int(new.sum())
            found["held_out_pairs_of_such_users"] = int(self.held_out.row_counts[new].sum())
            found["held_out_pairs_of_items_without_pair"] = int((self.pairs.col_counts[self.held_out.items] == 0).sum())
        return found

    @cached_property
    def leak(self) -> float | None:
        """Mean share of the training pairs that are later than a held-out pair; None without times that differ."""
        train, test = self.pairs, self.held_out
        if train is None or test is None or train.times is None or test.times is None or not len(test):
            return None
        if not np.ptp(np.concatenate([train.times, test.times])):
            return None
        earlier = np.searchsorted(np.sort(train.times), test.times, side="right")
        return float(1 - earlier.mean() / max(1, len(train)))

    @property
    def by_time(self) -> bool:
        """Whether the held-out pairs are known to be later than the training pairs."""
        return self.leak is not None and self.leak < LEAK

    @cached_property
    def counts_vary(self) -> bool:
        """Whether there are counts, and not all equal."""
        return self.counts is not None and bool(np.ptp(self.counts) > 0)

    @cached_property
    def row_axis(self) -> Axis | None:
        """The popularity direction of the items as they are: what a dot product sees."""
        return self._axis(self.items)

    @cached_property
    def unit_axis(self) -> Axis | None:
        """The popularity direction of the items' directions: what a cosine sees."""
        return self.row_axis if self.on_sphere else self._axis(self.unit)

    def _axis(self, items: AnyArray) -> Axis | None:
        """None without counts that vary, for few items, and where head and tail have one mean."""
        if self.counts is None or not self.counts_vary or len(items) < FEWEST_ITEMS:
            return None
        rng, counts = self.rng("axis"), self.counts
        if len(items) > AXIS_ITEMS:
            some = rng.choice(len(items), AXIS_ITEMS, replace=False)
            items, counts = items[some], counts[some]
        try:
            found = [popularity.cross_fitted_correlation(items, counts, rng=rng) for _ in range(SPLITS)]
            chance = [
                popularity.cross_fitted_correlation(items, rng.permutation(counts), rng=rng) for _ in range(SHUFFLES)
            ]
        except ValueError:  # a head and a tail that agree, or projections without a spread: there is no direction
            return None
        return Axis(float(np.mean(found)), float(np.sqrt(np.mean(np.square(chance)))), len(items))


def uneven(lengths: AnyArray) -> float:
    """The largest relative distance of a length from the median."""
    return float(np.abs(lengths / np.median(lengths) - 1).max())


def nearest(rows: AnyArray, k: int, queries: Ids) -> Ids:
    """(q, k) `gauge.neighbours` by cosine, of the compiled ranking: k + 1 of each, and then the others than its own."""
    unit = geometry.normalise(rows)
    found = metrics.top_k(unit[queries], unit, no_pairs(len(queries), len(unit)), k + 1)
    own = found == queries[:, None]
    own[~own.any(axis=1), -1] = True  # so many rows have its direction that it is not listed
    others: Ids = found[~own].reshape(len(queries), k)
    return others


def no_pairs(users: int, items: int) -> Interactions:
    """The pairs of so many users who know nothing."""
    return Interactions(NONE, NONE, n_users=users, n_items=items)


def reduced(table: AnyArray) -> Float:
    """At most k rows with the Gramian, and so the singular values, of (n, k), by QR in blocks, in float64."""
    width = table.shape[1]
    kept, step = np.zeros((0, width)), max(width, BLOCK // width)
    for start in range(0, len(table), step):
        kept = np.asarray(np.linalg.qr(np.concatenate([kept, table[start : start + step]]), mode="r"))
    return kept


def part_of(data: Interactions, users: Ids | None = None, items: Ids | None = None) -> Interactions:
    """The pairs of these users and these items alone, relabelled 0, 1, ... in their order; None: all of them."""
    rows, m = _relabelled(data.users, data.n_users, users)
    columns, n = _relabelled(data.items, data.n_items, items)
    kept = (rows >= 0) & (columns >= 0)
    times = None if data.times is None else data.times[kept]
    return Interactions(rows[kept], columns[kept], n_users=m, n_items=n, times=times)


def _relabelled(ids: Ids, size: int, some: Ids | None) -> tuple[Ids, int]:
    """The place of each id among some, -1 where it is none of them, and their number."""
    if some is None:
        return ids, size
    place = np.full(size, -1, dtype=np.int64)
    place[some] = np.arange(len(some))
    return place[ids], len(some)
