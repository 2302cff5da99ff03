"""A link to a statement, a formula, a term or a paper shows what it leads to, by mouse and by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = "book/debiasing/ddc.html"
CARD = ".course-card:not([hidden])"
LINKS = {  # what a link leads to -> a part of its address, words of its card
    "a statement": ("#prop-", "Proposition"),
    "a statement elsewhere": ("ddc-further.html#thm-", "."),
    "a term": ("glossary.html#term-", "."),
    "a claim": ("claims/ddc.html#claim-x12e", "Adding one vector"),
    "a formula": ("#equation-eq-ddc", "("),
    "a paper": ("bibliography.html#", "20"),
}


def opened(browser, address: str, **options):
    """A chapter in a window, typeset; its errors are in `errors`."""
    tab = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
    tab.errors = []
    tab.on("pageerror", lambda error: tab.errors.append(str(error)))
    tab.goto(address, wait_until="load")
    tab.evaluate("() => window.MathJax.startup.promise.then(() => true)")
    tab.evaluate("document.querySelectorAll('article details').forEach((one) => { one.open = true; })")
    return tab


@pytest.fixture(scope="module")
def chapter(browser, site: str):
    tab = opened(browser, f"{site}/{PAGE}")
    yield tab
    assert tab.errors == []
    tab.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("what", LINKS)
def test_the_mouse_rests_on_a_link_to(what: str, chapter) -> None:
    part, words = LINKS[what]
    link = chapter.locator(f'article p a.reference.internal[href*="{part}"]').first
    link.evaluate("(link) => link.closest('[popover]')?.showPopover()")  # behind a mark
    link.hover()
    card = chapter.locator(CARD)
    card.wait_for()
    chapter.wait_for_timeout(300)  # formulas of another page are typeset in the card
    said, box = card.inner_text(), card.bounding_box()
    assert words in said and "\\(" not in said
    middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    assert card.evaluate("(card, at) => card === document.elementFromPoint(...at).closest('.course-card')", middle)
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1280 and box["y"] >= 0
    card.hover()  # the mouse may go over it
    chapter.wait_for_timeout(400)
    assert card.is_visible()
    chapter.keyboard.press("Escape")
    assert not card.is_visible()
    chapter.mouse.move(2, 2)


@pytest.mark.slow
def test_a_link_to_a_whole_page_has_no_card(chapter) -> None:
    chapter.locator('article p a.reference.internal:not([href*="#"])').first.hover()
    chapter.wait_for_timeout(500)
    assert chapter.locator(CARD).count() == 0


@pytest.mark.slow
def test_the_keyboard_brings_a_card_and_takes_nothing_from_it(chapter) -> None:
    link = chapter.locator('article p a.reference.internal[href*="bibliography.html#"]:visible').first
    link.focus()
    chapter.keyboard.press("Shift+Tab")
    chapter.keyboard.press("Tab")
    chapter.locator(CARD).wait_for()
    assert chapter.evaluate("document.querySelector('.course-card').matches(':focus-within')") is False
    chapter.keyboard.press("Tab")
    chapter.wait_for_timeout(600)
    assert link.get_attribute("aria-description")  # which a screen reader says


@pytest.mark.slow
def test_from_a_folder_the_page_shows_its_own(browser, site_folder: Path) -> None:
    tab = opened(browser, (site_folder / PAGE).as_uri())
    tab.locator('article p a.reference.internal[href*="glossary.html#"]').first.hover()
    tab.wait_for_timeout(600)
    assert tab.locator(CARD).count() == 0
    tab.locator('article p a.reference.internal[href*="bibliography.html#"]').first.hover()
    tab.locator(CARD).wait_for()
    assert tab.errors == []
    tab.context.close()
