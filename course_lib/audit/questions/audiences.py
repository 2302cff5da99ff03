"""What each table alone, and each row alone, says of the pairs: for `belonging`, where no other order of all rows wins.

The audience of an id is the mean of the other table's rows in some of its pairs, less the mean over all ids. A trained
row lies nearer its audience than a stranger's row does, whatever the popularity of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from course_lib.audit.evidence import AnyArray, Float, Ids
from course_lib.interactions import Interactions

IDS, FEWEST_PAIRS = 2_000, 10  # ids whose audiences are looked at, drawn at random of those with so many pairs
PAIRS = 100 * IDS  # of theirs, at random
ALIKE, STRANGERS = 20, 20  # ids of like counts; times that each id gets a row of one of them
BELOW, ASTRAY = 0.25, 0.05  # a row beaten by 3 of 4 strangers; so many such ids, where SOUND know theirs: a fault
ABOVE, SOUND, FLAT = 0.95, 0.3, 0.65  # of strangers' rows as many are beaten by a quarter of the others as by the next
STEPS, BLOCKS, IN_BLOCK = 50, 20, 20  # rows by which a part of a table may be off; parts, and ids in each at least
NEAREST, AGREED, AGREED_SHARE, KNOWN = 500, 12, 0.04, 0.75  # ids looked for; how many agree; strangers that theirs beat
SURE = 5.0  # standard errors
SWAPS = 20_000


def strangers_rows(counts: Ids, rng: np.random.Generator, some: Ids | None = None) -> Iterator[Ids]:
    """STRANGERS times the row of another id for each id (or for some), one of ALIKE with the most similar counts."""
    n = len(counts)
    size = min(ALIKE, n)
    order = np.lexsort((rng.random(n), counts))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    place = place if some is None else place[some]
    first = np.minimum(place // size * size, n - size)
    for _ in range(STRANGERS):
        yield order[first + (place - first + rng.integers(1, max(2, size), len(place))) % size]


@dataclass(frozen=True)
class Side:
    """One table (n, d) and the other (m, d), the row of each in N pairs, and the number of pairs of each row (n,)."""

    table: AnyArray
    other: AnyArray
    own: Ids
    partners: Ids
    counts: Ids
    rng: np.random.Generator

    @cached_property
    def audiences(self) -> tuple[Ids, Float]:
        """(c,) ids in the order of their rows, and (c, d) the audience of each."""
        able = np.flatnonzero(self.counts >= FEWEST_PAIRS)
        some = np.sort(self.rng.choice(able, min(IDS, len(able)), replace=False))
        place = np.full(len(self.counts), -1, dtype=np.int64)
        place[some] = np.arange(len(some))
        kept = np.flatnonzero(place[self.own] >= 0)
        kept = kept if len(kept) <= PAIRS else self.rng.choice(kept, PAIRS, replace=False)
        rows = place[self.own[kept]]
        shape = (len(some), len(self.other))
        matrix = sparse.csr_array((np.ones(len(kept)), (rows, self.partners[kept])), shape)
        times = np.bincount(rows, minlength=len(some))
        found = np.flatnonzero(times)
        means = (matrix @ self.other)[found] / times[found, None]
        return some[found], means - means.mean(axis=0) if len(found) else means

    @cached_property
    def known(self) -> Float:
        """(c,) share of strangers whose row is farther from the audience than the id's own, in inner products."""
        ids, means = self.audiences
        won = np.zeros(len(ids))
        for rows in strangers_rows(self.counts, self.rng, ids):
            gain = np.einsum("cd,cd->c", means, self.table[ids] - self.table[rows])
            won += (gain > 0) + 0.5 * (gain == 0)
        return won / STRANGERS

    def astray(self) -> float:
        """The share of the rows that are strangers', where the others know their audiences; else 0.

        Of a row at random, a quarter of the strangers' win three times of four: so many ids are counted four times.
        Rows that have an equal are left out: an item without known words, or one that was never trained, has the row of
        others like it, and another question asks for them.
        """
        known = self.known[~self.copied[self.audiences[0]]]
        if len(known) < FEWEST_PAIRS * ALIKE:
            return 0.0
        low, middle = (float(((start <= known) & (known < start + BELOW)).mean()) for start in (0, 2 * BELOW))
        graded = low < FLAT * middle  # hardly trained rows: few are beaten by most strangers, more by fewer
        sound = float((known >= ABOVE).mean()) >= SOUND
        return 0.0 if low < ASTRAY or graded or not sound else min(1.0, low / BELOW)

    def elsewhere(self) -> tuple[int, int, int]:
        """(by how many rows the most of some ids are off, how many are, of how many): where their audience is nearest.

        Nearest by cosine among all rows. (0, 0, n) where no more ids agree on a step than chance makes agree, or where
        those that do know their own rows too, as those of items of which the table has two like ones.
        """
        ids, means = self.audiences
        some = np.sort(self.rng.permutation(len(ids))[:NEAREST])
        rows = self.table - self.table.mean(axis=0)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
        nearest = [int((rows @ mean).argmax()) for mean in means[some].astype(rows.dtype)]
        steps = np.array(nearest, dtype=np.int64) - ids[some]
        values, times = np.unique(steps[steps != 0], return_counts=True)
        chance = max(1.0, len(some) / len(rows))
        if not len(times) or times.max() < max(AGREED, 3 * chance, AGREED_SHARE * len(some)):
            return 0, 0, len(some)
        step = int(values[times.argmax()])
        lost = float(self.known[some[steps == step]].mean()) < KNOWN
        return (step, int(times.max()), len(some)) if lost else (0, 0, len(some))

    @cached_property
    def copied(self) -> NDArray[np.bool_]:
        """(n,) whether a row of the table has an equal, by their places on a random line."""
        places = self.table @ self.rng.standard_normal(self.table.shape[1])
        _, first, times = np.unique(places, return_inverse=True, return_counts=True)
        found: NDArray[np.bool_] = times[first] > 1
        return found

    def steps(self) -> list[int]:
        """By how many rows each part of the table is off, in the order of its rows, where that can be told."""
        ids, means = self.audiences
        found, n = [], len(self.table)
        ways = [step for step in range(-min(STEPS, n - 1), min(STEPS, n - 1) + 1) if step]
        if len(ids) < 2 * IN_BLOCK:
            return []
        for block in np.array_split(np.arange(len(ids)), min(BLOCKS, len(ids) // IN_BLOCK)):
            left = means[block] / np.maximum(np.linalg.norm(means[block], axis=1), 1e-30)[:, None]
            own = np.einsum("cd,cd->c", left, self.table[ids[block]])
            moved = np.stack([np.einsum("cd,cd->c", left, self.table[(ids[block] + step) % n]) for step in ways])
            best = int(moved.mean(axis=1).argmax())
            if ahead(moved[best] - own, SURE) and ahead(
                moved[best] - np.delete(moved, best, axis=0).mean(axis=0), SURE
            ):
                found.append(ways[best])
            elif own.mean() > moved[best].mean() and ahead(own - moved.mean(axis=0), SURE):
                found.append(0)
        return found

    def drifts(self) -> bool:
        """Whether parts of the table are off by more and more rows, as can be told of a quarter of the parts."""
        steps = self.steps()
        changes = {np.sign(after - before) for before, after in pairwise(steps)} - {0}
        parts = min(BLOCKS, len(self.audiences[0]) // IN_BLOCK)
        return 4 * len(steps) >= parts and len(changes) == 1 and sum(step != 0 for step in steps) > 1

    def coherence(self) -> float:
        """How much more alike rows that share a partner are than strangers' rows, in standard deviations over these.

        By <i - k, j - l> > 0: i and j have one partner, k and l another. What belongs to one row alone, such as
        popularity, cancels.
        """
        order = np.argsort(self.partners, kind="stable")
        own, times = self.own[order], np.bincount(self.partners, minlength=len(self.other))
        first, able = np.cumsum(times) - times, np.flatnonzero(times > 1)
        if len(able) < 2:
            return 0.0
        drawn = self.rng.choice(able, (2, SWAPS)).repeat(2, axis=0)
        i, j, k, l = own[first[drawn] + self.rng.integers(0, times[drawn])]  # noqa: E741
        apart = (i != j) & (k != l) & (i != k) & (i != l) & (j != k) & (j != l)
        i, j, k, l = i[apart], j[apart], k[apart], l[apart]  # noqa: E741

        def share(rows: Ids | slice) -> float:
            table = self.table[rows]
            gain = np.einsum("sd,sd->s", table[i] - table[k], table[j] - table[l])
            return float(((gain > 0) + 0.5 * (gain == 0)).mean())

        others = [share(rows) for rows in strangers_rows(self.counts, self.rng)]
        return float((share(slice(None)) - np.mean(others)) / max(float(np.std(others, ddof=1)), 1e-9))


def sides(users: AnyArray, items: AnyArray, pairs: Interactions, rng: np.random.Generator) -> dict[str, Side]:
    """{"user": the side of the users, "item": of the items}."""
    return {
        "user": Side(users, items, pairs.users, pairs.items, pairs.row_counts, rng),
        "item": Side(items, users, pairs.items, pairs.users, pairs.col_counts, rng),
    }


def related(users: AnyArray, items: AnyArray, turns: list[AnyArray]) -> bool:
    """Whether the tables were trained together: their Gramians agree, surely more than after these rotations.

    Of centred rows and less their mean eigenvalue. It asks for no pair: rows in any order have the same Gramian.
    """
    left, right = (_shape(table) for table in (users, items))
    chance = [float((left * (turn.T @ right @ turn)).sum()) for turn in turns]
    return float((left * right).sum() - np.mean(chance)) > max(SURE * float(np.std(chance, ddof=1)), 1e-9)


def _shape(table: AnyArray) -> Float:
    mean = table.mean(axis=0, dtype=np.float64)
    gram = np.asarray(table.T @ table, dtype=np.float64) - len(table) * np.outer(mean, mean)
    gram -= np.eye(len(gram)) * np.trace(gram) / len(gram)
    shape: Float = gram / max(float(np.linalg.norm(gram)), 1e-30)
    return shape


def ahead(change: Float, errors: float) -> bool:
    """Whether the mean of these differences is above 0 by so many of its standard errors."""
    return bool(change.mean() > errors * change.std(ddof=1) / np.sqrt(len(change))) if len(change) > 1 else False
