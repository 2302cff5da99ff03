"""A training small enough to watch: 24 users in the plane, eight towers, eight optimisers, three losses.

The same run as in tower_math.js, number by number, and the same as torch's (test_small_towers.py). The towers are
those of `encoders`, the losses those of `losses`, the optimisers those of torch.optim and `jacobians`. User u likes
the items u, u + 4 and u + 8 (modulo 24); a batch is drawn from these 72 pairs with replacement. The items are a plain
table, trained with plain SGD, whatever moves the users. Every parameter is kept as a matrix whose rows are the rows
that a row-wise optimiser sees: a bias of length d is (d, 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_lib import geometry, losses
from course_lib.lessons.shared.widgets.chance import uniforms

USERS, WIDTH, HIDDEN = 24, 2, 4
LIKED = (0, 4, 8)
TAU = {"infonce": 0.2, "infonce_dot": 1.0}
MOMENTUM, DECAY = 0.9, 0.05
ADAM_BETAS, ADAM_EPS, ADAGRAD_EPS = (0.9, 0.999), 1e-8, 1e-10
STILL = 1e-9  # a move shorter than this times the embedding has no direction to speak of

Parameters = list[np.ndarray]


# ---- chance: the same numbers as on the page

_NORMALS = 2 * USERS * WIDTH + USERS * HIDDEN + WIDTH * HIDDEN


@dataclass(frozen=True)
class Draws:
    """Drawn once: table (n, 2), items (n, 2), wide (n, 4), mix (2, 4), standard normal; batches (steps, B)."""

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
        mix.reshape(WIDTH, HIDDEN),
        pairs.reshape(steps, batch_size),
    )


def pair(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The user and the item of a pair's number, 0 to 71."""
    users = number // len(LIKED)
    return users, (users + np.array(LIKED)[number % len(LIKED)]) % USERS


_SIGNS = np.repeat([1.0, -1.0], HIDDEN)


# ---- towers: start(draws), embed(parameters), and the gradient of the parameters from that of the embeddings
# -----------------


@dataclass(frozen=True)
class Tower:
    """embed: parameters -> Q (n, d); pull_back: (parameters, dL/dQ) -> dL/dparameters, the transposed Jacobian at work.

    own_rows: the first parameter has a row for every user, which only batches with that user touch.
    """

    start: Callable[[Draws], Parameters]
    embed: Callable[[Parameters, Draws], np.ndarray]
    pull_back: Callable[[Parameters, np.ndarray, Draws], Parameters]
    own_rows: bool = True


def _mlp_pull_back(p: Parameters, g: np.ndarray, draws: Draws) -> Parameters:
    hidden = draws.wide @ p[0].T  # (n, 2 h)
    return [((g @ p[1]) * (hidden > 0)).T @ draws.wide, g.T @ np.maximum(hidden, 0)]


def _normalised_pull_back(p: Parameters, g: np.ndarray, draws: Draws) -> Parameters:
    tangential = geometry.split_radial(g, p[0])[1]
    return [tangential / geometry.norm(p[0])[:, None]]


TOWERS = {
    # q_u = E_u
    "lookup": Tower(lambda draws: [draws.table], lambda p, draws: p[0], lambda p, g, draws: [g]),
    # q_u = W onehot_u, W (d, n)
    "one_hot": Tower(lambda draws: [draws.table.T.copy()], lambda p, draws: p[0].T, lambda p, g, draws: [g.T], False),
    # q_u = W x_u, W (d, h)
    "dense": Tower(
        lambda draws: [draws.mix / np.sqrt(HIDDEN)],
        lambda p, draws: draws.wide @ p[0].T,
        lambda p, g, draws: [g.T @ draws.wide],
        False,
    ),
    # q_u = B E_u, E (n, h), B (d, h)
    "two_layers": Tower(
        lambda draws: [draws.wide, draws.mix / np.sqrt(HIDDEN)],
        lambda p, draws: p[0] @ p[1].T,
        lambda p, g, draws: [g @ p[1], g.T @ p[0]],
    ),
    # q_u = E_u + b, b kept as (d, 1)
    "bias": Tower(
        lambda draws: [draws.table, np.zeros((WIDTH, 1))],
        lambda p, draws: p[0] + p[1].T,
        lambda p, g, draws: [g, g.sum(0)[:, None]],
    ),
    # q_u = s E_u, s kept as (1, 1)
    "scale": Tower(
        lambda draws: [draws.table, np.ones((1, 1))],
        lambda p, draws: p[1] * p[0],
        lambda p, g, draws: [p[1] * g, (g * p[0]).sum()[None, None]],
    ),
    # q_u = B max(A x_u, 0), A (2 h, h) and B (d, 2 h) from (I, -I) and (W, -W): at first the function of "dense"
    "mlp": Tower(
        lambda draws: [np.eye(HIDDEN)[[*range(HIDDEN)] * 2] * _SIGNS[:, None], np.hstack([draws.mix] * 2) * _SIGNS / 2],
        lambda p, draws: np.maximum(draws.wide @ p[0].T, 0) @ p[1].T,
        _mlp_pull_back,
        False,
    ),
    # q_u = E_u / |E_u|
    "normalised": Tower(
        lambda draws: [draws.table], lambda p, draws: np.asarray(geometry.normalise(p[0])), _normalised_pull_back
    ),
}


