"""Two short assignments with a planted judge: the points stand in the answers, and nothing of a student runs.

For the tests of what happens around the grading, which are many and must be quick.
"""

from __future__ import annotations

import re
import shutil

import nbformat

from course_lib.lessons.shared.grading import notebooks
from exercises.engine.office.room import Room

ASSIGNMENTS = ("ddc", "gauge-freedom")  # names of true assignments: the fingerprint of a grading asks for their checks

POINTS = (1, 2, 3, 4)  # a number's points are its remainder after division by 5


def cell(kind: str, name: str, source: str, **about: object) -> nbformat.NotebookNode:
    made = nbformat.v4.new_code_cell(source) if kind == "code" else nbformat.v4.new_markdown_cell(source)
    flags = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3, **about}
    made.metadata["nbgrader"] = {"grade_id": name, **flags}
    made.id = name
    return made


def source(assignment: str) -> nbformat.NotebookNode:
    """A short assignment: a function, four checks of a point each, and a text for 6."""
    name = f"answer_{assignment.replace('-', '_')}"
    return nbformat.v4.new_notebook(
        cells=[
            cell("markdown", f"intro_{name}", f"# {assignment}", locked=True),
            cell(
                "code",
                name,
                f"def {name}():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION",
                solution=True,
            ),
            *(
                cell("code", f"test_{name}_{k}", f"assert {name}() % 5 >= {k}", grade=True, points=1, locked=True)
                for k in POINTS
            ),
            cell(
                "markdown",
                f"essay_{name}",
                "### BEGIN SOLUTION\nText.\n### END SOLUTION",
                grade=True,
                solution=True,
                points=6,
            ),
        ]
    )


def work(assignment: str, number: int) -> bytes:
    """A submission; its number decides its points, and every second one has the text of the one before."""
    notebook = source(assignment)
    notebook.cells[1].source = f"def {notebook.cells[1].id}():\n    return {number}"
    notebook.cells[-1].source = f"Essay {number // 2}"
    return nbformat.writes(notebook).encode()


def automatic(number: int) -> float:
    return float(number % 5)


def untouched(assignment: str, number: int) -> bytes:
    notebook = source(assignment)
    notebook.cells[1].source = f"def {notebook.cells[1].id}():\n    {notebooks.CODE_STUB}"
    notebook.cells[-1].source = notebooks.TEXT_STUB
    notebook.metadata["number"] = number
    return nbformat.writes(notebook).encode()


def judged(room: Room, student: str) -> None:
    """No judge: `booked` reads the points off the answer."""


def booked(room: Room, student: str) -> None:
    """What nbgrader's SaveAutoGrades does, with points that stand in the answer."""
    notebook = notebooks.read_source(room.notebook("counted", student))
    texts = {one.metadata["nbgrader"]["grade_id"]: one.source for one in notebook.cells if "nbgrader" in one.metadata}
    number = re.search(r"return (\d+)", texts[f"answer_{room.assignment.replace('-', '_')}"])
    with room.gradebook() as book:
        book.update_or_create_student(student)
        book.update_or_create_submission(room.assignment, student)
        for grade in book.find_submission_notebook(room.assignment, room.assignment, student).grades:
            if grade.name.startswith("test_"):
                grade.auto_score = float(bool(number) and automatic(int(number[1])) >= int(grade.name[-1]))
            else:
                grade.auto_score = 0.0 if notebooks.is_stub(texts[grade.name]) else None
            grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        book.db.commit()
    target = room.notebook("autograded", student)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(room.notebook("counted", student), target)
