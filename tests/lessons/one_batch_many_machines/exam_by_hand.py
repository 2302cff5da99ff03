"""The answers on many machines once more: the gradients are computed part by part with numbers in place of names."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np


def parts(P: int, rows: str, gather: str, reduction: str) -> dict[str, Fraction]:
    """Weights of the rows that reach item 0 of machine 0 after averaging, over those of one machine (B = 2)."""
    B = 2
    one = Fraction(1) if reduction == "sum" else Fraction(1, P * B)
    arrived = {row: Fraction(0) for row in range(P * B)}
    shared = Fraction(0)
    for machine in range(P):
        own = range(machine * B, (machine + 1) * B) if rows == "own" else range(P * B)
        weight = Fraction(1) if reduction == "sum" else Fraction(1, len(own))
        shared += weight * len(own) / P
        for row in own:
            if gather == "gradients" or machine == 0:
                arrived[row] += weight / P
    return {
        "pull": arrived[0] / one,
        "near": arrived[1] / one,
        "far": arrived[P * B - 1] / one,
        "direct": shared / (one * P * B),
    }


def factors(P: int, rows: str, reduction: str, gather: str, case: Any) -> dict[str, Any]:
    return dict(parts(P, case[0], case[1], reduction))


def local(total: int, M: int, P: int, B: int, pop: int) -> dict[str, Any]:
    large, small = Fraction(total - 1, M - 1), Fraction(B - 1, M - 1)
    return {"large": large, "small": small, "w1": large * pop, "w2": small * pop, "ratio": large / small}


def network(P: int, d: int, B: int) -> dict[str, Any]:
    gather = sum(B * d * 4 * 2 for _ in range(P - 1))
    gramian = Fraction(4 * (P - 1) * d * d * 4, P)
    even = next(Fraction(b, 64) for b in range(1, 64 * 600) if (P - 1) * Fraction(b, 64) * d * 8 >= gramian)
    return {"sent": gather, "gramian": gramian, "even": even}


def times(P: int, rows: str, reduction: str, gather: str, case: Any) -> dict[str, Any]:
    found = parts(P, case[0], case[1], reduction)
    after = [found[name] * P for name in ("pull", "near", "far")]
    return {"truth": all(value == 1 for value in after), "after": after}


def meet(M: int, P: int, B: int, draw: str, same: Any, place: str) -> dict[str, Any]:
    """Probabilities of the two places of two given pairs, machine by machine."""
    total = Fraction(0)
    for one, two in itertools.product(range(P), repeat=2):
        if (one == two) != (place == "near"):
            continue
        if draw == "together":
            seats = B * (B - 1) if one == two else B * B
            total += Fraction(seats, M * (M - 1))
        elif draw == "apart":
            total += Fraction(B * (B - 1), M * (M - 1)) if one == two else Fraction(B, M) ** 2
        else:
            shard = M // P
            homes = (0, 0) if same else (0, 1)
            if (one, two) == homes:
                total += Fraction(B * (B - 1), shard * (shard - 1)) if same else Fraction(B, shard) ** 2
    return {"value": total, "truth": total > 0}


def push(P: int, B: int) -> dict[str, Any]:
    near = [sum(other // B == film // B for other in range(P * B)) - 1 for film in range(P * B)]
    return {"mean": Fraction(sum(near), P * B * (P * B - 1))}


def softmax(P: int, B: int) -> dict[str, Any]:
    return {"one": np.log(P * B), "local": np.log(B), "zeta": Fraction(P * B - 1, B - 1), "total": P * B}


def recipe(P: int, shown: str, chosen: Any) -> dict[str, Any]:
    rows = [[float(cell) for cell in line.split("|")[2:-1]] for line in shown.splitlines()[2:]]
    known = {
        "own rows, with gradients": [1, 1, 1, 1],
        "own rows, with gradients, times $P$": [P, P, P, P],
        "own rows, constants": [1, 1, 0, 1],
        "all rows, constants": [1 / P, 1 / P, 1 / P, 1],
        "all rows, constants, times $P$": [1, 1, 1, P],
    }
    order = []
    for name, row in zip("ABC", rows, strict=True):
        (match,) = (recipe for recipe, parts in known.items() if np.allclose(row, parts, atol=6e-4))
        order.append(f"{name}: {match}")
    return {"order": ", ".join(order)}


def uneven(shown: str, sizes: Any) -> dict[str, Any]:
    total = Fraction(sum(sizes))
    weights = [1 / Fraction(size) / 3 for size in sizes]
    repair = [1 / total / weight for weight in weights]
    heavy = max(range(3), key=lambda at: weights[at])
    return {"weights": weights, "repair": repair, "heavy": "ABC"[heavy], "factor": weights[heavy] * total}
