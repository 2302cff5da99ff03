"""What can be done to finished tables, and what it changes on held-out pairs.

Every remedy is a pair of new tables, ranked by their dot products: `remedied` makes them for any users. Differences are
paired, user by user; each comes with its 95 % interval, mean +- 1.96 standard errors. What one remedy is worth is one
comparison of several: an interval that just leaves out 0 is no discovery. Where scores are equal, NDCG is the mean over
their orders, and what is shown has a random one: ids, which often follow popularity, decide nothing.

What is advised (`Effect.advisable`): a remedy that was measured to help, by SURE standard errors, as one comparison of
several, and that stays personal. A remedy stays personal where less than PERSONAL of a list stands in the list of the
most popular items for the same user, and where the lists together show at least KEPT of the items that they showed. Of
RECENT_HITS, less than PERSONAL may stand in the list of recent hits, too.

What is a fault (`weighed`): a verdict that such changes would repair is one only where they were measured to repair it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from course_lib import checking, geometry, hits, metrics, popularity
from course_lib.audit.evidence import AnyArray, Evidence, Float, Ids, part_of
from course_lib.audit.verdicts import Answer, Picture
from course_lib.correction import Frozen

JUDGED_USERS, FEWEST_USERS = 2_000, 400  # lists are made for so many users with a held-out pair, drawn at random
SCORES = 4e8  # for as few as FEWEST_USERS where the lists of more would take more scores than these
SHIFTS = {  # one global shift, in units of the users' median length
    f"shift all users by {shift:+g} along popularity": shift for shift in (-1.0, -0.5, -0.2, 0.2, 0.5, 1.0)
}
BACK, LOGQ, CORRECTION = "multiply back", "logQ at serving", "DDC"
NORMALISE, DIVIDE = "normalise the items", "divide by the fourth root of popularity"
CENTRE = "centre, then normalise"
RECENT_HITS = "recent hits at serving"
YOUNGEST = (0.01, 0.03, 0.1, 0.3)  # half-lives to try: the ages up to which there are so many of the training pairs
WEIGHTS = (0.125, 0.25, 0.5, 1.0, 2.0)  # to try, in units of the spread of the scores; half-lives with the middle one
POPULAR, LATELY, RANDOM = "most popular", "popular lately", "random"  # no remedies, but lists that need no tables
RECENT = 0.1  # the share of the training pairs, latest in time, that LATELY counts
NEGATIVES, RIDGE = 8, 0.01  # of DDC: random negatives for each positive, and its ridge
SIDES = 1.96  # standard errors on each side of a 95 % interval
SURE = 2.74  # standard errors: two-sided 5 % for eight remedies together, by Bonferroni
PERSONAL = 0.5  # a list with this share of most popular items, or more, is no longer personal
KEPT = 0.5  # of the items that the lists show together
BINS = 10  # of a drawing by popularity
GAIN = 0.05  # of NDCG: from here on a change repairs so much that its lack is a fault
WORDS = {  # how advice names each remedy
    BACK: "multiply the scores by the item's popularity",
    LOGQ: "add temperature x log(popularity) to the scores when serving",
    NORMALISE: "normalise the items",
    DIVIDE: "divide the items by the fourth root of their counts",
    CENTRE: "centre the items, then normalise them",
    RECENT_HITS: "add weight x log(recent hits) to the scores when serving",
    CORRECTION: "correct each user by DDC",
}
REMEDIES = (BACK, LOGQ, NORMALISE, DIVIDE, CENTRE)
Tables = tuple[AnyArray, AnyArray]


class Judged(NamedTuple):
    """What one ranking gives each of u users: NDCG (u,), mean count of what is shown (u,), and the lists (u, k)."""

    ndcg: Float
    shown: Float
    lists: Ids

    def of(self, part: Ids) -> Judged:
        """Of these users only."""
        return Judged(self.ndcg[part], self.shown[part], self.lists[part])


@dataclass(frozen=True)
class Change:
    """A mean difference over users, with its 95 % interval."""

    difference: float
    low: float
    high: float

    @classmethod
    def of(cls, change: Float) -> Change:
        """Of the differences (u,) of the users."""
        error = float(change.std(ddof=1) / math.sqrt(len(change))) if len(change) > 1 else math.inf
        mean = float(change.mean())
        return cls(mean, mean - SIDES * error, mean + SIDES * error)


@dataclass(frozen=True)
class Effect:
    """One remedy on the held-out pairs: NDCG at k before and after, the mean difference with its 95 % interval.

    popularity_before, popularity_after: AvgPop, the mean count of what is shown; users: how many lists; overlap: mean
    share of a list that stands in the list of the most popular items for the same user; coverage: share of the items
    that the lists show together; gini: how unevenly the places are spread over the items; beyond: {POPULAR or LATELY:
    NDCG after, less that list's}. What has no lists of its own (RANDOM) has None, and nothing beyond. Of RECENT_HITS
    alone, chosen: {half_life: days, weight}, and overlap_recent: share of a list that stands in that of recent hits.
    """

    remedy: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    popularity_before: float
    popularity_after: float
    users: int
    overlap_before: float | None = None
    overlap_after: float | None = None
    coverage_before: float | None = None
    coverage_after: float | None = None
    gini_before: float | None = None
    gini_after: float | None = None
    beyond: dict[str, Change] = field(default_factory=dict)
    chosen: dict[str, float] = field(default_factory=dict)
    overlap_recent: float | None = None

    @property
    def gain(self) -> float:
        """The difference against the value before."""
        return self.difference / self.before if self.before else math.inf * np.sign(self.difference)

    @property
    def helps(self) -> bool:
        """Whether NDCG rises by SURE standard errors."""
        return self.difference > 0 and self.difference * SIDES >= SURE * (self.difference - self.low)

    @property
    def repairs(self) -> bool:
        """Whether it lifts NDCG by GAIN of its value or more, with an interval above 0: as one comparison alone."""
        return self.low > 0 and self.gain >= GAIN

    @property
    def personal(self) -> bool:
        """Whether the lists stay personal, by PERSONAL and KEPT; False where that was not measured."""
        if self.overlap_after is None or self.coverage_after is None or self.coverage_before is None:
            return False
        crowd = max(self.overlap_after, self.overlap_recent or 0)
        return crowd < PERSONAL and self.coverage_after >= KEPT * self.coverage_before

    @property
    def advisable(self) -> bool:
        """Whether it was measured to help and stays personal."""
        return self.helps and self.personal


class Bench:
    """A sample of the users with held-out pairs, on which remedies are measured. Needs users, pairs and held-out."""

    def __init__(self, evidence: Evidence) -> None:
        if evidence.users is None or evidence.pairs is None or evidence.held_out is None:
            raise ValueError("evidence has no users, pairs or held-out pairs; expected all three")
        able = np.flatnonzero((evidence.held_out.row_counts > 0) & (evidence.pairs.row_counts > 0))
        if not len(able):
            raise ValueError("held_out has no pair of a user with a training pair; expected one")
        size = int(min(len(able), JUDGED_USERS, max(FEWEST_USERS, SCORES / len(evidence.items))))
        drawn = evidence.rng("judged users").choice(len(able), size, replace=False)
        self.chosen: Ids = np.sort(able[drawn])
        self.evidence = evidence
        self.pairs, self.held_out = (part_of(data, self.chosen) for data in (evidence.pairs, evidence.held_out))
        self.training_pairs, self.counts = evidence.pairs, evidence.pairs.col_counts
        self.everybody, self.items = evidence.users, evidence.items.astype(evidence.users.dtype, copy=False)
        self.users = self.everybody[self.chosen]

    @cached_property
    def shift(self) -> tuple[float, Float]:
        """The median length of the users, and the (d,) popularity direction of the items."""
        unit = float(np.median(geometry.norm(self.users)))
        return unit, popularity.popularity_direction(self.items, self.counts)

    @cached_property
    def halves(self) -> tuple[Ids, Ids]:
        """Two halves of the users, at random: the first chooses among changes, the second judges the one chosen."""
        half = self.evidence.rng("halves of users").permutation(len(self.chosen)) % 2 == 0
        return np.flatnonzero(half), np.flatnonzero(~half)

    @cached_property
    def spread(self) -> float:
        """The median, over the users, of the standard deviation of a user's scores of the items."""
        users, mean = self.users.astype(np.float64), self.items.mean(axis=0, dtype=np.float64)
        squares = ((users @ self.evidence.triangles[0].T) ** 2).sum(axis=1) / len(self.items)
        return float(np.median(np.sqrt(np.maximum(squares - (users @ mean) ** 2, 0))))

    @cached_property
    def recent(self) -> dict[float, tuple[Float, Ids]]:
        """{half-life in days: log of each item's hits, counted by age, and the lists of these}.

        The half-lives are the ages of YOUNGEST, without those of 0. {} where the held-out pairs are not later than the
        training: recent hits would be those of a time that they do not know.
        """
        times, found = self.training_pairs.times, {}
        if not self.evidence.by_time or times is None or not len(times):
            return {}
        ages = times.max() - np.quantile(times, 1 - np.array(YOUNGEST))
        for days in dict.fromkeys(float(f"{age / hits.DAY:.3g}") for age in ages if age > 0):
            logs = np.log(hits.decayed_counts(self.training_pairs, days) + hits.FLOOR)
            found[days] = logs, self.judged((np.ones((len(self.users), 1)), logs[:, None])).lists
        return found

    @cached_property
    def added(self) -> dict[str, float]:
        """The half-life and the weight of RECENT_HITS that are best for half of the users; {} without half-lives.

        First the half-life, with the middle weight; then the weight, among those with which the lists stay personal if
        there are such. The tables know the training pairs, which so cannot tell how much to add to their scores.
        """
        if not self.recent:
            return {}
        weights = [float(f"{weight * self.spread:.3g}") for weight in WEIGHTS]
        tried = (self.with_recent(days, weights[len(weights) // 2], self.halves[0]) for days in self.recent)
        half_life = max(tried, key=lambda effect: effect.after).chosen["half_life"]
        tried = (self.with_recent(half_life, weight, self.halves[0]) for weight in weights)
        return max(tried, key=lambda effect: (effect.personal, effect.after)).chosen

    def with_recent(self, half_life: float, weight: float, part: Ids) -> Effect:
        """RECENT_HITS with this half-life and weight, for these users only."""
        logs, alone = self.recent[half_life]
        after = self.judged(add_column(self.users, self.items, logs, weight), part)
        effect = self.compared(RECENT_HITS, after, part)
        shared = None if effect.overlap_after is None else metrics.overlap(after.lists, alone[part])
        return replace(effect, chosen={"half_life": half_life, "weight": weight}, overlap_recent=shared)

    def uncorrected(self, users: Ids) -> Frozen:
        """The tables of these users, who have a training pair; their popularity is that of their pairs."""
        return Frozen.of(self.everybody[users], self.items, part_of(self.training_pairs, users))

    @cached_property
    def correction(self) -> tuple[Frozen, Float, Float, int]:
        """DDC on the bench's users: the tables, alpha, beta, and how many have no minimiser without a ridge."""
        model, rng = self.uncorrected(self.chosen), self.evidence.rng("ddc")
        without = model.solve(NEGATIVES, rng=rng)[2]
        alpha, beta, _ = model.solve(NEGATIVES, ridge=RIDGE, rng=rng)
        return model, alpha, beta, len(without)

    @property
    def corrected(self) -> AnyArray:
        """(u, d) the bench's users after DDC."""
        model, alpha, beta, _ = self.correction
        return model.served(alpha, beta)

    @cached_property
    def start(self) -> Judged:
        """What the tables give as they are."""
        return self.judged((self.users, self.items))

    @cached_property
    def hits(self) -> dict[str, Judged]:
        """{POPULAR, and LATELY where the training pairs have times}: what the lists of hits give, without the known."""
        ones = np.ones((len(self.users), 1))
        counted = {POPULAR: self.counts.astype(np.float64)}
        times = self.training_pairs.times
        if times is not None and len(times) and times.min() < times.max():
            counted[LATELY] = metrics.popularity_scores(self.training_pairs, lately=RECENT)
        return {name: self.judged((ones, counts[:, None])) for name, counts in counted.items()}

    def judged(self, tables: Tables, part: Ids | None = None) -> Judged:
        """NDCG at k, the mean count of what is shown, and the list of each of the users; `part`: of these alone."""
        k, (users, items), train, test = self.evidence.k, tables, self.pairs, self.held_out
        if part is not None:
            users, train, test = users[part], part_of(train, part), part_of(test, part)
        some = self.evidence.among(users, items, train, test.items)
        parts = part_of(train, items=some), part_of(test, items=some)
        ranked, found = metrics.lists_and_metrics(users, items[some], *parts, k)
        lists = np.where(ranked >= 0, some[ranked], -1)
        shown = np.where(ranked >= 0, self.counts[lists], 0).sum(axis=1)
        return Judged(found["per_user"][f"ndcg@{k}"], shown / np.maximum((ranked >= 0).sum(axis=1), 1), lists)

    def effect(self, remedy: str, tables: Tables, part: Ids | None = None) -> Effect:
        """What new tables (of the chosen users, of all items) change; `part`: of these users only."""
        return self.compared(remedy, self.judged(tables, part), part)

    def compared(self, remedy: str, after: Judged, part: Ids | None = None) -> Effect:
        """The effect of a ranking against that of the tables as they are; `part`: of these users, who alone have it."""
        part = np.arange(len(self.chosen)) if part is None else part
        before = self.start.of(part)
        effect = _effect(remedy, before.ndcg, after.ndcg, before.shown, after.shown)
        beyond = {name: Change.of(after.ndcg - hits.ndcg[part]) for name, hits in self.hits.items()}
        kinds = {"before": before.lists, "after": after.lists}
        shown: dict[str, Any] = {
            f"{name}_{when}": value for when, lists in kinds.items() for name, value in self._of(lists, part)
        }
        return replace(effect, beyond=beyond, **shown)

    def _of(self, lists: Ids, part: Ids) -> Iterator[tuple[str, float]]:
        """What lists of these users show, beside what is popular."""
        if not (lists >= 0).any():
            return  # of users who know all items
        yield "overlap", metrics.overlap(lists, self.hits[POPULAR].lists[part])
        yield "coverage", metrics.coverage(lists, len(self.counts))
        yield "gini", metrics.gini(lists, len(self.counts))


def _effect(remedy: str, before: Float, after: Float, shown_before: Float, shown_after: Float) -> Effect:
    """The effect from NDCG and mean count of each user's list, before and after."""
    change = Change.of(after - before)
    first, last, shown, shown_last = (float(each.mean()) for each in (before, after, shown_before, shown_after))
    return Effect(remedy, first, last, change.difference, change.low, change.high, shown, shown_last, len(before))


def weighed(found: bool, repairs: Iterable[Effect]) -> Answer:
    """The answer where something was found that these changes of the finished tables would repair, or nothing was.

    A fault where one of them does (`Effect.repairs`). Else it is noted: the pairs show no harm that can be mended, or
    nothing could be measured, and a pipeline is not to stop for what costs nothing.
    """
    if not found:
        return "fine"
    return "fault" if any(effect.repairs for effect in repairs) else "noted"


def drawn(title: str, k: int, effects: Sequence[Effect]) -> Picture:
    """The differences of some effects, with their intervals."""
    columns: dict[str, list[Any]] = {"remedy": [each.remedy for each in effects]}
    columns |= {name: [getattr(each, name) for each in effects] for name in ("difference", "low", "high")}
    return Picture(title, "points", "remedy", f"NDCG@{k}, difference", columns)


def by_popularity(title: str, x: str, y: str, popularity: Float, series: Mapping[str, Float]) -> Picture:
    """The medians of each series over BINS groups of like popularity."""
    groups = [ids for ids in np.array_split(np.argsort(popularity, kind="stable"), BINS) if len(ids)]
    columns = {
        name: [float(np.median(values[ids])) for ids in groups] for name, values in {x: popularity, **series}.items()
    }
    return Picture(title, "line", x, y, columns, log_x=True)


def baselines(bench: Bench) -> list[Effect]:
    """Lists that need no tables, against those of the tables, without the items that a user knows.

    POPULAR: the items with the most training pairs. LATELY: with the most of the latest RECENT of them, where there are
    times. RANDOM: the mean over all lists.
    """
    unknown = len(bench.counts) - bench.pairs.row_counts
    wanted, gains = bench.held_out.row_counts, np.cumsum(1 / np.log2(np.arange(bench.evidence.k) + 2))
    earned, best = (gains[np.minimum(most, len(gains)) - 1] for most in (unknown, wanted))
    chance = wanted * earned / (unknown * best)  # any unknown item is at any place as likely as another
    left = (bench.counts.sum() - bench.pairs.matrix @ bench.counts) / np.maximum(unknown, 1)
    popular = [bench.compared(name, found) for name, found in bench.hits.items()]
    return [*popular, _effect(RANDOM, bench.start.ndcg, chance, bench.start.shown, left)]


def beside(baselines: Sequence[Effect]) -> str:
    """The sentence that stands beside NDCG: what the lists of `baselines` have on the same users; "" without them."""
    if not baselines:
        return ""
    by_name = {effect.remedy: effect for effect in baselines}
    popular = by_name[POPULAR]
    lately = f", the items that were popular lately {by_name[LATELY].after:.4f}" if LATELY in by_name else ""
    return (
        f"The most popular items have {popular.after:.4f} on the same {popular.users:,} users, without those that a "
        f"user knows (difference from the tables {popular.difference:+.4f}, 95 % interval {popular.low:+.4f} to "
        f"{popular.high:+.4f}){lately}, random items {by_name[RANDOM].after:.4f}."
    )


def effects(bench: Bench) -> list[Effect]:
    """Every remedy of REMEDIES, on the held-out pairs."""
    return [bench.effect(name, remedied(name, bench, measured=True)) for name in REMEDIES]


def remedied(name: str, bench: Bench, *, measured: bool = False) -> Tables:
    """The tables (users, items) of one of REMEDIES, SHIFTS, RECENT_HITS or CORRECTION; measured: for the bench's users.

    The users of the bench get the very rows that are measured. The others are changed by the same rule: as far along
    popularity, and by DDC with the same popularity direction; DDC leaves users without a training pair as they are.
    Raises ValueError for another name.
    """
    users = bench.users if measured else bench.everybody
    if name == RECENT_HITS and bench.added:
        return add_column(users, bench.items, bench.recent[bench.added["half_life"]][0], bench.added["weight"])
    checking.choice(name, "remedy", (*REMEDIES, *SHIFTS, CORRECTION))
    if name == CORRECTION:
        return bench.corrected if measured else _all_corrected(bench), bench.items
    if name in SHIFTS:
        unit, direction = bench.shift
        return users + np.asarray(SHIFTS[name] * unit * direction, users.dtype), bench.items
    counts = np.maximum(bench.counts, 1.0)
    if name == LOGQ:  # in-batch softmax without logQ learns log(chance of the pair) - log(popularity): put it back
        tau = bench.evidence.training.temperature or 1.0
        return add_column(users, bench.items, tau * np.log(counts / bench.counts.sum()))
    return users, _changed(name, bench.items, counts[:, None])


def add_column(users: AnyArray, items: AnyArray, values: Float, weight: float = 1.0) -> Tables:
    """Score + weight x the value (n,) of the item: one more column of both tables."""
    weights, column = np.full((len(users), 1), weight, users.dtype), values[:, None].astype(items.dtype)
    return np.concatenate([users, weights], axis=1), np.concatenate([items, column], axis=1)


def _changed(name: str, items: AnyArray, counts: Float) -> AnyArray:
    """The items after a remedy that leaves the users as they are; counts (n, 1), at least 1."""
    changed: AnyArray
    if name == BACK:  # what a square loss over in-batch pairs has divided out (thm-multiply-back)
        changed = items * counts.astype(items.dtype)
    elif name == DIVIDE:  # the far slope of the quartic law
        changed = items / (counts**0.25).astype(items.dtype)
    elif name == NORMALISE:  # the lists of a cosine
        changed = geometry.normalise(items)
    else:  # CENTRE: centring alone changes no list by dot product
        centred = items - items.mean(axis=0)
        changed = centred / np.maximum(geometry.norm(centred), np.finfo(centred.dtype).tiny)[:, None]
    return changed


def global_shift(bench: Bench) -> Effect:
    """One shift of all users along the popularity direction: the best of SHIFTS on half of them, judged on the rest.

    Raises ValueError where head and tail have the same mean.
    """
    some, others = bench.halves
    shifted = {name: remedied(name, bench, measured=True) for name in SHIFTS}
    scores = {name: float(bench.judged(tables, some).ndcg.mean()) for name, tables in shifted.items()}
    best = max(scores, key=lambda name: scores[name])
    return bench.effect(best, shifted[best], others)


def recent_hits(bench: Bench) -> Effect | None:
    """The logarithm of recent hits added to the scores, as half of the users chose (`Bench.added`), judged on the rest.

    None where the pairs are not split by time, or almost all training pairs have the latest.
    """
    return bench.with_recent(**bench.added, part=bench.halves[1]) if bench.added else None


@dataclass(frozen=True)
class Correction:
    """DDC on the chosen users: its effect, the share of users with a minimiser, and the sign of the net push.

    pushed_up: share of users whose head items rise against the tail, ||v|| (alpha + beta <e_pref, e_pop>) > 0; alpha,
    beta: their medians.
    """

    effect: Effect
    with_minimiser: float
    pushed_up: float
    alpha: float
    beta: float


def ddc(bench: Bench) -> Correction:
    """P1's correction, solved for the chosen users with a small ridge; its directions are those of their pairs."""
    model, alpha, beta, without = bench.correction
    push = alpha + beta * (model.pref.astype(np.float64) @ model.pop)
    effect = bench.effect(CORRECTION, remedied(CORRECTION, bench, measured=True))
    shares = 1 - without / len(alpha), float((push > 0).mean())
    return Correction(effect, *shares, float(np.median(alpha)), float(np.median(beta)))


def _all_corrected(bench: Bench) -> AnyArray:
    """(m, d) all users after DDC: those of the bench as measured, the others with its popularity direction."""
    table, able = bench.everybody.copy(), np.flatnonzero(bench.training_pairs.row_counts > 0)
    if len(able) > len(bench.chosen):
        model = replace(bench.uncorrected(able), pop=bench.correction[0].pop)
        alpha, beta, _ = model.solve(NEGATIVES, ridge=RIDGE, rng=bench.evidence.rng("ddc"))
        table[able] = model.served(alpha, beta)
    table[bench.chosen] = bench.corrected
    return table
