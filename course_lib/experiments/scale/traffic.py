"""SCALE-X3: what crosses the network in a step, counted at the sockets, and how long a step takes on this machine.

A step is the in-batch softmax of each process on embeddings (B, d) of 32 bits, forward and backward; towers and the
averaging of their gradients are left out, as they are the same for all recipes. "d x d sums" adds up the two Gramians
of the batch instead, and takes the gravity loss (`gramians.gravity_loss`) of the process's own rows.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import torch
from torch import Tensor

from course_lib import checking, gramians, losses, processes
from course_lib.experiments.core.provenance import digest
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, tidy, values_by_name
from course_lib.experiments.scale import team

if TYPE_CHECKING:
    from lightning_fabric import Fabric

SIZES = ((128, 64), (512, 64), (512, 128))  # (B, d)
RECIPES = (("local", "own"), *itertools.product(processes.GATHERS, processes.ROWS), ("d x d sums", "own"))
STEPS, WARM, TAU = 5, 2, 0.1
Step = Callable[[], None]
Numbers = Callable[["Fabric", Row, Step], dict[str, float]]  # (fabric, setting, step) -> metric -> number


class TrafficCell(TypedDict):
    """All recipes and sizes, on one number of processes."""

    processes: int
    seed: int


def formula(where: Row) -> float:
    """Bytes that a process sends in a setting, by `course_lib.processes`."""
    sizes = {"processes": where["processes"], "width": where["width"]}
    if where["gather"] == "d x d sums":
        return float(processes.gramian_bytes(**sizes))
    return processes.gathered_bytes(**sizes, batch_size=where["batch"], rows=where["rows"], gather=where["gather"])


def step(fabric: Fabric, gather: str, rows: str, q: Tensor, k: Tensor) -> None:
    """One step of this process: the loss and its gradients to q and k (B, d)."""
    torch.autograd.grad(_loss(fabric, gather, rows, q, k), (q, k))


def _loss(fabric: Fabric, gather: str, rows: str, q: Tensor, k: Tensor) -> Tensor:
    if gather == "d x d sums":
        both = torch.stack([gramians.gramian(table.detach()) for table in (q, k)])
        left, right = team.average(fabric, [both])[0]
        value: Tensor = gramians.gravity_loss(q, k, left, right)
        return value
    if gather == "local":
        return softmax(q, k, 0)
    items = team.gathered(fabric, k, gather)
    if rows == "all":
        return softmax(team.gathered(fabric, q, gather), items, 0)
    return softmax(q, items, fabric.global_rank * len(q))


def softmax(q: Tensor, k: Tensor, first: int) -> Tensor:
    """In-batch softmax on cosines; the positive of row i stands in column first + i."""
    value: Tensor = losses.infonce(losses.cosine_scores(q, k), tau=TAU, positives=first + torch.arange(len(q)))
    return value


def measured(fabric: Fabric, where: Row, do: Step) -> dict[str, float]:
    """The median of a few steps in milliseconds, and the bytes of one, where the system counts them."""
    for _ in range(WARM):
        do()
    before, times = team.sent(fabric), []
    for _ in range(STEPS):
        start = time.perf_counter()
        do()
        times.append(1e3 * (time.perf_counter() - start))
    after = team.sent(fabric)
    counted = {} if before is None or after is None else {"bytes": (after - before) / STEPS}
    return {"step ms": statistics.median(times), **counted, "formula bytes": formula(where)}


def in_each_process(fabric: Fabric, seed: int) -> list[Row]:
    """Rows of all sizes and recipes, as this process counts them."""
    return rows_of(fabric, seed, SIZES, RECIPES, measured)


def rows_of(
    fabric: Fabric,
    seed: int,
    sizes: Sequence[tuple[int, int]],
    recipes: Sequence[tuple[str, str]],
    numbers: Numbers,
) -> list[Row]:
    """What `numbers` finds for each size (B, d) and recipe (gather, rows): given the setting, and what takes a step."""
    found = list[Row]()
    for batch, width in checking.some(sizes):
        generator = torch.Generator().manual_seed(seed + fabric.global_rank)
        q, k = (torch.randn(batch, width, generator=generator).requires_grad_() for _ in range(2))
        for gather, rows in checking.some(recipes):
            where = {"processes": fabric.world_size, "batch": batch, "width": width, "gather": gather, "rows": rows}
            found += tidy(where, numbers(fabric, where, partial(step, fabric, gather, rows, q, k)))
    return found


# ---- the experiment


def plan(scale: str, seeds: Seeds, *, devices: int | None = None) -> list[TrafficCell]:
    """Two processes, and four beyond smoke scale; or `devices`."""
    counts = (devices,) if devices is not None else {"smoke": (2,), "laptop": (2, 4), "full": (2, 4, 8)}[scale]
    return [{"processes": count, "seed": seed} for count in counts for seed in seeds]


def describe(cell: Any) -> dict[str, Any]:
    """The tables are drawn from the seed."""
    return {"name": "random tables", "sha256": digest([SIZES, cell["seed"]])}


def scalars(rows: list[Row]) -> dict[str, float]:
    """Every number by its coordinates."""
    counted = [row for row in rows if row["metric"] != "step ms"]

    def name(row: Row) -> str:
        parts = (
            f"p{row['processes']}",
            f"b{row['batch']}",
            f"d{row['width']}",
            row["gather"],
            row["rows"],
            row["metric"],
        )
        return "-".join(parts).replace(" ", "-")

    return values_by_name(counted, name)


@experiment(
    "SCALE-X3",
    "bytes that each process sends in a step, counted at its sockets, and milliseconds of a step",
    plan=plan,
    estimate=lambda cell: 8.0 + 3.0 * cell["processes"],
    describe=describe,
    finish=scalars,
    layout=shown("processes", "batch", "width", "gather", "rows", digits=1),
)
def traffic_cell(cell: TrafficCell) -> list[Row]:
    """Starts the processes, and takes what process 0 counted."""
    return [{**row, "seed": cell["seed"]} for row in team.start("traffic", cell["processes"], cell["seed"])]
