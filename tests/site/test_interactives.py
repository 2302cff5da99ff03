"""The interactives on the static page, without a kernel:
they mount, answer to the keyboard, and do without JavaScript.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from drafts import one_quickly

from tests.site.html_pages import CHAPTERS, ONE_QUICKLY, find_pages, read_page
from tests.site.opening import open_without_mathematics

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
WITH_WIDGETS = [
    path.relative_to(SITE).as_posix()
    for path in find_pages(SITE)
    if "data-course-widget=" in path.read_text("utf-8")  # to read all pages takes seconds
]
FOLDED = [
    path.relative_to(SITE).as_posix()
    for path in find_pages(SITE)
    if 'class="dropdown admonition"' in path.read_text("utf-8")
]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_chapter_has_an_interactive_and_a_quiz(site_folder: Path, name: str) -> None:
    assert name in WITH_WIDGETS
    modules = read_page(site_folder / name).widgets
    assert "quiz" in modules and set(modules) - {"quiz"}


@pytest.fixture(scope="module", params=ONE_QUICKLY)
def chapter(request: pytest.FixtureRequest, browser: Any, site: str) -> Iterator[Any]:
    """The page of a chapter, opened once for the tests that press keys on it; no script may fail meanwhile."""
    page, errors = browser.new_page(viewport={"width": 1280, "height": 900}), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_without_mathematics(page, f"{site}/{request.param}")
    yield page
    page.close()
    assert errors == []


def test_every_control_can_be_reached_by_tab_and_shows_where_the_focus_is(chapter: Any) -> None:
    """And a slider answers to the arrow keys on the site, too: of each of them, see test_every_interactive.py."""
    page = chapter
    widget = page.locator("[data-course-widget]:not([data-course-widget=quiz])").first
    widget.scroll_into_view_if_needed()
    widget.evaluate("(box) => box.querySelectorAll('details').forEach((one) => { one.open = true; })")
    slider = widget.locator("input[type=range]:enabled").first
    before = slider.input_value()
    slider.press("ArrowLeft" if before == slider.get_attribute("max") else "ArrowRight")
    assert slider.input_value() != before
    controls = widget.locator("button:enabled, select:enabled, input:enabled, summary, [tabindex='0']")
    controls.first.focus()
    seen = 0
    for _ in range(controls.count() + 20):
        inside = page.evaluate("document.activeElement.closest('[data-course-widget]') !== null")
        if not inside:
            break
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        seen += 1
        page.keyboard.press("Tab")
    assert seen >= 4, "the keyboard must walk through the interactive"
    assert not page.evaluate("document.activeElement.closest('[data-course-widget]') !== null"), "and out of it"


def test_the_theme_can_be_changed_by_keyboard_and_stays(page, site: str) -> None:
    open_without_mathematics(page, f"{site}/book/index.html")
    before = page.evaluate("document.documentElement.dataset.theme")
    page.locator(".theme-switch-button").first.focus()
    for _ in range(3):  # light, dark, as the system wants it
        page.keyboard.press("Enter")
        if page.evaluate("document.documentElement.dataset.theme") != before:
            break
    after = page.evaluate("document.documentElement.dataset.theme")
    assert after != before
    open_without_mathematics(page, f"{site}/book/start/notation.html")
    assert page.evaluate("document.documentElement.dataset.theme") == after


@pytest.mark.parametrize("name", one_quickly(FOLDED))
def test_a_folded_box_opens_by_keyboard(page, site: str, name: str) -> None:
    open_without_mathematics(page, f"{site}/{name}")
    title = page.locator("article .admonition.dropdown > .admonition-title").first
    box = title.locator("xpath=..")
    assert "toggle-hidden" in box.get_attribute("class")
    title.locator("button").focus()
    page.keyboard.press("Enter")
    assert "toggle-hidden" not in box.get_attribute("class")
