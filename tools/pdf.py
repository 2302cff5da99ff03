"""One PDF of the whole book: a title page, the contents, the built pages one after the other, printed by Chromium.

    python -m tools.pdf [page ...]    after `make book`: writes _build/html/two-tower-models.pdf

The first page of the site then offers it. Links from page to page, to theorems and to equations lead inside the PDF.
Interactives stand as the picture of the state that their page shows. The book is printed twice: the contents need the
numbers of the pages, and only a printed book has them.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import yaml
from bs4 import BeautifulSoup, Tag
from tqdm import tqdm

from course_lib import __version__
from tools import address, browsing, editions, toc

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
NAME = "two-tower-models.pdf"
PLACE = re.compile(r'(<span class="whole-book">(?:(?!</span>).)*)</span>', re.DOTALL)
REFERRING = ("for", "aria-labelledby", "aria-describedby", "aria-controls", "clip-path", "mask", "fill", "marker-end")
NOT_ON_PAPER = (
    "script, .headerlink, .toc-backref, iframe, nav.prev-next-area, .on-paper, .page-foot, .course-filter, "
    ".drawn-for-dark, picture > source"
)
# What a page loads where it needs it, and the whole loads once: interactives, and MathJax with its settings.
SHARED = (
    'script[src*="course-widget"], link[href*="course-widget"], '
    'script[src*="mathjax"], script:-soup-contains("window.MathJax")'
)
PAPER = Path(__file__).with_name("pdf.css")
HEAD = '@page %s { @top-left { content: "%s"; font: 9pt "Source Sans 3", sans-serif; } } #%s { page: %s; }'
# As Chromium writes a PDF: its pages in their order, and where the places lie that links lead to.
PRINTED_PAGE = re.compile(rb"(\d+) 0 obj\s*<</Type /Page\s")
PRINTED_PLACE = re.compile(rb"/(p\d+) \[(\d+) 0 R /XYZ")
READY = """async () => {
  await (window.MathJax?.startup?.promise ?? null);
  await document.fonts.ready;
  document.querySelectorAll("details:not(.hide, .course-widget *)").forEach((one) => { one.open = true; });
}"""

WRITE_NUMBERS = """(numbers) => {
  for (const one of document.querySelectorAll("[data-number]")) one.textContent = numbers[one.dataset.number] ?? "";
}"""


def title_page(course: str, author: str) -> str:
    """The first page: course, authors, version, day, address."""
    day = max(editions.last_changes().values(), default="")
    stand = f"Version {__version__}" + (f", {editions.in_words(day)}" if day else "")
    lines = [author, stand, editions.site_address() or address.repository()]
    said = "".join(f"<p{' class=by' if line is author else ''}>{escape(line)}</p>" for line in lines)
    logo = (ROOT / "book/assets/logo.svg").read_text(encoding="utf-8")
    return f'<section class="front title-page">{logo}<h1>{escape(course)}</h1>{said}</section>'


def contents(tree: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """The contents of the pages in `titles`: part, chapter, title, and a place for the number of the page."""
    places = {name: f"p{number}" for number, name in enumerate(titles)}
    lines, last = [], ""
    for page, part, _, depth in toc.entries(tree):
        if page not in titles:
            continue
        if part != last:
            lines.append(f'<p class="part">{escape(part)}</p>')
            last = part
        number, title = _numbered(titles[page])
        lines.append(
            f'<a{" class=below" if depth else ""} href="#{places[page]}"><span class="number">{number}</span>'
            f'<span>{escape(title)}</span><span class="dots"></span><span data-number="{places[page]}">000</span></a>'
        )
    return f'<nav class="front whole-contents"><h2>Contents</h2>{"".join(lines)}</nav>'


def _numbered(title: str) -> tuple[str, str]:
    """A title as the site writes it, "5. The bias", as ("5", "The bias"); ("", title) where it has no number."""
    found = re.fullmatch(r"(\d+)\. (.*)", title)
    return (found[1], found[2]) if found else ("", title)


def running_heads(titles: Mapping[str, str]) -> str:
    """Style sheet: over each page of the book the title of what it belongs to."""
    heads = []
    for number, title in enumerate(titles.values()):
        said = "  ".join(filter(None, _numbered(title))).replace("\\", "\\\\").replace('"', '\\"')
        heads.append(HEAD % (f"p{number}", said, f"p{number}", f"p{number}"))
    return "\n".join(heads)


def page_numbers(printed: bytes) -> dict[str, int]:
    """Page of the book (its name in the whole, "p3") -> number of the page of paper on which it begins."""
    pages = {found[1]: at for at, found in enumerate(PRINTED_PAGE.finditer(printed), start=1)}
    return {found[1].decode(): pages[found[2]] for found in PRINTED_PLACE.finditer(printed)}


def merged(names: list[str], site: Path = SITE) -> str:
    """One HTML page: title page, contents, the articles of several pages, whose links to each other lead inside it."""
    places = {name: f"p{number}" for number, name in enumerate(names)}
    titles: dict[str, str] = {}
    frame = BeautifulSoup((site / f"{names[0]}.html").read_text(encoding="utf-8"), "html.parser")
    articles = []
    scripts: dict[str, Tag] = {}
    for name in tqdm(names, desc="pages", unit="page"):
        page = BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        article = page.select_one("article.bd-article")
        if article is None:
            raise ValueError(f"{name}.html has no article; expected a page of the built book")
        for sheet in page.select(SHARED):
            for key in {"src", "href"} & set(sheet.attrs):
                sheet[key] = _from(str(sheet[key]), name, names[0])
            scripts.setdefault(posixpath.basename(str(sheet.get("src") or sheet.get("href"))), sheet)
        articles.append(_moved(article, name, places))
        heading = article.find("h1")
        titles[name] = heading.get_text().strip() if heading else name
    for sheet in frame.select(SHARED):
        sheet.decompose()
    assert frame.head is not None and frame.body is not None
    for sheet in scripts.values():
        frame.head.append(sheet)
    frame.head.append(
        BeautifulSoup(f"<style>{PAPER.read_text(encoding='utf-8')}{running_heads(titles)}</style>", "html.parser")
    )
    place = frame.select_one("article.bd-article")
    assert place is not None
    place.clear()
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    front = title_page(config["title"], config["author"]) + contents(toc.tree(), titles)
    place.append(BeautifulSoup(front, "html.parser"))
    if frame.title is not None:
        frame.title.string = config["title"]
    for article in articles:
        place.append(article)
    return str(frame)


def _from(link: str, page: str, other: str) -> str:
    """A relative link of one page, as it must be on another."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return posixpath.relpath(target, posixpath.dirname(other) or ".")


