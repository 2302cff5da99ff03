"""The marks of a term, computed as the syllabus says: parts with weights, from the tables of the class.

    python -m exercises.engine.marks [--course FOLDER]            shows what changes since marks were last confirmed
    python -m exercises.engine.marks [--course FOLDER] --confirm  writes them: grades/marks.csv

`marks.toml` in the class's folder says what a mark is made of (`make syllabus` writes one beside deadlines.toml):

    [parts.machine]                 # what the grader checks, in all assignments
    weight = 20
    from = "machine"
    drop_lowest = 1                 # assignments; 0 where it is not given

    [parts.criticism]               # what a person grades, in all assignments
    weight = 20
    from = "hand"

    [parts.project]
    weight = 20
    from = "project.csv"            # in the class's folder: columns student and, for each item, what was earned
    rubric = "project.yml"          # the items, with their points

    [parts.exam]
    weight = 40
    from = "exam.csv"               # columns student and points; an empty cell is not marked yet
    out_of = 45                     # the points at the head of the exam: two minutes each

    [void]                          # checks that count for nobody, as if they had never been asked
    ddc = ["task_2_margin"]

Weights add up to 100. An assignment counts with its weight in deadlines.toml, with its penalty for late work, and 0
where nothing was handed in. Who is missing in a file has 0 there, and the part stands in the column `open`, as it does
for everybody while the file is not there.
`--sheet project` writes project.csv for everybody in the class, with a column an item: an x there is all of its points,
a number so many. With --confirm, each student's items and the comment go to feedback/STUDENT/project.html.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pandas as pd

from course_lib.lessons.shared.grading import notebooks
from exercises.engine.chapters import HERE
from exercises.engine.grading import items
from exercises.engine.grading.judge import write_whole
from exercises.engine.office.late import read_deadlines
from exercises.engine.office.people import lines_of
from exercises.engine.office.room import graded_cells
from exercises.engine.office.texts import Failed, converted, of_file, read_toml, write_table, written
from exercises.engine.options import Options
from exercises.engine.pages import filled, html_of

FILE, CONFIRMED = "marks.toml", "grades/marks.csv"
TICKS = ("x", "✓", "✔", "☑", "true", "yes")


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One part of the mark: its weight in percent, where it comes from, and how many of its lowest do not count."""

    weight: Annotated[float, msgspec.Meta(ge=0, le=100)]
    source: str = msgspec.field(name="from")
    drop_lowest: Annotated[int, msgspec.Meta(ge=0)] = 0
    out_of: Annotated[float, msgspec.Meta(gt=0)] | None = None
    rubric: str | None = None

    @property
    def of_file(self) -> bool:
        """Whether it comes from a file, and not from assignments."""
        return self.source.endswith(".csv")


class Plan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What marks.toml holds. void: assignment -> checks that count for nobody."""

    parts: dict[str, Any]
    void: dict[str, list[str]] = {}


def read_plan(course: Path) -> Plan:
    """The class's plan. Failed for one that is not there, of another form, or whose weights do not add up to 100."""
    with of_file(course / FILE, "its form stands in exercises/engine/marks.py"):
        plan = read_toml(course / FILE, Plan)
        parts = {name: converted(f"parts.{name}", one, Part) for name, one in plan.parts.items()}
        for name, part in parts.items():
            if not part.of_file and part.source not in ("machine", "hand"):
                raise ValueError(f"parts.{name}: from is {part.source!r}; expected machine, hand or a file NAME.csv")
            given = [what for what in ("out_of", "rubric", "drop_lowest") if getattr(part, what)]
            if given not in ([["out_of"], ["rubric"]] if part.of_file else [[], ["drop_lowest"]]):
                asked = "out_of, the points that can be had, or a rubric" if part.of_file else "drop_lowest or nothing"
                raise ValueError(f"parts.{name}: expected {asked}, as it comes from {part.source}")
        whole = sum(part.weight for part in parts.values())
        if abs(whole - 100) > 1e-6:
            raise ValueError(f"the weights add up to {whole:g}; expected 100")
    return Plan(parts, plan.void)


# ---- tables ----


def read_table(path: Path, columns: Iterable[str], *, nobodys: bool = True) -> pd.DataFrame:
    """The lines of one of the class's tables, all as text, under their students; `line` is where each stands.

    As an editor or a spreadsheet saves them (`lines_of`). Failed for another form, a missing column, and a student
    who stands there twice. Without `nobodys`, lines without a student are left out.
    """
    if not path.exists():
        raise Failed(f"{path} is missing; expected columns student and {', '.join(columns)}")
    with of_file(path):
        rows = [{"line": line, **cells} for line, cells in lines_of(written(path)) if cells["student"] or nobodys]
    table = pd.DataFrame(rows, columns=None if rows else ["line", "student", *columns]).set_index("student")
    if lacking := [column for column in columns if column not in table]:
        raise Failed(f"{path} has no column {lacking[0]!r}; it has student, {', '.join(table.columns[1:])}")
    if len(twice := table[table.index.duplicated()]):
        raise Failed(f"{path}, line {twice.line.iloc[0]}: {twice.index[0]}; expected each student once")
    return table


