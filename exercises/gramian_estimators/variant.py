"""What a seed changes in gramian-estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from exercises.engine.variants import fraction, pick, whole

CHECKS = {
    "test_pairs": ("times",),
    "test_gradient": ("trace",),
    "test_leaving": ("row",),
    "test_always": ("row",),
    "test_batch_with": ("louder",),
    "test_batch_without": ("louder",),
    "test_rate_small": ("every",),
    "test_rate_films": ("every",),
}
FOLLOWS = ()


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "times": pick(rng, -5, -4, -3, -2, 2, 3, 4, 5),
        "trace": fraction(rng, "1/2", "1/3", "2/3", "3/4", "3/2", "2", "3", "4", "5", "5/2"),
        "row": [whole(rng, 2, 7), whole(rng, -7, 7, but=[0])],
        "louder": whole(rng, 2, 12),
        "every": whole(rng, 2, 12),
    }
