"""What a person should look at: code that did not run here although it may have run where it was written."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from nbformat import NotebookNode

from . import notebooks
from .shell import UNKNOWN

PACKAGES = ("NumPy", "SciPy", "SymPy", "Matplotlib")
WHY_MISSING = ". Its cell did not run to its end: "
"""Stands in a check's message between what was missing and the error of the cell that would have defined it."""
LONGEST_LINE = 300  # characters
_OF_THE_GRADER = ("ModuleNotFoundError", "ImportError", "SyntaxError")
"""Errors that another Python, or other packages, may not have."""


def graded_with() -> str:
    """The Python and the packages that answers meet: those of this environment, which the judge and the walls use."""
    return ", ".join([f"Python {platform.python_version()}", *map(_version, PACKAGES)])


def _version(package: str) -> str:
    try:
        return f"{package} {version(package.lower())}"
    except PackageNotFoundError:  # on a student's computer
        return f"no {package}"


def look_at(
    notebook: NotebookNode, outputs: Mapping[str, Mapping[str, Any]], checks: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """A line for each cell that did not run here, and for each check that passed where it was written and not here.

    Cells that cost no points are named only where they ended or hung the process. An error, or a failed check, that
    the saved notebook shows too is the student's own, and needs nobody.
    """
    lost = any(not check["passed"] for check in checks.values())
    titles, task = notebooks.titles(notebook), ""
    for cell in notebook.cells:
        name: str = notebooks.grading(cell).get("grade_id", "")
        if name:
            task = titles[name].partition(",")[0] if titles[name] != name else ""
        if cell.cell_type != "code" or name == notebooks.HAND_IN:
            continue
        if notebooks.is_test(cell):
            where, found = titles[name], _of_check(cell, checks[name])
        else:
            where = ", ".join(filter(None, [task, name or "a cell of the student's own"]))
            found = _of_cell(cell, outputs.get(cell.id, {}), lost)
        yield from (f"{where[:1].lower()}{where[1:]}: {line}"[:LONGEST_LINE] for line in found)


def _of_cell(cell: NotebookNode, result: Mapping[str, Any], lost: bool) -> Iterator[str]:
    """Why a cell did not run, and what was left out of one that did."""
    if len(cell.source) >= notebooks.LONGEST_SOURCE:
        yield f"only the first {notebooks.LONGEST_SOURCE:,} characters of this cell were read"
    error = result.get("error") or ""
    kind = error.partition(":")[0]
    if error.startswith("This cell ") or (error and lost and notebooks.saved(cell) != kind):
        yield f"{error} (graded with {graded_with()})" if kind in _OF_THE_GRADER else error
    skipped = result.get("skipped", [])
    if skipped and (lost or any(one.endswith(UNKNOWN) for one in skipped)):
        yield f"not run here: {', '.join(skipped)}"


def _of_check(cell: NotebookNode, check: Mapping[str, Any]) -> Iterator[str]:
    """Why a check failed that passed, or may have passed, where it was written; or passed late."""
    saved, message = notebooks.saved(cell), check["message"]
    if check.get("at_the_end") or check.get("look"):
        yield message
    elif check["passed"] or WHY_MISSING in message:  # then the cell itself is named
        return
    elif check["stage"] == "hidden":
        if not check["ran"]:
            yield f"the public check passed, then the code did not run: {message}"
    elif saved == notebooks.PASSED_PUBLICLY:
        yield f"the saved notebook says that the public check passed; here: {message}"
    elif not check["ran"] and saved is None and not _is_unanswered(message):
        yield message


def _is_unanswered(message: str) -> bool:
    """Whether a function was called that was left as it was handed out, or that nobody wrote."""
    return "NotImplementedError" in message or message.endswith("is not defined")
