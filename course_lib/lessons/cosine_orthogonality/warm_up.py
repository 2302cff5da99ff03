"""The public checks of the warm-up on cosines."""

from __future__ import annotations

import numpy as np

from course_lib import geometry
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked

cosine = Asked(
    "the cosine",
    lambda q, k: float(geometry.cosine(np.array(q), np.array(k))),
    ([3.0, 4.0], [0.0, 2.0]),
    ([1.0, 2.0, 2.0], [2.0, 0.0, -3.0]),
    slips={
        "this is the dot product; both lengths are divided out": np.dot,
        "the length of k is divided out, too": lambda q, k: np.dot(q, k) / np.linalg.norm(q),
        "the length of q is divided out, too": lambda q, k: np.dot(q, k) / np.linalg.norm(k),
    },
)
radial_part = Asked(
    "the part of the gradient along q",
    lambda q, g: float(np.dot(g, q) / np.linalg.norm(q)),
    ([3.0, 4.0], [1.0, 2.0]),
    ([0.0, 2.0], [5.0, 0.0]),
    slips={
        "divide by the length of q: its direction counts, not its length": np.dot,
        "this divides by the squared length of q": lambda q, g: np.dot(g, q) / np.dot(q, q),
        "this is the length of the whole gradient": lambda q, g: np.linalg.norm(g),
    },
)
length_after = Asked(
    "the length after the step",
    lambda length, gradient, lr: float(np.hypot(length, lr * gradient)),
    (1.0, 0.5, 1.0),
    (2.0, 3.0, 0.5),
    slips={
        "the step is perpendicular: Pythagoras, not a sum": lambda length, gradient, lr: length + lr * gradient,
        "the rate is squared as well": lambda length, gradient, lr: np.sqrt(length**2 + lr * gradient**2),
        "a perpendicular step does change the length": lambda length, gradient, lr: length,
        "this is the square of the length": lambda length, gradient, lr: length**2 + (lr * gradient) ** 2,
    },
)
