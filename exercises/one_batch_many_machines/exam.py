"""Exam questions on a batch that lies on several machines."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import in_batch, losses, processes
from exercises.engine.asking import Exam, Numbers, judged, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("one-batch-many-machines")
GATHERS = {"constant": "as constants", "gradients": "with gradients"}


@EXAM.asks
def factors(rng: Generator) -> Numbers:
    P, rows, gather = whole(rng, 2, 16), pick(rng, "own", "all"), pick(rng, "constant", "gradients")
    reduction = pick(rng, "mean", "sum") if rows == "own" else "mean"
    redraw_if(gather == "gradients" and reduction == "mean")
    made = processes.gradient_factors(processes=P, rows=rows, gather=gather, reduction=reduction)
    return Numbers(
        {
            "P": P,
            "rows": "its own" if rows == "own" else "all",
            "reduction": reduction,
            "gather": GATHERS[gather],
            "case": [rows, gather],
        },
        {
            "pull": made.pull,
            "near": made.near,
            "far": made.far,
            "direct": made.direct,
            "repair": "None: a push that is 0 stays 0" if made.far == 0 else f"By {Fraction(1) / made.far}",
            "then": f"Without a factor it is ${made.direct}$" if made.far == 0 else f"${made.direct / made.far}$",
        },
    )


@EXAM.asks
def local(rng: Generator) -> Numbers:
    P, B, M, pop = whole(rng, 2, 8), whole(rng, 2, 10), whole(rng, 101, 301), whole(rng, 3, 30)
    ratio = processes.negatives_ratio(processes=P, batch_size=B)
    small, large = rational(in_batch.balance(B, M)), rational(in_batch.balance(P * B, M))
    return Numbers(
        {"total": P * B, "M": M, "P": P, "B": B, "pop": pop},
        {"large": large, "small": small, "w1": large * pop, "w2": small * pop, "ratio": ratio},
    )


@EXAM.asks
def network(rng: Generator) -> Numbers:
    P, d, B = 2 ** whole(rng, 1, 4), 2 ** whole(rng, 5, 8), 2 ** whole(rng, 6, 12)
    sent = processes.gathered_bytes(processes=P, batch_size=B, width=d, rows="own", gather="gradients")
    gramian = processes.gramian_bytes(processes=P, width=d)
    even = Fraction(2 * d, P)
    return Numbers({"P": P, "d": d, "B": B}, {"sent": sent, "gramian": gramian, "even": even})


@EXAM.asks
def times(rng: Generator) -> Numbers:
    P, rows, gather = whole(rng, 2, 16), pick(rng, "own", "all"), pick(rng, "constant", "gradients")
    reduction = pick(rng, "mean", "sum") if rows == "own" else "mean"
    made = processes.gradient_factors(processes=P, rows=rows, gather=gather, reduction=reduction)
    truth = made.times(P).query == made.times(P).pull == made.times(P).near == made.times(P).far == 1
    return Numbers(
        {
            "P": P,
            "rows": "its own" if rows == "own" else "all",
            "reduction": reduction,
            "gather": GATHERS[gather],
            "case": [rows, gather],
        },
        {
            **judged(truth),
            "pull": made.pull,
            "near": made.near,
            "far": made.far,
            "after": [made.pull * P, made.near * P, made.far * P],
        },
    )


# The draw of each case, and whether both pairs lie in one shard.
DRAWS = (("together", None), ("apart", None), ("shards", False), ("shards", True))


@EXAM.asks
def meet(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("meet"))
    draw, same = DRAWS[case.number]
    P, B = whole(rng, 2, 4), whole(rng, 2, 5)
    M = P * whole(rng, B + 1, B + 12)
    place = pick(rng, "near", "far")
    made = processes.meetings(draw, processes=P, batch_size=B, n_positives=M, same_shard=same)
    value = made.near if place == "near" else made.far
    return Numbers(
        {"M": M, "P": P, "B": B, "draw": draw, "same": same, "place": place},
        {**judged(value > 0), "value": value},
        {**case.words, "where": "on one machine" if place == "near" else "on two different machines"},
    )


@EXAM.asks
def push(rng: Generator) -> Numbers:
    P, B = whole(rng, 2, 8), whole(rng, 2, 12)
    made = processes.gradient_factors(processes=P, rows="own", gather="constant")
    mean = processes.mean_push(made, processes=P, batch_size=B)
    return Numbers({"P": P, "B": B}, {"mean": mean})


@EXAM.asks
def softmax(rng: Generator) -> Numbers:
    P, B = pick(rng, 2, 4, 8), pick(rng, 4, 8, 16)
    whole_loss, local_loss = (float(losses.in_batch_softmax(np.zeros((size, size)), tau=1.0)) for size in (P * B, B))
    zeta = processes.negatives_ratio(processes=P, batch_size=B)
    return Numbers(
        {"P": P, "B": B}, {"total": P * B, "one": whole_loss, "local": local_loss, "zeta": zeta, "others": B - 1}
    )


RECIPES = {
    "own rows, with gradients": ("own", "gradients", 1),
    "own rows, with gradients, times $P$": ("own", "gradients", 0),
    "own rows, constants": ("own", "constant", 1),
    "all rows, constants": ("all", "constant", 1),
    "all rows, constants, times $P$": ("all", "constant", 0),
}


@EXAM.asks
def recipe(rng: Generator) -> Numbers:
    P = pick(rng, 2, 4, 8)
    chosen = [list(RECIPES)[int(at)] for at in rng.permutation(len(RECIPES))[:3]]
    made = {}
    for name in chosen:
        rows, gather, plain = RECIPES[name]
        made[name] = processes.gradient_factors(processes=P, rows=rows, gather=gather).times(1 if plain else P)
    lines = [
        (label, *(f"{float(value):.3f}" for value in (m.pull, m.near, m.far, m.direct)))
        for label, m in zip("ABC", made.values(), strict=True)
    ]
    right = [label for label, m in zip("ABC", made.values(), strict=True) if m.right]
    lost = [label for label, m in zip("ABC", made.values(), strict=True) if m.far == 0]
    return Numbers(
        {
            "P": P,
            "shown": table(["program", "pull", "near pushes", "far pushes", "temperature"], lines),
            "chosen": chosen,
        },
        {
            "order": ", ".join(f"{label}: {name}" for label, name in zip("ABC", chosen, strict=True)),
            "right": ", ".join(right) or "None of the three",
            "lost": f" ({', '.join(lost)})" if lost else "",
        },
    )


@EXAM.asks
def uneven(rng: Generator) -> Numbers:
    sizes = [int(size) for size in rng.integers(1, 7, 3)]
    redraw_if(len(set(sizes)) < 3)
    rows = list(zip("ABC", sizes, strict=True))
    weights = [Fraction(1, 3 * size) for size in sizes]
    heaviest = int(np.argmin(sizes))
    repair = [Fraction(3 * size, sum(sizes)) for size in sizes]
    return Numbers(
        {"shown": table(["machine", "pairs"], rows), "sizes": sizes},
        {
            "weights": weights,
            "one": Fraction(1, sum(sizes)),
            "heavy": "ABC"[heaviest],
            "factor": weights[heaviest] * sum(sizes),
            "repair": repair,
        },
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn({"P": pick(rng, 4, 8, 16), "gain": whole(rng, 3, 19)})
