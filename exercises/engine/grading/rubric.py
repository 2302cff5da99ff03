"""Rubrics as data: the items of a text that a person grades, ticked beside it in formgrader; their sum is its mark.

A rubric is a block of YAML at the end of the reference answer, so that it is released, varied and changed with it:

    - {points: 1, item: what is right, with its condition}

Ticks are kept as lines of the comment, "- ☑ what is right, with its condition (1)". So they belong to the text they
were given for, as every comment does, and stand in the feedback.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import yaml
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from course_lib.lessons.shared.grading import notebooks

from .harmless import trusted

Resources = dict[str, Any]
_MARKS = ("### BEGIN SOLUTION", "### END SOLUTION")
_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TICK = re.compile(r"^- ([☑☐]) (.+)$", re.MULTILINE)
_PAGE = Path(__file__).with_name("pages") / "rubric.html"


class BadRubric(ValueError):
    """A rubric of another form; the message says what was expected."""


class Item(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One item of a rubric: earned whole, or not."""

    points: float
    item: str

    @property
    def line(self) -> str:
        """As it stands in a comment, behind its tick."""
        return f"{self.item} ({self.points:g})"


def read_items(text: str) -> list[Item]:
    """The items of a rubric in YAML. BadRubric for another form, for two items of one name, and for no points."""
    try:
        found = msgspec.convert(yaml.safe_load(text), list[Item])
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise BadRubric(f"{error}; expected lines such as - {{points: 1, item: what is right}}") from None
    if not found or len({one.item for one in found}) < len(found) or any(not one.points > 0 for one in found):
        raise BadRubric("expected at least one item, each of another name and with more than 0 points")
    return found


def of_answer(source: str) -> list[Item]:
    """The rubric of a reference answer; none where it has no block of YAML."""
    block = _BLOCK.search(source)
    return read_items(block[1]) if block else []


def ticks(comment: str) -> dict[str, bool]:
    """What was ticked in a comment: an item, with its points, and whether it was earned."""
    return {line: sign == "☑" for sign, line in _TICK.findall(comment or "")}


def doubt(items: Sequence[Item], comment: str, score: float | None) -> str | None:
    """Why a mark does not follow from the ticks beside it; None where it does, or where nothing was ticked."""
    found = ticks(comment)
    if not found:
        return None
    if set(found) != {one.line for one in items}:
        return "was ticked by another rubric; tick it once more"
    whole = sum(one.points for one in items if found[one.line])
    if score in (None, whole):
        return None
    return f"has a mark of {score:g}, and its ticks add up to {whole:g}"


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
                    shown.append(nbformat.v4.new_markdown_cell(_elsewhere(nb)))
        nb.cells = shown
        return nb, resources


def boxes(name: str, items: Sequence[Item]) -> str:
    """The items with a box each. A tick writes the lines of the comment, and their sum as the mark."""
    box = '<label><input type="checkbox" data-points="{}" data-line="{}"> {}</label><br>'
    every = "".join(box.format(f"{one.points:g}", *2 * [escape(one.line, quote=True)]) for one in items)
    cell = json.dumps(name).replace("<", "\\u003c")
    return _PAGE.read_text(encoding="utf-8").replace("«items»", every).replace("«cell»", cell)


def _reference(source: str) -> str:
    text = "\n".join(line for line in _BLOCK.sub("", source).split("\n") if line.strip() not in _MARKS).strip()
    return f"---\n\n**For graders only: reference answer and rubric**\n\n{text}"


def _elsewhere(nb: NotebookNode) -> str:
    """What the student wrote in cells of their own, where the answer itself is empty."""
    texts = [cell.source for cell in nb.cells if notebooks.is_own(cell) and notebooks.holds_text(cell)]
    return "**The answer above is empty. The student wrote elsewhere:**\n\n" + "\n\n".join(texts)
