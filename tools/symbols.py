r"""The symbols that a page uses, and whether book/notation.yml has them for its chapter.

A symbol is a letter or a Greek letter with what stands on it: `q`, `\hat q`, `\mathbb{E}`. Words
in a formula (`\text{...}`, a subscript of several letters such as DDC) are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools import conclusions, myst, toc

NOTATION = myst.ROOT / "book" / "notation.yml"
GREEK = re.compile(
    "alpha|beta|gamma|delta|(var)?epsilon|zeta|eta|(var)?theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|(var)?phi|"
    "chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|ell"
)
MARKS = "hat|bar|tilde|mathbb|mathcal|mathbf|widehat|overline|boldsymbol|dot"
WORDS = re.compile(r"\\(?:text|textbf|label|tag|operatorname\*?|begin|end|mathrm|mathsf|texttt|color)\s*\{[^{}]*\}")
# a word below or above a symbol: DDC, pop, final, min; not the indices uij
WORD_BELOW = re.compile(r"[_^]\{(?:[A-Z]{2,}|min|max|(?![ijkuvmnst]+[,}])[a-z]{3,})(?=[,}])")
MARKED = re.compile(rf"\\({MARKS})(?![a-zA-Z])\s*\{{?\s*(?:\\mathbb\s*\{{?\s*)?(\\[a-zA-Z]+|[a-zA-Z])")
PLAIN = re.compile(r"\\([a-zA-Z]+)|([a-zA-Z])")
NAMED = re.compile(r"\\(?:mathrm|lVert)")  # a function with a name, a length: it explains no letter
BELOW = re.compile(r"[_^](?:\{[^{}]*\}|\\?[A-Za-z0-9*+-]+)")  # an index, or what stands above
NO_FORMULAS = ("code-cell", "code-block", "code", "raw", "bibliography")


def symbols(tex: str) -> set[str]:
    """The symbols of a formula: `{"q", "hat k", "tau"}`."""
    tex = WORD_BELOW.sub(" ", WORDS.sub(" ", tex))
    marked = {f"{match[1]} {match[2].lstrip(chr(92))}" for match in MARKED.finditer(tex)}
    plain = {
        match[2] or match[1] for match in PLAIN.finditer(MARKED.sub(" ", tex)) if match[2] or GREEK.fullmatch(match[1])
    }
    return marked | plain


def formulas(text: str) -> Iterator[str]:
    """Every formula of a text and of the directives inside it."""
    for token in myst.parser().parse(text):
        found = myst.directive(token)
        if found is not None and found.name == "math":
            yield found.body
        elif found is not None and found.name not in NO_FORMULAS:
            yield from formulas(f"{found.argument}\n\n{found.body}")
        elif token.type.startswith(("math_block", "amsmath")):
            yield token.content
        else:
            yield from (child.content for child in token.children or [] if child.type.startswith("math"))


@cache
def groups() -> list[dict[str, Any]]:
    """The groups of book/notation.yml: see there how a row says in which chapters its symbol has its meaning."""
    read: list[dict[str, Any]] = yaml.safe_load(NOTATION.read_text(encoding="utf-8"))
    return read


def rows(chapter: str) -> list[dict[str, Any]]:
    """What the notation says for a chapter: the rows that name it, those of its own group, and those of every page."""
    return [row for group in groups() for row in group["rows"] if _holds(group, row, chapter)]


def _holds(group: dict[str, Any], row: dict[str, Any], chapter: str) -> bool:
    if "only" in group:
        return bool(group["only"] == chapter)
    return chapter in row["in"] if "in" in row else "everywhere" in group


def known(chapter: str) -> set[str]:
    """The symbols that the notation gives a chapter."""
    return {symbol for row in rows(chapter) for symbol in symbols(row["symbol"])}


def defined(row: dict[str, Any]) -> set[str]:
    """The letters that a row explains: those that stand alone before "=", indices apart; none where it is local."""
    heads = BELOW.sub("", row["symbol"].split("=")[0]).split(",")
    alone = [found for head in heads if not NAMED.search(head) and len(found := symbols(head.split("(")[0])) == 1]
    return set() if row.get("local") else set().union(*alone)


def meanings() -> dict[str, list[str]]:
    """Each symbol that has several lasting meanings in the book -> these meanings."""
    found: dict[str, list[str]] = {}
    for row in (row for group in groups() for row in group["rows"]):
        for symbol in defined(row):
            found.setdefault(symbol, []).append(row["meaning"])
    return {symbol: said for symbol, said in sorted(found.items()) if len(said) > 1}


def chapter_of(page: Path) -> str:
    """The chapter of a main page, or of a page beside it."""
    return toc.main_page(page.stem)


def used(page: Path) -> set[str]:
    """The symbols of all formulas of a page."""
    return {symbol for formula in formulas(conclusions.text_of(page)) for symbol in symbols(formula)}


def unknown(page: Path) -> dict[str, str]:
    """The symbols of a page that the notation does not have for its chapter, each with a formula that uses it."""
    have = known(chapter_of(page))
    return {
        symbol: formula for formula in formulas(conclusions.text_of(page)) for symbol in sorted(symbols(formula) - have)
    }
