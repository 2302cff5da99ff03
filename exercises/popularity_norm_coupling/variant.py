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


CELLS = {
    "task1": [
        (
            "that the item is in the batch at all, **exactly**",
            "that the item is in **at least one of «batches» such batches** at all, **exactly**",
        )
    ],
    "update_probability": [
        ("that a batch moves the item", "that some of «batches» batches moves the item"),
        (
            "return 1 - missed_by_slots * missed_by_negatives",
            "return 1 - (missed_by_slots * missed_by_negatives) ** «batches»",
        ),
    ],
    "task2": [
        (
            "are listed in `squared_pulls`. Return",
            "are listed in `squared_pulls`. After each step the learning rate "
            "is multiplied by $«slower»$; `lr` is that of the first. Return",
        )
    ],
    "squared_norm_after": [
        (
            "with the gradient's length ||h|| / ||q||\n",
            "with the gradient's length ||h|| / ||q||\n        lr = lr * «slower»\n",
        )
    ],
    "task4": [
        ("start at the same `start` and are", "start at the same `start`, which has **the length «length»**, and are"),
        ("**at least ten times as often**", "**at least «often» times as often**"),
        (
            r"for the loss $-\cos(q,k)$ in any dimension",
            r"for the loss $-«weight»\cos(q,k)$, in any dimension; $h$ is that of this loss",
        ),
    ],
    "rare_but_longer": [
        (
            "return [1.0, 0.0], 0.5, [[0.0, 1.0], [0.0, -1.0]] * 20, [[1.0, 0.2]] * 400",
            "rare = [[0.0, 1.0], [0.0, -1.0]] * 20\n"
            "    return [«length», 0.0], 0.5 * «length»**2, rare, [[1.0, 0.2]] * (40 * «often»)",
        )
    ],
    "sum_of_squared_pulls": [
        ("pull = key - (key @ q) * q / length**2", "pull = «weight» * (key - (key @ q) * q / length**2)")
    ],
    "task5": [("over all items whose count is not 0", "over all items whose count is at least «least»")],
    "popularity_slope": [("seen = counts > 0", "seen = counts >= «least»")],
}
