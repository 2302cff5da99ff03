"""A Sphinx extension for the printer's details: a minus before a number is no hyphen, 1e-05 is a power of ten, and no
line end parts a number and its %, a short formula and the comma behind it, or the word "in-batch" of a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

VERBATIM = (nodes.FixedTextElement, nodes.literal, nodes.math)  # stays as it was written
MINUS = re.compile(r"(?<![\w.,)\]$−–-])-(?=\.?\d)")
POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-])0*(\d+)(?![\w.]*\w)")  # as Python writes 0.00001
# Words of a table, a chart
SHOWN_IN_HTML = re.compile(r"(?<=>)([^<>]+)(?=</?(t[dh]|text|tspan|small|br|span|(fig)?caption|summary|b|strong|em)\b)")
IN_CHART = ("text", "tspan")  # Firefox knows no baseline-shift: what follows an exponent is moved back
RAISED_IN_CHART = '<tspan dy="-4" font-size="9">{}</tspan><tspan dy="4">\u200b</tspan>'
PERCENT = re.compile(r"(?<=\d) ?%(?!\w)")
PUNCTUATION = re.compile(r"[.,;:!?)\]’”]+")
COMPOUND = re.compile(r"\b[^\W\d]+(?:-[^\W\d]+)+\b")  # in-batch: on a phone, no line of a heading ends in it
KEPT = "kept"  # course.css
SILENT = re.compile(r"[\s{}^_&]")  # takes no room of its own
COMMAND = re.compile(r"\\[a-zA-Z]+|\\.")  # one sign
LONGEST = 28  # letters and signs of a formula: a longer one may need a line of its own, or scrolls


def minus_signs(text: str) -> str:
    """ "-1.5 ± .2" with U+2212; a range such as 5-10 and a name such as P1-3 stay."""
    return MINUS.sub("−", text)


def powers_of_ten(text: str) -> Iterator[tuple[str, str]]:
    """Words, and the exponent that stands behind them: "2e-16." gives ("2 · 10", "−16") and (".", "")."""
    at = 0
    for found in POWER.finditer(text):
        factor, sign, exponent = found.groups()
        base = "" if not int(exponent) else "10" if factor == "1" else f"{factor}\u00a0·\u00a010"
        yield (
            text[at : found.start()] + (base or factor),
            (sign.replace("+", "") + exponent).replace("-", "−") * bool(base),
        )
        at = found.end()
    yield text[at:], ""


def set_signs(parent: nodes.Element) -> None:
    """In the text of a page; a number may be glued, and stand behind a word in another node."""
    before = ""
    for child in list(parent.children):
        words = child.astext()
        if isinstance(child, nodes.Text):
            found: list[nodes.Node] = []
            for said, exponent in powers_of_ten(minus_signs(before[-1:] + words)[len(before[-1:]) :]):
                found += [nodes.Text(said)] + [nodes.superscript("", exponent)] * bool(exponent)
            at = parent.index(child)
            parent[at : at + 1] = found
        before = words


def set_signs_in_html(doctree: nodes.document) -> None:
    """In the tables and charts that notebooks show; what holds a script writes its own signs."""
    for raw in doctree.findall(nodes.raw):
        html = raw.astext()
        if "<script" not in html and ("<table" in html or "<svg" in html):
            raw[:] = [nodes.Text(SHOWN_IN_HTML.sub(_signs_in_html, html))]


def _signs_in_html(found: re.Match[str]) -> str:
    raised = RAISED_IN_CHART if found[2] in IN_CHART else "<sup>{}</sup>"
    pieces = powers_of_ten(minus_signs(found[1]))
    return "".join(words + (raised.format(exponent) if exponent else "") for words, exponent in pieces)


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


def keep_compounds(heading: nodes.title) -> None:
    """Put each word with a hyphen into a span that does not wrap."""
    for child in [child for child in heading.children if isinstance(child, nodes.Text)]:
        at, words = 0, child.astext()
        pieces: list[nodes.Node] = []
        for found in COMPOUND.finditer(words):
            pieces += [nodes.Text(words[at : found.start()]), nodes.inline("", found[0], classes=[KEPT])]
            at = found.end()
        heading.replace(child, [*pieces, nodes.Text(words[at:])])


def keep(_app: Sphinx | None, doctree: nodes.document, _page: str) -> None:
    """Set the signs, and keep together what belongs together, on a whole page."""
    set_signs_in_html(doctree)
    verbatim = {id(inside) for outer in doctree.findall(_is_verbatim) for inside in outer.findall()}
    for parent in list(doctree.findall(nodes.TextElement)):
        if id(parent) not in verbatim:
            set_signs(parent)
            keep_percent(parent)
            keep_punctuation(parent)
    for heading in list(doctree.findall(nodes.title)):
        keep_compounds(heading)


def _is_verbatim(node: nodes.Node) -> bool:
    return isinstance(node, VERBATIM)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", keep)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
