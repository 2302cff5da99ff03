"""The steps of nbgrader that this course replaces (nbgrader_config.py puts them in)."""

from __future__ import annotations

import json
import re
from copy import copy
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.preprocessors import GetGrades, NbGraderPreprocessor

from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.looking import graded_with
from exercises.engine.office.room import Room
from exercises.engine.pages import filled
from tools.address import is_set, repository

from .harmless import trusted
from .items import BLOCK, of_answer

Resources = dict[str, Any]
_MARKS = ("### BEGIN SOLUTION", "### END SOLUTION")
FOR_GRADERS = "---\n\n**For graders only: reference answer and rubric**\n\n"
_TO_REPOSITORY = re.compile(rf"\[([^\]]+)\]\({re.escape(repository())}/[^)]*\)")


class _Course(NbGraderPreprocessor):
    def room(self, resources: Resources) -> Room:
        """The classroom's folder, and the assignment at hand."""
        return Room(Path(self.config.CourseDirectory.root), resources["nbgrader"]["assignment"])


class NameGrader(_Course):
    """At release: the second cell says on what the answers will run, and the last one replays the saved notebook."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        name = resources["nbgrader"]["notebook"]
        rooms = ", ".join(f"`{room}`" for room in notebooks.open_rooms(nb))
        text = filled("grading/pages/graded-with.md", graded_with=graded_with(), rooms=rooms).rstrip()
        if not is_set(repository()):  # nothing is published there
            for cell in nb.cells:
                cell.source = _TO_REPOSITORY.sub(r"\1", cell.source)
        about = notebooks.locked(notebooks.GRADED_WITH)
        nb.cells.insert(1, new_markdown_cell(text, metadata={"nbgrader": about}, id=notebooks.GRADED_WITH))
        nb.cells.append(notebooks.last_cell(name))
        made = {"assignment": name, "graded_with": graded_with(), "made_from": self.room(resources).release_state()}
        nb.metadata["course"] = {**nb.metadata.get("course", {}), **made}
        return nb, resources


class Carry(NbGraderPreprocessor):
    """At the end of a release: the notebook carries what was handed out, for `hand_in`."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        nb.metadata["course"] = {**nb.metadata.get("course", {}), "released": notebooks.packed(nb)}
        return nb, resources


class Collect(ExchangeCollect):
    """What the exchange brings lies beside what counts, until the classroom takes it in."""

    coursedir: Any

    def init_dest(self) -> None:
        self.coursedir = copy(self.coursedir)
        self.coursedir.submitted_directory = "submitted"


class Rebuild(_Course):
    """First: the released notebook with the student's answers in it takes the place of what was handed in."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        released, content = self.room(resources).notebook("release"), json.dumps(nb).encode()
        rebuilt = notebooks.rebuilt(notebooks.read_source(released), notebooks.working_copy(content))
        rebuilt.metadata["receipt"] = notebooks.receipt(rebuilt)
        return rebuilt, resources


class Judge(_Course):
    """In place of nbgrader's Execute: no student's code runs in nbgrader's process or in a kernel of its own.

    The verdict's messages become the outputs of the graded cells, from which nbgrader computes the points as always.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        verdict = self.room(resources).judged(resources["nbgrader"]["student"])
        nb.metadata["graded_with"] = verdict.get("graded_with", "")
        for cell in nb.cells:
            if cell.cell_type == "code":
                found = verdict["outputs"].get(cell.id) or {}
                cell.outputs = _outputs(found.get("output", ""), "Error", found.get("error") or None)
                if notebooks.is_test(cell):
                    check = verdict["checks"][notebooks.grading(cell).get("grade_id")]
                    message = None if check["passed"] is True else check["message"]
                    cell.outputs = _outputs("All checks passed.\n" if message is None else "", "NotYet", message)
        return nb, resources


class GetGradesAndWaiting(GetGrades):
    """For the page of feedback: the scores, which of them a person has still to give, and what students call a cell."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        titles = notebooks.titles(nb)
        for cell in nb.cells:
            if not notebooks.is_own(cell):
                cell.metadata.nbgrader["title"] = titles[notebooks.grading(cell)["grade_id"]]
            if notebooks.is_test(cell):  # the inputs of a hidden check are next year's, too
                cell.source = notebooks.parts_of_check(cell.source)[0].strip()
        answers = [cell.source for cell in nb.cells if notebooks.is_answer(cell)]
        nb.metadata["unanswered"] = all(map(notebooks.is_stub, answers)) and not any(map(notebooks.is_own, nb.cells))
        graded: tuple[NotebookNode, Resources] = super().preprocess(nb, resources)
        return graded

    def _get_score(self, cell: NotebookNode, resources: Resources) -> None:
        super()._get_score(cell, resources)
        where = self.notebook_id, self.assignment_id, self.student_id
        grade = self.gradebook.find_grade(cell.metadata["nbgrader"]["grade_id"], *where)
        cell.metadata.nbgrader["waiting"] = bool(grade.needs_manual_grade)


class ShowRubric(NbGraderPreprocessor):
    """Puts the instructor's own text behind each written answer, on formgrader's pages and nowhere else.

    Nothing of it is stored: formgrader makes its pages anew each time, and it alone names a `submission_id`.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        if "submission_id" not in resources:
            return nb, resources
        name = str(resources["assignment_id"])
        source = Path(self.config.CourseDirectory.root, "source", name, f"{resources['notebook_id']}.ipynb")
        references = {notebooks.grading(cell).get("grade_id"): cell for cell in notebooks.read_source(source).cells}
        unplaced = notebooks.text_to_place(nb)
        shown: list[NotebookNode] = []
        for cell in nb.cells:
            shown.append(cell)
            about = notebooks.grading(cell)
            if about.get("grade") and about.get("solution") and about.get("grade_id") in references:
                text = references[about["grade_id"]].source
                kept = [line for line in BLOCK.sub("", text).split("\n") if line.strip() not in _MARKS]
                shown.append(new_markdown_cell(FOR_GRADERS + "\n".join(kept).strip()))
                if items := of_answer(text):  # a box each; a tick writes its line of the comment, and the mark
                    boxes = filled("grading/pages/rubric.html", items=items, cell=about["grade_id"])
                    shown.append(new_markdown_cell(trusted(boxes)))
                if about["grade_id"] in unplaced:
                    own = [one.source for one in nb.cells if notebooks.is_own(one) and notebooks.holds_text(one)]
                    told = "**The answer above is empty. The student wrote elsewhere:**"
                    shown.append(new_markdown_cell("\n\n".join([told, *own])))
        nb.cells = shown
        return nb, resources


def _outputs(printed: str, kind: str, error: str | None) -> list[NotebookNode]:
    """What a cell printed, and the error that ended it; nbgrader gives full points where there is none."""
    outputs = [new_output("stream", name="stdout", text=printed)] if printed else []
    return outputs if error is None else [*outputs, new_output("error", ename=kind, evalue=error, traceback=[error])]
