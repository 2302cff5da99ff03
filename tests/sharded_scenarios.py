"""Run by tests/library/test_sharded.py, once in each process of a run: tables of which each process has a shard.

    python sharded_scenarios.py SCENARIO OUT

The reference is `alone`: plain torch on whole tables, in one process that has all pairs.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import process_scenarios
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from course_lib import losses
from course_lib.optimisers import RowWiseAdagrad
from course_lib.training import Plan, fit
from course_lib.training.sharded import ShardedTables, start_rows

SIZES, D, B, STEPS, SEED = {"users": 13, "items": 8}, 4, 12, 5, 3
RATES = {"sgd": 1.0, "row-wise adagrad": 0.1}
Given = dict[str, Any]


def batches(epoch: int, _: Any, own: slice = slice(None)) -> list[list[Tensor]]:
    """The pairs of each step, or a process's own ones; items stand in a batch several times."""
    rng = np.random.default_rng([SEED, epoch])
    drawn = [[torch.from_numpy(rng.integers(0, n, B)) for n in SIZES.values()] for _ in range(STEPS)]
    return [[ids[own] for ids in batch] for batch in drawn]


def softmax(q: Tensor, k: Tensor, tau: Tensor, first: int) -> Tensor:
    """The positive of row i stands in column first + i."""
    return losses.infonce(losses.cosine_scores(q, k), tau=tau.exp(), positives=first + torch.arange(len(q)))


class Temperature(nn.Module):
    """What every process holds whole."""

    def __init__(self) -> None:
        super().__init__()
        self.log_tau = nn.Parameter(torch.tensor(-0.5))


def alone(optimizer: str) -> Given:
    """One process, plain torch."""
    module, kind = Temperature(), {"sgd": torch.optim.SGD, "row-wise adagrad": RowWiseAdagrad}[optimizer]
    tables = {name: nn.Parameter(start_rows(name, 0, n, d=D, seed=SEED)) for name, n in SIZES.items()}
    optimizers = [kind(tables.values(), lr=RATES[optimizer]), torch.optim.SGD(module.parameters(), lr=0.1)]
    means = []
    for epoch in range(2):
        values = []
        for users, items in batches(epoch, None):
            loss = softmax(tables["users"][users], tables["items"][items], module.log_tau, 0)
            values.append(loss.item())
            for one in optimizers:
                one.zero_grad()
            loss.backward()
            for one in optimizers:
                one.step()
        means.append(float(np.mean(values)))
    return {"losses": means, "log_tau": module.log_tau.item()} | {k: v.detach() for k, v in tables.items()}


