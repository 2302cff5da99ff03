"""A printed chapter is whole: nothing is cut, nothing is there to press, pictures and answers are there."""

from __future__ import annotations

import pytest

from course_lib import __version__
from tests.site.html_pages import ONE_QUICKLY
from tests.site.opening import open_whole
from tools import address

A4 = {"width": 673, "height": 972}  # px inside margins of 16 mm
CUT = """() => {
  const edge = document.querySelector("article").getBoundingClientRect().right + 2;
  const right = (one) => {
    const { left, width } = one.getBoundingClientRect();
    return left + Math.max(width, one.scrollWidth * (one.currentCSSZoom ?? 1));
  };
  return [...document.querySelectorAll("article :is(pre, table, img, svg, figcaption, mjx-math, p > code)")]
    .filter((one) => one.checkVisibility() && right(one) > edge)
    .map((one) => `${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 80)}`);
}"""
SEEN = (
    "(kind) => [...document.querySelectorAll(kind)].filter((one) => one.checkVisibility()).map((one) => one.innerText)"
)


@pytest.fixture(scope="module", params=ONE_QUICKLY)
def printed(request, browser, site: str):
    """A chapter, read on a dark screen and sent to the printer."""
    context = browser.new_context(viewport=A4, color_scheme="dark")
    page = context.new_page()
    open_whole(page, f"{site}/{request.param}")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    yield page
    context.close()


@pytest.mark.slow
def test_nothing_is_cut(printed) -> None:
    assert printed.evaluate(CUT) == []


@pytest.mark.slow
def test_nothing_is_there_to_press(printed) -> None:
    assert printed.evaluate(SEEN, "body :is(button:not(.cw-cell), input[type=range], nav, .headerlink)") == []


@pytest.mark.slow
def test_paper_is_white(printed) -> None:
    assert printed.evaluate("getComputedStyle(document.querySelector('.cw')).color") == "rgb(26, 34, 48)"
    assert printed.evaluate(SEEN, ".drawn-for-dark") == []


@pytest.mark.slow
def test_the_answers_stand_at_the_end_of_the_quiz(printed) -> None:
    questions = len(printed.evaluate(SEEN, ".cw-question"))
    [key] = printed.evaluate(SEEN, ".cw-on-paper")
    assert questions > 2 and f"Question {questions}\n" in key and key.count(" is right. ") >= questions


@pytest.mark.slow
def test_it_says_what_it_is(printed) -> None:
    [head] = printed.evaluate(SEEN, ".on-paper")
    assert f"Version {__version__}" in head and address.repository() in head and "contributors" in head