def numbers(path: Path, table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Columns as numbers, 0 where a cell is empty. Failed names the line and the column of what is no number."""
    found = table[columns].replace("", "0").apply(pd.to_numeric, errors="coerce").astype(float)
    for row, column in np.argwhere(~np.isfinite(found.to_numpy())):
        cell = f"{columns[column]} is {table[columns].iloc[row, column]!r}"
        raise Failed(f"{path}, line {table.line.iloc[row]}: {cell}; expected a number, or nothing for 0")
    return found


# ---- parts that come from assignments ----


def shares(course: Path, assignment: str, kind: str, void: list[str]) -> pd.Series | None:
    """student -> share of an assignment's points of one kind, after the penalty; None where it has none of the kind."""
    cells = graded_cells(notebooks.read_source(course / "source" / assignment / f"{assignment}.ipynb"))
    if unknown := sorted(set(void) - set(cells)):
        raise Failed(f"{FILE}: void.{assignment}: {unknown[0]!r} is no check; expected some of {', '.join(cells)}")
    of_kind = [name for name, cell in cells.items() if notebooks.is_test(cell) == (kind == "machine")]
    counted = [name for name in of_kind if name not in void]
    most = sum(float(notebooks.grading(cells[name])["points"]) for name in counted)
    if not most:
        return None
    path, columns = course / "grades" / f"{assignment}.csv", [*cells, "penalty"]
    found = numbers(path, read_table(path, columns, nobodys=False), columns)
    whole = found[list(cells)].sum(axis=1)
    kept = (1 - found["penalty"] / whole).where(whole > 0, 1.0).clip(0, 1)
    return found[counted].sum(axis=1) / most * kept


def part_of_assignments(course: Path, plan: Plan, part: Part) -> pd.Series:
    """student -> share of a part that comes from assignments: their weighted mean without the lowest."""
    names = sorted(path.stem for path in (course / "grades").glob("*.csv") if (course / "source" / path.stem).is_dir())
    if unknown := sorted(set(plan.void) - set(names)):
        known = ", ".join(names) or "none"
        raise Failed(f"{FILE}: void.{unknown[0]}: nothing was graded in it; expected some of {known}")
    every = {name: shares(course, name, part.source, plan.void.get(name, [])) for name in names}
    table = pd.DataFrame({name: found for name, found in every.items() if found is not None}).fillna(0.0)
    if part.drop_lowest >= table.shape[1]:
        raise Failed(f"{FILE}: drop_lowest is {part.drop_lowest} of {table.shape[1]} assignments; expected fewer")
    deadlines = read_deadlines(course)
    weights = pd.Series({name: deadlines.weight(name) for name in table})
    place = table.rank(axis=1, method="first")  # of equal ones, the first in the alphabet is dropped
    kept = (place > part.drop_lowest).mul(weights, axis=1)
    return (table * kept).sum(axis=1) / kept.sum(axis=1)


# ---- parts that come from a file ----


def columns_of(course: Path, part: Part) -> dict[str, float]:
    """The columns of a part's file, each with its points: the items of its rubric, or the points as a whole."""
    if part.rubric is None:
        return {"points": part.out_of or 0.0}
    with of_file(course / part.rubric):
        return {one.line: one.points for one in items.read_items(written(course / part.rubric))}


def graded_by(path: Path, full: Mapping[str, float]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The lines of a part's file in which something stands, and the points in them: an x is all, a number so many."""
    table, names = read_table(path, full), list(full)
    ticked = table[names].apply(lambda cells: cells.where(~cells.str.lower().isin(TICKS), str(full[cells.name])))
    found = numbers(path, table.assign(**ticked), names)
    for line, most in full.items():
        if len(wrong := table[~found[line].between(0, most)]):
            cell = f"{path}, line {wrong.line.iloc[0]}: {line} is {wrong[line].iloc[0]}"
            raise Failed(f"{cell}; expected x, or 0 to {most:g}")
    graded = table[names].ne("").any(axis=1)  # an empty line is no mark of 0
    return table[graded], found[graded]


def part_of_file(course: Path, name: str, part: Part) -> pd.Series:
    """student -> share of a part that comes from a file. Failed names the line that is no mark."""
    full, path = columns_of(course, part), course / part.source
    if not path.exists():
        how = f"--sheet {name} writes it" if part.rubric else "its columns are student and points"
        print(f"marks: {path} is not there yet ({how}): {name} counts 0 and is open for everybody")
        return pd.Series(dtype=float)
    _, points = graded_by(path, full)
    return points.sum(axis=1) / sum(full.values())


def sheet(course: Path, name: str) -> Path:
    """Writes the file of a part that is graded by a rubric: a line a student, a column an item. Never over another."""
    part: Part | None = read_plan(course).parts.get(name)
    if part is None or part.rubric is None:
        raise Failed(f"{FILE}: parts.{name}: expected a part with a rubric")
    path, columns = course / part.source, ["student", "name", *columns_of(course, part), "comment"]
    if path.exists():
        raise Failed(f"{path} is there already, perhaps with marks in it; delete or rename it first")
    book = read_table(course / "grades" / "gradebook.csv", ["name"])
    write_table(path, columns, book.reset_index().to_dict("records"))
    return path


def pages(course: Path) -> list[Path]:
    """Writes each student's items and comment: feedback/STUDENT/PART.html."""
    found = []
    for name, part in read_plan(course).parts.items():
        if part.rubric is None or not (course / part.source).exists():
            continue
        full = columns_of(course, part)
        table, points = graded_by(course / part.source, full)
        for student, own in points.iterrows():
            about = {"title": name.capitalize(), "earned": own.sum(), "comment": table.loc[student].get("comment", "")}
            text = filled("marks.md.j2", full=full, own=own, **about)
            found.append(course / "feedback" / str(student) / f"{name}.html")
            write_whole(found[-1], html_of(name.capitalize(), text))
    return found


# ---- the whole ----


def marks(course: Path) -> pd.DataFrame:
    """A row a student: the percent of each part, of the whole, and in `open` the parts that are not complete."""
    plan = read_plan(course)
    book = read_table(course / "grades" / "gradebook.csv", ["name", "open"])
    found = pd.DataFrame(index=book.index)
    for name, part in plan.parts.items():
        given = part_of_file(course, name, part) if part.of_file else part_of_assignments(course, plan, part)
        if strangers := sorted(set(given.index) - set(found.index)):
            raise Failed(f"parts.{name}: {strangers[0]!r} is nobody of grades/gradebook.csv; see `table`")
        found[name] = 100 * given.reindex(found.index)
    missing = found.isna().apply(lambda row: [name for name in found if row[name]], axis=1)
    found = found.fillna(0.0)
    found["percent"] = sum(plan.parts[name].weight / 100 * found[name] for name in plan.parts)
    found = found.round(2)
    ungraded = book["open"].str.split("; ").map(lambda names: [name for name in names if name])
    found["open"] = [", ".join([*left, *right]) for left, right in zip(missing, ungraded, strict=True)]
    found.insert(0, "name", book["name"])
    return found


def changes(before: pd.DataFrame, now: pd.DataFrame) -> list[str]:
    """A line for each student whose marks differ: "anna: exam 71 -> 75, percent 80.1 -> 81.4"."""
    said = [table.drop(columns=["name", "open"], errors="ignore").map("{:g}".format) for table in (before, now)]
    old, new = (table.to_dict("index") for table in said)
    lines = [f"{student}: gone" for student in old.keys() - new.keys()]
    lines += [f"{student}: new, percent {cells['percent']}" for student, cells in new.items() if student not in old]
    for student in old.keys() & new.keys():
        left, right = old[student], new[student]
        both = [(name, left.get(name, "none"), right.get(name, "none")) for name in {**left, **right}]
        if moved := [f"{name} {was} -> {is_now}" for name, was, is_now in both if was != is_now]:
            lines.append(f"{student}: {', '.join(moved)}")
    return sorted(lines)


def confirmed(course: Path) -> pd.DataFrame:
    """The marks as they were last confirmed; an empty table before."""
    path = course / CONFIRMED
    if not path.exists():
        return pd.DataFrame({"percent": []})
    table = read_table(path, ["percent"])
    percents = [name for name in table if name not in ("line", "name", "open")]
    return table.assign(**numbers(path, table, percents)).drop(columns="line")


def main(arguments: list[str] | None = None) -> None:
    parser = Options(__doc__)
    parser.add_argument("--course", type=Path, default=HERE, help="the classroom's folder (this one)")
    parser.add_argument("--sheet", metavar="PART", help="write the file in which a part is graded by its rubric")
    parser.add_argument("--confirm", action="store_true", help="write the marks; without it they are only shown")
    given = parser.parse_args(arguments)
    course = given.course.resolve()
    try:
        if given.sheet is not None:
            print(f"marks: {sheet(course, given.sheet)}")
            return
        now = marks(course)
        lines = changes(confirmed(course), now)
    except Failed as error:
        sys.exit(f"marks: {error}")
    print("\n".join(lines) or "marks: nothing has changed since they were confirmed")
    if given.confirm:
        write_table(course / CONFIRMED, ["student", *now.columns], now.reset_index().to_dict("records"))
        print(f"marks: {course / CONFIRMED}, and {len(pages(course))} pages of feedback")
    elif lines:
        print(f"marks: {len(lines)} would change; nothing is written without --confirm")


if __name__ == "__main__":
    main()
