"""Exam questions on popularity and length."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import geometry, norms, popularity
from exercises.engine.asking import Exam, Numbers, judged, mixed, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("popularity-norm-coupling")


@EXAM.asks
def crossover(rng: Generator) -> Numbers:
    start, rate, h = whole(rng, 1, 2), Fraction(1, pick(rng, 1, 2, 4)), Fraction(1, whole(rng, 1, 2))
    times = pick(rng, 2, 3)
    added = 2 * rate**2 * h**2
    n = Fraction((times * start) ** 4 - start**4) / added
    redraw_if(start**4 < 8 * added)  # then steps are long against the vector, and their fourth powers count
    return Numbers(
        {"start": start, "h": h, "rate": rate, "times": times},
        {
            "star": rational(norms.crossover_count(start, lr=rate, h=h)),
            "n": rational(n),
            "reached": rational(norms.predicted_norm(float(start), lr=float(rate), h=float(h), updates=float(n))),
        },
    )


@EXAM.asks
def updates(rng: Generator) -> Numbers:
    p, batch, steps = Fraction(1, whole(rng, 2, 4)), whole(rng, 2, 3), 100 * whole(rng, 1, 9)
    items, extra = 2 * whole(rng, 2, 5), whole(rng, 2, 3)
    plain = norms.update_probability(p, batch)
    more = norms.update_probability(p, batch, negatives=extra, n_items=items)
    return Numbers(
        {"batch": batch, "p": p, "items": items, "steps": steps, "extra": extra},
        {"plain": plain, "expected": steps * plain, "more": more},
    )


@EXAM.asks
def decay(rng: Generator) -> Numbers:
    root, base = pick(rng, Fraction(2), Fraction(3, 2)), Fraction(1, pick(rng, 16, 20, 25, 32))
    often = base * root**4
    rate, weight, h = (
        Fraction(1, 2),
        Fraction(1, 50),
        whole(rng, 1, 3),
    )  # the law asks for shares well above rate * weight
    rare = float(norms.decay_equilibrium(float(base), lr=float(rate), decay=float(weight), h=float(h)))
    popular = float(norms.decay_equilibrium(float(often), lr=float(rate), decay=float(weight), h=float(h)))
    lazy = norms.lazy_decay_equilibrium(lr=float(rate), decay=float(weight), h=float(h))
    return Numbers(
        {"weight": weight, "rate": rate, "h": h, "base": base, "often": often},
        {"ratio": rational(popular / rare), "fourth": rational(float(lazy) ** 4), "lazy": float(lazy)},
    )


@EXAM.asks
def order(rng: Generator) -> Numbers:
    case, n = pick(rng, *EXAM.cases("order")), 10 * whole(rng, 2, 9)

    agree = geometry.norm([1.0, 0.0])
    q = np.array([1.0, 1.0]) / np.sqrt(2)
    for t in range(n):
        q = q + 0.5 * geometry.cosine_gradient(q, np.eye(2)[t % 2])
    return case.drawn({"n": n}, {"agree": rational(agree), "conflict": float(geometry.norm(q))})


@EXAM.asks
def scale(rng: Generator) -> Numbers:
    c, exponent = pick(rng, 2, 3, 4, 10), pick(rng, 1, 2, 2, 4)
    truth = exponent == 2
    q, k = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    new = q + geometry.cosine_gradient(q, k)
    other = c * q + c**exponent * geometry.cosine_gradient(c * q, k)
    return Numbers(
        {"c": c, "exponent": exponent, "factor": c**exponent},
        {**judged(truth), "first": float(geometry.cosine(new, k)), "second": float(geometry.cosine(other, k))},
    )


@EXAM.asks
def brake(rng: Generator) -> Numbers:
    a = pick(rng, 2, 3, 4)
    power = 2 + 2 * a
    return Numbers({"a": a, "power": power}, {"up": a + 1, "exponent": Fraction(1, power)})


@EXAM.asks
def copies(rng: Generator) -> Numbers:
    batch, coherence = whole(rng, 3, 9), Fraction(1, pick(rng, 1, 2, 4))
    p = Fraction(pick(rng, 1, 2), 2 * (batch - 1))
    slope = norms.expected_squared_gradient_slope(p, batch_size=batch, coherence=coherence)
    size = norms.expected_squared_gradient(p, batch_size=batch, coherence=coherence)
    return Numbers(
        {"batch": batch, "coherence": coherence, "p": p},
        {"size": size, "x": coherence * (batch - 1) * p, "slope": slope},
    )


@EXAM.asks
def outlier(rng: Generator) -> Numbers:
    counts, odd, harder = [16, 81, 256, 625, 1296], int(rng.integers(1, 4)), pick(rng, 2, 3)
    scale = whole(rng, 1, 3)
    pulls = [1.0 * (harder**2 if place == odd else 1) for place in range(5)]
    lengths = [
        float(norms.predicted_norm(1e-6, lr=scale / np.sqrt(2), h=pull, updates=count))
        for count, pull in zip(counts, pulls, strict=True)
    ]
    rows = [(name, count, f"{length:.2f}") for name, count, length in zip("ABCDE", counts, lengths, strict=True)]
    kept = [place for place in range(5) if place != odd]
    slope = popularity.log_log_slope([lengths[place] for place in kept], [counts[place] for place in kept])
    return Numbers(
        {"shown": table(["film", "$n$", "length"], rows), "counts": counts, "lengths": lengths},
        {"slope": float(slope), "odd": "ABCDE"[odd], "longer": float(harder), "factor": harder**2},
    )


@EXAM.asks
def served(rng: Generator) -> Numbers:
    people, films = rng.normal(size=(200, 8)), rng.normal(size=(100, 8))
    counts = (3000 / np.arange(1, 101)).astype(int)
    unit = geometry.normalise(films)
    runs = {
        "high rate, dot product": unit * norms.predicted_norm(1.0, lr=3.0, h=0.5, updates=counts)[:, None],
        "high rate, cosine": unit,
        "low rate, dot product": unit * norms.predicted_norm(1.0, lr=0.003, h=0.5, updates=counts)[:, None],
    }
    shares = {
        label: 100 * popularity.top_share(np.argsort(-people @ rows.T, axis=1)[:, :10], counts, 0.05)
        for label, rows in runs.items()
    }
    labels = mixed(rng, list(runs))
    redraw_if(shares["high rate, dot product"] < 2 * max(shares["high rate, cosine"], shares["low rate, dot product"]))
    shown = table(
        ["lists", "share of the places"],
        [(name, f"{shares[label]:.0f} %") for name, label in zip("ABC", labels, strict=True)],
    )
    first = "ABC"[labels.index("high rate, dot product")]
    return Numbers({"shown": shown}, {"first": first})


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn(
        {"r": f"0.{whole(rng, 11, 18) if case.number == 1 else whole(rng, 41, 78)}", "n": 1000 * whole(rng, 3, 20)}
    )
