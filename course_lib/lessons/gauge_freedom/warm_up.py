"""The public checks of the warm-up on gauges."""

from __future__ import annotations

import numpy as np

from course_lib import geometry
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(geometry.cosine(a, b))


cosine_after = Asked(
    "the cosine after the change",
    lambda a, b, scale: _cosine(np.array(a) * scale, np.array(b) * scale),
    ([1.0, 1.0], [1.0, -1.0], [2.0, 1.0]),
    ([1.0, 2.0], [2.0, 1.0], [1.0, 10.0]),
    slips={
        "this is the cosine before the change": lambda a, b, scale: _cosine(np.array(a), np.array(b)),
        "both films change": lambda a, b, scale: _cosine(np.array(a) * scale, np.array(b)),
        "this divides by the numbers": lambda a, b, scale: _cosine(np.array(a) / scale, np.array(b) / scale),
    },
)
partner = Asked(
    "the partner of the change",
    lambda scale: 1 / np.array(scale),
    ([2.0, 1.0],),
    ([0.5, 4.0, 10.0],),
    slips={
        "the scores would change by the squares": np.array,
        "a column of zeros or of another sign loses the scores": lambda scale: -np.array(scale),
    },
)
free_numbers = Asked(
    "the free numbers",
    lambda width: np.array([width, width * (width - 1) // 2, width**2]),
    (2,),
    (3,),
    slips={
        "a rotation in d dimensions turns one plane for each pair of axes": lambda width: np.array(
            [width, width, width**2]
        ),
        "an invertible matrix has d times d entries": lambda width: np.array(
            [width, width * (width - 1) // 2, 2 * width]
        ),
        "a rotation has a plane for each pair of different axes": lambda width: np.array(
            [width, width * (width + 1) // 2, width**2]
        ),
    },
)
