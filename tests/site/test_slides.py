"""The decks as a lecturer opens them, from a folder and offline: nothing overflows, and the interactive is alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.slides import deck as decks
from tools.slides import write

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ONE = decks.names()[0]
ALIVE = "[data-course-widget]"
LEAST = 23.5  # px of a slide of 720: --least of deck.css, rounded as a browser does
# What stands outside of its slide, all fragments shown, and the least letter of its text in px of a slide of 720.
LOOK = """() => {
  const scale = Reveal.getScale();
  const inside = (box, edge) => box.left >= edge.left - 1 && box.right <= edge.right + 1
    && box.top >= edge.top - 1 && box.bottom <= edge.bottom + 1;
  const speaks = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const small = "sub, sup, mjx-container, aside"; // of a formula
  const size = (one) => {
    const matrix = one.closest("svg") && one.getScreenCTM();
    return parseFloat(getComputedStyle(one).fontSize) * (matrix ? matrix.a / scale : 1);
  };
  return Reveal.getSlides().map((slide) => {
    Reveal.slide(Reveal.getIndices(slide).h, 0, 99);
    const edge = slide.getBoundingClientRect(), body = slide.querySelector(".body");
    const shown = [...slide.querySelectorAll(".body :not(mjx-container *, [data-course-widget] *), h2")]
      .filter((one) => one.getBoundingClientRect().width);
    const letters = [...slide.querySelectorAll("h2, .body *")].filter((one) => one.getBoundingClientRect().height > 2
      && getComputedStyle(one).visibility !== "hidden" && speaks(one) && !one.closest(small)
      && !one.matches(".piece-cover svg *, .piece-still svg *")); // a still says nothing that must be read
    const pictures = shown.filter((one) => one.matches("img"));
    return {
      slide: Reveal.getIndices(slide).h + 1, width: edge.width / scale, height: edge.height / scale,
      out: shown.filter((one) => !inside(one.getBoundingClientRect(), edge)).map((one) => one.outerHTML.slice(0, 120)),
      cut: body.scrollHeight > body.clientHeight + 1 || body.scrollWidth > body.clientWidth + 1,
      letters: Math.min(99, ...letters.map(size)),
      pictures: Math.min(99, ...pictures.map((one) =>
        14 * Math.min(one.width / one.naturalWidth, one.height / one.naturalHeight))),
    };
  });
}"""


@pytest.fixture(scope="module")
def written(site_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The address of a deck, which is written when it is first asked for."""
    folder = tmp_path_factory.mktemp("slides")

    def address(name: str) -> str:
        if not (folder / f"{name}.html").is_file():
            write.write([name], site_folder, folder)
        return (folder / f"{name}.html").as_uri()

    return address


@pytest.fixture
def shown(browser: Any, written: Callable[[str], str]) -> Iterator[Callable[..., Any]]:
    """Opens a deck at a size, without a network; what it asks of anything but its folder, or throws, fails the test."""
    contexts, faults = [], []

    def show(name: str, width: int = 1280, height: int = 720, query: str = "") -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, offline=True))
        tab = contexts[-1].new_page()
        tab.on(
            "request",
            lambda asked: faults.append(asked.url) if not asked.url.startswith(("file:", "data:", "blob:")) else None,
        )
        tab.on("requestfailed", lambda asked: faults.append(asked.url))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.goto(written(name) + query, wait_until="load")
        tab.wait_for_selector("html[data-deck-ready]", state="attached")
        return tab

    yield show
    for context in contexts:
        context.close()
    assert faults == []


def at(tab: Any) -> tuple[int, int]:
    """(slide, fragment) that stands on the screen."""
    found = tab.evaluate("[Reveal.getIndices().h, Reveal.getIndices().f ?? -1]")
    return found[0], found[1]


