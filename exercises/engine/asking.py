"""An exam question is a small function: it draws numbers, asks with them, and finds the answer with course_lib.

    EXAM = Exam("gauge-freedom")

    @EXAM.asks(Kind.CALCULATION, "The gauge that decay picks")
    def decay(rng: Generator) -> Question | None: ...

A question says what was drawn (`given`) and what course_lib makes of it (`found`). In its text «name» stands for a
given number, in its answer for one of either kind; «name:.2f» is written with two decimals. None means: draw again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

T = TypeVar("T")
NUMBER = re.compile(r"«(\w+)(?::([^»]+))?»")
SINGLE = re.compile(r"(?<!\n)\n(?!\n)")
DRAWS = 1000


class Kind(StrEnum):
    """What a question asks for."""

    CALCULATION = "calculate"
    TRUE_OR_FALSE = "true or false"
    PROOF = "prove"
    READING = "read a table"
    REPLY = "reply"


POINTS = {Kind.CALCULATION: 4, Kind.TRUE_OR_FALSE: 3, Kind.PROOF: 6, Kind.READING: 5, Kind.REPLY: 6}
MINUTES_PER_POINT = 2


@dataclass(frozen=True)
class Question:
    """One question as one seed asks it, in Markdown with LaTeX; marks are (points, what for)."""

    text: str
    answer: str
    marks: tuple[tuple[int, str], ...]
    given: dict[str, Any]
    found: dict[str, Any] = field(default_factory=dict)

    def asked(self) -> str:
        """The text with its numbers. KeyError where it names a number that is not given."""
        return filled(self.text, self.given)

    def answered(self) -> str:
        """The model answer with its numbers."""
        return filled(self.answer, self.given | self.found)

    def marking(self) -> list[tuple[int, str]]:
        """The marking scheme with its numbers."""
        return [(points, filled(what, self.given | self.found)) for points, what in self.marks]


class Make(Protocol):
    """Draws the numbers of a question; None asks for another draw."""

    __name__: str

    def __call__(self, rng: Generator, /) -> Question | None: ...


@dataclass(frozen=True)
class Template:
    """A question that a seed has not drawn yet."""

    chapter: str
    name: str
    kind: Kind
    title: str
    make: Make

    @property
    def points(self) -> int:
        """What a full answer earns; in an exam a point takes `MINUTES_PER_POINT`."""
        return POINTS[self.kind]

    def draw(self, seed: str) -> Question:
        """The question of a seed. RuntimeError where no draw suits it."""
        digest = hashlib.sha256(json.dumps([seed, self.chapter, self.name]).encode()).digest()
        rng = np.random.default_rng(list(digest))
        for _ in range(DRAWS):
            question = self.make(rng)
            if question is not None:
                return question
        raise RuntimeError(f"{self.chapter}, {self.name}: none of {DRAWS} draws suits the question")


class Exam:
    """The questions on one chapter, in the order in which they are asked."""

    def __init__(self, chapter: str) -> None:
        self.chapter = chapter
        self.templates: list[Template] = []

    def asks(self, kind: Kind, title: str) -> Callable[[Make], Make]:
        """Makes a question of a function."""

        def added(make: Make) -> Make:
            self.templates.append(Template(self.chapter, make.__name__, kind, title, make))
            return make

        return added


# ---- numbers in words ----


def filled(text: str, numbers: dict[str, Any]) -> str:
    """The text with «name» replaced by the number of that name, a paragraph on a line."""
    text = SINGLE.sub(" ", text)

    def number(match: re.Match[str]) -> str:
        shown = written(numbers[match[1]], match[2] or "")
        if not shown.startswith("| "):  # a table keeps its lines
            shown = SINGLE.sub(" ", shown)
        in_formula = text[: match.start()].replace("$$", "$").count("$") % 2
        return f"${shown}$" if "\\" in shown and "$" not in shown and not in_formula else shown

    return NUMBER.sub(number, text).strip()


def written(value: Any, form: str = "") -> str:
    """A number, a vector (1, 2), or a matrix, as LaTeX; words as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) and isinstance(value[0], (list, tuple, np.ndarray)):
            rows = (" & ".join(written(entry, form) for entry in row) for row in value)
            return r"\begin{pmatrix} " + r" \\ ".join(rows) + r" \end{pmatrix}"
        return "(" + ", ".join(written(entry, form) for entry in value) + ")"
    if form:
        return f"{float(value):{form}}" if form != "+" else f"{'' if value < 0 else '+'}{written(value)}"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{'-' if value < 0 else ''}\\tfrac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    if isinstance(value, (float, np.floating)):
        return f"{float(value) + 0.0:.3g}"
    return str(value)


def judged(truth: bool) -> dict[str, Any]:
    """What is found of a true-or-false question: whether the claim holds, and the verdict in words."""
    return {"truth": truth, "verdict": "True." if truth else "False."}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def rational(value: Any, *, denominator: int = 10_000) -> Any:
    """The small fraction that a float stands for, entry by entry for arrays. ValueError where it is none."""
    if np.ndim(value):
        return [rational(entry, denominator=denominator) for entry in value]
    near = Fraction(float(value)).limit_denominator(denominator)
    if abs(float(near) - float(value)) > 1e-8 * max(1.0, abs(float(value))):
        raise ValueError(f"value: got {value}, expected a fraction with a denominator of at most {denominator}")
    return int(near) if near.denominator == 1 else near


def mixed(rng: Generator, items: Sequence[T]) -> list[T]:
    """The items in a random order."""
    return [items[int(place)] for place in rng.permutation(len(items))]
