"""The films that the chapter trains on: five objectives on the same batches, and what the lists of each look like."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from course_lib import checking, in_batch, losses, metrics
from course_lib.interactions import Interactions, epoch_batches

WIDTH, START, BATCH, PASSES, K = 16, 0.1, 256, 20, 5
RATES: Mapping[str, float] = {"unbiased": 0.03, "in_batch": 0.3, "softmax": 0.03, "logq": 0.03, "mixed": 0.03}
# of AdaGrad: for each objective the best rate on a validation part (`rates`; the lab shows the table)
Tables = tuple[NDArray[np.float64], NDArray[np.float64]]


class Lists(NamedTuple):
    """Of the five films that a model recommends to each person.

    precision: the share that is hidden, in percent; fans: the median of their counts in the training part; films: how
    many different films anybody is shown.
    """

    precision: float
    fans: float
    films: int


def trained(
    train: Interactions, objective: str, *, seed: int, rate: float | None = None, passes: int = PASSES
) -> Tables:
    """(users (m, 16), items (n, 16)) after the last pass: AdaGrad on batches of 256 pairs; no checkpoint is chosen.

    objective: "unbiased" or "in_batch" (P3's (17) and (28), logistic loss), "softmax" (over the batch, dot products),
    "logq" (the same with log(c_j / M) subtracted from the scores of film j) or "mixed" (as many films of the catalogue,
    uniformly drawn, among the wrong answers, and the logarithm of the mixed law subtracted). rate: by default that of
    `RATES`.
    """
    (last,) = deque(_tables(train, objective, seed=seed, rate=rate, passes=passes), maxlen=1)
    return _arrays(*last)


def along(
    train: Interactions, objective: str, *, seed: int, rate: float | None = None, passes: int = PASSES
) -> Iterator[Tables]:
    """The two tables of `trained` before the first batch and after each one."""
    for users, items in _tables(train, objective, seed=seed, rate=rate, passes=passes):
        yield _arrays(users, items)


def _tables(
    train: Interactions, objective: str, *, seed: int, rate: float | None, passes: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """The parameters that each step changes in place, before the first batch and after each one."""
    objective = checking.choice(objective, "objective", RATES)
    rate = RATES[objective] if rate is None else checking.real(rate, "rate", above=0)
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    users, items = ((START * torch.randn(rows, WIDTH, generator=generator)).requires_grad_() for rows in train.shape)
    of_pairs = torch.from_numpy(np.stack([train.users, train.items])).long()
    counts = [torch.tensor(side, dtype=users.dtype) for side in (train.row_counts, train.col_counts)]
    optimiser = torch.optim.Adagrad([users, items], lr=rate)
    mixed_law = torch.from_numpy(losses.mixed_log_q(train.col_counts, 0.5)).to(users.dtype)
    yield users, items
    for at in range(passes):
        for places in epoch_batches(train, BATCH, rng, drop_last=True):
            i, j = of_pairs[:, torch.from_numpy(places)]
            if objective == "mixed":
                loss = mixed_loss(users[i], items, j, mixed_law, generator)
            else:
                of_batch = counts[0][i], counts[1][j]
                loss = batch_loss(objective, users[i] @ items[j].T, train, *of_batch, validate=at == 0)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            yield users, items


def _arrays(users: Tensor, items: Tensor) -> Tables:
    return users.detach().double().numpy(), items.detach().double().numpy()


def mixed_loss(people: Tensor, items: Tensor, films: Tensor, log_q: Tensor, generator: torch.Generator) -> Tensor:
    """The softmax of s people (s, d) over the s films (s,) of the batch and as many uniform ones, minus log_q (n,)."""
    shown = torch.cat([films, torch.randint(len(items), (len(films),), generator=generator)])
    scores = people @ items[shown].T - log_q[shown]  # (s, 2 s)
    return torch.nn.functional.cross_entropy(scores, torch.arange(len(films)))


def batch_loss(
    objective: str,
    scores: Tensor,
    train: Interactions,
    row_counts: Tensor,
    col_counts: Tensor,
    *,
    validate: bool = True,
) -> Tensor:
    """The loss of one batch of s pairs: scores (s, s), and the counts (s,) of its people and of its films."""
    if objective in ("softmax", "logq"):
        log_q = torch.log(col_counts / len(train)) if objective == "logq" else None
        found: Tensor = losses.in_batch_softmax(scores, tau=1.0, log_q=log_q)
        return found
    value: Tensor = in_batch.batch_loss(
        objective,
        pos_loss=losses.logistic(1, scores.diagonal()),
        neg_loss=losses.logistic(0, scores),
        row_counts=row_counts,
        col_counts=col_counts,
        n_positives=len(train),
        shape=train.shape,
        validate=validate,
    )
    return value


def plus_log_popularity(users: NDArray[np.float64], items: NDArray[np.float64], train: Interactions) -> Tables:
    """The same scores plus log c_j, as a model of one dimension more: multiplying back where scores are logarithms."""
    log_counts = np.log(np.maximum(train.col_counts, 1))
    return np.column_stack([users, np.ones(len(users))]), np.column_stack([items, log_counts])


def most_popular(train: Interactions) -> Tables:
    """Everybody's score of a film is its count."""
    return np.ones((train.n_users, 1)), train.col_counts[:, None].astype(float)


def best(model: Tables, train: Interactions) -> NDArray[np.int64]:
    """(m, 5) the unseen films with the highest scores for each person, -1 where fewer are left."""
    return metrics.top_k(*model, train, K)


def lists(model: Tables, train: Interactions, test: Interactions) -> Lists:
    """What the five best unseen films of each person look like."""
    shown = best(model, train)
    found = metrics.metrics_from_ranking(shown, test, (K,))
    places = shown[shown >= 0]  # -1: the person has seen all but a few films
    precision, fans = 100 * float(found[f"precision@{K}"]), float(np.median(train.col_counts[places]))
    return Lists(precision, fans, len(np.unique(places)))


def models(train: Interactions, *, seed: int) -> dict[str, Tables]:
    """Each objective, the two biased ones with popularity given back, and the most popular films."""
    found = {name: trained(train, name, seed=seed) for name in RATES}
    biased = ("in_batch", "softmax")
    found |= {f"{name}, plus log popularity": plus_log_popularity(*found[name], train) for name in biased}
    found["most popular"] = most_popular(train)
    return found


def objectives(train: Interactions, test: Interactions, *, seed: int) -> dict[str, Lists]:
    """The lists of the `models`."""
    return {name: lists(model, train, test) for name, model in models(train, seed=seed).items()}
