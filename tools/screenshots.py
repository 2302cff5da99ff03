"""Photograph the built pages: light and dark, wide and narrow, for people to look at.

    python tools/screenshots.py [--site FOLDER] [--out FOLDER] [PAGE ...]
    python tools/screenshots.py --readme       the picture of the README, into book/images/screenshot.png

A PAGE is a path inside the site, such as book/index.html; the default is every page. Needs a Chromium or Chrome on
this machine (COURSE_CHROMIUM names another one).
"""

import argparse
import itertools
import sys
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import browsing

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (360, 1280)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
README_PAGE = "book/sampling/in-batch-bias.html"
README_PICTURE = ROOT / "book" / "images" / "screenshot.png"


def find_pages(site: Path) -> list[str]:
    """Every page of the book, without the pages that Sphinx adds."""
    return sorted(str(path.relative_to(site)) for path in (site / "book").rglob("*.html"))


def photograph_for_readme(site: Path) -> Path:
    """One picture of the head of a chapter with its interactive, as the README shows it."""
    from PIL import Image

    README_PICTURE.parent.mkdir(parents=True, exist_ok=True)
    with browsing.served(site) as address, browsing.browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1040}, color_scheme="light")
        page.goto(f"{address}/{README_PAGE}", wait_until="networkidle")
        page.evaluate("document.querySelector('.bd-sidebar-primary').scrollTo({top: 0, behavior: 'instant'})")
        page.wait_for_timeout(500)
        page.screenshot(path=README_PICTURE)
    with Image.open(README_PICTURE) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(README_PICTURE, optimize=True)
    return README_PICTURE


def photograph(site: Path, out: Path, pages: list[str]) -> list[Path]:
    """One picture for each page, width and theme; returns their paths."""
    taken = []
    out.mkdir(parents=True, exist_ok=True)
    with browsing.served(site) as address, browsing.browser() as browser:
        for width, theme in itertools.product(WIDTHS, THEMES):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
            context.add_init_script(
                f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}')"
            )
            for name in pages:
                page = context.new_page()
                page.goto(f"{address}/{name}", wait_until="networkidle")
                page.wait_for_timeout(300)
                target = out / f"{name.removesuffix('.html').replace('/', '-')}-{width}-{theme}.png"
                height = page.evaluate("document.querySelector('.bd-article-container')?.scrollHeight ?? 900")
                page.set_viewport_size({"width": width, "height": min(max(900, height + 150), 16000)})
                page.screenshot(path=target)
                taken.append(target)
                page.close()
            context.close()
    return taken


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="pages, such as book/index.html (default: all)")
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html", help="the built site")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "screenshots", help="where the pictures go")
    parser.add_argument("--readme", action="store_true", help="take the README's picture, and no other")
    options = parser.parse_args(arguments)
    if options.readme:
        print(photograph_for_readme(options.site))
        return 0
    for path in photograph(options.site, options.out, options.pages or find_pages(options.site)):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
