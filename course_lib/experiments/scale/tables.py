"""SCALE-X4: the same two towers with their tables in one process, in each of two whole, and in two shards of rows.

    python -m course_lib.experiments.scale.tables CELL WAY OUT      one process of a run that torchrun started

The towers are two tables of identifiers and a temperature. One process takes batches of `batch` pairs; P processes take
batch / P of the same pairs each, gather with gradients, and average: by `course_lib.maths.processes` that is the same
step. TorchRec holds the shards, in an environment of its own (`make test-scale`).

Stated before the first run: with SGD the mean loss of the first epoch is that of one process to LOSS_BAR, relative,
and recall and NDCG after the last epoch to METRIC_BAR, absolute. A cell with `rows` measures memory instead: three
steps on random tables of that size. What a process grows by from before the tables to its peak is at most MEMORY_BAR
beyond its part of the tables, at each size.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

import numpy as np
import torch
from torch import Tensor, nn

from course_lib.experiments.core.provenance import ROOT, digest
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, part, tidy
from course_lib.experiments.scale import team
from course_lib.experiments.scale.shards import RECIPES
from course_lib.maths import losses
from course_lib.maths.gramians import SOGram, gravity_loss
from course_lib.maths.in_batch import batch_loss

if TYPE_CHECKING:
    from course_lib.data.interactions import Interactions
    from course_lib.training import Fabric, FabricProcesses
    from course_lib.training.sharded import ShardedTables

LOSS_BAR, METRIC_BAR, MEMORY_BAR = 1e-6, 1e-4, 0.064  # the last in GB
WAYS = ("one process", "replicated", "replicated, sparse", "sharded")
GB, LIMIT = 1e9, 900  # bytes; seconds for a run of processes
ALPHA, GRAVITY, LISTS = 0.05, 1.0, 10  # of SOGram; weight of its gravity term; length of the lists
Batch = tuple[Tensor, Tensor]  # row numbers of users and items
Loss = Callable[[Tensor, Tensor, Tensor, Batch], Tensor]  # (q, k, tau, batch) -> ()


class TableCell(TypedDict):
    """One loss and optimiser, trained in every way."""

    data: str
    loss: str
    optimizer: str
    lr: float
    processes: int
    batch: int
    width: int
    epochs: int
    seed: int


class MemoryCell(TypedDict):
    """One size of the tables: rows of both together."""

    rows: int
    processes: int
    batch: int
    width: int
    seed: int


# ---- the model


class WholeTables(nn.Module):
    """What `ShardedTables` is to the towers, whole in this process."""

    def __init__(self, sizes: Mapping[str, int], d: int, *, seed: int, sparse: bool) -> None:
        from course_lib.training.sharded import start_rows

        super().__init__()
        self.tables = nn.ModuleDict(
            {
                name: nn.Embedding.from_pretrained(start_rows(name, 0, n, d=d, seed=seed), freeze=False, sparse=sparse)
                for name, n in sizes.items()
            }
        )

    def rows(self, **ids: Tensor) -> list[Tensor]:
        """The rows (B, d) of each table."""
        return [self.tables[name](chosen) for name, chosen in ids.items()]

    def whole(self, name: str) -> Tensor:
        """The table (n, d)."""
        return cast(Tensor, self.tables[name].weight).detach()


class Towers(nn.Module):
    """The tables and log tau; shards of rows are no part of the module."""

    def __init__(self, tables: WholeTables | ShardedTables) -> None:
        super().__init__()
        self.held = (tables,)
        if isinstance(tables, nn.Module):
            self.tables = tables
        self.log_tau = nn.Parameter(torch.tensor(0.1).log())

    def forward(self, users: Tensor, items: Tensor) -> list[Tensor]:
        """(B,), (B,) row numbers -> [q (B, d), k (B, d)]."""
        return self.held[0].rows(users=users, items=items)


def made(way: str, sizes: Mapping[str, int], cell: Any, fabric: Fabric) -> tuple[Towers, torch.optim.Optimizer]:
    """The towers, and what changes all of them that a fused optimiser does not."""
    from course_lib.models.optimisers import RowWiseAdagrad, Together
    from course_lib.training.sharded import ShardedTables

    d, seed, optimizer, lr = cell["width"], cell["seed"], cell.get("optimizer", "sgd"), cell.get("lr", 1.0)
    if way == "sharded":
        towers = Towers(ShardedTables(sizes, d, fabric=fabric, optimizer=optimizer, lr=lr, seed=seed))
    else:
        towers = Towers(WholeTables(sizes, d, seed=seed, sparse=way.endswith("sparse")))
    dense = torch.optim.SGD([towers.log_tau], lr=0.01)
    if way == "sharded":
        return towers, dense
    kind: Any = {"sgd": torch.optim.SGD, "row-wise adagrad": RowWiseAdagrad}[optimizer]
    return towers, Together(kind(towers.tables.parameters(), lr=lr), dense)


# ---- the losses, on what the processes gather


def losses_of(train: Interactions, everyone: FabricProcesses, d: int) -> dict[str, Loss]:
    """Each by its name. A softmax has the rows of this process; "in-batch" has all rows, in every process."""
    from course_lib.training.towers import log_probability

    rank, log_q = everyone.fabric.global_rank, log_probability(train)
    rows, cols = (torch.from_numpy(counts.astype(np.float32)) for counts in (train.row_counts, train.col_counts))
    sides = [SOGram(d, ALPHA, processes=everyone) for _ in range(2)]

    def own_first(table: Tensor) -> Tensor:
        return table.roll(-rank * (len(table) // everyone.fabric.world_size), 0)

    def softmax(q: Tensor, k: Tensor, tau: Tensor, batch: Batch, shift: Tensor | None = None) -> Tensor:
        scores = losses.cosine_scores(q, own_first(everyone.gathered(k)))  # (B, P B)
        value: Tensor = losses.in_batch_softmax(scores, tau=tau, log_q=shift)
        return value

    def softmax_logq(q: Tensor, k: Tensor, tau: Tensor, batch: Batch) -> Tensor:
        return softmax(q, k, tau, batch, log_q[own_first(everyone.concatenated(batch[1]))])

    def in_batch(q: Tensor, k: Tensor, tau: Tensor, batch: Batch) -> Tensor:
        users, items = (everyone.concatenated(ids) for ids in batch)
        scores = losses.dot_scores(everyone.gathered(q), everyone.gathered(k))  # (P B, P B)
        value: Tensor = batch_loss(
            "unbiased",
            pos_loss=losses.logistic(1, scores.diagonal()),
            neg_loss=losses.logistic(0, scores),
            row_counts=rows[users],
            col_counts=cols[items],
            n_positives=len(train),
            shape=train.shape,
        )
        return value / len(train)

    def sogram(q: Tensor, k: Tensor, tau: Tensor, batch: Batch) -> Tensor:
        left, right = (side.update(ids, rows) for side, ids, rows in zip(sides, batch, (q, k), strict=True))
        value: Tensor = losses.square(1, (q * k).sum(1)).mean() + GRAVITY * gravity_loss(q, k, left, right)
        return value

    return {"softmax": softmax, "softmax, logQ": softmax_logq, "in-batch": in_batch, "SOGram": sogram}


# ---- in each process


def trained(cell: TableCell, way: str, fabric: Fabric) -> dict[str, float]:
    """Losses of the first and the last epoch, recall and NDCG at the end, and what this process sent in an epoch."""
    from course_lib.data import metrics
    from course_lib.training import FabricProcesses, Plan, fit

    train, test = RECIPES.split(cell["data"], cell["seed"])
    towers, optimizer = made(way, {"users": train.n_users, "items": train.n_items}, cell, fabric)
    loss = losses_of(train, FabricProcesses(fabric), cell["width"])[cell["loss"]]
    left, right = torch.tensor(train.users), torch.tensor(train.items)

    def batches(epoch: int, _: np.random.Generator) -> Iterator[Batch]:
        order = torch.from_numpy(np.random.default_rng([cell["seed"], epoch]).permutation(len(train)))
        for chosen in order[: len(train) // cell["batch"] * cell["batch"]].split(cell["batch"]):
            own = chosen.chunk(fabric.world_size)[fabric.global_rank]
            yield left[own], right[own]

    def step(module: Any, batch: Batch) -> Tensor:
        return loss(*module(*batch), module.log_tau.exp(), batch)

    before = _sent()
    plan = Plan(cell["epochs"], remainder="drop")
    history = fit(
        *(towers, optimizer),
        batches=batches,
        step=step,
        plan=plan,
        seed=cell["seed"],
        fabric=fabric,
        sharded=True,
        progress=False,
    )
    sent = (_sent() - before) / cell["epochs"] / GB
    q, k = (towers.held[0].whole(name) for name in ("users", "items"))
    if cell["loss"].startswith("softmax"):
        q, k = (nn.functional.normalize(table, dim=1) for table in (q, k))
    found = metrics.evaluate(q, k, train, test, LISTS)
    quality = {f"{name}@{LISTS}": found[f"{name}@{LISTS}"] for name in ("recall", "ndcg")}
    ends = {f"loss, epoch {1 + at}": history.epochs[at]["loss"] for at in (0, cell["epochs"] - 1)}
    return {**ends, **quality, "sent GB": sent}


def grown(cell: MemoryCell, way: str, fabric: Fabric) -> dict[str, float]:
    """What the memory of this process grew by, at its peak, while it made tables and took three steps."""
    from course_lib.training import FabricProcesses, Plan, fit

    items = cell["rows"] // 6
    sizes = {"users": cell["rows"] - items, "items": items}
    before = _memory("VmRSS")
    towers, optimizer = made(way, sizes, cell, fabric)
    everyone, own = FabricProcesses(fabric), cell["batch"] // fabric.world_size

    def batches(epoch: int, rng: np.random.Generator) -> Iterator[list[Tensor]]:
        for _ in range(3):
            yield [torch.from_numpy(rng.integers(0, n, own)) for n in sizes.values()]

    def step(module: Any, batch: list[Tensor]) -> Tensor:
        q, k = module(*batch)
        positives = fabric.global_rank * own + torch.arange(own)
        scores = losses.cosine_scores(q, everyone.gathered(k))
        value: Tensor = losses.infonce(scores, tau=module.log_tau.exp(), positives=positives)
        return value

    fit(
        *(towers, optimizer),
        batches=batches,
        step=step,
        plan=Plan(1, remainder="drop"),
        seed=0,
        fabric=fabric,
        sharded=True,
        progress=False,
    )
    return {"tables GB": 4 * cell["rows"] * cell["width"] / GB, "grown GB": (_memory("VmHWM") - before) / GB}


def _memory(name: str) -> int:
    """Bytes of this process now ("VmRSS") or at most ("VmHWM"), as Linux counts them."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _sent() -> int:
    """What has been sent when all have come here and their last bytes have been acknowledged."""
    if team.dist.is_initialized():
        team.dist.barrier()
        time.sleep(0.05)
    return team.sent() or 0


