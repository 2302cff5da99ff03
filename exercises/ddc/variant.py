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
