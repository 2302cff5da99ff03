"""Marks an assignment's notebook in this process, without walls: for the tests of checks, which are trusted code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.lessons.shared.grading import sandbox
from exercises.engine import chapters, simulate, variants
from exercises.engine.grading import judge

ASSIGNMENTS = simulate.assignments()
public_checks = simulate.public_checks
functions = variants.functions
NEW = [name for name in ASSIGNMENTS if name != simulate.FIRST]


def with_arguments(function: Callable[..., Any], **changed: Callable[..., Any]) -> Callable[..., Any]:
    """The function with some of its arguments replaced: name -> what is made of all arguments."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return lambda *arguments: function(
        *(changed[name](*arguments) if name in changed else x for name, x in zip(names, arguments, strict=True))
    )


def marks(notebook: dict, assignment: str, *, public_only: bool = False, source: dict | None = None) -> dict[str, str]:
    """grade_id -> "" where the check passes, or its message; the checks are those of `source`, or the public ones."""
    checks = simulate.public_checks(assignment)
    return variants.marks(notebook, source or simulate.source(assignment), checks, public=public_only)


@cache
def marks_of(assignment: str, kind: str) -> dict[str, str]:
    """The marks of a simulated submission, worked out once."""
    make = {"reference": simulate.reference, "empty": simulate.empty}.get(kind)
    return marks(make(assignment) if make else simulate.wrong(kind, assignment), assignment)


def verdict_on(assignment: str, kind: str, folder: Path) -> dict[str, Any]:
    """The judge's verdict on a simulated submission, with walls and with the shortest limits; runs in any process."""
    submitted = folder / f"{assignment}-{kind}.ipynb"
    submitted.write_bytes(simulate.content(kind, assignment))
    source = chapters.hand_over(assignment, folder)
    try:
        return judge.judge(source, submitted, sandbox.Limits(1.0, 2.0))
    except judge.notebooks.Unreadable:  # in a class such a file reaches no judge
        checks = {check: {"passed": False} for check in simulate.points(assignment)}
        return {"checks": checks, "outputs": {}, "student_seconds": 0.0}
