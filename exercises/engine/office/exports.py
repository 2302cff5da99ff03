"""The marks of all assignments in one table, and in the forms that Canvas, Moodle and Blackboard import."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .desk import Desk
from .people import lines_of, platforms
from .room import Room
from .tables import Line, write_table
from .texts import written

TERM = "Course mark"
"""The column of an export that holds the percent of the term."""


Tables = Mapping[str, Sequence[Line]]
"""assignment -> the lines of its table."""


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
