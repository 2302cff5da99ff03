"""A Sphinx extension for the printer's details: a minus before a number is a minus and not a hyphen, and no line end
parts a number and its %, or a short formula and the comma behind it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

VERBATIM = (nodes.FixedTextElement, nodes.literal, nodes.math)  # stays as it was written
MINUS = re.compile(r"(?<![\w.,)\]$−–-])-(?=\.?\d)")
SHOWN_IN_HTML = re.compile(
    r"(?<=>)[^<>]+(?=</?(?:t[dh]|text|tspan|small|br|span|caption|b|strong|em)\b)"
)  # words of a table, a chart
PERCENT = re.compile(r"(?<=\d) ?%(?!\w)")
PUNCTUATION = re.compile(r"[.,;:!?)\]’”]+")
KEPT = "kept"  # course.css
SILENT = re.compile(r"[\s{}^_&]")  # takes no room of its own
COMMAND = re.compile(r"\\[a-zA-Z]+|\\.")  # one sign
LONGEST = 28  # letters and signs of a formula: a longer one may need a line of its own, or scrolls


def minus_signs(text: str) -> str:
    """ "-1.5 ± .2" with U+2212; a range such as 5-10 and a name such as P1-3 stay."""
    return MINUS.sub("−", text)


def set_minus(parent: nodes.Element) -> None:
    """In the text of a page; a number may be glued, and stand behind a word in another node."""
    before = ""
    for at, child in enumerate(parent.children):
        words = child.astext()
        if isinstance(child, nodes.Text):
            parent[at] = nodes.Text(minus_signs(before[-1:] + words)[len(before[-1:]) :])
        before = words


def set_minus_in_html(doctree: nodes.document) -> None:
    """In the tables and charts that notebooks show; what holds a script writes its own signs."""
    for raw in doctree.findall(nodes.raw):
        html = raw.astext()
        if "<script" not in html and ("<table" in html or "<svg" in html):
            raw[:] = [nodes.Text(SHOWN_IN_HTML.sub(lambda words: minus_signs(words[0]), html))]


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
    """Set the signs, and keep together what belongs together, on a whole page."""
    set_minus_in_html(doctree)
    verbatim = {id(inside) for outer in doctree.findall(_is_verbatim) for inside in outer.findall()}
    for parent in list(doctree.findall(nodes.TextElement)):
        if id(parent) not in verbatim:
            set_minus(parent)
            keep_percent(parent)
            keep_punctuation(parent)


def _is_verbatim(node: nodes.Node) -> bool:
    return isinstance(node, VERBATIM)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", keep)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
