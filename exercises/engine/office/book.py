"""What nbgrader's gradebook keeps for us besides: every mark that a person ever gave, and what was booked when.

Marks by hand are entered in formgrader, in a process of its own. Triggers in gradebook.db note each of them together
with a checksum of the answer that it was given for, so that a mark belongs to an answer: a later submission does not
take it away, and when the same answer counts again (after `undo`, or handed in anew) its mark is there again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from .room import Room

_WHERE = """FROM submitted_notebook
    JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
    JOIN assignment ON assignment.id = submitted_assignment.assignment_id JOIN base_cell ON base_cell.id = {row}.cell_id
    LEFT JOIN course_answer ON course_answer.assignment = assignment.name
        AND course_answer.student = submitted_assignment.student_id AND course_answer.cell = base_cell.name"""
_COLUMNS = "assignment.name, submitted_assignment.student_id, base_cell.name, course_answer.sha256"
_KEPT = "(assignment, student, cell, answer, kind, score, extra_credit, comment)"
_SCORE = (
    f"INSERT INTO course_hand_mark {_KEPT} SELECT {_COLUMNS}, 'score', {{row}}.manual_score, {{row}}.extra_credit, NULL"
)
_COMMENT = f"INSERT INTO course_hand_mark {_KEPT} SELECT {_COLUMNS}, 'comment', NULL, NULL, {{row}}.manual_comment"
_NEW = f"{_WHERE.format(row='new')} WHERE submitted_notebook.id = new.notebook_id;"
_SCHEMA = f"""
BEGIN;
CREATE TABLE course_booked
    (assignment TEXT, student TEXT, step TEXT, state TEXT, PRIMARY KEY (assignment, student, step));
CREATE TABLE course_answer
    (assignment TEXT, student TEXT, cell TEXT, sha256 TEXT, PRIMARY KEY (assignment, student, cell));
CREATE TABLE course_hand_mark (id INTEGER PRIMARY KEY, at TEXT DEFAULT CURRENT_TIMESTAMP, assignment TEXT, student TEXT,
    cell TEXT, answer TEXT, kind TEXT, score REAL, extra_credit REAL, comment TEXT);
CREATE TRIGGER no_change_of_course_hand_mark BEFORE UPDATE ON course_hand_mark
    BEGIN SELECT RAISE(ABORT, 'marks by hand are never changed, only followed by others'); END;
CREATE TRIGGER no_loss_of_course_hand_mark BEFORE DELETE ON course_hand_mark
    BEGIN SELECT RAISE(ABORT, 'marks by hand are never deleted'); END;
{_SCORE.format(row="grade")} FROM grade JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
    {_WHERE.format(row="grade").removeprefix("FROM submitted_notebook")}
    WHERE grade.manual_score IS NOT NULL OR grade.extra_credit IS NOT NULL;
COMMIT;
"""
_TRIGGERS = f"""
BEGIN;
CREATE TRIGGER IF NOT EXISTS course_keep_score AFTER UPDATE OF manual_score, extra_credit, needs_manual_grade ON grade
    WHEN new.manual_score IS NOT old.manual_score OR new.extra_credit IS NOT old.extra_credit
        OR (old.needs_manual_grade AND NOT new.needs_manual_grade AND new.manual_score IS NOT NULL)
    BEGIN {_SCORE.format(row="new")} {_NEW} END;
CREATE TRIGGER IF NOT EXISTS course_keep_comment AFTER UPDATE OF manual_comment ON comment
    WHEN new.manual_comment IS NOT old.manual_comment
    BEGIN {_COMMENT.format(row="new")} {_NEW} END;
