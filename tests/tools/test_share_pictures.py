"""A link to a chapter shows the chapter's hero and its name; the picture is made anew where the name has changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from tools import share_pictures

MAKE = "run python -m tools.share_pictures"


def heading(page: str) -> str:
    """The title of a page, from its source."""
    notebook, text = share_pictures.ROOT / f"{page}.ipynb", share_pictures.ROOT / f"{page}.md"
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"] if notebook.is_file() else []
    source = "".join(cells[0]["source"]) if cells else text.read_text(encoding="utf-8")
    found = re.search(r"^# (.*)$", source, re.M)
    assert found is not None, page
    return found[1]


@pytest.mark.parametrize("page", share_pictures.pages())
def test_a_chapter_has_a_picture_that_shows_its_name(page: str) -> None:
    path = share_pictures.OUT / f"{page.rpartition('/')[2]}.png"
    assert path.is_file(), MAKE
    with Image.open(path) as image:
        image.load()
        assert image.size == share_pictures.SIZE and len(image.convert("L").getcolors() or ()) > 10
        assert image.info["Title"] == heading(page), MAKE
    assert path.stat().st_size < 60_000


@pytest.mark.parametrize("page", share_pictures.pages())
def test_a_picture_shows_the_hero_of_today(page: str, site_folder: Path) -> None:
    with Image.open(share_pictures.OUT / f"{page.rpartition('/')[2]}.png") as image:
        assert image.info["Source"] == share_pictures.told(share_pictures.card(page, site_folder)[1]), MAKE


def test_no_picture_is_left_of_a_page_that_is_gone() -> None:
    names = {page.rpartition("/")[2] for page in share_pictures.pages()}
    assert {path.stem for path in share_pictures.OUT.glob("*.png")} == names and len(names) == 15


def test_the_command_refuses_a_page_without_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert share_pictures.main(["glossary"]) == 2
    assert "'glossary' has no picture; expected one of index, " in capsys.readouterr().err
