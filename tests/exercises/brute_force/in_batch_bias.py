"""The answers on batches once more: every batch is visited, or the optimum is searched."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import numpy as np


def counted(labels: Any, s: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Mean number of times that each cell stands off the diagonal of a batch's grid, over all batches."""
    pairs = [(int(i), int(j)) for i, j in zip(*np.nonzero(labels), strict=True)]
    total, batches = np.zeros(np.shape(labels), dtype=object) + Fraction(0), 0
    for batch in itertools.combinations(pairs, s):
        batches += 1
        for (i, _), (_, j) in itertools.permutations(batch, 2):
            total[i, j] += 1
    return total / Fraction(batches), pairs


def weights(Y: Any, s: int, li: int, lj: int, oi: int, oj: int) -> dict[str, Any]:
    often, pairs = counted(Y, s)
    scaled = often * Fraction(len(pairs), s)
    return {"rho": Fraction(s - 1, len(pairs) - 1), "w1": scaled[li - 1, lj - 1], "w2": scaled[oi - 1, oj - 1]}


def unbiased(m: int, n: int, M: int, rows: str, cols: str, counts: Any) -> dict[str, Any]:
    """The weights of the chapter's formula, collected term by term over the grid of two pairs."""
    (r1, _), (c1, c2) = counts
    a, rho = Fraction(M, 2 * m * n), Fraction(1, M - 1)
    own = a / rho / (r1 * c1) - a * (1 + Fraction(M - 2, 1) / (r1 * c1))
    return {"w": a, "cross": a / rho / (r1 * c2), "own": own}


def threshold(M: int, pop: int, half: int) -> dict[str, Any]:
    def falls_left(s: int) -> bool:
        """Whether the best logistic score is not below 0: just left of 0 the loss is larger than just right of it."""
        w = (s - 1) / (M - 1) * (pop - 1)
        values = [np.logaddexp(0, -x) + w * np.logaddexp(0, x) for x in (-1e-3, 1e-3)]
        return bool(values[0] >= values[1] - 1e-12)

    largest = max(s for s in range(2, M + 1) if falls_left(s))
    return {"largest": (largest, 0), "best": (best("square", M, half, pop)["score"][0], 1e-3)}


def claims(pop: int, M: int, s1: int, s2: int, case: int) -> dict[str, Any]:
    w1, w2 = (Fraction((s - 1) * (pop - 1), M - 1) for s in (s1, s2))
    return {"w1": w1, "w2": w2, "truth": case in (1, 2)}


def needs(M: int, s: int, case: int) -> dict[str, Any]:
    same = sum(a == b for a, b in itertools.product(range(M), repeat=2))
    return {"copy": Fraction(same, M * M), "truth": case == 2}


def cell(M: int, s: int, pop: int, liked: str, case: str) -> dict[str, Any]:
    """Row and column hold pop = 1 x pop positives; further positives lie elsewhere."""
    is_liked = liked == "liked"
    own = [("row", "here" if is_liked else "r")]
    column = [("row" if is_liked and not at else f"c{at}", "here") for at in range(pop)]
    pairs = list(dict.fromkeys(own + column))
    pairs += [(f"x{at}", f"y{at}") for at in range(M - len(pairs))]
    if case == "one":
        draws = list(itertools.combinations(pairs, s))
        total = sum(a[0] == "row" and b[1] == "here" for d in draws for a, b in itertools.permutations(d, 2))
        return {"value": Fraction(total, len(draws))}
    chance = Fraction(s, M)
    return {"value": chance**2 * sum(a[0] == "row" for a in pairs) * sum(b[1] == "here" for b in pairs)}


def best(loss: str, M: int, s: int, pop: int) -> dict[str, Any]:
    w, x = (s - 1) / (M - 1) * (pop - 1), np.linspace(-4, 4, 80_001)
    value = (1 - x) ** 2 + w * x**2 if loss == "square" else np.logaddexp(0, -x) + w * np.logaddexp(0, x)
    return {"weight": w, "score": (x[np.argmin(value)], 1e-3)}


def losses(s: int, pop1: int, pop2: int, labels: Any, shown: str) -> dict[str, Any]:
    rho = Fraction(s - 1, int(np.sum(labels)) - 1)
    expected = {
        "the in-batch loss": (rho * (pop1 - 1), rho * pop2),
        "the popularity loss": (Fraction(pop1 - 1), Fraction(pop2)),
        "the pos-neg loss": (Fraction(0), rho),
        "the unbiased loss": (Fraction(0), Fraction(1)),
    }
    order = []
    for line in shown.splitlines()[2:]:
        name, *entries = (cell.strip() for cell in line.split("|")[1:-1])
        (kind,) = (kind for kind, pair in expected.items() if pair == tuple(map(Fraction, entries)))
        order.append(f"{name}: {kind}")
    return {"order": ", ".join(order), "rho": rho}


def lists(films: int, median: int, shown: str) -> dict[str, Any]:
    counts = {
        line.split("|")[1].strip(): float(re.sub(r"\D", "", line.split("|")[2])) for line in shown.splitlines()[2:]
    }
    return {"which": min(counts, key=lambda name: counts[name])}
