"""training: a killed run resumes to the same bits, early stopping keeps the best, divergence is said plainly."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from course_lib import training
from course_lib.checking import some
from course_lib.optimisers import Together
from course_lib.training import Diverged, Plan, checkpoints, fit
from course_lib.training.finite import not_finite

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]

# A module with dropout (so that torch's generator matters) and Adagrad (so that the optimizer's state matters).
SCRIPT = """
import sys, time, torch
from course_lib.training import Plan, fit
pause, checkpoint, out = float(sys.argv[1]), sys.argv[2] or None, sys.argv[3]
torch.set_num_threads(1)
torch.manual_seed(5)
module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adagrad(module.parameters(), lr=0.1)
def batches(epoch, rng):
    for _ in range(5):
        time.sleep(pause)
        yield torch.tensor(rng.normal(size=(16, 4)), dtype=torch.float32)
def step(module, x):
    return ((module(x)[:, 0] - x.sum(1)) ** 2).mean()
def evaluate(module):
    x = torch.linspace(-1, 1, 40).reshape(10, 4)
    return {"quality": -float(((module(x)[:, 0] - x.sum(1)) ** 2).mean())}
history = fit(module, optimizer, batches=batches, step=step, plan=Plan(12, monitor="quality", patience=8), seed=3,
              evaluate=evaluate, checkpoint=checkpoint, progress=False)
torch.save({"parameters": list(module.parameters()), "history": history.epochs, "stopped": history.stopped}, out)
"""


def in_process(monkeypatch: pytest.MonkeyPatch, checkpoint: Path | str, out: Path) -> dict[str, Any]:
    """What SCRIPT saves that runs here, without pauses."""
    threads = torch.get_num_threads()
    monkeypatch.setattr(sys, "argv", ["script", "0", str(checkpoint), str(out)])
    with torch.random.fork_rng():
        try:
            exec(SCRIPT, {})
        finally:
            torch.set_num_threads(threads)
    saved: dict[str, Any] = torch.load(out, weights_only=True)
    return saved


def test_a_killed_run_resumes_to_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = tmp_path / "state.pt"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, "0.05", str(checkpoint), str(tmp_path / "never.pt")]
    killed = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not checkpoint.is_file():
        time.sleep(0.01)
    time.sleep(0.4)  # into the middle of a later epoch
    killed.send_signal(signal.SIGKILL)
    assert killed.wait(timeout=30) == -signal.SIGKILL and not (tmp_path / "never.pt").exists()
    done = len(torch.load(checkpoint, weights_only=True)["history"]["epochs"])
    assert 1 <= done < 12
    resumed = in_process(monkeypatch, checkpoint, tmp_path / "resumed.pt")
    whole = in_process(monkeypatch, "", tmp_path / "whole.pt")
    assert all(torch.equal(a, b) for a, b in some(zip(whole["parameters"], resumed["parameters"], strict=True)))
    assert whole["history"] == resumed["history"] and whole["stopped"] == resumed["stopped"]


def sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1)


def normal_batches(epoch: int, rng: np.random.Generator) -> Iterator[torch.Tensor]:
    return (torch.tensor(rng.normal(size=(8, 1)), dtype=torch.float32) for _ in range(4))


def line_fit(make: Any = sgd, **changed: Any) -> tuple[torch.nn.Module, Any]:
    """One weight fitted to y = 2 x; make: the optimiser of its parameters, or a learning rate of SGD."""
    module = torch.nn.utils.skip_init(torch.nn.Linear, 1, 1, bias=False)  # draws nothing from the global generator
    torch.nn.init.zeros_(module.weight)
    optimizer = make(list(module.parameters())) if callable(make) else torch.optim.SGD(module.parameters(), lr=make)
    scheduler = changed.pop("scheduler", None)
    given = {"batches": normal_batches, "step": lambda module, x: ((module(x) - 2 * x) ** 2).mean(), "seed": 0}
    given |= {"progress": False, "scheduler": scheduler and scheduler(optimizer)}
    return module, fit(module, optimizer, **given | changed)


def test_it_learns_and_the_seed_decides() -> None:
    trained, history = line_fit(plan=Plan(20))
    assert abs(float(trained.weight.detach()) - 2) < 1e-3
    assert history.epochs[-1]["loss"] < 1e-4 * history.epochs[0]["loss"]
    first, again, other = (line_fit(plan=Plan(2), seed=seed)[0].weight for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert history.stopped == "max_epochs" and len(history.epochs) == 20


def test_training_leaves_the_global_generators_alone() -> None:
    torch.manual_seed(9)
    expected = torch.rand(1)
    torch.manual_seed(9)
    line_fit(plan=Plan(2))
    assert torch.equal(torch.rand(1), expected)


def test_every_epoch_of_every_seed_draws_its_own_batches_and_its_own_noise() -> None:
    """`rng` is that of the documentation; torch's generator, from which dropout draws, repeats in no other epoch."""

    def drawn(seed: int) -> list[tuple[float, float]]:
        found: list[tuple[float, float]] = []

        def batches(epoch: int, rng: np.random.Generator) -> list[torch.Tensor]:
            found.append((rng.random(), torch.rand(1).item()))
            assert found[-1][0] == np.random.default_rng([seed, epoch]).random()
            return [torch.ones(1, 1)]

        line_fit(batches=batches, plan=Plan(4), seed=seed)
        return found

    first, again, other = drawn(3), drawn(3), drawn(4)
    assert first == again and len(first) == 4
    for kind in (0, 1):
        assert len({draw[kind] for draw in first + other}) == 8
    noise = torch.nn.Dropout(0.5)
    masks = []
    line_fit(plan=Plan(3), before_step=lambda *_: masks.append(tuple(noise(torch.ones(40)).tolist())))
    assert len(set(masks)) == len(masks) == 12  # steps of an epoch, and epochs, differ


