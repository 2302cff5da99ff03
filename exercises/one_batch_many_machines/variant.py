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
