"""Exam questions on towers, their Jacobians, and the movement of their outputs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn

from course_lib import encoders, geometry, jacobians
from exercises.engine.asking import Exam, Numbers, judged, mixed, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("jacobian-conditions")


def with_weights(tower: nn.Module, *weights: Any) -> nn.Module:
    """The tower in double precision, with these weights in place of its own."""
    tower = tower.double()
    with torch.no_grad():
        for parameter, weight in zip(tower.parameters(), weights, strict=True):
            parameter.copy_(torch.tensor(np.asarray(weight, dtype=float)))
    return tower


def blocks(tower: nn.Module, n: int) -> np.ndarray:
    """The matrix of all blocks K_ij for the inputs 0 to n - 1, (n d, n d)."""
    found = jacobians.kernel_blocks(tower, torch.arange(n)).detach().numpy()
    made: np.ndarray = np.block([list(row) for row in found])
    return made


def whole_numbers(matrix: np.ndarray) -> list[Any]:
    """Entries that are whole up to rounding."""
    return [[round(entry) for entry in row] for row in matrix.tolist()]


@EXAM.asks
def layer(rng: Generator) -> Numbers:
    x, g = rng.integers(-2, 4, (2, 2)), rng.integers(-3, 4, (2, 2))
    bias, rate = bool(rng.integers(2)), pick(rng, Fraction(1, 2), Fraction(1, 10), 1)
    redraw_if(not (x[0].any() and x[1].any() and g[0].any() and g[1].any() and x[0] @ x[1] + bias))
    tower = encoders.DenseLinear(x.astype(float), 2, bias=bias).double()
    gradients = torch.tensor(g, dtype=torch.float64)
    motion = jacobians.first_order_motion(tower, torch.arange(2), gradients, lr=float(rate)).detach().numpy()
    return Numbers(
        {
            "x1": x[0].tolist(),
            "x2": x[1].tolist(),
            "g1": g[0].tolist(),
            "g2": g[1].tolist(),
            "rate": rate,
            "plus": "+b" if bias else "",
            "and_bias": " and a bias $b$" if bias else ", without a bias,",
        },
        {
            "one": "+1" if bias else "",
            "own": int(x[0] @ x[0]) + bias,
            "other": int(x[0] @ x[1]) + bias,
            "motion": rational(motion[0]),
            "theirs": rational(-float(rate) * (x[0] @ x[1] + bias) * g[1]),
        },
    )


@EXAM.asks
def two_layers(rng: Generator) -> Numbers:
    B, z = rng.integers(-2, 3, (2, 2)), rng.integers(-2, 3, 2)
    q = B @ z
    tower = with_weights(encoders.TwoLayers(torch.eye(1), 2, 2), z[:, None], B)
    K = blocks(tower, 1)
    pushed = K @ q
    redraw_if(not q.any() or abs(q[0] * pushed[1] - q[1] * pushed[0]) < 1e-9)
    return Numbers(
        {"z": z.tolist(), "B": B.tolist(), "J": np.hstack([np.kron(np.eye(2, dtype=int), z), B]).tolist()},
        {
            "q": q.tolist(),
            "square": int(z @ z),
            "K": whole_numbers(K),
            "Kq": [round(entry) for entry in pushed.tolist()],
        },
    )


@EXAM.asks
def adam(rng: Generator) -> Numbers:
    q, sign, rate = rng.integers(1, 6, 2), pick(rng, 1, -1), Fraction(1, pick(rng, 1, 2, 10))
    redraw_if(q[0] == q[1])
    g = sign * np.array([q[1], -q[0]])
    tower = with_weights(encoders.Lookup(1, 2), q[None])
    optimiser = torch.optim.Adam(tower.parameters(), lr=float(rate), eps=1e-14)
    motion = jacobians.measure_step(tower, torch.arange(1), lambda out: (out * torch.tensor(g)).sum(), optimiser)
    assert isinstance(motion, jacobians.Motion)
    before, after = motion.before[0].detach().numpy(), motion.after[0].detach().numpy()
    return Numbers(
        {"q": q.tolist(), "g": g.tolist(), "rate": rate},
        {
            "step": rational(np.round(after - before, 8)),
            "inner": rational(np.round(before @ (after - before), 8)),
            "before": int(q @ q),
            "after": rational(np.round(after @ after, 8)),
            "plain": Fraction(int(q @ q)) + Fraction(rate) ** 2 * int(g @ g),
        },
    )


@EXAM.asks
def features(rng: Generator) -> Numbers:
    bias, good = bool(rng.integers(2)), bool(rng.integers(2))
    c = whole(rng, 1, 3)
    first, second = [c, c, 0], [1, -1, whole(rng, 1, 3)]
    if bias:
        first, second = [1, 0, 0], [-1, whole(rng, 1, 3), 1]
    if not good:
        second = [second[0] + 1, second[1], second[2]]
    tower = encoders.DenseLinear(np.array([first, second], dtype=float), 2, bias=bias).double()
    truth = bool(jacobians.lookup_equivalent(tower, torch.arange(2)))
    return Numbers(
        {"kind": "with a bias" if bias else "without a bias", "first": first, "second": second},
        {
            **judged(truth),
            "one": "+1" if bias else "",
            "mixed": int(np.dot(first, second)) + bias,
            "wanted": -1 if bias else 0,
        },
    )


@EXAM.asks
def changed(rng: Generator) -> Numbers:
    case, (a, b) = pick(rng, *EXAM.cases("changed")), (whole(rng, 1, 3), whole(rng, 4, 6))
    q, g = np.array([a, b]), np.array([b, -a])
    new = (np.clip(g, -1, 1), g / geometry.norm(g), np.sign(g), 2 * g)[case.number]
    truth = bool(abs(q @ new) < 1e-12)
    return Numbers(
        {"change": case.words["change"], "q": q.tolist(), "g": g.tolist()},
        {**judged(truth), "new": new.tolist(), "inner": float(q @ new)},
    )


class Power(nn.Module):
    """q_i = E_i^p, where the two numbers of a row are a complex number."""

    def __init__(self, row: tuple[int, int], p: int) -> None:
        super().__init__()
        self.weight, self.p = nn.Parameter(torch.tensor([row], dtype=torch.float64)), p

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.weight[x].unbind(-1)
        length, angle = torch.hypot(a, b) ** self.p, self.p * torch.atan2(b, a)
        return torch.stack([length * torch.cos(angle), length * torch.sin(angle)], dim=-1)


@EXAM.asks
def power(rng: Generator) -> Numbers:
    p, row = pick(rng, 2, 3, -1, -2), pick(rng, (1, 1), (3, 4), (2, 1), (1, 2))
    factor = blocks(Power(row, p), 1)[0, 0]
    return Numbers(
        {"p": p, "row": list(row)},
        {"less": p - 1, "factor": rational(factor, denominator=10**6), "verdict": "grow" if p > 0 else "shrink"},
    )


@EXAM.asks
def momentum(rng: Generator) -> Numbers:
    q, mu, rate = np.array([0.0, whole(rng, 1, 3)]), pick(rng, Fraction(1, 2), Fraction(9, 10)), Fraction(1, 2)
    turns = [whole(rng, 1, 2), whole(rng, -2, 2, but=(0,)), whole(rng, 1, 2)]
    places, memory, inner, lengths = [q], np.zeros(2), [], []
    for turn in turns:
        g = turn * np.array([q[1], -q[0]])
        memory = float(mu) * memory + g
        inner.append(float(q @ (-float(rate) * memory)))
        lengths.append(float(memory @ memory))
        q = q - float(rate) * memory
        places.append(q)
    return Numbers(
        {"mu": mu, "rate": rate, "first": rational(lengths[0]), "second": rational(lengths[1])},
        {"two": rational(inner[1], denominator=10**6), "three": rational(inner[2], denominator=10**6)},
    )


@EXAM.asks
def kernels(rng: Generator) -> Numbers:
    x = rng.integers(0, 4, (2, 2))
    B, rows = rng.integers(-2, 3, (2, 2)), rng.integers(-2, 3, (2, 2))
    redraw_if(not (x @ x.T).all() or x[0] @ x[0] == x[1] @ x[1])
    # orthogonal rows would not move each other, like those of a table
    redraw_if(not (B @ B.T)[0, 1] or not rows[0] @ rows[1])
    towers = {
        "table": encoders.Lookup(2, 2),
        "table with a shared bias": encoders.BiasedLookup(2, 2),
        "linear layer on features": encoders.DenseLinear(x.astype(float), 2),
        "linear layer on top of a table": with_weights(encoders.EmbeddingThenLinear(2, 2, 2), rows, B),
    }
    labels = mixed(rng, list(towers))
    shown = {name: whole_numbers(blocks(towers[label].double(), 2)) for name, label in zip("ABCD", labels, strict=True)}
    order = dict(zip(labels, "ABCD", strict=True))
    return Numbers(
        dict(shown),
        {
            "order": ", ".join(f"{name}: {label}" for name, label in zip("ABCD", labels, strict=True)),
            "moved": ", ".join(name for name in "ABCD" if name != order["table"]),
            "turned": order["linear layer on top of a table"],
        },
    )


def share_within(h: int, d: int, rng: Generator) -> float:
    """The share of moves within 90 +- 10 degrees for h normal features, a batch of 16, tangent random gradients."""
    x = rng.normal(size=(60, 16, h))
    q, g = rng.normal(size=(2, 60, 16, d))
    tangent = geometry.split_radial(g, q)[1]
    step = -(x @ np.swapaxes(x, 1, 2)) @ tangent
    return jacobians.share_near_tangent(torch.tensor(geometry.angle_degrees(q, step)))


@EXAM.asks
def chance(rng: Generator) -> Numbers:
    d = pick(rng, 2, 3)
    widths = mixed(rng, (1, 16, 400))
    shares = [100 * share_within(h, d, rng) for h in widths]
    rows = [(name, f"{share:.0f} %") for name, share in zip("ABC", shares, strict=True)]
    by_chance = 100 * (20 / 180 if d == 2 else np.sin(np.radians(10)))
    return Numbers(
        {"d": d, "shown": table(["layer", "share"], rows)},
        {"by_chance": by_chance, "order": ", ".join(f"{name}: {h}" for name, h in zip("ABC", widths, strict=True))},
        EXAM.cases("chance")[d - 2].words,
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn({"n": whole(rng, 60, 95) if case.number == 2 else whole(rng, 2, 6)})
