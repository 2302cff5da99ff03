"""The quiz of the chapter: its numbers are right, and a wrong formula is noticed."""

from __future__ import annotations

import numpy as np

from course_lib import losses
from course_lib.lessons.negatives import quiz
from course_lib.losses import floors

WRONG_FORMULAS = [
    (floors, "loss_floor", lambda right: lambda *given: 0.5 * right(*given), "least-mean-probability", ""),
    (losses, "mixed_log_q", lambda right: lambda *given: 0.5 * right(*given), "share-of-a-mixture", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    assert np.allclose(quiz.LIKED / quiz.DRAWN, [5 / 6, 1, 2])
    assert round(floors.loss_floor(1001, 0.2), 2) == 2.04 and round(1001 / (1000 * 0.2), 3) == 5.005
    assert round(floors.largest_tau(1001, 0.9), 2) == 0.11 and round(np.exp(5.005)) == 149
