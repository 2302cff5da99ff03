"""Finds the pieces of a chapter in its built pages: statements, proofs, sentences, figures, code, tables, interactives.

Everything is found by a name that the page gives it: a label, the anchor of a section, a name that code defines, or
the words with which a sentence begins. What cannot be found raises `Missing`, which names page and piece.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, Comment, Tag
from bs4.element import NavigableString
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tools import toc, typography

LAB = "-lab"  # how the page of a part with one class ends
MOST_LINES = 15  # of code on a slide
END = re.compile(r"(?<=[.?!])[”’\")]*\s+(?=[A-Z“\"])")
ENDED = re.compile(r"[.?!][”’\")]*\s+$")
SET = str.maketrans("’“”−", '\'""-')  # signs that the build sets, and how a source may have them
NOT_HERE = "script, .headerlink, .machine-badge, .copybtn, .evidence, .support, source, iframe, .cw-data"
NOT_SAID = re.compile(r"at-a-glance|admonition|question|course-widget|cell")  # where no page begins to speak


class Missing(ValueError):
    """A page lacks what a deck asks of it."""


def soup(html: str) -> Tag:
    """Some HTML as one element."""
    return BeautifulSoup(f"<div>{html}</div>", "html.parser").div or Tag(name="div")


@dataclass
class Chapter:
    """The built pages of one chapter, or of a part with one class.

    `page` is the main one, such as "book/sampling/my-topic"; of a part, its lab.
    """

    page: str
    site: Path

    @property
    def name(self) -> str:
        """Of the chapter, such as "my-topic", or of the part."""
        return self.page.rpartition("/")[2].removesuffix(LAB)

    @property
    def chapters(self) -> list[str]:
        """The pages of the chapter, or of the chapters of the part, in their order."""
        if not self.page.endswith(LAB):
            return [self.page]
        folder = self.page.rpartition("/")[0]
        return [page for page, number in toc.pages() if page.startswith(f"{folder}/") and number and page != self.page]

    @cached_property
    def articles(self) -> list[Tag]:
        """The main page and those beside it; of a part the lab and the main pages."""
        pages = (
            [self.page, *self.chapters] if self.page.endswith(LAB) else [self.page + end for end in ("", *toc.BESIDE)]
        )
        found = [self.site / f"{page}.html" for page in pages]
        return [_article(path) for path in found if path.is_file()]

    @property
    def main(self) -> Tag:
        """The main page."""
        if not self.articles:
            raise FileNotFoundError(f"no built page {self.page}.html lies in {self.site}: run `make book` first")
        return self.articles[0]

    @cached_property
    def heading(self) -> tuple[str, str]:
        """(number of the chapter or "", its title)."""
        text = _only(self.main.h1, f"{self.page} has no heading").get_text().strip()
        found = re.fullmatch(r"(\d+)\. (.*)", text)
        return (found[1], found[2]) if found else ("", text)

    def one(self, selector: str, what: str) -> Tag:
        """The first element that fits, on whichever page."""
        for article in self.articles:
            if found := article.select_one(selector):
                return found
        raise Missing(f"{self.page}: no {what}; expected it on the page, or on one beside it")

    def labelled(self, label: str) -> Tag:
        """What carries a label: a statement, an exercise, a figure, a formula."""
        return self.one(f'[id="{label}"], [id="equation-{label}"]', f"label {label!r}")

    def promise(self) -> Tag:
        """What the page says first: the first sentence behind the line at its head; of a lab, what one will do."""
        first = next(
            (one for one in self.main.select("p:not(.on-paper)") if not one.find_parent(class_=NOT_SAID)), None
        )
        listed = self.main.select_one(".at-a-glance li")
        said = listed or sentences(_only(first, f"{self.page} has no paragraph; expected what the page is about"))[0]
        return copy(said)

    def question(self) -> Tag:
        """The question that students guess first."""
        return self.one(".question", "question")

    def interactive(self) -> Tag:
        """The first interactive."""
        return self.one("[data-course-widget]:not([data-course-widget=quiz])", "interactive")

    def still(self) -> Tag:
        """The picture of the first interactive, as a page without scripts has it."""
        drawn = self.interactive().select_one("figure svg")
        return _only(drawn, f"{self.page}: the interactive has no picture for a page without scripts")

    def remember(self) -> Tag:
        """What to remember."""
        return self.one(".remember ul", "box “What to remember”")

    def table(self, section: str) -> Tag:
        """The first table of a section that stands open, by the section's anchor."""
        found = self.one(f'section[id="{section}"]', f"section {section!r}").select("table")
        open_ones = [table for table in found if not table.find_parent("details")]
        return _only(next(iter(open_ones), None), f"{self.page}: no table in the section {section!r}")

    def proof(self, label: str) -> list[Tag]:
        """What stands behind a statement, from "Proof." to its end."""
        found: list[Tag] = []
        for block in self.labelled(label).find_next_siblings():
            begun = bool(found)
            if block.name == "details" or (not begun and not block.get_text().lstrip().startswith("Proof")):
                if block.name != "details":
                    break
                continue
            found.append(block)
            if "∎" in block.get_text():
                return [part for block in found for part in sentences(block)]
        raise Missing(f"{self.page}: no proof behind {label!r}")

    def sentence(self, start: str) -> Tag:
        """The first sentence or formula that begins with some words; a formula also by its label."""
        if re.fullmatch(r"eq-[\w-]+", start):
            return self.labelled(start)
        for article in self.articles:
            for block in article.select("p, div.math"):
                if block.find_parent("table") or block.find_parent(attrs={"data-course-widget": True}):
                    continue
                if _plain(start) in _plain(block.get_text()):
                    for part in sentences(block):
                        if _plain(part.get_text()).startswith(_plain(start)):
                            return part
        raise Missing(f"{self.page}: no sentence begins with {start!r}; expected the first words of one, or a label")

    def code(self, names: tuple[str, ...]) -> Tag:
        """The statements of one cell that define these names, or begin with these words, highlighted."""
        lines: list[str] = []
        source, chosen = self._cell(names)
        for node in chosen:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            gap = [""] if lines and isinstance(node, ast.FunctionDef | ast.ClassDef) else []
            lines += gap + source.splitlines()[first - 1 : node.end_lineno]
        if len(lines) > MOST_LINES:
            raise Missing(f"{self.page}: {', '.join(names)} take {len(lines)} lines; expected at most {MOST_LINES}")
        return soup(highlight("\n".join(lines), PythonLexer(), HtmlFormatter(wrapcode=True)))

    def output(self, name: str) -> Tag:
        """What the cell prints whose code defines a name."""
        cell = next(cell for cell, source in self._cells() if source == self._cell((name,))[0])
        return _only(cell.select_one(".output pre"), f"{self.page}: the code of {name!r} prints nothing")

    def _cells(self) -> Iterator[tuple[Tag, str]]:
        for article in self.articles:
            for cell in article.select("div.cell"):
                if code := cell.select_one(".cell_input pre"):
                    yield cell, code.get_text()

    def _cell(self, names: tuple[str, ...]) -> tuple[str, list[ast.stmt]]:
        """The source of the first cell that has something for each name, and its statements for them."""
        for _, source in self._cells():
            nodes = {name: [node for node in ast.parse(source).body if _fits(node, name, source)] for name in names}
            if all(nodes.values()):
                chosen = {node.lineno for found in nodes.values() for node in found}
                return source, [node for node in ast.parse(source).body if node.lineno in chosen]
        raise Missing(f"{self.page}: no cell defines {', '.join(names)}")