@pytest.mark.parametrize(
    ("scores", "patience", "best"), [([0.1, 0.5, 0.4, 0.3, 0.2, 0.9], 3, 1), ([0.5, 0.5, 0.5, 0.9], 2, 0)]
)
def test_early_stopping_returns_the_first_best_state(scores: list[float], patience: int, best: int) -> None:
    """A later epoch that is no better is no gain: its state is not taken, and patience runs out."""
    left, seen = iter(scores), []

    def evaluate(module: torch.nn.Module) -> dict[str, float]:
        seen.append(module.weight.detach().clone())
        return {"quality": next(left)}

    module, history = line_fit(0.01, plan=Plan(50, monitor="quality", patience=patience), evaluate=evaluate)
    assert history.best_epoch == best and len(history.epochs) == best + 1 + patience
    assert "no gain in quality" in history.stopped
    assert torch.equal(module.weight.detach(), seen[best]) and not torch.equal(seen[best], seen[-1])


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first, one = line_fit(plan=Plan(5), checkpoint=tmp_path / "c.pt")
    second, two = line_fit(plan=Plan(5), checkpoint=tmp_path / "c.pt")
    assert torch.equal(first.weight, second.weight) and one.epochs == two.epochs
    assert [path.name for path in tmp_path.iterdir()] == ["c.pt"]


@pytest.mark.parametrize(("lr", "words"), [(50.0, "times the"), (1e30, "loss is (inf|nan)")])
def test_divergence_is_an_error_that_helps(lr: float, words: str) -> None:
    with pytest.raises(Diverged, match=words) as caught:
        line_fit(lr, plan=Plan(10))
    assert "lower the learning rate" in str(caught.value)


def test_a_slow_divergence_is_measured_against_the_first_epoch() -> None:
    """The loss grows twentyfold an epoch, and only the third epoch is beyond a hundred times the first."""
    given = {"batches": lambda epoch, rng: [20.0**epoch], "step": lambda module, value: value + 0 * module.weight.sum()}
    with pytest.raises(Diverged, match=r"the loss of epoch 2 is 400, more than 100 times the 1 of epoch 0"):
        line_fit(**given, plan=Plan(5, diverged_at=100))


