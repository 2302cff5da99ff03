"""What a seed changes in popularity-direction."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from exercises.engine.variants import fraction, pick, whole

CHECKS = {
    "test_cross_fitted": ("power",),
    "test_pull_even": ("lead",),
    "test_pull_uneven": ("lead",),
    "test_negatives_uniform": ("draws",),
    "test_negatives_popular": ("draws",),
    "test_step": ("lead",),
    "test_sum": ("slower",),
    "test_against_the_mean": ("longest",),
    "test_null_small": ("power",),
    "test_null_films": ("power",),
}
FOLLOWS = ()


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    longest = whole(rng, 3, 12)
    return {
        "longest": longest,
        "shortest": Fraction(longest, 2),
        "power": pick(rng, 0.25, 0.5, 0.75, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0),
        "lead": whole(rng, 2, 12),
        "draws": whole(rng, 2, 12),
        "slower": fraction(rng, "1/2", "1/3", "2/3", "3/4", "4/5", "5/6", "2/5", "3/5"),
    }
