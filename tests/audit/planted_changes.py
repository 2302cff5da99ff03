"""Two snapshots whose changes are known: clean ones, which differ by the seed alone, and a plant for each verdict.

Each snapshot is a real training: BPR on pairs that TASTES tastes explain. `again` is the old model with a third seed.
Some changes bring others with them: `IMPLIED`. Thresholds and strengths were settled on seeds from 1000 on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from audit import planted
from audit.planted import Rows, unit

from course_lib.audit import Comparison, compare
from course_lib.interactions import Interactions
from course_lib.training.bpr import bpr_epoch

USERS, ITEMS, TASTES = 500, 250, 4
WIDTH, EPOCHS, LR, DECAY = 8, 25, 0.05, 0.01

IMPLIED: dict[str, set[str]] = {
    "neighbours-changed": {"lists-changed", "quality-dropped", "lengths-drifted", "new-faults"},  # rows of other items
    "lists-changed": {"quality-dropped", "new-faults"},  # users who get the lists of others
    "lengths-drifted": {"lists-changed", "quality-dropped", "new-faults"},  # long items fill the lists
    "centre-moved": {"neighbours-changed", "new-faults", "lengths-drifted"},  # one part that all rows share
    "quality-dropped": {"lists-changed", "new-faults"},
    "new-faults": {"neighbours-changed", "lists-changed", "lengths-drifted", "quality-dropped"},  # here: copied rows
}


@dataclass(frozen=True)
class Two:
    """What `compare` is given, each (items, users)."""

    old: tuple[Rows, Rows]
    new: tuple[Rows, Rows]
    again: tuple[Rows, Rows]
    pairs: Interactions
    held_out: Interactions

    def audited(self, seed: int, **options: Any) -> Comparison:
        """The comparison, with the second training unless `again` says otherwise."""
        given = {"again": self.again, "pairs": self.pairs, "held_out": self.held_out} | options
        return compare(self.old, self.new, rng=np.random.default_rng(seed), **given)


@lru_cache(maxsize=64)
def clean(seed: int) -> Two:
    """Three trainings of one model."""
    rng = np.random.default_rng([seed, 0])
    users, items = planted.SHARPNESS * unit(USERS, TASTES, rng), unit(ITEMS, TASTES, rng)
    pairs, held_out = planted.observed(users, items, rng.lognormal(0, 0.6, ITEMS), rng)
    old, new, again = (trained(pairs, 3 * seed + at) for at in range(3))
    return Two(old, new, again, pairs, held_out)


def trained(pairs: Interactions, seed: int) -> tuple[Rows, Rows]:
    """(items, users) by BPR from a start of this seed."""
    rng = np.random.default_rng([seed, 9])
    users, items = (rng.normal(0, 0.1, (rows, WIDTH)) for rows in pairs.shape)
    for _ in range(EPOCHS):
        bpr_epoch(users, items, pairs, lr=LR, decay=DECAY, rng=rng, threads=1)
    return items, users


def _dealt_anew(table: Rows, share: float, rng: np.random.Generator) -> Rows:
    some = rng.permutation(len(table))[: round(share * len(table))]
    dealt = table.copy()
    dealt[some] = table[np.roll(some, 1)]
    return dealt


def _other_items(seed: int, strength: int) -> Two:
    two, rng = clean(seed), np.random.default_rng([seed, 1])
    return replace(two, new=(_dealt_anew(two.new[0], (0.01, 0.3, 0.6)[strength], rng), two.new[1]))


def _other_users(seed: int, strength: int) -> Two:
    two, rng = clean(seed), np.random.default_rng([seed, 2])
    return replace(two, new=(two.new[0], _dealt_anew(two.new[1], (0.01, 0.4, 0.8)[strength], rng)))


def _longer(seed: int, strength: int) -> Two:
    two = clean(seed)
    factors = np.maximum(two.pairs.col_counts, 1) ** (0.01, 0.15, 0.4)[strength]
    return replace(two, new=(two.new[0] * factors[:, None], two.new[1]))


def _shifted(seed: int, strength: int) -> Two:
    two, rng = clean(seed), np.random.default_rng([seed, 3])
    length = np.median(np.linalg.norm(two.new[0], axis=1))
    shift = (0.03, 0.5, 1.0)[strength] * length * unit(1, WIDTH, rng)
    return replace(two, new=(two.new[0] + shift, two.new[1]))


def _blurred(seed: int, strength: int) -> Two:
    two, rng = clean(seed), np.random.default_rng([seed, 4])
    users = two.new[1]
    noise = (0.05, 1.0, 2.0)[strength] * np.median(np.linalg.norm(users, axis=1)) * unit(len(users), WIDTH, rng)
    return replace(two, new=(two.new[0], users + noise))


def _copied(seed: int, strength: int) -> Two:
    two, rng = clean(seed), np.random.default_rng([seed, 5])
    items = two.new[0].copy()
    size = round((0.002, 0.02, 0.1)[strength] * len(items))
    copies, originals = np.split(rng.permutation(len(items))[: 2 * size], 2)
    items[copies] = items[originals]
    return replace(two, new=(items, two.new[1]))


PLANTS: dict[str, Callable[[int, int], Two]] = {
    "neighbours-changed": _other_items,
    "lists-changed": _other_users,
    "lengths-drifted": _longer,
    "centre-moved": _shifted,
    "quality-dropped": _blurred,
    "new-faults": _copied,
}
