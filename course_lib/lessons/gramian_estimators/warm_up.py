"""The public checks of the warm-up on Gramians."""

from __future__ import annotations

import numpy as np

from course_lib import gramians
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked


def _table(vectors: list[list[float]]) -> np.ndarray:
    return np.array(vectors, dtype=float)


gramian = Asked(
    "the Gramian",
    lambda vectors: gramians.gramian(_table(vectors)),
    ([[1.0, 0.0], [1.0, 2.0]],),
    ([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]],),
    slips={
        "the mean over the vectors is asked for, not the sum": lambda vectors: _table(vectors).T @ _table(vectors),
        "this compares vectors; the Gramian compares coordinates": lambda vectors: (
            _table(vectors) @ _table(vectors).T / len(vectors)
        ),
    },
)
mean_square = Asked(
    "the mean squared score",
    lambda left, right: float((_table(left) * _table(right)).sum()),
    ([[1.0, 0.5], [0.5, 2.0]], [[2.0, -1.0], [-1.0, 3.0]]),
    slips={
        "entries off the diagonal count, too": lambda left, right: float(
            (np.diag(_table(left)) * np.diag(_table(right))).sum()
        ),
        "no product of the two traces": lambda left, right: float(np.trace(_table(left)) * np.trace(_table(right))),
    },
)
moving = Asked(
    "the new estimate",
    lambda old, new, alpha: (1 - alpha) * _table(old) + alpha * _table(new),
    ([[1.0, 0.0], [0.0, 1.0]], [[3.0, 2.0], [2.0, 5.0]], 0.1),
    slips={
        "alpha is the weight of the new one": lambda old, new, alpha: alpha * _table(old) + (1 - alpha) * _table(new),
        "the old one loses what the new one gets": lambda old, new, alpha: _table(old) + alpha * _table(new),
        "half and half forgets alpha": lambda old, new, alpha: (_table(old) + _table(new)) / 2,
    },
)
