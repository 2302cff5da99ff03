"""Marks a notebook in this process, without walls: for code that is trusted, such as reference solutions."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any

from course_lib.lessons.shared import forms
from exercises.engine import simulate
from exercises.engine.simulate import Notebook


def functions(notebook: Notebook) -> dict[str, Any]:
    """The names that a notebook's setup and answer cells define."""
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and not cell["metadata"]["nbgrader"]["grade"]:
            exec("\n".join(line for line in cell["source"].split("\n") if "%pip" not in line), names)
    return names


def graded_code(source: Notebook) -> Iterator[tuple[str, str]]:
    """(grade_id, code) of the cells of a source that are graded by machine."""
    for cell in source["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["grade"] and not about["solution"]:
            yield about["grade_id"], "".join(cell["source"])


def marks(
    notebook: Notebook, source: Notebook, checks: ModuleType, *, only: set[str] | None = None, public: bool = False
) -> dict[str, str]:
    """grade_id -> "" where the check of the source passes, or its message; `public` leaves the hidden checks out."""
    answers = {name: forms.plainly(thing) for name, thing in functions(notebook).items() if callable(thing)}
    found = {}
    for name, code in graded_code(source):
        if only is not None and name not in only:
            continue
        try:
            with redirect_stdout(io.StringIO()):
                exec(simulate.HIDDEN.sub("", code + "\n") if public else code, {**answers, "checks": checks})
            found[name] = ""
        except (AssertionError, NotImplementedError) as error:
            found[name] = str(error) or type(error).__name__
    return found
