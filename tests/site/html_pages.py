"""Reads the built pages without a browser: links, ids, images."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from drafts import FIRST, main_pages, one_quickly, short_chapters

ROOT = Path(__file__).resolve().parents[2]
START, *CHAPTERS = [path.relative_to(ROOT).with_suffix(".html").as_posix() for path in (FIRST, *main_pages())]


def _has_interactive(name: str) -> bool:
    path = ROOT / "_build" / "html" / name
    return path.is_file() and "data-course-widget" in path.read_text(encoding="utf-8")


FURTHER = [name.removesuffix(".html") + "-further.html" for name in CHAPTERS]
# Pages that have, all together, every interactive once.
SHORT = [path.relative_to(ROOT).with_suffix(".html").as_posix() for path in short_chapters()]
WITH_INTERACTIVES = [START, *CHAPTERS, *SHORT, *filter(_has_interactive, FURTHER)]


ONE_QUICKLY = one_quickly(CHAPTERS)


def page_of(interactive: str) -> str:
    """The page with an interactive, by its place in the site."""
    marked = f'data-course-widget="{interactive}"'
    site = ROOT / "_build" / "html"
    return next(name for name in WITH_INTERACTIVES if marked in (site / name).read_text(encoding="utf-8"))


@dataclass
class Page:
    """What one HTML file holds: ids, links with their anchors, images of the article, and files that it loads."""

    path: Path
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    images: list[dict[str, str]] = field(default_factory=list)
    widgets: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Collects into a Page."""

    def __init__(self, page: Page) -> None:
        super().__init__(convert_charrefs=True)
        self.page, self.in_article = page, 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.in_article += tag == "article"
        if "id" in found:
            self.page.ids.append(found["id"])
        if tag == "a" and "href" in found:
            self.page.links.append(found["href"])
        if tag in ("script", "img", "iframe", "source", "video", "audio") and "src" in found:
            self.page.loads.append(found["src"])
        if tag == "link" and {"stylesheet", "preload", "icon", "modulepreload"} & set(found.get("rel", "").split()):
            self.page.loads.append(found["href"])
        if tag == "img" and self.in_article:
            self.page.images.append(found)
        if "data-course-widget" in found:
            self.page.widgets.append(found["data-course-widget"])

    def handle_endtag(self, tag: str) -> None:
        self.in_article -= tag == "article"


@cache
def read_page(path: Path) -> Page:
    """One built page."""
    page = Page(path)
    _Reader(page).feed(path.read_text(encoding="utf-8"))
    return page


def find_pages(folder: Path) -> list[Path]:
    """Every page of the built site, without the files in _static and _sources."""
    pages = (path for path in folder.rglob("*.html") if not path.relative_to(folder).parts[0].startswith("_"))
    return sorted(pages)


@cache
def is_outside(address: str) -> bool:
    """Whether an address names another host (or a scheme that is not a file of this site)."""
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def target_of(page: Path, address: str) -> tuple[Path, str]:
    """The file and the anchor ("" for none) that a link on a page leads to."""
    path, _, anchor = address.partition("#")
    return _file(page.parent, path.partition("?")[0]) if path else page, unquote(anchor)


@cache
def _file(folder: Path, path: str) -> Path:
    """What a path means on the pages of a folder: each of them repeats the links of the book's contents."""
    file = (folder / unquote(path)).resolve()
    return file / "index.html" if file.is_dir() else file
