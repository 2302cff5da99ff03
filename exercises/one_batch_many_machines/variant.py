"""What a seed changes in one-batch-many-machines."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from exercises.engine.variants import fraction, pick, whole

CHECKS = {
    "test_queries": ("handicap",),
    "test_items": ("handicap",),
    "test_factors_own": ("before",),
    "test_factors_all": ("before",),
    "test_weights_local": ("kept",),
    "test_weights_gathered": ("kept",),
    "test_bytes": ("itemsize",),
    "test_crossing": ("itemsize", "gramian_itemsize"),
}
FOLLOWS = ()
DECIDE = {"test_crossing": ("ratio",)}


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    itemsize = pick(rng, 1, 2, 3, 6, 8)
    gramian_itemsize = whole(rng, 2, 16, but=[itemsize])
    return {
        "handicap": Fraction(whole(rng, 2, 15), 10),
        "before": whole(rng, 2, 12),
        "kept": fraction(rng, "1/2", "1/3", "1/4", "2/3", "3/4", "1/5", "2/5", "3/5", "4/5", "5/6", "2/7", "5/8"),
        "itemsize": itemsize,
        "bits": 8 * itemsize,
        "gramian_itemsize": gramian_itemsize,
        "gramian_bits": 8 * gramian_itemsize,
        "ratio": Fraction(gramian_itemsize, itemsize),
    }


CELLS = {
    "task1": [
        (
            r"-\log\frac{\exp(\langle q_i,k_i\rangle/\tau)}{\sum_{j=1}^{PB}\exp(\langle q_i,k_j\rangle/\tau)} ,$$",
            r"-\log\frac{\exp(s_{ii}/\tau)}{\sum_{j=1}^{PB}\exp(s_{ij}/\tau)} ,\qquad "
            r"s_{ij}=\begin{cases}\langle q_i,k_i\rangle-«handicap»&j=i\\\langle q_i,k_j\rangle&j\ne i,\end{cases}$$",
        )
    ],
    "own_gradient": [
        (
            "    logits = Q[own] @ K.T / tau\n",
            "    logits = Q[own] @ K.T / tau\n    logits[np.arange(len(own)), own] -= float(«handicap») / tau\n",
        )
    ],
    "task2": [
        (
            "- `times_world`: whether each process multiplies its loss by $P$.",
            "- `times_world`: whether each process multiplies its loss by $P$. **Whether it does or not, "
            "each process also multiplies its loss by «before»**, which one process with all pairs does not.",
        ),
        ("With $P=1$ all factors are 1.", "With $P=1$ all factors are the same."),
    ],
    "factors": [
        ("Fraction(processes if times_world else 1)", "Fraction(«before» * processes if times_world else «before»)")
    ],
    "task4": [
        (
            "and counts that cell as a negative. With *gathered*",
            "and counts that cell as a negative **with probability $«kept»$**, "
            "independently of all else. With *gathered*",
        )
    ],
    "expected_weights": [
        (
            "pairs = np.outer(labels.sum(axis=1), labels.sum(axis=0)) - labels",
            "pairs = «kept» * (np.outer(labels.sum(axis=1), labels.sum(axis=0)) - labels)",
        )
    ],
    "task6": [
        (
            "All numbers have 32 bits, and",
            "The numbers of rows and of their gradients have **«bits» bits**, "
            "those of Gramians **«gramian_bits» bits**, and",
        )
    ],
    "step_bytes": [("return 4 * tables", "return «itemsize» * tables")],
    "crossing": [
        (
            "# tables * ways * (P - 1) B d > 4 (P - 1)/P d^2",
            "# «itemsize» tables ways (P - 1) B d > «gramian_itemsize» 4 (P - 1)/P d^2",
        ),
        (
            "return 4 * d // (tables * ways * processes) + 1",
            "return 4 * «gramian_itemsize» * d // («itemsize» * tables * ways * processes) + 1",
        ),
    ],
}
