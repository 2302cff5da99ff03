"""A finger on a phone: it moves points and sliders all the way while the page stays, and beside them it scrolls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from drafts import one_quickly

from course_lib.checking import some
from course_lib.lessons.shared.widgets import bundle
from tests.site.html_pages import WITH_INTERACTIVES, page_of
from tests.site.opening import open_without_mathematics
from tests.tabs import Tabs

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
DRAGGED = {  # interactive with points that can be dragged -> how many they are
    "cosine_motion": 2,
    "stretched_axes": 6,
    "two_scalars": 1,
}
FAR = 60  # px; Chromium takes a finger that moved 15 px for one that scrolls
HANDLE = ".cw-handle .cw-touch"
VALUE = "handle => handle.parentNode.getAttribute('aria-valuetext')"
ON_A_HANDLE = "([x, y]) => document.elementFromPoint(x, y).closest('.cw-handle') !== null"

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def phone(tabs: Tabs, site: str) -> Iterator[Callable[[str], Any]]:
    """Opens a page of the site on a phone."""
    tab = tabs.take(390, 844, has_touch=True, is_mobile=True)

    def open_page(name: str) -> Any:
        open_without_mathematics(tab.page, f"{site}/{name}")
        shut = "details:is(.cw-folded, .cw-everything)"
        tab.page.evaluate(f"document.querySelectorAll('{shut}').forEach((one) => {{ one.open = true; }})")
        return tab.page

    yield open_page
    tabs.give_back(tab)
    assert tab.thrown == []


class Finger:
    """Touches a page as a finger does: with events of the browser, not of a script."""

    def __init__(self, page: Any) -> None:
        self.page, self.session = page, page.context.new_cdp_session(page)

    def _send(self, kind: str, *points: tuple[float, float]) -> None:
        found = [{"x": x, "y": y} for x, y in points]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": found})

    def slide(self, start: tuple[float, float], by: tuple[float, float], steps: int = 12) -> tuple[float, float]:
        """Put it down and move it in small steps, without lifting it; returns where it ends."""
        places = [(start[0] + by[0] * k / steps, start[1] + by[1] * k / steps) for k in range(steps + 1)]
        self._send("touchStart", places[0])
        for place in places[1:]:
            self._send("touchMove", place)
            self.page.wait_for_timeout(16)
        return places[-1]

    def lift(self) -> None:
        self._send("touchEnd")
        self.page.wait_for_timeout(100)


def centre(locator: Any) -> tuple[float, float]:
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def in_the_middle(locator: Any) -> Any:
    locator.evaluate("one => one.scrollIntoView({ block: 'center', behavior: 'instant' })")
    locator.page.wait_for_timeout(100)
    return locator


def test_these_are_all_the_pages_with_points_to_drag() -> None:
    found = {
        path.relative_to(SITE).as_posix()
        for path in (SITE / "book").rglob("*.html")
        if "cw-handle" in path.read_text(encoding="utf-8")
    }
    shut = page_of("cosine_motion")  # its points lie behind the button of its hero, which a page does not write
    assert found == set(map(page_of, some(list(DRAGGED)))) - {shut}
    assert [name for name, text in bundle.sources().items() if "pointermove" in text] == ["motion_plane"]


@pytest.mark.parametrize("name", one_quickly(list(DRAGGED)))
def test_a_finger_drags_every_point_all_the_way_and_the_page_stays(name: str, phone: Callable[[str], Any]) -> None:
    page = phone(page_of(name))
    handles = page.locator(f"[data-course-widget={name}] {HANDLE}")
    assert handles.count() == DRAGGED[name]
    finger = Finger(page)
    for handle in handles.all():
        start = centre(in_the_middle(handle))
        picture = handle.locator("xpath=ancestor::*[name()='svg'][1]")
        middle, value = centre(picture), handle.evaluate(VALUE)
        end = finger.slide(start, (10, FAR if start[1] < middle[1] else -FAR))
        assert math.dist(centre(handle), end) < 2, "the point is under the finger"
        finger.lift()
        # The picture's place on the screen, not scrollY: a font that arrives late above it moves the latter alone.
        assert handle.evaluate(VALUE) != value and math.dist(centre(picture), middle) < 2


@pytest.mark.parametrize("name", one_quickly(list(DRAGGED)))
def test_a_finger_beside_the_points_scrolls(name: str, phone: Callable[[str], Any]) -> None:
    page = phone(page_of(name))
    picture = page.locator(f"[data-course-widget={name}] svg:has(.cw-handle)")
    box = in_the_middle(picture).bounding_box()
    handles, finger = page.locator(HANDLE), Finger(page)
    before, scroll = [handle.evaluate(VALUE) for handle in handles.all()], page.evaluate("scrollY")
    corners = [(box["x"] + part * box["width"], box["y"] + 0.9 * box["height"]) for part in (0.1, 0.9)]
    assert not any(page.evaluate(ON_A_HANDLE, list(corner)) for corner in corners)
    for k, corner in enumerate(corners, start=1):
        finger.slide(corner, (0, -FAR))
        finger.lift()
        assert page.evaluate("scrollY") > scroll + k * FAR / 2
    assert [handle.evaluate(VALUE) for handle in handles.all()] == before


@pytest.mark.parametrize("name", one_quickly(WITH_INTERACTIVES))
def test_a_finger_moves_a_slider_of_every_interactive(name: str, phone: Callable[[str], Any]) -> None:
    page = phone(name)
    finger = Finger(page)
    widgets = page.locator("[data-course-widget]:not([data-course-widget=quiz])").all()
    for widget in widgets:
        slider = in_the_middle(widget.locator("input[type=range]:enabled").first)
        box = slider.bounding_box()
        low, high = (float(slider.get_attribute(end)) for end in ("min", "max"))
        for part in (0.2, 0.8):
            middle = box["y"] + box["height"] / 2
            finger.slide((box["x"] + box["width"] / 2, middle), ((part - 0.5) * box["width"], 0))
            finger.lift()
            assert abs((float(slider.input_value()) - low) / (high - low) - part) < 0.15
        assert abs(slider.bounding_box()["y"] - box["y"]) < 2, "the page stays"
    assert widgets
