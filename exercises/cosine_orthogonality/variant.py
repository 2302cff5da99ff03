"""What a seed changes in cosine-orthogonality."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from exercises.engine.variants import pick, whole

CHECKS = {
    "test_gradient_unit": ("power", "linear"),
    "test_gradient_any": ("power", "linear"),
    "test_norm_after": ("decay",),
    "test_shrinking": ("eps",),
    "test_radial_part": ("power", "linear"),
    "test_longer_than_one": ("power", "linear"),
    "test_longest": ("power", "linear"),
}
FOLLOWS = ("test_longer_than_one", "test_longest")  # they ask for task 1's gradients


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    power, linear = whole(rng, 2, 4), whole(rng, -9, 9, but=[0])
    return {
        "power": power,
        "linear": linear,
        "phi": f"x^{power}{linear:+}x".replace("1x", "x"),
        "decay": Fraction(1, whole(rng, 4, 24)),
        "eps": Fraction(1, pick(rng, 7, 17, 40, 250, 600, 1500, 4000)),
    }
