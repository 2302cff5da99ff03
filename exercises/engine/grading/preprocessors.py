"""The steps of nbgrader that this course replaces (nbgrader_config.py puts them in)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader.preprocessors import GetGrades, NbGraderPreprocessor
from traitlets import Bool, Float

from . import notebooks
from .looking import graded_with
from .sandbox import USUAL, Limits
from .verdicts import verdict_on, verdict_path

Resources = dict[str, Any]


class _Course(NbGraderPreprocessor):
    @property
    def course(self) -> Path:
        """The classroom's folder."""
        return Path(self.config.CourseDirectory.root)

    def source(self, resources: Resources) -> Path:
        """The instructor's notebook of the assignment at hand."""
        about = resources["nbgrader"]
        return Path(self.course, "source", about["assignment"], f"{about['notebook']}.ipynb")

    def submitted(self, resources: Resources) -> Path:
        """What the student at hand handed in."""
        about = resources["nbgrader"]
        name = f"{about['notebook']}.ipynb"
        return Path(self.course, "submitted", about["student"], about["assignment"], name)


class NameGrader(NbGraderPreprocessor):
    """At release: the second cell says on what the answers will run."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        text = (
            f"**Where your answers run.** On {graded_with()} and `course_lib`; other packages, and a newer Python, may "
            "not be there. The cells run in this order, and each check sees your functions as they are at its place: "
            "restart the kernel and run all cells before you hand in. Lines with `!`, `%pip`, threads, and files that "
            "lie beside this notebook do nothing there, or end the cell."
        )
        about = {"grade": False, "grade_id": notebooks.GRADED_WITH, "locked": True, "solution": False, "task": False}
        cell = new_markdown_cell(text, metadata={"nbgrader": {**about, "schema_version": 3}}, id=notebooks.GRADED_WITH)
        nb.cells.insert(1, cell)
        return nb, resources


class Rebuild(_Course):
    """First: the released notebook with the student's answers in it takes the place of what was handed in."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        about = resources["nbgrader"]
        released = self.course / "release" / about["assignment"] / f"{about['notebook']}.ipynb"
        content = json.dumps(nb).encode()
        return notebooks.rebuilt(notebooks.read_source(released), notebooks.working_copy(content)), resources


class Judge(_Course):
    """In place of nbgrader's Execute: no student's code runs in nbgrader's process or in a kernel of its own.

    The verdict's messages become the outputs of the graded cells, from which nbgrader computes the points as always.
    """

    step_seconds = Float(USUAL.step, help="what a cell, or a call, may take").tag(config=True)
    submission_seconds = Float(USUAL.submission, help="what all of a kind may take").tag(config=True)
    walls = Bool(True, help="whether a system without walls grades nothing").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        about = resources["nbgrader"]
        source, submitted = self.source(resources), self.submitted(resources)
        path = verdict_path(self.course, about["assignment"], about["student"], about["notebook"])
        verdict = verdict_on(path, source, submitted, Limits(self.step_seconds, self.submission_seconds, self.walls))
        nb.metadata["graded_with"] = verdict.get("graded_with", "")
        for cell in nb.cells:
            if cell.cell_type == "code":
                name = notebooks.grading(cell).get("grade_id")
                cell.outputs = (
                    _of_check(verdict["checks"][name]) if notebooks.is_test(cell) else _of_cell(verdict, cell)
                )
        return nb, resources


class GetGradesAndWaiting(GetGrades):
    """For the page of feedback: the scores, and which of them a person has still to give."""

    def _get_score(self, cell: NotebookNode, resources: Resources) -> None:
        super()._get_score(cell, resources)
        where = self.notebook_id, self.assignment_id, self.student_id
        grade = self.gradebook.find_grade(cell.metadata["nbgrader"]["grade_id"], *where)
        cell.metadata.nbgrader["waiting"] = bool(grade.needs_manual_grade)


def _of_check(check: dict[str, Any]) -> list[NotebookNode]:
    if check["passed"] is True:
        return [new_output("stream", name="stdout", text="All checks passed.\n")]
    message = check["message"]
    return [new_output("error", ename="NotYet", evalue=message, traceback=[message])]


def _of_cell(verdict: dict[str, Any], cell: NotebookNode) -> list[NotebookNode]:
    result = verdict["outputs"].get(cell.id) or {}
    outputs = [new_output("stream", name="stdout", text=result["output"])] if result.get("output") else []
    if result.get("error"):
        outputs.append(new_output("error", ename="Error", evalue=result["error"], traceback=[result["error"]]))
    return outputs
