"""One PDF of the whole book: the built pages one after the other, printed by Chromium, with outline and page numbers.

    python tools/pdf.py [page ...]    after `make book`: writes _build/html/two-tower-models.pdf

The first page of the site then offers it. Links from page to page, to theorems and to equations lead inside the PDF.
Interactives stand as the picture of the state that their page shows.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from bs4 import BeautifulSoup, Tag
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
NAME = "two-tower-models.pdf"
PLACE = re.compile(r'(<span class="whole-book">(?:(?!</span>).)*)</span>', re.DOTALL)
REFERRING = ("for", "aria-labelledby", "aria-describedby", "aria-controls", "clip-path", "mask", "fill", "marker-end")
NOT_ON_PAPER = (
    "script, .headerlink, .toc-backref, iframe, nav.prev-next-area, .on-paper, .page-foot, .course-filter, "
    ".drawn-for-dark, picture > source"
)
FOOT = '<div style="width:100%;font:8px sans-serif;text-align:center;color:#555"><span class="pageNumber"></span></div>'
PAPER = """
@media print {
  #jb-print-docs-body { display: none !important; }
  .bd-article section > h1 { display: block !important; break-before: page; }
}
"""
READY = """async () => {
  await (window.MathJax?.startup?.promise ?? null);
  await document.fonts.ready;
  document.querySelectorAll("details:not(.hide)").forEach((one) => { one.open = true; });
}"""


def order(toc: Any) -> Iterator[str]:
    """The pages of _toc.yml, first to last, as "book/start/data"."""
    if isinstance(toc, dict):
        yield from (str(toc[key]) for key in ("root", "file") if key in toc)
        for key in ("parts", "chapters", "sections"):
            yield from order(toc.get(key, []))
    else:
        for entry in toc:
            yield from order(entry)


def merged(names: list[str], site: Path = SITE) -> str:
    """One HTML page with the articles of several: what they refer to in each other, they refer to inside it."""
    places = {name: f"p{number}" for number, name in enumerate(names)}
    frame = BeautifulSoup((site / f"{names[0]}.html").read_text(encoding="utf-8"), "html.parser")
    articles = []
    scripts: dict[str, Tag] = {}
    for name in tqdm(names, desc="pages", unit="page"):
        page = BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        article = page.select_one("article.bd-article")
        if article is None:
            raise ValueError(f"{name}.html has no article; expected a page of the built book")
        for sheet in page.select('script[src*="course-widget"], link[href*="course-widget"]'):
            for key in {"src", "href"} & set(sheet.attrs):
                sheet[key] = _from(str(sheet[key]), name, names[0])
            scripts.setdefault(posixpath.basename(str(sheet.get("src") or sheet.get("href"))), sheet)
        articles.append(_moved(article, name, places))
    for sheet in frame.select('script[src*="course-widget"], link[href*="course-widget"]'):
        sheet.decompose()
    assert frame.head is not None and frame.body is not None
    for sheet in scripts.values():
        frame.head.append(sheet)
    frame.head.append(BeautifulSoup(f"<style>{PAPER}</style>", "html.parser"))
    place = frame.select_one("article.bd-article")
    assert place is not None
    place.clear()
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
    for gone in article.select(NOT_ON_PAPER):
        gone.decompose()
    for node in article.find_all(True):
        node.attrs.pop("loading", None)
        if node.get("id"):
            node["id"] = f"{here}-{node['id']}"
        for key in REFERRING:
            if node.get(key):
                node[key] = re.sub(r"(url\(#|(?<![\w#-])(?=[\w-]+$))", rf"\g<1>{here}-", str(node[key]))
        for key in ("href", "src"):
            if node.get(key):
                node[key] = _link(str(node[key]), name, first, places)
    article.name = "section"
    article["id"] = here
    return article


def _link(link: str, name: str, first: str, places: dict[str, str]) -> str:
    """Where a link leads in the whole."""
    if link.startswith("#"):
        return f"#{places[name]}-{link[1:]}" if len(link) > 1 else f"#{places[name]}"
    if re.match(r"[a-z]+:", link):
        return link
    path, _, part = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    if target.removesuffix(".html") in places and target.endswith(".html"):
        place = places[target.removesuffix(".html")]
        return f"#{place}-{part}" if part else f"#{place}"
    return _from(link, name, first)


def print_to(path: Path, names: list[str], site: Path = SITE) -> None:
    """Print some pages of the site into one PDF."""
    from playwright.sync_api import PdfMargins, sync_playwright

    source = site / posixpath.dirname(names[0]) / "_whole-book.html"
    source.write_text(merged(names, site), encoding="utf-8")
    try:
        with sync_playwright() as tool:
            chromium = shutil.which("chromium") or shutil.which("google-chrome")
            browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(color_scheme="light")
            page.set_default_timeout(600_000)
            page.goto(source.as_uri(), wait_until="load")
            page.evaluate(READY)
            margin: PdfMargins = {"top": "16mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}
            page.pdf(
                path=path,
                format="A4",
                margin=margin,
                print_background=True,
                outline=True,
                tagged=True,
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=FOOT,
            )
            browser.close()
    finally:
        source.unlink()


def offer(page: Path, name: str = NAME, words: str = "The whole book as one PDF") -> None:
    """Put the link to a file where the first page of the site has a place for what holds the whole book, once."""
    text = page.read_text(encoding="utf-8")
    link = f'<a href="../{name}">{words}</a>.'
    if link not in text:
        page.write_text(PLACE.sub(lambda place: f"{place[1]} {link}</span>", text), encoding="utf-8")


def main(names: list[str]) -> None:
    """Print the book, or the named pages."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chosen = names or [name for name in order(toc) if (SITE / f"{name}.html").is_file()]
    missing = [name for name in chosen if not (SITE / f"{name}.html").is_file()]
    if missing or not chosen:
        what = ", ".join(missing) or "no page of the book"
        sys.exit(f"{what}: not in {SITE}; expected names such as book/start/data, after `make book`")
    print_to(SITE / NAME, chosen)
    offer(SITE / "book" / "index.html")
    print(f"wrote {SITE / NAME}, {(SITE / NAME).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
