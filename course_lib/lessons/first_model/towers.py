"""The model that the chapter writes from scratch: for its interactive, its findings, and to compare the two."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from course_lib import checking, datasets, metrics
from course_lib.interactions import Interactions
from course_lib.training.on_pairs import new_tables, train_on_pairs

WIDTH, TEMPERATURE, BATCH, RATE, PASSES = 32, 0.2, 512, 0.01, 20
SEEDS = range(5)


@lru_cache(maxsize=1)
def split() -> tuple[Interactions, Interactions]:
    """(train, test): nine tenths of the pairs of people and films that they rated 7 or more (core 10), and the rest."""
    films = datasets.load("movietweetings", min_rating=7, core=10)
    return films.split_random(0.9, np.random.default_rng(0))


def log_shares(train: Interactions) -> Tensor:
    """(n,) log of the share of the pairs that each film has: how often it turns up in a batch."""
    return torch.tensor(np.log(np.maximum(train.col_counts, 1) / len(train)), dtype=torch.float32)


def trained(
    train: Interactions, *, corrected: bool, passes: int = PASSES, seed: int = 0, keep: Collection[int] = ()
) -> list[tuple[Tensor, Tensor]]:
    """(people, films) after each number of passes in `keep`, and after the last: in-batch softmax on cosines.

    corrected: subtract `log_shares` from the scores of the batch, as logQ does (Bengio and Senécal 2008).
    """
    passes = checking.whole(passes, "passes", 0)
    generator = torch.Generator().manual_seed(seed)
    people, films = new_tables(train, WIDTH, generator)
    correction = log_shares(train) if corrected else torch.zeros(train.n_items)
    kept = []

    def loss(u: Tensor, i: Tensor) -> Tensor:
        logits = cosines(people[u], films[i]) / TEMPERATURE - correction[i]
        return F.cross_entropy(logits, torch.arange(len(u)))

    def keep_tables(done: int) -> None:
        if done in keep or done == passes:
            kept.append((people.detach().clone(), films.detach().clone()))

    train_on_pairs(
        train, loss, (people, films), generator, passes=passes, batch=BATCH, rate=RATE, after_pass=keep_tables
    )
    return kept


def cosines(people: Tensor, films: Tensor) -> Tensor:
    """(m, n) cosine of each person with each film."""
    return F.normalize(people, dim=1) @ F.normalize(films, dim=1).T


def best(people: Tensor, films: Tensor, train: Interactions, k: int = 10) -> NDArray[np.int64]:
    """(m, k) the films with the highest cosines that the person has not rated in `train`."""
    return metrics.top_k(F.normalize(people, dim=1), F.normalize(films, dim=1), train, k)


def most_popular(train: Interactions, k: int = 10, *, counted: Interactions | None = None) -> NDArray[np.int64]:
    """(m, k) for each person the films with the most ratings that the person has not rated in `train`.

    counted: the pairs whose ratings count, such as the latest of `train`; None: all of `train`.
    """
    ratings = (train if counted is None else counted).col_counts[:, None].astype(float)
    return metrics.top_k(np.ones((train.n_users, 1)), ratings, train, k)


def recall(lists: NDArray[np.int64], test: Interactions) -> float:
    """The mean share of a person's hidden films that stand in their list."""
    return float(metrics.metrics_from_ranking(lists, test, (lists.shape[1],))[f"recall@{lists.shape[1]}"])


def neighbours(films: Tensor, k: int = 5) -> NDArray[np.int64]:
    """(n, k) for each film the other films with the highest cosines."""
    close = cosines(films, films).fill_diagonal_(-2.0)
    return close.topk(k, dim=1).indices.numpy()
