"""Sphinx extension: fills the reference pages from the lessons' claims.yml while the book is built."""

from sphinx.application import Sphinx

from tools.claims import pages, rows


def fill_page(app: Sphinx, _docname: str, source: list[str]) -> None:
    """Replace the `<!-- claims: ... -->` comments of a page, and rebuild the page when a claims file changes."""
    filled = pages.fill(source[0], pages=app.env.found_docs)
    if filled != source[0]:
        source[0] = filled
        for path in rows.files():
            app.env.note_dependency(str(path))


def setup(app: Sphinx) -> dict[str, str | bool]:
    """Connect to the moment when Sphinx has read a page and not yet parsed it."""
    app.connect("source-read", fill_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
