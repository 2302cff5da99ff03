"""The small pictures of the map on the first page: what opens a chapter, without its words, in the reader's colours.

    <!-- fill: thumbnail geometry/cosine-orthogonality 0 0 462 184 -->

draws the picture of that page's first interactive, as the notebook stores it, cut to a box of its coordinates (all of
it without one).
"""

from __future__ import annotations

import json
from pathlib import Path

from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).resolve().parents[1]
WORDS = "text, title, desc"  # too small to read here


def thumbnail(page: str, *box: str) -> str:
    """The picture of a page of book/ as inline SVG. ValueError where the page has none, or for half a box."""
    if len(box) not in (0, 4):
        raise ValueError(f"thumbnail: got {' '.join(box)!r} for {page}; expected x, y, width and height, or nothing")
    drawn = still(ROOT / "book" / f"{page}.ipynb")
    for word in drawn.select(WORDS):
        word.decompose()
    drawn.attrs = {"viewBox": " ".join(box) or drawn["viewbox"], "role": "img", "aria-label": drawn["aria-label"]}
    return f'```{{raw}} html\n<div class="thumbnail cw cw-hero">{drawn}</div>\n```'


def still(notebook: Path) -> Tag:
    """The first picture of an interactive among the outputs of a notebook."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            html = "".join(output.get("data", {}).get("text/html", ""))
            found = BeautifulSoup(html, "html.parser").select_one("[data-course-widget] figure svg")
            if found is not None:
                return found
    raise ValueError(f"thumbnail: {notebook.name} has no picture of an interactive among its outputs")
