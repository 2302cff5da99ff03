"""What each process of SCALE-X4 runs: two towers with their tables whole or in shards, trained or measured.

    python -m course_lib.experiments.scale.two_towers CELL WAY ... --out FILE      starts the processes, on this machine

`tables` has the experiment. The towers are two tables of identifiers and a temperature.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

import numpy as np
import torch
from torch import Tensor, nn

from course_lib import losses
from course_lib.experiments.scale import team
from course_lib.experiments.scale.shards import RECIPES
from course_lib.gramians import SOGram, gravity_loss
from course_lib.in_batch import batch_loss

if TYPE_CHECKING:
    from course_lib.interactions import Interactions
    from course_lib.training import Fabric, FabricProcesses
    from course_lib.training.sharded import ShardedTables

WAYS = ("one process", "replicated", "replicated, sparse", "sharded")
GB, LIMIT = 1e9, 1800  # bytes; seconds for a run of processes
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
        for name, n in sizes.items():
            start = start_rows(name, 0, n, d=d, seed=seed)
            self.add_module(name, nn.Embedding(n, d, _weight=start, sparse=sparse))

    def rows(self, **ids: Tensor) -> list[Tensor]:
        """The rows (B, d) of each table."""
        return [getattr(self, name)(chosen) for name, chosen in ids.items()]

    def whole(self, name: str) -> Tensor:
        """The table (n, d)."""
        return cast(Tensor, getattr(self, name).weight).detach()


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
    from course_lib.optimisers import RowWiseAdagrad, Together
    from course_lib.training.sharded import ShardedTables

    d, seed, optimizer, lr = cell["width"], cell["seed"], cell.get("optimizer", "sgd"), cell.get("lr", 1.0)
    if way == "sharded":
        towers = Towers(ShardedTables(sizes, d, fabric=fabric, optimizer=optimizer, lr=lr, seed=seed))
        return towers, torch.optim.SGD([towers.log_tau], lr=0.01)
    tables = WholeTables(sizes, d, seed=seed, sparse=way.endswith("sparse"))
    towers, kind = Towers(tables), {"sgd": torch.optim.SGD, "row-wise adagrad": RowWiseAdagrad}[optimizer]
    return towers, Together(kind(tables.parameters(), lr=lr), torch.optim.SGD([towers.log_tau], lr=0.01))


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
        return value

    def sogram(q: Tensor, k: Tensor, tau: Tensor, batch: Batch) -> Tensor:
        left, right = (side.update(ids, vectors) for side, ids, vectors in zip(sides, batch, (q, k), strict=True))
        value: Tensor = losses.square(1, (q * k).sum(1)).mean() + GRAVITY * gravity_loss(q, k, left, right)
        return value

    return {"softmax": softmax, "softmax, logQ": softmax_logq, "in-batch": in_batch, "SOGram": sogram}


# ---- in each process


def fitted(
    towers: Towers, optimizer: torch.optim.Optimizer, batches: Any, step: Any, epochs: int, fabric: Fabric
) -> list[float]:
    """Trains; every process brings its own part of each batch. The mean loss of each epoch."""
    from course_lib.training import Plan, fit

    history = fit(
        towers,
        optimizer,
        batches=batches,
        step=step,
        plan=Plan(epochs, remainder="drop"),
        seed=0,
        fabric=fabric,
        progress=False,
        sharded=True,
    )
    return [record["loss"] for record in history.epochs]


def trained(cell: TableCell, way: str, fabric: Fabric) -> dict[str, float]:
    """Losses of the first and the last epoch, recall and NDCG at the end, and what this process sent in an epoch."""
    from course_lib import metrics
    from course_lib.training import FabricProcesses

    train, test = RECIPES.split(cell["data"], cell["seed"])
    towers, optimizer = made(way, {"users": train.n_users, "items": train.n_items}, cell, fabric)
    loss = losses_of(train, FabricProcesses(fabric), cell["width"])[cell["loss"]]
    left, right = torch.tensor(train.users), torch.tensor(train.items)

    def batches(epoch: int, _: np.random.Generator) -> Iterator[Batch]:
        order = torch.from_numpy(np.random.default_rng([cell["seed"], epoch]).permutation(len(train)))
        steps = len(train) // cell["batch"]
        for chosen in order[: steps * cell["batch"]].chunk(steps):
            own = chosen.chunk(fabric.world_size)[fabric.global_rank]
            yield left[own], right[own]

    def step(module: Any, batch: Batch) -> Tensor:
        q, k = module(*batch)
        return loss(q, k, module.log_tau.exp(), batch)

    before = team.sent(fabric) or 0
    means = fitted(towers, optimizer, batches, step, cell["epochs"], fabric)
    sent = ((team.sent(fabric) or 0) - before) / cell["epochs"] / GB
    q, k = (towers.held[0].whole(name) for name in ("users", "items"))
    if cell["loss"].startswith("softmax"):
        q, k = (nn.functional.normalize(table, dim=1) for table in (q, k))
    found = metrics.evaluate(q, k, train, test, LISTS)
    quality = {f"{name}@{LISTS}": found[f"{name}@{LISTS}"] for name in ("recall", "ndcg")}
    ends = {f"loss, epoch {1 + at}": means[at] for at in (0, cell["epochs"] - 1)}
    return {**ends, **quality, "sent GB": sent}


def grown(cell: MemoryCell, way: str, fabric: Fabric) -> dict[str, float]:
    """What the memory of this process grew by, at its peak, while it made tables and took three steps."""
    from course_lib.training import FabricProcesses

    items = cell["rows"] // 6
    sizes = {"users": cell["rows"] - items, "items": items}
    if way == "sharded":
        import_module("torchrec")  # whose code is no table
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

    fitted(towers, optimizer, batches, step, 1, fabric)
    return {"tables GB": 4 * cell["rows"] * cell["width"] / GB, "grown GB": (_memory("VmHWM") - before) / GB}


def _memory(name: str) -> int:
    """Bytes of this process now ("VmRSS") or at most ("VmHWM"), as Linux counts them."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def main(arguments: list[str]) -> int:
    """All processes of a run; process 0 writes its numbers."""
    from lightning_fabric.strategies.ddp import DDPStrategy

    from course_lib.training import Fabric

    parser = argparse.ArgumentParser(prog="python -m course_lib.experiments.scale.two_towers", description=main.__doc__)
    parser.add_argument("cell", type=json.loads)
    parser.add_argument("ways", choices=WAYS, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    team.end_with_caller()
    several = DDPStrategy(timeout=timedelta(seconds=LIMIT), start_method="fork")
    size = 1 if given.ways == ["one process"] else given.cell["processes"]
    fabric = Fabric(accelerator="cpu", devices=size, strategy=several if size > 1 else "auto")
    fabric.launch(partial(_each, cell=given.cell, ways=given.ways, out=given.out))
    return 0


def _each(fabric: Fabric, *, cell: Any, ways: list[str], out: Path) -> None:
    torch.set_num_threads(1)
    measure: Any = grown if "rows" in cell else trained
    found = {way: measure(cell, way, fabric) for way in ways}
    if fabric.is_global_zero:
        out.write_text(json.dumps(found), encoding="utf-8")
    fabric.barrier()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
