"""P4's training, its cells, and the quality of what was trained."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from course_lib import gramians, metrics
from course_lib.encoders import TwoTower
from course_lib.experiments.core.machine import fabric_for
from course_lib.experiments.p4.data import SIMPLE, SMALL, Sizes, Task, load_task
from course_lib.training import Plan, fit, resumable

FEW_CANDIDATES = 500
Pair = tuple[Tensor, Tensor]
Watch = Callable[[Tensor, Tensor], None]


# the gravity coefficient: "lambda" is a word of Python, so that this key can only be written like this
Gravity = TypedDict("Gravity", {"lambda": float})


class SharedCell(Gravity):
    """What every cell of a scale has in common: widths of the towers, batch, rate, data."""

    inputs: int
    hidden: list[int]
    k: int
    batch: int
    lr: float
    device: str
    data: str


class TrainingCell(SharedCell):
    """One training: `checks` looks, one after each `every` steps."""

    every: int
    checks: int
    seed: int


class MethodCell(TrainingCell):
    """Table 2 and Figure 8: the estimator that trains."""

    method: str


def shared_plan(scale: str, *, device: str) -> SharedCell:
    """What every cell of a scale has in common."""
    size = {"smoke": SMALL, "laptop": SIMPLE, "full": SIMPLE}[scale]
    return {
        "inputs": size.inputs,
        "hidden": list(size.hidden),
        "k": size.output,
        "batch": 1024,
        "lambda": 10.0,
        "lr": 0.02 if scale == "smoke" else 0.01,
        "device": device,
        "data": "movietweetings-10core" if scale == "smoke" else "wikispeedia",
    }


def step_seconds(cell: TrainingCell) -> float:
    """A rough guess, for the progress bar: seconds of a cell."""
    return cell["every"] * cell["checks"] * (0.03 if cell["k"] > 32 else 0.006)


ESTIMATORS: dict[str, Callable[[int, int, int], Any]] = {}  # by name, besides those below: a reader's own


def estimator(name: str, n: int, d: int, batch_size: int) -> Any:
    """The estimator of this name for batches of `batch_size`.

    Names: "sampling", "sogram 0.01", "sogram 0.01 corrected", "sagram 1", "sagram 1/n", "sagram 1 psd". "sagram 1/n" is
    beta = b/n in front of the mean over the batch: the Gramian of the cache that this batch has renewed, but for
    examples that it holds twice.
    """
    if name in ESTIMATORS:
        return ESTIMATORS[name](n, d, batch_size)
    kind, *rest = name.split()
    if kind == "sampling" and not rest:
        return gramians.BatchGramian()
    if kind == "sogram":
        return gramians.SOGram(d, float(rest[0]), correct_start="corrected" in rest)
    if kind == "sagram":
        beta = min(1.0, batch_size / n) if rest[0] == "1/n" else float(rest[0])
        return gramians.SAGram(n, d, beta, project="psd" in rest)
    raise ValueError(f"estimator {name!r}; expected sampling, sogram ALPHA [corrected] or sagram BETA [psd]")


@dataclass
class Trainer:
    """P4's training: a batch for the Gramians, another for the gradient of mean (<u,v> - s)^2 + lambda g_hat."""

    task: Task
    towers: TwoTower
    sides: Sequence[gramians.BatchGramian]
    lam: float
    batch_size: int

    def batches(self, steps: int) -> Callable[[int, Generator], Iterator[Pair]]:
        """`steps` pairs of batches of row numbers of the training pairs, drawn with replacement."""
        n = len(self.task.train)

        def drawn(epoch: int, rng: Generator) -> Iterator[Pair]:
            for _ in range(steps):
                seen, used = torch.from_numpy(rng.integers(n, size=(2, self.batch_size))).to(self.device)
                yield seen, used

        return drawn

    def embed(self, towers: TwoTower, rows: Tensor) -> Pair:
        """The left and the right embeddings of these training pairs."""
        left, right = towers(*(ids[rows] for ids in self.pairs))
        return left, right

    @property
    def device(self) -> torch.device:
        """Where the towers are."""
        return next(self.towers.parameters()).device

    @cached_property
    def pairs(self) -> Pair:
        """The left and the right ids of the training pairs."""
        users, items = (torch.tensor(ids, device=self.device) for ids in (self.task.train.users, self.task.train.items))
        return users, items

    @cached_property
    def targets(self) -> Tensor:
        """Of the training pairs."""
        return torch.tensor(self.task.targets, device=self.device)

    def step(self, towers: TwoTower, batch: Pair, watch: Watch | None = None) -> Tensor:
        """The loss of one step, after the estimators (and `watch`) have seen the first batch of the two."""
        seen, used = batch
        with torch.no_grad():
            fresh = self.embed(towers, seen)
        if watch is not None:
            watch(seen, fresh[0])
        grams = [side.update(seen, rows) for side, rows in zip(self.sides, fresh, strict=True)]
        left, right = self.embed(towers, used)
        targets = self.targets[used].to(left)
        observed = ((left * right).sum(1) - targets).square().mean()
        loss: Tensor = observed + self.lam * gramians.gravity_loss(left, right, *grams)
        return loss

    def tables(self) -> Pair:
        """The embeddings of all left and of all right entities."""
        train = self.task.train
        return self.towers.embeddings(np.arange(train.n_users), np.arange(train.n_items))


