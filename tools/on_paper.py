"""A Sphinx extension that lets a printed page say what it is: course, authors, version and address."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where this file is an extension of Sphinx

from course_lib import __version__
from tools.offline_site import repository_address


def head_of(title: str, author: str) -> str:
    """The line, as HTML that only paper shows."""
    words = f"{title}, by {author}. Version {__version__}. {repository_address()}"
    return f'<p class="on-paper">{escape(words)}</p>'


def add_head(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Put the line before the text of each page of the book."""
    if page.startswith("book/") and context.get("body"):
        context["body"] = head_of(app.config.html_title or app.config.project, app.config.author) + context["body"]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_head)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
