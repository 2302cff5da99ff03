"""Run by tests/library/test_training_processes.py, once in each process of a run: what `fit` does with several of them.

    python process_scenarios.py SCENARIO OUT

`start` starts the processes of a run, as `torchrun` would. Each scenario gets the Fabric and what it returns is written
to OUT by rank. The models are small and of float64, so that a sum in another order is seen and a wrong weight is too.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from course_lib import debiasing, gramians, losses
from course_lib.backbones import make
from course_lib.interactions import Interactions
from course_lib.training import FabricProcesses, Plan, fit, processes
from course_lib.training.recommenders import train_recommender
from course_lib.training.towers import lookup_towers, train_towers

if TYPE_CHECKING:
    from lightning_fabric import Fabric  # seconds, which the tests that only collect this file need not wait

HERE = Path(__file__).resolve()
COUNTS = (1, 2, 3, 7)
GENERATOR = partial(torch.Generator().manual_seed, 0)
Batch = tuple[Tensor, Tensor]


# ---- the processes of a run


def start(scenario: str, out: Path, world: int = 2, script: Path = HERE) -> list[subprocess.Popen[str]]:
    """The processes of a run, by rank; each writes OUT.rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world), "NODE_RANK": "0"}
    shared |= {"LOCAL_WORLD_SIZE": str(world)}
    shared |= {"PYTHONPATH": str(HERE.parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script), scenario, str(out)]
    return [
        subprocess.Popen(
            command, env=os.environ | shared | {"LOCAL_RANK": str(rank)}, stderr=subprocess.PIPE, text=True
        )
        for rank in range(world)
    ]


def finish(started: list[subprocess.Popen[str]], seconds: float = 300) -> list[tuple[int, str]]:
    """(exit status, stderr) of each; whoever is not done in time is killed, and that fails the test."""
    end = time.monotonic() + seconds
    try:
        return [(done.wait(max(1, end - time.monotonic())), done.stderr.read()) for done in started]
    finally:
        stop(started)


def stop(started: list[subprocess.Popen[str]]) -> None:
    """Ends what still runs."""
    for process in started:
        process.kill()
        process.wait()


# ---- what is trained


def line(width: int = 4) -> nn.Linear:
    """A linear map that starts at 1, 2, ..., in float64."""
    module = nn.Linear(width, 1, dtype=torch.float64)
    with torch.no_grad():
        module.weight.copy_(torch.arange(1.0, width + 1))
        module.bias.zero_()
    return module


def numbers(count: int, rng: np.random.Generator) -> Iterator[Batch]:
    """`count` batches of 3, 4, 5, ... examples."""
    for at in range(count):
        x = torch.from_numpy(rng.normal(size=(3 + at, 4)))
        yield x, x.sum(1) ** 2


def square(module: nn.Module, batch: Batch) -> Tensor:
    return (module(batch[0])[:, 0] - batch[1]).square().mean()


def square_of_examples(module: nn.Module, batch: Batch) -> tuple[Tensor, float]:
    return square(module, batch), len(batch[0])


def trained(fabric: Fabric | None, *, epochs: int = 2, module: nn.Module | None = None, **given: Any) -> dict[str, Any]:
    """A fitted line and its history."""
    module = module or line()
    options = {"step": square, "seed": 3, "progress": False, "plan": Plan(epochs)} | given
    optimizer = options.pop("optimizer", None) or torch.optim.Adam(module.parameters(), lr=0.05)
    history = fit(module, optimizer, fabric=fabric, **options)
    return {"state": module.state_dict(), "epochs": history.epochs, "stopped": history.stopped}


