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
