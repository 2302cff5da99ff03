"""The sample essays of the kit: where their numbers come from, for the tests that compute these numbers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import nbformat

from exercises.engine import chapters, simulate
from tools.course_index import glued

ROOT = Path(__file__).resolve().parents[1]
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# formulas, points, headings, and the numbers of tasks, experiments and lists: they measure nothing
NAMES = re.compile(
    r"\$[^$]*\$|\| \d \||\w+: \d of \d|[Tt]asks? \d\w?(?:\(\w\))?|(?:[Ee]xperiment|measurement|true,) \d"
    r"|Theorem \d\.\d|@\d+|\(\d\)|(?<= )\d\.(?= [A-Z])"
)


@cache
def printed(chapter: str) -> dict[str, str]:
    """name -> text of the numbers that a chapter's page and its further page publish."""
    pages = [page for end in ("", "-further") for page in (ROOT / "book").glob(f"*/{chapter}{end}.ipynb")]
    cells = [cell for page in pages for cell in nbformat.read(page, as_version=4).cells if cell.cell_type == "code"]
    return {name: text.strip("'") for cell in cells for name, text in glued(cell).items()}


def unaccounted(assignment: str, *phrases: str) -> list[str]:
    """Phrases that no essay holds, and numbers of the essays that neither a phrase nor the task's question holds."""
    essays = chapters.file(assignment, "essays.md").read_text(encoding="utf-8")
    text = " ".join(essays.split("\n## ", 1)[1].replace("\n> ", " ").split())
    missing = [phrase for phrase in phrases if phrase not in text]
    for phrase in sorted(phrases, key=len, reverse=True):
        text = text.replace(phrase, " ")
    asked = NUMBER.findall("".join(simulate.source(assignment)["cells"][-2]["source"]))
    return missing + [number for number in NUMBER.findall(NAMES.sub(" ", text)) if number not in asked]
