"""A classroom at work: who stands where with an assignment, and the working copies that nbgrader reads.

The ledger holds what was handed in; `submitted/` holds, for nbgrader, the file of each student that counts, in the
assignment's form. It is written anew from the ledger whenever that would change it, and never read back, except where
somebody else wrote there: what nbgrader's own exchange collected is taken in like any other file.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import nbformat

from exercises.grading import notebooks
from exercises.grading.judge import write_whole

from .intake import TIMESTAMP, Assignment, arrivals, stamp_of
from .late import Deadlines, Lateness, read_deadlines
from .ledger import Arrival, Ledger, Receipt
from .people import IDENTIFIER, Roster, read_roster
from .room import Failed, Room, rooms
from .standing import Content, Standing, nobodys, standings


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

    @cached_property
    def deadlines(self) -> Deadlines:
        """What is due when, read once."""
        return read_deadlines(self.course)

    # ---- taking in ----

    def collect(self, folder: Path, only: str | None = None) -> list[Receipt]:
        """Takes in what is new in a folder; returns the receipts of that."""
        if not folder.is_dir():
            raise Failed(f"--submissions {folder}: no such folder")
        found = arrivals(folder, self.assignments(), self.roster, only)
        return self.ledger.collect(found, str(folder))

    def adopt(self, room: Room) -> list[Receipt]:
        """Takes in what somebody else put into `submitted/`: nbgrader's exchange, or this course of old."""
        ours = self.ledger.working_copies()
        strange = []
        for path in sorted(room.course.glob(f"submitted/*/{room.assignment}/{room.assignment}.ipynb")):
            student = path.parts[-3]
            content = path.read_bytes()
            if hashlib.sha256(content).hexdigest() not in ours and IDENTIFIER.fullmatch(student):
                stamp = stamp_of(path.with_name(TIMESTAMP))
                when = stamp or datetime.fromtimestamp(path.stat().st_mtime, UTC)
                shown = path.relative_to(room.course).as_posix()
                arrival = Arrival(shown, student, when, content, student, room.assignment, stamp is not None)
                strange.append(arrival)
        return self.ledger.collect(strange, str(room.course / "submitted")) if strange else []

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

    def nobodys(self, assignment: str | None) -> list[Receipt]:
        """Files of an assignment that nobody could be given."""
        return nobodys(self.ledger.receipts(), assignment)

    def look(self, room: Room, sha256: str) -> Content:
        """What is in a file, seen as an assignment."""
        key = room.assignment, sha256
        if key not in self._contents:
            self._contents[key] = _content(room, self.ledger.content(sha256))
        return self._contents[key]

    def is_in_use(self, room: Room) -> bool:
        """Whether anybody handed the assignment in, here or through nbgrader's exchange."""
        if any(receipt.assignment == room.assignment for receipt in self.ledger.receipts()):
            return True
        return any(room.course.glob(f"submitted/*/{room.assignment}/{room.assignment}.ipynb"))

    # ---- working copies ----

    def lay_out(self, room: Room) -> dict[str, Standing]:
        """Writes the working copy of everybody, where it differs from what lies there; returns where they stand."""
        self.adopt(room)
        found = self.standings(room)
        pristine = notebooks.read_source(room.notebook("release"))
        for student, standing in found.items():
            counts = standing.counts
            content = self.ledger.content(counts.sha256) if counts and counts.sha256 else None
            cells = notebooks.handed_in(content) if content is not None else []
            self._write(room.notebook("submitted", student), nbformat.writes(notebooks.rebuilt(pristine, cells)))
        for path in room.course.glob(f"submitted/*/{room.assignment}/{room.assignment}.ipynb"):
            if path.parts[-3] not in found:
                path.unlink()  # taken back with `undo`; the ledger has it
        return found

    def _write(self, path: Path, text: str) -> None:
        content = text.encode()
        if path.is_file() and path.read_bytes() == content:
            return
        self.ledger.announce(hashlib.sha256(content).hexdigest())
        write_whole(path, text)


def _content(room: Room, content: bytes) -> Content:
    try:
        cells = notebooks.handed_in(content)
    except notebooks.Unreadable as error:
        return Content(False, str(error))
    pristine = notebooks.read_source(room.handed_out())
    if notebooks.is_worked_on(notebooks.rebuilt(pristine, cells), pristine):
        return Content(True)
    names = {notebooks.grading(cell).get("grade_id") for cell in pristine.cells}
    if not any(cell.name in names for cell in cells):
        return Content(False, "none of the assignment's cells is in it")
    return Content(False)
