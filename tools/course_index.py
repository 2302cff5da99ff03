"""What the website calls things: the numbers of theorems, equations and figures, titles, terms, citations, published
numbers.

Sphinx numbers them while it builds the site; `Index` counts in the same order, without building anything, so that
copies of a notebook made for elsewhere say "Theorem 1.6" where the site does (tests/launch compares the two).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

import nbformat
from docutils.nodes import make_id
from markdown_it.token import Token
from nbformat import NotebookNode
from pybtex.database import Entry, Person, parse_file
from pybtex.richtext import Text
from sphinx_proof.nodes import NODE_TYPES

from tools import address, myst, toc

ROOT = Path(__file__).resolve().parents[1]
PROOF_KINDS = frozenset(NODE_TYPES)  # theorem, lemma, ...
MADE_LABELS = {"erratum-": "book/reference/errata", "finding-": "book/reference/findings"}
GLUE = "application/papermill.record/text/plain"


class Unknown(ValueError):
    """A notebook uses something that has no plain form, or names something that does not exist."""


@dataclass(frozen=True)
class Mark:
    """Where a label leads, and what the site shows for it: ("book/a/b", "thm-x", "Theorem 1.6")."""

    page: str
    anchor: str
    text: str


@dataclass
class Page:
    """A page of the book: its title, its published numbers, and the names of its numbered things, in order."""

    name: str
    title: str = ""
    numbered: list[str] = field(default_factory=list)  # "Theorem 1.6", "Fig. 1.1", ...; "" where :nonumber: is set
    glue: dict[str, str] = field(default_factory=dict)
    exercises: dict[str, str] = field(default_factory=dict)  # label -> title of the box
    headings: set[str] = field(default_factory=set)  # anchors


class Index:
    """Everything that a page may refer to, read from the sources of the book."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.repository = address.repository(root)
        self.site = address.site(self.repository)
        self.pages: dict[str, Page] = {}
        self.labels: dict[str, Mark] = {}
        self.terms: set[str] = set()
        self._counts: Counter[tuple[str, tuple[int, ...]]] = Counter()
        for name, prefix in toc.pages(root):
            self._read(name, prefix)

    def source(self, name: str) -> Path:
        """The file of a page."""
        for suffix in (".ipynb", ".md"):
            if (self.root / f"{name}{suffix}").is_file():
                return self.root / f"{name}{suffix}"
        raise Unknown(f"_toc.yml: names {name!r}, expected {name}.ipynb or {name}.md")

    def notebooks(self) -> list[str]:
        """The pages that are notebooks, in the order of the book."""
        return [name for name in self.pages if self.source(name).suffix == ".ipynb"]

    def url(self, page: str, anchor: str = "") -> str:
        """The public address of a page of the site."""
        return f"{self.site}/{page}.html" + (f"#{anchor}" if anchor else "")

    def mark(self, label: str) -> Mark:
        """Where a label leads."""
        if label in self.labels:
            return self.labels[label]
        for start, page in MADE_LABELS.items():  # tools/claims/pages.py and tools/findings.py set these
            if label.startswith(start):
                return Mark(page, label, label)
        if label in self._reference:
            return Mark(self._reference[label], label, label)
        raise Unknown(f"label: {label!r} is set nowhere in the book")

    @cached_property
    def _reference(self) -> dict[str, str]:
        """Label -> page of each claim and of each room of the library."""
        from tools import generated_pages  # both bring the whole library
        from tools.claims import pages, rows

        rooms = {generated_pages.anchor_of(room): generated_pages.api_page(room) for room in generated_pages.rooms()}
        return rooms | {claim.anchor: pages.claims_page(claim) for claim in rows.load()}

    def page_of(self, place: str, here: str) -> tuple[str, str]:
        """(page, anchor) of a relative link such as ``../start/data.ipynb#x`` on the page ``here``."""
        path, _, anchor = place.partition("#")
        path = path.removesuffix(".ipynb").removesuffix(".md")
        parts: list[str] = [] if path.startswith("/") else list(PurePosixPath(here).parent.parts)
        for part in path.strip("/").split("/"):
            if part == "..":
                if not parts:
                    raise Unknown(f"link: {place!r} leads out of the repository")
                parts.pop()
            elif part != ".":
                parts.append(part)
        name = "/".join(parts)
        if name not in self.pages:
            raise Unknown(f"link: {place!r} leads to {name!r}, which is no page of _toc.yml")
        return name, anchor

    def published(self, key: str, here: str) -> str:
        """The text for ``{glue:text}`key` ``: ``name``, ``name:format`` or ``notebook.ipynb::name:format``."""
        place, _, rest = key.rpartition("::")
        name, _, form = rest.partition(":")
        page = self.pages[self.page_of(place, here)[0] if place else here]
        if name not in page.glue:
            raise Unknown(f"glue: {name!r} is published by no cell of {page.name}.ipynb")
        from myst_nb.core.variables import format_plain_text  # brings the whole of IPython

        return str(format_plain_text(page.glue[name], form))

    def support(self, name: str, here: str) -> str:
        """The text for ``{finding}`name` ``: in how many cases a sentence holds."""
        from tools import findings as stored_findings  # brings the experiments

        try:
            found = stored_findings.support(name, here)
            return found or self.published(stored_findings.cell_of(name, here, self.pages), here)
        except KeyError as error:
            raise Unknown(error.args[0]) from None

    def cited(self, key: str, *, textual: bool) -> str:
        """``Liu *et al.*, 2026``, or in a sentence ``Liu *et al.* [2026]``."""
        if key not in self._works:
            raise Unknown(f"cite: {key!r} is no key of book/references.bib")
        entry = self._works[key]
        names = [_last_name(person) for person in entry.persons.get("author") or entry.persons.get("editor", [])]
        who = f"{names[0]} *et al.*" if len(names) > 2 else " and ".join(names)
        return f"{who} [{entry.fields['year']}]" if textual else f"{who}, {entry.fields['year']}"

    @cached_property
    def _works(self) -> Mapping[str, Entry]:
        works: Mapping[str, Entry] = parse_file(str(self.root / "book" / "references.bib")).entries
        return works

    def _read(self, name: str, prefix: tuple[int, ...]) -> None:
        """Take in one page: what it labels and numbers."""
        page = self.pages[name] = Page(name)
        path = self.source(name)
        if path.suffix == ".md":
            self._read_text(path.read_text(encoding="utf-8"), page, prefix)
            return
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                self._read_text(cell.source, page, prefix)
            elif cell.cell_type == "code":
                page.glue.update(glued(cell))
                figure = cell.metadata.get("mystnb", {}).get("figure", {})
                if figure:
                    self._number(page, prefix, "figure", "Fig.", figure.get("name", ""), figure.get("name", ""))

    def _read_text(self, text: str, page: Page, prefix: tuple[int, ...]) -> None:
        target, heading = "", False
        for token, box in myst.walk(text):
            if token.type == "myst_target":
                target = token.content
                self._label(target, Mark(page.name, make_id(target), target))
            elif token.type == "heading_open":
                heading = True
            elif token.type == "inline" and heading:
                title, heading = plain(token), False
                page.title = page.title or title
                page.headings.add(make_id(title))
                if target:
                    self.labels[target] = Mark(page.name, make_id(target), title)
                    target = ""
            elif token.type == "math_block_label":
                self._number_equation(page, prefix, token.info)
            elif box is not None:
                self._read_box(box, page, prefix)

    def _read_box(self, box: myst.Directive, page: Page, prefix: tuple[int, ...]) -> None:
        kind, label = box.name.removeprefix("prf:"), box.options.get("label", "")
        if box.name.startswith("prf:") and kind in PROOF_KINDS:
            counter = COUNTERS().get(kind, kind)
            self._number(page, prefix, counter, kind.title(), label, label, counted="nonumber" not in box.options)
        elif box.name == "exercise":
            text = self._number(
                page, prefix, "exercise", "Exercise", label, label, counted="nonumber" not in box.options
            )
            page.exercises[label] = text + (f" ({box.argument})" if box.argument else "")
        elif box.name == "figure":
            name = box.options.get("name", "")
            self._number(page, prefix, "figure", "Fig.", name, make_id(name))
        elif box.name == "math" and label:
            self._number_equation(page, prefix, label)
        elif box.name == "glossary":
            lines = [line for line in box.body.split("\n") if line.strip()]
            self.terms.update(line.strip() for line in lines if not line.startswith((" ", "\t")))

    def _number_equation(self, page: Page, prefix: tuple[int, ...], label: str) -> None:
        self._counts["displaymath", prefix] += 1
        number = ".".join(map(str, (*prefix, self._counts["displaymath", prefix])))
        self._label(label, Mark(page.name, f"equation-{make_id(label)}", f"({number})"))

    def _number(
        self,
        page: Page,
        prefix: tuple[int, ...],
        counter: str,
        word: str,
        label: str,
        anchor: str,
        *,
        counted: bool = True,
    ) -> str:
        """Count one more; the page's list and the label's mark learn its name."""
        text = word
        if counted:
            self._counts[counter, prefix] += 1
            text = f"{word} {'.'.join(map(str, (*prefix, self._counts[counter, prefix])))}"
        page.numbered.append(text)
        if label:
            self._label(label, Mark(page.name, anchor, text))
        return text

    def _label(self, label: str, mark: Mark) -> None:
        if label in self.labels:
            raise Unknown(f"label: {label!r} is set on {self.labels[label].page} and again on {mark.page}")
        self.labels[label] = mark


def COUNTERS() -> dict[str, str]:
    """Which kinds of statement share one counter."""
    kinds: dict[str, str] = myst.settings()["sphinx"]["config"]["prf_realtyp_to_countertyp"]
    return kinds


def glued(cell: NotebookNode) -> dict[str, str]:
    """name -> text of the numbers that a code cell published, from its stored outputs."""
    found = {}
    for output in cell.outputs:
        name = output.get("metadata", {}).get("scrapbook", {}).get("name")
        if name is not None and GLUE in output.get("data", {}):
            found[name] = output.data[GLUE]
    return found


def plain(token: Token) -> str:
    """The words of an inline token."""
    return "".join(
        child.content
        for child in token.children or []
        if child.type in ("text", "code_inline", "math_inline", "myst_role")
    )


def _last_name(person: Person) -> str:
    return str(Text.from_latex(re.sub(r"\s+", " ", " ".join([*person.prelast_names, *person.last_names]))))