class Noisy(nn.Module):
    """Keeps what it drew."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.seen = nn.Parameter(torch.ones(1)), []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(torch.rand(3))
        return (self.weight * x).sum()


def pairs() -> Interactions:
    rng = np.random.default_rng(0)
    return Interactions(*np.nonzero(rng.random((30, 20)) < 0.3), n_users=30, n_items=20)


# ---- scenarios


def steps(fabric: Fabric) -> dict[str, Any]:
    """Any number of batches, dealt out or not."""
    rank, found = fabric.global_rank, {}
    for count in COUNTS:
        found[f"dealt {count}"] = trained(fabric, batches=lambda e, rng, n=count: numbers(n, rng))
        found[f"weighted {count}"] = trained(
            fabric, batches=lambda e, rng, n=count: numbers(n, rng), step=square_of_examples
        )
    plan = Plan(2, remainder="drop")
    found["dropped 7"] = trained(fabric, batches=lambda e, rng: numbers(7, rng), plan=plan)
    for mine in ((3, 0), (0, 3), (7, 2)):
        own = mine[rank % 2]
        found[f"own {mine}"] = trained(
            fabric, batches=lambda e, rng, n=own: numbers(n, np.random.default_rng([e, rank])), sharded=True
        )
    found["sparse"] = sparse(fabric)
    found["clipped"] = trained(fabric, batches=lambda e, rng: numbers(3, rng), plan=Plan(2, clip_norm=0.5))
    loader = DataLoader(TensorDataset(torch.arange(40.0, dtype=torch.float64).reshape(10, 4) / 40), 2, shuffle=True)
    found["loader"] = trained(fabric, batches=loader, step=sum_of_squares)
    return found


def sum_of_squares(module: nn.Module, batch: list[Tensor]) -> Tensor:
    return module(batch[0]).square().mean()


def sparse(fabric: Fabric | None) -> dict[str, Any]:
    """Rows of a sparse table, of which the processes meet some."""
    module = nn.Embedding(9, 2, sparse=True, dtype=torch.float64)
    with torch.no_grad():
        module.weight.copy_(torch.arange(18.0).reshape(9, 2))
    return trained(
        fabric,
        module=module,
        optimizer=torch.optim.SparseAdam(module.parameters(), lr=0.1),
        batches=lambda e, rng: [torch.tensor([0, 1]), torch.tensor([1, 5]), torch.tensor([7])],
        step=lambda module, rows: module(rows).square().mean(),
    )


def runs(fabric: Fabric) -> dict[str, Any]:
    """The two training functions, dropout, early stopping, one evaluation, and estimators."""
    rank, found = fabric.global_rank, {}
    train, valid = pairs().split_random(0.8, np.random.default_rng(0))
    for name, check in (("MF", None), ("MF sparse", None), ("LightGCN", None), ("LightCCF", valid)):
        generator = torch.Generator().manual_seed(rank)  # rank 0's start counts
        sparse_rows = {"sparse": True} if name == "MF sparse" else {}
        model = make(name.split()[0], train, d=4, generator=generator, **sparse_rows).double()
        options = {"optimizer": "sgd", "batch_size": 16, "fabric": fabric}
        history = train_recommender(model, train, check, epochs=3, lr=0.05, seed=1, **options)
        found[name] = {"state": model.state_dict(), "epochs": history.epochs}
    rival = debiasing.make("PAAC", make("MF", train, d=4, generator=GENERATOR()), train, generator=GENERATOR())
    train_recommender(rival, train, None, epochs=1, lr=0.05, seed=1, batch_size=16, fabric=fabric)
    found["rival"] = {"state": rival.state_dict(), "seed": rival.draws.initial_seed()}
    towers = lookup_towers(train, d=4)
    optimiser = torch.optim.SGD(towers.parameters(), lr=0.1)
    counted: list[int] = []
    optimiser.register_step_pre_hook(lambda *_: counted.append(1))
    train_towers(towers, optimiser, train, steps=21, seed=0, batch_size=8, epoch=5, fabric=fabric)
    found["towers"] = {"steps": len(counted), "state": towers.state_dict()}
    noisy = Noisy()
    fit(
        noisy,
        torch.optim.SGD(noisy.parameters(), lr=0.1),
        batches=lambda e, rng: [torch.ones(2)] * 4,
        step=lambda module, x: module(x),
        plan=Plan(1),
        seed=0,
        fabric=fabric,
        progress=False,
    )
    found["noise"] = torch.stack(noisy.seen)
    scores, asked = iter([0.3, 0.1, 0.2, 0.9]), []

    def evaluate(module: nn.Module) -> dict[str, float]:
        asked.append(rank)
        return {"quality": next(scores)}

    plan = Plan(4, monitor="quality", patience=2)
    found["early"] = trained(fabric, batches=lambda e, rng: numbers(3, rng), evaluate=evaluate, plan=plan)
    found["asked"] = asked
    found["estimator"] = uneven_estimates(fabric)
    found["gathered"] = gathered(fabric)
    found["shared rows"] = shared_rows(fabric)
    found["weighted rows"] = weighted_rows(fabric)
    return found


def uneven_estimates(fabric: Fabric) -> dict[str, Tensor]:
    """Estimates from a batch of which process 0 has ten rows and each other seven."""
    n = 10 if fabric.global_rank == 0 else 7
    rows = torch.from_numpy(np.random.default_rng(fabric.global_rank).normal(size=(n, 3)))
    ids = torch.arange(n) + 20 * fabric.global_rank
    everyone = FabricProcesses(fabric)
    made = (gramians.BatchGramian(processes=everyone), gramians.SAGram(100, 3, 1, processes=everyone))
    return {type(one).__name__: one.update(ids, rows) for one in made}


def gathered(fabric: Fabric) -> Tensor:
    """The gradient of process 0's rows in the in-batch loss of the whole batch, whose mean every process computes."""
    rank, b = fabric.global_rank, (3, 2)
    rows = torch.from_numpy(np.random.default_rng(rank).normal(size=(b[rank], 4))).requires_grad_()
    everyone = FabricProcesses(fabric).gathered(rows)
    loss = losses.infonce(everyone @ everyone.flip(1).T, tau=0.5) / fabric.world_size
    loss.backward()
    return rows.grad


