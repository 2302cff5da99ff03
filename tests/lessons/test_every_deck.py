"""Every chapter has a deck for two sessions, and all that the deck names exists.

What it looks like: tests/site/test_slides.py.
"""

from pathlib import Path

import pytest
from drafts import DRAFTS, FIRST, PART, main_pages, one_quickly
from msgspec.structs import replace

from tools import toc
from tools.slides import deck as decks
from tools.slides import write
from tools.slides.pages import Chapter, Missing

CHAPTERS = sorted([PART, *(path.stem for path in (FIRST, *main_pages()))])
STALE = (  # first words that decks still quoted after the pages had changed
    "A film that has a hundred ratings",
    "If you double the person's number",
    "If it is positive, it raises",
)
ASKED = {"interactive", "code", "quiz", "remember"}
PICTURES = {"cover", "interactive", "still", "figure"}  # a cover shows the hero of its chapter
UNTITLED = {"cover", *write.HEADS}
ONE_IN = {FIRST.stem: 5}  # its page has no figure but the interactive; all others: a picture on one slide in three


def test_every_chapter_has_a_deck_and_every_deck_a_chapter() -> None:
    assert decks.names() == CHAPTERS


def chapter(name: str, site: Path) -> Chapter:
    """The built pages of a chapter; skips where the site is older than the chapter."""
    page = toc.page_of(name)
    if not (site / f"{page}.html").is_file():
        pytest.skip(f"{page} is not built: run `make book`")
    return Chapter(page, site)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAPTERS)
def test_its_pages_hold_all_that_a_deck_names_and_quotes(name: str, site_folder: Path) -> None:
    assert write.deck_html(decks.read(name), chapter(name, site_folder))


@pytest.mark.slow
@pytest.mark.parametrize("name", one_quickly(CHAPTERS))
def test_a_sentence_that_no_page_of_the_chapter_has_is_found_out(name: str, site_folder: Path) -> None:
    deck, pages = decks.read(name), chapter(name, site_folder)
    pieces = [piece for slide in deck.slides for piece in slide.pieces if piece.kind in ("words", "steps")]
    for start in (*STALE, *(f"{start} as nobody wrote" for piece in pieces for start in piece.names)):
        slide = replace(deck.slides[0], show=({"steps": [start]},), wrong=())
        with pytest.raises(Missing, match=rf"^{name}\.yml: second, slide 1: .*no sentence begins with") as found:
            write.deck_html(replace(deck, first=(), second=(slide,)), pages)
        assert repr(start) in str(found.value)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_deck_has_what_two_sessions_need(name: str) -> None:
    deck = decks.read(name)
    kinds = [piece.kind for slide in deck.slides for piece in slide.pieces]
    assert set(kinds) >= ASKED and kinds.count("interactive") == 1
    assert kinds[0] == "cover" and kinds[-1] == "assignment"


@pytest.mark.parametrize("name", sorted({*CHAPTERS} - DRAFTS))
def test_a_finished_deck_fills_two_sessions_and_warns_of_mistakes(name: str) -> None:
    deck = decks.read(name)
    assert 12 <= len(deck.slides) <= 22
    for session in (deck.first, deck.second):
        assert 45 <= sum(slide.minutes for slide in session) <= decks.SESSION
    silent = [slide for slide in deck.slides if not slide.wrong and not {"quiz"} & {one.kind for one in slide.pieces}]
    assert {piece.kind for slide in silent for piece in slide.pieces} <= {"cover", "remember"}


@pytest.mark.parametrize("name", sorted({*CHAPTERS} - DRAFTS))
def test_no_slide_is_a_bare_title_and_one_in_three_has_a_picture(name: str) -> None:
    slides = decks.read(name).slides
    shown = [sum(piece.kind in PICTURES for piece in slide.pieces) for slide in slides]
    assert all(slide.pieces for slide in slides) and all(
        slide.title or slide.pieces[0].kind in UNTITLED for slide in slides
    )
    assert sum(map(bool, shown)) >= len(slides) // ONE_IN.get(name, 3)
    assert max(shown) == 1
