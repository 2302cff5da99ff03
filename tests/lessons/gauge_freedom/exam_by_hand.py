"""The answers on gauges once more, by search and by counting dimensions with other matrices."""

import itertools
import re
from typing import Any

import numpy as np


def cos(x: Any, y: Any) -> float:
    return float(np.dot(x, y) / np.sqrt(np.dot(x, x) * np.dot(y, y)))


def right_angle(b1: Any, b2: Any, person: Any, **_: Any) -> dict[str, Any]:
    grid = np.linspace(0.2, 6, 58_001)
    inner = b1[0] * b2[0] / grid**2 + b1[1] * b2[1]
    d = grid[np.argmin(abs(inner))]
    return {"stretch": (d, 1e-3), "s1": np.dot(person, b1), "s2": np.dot(person, b2), "after": 0}


def count(rows: Any) -> dict[str, Any]:
    """Dimensions as nullities of the conditions, on symmetric matrices written out in full."""
    basis = []
    for i, j in itertools.combinations_with_replacement(range(3), 2):
        E = np.zeros((3, 3))
        E[i, j] = E[j, i] = 1
        basis.append(E)
    every = np.array([[np.array(a) @ E @ a for E in basis] for a in rows])
    only = np.array([[a[axis] ** 2 for axis in range(3)] for a in rows])
    return {
        "linear": 6 - np.linalg.matrix_rank(every),
        "diagonal": 3 - np.linalg.matrix_rank(only),
    }


def decay(A: Any, B: Any) -> dict[str, Any]:
    a, b = np.sum(np.square(A), axis=0), np.sum(np.square(B), axis=0)
    grid = np.linspace(0.5, 4, 35_001)
    sums = [grid**2 * a[axis] + b[axis] / grid**2 for axis in range(2)]
    return {"d": [(grid[np.argmin(one)], 1e-3) for one in sums], "least": (sum(one.min() for one in sums), 1e-3)}


def felt(M: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    gaps = [abs(cos(np.dot(M, x), np.dot(M, y)) - cos(x, y)) for x, y in rng.normal(size=(50, 2, 2))]
    return {"truth": max(gaps) < 1e-9}


def sphere(rows: Any, words: str) -> dict[str, Any]:
    """Walks along the only family that keeps the first row, and looks at the second."""
    (a, b), (c, d) = np.square(rows)
    free = any(abs(c * x + d * (a + b - a * x) / b - (c + d)) < 1e-9 for x in (0.9, 1.1)) if b else d == 0
    return {"truth": not free}


def similarity(A: Any, weights: Any, b1: Any, b2: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    R = rng.normal(size=(2, 2))
    AR, c1, c2 = np.dot(A, R), np.linalg.solve(R, b1), np.linalg.solve(R, b2)
    value = sum(w * (row @ c1) * (row @ c2) for w, row in zip(weights, AR, strict=True))
    return {"product": (value, 1e-6), "again": (value, 1e-6)}


def every_other(m1: int, m2: int, factor: int) -> dict[str, Any]:
    return {"after": cos([m1, m2], [m1, -m2])}


def cells(shown: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.splitlines()[2:]]


def tables(shown: str) -> dict[str, Any]:
    near = [row for row in cells(shown) if "P" in row[0]]
    best = [max(near, key=lambda row: float(row[at]))[0].replace("P", "").strip("-") for at in (1, 2, 3)]
    return dict(zip(("first", "second", "third"), best, strict=True))


def changes(shown: str) -> dict[str, Any]:
    shares = {row[0]: float(re.sub(r"\D", "", row[1])) for row in cells(shown)}
    order = sorted(shares, key=lambda name: shares[name])
    return {"much": order[0], "little": order[1], "alike": " and ".join(sorted(order[2:]))}
