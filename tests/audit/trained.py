"""Three trained models, the audit's report on each, and what NumPy alone knows of them: for two files of tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from course_lib import datasets, geometry
from course_lib.audit import Report, Training, audit
from course_lib.experiments.text import unrated
from course_lib.experiments.text.encoders import WORDS, encoded
from course_lib.interactions import Interactions
from course_lib.training.bpr import bpr_epoch
from course_lib.training.towers import lookup_towers, train_towers

K, TAU = 10, 0.2
DISCOUNTS = 1 / np.log2(np.arange(K) + 2)
Rows = Any  # arrays
Trained = tuple[Rows, Rows]  # items, users


@cache
def split() -> tuple[Interactions, Interactions]:
    data = datasets.load("movietweetings", min_rating=7, core=10)
    train, test = data.split_by_time(0.9)  # only then recent hits are measured
    return train, test


def by_dots(seed: int) -> Trained:
    train, rng = split()[0], np.random.default_rng(seed)
    users, items = (rng.normal(0, 0.1, (rows, 32)) for rows in train.shape)
    for _ in range(10):
        bpr_epoch(users, items, train, lr=0.05, decay=0.01, rng=rng, threads=1)
    return items, users


def by_cosines(seed: int) -> Trained:
    train = split()[0]
    towers = lookup_towers(train, d=32, norm=1.0, seed=seed)
    optimiser = torch.optim.Adam(towers.parameters(), lr=0.02)
    train_towers(towers, optimiser, train, steps=150, seed=seed, batch_size=512, tau=TAU, logq=False)
    users, items = (geometry.normalise(table.detach().numpy().astype(np.float64)) for table in towers.parameters())
    return items, users


def by_titles(seed: int) -> Trained:
    train = split()[0]
    rows = geometry.normalise(encoded(tuple(map(str, train.item_table["name"])), WORDS))
    users, items = unrated.trained(train, rows, steps=100, seed=seed)
    return items.astype(np.float64), users.astype(np.float64)


MODELS: dict[str, Callable[[int], Trained]] = {"dot": by_dots, "cosine": by_cosines, "text": by_titles}


def shared(lists: Rows, others: Rows) -> float:
    """The mean share of a list that stands in the other one."""
    return float(np.mean([len({*a} & {*b}) / K for a, b in zip(lists.tolist(), others.tolist(), strict=True)]))


class Made:
    """A report, and what twenty lines of NumPy know of its model."""

    def __init__(self, name: str) -> None:
        self.train, self.test = split()
        self.items, self.users = MODELS[name](0)
        training = Training() if name == "dot" else Training("in-batch-softmax", 512, TAU)
        known: dict[str, Any] = {"pairs": self.train, "held_out": self.test, "training": training}
        self.report: Report = audit(self.items, self.users, **known, index="", rng=np.random.default_rng(0))
        assert self.report.evidence is not None
        self.rng, self.order = self.report.evidence.rng, self.report.evidence.order
        self.tau = training.temperature
        self.seen, self.held = (data.labels().astype(bool) for data in (self.train, self.test))
        self.counts = self.seen.sum(axis=0)
        self.judged = np.flatnonzero(self.held.any(axis=1) & self.seen.any(axis=1))
        self.popular = np.tile(self.counts.astype(float), (len(self.users), 1))
        self.norms = np.sqrt((self.items**2).sum(axis=1))
        self.unit = self.items / self.norms[:, None]
        self.scores = self.users @ self.items.T
        self.start, self.before = self.lists(self.scores), self.ndcg(self.scores)

    def unknown(self, scores: Rows) -> Rows:
        """(u, n) scores of the users who are judged, equal ones (of equal titles) up to rounding."""
        return np.where(self.seen, -np.inf, np.round(scores, 10))[self.judged]

    def lists(self, scores: Rows) -> Rows:
        """Of equal scores, the item that is first in the report's random order."""
        return self.order[np.argsort(-self.unknown(scores)[:, self.order], axis=1, kind="stable")[:, :K]]

    def ndcg(self, scores: Rows) -> Rows:
        """The mean over the orders of equal scores."""
        found, held = [], (self.held & ~self.seen)[self.judged]
        for row, wanted in zip(self.unknown(scores), held, strict=True):
            order = np.argsort(-row, kind="stable")
            of = np.unique(-row[order], return_inverse=True)[1]
            gains = np.pad(DISCOUNTS, (0, len(row) - K))
            expected = (np.bincount(of, gains) / np.bincount(of))[of]
            found.append(expected[wanted[order]].sum() / DISCOUNTS[: wanted.sum()].sum())
        return np.array(found)

    def personal(self, scores: Rows) -> bool:
        """Whether less than half of a list is most popular, and half of the items that were shown still are."""
        lists = self.lists(scores)
        shown, before = len(np.unique(lists)), len(np.unique(self.start))
        return shared(lists, self.lists(self.popular)) < 0.5 and shown >= 0.5 * before

    @property
    def half(self) -> Rows:
        """(u,) whether a user who is judged is of the half that chooses."""
        return self.rng("halves of users").permutation(len(self.judged)) % 2 == 0

    def hits(self, half_life: float) -> Rows:
        """(n,) log of the pairs of each item, each 2^(-age / half-life)."""
        age = (self.train.times.max() - self.train.times) / 86_400
        return np.log(np.bincount(self.train.items, 0.5 ** (age / half_life), len(self.items)) + 0.05)

    def groups(self, sizes: Rows) -> Rows:
        """(n,) 0 for the largest tenth, 1 up to a half, 2 for the rest."""
        place = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
        ends = round(0.1 * len(sizes)), round(0.5 * len(sizes))
        return (place >= ends[0]).astype(int) + (place >= ends[1])


@cache
def made(name: str) -> Made:
    return Made(name)
