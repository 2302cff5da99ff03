"""Markdown of students as HTML that people may open: no scripts, no handlers, no foreign pictures or frames."""

from __future__ import annotations

import bleach
from nbconvert.filters.markdown_mistune import markdown2html_mistune

_TAGS = """
a abbr b blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s span strong sub sup table tbody
td tfoot th thead tr ul
"""
TAGS = frozenset(_TAGS.split())
ATTRIBUTES = {"a": ["href", "title"], "th": ["align"], "td": ["align"], "ol": ["start"]}


def harmless_html(source: str) -> str:
    """The HTML of some Markdown. Tags that are not in TAGS are shown as text; links are http, https or mailto."""
    html = markdown2html_mistune(source)
    return str(bleach.clean(html, tags=TAGS, attributes=ATTRIBUTES, protocols={"http", "https", "mailto"}))
