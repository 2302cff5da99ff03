"""A Sphinx extension for what stands around a page: templates, tags for who finds it from outside, files.

templates   tools/templates: the layout, the line on paper, the foot of each page, 404.html, the page at the root
tags        sphinxext-opengraph writes them once an address is set (`make address`). Their text is a page's own first
            sentences; the picture of a link to a chapter is its hero (tools/share_pictures.py), of another page a card
files       sitemap.xml and robots.txt, once an address is set; the notebooks that the button "Download" gives
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from datetime import date
from html import escape
from itertools import chain, groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from course_lib import __version__
from course_lib.lessons.shared.house import PULL
from tools import address, conclusions, drawing, editions, evidence, python_in_page, toc

CHANGES = "book/reference/changelog"
LONGEST = 200  # characters of a description; search engines cut it there or earlier
SHORTEST = 60  # one more sentence is taken where the first is shorter
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
MAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
SHARED = "share/{}.png"  # in book/assets, by the name of a page
SHARED_TAGS = {"og:image:width": "1200", "og:image:height": "630"}
LOGOS = {"logo": "logo.svg", "logo_dark": "logo-dark.svg"}
CARDS = {
    "image": "book/assets/card-logo.png",
    "image_mini": "book/assets/card-corner.png",  # nothing: without one it is Sphinx's logo
    "line_color": PULL,
    "font": "Course Sans",
}


def settings(_app: Sphinx, config: Config) -> None:
    """Let Sphinx and opengraph name the address of each page, and draw cards, where an address is set."""
    site = editions.site_address()
    config.html_baseurl = config.ogp_site_url = f"{site}/" if site else ""
    config.ogp_site_name, config.ogp_type = config.html_title or config.project, "article"
    config.ogp_description_length = 2 * LONGEST
    config.ogp_social_cards = CARDS if site else {"enable": False}  # a picture has to have a whole address
    if site:
        drawing.faces()


def description(doctree: nodes.document) -> str:
    """The first sentences of a page that have no formula: one, or as many as make some 60 characters."""
    said = ""
    for sentence in chain.from_iterable(map(_sentences, doctree.findall(nodes.paragraph))):
        if said and len(f"{said} {sentence}") > LONGEST:
            break
        said = f"{said} {sentence}".strip()
        if len(said) >= SHORTEST:
            break
    return textwrap.shorten(said, LONGEST, placeholder=" …")


def _sentences(paragraph: nodes.paragraph) -> list[str]:
    """The sentences of a paragraph, a symbol such as α among them; none of a cell, of a head, or beside a formula."""
    copy = paragraph.deepcopy()
    for mark in list(copy.findall(evidence.Support)):
        mark.parent.remove(mark)
    try:
        for formula in list(copy.findall(nodes.math)):
            name = formula.astext().strip()
            letter = name if len(name) == 1 else unicodedata.lookup(f"GREEK SMALL LETTER {name[1:].upper()}")
            formula.replace_self(nodes.Text(letter))
    except KeyError:
        return []
    aside = isinstance(paragraph.parent, nodes.entry) or "at-a-glance" in paragraph.parent.get("classes", ())
    return [] if aside else conclusions.sentences(copy.astext())


def leave_the_description(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Leave of a page's tree, whose HTML is written, what its tags and its card shall say: opengraph comes next."""
    if doctree is not None:
        doctree[:] = [nodes.paragraph("", description(doctree))]
    files = context["script_files"]  # what Jupyter's widgets would start from, a third of a chapter: nothing reads it
    files[:] = [file for file in files if getattr(file, "attributes", {}).get("type") != WIDGET_STATE]


