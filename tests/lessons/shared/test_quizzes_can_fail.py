"""A wrong formula of the library changes what a quiz takes for right: its verdicts are computed, not repeated.

`WRONG_FORMULAS` of a lesson's test_quiz.py: (module, the formula's name, the wrong one made of the right one, the
question, the answer whose verdict changes or "" where any may).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.lessons.every import broken, marked, modules

pytestmark = pytest.mark.seconds

QUIZZES = modules("quiz")
WRONG_FORMULAS = [
    (lesson, *case)
    for lesson, tests in modules("test_quiz", of="tests.lessons").items()
    for case in getattr(tests, "WRONG_FORMULAS", [])
]


@pytest.mark.parametrize(("lesson", "room", "formula", "wrong", "question", "answer"), WRONG_FORMULAS)
def test_a_wrong_formula_changes_the_verdicts(
    monkeypatch: pytest.MonkeyPatch,
    lesson: str,
    room: Any,
    formula: str,
    wrong: Callable[..., Any],
    question: str,
    answer: str,
) -> None:
    verdicts = getattr(QUIZZES[lesson], question.replace("-", "_"))
    before = verdicts()
    assert before == marked(lesson.replace("_", "-"), question)
    broken(monkeypatch, room, formula, wrong)
    try:
        after = verdicts()
    except AssertionError:
        return  # the function has noticed it
    assert after != before if not answer else after[answer] != before[answer]
