"""A classroom at work: who stands where with an assignment, and the working copies that nbgrader reads.

The ledger holds what was handed in; `counted/` holds, for nbgrader, the file of each student that counts, in the
assignment's form. It is written anew from the ledger whenever that would change it, and never read back. What lies in
`submitted/` is other people's: nbgrader's own exchange collects there, and nothing of it is ever changed.
"""

from __future__ import annotations

import ast
import json
import shutil
import zipfile
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import nbformat

from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.reading import tree
from exercises.engine.chapters import graded
from exercises.engine.grading.judge import write_whole

from .hand import answers
from .intake import Assignment, arrivals, numbers
from .late import Deadlines, Lateness, read_deadlines
from .ledger import Ledger, Receipt
from .people import Person, Roster, read_roster
from .room import Failed, Room, rooms, text_of
from .standing import Content, Standing, standings
from .texts import sha256

OF_THE_EXCHANGE = ("timestamp.txt", "submission_secret.txt")
"""What nbgrader's exchange writes beside a notebook, and asks for when it hands feedback back."""


class Desk:
    """One classroom's submissions."""

    def __init__(self, course: Path) -> None:
        self.course = course
        self.ledger = Ledger(course)
        self._contents: dict[tuple[str, str], Content] = {}

    @cached_property
    def roster(self) -> Roster:
        """The class's roster, read once."""
        return read_roster(self.course)

    def person(self, student: str) -> Person:
        """What the roster says of a student."""
        return self.roster.people.get(student) or Person(student)

    @cached_property
    def deadlines(self) -> Deadlines:
        """What is due when, read once."""
        found = read_deadlines(self.course)
        students = None if self.roster.open else self.roster.people
        found.check({*(room.assignment for room in rooms(self.course)), *graded()}, students)
        return found

    # ---- taking in ----

    def collect(self, folder: Path, only: str | None = None) -> list[Receipt]:
        """Takes in what is new in a folder, or in a platform's zip of a class; returns the receipts of that."""
        if not folder.is_dir() and not (folder.is_file() and zipfile.is_zipfile(folder)):
            raise Failed(f"--submissions {folder}: no such folder, and no zip file")
        known = numbers(self.ledger.receipts())
        found = arrivals(folder, self.assignments(), self.roster, only, known=known)
        return self.ledger.collect(found, str(folder))

    def adopt(self, only: str | None = None) -> list[Receipt]:
        """Takes in what nbgrader's exchange, or a person, put into `submitted/`, where it stays.

        What came once comes in again only as somebody else's, or when a doubt is settled: not after `undo`.
        """
        folder = self.course / "submitted"
        if not folder.is_dir():
            return []
        every = arrivals(folder, self.assignments(), self.roster, only)
        there = [replace(one, path=f"submitted/{one.path}") for one in every if not one.path.endswith("/")]
        known = {(one.path, one.sha256, one.student, one.problem) for one in self.ledger.receipts()}
        new = [one for one in there if (one.path, one.sha256, one.student, one.problem) not in known]
        return self.ledger.collect(new, str(folder)) if new else []

    def assignments(self) -> list[Assignment]:
        """All assignments that have a source."""
        every = rooms(self.course)
        return [
            Assignment(room.assignment, notebooks.answer_names(notebooks.read_source(room.notebook("source"))))
            for room in every
        ]

    # ---- who stands where ----

    def standings(self, room: Room) -> dict[str, Standing]:
        """Every student who handed anything in for an assignment."""
        return standings(self.ledger.receipts(), room.assignment, lambda sha: self.look(room, sha))

    def lateness(self, room: Room) -> dict[str, Lateness]:
        """How late each student is with an assignment; free days go to what was due first, whatever it is."""
        others = [one for one in rooms(self.course) if one.assignment in self.deadlines.due and one != room]
        files: dict[str, dict[str, Receipt]] = {}
        for one in [room, *others]:
            for student, standing in self.standings(one).items():
                if standing.counts:
                    files.setdefault(student, {})[one.assignment] = standing.counts
        every = {student: self.deadlines.lateness(student, own) for student, own in files.items()}
        return {student: own[room.assignment] for student, own in every.items() if room.assignment in own}

    def look(self, room: Room, sha256: str) -> Content:
        """What is in a file, seen as an assignment."""
        key = room.assignment, sha256
        if key not in self._contents:
            self._contents[key] = _content(room, self.ledger.content(sha256))
        return self._contents[key]

    # ---- working copies ----

    def lay_out(self, room: Room) -> dict[str, Standing]:
        """Writes the working copy of everybody, where it differs from what lies there; returns where they stand."""
        found, pristine = self.standings(room), notebooks.read_source(room.notebook("release"))
        for student, standing in found.items():
            counts = standing.counts
            content = self.ledger.content(counts.sha256) if counts and counts.sha256 else None
            cells = notebooks.handed_in(content) if content is not None else []
            path, text = room.notebook("counted", student), nbformat.writes(notebooks.rebuilt(pristine, cells))
            if text_of(path) != text:
                write_whole(path, text)
            for name in OF_THE_EXCHANGE:
                if (beside := room.notebook("submitted", student).with_name(name)).is_file():
                    shutil.copyfile(beside, path.with_name(name))
        for path in room.course.glob(f"counted/*/{room.assignment}"):
            if path.parent.name not in found:  # what was taken back with `undo`
                shutil.rmtree(path)
        return found


def _content(room: Room, content: bytes) -> Content:
    try:
        cells = notebooks.handed_in(content)
    except notebooks.Unreadable as error:
        return Content(False, str(error))
    pristine = notebooks.read_source(room.handed_out())
    rebuilt = notebooks.rebuilt(pristine, cells)
    names = {notebooks.grading(cell).get("grade_id") for cell in pristine.cells}
    if not any(cell.name in names for cell in cells) and not _answered(rebuilt, pristine):
        return Content(False, "none of the assignment's cells is in it")  # notes, or a page: no text of it is an answer
    if not notebooks.is_worked_on(rebuilt, pristine):
        return Content(False)
    same = sha256(json.dumps(answers(_as_written(rebuilt)), sort_keys=True).encode())
    return Content(True, answers=same, receipt=notebooks.receipt(rebuilt))


def _as_written(rebuilt: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what a program adds while it saves, and without layout and remarks, for which code gets no marks."""
    every = ((cell, _meaning(cell.source) if cell.cell_type == "code" else cell.source) for cell in rebuilt.cells)
    said = ((cell, source.replace("\r\n", "\n").strip()) for cell, source in every)
    cells = [{**cell, "source": source} for cell, source in said if source]
    copy: nbformat.NotebookNode = nbformat.from_dict({**rebuilt, "cells": cells})
    return copy


def _meaning(source: str) -> str:
    try:
        found = tree(source)
        return source if found is None else ast.dump(found) if found.body else ""
    except RecursionError:  # a sum of thousands
        return source


def _answered(rebuilt: nbformat.NotebookNode, pristine: nbformat.NotebookNode) -> bool:
    """Whether an answer stands in its place, whatever else the student wrote."""
    placed = [cell for cell in rebuilt.cells if not notebooks.is_own(cell)]
    return notebooks.is_worked_on(nbformat.from_dict({**rebuilt, "cells": placed}), pristine)
