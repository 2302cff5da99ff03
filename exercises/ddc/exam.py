"""Exam questions on directional decomposition and correction."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import correction, geometry, losses
from exercises.engine.asking import Exam, Numbers, Redraw, judged, rational, redraw_if, table, written
from exercises.engine.variants import pick, whole

EXAM = Exam("ddc")


@EXAM.asks
def slopes(rng: Generator) -> Numbers:
    score = whole(rng, -2, 3)
    a, b = [whole(rng, -2, 5) for _ in range(2)], [whole(rng, -3, 6) for _ in range(3)]
    redraw_if(sum(a) == 0 or sum(b) == 0)
    slope = correction.user_gradient([score] * 2, [score] * 3, a, b, 0.0, 0.0)
    return Numbers(
        {"a": a, "b": b, "score": score},
        {
            "alpha": rational(slope[0]),
            "beta": rational(slope[1]),
            "down": "falls" if slope[0] > 0 else "rises",
            "up": "rises" if slope[1] < 0 else "falls",
        },
    )


@EXAM.asks
def level(rng: Generator) -> Numbers:
    s, t = [whole(rng, -3, 6), whole(rng, -3, 6)], [whole(rng, -6, 3), whole(rng, -6, 3)]
    c, d = whole(rng, 1, 3), whole(rng, 1, 3)
    redraw_if(s[0] == s[1] or t[0] == t[1] or sum(s) - sum(t) < 2)
    best = correction.solve_user(s, t, [c, -c], [d, -d])
    if best is None:
        raise Redraw
    alpha, beta = (rational(value, denominator=24) for value in best)
    margin = rational(correction_margin(s, t, c, d, alpha, beta), denominator=24)
    return Numbers({"s": s, "t": t, "c": c, "d": d}, {"alpha": alpha, "beta": beta, "margin": margin})


def correction_margin(s: list[int], t: list[int], c: int, d: int, alpha: Fraction, beta: Fraction) -> float:
    """The margin that the loss at (alpha, beta) stands for, if all margins are equal."""
    value = correction.user_loss(s, t, [c, -c], [d, -d], float(alpha), float(beta))
    return float(-np.log(np.expm1(value)))


@EXAM.asks
def push(rng: Generator) -> Numbers:
    pop, scale = np.array(pick(rng, (3, 4), (4, 3))), whole(rng, 1, 3)
    pref = np.array(pick(rng, (1, 0), (0, 1), (5, 12), (12, 5), (-5, 12)))
    alpha, beta = -Fraction(whole(rng, 1, 9), 2), Fraction(whole(rng, 1, 9), 2)
    unit, own = geometry.normalise(pop.astype(float)), geometry.normalise(pref.astype(float))
    moved = float(alpha) * unit + float(beta) * own
    value = rational(float(moved @ (5 * scale * unit)))
    redraw_if(value == 0)
    length = rational(geometry.norm(pref))
    return Numbers(
        {
            "v": (scale * pop).tolist(),
            "own": pref.tolist() if length == 1 else rf"\frac1{{{length}}}{written(pref.tolist())}",
            "pref": pref.tolist(),
            "length": length,
            "alpha": alpha,
            "beta": beta,
        },
        {
            "unit": rational(unit),
            "cosine": rational(float(unit @ own)),
            "value": value,
            "verdict": "No: the difference grew, although $\\alpha<0$." if value > 0 else "Yes: the difference fell.",
            "even": rational(-float(beta) * float(unit @ own)),
        },
    )


@EXAM.asks
def optimum(rng: Generator) -> Numbers:
    a = [whole(rng, 1, 4), whole(rng, 1, 4) * pick(rng, 1, -1)]
    b = [whole(rng, 1, 4) * pick(rng, 1, -1) for _ in range(3)]
    truth = correction.has_minimiser(a, b)
    reasons = ["all $a_i$ have one sign, so $\\beta$ runs to $+\\infty$" if min(a) > 0 else ""]
    reasons.append(
        ""
        if min(b) < 0 < max(b)
        else f"all $b_j$ have one sign, so $\\alpha$ runs to ${'-' if min(b) > 0 else '+'}\\infty$"
    )
    why = "; ".join(reason for reason in reasons if reason)
    return Numbers({"a": a, "b": b}, {**judged(truth), "why": why or "both have both signs"})


@EXAM.asks
def origin(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("origin"))
    b = [-whole(rng, 3, 5), whole(rng, 1, 2)]
    shift = whole(rng, 6, 9)
    slope = [
        correction.user_gradient([0], [0, 0], [1], [value + move for value in b], 0.0, 0.0)[0] for move in (0, shift)
    ]
    return case.drawn({"shift": shift, "b": b}, {"before": rational(slope[0]), "after": rational(slope[1])})


@EXAM.asks
def free(rng: Generator) -> Numbers:
    a, b = [whole(rng, -1, 4) for _ in range(2)], [whole(rng, 1, 6) for _ in range(2)]
    a_neg, b_pos = [whole(rng, -1, 4) for _ in range(2)], [whole(rng, 1, 6) for _ in range(2)]
    alpha, beta = -whole(rng, 1, 3), whole(rng, 1, 3)
    mean = [Fraction(sum(values), 2) for values in (a, b, a_neg, b_pos)]
    learned = beta * mean[0] - alpha * mean[1]
    served = beta * (mean[0] - mean[2]) - alpha * (mean[1] - mean[3])
    redraw_if(learned <= 0 or served == learned)
    zero = correction.user_loss([0, 0], [0, 0], [float(mean[0])] * 2, [float(mean[1])] * 2, alpha, beta)
    return Numbers(
        {"alpha": alpha, "beta": beta, "a": a, "b": b, "a_neg": a_neg, "b_pos": b_pos},
        {"learned": learned, "served": served, "loss": zero},
    )


@EXAM.asks
def endless(rng: Generator) -> Numbers:
    case, size = pick(rng, *EXAM.cases("endless")), whole(rng, 1, 3)
    name = case.name
    sign = {"b>0": "-", "b<0": "+", "a>0": "+"}[name]
    which = "\\alpha" if name[0] == "b" else "\\beta"
    a, b = ([1, -1], [2, 1, 3]) if name == "b>0" else ([1, -1], [-2, -1, -3]) if name == "b<0" else ([2, 1], [1, -1, 2])
    far = (-30.0, 0.0) if name == "b>0" else (30.0, 0.0) if name == "b<0" else (0.0, 30.0)
    near = tuple(value / 30 * size for value in far)
    values = [correction.user_loss([0, 0], [0, 0, 0], a, b, *at) for at in ((0.0, 0.0), near, far)]
    return Numbers(
        {"a": a, "b": b, "size": size},
        {
            "which": which,
            "near": int(near[0] or near[1]),
            "sign": sign,
            "value": values[1],
            "limit": values[2],
            "vector": ("-" if sign == "-" else "") + ("e_{pop}" if name[0] == "b" else "e_{pref}"),
        },
        case.words,
    )


@EXAM.asks
def users(rng: Generator) -> Numbers:
    rows, rises = [], []
    for name in "PQR":
        for _ in range(100):
            s, a, b_pos = rng.normal(0.5, 1, 3), rng.normal(0.4, 1, 3), rng.normal(0.5, 1, 3)
            t, b, a_neg = rng.normal(-0.5, 1, 4), rng.normal(0.6, 1, 4), rng.normal(0.3, 1, 4)
            best = correction.solve_user(s, t, a, b)
            if best is not None and max(map(abs, best)) < 3:
                break
        else:
            raise Redraw
        alpha, beta = best
        before = correction.user_loss(s, t, a, b, 0.0, 0.0)
        learned = correction.user_loss(s, t, a, b, alpha, beta)
        served = correction.user_loss(s + alpha * b_pos + beta * a, t + alpha * b + beta * a_neg, a, b, 0.0, 0.0)
        rows.append((name, f"{before:.3f}", f"{learned:.3f}", f"{served:.3f}"))
        rises.append(served > before + 0.02)
        redraw_if(abs(served - before) <= 0.02 or before - learned < 0.02)
    redraw_if(not 0 < sum(rises) < 3)
    return Numbers(
        {"shown": table(["user", "model", "DDC at its minimum", "served"], rows)},
        {"raised": " and ".join(name for name, up in zip("PQR", rises, strict=True) if up)},
    )


@EXAM.asks
def wrong(rng: Generator) -> Numbers:
    margins = [rng.normal(mean, 1.5, 400) for mean in rng.permutation([0.6, 2.0, 3.5])]
    means = [float(losses.bpr(x, np.zeros_like(x))) for x in margins]
    shares = [float((x < 0).mean()) for x in margins]
    bounds = [value / np.log(2) for value in means]
    liar = int(rng.integers(3))
    claimed = [share if at != liar else bounds[at] * 1.2 + 0.02 for at, share in enumerate(shares)]
    redraw_if(claimed[liar] > 0.9)  # more than all triples would be wrong without any bound
    rows = [(n, f"{value:.3f}", f"{100 * share:.0f} %") for n, value, share in zip("PQR", means, claimed, strict=True)]
    factor = whole(rng, 2, 5)
    return Numbers(
        {
            "shown": table(["model", "mean loss", "wrong order"], rows),
            "factor": factor,
            "means": means,
            "claimed": claimed,
        },
        {"liar": "PQR"[liar], "bound": 100 * bounds[liar]},
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    times, low = whole(rng, 3, 9), whole(rng, 11, 19)
    return case.drawn(
        {"high": f"{low * times / 100:.2f}", "low": f"{low / 100:.2f}", "times": times, "share": whole(rng, 81, 97)}
    )
