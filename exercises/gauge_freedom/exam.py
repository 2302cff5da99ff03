"""Exam questions on gauges and cosines."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.random import Generator

from course_lib import gauge, geometry
from course_lib.arrays import exact
from exercises.engine.asking import Exam, Numbers, judged, mixed, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("gauge-freedom")


@EXAM.asks
def right_angle(rng: Generator) -> Numbers:
    stretch, (x, y) = whole(rng, 2, 4), (whole(rng, 1, 4), whole(rng, 1, 4))
    b1, b2 = [stretch * x, y], [stretch * y, -x]
    person = [whole(rng, 1, 3), whole(rng, -3, 3, but=(0,))]
    A, B = gauge.apply_gauge([person], np.array([b1, b2], dtype=float), [stretch, 1.0])
    return Numbers(
        {"b1": b1, "b2": b2, "person": person, "b1x": b1[0], "b2x": b2[0], "b1y": b1[1], "b2y": b2[1]},
        {
            "stretch": stretch,
            "new1": rational(B[0]),
            "new2": rational(B[1]),
            "new_a": rational(A[0]),
            "s1": rational((A @ B.T)[0, 0]),
            "s2": rational((A @ B.T)[0, 1]),
            "inner": int(np.dot(b1, b2)),
            "after": rational(geometry.cosine(B[0], B[1])),
        },
    )


@EXAM.asks
def count(rng: Generator) -> Numbers:
    rows = rng.integers(-1, 2, (3, 3))
    redraw_if(not rows.any(axis=1).all() or np.linalg.matrix_rank(rows) < 3)
    A = exact(rows)
    diagonal, linear = gauge.diagonal_gauge_dimension(A), gauge.linear_gauge_dimension(A)
    redraw_if(diagonal == 0)
    return Numbers(
        {"rows": rows.tolist()},
        {
            "rank": 3 - diagonal,
            "diagonal": diagonal,
            "span": 6 - linear,
            "linear": linear,
            "delta": [rational(float(entry)) for entry in gauge.gauge_directions(A)[:, 0]],
        },
    )


@EXAM.asks
def decay(rng: Generator) -> Numbers:
    d = np.array([pick(rng, 1, 2, 3), pick(rng, 1, 2, 3)])
    a, sizes = np.array([whole(rng, 1, 3), whole(rng, 1, 3)]), np.array([[1, 1], [1, -1]])
    A, B = sizes * a, sizes * a * d**2
    redraw_if((d == 1).all())
    even_A, even_B = gauge.balance_tables(A.astype(float), B.astype(float))
    return Numbers(
        {"A": A.tolist(), "B": B.tolist()},
        {"d": d.tolist(), "least": rational(np.round((even_A**2).sum() + (even_B**2).sum(), 9))},
    )


def maps(a: int, b: int) -> list[tuple[list[list[int]], bool]]:
    """Matrices, and whether each leaves all cosines alone."""
    return [
        ([[a, -b], [b, a]], True),
        ([[a, b], [b, -a]], True),
        ([[-a, 0], [0, a]], True),
        ([[a, 0], [b, a]], False),
        ([[a, b], [0, a]], False),
        ([[a, b], [b, a]], False),
    ]


@EXAM.asks
def felt(rng: Generator) -> Numbers:
    a, b = whole(rng, 1, 4), whole(rng, 1, 4)
    if a == b:
        b += 1
    M, truth = pick(rng, *maps(a, b))
    matrix = np.array(M, dtype=float)
    pairs = np.array([[[1, 0], [0, 1]], [[1, 1], [1, -1]]], dtype=float)
    cosines = [float(geometry.cosine(matrix @ x, matrix @ y)) for x, y in pairs]
    return Numbers(
        {"M": M},
        {**judged(truth), "square": rational(matrix.T @ matrix), "first": cosines[0] + 0.0, "second": cosines[1] + 0.0},
    )


@EXAM.asks
def sphere(rng: Generator) -> Numbers:
    tables = (
        ([[1, 0], [0, 1]], "the two axes"),
        ([[3, 4], [4, 3]], "$(3,4)/5$ and $(4,3)/5$"),
        ([[3, 4], [-3, 4]], "$(3,4)/5$ and $(-3,4)/5$"),
        ([[5, 12], [12, -5]], "$(5,12)/13$ and $(12,-5)/13$"),
        ([[5, 12], [5, -12]], "$(5,12)/13$ and $(5,-12)/13$"),
        ([[1, 1], [1, -1]], "$(1,1)/\\sqrt2$ and $(1,-1)/\\sqrt2$"),
    )
    rows, words = pick(rng, *tables)
    left = gauge.diagonal_gauge_dimension(exact(np.array(rows)))
    return Numbers(
        {"rows": rows, "words": words},
        {
            **judged(left == 0),
            "squares": (np.array(rows) ** 2).tolist(),
            "rank": 2 - left,
            "besides": "a family with one parameter keeps both lengths" if left else "nothing but the signs is left",
        },
    )


@EXAM.asks
def similarity(rng: Generator) -> Numbers:
    A, b1, b2 = rng.integers(-2, 3, (2, 2)), rng.integers(-2, 3, 2), rng.integers(-2, 3, 2)
    weights = pick(rng, (1, 1), (1, 2), (3, 1))
    heavy = A * np.sqrt(weights)[:, None]
    product = b1 @ (heavy.T @ heavy) @ b2
    redraw_if(np.linalg.matrix_rank(A) < 2 or not b1.any() or not b2.any())
    redraw_if((b1 == b2).all() or not round(float(product)))
    rows = gauge.score_rows(heavy, np.array([b1, b2], dtype=float))
    return Numbers(
        {"A": A.tolist(), "weights": list(weights), "b1": b1.tolist(), "b2": b2.tolist()},
        {
            "s1": (A @ b1).tolist(),
            "s2": (A @ b2).tolist(),
            "product": rational(np.round(product, 9)),
            "again": rational(np.round(rows[0] @ rows[1], 9)),
        },
    )


@EXAM.asks
def every_other(rng: Generator) -> Numbers:
    d = pick(rng, (2, 1), (3, 1), (1, 2), (3, 2), (1, 3))
    M = np.diag([float(entry) for entry in d])
    after = geometry.cosine(M @ [1.0, 1.0], M @ [1.0, -1.0])
    factor = pick(rng, 2, 3, 5)
    return Numbers({"m1": d[0], "m2": d[1], "factor": factor}, {"after": rational(after)})


@EXAM.asks
def tables(rng: Generator) -> Numbers:
    A, B = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    _, new_B = gauge.apply_gauge(A, B, np.array([pick(rng, 3.0, 4.0), 0.5]))
    looks = {"model 1": B, "model 2": new_B, "predictions": gauge.score_rows(A, B)}
    pairs = list(combinations(range(4), 2))
    cosines = {name: [float(geometry.cosine(rows[i], rows[j])) for i, j in pairs] for name, rows in looks.items()}
    nearest = {name: int(gauge.neighbours(rows, 1)[0, 0]) for name, rows in looks.items()}
    close = any(abs(np.diff(sorted(values[:3])[-2:])[0]) < 0.03 for values in cosines.values())
    redraw_if(nearest["model 1"] == nearest["model 2"] or close)
    shown = table(
        ["films", "cosine in model 1", "cosine in model 2", "cosine of the columns of scores in model 1"],
        [
            ("-".join("PQRS"[place] for place in pair), *(f"{cosines[name][at]:.2f}" for name in looks))
            for at, pair in enumerate(pairs)
        ],
    )
    return Numbers(
        {"shown": shown},
        {f"{place}": "PQRS"[nearest[name]] for place, name in zip(("first", "second", "third"), looks, strict=True)},
    )


@EXAM.asks
def changes(rng: Generator) -> Numbers:
    B = rng.normal(size=(40, 6))
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    looks = {
        "a rotation": B @ turn,
        "a division of each row by its length": geometry.normalise(B),
        "a small random stretch of the axes": B * np.exp(0.3 * rng.normal(size=6)),
        "a large random stretch of the axes": B * np.exp(2.0 * rng.normal(size=6)),
    }
    before = gauge.neighbours(B, 5)
    kept = {
        name: 100 * gauge.neighbour_overlap(before, gauge.neighbours(rows, 5)).mean() for name, rows in looks.items()
    }
    little, much = kept["a small random stretch of the axes"], kept["a large random stretch of the axes"]
    redraw_if(little - much < 15 or little > 97)
    labels = mixed(rng, list(looks))
    rows = [(name, f"{kept[label]:.0f} %") for name, label in zip("ABCD", labels, strict=True)]
    place = dict(zip(labels, "ABCD", strict=True))
    alike = sorted((place["a rotation"], place["a division of each row by its length"]))
    return Numbers(
        {"shown": table(["change", "neighbours that stay"], rows)},
        {
            "alike": " and ".join(alike),
            "little": place["a small random stretch of the axes"],
            "much": place["a large random stretch of the axes"],
        },
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn({"n": whole(rng, 16, 64) if case.number else whole(rng, 6, 12)})
