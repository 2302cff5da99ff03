"""The state of an interactive in the address: a link shows the same picture, and a wrong link is refused softly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from course_lib.checking import some
from course_lib.lessons.shared.widgets import bundle
from tests.site.html_pages import page_of
from tests.site.opening import open_without_mathematics
from tests.tabs import Tabs

INTERACTIVES = [name for name in bundle.interactives() if name != "quiz"]
CHANGE = """root => {
  for (const slider of root.querySelectorAll("input[type=range]:not(:disabled)")) {
    const step = Number(slider.step) || 1;
    slider.value = Number(slider.value) + step > Number(slider.max) ? slider.min : Number(slider.value) + step;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }
  root.querySelector("input[type=radio]:not(:checked):not(:disabled), button[aria-pressed=false]")?.click();
}"""
SAID = """root => [...root.querySelectorAll(".cw-summary, [aria-valuetext]")]
  .map(one => one.textContent + (one.getAttribute("aria-valuetext") ?? ""))
  .filter(text => !text.endsWith("by popularity"))"""  # the item that a pointer looks at is no part of the state

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def opened(tabs: Tabs, site: str) -> Iterator[Callable[[str], Any]]:
    """Opens an address of the site."""
    tab = tabs.take(1280, 900)

    def open_page(address: str) -> Any:
        tab.page.goto("about:blank")
        open_without_mathematics(tab.page, f"{site}/{address}")
        return tab.page

    yield open_page
    tabs.give_back(tab)
    assert tab.thrown == []


@pytest.mark.parametrize("name", some(INTERACTIVES))
def test_a_link_shows_the_same_picture(name: str, opened: Callable[[str], Any]) -> None:
    page = opened(page_of(name))
    root = page.locator(f"[data-course-widget={name}]").first
    before = root.evaluate(SAID)
    root.evaluate(CHANGE)
    page.wait_for_function("() => location.hash.startsWith('#w=')")
    page.wait_for_timeout(700)  # what was changed last is written, and said
    address, shown = page.evaluate("location.hash"), root.evaluate(SAID)
    assert shown != before
    page = opened(page_of(name) + address)
    again = page.locator(f"[data-course-widget={name}]").first
    assert again.evaluate(SAID) == shown
    assert page.locator("[data-course-widget-ready=failed]").count() == 0


@pytest.mark.parametrize(
    "wrong", ["model=nothing", "moment=999", "moment=x", "no_such=1", "person=%5B1%5D", "moment=1e999", "film=%7B%7D"]
)
def test_a_wrong_link_is_refused_softly(wrong: str, opened: Callable[[str], Any]) -> None:
    address = page_of("training_film")
    said = opened(address).locator("[data-course-widget=training_film]").evaluate(SAID)
    page = opened(f"{address}#w=training_film&{wrong}")
    root = page.locator("[data-course-widget=training_film]")
    assert root.get_attribute("data-course-widget-ready") == "true" and root.evaluate(SAID) == said
    assert "do not fit" in root.locator(".cw-note").first.inner_text()


def test_an_anchor_is_left_alone(opened: Callable[[str], Any]) -> None:
    page = opened(f"{page_of('training_film')}#exercises")
    assert page.evaluate("location.hash") == "#exercises"