class Rows(torch.nn.Module):
    """Two tables, one with sparse gradients, and a temperature, whose gradient becomes NaN when a batch says so."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.left, self.right = torch.nn.Embedding(4, 2, sparse=sparse), torch.nn.Embedding(4, 2)
        self.tau = torch.nn.Parameter(torch.tensor(0.5))
        for parameter in self.parameters():
            parameter.data.copy_(0.1 * torch.arange(1.0, 1 + parameter.numel()).view_as(parameter))

    def forward(self, ids: torch.Tensor, spoilt: str) -> torch.Tensor:
        """A finite loss whatever is spoilt: the root at 0 has the slope infinity, which the 0 before it makes NaN."""
        left, right = self.left(ids), self.right(ids)
        loss = ((left * right).sum(1) / self.tau).square().mean()
        if spoilt:
            value = {"left": left[1, 1], "right": right[1, 1], "tau": self.tau}[spoilt]
            loss = loss + (0 * value).sqrt()
        return loss


def two_optimisers(module: Rows) -> torch.optim.Optimizer:
    kind = torch.optim.SparseAdam if module.left.sparse else torch.optim.SGD
    return Together(kind([module.left.weight], lr=0.1), torch.optim.Adam([module.right.weight, module.tau], lr=0.1))


def spoilt_fit(spoilt: str, path: Path | None, make: Any = two_optimisers, at: int = 3, **given: Any) -> Rows:
    """Two steps an epoch; the gradient of `spoilt` is NaN in step number `at`. Returns the module that stopped."""
    plan = given.setdefault("plan", Plan(3))
    module, seen = Rows(sparse=plan.clip_norm is None), []  # torch clips no sparse gradients

    def step(module: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
        kept.append({name: value.clone() for name, value in module.state_dict().items()})
        seen.append(1)
        return module(ids, spoilt if len(seen) == at + 1 else "")

    kept: list[dict[str, torch.Tensor]] = []
    with pytest.raises(Diverged) as caught:
        fit(
            module,
            make(module),
            batches=lambda epoch, rng: [torch.tensor([0, 2]), torch.tensor([1, 3])],
            step=step,
            seed=0,
            checkpoint=path,
            progress=False,
            **given,
        )
    place = {"left": "left.weight[3, 1]", "right": "right.weight[3, 1]", "tau": "tau"}[spoilt]
    assert str(caught.value).startswith(f"the gradient of {place} is nan at step 1 of epoch 1, although the loss is")
    assert len(seen) == at + 1
    for name, value in some(module.state_dict().items()):  # as before the step
        assert torch.equal(value, kept[-1][name]) and not torch.equal(value, kept[0][name])
    return module


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("spoilt", ["left", "right", "tau"])
def test_a_gradient_that_is_not_finite_stops_before_the_step(spoilt: str, clip: float | None, tmp_path: Path) -> None:
    """Clipping would have made every parameter NaN. The checkpoint is that of the last good epoch."""
    path = tmp_path / "c.pt"
    spoilt_fit(spoilt, path, plan=Plan(3, clip_norm=clip))
    state = torch.load(path, weights_only=True)
    assert [record["epoch"] for record in state["history"]["epochs"]] == [0]
    assert all(bool(value.isfinite().all()) for value in some(state["module"].values()))


@pytest.mark.parametrize(
    "make",
    [
        lambda module: torch.optim.SGD(module.parameters(), lr=0.1),
        lambda module: torch.optim.Adagrad([{"params": [one]} for one in module.parameters()], lr=0.1),
    ],
)
def test_it_stops_with_any_optimiser_and_in_bfloat16(make: Any) -> None:
    spoilt_fit("tau", None, make)
    spoilt_fit("tau", None, make, fabric=training.Fabric(accelerator="cpu", devices=1, precision="bf16-mixed"))


def test_an_overflow_is_named_and_large_numbers_are_none() -> None:
    """Sums overflow where their terms do not: such gradients are looked at one by one, and are right."""
    large = {"a": torch.full((4,), 3e38), "b": None, "c": torch.tensor([[1.0], [2.0]]), "d": torch.zeros(0, 3)}
    assert not_finite(large) == "" == not_finite({"half": torch.full((9,), 6e4, dtype=torch.float16)})
    assert not_finite({}) == "" == not_finite({"none": None})
    large["c"] = torch.tensor([[1.0], [-torch.inf]])
    assert not_finite(large) == "c[1, 0] is -inf"
    assert not_finite({"both": torch.tensor([torch.inf, -torch.inf])}) == "both[0] is inf"
    two = torch.sparse_coo_tensor([[5, 2, 2]], [[0.0, 1.0], [1.0, 2.0], [1.0, torch.nan]], (9, 2))
    assert not_finite({"fine": torch.ones(3), "rows": two}) == "rows[2, 1] is nan"


def test_a_parameter_that_overflows_in_the_last_step_is_not_written(tmp_path: Path) -> None:
    """Loss and gradient of the step are finite, the step itself is not: nobody would see it before the checkpoint."""
    rates = iter([0.1, 1e30])
    message = r"the parameter weight\[0, 0\] is -?inf after epoch 1 .*lower the learning rate"
    with pytest.raises(Diverged, match=message):
        line_fit(
            batches=lambda epoch, rng: [torch.full((1, 1), 1e5)],
            step=lambda module, x: (module(x) - 1e5).square().mean(),
            plan=Plan(2, diverged_at=None),
            checkpoint=tmp_path / "c.pt",
            before_step=lambda module, optimizer: optimizer.param_groups[0].update(lr=next(rates)),
        )
    assert bool(torch.load(tmp_path / "c.pt", weights_only=True)["module"]["weight"].isfinite())


def scaled_fit(steps: int, spoilt: bool) -> float:
    """`steps` steps in float16 with a loss that is scaled by 2^16 and more: the weight that should become 2."""
    from lightning_fabric.plugins.precision import MixedPrecision  # here: Lightning takes a second to import

    precision = MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu", init_scale=2.0**40))

    def step(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        loss = (module(x).float() - 2).square().mean()
        return loss + (0 * module.weight[0, 0]).sqrt() if spoilt else loss

    fabric = training.Fabric(accelerator="cpu", devices=1, plugins=[precision])
    given = {"batches": lambda epoch, rng: [torch.ones(4, 1)] * steps, "step": step, "plan": Plan(1), "fabric": fabric}
    return float(line_fit(**given)[0].weight.detach())


def test_a_scaled_loss_may_overflow_until_the_scale_is_gone() -> None:
    assert scaled_fit(20, spoilt=False) == 0  # 2^40 is halved, step by step
    assert scaled_fit(80, spoilt=False) == pytest.approx(2, abs=0.01)
    with pytest.raises(Diverged, match=r"the gradient of weight\[0, 0\] is nan at step 41 of epoch 0"):
        scaled_fit(80, spoilt=True)


def test_a_checkpoint_of_another_seed_or_model_and_a_monitor_that_is_not_measured_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.pt"
    line_fit(plan=Plan(2), checkpoint=path)
    with pytest.raises(ValueError, match="is of seed 0, not 1"):
        line_fit(plan=Plan(2), checkpoint=path, seed=1)
    wide = torch.nn.Linear(2, 1)
    with pytest.raises(ValueError, match="another model"):
        fit(wide, sgd(wide.parameters()), **ONE_PAIR, step=mean_of, plan=Plan(1), checkpoint=path)
    with pytest.raises(ValueError, match="monitor is 'other', but evaluate gave"):
        line_fit(plan=Plan(2, monitor="other"), evaluate=lambda module: {"quality": 1.0})


ONE_PAIR = {"batches": lambda epoch, rng: [torch.ones(3, 2)], "seed": 0, "progress": False}


def mean_of(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return module(x).mean()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": lambda module, x: 0.5}, "the loss that step returned is 0.5; expected a scalar tensor"),
        ({"step": lambda module, x: module(x)[:, 0]}, "expected a scalar"),
        ({"step": lambda module, x: x.mean()}, "a loss without a gradient"),
        ({"step": lambda module, x: (module(x).mean(), 0)}, "the weight that step returned is 0; expected a finite"),
        ({"evaluate": lambda module: None}, "what evaluate returned is None; expected a dict of numbers"),
        ({"evaluate": lambda _: {"m": np.nan}, "plan": lambda: Plan(1, "m")}, "'m' after epoch 0 is nan; expected"),
        ({"evaluate": lambda _: {"m": np.inf}, "plan": lambda: Plan(1, "m")}, "'m' after epoch 0 is inf; expected"),
        ({"evaluate": lambda module: {"loss": 1e-9}}, "evaluate returned loss, which the history itself records"),
        ({"evaluate": lambda module: {"epoch": 1e-9}}, "evaluate returned epoch, which the history itself records"),
        ({"seed": None}, "seed is None; expected a whole number of at least 0"),
        ({"batches": [torch.ones(1, 2)]}, "expected a function .* or a DataLoader"),
        ({"batches": lambda epoch, rng: []}, "batches gave nothing in epoch 0"),
        ({"plan": lambda: Plan(0)}, "max_epochs is 0"),
        ({"plan": lambda: Plan(1, clip_norm=0)}, "clip_norm is 0; expected a finite number above 0"),
        ({"plan": lambda: Plan(1, remainder="pad")}, "remainder is 'pad'; expected one of keep, drop"),
        ({"plan": lambda: Plan(3, patience=2)}, "patience needs a monitor"),
        ({"plan": lambda: Plan(3, "quality", patience=2.5)}, r"patience is 2\.5; expected a whole number"),
        ({"plan": lambda: Plan(3, diverged_at=-1)}, "diverged_at is -1; expected a finite number above 0"),
        ({"plan": lambda: {"max_epochs": 3}}, "plan is"),
        ({"optimizer": lambda: "adam"}, "optimizer is 'adam'"),
        ({"optimizer": lambda: sgd([torch.nn.Parameter(torch.ones(1))])}, "none of the module's parameters"),
        ({"module": None}, "module is None"),
        ({"stateful": {"a": 3}}, r"stateful\['a'\] is 3"),
        ({"stateful": 3}, "stateful is 3"),
        ({"checkpoint": ""}, "checkpoint is ''"),
        ({"checkpoint": 3}, "checkpoint is 3"),
        ({"checkpoint": ROOT}, "not of a folder"),
        ({"checkpoint": Path(__file__) / "c.pt"}, "test_loop.py is none"),
    ],
)
def test_what_fit_cannot_use_is_refused_by_name(change: dict[str, Any], words: str) -> None:
    """plan and optimizer are functions here: the first optimizer of a process takes a second."""
    module = torch.nn.Linear(2, 1)
    late = {"plan": lambda: Plan(1), "optimizer": lambda: sgd(module.parameters())}
    with pytest.raises(ValueError, match=words):
        made = {name: change.get(name, make)() for name, make in late.items()}
        fit(**{"module": module, "step": mean_of, **ONE_PAIR, **change, **made})


def loader(generator: torch.Generator | None = None) -> DataLoader:
    return DataLoader(torch.arange(20.0)[:, None] / 20, batch_size=4, shuffle=True, generator=generator)


def scheduled(epochs: int, checkpoint: Path | None = None, **change: object) -> tuple[torch.nn.Module, list[float]]:
    """A line fitted to a shuffled DataLoader, with momentum, clipping, a falling rate: (module, rates of the steps)."""
    rates: list[float] = []
    given = {"batches": loader(torch.Generator()), "plan": Plan(epochs, clip_norm=0.1), "seed": 4}
    given["scheduler"] = lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 7, 0.5)  # epochs have five steps
    given["before_step"] = lambda module, optimizer: rates.append(optimizer.param_groups[0]["lr"])
    steep = line_fit(lambda p: torch.optim.SGD(p, lr=1.0, momentum=0.5), checkpoint=checkpoint, **given | change)
    return steep[0], rates


def test_a_loader_and_a_scheduler_resume_to_the_same_bits(tmp_path: Path) -> None:
    """The scheduler counts its steps, and goes on where it was; the checkpoint's folder is made."""
    path = tmp_path / "not" / "there" / "c.pt"
    whole, rates = scheduled(3)
    assert rates == [1] * 7 + [0.5] * 7 + [0.25]
    scheduled(2, path)
    resumed, late = scheduled(3, path)
    assert torch.equal(whole.weight, resumed.weight) and late == rates[10:]
    with pytest.raises(ValueError, match="holds a scheduler"):
        scheduled(3, path, scheduler=None)