class TwoTowers(nn.Module):
    """Two linear towers and a temperature that is a parameter, for a batch of inputs that every process makes alike."""

    def __init__(self) -> None:
        super().__init__()
        table = torch.from_numpy(np.random.default_rng(5).normal(size=(2, 3, 2)))
        self.left, self.right = (nn.Parameter(one.clone()) for one in table)
        self.tau = nn.Parameter(torch.tensor(0.7, dtype=torch.float64))

    @staticmethod
    def inputs(world: int) -> Tensor:
        """(2, 3 world, 3): three pairs for each process."""
        return torch.from_numpy(np.random.default_rng(6).normal(size=(2, 3 * world, 3)))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return inputs[0] @ self.left, inputs[1] @ self.right, self.tau


def shared_rows(fabric: Fabric) -> dict[tuple[str, str], list[Tensor]]:
    """The gradients that DistributedDataParallel leaves: own rows or all, gathered with gradients or without."""
    rank, world, found = fabric.global_rank, fabric.world_size, {}
    own = slice(3 * rank, 3 * rank + 3)

    def constant(rows: Tensor) -> Tensor:
        parts = [torch.empty_like(rows) for _ in range(world)]
        dist.all_gather(parts, rows.detach().contiguous())
        return torch.cat([rows if at == rank else part for at, part in enumerate(parts)])

    ways = (("constant", constant), ("gradients", FabricProcesses(fabric).gathered))
    for rows, (name, gather) in itertools.product(("own", "all"), ways):
        towers = TwoTowers()
        averaging = nn.parallel.DistributedDataParallel(towers)  # averages as long as somebody holds it
        queries, items, tau = averaging(towers.inputs(world)[:, own])
        positives = torch.arange(3 * world)
        if rows == "own":
            loss = losses.infonce(queries @ gather(items).T, tau=tau, positives=positives[own])
        else:
            loss = losses.infonce(gather(queries) @ gather(items).T, tau=tau)
        loss.backward()
        found[rows, name] = [parameter.grad for parameter in towers.parameters()]
    return found


