"""The quiz on DDC: verdicts come from course_lib, and so do the numbers in the explanations."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import correction, losses
from course_lib.lessons.ddc import quiz
from tests.lessons.every import explanation

WRONG_FORMULAS = [
    (correction, "has_minimiser", lambda f: lambda a, b: not f(a, b), "minimum", "both"),
    (correction, "solve_user", lambda f: lambda s, t, a, b: f(s, t, a, b - b.mean()), "origin", "sign"),
    (correction, "solve_user", lambda f: lambda s, t, a, b: f(s, t, a, b - b.mean()), "origin", "gone"),
    (losses, "bpr", lambda f: lambda p, n: (p - n).mean() ** 2, "loss-scale", "below"),
    (correction, "user_loss", lambda f: lambda s, t, a, b, x, y: f(s, t, 0 * a, b, x, y), "served", "learned"),
    (correction, "user_loss", lambda f: lambda s, t, a, b, x, y: f(s, t[1:], a, b[1:], x, y), "served", "shipped"),
]


def test_the_numbers_in_the_explanations_on_ddc() -> None:
    loss = {margin: float(losses.bpr(np.array([margin]), np.zeros(1))) for margin in (2.0, 6.0, -2.0, -6.0)}
    assert (round(loss[2.0], 3), round(loss[6.0], 4), round(100 * loss[6.0] / loss[2.0])) == (0.127, 0.0025, 2)
    assert "0.127" in explanation("ddc", "loss-scale", "below") and "0.0025" in explanation(
        "ddc", "loss-scale", "below"
    )
    assert (round(loss[-2.0], 2), round(loss[-6.0], 2)) == (2.13, 6.0) and "2.13 to 6.00" in explanation(
        "ddc", "loss-scale", "wrong"
    )
    final = quiz.USER + quiz.BETA * quiz.PREFERENCE
    assert (quiz.POSITIVE @ final).tolist() == [4.5] and (quiz.NEGATIVES @ final).tolist() == [7, 0, 0]
    assert (quiz.NEGATIVES @ quiz.USER).tolist() == [-1, 0, 0] and "−1, 0 and 0" in explanation(
        "ddc", "served", "learned"
    )
    assert pytest.approx(0.25) == quiz.ALPHA + quiz.BETA_GAP * quiz.TILT and "= 0.25" in explanation(
        "ddc", "popularity", "up"
    )
