"""What the tests of every lesson go through: found in the folders, listed nowhere."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

from course_lib.lessons.shared import quiz

LESSONS = [name.replace("-", "_") for name in quiz.names()]


def modules(name: str, *, of: str = "course_lib.lessons") -> dict[str, ModuleType]:
    """Lesson -> its module `name`, for each lesson that has one; of="tests.lessons" for its tests."""
    names = {lesson: f"{of}.{lesson}.{name}" for lesson in LESSONS}
    return {lesson: import_module(path) for lesson, path in names.items() if find_spec(path)}


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


def broken(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, wrong: Callable[[Any], Any]) -> None:
    """Puts a wrong formula, made of the right one, in its place."""
    monkeypatch.setattr(holder, name, wrong(getattr(holder, name)))
