"""What a seed changes in ddc."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from exercises.engine.variants import pick, whole

CHECKS = {
    "test_loss": ("lead",),
    "test_surrogate": ("lead",),
    "test_solve": ("lead",),
    "test_solve_hard": ("lead",),
    "test_sign": ("lead",),
    "test_flip": ("lead",),
    "test_worse": ("lead", "length"),
    "test_inflation": ("lead",),
    "test_avgpop": ("power",),
    "test_mrr": ("discount",),
}
FOLLOWS = ("test_sign", "test_flip")  # the loss is another, and most signs stay
DECIDE = {"test_worse": ("length",)}


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "lead": Fraction(whole(rng, 6, 30), 20),
        "length": whole(rng, 2, 12),
        "power": pick(rng, 0.5, 0.75, 1.25, 1.5, 2.0, 2.5, 3.0),
        "discount": pick(rng, 0.5, 0.75, 1.25, 1.5, 2.0, 2.5, 3.0),
    }


CELLS = {
    "intro": [
        (
            r"its loss $L(\alpha,\beta)$ the mean of $\ln(1+e^{-x_{ij}})$ over",
            r"its loss $L(\alpha,\beta)$ the mean of $\ln(1+e^{\ell-x_{ij}})$, with a **lead** $\ell=«lead»$, over",
        )
    ],
    "user_loss": [
        ("log(1 + exp(-margin))", "log(1 + exp(lead - margin))"),
        ("np.logaddexp(0, negative -", "np.logaddexp(0, float(«lead») + negative -"),
    ],
    "task3": [
        (
            r"around a margin of 0, $\ln(1+e^{-x})\approx\ln2-\frac x2+\frac{x^2}8$.",
            r"around a margin of $\ell=«lead»$, $\ln(1+e^{\ell-x})\approx\ln2-\frac{x-\ell}2+\frac{(x-\ell)^2}8$.",
        )
    ],
    "surrogate": [
        ("E[(x - 2) a] = 0 and E[(x - 2) b] = 0", "E[(x - lead - 2) a] = 0 and E[(x - lead - 2) b] = 0"),
        ("first = (2 + mean(neg_scores))", "first = (2 + «lead» + mean(neg_scores))"),
        ("second = (2 - mean(pos_scores))", "second = (2 + «lead» - mean(pos_scores))"),
    ],
    "solve_user": [("* a[:, None] - t - at[0] * b\n", "* a[:, None] - t - at[0] * b - float(«lead»)\n")],
    "sign_of_alpha": [("[:, None] - np.array(neg_scores)\n", "[:, None] - np.array(neg_scores) - float(«lead»)\n")],
    "task5": [
        (
            "- $e_u$ ranks every positive above every negative;",
            "- $e_u$ has the length **«length»** and ranks every positive above every negative;",
        ),
        (r"the mean of $\ln(1+e^{-cm})$ over `margins`", r"the mean of $\ln(1+e^{\ell-cm})$ over `margins`"),
    ],
    "ranks_worse": [
        (
            "positives = [[1, 0.1, 0]] * 20 + [[-3, 3, 0]]",
            "positives = [[1, 0.1 / «length», 0]] * 20 + [[-3, 3 / «length», 0]]",
        ),
        ("return [0, 1, 0], positives", "return [0, «length», 0], positives"),
    ],
    "inflation": [
        ("    m = np.array(margins, dtype=float)\n", "    m, lead = np.array(margins, dtype=float), float(«lead»)\n"),
        ("np.logaddexp(0, -c * m)", "np.logaddexp(0, lead - c * m)"),
        ("np.logaddexp(0, c * m)", "np.logaddexp(0, c * m - lead)"),
    ],
    "task6": [
        (
            "the mean over all users of the mean `counts` of the items",
            r"the mean over all users of the mean of $\mathrm{counts}^{«power»}$ of the items",
        ),
        (
            "of 1 over the rank of the first held-out item in the list",
            "of 1 over the rank of the first held-out item in the list **to the power of «discount»**",
        ),
        ("Keep the numbers for task 7.", "Keep the numbers, those for powers of 1 too, for task 7."),
    ],
    "task7": [("A colleague reports on the films:", r"A colleague reports on the films, for the lead $\ell=0$:")],
    "measure": [
        ("1 / (1 + hits[0]) if", "1 / (1 + hits[0]) ** «discount» if"),
        ("[np.array(counts)[lists].mean(),", "[(np.array(counts)[lists] ** «power»).mean(),"),
    ],
}
