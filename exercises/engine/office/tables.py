"""The tables of a class: grades/ASSIGNMENT.csv with one line a student, and grades/files.csv with one a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_lib.lessons.shared.grading import notebooks
from exercises.engine.grading import items
from exercises.engine.grading.judge import read_json, write_whole

from .desk import Desk
from .late import Lateness
from .ledger import Receipt
from .room import Room
from .stages import graded, settle
from .standing import Content, Standing, nobodys, shown, undo

FRAME = ("student", "name"), ("penalty", "total", "out_of", "to_grade_by_hand", "seconds", "handed_in", "look_at")
FILES = ("id", "collected", "path", "name", "student", "assignment", "handed_in", "sha256"), ("problem", "advice")
Line = dict[str, Any]
"""What a table says in one line; of a student whose work is not graded, also `waits`."""
NOTHING, NOT_GRADED = "nothing handed in", "not graded yet: run grade"


def table(desk: Desk, room: Room, found: dict[str, list[Line]]) -> None:
    """Writes the marks of an assignment: a line for everybody in the roster and everybody who handed anything in.

    What is written is put into `found` before, as a table that is open in another program cannot be written.

    Columns: the graded cells, the total, what a person must still grade, and what to look at, with what to do.
    """
    settle(desk, room)
    standings, late = desk.standings(room), desk.lateness(room)
    present = graded(room, standings)
    everybody, receipts = sorted({*standings, *desk.roster.people}), desk.ledger.receipts()
    astray = nobodys(receipts, None)
    source = notebooks.read_source(room.notebook("source"))
    lines: list[Line] = []
    cells = [cell for cell in source.cells if notebooks.grading(cell).get("grade")]
    texts = [cell for cell in cells if notebooks.is_answer(cell)]
    rubrics = {notebooks.grading(cell)["grade_id"]: items.of_answer(cell.source) for cell in texts}
    with room.gradebook() as gradebook:
        for student in everybody:
            line: Line = {"student": student, "name": desk.person(student).name}
            standing = standings.get(student)
            unplaced = [_strange(receipt) for receipt in astray if receipt.student == student]
            if standing is None:
                line["look_at"] = "; ".join(unplaced) or NOTHING
            elif student in present:
                booked = gradebook.find_submission_notebook(room.assignment, room.assignment, student)
                line |= _marks(booked)
                line |= _about(room, standing, late.get(student, Lateness()), [*unplaced, *_of_hand(booked, rubrics)])
            else:
                line |= {"look_at": "; ".join([NOT_GRADED, *standing.notes, *unplaced]), "waits": True}
            lines.append(line)
    unclear = [*nobodys(receipts, room.assignment), *astray]  # what is no assignment's might be this one's
    lines += [{"look_at": _strange(receipt)} for receipt in unclear if receipt.student not in everybody]
    path = room.course / "grades" / f"{room.assignment}.csv"
    found[room.assignment] = lines
    write_table(path, [*FRAME[0], *(notebooks.grading(cell)["grade_id"] for cell in cells), *FRAME[1]], lines)


def _marks(notebook: Any) -> dict[str, Any]:
    """What nbgrader's gradebook says of a submission."""
    return {
        **{grade.name: grade.score for grade in notebook.grades},
        "penalty": notebook.late_submission_penalty or 0.0,
        "total": max(0.0, notebook.score - (notebook.late_submission_penalty or 0.0)),
        "out_of": notebook.max_score,
        "to_grade_by_hand": sum(grade.needs_manual_grade for grade in notebook.grades),
    }


def _about(room: Room, standing: Standing, late: Lateness, unplaced: Sequence[str]) -> dict[str, Any]:
    """When it came, what it cost, and what a person should look at."""
    verdict = read_json(room.verdict(standing.student))
    looks = [*standing.notes, *unplaced, late.note(), _earlier(standing, late), verdict.get("look")]
    looks += verdict.get("look_at", [])
    return {
        "seconds": verdict.get("student_seconds", ""),
        "handed_in": standing.counts.handed_in if standing.counts else "",
        "look_at": "; ".join(note for note in looks if note),
    }


def _earlier(standing: Standing, late: Lateness) -> str | None:
    """A word where later work costs marks and other work came before it: the newest counts, for better or worse."""
    if not (late.percent and standing.before and standing.counts):
        return None
    return f"{shown(standing.before)} came before, with other answers; if it is meant: {undo(standing.counts)}"


def _of_hand(notebook: Any, rubrics: Mapping[str, Sequence[items.Item]]) -> Iterator[str]:
    """Marks by hand that were given before the points of a task went down, and those that the ticks do not give."""
    comments = {comment.name: comment.comment for comment in notebook.comments}
    for grade in notebook.grades:
        if wrong := items.doubt(rubrics.get(grade.name, []), comments.get(grade.name) or "", grade.manual_score):
            yield f"{grade.name} {wrong}"
        if grade.score - (grade.extra_credit or 0) > grade.max_score:
            yield f"{grade.name}: {grade.score:g} of {grade.max_score:g} points; give the mark once more"


def _strange(receipt: Receipt) -> str:
    return f"{receipt.path}: {receipt.problem}; {receipt.advice}"


def files(desk: Desk, every: Iterable[Room]) -> Path:
    """Writes what became of each file that ever came in."""
    rooms = {room.assignment: room for room in every}
    found = [standing for room in rooms.values() for standing in desk.standings(room).values()]
    counting = {standing.counts.id for standing in found if standing.counts}
    again = {receipt.id for standing in found for receipt in standing.again}
    lines = []
    for receipt in desk.ledger.receipts():
        room = rooms.get(receipt.assignment or "")
        content = desk.look(room, receipt.sha256) if room and receipt.sha256 else Content(False)
        problem = receipt.problem or content.problem
        state = "taken back" if receipt.withdrawn else "cannot count" if problem else "kept"
        state = "counts" if receipt.id in counting else "same answers again" if receipt.id in again else state
        lines.append({**vars(receipt), "state": state, "problem": problem, "receipt": content.receipt})
    path = desk.course / "grades" / "files.csv"
    write_table(path, [*FILES[0], "receipt", "state", *FILES[1]], lines)
    return path


def write_table(path: Path, names: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> None:
    """A CSV file that is whole or as it was before; other programs read no formula in it."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows({key: _harmless(value) for key, value in line.items()} for line in lines)
    write_whole(path, text.getvalue())


def _harmless(value: Any) -> Any:
    """Spreadsheets run a text that begins with one of these signs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value