def trained(fabric: Fabric, optimizer: str = "sgd", step: Callable[..., Any] | None = None, **given: Any) -> Given:
    """The same in the processes of a run. given: what one of them was told instead."""
    sizes, seed = given.get("sizes", SIZES), given.get("seed", SEED)
    rate = given.get("lr", RATES[optimizer])
    tables = ShardedTables(sizes, D, fabric=fabric, optimizer=optimizer, lr=rate, seed=given.get("start", SEED))
    rank, world = fabric.global_rank, fabric.world_size
    bounds = given.get("bounds") or [B * at // world for at in range(world + 1)]
    module, own = Temperature(), slice(bounds[rank], bounds[rank + 1])

    def own_rows(module: nn.Module, batch: list[Tensor]) -> tuple[Tensor, float]:
        q, k = tables.rows(users=batch[0], items=batch[1])
        return softmax(q, tables.processes.gathered(k), module.log_tau, own.start), len(q)

    history = fit(
        module,
        torch.optim.SGD(module.parameters(), lr=0.1),
        batches=given.get("batches") or partial(batches, own=own),
        step=own_rows if step is None else partial(step, tables, own_rows),
        plan=Plan(given.get("epochs", 2), remainder="drop"),
        checkpoint=given.get("checkpoint"),
        stateful={"tables": tables},
        seed=seed,
        fabric=fabric,
        sharded=True,
        progress=False,
    )
    found = {"losses": [record["loss"] for record in history.epochs], "log_tau": module.log_tau.item()}
    shards = {f"shard of {name}": tables.shard(name) for name in sizes}
    return found | shards | {name: tables.whole(name) for name in sizes}


def refusals(fabric: Fabric) -> dict[str, str]:
    """What each process says where one of them was given something else."""
    rank, found = fabric.global_rank, {}
    first = rank == 0

    def other(tables: ShardedTables, own_rows: Callable[..., Any], module: nn.Module, batch: Any) -> Tensor:
        return own_rows(module, batch)[0]

    def asking(tables: ShardedTables, own_rows: Any, module: nn.Module, batch: Any, ids: Any) -> Tensor:
        return sum(rows.sum() for rows in tables.rows(**(ids if rank == 1 else dict(zip(SIZES, batch, strict=True)))))

    def ids(**chosen: Tensor) -> Given:
        return {"step": partial(asking, ids={"users": torch.tensor([0]), "items": torch.tensor([7])} | chosen)}

    cases: dict[str, Given] = {
        "shapes": {"sizes": SIZES if first else SIZES | {"items": 9}},
        "tables": {"sizes": SIZES if first else {"users": 13}},
        "start": {"start": 3 if first else 4},
        "rate": {"lr": 1.0 if first else 0.5},
        "optimizer": {"optimizer": "sgd" if first else "row-wise adagrad", "lr": 1.0},
        "seed": {"seed": 0 if first else 1},
        "loss": {"step": None if first else other},
        "outside": ids(items=torch.tensor([3, 8])),
        "negative": ids(users=torch.tensor([-1])),
        "kind": ids(users=torch.tensor([1.0])),
        "names": ids(films=torch.tensor([1])),
        "no batch": {"batches": lambda epoch, rng: batches(epoch, rng) if first else []},
    }
    for name, given in cases.items():
        try:
            found[name] = f"no error: {trained(fabric, **given)['losses']}"
        except Exception as error:  # the test looks at every kind
            found[name] = f"{type(error).__name__}: {error}"
    return found


def works(fabric: Fabric, folder: Path) -> Given:
    """Both optimisers, all refusals, a training after them, one of 8 and 4 pairs instead of 6 and 6, and stops."""
    found: Given = {name: trained(fabric, name) for name in RATES}
    found["refusals"] = refusals(fabric)
    for name in RATES:
        for kept in ("here", "elsewhere"):
            trained(fabric, name, epochs=1, checkpoint=folder / f"{name} {kept}.pt")
        found[f"{name} again"] = trained(fabric, name, checkpoint=folder / f"{name} here.pt")
    return found | {"afterwards": trained(fabric), "uneven": trained(fabric, bounds=[0, 8, 12])}


def goes_on(fabric: Fabric, folder: Path) -> Given:
    """Another number of processes goes on from the checkpoints of `works`; what is refused first."""
    found: Given = {"refusals": {}}
    cases: dict[str, Given] = {
        "of other tables": {"sizes": SIZES | {"items": 9}},
        "of another optimiser": {"optimizer": "row-wise adagrad"},
        "without a part": {"checkpoint": folder / "torn.pt"},
    }
    for name, given in cases.items():
        try:
            trained(fabric, **{"checkpoint": folder / "sgd elsewhere.pt"} | given)
        except ValueError as error:
            found["refusals"][name] = str(error)
    return found | {name: trained(fabric, name, checkpoint=folder / f"{name} elsewhere.pt") for name in RATES}


def dies(fabric: Fabric, who: int, when: str) -> Given:
    """A process is killed in its third step: before it asks for rows, while the others ask TorchRec for them, when it
    has its loss, or while the others send gradients of rows by TorchRec.
    """
    asked: list[int] = []

    def kill(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def step(tables: ShardedTables, own_rows: Callable[..., Any], module: nn.Module, batch: Any) -> Any:
        asked.append(1)
        last, engine = len(asked) == 3 and fabric.global_rank == who, tables._engine
        if last and when == "before":
            kill()
        if last and when == "asking":
            tables._engine = kill
        if last and when == "sending":
            tables._engine = lambda ids: Hooked(engine(ids), kill)
        loss = own_rows(module, batch)
        if last and when == "after":
            kill()
        return loss

    return trained(fabric, step=step)


class Hooked:
    """TorchRec's answer, of which each table calls `hook` when its gradient is there."""

    def __init__(self, answer: Any, hook: Callable[..., None]) -> None:
        self.answer, self.hook = answer, hook

    def wait(self) -> Any:
        """Name -> rows."""
        found = self.answer.wait()
        for rows in found.values():
            rows.values().register_hook(self.hook)
        return found


SCENARIOS: dict[str, Callable[[Fabric, Path], Any]] = {
    "works": lambda fabric, out: works(fabric, out.parent),
    "goes on": lambda fabric, out: goes_on(fabric, out.parent),
    "dies 1 before": lambda fabric, out: dies(fabric, 1, "before"),
    "dies 0 asking": lambda fabric, out: dies(fabric, 0, "asking"),
    "dies 0 after": lambda fabric, out: dies(fabric, 0, "after"),
    "dies 1 sending": lambda fabric, out: dies(fabric, 1, "sending"),
}


if __name__ == "__main__":
    process_scenarios.main(sys.argv[1], Path(sys.argv[2]), SCENARIOS)
