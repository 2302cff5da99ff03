"""Seconds per training step of the batch losses, as ratios to plain in-batch training.

A step draws one batch, looks up two embedding tables, computes the loss, backpropagates and takes an AdaGrad step. Size
and batch are those of P3's ml1m runs at batch ratio 1e-5: 6,037 x 3,513 with 517,770 positives, 1,637 pairs, width 64.
All losses take turns on the same batches, in an order that changes every round, and a ratio is the median over the
rounds of (time of the loss / time of in_batch in the same round). So a busy computer slows both sides alike.

    python benchmarks/in_batch_step.py [--rounds 15] [--loss square|logistic|both] [--batch-size 1637]

Exits with 1 when "unbiased" misses its bar of 1.1 times "in_batch".
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout needs no installation
from course_lib import in_batch, losses

BAR = 1.1
SHAPE, N_POSITIVES, WIDTH = (6037, 3513), 517_770, 64
STRATEGIES = ("in_batch", "unbiased", "popularity", "pos_neg", "masked", "sogram")


class Positives:
    """A random positive set of ml1m's size with popular users and items, and its counts."""

    def __init__(self, rng: np.random.Generator) -> None:
        weights = [1 / (10 + np.arange(side)) ** 0.7 for side in SHAPE]
        cells = np.array([], dtype=np.int64)
        while len(cells) < N_POSITIVES:
            rows, cols = (rng.choice(len(w), size=N_POSITIVES, p=w / w.sum()) for w in weights)
            cells = np.unique(np.concatenate([cells, rows * SHAPE[1] + cols]))
        self.cells = np.sort(rng.permutation(cells)[:N_POSITIVES])
        self.rows, self.cols = self.cells // SHAPE[1], self.cells % SHAPE[1]
        self.labels = np.zeros(SHAPE, dtype=np.float32)
        self.labels[self.rows, self.cols] = 1
        self.row_counts = torch.tensor(self.labels.sum(axis=1))
        self.col_counts = torch.tensor(self.labels.sum(axis=0))
        self.dense = torch.tensor(self.labels)

    def batch(self, size: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        at = rng.choice(N_POSITIVES, size=size, replace=False)
        return torch.tensor(self.rows[at]), torch.tensor(self.cols[at])


class Model:
    """Two embedding tables with AdaGrad, P3's optimiser."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.users, self.items = (
            (torch.randn(side, WIDTH, generator=generator) * 0.1).requires_grad_() for side in SHAPE
        )
        self.optimiser = torch.optim.Adagrad([self.users, self.items], lr=1e-3)

    def step(self, loss: torch.Tensor) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()


def grid_step(kind: str, model: Model, data: Positives, point: str, batch: tuple, _: tuple) -> None:
    """One step of a loss on one s x s grid."""
    rows, cols = batch
    u, v = model.users[rows], model.items[cols]
    loss = losses.LOSSES[point]
    model.step(
        in_batch.batch_loss(
            kind,
            pos_loss=loss(1, (u * v).sum(dim=1)),
            neg_loss=loss(0, u @ v.T),
            row_counts=data.row_counts[rows],
            col_counts=data.col_counts[cols],
            n_positives=N_POSITIVES,
            shape=SHAPE,
            labels=data.dense[rows][:, cols] if kind == "masked" else None,
        )
    )


def sogram_step(_kind: str, model: Model, data: Positives, point: str, batch: tuple, other: tuple) -> None:
    """One step of the two-batch loss (34)."""
    rows, cols = batch
    u, v, w = model.users[rows], model.items[cols], model.items[other[1]]
    loss, scores = losses.LOSSES[point], (u * v).sum(dim=1)
    model.step(
        in_batch.sogram_loss(
            pos_loss=loss(1, scores),
            neg_diag=loss(0, scores),
            neg_cross=loss(0, u @ w.T),
            row_counts=data.row_counts[rows],
            col_counts=data.col_counts[other[1]],
            n_positives=N_POSITIVES,
            shape=SHAPE,
        )
    )


def seconds(action: Callable[..., None], *arguments: Any) -> float:
    start = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - start


def measure(point: str, *, batch_size: int, rounds: int, seed: int = 0) -> dict[str, list[float]]:
    """Seconds of every strategy in every round."""
    rng = np.random.default_rng(seed)
    data, models = Positives(rng), {kind: Model(seed) for kind in STRATEGIES}
    times: dict[str, list[float]] = {kind: [] for kind in STRATEGIES}
    for number in range(rounds + 2):
        batch, other = data.batch(batch_size, rng), data.batch(batch_size, rng)
        for kind in rng.permutation(STRATEGIES):
            step = sogram_step if kind == "sogram" else grid_step
            taken = seconds(step, str(kind), models[kind], data, point, batch, other)
            if number >= 2:  # the first two rounds warm up
                times[kind].append(taken)
    return times


def ratios(times: dict[str, list[float]]) -> dict[str, float]:
    """Median over the rounds of time / time of in_batch in the same round."""
    return {
        kind: statistics.median(t / base for t, base in zip(taken, times["in_batch"], strict=True))
        for kind, taken in times.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--loss", choices=("square", "logistic", "both"), default="both")
    parser.add_argument("--batch-size", type=int, default=1637)
    options = parser.parse_args()
    met = True
    for point in ("square", "logistic") if options.loss == "both" else (options.loss,):
        times = measure(point, batch_size=options.batch_size, rounds=options.rounds)
        found = ratios(times)
        for kind in STRATEGIES:
            milliseconds = 1000 * statistics.median(times[kind])
            print(f"{point:9s} {kind:11s} {milliseconds:8.1f} ms per step   {found[kind]:.3f} x in_batch")
        met &= found["unbiased"] <= BAR
        print(f"{point:9s} bar: unbiased at most {BAR} x in_batch: {'met' if found['unbiased'] <= BAR else 'MISSED'}\n")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
