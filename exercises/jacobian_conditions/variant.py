"""What a seed changes in jacobian-conditions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib.papers import p0
from exercises.engine.variants import whole

CHECKS = {
    "test_kernel_plain": ("scale",),
    "test_kernel_bias": ("scale",),
    "test_momentum": ("decay",),
    "test_tower_i": ("product",),
    "test_tower_ii": ("difference",),
    "test_inputs_plain": ("own",),
    "test_inputs_bias": ("own",),
    "test_share": ("within",),
    "test_chance": ("within",),
}
FOLLOWS = ()


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    left, right = (whole(rng, -9, 9, but=[-1, 0, 1]) for _ in range(2))
    first = whole(rng, 3, 9)
    second, within = whole(rng, 1, 9, but=[first]), whole(rng, 4, 15, but=[10])
    return {
        "scale": whole(rng, 2, 9),
        "decay": Fraction(1, whole(rng, 3, 13)),
        "left": left,
        "right": right,
        "product": left * right,
        "first": first,
        "second": second,
        "difference": first**2 - second**2,
        "own": whole(rng, 7, 19),
        "within": within,
        "low": 90 - within,
        "high": 90 + within,
        "plane": f"{100 * p0.chance_of_right_angle(2, within=within):.1f}",
        "chance": f"{100 * p0.chance_of_right_angle(64, within=within):.1f}",
        "seen": f"{100 * p0.chance_of_right_angle(64, within=within):.0f}",
        "rest": f"{100 - 100 * p0.chance_of_right_angle(64, within=within):.0f}",
    }
