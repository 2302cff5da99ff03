"""Every script that computes: the page computes what course_lib computes, and a wrong formula in it would be found.

`SCRIPTS` of a lesson's tests names them (see tests/lessons/every.py).
"""

from collections.abc import Callable
from typing import Any

import pytest
from drafts import one_quickly
from playwright.sync_api import Error as PageError

from tests.lessons.every import Script, tables
from tests.widget_pages import replacing

EVERY = [script for _, scripts in tables("SCRIPTS") for script in scripts]
MISTAKES = [case for script in EVERY for case in one_quickly([(script, *mistake) for mistake in script.wrong])]


@pytest.mark.seconds
@pytest.mark.parametrize("script", EVERY, ids=lambda script: script.module)
def test_the_page_computes_what_course_lib_computes(library: Callable[..., Any], script: Script) -> None:
    cases = script.cases()
    answers = library(script.module)(script.ask, [script.given(case) for case in cases])
    assert cases and [case for case, answer in zip(cases, answers, strict=True) if script.off(case, answer)] == []


@pytest.mark.parametrize(("script", "right", "wrong"), MISTAKES)
def test_a_wrong_formula_would_be_found(library: Callable[..., Any], script: Script, right: str, wrong: str) -> None:
    cases = (script.few or script.cases)()
    try:
        answers = library(script.module, replacing(right, wrong))(script.ask, [script.given(case) for case in cases])
    except PageError:  # the page itself has noticed it
        return
    assert any(script.off(case, answer) for case, answer in zip(cases, answers, strict=True))
