"""Models whose faults are known: clean ones, and one plant for each verdict of the audit, at three strengths.

A clean model has item rows of length 1 without a pattern, pairs drawn from its own scores, and items of different
popularity that its vectors know nothing of. Some faults bring others with them: `IMPLIED`. Thresholds were settled on
seeds from 1000 on; strengths and `IMPLIED` on these and on seeds 0 to 19. What is reported comes from others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from course_lib.interactions import Interactions
from numpy.typing import NDArray

from course_lib import gauge, geometry, popularity
from course_lib.audit import Report, Training, audit

Rows = NDArray[Any]
USERS, ITEMS, WIDTH, PAIRS = 300, 600, 32, 25
SHARPNESS = 8.0  # length of the users: the chance of an item is proportional to its popularity times exp(score)
STRENGTHS = (0, 1, 2)

IMPLIED: dict[str, set[str]] = {
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

TRAINED = Training(loss="unbiased", batch_size=64)


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


def clean(seed: int) -> Model:
    """A model without a fault."""
    rng = np.random.default_rng([seed, 0])
    users, items = SHARPNESS * unit(USERS, WIDTH, rng), unit(ITEMS, WIDTH, rng)
    return Model(items, users, *observed(users, items, rng.lognormal(0, 0.6, ITEMS), rng))


def _long_popular(seed: int, strength: int) -> Model:
    model, rng = clean(seed), np.random.default_rng([seed, 1])
    lengths = np.maximum(model.pairs.col_counts, 1) ** (0.03, 0.15, 0.3)[strength] * rng.lognormal(0, 0.1, ITEMS)
    return replace(model, items=model.items * lengths[:, None])


def _popular_direction(seed: int, strength: int) -> Model:
    model, rng = clean(seed), np.random.default_rng([seed, 2])
    logs = np.log(np.maximum(model.pairs.col_counts, 1))
    toward = (0.05, 0.15, 0.3)[strength] * (logs - logs.mean()) / logs.std()
    return replace(model, items=geometry.normalise(model.items + toward[:, None] * unit(1, WIDTH, rng)))


def _shifted(seed: int, strength: int) -> Model:
    model, rng = clean(seed), np.random.default_rng([seed, 3])
    return replace(model, items=geometry.normalise(model.items + (0.2, 0.5, 1.0)[strength] * unit(1, WIDTH, rng)))


def _free(seed: int, strength: int) -> Model:
    model, rng = clean(seed), np.random.default_rng([seed, 4])
    items = model.items * rng.lognormal(0, 0.1, (ITEMS, 1))
    R = gauge.random_linear_gauge(WIDTH, spread=(0.1, 0.5, 1.0)[strength], rng=rng)
    users, items = gauge.apply_linear_gauge(model.users, items, R)
    return replace(model, users=users, items=items)


def _in_batch(seed: int, strength: int) -> Model:
    return replace(clean(seed), training=Training(loss="in_batch", batch_size=(4, 64, 512)[strength]))


def _collapsed(seed: int, strength: int) -> Model:
    model = clean(seed)
    kept = np.where(np.arange(WIDTH) < (6, 3, 2)[strength], 1, 0.02)
    return replace(model, items=geometry.normalise(model.items * kept))


def _duplicated(seed: int, strength: int) -> Model:
    model, rng = clean(seed), np.random.default_rng([seed, 5])
    size = round((0.002, 0.02, 0.1)[strength] * ITEMS)
    copies, originals = np.split(rng.permutation(ITEMS)[: 2 * size], 2)
    items = model.items.copy()
    items[copies] = items[originals]
    return replace(model, items=items)


def _dead(seed: int, strength: int) -> Model:
    model, rng = clean(seed), np.random.default_rng([seed, 6])
    items = model.items.copy()
    items[rng.permutation(ITEMS)[: round((0.002, 0.02, 0.1)[strength] * ITEMS)]] = 0
    return replace(model, items=items)


def _hubs(seed: int, strength: int) -> Model:
    model, rng = clean(seed), np.random.default_rng([seed, 7])
    toward = (0.3, 0.9, 1.2)[strength]
    sides = np.where(np.arange(ITEMS) % 2, 1.0, -1.0)[:, None] * unit(1, WIDTH, rng)
    items = model.items + toward * sides
    items[: ITEMS // 100] = sides[: ITEMS // 100] + 0.01 * model.items[: ITEMS // 100]
    return replace(model, items=geometry.normalise(items))


def _leaked(seed: int, strength: int) -> Model:
    model, rng = clean(seed), np.random.default_rng([seed, 8])
    size = max(1, round((0.001, 0.01, 0.1)[strength] * len(model.held_out)))
    some = model.held_out.select(rng.permutation(len(model.held_out))[:size])
    pairs = (np.concatenate([getattr(model.pairs, side), getattr(some, side)]) for side in ("users", "items"))
    return replace(model, pairs=Interactions(*pairs, n_users=USERS, n_items=ITEMS))


def _pushed(seed: int, strength: int) -> Model:
    """The pairs are those of users without a shift; the users that are served lean toward popular items."""
    model = _popular_direction(seed, 2)
    shift = (0.5, 6.0, 9.0)[strength] * popularity.popularity_direction(model.items, model.pairs.col_counts)
    return replace(model, users=model.users + shift)


PLANTS: dict[str, Callable[[int, int], Model]] = {
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
