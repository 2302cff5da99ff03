"""A whole class, from release to grades, with the real nbgrader underneath.

    python exercises/classroom.py release
    python exercises/classroom.py all --submissions FOLDER --workers 2
    python exercises/classroom.py grade --assignment gauge-freedom

FOLDER holds STUDENT/ASSIGNMENT.ipynb or STUDENT.ipynb for every student. Without --assignment, `release` makes every
assignment and the other steps do every assignment that was handed in. Every step skips what is done: start the same
command again after a stop, and it goes on. Results lie in the classroom's folder (this one, or --course): autograded/,
feedback/STUDENT/ASSIGNMENT/*.html, gradebook.db (nbgrader's) and grades/ASSIGNMENT.csv.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import nbformat
    from nbgrader.api import Gradebook
    from nbgrader.apps import NbGraderAPI
    from sqlalchemy.exc import SAWarning
    from tqdm import tqdm
    from traitlets.config.loader import PyFileConfigLoader
except ImportError as error:
    sys.exit(
        f"{error.name} is missing. `make classroom` installs what the classroom needs, or: pip install '.[classroom]'"
    )

from exercises.grading import notebooks
from exercises.grading.judge import fingerprint, write_whole
from exercises.grading.sandbox import NoWalls
from exercises.grading.verdicts import verdict_on, verdict_path

HERE = Path(__file__).resolve().parent
warnings.filterwarnings("ignore", category=SAWarning)  # nbgrader builds rows before it adds them
STUDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
STEPS = ("release", "collect", "grade", "feedback", "all")


@dataclass(frozen=True)
class Class:
    """One classroom folder and one assignment in it; an assignment is one notebook of the same name."""

    course: Path
    assignment: str

    def notebook(self, step: str, student: str = ".") -> Path:
        """source/./A/A.ipynb, release/./A/A.ipynb, submitted/STUDENT/A/A.ipynb, ..."""
        return self.course / step / student / self.assignment / f"{self.assignment}.ipynb"

    def verdict(self, student: str) -> Path:
        return verdict_path(self.course, self.assignment, student, self.assignment)

    def marker(self, step: str, student: str) -> Path:
        """What was there when a step ended for a student; the step is done while that is still true."""
        return self.course / "verdicts" / self.assignment / f"{student}.{step}"

    def students(self) -> list[str]:
        return sorted(
            path.parts[-3] for path in self.course.glob(f"submitted/*/{self.assignment}/{self.assignment}.ipynb")
        )

    def api(self) -> NbGraderAPI:
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # alembic
        os.environ["COURSE_CLASSROOM"] = str(self.course)
        config = PyFileConfigLoader("nbgrader_config.py", path=str(HERE)).load_config()
        return NbGraderAPI(config=config)

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.course / 'gradebook.db'}", "two-tower-course")


class Failed(RuntimeError):
    """A step that nbgrader could not do; holds the end of its log."""


def release(room: Class) -> None:
    """Makes release/ from source/, without solutions and hidden tests;
    does nothing when it is newer than the source.
    """
    source, released = room.notebook("source"), room.notebook("release")
    now = hashlib.sha256(source.read_bytes()).hexdigest()
    if released.exists() and _read(room.marker("release", "-")) == now:
        print(f"release: {released.parent} is up to date")
        return
    _checked(room.api().generate_assignment(room.assignment, force=True, create=True))
    write_whole(room.marker("release", "-"), now)
    print(f"release: {released.parent} is what students get")


def collect(room: Class, files: list[tuple[str, Path]]) -> None:
    """Copies the notebooks of (student, file) into submitted/, in the assignment's form;
    says what could not be read.
    """
    if not room.notebook("release").exists():
        release(room)
    pristine = notebooks.read_source(room.notebook("release"))
    notes, taken = {}, 0
    for student, path in tqdm(files, desc="collect", unit="student"):
        if not STUDENT.fullmatch(student):
            notes[student[:80]] = "not collected: a student's name is made of letters, digits and . _ @ -"
            continue
        try:
            cells = notebooks.handed_in(read_file(path))
        except notebooks.Unreadable as error:
            cells, notes[student] = [], f"graded as empty: {error}"
        text = nbformat.writes(notebooks.rebuilt(pristine, cells or _cells_of(pristine)))
        target = room.notebook("submitted", student)
        if _read(target) != text:
            write_whole(target, text)
        taken += 1
    write_whole(room.course / "verdicts" / room.assignment / "collected.json", json.dumps(notes, indent=1))
    print(f"collect: {taken} submissions" + (f", {len(notes)} with a note" if notes else ""))
    for student, note in notes.items():
        print(f"  {student}: {note}")


def handed_in(folder: Path, rooms: list[Class]) -> dict[str, list[tuple[str, Path]]]:
    """assignment -> (student, file) of what was handed in, for the assignments that somebody handed in.

    FOLDER/STUDENT/ASSIGNMENT.ipynb (or STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb, as nbgrader has it) says by its name what
    it is. FOLDER/STUDENT.ipynb is the assignment whose answer cells it holds, or the only one there is to choose from.
    """
    if not folder.is_dir():
        raise Failed(f"--submissions {folder}: no such folder")
    entries = sorted(folder.iterdir())
    people = [entry for entry in entries if entry.is_dir() and not entry.is_symlink()]
    loose = [entry for entry in entries if entry not in people and entry.suffix == ".ipynb"]
    answers = {room.assignment: _answer_names(room) for room in rooms}
    only = rooms[0].assignment if len(rooms) == 1 else None
    owners = {path: only or recognised(path, answers) for path in loose}
    given = [
        name
        for name in answers
        if name in (only, *owners.values()) or any(_file_of(entry, name).exists() for entry in people)
    ]
    found = {name: [(entry.name, _file_of(entry, name)) for entry in people] for name in given}
    for path, recognised_as in owners.items():
        owner = recognised_as or (given[0] if len(given) == 1 else None)
        if owner:
            found[owner].append((path.stem, path))
        else:
            print(f"collect: {path.name} is none of the assignments; give --assignment NAME")
    return found


def _file_of(entry: Path, assignment: str) -> Path:
    """A student's file for an assignment, in either form; the plain one where there is neither."""
    plain, nested = entry / f"{assignment}.ipynb", entry / assignment / f"{assignment}.ipynb"
    return nested if nested.exists() and not plain.exists() else plain


