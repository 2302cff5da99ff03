"""The marks of all assignments in one table, and in the forms that Canvas, Moodle and Blackboard import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .desk import Desk
from .people import Person, lines_of_students
from .room import Room
from .rosters import platforms
from .tables import totals, write_table
from .texts import written

TERM = "Course mark"
"""The column of an export that holds the percent of the term."""


def systems() -> list[str]:
    """The platforms that `export` writes for."""
    return sorted(name for name, one in platforms().items() if one.export)


@dataclass(frozen=True)
class Mark:
    """A total, None before it is graded, and whether some of it must still be graded."""

    total: float | None
    open: bool


def marks(desk: Desk, rooms: list[Room]) -> dict[str, dict[str, Mark]]:
    """student -> assignment -> mark, for everybody in the roster and everybody who handed anything in."""
    found: dict[str, dict[str, Mark]] = {student: {} for student in desk.roster.people}
    for room in rooms:
        given = totals(desk, room)
        for student in desk.standings(room):
            total, waiting = given.get(student, (None, True))
            found.setdefault(student, {})[room.assignment] = Mark(total, waiting)
    return dict(sorted(found.items()))


def gradebook(desk: Desk, rooms: list[Room]) -> Path:
    """Writes grades/gradebook.csv: a line a student, the total of every assignment, and the weighted percentage.

    An assignment that was not handed in counts 0; `open` names those of which some points must still be given.
    """
    names = [room.assignment for room in rooms]
    most = {room.assignment: _most(room) for room in rooms}
    weights = {name: desk.deadlines.weight(name) for name in names}
    whole = sum(weights.values())
    lines = []
    for student, own in marks(desk, rooms).items():
        share = sum(weights[name] * (mark.total or 0) / most[name] for name, mark in own.items() if most[name])
        lines.append(
            {
                **_about(desk, student),
                **{name: mark.total for name, mark in own.items()},
                "percent": round(100 * share / whole, 2) if whole else "",
                "open": "; ".join(name for name, mark in own.items() if mark.open),
            }
        )
    path = desk.course / "grades" / "gradebook.csv"
    write_table(path, ["student", "name", "email", *names, "percent", "open"], lines)
    return path


def export(desk: Desk, rooms: list[Room], system: str) -> Path:
    """Writes grades/SYSTEM.csv, to be imported there: its own columns from the roster, then a column an assignment.

    Where the marks of the term are confirmed, they stand in the last column.
    A student who handed nothing in gets an empty cell, which the systems leave as it is. Marks that are not complete
    yet go out as they are, and are named on the screen.
    """
    columns, term = platforms()[system].export, confirmed(desk.course)
    names = [room.assignment for room in rooms]
    lines: list[dict[str, Any]] = []
    every = marks(desk, rooms)
    for name in names:
        if unfinished := [student for student, own in every.items() if name in own and own[name].open]:
            print(f"export: in {name}, points must still be given to {', '.join(unfinished)}")
    for student, own in every.items():
        known = {**_about(desk, student), **_person(desk, student).numbers}
        line = {column: next((known[key] for key in keys if known.get(key)), "") for column, keys in columns.items()}
        lines.append({**line, **{name: mark.total for name, mark in own.items()}, TERM: term.get(student, "")})
    if system == "canvas":
        most = {room.assignment: _most(room) for room in rooms}
        lines.insert(0, {"Student": "    Points Possible", **most, TERM: 100})
    path = desk.course / "grades" / f"{system}.csv"
    write_table(path, [*columns, *names, *[TERM] * bool(term)], lines)
    return path


def confirmed(course: Path) -> dict[str, str]:
    """student -> percent of the term, as exercises.engine.marks wrote them; nobody before."""
    path = course / "grades" / "marks.csv"
    return (
        {cells["student"]: cells["percent"] for _, cells in lines_of_students(written(path))} if path.exists() else {}
    )


def _person(desk: Desk, student: str) -> Person:
    return desk.roster.people.get(student) or Person(student)


def _about(desk: Desk, student: str) -> dict[str, str]:
    person = _person(desk, student)
    return {"student": student, "name": person.name, "email": person.email}


def _most(room: Room) -> float:
    """The points of an assignment."""
    with room.gradebook() as book:
        return float(book.find_assignment(room.assignment).max_score)
