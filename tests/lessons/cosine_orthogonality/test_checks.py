"""The checks of the assignment on cosines: messages that fit, and the numbers that its solutions quote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from in_process import functions

from course_lib.lessons.cosine_orthogonality import checks
from course_lib.lessons.shared import forms
from exercises import simulate

# One wrong cell for each check that no typical wrong submission loses.
SPOILT = {"test_gradient_unit": "def cosine_gradient(q, k):\n    return np.array(k) / np.linalg.norm(k)"}


MESSAGES = [
    (
        "gradient_at_any_length",
        lambda q, k: (np.array(k) / 2 - 0.8 * np.array(q) / 5) / 5,
        "is not right",
    ),
    (
        "gradient_at_unit_length",
        lambda q, k: np.array(k) / np.linalg.norm(k),
        "moving outward does not change",
    ),
    ("gradient_at_unit_length", lambda q, k: q[:1], "a list of numbers"),
    ("gradient_at_unit_length", lambda q, k: [float("nan")] * len(q), "finite"),
    ("norm_after", lambda n, c, s, lr: n, "to second order the length does"),
    ("norm_after", lambda n, c, s, lr: float(n), "no floats"),
    ("shrinking", lambda: ([0, 0], [1, 0], 1), "not zero"),
    ("shrinking", lambda: ([1, 0], [1, 0, 0], 1), "of the dimension of q"),
    ("shrinking", lambda: 7, "three things"),
    ("longer_than_one", lambda q, keys: [1.0] * len(keys), "must sum to 1"),
]


@pytest.mark.parametrize(("task", "answer", "hint"), MESSAGES)
def test_a_message_says_what_is_wrong(task: str, answer: Any, hint: str) -> None:
    with pytest.raises(forms.NotYet, match=hint):
        getattr(checks, task)(answer)


def test_the_essay_on_cosines_quotes_the_share_of_radial_gradients() -> None:
    users, items = checks.films()
    share = functions(simulate.reference("cosine-orthogonality"))["share_radial"]
    assert share(users, items, 1.0, 0.1, "dot") == pytest.approx(0.9, abs=0.05)  # "nine users in ten"
    assert share(users, items, 1.0, 0.1, "cos") == 0
