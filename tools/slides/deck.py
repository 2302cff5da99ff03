"""Reads the file of a deck, exercises/<chapter>/slides.yml, and refuses what a deck may not hold.

first:                              # the first session of 50 minutes; `second` is the other
  - title: "Cosines are not safe"   # markup of quizzes: *emphasis*, `code`, $maths$; no figures in digits
    minutes: 4
    show: [question, {figure: fig-a}]          # pieces of the page, see KINDS
    beside: true                               # the first piece on the left, the others on the right
    say: "What to say."
    wrong:                                     # what students get wrong: of the guide, of the quiz, or in own words
      - "guide: The missing inverse"           # the pitfall that begins with these words
      - "quiz: what-changes/score"             # the misconception behind this answer
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from course_lib.lessons.shared import quiz, schema

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "exercises"
SESSION = 50  # minutes
# What a slide can show -> what is said of it: nothing, one name, or several.
KINDS: dict[str, type | None] = {
    "cover": None,  # chapter, title, what one learns
    "question": None,  # "Guess first", the box of the page
    "interactive": None,  # of the page, alive
    "still": None,  # its picture
    "moment": str,  # its picture in another state: "model: corrected, moment: 8"
    "remember": None,  # "What to remember", point by point
    "assignment": None,  # its tasks, and the exercises that the guide hands out
    "statement": str,  # label of a theorem, lemma, definition
    "proof": str,  # label of a statement: its proof, sentence by sentence
    "exercise": str,  # label
    "figure": str,  # name
    "table": str,  # anchor of the section that holds it
    "vote": str,  # the same, its last column uncovered row by row
    "tally": str,  # the same, its first and last column only
    "quiz": str,  # question of the quiz; its answer comes later
    "output": str,  # what the code prints that defines this name
    "code": list,  # names that a visible cell defines, or beginnings of its lines
    "words": list,  # beginnings of sentences, or labels of formulas
    "steps": list,  # the same, one after the other
}
SAID: dict[type | None, str] = {None: "nothing", str: "a name", list: "a list of names"}


class DeckError(ValueError):
    """The file of a deck breaks a rule; the message names the file, the slide, and what was expected."""


class Piece(NamedTuple):
    """One thing on a slide: its kind, and what is said of it (no name, one, or several)."""

    kind: str
    names: tuple[str, ...]


Text = Annotated[str, Meta(pattern=r"\S")]  # with a word in it


class Slide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One slide with its notes."""

    minutes: Annotated[int, Meta(ge=1)]
    show: Annotated[tuple[Any, ...], Meta(min_length=1)]
    say: Text
    title: str = ""
    wrong: tuple[Text, ...] = ()
    beside: bool = False

    @property
    def pieces(self) -> list[Piece]:
        """What it shows."""
        return [_piece(row) for row in self.show]


class Deck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The slides of a chapter; `name` is that of its page."""

    first: tuple[Slide, ...]
    second: tuple[Slide, ...]
    name: str = ""

    @property
    def slides(self) -> tuple[Slide, ...]:
        """Of both sessions."""
        return self.first + self.second


def names(folder: Path = FOLDER) -> list[str]:
    """The chapters that have a deck."""
    return sorted(path.parent.name.replace("_", "-") for path in folder.glob("*/slides.yml"))


def read(name: str, folder: Path = FOLDER) -> Deck:
    """The deck of a chapter. Raises DeckError with file and slide for what a deck may not hold."""
    path = folder / name.replace("-", "_") / "slides.yml"
    if not path.is_file():
        raise DeckError(f"{name!r} has no deck; expected one of {', '.join(names(folder))}")
    try:
        deck = msgspec.convert(schema.load(path, error=DeckError), Deck)
    except msgspec.ValidationError as problem:
        raise DeckError(f"{name}.yml: {str(problem).replace('$.', '')}") from None
    for session, slides in (("first", deck.first), ("second", deck.second)):
        for number, slide in enumerate(slides, 1):
            _check_slide(slide, f"{name}.yml: {session}, slide {number}")
        if (minutes := sum(slide.minutes for slide in slides)) > SESSION:
            raise DeckError(f"{name}.yml: {session} takes {minutes} minutes; expected at most {SESSION}")
    return msgspec.structs.replace(deck, name=name)


def _check_slide(slide: Slide, where: str) -> None:
    for one in slide.show:
        _check_piece(one, where)
    for text in [one for one in (slide.title, slide.say, *slide.wrong) if not re.match(r"(guide|quiz): ", one)]:
        try:
            quiz.pieces(text)
        except ValueError as problem:
            raise DeckError(f"{where}: {problem}") from None
        if re.search(r"\d", re.sub(r"\$[^$]*\$|`[^`]*`", "", text)):
            raise DeckError(f"{where}: {text[:60]!r} holds a digit; expected numbers from the page only")


def _check_piece(row: Any, where: str) -> None:
    kind, said = next(iter(row.items())) if isinstance(row, dict) and len(row) == 1 else (row, None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise DeckError(f"{where}: show holds {row!r}; expected one of {', '.join(KINDS)}")
    names = said if isinstance(said, list) else [said] if KINDS[kind] else ["nothing"]
    if not isinstance(said, KINDS[kind] or type(None)) or not names or not all(isinstance(n, str) and n for n in names):
        raise DeckError(f"{where}: {kind} is {said!r}; expected {SAID[KINDS[kind]]}")


def _piece(row: str | dict[str, Any]) -> Piece:
    if isinstance(row, str):
        return Piece(row, ())
    [(kind, said)] = row.items()
    return Piece(kind, (said,) if isinstance(said, str) else tuple(said))
