"""The public checks of the warm-up on Jacobians."""

from __future__ import annotations

import numpy as np

from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked

lookup_block = Asked(
    "the block of a lookup table",
    lambda i, j, width: np.eye(width) * (i == j),
    (3, 3, 2),
    (3, 4, 2),
    slips={
        "two ids have rows of their own: a step for one does not move the other": lambda i, j, width: np.eye(width),
        "an id moves its own row, coordinate by coordinate": lambda i, j, width: np.zeros((width, width)),
        "a coordinate of the row does not move the other ones": lambda i, j, width: np.full(
            (width, width), float(i == j)
        ),
    },
)
linear_block = Asked(
    "the factor of a linear layer",
    np.dot,
    ([1.0, 2.0], [3.0, 4.0]),
    ([1.0, 0.0], [0.0, 1.0]),
    slips={
        "the dot product of the two inputs, not of their lengths": lambda x, y: np.linalg.norm(x) * np.linalg.norm(y),
        "the layer sees the inputs with their lengths: no cosine": lambda x, y: (
            np.dot(x, y) / np.linalg.norm(x) / np.linalg.norm(y)
        ),
        "two inputs share all weights: one example moves the other": lambda x, y: float(x == y),
    },
)
moved = Asked(
    "what the output of j moves by",
    lambda x, y, g, lr: -lr * np.dot(x, y) * np.array(g),
    ([1.0, 2.0], [3.0, 4.0], [1.0, -1.0], 0.1),
    slips={
        "the step goes against the gradient": lambda x, y, g, lr: lr * np.dot(x, y) * np.array(g),
        "how far j moves depends on both inputs": lambda x, y, g, lr: -lr * np.array(g),
        "this is what the output of i moves by": lambda x, y, g, lr: -lr * np.dot(x, x) * np.array(g),
        "the rate is missing": lambda x, y, g, lr: -np.dot(x, y) * np.array(g),
    },
)
