"""Every script that computes: the page computes what course_lib computes, and a wrong formula in it would be found.

`SCRIPTS` of a lesson's tests names them (see tests/lessons/every.py).
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.lessons.every import Script, tables
from tests.widget_pages import replacing

EVERY = [script for _, scripts in tables("SCRIPTS") for script in scripts]


@pytest.mark.seconds
@pytest.mark.parametrize("script", EVERY, ids=lambda script: script.module)
def test_the_page_computes_what_course_lib_computes(library: Callable[..., Any], script: Script) -> None:
    cases = script.cases()

    def answers(**source: Any) -> Any:
        found = library(script.module, **source)(script.ask, [script.given(case) for case in cases])
        return zip(cases, found, strict=True)

    assert cases and [case for case, answer in answers() if script.off(case, answer)] == []
    assert any(script.off(case, answer) for case, answer in answers(source=replacing(*script.wrong)))
