"""The films that the chapter's pages measure on: one split, MF by plain SGD, DDC at its minimum, and the lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_lib import datasets, metrics
from course_lib.debiasing import DDC
from course_lib.interactions import Interactions, sample_negatives
from course_lib.training import recommenders
from course_lib.training.bpr import bpr_epoch

WIDTH, START, LR = 64, 0.1, 0.05
NEGATIVES, RIDGE = 50, 1e-3  # of DDC at its minimum: other films for each own one, and lambda of lambda (α² + β²) / 2
Tables = tuple[np.ndarray, np.ndarray]


class Lists(NamedTuple):
    """For each person with a test film, (t,): reciprocal rank within the first ten, mean training count of the ten."""

    ranks: np.ndarray
    popularity: np.ndarray


@lru_cache(maxsize=1)
def parts() -> tuple[Interactions, Interactions, Interactions]:
    """(train, valid, test): 8:1:1 of the embedded films, ratings of 7 and more, 5-core."""
    return recommenders.split_811(datasets.load("movietweetings", min_rating=7, core=5), np.random.default_rng(0))


@lru_cache(maxsize=1)
def _known() -> Interactions:
    train, valid, _ = parts()
    return recommenders.union(train, valid)


def checkpoints(
    decay: float, passes: Sequence[int], *, seed: int = 0, train: Interactions | None = None
) -> Iterator[Tables]:
    """(users (m, 64), items (n, 64)) after each number of passes: plain SGD on BPR, every pair once in a pass.

    decay: the weight decay of both tables. passes: increasing. Tables start as N(0, 0.1²), negatives are uniform.
    train: by default that of `parts`.
    """
    train, rng = parts()[0] if train is None else train, np.random.default_rng(seed)
    users, items = (rng.normal(scale=START, size=(rows, WIDTH)) for rows in train.shape)
    for done, until in zip([0, *passes], passes, strict=False):
        for _ in range(until - done):
            bpr_epoch(users, items, train, lr=LR, decay=decay, rng=rng, negatives="uniform")
        yield users.copy(), items.copy()


def factorise(decay: float, *, passes: int = 100, seed: int = 0, train: Interactions | None = None) -> Tables:
    """The last of `checkpoints`."""
    return next(checkpoints(decay, [passes], seed=seed, train=train))


def lists(users: np.ndarray, items: np.ndarray) -> Lists:
    """What the scores users @ items.T recommend: ten films that a person has neither in training nor in validation."""
    train, _, test = parts()
    ranked = metrics.top_k(users, items, _known(), 10)
    found = metrics.metrics_from_ranking(ranked, test, (10,))
    return Lists(found["per_user"]["mrr@10"], train.col_counts[ranked[found["users"]]].mean(1))


def on_validation(users: np.ndarray, items: np.ndarray) -> float:
    """MRR@10 on the validation part."""
    train, valid, _ = parts()
    return recommenders.measure((users, items), train, valid)["mrr"]


def correct(
    users: np.ndarray,
    items: np.ndarray,
    *,
    negatives: int = NEGATIVES,
    train: Interactions | None = None,
    **options: Any,
) -> DDC:
    """DDC at the minimum of its loss with a small ridge; the negatives are drawn once. options: those of `DDC`."""
    model = DDC(users, items, parts()[0] if train is None else train, **options)
    model.solve(negatives, ridge=RIDGE, rng=np.random.default_rng(1))
    return model


def served(model: DDC, which: str = "ab") -> Tables:
    """The tables that DDC serves; which: the corrections that the user vectors carry, "a", "b" or both."""
    return model.final_users(which).detach().numpy(), model.items.numpy()


def share_below_zero(model: DDC) -> float:
    """Share of the people with a training film whose alpha is negative."""
    return float((model.alpha.detach().numpy()[parts()[0].row_counts > 0] < 0).mean())


class Change(NamedTuple):
    """Percent of the mean before, and half of its 95 % interval over the people."""

    percent: float
    half: float

    @property
    def text(self) -> str:
        """ "+4.2 ± 4.3", in one line of a table."""
        return f"{self.percent:+.1f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{self.half:.1f}"


def change(after: ArrayLike, before: ArrayLike) -> Change:
    """Mean of after - before, each pair of one person, in percent of the mean before."""
    plain = np.asarray(before, dtype=float)
    pairs = np.asarray(after, dtype=float) - plain
    scale = 100 / plain.mean()
    return Change(float(scale * pairs.mean()), float(1.96 * scale * pairs.std(ddof=1) / np.sqrt(len(pairs))))


class Triples(NamedTuple):
    """(T,) each: people, films that they have, films that they have not."""

    owners: np.ndarray
    own: np.ndarray
    others: np.ndarray


@lru_cache(maxsize=1)
def triples() -> Triples:
    """Three triples for each training pair, for losses before and after DDC; not those that DDC was solved on."""
    train = parts()[0]
    owners, own = (np.repeat(ids, 3) for ids in (train.users, train.items))
    return Triples(owners, own, sample_negatives(train, owners, np.random.default_rng(2)))


def margins(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """(T,) score of the own film minus that of the other one, for each of `triples`."""
    owners, own, others = triples()
    return np.asarray(np.einsum("td,td->t", users[owners], items[own] - items[others]))


def bpr_loss(margins: np.ndarray) -> float:
    """BPR's loss of a triple, its mean: ln(1 + exp(-margin))."""
    return float(np.logaddexp(0, -margins).mean())


def own_loss(model: DDC) -> float:
    """The loss that DDC minimises, without its ridge, on `triples`."""
    with torch.no_grad():
        return float(model.loss(*(torch.from_numpy(ids.astype(np.int64)) for ids in triples())))