def kernel_blocks(tower: str, seed: int) -> np.ndarray:
    """K (n, n, d, d) of `tower` before the first step: K_ij = J_i J_j^T, one Jacobian J_i for each user."""
    draws, chosen = draw(seed, steps=0, batch_size=0), TOWERS[tower]
    parameters, slopes = chosen.start(draws), np.eye(USERS * WIDTH).reshape(-1, USERS, WIDTH)
    pulled = [chosen.pull_back(parameters, slope, draws) for slope in slopes]
    jacobian = np.array([np.concatenate([part.ravel() for part in row]) for row in pulled]).reshape(USERS, WIDTH, -1)
    return np.asarray(np.einsum("iap,jbp->ijab", jacobian, jacobian))


def radial_speed(tower: str, seed: int) -> float:
    """`jacobians.tangent_criterion(...).worst` before the first step: 0 where all moves are tangent to first order."""
    draws, blocks = draw(seed, steps=0, batch_size=0), kernel_blocks(tower, seed)
    unit = geometry.normalise(TOWERS[tower].embed(TOWERS[tower].start(draws), draws))
    pushed = np.einsum("jiab,ib->ija", blocks, unit)  # K_ji q_i / |q_i|
    radial = geometry.split_radial(pushed, np.broadcast_to(unit, pushed.shape))[1]
    return float(geometry.norm(radial).max() / np.linalg.norm(blocks, 2, axis=(2, 3)).max())


# ---- losses: of a batch of users' and items' embeddings, (B, d) each


