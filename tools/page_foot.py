"""A Sphinx extension that ends each page with what one may want to do: mark it as read, cite it, report an error.

mark    kept by the reader's browser (book/assets/progress.js), on the pages of the chapters
cite    BibTeX, folded, on the pages of the chapters: the page, the course, its version, day and address
report  a form of the repository, filled in; only once an address is set (`make address`)
"""

from __future__ import annotations

import sys
from datetime import date
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where this file is an extension of Sphinx

from course_lib import __version__
from tools import address, editions

CHANGES = "book/reference/changelog"


def bibtex(page: str, title: str, *, course: str, author: str, day: str, site: str) -> str:
    """One entry: what BibTeX knows of a chapter, and the version and the day that tell one state from another."""
    place = editions.places()[page]
    part = f"Chapter {place.chapter} of {course}" if place.chapter else course
    stand = f"Version {__version__}" + (f", last changed on {day}" if day else "")
    fields = {
        "author": f"{{{author}}}",
        "title": f"{{{title}}}",
        "howpublished": part,
        "year": day[:4] or None,
        "note": stand,
        "url": f"{site}/{page}.html" if site else None,
    }
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items() if text]
    key = f"two-towers-{page.rpartition('/')[2]}"
    return "\n".join([f"@misc{{{key},", *lines, "}"])


def in_words(day: str) -> str:
    """2026-11-22 as "22 November 2026"."""
    found = date.fromisoformat(day)
    return f"{found.day} {found:%B %Y}"


def report_link(page: str, title: str, repository: str) -> str:
    """A link to a new issue that names page and version; nothing while nobody has set an address."""
    if not address.is_set(repository):
        return ""
    body = f"Page: {page}\nVersion: {__version__}\n\nWhat is wrong, and where on the page:\n"
    asked = urlencode({"title": f"{title}: an error", "body": body})
    return f'<a href="{escape(f"{repository}/issues/new?{asked}")}">Report an error on this page</a>.'


def foot(page: str, title: str, *, course: str, author: str, day: str, changes: bool = True) -> str:
    """The foot of a page, as HTML. `changes`: whether the build has the page of changes."""
    up = "../" * page.count("/")
    changed = f'<a href="{up}{CHANGES}.html">What changed</a>. ' if changes else ""
    words = f"Version {escape(__version__)}" + (f", last changed on {in_words(day)}" if day else "") + "."
    report = report_link(page, title, address.repository())
    edition = f'<p class="edition">{words} {changed}{report}</p>'
    read = ""
    if editions.places()[page].is_read:
        entry = bibtex(page, title, course=course, author=author, day=day, site=editions.site_address())
        kind = "page" if page.endswith(("-lab", "-further")) else "chapter"
        read = (
            f'<p class="reading" data-page="{page}" hidden>'
            '<button type="button" class="mark-read" aria-pressed="false">I have read this</button> '
            '<button type="button" class="clear-marks" hidden>Clear all marks</button> <span role="status"></span></p>'
            f'<details class="cite-page"><summary>Cite this {kind}</summary>'
            f'<div class="highlight"><pre>{escape(entry)}</pre></div></details>'
        )
    return f'<div class="page-foot">{read}{edition}</div>'


def add_foot(app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Put the foot behind the text of each page of the book."""
    if doctree is None or page not in editions.places():
        return
    days = editions.last_changes()
    day = days.get(f"{page}.ipynb", days.get(f"{page}.md", ""))
    course, author = app.config.html_title or app.config.project, app.config.author
    title, changes = app.env.titles[page].astext(), CHANGES in app.env.found_docs
    context["body"] += foot(page, title, course=course, author=author, day=day, changes=changes)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_foot)
    app.add_js_file("progress.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
