"""Findings outside the pages: computed from stored results, or found in the cell of a page that shows them.

`<!-- findings: all -->` on a page becomes a table for each lesson: sentence, support, every case.
"""

import json
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

from course_lib.experiments.core.results import Result, load_result
from course_lib.lessons.shared import findings, quiz

ROOT = Path(__file__).resolve().parents[1]
COMMENT = re.compile(r"^<!-- findings: all -->$", re.MULTILINE)


@cache
def result(name: str) -> Result:
    """The stored result "P1-T5-laptop"."""
    experiment, _, scale = name.rpartition("-")
    return load_result(experiment, scale)


@cache  # its relatives ask for the same
def cases(found: findings.Finding) -> dict[str, findings.Difference]:
    """The differences of a finding that rests on stored results."""
    return found.cases(*(result(name) for name in found.rests_on))


@cache  # many pages ask for the same
def from_results(found: findings.Finding) -> findings.Evidence:
    """The evidence of a finding that rests on stored results; FindingError where it fails."""
    family = (case for other in found.relatives[1:] for case in cases(other).values())
    return found.judged(cases(found), family)


def by_lesson() -> dict[str, list[findings.Finding]]:
    """Lesson -> its findings, for the lessons that have some."""
    found = {lesson: list(findings.of_lesson(lesson).values()) for lesson in quiz.names()}
    return {lesson: some for lesson, some in found.items() if some}


def support(name: str, page: str) -> str | None:
    """The support of a finding on stored results; None where a cell of the page has it.

    Raises KeyError for an unknown name, FindingError for a finding that fails.
    """
    found = findings.find(name, page)
    return from_results(found).support if found.rests_on else None


def _code(notebook: Path) -> str:
    """The code of a notebook's cells, one after the other."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def cell_of(name: str, page: str, pages: Collection[str]) -> str:
    """What MyST-NB's role is asked for the support that a cell showed: "finding-x", or "/book/ddc.ipynb::finding-x".

    Raises KeyError where no notebook of the lesson shows the finding.
    """
    found = findings.find(name, page)
    call = re.compile(rf"\bshow\(\s*(\w+\.)*{found.function.__name__}\b")
    mine = sorted(other for other in pages if findings.lesson_of(other) == found.lesson)
    for other in sorted(mine, key=lambda other: other != page):  # this page first
        source = ROOT / f"{other}.ipynb"
        if source.is_file() and call.search(_code(source)):
            key = f"{findings.PREFIX}{found.name}"
            return key if other == page else f"/{other}.ipynb::{key}"
    raise KeyError(f"finding: {name!r} on {page} is shown by no cell of {', '.join(mine) or 'a page'}")


def table(lesson: str, some: list[findings.Finding]) -> str:
    """Markdown: the findings of a lesson, each with its cases folded under it."""
    return "\n\n".join([f"## {quiz.load(lesson).title}", *map(_entry, some)])


def _entry(found: findings.Finding) -> str:
    """One finding: its sentence, and its cases or where they are computed."""
    anchor = f"(finding-{found.lesson}-{found.name})="
    after = " *The bound was chosen after the runs.*" if found.bound_after else ""
    if not found.rests_on:
        return (
            f"{anchor}\n**{found.sentence}.** Each {found.case} is one case; the page itself computes the difference: "
            f"{found.difference}.{after}"
        )
    evidence = from_results(found)
    rows = [f"| {' | '.join(cells)} |" for cells in evidence.rows()]
    head = [f"| {' | '.join(evidence.heads)} |", "|---|---|---|---|"]
    where = ", ".join(f"`{name}`" for name in found.rests_on)
    return "\n".join(
        [
            anchor,
            f"**{found.sentence}**: {evidence.support}. The difference: {found.difference}. From {where}.{after}",
            "",
            "::::{dropdown} Cases",
            *head,
            *rows,
            "::::",
        ]
    )


def fill(text: str) -> str:
    """A page with the tables in the place of its comment."""
    return COMMENT.sub(lambda _: "\n\n".join(table(lesson, some) for lesson, some in by_lesson().items()), text)
