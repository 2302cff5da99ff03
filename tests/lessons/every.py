"""What the tests of every lesson go through: found in the folders, listed nowhere."""

import contextlib
import io
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from course_lib.lessons.shared import quiz

LESSONS = [name.replace("-", "_") for name in quiz.names()]


def modules(name: str) -> dict[str, ModuleType]:
    """Lesson -> its module `name`, for each lesson that has one."""
    names = {lesson: f"course_lib.lessons.{lesson}.{name}" for lesson in LESSONS}
    return {lesson: import_module(path) for lesson, path in names.items() if find_spec(path)}


def tables(name: str) -> list[tuple[str, Any]]:
    """(lesson, table), for each table of this name in the tests of a lesson."""
    found = [path for path in sorted(Path(__file__).parent.glob("*/test_*.py")) if holds(path, name)]
    places = [(path.parent.name, import_module(f"tests.lessons.{path.parent.name}.{path.stem}")) for path in found]
    return [(lesson, getattr(tests, name)) for lesson, tests in places]


def holds(path: Path, name: str) -> bool:
    """Whether a file of tests defines a table, found without importing it."""
    return re.search(rf"^{name}\b.* = ", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def marked(name: str, question: str) -> dict[str, bool]:
    """Which answers to a question of a quiz are marked as right."""
    [asked] = [one for one in quiz.load(name).questions if one.id == question]
    return {answer.id: answer.right for answer in asked.answers}


def explanation(name: str, question: str, answer: str) -> str:
    """What a quiz says why an answer is right or wrong."""
    [asked] = [one for one in quiz.load(name).questions if one.id == question]
    return next(one.why for one in asked.answers if one.id == answer)


def printed(code: str) -> tuple[str, dict[str, Any]]:
    """What lines of Python print, and the names that they leave."""
    said = io.StringIO()
    names: dict[str, Any] = {"__name__": "page"}
    with contextlib.redirect_stdout(said):
        exec(compile(code, "page", "exec"), names)
    return said.getvalue(), names


class Script(NamedTuple):
    """A script of an interactive that computes what course_lib computes."""

    module: str
    ask: str  # JavaScript: from a list of cases to the answers
    cases: Callable[[], list[Any]]
    off: Callable[[Any, Any], Any]  # of a case and the page's answer: what is not as Python has it, if anything
    wrong: tuple[str, str]  # what stands in the script once, and a mistake in its place, which `off` must notice
    given: Callable[[Any], Any] = lambda case: case.state()  # what the page gets of a case


def broken(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, wrong: Callable[[Any], Any]) -> None:
    """Puts a wrong formula, made of the right one, in its place."""
    monkeypatch.setattr(holder, name, wrong(getattr(holder, name)))
