"""Notebooks as assignments: the instructor's source, and what a student handed in, brought into its form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

OPEN_ROOMS = ("arrays", "interactions", "datasets")  # rooms that give no answer away, where an assignment names none
MOST_BYTES = 20_000_000
MOST_CELLS = 300
LONGEST_SOURCE = 100_000


class Unreadable(ValueError):
    """What was handed in is no notebook, or too large to be one."""


def read_source(path: Path) -> NotebookNode:
    """An instructor's notebook: trusted."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def grading(cell: Any) -> dict[str, Any]:
    """nbgrader's metadata of a cell, or {}."""
    about: dict[str, Any] = cell.get("metadata", {}).get("nbgrader", {})
    return about


def open_rooms(source: NotebookNode) -> list[str]:
    """The rooms of course_lib that a student's code may use: the source notebook's own list, in its metadata."""
    return list(source.metadata.get("course", {}).get("open_rooms", OPEN_ROOMS))


def is_test(cell: NotebookNode) -> bool:
    """Graded by machine: a locked code cell with points."""
    about = grading(cell)
    return cell.cell_type == "code" and bool(about.get("grade")) and not about.get("solution")


def is_answer(cell: NotebookNode) -> bool:
    """Written by the student."""
    return bool(grading(cell).get("solution"))


def handed_in(content: bytes) -> list[tuple[str | None, str, str]]:
    """(grade_id or None, cell type, source) of every cell of a submitted file; Unreadable for anything else."""
    if len(content) > MOST_BYTES:
        raise Unreadable(f"the file has {len(content):,} bytes; at most {MOST_BYTES:,} are read. Clear the outputs")
    try:
        cells = json.loads(content)["cells"]
        found = list(_cells(cells))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable("the file is no notebook in format 4") from error
    if len(found) > MOST_CELLS:
        raise Unreadable(f"the notebook has {len(found):,} cells; at most {MOST_CELLS} are read")
    return found


def _cells(cells: Any) -> Iterator[tuple[str | None, str, str]]:
    for cell in cells:
        source = cell["source"]
        text = source if isinstance(source, str) else "".join(source)
        text = text.encode("utf-8", "replace").decode()[:LONGEST_SOURCE]  # half of a surrogate pair cannot be stored
        text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", text)
        metadata = cell.get("metadata")
        about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        name = about.get("grade_id") if isinstance(about, dict) else None
        kind = cell.get("cell_type")
        yield (name if isinstance(name, str) else None), (kind if kind in ("code", "markdown") else "markdown"), text


def rebuilt(pristine: NotebookNode, submitted: list[tuple[str | None, str, str]]) -> NotebookNode:
    """The released notebook with the student's answers in it, and the student's own cells where they stood.

    Only the *sources* of answer cells are taken over, by their grade_id (the first of several with the same). Locked
    cells, points, ids and the order of the tasks are those of the released notebook, so that a deleted, doubled, moved
    or edited check changes nothing. A student's own cells follow the cell of the assignment that they followed.
    """
    known = {grading(cell)["grade_id"]: cell for cell in pristine.cells if "grade_id" in grading(cell)}
    answers: dict[str, str] = {}
    own: dict[str | None, list[NotebookNode]] = {}
    place: str | None = None
    for name, kind, source in submitted:
        if name in known:
            place = name
            if is_answer(known[name]):
                answers.setdefault(str(name), source)
        else:
            make: Callable[..., NotebookNode] = (
                nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
            )
            number = sum(map(len, own.values())) + 1
            own.setdefault(place, []).append(make(source, id=f"student-{number}"))
    notebook: NotebookNode = nbformat.from_dict({**pristine, "cells": list(own.get(None, []))})
    for cell in pristine.cells:
        copy = nbformat.from_dict(json.loads(json.dumps(cell)))
        name = grading(copy).get("grade_id")
        if name in answers:
            copy.source = answers[name]
        elif is_answer(copy) and copy.cell_type == "code":
            copy.source = ""  # deleted by the student; `pristine` may be the source, which holds the solution
        notebook.cells += [copy, *own.get(name, [])]
    return notebook


def student_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells that run in the student's process: everything but the graded checks."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and not is_test(cell)]
