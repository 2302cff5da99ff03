"""Exam questions on Gramians and their estimators."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch
from numpy.random import Generator

from course_lib import gramians
from course_lib.arrays import exact
from exercises.engine.asking import Exam, Numbers, judged, mixed, rational, redraw_if, table
from exercises.engine.variants import pick, whole

EXAM = Exam("gramian-estimators")


@EXAM.asks
def two_matrices(rng: Generator) -> Numbers:
    u, v = rng.integers(-2, 4, (2, 2)), rng.integers(-2, 4, (3, 2))
    g = gramians.all_pairs_square(exact(u), exact(v)) / Fraction(6)
    G, H = gramians.gramian(exact(u)), gramians.gramian(exact(v))
    redraw_if(not (u.any(axis=1).all() and v.any(axis=1).all()) or g == 0)
    pairs, left = int(np.sum((u @ v.T) ** 2)), 1000 * whole(rng, 1, 9)
    return Numbers(
        {
            **{f"u{i + 1}": row.tolist() for i, row in enumerate(u)},
            **{f"v{j + 1}": row.tolist() for j, row in enumerate(v)},
            "left": left,
        },
        {"G": G.tolist(), "H": H.tolist(), "g": g, "pairs": pairs},
    )


@EXAM.asks
def late(rng: Generator) -> Numbers:
    alpha, delta = Fraction(1, whole(rng, 4, 25)), Fraction(whole(rng, 1, 8), 1000)
    steps = whole(rng, 2, 3)
    lag = gramians.sogram_bias_bound(alpha, delta=delta, norm=Fraction(0))
    variance = gramians.sogram_variance(alpha, sigma=Fraction(1))
    return Numbers(
        {"alpha": alpha, "delta": delta, "steps": steps},
        {"lag": lag, "variance": variance, "weight": weight_of(alpha, steps)},
    )


def weight_of(alpha: Fraction, steps: int) -> Fraction:
    """The estimate of an entry 1 after so many exact batches from 0."""
    running = gramians.SOGram(1, alpha)
    for _ in range(steps):
        running.update([0], exact(np.array([[1]])))
    return Fraction(running.estimate[0, 0])


@EXAM.asks
def cache(rng: Generator) -> Numbers:
    square, variance = whole(rng, 1, 9), whole(rng, 1, 20)
    best = Fraction(gramians.optimal_beta(mean_square=Fraction(square), variance=Fraction(variance)))
    errors = [
        Fraction(gramians.sagram_error(beta, mean_square=Fraction(square), variance=Fraction(variance)))
        for beta in (best, Fraction(1), Fraction(0))
    ]
    return Numbers(
        {"square": square, "variance": variance},
        {"beta": best, "least": errors[0], "full": errors[1], "none": errors[2]},
    )


@EXAM.asks
def on_average(rng: Generator) -> Numbers:
    case, old, still, now = pick(rng, *EXAM.cases("on_average")), whole(rng, 3, 6), whole(rng, 1, 2), pick(rng, 0, 1)

    estimates = []
    for i in range(2):
        sagram = gramians.SAGram(2, 1, Fraction(1))
        sagram.start(exact(np.array([[old], [still]])))
        estimates.append(Fraction(sagram.update([i], exact(np.array([[now], [still]]))[[i]])[0, 0]))
    return case.drawn(
        {"old": old, "still": still, "now": now},
        {
            "gram": gramians.gramian(exact(np.array([[now], [still]])))[0, 0],
            "cached": gramians.gramian(exact(np.array([[old], [still]])))[0, 0],
            "first": estimates[0],
            "second": estimates[1],
        },
    )


@EXAM.asks
def shorter(rng: Generator) -> Numbers:
    high, u = whole(rng, 2, 5), [whole(rng, 1, 3), whole(rng, 1, 3)]
    rate = pick(rng, Fraction(1, 4 * high), Fraction(1, 2 * high), Fraction(3, 2 * high), Fraction(2, high))
    G = np.diag([high, 1]).astype(float)
    leaf = torch.tensor([u], dtype=torch.float64, requires_grad=True)
    loss = gramians.gravity_loss(leaf, torch.zeros_like(leaf), torch.zeros(2, 2).double(), torch.tensor(G))
    (slope,) = torch.autograd.grad(loss, leaf)
    new = rational((leaf - float(rate) * slope).detach().numpy()[0])
    before, after = Fraction(int(np.dot(u, u))), sum(Fraction(entry) ** 2 for entry in new)
    truth = after < before
    redraw_if(after == before)
    return Numbers(
        {"high": high, "u": u, "rate": rate}, {**judged(truth), "new": new, "before": before, "after": after}
    )


@EXAM.asks
def one_batch(rng: Generator) -> Numbers:
    b, replaced = whole(rng, 3, 9), bool(rng.integers(2))
    n = b + whole(rng, 5, 30)
    share = rational(gramians.same_batch_share(b) if replaced else gramians.same_batch_share(b, n))
    return Numbers(
        {"how": "with" if replaced else "without", "n": n, "b": b, "replaced": replaced},
        {"share": share},
        EXAM.cases("one_batch")[replaced].words,
    )


@EXAM.asks
def detach(rng: Generator) -> Numbers:
    alpha = pick(rng, Fraction(1, 10), Fraction(1, 5), Fraction(1, 4), Fraction(1, 2), Fraction(1))
    u = torch.tensor([[1.0], [2.0]], dtype=torch.float64, requires_grad=True)
    old = (u.detach() ** 2).mean()
    running = (1 - float(alpha)) * old + float(alpha) * (u**2).mean()
    flowing = torch.autograd.grad((u**2).mean() * running, u)[0]
    factor = rational(float((flowing / (2 * u.detach() * old / 2))[0]))
    return Numbers({"alpha": alpha}, {"factor": factor})


@EXAM.asks
def race(rng: Generator) -> Numbers:
    n, batch, alpha = 32, 4, 0.1
    rows = np.abs(rng.normal(1, 0.35, size=(n, 1))) + 0.3
    cache = gramians.SAGram(n, 1, 1.0)
    cache.start(rows)
    estimators = {
        "sampling": gramians.BatchGramian(),
        "SOGram": gramians.SOGram(1, alpha, correct_start=True),
        "SAGram": cache,
    }
    lines: list[tuple[float, dict[str, float]]] = []
    for step in range(60):
        rows = rows + 0.02
        drawn = rng.integers(0, n, batch)
        now = {name: float(one.update(drawn, rows[drawn])[0, 0]) for name, one in estimators.items()}
        if step >= 50 and step % 2:
            lines.append((float((rows**2).mean()), now))
    errors = {name: np.array([now[name] - true for true, now in lines]) for name in estimators}
    redraw_if(not (errors["SOGram"] < -0.05).all() or not (errors["SAGram"] > 0.05).any())
    redraw_if(not (errors["sampling"] > 0.05).any() or not (errors["sampling"] < -0.05).any())
    redraw_if(np.ptp(errors["sampling"]) <= 2 * max(np.ptp(errors["SOGram"]), np.ptp(errors["SAGram"])))
    order = mixed(rng, list(estimators))
    shown = table(
        ["step", "exact", *"ABC"],
        [
            (50 + 2 * at, f"{true:.2f}", *(f"{now[name]:.2f}" for name in order))
            for at, (true, now) in enumerate(lines, start=1)
        ],
    )
    return Numbers(
        {"shown": shown}, {"order": ", ".join(f"{name}: {label}" for name, label in zip("ABC", order, strict=True))}
    )


@EXAM.asks
def best_rate(rng: Generator) -> Numbers:
    sigma, delta = 1.0, whole(rng, 2, 40) / 1000
    rates = (0.005, 0.02, 0.06, 0.12, 0.3)  # none that `late` draws
    parts = [
        (
            float(gramians.sogram_variance(a, sigma=sigma)),
            float(gramians.sogram_bias_bound(a, delta=delta, norm=0.0)) ** 2,
        )
        for a in rates
    ]
    errors = [float(gramians.coherent_error(a, delta=delta, sigma=sigma)) for a in rates]
    best = int(np.argmin(errors))
    redraw_if(best in (0, len(rates) - 1) or sorted(errors)[1] < 1.1 * errors[best])
    rows = [(a, f"{v:.4f}", f"{b:.4f}") for a, (v, b) in zip(rates, parts, strict=True)]
    return Numbers(
        {"delta": delta, "shown": table([r"$\alpha$", "variance", "squared lag"], rows)},
        {"best": rates[best], "error": errors[best]},
    )


@EXAM.asks
def reply(rng: Generator) -> Numbers:
    case = pick(rng, *EXAM.cases("reply"))
    return case.drawn({"n": whole(rng, 2, 20), "batch": 2 ** whole(rng, 4, 10)})
