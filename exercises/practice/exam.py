"""Exam questions on the part In practice."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.random import Generator

from course_lib import index, metrics
from exercises.engine.asking import Exam, Numbers, judged, rational, redraw_if, table
from exercises.engine.variants import fraction, pick, whole

EXAM = Exam("practice")
LABELS = "ABCD"


def _law(rng: Generator) -> list[Fraction]:
    values = [int(value) for value in rng.integers(1, 7, 3)]
    return [Fraction(value, sum(values)) for value in values]


def _scaled(values: list[Fraction]) -> list[Fraction]:
    return [value / sum(values) for value in values]


@EXAM.asks
def sample(rng: Generator) -> Numbers:
    others = whole(rng, 3, 9)
    m, r = whole(rng, 1, others - 1), whole(rng, 2, others)
    h = rational(metrics.sampled_hit([r], others, m, 1)[0])
    # B never hits, or is as good as A: nothing to reason about, or no plain answer to (c)
    redraw_if(h in (0, Fraction(1, 2)))
    return Numbers(
        {"others": others, "items": others + 1, "last": others + 1, "m": m, "r": r},
        {"h": h, "sum": 2 * h, "better": r - 1, "flips": "Yes" if 2 * h > 1 else "No"},
    )


@EXAM.asks
def optimum(rng: Generator) -> Numbers:
    p, q, hits = _law(rng), _law(rng), [whole(rng, 1, 6) for _ in range(3)]
    redraw_if(p == q or len(set(hits)) == 1)
    plain = [a / b for a, b in zip(p, q, strict=True)]
    return Numbers(
        {"p": p, "q": q, "hits": hits},
        {
            "plain": _scaled(plain),
            "today": _scaled([value * count for value, count in zip(plain, hits, strict=True)]),
            "twice": _scaled([a * b for a, b in zip(p, q, strict=True)]),
        },
    )


def _needed(scores: list[Fraction], bound: Fraction, k: int) -> int:
    best = [float(score) for score in scores]
    enough = (n for n in range(k, len(best)) if index.certified([best[: n + 1]], [float(bound)], k)[0])
    return next(enough, len(best))


@EXAM.asks
def certificate(rng: Generator) -> Numbers:
    u = [Fraction(whole(rng, -4, 4, but=[0]), 2) for _ in range(3)]
    steps = [Fraction(1, 2 ** whole(rng, 0, 3)) for _ in range(3)]
    scores = sorted({Fraction(int(value), 4) for value in rng.integers(0, 60, 9)}, reverse=True)
    bound = sum((abs(a) * b for a, b in zip(u, steps, strict=True)), Fraction(0)) / 2
    k = whole(rng, 1, 3)
    found = _needed(scores, bound, k), _needed(scores, bound / 2, k)
    gaps = [scores[k - 1] - score for score in scores[k:]] if k < len(scores) else []
    # a gap of exactly twice the bound: "exceeds" would have to be agreed on
    redraw_if(2 * bound in gaps or bound in gaps)
    redraw_if(found[0] == found[1] or found[0] == len(scores))
    return Numbers(
        {"u": u, "steps": steps, "scores": scores, "k": k}, {"bound": bound, "N": found[0], "fine": found[1]}
    )


TRAINED = {"without a correction": -1, "with $\\log q$ subtracted from all logits": 0}
ADDED = {"nothing is added": 0, "$\\log q$ is added": 1, "$\\log q$ is subtracted": -1}
RANKS = {-2: "$p/q^2$", -1: "$p/q$", 0: "$p$, the choice", 1: "$pq$"}


@EXAM.asks
def correction(rng: Generator) -> Numbers:
    trained, added = pick(rng, *TRAINED), pick(rng, *ADDED)
    power = TRAINED[trained] + ADDED[added]
    return Numbers({"trained": trained, "added": added}, {**judged(power == 0), "rank": RANKS[power]})


@EXAM.asks
def family(rng: Generator) -> Numbers:
    n, p = whole(rng, 4, 20), Fraction(whole(rng, 10, 90), 10_000)
    return Numbers({"n": n, "p": f"{float(p):.4f}"}, {**judged(n * p < Fraction(1, 20)), "holm": f"{float(n * p):.4f}"})


@EXAM.asks
def floor(rng: Generator) -> Numbers:
    n, tau = pick(rng, 64, 256, 512, 1024, 4096), pick(rng, 0.1, 0.2, 0.3, 0.5, 1.0)
    return Numbers(
        {"n": n, "tau": tau}, {"value": math.log1p((n - 1) * math.exp(-n / ((n - 1) * tau))), "equal": math.log(n)}
    )


@EXAM.asks
def step(rng: Generator) -> Numbers:
    x1, x2, new = ([whole(rng, 0, 2) for _ in range(3)] for _ in range(3))
    g1, g2 = ([whole(rng, -4, 4) for _ in range(2)] for _ in range(2))
    eta = fraction(rng, "1/2", "1/4", "1/10", "2/5")
    matrix = -eta * (np.outer(g1, x1) + np.outer(g2, x2))
    return Numbers(
        {"x1": x1, "x2": x2, "g1": g1, "g2": g2, "eta": eta, "new": new}, {"move": [sum(row * new) for row in matrix]}
    )


def _told(gap: int, one: int, other: int) -> bool:
    """Whether two intervals tell by themselves if the difference is more than chance.

    The half-width of the interval of a difference lies between the difference and the sum of the two half-widths.
    """
    return bool(gap >= one + other or gap <= abs(one - other))


@EXAM.asks
def board(rng: Generator) -> Numbers:
    gains, halves = rng.integers(-10, 41, 4), rng.integers(8, 22, 4)
    films = [int(value) for value in rng.permutation(np.arange(20, 700, 7))[:4]]
    recalls = [220 + int(gain) for gain in gains]
    redraw_if(len(set(recalls)) < 4 or (gains == halves).any())  # an interval that ends at 0 would have to be agreed on
    pairs = [(i, j) for i, j in combinations(range(4), 2) if not _told(abs(gains[i] - gains[j]), halves[i], halves[j])]
    redraw_if(not pairs)
    i, j = pick(rng, *pairs)
    sure = [at for at in range(4) if gains[at] > halves[at]]
    chosen = max(sure or range(4), key=lambda at: films[at])
    lines = [
        (
            LABELS[at],
            f".{recalls[at]}",
            f"{gains[at] / 1000:+.3f}",
            *(f"{(gains[at] + sign * halves[at]) / 1000:+.3f}" for sign in (-1, 1)),
            films[at],
        )
        for at in range(4)
    ]
    return Numbers(
        {
            "shown": table(["model", "recall", "gain", "from", "to", "films"], lines),
            "pair": f"{LABELS[i]} and {LABELS[j]}",
            "gap": f"{abs(recalls[i] - recalls[j]) / 1000:.3f}",
            "rows": [[int(gains[at]), int(halves[at]), films[at]] for at in range(4)],
        },
        {
            "told": _told(abs(gains[i] - gains[j]), halves[i], halves[j]),
            "sure": ", ".join(LABELS[at] for at in sure) or "None of the four",
            "choice": LABELS[chosen],
            "most": films[chosen],
        },
    )


@EXAM.asks
def quarters(rng: Generator) -> Numbers:
    places = sorted((int(value) for value in rng.multinomial(100, [0.4, 0.3, 0.2, 0.1])), reverse=True)
    falling = sorted((int(value) for value in rng.integers(40, 99, 4)), reverse=True)
    rising = sorted(int(value) for value in rng.integers(52, 92, 4))
    product = pick(rng, 0, 1)
    both = [rising, falling] if product == 0 else [falling, rising]
    means = [Fraction(sum(a * b for a, b in zip(places, one, strict=True)), 10_000) for one in both]
    worst = [min(one) for one in both]
    redraw_if(0 in places or means[0] == means[1] or min(falling) >= 50 or falling[0] <= rising[0])
    lines = list(
        zip(
            ["most popular", "second", "third", "rarest"],
            [f"{n} %" for n in places],
            *([f"{n} %" for n in one] for one in both),
            strict=True,
        )
    )
    return Numbers(
        {"shown": table(["quarter", "places", "index A", "index B"], lines), "places": places, "both": both},
        {
            "one": float(means[0]),
            "two": float(means[1]),
            "better": LABELS[int(np.argmax([float(mean) for mean in means]))],
            "fair": LABELS[int(np.argmax(worst))],
            "product": f"Index {LABELS[product]}",
        },
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn(
        {
            "share": whole(rng, 91, 98) if case.number == 2 else whole(rng, 10, 20),
            "many": whole(rng, 2, 9) if case.number == 2 else pick(rng, 50, 100, 200),
        }
    )
