"""Exam questions on the bias of in-batch sampling."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import in_batch, processes
from course_lib.arrays import exact
from course_lib.interactions import Interactions
from course_lib.training.objectives import closed_form
from exercises.engine.asking import Exam, Numbers, mixed, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("in-batch-bias")


def labels_of(rng: Generator, m: int, n: int, positives: int) -> np.ndarray:
    """A label matrix without empty rows and columns."""
    labels = (rng.permutation(m * n) < positives).astype(int).reshape(m, n)
    redraw_if(not labels.any(axis=0).all() or not labels.any(axis=1).all())
    return labels


def busiest(pop: np.ndarray, where: np.ndarray) -> tuple[int, int]:
    """The cell with the largest popularity among those of `where`."""
    i, j = np.unravel_index(np.argmax(np.where(where, pop, -1)), pop.shape)
    return int(i), int(j)


@EXAM.asks
def weights(rng: Generator) -> Numbers:
    labels = labels_of(rng, 3, 3, whole(rng, 5, 6))
    redraw_if(labels.all())
    M, s = int(labels.sum()), whole(rng, 2, 4)
    pop = np.outer(labels.sum(1), labels.sum(0))
    liked, other = busiest(pop, labels == 1), busiest(pop, labels == 0)
    _, negative = in_batch.expected_weights("in_batch", labels=exact(labels), batch_size=s)
    redraw_if(pop[liked] == 1)
    return Numbers(
        {"Y": labels.tolist(), "s": s, "li": liked[0] + 1, "lj": liked[1] + 1, "oi": other[0] + 1, "oj": other[1] + 1},
        {
            "rho": rational(in_batch.balance(s, M)),
            "pop1": int(pop[liked]),
            "pop2": int(pop[other]),
            "w1": 9 * negative[liked],
            "w2": 9 * negative[other],
        },
    )


@EXAM.asks
def unbiased(rng: Generator) -> Numbers:
    M, shape = whole(rng, 9, 13), (pick(rng, 4, 5), pick(rng, 4, 5))
    labels = labels_of(rng, *shape, M)
    first, second = rng.choice(np.argwhere(labels), 2, replace=False)
    redraw_if((first == second).any())
    rows, cols = labels.sum(1)[[first[0], second[0]]], labels.sum(0)[[first[1], second[1]]]
    positive, negative = in_batch.batch_weights(
        "unbiased", row_counts=exact(rows), col_counts=exact(cols), n_positives=M, shape=shape
    )
    return Numbers(
        {
            "m": shape[0],
            "n": shape[1],
            "M": M,
            "rows": f"{rows[0]} and {rows[1]}",
            "cols": f"{cols[0]} and {cols[1]}",
            "Y": labels.tolist(),
            "pairs": [first.tolist(), second.tolist()],
        },
        {
            "a": Fraction(M, 2 * shape[0] * shape[1]),
            "rho": rational(in_batch.balance(2, M)),
            "w": positive[0],
            "pop": int(rows[0] * cols[1]),
            "cross": negative[0, 1],
            "own_pop": int(rows[0] * cols[0]),
            "own": negative[0, 0],
        },
        EXAM.cases("unbiased")[int(rows[0] * cols[0] > 1)].words,
    )


@EXAM.asks
def threshold(rng: Generator) -> Numbers:
    pop, M = whole(rng, 6, 40), whole(rng, 200, 900)
    largest = max(s for s in range(2, M + 1) if in_batch.misclassification_threshold(s, M) >= pop)
    half = max(2, largest // 2)
    best = in_batch.in_batch_optimum("square", pop=pop, batch_size=half, n_positives=M)
    return Numbers({"M": M, "pop": pop, "half": half}, {"largest": largest, "best": float(best)})


@EXAM.asks
def claims(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("claims"))
    pop, M = whole(rng, 4, 9), whole(rng, 20, 40)
    sizes = (whole(rng, 2, 4), whole(rng, 6, 10))
    pushed = [rational(in_batch.balance(s, M)) * (pop - 1) for s in sizes]
    return case.drawn({"pop": pop, "M": M, "s1": sizes[0], "s2": sizes[1]}, {"w1": pushed[0], "w2": pushed[1]})


@EXAM.asks
def needs(rng: Generator) -> Numbers:
    case, M, s = pick(rng, *EXAM.cases("needs")), whole(rng, 5, 12), whole(rng, 2, 4)
    return case.drawn({"M": M, "s": s}, {"copy": Fraction(1, M)})


@EXAM.asks
def cell(rng: Generator) -> Numbers:
    case, M, s, pop = pick(rng, *EXAM.cases("cell")), whole(rng, 8, 12), whole(rng, 2, 4), whole(rng, 2, 6)
    liked = bool(rng.integers(2))
    if case.name == "one":
        value = in_batch.inclusion_probability(2, batch_size=s, n_positives=M) * (pop - liked)
    else:
        meetings = processes.meetings("apart", processes=2, batch_size=s, n_positives=M)
        value = (meetings.far * (pop - liked) + meetings.copies * liked) / 2
    return Numbers(
        {"M": M, "s": s, "pop": pop, "liked": "liked" if liked else "not liked", "case": case.name},
        {"value": value},
        case.words,
    )


@EXAM.asks
def best(rng: Generator) -> Numbers:
    case, M, s = pick(rng, *EXAM.cases("best")), whole(rng, 21, 41), whole(rng, 2, 6)
    films, rare = whole(rng, 2, 3), whole(rng, 2, 4)
    pops = [films * rare, films * (rare + whole(rng, 2, 6))]
    scores = [
        [float(in_batch.in_batch_optimum(case.name, pop=pop, batch_size=size, n_positives=M)) + 0.0 for pop in pops]
        for size in (s, M)
    ]
    return Numbers(
        {"loss": case.name, "M": M, "s": s, "rare": pops[0], "popular": pops[1]},
        {
            "w1": rational(in_batch.balance(s, M)) * (pops[0] - 1),
            "w2": rational(in_batch.balance(s, M)) * (pops[1] - 1),
            **dict(zip(("x1", "x2", "y1", "y2"), scores[0] + scores[1], strict=True)),
        },
        case.words,
    )


KINDS = {
    "in_batch": "the in-batch loss",
    "popularity": "the popularity loss ($\\ell^-$ divided by $\\rho$)",
    "pos_neg": "the pos-neg loss (the unbiased loss with $\\ell^-$ times $\\rho$)",
    "unbiased": "the unbiased loss",
}


@EXAM.asks
def losses(rng: Generator) -> Numbers:
    labels = labels_of(rng, 4, 4, 8)
    s = whole(rng, 3, 4)
    pop = np.outer(labels.sum(1), labels.sum(0))
    liked, other = busiest(pop, labels == 1), busiest(pop, labels == 0)
    redraw_if(pop[liked] < 4 or pop[other] < 2)
    found = {kind: in_batch.expected_weights(kind, labels=exact(labels), batch_size=s)[1] for kind in KINDS}
    order = mixed(rng, list(KINDS))
    rows = [
        (name, *(str(16 * found[kind][place]) for place in (liked, other)))
        for name, kind in zip("ABCD", order, strict=True)
    ]
    return Numbers(
        {
            "s": s,
            "pop1": int(pop[liked]),
            "pop2": int(pop[other]),
            "labels": labels.tolist(),
            "shown": table(["loss", "liked pair", "other pair"], rows),
        },
        {
            "order": ", ".join(
                f"{name}: {KINDS[kind].split(' (')[0]}" for name, kind in zip("ABCD", order, strict=True)
            ),
            "rho": rational(in_batch.balance(s, 8)),
        },
    )


@EXAM.asks
def lists(rng: Generator) -> Numbers:
    taste = 1 / (1 + np.arange(30))
    chance = np.clip(1.6 * taste * np.exp(0.8 * rng.normal(size=(80, 30))), 0, 0.85)
    data = Interactions(*np.nonzero(rng.random((80, 30)) < chance), n_users=80, n_items=30)
    redraw_if(not (data.row_counts.all() and data.col_counts.all()))
    users, rare = closed_form("popularity", data, 4)
    counts = data.col_counts.astype(float)
    plain = closed_form("unbiased", data, 4)
    scores = {
        "all pairs": plain[0] @ plain[1].T,
        "in-batch, largest batch": users @ rare.T,
        "in-batch, times popularity": users @ rare.T * counts,
    }
    fans = {
        name: float(np.median(counts[np.argsort(-np.where(data.labels() == 1, -np.inf, value), axis=1)[:, :3]]))
        for name, value in scores.items()
    }
    low, high = fans["in-batch, largest batch"], min(fans["all pairs"], fans["in-batch, times popularity"])
    redraw_if(high < 2 * low)
    order = mixed(rng, list(scores))
    rows = [(name, f"{fans[label]:.0f}") for name, label in zip("ABC", order, strict=True)]
    which = "ABC"[order.index("in-batch, largest batch")]
    return Numbers(
        {"films": 30, "median": int(np.median(counts)), "shown": table(["lists", "fans of the median film"], rows)},
        {"which": which},
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn({"small": 2 ** whole(rng, 5, 8), "large": 2 ** whole(rng, 11, 14)})
