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
ASKED = {"interactive", "code", "quiz", "remember"}


def test_every_chapter_has_a_deck_and_every_deck_a_chapter() -> None:
    assert decks.names() == CHAPTERS


@pytest.mark.parametrize("name", CHAPTERS)
def test_its_sources_hold_all_that_a_deck_names_and_quotes(name: str) -> None:
    assert sources.missing(decks.read(name)) == []


# the first words that a deck still quoted after its page had changed
@pytest.mark.parametrize(
    ("name", "stale"),
    [
        ("first-model", "A film that has a hundred ratings"),
        ("gauge-freedom", "If you double the person's number"),
        ("ddc", "If it is positive, it raises"),
    ],
)
def test_a_sentence_that_the_page_no_longer_has_is_found_out(name: str, stale: str) -> None:
    deck = decks.read(name)
    slide = replace(deck.second[0], show=({"steps": [stale]},))
    [said] = sources.missing(replace(deck, first=(), second=(slide,)))
    assert said.startswith(f"{name}.yml: second, slide 1: ") and f"no sentence begins with {stale!r}" in said


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
