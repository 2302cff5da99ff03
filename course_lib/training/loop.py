"""`fit`, the loop that trains a module by autograd: Lightning Fabric, progress, checkpoints, early stopping, seeds.

A run is decided by its seed: epoch e draws its batches from `numpy.random.default_rng([seed, e])` and whatever the
module draws itself (dropout) from torch's generator seeded for that epoch. So a checkpoint at the end of an epoch holds
the whole state, and a run that was killed and resumed ends with the same parameters, bit for bit on the same machine
and threads, as one that was not.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_lib import checking

if TYPE_CHECKING:  # importing it takes as long as importing torch, and one process on the CPU needs nothing of it
    from lightning_fabric import Fabric

State = dict[str, Any]  # of a module: its tensors by name
Batches = Callable[[int, np.random.Generator], Iterable[Any]]
Step = Callable[[nn.Module, Any], Tensor]
Evaluate = Callable[[nn.Module], dict[str, float]]


class Diverged(FloatingPointError):
    """The loss became NaN, infinite, or far larger than it was at first."""


@dataclass(frozen=True)
class Plan:
    """How long to train.

    max_epochs; monitor: the metric of `evaluate` that decides (higher is better); patience: stop after this many epochs
    without a gain in it (None: never); diverged_at: stop with an error when an epoch's mean loss exceeds this many
    times that of the first (None: only for NaN and infinity).
    """

    max_epochs: int
    monitor: str | None = None
    patience: int | None = None
    diverged_at: float | None = 100.0

    def __post_init__(self) -> None:
        checking.whole(self.max_epochs, "max_epochs")
        if self.patience is not None and (self.patience < 1 or self.monitor is None):
            found = f"patience is {self.patience} and monitor {self.monitor!r}"
            raise ValueError(f"{found}; patience needs a monitor and at least 1 epoch")


@dataclass
class History:
    """What happened in each epoch, which was the best, why it stopped.

    epochs: one dict per epoch with `epoch`, `loss` (the mean over its steps) and the metrics.
    """

    epochs: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int | None = None
    stopped: str = ""


def fit(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    batches: Batches,
    step: Step,
    plan: Plan,
    seed: int,
    evaluate: Evaluate | None = None,
    checkpoint: Path | str | None = None,
    fabric: Fabric | None = None,
    progress: bool = True,
) -> History:
    """Trains `module` in place and returns its history; with a monitor the module ends in its best state.

    batches(epoch, rng): the batches of an epoch; step(module, batch): a scalar loss to go down; evaluate(module):
    metrics, called after each epoch in eval mode without gradients; checkpoint: a file written after each epoch, whole
    or not at all, and read at the start if it is there; fabric: an own one for a GPU, several GPUs or mixed precision
    (default: one process on the CPU). With several processes each takes every world-size-th batch
    and gradients are averaged. Raises Diverged; ValueError when the checkpoint is of another run.
    """
    if fabric is None:
        from lightning_fabric import Fabric  # here, for it brings torch's compiler: a second and more

        fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    module, optimizer = fabric.setup(module, optimizer)
    history = History()
    best: State | None = None
    path = Path(checkpoint) if checkpoint is not None else None
    if path is not None and path.is_file():
        history, best = _resume(fabric, path, module, optimizer, seed)
    quiet = not progress or not fabric.is_global_zero
    with tqdm(total=plan.max_epochs, initial=len(history.epochs), unit="epoch", disable=quiet) as bar:
        for epoch in range(len(history.epochs), plan.max_epochs):
            if history.stopped:
                break
            with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
                torch.manual_seed(int(np.random.default_rng([seed, epoch, 1]).integers(2**62)))
                drawn = batches(epoch, np.random.default_rng([seed, epoch]))
                loss = _one_epoch(fabric, module, optimizer, drawn, step, epoch)
            _check_divergence(loss, epoch, plan, history, optimizer)
            record = {"epoch": epoch, "loss": loss, **(_evaluated(module, evaluate) if evaluate else {})}
            best = _note(history, record, plan, module, best)
            if path is not None:
                _save(fabric, path, module, optimizer, history, best, seed)
            bar.update()
            bar.set_postfix({key: f"{value:.4g}" for key, value in record.items() if key != "epoch"})
    history.stopped = history.stopped or "max_epochs"
    if best is not None:
        module.load_state_dict(best)
    return history


def _one_epoch(
    fabric: Fabric, module: nn.Module, optimizer: torch.optim.Optimizer, batches: Iterable[Any], step: Step, epoch: int
) -> float:
    """One pass over the batches; the mean loss over the steps of all processes."""
    module.train()
    total, steps = 0.0, 0
    for at, batch in enumerate(batches):
        if at % fabric.world_size != fabric.global_rank:
            continue
        optimizer.zero_grad(set_to_none=True)
        loss = step(module, batch)
        if loss.ndim != 0:
            raise ValueError(f"step returned a loss of shape {tuple(loss.shape)}; expected a scalar")
        value = float(loss.detach())
        if not math.isfinite(value):
            found = f"the loss is {value} at step {at} of epoch {epoch} (learning rate {_rate(optimizer)})"
            raise Diverged(f"{found}: lower the learning rate")
        fabric.backward(loss)
        optimizer.step()
        total, steps = total + value, steps + 1
    if steps == 0:
        raise ValueError(f"batches gave nothing in epoch {epoch}; expected at least one batch for each process")
    mean = torch.tensor(total / steps, dtype=torch.float64)
    return float(cast(Tensor, fabric.all_reduce(mean, reduce_op="mean")))


def _check_divergence(loss: float, epoch: int, plan: Plan, history: History, optimizer: torch.optim.Optimizer) -> None:
    if plan.diverged_at is None or not history.epochs:
        return
    first = history.epochs[0]["loss"]
    if loss > plan.diverged_at * abs(first) > 0:
        raise Diverged(
            f"the loss of epoch {epoch} is {loss:.4g}, more than {plan.diverged_at:g} times the {first:.4g} of epoch 0 "
            f"(learning rate {_rate(optimizer)}): lower the learning rate"
        )


def _evaluated(module: nn.Module, evaluate: Evaluate) -> dict[str, float]:
    module.eval()
    with torch.no_grad():
        return {key: float(value) for key, value in evaluate(module).items()}


def _note(
    history: History, record: dict[str, float], plan: Plan, module: nn.Module, best: State | None
) -> State | None:
    """Appends the epoch, decides whether it is the best and whether to stop; returns the best state so far."""
    history.epochs.append(record)
    if plan.monitor is None:
        return None
    if plan.monitor not in record:
        raise ValueError(f"monitor is {plan.monitor!r}, but evaluate gave {sorted(record)}")
    epoch = len(history.epochs) - 1
    if history.best_epoch is None or record[plan.monitor] > history.epochs[history.best_epoch][plan.monitor]:
        history.best_epoch, best = epoch, copy.deepcopy(module.state_dict())
    elif plan.patience is not None and epoch - history.best_epoch >= plan.patience:
        history.stopped = f"no gain in {plan.monitor} for {plan.patience} epochs"
    return best


def _save(
    fabric: Fabric,
    path: Path,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: History,
    best: State | None,
    seed: int,
) -> None:
    """Writes beside the file and renames: a kill leaves the old checkpoint or the new one, never half of one."""
    state: State = {"module": module.state_dict(), "optimizer": optimizer.state_dict()}
    state |= {"best": best, "seed": seed, "history": history.__dict__}
    if fabric.is_global_zero:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        torch.save(state, beside)
        os.replace(beside, path)
    fabric.barrier()


def _resume(
    fabric: Fabric, path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, seed: int
) -> tuple[History, State | None]:
    """Puts module and optimizer where the checkpoint was; the history and the best state so far."""
    state = torch.load(path, map_location=fabric.device, weights_only=True)
    if state["seed"] != seed:
        raise ValueError(f"checkpoint {path} is of seed {state['seed']}, not {seed}: give another file, or delete it")
    tables = (state["module"], module.state_dict())
    theirs, ours = ({key: tuple(value.shape) for key, value in table.items()} for table in tables)
    if theirs != ours:
        raise ValueError(f"checkpoint {path} is of another model: it has {theirs}, the module has {ours}")
    module.load_state_dict(state["module"])
    optimizer.load_state_dict(state["optimizer"])
    return History(**state["history"]), state["best"]


def _rate(optimizer: torch.optim.Optimizer) -> str:
    return ", ".join(f"{group['lr']:g}" for group in optimizer.param_groups)


class FabricProcesses:
    """The processes of a Fabric run, for `gramians.SOGram(d, alpha, processes=FabricProcesses(fabric))` and the like.

    Every process calls `update` with its own part of the batch, and all hold the same estimate afterwards.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric

    def total(self, array: Tensor) -> Tensor:
        """The sum over the processes."""
        return cast(Tensor, self.fabric.all_reduce(array, reduce_op="sum"))

    def concatenated(self, array: Tensor) -> Tensor:
        """The rows of all processes, by rank; as many from each."""
        return cast(Tensor, self.fabric.all_gather(array)).reshape(-1, *array.shape[1:])
