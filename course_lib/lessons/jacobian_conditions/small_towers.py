"""A training small enough to watch: 24 users in the plane, eight towers, eight optimisers, three losses.

tower_math.js trains the same on the page, number by number (tests/lessons/jacobian_conditions/test_widget.py). Here the
towers are those of `encoders`, the losses those of `losses`, the optimisers those of torch.optim and `jacobians`. User
u likes the items u, u + 4 and u + 8 (modulo 24); a batch is drawn from these 72 pairs with replacement. The items are
a plain table, trained with plain SGD, whatever moves the users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from course_lib import encoders, geometry, jacobians, losses
from course_lib.lessons.shared.widgets.chance import uniforms

USERS, WIDTH, HIDDEN = 24, 2, 4
LIKED = (0, 4, 8)
TAU = {"infonce": 0.2, "infonce_dot": 1.0}
MOMENTUM, DECAY, ADAGRAD_EPS = 0.9, 0.05, 1e-10
ROUNDING = 1e-13  # of a sum of products, as a part of its largest value
STILL = 1e-9  # a move shorter than this times the embedding has no direction to speak of


# ---- chance: the same numbers as on the page

_NORMALS = 2 * USERS * WIDTH + USERS * HIDDEN + WIDTH * HIDDEN


@dataclass(frozen=True)
class Draws:
    """Drawn once: table (n, 2), items (n, 2), wide (n, 4), standard normal; mix (2, 4), of variance 1/4; batches
    (steps, B), numbers of pairs.
    """

    table: np.ndarray
    items: np.ndarray
    wide: np.ndarray
    mix: np.ndarray
    batches: np.ndarray


def draw(seed: int, *, steps: int, batch_size: int) -> Draws:
    """Normals by Box and Muller, two from two uniforms; then the number of the pair in every slot of every batch."""
    chance = uniforms(seed, _NORMALS + steps * batch_size)
    first, second = chance[:_NORMALS].reshape(-1, 2).T
    radius, angle = np.sqrt(-2 * np.log1p(-first)), 2 * np.pi * second
    normals = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
    cuts = np.cumsum([USERS * WIDTH, USERS * WIDTH, USERS * HIDDEN])
    table, items, wide, mix = np.split(normals, cuts)
    pairs = np.floor(chance[_NORMALS:] * USERS * len(LIKED)).astype(int)
    return Draws(
        table.reshape(USERS, WIDTH),
        items.reshape(USERS, WIDTH),
        wide.reshape(USERS, HIDDEN),
        mix.reshape(WIDTH, HIDDEN) / np.sqrt(HIDDEN),
        pairs.reshape(steps, batch_size),
    )


def pair(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The user and the item of a pair's number, 0 to 71."""
    users = number // len(LIKED)
    return users, (users + np.array(LIKED)[number % len(LIKED)]) % USERS


# ---- towers


class _OnTheSphere(nn.Module):
    """Divide each row by its length."""

    def forward(self, rows: Tensor) -> Tensor:
        return F.normalize(rows, dim=1)


def _perceptron(draws: Draws) -> tuple[nn.Module, list[Any]]:
    """q_u = B max(A x_u, 0), A (2 h, h) and B (d, 2 h) from (I, -I) and (W, -W): at first the function of "dense"."""
    layers = encoders.DenseLinear(draws.wide, 2 * HIDDEN), nn.ReLU(), nn.Linear(2 * HIDDEN, WIDTH, bias=False)
    eye = np.eye(HIDDEN)
    return nn.Sequential(*layers), [np.vstack([eye, -eye]), np.hstack([draws.mix, -draws.mix])]


