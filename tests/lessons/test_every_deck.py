"""Every chapter has a deck for two sessions, and all that the deck names exists.

What it looks like: tests/site/test_slides.py.
"""

from pathlib import Path

import pytest
from drafts import DRAFTS, FIRST, PART, main_pages

from tools import toc
from tools.slides import deck as decks
from tools.slides import write
from tools.slides.pages import Chapter

CHAPTERS = sorted([PART, *(path.stem for path in (FIRST, *main_pages()))])
ASKED = {"interactive", "code", "quiz", "remember"}
PICTURES = {"cover", "interactive", "still", "moment", "figure"}  # a cover shows the hero of its chapter
SEEN = PICTURES | {"table", "vote", "tally"}
UNTITLED = {"cover", *write.HEADS}
RUN = 5  # slides one after the other without a picture or a table


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
def test_no_slide_is_a_bare_title_and_one_in_three_has_a_picture_or_a_table(name: str) -> None:
    slides = decks.read(name).slides
    shown = [sum(piece.kind in PICTURES for piece in slide.pieces) for slide in slides]
    bare = "".join(" " if {piece.kind for piece in slide.pieces} & SEEN else "." for slide in slides)
    assert all(slide.pieces for slide in slides) and all(
        slide.title or slide.pieces[0].kind in UNTITLED for slide in slides
    )
    assert 3 * bare.count(" ") >= len(slides) and max(map(len, bare.split())) <= RUN, bare
    assert max(shown) == 1
