"""The tables of a class: of an assignment, of files, of all assignments, and those that platforms import."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from course_lib.lessons.shared.grading import notebooks
from exercises.engine.grading import items
from exercises.engine.grading.judge import read_json
from exercises.engine.marks import confirmed

from .desk import Content, Desk, Standing, nobodys, shown, undo
from .late import Lateness
from .ledger import Receipt
from .people import ROSTER, platforms
from .room import Room, graded_cells
from .stages import graded, settle
from .texts import write_table

FRAME = ("student", "name"), ("penalty", "total", "out_of", "to_grade_by_hand", "seconds", "handed_in", "look_at")
FILES = ("id", "collected", "path", "name", "student", "assignment", "handed_in", "sha256")
Line = dict[str, Any]  # what a table says in one line; of a student whose work is not graded, also `waits`
NOTHING, NOT_GRADED = "nothing handed in", "not graded yet: run grade"
TERM = "Course mark"  # the column of an export that holds the percent of the term
Tables = Mapping[str, Sequence[Line]]  # assignment -> the lines of its table


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
    cells = graded_cells(notebooks.read_source(room.notebook("source")))
    rubrics = {name: items.of_answer(cell.source) for name, cell in cells.items() if notebooks.is_answer(cell)}
    lines: list[Line] = []
    with room.gradebook() as gradebook:
        for student in everybody:
            line: Line = {"student": student, "name": desk.person(student).name}
            standing = standings.get(student)
            looks = [_strange(receipt) for receipt in astray if receipt.student == student]
            if standing and standing.counts and not (desk.roster.open or student in desk.roster.people):
                looks.append(f"not in {ROSTER}; if somebody there has the file now: {undo(standing.counts)}")
            if standing is None:
                looks = looks or [NOTHING]
            elif student in present:
                booked = gradebook.find_submission_notebook(room.assignment, room.assignment, student)
                verdict = read_json(room.verdict(student))
                line |= _marks(booked) | {"seconds": verdict.get("student_seconds", "")}
                line["handed_in"] = standing.counts.handed_in if standing.counts else ""
                looks = [*standing.notes, *looks, *_of_hand(booked, rubrics)]
                looks += [*_of_time(standing, late.get(student, Lateness())), *verdict.get("look_at", [])]
            else:
                line["waits"] = True
                looks = [NOT_GRADED, *standing.notes, *looks]
            lines.append({**line, "look_at": "; ".join(looks)})
    unclear = [*nobodys(receipts, room.assignment), *astray]  # what is no assignment's might be this one's
    lines += [{"look_at": _strange(receipt)} for receipt in unclear if receipt.student not in everybody]
    found[room.assignment] = lines
    write_table(room.course / "grades" / f"{room.assignment}.csv", [*FRAME[0], *cells, *FRAME[1]], lines)


def _marks(notebook: Any) -> Line:
    """What nbgrader's gradebook says of a submission."""
    penalty = notebook.late_submission_penalty or 0.0
    return {
        **{grade.name: grade.score for grade in notebook.grades},
        "penalty": penalty,
        "total": max(0.0, notebook.score - penalty),
        "out_of": notebook.max_score,
        "to_grade_by_hand": sum(grade.needs_manual_grade for grade in notebook.grades),
    }


def _of_time(standing: Standing, late: Lateness) -> Iterator[str]:
    """How late work is; and where that costs marks, which other work came before: the newest counts, whatever it is."""
    if late.days:
        yield late.note()
    if late.percent and standing.before and standing.counts:
        yield f"{shown(standing.before)} came before, with other answers; if it is meant: {undo(standing.counts)}"


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
    write_table(path, [*FILES, "receipt", "state", "problem", "advice"], lines)
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
    everybody = sorted(set[str]().union(*people.values()))
    lines = pd.DataFrame({name: [own.get(one, {}) for one in everybody] for name, own in people.items()}, everybody)
    waits = lines.map(lambda line: bool(line.get("waits") or line.get("to_grade_by_hand")))
    return lines.map(lambda line: line.get("total")).astype(float), waits


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
    columns, term = platforms()[system].export, confirmed(desk.course)["percent"]
    total, still = marks(every)
    for name in still:
        if still[name].any():
            print(f"export: {name}: points must still be given to {', '.join(still.index[still[name]])}")
    lines = _lines(desk, total.assign(**{TERM: term.reindex(total.index)}) if len(term) else total)
    for line in lines:
        known = {**line, **desk.person(line["student"]).numbers}
        line |= {column: next((known[key] for key in keys if known.get(key)), "") for column, keys in columns.items()}
    if empty := [column for column in columns if not any(line[column] for line in lines)]:
        way_out = f"roster --from an export of {system} brings what it calls people"
        print(f"export: {', '.join(empty)}: empty for everybody, so {system} may not find them; {way_out}")
    if system == "canvas":
        lines.insert(0, {"Student": "    Points Possible", **{name: _most(desk, name) for name in every}, TERM: 100})
    path = desk.course / "grades" / f"{system}.csv"
    write_table(path, [*columns, *total, *[TERM] * bool(len(term))], lines)
    return path


def _lines(desk: Desk, table: pd.DataFrame) -> list[Line]:
    """The rows of a table with who each is; an empty cell where nothing stands."""
    rows = table.astype(object).where(table.notna(), "").to_dict("index")
    people = {student: desk.person(student) for student in rows}
    return [{"student": s, "name": people[s].name, "email": people[s].email, **row} for s, row in rows.items()]


def _most(desk: Desk, assignment: str) -> float:
    """The points of an assignment."""
    with Room(desk.course, assignment).gradebook() as book:
        return float(book.find_assignment(assignment).max_score)
