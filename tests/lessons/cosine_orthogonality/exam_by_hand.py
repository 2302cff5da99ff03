"""The answers on cosine gradients once more, by differences and by counting."""

from typing import Any

import numpy as np


def cos(q: Any, k: Any) -> float:
    return float(np.dot(q, k) / np.sqrt(np.dot(q, q) * np.dot(k, k)))


def slope(f: Any, q: Any) -> np.ndarray:
    """Central differences."""
    steps = 1e-6 * np.eye(len(q))
    return np.array([(f(np.array(q) + step) - f(np.array(q) - step)) / 2e-6 for step in steps])


def gradient(q: Any, k: Any, **_: Any) -> dict[str, Any]:
    return {"cosine": cos(q, k), "gradient": slope(lambda x: cos(x, k), q), "length": np.dot(q, q) ** 0.5}


def two_steps(start: Any, rate: Any, slope: Any, second: Any) -> dict[str, Any]:
    place = np.array([float(start), 0.0])
    after = []
    for length in (float(rate * slope), float(second)):
        across = np.array([-place[1], place[0]]) / np.hypot(*place)
        place = place + length * across
        after.append(np.hypot(*place))
    return {"one": after[0] ** 2, "two": after[1] ** 2, "final": after[1]}


def turn(r: Any, degrees: Any, rate: Any) -> dict[str, Any]:
    key = np.exp(1j * np.radians(degrees))
    rise = slope(lambda x: cos(x, [key.real, key.imag]), [float(r), 0.0])
    new = complex(r) + float(rate) * complex(*rise)
    return {"angle": np.degrees(np.angle(new)), "longer": abs(new), "step": abs(new - r)}


def tangent(n: int, case: int) -> dict[str, Any]:
    k, y = np.array([1.0, 2.0]), np.array([float(n), 0.0])
    loss = (
        lambda q: (1 - cos(q, k)) ** n,
        lambda q: np.log1p(np.exp(-n * np.dot(q, k))),
        lambda q: cos(q, k) + np.dot(q, q) / n,
        lambda q: (q[0] ** 2 + n * q[1] ** 2) / np.dot(q, q),
        lambda q: cos(q, q + y),
    )[case]
    radial = [abs(np.dot(q, slope(loss, q))) for q in ([0.3, 1.0], [1.0, -0.7], [-0.4, 0.9])]
    return {"truth": max(radial) < 1e-5}


def shorter(q: Any, rate: Any, case: int) -> dict[str, Any]:
    rise, eta = slope(lambda x: cos(x, [1.0, 0.0]), q), float(rate)
    step = (-rise, 100 * rise, rise - np.array(q) / 2, np.array([-1.0, 0.0]))[case] * eta
    after = np.sum((np.array(q) + step) ** 2)
    assert f"{after:.6g}" != f"{np.dot(q, q):.6g}"  # the answer shows that the length changes
    return {"truth": bool(after < np.dot(q, q)), "after": after}


def degree(m: int, q: Any, k: Any) -> dict[str, Any]:
    return {"value": np.dot(q, slope(lambda x: np.dot(x, k) ** m, np.array(q, dtype=float)))}


def bias(q: Any, w: Any, k: Any) -> dict[str, Any]:
    rise = slope(lambda x: cos(x + w, k), np.array(q, dtype=float))
    after = np.array(q) + 1e-4 * rise
    return {"slope": rise, "outcome": "longer" if np.dot(after, after) > np.dot(q, q) else "shorter"}


def optimisers(shown: str, start: Any, keys: Any) -> dict[str, Any]:
    entries = [[float(x) for x in line.split("|")[2:-1]] for line in shown.splitlines()[2:]]
    kinds = [
        "weight decay" if max(row) < 0 else "momentum" if max(row) > 0 else "plain gradient descent" for row in entries
    ]
    return {"order": ", ".join(f"{name}: {kind}" for name, kind in zip("ABC", kinds, strict=True))}


def films(shown: str) -> dict[str, Any]:
    lines = [line.split("|")[1:4] for line in shown.splitlines()[2:]]
    told, turns, stuck = [], {}, ""
    for name, angle, rise in ((a.strip(), float(b.strip()[:-1]), float(c)) for a, b, c in lines):
        if rise:
            length = round(np.sin(np.radians(angle)) / rise)
            told.append(f"{name} {length}")
            turns[name] = np.arctan(rise / length)
        else:
            stuck = name
    return {"told": ", ".join(told), "most": max(turns, key=lambda name: turns[name]), "stuck": stuck}
