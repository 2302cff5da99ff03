"""Beside a text that a person grades, formgrader shows the rubric and the reference answer; feedback never does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from course_lib.lessons.shared.grading import notebooks

Resources = dict[str, Any]
_MARKS = ("### BEGIN SOLUTION", "### END SOLUTION")


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
                text = _reference(references[about["grade_id"]].source)
                shown.append(nbformat.v4.new_markdown_cell(text))
                if about["grade_id"] in unplaced:
                    shown.append(nbformat.v4.new_markdown_cell(_elsewhere(nb)))
        nb.cells = shown
        return nb, resources


def _reference(source: str) -> str:
    text = "\n".join(line for line in source.split("\n") if line.strip() not in _MARKS).strip()
    return f"---\n\n**For graders only: reference answer and rubric**\n\n{text}\n\n---"


def _elsewhere(nb: NotebookNode) -> str:
    """What the student wrote in cells of their own, where the answer itself is empty."""
    texts = [cell.source for cell in nb.cells if notebooks.is_own(cell) and notebooks.holds_text(cell)]
    return "**The answer above is empty. The student wrote elsewhere:**\n\n" + "\n\n".join(texts)
