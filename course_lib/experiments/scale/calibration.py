"""SCALE-X5: the model of what a step costs (`course_lib.step_cost`), fitted to two processes, and asked for four.

The steps are those of SCALE-X3: softmax on embeddings, forward and backward. "work ms" are milliseconds of the
processor, of all threads of a process: the best of the steps, in the mean over the processes. Other programs change
them little. "step ms" is max(1, P / cores) times as many, which is the time on the clock of a machine on which nothing
else runs and nobody waits; "predicted ms" is the model's. "clock ms" is what the clock of this machine said, the best
step too. The largest batch with two processes makes as many scores as the largest with four, so that the prediction is
for tables of a size that was measured.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from course_lib import step_cost
from course_lib.experiments.core.provenance import digest
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row
from course_lib.experiments.scale import team, traffic
from course_lib.training.processes import FabricProcesses

if TYPE_CHECKING:
    from lightning_fabric import Fabric

BATCHES = {2: (256, 512, 1024), 4: (256, 512)}
WIDTHS = (64, 128)
RECIPES = traffic.RECIPES[:-1]  # without the sums of Gramians, which compute no scores
STEPS, WARM, CORES, LIMIT = 15, 2, 2, 600  # LIMIT: seconds for a run of processes


class CalibrationCell(TypedDict):
    """All recipes and sizes, on two and on four processes."""

    seed: int


# ---- in each process


def in_each_process(fabric: Fabric, seed: int) -> list[Row]:
    """Milliseconds of all recipes and sizes, the mean over the processes."""
    sizes = itertools.product(BATCHES[fabric.world_size], WIDTHS)
    return traffic.rows_of(fabric, seed, list(sizes), RECIPES, measured)


def measured(fabric: Fabric, where: Row, do: traffic.Step) -> dict[str, float]:
    """The best step of each process, in the mean over the processes."""
    taken = []
    for _ in range(WARM + STEPS):
        fabric.barrier()
        start, work = time.perf_counter(), time.process_time()
        do()
        taken.append((1e3 * (time.process_time() - work), 1e3 * (time.perf_counter() - start)))
    best = torch.tensor(taken[WARM:], dtype=torch.float64).amin(0)
    work, clock = (FabricProcesses(fabric).total(best) / fabric.world_size).tolist()
    step = step_cost.turns(fabric.world_size, CORES) * work
    return {"scores": amounts(where)[1], "work ms": work, "step ms": step, "clock ms": clock}


# ---- the experiment


def amounts(row: Row) -> NDArray[np.float64]:
    """What a step has of each price, in the setting of a row."""
    sizes = {"processes": row["processes"], "batch_size": row["batch"], "width": row["width"]}
    return step_cost.amounts(row["gather"], row["rows"], **sizes)


def prices(rows: Sequence[Row]) -> NDArray[np.float64]:
    """(4,) the prices in seconds, by the rows of two processes."""
    fitted = [row for row in rows if row["processes"] == 2 and row["metric"] == "work ms"]
    return step_cost.fitted_prices([amounts(row) for row in fitted], [row["value"] / 1e3 for row in fitted])


def predicted(rows: Sequence[Row]) -> list[Row]:
    """The model's milliseconds in place of each "step ms"."""
    known = prices(rows)

    def model(row: Row) -> float:
        return 1e3 * float(step_cost.seconds(known, amounts(row), processes=row["processes"], cores=CORES))

    return [{**row, "metric": "predicted ms", "value": model(row)} for row in rows if row["metric"] == "step ms"]


def plan(scale: str, seeds: Seeds) -> list[CalibrationCell]:
    """The same at every scale: half a minute on two cores."""
    return [{"seed": seed} for seed in seeds]


def describe(cell: Any) -> dict[str, Any]:
    """The tables are drawn from the seed."""
    return {"name": "random tables", "sha256": digest([sorted(BATCHES.items()), WIDTHS, cell["seed"]])}


def scalars(rows: list[Row]) -> dict[str, float]:
    """The prices, in nanoseconds, in the mean over the seeds."""
    by_seed = [prices([row for row in rows if row["seed"] == seed]) for seed in {row["seed"] for row in rows}]
    return dict(zip((f"{name}-ns" for name in step_cost.PRICES), 1e9 * np.mean(by_seed, axis=0), strict=True))


@experiment(
    "SCALE-X5",
    "the cost of a step: four prices fitted to two processes, and their prediction for four on the same cores",
    plan=plan,
    estimate=lambda cell: 40.0,
    describe=describe,
    finish=scalars,
    layout=shown("processes", "batch", "width", "gather", "rows", digits=1),
)
def calibration_cell(cell: CalibrationCell) -> list[Row]:
    """Starts two processes, then four, and compares."""
    found = [row for count in BATCHES for row in team.start("calibration", count, cell["seed"], seconds=LIMIT)]
    return [{**row, "seed": cell["seed"]} for row in [*found, *predicted(found)]]
