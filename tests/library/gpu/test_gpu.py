"""On a GPU: the same numbers as on the processor, and every experiment that takes `device=cuda` runs there.

`make test-gpu` runs this folder; where torch finds no GPU all of it is skipped. Formulas are compared in float64, to
1e-10 of the largest entry; models, which compute in float32, to 1e-4.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from long_tails import long_tailed

from course_lib import (
    audit,
    backbones,
    debiasing,
    experiments,
    gauge,
    geometry,
    gramians,
    in_batch,
    losses,
    metrics,
    popularity,
    training,
)
from course_lib.checking import some
from course_lib.experiments.core import registry
from course_lib.interactions import sample_negatives
from course_lib.training import Plan, fit
from course_lib.training.objectives import GRADIENTS, full_data
from course_lib.training.recommenders import measure, train_recommender
from course_lib.training.stochastic import Schedule, Stack
from course_lib.training.towers import lookup_towers, train_towers

pytestmark = pytest.mark.gpu
GPU = "cuda"
M, N, D = 120, 60, 8
TAKE_A_DEVICE = [name for name in experiments.names() if "device" in registry.options_of(name)]


DATA = long_tailed(M, N, timed=True)
TRAIN, TEST = DATA.split_random(0.8, np.random.default_rng(1))


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    return normal(M, D), normal(N, D, seed=1)


def numbers(found: Any) -> Iterator[torch.Tensor]:
    """All tensors, arrays and numbers in what a function returned."""
    if isinstance(found, torch.Tensor | np.ndarray | float | int):
        yield torch.as_tensor(found).detach().cpu().double()
    elif isinstance(found, dict):
        for value in found.values():
            yield from numbers(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from numbers(value)


def same(ours: Any, theirs: Any, tolerance: float) -> None:
    """Every number of the one is that of the other, to `tolerance` of the largest entry."""
    pairs = list(zip(numbers(ours), numbers(theirs), strict=True))
    assert pairs
    for one, other in some(pairs):
        scale = max(1.0, float(other.nan_to_num(posinf=0, neginf=0).abs().max())) if other.numel() else 1.0
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance * scale, equal_nan=True)


def moved(value: Any) -> Any:
    return value.to(GPU) if isinstance(value, torch.Tensor) else value


def in_batch_gradient(kind: str, users: torch.Tensor, items: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Value and gradients of one batch loss of 40 training pairs, by autograd."""
    some = slice(40)
    rows, cols = (torch.tensor(ids[some], device=users.device) for ids in (DATA.users, DATA.items))
    u, v = (side.clone().requires_grad_() for side in (users, items))
    positive, negative = losses.pair_losses("logistic", u[rows] @ v[cols].T)
    value = in_batch.batch_loss(
        kind,
        pos_loss=positive.diagonal(),
        neg_loss=negative,
        row_counts=torch.tensor(DATA.row_counts, device=users.device)[rows],
        col_counts=torch.tensor(DATA.col_counts, device=users.device)[cols],
        n_positives=len(DATA),
        shape=DATA.shape,
        omega=0.5 if kind == "unbiased_omega" else None,
        labels=torch.tensor(DATA.labels(), device=users.device)[rows][:, cols] if kind == "masked" else None,
    )
    return value, *torch.autograd.grad(value, (u, v))