def make_trainer(cell: TrainingCell, method: str) -> Trainer:
    task, sizes = load_task(cell["data"], cell["seed"]), Sizes(cell["inputs"], tuple(cell["hidden"]), cell["k"])
    sides = [estimator(method, len(task.train), sizes.output, cell["batch"]) for _ in range(2)]
    towers = task.towers(sizes, cell["seed"]).to(cell["device"])
    return Trainer(task, towers, sides, cell["lambda"], cell["batch"])


def train(
    cell: TrainingCell,
    trainer: Trainer,
    look: Callable[[int, float], None],
    watch: Watch | None = None,
) -> None:
    """`checks` epochs of `every` steps with AdaGrad; look(step, seconds of training so far) after each.

    watch(rows, left): called before every step, with the first batch that it takes and its left embeddings.
    """
    optimiser = torch.optim.Adagrad(trainer.towers.parameters(), lr=cell["lr"])
    resumable.hold(clock := Clock(), *trainer.sides)
    batches = trainer.batches(cell["every"])

    def timed(towers: Any, batch: Pair) -> Tensor:
        clock.start()
        return trainer.step(towers, batch, watch)

    def checked(_: torch.nn.Module) -> dict[str, float]:
        clock.stop()
        clock.checks += 1
        look(clock.checks * cell["every"], clock.seconds)
        return {}

    fit(
        trainer.towers,
        optimiser,
        batches=batches,
        step=timed,
        plan=Plan(max_epochs=cell["checks"], diverged_at=None),
        seed=cell["seed"],
        evaluate=checked,
        fabric=fabric_for(cell["device"]),
        progress=False,
    )


class Clock:
    """Seconds spent in training, without those spent in looking."""

    def __init__(self) -> None:
        self.seconds, self.checks = 0.0, 0
        self.since: float | None = None

    def start(self) -> None:
        """Starts to count, or goes on."""
        self.since = time.perf_counter() if self.since is None else self.since

    def stop(self) -> None:
        """Stops counting, until the next start."""
        if self.since is not None:
            self.seconds, self.since = self.seconds + time.perf_counter() - self.since, None


def quality(trainer: Trainer, seed: int) -> dict[str, float]:
    """MAP@10 of the held-out pairs over all candidates and over few random ones, and of the training pairs."""
    users, items = trainer.tables()
    task = trainer.task
    nothing = task.train.select(np.zeros(len(task.train), dtype=bool))
    return {
        "map@10": metrics.evaluate(users, items, task.train, task.test, 10)["map@10"],
        f"map@10 of {FEW_CANDIDATES}": map_of_few(users, items, task, np.random.default_rng([seed, 1])),
        "train map@10": metrics.evaluate(users, items, nothing, task.train, 10)["map@10"],
    }


def map_of_few(users: Tensor, items: Tensor, task: Task, rng: Generator, count: int = FEW_CANDIDATES) -> float:
    """MAP@10 when a left entity's held-out partners compete with `count` random candidates only, as P4 measures it.

    One draw of candidates for all; those that are training partners are left out.
    """
    drawn = rng.choice(task.train.n_items, size=min(count, task.train.n_items), replace=False)
    kept = np.zeros((task.train.n_users, task.train.n_items), dtype=bool)
    kept[:, drawn] = True
    kept[task.test.users, task.test.items] = True
    kept[task.train.users, task.train.items] = False
    scores = np.where(kept, (users @ items.T).cpu().numpy(), -np.inf)
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    return float(metrics.metrics_from_ranking(ranked, task.test, (10,))["map@10"])
