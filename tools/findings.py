"""Findings in the book: the role {finding}`name`, the page of all findings, and what is computed from stored results.

{finding}`name` puts the support of a sentence, "4 of 6 models", beside it (`course_lib.lessons.shared.findings`). A
finding on stored results is computed here; one on the page's own run is taken from the cell that showed it. A finding
that fails is a warning of the build, and so an error.

`<!-- findings: all -->` on a page becomes a table for each lesson: sentence, support, every case.
"""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where this file is an extension of Sphinx

from course_lib.lessons.shared import findings, quiz
from tools.stored_findings import by_lesson, cell_of, from_results, support

ROOT = Path(__file__).resolve().parents[1]
COMMENT = re.compile(r"^<!-- findings: all -->$", re.MULTILINE)
logger = logging.getLogger(__name__)


class FindingRole(SphinxRole):
    """{finding}`name`: the support of a sentence, in small letters beside it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The text of a finding on stored results, or what the page's own cell said of it."""
        from myst_nb.ext.glue.roles import PasteTextRole

        page = self.env.docname
        try:
            found = findings.find(self.text, page)
            text = support(self.text, page)
            cell = "" if text is not None else cell_of(self.text, page, self.env.found_docs)
        except (KeyError, findings.FindingError) as error:
            logger.warning(str(error.args[0]), location=self.get_location(), type="finding")
            return [], []
        if text is not None:
            for name in found.rests_on:
                self.env.note_dependency(str(ROOT / "book" / "results" / f"{name}.json"))
            shown: list[nodes.Node] = [nodes.Text(text)]
            messages: list[nodes.system_message] = []
        else:
            paste = PasteTextRole()
            # the role parts its text at the last ":", so a format is named: else "path::key" would lose its key
            shown, messages = paste("glue:text", self.rawtext, f"{cell}:s", self.lineno, self.inliner)
        self.env.note_dependency(str(sys.modules[found.function.__module__].__file__))
        return [nodes.inline("", "", *shown, classes=["support"])], messages


def table(lesson: str, some: list[findings.Finding]) -> str:
    """Markdown: the findings of a lesson, each with its cases folded under it."""
    return "\n\n".join([f"## {quiz.load(lesson).title}", *map(_entry, some)])


def _entry(found: findings.Finding) -> str:
    """One finding: its sentence, and its cases or where they are computed."""
    anchor = f"(finding-{found.lesson}-{found.name})="
    if not found.rests_on:
        return (
            f"{anchor}\n**{found.sentence}.** Each {found.case} is one case; the page itself computes the difference: "
            f"{found.difference}."
        )
    evidence = from_results(found)
    rows = [f"| {case} | {difference} | {holds} |" for case, difference, holds in evidence.rows()]
    head = [f"| {found.case} | difference | holds |", "|---|---|---|"]
    where = ", ".join(f"`{name}`" for name in found.rests_on)
    return "\n".join(
        [
            anchor,
            f"**{found.sentence}**: {evidence.support}. The difference: {found.difference}. From {where}.",
            "",
            "::::{dropdown} Cases",
            *head,
            *rows,
            "::::",
        ]
    )


def fill_page(app: Sphinx, _docname: str, source: list[str]) -> None:
    """Replaces the comment of a page by the tables."""
    if COMMENT.search(source[0]):
        tables = "\n\n".join(table(lesson, some) for lesson, some in by_lesson().items())
        source[0] = COMMENT.sub(lambda _: tables, source[0])
        for path in (ROOT / "course_lib" / "lessons").glob("*/findings.py"):
            app.env.note_dependency(str(path))
        for path in (ROOT / "book" / "results").glob("*.json"):
            app.env.note_dependency(str(path))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_role("finding", FindingRole())
    app.connect("source-read", fill_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