def softmax_gradients(users: torch.Tensor, items: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Value and gradients of `losses.chunked_softmax` of the items among the users, in chunks of 7."""
    u, v = (side.clone().requires_grad_() for side in (users, items))
    log_q = torch.linspace(-4, -1, len(users), dtype=users.dtype, device=users.device)
    value = losses.chunked_softmax(v, u, tau=0.5, log_q=log_q, rows=7)
    return value, *torch.autograd.grad(value, (u, v))


def neighbour_overlap(one: torch.Tensor, other: torch.Tensor) -> np.ndarray:
    return gauge.neighbour_overlap(gauge.neighbours(one, 5), gauge.neighbours(other, 5))


SCORES = normal(20, 20)
FORMULAS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cosine_gradient": (geometry.cosine_gradient, (normal(5, D), normal(5, D, seed=1))),
    "split_radial": (geometry.split_radial, (normal(5, D), normal(5, D, seed=1))),
    "logistic": (lambda scores: losses.logistic(1, scores), (SCORES,)),
    "infonce": (lambda scores: losses.infonce(scores, tau=0.1), (SCORES,)),
    "cosine_margin": (lambda scores: losses.cosine_margin(scores, tau=0.1, margin=0.2), (SCORES.tanh(),)),
    "angular_margin": (lambda scores: losses.angular_margin(scores, tau=0.1, margin=0.2), (SCORES.tanh(),)),
    "bpr": (losses.bpr, (normal(20), normal(20, seed=1))),
    "gravity": (gramians.gravity, (normal(M, D), normal(M, D, seed=1))),
    "all_pairs_square": (gramians.all_pairs_square, tables()),
    "SOGram": (lambda batch: gramians.SOGram(D, 0.5).update(torch.arange(20), batch), (normal(20, D),)),
    "SAGram": (lambda batch: gramians.SAGram(M, D, 0.5).update(torch.arange(20), batch), (normal(20, D),)),
    "linear_gauge_dimension": (gauge.linear_gauge_dimension, (normal(M, 3),)),
    "apply_linear_gauge": (gauge.apply_linear_gauge, (*tables(), torch.eye(D, dtype=torch.float64) * 2)),
    "find_gauge": (gauge.find_gauge, (normal(M, 3), normal(M, 3) @ normal(3, 3, seed=1))),
    "neighbour_overlap": (neighbour_overlap, (normal(N, D), normal(N, D, seed=2))),
    "popularity_direction": (lambda items: popularity.popularity_direction(items, DATA.col_counts), (tables()[1],)),
    "projection_correlation": (lambda items: popularity.projection_correlation(items, DATA.col_counts), (tables()[1],)),
    "norm_correlation": (
        lambda items: popularity.norm_correlation(geometry.norm(items), DATA.col_counts),
        (tables()[1],),
    ),
    "chunked_softmax": (softmax_gradients, tables()),
    "two_way_softmax": (lambda scores: losses.two_way_softmax(scores, tau=0.5), (SCORES,)),
    "in_batch_sigmoid": (lambda scores: losses.in_batch_sigmoid(scores, scale=2.0, bias=-1.0), (SCORES,)),
    **{f"batch_loss {kind}": (partial(in_batch_gradient, kind), tables()) for kind in in_batch.KINDS},
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_has_the_processors_value(name: str) -> None:
    formula, arguments = FORMULAS[name]
    found = formula(*map(moved, arguments))
    same(found, formula(*arguments), 1e-10)
    assert not isinstance(found, torch.Tensor) or found.is_cuda


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
@pytest.mark.parametrize("kind", in_batch.KINDS)
def test_an_objective_over_all_pairs_has_the_processors_gradient(kind: str, pointwise: str) -> None:
    """The logistic grid is float32 on both (`training.objectives`)."""
    found = []
    for device in ("cpu", GPU):
        data = full_data(kind, DATA, batch_size=32, omega=0.5 if kind == "unbiased_omega" else None, device=device)
        found.append(GRADIENTS[pointwise](*(side.to(device) for side in tables()), data))
    same(found[1], found[0], 1e-10 if pointwise == "square" else 1e-5)


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
def test_stacked_steps_are_the_processors(pointwise: str) -> None:
    """The same batches, ten steps in float64."""
    kinds, schedule, found = in_batch.KINDS, Schedule(first_lr=0.1), []
    for device in ("cpu", GPU):
        rng = np.random.default_rng(0)
        stack = Stack(
            kinds, pointwise, DATA, 32, k=D, rng=rng, schedule=schedule, omega=0.5, device=device, dtype=torch.float64
        )
        for _, batch in zip(range(10), stack.batches(), strict=False):
            stack.step(batch)
        found.append((stack.u, stack.v))
    assert found[1][0].is_cuda
    same(found[1], found[0], 1e-9)


def test_lists_and_measures_are_the_processors_ties_included() -> None:
    users, items = (side.round() for side in tables())  # whole numbers: many scores are equal
    ours, theirs = (metrics.top_k(users.to(device), items.to(device), TRAIN, 10, block=7) for device in (GPU, "cpu"))
    np.testing.assert_array_equal(ours, theirs)
    assert measure((users.to(GPU), items.to(GPU)), TRAIN, TEST) == measure((users, items), TRAIN, TEST)


def batch(device: str) -> list[torch.Tensor]:
    rng = np.random.default_rng(0)
    users = DATA.users[:64]
    return [torch.tensor(ids, device=device) for ids in (users, DATA.items[:64], sample_negatives(DATA, users, rng))]


OPTIONS = {"NCL": {"clusters": 4, "warm_up": 1}}


def model_of(backbone: str, method: str | None, device: str, seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    model: Any = backbones.make(backbone, DATA, d=D, generator=generator, **OPTIONS.get(backbone, {}))
    if method == "DDC":
        model = debiasing.DDC(*model.ranking(), DATA, top=0.3, generator=generator)
    elif method is not None:
        model = debiasing.make(method, model, DATA, generator=generator)
    return model.to(device)


RECOMMENDERS = [
    *((name, None) for name in backbones.names()),
    *((backbone, name) for name in (*debiasing.names(), "DDC") for backbone in ("MF", "LightGCN")),
]


@pytest.mark.parametrize(("backbone", "method"), RECOMMENDERS)
def test_a_recommender_has_its_loss_and_gradients_on_the_gpu(backbone: str, method: str | None) -> None:
    """The processor's loss, where nothing is drawn: rivals and contrasts that draw have the device's generator."""
    found = {}
    for device in ("cpu", GPU):
        model = model_of(backbone, method, device)
        model.begin_epoch(0, np.random.default_rng(0))
        found[device] = model.loss(*batch(device))
        found[device].backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        assert all(one.is_cuda == (device == GPU) for one in some(gradients))
    assert math.isfinite(float(found[GPU]))
    if method in (None, "IPS", "MACR", "DDC") and backbone in ("MF", "LightGCN"):
        same(found[GPU], found["cpu"], 1e-4)


@pytest.mark.parametrize(("backbone", "method"), RECOMMENDERS)
def test_a_recommender_trains_and_a_stopped_training_goes_on_with_the_same_numbers(
    backbone: str, method: str | None, tmp_path: Path
) -> None:
    def train(epochs: int, checkpoint: Path | None = None, start: int = 0) -> list[dict[str, float]]:
        model = model_of(backbone, method, "cpu", start)
        fabric = training.Fabric(accelerator=GPU, devices=1)
        history = train_recommender(
            model, TRAIN, TEST, epochs=epochs, lr=0.05, seed=0, batch_size=128, fabric=fabric, checkpoint=checkpoint
        )
        assert all(parameter.is_cuda for parameter in some(list(model.parameters())))
        return history.epochs

    straight = train(3)
    train(1, tmp_path / "half.ckpt")
    goes_on = train(3, tmp_path / "half.ckpt", start=1)  # from other vectors, which the checkpoint replaces
    for one, other in some(list(zip(goes_on, straight, strict=True))):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-4)  # sums on a GPU have no fixed order
    assert straight[-1]["loss"] < straight[0]["loss"] or method == "DDC"


def test_towers_train_with_dropout_that_the_seed_decides() -> None:
    """`fit` seeds the GPU's generator as well, and puts it back afterwards."""

    def train(before: int) -> list[float]:
        torch.manual_seed(0)  # the weights
        module = torch.nn.Sequential(torch.nn.Linear(D, 32), torch.nn.Dropout(0.5), torch.nn.Linear(32, 1)).double()
        x = tables()[0].to(GPU)

        def step(module: Any, _: object) -> torch.Tensor:
            return (module(x) ** 2).mean()

        torch.manual_seed(before)  # of all devices: what `fit` must not depend on
        state = torch.cuda.get_rng_state()
        history = fit(
            module,
            torch.optim.SGD(module.parameters(), lr=0.01),
            batches=lambda epoch, rng: iter(range(5)),
            step=step,
            plan=Plan(max_epochs=2),
            seed=0,
            fabric=training.Fabric(accelerator=GPU, devices=1),
        )
        assert torch.equal(state, torch.cuda.get_rng_state())
        return [epoch["loss"] for epoch in history.epochs]

    assert train(1) == pytest.approx(train(2), rel=1e-12)


def test_two_towers_come_out_as_on_the_processor() -> None:
    found = []
    for accelerator in ("cpu", GPU):
        towers = lookup_towers(DATA, d=D)
        fabric = training.Fabric(accelerator=accelerator, devices=1)
        train_towers(towers, torch.optim.Adam(towers.parameters(), lr=0.01), DATA, steps=50, seed=0, fabric=fabric)
        found.append([parameter.detach() for parameter in towers.parameters()])
    same(found[1], found[0], 1e-3)


def test_the_audit_reads_tables_on_the_gpu() -> None:
    users, items = tables()
    ours, theirs = (
        audit.audit(items.to(device), users=users.to(device), counts=DATA.col_counts, rng=np.random.default_rng(0))
        for device in (GPU, "cpu")
    )
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("name", TAKE_A_DEVICE)
def test_an_experiment_runs_at_smoke_scale(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells; those with a device compute there and have the GPU's name in their record."""
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    chosen = registry.get(name)
    for at, cell in enumerate(some(experiments.cells_of(name, device=GPU))):
        path = tmp_path / f"{at}.json"
        torch.cuda.reset_peak_memory_stats()
        registry.run_and_store(chosen, cell, path)
        record = json.loads(path.read_text(encoding="utf-8"))
        assert record["rows"]
        assert "device" not in cell or torch.cuda.max_memory_allocated() > 0
        assert record["hardware"].get("gpu") == (torch.cuda.get_device_name(0) if "device" in cell else None)
