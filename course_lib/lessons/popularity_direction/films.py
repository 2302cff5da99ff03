"""The films that the chapter's pages measure on: one training set, and MF and LightGCN trained on it with BPR."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_lib import backbones, checking, datasets, popularity
from course_lib.backbones import Backbone
from course_lib.interactions import Interactions, sample_negatives
from course_lib.training.bpr import bpr_epoch

WIDTH, START = 64, 0.03
BATCH, SGD_RATE, ADAM_RATE = 1024, 30.0, 0.01  # the loss is the mean over a batch, so that SGD's rate is large
Tables = tuple[np.ndarray, np.ndarray]  # users (m, 64), items (n, 64)
Optimiser = Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]


@lru_cache(maxsize=1)
def train() -> Interactions:
    """Four fifths of the embedded ratings, of people and films with ten of each other or more; each has a pair."""
    data = datasets.load("movietweetings", core=10).compact()
    return data.split_random(0.8, np.random.default_rng(0))[0].compact()


def tables(model: Backbone) -> Tables:
    """(users, items) that a model ranks with, in double precision."""
    users, items = (table.detach().double().numpy().copy() for table in model())
    return users, items


# ---- starts


def normal_tables(seed: int = 0, *, scale: float = START) -> Tables:
    """Tables of independent normal numbers: MF before its first step."""
    scale, rng = checking.real(scale, "scale", least=0), np.random.default_rng(seed)
    users, items = (rng.normal(scale=scale, size=(rows, WIDTH)) for rows in train().shape)
    return users, items


def mf(seed: int = 0, *, decay: float = 0.0) -> Backbone:
    """MF for `descend`, in double precision, from normal numbers of standard deviation 0.03."""
    generator = torch.Generator().manual_seed(seed)
    return backbones.make("MF", train(), d=WIDTH, scale=START, decay=decay, generator=generator).double()


def lightgcn(seed: int = 0, *, shift: float = 0.0) -> Backbone:
    """LightGCN as RecBole starts it (Xavier, uniform numbers around 0), or around another number."""
    generator = torch.Generator().manual_seed(seed)
    model = backbones.make("LightGCN", train(), d=WIDTH, generator=generator)
    with torch.no_grad():
        for table in (model.users, model.items):
            torch.nn.init.xavier_uniform_(table, generator=generator)
            table.add_(shift)
    return model


# ---- training


def factorise(
    passes: int, *, negatives: str = "uniform", decay: float = 0.0, rate: float = 0.05, seed: int = 0
) -> Tables:
    """MF after so many passes of plain SGD, triple by triple, from `normal_tables(seed)`; see `bpr_epoch`."""
    (users, items), rng = normal_tables(seed), np.random.default_rng([seed, 1])
    for _ in range(passes):
        bpr_epoch(users, items, train(), lr=rate, decay=decay, rng=rng, negatives=negatives)
    return users, items


def sgd(momentum: float = 0.0) -> Optimiser:
    """SGD on the mean over a batch, with heavy-ball momentum if wanted; the rate is the same in the long run."""
    return lambda weights: torch.optim.SGD(weights, lr=SGD_RATE * (1 - momentum), momentum=momentum)


def adam() -> Optimiser:
    """Adam with torch's defaults at the rate 0.01."""
    return lambda weights: torch.optim.Adam(weights, lr=ADAM_RATE)


class Descent(NamedTuple):
    """What `descend` gives: the trained tables, and two numbers after each pass.

    moves: how far the mean item has moved from its start, over the items' root mean square length. sides: where the
    mean item lies along e_pop, in standard deviations of the projections.
    """

    tables: Tables
    moves: list[float]
    sides: list[float]


