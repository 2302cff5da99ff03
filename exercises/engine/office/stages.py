"""The stages of a class: release, collect, grade, feedback. One student's failure never stops another's."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tqdm import tqdm

from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.sandbox import NoWalls
from exercises.engine.grading.judge import read_json, write_whole

from . import hand
from .desk import Desk, Standing, in_order
from .late import Lateness
from .ledger import Receipt
from .room import Room, checked, graded_cells, text_of
from .texts import Failed

_NO_PLACE = "no place among the marks"


def release(room: Room) -> None:
    """Makes release/ from source/, without solutions and hidden tests; nothing when the source has not changed.

    Where points changed, it says so. Where cells came or went, all submissions leave nbgrader's gradebook, which
    refuses the change, and wait for `grade`; marks by hand come back with it.
    """
    released = room.notebook("release")
    if is_released(room):
        print(f"release: {released.parent} is up to date")
        return
    _say_points(room)
    made = room.api().generate_assignment(room.assignment, force=True, create=True)
    if "Cannot add or remove cells" in str(made) and _unlist(room):
        made = room.api().generate_assignment(room.assignment, force=True, create=True)
    checked(made)
    print(f"release: {released.parent} is what students get")


def is_released(room: Room) -> bool:
    """Whether release/ was made from the present source, and the gradebook knows it, which a new gradebook does not."""
    with room.gradebook() as gradebook:
        known = {assignment.name for assignment in gradebook.assignments}
    about = read_json(room.notebook("release")).get("metadata", {}).get("course", {})
    return room.assignment in known and about.get("made_from") == room.release_state()


def _say_points(room: Room) -> None:
    """Before a release that is not the first: which points change."""
    with room.gradebook() as gradebook:
        books = [book for one in gradebook.assignments for book in one.notebooks if one.name == room.assignment]
        old = {cell.name: cell.max_score for book in books for cell in book.grade_cells}
    cells = graded_cells(notebooks.read_source(room.notebook("source"))) if old else {}
    new = {name: float(notebooks.grading(cell)["points"]) for name, cell in cells.items()}
    for name in dict.fromkeys([*old, *new]):
        every = (points.get(name) for points in (old, new))
        before, now = (_NO_PLACE if one is None else f"{one:g} point{'s' * (one != 1)}" for one in every)
        if before != now:
            print(f"release: {name} has {now}; before, it had {before}")


def say_what_came(where: str, new: list[Receipt]) -> None:
    """How many files are new, and which of them cannot count."""
    refused = [receipt for receipt in new if receipt.problem]
    count = len(new) - len(refused)
    told = f", {len(refused)} that cannot count" if refused else ""
    print(f"{where}: {count} new file{'s' * (count != 1)}{told}")
    for receipt in refused:
        print(f"  {receipt.path}: {receipt.problem}; {receipt.advice}")


def collected(desk: Desk, room: Room) -> None:
    """Brings counted/ to what counts, and says which files do not."""
    for student, standing in sort_out(desk, room).items():
        for note in standing.notes:
            print(f"  {student}: {note}")


def sort_out(desk: Desk, room: Room) -> dict[str, Standing]:
    """Brings counted/ to what counts; what was taken back and has nothing in its place is listed no longer."""
    if not is_released(room):
        release(room)
    found = desk.lay_out(room)
    receipts = [receipt for receipt in desk.ledger.receipts() if receipt.assignment == room.assignment]
    if gone := {receipt.student for receipt in receipts if receipt.student and receipt.withdrawn} - found.keys():
        _unlist(room, gone)
    return found


def _unlist(room: Room, students: set[str] | None = None) -> set[str]:
    """Takes what is booked of these students, or of all, out of nbgrader's lists: formgrader asks for no marks.

    Marks by hand stay in the ledger, and are there again when the same answers count again.
    """
    hand.keep(room, students)
    with room.gradebook() as gradebook:
        booked = {submission.student_id for submission in gradebook.assignment_submissions(room.assignment)}
        taken = booked if students is None else booked & students
        for student in sorted(taken):
            for step in ("autograded", "feedback"):
                shutil.rmtree(room.notebook(step, student).parent, ignore_errors=True)
            gradebook.remove_submission(room.assignment, student)
    return taken


def grade(desk: Desk, room: Room, workers: int) -> None:
    """Judges in parallel, each submission in processes of its own; nbgrader then books one after the other.

    Failed, at the end, where a submission could not be graded. NoWalls where none can be.
    """
    students = sorted(sort_out(desk, room))
    waiting = sorted(set(students) - graded(room, students))
    for student in waiting[:1]:
        room.fingerprint(student)  # reads the grading's code once, and here: Python 3.11 parses in one thread only
    failures: dict[str, str | None] = {}
    with (
        ThreadPoolExecutor(max_workers=workers) as pool,
        tqdm(total=len(students), initial=len(students) - len(waiting), desc="grade", unit="student") as bar,
    ):
        for student, wrong in zip(waiting, pool.map(partial(_tried, Room.judged, room), waiting), strict=True):
            failures[student] = wrong or _tried(book, room, student)
            bar.update()
    _report("grade", "graded", failures)


def _tried(step: Callable[[Room, str], Any], room: Room, student: str) -> str | None:
    """Takes a step for a student; what went wrong, if anything did."""
    try:
        step(room, student)
    except NoWalls:
        raise
    except Exception as error:
        return reason(error)
    return None


def book(room: Room, student: str) -> None:
    """Has nbgrader book a judged submission, and gives back the marks that a person gave for the same answers."""
    state = room.fingerprint(student)
    hand.keep(room, {student})
    room.note_booking(student)  # a booking that is cut short does not pass for a whole one
    autograde(room, student)
    notebook = notebooks.read_source(room.notebook("counted", student))
    shas = hand.answers(notebook)
    hand.put(room, student, shas, notebooks.text_to_place(notebook))
    room.note_booking(student, state=state, answers=shas)


def autograde(room: Room, student: str) -> None:
    """nbgrader's part of it: the points of the verdict go into its gradebook."""
    checked(room.api().autograde(room.assignment, student, force=True, create=True))


