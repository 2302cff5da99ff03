"""Reads quiz files (`course_lib/lessons/<chapter>/quiz.yml`) and refuses what would show a reader a faulty question.

title: The bias of in-batch sampling
questions:
  - id: coefficient                # words joined by -
    kind: one                      # one right answer, or several
    ask: "How large is $r_i$?"     # markup: *emphasis*, `code`, $maths$
    computed_by: course_lib.lessons.my_topic.quiz:coefficient   # -> {answer id: is it right?}; or else
    not_computed: "why no computation can settle it"
    answers:
      - {id: a, right: true, text: "...", why: "..."}
      - {id: b, right: false, text: "...", misconception: "its name", why: "..."}
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.lessons.shared import schema
from course_lib.lessons.shared.quiz.markup import pieces

LESSONS = Path(__file__).resolve().parents[2]
KINDS = ("one", "several")
MOST_ANSWERS = 8
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FUNCTION = re.compile(r"course_lib(\.\w+)+:\w+")


class QuizError(ValueError):
    """A quiz file breaks a rule. The message names the file, the question, the field, and what was expected."""


@dataclass(frozen=True)
class Answer:
    """One answer to choose. `why` explains why it is right or wrong; a wrong one names the misconception behind it."""

    id: str
    text: str
    right: bool
    why: str
    misconception: str = ""


@dataclass(frozen=True)
class Question:
    """One question. kind "one" has exactly one right answer, kind "several" any number from one up, and a wrong one."""

    id: str
    kind: str
    ask: str
    answers: tuple[Answer, ...]
    computed_by: str = ""
    not_computed: str = ""

    @property
    def right(self) -> frozenset[str]:
        """The ids of the answers that the file marks as right."""
        return frozenset(answer.id for answer in self.answers if answer.right)


@dataclass(frozen=True)
class Quiz:
    """A chapter's quiz; `name` is the chapter's."""

    name: str
    title: str
    questions: tuple[Question, ...]


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
    data = _row(Quiz, schema.load(path, error=QuizError), path.name, name=_chapter_of(path))
    questions = tuple(_question(row, f"{path.name}: question {n}") for n, row in enumerate(data["questions"], 1))
    if not questions:
        raise QuizError(f"{path.name}: questions is empty; expected at least one")
    schema.refuse_twice([question.id for question in questions], f"{path.name}: questions", error=QuizError)
    return Quiz(**{**data, "questions": questions})


def recompute(question: Question) -> dict[str, bool]:
    """What the question's own function says of each answer: {answer id: is it right?}, in the order of the answers.

    Raises QuizError when the question names no function, the function does not exist, or it speaks of other answers.
    """
    if not question.computed_by:
        raise QuizError(f"question {question.id!r} has no computed_by: {question.not_computed}")
    module, _, name = question.computed_by.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise QuizError(f"question {question.id!r}: computed_by is {question.computed_by!r}: {error}") from None
    verdicts = function()
    expected = [answer.id for answer in question.answers]
    if set(verdicts) != set(expected):
        raise QuizError(
            f"question {question.id!r}: {question.computed_by} speaks of {sorted(verdicts)}; expected {expected}"
        )
    return {name: bool(verdicts[name]) for name in expected}


# ---- the rules


def _question(row: Any, where: str) -> Question:
    where = _named(row, where)
    row = _row(Question, row, where)
    if row["kind"] not in KINDS:
        raise QuizError(f"{where}: kind is {row['kind']!r}; expected one of {', '.join(KINDS)}")
    if bool(row.get("computed_by")) == bool(row.get("not_computed")):
        raise QuizError(f"{where}: expected either computed_by (a function) or not_computed (the reason), and not both")
    if row.get("computed_by") and not _FUNCTION.fullmatch(row["computed_by"]):
        raise QuizError(f"{where}: computed_by is {row['computed_by']!r}; expected course_lib.module:function")
    answers = tuple(_answer(one, f"{where}: answer {n}") for n, one in enumerate(row["answers"], 1))
    if not 2 <= len(answers) <= MOST_ANSWERS:
        raise QuizError(f"{where}: {len(answers)} answers; expected 2 to {MOST_ANSWERS}")
    schema.refuse_twice([answer.id for answer in answers], f"{where}: answers", error=QuizError)
    question = Question(**{**row, "answers": answers})
    if question.kind == "one" and len(question.right) != 1:
        raise QuizError(
            f"{where}: {len(question.right)} answers are right; kind 'one' expects exactly 1 (or use 'several')"
        )
    if not 1 <= len(question.right) < len(answers):
        raise QuizError(
            f"{where}: {len(question.right)} of {len(answers)} answers are right; expected a right and a wrong one"
        )
    return question


def _answer(row: Any, where: str) -> Answer:
    where = _named(row, where)
    row = _row(Answer, row, where)
    if row["right"] and "misconception" in row:
        raise QuizError(f"{where}: a right answer has no misconception; say in why what makes it right")
    if not row["right"] and "misconception" not in row:
        raise QuizError(f"{where}: misconception is missing; name the belief that makes this wrong answer tempting")
    return Answer(**row)


def _named(row: Any, where: str) -> str:
    """The place in the file, with the row's id where it has one."""
    return f"{where} ({row['id']})" if isinstance(row, dict) and row.get("id") else where


def _row(kind: type, data: Any, where: str, **given: str) -> dict[str, Any]:
    """`schema.row`, with an id of the right form and texts whose markup can be read."""
    row = schema.row(kind, data, where, given=given, error=QuizError)
    if "id" in row and not _ID.fullmatch(row["id"]):
        raise QuizError(f"{where}: id is {row['id']!r}; expected lower-case words and digits joined by -")
    for name, value in row.items():
        if isinstance(value, str):
            try:
                pieces(value)
            except ValueError as error:
                raise QuizError(f"{where}: {name}: {error}") from None
    return row
