"""A classroom at work: who stands where with an assignment, and the working copies that nbgrader reads.

The ledger holds what was handed in; `submitted/` holds, for nbgrader, the file of each student that counts, in the
assignment's form. It is written anew from the ledger whenever that would change it, and never read back, except where
somebody else wrote there: what nbgrader's own exchange collected is taken in like any other file.
"""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import count
from pathlib import Path

import nbformat

from course_lib.lessons.shared.grading import notebooks
from exercises.engine.chapters import graded
from exercises.engine.grading.judge import write_whole

from .hand import answers
from .intake import Assignment, arrivals, numbers
from .late import Deadlines, Lateness, read_deadlines
from .ledger import Arrival, Ledger, Receipt
from .people import Person, Roster, read_roster
from .room import Failed, Room, rooms
from .standing import Content, Standing, standings
from .texts import sha256


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
        """Takes in what somebody else put into `submitted/`: nbgrader's exchange, or this course of old.

        A file that is now somebody's work goes from there, as the ledger has its bytes. A doubt stays where it lies
        until it is renamed or the roster knows it; one that was taken back with `undo` is listed no more.
        """
        folder = self.course / "submitted"
        if not folder.is_dir():
            return []
        ours, receipts = self.ledger.working_copies(), self.ledger.receipts()
        listed = {
            (Path(receipt.path).parent, receipt.sha256, receipt.problem) for receipt in receipts if receipt.problem
        }
        found = []
        for arrival in arrivals(folder, self.assignments(), self.roster, only, lambda one: _is_copy(one, ours)):
            one = replace(arrival, path=f"submitted/{arrival.path}")
            sha = sha256(one.content) if one.content is not None else None
            if not arrival.path.endswith("/") and (Path(one.path).parent, sha, one.problem) not in listed:
                found.append(one)
        new = self.ledger.collect(found, str(folder)) if found else []
        doubts = [one.path for one in found if one.problem]
        for one in found:
            path = self.course / one.path
            if one.problem or not path.is_file() or any(doubt.startswith(f"{one.path}/") for doubt in doubts):
                continue  # in an archive, or an archive with a doubt in it
            if self.ledger.holds(path.read_bytes()):
                path.unlink()
        return new

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
        found = self.standings(room)
        pristine, ours = notebooks.read_source(room.notebook("release")), self.ledger.working_copies()
        for student, standing in found.items():
            counts = standing.counts
            content = self.ledger.content(counts.sha256) if counts and counts.sha256 else None
            cells = notebooks.handed_in(content) if content is not None else []
            self._write(room.notebook("submitted", student), nbformat.writes(notebooks.rebuilt(pristine, cells)))
        for path in room.course.glob(f"submitted/*/{room.assignment}/{room.assignment}.ipynb"):
            if path.parts[-3] not in found and path.is_file() and sha256(path.read_bytes()) in ours:
                path.unlink()  # our copy of what was taken back with `undo`
                with suppress(OSError):  # other files lie there
                    path.parent.rmdir()
                    path.parent.parent.rmdir()
        return found

    def _write(self, path: Path, text: str) -> None:
        content = text.encode()
        there = path.read_bytes() if path.is_file() else content
        if path.is_file() and there == content:
            return
        self.ledger.announce(sha256(content))
        if there != content and not self.ledger.holds(there):  # a doubt, too large to be kept, or here since a moment
            free = (path.with_stem(f"{path.stem} ({number})") for number in count(1))
            path.rename(next(other for other in free if not other.exists()))
        write_whole(path, text)


def _is_copy(arrival: Arrival, ours: set[str]) -> bool:
    """Whether a file in `submitted/` is a working copy that the classroom wrote: by its place and its bytes."""
    _, *place = arrival.path.split("/")
    return len(place) == 2 and place[1] == f"{place[0]}.ipynb" and sha256(arrival.content or b"") in ours


def _content(room: Room, content: bytes) -> Content:
    try:
        cells = notebooks.handed_in(content)
    except notebooks.Unreadable as error:
        return Content(False, str(error))
    pristine = notebooks.read_source(room.handed_out())
    rebuilt = notebooks.rebuilt(pristine, cells)
    if notebooks.is_worked_on(rebuilt, pristine):
        same = sha256(json.dumps(answers(rebuilt), sort_keys=True).encode())
        return Content(True, answers=same, receipt=notebooks.receipt(rebuilt))
    names = {notebooks.grading(cell).get("grade_id") for cell in pristine.cells}
    if not any(cell.name in names for cell in cells):
        return Content(False, "none of the assignment's cells is in it")
    return Content(False)