def weighted_rows(fabric: Fabric) -> dict[str, Any]:
    """Means over own rows, 3 and 4, then 5 and 6, whose number is the weight; the columns are gathered."""

    def step(module: nn.Module, batch: Batch) -> tuple[Tensor, float]:
        z = module(batch[0])
        return (z @ FabricProcesses(fabric).gathered(z).T).logsumexp(1).mean(), len(z)

    return trained(fabric, batches=lambda e, rng: numbers(4, rng), step=step, plan=Plan(2, remainder="drop"))


def resume(fabric: Fabric, folder: Path) -> dict[str, Any]:
    """Two epochs in several processes, whose checkpoint other numbers of processes go on from."""
    return trained(fabric, batches=lambda e, rng: numbers(3, rng), checkpoint=folder / "shared.pt")


def refusals(fabric: Fabric) -> dict[str, str]:
    """What each process says where one of them was given something else, or fails."""
    rank = fabric.global_rank
    first, tau, found = rank == 0, 1.0 + rank, {}
    three: dict[str, Any] = {"batches": lambda e, rng: numbers(3, rng)}

    def weighted(module: nn.Module, batch: Batch) -> Tensor:
        return tau * square(module, batch)

    def failing(module: nn.Module, batch: Batch) -> Tensor:
        if rank == 1:
            raise LookupError("item 77 is not in the table")
        return square(module, batch)

    def infinite(module: nn.Module, batch: Batch) -> Tensor:
        return square(module, batch) * (float("nan") if rank == 1 else 1)

    def steep(module: nn.Module, batch: Batch) -> Tensor:
        loss = square(module, batch)
        return loss + (0 * module.weight[0, 2]).sqrt() if rank == 1 else loss  # 0, with the slope NaN

    def summed(module: nn.Module, batch: Batch) -> Tensor:
        FabricProcesses(fabric).total(batch[0].sum())
        return square(module, batch)

    cases: dict[str, dict[str, Any]] = {
        "seed": three | {"seed": 0 if first else 1},
        "loss": three | {"step": square if first else sum_of_squares},
        "setting": three | {"step": weighted},
        "tables": three | {"module": line(4 if first else 5)},
        "rate": three
        | {"module": (own := line()), "optimizer": torch.optim.Adam(own.parameters(), lr=0.05 * (1 + rank))},
        "share": three
        | {"module": (own := line()), "optimizer": torch.optim.Adam((own if first else line()).parameters())},
        "plan": three | {"plan": Plan(2 if first else 3)},
        "data": {"batches": lambda e, rng: numbers(3, np.random.default_rng(rank))},
        "failure": three | {"step": failing},
        "nan": three | {"step": infinite},
        "gradient": three | {"step": steep},
        "evaluate": three | {"evaluate": lambda module: None},
        "nothing": {"batches": lambda e, rng: []},
        "partial": three | {"step": summed},
        "argument": three | ({} if first else {"plan": "two epochs"}),
    }
    for name, given in cases.items():
        try:
            trained(fabric, **given)
            found[name] = "no error"
        except Exception as error:  # the test looks at every kind
            found[name] = f"{type(error).__name__}: {error}"
    found["afterwards"] = str(trained(fabric, **three)["stopped"])
    return found


def dies(fabric: Fabric, who: int, how: int = signal.SIGKILL) -> dict[str, Any]:
    """One process is killed or stopped in its first step, while the others wait."""

    def step(module: nn.Module, batch: Batch) -> Tensor:
        if fabric.global_rank == who:
            os.kill(os.getpid(), how)
        return square(module, batch)

    return trained(fabric, batches=lambda e, rng: numbers(4, rng), step=step)


def leaves(fabric: Fabric) -> dict[str, Any]:
    """Process 1 ends before it comes to `fit`, where process 0 waits for it."""
    if fabric.global_rank == 1:
        raise SystemExit("no such folder")
    return trained(fabric, batches=lambda e, rng: numbers(4, rng))


def stuck(fabric: Fabric) -> dict[str, Any]:
    """Process 1 fails and lives on, while the others wait for it in a call of their own that nobody watches."""
    processes.GRACE = 1.0

    def step(module: nn.Module, batch: Batch) -> Tensor:
        if fabric.global_rank == 1:
            raise LookupError("item 77 is not in the table")
        dist.all_reduce(torch.ones(1))
        return square(module, batch)

    try:
        return trained(fabric, batches=lambda e, rng: numbers(4, rng), step=step)
    finally:
        time.sleep(20)