def _cosine_squared(q: np.ndarray, k: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    cos = geometry.cosine(q, k)
    slope = (-2 * (1 - cos) / len(q))[:, None]
    loss = float(losses.one_minus_cosine_squared(cos).mean())
    return loss, slope * geometry.cosine_gradient(q, k), slope * geometry.cosine_gradient(k, q)


def _slopes(scores: np.ndarray, tau: float) -> np.ndarray:
    """The derivative of `losses.infonce` in the scores: (softmax - identity) / (tau B)."""
    logits = scores / tau
    probabilities = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    return np.asarray((probabilities - np.eye(len(scores))) / (tau * len(scores)))


def _infonce(q: np.ndarray, k: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    tau, scores = TAU["infonce"], losses.cosine_scores(q, k)
    slopes, u, v = _slopes(scores, tau), geometry.normalise(q), geometry.normalise(k)
    # the chain rule through q -> q/|q|: what is tangential remains, divided by |q|
    dq = geometry.split_radial(slopes @ v, u)[1] / geometry.norm(q)[:, None]
    dk = geometry.split_radial(slopes.T @ u, v)[1] / geometry.norm(k)[:, None]
    return float(losses.infonce(scores, tau=tau)), dq, dk


def _infonce_dot(q: np.ndarray, k: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    tau, scores = TAU["infonce_dot"], losses.dot_scores(q, k)
    slopes = _slopes(scores, tau)
    return float(losses.infonce(scores, tau=tau)), slopes @ k, slopes.T @ q


LOSSES = {"infonce": _infonce, "cosine_squared": _cosine_squared, "infonce_dot": _infonce_dot}


# ---- optimisers: one step of one parameter; `state` is its memory, empty at first; `touched` (rows, 1): rows in the
# batch ----------


def _sgd(p: np.ndarray, g: np.ndarray, lr: float, state: dict[str, Any], touched: np.ndarray) -> np.ndarray:
    return p - lr * g


def _momentum(p: np.ndarray, g: np.ndarray, lr: float, state: dict[str, Any], touched: np.ndarray) -> np.ndarray:
    state["v"] = MOMENTUM * state.get("v", 0) + g
    return np.asarray(p - lr * state["v"])


def _decay(p: np.ndarray, g: np.ndarray, lr: float, state: dict[str, Any], touched: np.ndarray) -> np.ndarray:
    return p - lr * (g + DECAY * p)


def _lazy_decay(p: np.ndarray, g: np.ndarray, lr: float, state: dict[str, Any], touched: np.ndarray) -> np.ndarray:
    return p * (1 - lr * DECAY * touched) - lr * g


def _row_adagrad(p: np.ndarray, g: np.ndarray, lr: float, state: dict[str, Any], touched: np.ndarray) -> np.ndarray:
    state["sum"] = state.get("sum", 0) + (g**2).mean(1, keepdims=True)
    return np.asarray(p - lr * g / (np.sqrt(state["sum"]) + ADAGRAD_EPS))


def _adam(
    p: np.ndarray, g: np.ndarray, lr: float, state: dict[str, Any], touched: np.ndarray, *, late: bool = True
) -> np.ndarray:
    """late: epsilon is added after the correction of v, as by torch's Adam, or else before, as by its SparseAdam."""
    (b1, b2), t = ADAM_BETAS, state.get("t", 0) + 1
    state.update(t=t, m=b1 * state.get("m", 0) + (1 - b1) * g, v=b2 * state.get("v", 0) + (1 - b2) * g**2)
    second = np.sqrt(1 - b2**t)
    eps = ADAM_EPS if late else ADAM_EPS / second
    return np.asarray(p - lr * (state["m"] / (1 - b1**t)) / (np.sqrt(state["v"]) / second + eps))


def _adagrad(p: np.ndarray, g: np.ndarray, lr: float, state: dict[str, Any], touched: np.ndarray) -> np.ndarray:
    state["sum"] = state.get("sum", 0) + g**2
    return np.asarray(p - lr * g / (np.sqrt(state["sum"]) + ADAGRAD_EPS))


def _lazy_adam(p: np.ndarray, g: np.ndarray, lr: float, state: dict[str, Any], touched: np.ndarray) -> np.ndarray:
    kept = {name: state.get(name, np.zeros_like(p)) for name in ("m", "v")}
    moved = _adam(p, g, lr, state, touched, late=False)
    state.update({name: np.where(touched, state[name], old) for name, old in kept.items()})
    return np.where(touched, moved, p)


OPTIMISERS = {
    "sgd": _sgd,
    "momentum": _momentum,
    "decay": _decay,
    "lazy_decay": _lazy_decay,
    "row_adagrad": _row_adagrad,
    "adagrad": _adagrad,
    "adam": _adam,
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
    pulls: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def norms(self) -> np.ndarray:
        return np.asarray(geometry.norm(self.path))


def train(*, tower: str, optimiser: str, loss: str, batch_size: int, lr: float, steps: int, seed: int) -> Run:
    """The whole run from the start; it is short, and so no state is kept."""
    draws = draw(seed, steps=steps, batch_size=batch_size)
    chosen, items = TOWERS[tower], draws.items
    parameters = chosen.start(draws)
    memory: list[dict[str, Any]] = [{} for _ in parameters]
    path, values, moves, pulls = [chosen.embed(parameters, draws)], [], [], []
    for t, batch in enumerate(draws.batches):
        users, liked = pair(batch)
        before = path[-1]
        value, dq, dk = LOSSES[loss](before[users], items[liked])
        gradient, item_gradient = np.zeros_like(before), np.zeros_like(items)
        np.add.at(gradient, users, dq)
        np.add.at(item_gradient, liked, dk)
        pulled = chosen.pull_back(parameters, gradient, draws)
        present = [_present(p, users, chosen.own_rows and i == 0) for i, p in enumerate(parameters)]
        step = OPTIMISERS[optimiser]
        parameters = [
            step(*parts) for parts in zip(parameters, pulled, [lr] * len(pulled), memory, present, strict=True)
        ]
        items = items - lr * item_gradient
        path.append(chosen.embed(parameters, draws))
        values.append(value)
        movers = _movers(users, before, path[-1])
        moves += [(t, int(u), _angle(before[u], path[-1][u] - before[u])) for u in movers]
        pulls += [[_angle(-gradient[u], other) for other in (before[u], path[-1][u] - before[u])] for u in movers]
        if not np.isfinite(path[-1]).all() or geometry.norm(path[-1]).max() > 1e6:
            break
    return Run(np.array(path), np.array(values), np.array(moves).reshape(-1, 3), np.array(pulls).reshape(-1, 2))


def _present(parameter: np.ndarray, users: np.ndarray, own_rows: bool) -> np.ndarray:
    """(rows, 1): which rows the batch touches; all of them where users share the parameter."""
    rows = np.arange(len(parameter))[:, None]
    return np.isin(rows, users) if own_rows else rows >= 0


def _movers(users: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The users of a batch that moved, each once."""
    once = np.unique(users)
    return np.asarray(once[geometry.norm(after[once] - before[once]) > STILL * geometry.norm(before[once])])


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    """In degrees; 90 where there is no direction."""
    return float(geometry.angle_degrees(a, b)) if a.any() and b.any() else 90.0