def test_a_resumed_run_ends_in_the_best_state_of_before(tmp_path: Path) -> None:
    """The weight falls by .5 an epoch, and so does the monitor: the first epoch stays the best."""
    for epochs in (2, 3):
        module, history = line_fit(
            0.5,
            batches=lambda epoch, rng: [1.0],
            step=lambda module, one: one * module.weight.sum(),
            plan=Plan(epochs, monitor="weight", diverged_at=None),
            evaluate=lambda module: {"weight": module.weight.item()},
            checkpoint=tmp_path / "c.pt",
        )
        assert history.best_epoch == 0 and module.weight.item() == -0.5 and len(history.epochs) == epochs


@pytest.mark.parametrize("generator", [None, "its own"])
def test_a_loader_is_shuffled_anew_in_every_epoch_of_every_seed(generator: str | None) -> None:
    def orders(seed: int) -> list[tuple[float, ...]]:
        seen: list[float] = []
        line_fit(
            batches=loader(torch.Generator() if generator else None),
            step=lambda module, x: seen.extend(x[:, 0].tolist()) or (module(x) - 1).square().mean(),
            plan=Plan(3),
            seed=seed,
        )
        return [tuple(seen[at : at + 20]) for at in (0, 20, 40)]

    first, other = orders(3), orders(4)
    assert first == orders(3) and len(set(first + other)) == 6
    assert len({tuple(sorted(order)) for order in first + other}) == 1