def _answer_names(room: Class) -> set[str]:
    cells = notebooks.read_source(room.notebook("source")).cells
    return {notebooks.grading(cell)["grade_id"] for cell in cells if notebooks.is_answer(cell)}


def recognised(path: Path, answers: dict[str, set[str]]) -> str | None:
    """The assignment with most of whose answer cells a file shares its names; None where no single one has most."""
    try:
        names = {name for name, _, _ in notebooks.handed_in(read_file(path))}
    except notebooks.Unreadable:
        return None
    shared = sorted(((len(names & own), assignment) for assignment, own in answers.items()), reverse=True)
    clear = shared[0][0] > (shared[1][0] if len(shared) > 1 else 0)
    return shared[0][1] if clear else None


def read_file(path: Path) -> bytes:
    """An ordinary file of a bearable size; Unreadable for links, pipes and anything else."""
    if path.is_symlink() or not path.is_file():
        raise notebooks.Unreadable("there is no such file" if not path.exists() else "it is no ordinary file")
    with path.open("rb") as file:
        return file.read(notebooks.MOST_BYTES + 1)


def grade(room: Class, workers: int) -> None:
    """Judges in parallel, each submission in processes of its own; nbgrader then books one after the other."""
    if not room.notebook("release").exists():
        release(room)
    waiting = [student for student in room.students() if not is_graded(room, student)]
    done = len(room.students()) - len(waiting)
    api, failures = room.api(), {}
    with (
        ThreadPoolExecutor(max_workers=workers) as pool,
        tqdm(total=len(room.students()), initial=done, desc="grade", unit="student") as bar,
    ):
        futures = {pool.submit(_judge, room, student): student for student in waiting}
        try:
            for future in as_completed(futures):
                student = futures[future]
                future.result()  # NoWalls ends the run
                try:
                    _checked(api.autograde(room.assignment, student, force=True, create=True))
                    write_whole(room.marker("graded", student), _fingerprint(room, student))
                except Failed as error:
                    failures[student] = str(error)
                bar.update()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for student, failure in failures.items():
        print(f"grade: {student} was not graded: {failure}")
    table(room)
    if failures:
        raise Failed(f"{len(failures)} submissions were not graded")


def _judge(room: Class, student: str) -> dict[str, Any]:
    return verdict_on(room.verdict(student), room.notebook("source"), room.notebook("submitted", student))


def _fingerprint(room: Class, student: str) -> str:
    return fingerprint(room.notebook("source"), room.notebook("submitted", student))


def is_graded(room: Class, student: str) -> bool:
    """Whether nbgrader has booked this very submission under this very grading."""
    booked = _read(room.marker("graded", student)) == _fingerprint(room, student)
    return booked and room.notebook("autograded", student).exists()


def feedback(room: Class) -> None:
    """Writes feedback/STUDENT/ASSIGNMENT/*.html for every student whose marks or comments changed."""
    api, students = room.api(), [student for student in room.students() if is_graded(room, student)]
    if waiting := len(room.students()) - len(students):
        print(f"feedback: {waiting} submissions are not graded yet, or not by the present checks: run grade first")
    for student in tqdm(students, desc="feedback", unit="student"):
        now = hashlib.sha256(json.dumps(marks(room, student)).encode()).hexdigest()
        page = room.notebook("feedback", student).with_suffix(".html")
        if page.exists() and _read(room.marker("feedback", student)) == now:
            continue
        _checked(api.generate_feedback(room.assignment, student, force=True))
        write_whole(room.marker("feedback", student), now)
    table(room)


def marks(room: Class, student: str) -> list[Any]:
    """What the gradebook holds on a submission: scores, who must look, comments, and which submission it was."""
    with room.gradebook() as book:
        notebook = book.find_submission_notebook(room.assignment, room.assignment, student)
        scores = [[g.name, g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade] for g in notebook.grades]
        comments = [[c.name, c.auto_comment, c.manual_comment] for c in notebook.comments]
    return [sorted(scores), sorted(comments), _read(room.marker("graded", student))]


