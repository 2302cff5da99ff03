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


CELLS = {
    "task1": [
        (
            "Pearson's correlation of projection and count inside the fold",
            r"Pearson's correlation of projection and $\mathrm{count}^{«power»}$ inside the fold",
        )
    ],
    "cross_fitted": [("counts[inside])[0, 1]", "counts[inside] ** «power»)[0, 1]")],
    "task2": [
        (
            r"of the mean of $-\ln\sigma(s_{uij})$ over **all**",
            r"of the mean of $-\ln\sigma(s_{uij}-\ln«lead»)$ over **all**",
        ),
        (
            r"so every margin is zero and every weight is exactly $\frac12$.",
            r"so every margin is zero, and every weight is a fraction: $\sigma(\ln«lead»)$.",
        ),
    ],
    "first_pull": [
        ("# as a positive: 1/2 e_u for", "# as a positive: the weight times e_u for"),
        ("* Fraction(1, 2)", "* Fraction(«lead», «lead» + 1)"),
    ],
    "task3": [
        (
            "each time one negative is drawn for its user.",
            "each time **«draws» negatives** are drawn for its user, independently.",
        )
    ],
    "times_negative": [("return np.array(draws) @ weights", "return «draws» * np.array(draws) @ weights")],
    "task4": [
        (
            r"on $-\ln\sigma(s_{uij})$ for matrix",
            r"on $-\ln\sigma(s_{uij}-\ln«lead»)$ for matrix",
        ),
        (
            r"Return $\sum_ie_i$ after `steps` steps, exactly.",
            r"After each step the learning rate is multiplied by $«slower»$; `lr` "
            r"is that of the first. Return $\sum_ie_i$ after `steps` steps, exactly.",
        ),
    ],
    "bpr_steps": [("np.logaddexp(0, user @ difference))", "np.logaddexp(0, user @ difference - np.log(«lead»)))")],
    "sum_after": [
        (
            "    kept = (1 - 2 * Fraction(lr) * Fraction(decay)) ** steps\n",
            "    kept = Fraction(1)\n"
            "    for step in range(steps):\n"
            "        kept *= 1 - 2 * Fraction(lr) * «slower» ** step * Fraction(decay)\n",
        )
    ],
    "task5": [
        (
            r"Every user's length lies between $\frac12$ and 1, so",
            "Every user's length lies between $«shortest»$ and «longest», so",
        )
    ],
    "against_the_mean": [
        (
            "    return users, list(range(count))",
            "    return [[«longest» * x for x in user] for user in users], list(range(count))",
        )
    ],
    "task6": [
        (
            "Return Pearson's correlation of the count with such",
            r"Return Pearson's correlation of $\mathrm{count}^{«power»}$ with such",
        ),
        ("keep the numbers for task 7", "keep the numbers, those of the count itself too, for task 7"),
    ],
    "null_correlation": [("dtype=float))[::-1]", "dtype=float))[::-1] ** «power»")],
}
