"""Models whose faults are known: clean ones, and one plant for each verdict of the audit, at three strengths.

What a clean model is, of either kind: the directions of its rows have no pattern; its pairs are drawn from its own
scores and from a popularity of the items that no vector knows; its loss is unbiased. "On the sphere" every item has
length 1. Off it the lengths differ, by a factor of about two and a half between the shortest and the longest twentieth;
a longer item divides the users more sharply, and is chosen no more often in all. (A user takes an item once, so it is
even chosen a little less often: log length and log count correlate by -.12, seeds 0 to 19.) There the two tables are
balanced, as equal weight decay makes them: of other gauges a table off the sphere cannot be acquitted.

Some faults bring others with them: `IMPLIED`. Thresholds were settled on seeds from 1000 on; strengths and `IMPLIED` on
these and on seeds 0 to 19. What is reported comes from others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import gauge, geometry, popularity
from course_lib.audit import Comparison, Report, Training, audit, example, report_of
from course_lib.interactions import Interactions

Rows = NDArray[Any]
USERS, ITEMS, WIDTH, PAIRS = 300, 600, 32, 25
SHARPNESS = 8.0  # length of the users: the chance of an item is proportional to its popularity times exp(score)
LENGTHS = 0.28  # standard deviation of the log length, off the sphere
STRENGTHS = (0, 1, 2)

IMPLIED: dict[str, set[str]] = {
    "mismatched-rows": set(),  # nothing else is judged
    "popularity-lengths": {"ddc-gain"},  # long items fill lists that a shift along popularity may mend
    "popularity-direction": {"ddc-gain"},
    "shifted-centre": {"ddc-gain"},  # to normalise after the shift squeezes the scores; the hubs' null has the centre
    "free-gauge": {"collapsed-rank"},  # every score is as it was; a strong gauge draws directions to few axes
    "in-batch-bias": set(),  # a matter of the declared training alone
    "collapsed-rank": {"ddc-gain", "hubs", "free-gauge"},  # few directions: lists are poor, neighbours crowd
    "duplicated-rows": set(),
    "dead-rows": set(),
    "hubs": {"collapsed-rank", "shifted-centre", "ddc-gain"},  # near the one direction that a crowd shares
    "leaked-test-pairs": set(),
    "ddc-gain": {"popularity-direction"},  # what DDC mends is a wrong shift along a direction of popularity
}

# Off the sphere, rows that are turned after the tables were balanced are balanced no longer.
TURNED = ("popularity-direction", "shifted-centre", "collapsed-rank", "hubs", "ddc-gain")
IMPLIED_OFF_SPHERE = {
    name: others | ({"free-gauge"} if name in TURNED else set[str]()) for name, others in IMPLIED.items()
}

# Plants that are no fault: lengths cost no NDCG here, and the others are descriptions.
NOTED = ("popularity-direction", "popularity-lengths", "shifted-centre", "free-gauge")
TRAINED = Training(loss="unbiased", batch_size=64)


def named(report: Report | Comparison) -> set[str]:
    """The faults, and what is NOTED: what a plant must bring up, and no other may."""
    return {*report.ids("fault"), *({*NOTED} & {*report.ids("noted")})}


@dataclass(frozen=True)
class Model:
    """What `audit` is given."""

    items: Rows
    users: Rows
    pairs: Interactions
    held_out: Interactions
    training: Training = TRAINED

    def audited(self, seed: int) -> Report:
        """The report on it."""
        return audit(
            self.items,
            self.users,
            pairs=self.pairs,
            held_out=self.held_out,
            training=self.training,
            draws=1,
            rng=np.random.default_rng(seed),
            drop_zero_rows=True,
        )


def unit(rows: int, width: int, rng: np.random.Generator) -> Rows:
    """Rows without a pattern on the unit sphere."""
    table: Rows = geometry.normalise(rng.standard_normal((rows, width)))
    return table


def observed(users: Rows, items: Rows, weights: Rows, rng: np.random.Generator) -> tuple[Interactions, Interactions]:
    """(train, held-out): PAIRS different items of each user, by weight exp(score), split 8 : 2."""
    keys = users @ items.T + np.log(weights) + rng.gumbel(size=(len(users), len(items)))
    chosen = np.argsort(-keys, axis=1)[:, :PAIRS]
    rows = np.repeat(np.arange(len(users)), PAIRS)
    return Interactions(rows, chosen.ravel(), n_users=len(users), n_items=len(items)).split_random(0.8, rng)


def clean(seed: int, *, sphere: bool = True) -> Model:
    """A model without a fault."""
    rng = np.random.default_rng([seed, 0])
    users, items = SHARPNESS * unit(USERS, WIDTH, rng), unit(ITEMS, WIDTH, rng)
    weights = rng.lognormal(0, 0.6, ITEMS)
    if not sphere:
        lengths = np.random.default_rng([seed, 9]).lognormal(0, LENGTHS, (ITEMS, 1))
        users, items = gauge.balance_tables(users, lengths * items)
        weights = weights / np.exp(users @ items.T).mean(axis=0)  # or longer items would be the popular ones
    return Model(items, users, *observed(users, items, weights, rng))


def _turned(model: Model, rows: Rows) -> Model:
    """With items along these rows, as long as they were."""
    lengths = np.linalg.norm(model.items, axis=1, keepdims=True)
    return replace(model, items=lengths * geometry.normalise(rows))


def _directions(model: Model) -> Rows:
    table: Rows = geometry.normalise(model.items)
    return table


def _long_popular(seed: int, strength: int, *, sphere: bool = True) -> Model:
    """Off the sphere twice as steep, as the lengths differ without it."""
    model, rng = clean(seed, sphere=sphere), np.random.default_rng([seed, 1])
    slope = (0.03, 0.15, 0.3)[strength] * (1 if sphere else 2)
    lengths = np.maximum(model.pairs.col_counts, 1) ** slope * rng.lognormal(0, 0.1, ITEMS)
    return replace(model, items=model.items * lengths[:, None])


def _popular_direction(seed: int, strength: int, *, sphere: bool = True) -> Model:
    model, rng = clean(seed, sphere=sphere), np.random.default_rng([seed, 2])
    logs = np.log(np.maximum(model.pairs.col_counts, 1))
    toward = (0.05, 0.15, 0.3)[strength] * (logs - logs.mean()) / logs.std()
    return _turned(model, _directions(model) + toward[:, None] * unit(1, WIDTH, rng))


def _shifted(seed: int, strength: int, *, sphere: bool = True) -> Model:
    model, rng = clean(seed, sphere=sphere), np.random.default_rng([seed, 3])
    return _turned(model, _directions(model) + (0.2, 0.5, 1.0)[strength] * unit(1, WIDTH, rng))


def _free(seed: int, strength: int, *, sphere: bool = True) -> Model:
    model, rng = clean(seed, sphere=sphere), np.random.default_rng([seed, 4])
    items = model.items * rng.lognormal(0, 0.1, (ITEMS, 1))
    R = gauge.random_linear_gauge(WIDTH, spread=(0.1, 0.5, 1.0)[strength], rng=rng)
    users, items = gauge.apply_linear_gauge(model.users, items, R)
    return replace(model, users=users, items=items)


def _in_batch(seed: int, strength: int, *, sphere: bool = True) -> Model:
    return replace(clean(seed, sphere=sphere), training=Training(loss="in_batch", batch_size=(4, 64, 512)[strength]))


def _collapsed(seed: int, strength: int, *, sphere: bool = True) -> Model:
    model = clean(seed, sphere=sphere)
    kept = np.where(np.arange(WIDTH) < (6, 3, 2)[strength], 1, 0.02)
    return _turned(model, _directions(model) * kept)


def _duplicated(seed: int, strength: int, *, sphere: bool = True) -> Model:
    model, rng = clean(seed, sphere=sphere), np.random.default_rng([seed, 5])
    size = round((0.002, 0.02, 0.1)[strength] * ITEMS)
    copies, originals = np.split(rng.permutation(ITEMS)[: 2 * size], 2)
    items = model.items.copy()
    items[copies] = items[originals]
    return replace(model, items=items)


def _dead(seed: int, strength: int, *, sphere: bool = True) -> Model:
    model, rng = clean(seed, sphere=sphere), np.random.default_rng([seed, 6])
    items = model.items.copy()
    items[rng.permutation(ITEMS)[: round((0.002, 0.02, 0.1)[strength] * ITEMS)]] = 0
    return replace(model, items=items)


def _hubs(seed: int, strength: int, *, sphere: bool = True) -> Model:
    model, rng = clean(seed, sphere=sphere), np.random.default_rng([seed, 7])
    toward = (0.3, 0.9, 1.2)[strength]
    sides = np.where(np.arange(ITEMS) % 2, 1.0, -1.0)[:, None] * unit(1, WIDTH, rng)
    own = _directions(model)
    rows = own + toward * sides
    rows[: ITEMS // 100] = sides[: ITEMS // 100] + 0.01 * own[: ITEMS // 100]
    return _turned(model, rows)


def _leaked(seed: int, strength: int, *, sphere: bool = True) -> Model:
    model, rng = clean(seed, sphere=sphere), np.random.default_rng([seed, 8])
    size = max(1, round((0.001, 0.01, 0.1)[strength] * len(model.held_out)))
    some = model.held_out.select(rng.permutation(len(model.held_out))[:size])
    pairs = (np.concatenate([getattr(model.pairs, side), getattr(some, side)]) for side in ("users", "items"))
    return replace(model, pairs=Interactions(*pairs, n_users=USERS, n_items=ITEMS))


def _pushed(seed: int, strength: int, *, sphere: bool = True) -> Model:
    """The pairs are those of users without a shift; the users that are served lean toward popular items."""
    model = _popular_direction(seed, 2, sphere=sphere)
    lengths = np.linalg.norm(model.users, axis=1)
    shift = (0.0625, 0.75, 1.125)[strength] * float(np.median(lengths))
    return replace(
        model, users=model.users + shift * popularity.popularity_direction(model.items, model.pairs.col_counts)
    )


def _mismatched(seed: int, strength: int, *, sphere: bool = True) -> Model:
    """Moved: by one the last fiftieth of the item rows; by one all item rows; those by two, all user rows by one."""
    model = clean(seed, sphere=sphere)
    items, users = model.items.copy(), model.users
    if strength == 0:
        items[-ITEMS // 50 :] = np.roll(items[-ITEMS // 50 :], 1, axis=0)
    else:
        items = np.roll(items, strength, axis=0)
    return replace(model, items=items, users=np.roll(users, 1, axis=0) if strength == 2 else users)


PLANTS: dict[str, Callable[..., Model]] = {
    "mismatched-rows": _mismatched,
    "popularity-lengths": _long_popular,
    "popularity-direction": _popular_direction,
    "shifted-centre": _shifted,
    "free-gauge": _free,
    "in-batch-bias": _in_batch,
    "collapsed-rank": _collapsed,
    "duplicated-rows": _duplicated,
    "dead-rows": _dead,
    "hubs": _hubs,
    "leaked-test-pairs": _leaked,
    "ddc-gain": _pushed,
}


@cache
def report(name: str, seed: int, strength: int = 2, *, sphere: bool = True) -> Report:
    """The report on a model that is "clean" or has this fault: one for all tests of a process, which only read it."""
    model = clean(seed, sphere=sphere) if name == "clean" else PLANTS[name](seed, strength, sphere=sphere)
    return model.audited(seed)


@cache
def sample() -> Report:
    """On implicit's model as a user has it: files, pairs with times, and an index asked for."""
    items, users = example.tables(seed=0)
    with TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "items.npy", items)
        np.save(folder / "users.npy", users)
        for stem, data in zip(("pairs", "held_out"), example.pairs(), strict=True):
            rows = np.c_[data.users, data.items, data.times]
            np.savetxt(folder / f"{stem}.csv", rows, "%d", ",", header="user,item,time", comments="")
        found = report_of([name, "--index", "--loss", "bpr", "--negatives", "implicit"])
        assert isinstance(found, Report) and found.further
    return found