def test_a_scheduler_may_go_by_epochs_or_by_the_monitor() -> None:
    assert scheduled(9, plan=Plan(9, schedule="epoch"))[1][::5] == [1] * 7 + [0.5] * 2
    worse, optimisers = iter([0.3, 0.2, 0.1, 0.0]), []
    line_fit(
        lambda parameters: optimisers.append(sgd(parameters)) or optimisers[0],
        plan=Plan(4, monitor="quality"),
        evaluate=lambda module: {"quality": next(worse)},
        scheduler=lambda optimizer: torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=0),
    )
    assert optimisers[0].param_groups[0]["lr"] == pytest.approx(1e-4)


def test_gradients_are_clipped_before_the_step() -> None:
    norms = []

    def note(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        norms.append(float(torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in module.parameters()]))))

    scheduled(1, before_step=note)
    assert norms[0] == pytest.approx(0.1, rel=1e-4) and max(norms) < 0.1001


def test_progress_is_shown(capsys: pytest.CaptureFixture) -> None:
    line_fit(plan=Plan(2), progress=True)
    shown = capsys.readouterr().err
    assert "2/2" in shown and "loss=" in shown


class Counter:
    """Counts steps; of several processes each would keep its own count."""

    def __init__(self) -> None:
        self.count = torch.zeros(1)

    def step(self, *_: object) -> None:
        self.count += 1

    def part(self) -> dict[str, torch.Tensor]:
        return {"count": self.count}

    def load_parts(self, parts: Sequence[Mapping[str, torch.Tensor]]) -> None:
        self.count += sum(part["count"] for part in parts)


