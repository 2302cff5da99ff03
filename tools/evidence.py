"""A Sphinx extension for what the sentences of a page rest on. A broken rule is a warning, and so an error.

findings      the role {finding}`name` puts a mark behind a sentence that opens its support, "4 of 6 models", without a
              script (`course_lib.lessons.shared.findings`): computed here from stored results, or taken from the cell
              of the page's own run. A finding that fails is an error.
conclusions   a conclusion with a number or a comparison names what it rests on (tools/conclusions.py)
statements    a mark behind each statement of a lesson opens what of it a machine checked (tools/claims/badges.py)
results       below each stored result that a lab shows stands a link to all of its numbers (tools/results_pages.py)
"""

import json
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from course_lib.lessons.shared import findings
from tools import conclusions
from tools.claims import badges, rows
from tools.findings import cell_of, support

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "book" / "results"
STORED = re.compile(r'\bstored\(\s*"([\w-]+)"(?:[^)]*\bscale="(\w+)")?')
logger = logging.getLogger(__name__)


class Support(nodes.inline):  # type: ignore[misc]  # docutils has no types
    """The support of a sentence: a mark that opens it; on paper the support itself, in brackets."""


def open_support(writer: Any, node: Support) -> None:
    """The mark, and the beginning of what it opens: a popover, which is allowed inside a paragraph."""
    writer.evidence = getattr(writer, "evidence", 0) + 1
    name = f"evidence-{writer.evidence}"
    writer.body.append(
        f'&#8288;<button type="button" class="evidence" popovertarget="{name}"'  # the sign forbids a line to end here
        ' aria-label="What this rests on"></button>'
        f'<span id="{name}" class="support" popover>'
    )


def close_support(writer: Any, _node: Support) -> None:
    """The end of what the mark opens."""
    writer.body.append("</span>")


def drop_brackets(_app: Sphinx, doctree: nodes.document) -> None:
    """Take away the brackets around each mark: "higher ({finding}`x`)." is "higher°."."""
    for mark in doctree.findall(Support):
        parent = mark.parent
        at = parent.index(mark)
        if not 0 < at < len(parent) - 1:
            continue
        before = parent[at - 1].astext()
        after = parent[at + 1].astext()
        if before.endswith("(") and after.startswith(")"):
            parent[at - 1] = nodes.Text(before[:-1].rstrip())
            parent[at + 1] = nodes.Text(after[1:])


class FindingRole(SphinxRole):
    """{finding}`name`: a mark that opens the support of the sentence before it."""

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
                self.env.note_dependency(str(RESULTS / f"{name}.json"))
            shown: list[nodes.Node] = [nodes.Text(text)]
            messages: list[nodes.system_message] = []
        else:
            paste = PasteTextRole()
            # the role parts its text at the last ":", so a format is named: else "path::key" would lose its key
            shown, messages = paste("glue:text", self.rawtext, f"{cell}:s", self.lineno, self.inliner)
        self.env.note_dependency(str(sys.modules[found.function.__module__].__file__))
        label = f"finding-{found.lesson}-{found.name}"
        more = pending_xref("", nodes.inline("", "the finding"), refdomain="std", reftype="ref", reftarget=label)
        more.attributes |= {"refdoc": self.env.docname, "refexplicit": True, "refwarn": True}
        sign = nodes.inline("", "", nodes.Text(". Above 0: as "), more, nodes.Text(" says."), classes=["more"])
        return [Support("", "", *shown, sign)], messages


def check_conclusions(app: Sphinx, docname: str, _source: list[str]) -> None:
    """Warn of every conclusion of a page without support."""
    for sentence in conclusions.unsupported(conclusions.text_of(Path(app.env.doc2path(docname)))):
        message = "conclusion with a number or a comparison, but without a finding, a theorem or a published number: %s"
        logger.warning(message, sentence, location=docname, type="conclusion")


def add_badges(app: Sphinx, doctree: nodes.document) -> None:
    """Give a page that was read its badges; it is read again when the file of their rows changes."""
    if badges.statements(doctree):
        changed = tuple(path.stat().st_mtime_ns for path in rows.files())
        for file in badges.add_badges(doctree, _claims(changed), pages=app.env.found_docs):
            app.env.note_dependency(str(rows.path_of(file)))


@lru_cache(maxsize=1)
def _claims(_changed: tuple[int, ...]) -> list[rows.Claim]:
    return rows.load()


def offer_files(app: Sphinx, doctree: nodes.document) -> None:
    """Put a link to the file behind each stored result that a page shows, once for each result."""
    cells = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]
    offered = set()
    for cell, source in zip(cells, _sources(app, cells), strict=True):
        asked = STORED.search(source)
        if asked is None:
            continue
        name = f"{asked[1]}-{asked[2] or 'laptop'}.csv"
        what = asked[1] + (f", {asked[2]} scale," if asked[2] else "")
        if name not in offered and (RESULTS / name).with_suffix(".json").is_file():
            up = "../" * app.env.docname.count("/")
            link = f'<p class="as-csv"><a href="{up}results/{name}" download>All numbers of {what} as CSV</a></p>'
            cell.parent.insert(cell.parent.index(cell) + 1, nodes.raw("", link, format="html"))
            offered.add(name)


def _sources(app: Sphinx, cells: list[nodes.container]) -> list[str]:
    """The code of cells, of which the page may show nothing."""
    if not cells:
        return []
    notebook = json.loads(Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8"))
    return ["".join(notebook["cells"][cell["cell_index"]]["source"]) for cell in cells]


def write_results(app: Sphinx, failed: Exception | None) -> None:
    """Write the numbers of all results when the pages are written."""
    if not failed and app.builder.format == "html":
        from tools import results_pages

        results_pages.write_all(Path(app.outdir) / results_pages.FOLDER)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_role("finding", FindingRole())
    app.add_node(Support, html=(open_support, close_support))
    app.connect("doctree-read", drop_brackets)
    app.connect("source-read", check_conclusions)
    app.connect("doctree-read", add_badges)
    app.connect("doctree-read", offer_files)
    app.connect("build-finished", write_results)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
