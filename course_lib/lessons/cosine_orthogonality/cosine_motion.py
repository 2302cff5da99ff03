"""The interactive of the chapter on cosine gradients: drag q and k, look at the gradient, take steps."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from course_lib.lessons.shared.widgets import motion
from course_lib.lessons.shared.widgets.base import Checked, Count, Number, Word
from course_lib.lessons.shared.widgets.paper import Hero

MOST_STEPS = 500
MOST_NEGATIVES = 3


def _point(given: Any, name: str, _: Any = None) -> list[float]:
    """Two finite numbers as plain floats."""
    values = [float(value) for value in given]
    if len(values) != 2 or not all(map(math.isfinite, values)):
        raise ValueError(f"{name} has the point {values}; expected two finite numbers, x and y")
    return values


def _points(given: Any, name: str, _: Any) -> list[list[float]]:
    if len(given) > MOST_NEGATIVES:
        raise ValueError(f"{name} has {len(given)} points; expected at most {MOST_NEGATIVES}")
    return [_point(point, name) for point in given]


class CosineMotion(Hero):
    """A vector q in the plane, its positive k, its negatives, and the steps of gradient descent on q.

    q, k        pairs of numbers; the cosine needs both to be nonzero
    negatives   up to three more pairs; they count for the two InfoNCE losses
    loss        "cosine" (1 - cos), "cosine_squared", "infonce", "dot" (minus the dot product), "infonce_dot"
    lr          learning rate, 0.01 to 100
    tau         temperature of the InfoNCE losses, 0.01 to 100
    steps       how many steps q has taken from where it starts, 0 to 500

    All seven are traits: read, set and observe them. k and the negatives stay where they are; only q moves.
    Raises ValueError for values out of range.
    """

    module_name: ClassVar[str] = "cosine_motion"
    caption: ClassVar[str] = (
        "Each frame is one step. Arrows from the centre: q (thick), and k, to which it should point. The arrow at the "
        "tip of q is its next step; a small square marks a right angle. Solid circle: as long as q. Dashed circle: as "
        "long as q after the step. With JavaScript this picture is interactive."
    )

    q = Checked((1.2, 0.3), _point)
    k = Checked((0.5, 1.6), _point)
    negatives = Checked(((1.5, -0.8),), _points)
    loss = Word("cosine", motion.LOSSES)
    lr = Number(1.0, 0.01, 100)
    tau = Number(0.5, 0.01, 100)
    steps = Count(0, 0, MOST_STEPS)

    @property
    def candidates(self) -> np.ndarray:
        """The positive and then the negatives that the loss uses: (r, 2)."""
        used = self.negatives if motion.LOSSES[self.loss].many else []
        return np.array([self.k, *used], dtype=float)

    @property
    def trace(self) -> np.ndarray:
        """Where q has been: (steps + 1, 2); shorter where q became zero or ran away; q alone where a vector is zero."""
        if not all(np.any(point) for point in [self.q, *self.candidates]):
            return np.array([self.q])
        return motion.descend(self.loss, np.array(self.q), self.candidates, lr=self.lr, tau=self.tau, steps=self.steps)
