"""A whole class, from release to grades, with the real nbgrader underneath.

    python -m exercises.engine.classroom roster --from EXPORT
    python -m exercises.engine.classroom release
    python -m exercises.engine.classroom all --submissions FOLDER --workers 2
    python -m exercises.engine.classroom grade --assignment gauge-freedom
    python -m exercises.engine.classroom by-hand
    python -m exercises.engine.classroom undo [--student NAME --assignment NAME]
    python -m exercises.engine.classroom export --to canvas

FOLDER holds STUDENT/ASSIGNMENT.ipynb or STUDENT.ipynb for every student, or what Moodle, Canvas or Blackboard download,
unpacked or as it came, in a zip file.
Without --assignment, `release` makes every assignment and the other steps do every assignment that was handed in. Every
step skips what is done: start the same command again after a stop, and it goes on. Nothing that was handed in is ever
lost: each file is kept in submissions.db, the newest one with work in it counts, and `undo` takes the last collection
back. Results lie in the classroom's folder (this one, or --course): autograded/, feedback/STUDENT/ASSIGNMENT/*.html,
gradebook.db (nbgrader's), grades/ASSIGNMENT.csv and grades/files.csv, what became of each file.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

try:
    if find_spec("nbgrader") is None:  # it is imported where it is asked
        raise ModuleNotFoundError(name="nbgrader")
    from sqlalchemy.exc import SAWarning

    from exercises.engine import chapters, plans
    from exercises.engine.chapters import HERE
    from exercises.engine.office import hand, rosters, stages, tables
    from exercises.engine.office.desk import Desk
    from exercises.engine.office.room import Room, rooms, settings, usable
    from exercises.engine.office.texts import Failed
    from exercises.engine.options import Options
except ImportError as error:
    sys.exit(
        f"{error.name} is missing. `make classroom` installs what the classroom needs, or: pip install '.[classroom]'"
    )

from course_lib.lessons.shared.grading.sandbox import USUAL, Limits, NoWalls

warnings.filterwarnings("ignore", category=SAWarning)  # nbgrader builds rows before it adds them
Steps = dict[str, Callable[[Room], None]]
STEPS = ("roster", "release", "collect", "grade", "feedback", "all", "by-hand", "undo", "table", "export")


@contextmanager
def only_one(course: Path) -> Iterator[None]:
    """nbgrader's gradebook is one SQLite file: one classroom command at a time writes to it."""
    course.mkdir(parents=True, exist_ok=True)
    with (course / ".classroom-lock").open("w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass  # no such locks on Windows
        except OSError:
            raise Failed(f"another classroom command is at work in {course}") from None
        yield


def prepare(course: Path) -> None:
    """The class in exercises/ always has the assignments as they are; one elsewhere, all of them when it has none.

    A class elsewhere also gets the marks of the syllabus, to be changed, where it has no others.
    """
    if course == HERE or not (course / "source").exists():
        part = course if course == HERE else course / "source.part"  # a copy that was stopped is no source
        for name in chapters.graded():
            chapters.hand_over(name, part)
        if part != course:
            (part / "source").rename(course / "source")
            part.rmdir()
    if course != HERE:
        plans.files(course, None, {}, keep=True)
    settings(course)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = Options(__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--assignment", help="one assignment (without it: every one that was handed in)")
    parser.add_argument("--submissions", type=Path, help="the folder to collect from")
    parser.add_argument("--student", help="whose newest file `undo` takes back (without it: the last collection)")
    parser.add_argument("--to", choices=tables.systems(), help="the learning platform that `export` writes for")
    parser.add_argument("--from", dest="export", type=Path, help="a platform's export of the class, for `roster`")
    parser.add_argument("--column", action="append", default=[], help="which column is which: name='Vorname,Nachname'")
    parser.add_argument("--encoding", help="of a file that is not in Unicode, such as cp1252")
    parser.add_argument("--workers", type=int, default=2, help="how many submissions are judged at a time (2)")
    parser.add_argument("--course", type=Path, default=HERE, help="the classroom's folder (this one)")
    parser.add_argument("--step-seconds", type=float, default=USUAL.step, help="for a cell, or a call (10)")
    parser.add_argument("--submission-seconds", type=float, default=USUAL.submission, help="for all of a kind (40)")
    trusted = "grade where there are none, too: for a class that you trust"
    parser.add_argument("--without-walls", action="store_true", help=trusted)
    given, others = parser.parse_known_args(arguments)
    given.server = others  # options of Jupyter, such as --no-browser
    if others and given.step != "by-hand":
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    if given.step in ("collect", "all") and given.submissions is None:
        parser.error(f"{given.step} needs --submissions FOLDER")
    if given.step == "export" and given.to is None:
        parser.error(f"export needs --to {' or '.join(tables.systems())}")
    if given.step == "roster" and given.export is None:
        parser.error("roster needs --from EXPORT, a platform's own list of the class")
    if given.workers < 1:
        parser.error("--workers must be at least 1")
    return given


def main(arguments: list[str] | None = None) -> None:
    given = parsed(arguments)
    course, began, failures = given.course.resolve(), time.monotonic(), list[str]()
    with reported(failures), only_one(usable(course, new=given.step != "by-hand")):
        if given.step == "roster":
            rosters.update(course, given.export, rosters.columns_of(given.column), given.encoding)
        elif given.step == "by-hand":
            serve(course, given.assignment, given.server)
        else:
            prepare(course)
            run(given, course, failures)
    if failures:
        sys.exit("\n".join(f"{given.step}: {failure}" for failure in dict.fromkeys(failures)))
    print(f"{given.step}: {time.monotonic() - began:.0f} s")


@contextmanager
def reported(failures: list[str]) -> Iterator[None]:
    """What cannot be done inside is added to `failures`, and stops nothing that follows."""
    try:
        yield
    except (Failed, NoWalls) as error:
        failures.append(str(error))


def queue(course: Path) -> dict[str, int]:
    """assignment -> how many of the submissions that count a person must look at, where anything was graded."""
    if not (course / "gradebook.db").exists():
        return {}
    with Room(course, "").gradebook() as book:
        every = {one.name: book.notebook_submissions(one.name, one.name) for one in book.assignments}
        return {name: sum(bool(one.needs_manual_grade) for one in every[name]) for name in sorted(every) if every[name]}


def described(waiting: dict[str, int]) -> str:
    """The queue in a line."""
    return ", ".join(f"{name} {count}" for name, count in waiting.items() if count) or "nothing waits"


def serve(course: Path, assignment: str | None, options: Iterable[str] = ()) -> None:
    """Prints what waits, and becomes a Jupyter server: at the class's folder, with nbgrader's pages and no others.

    Marks go into nbgrader's gradebook as they are typed; `feedback` then renews pages and tables. It opens
    the list of an assignment's submissions: of the one that is named, else of the first that waits.
    """
    waiting = queue(course)
    if not waiting:
        raise Failed(f"nothing was graded in {course} yet: run `make classroom SUBMISSIONS=FOLDER` first")
    told = f"Submissions to grade by hand: {described(waiting)}. Marks are kept as you type; Ctrl+C ends it."
    print(told, flush=True)
    first = assignment or next((name for name, count in waiting.items() if count), None)
    start = "/formgrader/gradebook" + (f"/{quote(first)}" * 2 if first else "")
    server = [sys.executable, "-m", "jupyterlab", "--log-level=WARN"]  # the address is shown all the same
    server += [f"--ServerApp.root_dir={course}", f"--LabApp.default_url={start}"]
    server += ["--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}", *options]
    settings(course)
    os.chdir(course)  # where nbgrader_config.py lies
    os.execv(server[0], server)


def run(given: argparse.Namespace, course: Path, failures: list[str]) -> None:
    """The steps asked for. One that fails stops no other, and the tables are written in any case."""
    limits = Limits(given.step_seconds, given.submission_seconds, not given.without_walls)
    every, asked = rooms(course), rooms(course, given.assignment, limits)
    if given.step == "release":
        _each(asked, {"release": stages.release}, failures, told=False)
        print("To be handed out with them, so that the checks there are of your version: pip wheel --no-deps .")
        return
    desk = Desk(course)
    for room in every:
        hand.keep(room)
    with reported(failures):
        _work(given, desk, asked, failures)
    with reported(failures):
        written = _tables(desk, every, failures)
        if given.step == "export" and not failures:
            own = {room.assignment: written[room.assignment] for room in asked if room.assignment in written}
            print(f"export: {tables.export(desk, own, given.to)}")


def _work(given: argparse.Namespace, desk: Desk, asked: list[Room], failures: list[str]) -> None:
    """All but the tables."""
    if given.step in ("collect", "all"):
        stages.say_what_came("collect", desk.collect(given.submissions, given.assignment))
    if given.step == "undo":
        stages.undo(desk, given.student, given.assignment)
    if given.step != "feedback" and (new := desk.adopt(given.assignment)):
        stages.say_what_came("submitted/", new)
    here = _in_use(desk, asked)
    if not here:
        raise Failed("nothing was handed in: no notebook of any assignment was found")
    if given.step in ("grade", "feedback", "all"):
        _ = desk.deadlines  # what is wrong in them is said when all files are in, and before anything is graded
    steps: Steps = {
        "collect": lambda room: stages.collected(desk, room),
        "grade": lambda room: stages.grade(desk, room, given.workers),
        "feedback": lambda room: stages.feedback(desk, room),
    }
    if given.step in ("undo", "table", "export"):
        steps = {given.step: steps["collect"]}
    _each(here, {name: step for name, step in steps.items() if given.step in (name, "all")}, failures)


def _in_use(desk: Desk, asked: list[Room]) -> list[Room]:
    names = {receipt.assignment for receipt in desk.ledger.receipts()}
    return [room for room in asked if room.assignment in names]


def _tables(desk: Desk, every: list[Room], failures: list[str]) -> tables.Tables:
    """Of all assignments: a due date of one moves the free days of the others, whichever was asked for."""
    print(f"files: {tables.files(desk, every)}")
    here, written = _in_use(desk, every), dict[str, list[tables.Line]]()
    _each(here, {"table": lambda room: tables.table(desk, room, written)}, failures, told=False)
    if here:
        print(f"grades: {desk.course / 'grades'}, of {', '.join(written)}")
    if here and len(written) == len(here):  # the error of a table that broke off is told already
        print(f"gradebook: {tables.gradebook(desk, written)}")
        print(f"to grade by hand (make grade-by-hand): {_counted(written, 'to_grade_by_hand')}")
        print(f"to look at (the column look_at of the tables): {_counted(written, 'look_at')}")
    return written


def _counted(written: tables.Tables, column: str) -> str:
    """In how many lines of each assignment something stands in a column."""
    nothing = (None, "", 0, tables.NOTHING)
    found = {name: sum(line.get(column) not in nothing for line in lines) for name, lines in written.items()}
    return described(found)


def _each(asked: list[Room], steps: Steps, failures: list[str], *, told: bool = True) -> None:
    """Every step for every assignment; what went wrong is added to `failures`. NoWalls ends the run."""
    for room in asked:
        if told and len(asked) > 1:
            print(f"== {room.assignment}")
        for name, step in steps.items():
            try:
                step(room)
            except NoWalls:
                raise
            except Exception as error:
                failures.append(f"{room.assignment}, {name}: {stages.reason(error)}")


if __name__ == "__main__":
    main()
