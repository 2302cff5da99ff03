"""A Sphinx extension for what no line end may part: a number and its %, a short formula and the comma behind it."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

VERBATIM = (nodes.FixedTextElement, nodes.literal, nodes.math)  # stays as it was written
PERCENT = re.compile(r"(?<=\d) ?%(?!\w)")
PUNCTUATION = re.compile(r"[.,;:!?)\]’”]+")
KEPT = "kept"  # course.css
SILENT = re.compile(r"[\s{}^_&]")  # takes no room of its own
COMMAND = re.compile(r"\\[a-zA-Z]+|\\.")  # one sign
LONGEST = 28  # letters and signs of a formula: a longer one may need a line of its own, or scrolls


def keep_percent(parent: nodes.Element) -> None:
    """Put one no-break space between a number and %; the number may be a formula, or glued."""
    before = ""
    for at, child in enumerate(parent.children):
        words = child.astext()
        if isinstance(child, nodes.Text):
            kept = PERCENT.sub("\u00a0%", before[-1:] + words)[len(before[-1:]) :]
            parent[at] = nodes.Text(kept)
        before = words


def keep_punctuation(parent: nodes.Element) -> None:
    """Put each short formula and the punctuation behind it into one span that does not wrap."""
    for at in range(len(parent) - 2, -1, -1):
        formula, behind = parent[at], parent[at + 1]
        if not isinstance(formula, nodes.math) or not isinstance(behind, nodes.Text):
            continue
        end = PUNCTUATION.match(behind.astext())
        if end and len(SILENT.sub("", COMMAND.sub("x", formula.astext()))) <= LONGEST:
            together = nodes.inline("", "", formula, nodes.Text(end[0]), classes=[KEPT])
            parent[at : at + 2] = [together, nodes.Text(behind.astext()[end.end() :])]


def keep(_app: Sphinx | None, doctree: nodes.document, _page: str) -> None:
    """Keep together what belongs together, on a whole page."""
    verbatim = {id(inside) for outer in doctree.findall(_is_verbatim) for inside in outer.findall()}
    for parent in list(doctree.findall(nodes.TextElement)):
        if id(parent) not in verbatim:
            keep_percent(parent)
            keep_punctuation(parent)


def _is_verbatim(node: nodes.Node) -> bool:
    return isinstance(node, VERBATIM)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", keep)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
