"""Draws what a link to a chapter shows where it is shared: the chapter's hero, its number and its name, 1200 x 630 px.

    python -m tools.share_pictures [NAME ...]      all chapters, or some, from the built book

The pictures lie in book/assets/share; tools/page_frame.py names them once an address is set. Chromium draws them from
the built pages, in their letters and colours; they are committed, because a build must not need a browser.
"""

from __future__ import annotations

import hashlib
import sys
from html import escape
from io import BytesIO
from pathlib import Path

import jinja2
from bs4 import BeautifulSoup
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tools import browsing, toc
from tools.slides.pages import Chapter, sentences

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
OUT = ROOT / "book" / "assets" / "share"
SIZE = (1200, 630)
COLOURS = 64  # flat areas: a fifth of the bytes, and nobody sees it
WIDE = 2.1  # a hero of this shape stands below the name, a squarer one beside it
FIRST = "book/index"  # shows the hero of the first chapter


def pages() -> list[str]:
    """The pages that have a picture: the first page, and every chapter."""
    return [FIRST, *(page for page in toc.way() if (ROOT / f"{page}.ipynb").is_file())]


def card(page: str, site: Path = SITE) -> tuple[str, str]:
    """The name that a picture shows, and its page as HTML that lies in the folder of the site."""
    hero = Chapter(page, site)
    number, name = hero.heading
    drawn = (Chapter(pages()[1], site) if page == FIRST else hero).still()
    said = "" if page == FIRST else sentences(hero.promise())[0].get_text()
    template = jinja2.Template((Path(__file__).parent / "templates" / "share.html.jinja").read_text(encoding="utf-8"))
    logo = (ROOT / "book" / "assets" / "logo.svg").read_text(encoding="utf-8")
    *_, width, height = map(float, str(drawn["viewbox"]).split())
    look = "below" if width / height > WIDE else "beside"
    return name, template.render(
        number=number, name=escape(name), said=escape(said), hero=str(drawn), logo=logo, look=look
    )


def told(html: str) -> str:
    """A hash of what a picture shows, its elements and words without their places: where it changes, draw anew."""
    found = BeautifulSoup(html, "html.parser").body
    assert found is not None
    elements = [(one.name, one.get("class"), one.find(string=True, recursive=False)) for one in found.find_all(True)]
    return hashlib.sha256(repr(elements).encode()).hexdigest()


def draw(names: list[str], site: Path = SITE, out: Path = OUT) -> list[Path]:
    """Draw the pictures of pages; returns their files."""
    out.mkdir(parents=True, exist_ok=True)
    drawn, sheet = [], site / "share-picture.html"
    try:
        with browsing.browser() as running:
            tab = running.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
            for page in names:
                name, html = card(page, site)
                sheet.write_text(html, encoding="utf-8")
                tab.goto(sheet.as_uri(), wait_until="load")
                tab.evaluate("document.fonts.ready")
                image = Image.open(BytesIO(tab.screenshot())).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
                says = PngInfo()
                says.add_itxt("Title", name)
                says.add_itxt("Source", told(html))
                drawn.append(out / f"{page.rpartition('/')[2]}.png")
                image.save(drawn[-1], optimize=True, pnginfo=says)
    finally:
        sheet.unlink(missing_ok=True)
    return drawn


def main(names: list[str]) -> int:
    """Draw all pictures, or those of some chapters."""
    known = {page.rpartition("/")[2]: page for page in pages()}
    if wrong := sorted(set(names) - set(known)):
        print(f"share_pictures: {wrong[0]!r} has no picture; expected one of {', '.join(known)}", file=sys.stderr)
        return 2
    for path in draw([known[name] for name in names] or list(known.values())):
        print(path.relative_to(ROOT), f"{path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
