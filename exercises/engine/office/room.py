"""One assignment of one classroom: where its files lie, and how nbgrader is asked."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbformat import NotebookNode
from traitlets.config.loader import PyFileConfigLoader

from course_lib import outputs
from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.looking import graded_with
from course_lib.lessons.shared.grading.sandbox import USUAL, Limits
from exercises.engine.chapters import HERE
from exercises.engine.grading.judge import fingerprint, read_json, verdict_on, write_whole
from tools.address import repository

from .texts import Failed

if TYPE_CHECKING:
    from nbgrader.api import Gradebook
    from nbgrader.apps import NbGraderAPI

SETTINGS = """# Written by the course's commands; its settings are those of the course.
load_subconfig("nbgrader_config.py", path={here!r})
get_config().CourseDirectory.root = {course!r}
"""


@dataclass(frozen=True)
class Room:
    """One classroom folder and one assignment in it; an assignment is one notebook of the same name."""

    course: Path
    assignment: str
    limits: Limits = USUAL

    def notebook(self, step: str, student: str = ".") -> Path:
        """source/./A/A.ipynb, release/./A/A.ipynb, counted/STUDENT/A/A.ipynb, ..."""
        return self.course / step / student / self.assignment / f"{self.assignment}.ipynb"

    def release_state(self) -> str:
        """Changes with what a release is made of: the source, on what answers will run, and the course's address."""
        besides = f"{graded_with()}, {repository()}"
        return hashlib.sha256(self.notebook("source").read_bytes() + besides.encode()).hexdigest()

    def verdict(self, student: str) -> Path:
        """Where the judge's verdict on a student's work lies."""
        return self.course / "verdicts" / self.assignment / f"{student}--{self.assignment}.json"

    def booked(self, student: str) -> dict[str, Any] | None:
        """As what a submission was booked; {} while it is being booked, None where nobody noted anything."""
        path = self.verdict(student).with_suffix(".booked")
        return read_json(path) if path.exists() else None

    def note_booking(self, student: str, **booked: Any) -> None:
        """Writes beside the verdict as what it was booked, or that it is being booked."""
        write_whole(self.verdict(student).with_suffix(".booked"), json.dumps(booked, indent=1))

    def judged(self, student: str) -> dict[str, Any]:
        """The verdict on a student's working copy: the stored one, or a new one."""
        files = self.notebook("source"), self.notebook("counted", student)
        return verdict_on(self.verdict(student), *files, self.limits)

    def fingerprint(self, student: str) -> str:
        """Changes with the student's working copy, the assignment and whatever grades it."""
        return fingerprint(self.notebook("source"), self.notebook("counted", student))

    def api(self) -> NbGraderAPI:
        """nbgrader, set up for this classroom."""
        return _api(self.course)

    def gradebook(self) -> Gradebook:
        """nbgrader's gradebook of the classroom; use it in a `with` block."""
        return self.api().gradebook


@cache
def _api(course: Path) -> NbGraderAPI:
    from nbgrader.apps import NbGraderAPI  # here, for it takes a second to import, and a command's --help needs none

    here, paths = str(Path(sys.executable).parent), os.environ.get("PATH", "").split(os.pathsep)
    if here not in paths:  # it makes a new gradebook with the command alembic, which lies beside this Python
        os.environ["PATH"] = os.pathsep.join([here, *paths])
    config = PyFileConfigLoader("nbgrader_config.py", path=str(HERE)).load_config()
    config.CourseDirectory.root = str(course)
    return NbGraderAPI(config=config)


def settings(course: Path) -> None:
    """The folder of a class gets nbgrader's file of settings, so that nbgrader's own commands work in it.

    A file that somebody wrote there stays: it is nbgrader's, and theirs.
    """
    path, text = course / "nbgrader_config.py", SETTINGS.format(here=str(HERE), course=str(course))
    if course != HERE and text_of(path).partition("\n")[0] in ("", SETTINGS.partition("\n")[0]):
        path.write_text(text, encoding="utf-8")


def rooms(course: Path, assignment: str | None = None, limits: Limits = USUAL) -> list[Room]:
    """The assignment named, or all that have a source."""
    if assignment is None:
        sources = sorted(course.glob("source/*/*.ipynb"))
        return [Room(course, path.stem, limits) for path in sources if path.stem == path.parent.name]
    room = Room(course, assignment, limits)
    if not room.notebook("source").exists():
        raise Failed(f"no assignment {assignment!r}: {room.notebook('source')} is missing")
    return [room]


def graded_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The cells of an assignment that have points, by name."""
    every = ((notebooks.grading(cell), cell) for cell in notebook.cells)
    return {about["grade_id"]: cell for about, cell in every if about.get("grade")}


def usable(course: Path, *, new: bool = True) -> Path:
    """The folder of a class; Failed where nbgrader would look for its files elsewhere, and for none if not `new`."""
    if glob.has_magic(str(course)) or re.search("%[0-9A-Fa-f]{2}", str(course)):
        told = "[ ], * and ? may not stand in the path of a class, nor a sign such as %41"
        raise Failed(f"{course}: {told}, as nbgrader reads them in its own way")
    if not new and not course.is_dir():
        raise Failed(f"{course} is no folder; expected that of a class")
    try:
        return outputs.folder(course, "--course")
    except ValueError as error:
        raise Failed(str(error)) from None


def checked(result: dict[str, Any]) -> None:
    """Failed, with the end of nbgrader's log, where nbgrader could not do what it was asked."""
    if not result["success"]:
        told = f"{result.get('log') or ''}\n{result.get('error') or ''}".strip() or "no reason given"
        raise Failed(told[-1500:])


def text_of(path: Path) -> str:
    """The text of a file, or nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
