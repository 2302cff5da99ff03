"""What is right in the quiz "jacobian-conditions": a function for each question, {answer id: is it right?}.

The numbers of the questions stand here once more, on purpose: the test compares them with what the file marks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_lib import encoders, jacobians, losses
from course_lib.papers import p0

ITEMS, WIDTH = 6, 3
EXACT = 1e-10  # |cos(q, dq)| of a step that is perpendicular up to rounding


def linear_kernel() -> dict[str, bool]:
    """Features (1, 2) and (3, 1), a linear layer without bias to 8 coordinates: K_12 = J_1 J_2^T."""
    features = torch.tensor([[1.0, 2.0], [3.0, 1.0]], dtype=torch.float64)
    tower = encoders.DenseLinear(features, 8, generator=_generator()).double()
    block = jacobians.kernel_blocks(tower, torch.arange(2))[0, 1]
    answers = {
        "inner": 5 * torch.eye(8),
        "zero": torch.zeros(8, 8),
        "bias": 6 * torch.eye(8),
        "outer": torch.outer(*features),
    }
    return {
        name: block.shape == value.shape and torch.allclose(block, value.double()) for name, value in answers.items()
    }


def which_towers() -> dict[str, bool]:
    """Twenty steps of plain SGD on InfoNCE of cosines: is every step of every item of the batch perpendicular?"""
    half = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64) / math.sqrt(2)
    features = torch.kron(torch.eye(3), half)  # every input shares its weights with its neighbour
    towers: dict[str, Callable[[], nn.Module]] = {
        "default-linear": lambda: encoders.OneHotLinear(ITEMS, WIDTH, bias=True, generator=_generator()),
        "orthogonal": lambda: encoders.DenseLinear(features, WIDTH, generator=_generator()),
        "two-layers": lambda: encoders.EmbeddingThenLinear(ITEMS, 4, WIDTH, generator=_generator()),
        "scale": lambda: encoders.ScaledLookup(ITEMS, WIDTH, generator=_generator()),
        "frozen": lambda: encoders.EmbeddingThenLinear(ITEMS, 4, WIDTH, frozen=True, generator=_generator()),
    }
    return {
        name: _worst(make(), lambda parameters: torch.optim.SGD(parameters, lr=0.3)) < EXACT
        for name, make in towers.items()
    }


def which_optimisers() -> dict[str, bool]:
    """A lookup under InfoNCE of cosines: is every one of twenty steps perpendicular?"""
    optimisers: dict[str, Callable[..., torch.optim.Optimizer]] = {
        "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.3, momentum=0.9),
        "schedule": lambda parameters: _Cyclic(parameters, lr=0.3),
        "row-adagrad": lambda parameters: jacobians.RowWiseAdagrad(parameters, lr=0.3),
        "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.3),
        "lazy-decay": lambda parameters: jacobians.LazyDecaySGD(parameters, lr=0.3, weight_decay=0.01),
    }
    return {
        name: _worst(encoders.Lookup(ITEMS, WIDTH, generator=_generator()), make) < EXACT
        for name, make in optimisers.items()
    }


def twenty_per_cent() -> dict[str, bool]:
    """In which width do uniformly drawn directions lie within 90 +- 10 degrees less often than in 20 % of the cases?"""
    return {f"d{d}": p0.chance_of_right_angle(d) < 0.20 for d in (2, 3, 4, 64)}


def deep_tower() -> dict[str, bool]:
    """Three linear layers with ReLU between them, InfoNCE of cosines, one step of plain SGD."""
    layers, outputs = _deep_step(bias=False)
    with_bias, _ = _deep_step(bias=True)
    rows = [row for motion in layers.values() for row in _row_cosines(motion)]
    return {
        "layers": max(abs(float(motion.cosine)) for motion in layers.values()) < EXACT,
        "grow": all(float(motion.growth) > 0 for motion in layers.values()),
        "outputs": outputs.worst < EXACT,
        "rows": max(map(abs, rows)) < EXACT,
        "biases": max(abs(float(motion.cosine)) for name, motion in with_bias.items() if "weight" in name) < EXACT,
    }


# ---- helpers


class _Cyclic(torch.optim.SGD):
    """Plain SGD whose rate goes up and down."""

    def step(self, closure: Any = None) -> Any:
        self.count = getattr(self, "count", 0) + 1
        for group in self.param_groups:
            group["lr"] = 0.3 * (1 + 0.9 * math.sin(self.count))
        return super().step(closure)


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _loss(q: Tensor, k: Tensor) -> Tensor:
    loss: Tensor = losses.infonce(losses.cosine_scores(q, k), tau=0.5)
    return loss


def _worst(tower: nn.Module, make: Callable[..., torch.optim.Optimizer], steps: int = 20) -> float:
    """max |cos(q, dq)| over the items of all batches; the other tower is a table that learns by plain SGD."""
    tower, generator = tower.double(), _generator()
    other = encoders.Lookup(ITEMS, WIDTH, generator=generator).double()
    both = encoders.TwoTower(tower, other)
    optimisers = [make([p for p in tower.parameters() if p.requires_grad]), torch.optim.SGD(other.parameters(), lr=0.3)]
    worst = 0.0
    for _ in range(steps):
        # items may stand in the batch twice; candidates do not, so that no row is without a gradient
        batch = torch.randint(ITEMS, (4,), generator=generator), torch.randperm(ITEMS, generator=generator)[:4]
        motions: Any = jacobians.measure_step(both, batch, _loss, optimisers)
        worst = max(worst, motions[0].worst)
    return worst


def _deep_step(*, bias: bool) -> tuple[dict[str, jacobians.Motion], jacobians.Motion]:
    """How the layers moved, by name, and how the outputs did."""
    moved: list[Any] = []
    for measure in (jacobians.measure_parameters, jacobians.measure_step):
        torch.manual_seed(0)
        features = torch.randn(ITEMS, 5, generator=_generator())
        tower = nn.Sequential(
            encoders.Features(features),
            nn.Linear(5, 8, bias=bias),
            nn.ReLU(),
            nn.Linear(8, 8, bias=bias),
            nn.ReLU(),
            nn.Linear(8, WIDTH, bias=bias),
        ).double()
        keys = torch.randn(ITEMS, WIDTH, generator=_generator()).double()
        optimiser = torch.optim.SGD(tower.parameters(), lr=0.1)
        moved.append(measure(tower, torch.arange(ITEMS), lambda q, keys=keys: _loss(q, keys), optimiser))
    return moved[0], moved[1]


def _row_cosines(motion: jacobians.Motion) -> list[float]:
    """cos(W_r, dW_r) of the rows of a layer, whose width the number of its entries tells."""
    width = {40: 5, 64: 8, 24: 8}[motion.before.numel()]
    rows, moves = motion.before.reshape(-1, width), motion.step.reshape(-1, width)
    kept = moves.norm(dim=1) > 0
    return torch.cosine_similarity(rows[kept], moves[kept], dim=1).tolist()
