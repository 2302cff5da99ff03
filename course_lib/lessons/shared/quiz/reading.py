"""Reads quiz files (`course_lib/lessons/<chapter>/quiz.yml`) and refuses what would show a reader a faulty question.

title: The bias of in-batch sampling
questions:
  - id: coefficient                # words joined by -; the function of quiz.py that says which answers are right
    kind: one                      # one right answer, or several
    ask: "How large is $r_i$?"     # markup: *emphasis*, `code`, $maths$
    answers:
      - {id: a, right: true, text: "...", why: "..."}
      - {id: b, right: false, text: "...", misconception: "its name", why: "..."}
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from course_lib.lessons.shared import schema
from course_lib.lessons.shared.quiz.markup import pieces

LESSONS = Path(__file__).resolve().parents[2]
Id = Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Text = Annotated[str, Meta(pattern=r"\S")]  # with a word in it


class QuizError(ValueError):
    """A quiz file breaks a rule. The message names the file, the question, the field, and what was expected."""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the file; the markup of its texts can be read."""

    def __post_init__(self) -> None:
        texts = {name: getattr(self, name) for name in self.__struct_fields__}
        for name, text in texts.items():
            try:
                pieces(text if isinstance(text, str) else "")
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None


class Answer(_Row, frozen=True):
    """One answer to choose. `why` explains why it is right or wrong; a wrong one names the misconception behind it."""

    id: Id
    text: Text
    right: bool
    why: Text
    misconception: Text = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.right and self.misconception:
            raise ValueError("a right answer has no misconception; say in why what makes it right")
        if not self.right and not self.misconception:
            raise ValueError("misconception is missing; name the belief that makes this wrong answer tempting")


class Question(_Row, frozen=True):
    """One question. kind "one" has exactly one right answer, kind "several" any number from one up, and a wrong one."""

    id: Id
    kind: str
    ask: Text
    answers: Annotated[tuple[Answer, ...], Meta(min_length=2, max_length=8)]

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_twice(self.answers)
        if self.kind not in ("one", "several"):
            raise ValueError(f"kind is {self.kind!r}; expected one or several")
        if self.kind == "one" and len(self.right) != 1:
            raise ValueError(f"{len(self.right)} answers are right; kind 'one' expects exactly 1 (or use 'several')")
        if not 1 <= len(self.right) < len(self.answers):
            raise ValueError(
                f"{len(self.right)} of {len(self.answers)} answers are right; expected a right and a wrong one"
            )

    @property
    def right(self) -> frozenset[str]:
        """The ids of the answers that the file marks as right."""
        return frozenset(answer.id for answer in self.answers if answer.right)


class Quiz(_Row, frozen=True):
    """A chapter's quiz; `name` is the chapter's."""

    title: Text
    questions: Annotated[tuple[Question, ...], Meta(min_length=1)]
    name: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_twice(self.questions)


def _refuse_twice(rows: Sequence[Answer] | Sequence[Question]) -> None:
    ids = [row.id for row in rows]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise ValueError(f"id {', '.join(twice)} given twice")


def names() -> list[str]:
    """The quizzes that the course holds."""
    return sorted(path.parent.name.replace("_", "-") for path in LESSONS.glob("*/quiz.yml"))


def load(name: str) -> Quiz:
    """The quiz of a chapter, for example "my-topic". Raises QuizError for an unknown name or a faulty file."""
    if name not in names():
        raise QuizError(f"name is {name!r}; expected one of {', '.join(names())}")
    return read(LESSONS / name.replace("-", "_") / "quiz.yml")


def _chapter_of(path: Path) -> str:
    """The name of the chapter whose quiz a file holds: of its folder, or its own where it lies elsewhere."""
    return path.parent.name.replace("_", "-") if path.name == "quiz.yml" else path.stem


def read(path: Path | str) -> Quiz:
    """The quiz in a file. Raises QuizError with file, question and field for what the schema does not allow."""
    path = Path(path)
    try:
        found = msgspec.convert(schema.load(path, error=QuizError), Quiz)
    except msgspec.ValidationError as problem:
        raise QuizError(f"{path.name}: {str(problem).replace('$.', '')}") from None
    return msgspec.structs.replace(found, name=_chapter_of(path))


def recompute(chapter: str, question: Question) -> dict[str, bool]:
    """What the question's own function says of each answer: {answer id: is it right?}, in the order of the answers.

    The function has the name of the question and lies in the lesson's quiz.py. Raises QuizError where there is none, or
    where it speaks of other answers.
    """
    module, name = f"course_lib.lessons.{chapter.replace('-', '_')}.quiz", question.id.replace("-", "_")
    try:
        verdicts = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise QuizError(f"question {question.id!r}: expected the function {name!r} in {module}: {error}") from None
    expected = [answer.id for answer in question.answers]
    if set(verdicts) != set(expected):
        raise QuizError(f"question {question.id!r}: {module}:{name} speaks of {sorted(verdicts)}; expected {expected}")
    return {answer: bool(verdicts[answer]) for answer in expected}
