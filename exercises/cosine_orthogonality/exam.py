"""Exam questions on cosine gradients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import geometry, losses
from exercises.engine.asking import Exam, Numbers, mixed, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("cosine-orthogonality")
TRIPLES = ((3, 4), (4, 3), (5, 12), (12, 5), (8, 15), (15, 8))
QUADRUPLES = ((1, 2, 2, 3), (2, 3, 6, 7), (1, 4, 8, 9), (4, 4, 7, 9), (2, 6, 9, 11), (6, 6, 7, 11), (3, 4, 12, 13))


@EXAM.asks
def gradient(rng: Generator) -> Numbers:
    q, k = np.array(pick(rng, *TRIPLES)), np.array(pick(rng, *TRIPLES[:2])) * [1, pick(rng, 1, -1)] * whole(rng, 1, 3)
    found = geometry.cosine_gradient(q, k)
    redraw_if(not found.any())
    return Numbers(
        {"q": q.tolist(), "k": k.tolist()},
        {
            "length": rational(geometry.norm(q)),
            "other": rational(geometry.norm(k)),
            "cosine": rational(geometry.cosine(q, k)),
            "gradient": rational(found, denominator=100_000),
        },
    )


@EXAM.asks
def two_steps(rng: Generator) -> Numbers:
    *legs, _ = pick(rng, *QUADRUPLES)
    start, first, second = mixed(rng, legs)
    rate = pick(rng, Fraction(1, 2), Fraction(1, 4), Fraction(2), Fraction(4))
    after = geometry.norm([start, first]), geometry.norm([start, first, second])
    return Numbers(
        {"start": start, "rate": rate, "slope": first / rate, "second": second},
        {"first": first, "one": rational(after[0] ** 2), "two": rational(after[1] ** 2), "final": rational(after[1])},
    )


@EXAM.asks
def turn(rng: Generator) -> Numbers:
    r, degrees = whole(rng, 1, 4), pick(rng, 30, 90, 150)
    slope = pick(rng, Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3))
    rate = slope * r * r * (1 if degrees == 90 else 2)
    q, k = np.array([r, 0.0]), np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    new = q + float(rate) * geometry.cosine_gradient(q, k)
    return Numbers(
        {"r": r, "degrees": degrees, "rate": rate},
        {
            "slope": slope,
            "step": rational(geometry.norm(new - q)),
            "angle": float(geometry.angle_degrees(q, new)),
            "longer": float(geometry.norm(new)),
        },
    )


@EXAM.asks
def tangent(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("tangent"))
    return case.drawn({"n": whole(rng, 2, 6)})


@EXAM.asks
def shorter(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("shorter"))
    (a, b), rate = pick(rng, *TRIPLES[:2]), pick(rng, Fraction(1, 2), 1)
    q, k = np.array([a, b]), np.array([1.0, 0.0])
    slope = geometry.cosine_gradient(q, k)
    factor = float(rate)
    step = (-factor * slope, 100 * factor * slope, factor * (slope - q / 2), -factor * k)[case.number]
    return case.drawn({"q": q.tolist(), "rate": rate}, {"before": int(q @ q), "after": float(((q + step) ** 2).sum())})


@EXAM.asks
def degree(rng: Generator) -> Numbers:
    m, q, k = whole(rng, 2, 4), rng.integers(-3, 4, 3), rng.integers(-2, 3, 3)
    score = int(losses.dot_scores([q], [k])[0, 0])
    redraw_if(score in (0, 1, -1))
    return Numbers({"m": m, "q": q.tolist(), "k": k.tolist()}, {"score": score, "value": m * score**m})


@EXAM.asks
def bias(rng: Generator) -> Numbers:
    q, w, k = (rng.integers(-3, 4, 2) for _ in range(3))
    redraw_if(not (q.any() and k.any() and (q + w).any() and w.any()))
    slope = geometry.cosine_gradient(q + w, k)
    value = float(q @ slope)
    redraw_if(abs(value) < 0.02)
    return Numbers(
        {"q": q.tolist(), "w": w.tolist(), "k": k.tolist()},
        {"slope": slope.tolist(), "value": value, "outcome": "longer" if value > 0 else "shorter"},
    )


@EXAM.asks
def optimisers(rng: Generator) -> Numbers:
    labels = mixed(rng, ("plain gradient descent", "momentum", "weight decay"))
    start, keys = rng.normal(size=8), rng.normal(size=(5, 8))
    runs = {label: outward(start, keys, label) for label in labels}
    rows = [(name, *(f"{value:+.2f}" for value in runs[label])) for name, label in zip("ABC", labels, strict=True)]
    return Numbers(
        {
            "shown": table(["run", *(f"step {n}" for n in range(1, 6))], rows),
            "start": start.tolist(),
            "keys": keys.tolist(),
        },
        {"order": ", ".join(f"{name}: {label}" for name, label in zip("ABC", labels, strict=True))},
    )


def outward(start: np.ndarray, keys: np.ndarray, label: str) -> list[float]:
    """The cosine between the vector and its step, for each key in turn."""
    q, memory, found = start, np.zeros_like(start), []
    for key in keys:
        slope = geometry.cosine_gradient(q, key) - (0.2 * q if label == "weight decay" else 0)
        memory = slope + (0.9 * memory if label == "momentum" else 0)
        step = 2 * memory
        found.append(float(geometry.cosine(q, step)) + 0.0)
        q = q + step
    return [0.0 if abs(value) < 1e-9 else value for value in found]


@EXAM.asks
def films(rng: Generator) -> Numbers:
    lengths, angles = rng.choice([1, 2, 3, 4, 5, 6], 4, replace=False), rng.choice([30, 90, 150, 180], 4)
    q = np.array([[length, 0.0] for length in lengths])
    k = np.array([[np.cos(np.radians(angle)), np.sin(np.radians(angle))] for angle in angles])
    k[angles == 180] = [-1.0, 0.0]
    slopes = geometry.norm(geometry.cosine_gradient(q, k))
    moved = slopes / lengths  # the turn at the rate 1, before the arc tangent
    redraw_if((angles == 180).sum() != 1 or len(set(np.round(moved, 6))) < 4)
    rows = [(name, f"{angle}°", f"{slope:.3f}") for name, angle, slope in zip("ABCD", angles, slopes, strict=True)]
    stuck = int(np.argmax(angles == 180))
    return Numbers(
        {"shown": table(["film", "angle", "length of the gradient"], rows)},
        {
            "told": ", ".join(
                f"{name} {length}" for name, length, angle in zip("ABCD", lengths, angles, strict=True) if angle < 180
            ),
            "most": "ABCD"[int(np.argmax(moved))],
            "stuck": "ABCD"[stuck],
        },
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn({"n": whole(rng, 5, 40), "ratio": whole(rng, 3, 9)})
