"""P4's Figures 2, 3 and 7: how far the estimates of a Gramian lie from it while a model trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from course_lib import gramians
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part
from course_lib.experiments.p4 import training
from course_lib.experiments.p4.data import describe
from course_lib.experiments.p4.training import Trainer, TrainingCell
from course_lib.training import resumable

ALPHAS = (0.001, 0.005, 0.01, 0.1)  # of Table 2


def exact_gramians(trainer: Trainer) -> list[torch.Tensor]:
    """G_u and G_v over all training pairs: each entity as often as it has pairs."""
    train = trainer.task.train
    sides = zip(trainer.tables(), (train.row_counts, train.col_counts), strict=True)
    return [gramians.gramian(table, weights=count * len(count) / len(train)) for table, count in sides]


def follow(cell: TrainingCell, watched: Mapping[tuple[str, int], str]) -> list[Row]:
    """Errors ||G_hat - G|| / ||G|| (left) of estimators that see one common trajectory, trained with batch sampling.

    watched: (name, batch size) -> estimator. All see the same draws, the small batches their first rows. Rows with the
    error at each check, and the spread sigma of one draw and the length delta of a step of the Gramian at the end.
    """
    trainer = training.make_trainer(cell, "sampling")
    n, k = len(trainer.task.train), cell["k"]
    followers = {(key, size): training.estimator(name, n, k, size) for (key, size), name in watched.items()}
    start = trainer.tables()[0][trainer.pairs[0]]  # (n, k): every training pair's left embedding
    for follower in followers.values():
        if isinstance(follower, gramians.SAGram):
            follower.start(start)
    rows: list[Row] = []
    where = part(cell, "data seed lr")
    model = {**where, "estimator": "Gramian", "batch": 1}

    def watch(seen: torch.Tensor, left: torch.Tensor) -> None:
        for (_, size), follower in followers.items():
            follower.update(seen[:size], left[:size])

    trues: list[torch.Tensor] = []

    def look(step: int, _: float) -> None:
        true = exact_gramians(trainer)[0]
        norm = float(true.norm())
        for (name, size), follower in followers.items():
            error = float((follower.estimate - true).norm()) / norm
            rows.append({**where, "estimator": name, "batch": size, "metric": "error", "step": step, "value": error})
        if trues:
            moved = float((true - trues[-1]).norm()) / cell["every"]
            rows.append({**model, "metric": "step / norm", "step": step, "value": moved / norm})
        trues.append(true)

    resumable.hold(rows, trues, *followers.values())
    training.train(cell, trainer, look, watch)
    left = trainer.tables()[0][trainer.pairs[0]]
    # E||uu' - G||^2 = E|u|^4 - ||G||^2
    spread = float((left.square().sum(1).square().mean() - trues[-1].square().sum()).sqrt())
    rows.append({**model, "metric": "sigma / norm", "value": spread / float(trues[-1].norm())})
    return rows + late_means(rows)


def late_means(rows: list[Row]) -> list[Row]:
    """The mean error of each curve over its first quarter and over its last half."""
    curves: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row["metric"] == "error":
            curves.setdefault((row["estimator"], row["batch"]), []).append(row)
    found = []
    for curve in curves.values():
        values = [row["value"] for row in curve]
        base = {key: value for key, value in curve[0].items() if key not in ("step", "value", "metric")}
        found.append({**base, "metric": "error early", "value": float(np.mean(values[: max(1, len(values) // 4)]))})
        found.append({**base, "metric": "error late", "value": float(np.mean(values[len(values) // 2 :]))})
    return found


def curve_plan(scale: str, seeds: Seeds, *, device: str = "cpu") -> list[TrainingCell]:
    """Figures 2 and 3: one training a seed."""
    length = {"smoke": (20, 12), "laptop": (20, 100), "full": (100, 100)}[scale]
    shared = training.shared_plan(scale, device=device)
    return [{**shared, "every": length[0], "checks": length[1], "seed": seed} for seed in seeds]


def rate_plan(scale: str, seeds: Seeds, *, device: str = "cpu") -> list[TrainingCell]:
    """Figure 7: two learning rates, five to one."""
    cells = curve_plan(scale, seeds, device=device)
    return [{**cell, "lr": lr} for cell in cells for lr in (cell["lr"], cell["lr"] / 5)]


def error_scalars(rows: list[Row]) -> dict[str, float]:
    """{"late sogram 0.01 128": the mean late error over seeds, at the highest learning rate}, and early ones."""
    top = max(row["lr"] for row in rows)
    shown = [row for row in rows if row["lr"] == top and row["metric"] in ("error early", "error late")]
    shown.sort(key=lambda row: (row["estimator"], row["batch"], row["metric"]))
    return means(shown, lambda row: f"{row['metric'].removeprefix('error ')} {row['estimator']} {row['batch']}")


_ALIKE: dict[str, Any] = {
    "estimate": training.step_seconds,
    "describe": describe,
    "finish": error_scalars,
    "layout": shown("data", "lr", "estimator", "batch", metrics=("error early", "error late"), digits=3),
}


@experiment(
    "P4-F2",
    "estimation error on one trajectory: SAGram, SOGram and sampling, batches of 128 and 1024",
    plan=curve_plan,
    **_ALIKE,
)
def figure2_cell(cell: TrainingCell) -> list[Row]:
    names = ("sagram 1/n", "sagram 1", "sogram 0.01", "sampling")
    return follow(cell, {(name, size): name for name in names for size in (128, cell["batch"])})


@experiment(
    "P4-F3",
    "estimation error of SOGram for several rates alpha, with and without the zero start corrected",
    plan=curve_plan,
    **_ALIKE,
)
def figure3_cell(cell: TrainingCell) -> list[Row]:
    names = [f"sogram {alpha}" for alpha in (1.0, *reversed(ALPHAS))]
    return follow(cell, {(name, 128): name for name in [*names, "sogram 0.01 corrected", "sogram 0.001 corrected"]})


@experiment("P4-F7", "estimation error of SOGram at two learning rates of the model", plan=rate_plan, **_ALIKE)
def figure7_cell(cell: TrainingCell) -> list[Row]:
    return follow(cell, {(f"sogram {alpha}", cell["batch"]): f"sogram {alpha}" for alpha in (0.1, 0.01, 0.001)})
