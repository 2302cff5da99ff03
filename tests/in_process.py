"""Marks an assignment's notebook in this process, without walls: for the tests of checks, which are trusted code."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from course_lib.lessons.shared import plain
from exercises import simulate
from exercises.grading import judge, sandbox

ASSIGNMENTS = simulate.assignments()
NEW = [name for name in ASSIGNMENTS if name != simulate.FIRST]


def functions(notebook: dict) -> dict[str, Any]:
    """The names that a notebook's setup and answer cells define."""
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and not cell["metadata"]["nbgrader"]["grade"]:
            exec("\n".join(line for line in cell["source"].split("\n") if "%pip" not in line), names)
    return names


def public_checks(assignment: str) -> ModuleType:
    """What the notebook of an assignment calls `checks`."""
    return import_module(f"course_lib.lessons.{simulate.module_of(assignment)}.checks")


def with_arguments(function: Callable[..., Any], **changed: Callable[..., Any]) -> Callable[..., Any]:
    """The function with some of its arguments replaced: name -> what is made of all arguments."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return lambda *arguments: function(
        *(changed[name](*arguments) if name in changed else x for name, x in zip(names, arguments, strict=True))
    )


def through_the_wall(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Arguments and results pass as plain values, as they do when a submission is judged."""

    def call(*arguments: Any) -> Any:
        return plain.from_plain(plain.to_plain(answer(*plain.from_plain(plain.to_plain(list(arguments))))))

    return call


def marks(notebook: dict, assignment: str, *, public_only: bool = False) -> dict[str, str]:
    """grade_id -> "" where the check passes, or its message."""
    answers = {name: through_the_wall(thing) for name, thing in functions(notebook).items() if callable(thing)}
    found = {}
    for cell in simulate.source(assignment)["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["grade"] and not about["solution"]:
            code = "".join(cell["source"])
            try:
                with redirect_stdout(io.StringIO()):
                    exec(
                        simulate.HIDDEN.sub("", code + "\n") if public_only else code,
                        {**answers, "checks": public_checks(assignment)},
                    )
                found[about["grade_id"]] = ""
            except (AssertionError, NotImplementedError) as error:
                found[about["grade_id"]] = str(error) or type(error).__name__
    return found


@cache
def marks_of(assignment: str, kind: str) -> dict[str, str]:
    """The marks of a simulated submission, worked out once."""
    make = {"reference": simulate.reference, "empty": simulate.empty}.get(kind)
    return marks(make(assignment) if make else simulate.wrong(kind, assignment), assignment)


def verdict_on(assignment: str, kind: str, folder: Path) -> dict[str, Any]:
    """The judge's verdict on a simulated submission, with walls and with the shortest limits; runs in any process."""
    sandbox.STEP_SECONDS, sandbox.SUBMISSION_SECONDS = 1.0, 2.0
    submitted = folder / f"{assignment}-{kind}.ipynb"
    submitted.write_bytes(simulate.content(kind, assignment))
    source = simulate.HERE / "source" / assignment / f"{assignment}.ipynb"
    try:
        return judge.judge(source, submitted)
    except judge.notebooks.Unreadable as error:
        return judge.nothing_handed_in(source, str(error))
