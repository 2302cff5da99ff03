"""The trainings of the chapter's pages: two tables of free vectors on cosines, and how long the films' vectors get."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls

from course_lib import datasets, norms, popularity
from course_lib.encoders import TwoTower
from course_lib.interactions import Interactions
from course_lib.training import towers

WIDTH, BATCH, STEPS, RATE, START = 32, 256, 1500, 10.0, 1.0  # START: root mean square length before the first step
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FilmRun:
    """One training, seen after its last step; arrays (n,) have one entry for each film.

    counts: training pairs; before, after: lengths; updates: batches that moved the film; squared: the sum of ||h||^2
    over them; law: the lengths that the quartic law gives, with every term of it; steps: how many there were.
    """

    counts: NDArray[np.int64]
    before: Floats
    after: Floats
    updates: Floats
    squared: Floats
    law: Floats
    steps: int = STEPS

    @property
    def mean_squared(self) -> Floats:
        """(n,) the mean ||h||^2 of an update of each film; a film without an update has 0."""
        return np.asarray(self.squared / np.maximum(self.updates, 1))

    @property
    def h(self) -> float:
        """Root mean square of ||h|| over all updates of all films."""
        return float(np.sqrt(self.squared.sum() / self.updates.sum()))

    def slope(self, values: Floats, *, least: float = 0, below: float = np.inf) -> float:
        """Slope of log values (n,) in log counts, among films with least <= count < below."""
        chosen = (self.counts >= least) & (self.counts < below)
        return float(popularity.log_log_slope(values[chosen], self.counts[chosen]))

    def by_one_number(self) -> Floats:
        """(n,) the quartic law with one mean ||h||^2 for all films, and T pi(p) updates of each."""
        expected = norms.expected_updates(self.counts / self.counts.sum(), batch_size=BATCH, steps=self.steps)
        return np.asarray(norms.predicted_norm(START, lr=RATE, h=self.h, updates=expected))

    def by_copies(self) -> tuple[float, Floats]:
        """(coherence, lengths (n,)): the law of `prop-saturation`, its two numbers fitted to `squared`.

        Non-negative least squares of the relative error of ||h||^2 for each batch, h_0^2 [B p + rho_c B (B - 1) p^2].
        """
        p = self.counts / self.counts.sum()
        terms = np.stack([BATCH * p, BATCH * (BATCH - 1) * p**2], axis=1)
        (single, double), _ = nnls(terms / (self.squared / self.steps)[:, None], np.ones(len(p)))
        coherence = float(double / single)
        squared = self.steps * norms.expected_squared_gradient(p, batch_size=BATCH, coherence=coherence, single=single)
        return coherence, np.asarray(norms.predicted_norm(START, lr=RATE, h=1.0, updates=squared))


@lru_cache(maxsize=1)
def split() -> tuple[Interactions, Interactions]:
    """(train, test) of the first training: nine tenths of the pairs of MovieTweetings (core 5), and the rest."""
    return datasets.load("movietweetings", core=5).split_random(0.9, np.random.default_rng(0))


def steps_at(rate: float) -> int:
    """How many steps have the same rate times steps as the chapter's training: to learn as much at another rate."""
    return round(RATE * STEPS / rate)


def at_rate(
    pairs: Interactions,
    rate: float,
    *,
    seed: int = 0,
    steps: int | None = None,
    evenly: bool = False,
    logq: bool = False,
) -> tuple[TwoTower, towers.Growth]:
    """The model of `train` at another rate, and what its films' lengths grew from. steps: `steps_at` it where None."""
    tables = _start(pairs, seed)
    optimiser = torch.optim.SGD(tables.parameters(), lr=rate)
    growth = towers.Growth(optimiser, tables.right.get_parameter("weight"))
    sampler = (towers.uniform_items if evenly else towers.uniform_pairs)(pairs)
    steps = steps_at(rate) if steps is None else steps
    towers.train_towers(tables, optimiser, pairs, steps=steps, seed=seed, batch_size=BATCH, sampler=sampler, logq=logq)
    return tables, growth


def train(pairs: Interactions, *, seed: int, steps: int = STEPS, evenly: bool = False) -> FilmRun:
    """InfoNCE on cosines (temperature 0.1) by plain SGD; two lookup tables.

    seed: of the tables and of the batches. evenly: each slot of a batch holds a uniform film and one of its pairs,
    where otherwise it holds a uniform pair. Every film needs a pair; ValueError else.
    """
    tables, growth = at_rate(pairs, RATE, seed=seed, steps=steps, evenly=evenly)
    return FilmRun(
        counts=pairs.col_counts,
        before=towers.item_norms(_start(pairs, seed), pairs.n_items),
        after=towers.item_norms(tables, pairs.n_items),
        updates=growth.updates,
        squared=growth.driven / RATE**2,
        law=growth.predicted(),
        steps=steps,
    )


def two_rankings(pairs: Interactions, *, seed: int, logq: bool) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """One training; its tables for lists by cosine, and those for lists by inner product."""
    model, _ = at_rate(pairs, RATE, seed=seed, logq=logq)
    people, items = (side.get_parameter("weight").detach().double().numpy() for side in (model.left, model.right))
    people, directions = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in (people, items))
    return (people, directions), (people, items)


def _start(pairs: Interactions, seed: int) -> TwoTower:
    return towers.lookup_towers(pairs, d=WIDTH, norm=START, seed=seed)
