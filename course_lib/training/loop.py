"""`fit`, the loop that trains a module by autograd: Lightning Fabric, progress, checkpoints, early stopping, seeds.

A run is decided by its seed: epoch e draws its batches from `numpy.random.default_rng([seed, e])` and whatever the
module draws itself (dropout) from torch's generator seeded for that epoch. So a checkpoint at the end of an epoch holds
the whole state, and a run that was killed and resumed ends with the same parameters, bit for bit on the same machine
and threads, as one that was not.

With several processes (`fabric=Fabric(devices=..., strategy="ddp")`) each holds the whole module. One step takes one
batch from each process and descends on the mean of their losses, so P processes with batches of B stand for one process
that averages the losses of P such batches before each step:

* the batches of an epoch are dealt out in turn, or, `sharded`, each process brings its own, of any number;
* a process that has no batch left waits: then the mean is over those that have one. Plan(remainder="drop") leaves
  such steps out instead;
* a step that returns (loss, weight) makes it a weighted mean: with the number of examples as weight, and losses that
  are means over examples, a short batch counts for as many examples as it has;
* parameters start as process 0 has them. Each process draws its own dropout. Process 0 evaluates and writes the
  checkpoint, from which any number of processes may go on;
* where processes were given different things, all refuse by name. Where one fails or dies, all end, within a minute,
  with a message that names it.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.utils.data import DataLoader, DistributedSampler
from tqdm.auto import tqdm

from course_lib import checking, extras
from course_lib.training import alike, checkpoints, resumable
from course_lib.training.checkpoints import InParts, Stateful
from course_lib.training.finite import not_finite
from course_lib.training.processes import Team, gradient_kinds

if TYPE_CHECKING:  # importing it takes as long as importing torch, and one process on the CPU needs nothing of it
    from lightning_fabric import Fabric

State = dict[str, Any]  # of a module: its tensors by name
Settings = list[dict[str, str]]  # of an optimiser: its class and, for each group of parameters, a setting -> its repr
Batches = Callable[[int, np.random.Generator], Iterable[Any]]
Step = Callable[[nn.Module, Any], Tensor | tuple[Tensor, float]]
Evaluate = Callable[[nn.Module], dict[str, float]]
BeforeStep = Callable[[nn.Module, torch.optim.Optimizer], object]
RECORDED = ("epoch", "loss")  # what the record of an epoch holds besides the metrics
HOW = ("params", "foreach", "fused", "capturable", "differentiable")  # of a group: no setting of the run itself
END = object()  # what `next` gives of batches that are used up


class Diverged(FloatingPointError):
    """Report that training diverged: a loss far above the first, or NaN or infinity in loss, gradient or parameter.

    Examples
    --------
    >>> from course_lib.training import Diverged
    >>> issubclass(Diverged, FloatingPointError)
    True
    """


@dataclass(frozen=True)
class Plan:
    """Say how long to train, and how.

    Parameters
    ----------
    max_epochs : int
        The number of epochs at most.
    monitor : str, optional
        The metric of ``evaluate`` that decides which epoch is the best; higher is better.
    patience : int, optional
        Stop after this many epochs without a gain in the monitor. None: never.
    diverged_at : float, optional
        Stop with an error when an epoch's mean loss exceeds this many times that of the first. None: only for NaN and
        infinity.
    clip_norm : float, optional
        The most that the norm of all gradients together may be in a step; longer ones are scaled down.
    schedule : str
        Whether the scheduler goes on after each "step" or each "epoch".
    remainder : str
        What several processes do when some have no batch left: "keep" steps with the others, "drop" ends the epoch.

    Raises
    ------
    ValueError
        For values out of range, and for a patience without a monitor.

    Examples
    --------
    >>> from course_lib.training import Plan
    >>> Plan(100, monitor="ndcg", patience=10).schedule
    'step'
    >>> Plan(100, patience=10)
    Traceback (most recent call last):
        ...
    ValueError: patience is 10 and monitor is None; patience needs a monitor
    """

    max_epochs: int
    monitor: str | None = None
    patience: int | None = None
    diverged_at: float | None = 100.0
    clip_norm: float | None = None
    schedule: Literal["step", "epoch"] = "step"
    remainder: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        checking.whole(self.max_epochs, "max_epochs")
        if self.patience is not None:
            checking.whole(self.patience, "patience")
            if self.monitor is None:
                raise ValueError(f"patience is {self.patience} and monitor is None; patience needs a monitor")
        for name in ("diverged_at", "clip_norm"):
            if getattr(self, name) is not None:
                checking.real(getattr(self, name), name, above=0)
        checking.choice(self.schedule, "schedule", ("step", "epoch"))
        checking.choice(self.remainder, "remainder", ("keep", "drop"))


@dataclass
class History:
    """Record what happened in each epoch, which was the best, and why training stopped.

    Parameters
    ----------
    epochs : list of dict
        One dict per epoch with ``epoch``, ``loss`` (the mean over its batches) and the metrics.
    best_epoch : int, optional
        The epoch with the best value of the monitor.
    stopped : str
        Why it stopped: "max_epochs", or that the monitor did not gain.

    Examples
    --------
    >>> from course_lib.training import History
    >>> history = History(epochs=[{"epoch": 0, "loss": 0.9}, {"epoch": 1, "loss": 0.4}], stopped="max_epochs")
    >>> [epoch["loss"] for epoch in history.epochs]
    [0.9, 0.4]
    """

    epochs: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int | None = None
    stopped: str = ""


def fit(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    batches: Batches | DataLoader[Any],
    step: Step,
    plan: Plan,
    seed: int,
    evaluate: Evaluate | None = None,
    checkpoint: Path | str | None = None,
    fabric: Fabric | None = None,
    progress: bool = True,
    sharded: bool = False,
    scheduler: LRScheduler | None = None,
    before_step: BeforeStep | None = None,
    stateful: Mapping[str, Stateful | InParts] | None = None,
) -> History:
    """Train a module in place by autograd and return its history; with a monitor the module ends in its best state.

    Parameters
    ----------
    module : torch.nn.Module
        The module to train.
    optimizer : torch.optim.Optimizer
        An optimiser of parameters of the module.
    batches : callable or DataLoader
        ``batches(epoch, rng)`` gives the batches of an epoch. Or a DataLoader, whose order then follows from seed and
        epoch.
    step : callable
        ``step(module, batch)`` gives a scalar loss to go down, or (loss, weight).
    plan : Plan
        How long to train, and how.
    seed : int
        Decides the run, see the module's docstring.
    evaluate : callable, optional
        ``evaluate(module)`` gives metrics. Called after each epoch in eval mode without gradients, in process 0.
    checkpoint : Path or str, optional
        A file that is written after each epoch, whole or not at all, and read at the start if it is there.
    fabric : Fabric, optional
        An own one for a GPU, several processes or mixed precision. The default is one process on the CPU.
    progress : bool
        Whether a bar shows the epochs.
    sharded : bool
        With several processes: each brings its own batches, as a DataLoader with a DistributedSampler does, and they
        are not dealt out.
    scheduler : torch.optim.lr_scheduler.LRScheduler, optional
        Changes the learning rate. ReduceLROnPlateau goes by the monitor.
    before_step : callable, optional
        ``before_step(module, optimizer)``, called when the gradients are there, averaged over the processes.
    stateful : mapping of str to Stateful or InParts, optional
        What else the checkpoint keeps, by name, such as the estimators that ``step`` uses, or tables in shards, whose
        parts lie in files beside it. The best of those in parts is not kept, so they have no monitor.

    Returns
    -------
    History
        What happened in each epoch.

    Raises
    ------
    Diverged
        Before the step, when the loss or a gradient is NaN or infinite (that of a loss scaled for 16 bits may be
        infinite: its step is left out), and before the checkpoint when a parameter is: the file keeps the last good
        epoch. Also when the mean loss of an epoch exceeds ``plan.diverged_at`` times that of the first.
    ValueError
        When the checkpoint is of another run (seed, shapes, optimiser or its settings), when the monitor is not
        finite, when an argument does not fit, or processes were given different things (in all of them).
    course_lib.training.ProcessLost
        When another process failed or died.

    Examples
    --------
    One weight is trained towards 3.

    >>> import torch
    >>> from course_lib.training import Plan, fit
    >>> module = torch.nn.Linear(1, 1, bias=False)
    >>> sgd, batch = torch.optim.SGD(module.parameters(), lr=0.25), torch.ones(1, 1)
    >>> step = lambda module, batch: (module(batch) - 3).square().sum()
    >>> history = fit(module, sgd, batches=lambda epoch, rng: [batch], step=step, plan=Plan(30), seed=0, progress=False)
    >>> len(history.epochs), round(module.weight.item(), 4), history.stopped
    (30, 3.0, 'max_epochs')
    """
    fabric = launched(fabric)
    with Team(fabric) as team:  # which tells the others of an argument that is refused here alone
        checking.whole(seed, "seed", 0)
        _check_arguments(module, optimizer, plan, stateful)
        path = checkpoints.place(checkpoint)
        if not callable(batches) and not isinstance(batches, DataLoader):
            raise checking.refuse(batches, "batches", "a function (epoch, rng) -> batches, or a DataLoader")
        given = dict(stateful or {})
        parts = {name: held for name, held in given.items() if isinstance(held, InParts)}
        whole = {name: held for name, held in given.items() if not isinstance(held, InParts)}
        if plan.monitor is not None and parts:
            raise checking.refuse(plan.monitor, "plan.monitor", "None with stateful in parts, of which no best is kept")
        own = sharded or isinstance(getattr(batches, "sampler", None), DistributedSampler)
        team.same(
            {"seed": repr(seed), "plan": repr(plan), "checkpoint": str(checkpoint), "sharded": repr(own)}
            | {"step": alike.function_words(step), "batches": "its own" if own else alike.function_words(batches)}
            | {"scheduler": type(scheduler).__qualname__, "stateful": repr(_kept(whole, parts))}
            | {"a function evaluate": repr(evaluate is not None)}
            | alike.module_words(module)
            | alike.optimizer_words(optimizer)
            | {"the optimizer's share of the module": _share(module, optimizer)}
        )
        if _share(module, optimizer).startswith("none of "):
            raise ValueError("optimizer holds none of the module's parameters; expected one of module.parameters()")
        settings = _settings(type(optimizer).__qualname__, optimizer.param_groups)
        module, optimizer = _set_up(fabric, module, optimizer)
        held = (*_tensors(module.state_dict()).values(), *_trained(optimizer))
        team.copy_first({tensor.data_ptr(): tensor for tensor in held}.values())
        run = _Run(
            fabric, team, module, optimizer, settings, step, plan, seed, scheduler, before_step, whole, parts, path
        )
        return run.train(batches, own, evaluate, progress and team.rank == 0)


@dataclass
class _Run:
    """One call of `fit`, between the checks of its arguments and its history."""

    fabric: Fabric
    team: Team
    module: nn.Module  # in Fabric's wrapping
    optimizer: torch.optim.Optimizer
    settings: Settings  # of the optimiser as it was given, before a scheduler moves them
    step: Step
    plan: Plan
    seed: int
    scheduler: LRScheduler | None
    before_step: BeforeStep | None
    stateful: dict[str, Stateful]
    parts: dict[str, InParts]
    path: Path | None
    history: History = field(default_factory=History)
    best: State | None = None

    @functools.cached_property
    def trained(self) -> dict[str, nn.Parameter]:
        """The parameters that the optimiser moves, by name."""
        names = {id(one): name.removeprefix("_forward_module.") for name, one in self.module.named_parameters()}
        held = enumerate(_trained(self.optimizer))
        return {names.get(id(one), f"parameter {at} of the optimizer"): one for at, one in held}

    def train(self, batches: Batches | DataLoader[Any], sharded: bool, evaluate: Evaluate | None, bar: bool) -> History:
        """All epochs that are left."""
        self._resume()
        left = range(len(self.history.epochs), self.plan.max_epochs)
        epochs: Iterable[int] = itertools.takewhile(lambda _: not self.history.stopped, left)
        if self.path is None and self.team.size == 1 and not self.parts:
            epochs = resumable.steps(epochs, self)
        with tqdm(total=self.plan.max_epochs, initial=left.start, unit="epoch", disable=not bar) as shown:
            for epoch in epochs:
                record = {"epoch": epoch, "loss": self._one_epoch(batches, sharded, epoch)}
                self._check_divergence(record["loss"], epoch)
                self._check_parameters(epoch)
                record |= self._evaluated(evaluate)
                self._note(record)
                self._schedule("epoch", record)
                self._save()
                shown.update()
                shown.set_postfix({key: f"{value:.4g}" for key, value in record.items() if key != "epoch"})
        self.history.stopped = self.history.stopped or "max_epochs"
        if self.best is not None:
            self.module.load_state_dict(self.best)
        return self.history

    def _one_epoch(self, batches: Batches | DataLoader[Any], sharded: bool, epoch: int) -> float:
        """One pass over the batches; the mean loss over those of all processes."""
        team, words = self.team, [self.seed, epoch, 1]
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(_torch_seed(words if team.size == 1 else [*words, 1 + team.rank]))
            rng = np.random.default_rng([self.seed, epoch, 3, team.rank] if sharded else [self.seed, epoch])
            drawn = _drawn(batches, epoch, rng, self.fabric)
            own = drawn if sharded or team.size == 1 else _dealt(drawn, team, _torch_seed(words))
            loss = self._pass(own, epoch)
        state, trained = self.module.state_dict(), {name for name, _ in self.module.named_parameters()}
        team.copy_first(value for name, value in _tensors(state).items() if name not in trained)
        return loss

    def _pass(self, batches: Iterator[Any], epoch: int) -> float:
        self.module.train()
        total, count, team = 0.0, 0, self.team
        for at in itertools.count():
            batch = next(batches, END)
            team.present = int(team.sum([float(batch is not END)])[0])
            if team.present == 0 or (team.present < team.size and self.plan.remainder == "drop"):
                break
            total += self._one_step(batch, f"step {at} of epoch {epoch}")
            count += team.present
        team.present = team.size
        if count == 0:
            expected = "at least one batch" + (" for each process" if self.plan.remainder == "drop" else "")
            raise ValueError(f"batches gave nothing in epoch {epoch}; expected {expected}")
        return total / count

    def _one_step(self, batch: Any, where: str) -> float:
        """One step of the optimiser; the sum of the losses of all processes."""
        self.optimizer.zero_grad(set_to_none=True)
        loss, weight, value = None, 0.0, 0.0
        if batch is not END:
            loss, weight = _loss_and_weight(self.step(self.module, batch))
            value = float(loss.detach())
            if not math.isfinite(value):
                found = f"the loss is {value} at {where} (learning rate {_rate(self.optimizer)})"
                raise Diverged(f"{found}: lower the learning rate")
        value = self._backward(loss, weight, value)
        self._check_gradients(where)
        if self.plan.clip_norm is not None:
            norm = self.plan.clip_norm
            self.fabric.clip_gradients(self.module, self.optimizer, max_norm=norm, error_if_nonfinite=False)
        if self.before_step is not None:
            self.before_step(self.module, self.optimizer)
        self.optimizer.step()
        self._schedule("step", {})
        return value

    def _backward(self, loss: Tensor | None, weight: float, value: float) -> float:
        """Makes each gradient that of the weighted mean over the processes; returns the sum of `value`.

        Each loss gets its weight before its gradient is sent to rows of other processes (`FabricProcesses.gathered`).
        """
        if self.team.size > 1:
            value, weights = self.team.sum([value, weight])
            loss = None if loss is None else loss * (weight / weights)
        if loss is not None:
            self.fabric.backward(loss)
        if self.team.size > 1:
            parameters = _trained(self.optimizer)
            self.team.add_gradients(parameters, self.team.sum(gradient_kinds(parameters)))
        return value

    def _check_gradients(self, where: str) -> None:
        """Diverged where one is not finite: clipping would spread it to all parameters, and the step would write it.

        A loss that is scaled up for 16 bits overflows now and then: its scaler leaves out the step and halves the
        scale. Where the scale has fallen below 1, it is not the scale.
        """
        found = not_finite({name: parameter.grad for name, parameter in self.trained.items()})
        scaler = getattr(self.fabric.strategy.precision, "scaler", None)
        if found and (scaler is None or not scaler.is_enabled() or scaler.get_scale() < 1):
            raise Diverged(
                f"the gradient of {found} at {where}, although the loss is finite; no step was taken. "
                "Such gradients come from 0 times infinity, as behind a mask or a root at 0, or from numbers that are "
                "too large: torch.autograd.set_detect_anomaly(True) names the operation"
            )

    def _check_parameters(self, epoch: int) -> None:
        if found := not_finite(self.trained):
            raise Diverged(
                f"the parameter {found} after epoch {epoch} (learning rate {_rate(self.optimizer)}): "
                "lower the learning rate"
            )

    def _schedule(self, now: str, record: Mapping[str, float]) -> None:
        if isinstance(self.scheduler, ReduceLROnPlateau):
            if now == "epoch":
                self.scheduler.step(record[self.plan.monitor or "loss"])
        elif self.scheduler is not None and self.plan.schedule == now:
            self.scheduler.step()

    def _check_divergence(self, loss: float, epoch: int) -> None:
        if self.plan.diverged_at is None or not self.history.epochs:
            return
        first, limit = self.history.epochs[0]["loss"], self.plan.diverged_at
        if loss > limit * abs(first) > 0:
            raise Diverged(
                f"the loss of epoch {epoch} is {loss:.4g}, more than {limit:g} times the {first:.4g} of epoch 0 "
                f"(learning rate {_rate(self.optimizer)}): lower the learning rate"
            )

    def _evaluated(self, evaluate: Evaluate | None) -> dict[str, float]:
        """The metrics that process 0 finds, in all."""
        if evaluate is None:
            return {}
        self.module.eval()
        metrics: dict[str, float] = {}
        if self.team.rank == 0:
            with torch.no_grad():
                found = evaluate(self.module)
            if not isinstance(found, Mapping):
                raise checking.refuse(found, "what evaluate returned", "a dict of numbers by name")
            metrics = {key: float(value) for key, value in found.items()}
            if taken := sorted(set(RECORDED) & set(metrics)):
                raise ValueError(
                    f"evaluate returned {', '.join(taken)}, which the history itself records; expected other names"
                )
        return cast(dict[str, float], self.team.of_first(metrics))

    def _note(self, record: dict[str, float]) -> None:
        """Appends the epoch, decides whether it is the best and whether to stop."""
        plan, history = self.plan, self.history
        history.epochs.append(record)
        if plan.monitor is None:
            return
        if plan.monitor not in record:
            raise ValueError(f"monitor is {plan.monitor!r}, but evaluate gave {sorted(record)}")
        epoch = len(history.epochs) - 1
        checking.real(record[plan.monitor], f"the monitor {plan.monitor!r} after epoch {epoch}")
        if history.best_epoch is None or record[plan.monitor] > history.epochs[history.best_epoch][plan.monitor]:
            history.best_epoch, self.best = epoch, copy.deepcopy(self.module.state_dict())
        elif plan.patience is not None and epoch - history.best_epoch >= plan.patience:
            history.stopped = f"no gain in {plan.monitor} for {plan.patience} epochs"

    def state_dict(self) -> State:
        """All that an epoch changes, but what lies in parts."""
        return {
            "module": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "stateful": {name: held.state_dict() for name, held in self.stateful.items()},
            "history": self.history.__dict__,
            "best": self.best,
        }

    def load_state_dict(self, state: State) -> None:
        """Puts everything where it was."""
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.history, self.best = History(**state["history"]), state["best"]
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        for name, held in self.stateful.items():
            held.load_state_dict(state["stateful"][name])

    def _save(self) -> None:
        """Writes the parts of all processes, then, in process 0, the rest."""
        if self.path is None:
            return
        epochs, team = len(self.history.epochs), self.team
        if self.parts:
            own = {name: held.part() for name, held in self.parts.items()}
            checkpoints.write(checkpoints.part_of(self.path, epochs, team.rank, team.size), own)
            team.sum([0.0])  # all parts are there
        if team.rank == 0:
            about = {"seed": self.seed, "processes": team.size, "parts": sorted(self.parts), "settings": self.settings}
            checkpoints.write(self.path, self.state_dict() | about)
            checkpoints.remove_other_parts(self.path, epochs, team.size)
        team.sum([0.0])  # nobody goes on before it is written

    def _resume(self) -> None:
        """Puts everything where the checkpoint was, if there is one."""
        path = self.path
        if path is None:
            return
        self.team.same({f"the presence of checkpoint {path}": repr(path.is_file())})
        if not path.is_file():
            return
        state = checkpoints.read(path, self.fabric.device)
        _check_checkpoint(path, state, self)
        self.load_state_dict(state)
        if self.parts:
            found = checkpoints.read_parts(path, len(self.history.epochs), state["processes"], self.parts)
            for name, parts in self.parts.items():
                parts.load_parts([part[name] for part in found])


def _check_checkpoint(path: Path, state: State, run: _Run) -> None:
    """ValueError for a checkpoint of another run, or none; a warning for one of another number of processes."""
    if lacking := {"module", "optimizer", "best", "seed", "history", "processes"} - set(state):
        raise ValueError(f"checkpoint {path} has no {', '.join(sorted(lacking))}; expected what `fit` has written")
    if state["seed"] != run.seed:
        raise ValueError(
            f"checkpoint {path} is of seed {state['seed']}, not {run.seed}: give another file, or delete it"
        )
    tables = (_tensors(state["module"]), _tensors(run.module.state_dict()))
    theirs, ours = ({key: tuple(value.shape) for key, value in table.items()} for table in tables)
    if theirs != ours:
        raise ValueError(f"checkpoint {path} is of another model: it has {theirs}, the module has {ours}")
    _check_settings(path, state, run)
    kept, asked = _kept(state.get("stateful", {}), state.get("parts", [])), _kept(run.stateful, run.parts)
    if kept != asked or (state.get("scheduler") is None) != (run.scheduler is None):
        with_scheduler = "no scheduler" if state.get("scheduler") is None else "a scheduler"
        raise ValueError(f"checkpoint {path} holds {with_scheduler} and stateful={kept}; this run has stateful={asked}")
    before, now = state["processes"], run.team.size
    if before != now and run.team.rank == 0:
        warnings.warn(
            f"checkpoint {path} was written by {before} processes and goes on in {now}: "
            f"a step now averages {now} batches, and dropout is drawn anew",
            stacklevel=4,
        )


def _check_settings(path: Path, state: State, run: _Run) -> None:
    """ValueError where the optimiser is of another class, or its groups had other settings when the run began.

    An optimiser that was trained with and is given again stands where the checkpoint ended: that is the same run too. A
    checkpoint without the entry is from before it was kept.
    """
    if "settings" not in state:
        return
    begun, ours = state["settings"], run.settings
    name = begun[0]["optimizer"] if begun else ""
    ended = _settings(name, state["optimizer"]["param_groups"])
    if len(ours) != len(begun) or not any(all(map(_agree, ours, theirs)) for theirs in (begun, ended)):
        raise ValueError(f"checkpoint {path} is of the optimiser {begun}; this run has {ours}")


def _settings(name: str, groups: Iterable[Mapping[str, Any]]) -> Settings:
    """The settings of an optimiser of the class `name`, as words, which compare in one way."""
    plain = (
        {key: value.tolist() if isinstance(value, Tensor) else value for key, value in group.items() if key not in HOW}
        for group in groups
    )
    return [{"optimizer": name} | {key: repr(value) for key, value in group.items()} for group in plain]


def _agree(ours: Mapping[str, str], theirs: Mapping[str, str]) -> bool:
    """Whether the settings that both have are the same: another version of torch may know more of them."""
    return all(ours[key] == theirs[key] for key in ours.keys() & theirs.keys())


def _kept(stateful: Iterable[str], parts: Iterable[str]) -> list[str]:
    return sorted([*stateful, *(f"{name} in parts" for name in parts)])


def _check_arguments(module: Any, optimizer: Any, plan: Any, stateful: Any) -> None:
    """ValueError for what is of another kind."""
    kinds = {"module": (module, nn.Module), "optimizer": (optimizer, torch.optim.Optimizer), "plan": (plan, Plan)}
    for name, (value, kind) in kinds.items():
        if not isinstance(value, kind):
            raise checking.refuse(value, name, f"a {kind.__module__.removeprefix('course_lib.')}.{kind.__qualname__}")
    if not isinstance(stateful, Mapping | None):
        raise checking.refuse(stateful, "stateful", "a dict of things with state_dict and load_state_dict, by name")
    for name, held in (stateful or {}).items():
        if not isinstance(held, InParts) and not all(hasattr(held, one) for one in ("state_dict", "load_state_dict")):
            raise checking.refuse(held, f"stateful[{name!r}]", "something with state_dict and load_state_dict")


def _share(module: nn.Module, optimizer: torch.optim.Optimizer) -> str:
    """How many of the module's parameters the optimiser moves, in words."""
    own, trained = {id(one) for one in module.parameters()}, {id(one) for one in _trained(optimizer)}
    return f"{len(own & trained) or 'none'} of {len(own)} parameters" if own else "no parameters"


