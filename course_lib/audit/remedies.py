"""What can be done to finished tables, and what it changes on held-out pairs.

Every remedy is a pair of new tables (`remedied`), ranked by their dot products. Differences are paired, user by user;
each comes with its 95 % interval, mean +- 1.96 standard errors. What one remedy is worth is one comparison of several:
an interval that just leaves out 0 is no discovery.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.audit.evidence import AnyArray, Evidence, Float, Ids, of_users
from course_lib.data import metrics
from course_lib.maths import geometry, popularity

JUDGED_USERS, FEWEST_USERS = 2_000, 400  # lists are made for so many users with a held-out pair, drawn at random
SCORES = 4e8  # for as few as FEWEST_USERS where the lists of more would take more scores than these
SHIFTS = (-1.0, -0.5, -0.2, 0.2, 0.5, 1.0)  # of one global shift, in units of the users' median length
NEGATIVES, RIDGE = 8, 0.01  # of DDC: random negatives for each positive, and its ridge
SIDES = 1.96  # standard errors on each side of a 95 % interval
Tables = tuple[AnyArray, AnyArray]


@dataclass(frozen=True)
class Effect:
    """One remedy on the held-out pairs: NDCG at k before and after, the mean difference with its 95 % interval.

    popularity_before, popularity_after: AvgPop, the mean count of what is shown; users: how many lists.
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

    @property
    def gain(self) -> float:
        """The difference against the value before."""
        return self.difference / self.before if self.before else math.inf * np.sign(self.difference)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


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
        self.pairs, self.held_out = (of_users(data, self.chosen) for data in (evidence.pairs, evidence.held_out))
        self.counts = evidence.pairs.col_counts
        self.users, self.items = evidence.users[self.chosen], evidence.items.astype(evidence.users.dtype)

    @cached_property
    def start(self) -> tuple[Float, Float]:
        """NDCG and mean count of each user's list, as the tables are."""
        return self.judged((self.users, self.items))

    def judged(self, tables: Tables) -> tuple[Float, Float]:
        """(u,) NDCG at k and (u,) mean count of what is shown, for each of the users."""
        k = self.evidence.k
        ranked = metrics.top_k(*tables, self.pairs, k)
        found = metrics.metrics_from_ranking(ranked, self.held_out, (k,))
        shown = np.where(ranked >= 0, self.counts[ranked], 0).sum(axis=1) / np.maximum((ranked >= 0).sum(axis=1), 1)
        return found["per_user"][f"ndcg@{k}"], shown

    def effect(self, remedy: str, tables: Tables, part: Ids | None = None) -> Effect:
        """What new tables (of the chosen users, of all items) change; `part`: of these users only."""
        part = np.arange(len(self.chosen)) if part is None else part
        before, after = ([values[part] for values in judged] for judged in (self.start, self.judged(tables)))
        change = after[0] - before[0]
        error = float(change.std(ddof=1) / math.sqrt(len(change))) if len(change) > 1 else math.inf
        mean = float(change.mean())
        return Effect(
            remedy,
            before=float(before[0].mean()),
            after=float(after[0].mean()),
            difference=mean,
            low=mean - SIDES * error,
            high=mean + SIDES * error,
            popularity_before=float(before[1].mean()),
            popularity_after=float(after[1].mean()),
            users=len(change),
        )


def effects(bench: Bench) -> list[Effect]:
    """Every remedy that is one call, on the held-out pairs. The global shift is chosen on half of the users."""
    found = [bench.effect(name, remedied(name, bench)) for name in REMEDIES]
    return [*found, global_shift(bench)]


def remedied(name: str, bench: Bench) -> Tables:
    """The tables of one of REMEDIES."""
    return REMEDIES[checking.choice(name, "remedy", REMEDIES)](bench)


def multiply_back(bench: Bench) -> Tables:
    """Score + temperature log(probability of the item in a slot), as one more column of both tables.

    After in-batch softmax without logQ the score learns log(chance of the pair) - log(popularity): this puts it back.
    The temperature is that of the training, 1 where it is not known.
    """
    temperature = bench.evidence.training.temperature or 1.0
    chance = np.log(np.maximum(bench.counts, 1) / bench.counts.sum())
    column = (temperature * chance)[:, None].astype(bench.items.dtype)
    ones = np.ones((len(bench.users), 1), bench.users.dtype)
    return np.concatenate([bench.users, ones], axis=1), np.concatenate([bench.items, column], axis=1)


def normalise(bench: Bench) -> Tables:
    """Items of length 1: the lists of a cosine."""
    return bench.users, geometry.normalise(bench.items)


def divide_by_popularity(bench: Bench) -> Tables:
    """Items divided by the fourth root of their count, at least 1: the far slope of the quartic law."""
    return bench.users, bench.items / (np.maximum(bench.counts, 1)[:, None] ** 0.25).astype(bench.items.dtype)


def centre_and_normalise(bench: Bench) -> Tables:
    """Items less their mean, then of length 1. Centring alone changes no list by dot product."""
    centred = bench.items - bench.items.mean(axis=0)
    lengths = np.maximum(geometry.norm(centred), np.finfo(centred.dtype).tiny)
    return bench.users, centred / lengths[:, None]


REMEDIES: dict[str, Callable[[Bench], Tables]] = {
    "multiply back": multiply_back,
    "normalise the items": normalise,
    "divide by the fourth root of popularity": divide_by_popularity,
    "centre, then normalise": centre_and_normalise,
}


def global_shift(bench: Bench) -> Effect:
    """One shift of all users along the popularity direction: the best of SHIFTS on half of them, judged on the rest."""
    half = bench.evidence.rng("halves of users").permutation(len(bench.chosen)) % 2 == 0
    direction = popularity.popularity_direction(bench.items, bench.counts)
    unit = float(np.median(geometry.norm(bench.users)))
    shifted = [(bench.users + np.asarray(shift * unit * direction, bench.users.dtype), bench.items) for shift in SHIFTS]
    scores = [float(bench.judged(tables)[0][half].mean()) for tables in shifted]
    best = int(np.argmax(scores))
    others = np.flatnonzero(~half)
    return bench.effect(f"shift all users by {SHIFTS[best]:+g} along popularity", shifted[best], others)


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
    """`course_lib.models.debiasing.DDC`, solved for the chosen users with a small ridge; its directions are theirs.

    Its popularity direction is that of the chosen users' pairs.
    """
    from course_lib.models.debiasing import DDC

    rng = bench.evidence.rng("ddc")
    model = DDC(bench.users, bench.items, bench.pairs)
    without = model.solve(NEGATIVES, rng=rng)
    model.solve(NEGATIVES, ridge=RIDGE, rng=rng)
    alpha, beta = (scalars.detach().numpy().astype(np.float64) for scalars in (model.alpha, model.beta))
    push = alpha + beta * (model.pref.numpy().astype(np.float64) @ model.pop.numpy())
    tables = model.final_users().detach().numpy(), bench.items
    effect = bench.effect("DDC", tables)
    shares = 1 - len(without) / len(alpha), float((push > 0).mean())
    return Correction(effect, *shares, float(np.median(alpha)), float(np.median(beta)))
