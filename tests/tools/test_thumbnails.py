"""The map on the first page has the picture of each chapter, cut to what can be seen so small, and said in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from tools import generated_pages, share_pictures, thumbnails

INDEX = (thumbnails.ROOT / "book" / "index.md").read_text(encoding="utf-8")
MOST = 150_000  # bytes of all pictures together, which come with the page


def pictures() -> list[Tag]:
    return list(BeautifulSoup(generated_pages.fill(INDEX), "html.parser").select(".thumbnail > svg"))


@pytest.mark.seconds
def test_every_chapter_stands_in_the_map_with_its_picture() -> None:
    places = [line.split()[3] for line in INDEX.splitlines() if line.startswith("<!-- fill: thumbnail ")]
    assert [f"book/{place}" for place in places] == share_pictures.pages()[1:]
    drawn = pictures()
    assert len(drawn) == len(places) and sum(len(str(one)) for one in drawn) < MOST
    for one in drawn:
        assert one["role"] == "img" and len(str(one["aria-label"]).split()) > 5
        assert not one.select(thumbnails.WORDS) and len(one.select("path, circle, rect, line")) > 3


def test_a_box_cuts_a_picture() -> None:
    whole, cut = (
        BeautifulSoup(thumbnails.thumbnail("practice/serving", *box), "html.parser").svg
        for box in ((), ("90", "0", "310", "215"))
    )
    assert whole is not None and cut is not None
    assert whole["viewbox"] == "0 0 400 400" and cut["viewbox"] == "90 0 310 215"
    assert whole.decode_contents() == cut.decode_contents()


def test_half_a_box_and_a_page_without_a_picture_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="got '1 2' for practice/serving; expected x, y, width and height"):
        thumbnails.thumbnail("practice/serving", "1", "2")
    empty = tmp_path / "empty.ipynb"
    empty.write_text(json.dumps({"cells": [{"cell_type": "code", "outputs": []}]}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"empty\.ipynb has no picture of an interactive"):
        thumbnails.still(empty)
