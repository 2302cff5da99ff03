"""The tables of a class: of an assignment, of files, of all assignments, and those that platforms import."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from course_lib.lessons.shared.grading import notebooks
from exercises.engine.grading import items
from exercises.engine.grading.judge import read_json, write_whole

from .desk import Desk
from .late import Lateness
from .ledger import Receipt
from .people import ROSTER, lines_of, platforms
from .room import Room
from .stages import graded, settle
from .standing import Content, Standing, nobodys, shown, undo
from .texts import written

FRAME = ("student", "name"), ("penalty", "total", "out_of", "to_grade_by_hand", "seconds", "handed_in", "look_at")
FILES = ("id", "collected", "path", "name", "student", "assignment", "handed_in", "sha256"), ("problem", "advice")
Line = dict[str, Any]
"""What a table says in one line; of a student whose work is not graded, also `waits`."""
NOTHING, NOT_GRADED = "nothing handed in", "not graded yet: run grade"


TERM = "Course mark"
"""The column of an export that holds the percent of the term."""
Tables = Mapping[str, Sequence[Line]]
"""assignment -> the lines of its table."""


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
            if standing and standing.counts and not (desk.roster.open or student in desk.roster.people):
                unplaced.append(f"not in {ROSTER}; if somebody there has the file now: {undo(standing.counts)}")
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
    looks = [*standing.notes, *unplaced, late.note(), _earlier(standing, late), *verdict.get("look_at", [])]
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


# ---- all assignments ----


def systems() -> list[str]:
    """The platforms that `export` writes for."""
    return sorted(name for name, one in platforms().items() if one.export)


def marks(every: Tables) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Totals, none before they are graded, and whether some points must still be given: students x assignments.

    Of everybody in the roster and everybody who handed anything in; what was not handed in is complete.
    """
    people = {name: {line["student"]: line for line in lines if line.get("student")} for name, lines in every.items()}
    everybody = sorted({student for lines in people.values() for student in lines})
    own = {name: [lines.get(student, {}) for student in everybody] for name, lines in people.items()}
    total = {name: [line.get("total") for line in lines] for name, lines in own.items()}
    waits = {name: [line.get("waits") or line.get("to_grade_by_hand") for line in lines] for name, lines in own.items()}
    still = {name: list(map(bool, lines)) for name, lines in waits.items()}
    return pd.DataFrame(total, everybody, dtype=float), pd.DataFrame(still, everybody, dtype=bool)


def gradebook(desk: Desk, every: Tables) -> Path:
    """Writes grades/gradebook.csv: a line a student, the total of every assignment, and the weighted percentage.

    An assignment that was not handed in counts 0; `open` names those of which some points must still be given.
    """
    total, still = marks(every)
    most = pd.Series({name: _most(desk, name) or None for name in every}, dtype=float)
    weights = pd.Series({name: desk.deadlines.weight(name) for name in total})
    percent = (100 * ((total / most).fillna(0) @ weights) / (weights.sum() or math.nan)).round(2)
    book = total.assign(percent=percent, open=["; ".join(still.columns[row]) for row in still.to_numpy()])
    path = desk.course / "grades" / "gradebook.csv"
    write_table(path, ["student", "name", "email", *book], _lines(desk, book))
    return path


def export(desk: Desk, every: Tables, system: str) -> Path:
    """Writes grades/SYSTEM.csv, to be imported there: its own columns from the roster, then a column an assignment.

    Where the marks of the term are confirmed, they stand in the last column.
    A student who handed nothing in gets an empty cell, which the systems leave as it is. Marks that are not complete
    yet go out as they are, and are named on the screen.
    """
    columns, term = platforms()[system].export, confirmed(desk.course)
    total, still = marks(every)
    for name in still:
        if still[name].any():
            print(f"export: in {name}, points must still be given to {', '.join(still.index[still[name]])}")
    lines: list[dict[str, Any]] = []
    for line in _lines(desk, total):
        known = {**line, **desk.person(line["student"]).numbers}
        own = {column: next((known[key] for key in keys if known.get(key)), "") for column, keys in columns.items()}
        lines.append({**own, **{name: line[name] for name in total}, TERM: term.get(line["student"], "")})
    if empty := [column for column in columns if not any(line[column] for line in lines)]:
        print(
            f"export: {', '.join(empty)}: empty for everybody, so {system} may not find them; "
            f"roster --from an export of {system} brings what it calls people"
        )
    if system == "canvas":
        lines.insert(0, {"Student": "    Points Possible", **{name: _most(desk, name) for name in every}, TERM: 100})
    path = desk.course / "grades" / f"{system}.csv"
    write_table(path, [*columns, *total, *[TERM] * bool(term)], lines)
    return path


def confirmed(course: Path) -> dict[str, str]:
    """student -> percent of the term, as exercises.engine.marks wrote them; nobody before."""
    path = course / "grades" / "marks.csv"
    return {cells["student"]: cells["percent"] for _, cells in lines_of(written(path))} if path.exists() else {}


def _lines(desk: Desk, table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table with who each is; an empty cell where nothing stands."""
    rows = table.astype(object).where(table.notna(), "").to_dict("index")
    people = {student: desk.person(student) for student in rows}
    return [{"student": s, "name": people[s].name, "email": people[s].email, **row} for s, row in rows.items()]


def _most(desk: Desk, assignment: str) -> float:
    """The points of an assignment."""
    with Room(desk.course, assignment).gradebook() as book:
        return float(book.find_assignment(assignment).max_score)


# ---- files ----


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
