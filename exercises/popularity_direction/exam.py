"""Exam questions on the direction of popularity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch
from numpy.random import Generator

from course_lib import losses, popularity
from course_lib.arrays import exact
from course_lib.interactions import TripleLaw
from exercises.engine.asking import Exam, Numbers, judged, mixed, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("popularity-direction")


def fans(rng: Generator, m: int, n: int, share: float) -> np.ndarray:
    """Who likes what."""
    return (rng.random((m, n)) < share).astype(int)


def unclear(labels: np.ndarray) -> bool:
    """Whether somebody likes nothing or everything, a film is liked by nobody, or all films by as many."""
    rows, cols = labels.sum(1), labels.sum(0)
    return bool(not rows.all() or rows.max() == labels.shape[1] or not cols.all() or np.ptp(cols) == 0)


@EXAM.asks
def pulls(rng: Generator) -> Numbers:
    labels = fans(rng, 3, 4, 0.5)
    redraw_if(unclear(labels))
    pull = popularity.pull_matrix(exact(labels))
    net = pull.sum(axis=0)
    return Numbers(
        {"Y": labels.tolist()},
        {
            "M": pull.tolist(),
            "net": net.tolist(),
            "gaining": ", ".join(f"film {i + 1}" for i in range(4) if net[i] > 0) or "None",
        },
    )


@EXAM.asks
def triple(rng: Generator) -> Numbers:
    user, positive = rng.integers(-2, 4, 2), rng.integers(-2, 4, 2)
    across = np.array([user[1], -user[0]])
    negative, rate = positive + whole(rng, -1, 1, but=(0,)) * across, pick(rng, Fraction(1, 2), 1, 2)
    redraw_if(not user.any() or not (user @ positive))
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (user, positive, negative)]
    losses.bpr((leaves[0] * leaves[1]).sum()[None], (leaves[0] * leaves[2]).sum()[None]).backward()
    new = [rational((leaf - float(rate) * leaf.grad).detach().numpy()) for leaf in leaves if leaf.grad is not None]
    return Numbers(
        {"rate": rate, "user": user.tolist(), "positive": positive.tolist(), "negative": negative.tolist()},
        {"u": new[0], "i": new[1], "j": new[2]},
    )


@EXAM.asks
def direction(rng: Generator) -> Numbers:
    step, scale = np.array(pick(rng, (3, 4), (4, 3), (-3, 4), (4, -3))), whole(rng, 1, 2)
    items = rng.integers(-3, 4, (4, 2)) * 5
    counts = np.array(mixed(rng, [whole(rng, 2, 9), whole(rng, 20, 40), whole(rng, 50, 70), whole(rng, 80, 99)]))
    head, tail = int(np.argmax(counts)), int(np.argmin(counts))
    items[head] = items[tail] + 5 * scale * step
    pop = popularity.popularity_direction(items.astype(float), counts, 0.25)
    places = items @ pop
    centre = whole(rng, 1, 5)
    redraw_if(len(set(np.round(places, 6))) < 4)
    rows = [
        (name, f"${tuple(int(x) for x in row)}$", count) for name, row, count in zip("ABCD", items, counts, strict=True)
    ]
    return Numbers(
        {
            "shown": table(["film", "vector", "fans"], rows),
            "items": items.tolist(),
            "counts": counts.tolist(),
            "centre": centre,
        },
        {"head": "ABCD"[head], "tail": "ABCD"[tail], "pop": rational(pop), "places": rational(places)},
    )


@EXAM.asks
def conserved(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("conserved"))
    rate, decay, user = Fraction(1, whole(rng, 2, 10)), Fraction(1, whole(rng, 4, 10)), whole(rng, 1, 3)
    items = [whole(rng, 1, 4), whole(rng, 1, 4), whole(rng, 1, 4)]
    leaf = torch.tensor([float(x) for x in items], dtype=torch.float64, requires_grad=True)
    kind = ("sgd", "sgd", "decay", "adam", "momentum")[case.number]
    optimiser: torch.optim.Optimizer = (
        torch.optim.Adam([leaf], lr=float(rate), eps=1e-14)
        if kind == "adam"
        else torch.optim.SGD([leaf], lr=float(rate), momentum=0.9 if kind == "momentum" else 0.0)
    )
    for _ in range(2 if kind == "momentum" else 1):
        optimiser.zero_grad()
        loss = losses.bpr(user * leaf[:1], user * leaf[1:2]) + losses.bpr(user * leaf[:1], user * leaf[2:3])
        if kind == "decay":
            loss = loss + float(decay) * (leaf**2).sum()
        loss.backward()
        optimiser.step()
    change = float(leaf.detach().sum()) - sum(items)
    return case.drawn({"user": user, "items": items, "rate": rate, "decay": decay}, {"change": change + 0.0})


@EXAM.asks
def laws(rng: Generator) -> Numbers:
    labels = fans(rng, 4, 4, 0.5)
    redraw_if(unclear(labels) or (labels.sum(0) == labels.sum(0).max()).sum() != 1)
    case, collision = pick(rng, *EXAM.cases("laws")), pick(rng, "keep", "redraw")
    roles = popularity.expected_roles(exact(labels), TripleLaw(negatives=case.name, collision=collision))
    top = int(np.argmax(labels.sum(0)))
    gain, loss = roles[0][top], roles[1][top]
    return Numbers(
        {
            "Y": labels.tolist(),
            "collision": "may be drawn, and is kept"
            if collision == "keep"
            else "is put back, and the draw is repeated until it gives a film that the person does not like",
            "top": top + 1,
            "case": [case.name, collision],
        },
        {
            **judged(gain > loss),
            "gain": gain,
            "loss": loss,
            "rule": "By popularity and kept, the two are equal for every film."
            if (case.name, collision) == ("popularity", "keep")
            else "",
        },
        case.words,
    )


@EXAM.asks
def matrix(rng: Generator) -> Numbers:
    labels, case = fans(rng, 3, 3, 0.55), pick(rng, *EXAM.cases("matrix"))
    redraw_if(unclear(labels))
    pull = popularity.pull_matrix(exact(labels), TripleLaw(negatives=case.name, collision="keep"))
    return Numbers({"Y": labels.tolist(), "law": case.name}, {"M": pull.tolist()}, case.words)


@EXAM.asks
def axis(rng: Generator) -> Numbers:
    slow, gap, power = whole(rng, 1, 4), whole(rng, 1, 4), whole(rng, 2, 5)
    fast = slow + gap
    time = Fraction(2 * power, gap)
    return Numbers({"fast": fast, "slow": slow, "power": power}, {"time": time})


def two(value: float) -> str:
    """Two decimals, without a sign before zero."""
    return f"{round(value, 2) + 0.0:.2f}"


@EXAM.asks
def null(rng: Generator) -> Numbers:
    counts = np.sort(rng.zipf(1.7, 200) % 500 + rng.integers(1, 4, 200))[::-1].copy()
    tables = {
        "random": rng.normal(size=(200, 64)),
        "popular": rng.normal(size=(200, 8)) + 2.5 * np.log(counts)[:, None] * np.eye(8)[0],
        "small": rng.normal(size=(200, 4)),
    }
    order, rows, cross = mixed(rng, list(tables)), [], {}
    for name, label in zip("ABC", order, strict=True):
        items = tables[label]
        width = items.shape[1]
        plain = float(popularity.projection_correlation(items, counts, 0.05))
        cross[label] = float(popularity.cross_fitted_correlation(items, counts, 0.05, rng=np.random.default_rng(0)))
        chance = popularity.double_dipping_law(counts, width, 0.05)
        # by accident r would speak against the cross-fitted correlation
        redraw_if(label != "popular" and abs(plain - chance.mean) > 1.5 * chance.sd)
        rows.append((name, width, two(plain), f"{two(chance.mean)} ± {two(chance.sd)}", two(cross[label])))
    redraw_if(cross["popular"] < 0.4 or max(abs(cross["random"]), abs(cross["small"])) > 0.15)
    found = "ABC"[order.index("popular")]
    wide = "ABC"[order.index("random")]
    return Numbers(
        {"shown": table(["table", "width", "$r$", "random vectors", "cross-fitted"], rows)},
        {"found": found, "wide": wide},
    )


@EXAM.asks
def first_lists(rng: Generator) -> Numbers:
    labels = fans(rng, 6, 5, 0.45)
    redraw_if(unclear(labels))
    left, speeds, right = np.linalg.svd(np.asarray(popularity.pull_matrix(labels), dtype=float))
    film, person = right[0], left[:, 0]
    if person.sum() < 0:
        film, person = -film, -person
    gaps = np.diff(np.sort(film))
    redraw_if(speeds[0] < 1.3 * speeds[1] or gaps.min() < 0.05 or np.abs(person).min() < 0.05 or (person > 0).all())
    r = float(popularity.pearson(film, labels.sum(0)))
    redraw_if(not (abs(r) < 0.3 or r > 0.85))  # neither would be a plain answer to (b)
    order = ["PQRST"[place] for place in np.argsort(-film)]
    back = [str(u + 1) for u in range(6) if person[u] < 0]
    shown = (
        table(
            ["film", "fans", r"$\psi_1$"],
            [(n, c, f"{x:+.2f}") for n, c, x in zip("PQRST", labels.sum(0), film, strict=True)],
        )
        + "\n\n"
        + table(["person", r"$\phi_1$"], [(u + 1, f"{x:+.2f}") for u, x in enumerate(person)])
    )
    return Numbers(
        {
            "Y": labels.tolist(),
            "shown": shown,
            "fast": float(speeds[0]),
            "slow": float(speeds[1]),
            "one": int(np.argmax(person)) + 1,
        },
        {
            "order": ", ".join(order),
            "back": ("person " if len(back) == 1 else "people ") + ", ".join(back),
            "follows": "Yes" if r > 0.85 else "No",
            "r": r,
            "ratio": float(speeds[0] / speeds[1]),
        },
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn({"low": f"0.{whole(rng, 21, 39)}", "high": f"0.{whole(rng, 71, 95)}"})
