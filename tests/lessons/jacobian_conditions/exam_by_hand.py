"""The answers on towers once more: each tower is moved in earnest, by differences."""

from collections.abc import Callable
from typing import Any

import numpy as np


def jacobian(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """(outputs, parameters), by central differences."""
    columns = [(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(len(x))]
    return np.stack(columns, axis=-1)


def layer(x1: Any, x2: Any, g1: Any, g2: Any, rate: Any, plus: str, and_bias: str) -> dict[str, Any]:
    def outputs(weights: np.ndarray) -> np.ndarray:
        W, b = weights[:4].reshape(2, 2), weights[4:] if plus else 0
        return np.concatenate([W @ x1 + b, W @ x2 + b])

    J = jacobian(outputs, np.zeros(6 if plus else 4))
    K = J @ J.T
    theirs = -float(rate) * K[:2, 2:] @ g2
    return {"own": K[0, 0], "other": K[0, 2], "theirs": theirs, "motion": theirs - float(rate) * K[:2, :2] @ g1}


def two_layers(z: Any, B: Any, J: Any) -> dict[str, Any]:
    shown = np.array(J)
    J = jacobian(lambda w: w[:4].reshape(2, 2) @ w[4:], np.concatenate([np.ravel(B), z]).astype(float))
    assert np.allclose(J, shown)
    q = np.array(B) @ z
    return {"q": q, "K": J @ J.T, "Kq": J @ J.T @ q}


def adam(q: Any, g: Any, rate: Any) -> dict[str, Any]:
    step = -float(rate) * np.sign(g)
    after = np.array(q) + step
    plain = np.array(q) - float(rate) * np.array(g)
    return {"step": step, "inner": np.dot(q, step), "after": after @ after, "plain": plain @ plain}


def features(kind: str, first: Any, second: Any) -> dict[str, Any]:
    bias = "with a" in kind and "without" not in kind
    return {"truth": np.dot(first, second) + bias == 0}


def changed(change: str, q: Any, g: Any) -> dict[str, Any]:
    a, b = g
    new = {
        "clip": [max(-1, min(1, a)), max(-1, min(1, b))],
        "repl": [a / np.hypot(a, b), b / np.hypot(a, b)],
        "keep": [(a > 0) - (a < 0), (b > 0) - (b < 0)],
        "doub": [2 * a, 2 * b],
    }[change[:4]]
    inner = q[0] * new[0] + q[1] * new[1]
    return {"inner": inner, "truth": abs(inner) < 1e-9}


def power(p: int, row: Any) -> dict[str, Any]:
    def output(x: np.ndarray) -> np.ndarray:
        value = complex(*x) ** p
        return np.array([value.real, value.imag])

    row = np.array(row, dtype=float)
    J, q = jacobian(output, row), output(row)
    after = output(row - 0.01 * J.T @ np.array([-q[1], q[0]]))
    return {"factor": (J @ J.T)[0, 0], "verdict": "grow" if after @ after > q @ q else "shrink"}


def momentum(mu: Any, rate: Any, first: Any, second: Any) -> dict[str, Any]:
    """Three dimensions, directions of one's own: only the lengths of the memories are those of the question."""
    mu, rate = float(mu), float(rate)
    q, memory, inner = np.array([10.0, 20.0, -10.0]), np.zeros(3), []
    for length in (float(first) ** 0.5, float(second) ** 0.5, 1.0):
        across = np.cross(q, [0.3, -0.2, 0.7])
        across /= np.linalg.norm(across)
        other = np.cross(q, across) / np.linalg.norm(q)
        along = mu * memory @ q / (q @ q) * q  # what is fixed; the rest of the memory is free to choose
        rest = max(length**2 - along @ along, 0.0) ** 0.5
        memory = along + rest * (0.6 * across + 0.8 * other)
        inner.append(float(q @ (-rate * memory)))
        q = q - rate * memory
    return {"two": inner[1], "three": inner[2]}


def kernels(**shown: Any) -> dict[str, Any]:
    found, moved = {}, []
    for name, matrix in sorted(shown.items()):
        K = np.array(matrix)
        if K[:2, 2:].any():
            moved.append(name)
        if (np.eye(4) == K).all():
            found[name] = "table"
        elif K[0, 1] or K[2, 3]:
            found[name] = "linear layer on top of a table"
        elif K[0, 0] == K[2, 2]:
            found[name] = "table with a shared bias"
        else:
            found[name] = "linear layer on features"
    turned = next(name for name, label in found.items() if label.endswith("top of a table"))
    order = ", ".join(f"{name}: {found[name]}" for name in "ABCD")
    return {"order": order, "moved": ", ".join(moved), "turned": turned}


def chance(d: int, shown: str) -> dict[str, Any]:
    x = np.random.default_rng(0).normal(size=(50_000, d))
    angles = np.degrees(np.arccos(x[:, 0] / np.linalg.norm(x, axis=1)))
    shares = [float(line.split("|")[2].strip()[:-1]) for line in shown.splitlines()[2:]]
    widths = [(1, 16, 400)[sorted(shares).index(share)] for share in shares]
    return {
        "by_chance": (round(100 * (abs(angles - 90) < 10).mean()), 1),
        "order": ", ".join(f"{name}: {h}" for name, h in zip("ABC", widths, strict=True)),
    }
