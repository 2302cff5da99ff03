"""Marks by hand belong to the answer that they were given for, although nbgrader's gradebook has one place for both.

A person enters marks in formgrader, in a process of its own. Each command of the classroom takes what is new into the
ledger, with the checksum of the answer that was on the page. When an answer is booked, its own marks come back: a later
submission does not take them away, and they are there again when it counts again, after `undo` or handed in anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from course_lib.lessons.shared.grading import notebooks

from .ledger import Ledger, Mark
from .room import Room, graded_cells
from .texts import sha256

NONE: Mark = (None, None, None)


def keep(room: Room, students: Iterable[str] | None = None) -> None:
    """Takes the marks of these students, or of all, that are new in nbgrader's gradebook into the ledger."""
    ledger, name = Ledger(room.course), room.assignment
    if not (room.course / "gradebook.db").exists():
        return
    known, new = ledger.marks(name), []
    with room.gradebook() as gradebook:
        for one in gradebook.notebook_submissions(name, name):
            student = one.student.id
            if students is None or student in students:
                comments = {comment.name: comment.manual_comment or None for comment in one.comments}
                scores = {grade.name: (grade.manual_score, grade.extra_credit) for grade in one.grades}
                given = {cell: (*both, comments.get(cell)) for cell, both in scores.items()}
                shas = _booked(room, student, given)
                keys = {cell: (student, cell, shas[cell]) for cell in given.keys() & shas.keys()}
                new += [(*key, given[cell]) for cell, key in keys.items() if given[cell] != known.get(key, NONE)]
    if new:
        ledger.keep(name, new)


def _booked(room: Room, student: str, given: Mapping[str, Mark]) -> dict[str, str]:
    """The answers to which these marks of a student belong; none while a submission is being booked.

    Where nbgrader's own commands booked it, those on the page.
    """
    noted, page = room.booked(student), room.notebook("autograded", student)
    if noted is not None:
        return dict(noted.get("answers", {}))
    marked = any(mark != NONE for mark in given.values())
    return answers(notebooks.read_source(page)) if marked and page.exists() else {}


def put(room: Room, student: str, shas: Mapping[str, str], look: Collection[str]) -> None:
    """After nbgrader has booked a submission: the marks of its answers, and of no others.

    `look` names cells that a person must look at, although nbgrader would give no points for them.
    """
    known = Ledger(room.course).marks(room.assignment)
    with room.gradebook() as gradebook:
        booked = gradebook.find_submission_notebook(room.assignment, room.assignment, student)
        own = {cell: known.get((student, cell, sha), NONE) for cell, sha in shas.items()}
        for grade in (grade for grade in booked.grades if grade.name in own):
            grade.manual_score, grade.extra_credit, _ = own[grade.name]
            if own[grade.name][:2] != (None, None):
                grade.needs_manual_grade = False
            elif grade.name in look:
                grade.needs_manual_grade = True
        for comment in booked.comments:
            if comment.name in own:
                comment.manual_comment = own[comment.name][2]
        gradebook.db.commit()


def answers(notebook: Any) -> dict[str, str]:
    """graded cell -> checksum of what the student wrote for it: of a text, itself; of a check, all code.

    Text of the student's own counts too where a text was left empty: a person's mark was given for it.
    """
    code = [cell.source for cell in notebooks.student_cells(notebook)]
    own = [cell.source for cell in notebook.cells if notebooks.is_own(cell)]
    found = {}
    for name, cell in graded_cells(notebook).items():
        text = [cell.source, cell.get("attachments", {})] if notebooks.is_answer(cell) else code
        written = [text, own if notebooks.is_stub(cell.source) else []]
        found[name] = sha256(json.dumps(written, sort_keys=True).encode())
    return found
