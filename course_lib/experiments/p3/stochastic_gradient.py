"""P3's Tables 4 and 5 and Figure 4: training on batches with every loss."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np
import torch

from course_lib.experiments.core.machine import threads_for
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part
from course_lib.experiments.p3 import setting
from course_lib.experiments.p3.setting import METRIC_NAMES, RATIOS
from course_lib.in_batch import balance, batch_size_from_ratio
from course_lib.interactions import Interactions
from course_lib.training import stochastic


class BatchCell(TypedDict):
    """Training at one batch ratio on one split; the last three as in `stochastic.Schedule`."""

    data: str
    pointwise: str
    ratio: float
    k: int
    seed: int
    first_lr: float
    max_epochs: int
    evaluations_per_epoch: NotRequired[float]
    device: NotRequired[str]


class LossesCell(BatchCell):
    """The losses that are trained together."""

    losses: Sequence[str]


BATCH_LOSSES = ("unbiased", "unbiased_omega", "pos_neg", "in_batch", "popularity")
OMEGA_RATIO = 1e-1  # unbiased_omega uses rho at this batch ratio, where P3's Pos-Neg is best on ML-1M
LAPTOP = (("ml-1m", "square", 64), ("ml-100k", "logistic", 64))
COLUMNS = ("selection", "metric")


def table5_plan(
    scale: str, seeds: Seeds, *, data: str | None = None, device: str = "cpu", max_epochs: int | None = None
) -> list[LossesCell]:
    """One cell per data set, point-wise loss, batch ratio and seed; a cell trains all losses together."""
    masked = ["masked"] if scale == "smoke" else []  # not P3's (claim X2), and slow where the grid is dense
    usual = {"smoke": (RATIOS[::2], 4, 1), "laptop": (RATIOS, 60, 1), "full": (RATIOS, 1000, 100)}[scale]
    # 270 million scores to rank at each checkpoint
    special = {("laptop", "amazon-beauty-5core"): ((1e-3, 1e-1), 30, 0.5)}
    cells: list[Any] = []
    for name, pointwise, k in setting.sets(scale, (*LAPTOP, ("amazon-beauty-5core", "square", 64))):
        ratios, epochs, evaluations = special.get((scale, name), usual)
        how = {"first_lr": 2.0**18, "max_epochs": max_epochs or epochs, "evaluations_per_epoch": evaluations}
        for seed, ratio in itertools.product(seeds if data in (None, name) else (), ratios):
            where = {"data": name, "pointwise": pointwise, "ratio": ratio, "losses": [*BATCH_LOSSES, *masked]}
            cells.append({**where, "k": k, "seed": seed, **how, "device": device})
    return cells


def table5_seconds(cell: BatchCell) -> float:
    """A rough guess, on two cores."""
    per_epoch = {"movietweetings-10core": 0.2, "ml-100k": 1.0, "ml-1m": 2.0}.get(cell["data"], 5.0)
    heavy = 10.0 if cell["pointwise"] == "logistic" and cell["data"] in setting.FULL_SETS else 1.0
    return per_epoch * heavy * min(cell["max_epochs"], 60)


def table5_scalars(rows: list[Row]) -> dict[str, float]:
    """Means over seeds under names such as "ml-1m-square-unbiased-1e-3-p5" (selection as in the paper, raw scores)."""

    def name(row: Row) -> str:
        ratio = f"{row['ratio']:.0e}".replace("e-0", "e-")
        return f"{row['data']}-{row['pointwise']}-{row['loss']}-{ratio}-p5".replace("_", "-")

    shown = {"metric": "P@5", "selection": "test", "serving": "raw"}
    return means((row for row in rows if all(row[key] == value for key, value in shown.items())), name)


@experiment(
    "P3-T5",
    "stochastic gradient: batch losses against batch ratio, AdaGrad, learning rate found by halving",
    plan=table5_plan,
    estimate=table5_seconds,
    describe=setting.describe,
    finish=table5_scalars,
    layout=shown(*("data", "pointwise", "loss", "ratio", "serving"), columns=COLUMNS, metrics=METRIC_NAMES),
)
def table5_cell(cell: LossesCell) -> list[Row]:
    """All losses at one batch ratio on one split. Rows give three ways to choose the checkpoint.

    selection "test": the best value over checkpoints on the test set itself, as the paper does; "cross-fitted": chosen
    on half of the users and measured on the other half, both ways; "last": no choice.
    """
    train, test = setting.load_split(cell["data"], cell["seed"])
    return trained_rows(cell, train_cell(cell, train, test))


def make_stack(cell: LossesCell, train: Interactions, dtype: torch.dtype) -> stochastic.Stack:
    """The stack of a cell's losses at their common start."""
    looks = cell.get("evaluations_per_epoch", 1)
    schedule = stochastic.Schedule(**part(cell, "first_lr max_epochs"), evaluations_per_epoch=looks)
    return stochastic.Stack(
        tuple(cell["losses"]),
        cell["pointwise"],
        train,
        batch_size_from_ratio(cell["ratio"], len(train)),
        k=cell["k"],
        rng=np.random.default_rng([cell["seed"], 2]),
        schedule=schedule,
        omega=balance(batch_size_from_ratio(OMEGA_RATIO, len(train)), len(train)),
        device=cell.get("device", "cpu"),
        dtype=dtype,
    )


