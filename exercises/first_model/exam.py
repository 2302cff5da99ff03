"""Exam questions on the first model; it has five, as it has no assignment."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from course_lib import losses
from exercises.engine.asking import Exam, Numbers, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("first-model")


@EXAM.asks
def row(rng: Generator) -> Numbers:
    odds = [whole(rng, 1, 8), whole(rng, 1, 8), whole(rng, 1, 8)]
    redraw_if(len(set(odds)) == 1)
    tau = pick(rng, Fraction(1, 2), Fraction(1, 5), 1)
    scores = float(tau) * np.log(odds)
    grid = np.tile(scores, (3, 1))
    loss = float(losses.infonce(grid[:1], tau=float(tau), positives=np.array([0])))
    return Numbers(
        {"o1": odds[0], "o2": odds[1], "o3": odds[2], "tau": tau, "share": Fraction(1, 10 * whole(rng, 1, 9))},
        {"p": [Fraction(value, sum(odds)) for value in odds], "first": rational(float(np.exp(-loss))), "loss": loss},
    )


@EXAM.asks
def claims(rng: Generator) -> Numbers:
    case, fans, batch, total = pick(rng, *EXAM.cases("claims")), whole(rng, 50, 400), pick(rng, 128, 256, 512), 20_000
    return case.drawn(
        {"total": total, "batch": batch, "fans": fans},
        {"often": fans * (batch - 1) / (total - 1), "once": (batch - 1) / (total - 1)},
    )


@EXAM.asks
def learns(rng: Generator) -> Numbers:
    likes = [whole(rng, 1, 5) for _ in range(3)]
    fans = [whole(rng, 1, 9) for _ in range(3)]
    ratio = [Fraction(like, sum(likes)) / Fraction(fan, sum(fans)) for like, fan in zip(likes, fans, strict=True)]
    top, most = ratio.index(max(ratio)), likes.index(max(likes))
    redraw_if(ratio.count(ratio[top]) > 1 or likes.count(likes[most]) > 1 or top == most)
    return Numbers({"likes": likes, "fans": fans}, {"ratio": ratio, "top": top + 1, "most": most + 1})


@EXAM.asks
def recall(rng: Generator) -> Numbers:
    hidden = [sorted(rng.choice(10, int(rng.integers(1, 4)), replace=False).tolist()) for _ in range(3)]
    lists = [rng.choice(10, 4, replace=False).tolist() for _ in range(3)]
    popular = rng.choice(10, 4, replace=False).tolist()

    def found(shown: list[list[int]]) -> Fraction:
        shares = [Fraction(len(set(h) & set(s)), len(h)) for h, s in zip(hidden, shown, strict=True)]
        return sum(shares, Fraction(0)) / 3

    model, baseline = found(lists), found([popular] * 3)
    redraw_if(model == baseline or not model)
    letter = "ABCDEFGHIJ"
    rows = [(u + 1, " ".join(letter[i] for i in hidden[u]), " ".join(letter[i] for i in lists[u])) for u in range(3)]
    return Numbers(
        {
            "shown": table(["person", "hidden", "list"], rows),
            "popular": " ".join(letter[i] for i in popular),
            "sets": [hidden, lists, [popular]],
        },
        {"model": model, "baseline": baseline, "better": "The model" if model > baseline else "The second program"},
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case, mine = pick(rng, *EXAM.cases("reply")), whole(rng, 5, 12)
    return case.drawn({"mine": mine, "theirs": mine + whole(rng, 3, 9)})
