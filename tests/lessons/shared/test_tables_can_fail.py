"""The tables of the lessons' tests: wrong answers, findings, formulas and proofs, and what must notice them.

In the tests of a lesson stand FINDINGS (a finding, arguments of which it holds, arguments of which it does not),
MESSAGES (the check, the answer, what the message says), WRONG_FORMULAS (module, the formula's name, the wrong one made
of the right one, the question, the answer whose verdict changes or "" where any may) and WRONG (module, name, the wrong
one made of the right one, what notices).
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from drafts import one_quickly

from course_lib.lessons.shared import forms
from course_lib.lessons.shared.findings import Finding, FindingError
from tests.lessons.every import broken, marked, modules, tables

HOLDING = [case for _, cases in tables("FINDINGS") for case in cases]


@pytest.mark.parametrize(("found", "holds", "fails"), HOLDING, ids=[f"{one.lesson}.{one.name}" for one, *_ in HOLDING])
def test_a_finding_tells_the_case_it_describes_from_its_opposite(
    found: Finding, holds: tuple[Any, ...], fails: tuple[Any, ...]
) -> None:
    claimed = found if found.claimed else replace(found, claimed=None)  # where the page calls it undecided: of all
    cases = claimed.evidence(*holds).cases
    assert cases and all(cases[name].holds for name in claimed.claimed or cases)
    with pytest.raises(FindingError, match=found.name):
        claimed.evidence(*fails)


# ==== what the public checks say to the answers that usual misconceptions give

ANSWERS = [
    (import_module(f"course_lib.lessons.{lesson}.checks"), *case)
    for lesson, cases in tables("MESSAGES")
    for case in cases
]


@pytest.mark.parametrize(("checks", "task", "answer", "hint"), ANSWERS)
def test_a_message_says_what_is_wrong(checks: Any, task: str, answer: Any, hint: str) -> None:
    with pytest.raises(forms.NotYet, match=hint):
        getattr(checks, task)(answer)


# ==== a wrong formula of the library changes what a quiz takes for right: its verdicts are computed, not repeated

QUIZZES = modules("quiz")
VERDICTS = [
    case for lesson, cases in tables("WRONG_FORMULAS") for case in one_quickly([(lesson, *case) for case in cases])
]


@pytest.mark.seconds
@pytest.mark.parametrize(("lesson", "room", "formula", "wrong", "question", "answer"), VERDICTS)
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


# ==== a wrong formula leaves a residual, or a case that does not hold: no proof is true of everything

FORMULAS = [
    case
    for _, cases in tables("WRONG")
    for case in one_quickly([(*case, notices) for *case, noticing in cases for notices in noticing])
]


@pytest.mark.seconds
@pytest.mark.parametrize(("room", "formula", "wrong", "notices"), FORMULAS)
def test_a_wrong_formula_is_found_out(
    monkeypatch: pytest.MonkeyPatch, room: Any, formula: str, wrong: Callable[..., Any], notices: Callable[[], Any]
) -> None:
    broken(monkeypatch, room, formula, wrong)
    found = notices()
    assert any(residual != 0 for residual in (found if isinstance(found, list) else [found]))