def table(room: Class) -> Path:
    """Writes grades/ASSIGNMENT.csv: one line a student, one column a graded cell, the total, and what to look at."""
    notes = json.loads(_read(room.course / "verdicts" / room.assignment / "collected.json") or "{}")
    lines: list[dict[str, Any]] = []
    columns: list[str] = []
    with room.gradebook() as book:
        for student in filter(lambda name: is_graded(room, name), room.students()):
            notebook = book.find_submission_notebook(room.assignment, room.assignment, student)
            grades = {g.name: g for g in notebook.grades}
            columns = columns or list(grades)
            verdict = json.loads(_read(room.verdict(student)) or "{}")
            looks = [notes.get(student), verdict.get("look"), *_looks(verdict)]
            lines.append(
                {
                    "student": student,
                    **{name: g.score for name, g in grades.items()},
                    "total": notebook.score,
                    "out_of": notebook.max_score,
                    "to_grade_by_hand": sum(g.needs_manual_grade for g in grades.values()),
                    "seconds": verdict.get("student_seconds", ""),
                    "look_at": "; ".join(note for note in looks if note),
                }
            )
    path = room.course / "grades" / f"{room.assignment}.csv"
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    names = ["student", *columns, "total", "out_of", "to_grade_by_hand", "seconds", "look_at"]
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(lines)
    part.replace(path)
    print(f"grades: {path} ({len(lines)} students)")
    return path


def _looks(verdict: dict[str, Any]) -> Iterator[str]:
    """What a person should look at: checks that could not read an answer, cells that ended or hung the process."""
    for name, check in verdict.get("checks", {}).items():
        if check.get("look"):
            yield f"{name}: {check['message']}"
    for result in verdict.get("outputs", {}).values():
        if (result.get("error") or "").startswith("This cell "):
            yield result["error"]


def _cells_of(pristine: Any) -> list[tuple[str | None, str, str]]:
    """An untouched notebook, as if it had been handed in."""
    return [(notebooks.grading(cell).get("grade_id"), cell.cell_type, cell.source) for cell in pristine.cells]


def _checked(result: dict[str, Any]) -> None:
    if not result["success"]:
        told = f"{result.get('log') or ''}\n{result.get('error') or ''}".strip() or "no reason given"
        raise Failed(told[-1500:])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


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
    """A classroom elsewhere gets a copy of source/ when it has none."""
    if course != HERE and not (course / "source").exists():
        shutil.copytree(HERE / "source", course / "source")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--assignment", help="one assignment (without it: every one that was handed in)")
    parser.add_argument("--submissions", type=Path, help="the folder to collect from")
    parser.add_argument("--workers", type=int, default=2, help="how many submissions are judged at a time (2)")
    parser.add_argument("--course", type=Path, default=HERE, help="the classroom's folder (this one)")
    given = parser.parse_args(arguments)
    if given.step in ("collect", "all") and given.submissions is None:
        parser.error(f"{given.step} needs --submissions FOLDER")
    if given.workers < 1:
        parser.error("--workers must be at least 1")
    course, began = given.course.resolve(), time.monotonic()
    try:
        with only_one(course):
            prepare(course)
            run(given, course)
    except (Failed, NoWalls) as error:
        sys.exit(f"{given.step}: {error}")
    print(f"{given.step}: {time.monotonic() - began:.0f} s")


def run(given: argparse.Namespace, course: Path) -> None:
    """The steps asked for, assignment after assignment; one that fails does not stop the others."""
    rooms = chosen(course, given.assignment)
    files: dict[str, list[tuple[str, Path]]] = {}
    if given.step in ("collect", "all"):
        files = handed_in(given.submissions, rooms)
        rooms = [room for room in rooms if room.assignment in files]
    elif given.step != "release" and given.assignment is None:
        rooms = [room for room in rooms if room.students()]
    if not rooms:
        raise Failed("nothing was handed in: no notebook of any assignment was found")
    steps: dict[str, Callable[[Class], None]] = {
        "release": release,
        "collect": lambda room: collect(room, files[room.assignment]),
        "grade": lambda room: grade(room, given.workers),
        "feedback": feedback,
    }
    failures = []
    for room in rooms:
        if len(rooms) > 1:
            print(f"== {room.assignment}")
        try:
            for name, step in steps.items():
                if given.step in (name, "all"):
                    step(room)
        except Failed as error:
            failures.append(f"{room.assignment}: {error}")
    if failures:
        raise Failed("\n".join(failures))


def chosen(course: Path, assignment: str | None) -> list[Class]:
    """The assignment named, or all that have a source."""
    if assignment is None:
        return [
            Class(course, path.stem)
            for path in sorted(course.glob("source/*/*.ipynb"))
            if path.stem == path.parent.name
        ]
    room = Class(course, assignment)
    if not room.notebook("source").exists():
        raise Failed(f"no assignment {assignment!r}: {room.notebook('source')} is missing")
    return [room]


if __name__ == "__main__":
    main()
