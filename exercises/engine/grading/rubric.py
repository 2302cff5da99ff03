"""Beside a text that a person grades, formgrader shows the reference answer and the rubric, to be ticked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from course_lib.lessons.shared.grading import notebooks
from exercises.engine.pages import filled

from .harmless import trusted
from .items import BLOCK, Item, of_answer

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
                text = references[about["grade_id"]].source
                shown.append(nbformat.v4.new_markdown_cell(_reference(text)))
                if items := of_answer(text):
                    shown.append(nbformat.v4.new_markdown_cell(trusted(boxes(about["grade_id"], items))))
                if about["grade_id"] in unplaced:
                    own = [one.source for one in nb.cells if notebooks.is_own(one) and notebooks.holds_text(one)]
                    told = "**The answer above is empty. The student wrote elsewhere:**"
                    shown.append(nbformat.v4.new_markdown_cell("\n\n".join([told, *own])))
        nb.cells = shown
        return nb, resources


def boxes(name: str, items: Sequence[Item]) -> str:
    """The items with a box each. A tick writes the lines of the comment, and their sum as the mark."""
    return filled("grading/pages/rubric.html", items=items, cell=name)


def _reference(source: str) -> str:
    text = "\n".join(line for line in BLOCK.sub("", source).split("\n") if line.strip() not in _MARKS).strip()
    return f"---\n\n**For graders only: reference answer and rubric**\n\n{text}"
