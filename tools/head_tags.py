"""A Sphinx extension for those who find a page from outside: search engines, and what shows a link as a card.

Every page gets a description, its own first sentences, and a picture with its title. Once an address is set
(`make address`), pages name their canonical address and that of their picture, which has to be a whole one
(https://ogp.me), and the site has sitemap.xml and robots.txt.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from html import escape
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape as escape_xml

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where this file is an extension of Sphinx

from tools import card_pictures, editions

LONGEST = 200  # characters of a description; search engines cut it there or earlier
SHORTEST = 60  # one more sentence is taken where the first is shorter
SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
CARDS = "_static/cards"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"


def description(doctree: nodes.document) -> str:
    """The first sentences of a page that have no formula: one, or as many as make some 60 characters."""
    said = ""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.entry):
            continue
        for sentence in filter(None, SENTENCE.split(_words(paragraph))):
            if said and len(f"{said} {sentence}") > LONGEST:
                return said
            said = f"{said} {sentence}".strip()
            if len(said) >= SHORTEST:
                return _cut(said)
    return _cut(said)


def _words(paragraph: nodes.paragraph) -> str:
    """The words of a paragraph, a single symbol such as α among them; nothing where it has a longer formula."""
    copy = paragraph.deepcopy()
    for formula in list(copy.findall(nodes.math)):
        name = formula.astext().strip()
        try:
            letter = name if len(name) == 1 else unicodedata.lookup(f"GREEK SMALL LETTER {name[1:].upper()}")
        except KeyError:
            return ""
        formula.replace_self(nodes.Text(letter))
    return " ".join(copy.astext().split())


def _cut(text: str) -> str:
    """A text of at most 200 characters, cut between words."""
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 2].rpartition(" ")[0].rstrip(",;:") + " …"


def tags(page: str, title: str, said: str, site: str) -> str:
    """The tags of a page's head. `site`: the address, "" where none is set: then the page names no picture."""
    named = {
        "og:type": "article" if page in editions.places() else "website",
        "og:title": title,
        "og:description": said,
    }
    if site:
        named |= {
            "og:url": f"{site}/{page}.html",
            "og:image": f"{site}/{CARDS}/{card_of(page)}.png",
            "og:image:alt": f"The title of the page: {title}",
            "twitter:card": "summary_large_image",
        }
    lines = [f'<meta name="description" content="{escape(said)}" />'] if said else []
    for name, text in named.items():
        key = "property" if name.startswith("og:") else "name"
        lines += [f'<meta {key}="{name}" content="{escape(text)}" />'] if text else []
    return "\n".join(lines)


def card_of(page: str) -> str:
    """The name of a page's picture."""
    return page.removeprefix("book/").replace("/", "-")


def add_tags(app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Write the tags into the head of a page of the book."""
    if doctree is None or not page.startswith("book/"):
        return
    made = tags(page, app.env.titles[page].astext(), description(doctree), editions.site_address())
    context["metatags"] = context.get("metatags", "") + made


def drop_widget_state(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Leave out what Jupyter's widgets would start from: a third of a chapter's weight, and nothing here reads it."""
    files = context["script_files"]
    files[:] = [file for file in files if getattr(file, "attributes", {}).get("type") != WIDGET_STATE]


def set_address(_app: Sphinx, config: Config) -> None:
    """Let Sphinx name the canonical address of each page."""
    if editions.site_address():
        config.html_baseurl = f"{editions.site_address()}/"


def sitemap(pages: list[str], site: str, days: dict[str, str]) -> str:
    """sitemap.xml: every page, with the day of its last change where that is known."""
    lines = []
    for page in pages:
        day = next((days[file] for file in (f"{page}.md", f"{page}.ipynb") if file in days), "")
        changed = f"<lastmod>{day}</lastmod>" if day else ""
        lines.append(f"<url><loc>{escape_xml(f'{site}/{page}.html')}</loc>{changed}</url>")
    head = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return "\n".join([head, *lines, "</urlset>\n"])


def robots(site: str) -> str:
    """robots.txt: everything may be read; the copies of the sources need not be."""
    return f"User-agent: *\nDisallow: /_sources/\nSitemap: {site}/sitemap.xml\n"


def start_page(title: str, said: str, site: str) -> str:
    """The page at the root of the site, which leads to the first page of the book."""
    canonical = f'<link rel="canonical" href="{site}/book/index.html" />\n' if site else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8" />\n<title>{escape(title)}</title>\n'
        f"{canonical}{tags('index', title, said, site)}\n"
        '<meta http-equiv="refresh" content="0; url=book/index.html" />\n</head>\n'
        f'<body><p><a href="book/index.html">{escape(title)}</a></p></body>\n</html>\n'
    )


def write_files(app: Sphinx, failure: Exception | None) -> None:
    """Write the pictures, the page at the root and, where an address is set, sitemap.xml and robots.txt."""
    if failure is not None or app.builder.format != "html":
        return
    out, site = Path(app.outdir), editions.site_address()
    titles = {card_of(page): app.env.titles[page].astext() for page in sorted(app.env.found_docs)}
    card_pictures.write_all(out / CARDS, titles, app.config.html_title or app.config.project)
    first = str(app.config.root_doc)
    said = description(app.env.get_doctree(first))
    (out / "index.html").write_text(start_page(app.env.titles[first].astext(), said, site), encoding="utf-8")
    texts = {
        "sitemap.xml": sitemap(sorted(app.env.found_docs), site, editions.last_changes()),
        "robots.txt": robots(site),
    }
    for name, text in texts.items():
        if site:
            (out / name).write_text(text, encoding="utf-8")
        else:
            (out / name).unlink(missing_ok=True)  # of a build before


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("config-inited", set_address)
    app.connect("html-page-context", add_tags)
    app.connect("html-page-context", drop_widget_state, priority=900)  # after MyST-NB, which adds it
    app.connect("build-finished", write_files, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
