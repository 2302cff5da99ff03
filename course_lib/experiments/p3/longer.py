"""P3-X3: Table 5 with our cap of epochs lifted, along its way.

At laptop scale P3-T5 ends every run at 60 epochs at the latest, and most runs of Unbiased and Pos-Neg end there. Here
runs with the same splits, starts and batches go on until P3's rule ends them (no gain in any of six test numbers for
ten epochs) or until 300 epochs. Beside fewer losses a step sums in another order, so that after many steps a run may
part from that of P3-T5 by rounding, and meet the rule at another epoch. Each run is looked at along its way, at some
thirty epochs evenly in their logarithm. What the runs were predicted to show stands in `PREDICTIONS`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from course_lib.arrays import Array
from course_lib.experiments.core.machine import threads_for
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row
from course_lib.experiments.p3 import setting, stochastic_gradient
from course_lib.experiments.p3.paths import DIGITS, Lists
from course_lib.experiments.p3.predictions import Along, Prediction
from course_lib.experiments.p3.stochastic_gradient import COLUMNS, LossesCell
from course_lib.interactions import Interactions
from course_lib.training import objectives, resumable, stochastic
from course_lib.training.paths import log_even

LOSSES = ("unbiased", "pos_neg")  # In-Batch and Popularity mostly end by P3's rule before 60 epochs
BEFORE = 60  # epochs: the cap of P3-T5 at laptop scale


def longer_plan(
    scale: str, seeds: Seeds, *, data: str | None = None, device: str = "cpu", max_epochs: int | None = None
) -> list[LossesCell]:
    """One cell per batch ratio and seed, the large batches first; a cell trains both losses together."""
    name, k, ratios, epochs = {
        "smoke": ("movietweetings-10core", 32, setting.RATIOS[-1:], 4),
        "laptop": ("ml-1m", 64, setting.RATIOS[::-1], 300),
        "full": ("ml-1m", 64, setting.RATIOS[::-1], 1000),
    }[scale]
    how: dict[str, Any] = {"first_lr": 2.0**18, "max_epochs": max_epochs or epochs, "evaluations_per_epoch": 1}
    cells: list[Any] = [
        {"data": name, "pointwise": "square", "ratio": ratio, "losses": list(LOSSES), "k": k, "seed": seed, **how}
        | {"device": device}
        for seed in (seeds if data in (None, name) else ())
        for ratio in ratios
    ]
    return cells


def longer_seconds(cell: LossesCell) -> float:
    """A rough guess, on two cores."""
    return {"movietweetings-10core": 0.2}.get(cell["data"], 1.2) * cell["max_epochs"]


class Looks:
    """The gradient's norm at the epochs that are looked at: what ranks the tables is asked for once an epoch."""

    def __init__(self, cell: LossesCell, train: Interactions) -> None:
        stack = stochastic_gradient.make_stack(cell, train, torch.float32)
        self.data = dict(zip(stack.losses, stack.objectives, strict=True))
        self.pointwise, self.at = cell["pointwise"], set(log_even(cell["max_epochs"]))
        self.norms: dict[str, list[float]] = {loss: [] for loss in stack.losses}

    def serve(
        self, loss: str, pointwise: str, users: Array, items: Array, train: Interactions
    ) -> dict[str, setting.Tables]:
        """`setting.servings`; notes the norm on the way."""
        due = len(self.norms[loss]) + 1 in self.at
        self.norms[loss].append(self.norm(loss, users, items) if due else math.nan)
        return setting.servings(loss, pointwise, users, items, train)

    def norm(self, loss: str, users: Array, items: Array) -> float:
        """Of the gradient of the loss's expected objective, in float64."""
        device = self.data[loss].rows.device
        left, right = (torch.tensor(table, dtype=torch.float64, device=device) for table in (users, items))
        _, du, dv = objectives.GRADIENTS[self.pointwise](left, right, self.data[loss])
        return float(torch.cat([du, dv]).norm())

    def path_of(self, run: stochastic.Trained) -> list[Row]:
        """Rows with a path: each metric, the objective and the norm at the epochs looked at and at the last one."""
        norms = self.norms[run.loss][-len(run.history) :]  # a run that was halved began anew
        norms[-1] = self.norm(run.loss, run.users, run.items)
        points = [
            {"epoch": entry["epoch"], "objective": entry["objective"], "gradient norm": norm}
            | {metric: values[0] for metric, values in entry["metrics"]["raw"].items()}
            | dict(zip(("P@5 of half 1", "P@5 of half 2"), entry["metrics"]["raw"]["P@5"][1:], strict=True))
            for entry, norm in zip(run.history, norms, strict=True)
            if not math.isnan(norm)
        ]
        columns = {name: [float(f"{point[name]:.{DIGITS}g}") for point in points] for name in points[0]}
        return [
            {"selection": "path", "metric": name, "value": values[-1], "path": values}
            for name, values in columns.items()
        ]


ALL = (0, 1, 2)


def _of(loss: str, ratio: float) -> dict[str, Any]:
    return {"data": "ml-1m", "pointwise": "square", "loss": loss, "ratio": ratio}


