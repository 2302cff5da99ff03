"""Reads the book's sentences as a strict copy-editor would: proselint, the course's own list, and long sentences.

    python -m tools.prose [page ...]    prints each find and its sentence; the exit status is 1 if there is any

Code, formulas and roles are read as the word Xx. What the course does not say stands, with the reason, in
tools/prose.yml; a phrase that must stay carries `<!-- prose: name of the check -->` behind its sentence.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from markdown_it.token import Token
from proselint.checks import __register__ as their_checks
from proselint.registry.checks import Check, Padding
from proselint.registry.checks.types import Existence

from tools import conclusions, myst

RULES = Path(__file__).with_suffix(".yml")
SILENT = ("code-cell", "code-block", "code", "math", "raw", "bibliography", "glue:figure", "list-table", "toctree")
# With one letter it would be an initial, whose full stop ends no sentence.
SPOKEN = dict.fromkeys(("math_inline", "math_inline_double", "code_inline", "myst_role"), "Xx")
TERM = re.compile(r"^\S.*$", re.MULTILINE)
ALLOWED = re.compile(r"<!-- prose: (?P<name>[\w.]+) -->")


@dataclass(frozen=True)
class Find:
    """What a check has against a sentence."""

    check: str
    message: str
    sentence: str


@cache
def rules() -> dict[str, Any]:
    """The course's own list, tools/prose.yml."""
    read: dict[str, Any] = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return read


@cache
def checks() -> tuple[Check, ...]:
    """proselint's checks without those that are left out, and the course's own."""
    left_out = tuple(rules()["without"])
    theirs = [check for check in their_checks if not any(check.matches_partial(name) for name in left_out)]
    ours = [
        Check(
            check_type=Existence(tuple(rule["patterns"]), Padding.WORDS_IN_TEXT, tuple(rule.get("except", ()))),
            path=f"course.{rule['name']}",
            message=rule["message"],
        )
        for rule in rules()["checks"]
    ]
    return (*theirs, *ours)


def spoken(tokens: list[Token]) -> str:
    """The words of an inline element; a formula, a piece of code or a role is the word "Xx"."""
    words = []
    for token in tokens:
        if token.type == "text" or (token.type == "html_inline" and ALLOWED.fullmatch(token.content)):
            words.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            words.append(" ")
        else:
            words.append(SPOKEN.get(token.type, ""))
    return "".join(words)


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs, headings and items of a text and of the directives inside it, as words."""
    for token in myst.parser().parse(text):
        found = myst.directive(token)
        if found is not None and found.name not in SILENT:
            yield from paragraphs(TERM.sub("", found.body) if found.name == "glossary" else found.body)
        elif token.type == "inline" and token.children:
            yield spoken(token.children)


def finds(text: str) -> Iterator[Find]:
    """What the checks have against the sentences of a text."""
    for paragraph in paragraphs(text):
        for sentence in conclusions.sentences(paragraph):
            allowed = {match["name"] for match in ALLOWED.finditer(sentence)}
            words = ALLOWED.sub("", sentence).strip()
            for find in _of_sentence(words):
                if find.check not in allowed:
                    yield find


def _of_sentence(words: str) -> Iterator[Find]:
    """The finds in one sentence."""
    if len(words.split()) > rules()["longest_sentence"]:
        yield Find("course.long", f"{len(words.split())} words: make two sentences of it", words)
    padded = f" {words} "  # proselint's checks look for words with something on both sides
    for check in checks():
        for result in check.check_with_flags(padded):
            yield Find(check.path, result.message, words)


def pages() -> list[Path]:
    """The pages of the book, and what a visitor of the repository reads first."""
    book = [path for kind in ("md", "ipynb") for path in (myst.ROOT / "book").rglob(f"*.{kind}")]
    return [*sorted(path for path in book if ".ipynb_checkpoints" not in path.parts), myst.ROOT / "README.md"]


def main(names: list[str]) -> int:
    """Print the finds of some pages, or of all; the number of them, at most 1, is the exit status."""
    count = 0
    chosen = [Path(name).resolve() for name in names] or pages()
    for path in (path for path in chosen if not path.is_file()):
        sys.exit(f"{path}: no such file; expected pages of the book, or none for all of them")
    for path in chosen:
        for find in finds(conclusions.text_of(path)):
            count += 1
            print(f"{path.relative_to(myst.ROOT)}: {find.check}: {find.message}\n    {find.sentence}")
    print(f"{count} found" if count else "nothing found")
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