COMMIT;
"""
_LAST = """SELECT score, extra_credit, comment FROM course_hand_mark
    WHERE assignment = ? AND student = ? AND cell = ? AND answer = ? AND kind = ? ORDER BY id DESC LIMIT 1"""
_ROW = """(SELECT {table}.id FROM {table} JOIN base_cell ON base_cell.id = {table}.cell_id
    JOIN submitted_notebook ON submitted_notebook.id = {table}.notebook_id
    JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
    JOIN assignment ON assignment.id = submitted_assignment.assignment_id
    WHERE assignment.name = ? AND submitted_assignment.student_id = ? AND base_cell.name = ?)"""
_SET_SCORE = f"""UPDATE grade SET manual_score = ?, extra_credit = ?, needs_manual_grade = 0
    WHERE id = {_ROW.format(table="grade")}"""
_CLEAR_SCORE = f"UPDATE grade SET manual_score = NULL, extra_credit = NULL WHERE id = {_ROW.format(table='grade')}"
_SET_COMMENT = f"UPDATE comment SET manual_comment = ? WHERE id = {_ROW.format(table='comment')}"
_LOOK = f"""UPDATE grade SET needs_manual_grade = 1
    WHERE manual_score IS NULL AND id = {_ROW.format(table="grade")}"""


class Book:
    """The course's own part of one assignment's gradebook."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def state(self, step: str) -> dict[str, str]:
        """student -> what was there when a step ended for them; the step is done while that is still true."""
        with self._open() as database:
            rows = database.execute(
                "SELECT student, state FROM course_booked WHERE assignment = ? AND step = ?",
                (self.room.assignment, step),
            )
            return dict(rows.fetchall())

    def note(self, student: str, step: str, state: str) -> None:
        """A step has ended for a student."""
        with self._open() as database:
            _note(database, self.room.assignment, student, step, state)

    def forget(self, student: str) -> None:
        """Before a submission is booked, so that a booking that is cut short does not pass for a whole one."""
        with self._open() as database:
            database.execute(
                "DELETE FROM course_booked WHERE assignment = ? AND student = ? AND step = 'graded'",
                (self.room.assignment, student),
            )

    def booked(self, student: str, state: str, answers: Mapping[str, str], look: frozenset[str]) -> None:
        """After nbgrader has booked a submission: its marks by hand come back, and the step is noted as done.

        Marks and comments for another answer, which nbgrader would carry over, are kept but do not count.
        `answers` holds the checksum of each graded cell's answer; `look` names cells that a person must look at,
        although nbgrader would give no points for them.
        """
        who = self.room.assignment, student
        with self._open() as database:
            for cell, sha in answers.items():
                database.execute("INSERT OR REPLACE INTO course_answer VALUES (?, ?, ?, ?)", (*who, cell, sha))
                if cell in look:
                    database.execute(_LOOK, (*who, cell))
                score = database.execute(_LAST, (*who, cell, sha, "score")).fetchone()
                if score and score[:2] != (None, None):
                    database.execute(_SET_SCORE, (*score[:2], *who, cell))
                else:
                    database.execute(_CLEAR_SCORE, (*who, cell))
                comment = database.execute(_LAST, (*who, cell, sha, "comment")).fetchone()
                database.execute(_SET_COMMENT, (comment[2] if comment else None, *who, cell))
            _note(database, *who, "graded", state)

    def hand_marks(self) -> list[tuple[object, ...]]:
        """Every mark and comment that a person gave, in the order in which they were given."""
        with self._open() as database:
            return database.execute(
                "SELECT student, cell, answer, kind, score, extra_credit, comment FROM course_hand_mark "
                "WHERE assignment = ? ORDER BY id",
                (self.room.assignment,),
            ).fetchall()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A transaction on gradebook.db, which nbgrader makes first: it looks whether the file is new."""
        path = self.room.course / "gradebook.db"
        if not path.exists():
            self.room.gradebook().close()
        with closing(sqlite3.connect(path, timeout=30)) as database, database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            if "grade" not in tables:  # an nbgrader that was stopped in its first second
                self.room.gradebook().close()
            if "course_hand_mark" not in tables:
                database.executescript(_SCHEMA)
            if not {"course_keep_score", "course_keep_comment"} <= tables:
                database.executescript(_TRIGGERS)
            yield database


def _note(database: sqlite3.Connection, assignment: str, student: str, step: str, state: str) -> None:
    database.execute("INSERT OR REPLACE INTO course_booked VALUES (?, ?, ?, ?)", (assignment, student, step, state))
