"""The pages of a chapter as their sources have them: all that a deck names or quotes is found there without a build.

Where the build writes a number, a reference or the support of a finding stands GAP, which no quotation fits: a deck
that quoted a number would break when the number changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from html import escape
from pathlib import Path
from typing import Any

from bs4 import Tag
from docutils.nodes import make_id
from markdown_it.token import Token

from tools import myst, toc
from tools.slides.deck import ROOT, Deck
from tools.slides.pages import Chapter, Missing, bare, soup
from tools.slides.pieces import MAKERS, wrong

GAP = "\ue000"
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
MATHS = {
    **dict.fromkeys(("math_inline", "math_inline_double"), "span"),
    **dict.fromkeys(("math_block", "math_block_label", "amsmath"), "div"),
}


class SourceChapter(Chapter):
    """The sources of a chapter; `site` is the folder that holds them."""

    @cached_property
    def articles(self) -> list[Tag]:
        """The main page, the further page, the lab."""
        names = (f"{self.page}{end}{kind}" for end in ("", "-further", "-lab") for kind in (".ipynb", ".md"))
        return [article(self.site / name) for name in names if (self.site / name).is_file()]


def missing(deck: Deck, root: Path = ROOT) -> list[str]:
    """What the sources of a chapter lack of all that its deck shows and warns of, with the slide that asks for it."""
    chapter, found = SourceChapter(toc.page_of(deck.name, root), root), []
    for session, slides in (("first", deck.first), ("second", deck.second)):
        for number, slide in enumerate(slides, start=1):
            asked: list[Callable[[], str]] = [
                *(partial(MAKERS[piece.kind], chapter, *piece.names) for piece in slide.pieces),
                *(partial(wrong, deck.name, said) for said in slide.wrong),
            ]
            for one in asked:
                try:
                    one()
                except Missing as lacking:
                    found.append(f"{deck.name}.yml: {session}, slide {number}: {lacking}")
    return found


@cache
def article(path: Path) -> Tag:
    """A source as the article that it will be, roughly: the same elements, ids and classes where a deck looks."""
    text = path.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"] if path.suffix == ".ipynb" else [{"cell_type": "markdown", "source": text}]
    parts, open_sections = [], 0
    for cell in cells:
        if cell["cell_type"] != "markdown":
            parts.append(_code_cell(cell))
            continue
        for level, html in _blocks("".join(cell["source"])):
            if level:
                parts.append("</section>" * (open_sections - level + 1))
                open_sections = level
            parts.append(html)
    return bare(soup("".join(parts)))


def _code_cell(cell: dict[str, Any]) -> str:
    """What a reader sees of a cell that was stored with its outputs, and a place for the figure that it draws."""
    metadata = cell["metadata"]
    tags = set(metadata.get("tags", ()))
    if "remove-cell" in tags:
        return ""
    name = metadata.get("mystnb", {}).get("figure", {}).get("name")
    figure = f'<figure id="{name}"></figure>' if name else ""
    code = "" if "remove-input" in tags else f"<pre>{escape(''.join(cell['source']))}</pre>"
    shown = "".join(_output(one) for one in cell.get("outputs", ()))
    html = f'<div class="cell"><div class="cell_input">{code}</div>{shown}</div>{figure}'
    return f"<details>{html}</details>" if "hide-cell" in tags else html


def _output(output: dict[str, Any]) -> str:
    """What a cell printed, or a table or an interactive that it shows."""
    if "text" in output:
        return f'<div class="output"><pre>{escape("".join(output["text"]))}</pre></div>'
    return "".join(output.get("data", {}).get("text/html", ()))


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """(level of the heading that begins here or 0, HTML) for each token of a text."""
    parser = myst.parser()
    tokens = parser.parse(text)
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            level = int(token.tag[1])
            yield level, f'<section id="{make_id(tokens[at + 1].content)}"><{token.tag}>'
        elif directive := myst.directive(token):
            yield 0, _directive(directive)
        elif token.type == "inline":
            yield 0, "".join(_inline(child) for child in token.children or ())
        elif token.type in MATHS:
            yield 0, _formula(token.content, token.info, MATHS[token.type])
        elif token.type in ("paragraph_open", "paragraph_close"):
            yield 0, f"<{'/' * (token.nesting < 0)}p>"
        elif token.nesting or token.type in ("html_block", "fence", "code_block"):
            yield 0, COMMENT.sub("", parser.renderer.render([token], parser.options, {}))


def _directive(found: myst.Directive) -> str:
    label = found.options.get("label") or found.options.get("name", "")
    if found.name == "math":
        return _formula(found.body, label, "div")
    name = f"admonition {found.options.get('class', '')} {found.name}"
    head = f"<p>{escape(found.argument)}</p>" if found.argument else ""
    return f'<div id="{label}" class="{name}">{head}{"".join(html for _, html in _blocks(found.body))}</div>'


def _inline(token: Token) -> str:
    """An element of a paragraph."""
    if token.type in MATHS:
        return _formula(token.content, "", MATHS[token.type])
    if token.type in ("text", "softbreak"):
        return escape(token.content, quote=False) or "\n"
    if token.type == "code_inline":
        return f"<code>{escape(token.content)}</code>"
    if token.type == "html_inline":
        return COMMENT.sub("", token.content)
    if token.type in ("em_open", "strong_open", "em_close", "strong_close"):
        return f"<{'/' * (token.nesting < 0)}{token.tag}>"
    return GAP if token.type in ("myst_role", "substitution_inline") else ""


def _formula(tex: str, label: str, tag: str) -> str:
    """A formula as the built page marks it."""
    return f'<{tag} class="math" id="equation-{label}">\\[{escape(tex, quote=False)}\\]</{tag}>'