def descend(
    model: Backbone, passes: int, optimiser: Optimiser, *, negatives: str = "uniform", seed: int = 0
) -> Descent:
    """BPR in batches of 1024 triples: every pair once in a pass, each with one negative of the law `negatives`."""
    data, made, rng = train(), optimiser(list(model.parameters())), np.random.default_rng(seed)
    first, moves, sides = tables(model)[1].mean(0), [], []
    for _ in range(passes):
        order = rng.permutation(len(data))
        for at in range(0, len(order), BATCH):
            where = order[at : at + BATCH]
            users, positives = data.users[where], data.items[where]
            others = sample_negatives(data, users, rng, law=negatives)
            made.zero_grad()
            loss = model.loss(*(torch.from_numpy(ids) for ids in (users, positives, others)))
            torch.autograd.backward(loss)
            made.step()
        items = tables(model)[1]
        moves.append(float(np.linalg.norm(items.mean(0) - first) / np.sqrt((items**2).sum(1).mean())))
        sides.append(centre(items))
    return Descent(tables(model), moves, sides)


# ---- what is asked of trained tables


def along(items: np.ndarray) -> np.ndarray:
    """(n,) projections on the popularity direction that the same items give, P1's equation (4)."""
    return np.asarray(items @ popularity.popularity_direction(items, train().col_counts))


def centre(items: np.ndarray) -> float:
    """Where the mean item lies along e_pop, in standard deviations of the projections."""
    places = along(items)
    return float(places.mean() / places.std())


def crossed(items: np.ndarray) -> float:
    """Correlation of projection and popularity, the direction found on the other half of the items."""
    rng = np.random.default_rng(0)
    return float(popularity.cross_fitted_correlation(items, train().col_counts, rng=rng))


def cosine_with_pop(vector: ArrayLike, items: np.ndarray) -> float:
    """Cosine of a vector (64,) with e_pop of the items."""
    given = np.asarray(vector, dtype=float)
    axis = popularity.popularity_direction(items, train().col_counts)
    return float(given @ axis / np.linalg.norm(given))


def first_axis(data: Interactions, law: popularity.TripleLaw | None = None) -> np.ndarray:
    """(n,) first right singular vector of the pull matrix, with the sign that popularity gives it."""
    axis = np.linalg.svd(popularity.pull_matrix(data.labels(), law), full_matrices=False)[2][0]
    counts = data.col_counts
    return np.asarray(axis * np.sign(axis @ (counts - counts.mean())))


def without_head(share: float = 0.05) -> Interactions:
    """The training set without the films that more than this share of the people have."""
    data = train()
    return data.select((data.col_counts <= share * data.n_users)[data.items]).compact()


def same_first_film(users: np.ndarray, items: np.ndarray) -> float:
    """The largest share of the people who have one and the same film at the top of all films."""
    best = (users @ items.T).argmax(1)
    return float(np.bincount(best).max() / len(best))


class Angles(NamedTuple):
    """Medians over the users: cosines of -gradient and d*, -gradient and e_pop, d* and e_pop; |gradient| over |d*|."""

    ideal: float
    popular: float
    ideal_popular: float
    length: float


def angles(users: np.ndarray, items: np.ndarray) -> Angles:
    """What BPR asks of each user with the items held still, over all pairs; d* before it is cut to length one."""
    data = train()
    axis = popularity.popularity_direction(items, data.col_counts)
    own = np.asarray(data.labels(), dtype=bool)
    found = [_angles_of(mine, vector, items, axis) for mine, vector in zip(own, users, strict=True)]
    return Angles(*(float(value) for value in np.median(found, axis=0)))


def _angles_of(mine: np.ndarray, vector: np.ndarray, items: np.ndarray, axis: np.ndarray) -> Angles:
    """The four numbers of one user, whose items are `mine` (n,)."""
    scores = items @ vector
    w = 1 / (1 + np.exp(scores[mine][:, None] - scores[~mine]))
    down = (w.sum(1) @ items[mine] - w.sum(0) @ items[~mine]) / w.size
    ideal = items[mine].mean(0) - items[~mine].mean(0)
    long, full = float(np.linalg.norm(down)), float(np.linalg.norm(ideal))
    return Angles(down @ ideal / (long * full), down @ axis / long, ideal @ axis / full, long / full)
