"""A Sphinx extension that writes 404.html: what GitHub Pages shows at every address that does not exist, however deep.

The page stands for itself, so that nothing of it is looked for in the wrong folder; its links start at the root of
the site: the address that was set, or what the script in its head makes of the address that was asked for.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where this file is an extension of Sphinx

from tools import editions, toc

TEMPLATE = Path(__file__).with_suffix(".html")
LOGOS, SIGNS = editions.ROOT / "book" / "assets", {"LOGO": "logo", "LOGO_DARK": "logo-dark"}


def chapters(titles: dict[str, str], root: Path = editions.ROOT) -> str:
    """HTML: the parts of the book, and in each its chapters as links. `titles`: page -> title."""
    lines = []
    for part in toc.tree(root)["parts"]:
        pages = [chapter["file"] for chapter in part["chapters"] if chapter["file"] in titles]
        links = "".join(f'<li><a href="{page}.html">{escape(titles[page])}</a></li>' for page in pages)
        lines += [f"<h2>{escape(part['caption'])}</h2>\n<ul>{links}</ul>"] if links else []
    return "\n".join(lines)


def page(course: str, titles: dict[str, str], site: str) -> str:
    """The whole page. `site`: the address of the site, "" where none is set."""
    folder = escape(f"{urlsplit(site).path.rstrip('/')}/") if site else ""
    words = {"COURSE": escape(course), "FOLDER": folder, "CHAPTERS": chapters(titles)}
    words |= {name: (LOGOS / f"{file}.svg").read_text(encoding="utf-8") for name, file in SIGNS.items()}
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, word in words.items():
        text = text.replace(f"<<{name}>>", word)
    return text


def write(app: Sphinx, failure: Exception | None) -> None:
    """Write the page once all titles are known."""
    if failure is None and app.builder.format == "html":
        titles = {name: app.env.titles[name].astext() for name in app.env.found_docs}
        text = page(app.config.html_title or app.config.project, titles, editions.site_address())
        (Path(app.outdir) / "404.html").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