def test_the_keyboard_goes_through_slides_and_steps(shown: Callable[..., Any]) -> None:
    tab = shown(ONE)
    assert tab.locator("section.present h1").inner_text() == tab.title()
    tab.keyboard.press("ArrowRight")
    assert at(tab)[0] == 1 and tab.locator("section.present h2").inner_text() == "Guess first"
    steps = tab.locator("section.with-steps").first
    tab.evaluate("(slide) => Reveal.slide(Reveal.getIndices(slide).h)", steps.element_handle())
    before = at(tab)
    tab.keyboard.press("ArrowRight")
    assert at(tab) == (before[0], before[1] + 1) and steps.locator(".fragment.visible").count() == 1
    tab.keyboard.press("t")
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_interactive_is_alive_and_keeps_its_keys(shown: Callable[..., Any]) -> None:
    tab = shown(ONE)
    slide = tab.locator("section.with-interactive")
    tab.evaluate("(slide) => Reveal.slide(Reveal.getIndices(slide).h)", slide.element_handle())
    here = at(tab)[0]
    widget, slider = slide.locator(ALIVE), slide.locator("input[type=range]").first
    assert widget.get_attribute("data-course-widget-ready") == "true"
    value, said = slider.input_value(), widget.locator(".cw-summary").inner_text()
    slider.focus()
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function(
        "([one, said]) => one.innerText !== said", arg=[widget.locator(".cw-summary").element_handle(), said]
    )
    assert slider.input_value() != value and at(tab)[0] == here
    widget.locator("button:enabled").first.focus()
    tab.keyboard.press("Space")
    assert at(tab)[0] == here
    tab.keyboard.press("Escape")
    tab.keyboard.press("ArrowRight")
    assert at(tab)[0] == here + 1
    tab.keyboard.press("ArrowLeft")
    slider.focus()
    tab.keyboard.press("PageDown")  # the key of a presenter in the hand
    assert at(tab)[0] == here + 1


def test_a_drag_hits_what_the_pointer_shows_on_a_large_screen(shown: Callable[..., Any]) -> None:
    tab = shown(ONE, 1920, 1080)
    slide = tab.locator("section.with-interactive")
    tab.evaluate("(slide) => Reveal.slide(Reveal.getIndices(slide).h)", slide.element_handle())
    slider = slide.locator("input[type=range]").first
    box = slider.bounding_box()
    tab.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    assert float(slider.input_value()) == float(slider.get_attribute("max"))


def test_every_slide_has_its_notes_and_the_speaker_sees_them(shown: Callable[..., Any]) -> None:
    tab = shown(ONE)
    notes = tab.locator("section > aside.notes")
    assert notes.count() == len(decks.read(ONE).slides) and all(
        "minutes." in text for text in notes.all_text_contents()
    )
    with tab.expect_popup() as popup:
        tab.keyboard.press("s")
    popup.value.get_by_text(decks.read(ONE).first[0].say[:40]).wait_for()


def test_a_deck_prints_a_page_for_each_slide(shown: Callable[..., Any]) -> None:
    tab = shown(ONE, query="?print-pdf")
    tab.wait_for_selector(".pdf-page")
    assert tab.locator(".pdf-page").count() == len(decks.read(ONE).slides)
    for body in tab.locator(".pdf-page > section > .body").all():
        box = body.bounding_box()
        assert (
            box["x"] >= 40
            and box["width"] >= 1100
            and body.evaluate("(one) => one.scrollHeight <= one.clientHeight + 1")
        )


@pytest.mark.pipeline
@pytest.mark.parametrize("name", decks.names())
def test_no_slide_overflows_and_every_word_can_be_read(name: str, shown: Callable[..., Any]) -> None:
    tab = shown(name)
    for width, height in ((1280, 720), (1920, 1080)):
        tab.set_viewport_size({"width": width, "height": height})
        tab.wait_for_function("(scale) => Math.abs(Reveal.getScale() - scale) < 0.01", arg=height / 720)
        seen = tab.evaluate(LOOK)
        assert len(seen) == len(decks.read(name).slides)
        for slide in seen:
            assert not slide["out"] and not slide["cut"], (name, slide)
            assert (round(slide["width"]), round(slide["height"])) == (1280, 720), (name, slide)
            assert slide["letters"] >= LEAST and slide["pictures"] >= 12, (name, slide)
