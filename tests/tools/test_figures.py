"""A figure's colours on a dark page, and its four files on a page."""

from __future__ import annotations

import re

import numpy as np
import pytest

from course_lib.lessons.shared import house
from tests.colours import contrast
from tools import drawing, figures

DRAWN = '<svg width="90pt" viewBox="0 0 90 60"><path style="fill: #1a2230; stroke: #ffffff"/></svg>'
BOTH = DRAWN.replace("</svg>", f"{drawing.BEGIN}{DRAWN.replace('90', '45')}{drawing.END}</svg>")


def test_oklab_and_back() -> None:
    colors = np.random.default_rng(0).random((50, 3))
    assert np.allclose(figures.from_lab(figures.to_lab(colors)), colors, atol=1e-6)
    assert np.allclose(figures.to_lab(np.ones(3)), [1, 0, 0], atol=1e-6)


def test_the_accents_are_those_of_the_interactives() -> None:
    assert figures.dark_color(house.PULL) == "#8cc8ff" and figures.dark_color(house.PUSH) == "#ffb27a"
    named = {house.INK, house.SOFT, house.PULL, house.PULL_TINT, house.PUSH, house.PUSH_FILL, house.WRONG}
    assert named <= set(figures.pairs())


def test_white_becomes_the_page() -> None:
    assert figures.dark_color("#ffffff") == figures.pairs()["#ffffff"]
    turned = figures.written(figures.turned_over(figures.rgb("#ffffff")))
    assert contrast(turned, figures.pairs()["#ffffff"]) < 1.05


@pytest.mark.parametrize("color", sorted({look[1] for look in house.SERIES.values()} | {house.PULL, house.PUSH}))
def test_a_series_can_be_seen_on_both_pages(color: str) -> None:
    """Three to one, which WCAG 2.2 asks of graphics (1.4.11)."""
    dark = figures.dark_color(color)
    assert contrast(dark, figures.pairs()["#ffffff"]) >= 3
    hue = [np.arctan2(*figures.to_lab(figures.rgb(one))[:0:-1]) for one in (color, dark)]
    chroma = np.hypot(*figures.to_lab(figures.rgb(color))[1:])
    assert chroma < 0.04 or abs(np.angle(np.exp(1j * (hue[0] - hue[1])))) < 0.35


def test_a_figure_has_four_files() -> None:
    files = figures.drawings(BOTH)
    assert set(files) == {"", "-dark", "-phone", "-phone-dark"}
    assert "#ffffff" not in files["-dark"] and 'viewBox="0 0 45' in files["-phone"]
    assert drawing.BEGIN not in "".join(files.values())


def test_a_page_names_all_four_and_loads_the_hidden_ones_late() -> None:
    place = figures.PLACE.search('<img alt="A &lt; B" src="../_images/abc.svg" />')
    assert place is not None
    html = figures.shown(place, BOTH)
    assert re.findall(r'(?:src|srcset)="([^"]*)"', html) == [
        "../_images/abc-phone.svg",
        "../_images/abc.svg",
        "../_images/abc-phone-dark.svg",
        "../_images/abc-dark.svg",
    ]
    assert html.count('alt="A &lt; B"') == html.count('loading="lazy"') == 2
    assert 'width="120" height="80"' in html


@pytest.mark.parametrize(("letters", "beside"), [(100, True), (2000, False)])
def test_a_caption_that_is_not_longer_than_its_figure_stands_in_the_margin(letters: int, beside: bool) -> None:
    picture = '<picture class="drawn-for-light"><img src="a.svg" width="600" height="300"></picture>'
    page = f'<figure class="align-default" id="a">{picture}<figcaption><p>{"x" * letters}</p></figcaption></figure>'
    assert ("margin-caption" in figures.FIGURE.sub(figures._beside, page)) == beside
