"""The free tables that the chapter's pages train on the films, and the estimators that watch such a training.

A *free* table has one row of numbers for each person (or film), and the rows are the parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib import gramians
from course_lib.interactions import Interactions

WIDTH, START, LR = 16, 0.3, 0.3
Tables = tuple[np.ndarray, np.ndarray]
Look = Callable[[int, Tensor, Tensor, Tensor], None]
Estimator = gramians.BatchGramian


def start(train: Interactions, seed: int) -> tuple[Tensor, Tensor]:
    """Tables of people (m, 16) and of films (n, 16): every entry from N(0, 0.3^2)."""
    generator = torch.Generator().manual_seed(seed)
    left, right = ((START * torch.randn(size, WIDTH, generator=generator)).requires_grad_() for size in train.shape)
    return left, right


def fit(
    train: Interactions,
    lam: float,
    *,
    seed: int = 0,
    make: Callable[[], Estimator] = gramians.BatchGramian,
    batch: int = 1024,
    steps: int = 700,
    two_batches: bool = True,
    weights: tuple[Any, Any] = (1.0, 1.0),
    look: Look | None = None,
) -> Tables:
    """AdaGrad on the mean of (1 - <u, v>)^2 over a batch plus lam times the estimated gravity term.

    make: gives the estimator of one Gramian. two_batches: one batch for the Gramians, another for the gradient; else
    one batch for both, folded into the estimates after the step. weights: of the rows of people (m, 1) and of films
    (n, 1), in the gravity term only. look(step, u, v, seen): called before each step, with the batch of the Gramians.
    Returns the two tables, in float64.
    """
    u, v = start(train, seed)
    rng, n = np.random.default_rng(seed), len(train)
    people, films = torch.tensor(train.users), torch.tensor(train.items)
    optimiser = torch.optim.Adagrad([u, v], lr=LR)
    sides = make(), make()
    for step in range(steps):
        seen, used = torch.from_numpy(rng.integers(n, size=(2, batch)))
        if look is not None:
            look(step, u.detach(), v.detach(), seen)
        heavy_u, heavy_v = weights[0] * u, weights[1] * v
        if two_batches or step == 0:
            _fold(sides, seen, heavy_u[people[seen]], heavy_v[films[seen]])
        left, right = heavy_u[people[used]], heavy_v[films[used]]
        score = (u[people[used]] * v[films[used]]).sum(1)
        gravity = gramians.gravity_loss(left, right, *(side.estimate for side in sides))
        loss = (1 - score).square().mean() + lam * gravity
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if not two_batches:
            _fold(sides, used, left, right)
    return u.detach().double().numpy(), v.detach().double().numpy()


def _fold(sides: Sequence[Estimator], rows: Tensor, left: Tensor, right: Tensor) -> None:
    for side, embeddings in zip(sides, (left, right), strict=True):
        side.update(rows, embeddings.detach())


def objective(train: Interactions, lam: float, tables: Tables) -> float:
    """The mean of (1 - <u_i, v_i>)^2 over all examples plus lam times the exact gravity term."""
    left, right = tables[0][train.users], tables[1][train.items]
    return float(((1 - (left * right).sum(1)) ** 2).mean() + lam * gramians.gravity(left, right))


def even_weights(train: Interactions) -> tuple[Tensor, Tensor]:
    """sqrt(n / (m r_x)) for the people and sqrt(n / (m' c_y)) for the films: gravity over all pairs of both, evenly."""
    left, right = (
        torch.tensor(np.sqrt(len(train) / (len(count) * count)), dtype=torch.float32)[:, None]
        for count in (train.row_counts, train.col_counts)
    )
    return left, right


@dataclass(frozen=True)
class Race:
    """One training and the estimators that watched it.

    steps (T,): when the exact Gramian of the people's side was computed. errors: (name, batch size) -> (T,) relative
    errors ||G_hat - G|| / ||G||. moved (T - 1,): how far the Gramian went in a step, on average between two looks,
    relative to its norm. sigma: the spread of one draw at the end, relative to the norm.
    """

    steps: np.ndarray
    errors: dict[tuple[str, int], np.ndarray]
    moved: np.ndarray
    sigma: float

    def late(self, name: str, batch: int) -> float:
        """The mean error over the second half of the looks."""
        errors = self.errors[name, batch]
        return float(errors[len(errors) // 2 :].mean())


def race(
    train: Interactions,
    watched: Mapping[str, Sequence[int]],
    make: Callable[[str, int], Estimator],
    *,
    seed: int = 0,
    steps: int = 600,
    every: int = 20,
) -> Race:
    """Trains with batch sampling, lam = 10 and batches of 1024; every estimator watches the same trajectory.

    watched: name -> batch sizes. make(name, batch size): the estimator. A small batch is the first rows of the large
    one. SAGram's cache starts exact.
    """
    followers = {(name, size): make(name, size) for name, sizes in watched.items() for size in sizes}
    errors: dict[tuple[str, int], list[float]] = {key: [] for key in followers}
    people = torch.tensor(train.users)
    exact: list[Tensor] = []
    spreads = []

    def look(step: int, u: Tensor, _: Tensor, seen: Tensor) -> None:
        fresh = u[people[seen]]
        for (_name, size), follower in followers.items():
            if step == 0 and isinstance(follower, gramians.SAGram):
                follower.start(u[people])
            follower.update(seen[:size], fresh[:size])
        if (step + 1) % every == 0:
            rows = u[people]
            true = gramians.gramian(rows)
            for key, follower in followers.items():
                errors[key].append(float((follower.estimate - true).norm() / true.norm()))
            exact.append(true)
            spread = rows.square().sum(1).square().mean() - true.square().sum()
            spreads.append(float(spread.sqrt() / true.norm()))

    fit(train, 10, seed=seed, steps=steps, look=look)
    moved = [float((new - old).norm() / new.norm()) / every for old, new in itertools.pairwise(exact)]
    found = {key: np.array(values) for key, values in errors.items()}
    return Race(every * np.arange(1, len(exact) + 1), found, np.array(moved), spreads[-1])
