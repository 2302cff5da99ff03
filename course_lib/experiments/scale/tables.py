"""SCALE-X4: the same two towers with their tables in one process, in each of two whole, and in two shards of rows.

One process takes batches of `batch` pairs; P processes take batch / P of the same pairs each, gather with gradients,
and average: by `course_lib.processes` that is the same step. TorchRec holds the shards, in an environment of its
own (`make test-scale`); `two_towers` is what each process runs.

Stated before the first run: with SGD the mean loss of the first epoch is that of one process to LOSS_BAR, relative,
and recall and NDCG after the last epoch to METRIC_BAR, absolute. A cell with `rows` measures memory instead: three
steps on random tables of that size. What a process grows by from before the tables to its peak is its part of the
tables and at most MEMORY_BAR, at each size.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from typing import Any, cast

from course_lib import checking
from course_lib.experiments.core.provenance import ROOT, digest
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, part, tidy
from course_lib.experiments.scale import team, two_towers
from course_lib.experiments.scale.shards import RECIPES
from course_lib.experiments.scale.two_towers import LIMIT, WAYS, MemoryCell, TableCell

BATCH = 1024  # pairs of all processes together
LOSS_BAR, METRIC_BAR, MEMORY_BAR = 1e-6, 1e-4, 0.064  # the last in GB


def start(cell: TableCell | MemoryCell, *ways: str, seconds: float = LIMIT) -> dict[str, dict[str, float]]:
    """Way -> what process 0 found, all in one run. RuntimeError as `team.run`."""
    command = [python(), "-m", two_towers.__name__, json.dumps(cell), *ways]
    return cast(dict[str, dict[str, float]], team.run(command, ", ".join(ways), seconds))


def python() -> str:
    """The Python that has TorchRec: this one, or that of `make test-scale`; ValueError where there is none."""
    if find_spec("torchrec"):
        return sys.executable
    made_for_it = ROOT / ".venv-scale" / "bin" / "python"
    if not made_for_it.exists():
        raise ValueError(
            f"TorchRec is not installed, and {made_for_it} is not there; expected one: run make test-scale"
        )
    return str(made_for_it)


# ---- the experiment


def plan(scale: str, seeds: Seeds, *, devices: int | None = None) -> list[TableCell | MemoryCell]:
    """Three losses with SGD, softmax with row-wise AdaGrad, and two sizes of tables for the memory."""
    data, epochs = ("movietweetings-10core", 1) if scale == "smoke" else ("ml-1m-5core", 3)
    processes = 2 if devices is None else checking.whole(devices, "devices", 2)
    if BATCH % processes:
        raise checking.refuse(devices, "devices", f"a divisor of {BATCH}, so that all have as many pairs of a batch")
    thousands = {"smoke": (60, 120), "laptop": (600, 1200), "full": (6000, 12_000)}[scale]
    recipes = (
        ("softmax, logQ", "sgd", 100.0),
        ("in-batch", "sgd", 300.0),
        ("SOGram", "sgd", 100.0),
        ("softmax", "row-wise adagrad", 0.1),
    )
    training: list[TableCell | MemoryCell] = [
        {
            "data": data,
            "loss": loss,
            "optimizer": optimizer,
            "lr": lr,
            "processes": processes,
            "batch": BATCH,
            "width": 32,
            "epochs": epochs,
            "seed": seed,
        }
        for loss, optimizer, lr in recipes
        for seed in seeds
    ]
    sizes: list[TableCell | MemoryCell] = [
        {"rows": 1000 * count, "processes": processes, "batch": BATCH, "width": 64, "seed": seeds[0]}
        for count in thousands
    ]
    return training + sizes


def describe(cell: Any) -> dict[str, Any]:
    """The data of a training; random tables have none."""
    return RECIPES.describe(cell) if "data" in cell else {"name": "random tables", "sha256": digest(cell)}


def runs_of(cell: Any) -> list[tuple[str, ...]]:
    """The ways to hold the tables, those together that run one after the other in the same processes.

    A peak of memory needs processes of its own. The course's row-wise AdaGrad takes dense gradients only.
    """
    if "rows" in cell:
        return [(way,) for way in WAYS[1:]]
    return [WAYS[:1], tuple(way for way in WAYS[1:] if cell["optimizer"] == "sgd" or not way.endswith("sparse"))]


@experiment(
    "SCALE-X4",
    "the same training with tables in one process, whole in each process, and in shards of rows",
    plan=plan,
    estimate=lambda cell: 60.0 if "rows" in cell else 100.0 * cell["epochs"],
    describe=describe,
    finish=lambda rows: {},
    layout=shown("loss", "optimizer", "way", digits=4),
)
def table_cell(cell: Any) -> list[Row]:
    """Every way to hold the tables."""
    where = part(cell, "rows processes seed" if "rows" in cell else "data loss optimizer processes seed")
    found = {way: numbers for ways in runs_of(cell) for way, numbers in start(cell, *ways).items()}
    return [row for way, numbers in found.items() for row in tidy({**where, "way": way}, numbers)]
