"""Markdown of students as HTML that people may open: no scripts, no handlers, no foreign pictures or frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

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


class NoForeignPictures(Filter):
    """In place of a picture whose source was not allowed stands its description."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for token in super().__iter__():
            if token.get("name") != "img" or (None, "src") in token["data"]:
                yield token
            elif described := token["data"].get((None, "alt")):
                yield {"type": "Characters", "data": f"[picture: {described}]"}


def harmless_html(source: str, attachments: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """The HTML of some Markdown. Tags that are not in TAGS are shown as text; links are http, https or mailto.

    Pictures are those pasted into the cell (`attachments`); one that is not there leaves its description.
    """
    try:
        html = _rendered(source, attachments or {})
    except Exception:  # a picture that is named and not there, or Markdown that the converter does not survive
        try:
            html = _rendered(source.replace("attachment:", _MISSING), {})
        except Exception:
            html = f"<pre>{escape(source)}</pre>"
    return str(_CLEANER.clean(html))


@pass_context
def markdown2html(context: Mapping[str, Any], source: str) -> str:
    """`harmless_html` as a filter of nbconvert's templates, with the pictures of the cell at hand."""
    cell = context.get("cell") or {}
    return harmless_html(source, cell.get("attachments"))


def _rendered(source: str, attachments: Mapping[str, Mapping[str, str]]) -> str:
    renderer = IPythonRenderer(escape=False, attachments={name: dict(kinds) for name, kinds in attachments.items()})
    return str(MarkdownWithMath(renderer=renderer).render(source))


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