def show_the_hero(app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Name the picture of a link to a page that has one, which needs a whole address."""
    picture = SHARED.format(page.rpartition("/")[2])
    if doctree is None or not editions.site_address() or not (Path(app.srcdir) / "book" / "assets" / picture).is_file():
        return
    alt = f"{app.env.titles[page].astext()}: the picture of the chapter"
    context["meta"] = (context["meta"] or {}) | {"og:image": f"_static/{picture}", "og:image:alt": alt, **SHARED_TAGS}
    context["metatags"] += '<meta name="twitter:card" content="summary_large_image" />\n'


def add_edition(app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the templates what the foot of a page of the book says."""
    context |= {"course": app.config.html_title or app.config.project, "author": app.config.author}
    if doctree is not None and page in editions.places():
        context["edition"] = edition(page, app.env.titles[page].astext(), changes=CHANGES in app.env.found_docs)


def lead_on(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Let *Next* and *Previous* go from main page to main page; a page beside a chapter leads back to it, and on."""
    way = [known for known in toc.way() if known in app.env.found_docs]
    at = next((k for k, known in enumerate(way) if known in (page, toc.main_page(page))), None)
    if at is None:
        return
    before, after = (at, at + 1) if page != way[at] else (at - 1, at + 1)

    def link(k: int) -> dict[str, str] | None:
        if not 0 <= k < len(way):
            return None
        return {"link": app.builder.get_relative_uri(page, way[k]), "title": escape(app.env.titles[way[k]].astext())}

    context |= {"prev": link(before), "next": link(after)}


def edition(page: str, title: str, *, changes: bool = True) -> dict[str, Any]:
    """What the foot of a page says. `changes`: whether the build has the page of changes."""
    place, days = editions.places()[page], editions.last_changes()
    day = days.get(f"{page}.ipynb", days.get(f"{page}.md", ""))
    return {
        "title": title,
        "version": __version__,
        "repository": address.repository(),
        "site": editions.site_address(),
        "chapter": sum(place.number),
        "is_read": bool(place.number) or page in toc.way()[1:2],  # the first page is read as a chapter without a number
        "kind": "page" if page.endswith(toc.BESIDE) else "chapter",
        "day": date.fromisoformat(day) if day else None,
        "day_in_words": editions.in_words(day) if day else "",
        "changes": CHANGES if changes else "",
        "report": report(page, title, address.repository()),
    }


def report(page: str, title: str, repository: str) -> str:
    """The address of a new issue that names page and version; nothing while nobody has set an address."""
    if not address.is_set(repository):
        return ""
    body = f"Page: {page}\nVersion: {__version__}\n\nWhat is wrong, and where on the page:\n"
    return f"{repository}/issues/new?{urlencode({'title': f'{title}: an error', 'body': body})}"


def pages_at_the_root(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """404.html, which stands for itself at every address that does not exist, and index.html, which leads on."""
    titles = {page: app.env.titles[page].astext() for page in app.env.found_docs}
    first, site = str(app.config.root_doc), editions.site_address()
    logos = {name: (editions.ROOT / "book/assets" / file).read_text(encoding="utf-8") for name, file in LOGOS.items()}
    folder = f"{urlsplit(site).path.rstrip('/')}/" if site else ""
    yield "404", {"parts": chapters(titles), "folder": folder, **logos}, "not_found.html"
    said = description(app.env.get_doctree(first))
    yield "index", {"first": first, "site": site, "said": said}, "start.html"


def chapters(titles: dict[str, str], root: Path = editions.ROOT) -> list[tuple[str, list[tuple[str, str]]]]:
    """The parts of the book, each with its chapters that were built: (page, title)."""
    built = [entry for entry in toc.entries(toc.tree(root)) if entry.part and not entry.depth and entry.page in titles]
    return [(part, [(one.page, titles[one.page]) for one in of]) for part, of in groupby(built, lambda one: one.part)]


def sitemap(pages: list[str], site: str, days: dict[str, str]) -> bytes:
    """sitemap.xml: every page, with the day of its last change where that is known.

    (sphinx-sitemap has only the pages that a build wrote: after an edit, one.)
    """
    top = ElementTree.Element("urlset", xmlns=MAP)
    for page in pages:
        url = ElementTree.SubElement(top, "url")
        ElementTree.SubElement(url, "loc").text = f"{site}/{page}.html"
        if day := next((days[file] for file in (f"{page}.md", f"{page}.ipynb") if file in days), ""):
            ElementTree.SubElement(url, "lastmod").text = day
    text: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return text


def write_files(app: Sphinx, failure: Exception | None) -> None:
    """Write sitemap.xml and robots.txt where an address is set."""
    if failure is not None or app.builder.format != "html":
        return
    out, site = Path(app.outdir), editions.site_address()
    for name in ("sitemap.xml", "robots.txt"):
        (out / name).unlink(missing_ok=True)
    if site:
        (out / "sitemap.xml").write_bytes(sitemap(sorted(app.env.found_docs), site, editions.last_changes()))
        (out / "robots.txt").write_text(f"User-agent: *\nDisallow: /_sources/\nSitemap: {site}/sitemap.xml\n")


def clean_downloads(app: Sphinx, failure: Exception | None) -> None:
    """Put the plain copies, which run and read well anywhere, in the place of the notebooks that Sphinx has copied."""
    if failure is not None or app.builder.format != "html":
        return
    sources, written = Path(app.outdir) / "_sources", Path(app.srcdir)
    copied = [
        path
        for path in sources.rglob("*.ipynb")
        if path.is_file() and path.read_bytes() == (written / path.relative_to(sources)).read_bytes()
    ]
    if copied:
        from tools import export_notebooks, normalise
        from tools.course_index import Index

        index = Index(written)
        for path in copied:
            page = path.relative_to(sources).with_suffix("").as_posix()
            path.write_text(normalise.write_text(export_notebooks.export(index, page)), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.config.templates_path.append(str(Path(__file__).with_name("templates")))
    app.connect("config-inited", settings)
    app.connect("html-page-context", add_edition)
    app.connect("html-page-context", lead_on)
    app.connect("html-page-context", leave_the_description)  # after the theme and MyST-NB, which were set up before,
    app.connect("html-page-context", show_the_hero)
    app.setup_extension("sphinxext.opengraph")  # and before this
    app.connect("html-collect-pages", pages_at_the_root)
    app.connect("build-finished", clean_downloads)
    app.connect("build-finished", write_files)
    app.add_js_file("progress.js", loading_method="defer")
    python_in_page.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
