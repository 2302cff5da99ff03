"""The answers on batches once more: every batch is visited, or the optimum is searched."""

import itertools
import math
import re
from fractions import Fraction
from functools import cache
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


def unbiased(m: int, n: int, M: int, rows: str, cols: str, Y: Any, pairs: Any) -> dict[str, Any]:
    """The weights of the chapter's formula, collected over the grid of two pairs of a table that exists."""
    people, films = zip(*pairs, strict=True)
    assert np.shape(Y) == (m, n) and np.sum(Y) == M and all(Y[i][j] for i, j in pairs)
    assert people[0] != people[1] and films[0] != films[1]
    (r1, r2), (c1, c2) = np.sum(Y, axis=1)[list(people)].tolist(), np.sum(Y, axis=0)[list(films)].tolist()
    assert (rows, cols) == (f"{r1} and {r2}", f"{c1} and {c2}")
    weight, cross, own = unbiased_weights(M, 2, r1 * c1, r1 * c2, size=m * n)
    return {"w": weight, "cross": cross, "own": own}


def unbiased_weights(M: int, s: int, own_pop: int, cross_pop: int, *, size: int) -> tuple[Fraction, Fraction, Fraction]:
    """Of l+ of a pair, of l- at another place of the grid, of l- of the pair itself."""
    a, rho = Fraction(M, s * size), Fraction(s - 1, M - 1)
    return a, a / rho / cross_pop, a / rho / own_pop - a * (1 + Fraction(M - s, (s - 1) * own_pop))


def is_unbiased(labels: Any, s: int, *, copies: bool = False, factor: int = 1) -> bool:
    """Whether the mean weight of l- over all batches, times mn, is 0 for liked pairs and 1 for all others."""
    Y = np.array(labels)
    pairs, pop = [tuple(map(int, at)) for at in np.argwhere(Y)], factor**2 * np.outer(Y.sum(1), Y.sum(0))
    draws = list(itertools.product(pairs, repeat=s) if copies else itertools.combinations(pairs, s))
    total = np.zeros(Y.shape, dtype=object)
    for draw in draws:
        for (p, one), (q, two) in itertools.product(enumerate(draw), repeat=2):
            at = one[0], two[1]
            total[at] += unbiased_weights(len(pairs), s, int(pop[at]), int(pop[at]), size=1)[2 if p == q else 1]
    return bool((total / Fraction(len(draws)) == 1 - Y).all())


def lowest(loss: str, w: float) -> tuple[float, float]:
    """(the score with the least loss, tolerance), by search."""
    x = np.linspace(-4, 4, 80_001)
    value = (1 - x) ** 2 + w * x**2 if loss == "square" else np.logaddexp(0, -x) + w * np.logaddexp(0, x)
    return float(x[np.argmin(value)]), 1e-3


def threshold(M: int, pop: int, half: int) -> dict[str, Any]:
    def falls_left(s: int) -> bool:
        """Whether the best logistic score is not below 0: just left of 0 the loss is larger than just right of it."""
        w = (s - 1) / (M - 1) * (pop - 1)
        values = [np.logaddexp(0, -x) + w * np.logaddexp(0, x) for x in (-1e-3, 1e-3)]
        return bool(values[0] >= values[1] - 1e-12)

    largest = max(s for s in range(2, M + 1) if falls_left(s))
    return {"largest": (largest, 0), "best": lowest("square", (half - 1) / (M - 1) * (pop - 1))}


TWICE = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]  # everybody likes two films, and every film has two fans


def claims(pop: int, M: int, s1: int, s2: int, case: int) -> dict[str, Any]:
    w1, w2 = (Fraction((s - 1) * (pop - 1), M - 1) for s in (s1, s2))
    often, _ = counted(TWICE, 3)
    truths = (
        w2 <= w1,
        all(is_unbiased([[1, 1, 0], [0, 1, 1], [0, 0, 1]], s) for s in (2, 3)),
        (counted(np.eye(3), 3)[0] == 1 - np.eye(3)).all(),
        not (often * np.array(TWICE)).any(),
    )
    return {"w1": w1, "w2": w2, "truth": bool(truths[case])}


def needs(M: int, s: int, case: int) -> dict[str, Any]:
    same = sum(a == b for a, b in itertools.product(range(M), repeat=2))
    return {"copy": Fraction(same, M * M), "truth": stays_unbiased(case, s)}


@cache
def stays_unbiased(case: int, s: int) -> bool:
    """With copies, with counts that are twice the true ones, twice as in the chapter, with a film without fans."""
    labels = [[1, 1, 0], [0, 1, 0], [0, 1, 1]]
    if case == 3:  # the cases 2 and 4 differ in words only: the second row holds a single 1
        labels = [[*row, 0] for row in labels]
    return is_unbiased(labels, s, copies=case == 0, factor=2 if case == 1 else 1)


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


def best(loss: str, M: int, s: int, rare: int, popular: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    assert math.gcd(rare, popular) >= 2  # the person likes both films
    for at, pop in ((1, rare), (2, popular)):
        w = (s - 1) / (M - 1) * (pop - 1)
        found |= {f"w{at}": w, f"x{at}": lowest(loss, w), f"y{at}": lowest(loss, pop - 1)}
    return found


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