# A tower, and where its parameters start.
TOWERS: dict[str, Callable[[Draws], tuple[nn.Module, list[Any]]]] = {
    "lookup": lambda draws: (encoders.Lookup(USERS, WIDTH), [draws.table]),  # q_u = E_u
    "one_hot": lambda draws: (encoders.OneHotLinear(USERS, WIDTH), [draws.table.T]),  # W onehot_u, W (d, n)
    "dense": lambda draws: (encoders.DenseLinear(draws.wide, WIDTH), [draws.mix]),  # W x_u, W (d, h)
    "two_layers": lambda draws: (encoders.EmbeddingThenLinear(USERS, HIDDEN, WIDTH), [draws.wide, draws.mix]),  # B E_u
    "bias": lambda draws: (encoders.BiasedLookup(USERS, WIDTH), [np.zeros(WIDTH), draws.table]),  # E_u + b
    "scale": lambda draws: (encoders.ScaledLookup(USERS, WIDTH), [np.ones(()), draws.table]),  # s E_u
    "mlp": _perceptron,
    "normalised": lambda draws: (nn.Sequential(encoders.Lookup(USERS, WIDTH), _OnTheSphere()), [draws.table]),
}


def tower_at_start(name: str, draws: Draws) -> nn.Module:
    """One of TOWERS before the first step, in double precision."""
    made, start = TOWERS[name](draws)
    with torch.no_grad():
        for parameter, values in zip(made.double().parameters(), start, strict=True):
            parameter.copy_(torch.tensor(values))
    return made


def radial_speed(tower: str, seed: int) -> float:
    """`jacobians.tangent_criterion(...).worst` before the first step: 0 where all moves are tangent to first order."""
    start = tower_at_start(tower, draw(seed, steps=0, batch_size=0))
    return jacobians.tangent_criterion(start, torch.arange(USERS)).worst


# ---- losses of a batch of users' and items' embeddings, (B, d) each

LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "infonce": lambda q, k: losses.infonce(losses.cosine_scores(q, k), tau=TAU["infonce"]),
    "cosine_squared": lambda q, k: losses.one_minus_cosine_squared(geometry.cosine(q, k)).mean(),
    "infonce_dot": lambda q, k: losses.infonce(losses.dot_scores(q, k), tau=TAU["infonce_dot"]),
}


# ---- optimisers of the users' parameters


class _LazyAdam(torch.optim.SparseAdam):
    """torch's Adam for sparse gradients: of a table with a row for each user it sees the rows of the batch only."""

    def step(self, closure: Any = None) -> Any:
        for parameter in (p for group in self.param_groups for p in group["params"]):
            seen = _has_own_rows(parameter)
            rows = parameter.grad.abs().sum(1).nonzero()[:, 0] if seen else torch.arange(len(parameter))
            parameter.grad = torch.sparse_coo_tensor(
                rows[None], parameter.grad[rows], parameter.shape, check_invariants=False
            )
        untyped: Any = super().step
        return untyped(closure)


def _has_own_rows(parameter: Tensor) -> bool:
    return parameter.ndim == 2 and len(parameter) == USERS


def _lazy_decay(parameters: list[nn.Parameter], lr: float) -> list[Optimizer]:
    """Lazy in the users' own rows only: what all users share is touched by every batch.

    LazyDecaySGD would ask whether its gradient is 0, and that of a scale under a cosine is 0 but for rounding.
    """
    own, shared = ([p for p in parameters if _has_own_rows(p) is wanted] for wanted in (True, False))
    lazy: list[Optimizer] = [jacobians.LazyDecaySGD(own, lr, weight_decay=DECAY)] if own else []
    return [*lazy, *([torch.optim.SGD(shared, lr, weight_decay=DECAY)] if shared else [])]


def _lazy_adam(parameters: list[nn.Parameter], lr: float) -> list[Optimizer]:
    tables, numbers = ([p for p in parameters if bool(p.ndim) is wanted] for wanted in (True, False))
    return [_LazyAdam(tables, lr), *([torch.optim.Adam(numbers, lr)] if numbers else [])]