def frozen(fabric: Fabric) -> dict[str, Any]:
    """Process 1 stands still; without a connection that closes, only its silence tells."""
    processes.SILENCE = 3.0
    return dies(fabric, 1, signal.SIGSTOP)


# ---- every estimator of Gramians and the loss, the batch spread over the processes

N, D, B, STEPS = 40, 5, 12, 6
MAKERS: dict[str, Callable[[gramians.Processes], Any]] = {
    "batch": lambda processes: gramians.BatchGramian(processes=processes),
    "sogram": lambda processes: gramians.SOGram(D, 0.3, correct_start=True, processes=processes),
    "sagram": lambda processes: gramians.SAGram(N, D, 0.7, processes=processes),
    "sagram-psd": lambda processes: gramians.SAGram(N, D, 1, project=True, processes=processes),
}


class Tables(nn.Module):
    """Two tables and the gravity loss on a batch of theirs."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.left, self.right = (
            nn.Parameter(torch.randn(N, D, generator=generator, dtype=torch.float64)) for _ in range(2)
        )

    def forward(self, batch: Tensor, gram_left: Tensor, gram_right: Tensor) -> Tensor:
        return gramians.gravity_loss(self.left[batch], self.right[batch], gram_left, gram_right)


def estimates(rank: int, world: int, processes: gramians.Processes, around: Callable[..., Any]) -> dict[str, Tensor]:
    """What comes out on `rank` of `world`; `around` wraps the module for the gradient to be averaged."""
    found: dict[str, Tensor] = {}
    for name, make_one in MAKERS.items():
        tables = Tables()
        module, backward = around(tables)
        sides = [make_one(processes), make_one(processes)]
        generator = torch.Generator().manual_seed(1)
        for _ in range(STEPS):
            seen, used = (torch.randint(N, (B,), generator=generator).chunk(world)[rank] for _ in range(2))
            left, right = (
                side.update(seen, table[seen]) for side, table in zip(sides, (tables.left, tables.right), strict=True)
            )
            module.zero_grad()
            loss = module(used, left, right)
            backward(loss)
            with torch.no_grad():
                for parameter in tables.parameters():
                    parameter.sub_(0.1 * parameter.grad)
        found |= {f"{name}.estimate": left, f"{name}.loss": loss.detach(), f"{name}.left": tables.left.detach()}
    return found


def spread(fabric: Fabric) -> dict[str, Tensor]:
    """The estimates of processes that each take their part of every batch; the loss is the mean of theirs."""
    found = estimates(
        fabric.global_rank,
        fabric.world_size,
        FabricProcesses(fabric),
        lambda tables: (fabric.setup(tables), fabric.backward),
    )
    return {
        name: fabric.all_reduce(value, reduce_op="mean") if name.endswith(".loss") else value
        for name, value in found.items()
    }


SCENARIOS: dict[str, Callable[[Fabric, Path], Any]] = {
    "works": lambda fabric, out: {
        **steps(fabric),
        **runs(fabric),
        "resume": resume(fabric, out.parent),
        "refusals": refusals(fabric),
        "gramians": spread(fabric),
    },
    "steps": lambda fabric, out: steps(fabric),
    "dies 0": lambda fabric, out: dies(fabric, 0),
    "dies 1": lambda fabric, out: dies(fabric, 1),
    "leaves": lambda fabric, out: leaves(fabric),
    "stuck": lambda fabric, out: stuck(fabric),
    "frozen": lambda fabric, out: frozen(fabric),
}


def main(scenario: str, out: Path, scenarios: Mapping[str, Callable[[Fabric, Path], Any]] = SCENARIOS) -> None:
    torch.set_num_threads(1)
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp")
    fabric.launch()
    torch.save(scenarios[scenario](fabric, out), out.with_suffix(f".{fabric.global_rank}"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
