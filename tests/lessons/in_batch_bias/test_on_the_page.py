"""The interactive on the built page of the chapter answers to the keyboard."""

from __future__ import annotations

import pytest

CHAPTER = "book/sampling/in-batch-bias.html"

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def widget(page, site: str):
    """The first interactive of the chapter, mounted."""
    page.goto(f"{site}/{CHAPTER}", wait_until="networkidle")
    widget = page.locator("[data-course-widget]").first
    widget.scroll_into_view_if_needed()
    assert widget.get_attribute("data-course-widget-ready") == "true"
    return widget


def test_a_label_answers_to_the_space_bar_and_the_text_follows(widget) -> None:
    cell = widget.locator("[aria-pressed]:not(.cw-chip)").first
    pressed, summary = cell.get_attribute("aria-pressed"), widget.locator(".cw-summary").inner_text()
    cell.focus()
    widget.page.keyboard.press("Space")
    widget.page.wait_for_function("before => document.querySelector('.cw-summary').innerText !== before", arg=summary)
    assert widget.locator("[aria-pressed]:not(.cw-chip)").first.get_attribute("aria-pressed") != pressed


def test_the_batch_size_answers_to_the_arrow_keys_and_the_weights_follow(widget) -> None:
    slider = widget.locator("input[type=range]").first
    before, summary = int(slider.input_value()), widget.locator(".cw-summary").inner_text()
    key = "ArrowRight" if before < int(slider.get_attribute("max")) else "ArrowLeft"
    slider.focus()
    widget.page.keyboard.press(key)
    widget.page.wait_for_function("before => document.querySelector('.cw-summary').innerText !== before", arg=summary)
    assert int(slider.input_value()) == before + (1 if key == "ArrowRight" else -1)


def test_the_loss_answers_to_the_keyboard(widget) -> None:
    choice, summary = widget.locator("select").first, widget.locator(".cw-summary").inner_text()
    kind = choice.input_value()
    choice.focus()
    widget.page.keyboard.press("ArrowDown")
    widget.page.wait_for_function("before => document.querySelector('.cw-summary').innerText !== before", arg=summary)
    assert choice.input_value() != kind