def graded(room: Room, students: Iterable[str]) -> set[str]:
    """Those whose present submission is booked under the present grading."""
    with room.gradebook() as gradebook:
        booked = {one.student_id for one in gradebook.assignment_submissions(room.assignment)}
    there = [s for s in students if room.notebook("counted", s).exists() and room.notebook("autograded", s).exists()]
    noted = {student: room.booked(student) or {} for student in booked.intersection(there)}
    return {student for student, one in noted.items() if one.get("state") == room.fingerprint(student)}


def feedback(desk: Desk, room: Room) -> None:
    """Writes feedback/STUDENT/ASSIGNMENT/*.html for every student whose marks or comments changed."""
    settle(desk, room)
    everybody = sorted(desk.standings(room))
    ready = graded(room, everybody)
    if waiting := len(everybody) - len(ready):
        print(f"feedback: {waiting} submissions are not graded yet, or not by the present checks: run grade first")

    def write(room: Room, student: str) -> None:
        checked(room.api().generate_feedback(room.assignment, student, force=True))

    failures = {}
    for student in tqdm(sorted(ready), desc="feedback", unit="student"):
        page = room.notebook("feedback", student).with_suffix(".html")
        now = hashlib.sha256(json.dumps([room.fingerprint(student), marks(room, student)]).encode()).hexdigest()
        if text_of(page).endswith(f"<!-- {now} -->"):
            continue
        failures[student] = _tried(write, room, student)
        if failures[student] is None:
            write_whole(page, f"{text_of(page)}<!-- {now} -->")
    _report("feedback", "written", failures)


def settle(desk: Desk, room: Room) -> None:
    """Brings due date, times and penalties into nbgrader's gradebook, so that all its exports and pages agree.

    What deadlines.toml no longer says leaves it: without a due date nothing is late, and nothing is taken off.
    """
    late, found, due = desk.lateness(room), desk.standings(room), desk.deadlines.due.get(room.assignment)
    with room.gradebook() as gradebook:
        gradebook.find_assignment(room.assignment).duedate = _naive(due) if due else None
        for student in graded(room, found):
            notebook = gradebook.find_submission_notebook(room.assignment, room.assignment, student)
            counts = found[student].counts
            if counts is not None:
                notebook.assignment.timestamp = _naive(datetime.fromisoformat(counts.handed_in))
            cost = round(notebook.score * late.get(student, Lateness()).percent / 100, 2)
            notebook.late_submission_penalty = cost or None
        gradebook.db.commit()


def _naive(when: datetime) -> datetime:
    """nbgrader's times are UTC, and do not say so."""
    return when.astimezone(UTC).replace(tzinfo=None)


def marks(room: Room, student: str) -> list[Any]:
    """What the gradebook holds on a submission: scores, who must look, comments."""
    with room.gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook(room.assignment, room.assignment, student)
        scores = [[g.name, g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade] for g in notebook.grades]
        comments = [[c.name, c.auto_comment, c.manual_comment] for c in notebook.comments]
        return [sorted(scores), sorted(comments), notebook.late_submission_penalty]


def undo(desk: Desk, student: str | None, assignment: str | None) -> None:
    """Takes back the last collection, or the newest file of one student.

    Nothing is deleted: collecting the same folder again brings it back.
    """
    receipts = [receipt for receipt in desk.ledger.receipts() if not receipt.withdrawn]
    if student is not None:
        handed = {one.assignment for one in receipts if one.student == student and one.assignment}
        if assignment is None and len(handed) > 1:
            raise Failed(f"{student} handed in {', '.join(sorted(handed))}: give --assignment NAME too")
        taken = _newest(desk, student, assignment or next(iter(handed), ""))
    else:
        asked = [receipt for receipt in receipts if assignment in (None, receipt.assignment)]
        last = max((receipt.collection for receipt in asked), default=None)
        taken = [receipt for receipt in asked if receipt.collection == last]
    if not taken:
        raise Failed("there is nothing to take back")
    desk.ledger.withdraw(taken)
    for receipt in taken:
        print(f"undo: {receipt.path} of {receipt.collected[:16]} counts no longer")
    print("undo: now run grade, so that what came before has its marks again")


def _newest(desk: Desk, student: str, assignment: str) -> list[Receipt]:
    """The file of a student that counts, and those with the same answers; where none does, the last one that came."""
    standing = desk.standings(Room(desk.course, assignment)).get(student)
    if standing is None or standing.counts:
        return [standing.counts, *standing.again] if standing and standing.counts else []
    own = [one for one in desk.ledger.receipts() if (one.student, one.assignment) == (student, assignment)]
    return in_order([one for one in own if not one.withdrawn])[-1:]


def reason(error: Exception) -> str:
    """An error as a line of a report."""
    return str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"


def _report(stage: str, done: str, every: Mapping[str, str | None]) -> None:
    failures = {student: wrong for student, wrong in every.items() if wrong}
    for student, wrong in failures.items():
        print(f"{stage}: {student} was not {done}: {wrong}")
    if failures:
        raise Failed(f"{len(failures)} of the submissions were not {done}: {', '.join(sorted(failures))}")