def _named(loss: str, ratio: float) -> str:
    return f"{loss}-{ratio:.0e}".replace("e-0", "e-").replace("_", "-")


def _best_until(run: Along, epoch: int) -> float:
    """The largest P@5 at the looks up to an epoch."""
    return max(value for at, value in zip(run.at, run.metrics["P@5"], strict=True) if at <= epoch)


# Committed before the runs. Seen before: the same runs of seeds 0, 1 and 2 up to 60 epochs, in P3-T5. Their best P@5 of
# Pos-Neg were 18.3, 16.5, 11.4, 6.4 and 2.5 at the ratios 1e-1 to 1e-5, on average; 18.69, 16.81, 14.40, 12.03 and 7.29
# are printed. Those of Unbiased were 17.5 and 18.1 at 1e-1 and 1e-2; 18.50 and 18.18 are printed.
PREDICTIONS = (
    *(
        Prediction(
            f"{_named('unbiased', ratio)}-ends",
            f"Unbiased at {ratio:g} ends by P3's rule before epoch 300",
            _of("unbiased", ratio),
            lambda run: run.at[-1],
            high=299,
            seeds=ALL,
        )
        for ratio in (1e-1, 1e-2, 1e-3, 1e-4)
    ),
    Prediction(
        "unbiased-1e-1-rises",
        "the best P@5 of Unbiased at .1 beyond epoch 60 lies at least .3 above that of the first 60 epochs",
        _of("unbiased", 1e-1),
        lambda run: run.best - _best_until(run, BEFORE),
        0.3,
        seeds=ALL,
    ),
    *(
        Prediction(
            f"{_named('pos_neg', ratio)}-best",
            f"the best P@5 of Pos-Neg at {ratio:g} lies between {low:g} and {high:g}; {printed} is printed",
            _of("pos_neg", ratio),
            lambda run: run.best,
            low,
            high,
            seeds=ALL,
        )
        for ratio, printed, low, high in (
            (1e-1, 18.69, 18.2, 19.2),
            (1e-2, 16.81, 16.3, 17.4),
            (1e-3, 14.40, 11.0, 12.9),  # the print is not met: it lies above
            (1e-4, 12.03, 6.1, 9.0),
            (1e-5, 7.29, 2.4, 5.0),
        )
    ),
)


def paths(rows: list[Row]) -> list[Row]:
    """The rows with a path, worded as those of P3-X2: an epoch stands where an iteration stands there."""
    found = [row for row in rows if row.get("selection") == "path"]
    return [{**row, "metric": "iteration"} if row["metric"] == "epoch" else row for row in found]


def scalars(rows: list[Row]) -> dict[str, float]:
    """Those of P3-T5, and for each prediction how many cases there are and how many hold."""
    numbers = stochastic_gradient.table5_scalars([row for row in rows if row["loss"] != "most popular"])
    for prediction in PREDICTIONS:
        if cases := prediction.judged(paths(rows)):
            numbers |= {f"{prediction.name}-cases": float(len(cases))}
            numbers |= {f"{prediction.name}-hold": float(sum(held for _, _, held in cases))}
    return numbers


@experiment(
    "P3-X3",
    "stochastic gradient beyond 60 epochs, along its way: Table 5 with our cap lifted",
    plan=longer_plan,
    estimate=longer_seconds,
    describe=setting.describe,
    finish=scalars,
    layout=shown(*("data", "pointwise", "loss", "ratio"), columns=COLUMNS, metrics=setting.METRIC_NAMES),
)
def longer_cell(cell: LossesCell) -> list[Row]:
    """The rows of P3-T5, and for each loss rows with its path and what its last lists show, beside most popular."""
    train, test = setting.load_split(cell["data"], cell["seed"])
    halves = np.random.default_rng([cell["seed"], 3]).random(train.n_users) < 0.5  # as in Table 5
    looks, lists = Looks(cell, train), Lists(train, test, halves, "cpu")
    resumable.hold(looks.norms)
    with threads_for(train):
        stack = stochastic_gradient.make_stack(cell, train, torch.float32)
        trained = stochastic.train_stack(stack, test, cutoffs=setting.CUTOFFS, halves=halves, servings=looks.serve)
    rows = stochastic_gradient.trained_rows(cell, trained)
    for run in trained:
        where = {**stochastic_gradient.place(cell), "loss": run.loss, "serving": "raw"}
        rows += [{**where, **row} for row in looks.path_of(run)]
        users, items = (torch.tensor(table, dtype=torch.float64) for table in (run.users, run.items))
        found = lists.measure(users, items)
        names = ("mean count shown", "items shown %")
        rows += [{**where, "selection": "last", "metric": name, "value": found[name]} for name in names]
    column = lists.popularity[:, None]
    popular = lists.measure(torch.ones(train.n_users, 1, dtype=column.dtype), column)
    where = {**stochastic_gradient.place(cell), "loss": "most popular", "serving": "raw", "selection": "last"}
    return rows + [{**where, "metric": metric, "value": value} for metric, value in popular.items()]