OPTIMISERS: dict[str, Callable[[list[nn.Parameter], float], list[Optimizer]]] = {
    "sgd": lambda parameters, lr: [torch.optim.SGD(parameters, lr)],
    "momentum": lambda parameters, lr: [torch.optim.SGD(parameters, lr, momentum=MOMENTUM)],
    "decay": lambda parameters, lr: [torch.optim.SGD(parameters, lr, weight_decay=DECAY)],
    "lazy_decay": _lazy_decay,
    "row_adagrad": lambda parameters, lr: [jacobians.RowWiseAdagrad(parameters, lr)],
    "adagrad": lambda parameters, lr: [torch.optim.Adagrad(parameters, lr, eps=ADAGRAD_EPS)],
    "adam": lambda parameters, lr: [torch.optim.Adam(parameters, lr)],
    "lazy_adam": _lazy_adam,
}


# ---- the run


@dataclass(frozen=True)
class Run:
    """Every user's path (steps + 1, n, 2), losses (steps,), moves (number, 3): step, user, angle of dq to q in degrees.

    Only the users of a batch are measured, each once a step, and only if they moved. pulls (number, 2): for each of
    these moves the angles of minus the gradient to q and to dq, 90 where the gradient is zero.
    """

    path: np.ndarray
    losses: np.ndarray
    moves: np.ndarray
    pulls: np.ndarray

    @property
    def norms(self) -> np.ndarray:
        return np.asarray(geometry.norm(self.path))


def train(*, tower: str, optimiser: str, loss: str, batch_size: int, lr: float, steps: int, seed: int) -> Run:
    """The whole run from the start; it is short, and so no state is kept."""
    draws = draw(seed, steps=steps, batch_size=batch_size)
    made, items, everyone = tower_at_start(tower, draws), nn.Parameter(torch.tensor(draws.items)), torch.arange(USERS)
    optimisers = [*OPTIMISERS[optimiser](list(made.parameters()), lr), torch.optim.SGD([items], lr)]
    embeddings: Tensor = made(everyone)
    path, values, moves, pulls = [embeddings.detach().numpy()], [], [], []
    for t, batch in enumerate(draws.batches):
        users, liked = pair(batch)
        embeddings.retain_grad()
        value = LOSSES[loss](embeddings[torch.tensor(users)], items[torch.tensor(liked)])
        for each in optimisers:
            each.zero_grad()
        torch.autograd.backward(value)
        _clear_rounding(made, embeddings)
        for each in optimisers:
            each.step()
        gradient = np.asarray(embeddings.grad)
        embeddings = made(everyone)
        path.append(embeddings.detach().numpy())
        values.append(value.item())
        before, change = path[-2], path[-1] - path[-2]
        movers = _movers(users, before, change)
        moves += [(t, int(u), _angle(before[u], change[u])) for u in movers]
        pulls += [[_angle(-gradient[u], other) for other in (before[u], change[u])] for u in movers]
        if not np.isfinite(path[-1]).all() or geometry.norm(path[-1]).max() > 1e6:
            break
    return Run(np.array(path), np.array(values), np.array(moves).reshape(-1, 3), np.array(pulls).reshape(-1, 2))


def _clear_rounding(made: nn.Module, embeddings: Tensor) -> None:
    """A loss of cosines has no slope in a shared scale; AdaGrad would divide what rounding leaves of it by itself."""
    for number in made.parameters():
        if number.ndim or number.grad is None:
            continue
        largest = torch.linalg.norm(embeddings) * torch.linalg.norm(embeddings.grad) / number.abs()
        number.grad[number.grad.abs() <= ROUNDING * largest] = 0


def _movers(users: np.ndarray, before: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The users of a batch that moved, each once."""
    once = np.unique(users)
    return np.asarray(once[geometry.norm(change[once]) > STILL * geometry.norm(before[once])])


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    """In degrees; 90 where there is no direction."""
    return float(geometry.angle_degrees(a, b)) if a.any() and b.any() else 90.0
