"""What a seed changes in gauge-freedom."""

from __future__ import annotations

from typing import Any

import numpy as np

from exercises.engine.variants import fraction, pick, whole

CHECKS = {
    "test_diagonal_dimension": ("apart",),
    "test_linear_dimension": ("apart",),
    "test_feasible_square": ("first",),
    "test_feasible_many": ("first",),
    "test_what_survives": ("factor",),
    "test_pinning": ("length",),
    "test_decay_gauge": ("weight",),
}
FOLLOWS = ()


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "apart": whole(rng, 1, 6),
        "first": pick(rng, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 1.15, 1.2, 1.25, 1.3, 1.35),
        "factor": fraction(rng, "2", "3", "4", "5", "1/2", "1/3", "2/3", "3/2", "5/2"),
        "length": whole(rng, 2, 9),
        "weight": pick(rng, 0.04, 0.1, 0.25, 0.5, 2.0, 3.0, 5.0, 7.0, 10.0, 25.0),
    }


CELLS = {
    "task1": [
        (
            "The gauges that keep the length of **every** row of $A$ form a smooth set.",
            "The gauges that keep the length of **every** row of $A$, **and the inner product of row "
            "$i$ with row $i+«apart»$** for every $i$ for which there are both, form a smooth set.",
        ),
        (
            "for which every row of $AD$ is as long as that of $A$.",
            "for which $AD$ has the lengths and products of $A$.",
        ),
        (
            "for which every row of $AR$ is as long as that of $A$.",
            "for which $AR$ has the lengths and products of $A$.",
        ),
    ],
    "diagonal_gauges": [
        ("that keep all rows' lengths", "that keep all rows' lengths and the products of rows «apart» apart"),
        (
            "    squares = np.array([[float(entry) ** 2 for entry in row] for row in A])\n",
            "    rows = np.array([[float(entry) for entry in row] for row in A])\n"
            "    squares = np.vstack([rows**2, rows[:-«apart»] * rows[«apart»:]])\n",
        ),
    ],
    "linear_gauges": [
        ("that keep all rows' lengths", "that keep all rows' lengths and the products of rows «apart» apart"),
        (
            "    products = np.array([np.outer(row, row)[np.triu_indices(k)] for row in rows])\n",
            "    pairs = [*zip(rows, rows), *zip(rows, rows[«apart»:])]\n"
            "    products = np.array([(np.outer(a, b) + np.outer(b, a))[np.triu_indices(k)] for a, b in pairs])\n",
        ),
    ],
    "task2": [("- some $d_l$ differs from 1 by at least 0.1.", "- $d_1=«first»$.")],
    "feasible_gauge": [
        (
            "return A, [1.5**0.5, 0.5**0.5] + [1.0] * (k - 2)",
            "return A, [«first», (2 - «first»**2) ** 0.5] + [1.0] * (k - 2)",
        )
    ],
    "task4": [
        (
            r"2. is $N(Mx)=M\,N(x)$ for all $x\ne0$? (normalising **commutes** with the map)",
            r"2. is $«factor»\,N(Mx)=M\,N(x)$ for all $x\ne0$? (normalising **commutes** with the map, up to a factor)",
        )
    ],
    "what_survives": [("gram[0][0] == 1", "gram[0][0] == «factor» ** 2")],
    "task5": [
        (
            "Return **as few unit rows as possible** (",
            "Return **as few rows of the length «length» as possible** (",
        ),
        ("that keeps them all on the unit sphere is", "that keeps all of these lengths is"),
    ],
    "pinning_rows": [
        ("The smallest table of unit rows that", "The smallest table of rows of the length «length» that"),
        ("    axes = np.eye(k)\n", "    axes = «length» * np.eye(k)\n"),
    ],
    "task6": [
        (r"$\lambda(\|A\|^2+\|B\|^2)$", r"$\lambda(\|A\|^2+«weight»\,\|B\|^2)$"),
        (r"$\|AD\|^2+\|BD^{-1}\|^2$ is smallest", r"$\|AD\|^2+«weight»\,\|BD^{-1}\|^2$ is smallest"),
    ],
    "decay_gauge": [
        ("||A D||^2 + ||B D^-1||^2", "||A D||^2 + «weight» ||B D^-1||^2"),
        ("minimise d^2 a^2 + b^2 / d^2, so d^2 = |b| / |a|", "minimise d^2 a^2 + weight b^2 / d^2"),
        (
            "return np.sqrt(np.linalg.norm(B, axis=0) / np.linalg.norm(A, axis=0))",
            "return np.sqrt(np.sqrt(«weight») * np.linalg.norm(B, axis=0) / np.linalg.norm(A, axis=0))",
        ),
    ],
}
