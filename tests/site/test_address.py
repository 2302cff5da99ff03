"""The state of an interactive in the address of a page of the site; of every interactive: test_every_interactive.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.lessons.test_every_interactive import SAID
from tests.site.html_pages import page_of
from tests.site.opening import open_without_mathematics
from tests.tabs import Tabs

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


def test_a_link_shows_its_state_and_a_wrong_one_is_refused_softly(opened: Callable[[str], Any]) -> None:
    address = page_of("training_film")
    said = opened(address).locator("[data-course-widget=training_film]").evaluate(SAID)
    linked = opened(f"{address}#w=training_film&moment=3").locator("[data-course-widget=training_film]")
    assert linked.evaluate(SAID) != said
    moments = ("moment=999", "moment=x", "moment=1e999")
    for wrong in (*moments, "model=nothing", "no_such=1", "person=%5B1%5D", "film=%7B%7D"):
        page = opened(f"{address}#w=training_film&{wrong}")
        root = page.locator("[data-course-widget=training_film]")
        assert root.get_attribute("data-course-widget-ready") == "true" and root.evaluate(SAID) == said, wrong
        assert "do not fit" in root.locator(".cw-note").first.inner_text(), wrong


def test_an_anchor_is_left_alone(opened: Callable[[str], Any]) -> None:
    page = opened(f"{page_of('training_film')}#exercises")
    assert page.evaluate("location.hash") == "#exercises"
