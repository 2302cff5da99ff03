"""The answers on the part In practice once more: samples, ratios and pairs of scores, without the library."""

from fractions import Fraction
from itertools import combinations
from math import exp, log
from typing import Any


def sample(others: int, items: int, last: int, m: int, r: int) -> dict[str, Any]:
    drawn = list(combinations(range(1, others + 1), m))  # the others are numbered from the best
    h = Fraction(sum(min(one) >= r for one in drawn), len(drawn))
    assert h not in (0, Fraction(1, 2))  # no tie of the two models
    return {"h": h, "sum": h + h, "better": r - 1, "flips": "Yes" if h > Fraction(1, 2) else "No"}


def optimum(p: list[Fraction], q: list[Fraction], hits: list[int]) -> dict[str, Any]:
    """From the ratios of each film to the first."""

    def shares(ratios: list[Fraction]) -> list[Fraction]:
        first = 1 / sum(ratios)
        return [first * ratio for ratio in ratios]

    over = [(p[j] * q[0]) / (q[j] * p[0]) for j in range(3)]
    return {
        "plain": shares(over),
        "today": shares([over[j] * hits[j] / hits[0] for j in range(3)]),
        "twice": shares([p[j] * q[j] / (p[0] * q[0]) for j in range(3)]),
    }


def certificate(u: list[Fraction], steps: list[Fraction], scores: list[Fraction], k: int) -> dict[str, Any]:
    """An item left out must stay below the k-th, at its worst, even at its own best."""

    def needed(off: Fraction) -> int:
        left_out = [at for at in range(k, len(scores)) if scores[at] + off < scores[k - 1] - off]
        return left_out[0] if left_out else len(scores)

    off = sum(max(a * b, -a * b) / 2 for a, b in zip(u, steps, strict=True))
    gaps = {scores[k - 1] - scores[at] for at in range(k, len(scores))}
    assert not {2 * off, off} & gaps  # "more than" and "at least" twice the bound are the same answer
    return {"bound": off, "N": needed(off), "fine": needed(off / 2)}


def correction(trained: str, added: str) -> dict[str, Any]:
    p, q = (0.5, 0.3, 0.2), (0.2, 0.5, 0.3)
    score = [log(a / b) if "without" in trained else log(a) for a, b in zip(p, q, strict=True)]
    sign = {"nothing is added": 0}.get(added, 1 if added.endswith("added") else -1)
    served = [value + sign * log(b) for value, b in zip(score, q, strict=True)]
    return {"truth": all(abs(a - b - served[0] + log(p[0])) < 1e-9 for a, b in zip(served, map(log, p), strict=True))}


def family(n: int, p: str) -> dict[str, Any]:
    corrected = sum(Fraction(p) for _ in range(n))
    return {"truth": corrected < Fraction(5, 100), "holm": f"{float(corrected):.4f}"}


def floor(n: int, tau: float) -> dict[str, Any]:
    """The loss of one row of the simplex: the cosine 1, and -1/(n - 1) for all others."""
    right, others = exp(1 / tau), (n - 1) * exp(-1 / (n - 1) / tau)
    return {"value": -log(right / (right + others)), "equal": -log(1 / n)}


def step(x1: Any, x2: Any, g1: Any, g2: Any, eta: Fraction, new: Any) -> dict[str, Any]:
    one, two = (sum(a * b for a, b in zip(x, new, strict=True)) for x in (x1, x2))
    return {"move": [-eta * (one * a + two * b) for a, b in zip(g1, g2, strict=True)]}


def board(shown: str, pair: str, gap: str, rows: list[Any]) -> dict[str, Any]:
    """From the table as it is printed."""
    lines = [line.strip("| ").split(" | ") for line in shown.split("\n")[2:]]
    sure = [line for line in lines if float(line[3]) > 0]
    most = max(int(line[5]) for line in sure or lines)
    one, other = (line for line in lines if line[0] in pair.split(" and "))
    half = [(float(line[4]) - float(line[3])) / 2 for line in (one, other)]
    apart = abs(float(one[2]) - float(other[2]))
    assert abs(apart - float(gap)) < 1e-9
    errors = [(half[0] ** 2 + half[1] ** 2 - 2 * r * half[0] * half[1]) ** 0.5 for r in (-1, 1)]  # all that can be
    return {
        "told": apart >= errors[0] or apart <= errors[1],
        "sure": ", ".join(line[0] for line in sure) or "None of the four",
        "choice": next(line[0] for line in lines if int(line[5]) == most),
        "most": most,
    }


def quarters(shown: str, places: Any, both: Any) -> dict[str, Any]:
    """From the table as it is printed."""
    lines = [line.strip("| ").replace(" %", "").split(" | ") for line in shown.split("\n")[2:]]
    found = [sum(int(line[1]) / 100 * int(line[at]) / 100 for line in lines) for at in (2, 3)]
    lost = [max(100 - int(line[at]) for line in lines) for at in (2, 3)]
    first = [int(lines[0][at]) for at in (2, 3)]
    return {
        "one": found[0],
        "two": found[1],
        "better": "A" if found[0] > found[1] else "B",
        "fair": "A" if lost[0] < lost[1] else "B",
        "product": f"Index {'A' if first[0] < first[1] else 'B'}",
    }
