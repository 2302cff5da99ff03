"""Writes a page's MyST Markdown as plain Markdown that reads well in Jupyter, on Colab and on GitHub.

Theorems, proofs, exercises and notes become quoted boxes with the site's numbers; folded ones become ``<details>``.
References become words or links to the site; published numbers become digits; labels disappear. What is plain already
stays as it is, letter by letter. What has no plain form is an error.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from markdown_it.token import Token

from tools import decisions, generated_pages, myst, study_time
from tools.course_index import PROOF_KINDS, Index, Unknown

ADMONITIONS = ("attention", "caution", "danger", "error", "hint", "important", "note", "seealso", "tip", "warning")
OPTIONS = {"label", "class", "nonumber", "name", "alt", "width", "height", "align", "figclass", "scale", "open"}
ROLE_TARGET = re.compile(r"^(?P<text>.*?)\s*<(?P<target>[^<>]+)>$", re.DOTALL)
OUTSIDE = re.compile(r"^(https?://|mailto:)")
PLAIN_TOKENS = {
    *("blockquote", "bullet_list", "code_block", "fence", "heading", "hr", "html_block", "inline", "list_item"),
    *("ordered_list", "paragraph", "table", "tbody", "td", "th", "thead", "tr"),
    *("code_inline", "em", "hardbreak", "html_inline", "s", "softbreak", "strong", "text"),
}


def anchor_of(term: str) -> str:
    """What Sphinx calls a term of the glossary in addresses: letters keep their case, everything else is a hyphen."""
    return re.sub(r"[^a-zA-Z0-9._]+", "-", term).strip("-._")


@dataclass(frozen=True, order=True)
class Edit:
    """Put `text` in the place of source[start:end]."""

    start: int
    end: int
    text: str


class PlainMarkdown:
    """Turns the Markdown of one page into plain Markdown, cell after cell (numbers are given out in order)."""

    def __init__(self, index: Index, page: str) -> None:
        self.index = index
        self.page = page
        self._names = iter(index.pages[page].numbered)

    def convert(self, text: str, *, quoted: bool = False) -> str:
        """One text. `quoted`: it will stand in a quoted box, where a formula must not run over several lines."""
        edits = sorted(self._edits(text, quoted=quoted))
        parts, position = [], 0
        for edit in edits:
            if edit.start < position:
                raise Unknown(f"markup: {text[edit.start : edit.end]!r} overlaps with what stands before it")
            parts += [text[position : edit.start], edit.text]
            position = edit.end
        return re.sub(r"\n{3,}", "\n\n", "".join([*parts, text[position:]])).strip("\n")

    def caption(self, caption: str, alt: str) -> str:
        """The line under a figure that a code cell draws, and what the figure shows in words."""
        words = f"<details><summary>The figure in words</summary>\n\n{alt}\n\n</details>" if alt else ""
        title = f"*{self.next_name()}.* {self.convert(caption)}" if caption else ""
        return "\n\n".join(filter(None, [title, words]))

    def next_name(self) -> str:
        """The name of the next numbered thing of the page: "Theorem 1.6"."""
        return next(self._names)

    def _edits(self, text: str, *, quoted: bool) -> Iterator[Edit]:
        lines = text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        cursor = 0
        for token in myst.parser().parse(text):
            kind = re.sub(r"_(open|close)$", "", token.type)
            if token.type == "inline":
                changes = list(self._inline_edits(token, quoted=quoted))
                if changes:
                    places, cursor = _places(token, text, starts, cursor)
                    in_table = lines[_rows(token)[0]].lstrip().startswith("|")
                    for change in changes:
                        new = change.text.replace("|", r"\|") if in_table else change.text
                        yield Edit(places(change.start), places(change.end), new)
            elif (block := self._block(token, quoted=quoted)) is not None:
                first, last = _rows(token)
                while last > first + 1 and not lines[last - 1].strip("> \t"):
                    last -= 1
                head = _head(lines[first], token)
                body = block.replace("\n", "\n" + re.sub(r"[^\s>]", " ", head))
                yield Edit(starts[first] + len(head), starts[last] - 1, body)
            elif kind not in PLAIN_TOKENS:
                raise Unknown(
                    f"markup: {kind!r} ({token.content.strip()[:40]!r}) has no plain form; see tools/plain_markdown.py"
                )

    def _block(self, token: Token, *, quoted: bool) -> str | None:
        """What stands in the place of a block that plain Markdown lacks; None for one that stays."""
        box = myst.directive(token)
        if box is not None:
            return self._box(box, quoted=quoted)
        if token.type in ("myst_target", "myst_line_comment", "myst_block_break", "attrs_block"):
            return ""
        if token.type == "math_block":
            return _display(token.content, "", quoted=quoted)
        if token.type == "math_block_label":
            return _display(token.content, self.index.mark(token.info).text, quoted=quoted)
        if token.type == "amsmath":
            return _display(token.content, "", quoted=quoted) if quoted else token.content
        return None

    # boxes

    def _box(self, box: myst.Directive, *, quoted: bool) -> str:
        unknown = set(box.options) - OPTIONS
        if unknown:
            raise Unknown(
                f"directive: {box.name} has the option {sorted(unknown)[0]!r}, expected one of {sorted(OPTIONS)}"
            )
        kind = box.name.removeprefix("prf:")
        if box.name == "math":
            label = box.options.get("label", "")
            return _display(box.body, self.index.mark(label).text if label else "", quoted=quoted)
        if box.name in ("code-block", "code", "code-cell"):
            return f"```{box.argument}\n{box.body}\n```"
        if box.name == "figure":
            return self._figure(box)
        if box.name == "image":
            return f"![{box.options.get('alt', '')}]({self._file(box.argument)})"
        if box.name == "prf:proof":
            return self._framed(
                "Proof" + (f" ({self.convert(box.argument)})" if box.argument else ""), box, run_in=True
            )
        if (box.name.startswith("prf:") and kind in PROOF_KINDS) or box.name == "exercise":
            return self._framed(self.next_name() + (f" ({self.convert(box.argument)})" if box.argument else ""), box)
        if box.name == "solution":
            return self._framed(f"Solution to {self._exercise(box.argument)}", box)
        if box.name == "decision":
            return self._framed("On Monday", replace(box, body=decisions.on_a_page(box.argument)))
        if box.name in ("admonition", "dropdown"):
            return self._framed(self.convert(box.argument), box, folded=box.name == "dropdown")
        if box.name in ADMONITIONS:
            return self._framed("See also" if box.name == "seealso" else box.name.title(), box)
        raise Unknown(f"directive: {box.name!r} has no plain form; see tools/plain_markdown.py")

    def _framed(self, title: str, box: myst.Directive, *, folded: bool = False, run_in: bool = False) -> str:
        """A title and a text, quoted or folded."""
        if folded or "dropdown" in box.options.get("class", "").split():
            body = self.convert(box.body)
            return f"<details><summary><b>{html.escape(title, quote=False)}</b></summary>\n\n{body}\n\n</details>\n"
        body = self.convert(box.body, quoted=True)
        text = f"**{title}.** {body}" if run_in else f"**{title}**\n\n{body}"
        return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))

    def _exercise(self, label: str) -> str:
        """The title of the exercise that a solution belongs to."""
        titles = {key: text for page in self.index.pages.values() for key, text in page.exercises.items()}
        if label not in titles:
            raise Unknown(f"solution: there is no exercise {label!r}")
        return self.convert(titles[label])

    def _figure(self, box: myst.Directive) -> str:
        picture = f"![{box.options.get('alt', '')}]({self._file(box.argument)})"
        return f"{picture}\n\n*{self.next_name()}.* {self.convert(box.body)}"

    def _file(self, place: str) -> str:
        """The public address of a file of the repository."""
        if OUTSIDE.match(place):
            return place
        folder = (self.index.root / self.page).parent
        path = (folder / place).resolve() if not place.startswith("/") else self.index.root / place[1:]
        if not path.is_file() or not path.is_relative_to(self.index.root.resolve()):
            raise Unknown(f"picture: {place!r} is no file of the repository")
        raw = self.index.repository.replace("https://github.com/", "https://raw.githubusercontent.com/")
        return f"{raw}/main/{path.relative_to(self.index.root.resolve()).as_posix()}"

    # inside a paragraph; positions are those in the inline token's content

    def _inline_edits(self, token: Token, *, quoted: bool) -> Iterator[Edit]:
        for child in token.children or []:
            start, end = child.meta.get("start", 0), child.meta.get("end", 0)
            kind = re.sub(r"_(open|close)$", "", child.type)
            if child.type == "myst_role":
                yield Edit(start, end, self._role(child.meta["name"], child.content))
            elif child.type == "math_inline":
                if "\n" in token.content[start:end]:
                    yield Edit(start, end, re.sub(r"\s*\n\s*", " ", token.content[start:end]))
            elif child.type == "attrs_inline":
                yield Edit(start, end, "")
            elif child.type == "span_open":
                yield Edit(start, start + 1, "")
                yield Edit(child.meta["label_end"], end, "")
            elif child.type == "link_open" and "label_end" in child.meta:
                yield from self._link_edits(child, start, end)
            elif child.type == "image":
                source = str(child.attrs["src"])
                if not OUTSIDE.match(source):
                    yield Edit(start, end, f"![{child.content}]({self._file(source)})")
            elif kind not in {*PLAIN_TOKENS, "link", "span"}:
                raise Unknown(
                    f"markup: {kind!r} ({child.content[:40]!r}) has no plain form; see tools/plain_markdown.py"
                )

    def _link_edits(self, link: Token, start: int, end: int) -> Iterator[Edit]:
        place = str(link.attrs["href"])
        if OUTSIDE.match(place):
            return
        url, title = self._target(place)
        if link.meta["label_end"] == start + 1:  # [](#here): the target's own name
            yield Edit(start, end, f"[{title}]({url})")
        else:
            yield Edit(link.meta["label_end"] + 1, end, f"({url})")

    def _target(self, place: str) -> tuple[str, str]:
        """(public address, title) of the target of a link."""
        label = place.removeprefix("#")
        if label in self.index.labels or place.startswith("#"):
            if label in self.index.labels or not self._is_heading(label):
                mark = self.index.mark(label)
                return self.index.url(mark.page, mark.anchor), mark.text
            return self.index.url(self.page, label), label.replace("-", " ")
        page, anchor = self.index.page_of(place, self.page)
        return self.index.url(page, anchor), self.index.pages[page].title

    def _is_heading(self, slug: str) -> bool:
        return slug in self.index.pages[self.page].headings

    def _role(self, name: str, content: str) -> str:
        """What a role shows."""
        if name == "glue:text":
            return self.index.published(content, self.page)
        if name in ("minutes", "hours"):
            return study_time.said(name, content, self.page)
        if name == "finding":
            return self.index.support(content, self.page)
        if name in ("cite", "cite:p", "cite:ps", "cite:t", "cite:ts"):
            return self._citation(content, textual=name.startswith("cite:t"))
        maker = ROLES.get(name)
        if maker is None:
            raise Unknown(f"role: {name!r} (of {content!r}) has no plain form; see tools/plain_markdown.py")
        match = ROLE_TARGET.match(content)
        return maker(self, match["text"] if match else "", match["target"] if match else content)

    def _citation(self, keys: str, *, textual: bool) -> str:
        url = self.index.url("book/reference/bibliography")
        cited = [self.index.cited(key.strip(), textual=textual) for key in keys.split(",")]
        if textual:
            links = [re.sub(r"(\[.*\])$", rf"[\1]({url})", text) for text in cited]
            return links[0] if len(links) == 1 else ", ".join(links[:-1]) + f" and {links[-1]}"
        return f"[[{', '.join(cited)}]]({url})"

    def _reference(self, text: str, label: str) -> str:
        """A numbered thing: a word on its own page, a link from another one."""
        mark = self.index.mark(label)
        shown = (
            re.sub(r"%s|\{number\}", mark.text.rpartition(" ")[2].strip("()"), text).replace("{name}", mark.text)
            or mark.text
        )
        return shown if mark.page == self.page else f"[{shown}]({self.index.url(mark.page, mark.anchor)})"

    def _section(self, text: str, label: str) -> str:
        mark = self.index.mark(label)
        return f"[{text or mark.text}]({self.index.url(mark.page, mark.anchor)})"

    def _document(self, text: str, place: str) -> str:
        page, _ = self.index.page_of(place, self.page)
        return f"[{text or self.index.pages[page].title}]({self.index.url(page)})"

    def _term(self, text: str, term: str) -> str:
        if term not in self.index.terms:
            raise Unknown(f"term: {term!r} is not in the glossary")
        return f"[{text or term}]({self.index.url('book/reference/glossary', f'term-{anchor_of(term)}')})"

    def _library(self, text: str, name: str) -> str:
        full = name.removeprefix("~").removeprefix("!")
        shown = text or (full.rpartition(".")[2] if name.startswith("~") else full)
        return f"[`{shown}`]({self.index.url(generated_pages.api_page_of(full), full)})"


ROLES: dict[str, Callable[[PlainMarkdown, str, str], str]] = {
    "prf:ref": PlainMarkdown._reference,
    "eq": PlainMarkdown._reference,
    "numref": PlainMarkdown._reference,
    "ref": PlainMarkdown._section,
    "doc": PlainMarkdown._document,
    "term": PlainMarkdown._term,
    "math": lambda _, __, formula: f"${formula}$",
    "sub": lambda _, __, text: f"<sub>{text}</sub>",
    "sup": lambda _, __, text: f"<sup>{text}</sup>",
    "kbd": lambda _, __, text: f"<kbd>{text}</kbd>",
    **{f"py:{kind}": PlainMarkdown._library for kind in ("func", "class", "mod", "meth", "attr", "data", "exc", "obj")},
}


def _rows(token: Token) -> tuple[int, int]:
    """The first line of a block token, and the line after its last."""
    if token.map is None:
        raise Unknown(f"markup: {token.type!r} does not say where it stands")
    return token.map[0], token.map[1]


def _places(token: Token, text: str, starts: list[int], cursor: int) -> tuple[Callable[[int], int], int]:
    """(from a position in an inline token's content to the position in the text, where its last line ends)."""
    pairs, offset = [], 0
    first, _ = _rows(token)
    for number, line in enumerate(token.content.split("\n")):
        row = first + number
        found = text.find(line, max(starts[row], cursor), starts[row + 1])
        if found < 0:
            raise Unknown(f"markup: cannot find {line[:60]!r} in the source; write it without tabs and escaped bars")
        pairs.append((offset, found, len(line)))
        offset += len(line) + 1
        cursor = found + len(line)

    def place(position: int) -> int:
        begin, found, length = next(pair for pair in reversed(pairs) if pair[0] <= position)
        return found + min(position - begin, length)

    return place, cursor


def _head(line: str, token: Token) -> str:
    """What stands before a block in its first line: indentation, a list's mark, a quote's mark."""
    marks = {
        "math_block": "$$",
        "math_block_label": "$$",
        "amsmath": "\\begin",
        "myst_target": "(",
        "myst_line_comment": "%",
        "myst_block_break": "+",
        "attrs_block": "{",
    }
    mark = token.markup if token.type in myst.FENCES else marks[token.type]
    return line[: line.index(mark)]


def _display(formula: str, number: str, *, quoted: bool) -> str:
    """A formula on lines of its own, with its number."""
    formula = formula.strip("\n").strip()
    if number and re.match(r"\\begin\{(align|gather|equation|multline)\}", formula):
        raise Unknown(f"equation {number}: number one of \\begin{{aligned}} instead")
    tag = f" \\tag{{{number.strip('()')}}}" if number else ""
    if quoted:
        without_comments = re.sub(r"(?<!\\)%[^\n]*", "", formula)
        return f"$${without_comments}{tag}$$".replace("\n", " ")
    return f"$$\n{formula}{tag}\n$$"