def main(arguments: list[str]) -> int:
    """One process of a run; process 0 writes its numbers."""
    from course_lib.training import Fabric
    from course_lib.training.loop import launched

    parser = argparse.ArgumentParser(prog="python -m course_lib.experiments.scale.tables", description=main.__doc__)
    parser.add_argument("cell", type=json.loads)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("out", type=Path)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    size = int(os.environ["WORLD_SIZE"])
    fabric = launched(Fabric(accelerator="cpu", devices=size, strategy="ddp" if size > 1 else "auto"))
    measure: Any = grown if "rows" in given.cell else trained
    found = measure(given.cell, given.way, fabric)
    if fabric.is_global_zero:
        given.out.write_text(json.dumps(found), encoding="utf-8")
    return 0


def start(cell: TableCell | MemoryCell, way: str, *, seconds: float = LIMIT) -> dict[str, float]:
    """What process 0 of a run found. RuntimeError with what they said where one fails, or after `seconds`."""
    size = 1 if way == "one process" else cell["processes"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        command = [python(), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
        shared = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        started = subprocess.Popen(
            [*command, "-m", __name__, json.dumps(cell), way, str(out)],
            env=os.environ | shared,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said = started.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{way}: {size} processes were not done in {seconds:g} s and have been ended") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        if started.returncode:
            raise RuntimeError(f"{way}: a process of {size} failed: {said[-2000:]}")
        return cast(dict[str, float], json.loads(out.read_text(encoding="utf-8")))


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
    """Four losses with SGD, softmax with row-wise AdaGrad, and two sizes of tables for the memory."""
    data, epochs = ("movietweetings-10core", 1) if scale == "smoke" else ("ml-1m-5core", 3)
    processes, thousands = devices or 2, {"smoke": (60, 120), "laptop": (600, 1200), "full": (6000, 12_000)}[scale]
    recipes = (
        ("softmax", "sgd", 10.0),
        ("softmax, logQ", "sgd", 10.0),
        ("in-batch", "sgd", 10.0),
        ("SOGram", "sgd", 10.0),
        ("softmax", "row-wise adagrad", 0.05),
    )
    training: list[TableCell | MemoryCell] = [
        {
            "data": data,
            "loss": loss,
            "optimizer": optimizer,
            "lr": lr,
            "processes": processes,
            "batch": 1024,
            "width": 32,
            "epochs": epochs,
            "seed": seed,
        }
        for loss, optimizer, lr in recipes
        for seed in seeds
    ]
    sizes: list[TableCell | MemoryCell] = [
        {"rows": 1000 * count, "processes": processes, "batch": 1024, "width": 64, "seed": seeds[0]}
        for count in thousands
    ]
    return training + sizes


def describe(cell: Any) -> dict[str, Any]:
    """The data of a training; random tables have none."""
    return RECIPES.describe(cell) if "data" in cell else {"name": "random tables", "sha256": digest(cell)}


def ways_of(cell: Any) -> tuple[str, ...]:
    """The course's row-wise AdaGrad takes dense gradients only."""
    return tuple(way for way in WAYS if cell.get("optimizer", "sgd") == "sgd" or not way.endswith("sparse"))


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
    """Every way to hold the tables, in processes of its own."""
    where = part(cell, "rows processes seed" if "rows" in cell else "data loss optimizer processes seed")
    return [row for way in ways_of(cell) for row in tidy({**where, "way": way}, start(cell, way))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