def launched(fabric: Fabric | None) -> Fabric:
    """Return the Fabric of this run, with its processes under way.

    Parameters
    ----------
    fabric : Fabric or None
        An own one. None gives one process on the CPU.

    Returns
    -------
    Fabric
        The Fabric, launched unless it has been launched already.

    Raises
    ------
    ImportError
        Where Lightning Fabric is needed and not installed: the extra [training].

    Examples
    --------
    >>> from course_lib.training.loop import launched
    >>> fabric = launched(None)
    >>> fabric.world_size, fabric.device.type
    (1, 'cpu')
    """
    if fabric is None:
        try:
            from lightning_fabric import Fabric  # here, for it brings torch's compiler: a second and more
        except ImportError as error:
            raise extras.missing(error, "training") from error

        fabric = Fabric(accelerator="cpu", devices=1)
    if not hasattr(fabric, "launch"):
        raise checking.refuse(fabric, "fabric", "a lightning_fabric.Fabric, or None")
    under_way = dist.is_available() and dist.is_initialized()
    if not under_way and os.environ.get("LT_CLI_USED") != "1":  # `fabric run` has launched already
        fabric.launch()
    return fabric


def _set_up(
    fabric: Fabric, module: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Module and optimiser in Fabric's wrapping, on its device, in its precision.

    With several processes torch's DistributedDataParallel stays out of it: it averages gradients while they are
    computed, which hangs where a process has no batch, or fails. `_Run._backward` does so afterwards.
    """
    from lightning_fabric.strategies.ddp import DDPStrategy
    from lightning_fabric.wrappers import _FabricModule

    if isinstance(fabric.strategy, DDPStrategy):
        module = fabric.strategy.precision.convert_module(fabric.to_device(module))
        return _FabricModule(module, fabric.strategy), cast(torch.optim.Optimizer, fabric.setup_optimizers(optimizer))
    if fabric.world_size > 1:
        found = f"fabric has the strategy {type(fabric.strategy).__name__}"
        raise ValueError(f'{found}; expected strategy="ddp": each process holds the whole module')
    return cast(tuple[nn.Module, torch.optim.Optimizer], fabric.setup(module, optimizer))


def _drawn(batches: Batches | DataLoader[Any], epoch: int, rng: np.random.Generator, fabric: Fabric) -> Iterator[Any]:
    """The batches of an epoch, decided by epoch, rng and torch's generator."""
    if not isinstance(batches, DataLoader):
        yield from batches(epoch, rng)
        return
    samplers: tuple[Any, ...] = (batches.sampler, batches.batch_sampler)
    for sampler in samplers:
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
    for generator in (batches.generator, getattr(batches.sampler, "generator", None)):
        if generator is not None:
            generator.manual_seed(int(rng.integers(2**62)))
    yield from map(fabric.to_device, batches)


def _dealt(batches: Iterator[Any], team: Team, seed: int) -> Iterator[Any]:
    """This process's share of batches that all processes draw alike: one of each group of `size`, a group a step.

    They are drawn with torch's generator at the same place in all processes, beside the one that the module draws from.
    """
    state = torch.Generator().manual_seed(seed).get_state()
    for at in itertools.count():
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            group = list(itertools.islice(batches, team.size))
            state = torch.get_rng_state()
        if at == 0:
            team.same({"the first of all batches": alike.batch_words(group[0]) if group else "none"})
        if team.rank >= len(group):
            return
        yield group[team.rank]


def _loss_and_weight(found: Any) -> tuple[Tensor, float]:
    """What `step` returned, checked."""
    loss, weight = found if isinstance(found, tuple) and len(found) == 2 else (found, 1.0)
    if not isinstance(loss, Tensor):
        raise checking.refuse(loss, "the loss that step returned", "a scalar tensor, or (scalar tensor, weight)")
    if loss.ndim != 0:
        raise ValueError(f"step returned a loss of shape {tuple(loss.shape)}; expected a scalar")
    if not loss.requires_grad:
        raise ValueError("step returned a loss without a gradient; expected one that depends on the parameters")
    return loss, checking.real(weight, "the weight that step returned", above=0)


def _tensors(state: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: value for name, value in state.items() if isinstance(value, Tensor)}


def _trained(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _torch_seed(words: list[int]) -> int:
    return int(np.random.default_rng(words).integers(2**62))


def _rate(optimizer: torch.optim.Optimizer) -> str:
    return ", ".join(f"{group['lr']:g}" for group in optimizer.param_groups)
