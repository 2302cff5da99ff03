"""The answers on lengths once more, by walking step by step."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np


def crossover(start: Any, h: Any, rate: Any, times: Any) -> dict[str, Any]:
    """Each update adds rate^2 h^2 / s to s: the updates between two lengths are an integral."""
    s = np.linspace(start**2, (times * start) ** 2, 100_001)
    gain = float(rate * h) ** 2
    reached = start**2
    for _ in range(n := round(float(np.trapezoid(s / gain, s)))):
        reached += gain / reached  # with the fourth powers of the steps
    assert abs(reached**0.5 / (times * start) - 1) < 0.02
    return {"n": (n, 1e-6), "reached": float(times * start)}


def updates(batch: int, p: Fraction, items: int, steps: int, extra: int) -> dict[str, Any]:
    def hit(slots: list[Fraction]) -> Fraction:
        total = Fraction(0)
        for pattern in itertools.product((0, 1), repeat=len(slots)):
            chance = Fraction(1)
            for inside, q in zip(pattern, slots, strict=True):
                chance *= q if inside else 1 - q
            total += chance * any(pattern)
        return total

    return {
        "plain": hit([p] * batch),
        "more": hit([p] * batch + [Fraction(1, items)] * extra),
        "expected": steps * hit([p] * batch),
    }


def decay(weight: Any, rate: Any, h: Any, base: Any, often: Any) -> dict[str, Any]:
    def settled(share: float) -> float:
        s, keep = 1.0, (1 - float(rate * weight)) ** 2
        for _ in range(1000):
            s = keep * s + share * float(rate * h) ** 2 / s
        return s**0.5

    assert base > 2 * rate * weight  # the law of the balance is close only there
    return {"ratio": settled(float(often)) / settled(float(base)), "lazy": settled(1.0)}


def order(n: int, case: int) -> dict[str, Any]:
    """Lengths after every pair of numbers of updates, with pulls that differ and that are equal."""

    def length(updates: int, pull: float) -> float:
        s = 1.0
        for _ in range(updates):
            s += 0.25 * pull**2 / s
        return s**0.5

    pairs_of_p, pairs_of_r, batches = 3, 2, 4
    updates = {  # of a film: in how many batches its pairs can lie, and the mean over all ways to lay them
        pairs: [len(set(places)) for places in itertools.product(range(batches), repeat=pairs)]
        for pairs in (pairs_of_p, pairs_of_r)
    }
    can = list(itertools.product(set(updates[pairs_of_p]), set(updates[pairs_of_r])))
    truths = (
        all(length(more, pull) >= length(fewer, 1) for more, fewer in can for pull in (0, 1)),
        np.mean(updates[pairs_of_p]) >= np.mean(updates[pairs_of_r]),
        all(length(more, 1) >= length(fewer, 1) for more, fewer in can),
        all(length(more, 1) >= length(fewer, 1) for more, fewer in can if more > fewer),
    )
    q = complex(0.5**0.5, 0.5**0.5)
    for t in range(n):
        key = (1, 1j)[t % 2]
        sine = (q.conjugate() * key).imag / abs(q)
        q += 0.5 * (sine / abs(q)) * 1j * q / abs(q)
    return {"conflict": abs(q), "agree": 1, "truth": bool(truths[case])}


def scale(c: int, exponent: int, factor: int) -> dict[str, Any]:
    def stepped(size: float, rate: float) -> float:
        q, k = size * np.array([1.0, 2.0]), np.array([3.0, -1.0]) / 10**0.5
        unit = q / np.linalg.norm(q)
        new = q + rate * (k - (k @ unit) * unit) / np.linalg.norm(q)
        return float(new @ k / np.linalg.norm(new))

    first, second = stepped(1.0, 1.0), stepped(c, float(factor))
    return {"first": first, "second": second, "truth": abs(first - second) < 1e-9}


def brake(a: int, power: int) -> dict[str, Any]:
    s, marks = 1.0, []
    for n in range(1, 2 * 10**4 + 1):
        s += 0.1 / s**a
        if n in (10**4, 2 * 10**4):
            marks.append(s**0.5)
    return {"exponent": (np.log2(marks[1] / marks[0]), 0.01)}


def copies(batch: int, coherence: Fraction, p: Fraction) -> dict[str, Any]:
    def size(q: Fraction) -> Fraction:
        total = Fraction(0)
        for pattern in itertools.product((0, 1), repeat=batch):
            held = sum(pattern)
            chance = q**held * (1 - q) ** (batch - held)
            total += chance * (held + coherence * held * (held - 1))
        return total

    tiny = Fraction(1, 10**6)
    slope = (float(size(p * (1 + tiny))) / float(size(p)) - 1) * 10**6
    return {"size": size(p), "slope": (slope, 1e-4)}


def outlier(shown: str, counts: Any, lengths: Any) -> dict[str, Any]:
    rest = [length / count**0.25 for length, count in zip(lengths, counts, strict=True)]
    usual = float(np.median(rest))
    odd = int(np.argmax([abs(value / usual - 1) for value in rest]))
    return {"slope": 0.25, "odd": "ABCDE"[odd], "factor": (rest[odd] / usual) ** 2}


def served(shown: str) -> dict[str, Any]:
    shares = {line.split("|")[1].strip(): float(line.split("|")[2].strip()[:-1]) for line in shown.splitlines()[2:]}
    return {"first": max(shares, key=lambda name: shares[name])}
