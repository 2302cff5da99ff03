"""Every chapter has a deck for two sessions, and all that the deck names exists.

What it looks like: tests/site/test_slides.py.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from drafts import DRAFTS, FIRST, main_pages

from tools.slides import deck as decks
from tools.slides import sources

CHAPTERS = sorted(path.stem for path in (FIRST, *main_pages()))
STALE = (  # first words that decks still quoted after the pages had changed
    "A film that has a hundred ratings",
    "If you double the person's number",
    "If it is positive, it raises",
)
ASKED = {"interactive", "code", "quiz", "remember"}


def test_every_chapter_has_a_deck_and_every_deck_a_chapter() -> None:
    assert decks.names() == CHAPTERS


@pytest.mark.parametrize("name", CHAPTERS)
def test_its_sources_hold_all_that_a_deck_names_and_quotes(name: str) -> None:
    assert sources.missing(decks.read(name)) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_sentence_that_no_page_of_the_chapter_has_is_found_out(name: str) -> None:
    deck = decks.read(name)
    pieces = [piece for slide in deck.slides for piece in slide.pieces if piece.kind in ("words", "steps")]
    stale = [*STALE, *(f"{start} as nobody wrote" for piece in pieces for start in piece.names)]
    slides = tuple(replace(deck.slides[0], show=({"steps": [start]},), wrong=()) for start in stale)
    found = sources.missing(replace(deck, first=(), second=slides))
    assert len(found) == len(stale) >= len(STALE)  # a deck of a draft quotes no sentence yet
    assert all(f"no sentence begins with {start!r}" in said for start, said in zip(stale, found, strict=True))
    assert found[0].startswith(f"{name}.yml: second, slide 1: ")


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
