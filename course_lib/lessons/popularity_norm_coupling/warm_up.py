"""The public checks of the warm-up on lengths."""

from __future__ import annotations

import numpy as np

from course_lib import norms
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked


def _steps(start: float, pull: float, lr: float, steps: int, power: int = 1) -> float:
    square = start**2
    for _ in range(steps):
        square += (lr * pull / square ** (power / 2)) ** 2
    return float(np.sqrt(square))


length_after_steps = Asked(
    "the length after the steps",
    _steps,
    (2.0, 1.0, 1.0, 1),
    (2.0, 1.0, 0.5, 3),
    slips={
        "the longer the vector, the shorter its gradient: pull / length, with the length of that moment": (
            lambda start, pull, lr, steps: np.sqrt(start**2 + steps * (lr * pull / start) ** 2)
        ),
        "each step is perpendicular: Pythagoras": lambda start, pull, lr, steps: start + steps * lr * pull / start,
        "the gradient is pull / length, not pull": lambda start, pull, lr, steps: _steps(start, pull, lr, steps, 0),
    },
)
predicted_length = Asked(
    "the predicted length",
    lambda start, pull, lr, steps: float(norms.predicted_norm(start, lr=lr, h=pull, updates=steps)),
    (1.0, 1.0, 0.5, 8),
    (2.0, 0.5, 1.0, 100),
    slips={
        "the square of l^2 + x is l^4 + 2 x l^2 and more: each step adds twice": lambda start, pull, lr, steps: (
            (start**4 + (lr * pull) ** 2 * steps) ** 0.25
        ),
        "this is the square of the length": lambda start, pull, lr, steps: (
            (start**4 + 2 * (lr * pull) ** 2 * steps) ** 0.5
        ),
        "where the vector began still counts": lambda start, pull, lr, steps: (2 * (lr * pull) ** 2 * steps) ** 0.25,
    },
)
ratio = Asked(
    "the ratio of the lengths",
    lambda often, seldom: (often / seldom) ** 0.25,
    (16, 1),
    (100, 4),
    slips={
        "the fourth power of the length grows by the same amount at each update": lambda a, b: (a / b) ** 0.5,
        "not in proportion: the longer, the slower": lambda a, b: a / b,
        "the film that is seen more often is the longer one": lambda a, b: (b / a) ** 0.25,
    },
)
