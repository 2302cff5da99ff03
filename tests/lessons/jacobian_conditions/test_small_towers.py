"""The small training: Python against torch, the page against Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from course_lib import encoders, geometry, jacobians, losses
from course_lib.lessons.jacobian_conditions import small_towers
from tests.widget_pages import replacing

CHOICES = [(t, o, s) for t in small_towers.TOWERS for o in small_towers.OPTIMISERS for s in small_towers.LOSSES]


class OnTheSphere(torch.nn.Module):
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(rows, dim=1)


class LazyAdam(torch.optim.SparseAdam):
    """torch's Adam for sparse gradients, which sees the rows of the batch only."""

    def step(self, closure: Any = None) -> Any:
        for parameter in (p for group in self.param_groups for p in group["params"]):
            own = parameter.ndim == 2 and len(parameter) == small_towers.USERS
            rows = parameter.grad.abs().sum(1).nonzero()[:, 0] if own else torch.arange(len(parameter))
            parameter.grad = torch.sparse_coo_tensor(rows[None], parameter.grad[rows], parameter.shape)
        return super().step(closure)


def torch_tower(name: str, draws: small_towers.Draws) -> torch.nn.Module:
    """The tower of course_lib.encoders with the same start."""
    n, d, wide, mix = small_towers.USERS, small_towers.WIDTH, draws.wide, draws.mix / 2
    tower = {
        "lookup": lambda: encoders.Lookup(n, d),
        "one_hot": lambda: encoders.OneHotLinear(n, d),
        "dense": lambda: encoders.DenseLinear(wide, d),
        "two_layers": lambda: encoders.EmbeddingThenLinear(n, small_towers.HIDDEN, d),
        "bias": lambda: encoders.BiasedLookup(n, d),
        "scale": lambda: encoders.ScaledLookup(n, d),
        "mlp": lambda: torch.nn.Sequential(
            encoders.DenseLinear(wide, 2 * small_towers.HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(2 * small_towers.HIDDEN, d, bias=False),
        ),
        "normalised": lambda: torch.nn.Sequential(encoders.Lookup(n, d), OnTheSphere()),
    }[name]().double()
    eye = np.eye(small_towers.HIDDEN)
    start = {
        "lookup": [draws.table],
        "one_hot": [draws.table.T],
        "dense": [mix],
        "two_layers": [wide, mix],
        "bias": [np.zeros(d), draws.table],
        "scale": [np.ones(()), draws.table],
        "mlp": [np.vstack([eye, -eye]), np.hstack([mix, -mix])],
        "normalised": [draws.table],
    }[name]
    with torch.no_grad():
        for parameter, value in zip(tower.parameters(), start, strict=True):
            parameter.copy_(torch.tensor(value))
    return tower


def torch_optimisers(name: str, parameters: Any, lr: float) -> list[torch.optim.Optimizer]:
    """One optimiser; but two for the lazy decay, which is lazy in the users' own rows only.

    What all users share is touched by every batch: LazyDecaySGD would ask whether its gradient is 0, and that of a
    scale under a cosine is 0 but for rounding, which is 0 on some processors.
    """
    parameters = list(parameters)
    if name == "lazy_adam":
        tables, numbers = [p for p in parameters if p.ndim], [p for p in parameters if not p.ndim]
        return [LazyAdam(tables, lr), *([torch.optim.Adam(numbers, lr)] if numbers else [])]
    if name == "lazy_decay":
        own = [p for p in parameters if p.ndim == 2 and len(p) == small_towers.USERS]
        shared = [p for p in parameters if not any(p is row for row in own)]
        lazy = [jacobians.LazyDecaySGD(own, lr, weight_decay=small_towers.DECAY)] if own else []
        return lazy + ([torch.optim.SGD(shared, lr, weight_decay=small_towers.DECAY)] if shared else [])
    chosen = {
        "sgd": lambda: torch.optim.SGD(parameters, lr),
        "momentum": lambda: torch.optim.SGD(parameters, lr, momentum=small_towers.MOMENTUM),
        "decay": lambda: torch.optim.SGD(parameters, lr, weight_decay=small_towers.DECAY),
        "row_adagrad": lambda: jacobians.RowWiseAdagrad(parameters, lr),
        "adagrad": lambda: torch.optim.Adagrad(parameters, lr, eps=small_towers.ADAGRAD_EPS),
        "adam": lambda: torch.optim.Adam(parameters, lr),
    }[name]
    return [chosen()]


def torch_loss(name: str, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    if name == "cosine_squared":
        return losses.one_minus_cosine_squared(geometry.cosine(q, k)).mean()
    scores = losses.cosine_scores(q, k) if name == "infonce" else losses.dot_scores(q, k)
    return losses.infonce(scores, tau=small_towers.TAU[name])


def torch_run(
    *, tower: str, optimiser: str, loss: str, batch_size: int, lr: float, steps: int, seed: int
) -> small_towers.Run:
    """The training of small_towers by autograd, course_lib.encoders and real optimisers."""
    draws = small_towers.draw(seed, steps=steps, batch_size=batch_size)
    left, right = torch_tower(tower, draws), encoders.Lookup(small_towers.USERS, small_towers.WIDTH).double()
    right.weight.data.copy_(torch.tensor(draws.items))
    both = encoders.TwoTower(left, right)
    optimisers = [*torch_optimisers(optimiser, left.parameters(), lr), torch.optim.SGD(right.parameters(), lr)]
    everyone = torch.arange(small_towers.USERS)
    path, values, moves = [left(everyone).detach().numpy()], [], []
    for t, batch in enumerate(draws.batches):
        inputs = tuple(map(torch.tensor, small_towers.pair(batch)))
        values.append(torch_loss(loss, *both(*inputs)).item())
        motion_, _ = jacobians.measure_step(
            both, inputs, lambda q, k: torch_loss(loss, q, k), optimisers, probe=(everyone, everyone)
        )
        moves += [(t, user, float(motion_.angle[user])) for user in np.unique(inputs[0])]
        path.append(motion_.after.numpy())
    return small_towers.Run(np.array(path), np.array(values), np.array(moves))


def is_exact(tower: str, optimiser: str) -> bool:
    """A shared scale has a gradient of rounding errors; optimisers that divide by the gradient make 1e-7 of that."""
    return tower != "scale" or optimiser not in ("row_adagrad", "adagrad", "adam", "lazy_adam")


@pytest.mark.parametrize("choice", CHOICES, ids="-".join)
def test_the_small_training_is_torchs(choice: tuple[str, str, str]) -> None:
    """Six steps of every combination: towers, losses and optimisers against encoders, autograd and torch.optim."""
    arguments = dict(zip(("tower", "optimiser", "loss"), choice, strict=True), batch_size=9, lr=0.2, steps=6, seed=5)
    ours, theirs = small_towers.train(**arguments), torch_run(**arguments)
    exact = is_exact(*choice[:2])
    np.testing.assert_allclose(ours.path, theirs.path, rtol=1e-9 if exact else 1e-5, atol=1e-10 if exact else 1e-5)
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=1e-9 if exact else 1e-5)
    assert ours.moves[:, :2].tolist() == theirs.moves[:, :2].tolist()
    np.testing.assert_allclose(ours.moves[:, 2], theirs.moves[:, 2], atol=1e-5 if exact else 0.2)


TRAIN = (
    "(cases) => cases.map((one) => { const { path, losses, moves, pulls } = lib.train(one);"
    " return { path, losses, moves, pulls }; })"
)


def training_cases(steps: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(4)
    return [
        {
            "tower": t,
            "optimiser": o,
            "loss": s,
            "batch_size": int(rng.integers(4, 25)),
            "lr": 0.1,
            "steps": steps,
            "seed": int(rng.integers(100)),
        }
        for t, o, s in CHOICES
    ]


@cache
def python_trains(case: tuple[tuple[str, Any], ...]) -> small_towers.Run:
    """A training that many wrong ones are compared with."""
    return small_towers.train(**dict(case))


def training_disagreements(cases: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[str]:
    found = []
    for case, answer in zip(cases, answers, strict=True):
        ours = python_trains(tuple(sorted(case.items())))
        exact = is_exact(case["tower"], case["optimiser"])
        for name, tolerance in (
            ("path", 1e-6 if exact else 1e-3),
            ("losses", 1e-6 if exact else 1e-3),
            ("moves", 1e-2 if exact else 180),  # a move of the size of rounding has any direction
            ("pulls", 1e-2 if exact else 180),
        ):
            a, b = getattr(ours, name), np.array(answer[name], dtype=float)
            if a.shape != b.shape or not np.allclose(a, b, rtol=tolerance, atol=tolerance):
                found.append(f"{name} of {case}")
    return found


def test_the_page_trains_as_python_does(library: Callable[..., Any]) -> None:
    cases = training_cases(8)
    assert training_disagreements(cases, library("tower_math")(TRAIN, cases)) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("MOMENTUM * v + slope", "MOMENTUM * v + (1 - MOMENTUM) * slope"),
        ("dot(row, row) / row.length", "dot(row, row)"),
        ("slope + DECAY * value", "slope"),
        ("? 1 - lr * DECAY : 1", "? 1 : 1 - lr * DECAY"),
        (
            "const first = { table: drawn(USERS, WIDTH), items: drawn(USERS, WIDTH)",
            "const first = { items: drawn(USERS, WIDTH), table: drawn(USERS, WIDTH)",
        ),
        (
            "crossed(g, e)]",
            "crossed(g, e).map((row) => scale(row, 2))]",
        ),
        ("- Number(i === j)) / (tau * size)", "- Number(i === j)) / size"),
        ("v / second", "v"),
        ("scale(add(gradient, u, -dot(gradient, u)), 1 / length)", "scale(gradient, 1 / length)"),
    ],
)
def test_a_wrong_training_is_noticed(library: Callable[..., Any], right: str, wrong: str) -> None:
    cases = training_cases(3)
    assert training_disagreements(cases, library("tower_math", replacing(right, wrong))(TRAIN, cases)) != []


# ---- the questions of the flowchart


@pytest.mark.parametrize("tower", small_towers.TOWERS)
def test_the_blocks_and_the_radial_speed_are_the_librarys(library: Callable[..., Any], tower: str) -> None:
    everyone, module = torch.arange(small_towers.USERS), torch_tower(tower, small_towers.draw(3, steps=0, batch_size=0))
    blocks = jacobians.kernel_blocks(module, everyone).numpy()
    np.testing.assert_allclose(small_towers.kernel_blocks(tower, 3), blocks, atol=1e-12)
    worst = jacobians.tangent_criterion(module, everyone).worst
    assert small_towers.radial_speed(tower, 3) == pytest.approx(worst, abs=1e-12)
    assert library("tower_math")("([tower, seed]) => lib.radialSpeed(tower, seed)", [tower, 3]) == pytest.approx(
        worst, abs=1e-9
    )
    assert (worst < 1e-12) == (tower in ("lookup", "one_hot", "scale", "normalised"))
