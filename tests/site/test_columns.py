"""A sentence that sends the reader to a column names it as the table of its page does."""

from __future__ import annotations

import re
from pathlib import Path

from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"\b[Cc]olumns? ((?:⟦[^⟧]+⟧(?:, and | and |, )?)+)")
PAGES = sorted(path for kind in ("md", "ipynb") for path in (ROOT / "book").rglob(f"*.{kind}"))
PAGES = [path.relative_to(ROOT).with_suffix(".html") for path in PAGES if ".ipynb_checkpoints" not in path.parts]


def strangers(html: str) -> list[str]:
    """The columns that sentences of a page name in italics, and that no table of the page has."""
    if not re.search(r"\b[Cc]olumns?\s+<em>", html):  # most pages name none, and to parse a page takes its time
        return []
    page = BeautifulSoup(html, "html.parser")
    heads = {" ".join(head.get_text(" ").split()).lower() for head in page.select("thead th")}
    for name in page.select("article em"):
        name.replace_with(f"⟦{' '.join(name.get_text(' ').split())}⟧")
    sentences = " ".join(page.get_text().split())
    named = [name for found in NAMED.findall(sentences) for name in re.findall(r"⟦([^⟧]+)⟧", found)]
    return [name for name in named if name.lower() not in heads]


def test_a_column_that_is_not_there_is_found() -> None:
    table = "<table><thead><tr><th>loss of a <b>pair</b></th><th>P@5</th></tr></thead></table>"
    text = (
        "<p>The column <em>Loss of a pair</em>, then columns <em>P@5</em> and <em>share</em>, not <em>other</em>.</p>"
    )
    assert strangers(f"<article>{table}{text}</article>") == ["share"]


def test_a_page_has_the_columns_that_its_sentences_name(site_folder: Path) -> None:
    """To read them all says also that every page of the book was built."""
    found = {str(page): strangers((site_folder / page).read_text(encoding="utf-8")) for page in PAGES}
    assert found and {page: names for page, names in found.items() if names} == {}