def test_what_lies_in_parts_lies_beside_the_checkpoint(tmp_path: Path) -> None:
    """Such as tables in shards. Only the newest part stays; without it, and with a monitor, a run is refused."""

    def counted(plan: Plan, **arguments: object) -> float:
        steps = Counter()
        line_fit(plan=plan, stateful={"steps": steps}, before_step=steps.step, **arguments)
        return float(steps.count)

    checkpoint, part = tmp_path / "run.pt", tmp_path / "run.pt.epoch3.0-of-1"
    assert [counted(Plan(epochs), checkpoint=checkpoint) for epochs in (1, 3)] == [4, 12]
    assert sorted(tmp_path.iterdir()) == [checkpoint, part]
    with pytest.raises(ValueError, match=r"holds no scheduler and stateful=\['steps in parts'\]"):
        line_fit(plan=Plan(4), checkpoint=checkpoint)
    part.unlink()
    with pytest.raises(ValueError, match=r"lies in parts of 1 processes; expected run.pt.epoch3.0-of-1 beside it"):
        counted(Plan(4), checkpoint=checkpoint)
    with pytest.raises(ValueError, match=r"plan.monitor is 'loss'; expected None with stateful in parts"):
        counted(Plan(4, monitor="loss"))


# ------------------------------------------------------------------------------------------- files of a checkpoint


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Such as on a disk that is full. The checkpoint before it stays."""
    path = tmp_path / "run.pt"
    checkpoints.write(path, {"epoch": 1})
    with pytest.raises((AttributeError, pickle.PicklingError)):
        checkpoints.write(path, {"epoch": torch.ones(1000), "no file holds it": lambda: None})
    assert checkpoints.read(path, "cpu") == {"epoch": 1} and list(tmp_path.iterdir()) == [path]


def test_leftovers_of_dead_processes_go_with_the_next_save(tmp_path: Path) -> None:
    """Those of the checkpoint's own name alone; what another living process writes is not touched."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    names = ("run.pt", "run.pt.epoch1.0-of-2", "run.pt.epoch7.1-of-2")
    leftovers = [tmp_path / f".{name}.{dead.pid}" for name in names]
    kept = [tmp_path / f".run.pt.{os.getppid()}", tmp_path / f".run.pt.old.{dead.pid}", tmp_path / ".run.pt.notes"]
    for file in [*leftovers, *kept]:
        file.touch()
    line_fit(plan=Plan(1), checkpoint=tmp_path / "run.pt")
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "run.pt"])


