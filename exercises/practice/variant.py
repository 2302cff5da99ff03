"""What a seed changes in practice."""

from __future__ import annotations

from typing import Any

import numpy as np

from exercises.engine.variants import fraction, whole

CHECKS = {
    "test_sampled": ("worth",),
    "test_holm": ("more",),
    "test_mixture": ("floor",),
    "test_served": ("more_hits",),
    "test_floor": ("margin",),
    "test_tau": ("margin",),
    "test_moves": ("constant",),
    "test_rates": ("rating",),
    "test_bound": ("off",),
    "test_candidates": ("further",),
}
FOLLOWS = ()
DECIDE: dict[str, tuple[str, ...]] = {}


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "worth": fraction(rng, "1/2", "2/3", "3/4", "3/2", "5/2", "7/3", "5/4", "9/5"),
        "more": whole(rng, 2, 12),
        "floor": whole(rng, 1, 9),
        "more_hits": whole(rng, 2, 12),
        "margin": fraction(rng, "1/2", "1/3", "2/3", "3/4", "5/4", "3/2", "2/5", "7/5"),
        "constant": fraction(rng, "1/2", "2/3", "3/2", "4/3", "5/2", "5/3", "7/4"),
        "rating": fraction(rng, "1/2", "1/3", "2/3", "3/4", "3/5", "5/2", "3/2", "2/5"),
        "off": fraction(rng, "1/3", "2/3", "3/4", "4/5", "3/5", "1"),
        "further": fraction(rng, "1/2", "3/4", "5/8", "3/2", "5/4", "1"),
    }
