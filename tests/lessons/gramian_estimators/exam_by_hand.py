"""The answers on Gramians once more, pair by pair and step by step."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np


def two_matrices(left: int, **sides: Any) -> dict[str, Any]:
    u, v = ([sides[f"{name}{i}"] for i in range(1, n + 1)] for name, n in (("u", 2), ("v", 3)))
    squares = [Fraction(a[0] * b[0] + a[1] * b[1]) ** 2 for a, b in itertools.product(u, v)]
    G = [[Fraction(sum(a[i] * a[j] for a in u), 2) for j in range(2)] for i in range(2)]
    return {"g": sum(squares) / 6, "pairs": sum(squares), "G": G}


def late(alpha: Fraction, delta: Fraction, steps: int) -> dict[str, Any]:
    a, value, behind, square = float(alpha), 0.0, 0.0, 0.0
    for t in range(1, 2000):
        value = (1 - a) * value + a * t * float(delta)
        behind = t * float(delta) - value
        square = (1 - a) ** 2 * square + a**2
    start = Fraction(0)
    for _ in range(steps):
        start = (1 - alpha) * start + alpha
    return {"lag": behind, "variance": square, "weight": start}


def cache(square: int, variance: int) -> dict[str, Any]:
    grid = np.linspace(0, 1, 10_001)
    error = (1 - grid) ** 2 * square + grid**2 * variance
    return {
        "beta": (grid[np.argmin(error)], 1e-3),
        "least": (error.min(), 1e-3),
        "full": float(error[-1]),
        "none": float(error[0]),
    }


def on_average(old: int, still: int, now: int, case: int) -> dict[str, Any]:
    """Each claim is tried on the example, batch by batch, and on a cache that is right."""
    cached, exact = Fraction(old**2 + still**2, 2), Fraction(now**2 + still**2, 2)
    draws, half = ([cached + beta * (now**2 - old**2), cached] for beta in (Fraction(1), Fraction(1, 2)))
    running = [Fraction(0)]
    for square in (now**2, still**2, now**2):
        running.append(running[-1] * Fraction(9, 10) + Fraction(square, 10))
    truths = (
        Fraction(now**2 + still**2, 2) == exact,
        sum(half) / 2 == exact,
        sum(draws) / 2 == exact and min(draws) >= 0,
        min(running) >= 0,
    )
    return {"gram": exact, "cached": cached, "first": draws[0], "second": draws[1], "truth": truths[case]}


def shorter(high: int, u: Any, rate: Fraction) -> dict[str, Any]:
    def gravity(x: Fraction, y: Fraction) -> Fraction:
        return high * x * x + y * y

    x, y, tiny = Fraction(u[0]), Fraction(u[1]), Fraction(1, 10)
    slope = (
        (gravity(x + tiny, y) - gravity(x - tiny, y)) / (2 * tiny),
        (gravity(x, y + tiny) - gravity(x, y - tiny)) / (2 * tiny),
    )
    new = [x - rate * slope[0], y - rate * slope[1]]
    after = new[0] ** 2 + new[1] ** 2
    assert after != x * x + y * y  # neither shorter nor longer is no question
    return {"new": new, "after": after, "truth": after < x * x + y * y}


def one_batch(how: str, n: int, b: int, replaced: bool) -> dict[str, Any]:
    """The share of the diagonal by counting pairs of draws: P(same) + P(different) (1 - s) = 1 with s of the rest."""
    if replaced:
        same = Fraction(1, b)
        return {"share": same}
    same, rest = Fraction(1, b), Fraction(b - 1, b)
    # of all n^2 pairs the rest misses the diagonal: its mean is (n^2 g - n g_obs)/(n (n - 1))
    return {"share": same - rest * Fraction(n, n * (n - 1))}


def detach(alpha: Fraction) -> dict[str, Any]:
    def term(x: float) -> float:
        now, old = (x * x + 4) / 2, (1 + 4) / 2
        return now * ((1 - float(alpha)) * old + float(alpha) * now)

    def held(x: float) -> float:
        return (x * x + 4) / 2 * (1 + 4) / 2

    slopes = [(f(1 + 1e-6) - f(1 - 1e-6)) / 2e-6 for f in (term, held)]
    return {"factor": slopes[0] / slopes[1]}


def race(shown: str) -> dict[str, Any]:
    rows = np.array([[float(cell) for cell in line.split("|")[2:-1]] for line in shown.splitlines()[2:]])
    errors = rows[:, 1:] - rows[:, :1]
    (behind,) = (at for at in range(3) if (errors[:, at] < 0).all())
    (jumps,) = (at for at in range(3) if np.ptp(errors[:, at]) > 1.5 * np.delete(np.ptp(errors, axis=0), at).max())
    assert errors[:, jumps].min() < 0 < errors[:, jumps].max()
    labels = {behind: "SOGram", jumps: "sampling"}
    return {"order": ", ".join(f"{name}: {labels.get(at, 'SAGram')}" for at, name in enumerate("ABC"))}


def best_rate(delta: float, shown: str) -> dict[str, Any]:
    rows = [[float(cell) for cell in line.split("|")[1:-1]] for line in shown.splitlines()[2:]]
    best = min(rows, key=lambda row: row[1] + row[2])
    return {"best": best[0], "error": (best[1] + best[2], 2e-4)}
