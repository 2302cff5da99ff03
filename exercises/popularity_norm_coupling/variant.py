"""What a seed changes in popularity-norm-coupling."""

from __future__ import annotations

from typing import Any

import numpy as np

from exercises.engine.variants import fraction, pick, whole

CHECKS = {
    "test_update_plain": ("batches",),
    "test_update_extra": ("batches",),
    "test_growth": ("slower",),
    "test_rare_longer": ("length", "often"),
    "test_sum_of_pulls": ("weight",),
    "test_slope": ("least",),
    "test_predicted_slope": ("least",),
}
FOLLOWS = ("test_predicted_slope",)  # it calls the slope of 5a
DECIDE = {"test_rare_longer": ("length",)}


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "batches": whole(rng, 2, 12),
        "slower": fraction(rng, "1/2", "2/3", "3/4", "4/5", "5/6", "2/5", "3/5", "4/3", "3/2"),
        "length": pick(rng, 0.4, 0.5, 0.6, 0.7, 0.8, 1.3, 1.4, 1.6, 1.8, 2.2, 2.5, 3.0),
        "often": whole(rng, 11, 25),
        "weight": pick(rng, 0.25, 0.5, 0.75, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0),
        "least": whole(rng, 2, 10),
    }