@pytest.mark.parametrize("content", [b"", b"torn", {"weight": torch.ones(1)}, torch.ones(1), "half of it"])
def test_a_file_that_is_no_checkpoint_is_named(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "run.pt"
    line_fit(plan=Plan(1), checkpoint=path)
    content = path.read_bytes()[:1000] if isinstance(content, str) else content
    path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
    with pytest.raises(ValueError, match=r"checkpoint .*run\.pt .*expected"):
        line_fit(plan=Plan(2), checkpoint=path)


def test_parts_of_a_checkpoint_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    checkpoints.write(checkpoints.part_of(path, 3, 0, 1), {"tables": {"first": 0}})
    assert checkpoints.read_parts(path, 3, 1, ["tables"]) == [{"tables": {"first": 0}}]
    with pytest.raises(ValueError, match=r"epoch3\.0-of-1 holds parts of \['tables'\]; expected of \['steps'\]"):
        checkpoints.read_parts(path, 3, 1, ["steps"])
    with pytest.raises(ValueError, match="size is 0; expected a whole number"):
        checkpoints.read_parts(path, 3, 0, ["tables"])
    checkpoints.part_of(path, 3, 0, 1).write_bytes(b"torn")
    with pytest.raises(ValueError, match=r"run\.pt\.epoch3\.0-of-1 cannot be read; expected a whole one"):
        checkpoints.read_parts(path, 3, 1, ["tables"])


def resumable(path: Path, make: Any, epochs: int = 1, schedule: bool = False) -> torch.optim.Optimizer:
    """The optimiser that `make` makes, after these epochs of one batch."""
    made: list[torch.optim.Optimizer] = []
    falling = (lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)) if schedule else None
    line_fit(
        lambda parameters: made.append(make(parameters)) or made[0],
        batches=lambda epoch, rng: [torch.ones(2, 1)],
        plan=Plan(epochs),
        checkpoint=path,
        scheduler=falling,
    )
    return made[0]


@pytest.mark.parametrize(
    "other",
    [
        lambda p: torch.optim.SGD(p, lr=1e-9),
        lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.01),
        lambda p: torch.optim.SGD([{"params": p}, {"params": [torch.nn.Parameter(torch.ones(1))]}], lr=0.01),
    ],
)
def test_a_checkpoint_of_another_optimiser_is_refused(tmp_path: Path, other: Any) -> None:
    path = tmp_path / "c.pt"
    resumable(path, lambda p: torch.optim.SGD(p, lr=0.01))
    with pytest.raises(ValueError, match=r"c\.pt is of the optimiser"):
        resumable(path, other, 2)


def test_a_checkpoint_goes_on_with_a_scheduler_and_without_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "c.pt"
    resumable(path, lambda p: torch.optim.SGD(p, lr=0.01), schedule=True)
    resumed = resumable(path, lambda p: torch.optim.SGD(p, lr=0.01), 2, schedule=True)
    assert resumed.param_groups[0]["lr"] == pytest.approx(0.01 * 0.9**2)
    state = torch.load(path, weights_only=True)
    del state["settings"]  # as it was written before
    torch.save(state, path)
    assert resumable(path, lambda p: torch.optim.SGD(p, lr=0.01), 3, schedule=True).param_groups[0]["lr"] < 0.0075


def test_a_file_that_may_not_be_read_is_not_called_torn(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=str(tmp_path)):
        checkpoints.read(tmp_path, "cpu")
