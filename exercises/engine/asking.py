"""Exam questions: their words stand in exercises/<chapter>/exam.md, their numbers and answers are found in exam.py.

In exam.md, «name» stands for a number that exam.py gives, «name:.2f» for one with two decimals:

    ## decay (calculate): The gauge that decay picks

    The question, which may name what is given.

    ### answer

    The model answer, which may also name what course_lib finds.

    ### marks

    - 3: what three points are for

    ### case                      a question may have several; their words stand for «claim», «why»
    - claim: The claim of this case.
    - truth: no

In exam.py, a function of the same name draws the numbers and finds the answer with course_lib.

    EXAM = Exam("gauge-freedom")

    @EXAM.asks
    def decay(rng: Generator) -> Numbers:
        ...
        redraw_if(diagonal == 0)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator

from exercises.engine import chapters, inputs

T = TypeVar("T")
NUMBER = re.compile(r"«(\w+)(?::([^»]+))?»")
SINGLE = re.compile(r"(?<!\n)\n(?!\n)")
HEADING = re.compile(r"(?P<name>\w+) \((?P<kind>[a-z ]+)\): (?P<title>.+)")
ITEM = re.compile(r"^- (\w+): (.+?)(?=\n- |\Z)", re.DOTALL | re.MULTILINE)
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
class Case:
    """One of the cases of a question: its place among them, its name where it has one, and its words."""

    number: int
    name: str
    words: dict[str, str]

    @property
    def truth(self) -> bool:
        """Whether its claim holds."""
        return {"yes": True, "no": False}[self.words["truth"]]

    def drawn(self, given: dict[str, Any], found: Mapping[str, Any] | None = None) -> Numbers:
        """The numbers of this case: its place is given, and of a claim it is found whether it holds."""
        verdict = judged(self.truth) if "truth" in self.words else {}
        return Numbers({**given, "case": self.number}, {**verdict, **(found or {})}, self.words)


@dataclass(frozen=True)
class Words:
    """The words of one question, in Markdown with LaTeX; marks are (points, what for)."""

    kind: Kind
    title: str
    text: str
    answer: str
    marks: list[tuple[int, str]]
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Numbers:
    """What was drawn for a question (`given`), what course_lib makes of it (`found`), and the words of its case."""

    given: dict[str, Any]
    found: dict[str, Any] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


Make = Callable[[Generator], Numbers]  # draws the numbers of a question, or asks for another draw


class Redraw(Exception):
    """What was drawn does not suit the question."""


def redraw_if(unlucky: object) -> None:
    """Asks for another draw."""
    if unlucky:
        raise Redraw


@dataclass(frozen=True)
class Template:
    """A question that a seed has not drawn yet."""

    chapter: str
    name: str
    words: Words
    make: Make

    @property
    def kind(self) -> Kind:
        """What it asks for."""
        return self.words.kind

    @property
    def points(self) -> int:
        """What a full answer earns; in an exam a point takes `MINUTES_PER_POINT`."""
        return POINTS[self.kind]

    def draw(self, seed: str) -> Question:
        """The question of a seed. RuntimeError where no draw suits it."""
        rng = inputs.of_words(json.dumps([seed, self.chapter, self.name]))
        for _ in range(DRAWS):
            with suppress(Redraw):
                return Question(**vars(self.make(rng)), template=self)
        raise RuntimeError(f"{self.chapter}, {self.name}: none of {DRAWS} draws suits the question")


@dataclass(frozen=True, kw_only=True)
class Question(Numbers):
    """One question as one seed asks it."""

    template: Template

    def asked(self) -> str:
        """The text with its numbers. KeyError where it names a number that is not given."""
        return self._filled(self.template.words.text, self.given)

    def answered(self) -> str:
        """The model answer with its numbers."""
        return self._filled(self.template.words.answer, self.given | self.found)

    def marking(self) -> list[tuple[int, str]]:
        """The marking scheme with its numbers."""
        numbers = self.given | self.found
        return [(points, self._filled(what, numbers)) for points, what in self.template.words.marks]

    def _filled(self, text: str, numbers: dict[str, Any]) -> str:
        """A text with the words of the case, which name numbers as well, and then with the numbers."""
        return filled(NUMBER.sub(lambda match: self.words.get(match[1], match[0]), text), numbers)


class Exam:
    """The questions on one chapter, in the order in which they are asked."""

    def __init__(self, chapter: str, text: str | None = None) -> None:
        """`text`: what stands in exam.md, which is read without it."""
        self.chapter = chapter
        self.words = read(text or chapters.file(chapter, "exam.md").read_text(encoding="utf-8"))
        self.templates: list[Template] = []

    def asks(self, make: Make) -> Make:
        """Makes a question of a function. KeyError where exam.md has no words for it."""
        if make.__name__ not in self.words:
            raise KeyError(f"{self.chapter}: exam.md has no question {make.__name__!r}, only {', '.join(self.words)}")
        self.templates.append(Template(self.chapter, make.__name__, self.words[make.__name__], make))
        return make

    def cases(self, name: str) -> tuple[Case, ...]:
        """The cases of a question, to pick one."""
        return self.words[name].cases


def read(text: str) -> dict[str, Words]:
    """The words of each question of an exam.md, by name. ValueError for what is not written as it should be."""
    return dict(_question(part) for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:])


def _question(part: str) -> tuple[str, Words]:
    """The name and the words of one question."""
    head, _, rest = part.partition("\n")
    heading = HEADING.fullmatch(head)
    if heading is None:
        raise ValueError(f"exam.md: got the heading {head!r}, expected ## name (kind): Title")
    text, *sections = re.split(r"^### ", rest, flags=re.MULTILINE)
    titles = [section.partition("\n")[0].strip() for section in sections]
    bodies = [section.partition("\n")[2].strip() for section in sections]
    if titles[:2] != ["answer", "marks"] or any(not title.startswith("case") for title in titles[2:]):
        raise ValueError(f"exam.md, {head}: expected ### answer, ### marks and then nothing but ### case")
    answer, marks, *cases = bodies
    points = [(int(number), what) for number, what in _items(marks)]
    named = zip(titles[2:], cases, strict=True)
    every = (Case(place, title[4:].strip(), dict(_items(body))) for place, (title, body) in enumerate(named))
    words = Words(Kind(heading["kind"]), heading["title"], text.strip(), answer, points, tuple(every))
    return heading["name"], words


def _items(body: str) -> list[tuple[str, str]]:
    """The items of a list, `- name: text`, which may go on in indented lines."""
    return [(name, text.replace("\n  ", "\n").strip()) for name, text in ITEM.findall(body)]


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
