"""What the public checks say to the answers that usual misconceptions give.

`MESSAGES` of a lesson's test_checks.py: (the check, the answer, what the message says, as a regular expression).
"""

from __future__ import annotations

from typing import Any

import pytest

from course_lib.lessons.shared import forms
from tests.lessons.every import modules

CHECKS = modules("checks")
MESSAGES = [
    (lesson, *case)
    for lesson, tests in modules("test_checks", of="tests.lessons").items()
    for case in getattr(tests, "MESSAGES", [])
]


@pytest.mark.parametrize(("lesson", "task", "answer", "hint"), MESSAGES)
def test_a_message_says_what_is_wrong(lesson: str, task: str, answer: Any, hint: str) -> None:
    with pytest.raises(forms.NotYet, match=hint):
        getattr(CHECKS[lesson], task)(answer)
