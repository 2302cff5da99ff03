"""The report's page in a browser: axe, no request, no sideways scrolling on a phone, dark, light and print."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import widget_pages
from audit import planted, planted_changes


@pytest.fixture(scope="module", params=["one model", "two snapshots"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    one, two = planted.report, planted_changes.PLANTS["centre-moved"]
    report = one("popularity-direction", 0) if request.param == "one model" else two(0, 2).audited(0)
    path.write_text(report.html(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module", params=["light", "dark"])
def opened(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[tuple[Any, list[str], list[str]]]:
    """The page, 360 px wide, every address that it asked for, and axe's rules: all, or in the dark those of colours."""
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=request.param)
    asked: list[str] = []
    page.on("request", lambda call: asked.append(call.url))
    page.goto(address)
    yield page, asked, ["color-contrast"] * (request.param == "dark")
    page.close()


def test_the_page_stands_alone_and_fits_a_phone(opened: tuple[Any, list[str], list[str]], address: str) -> None:
    page, asked, rules = opened
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    assert asked == [address]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert widget_pages.serious_violations(page, *rules) == []


def test_drawings_have_the_colours_of_the_page(opened: tuple[Any, list[str], list[str]]) -> None:
    page, *_ = opened
    if not page.locator("figure").count():  # of two snapshots, each number stands in a table
        return
    ink, paper = page.evaluate(
        "[getComputedStyle(document.querySelector('figure svg text')).fill,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    assert ink != paper and {ink, paper} <= {
        "rgb(26, 34, 48)",
        "rgb(255, 255, 255)",
        "rgb(230, 234, 240)",
        "rgb(20, 24, 31)",
    }


def test_print_shows_every_number(opened: tuple[Any, list[str], list[str]]) -> None:
    page, *_ = opened
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = false))")
    page.emulate_media(media="print")
    shown = page.evaluate("[...document.querySelectorAll('details table')].every((each) => each.checkVisibility())")
    assert shown and page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")


def test_a_report_with_an_index_takes_two_screens_before_anything_is_unfolded(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(planted.sample().html(), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    assert 800 < page.evaluate("document.documentElement.scrollHeight") <= 2 * 800
    page.close()
