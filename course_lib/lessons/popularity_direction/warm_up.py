"""The public checks of the warm-up on directions."""

from __future__ import annotations

import numpy as np

from course_lib import geometry
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked


def _contrast(items: list[list[float]], counts: list[int], many: int) -> np.ndarray:
    ordered = np.array(items)[np.argsort(counts)]
    return np.asarray(ordered[-many:].mean(axis=0) - ordered[:many].mean(axis=0))


contrast = Asked(
    "popular minus rare",
    _contrast,
    ([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [4.0, 0.0]], [5, 1, 9, 3], 1),
    ([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [4.0, 0.0]], [5, 1, 9, 3], 2),
    slips={
        "popular minus rare, not rare minus popular": lambda items, counts, many: -_contrast(items, counts, many),
        "the means, not the sums": lambda items, counts, many: many * _contrast(items, counts, many),
        "by their counts, not by their places in the table": lambda items, counts, many: _contrast(
            items, list(range(len(items))), many
        ),
        "no length is divided out here": lambda items, counts, many: (
            _contrast(items, counts, many) / np.linalg.norm(_contrast(items, counts, many))
        ),
    },
)
along = Asked(
    "the part along e",
    lambda v, e: float(np.dot(v, e) / np.linalg.norm(e)),
    ([3.0, 1.0], [2.0, 0.0]),
    ([1.0, 2.0], [3.0, 4.0]),
    slips={
        "e has a length of its own: divide by it": np.dot,
        "the length of v stays in: no cosine": lambda v, e: np.dot(v, e) / np.linalg.norm(e) / np.linalg.norm(v),
        "this is the number that multiplies e": lambda v, e: np.dot(v, e) / np.dot(e, e),
    },
)
without = Asked(
    "the vector without e",
    lambda v, e: geometry.split_radial(np.array(v), np.array(e))[1],
    ([3.0, 1.0], [2.0, 0.0]),
    ([1.0, 2.0], [3.0, 4.0]),
    slips={
        "e has a length of its own: divide by its square": lambda v, e: np.array(v) - np.dot(v, e) * np.array(e),
        "this is the part along e": lambda v, e: np.dot(v, e) / np.dot(e, e) * np.array(e),
        "only the part along e goes": lambda v, e: np.array(v) - np.array(e),
    },
)