def _article(path: Path) -> Tag:
    """The article of a built page."""
    text = path.read_text(encoding="utf-8")
    found = BeautifulSoup(text[text.index("<article") : text.index("</article>")], "html.parser").article
    return bare(_only(found, f"{path.name} has no article; expected a page of the built book"))


def bare(article: Tag) -> Tag:
    """An article without what no slide shows."""
    for node in article.select(NOT_HERE):
        node.decompose()
    for comment in article.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for together in article.select(f".{typography.KEPT}"):  # a formula and the end of its sentence
        together.unwrap()
    article.smooth()
    return article


def _only(found: Tag | None, otherwise: str) -> Tag:
    if found is None:
        raise Missing(otherwise)
    return found


def _plain(text: str) -> str:
    """Without spaces, marks of emphasis and of formulas: a page and its source then read the same."""
    return re.sub(r"\\[\[\]()]|\\begin\{split\}|[\s*`$]", "", text).translate(SET)


def _fits(node: ast.stmt, name: str, source: str) -> bool:
    """Whether a statement defines a name, or begins with some words."""
    if not name.isidentifier():
        return (ast.get_source_segment(source, node) or "").startswith(name)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name == name
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in ast.walk(node)
    )


def sentences(block: Tag) -> list[Tag]:
    """The sentences of a paragraph, each a paragraph; any other block as it is."""
    if block.name != "p":
        return [block]
    parts: list[list[str]] = [[]]
    children = list(block.children)
    for at, child in enumerate(children):
        if not isinstance(child, NavigableString):
            parts[-1].append(str(child))
            continue
        pieces = END.split(escape(str(child), quote=False))
        if ENDED.search(str(child)) and at + 1 < len(children):
            pieces.append("")
        parts[-1].append(pieces[0])
        parts += [[piece] for piece in pieces[1:]]
    return [soup(f"<p>{''.join(part)}</p>").p or block for part in parts if "".join(part).strip()]
