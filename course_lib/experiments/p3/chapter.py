"""A small Table 5 for the chapter's page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.arrays import Array
from course_lib.experiments.core.provenance import describe_data, provenance
from course_lib.experiments.core.registry import get
from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import Row
from course_lib.experiments.p3.stochastic_gradient import BATCH_LOSSES, table5_scalars, train_cell, trained_rows
from course_lib.interactions import Interactions


@dataclass(frozen=True)
class Sweep:
    """What the chapter shows: the result, and each model's tables (users, items) by (loss, ratio)."""

    result: Result
    models: dict[tuple[str, float], tuple[Array, Array]]
    train: Interactions
    test: Interactions


def batch_ratio_sweep(
    train: Interactions,
    test: Interactions,
    *,
    ratios: tuple[float, ...] = (1e-5, 1e-3, 1e-1),
    losses: tuple[str, ...] = BATCH_LOSSES,
    k: int = 16,
    max_epochs: int = 15,
    first_lr: float = 1.0,
    seed: int = 0,
) -> Sweep:
    """A small Table 5 in seconds: every batch loss at every batch ratio, with the square loss of a pair, in float64.

    The learning rate starts at 1, from where the paper's rule halves it; P@5 is the best of one checkpoint per epoch
    (selection "test", as in the paper), with the cross-fitted value beside it. Deterministic for a seed and a machine;
    across machines sums are rounded differently, and P@5 moves by some tenths of a percent point.
    """
    rows: list[Row] = []
    models: dict[tuple[str, float], tuple[Array, Array]] = {}
    start = time.perf_counter()
    alike: Any = {"losses": losses, "k": k, "seed": seed, "max_epochs": max_epochs, "first_lr": first_lr}
    for ratio in ratios:
        cell: Any = {"data": train.name, "pointwise": "square", "ratio": ratio, **alike}
        trained = train_cell(cell, train, test, torch.float64)
        rows += trained_rows(cell, trained)
        models |= {(run.loss, ratio): (run.users, run.items) for run in trained}
    data = [describe_data(train.name, {"train": len(train), "test": len(test)}, train)]
    origin = {"data": data, "seconds": round(time.perf_counter() - start, 2), **provenance()}
    title, layout = "batch losses against batch ratio", get("P3-T5").layout
    result = Result("P3-chapter", "smoke", title, rows, table5_scalars(rows), origin, layout)
    return Sweep(result, models, train, test)