def _moved(article: Tag, name: str, places: dict[str, str]) -> Tag:
    """An article, as a section of the whole: its names and links are those of the whole."""
    here = places[name]
    first = next(iter(places))
    site = editions.site_address()
    for gone in article.select(NOT_ON_PAPER):
        gone.decompose()
    for node in article.find_all(True):
        node.attrs.pop("loading", None)
        if node.get("id"):
            node["id"] = f"{here}-{node['id']}"
        for key in REFERRING:
            if node.get(key):
                node[key] = re.sub(r"(url\(#|(?<![\w#-])(?=[\w-]+$))", rf"\g<1>{here}-", str(node[key]))
        if node.get("src"):
            node["src"] = _from(str(node["src"]), name, first)
        if node.get("href") and (link := _link(str(node["href"]), name, places, site)):
            node["href"] = link
        else:
            node.attrs.pop("href", None)
    article.name = "section"
    article["id"] = here
    return article


def _link(link: str, name: str, places: Mapping[str, str], site: str) -> str:
    """Where a link leads in the whole: a place in it, or an address; nowhere ("") while the site has none."""
    if link.startswith("#"):
        return f"#{places[name]}-{link[1:]}" if len(link) > 1 else f"#{places[name]}"
    if re.match(r"[a-z]+:", link):
        return link
    path, _, part = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    page = target.removesuffix(".html")
    if page in places and page != target:
        return f"#{places[page]}-{part}" if part else f"#{places[page]}"
    return f"{site}/{target}{'#' if part else ''}{part}" if site else ""


def print_to(path: Path, names: list[str], site: Path = SITE) -> None:
    """Print some pages of the site into one PDF."""
    source = site / posixpath.dirname(names[0]) / "_whole-book.html"
    source.write_text(merged(names, site), encoding="utf-8")
    try:
        with browsing.browser() as browser:
            page = browser.new_page(color_scheme="light")
            page.set_default_timeout(1_800_000)
            page.goto(source.as_uri(), wait_until="load")
            page.evaluate(READY)
            for last in (False, True):
                page.pdf(path=path, prefer_css_page_size=True, print_background=True, outline=last, tagged=last)
                page.evaluate(WRITE_NUMBERS, page_numbers(path.read_bytes()))
    finally:
        source.unlink(missing_ok=True)


def offer(page: Path, name: str = NAME, words: str = "The whole book as one PDF") -> None:
    """Put the link to a file where the first page of the site has a place for what holds the whole book, once."""
    text = page.read_text(encoding="utf-8")
    link = f'<a href="../{name}">{words}</a>.'
    if link not in text:
        page.write_text(PLACE.sub(lambda place: f"{place[1]} {link}</span>", text), encoding="utf-8")


def main(names: list[str]) -> None:
    """Print the book, or the named pages."""
    chosen = names or [page for page, _ in toc.pages()[1:] if (SITE / f"{page}.html").is_file()]
    missing = [name for name in chosen if not (SITE / f"{name}.html").is_file()]
    if missing or not chosen:
        what = ", ".join(missing) or "no page of the book"
        sys.exit(f"{what}: not in {SITE}; expected names such as book/start/data, after `make book`")
    print_to(SITE / NAME, chosen)
    offer(SITE / "book" / "index.html")
    print(f"wrote {SITE / NAME}, {(SITE / NAME).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
