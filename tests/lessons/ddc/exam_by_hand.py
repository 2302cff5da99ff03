"""The answers on DDC once more, by sums over pairs and by search."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np


def loss(s: Any, t: Any, a: Any, b: Any, alpha: float, beta: float) -> float:
    margins = [s[i] + beta * a[i] - t[j] - alpha * b[j] for i, j in itertools.product(range(len(s)), range(len(t)))]
    return sum(math.log1p(math.exp(-x)) for x in margins) / len(margins)


def slopes(a: Any, b: Any, score: int) -> dict[str, Any]:
    s, t, tiny = [score] * 2, [score] * 3, 1e-6
    by_alpha = (loss(s, t, a, b, tiny, 0) - loss(s, t, a, b, -tiny, 0)) / (2 * tiny)
    by_beta = (loss(s, t, a, b, 0, tiny) - loss(s, t, a, b, 0, -tiny)) / (2 * tiny)
    return {"alpha": by_alpha, "beta": by_beta}


def level(s: Any, t: Any, c: int, d: int) -> dict[str, Any]:
    """Equal margins by linear equations; the loss is larger all around."""
    margins = [(i, j) for i in range(2) for j in range(2)]
    a, b = [c, -c], [d, -d]
    rows = [(b[0] - b[j], a[i] - a[0]) for i, j in margins]  # x_ij - x_00 as a function of alpha and beta
    gaps = [s[0] - t[0] - s[i] + t[j] for i, j in margins]
    alpha, beta = np.linalg.lstsq(np.array(rows, dtype=float), np.array(gaps, dtype=float), rcond=None)[0]
    around = [loss(s, t, a, b, alpha + math.cos(x) / 10, beta + math.sin(x) / 10) for x in np.linspace(0, 6.28, 50)]
    assert loss(s, t, a, b, alpha, beta) < min(around)
    return {"alpha": alpha, "beta": beta, "margin": s[0] + beta * a[0] - t[0] - alpha * b[0]}


def push(v: Any, own: Any, pref: Any, length: int, alpha: Fraction, beta: Fraction) -> dict[str, Any]:
    assert "frac1{1}" not in str(own)
    size = math.hypot(*v)
    moved = [float(alpha) * v[k] / size + float(beta) * pref[k] / float(length) for k in range(2)]
    value = moved[0] * v[0] + moved[1] * v[1]
    assert abs(value) > 1e-9
    return {"value": (value, 1e-9), "cosine": (v[0] * pref[0] + v[1] * pref[1]) / size / float(length)}


def optimum(a: Any, b: Any) -> dict[str, Any]:
    """Far away in every direction the loss is larger than at the origin, or there is no minimum."""
    zero = [0.0] * 3
    around = [
        loss(zero[: len(a)], zero, a, b, 60 * math.cos(turn), 60 * math.sin(turn))
        for turn in np.linspace(0, 2 * math.pi, 721)
    ]
    return {"truth": min(around) > math.log(2)}


def origin(shift: int, b: Any, case: int) -> dict[str, Any]:
    tiny = 1e-6
    found = []
    for move in (0, shift):
        now = [value + move for value in b]
        found.append((loss([0], [0, 0], [1], now, tiny, 0) - loss([0], [0, 0], [1], now, -tiny, 0)) / (2 * tiny))
    assert found[0] < -1e-3 and found[1] > 1e-3  # the example must show what the answer says
    items, user = np.random.default_rng(0).normal(size=(6, 3)), np.array([1.0, -0.5, 0.3])
    looks = []
    for rows in (items, items + shift * towards(items)):
        scores = rows @ user
        at_fixed = loss(scores[:2], scores[2:], [0, 0], rows[2:] @ towards(items), -0.5, 0)
        looks.append(
            (loss(scores[:2], scores[2:], [0, 0], [0] * 4, 0, 0), np.argsort(scores), towards(rows), None, at_fixed)
        )
    stays = [one is not None and np.allclose(one, other) for one, other in zip(*looks, strict=True)]
    stays[3] = found[0] * found[1] > 0
    return {"before": found[0], "after": found[1], "truth": stays[case]}


def towards(items: np.ndarray) -> np.ndarray:
    """From the mean of the last two items to that of the first two, at length 1."""
    gap = items[:2].mean(axis=0) - items[-2:].mean(axis=0)
    unit: np.ndarray = gap / np.linalg.norm(gap)
    return unit


def free(alpha: int, beta: int, a: Any, b: Any, a_neg: Any, b_pos: Any) -> dict[str, Any]:
    learned = [beta * a[i] - alpha * b[j] for i in range(2) for j in range(2)]
    served = [beta * (a[i] - a_neg[j]) + alpha * (b_pos[i] - b[j]) for i in range(2) for j in range(2)]
    return {"learned": sum(learned) / 4, "served": sum(served) / 4, "loss": math.log1p(math.exp(-sum(learned) / 4))}


def endless(a: Any, b: Any, size: int) -> dict[str, Any]:
    zero = [0.0] * 3
    points = {(s * (w == "\\alpha"), s * (w == "\\beta")): (w, s) for w in ("\\alpha", "\\beta") for s in (size, -size)}
    at = min(points, key=lambda point: loss(zero[:2], zero, a, b, *point))
    path = [loss(zero[:2], zero, a, b, scale * at[0], scale * at[1]) for scale in (1, 3, 9, 27)]
    assert path[0] > path[1] > path[2] > path[3] and path[3] < 0.01
    which, near = points[at]
    return {"value": path[0], "which": which, "near": near, "sign": "-" if near < 0 else "+"}


def users(shown: str) -> dict[str, Any]:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.splitlines()[2:]]
    assert all(float(row[2]) <= float(row[1]) for row in rows)
    return {"raised": " and ".join(row[0] for row in rows if float(row[3]) > float(row[1]))}


def wrong(shown: str, factor: int, means: Any, claimed: Any) -> dict[str, Any]:
    (liar,) = (at for at in range(3) if claimed[at] * math.log(2) > means[at])
    assert max(claimed) < 1 and round(100 * claimed[liar]) > 100 * means[liar] / math.log(2)  # as it is printed
    return {"liar": "PQR"[liar], "bound": 100 * means[liar] / math.log(2)}
