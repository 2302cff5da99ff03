"""Markdown of students as HTML that people may open: no scripts, no handlers, no foreign pictures or frames.

Formulas become MathML, which browsers show by themselves, without a network. Where latex2mathml is missing, or does not
know a formula, the formula stands there as it was typed.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from html import escape, unescape
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from xml.etree.ElementTree import Element, tostring

from bleach.html5lib_shim import Filter
from bleach.sanitizer import Cleaner
from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

_TAGS = """
a abbr b blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li ol p pre s span strong sub sup table
tbody td tfoot th thead tr ul
"""
TAGS = frozenset(_TAGS.split())
_PICTURE = re.compile(r"data:image/(png|jpeg|gif);base64,[A-Za-z0-9+/=]+")
_MISSING = "missing-attachment:"
LONGEST_FORMULA = 2_000
_MACRO = re.compile(r"\\(def|let|edef|gdef|(re)?newcommand|providecommand|DeclareMathOperator|(re)?newenvironment)\b")
_OF_MATHML = """
accent columnalign display displaystyle fence form linethickness mathvariant maxsize minsize movablelimits scriptlevel
stretchy width xmlns
"""


class NoForeignPictures(Filter):
    """In place of a picture whose source was not allowed stands its description."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for token in super().__iter__():
            if token.get("name") != "img" or (None, "src") in token["data"]:
                yield token
            elif described := token["data"].get((None, "alt")):
                yield {"type": "Characters", "data": f"[picture: {described}]"}


def harmless_html(source: str, attachments: dict[str, dict[str, str]] | None = None) -> str:
    """The HTML of some Markdown. Tags that are not in TAGS are shown as text; links are http, https or mailto.

    Pictures are those pasted into the cell (`attachments`); one that is not there leaves its description.
    """
    # Twice, as a picture may be named and not there; some Markdown the converter does not survive at all.
    for text, pictures in ((source, attachments or {}), (source.replace("attachment:", _MISSING), {})):
        renderer = _Renderer(pictures)
        with suppress(Exception):
            html = str(MarkdownWithMath(renderer=renderer).render(text))
            break
    else:
        html = f"<pre>{escape(source)}</pre>"
    return renderer.put_back(str(_CLEANER.clean(html)))


_TRUSTED: dict[str, str] = {}


def trusted(html: str) -> str:
    """A word that nobody can guess, in whose place `markdown2html` puts HTML of our own, once."""
    word = secrets.token_hex(16)
    _TRUSTED[word] = html
    return word


@pass_context
def markdown2html(context: Mapping[str, Any], source: str) -> str:
    """`harmless_html` as a filter of nbconvert's templates, with the pictures of the cell at hand."""
    if source in _TRUSTED:
        return _TRUSTED.pop(source)
    cell = context.get("cell") or {}
    return harmless_html(source, cell.get("attachments"))


class _Renderer(IPythonRenderer):
    """Takes the formulas out of a text while it is cleaned: in their places stand words that nobody can guess."""

    def __init__(self, attachments: dict[str, dict[str, str]]) -> None:
        super().__init__(escape=False, exclude_anchor_links=True, attachments=attachments)
        self._word = secrets.token_hex(16)
        self._found: list[tuple[str, str]] = []

    def inline_math(self, body: str) -> str:
        return self._taken(body, "inline")

    def block_math(self, body: str) -> str:
        return self._taken(body, "block")

    def latex_environment(self, name: str, body: str) -> str:
        return self._taken(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")

    def _taken(self, tex: str, display: str) -> str:
        self._found.append((tex, display))
        return f"{self._word}n{len(self._found) - 1}n"

    def put_back(self, html: str) -> str:
        """The text with its formulas; inside a tag, as in a picture's description, they are plain text."""
        place = rf"{self._word}n(\d+)n"

        def typed(match: re.Match[str]) -> str:
            return escape(self._found[int(match[1])][0])

        def shown(match: re.Match[str]) -> str:
            if match[1] is None:
                return re.sub(place, typed, match[0])
            return mathml(*self._found[int(match[1])]) or f"<code>{typed(match)}</code>"

        return re.sub(rf"""<(?:[^<>"']|"[^"]*"|'[^']*')*>|{place}""", shown, html)


def mathml(tex: str, display: str) -> str | None:
    """A formula ("inline" or "block") as MathML; None for one that has macros of its own, is too long or unreadable."""
    if _CONVERTER is None or len(tex) > LONGEST_FORMULA or _MACRO.search(tex):
        return None
    try:
        math: Element = _CONVERTER(display=display).convert_to_element(tex)
    except Exception:  # it has a class of errors for each kind of mistake
        return None
    for part in math.iter():
        part.text = unescape(part.text) if part.text else part.text
        for name in set(part.attrib).difference(_OF_MATHML.split()):  # \href{javascript:...} is one of them
            del part.attrib[name]
    return tostring(math, encoding="unicode")


_CONVERTER: Callable[..., Any] | None = (
    import_module("latex2mathml.converter").Converter if find_spec("latex2mathml") else None
)


def _allowed(tag: str, name: str, value: str) -> bool:
    """Which attributes stay: links that lead to pages, pictures that bring themselves."""
    if tag == "a":
        return name == "title" or (name == "href" and not value.strip().lower().startswith("data"))
    if tag == "img":
        return name == "alt" or (name == "src" and _PICTURE.fullmatch(value) is not None)
    return (tag, name) in {("th", "align"), ("td", "align"), ("ol", "start")}


_CLEANER = Cleaner(
    tags=TAGS, attributes=_allowed, protocols={"http", "https", "mailto", "data"}, filters=[NoForeignPictures]
)