def train_cell(
    cell: LossesCell, train: Interactions, test: Interactions, dtype: torch.dtype = torch.float32
) -> list[stochastic.Trained]:
    """Trains the losses of a cell together and returns them, in its order."""
    halves = np.random.default_rng([cell["seed"], 3]).random(train.n_users) < 0.5
    asked: dict[str, Any] = {"cutoffs": setting.CUTOFFS, "halves": halves, "servings": setting.servings}
    with threads_for(train):
        return stochastic.train_stack(make_stack(cell, train, dtype), test, **asked)


def place(cell: BatchCell) -> Row:
    """The columns of a row that say which cell it is of."""
    return part(cell, "data pointwise ratio k seed")


def trained_rows(cell: BatchCell, trained: list[stochastic.Trained], table: str = "T5") -> list[Row]:
    """Tidy rows of trained configurations: metrics under each selection and serving, then how training went."""
    choices = {"test": stochastic.best_on_test, "cross-fitted": stochastic.cross_fitted, "last": stochastic.last}
    rows: list[Row] = []
    for run in trained:
        where = {**place(cell), "loss": run.loss}
        printed = {"loss": run.loss, "ratio": cell["ratio"], "pointwise": cell["pointwise"], "dataset": cell["data"]}
        for selection, choose in choices.items():
            for serving, metrics in run.history[-1]["metrics"].items():
                for metric in metrics:
                    row = {**where, "serving": serving, "selection": selection, "metric": metric}
                    row["value"] = choose(run, serving, metric)
                    if selection == "test" and serving == "raw":
                        row["paper"] = setting.paper_value(table, metric=metric, **printed)
                    rows.append(row)
        how = {"learning rate": run.lr, "halvings": run.halvings, "epochs": run.epochs, "steps": run.steps}
        how["objective"] = run.history[-1]["objective"]
        rows += [
            {**where, "serving": "raw", "selection": "last", "metric": name, "value": value, "stopped": run.stopped}
            for name, value in how.items()
        ]
    return rows


# ------------------------------------------------------------------------------ Table 4, Figure 4: against Sogram


def table4_plan(scale: str, seeds: Seeds, *, device: str = "cpu", max_epochs: int | None = None) -> list[BatchCell]:
    """One cell per data set, point-wise loss, batch ratio and seed; a cell trains the unbiased loss and Sogram."""
    ratios, epochs = {"smoke": ((1e-3,), 10), "laptop": (RATIOS[2:], 60), "full": (RATIOS, 1000)}[scale]
    how: dict[str, Any] = {"first_lr": 2.0**18, "max_epochs": max_epochs or epochs, "device": device}
    how["evaluations_per_epoch"] = 100 if scale == "full" else 2
    cells: list[Any] = [
        {"data": name, "pointwise": pointwise, "ratio": ratio, "k": k, "seed": seed, **how}
        for name, pointwise, k in setting.sets(scale, LAPTOP)
        for seed in seeds
        for ratio in ratios
    ]
    return cells


@experiment(
    "P3-T4",
    "the unbiased loss (17) against Sogram (34): quality, objective against step (Figure 4), cost of a step",
    plan=table4_plan,
    estimate=lambda cell: 0.6 * table5_seconds(cell),
    describe=setting.describe,
    finish=table5_scalars,
    layout=shown("data", "pointwise", "ratio", "loss", columns=COLUMNS, metrics=(*METRIC_NAMES, "step ms")),
)
def table4_cell(cell: BatchCell) -> list[Row]:
    """Both losses from the same start on the same first batches; the curve is the full objective (5)."""
    train, test = setting.load_split(cell["data"], cell["seed"])
    rows = []
    for loss in ("unbiased", "sogram"):
        trained = train_cell({**cell, "losses": [loss]}, train, test)
        rows += trained_rows(cell, trained, "T4")
        where = {**place(cell), "loss": loss, "serving": "raw", "selection": "curve"}
        rows += [
            {**where, "metric": "objective at step", "step": entry["step"], "value": entry["objective"]}
            for entry in trained[0].history
        ]
    for loss, seconds in step_seconds(cell, ("unbiased", "sogram"), train).items():
        cost = {"serving": "raw", "selection": "cost", "metric": "step ms", "value": 1000 * seconds}
        rows.append({**place(cell), "loss": loss, **cost})
    return rows


def step_seconds(cell: BatchCell, losses: tuple[str, ...], train: Interactions, repeats: int = 15) -> dict[str, float]:
    """Median seconds of one training step of each loss, taken in turn.

    On a CPU processor time, which other programs disturb less. A step draws its batch, computes the gradient and
    updates, with towers that are embedding tables: encoding costs nothing, so this is the part of the cost that P3's
    (10) and (35) leave out.
    """
    on_gpu = cell.get("device", "cpu").startswith("cuda")
    clock = time.perf_counter if on_gpu else time.process_time
    stacks = {loss: make_stack({**cell, "losses": [loss], "first_lr": 0.01}, train, torch.float32) for loss in losses}
    batches = {loss: stack.batches() for loss, stack in stacks.items()}
    times: dict[str, list[float]] = {loss: [] for loss in losses}
    for _ in range(repeats):
        for loss, stack in stacks.items():
            start = clock()
            stack.step(next(batches[loss]))
            if on_gpu:
                torch.cuda.synchronize()
            times[loss].append(clock() - start)
    return {loss: float(np.median(seconds)) for loss, seconds in times.items()}
