"""The quiz at the end of a chapter: choose, check, and read why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from course_lib.lessons.shared import quiz
from course_lib.lessons.shared.widgets.base import CourseWidget

LETTERS = "ABCDEFGH"
HINTS = {"one": "Choose one answer.", "several": "Choose all answers that are right."}


class Quiz(CourseWidget):
    """The quiz of a chapter, by the name of its page, for example "my-topic".

    chosen      question id -> list of answer ids; what the reader has chosen so far

    Read, set and observe `chosen`; `score()` counts the questions that it answers rightly. The questions themselves
    do not change. Raises quiz.QuizError for an unknown name and ValueError for answers that the quiz does not have.
    """

    module_name: ClassVar[str] = "quiz"
    frame: ClassVar[str] = "course-widget"

    name = traitlets.Unicode().tag(sync=True, state=True)
    title = traitlets.Unicode().tag(sync=True, state=True)
    questions = traitlets.List(traitlets.Dict()).tag(sync=True, state=True)
    chosen = traitlets.Dict().tag(sync=True, state=True)

    def __init__(self, name: str, *, chosen: Mapping[str, Sequence[str]] | None = None) -> None:
        self._quiz = quiz.load(name)
        questions = [_as_pieces(question) for question in self._quiz.questions]
        super().__init__(name=name, title=self._quiz.title, questions=questions, chosen=dict(chosen or {}))

    def score(self) -> tuple[int, int]:
        """(questions whose chosen answers are exactly the right ones, questions)."""
        right = [frozenset(self.chosen.get(question.id, ())) == question.right for question in self._quiz.questions]
        return sum(right), len(right)

    def summary(self) -> str:
        right, total = self.score()
        return f"{right} of {total} questions answered right."

    def static_body(self) -> str:
        """Every question with its answers; what is right, and why, is folded."""
        questions = "\n".join(_static_question(question) for question in self._quiz.questions)
        return (
            f'<p class="cw-summary">A quiz of {len(self._quiz.questions)} questions. Without JavaScript the answers '
            f"are folded below each question.</p>\n<ol>\n{questions}\n</ol>"
        )

    def __repr__(self) -> str:
        return f"Quiz({self.name!r}, chosen={self.chosen!r})"

    def _repr_mimebundle_(self, **kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
        found = super()._repr_mimebundle_(**kwargs)
        if found is not None:
            found[0]["text/plain"] = _as_text(self._quiz)
        return found

    @traitlets.validate("chosen")
    def _check_chosen(self, proposal: dict[str, Any]) -> dict[str, list[str]]:
        known = {question.id: [answer.id for answer in question.answers] for question in self._quiz.questions}
        chosen = {}
        for name, answers in proposal["value"].items():
            if name not in known:
                raise ValueError(f"chosen names the question {name!r}; expected one of {', '.join(known)}")
            if isinstance(answers, str) or not set(answers) <= set(known[name]):
                raise ValueError(
                    f"chosen[{name!r}] is {answers!r}; expected a list of some of {', '.join(known[name])}"
                )
            chosen[name] = [answer for answer in known[name] if answer in answers]
        return chosen


def _as_pieces(question: quiz.Question) -> dict[str, Any]:
    """What the page needs of a question, its texts as pieces."""
    answers = [
        {
            "id": answer.id,
            "right": answer.right,
            "text": quiz.pieces(answer.text),
            "why": quiz.pieces(answer.why),
            "misconception": quiz.pieces(answer.misconception),
        }
        for answer in question.answers
    ]
    return {"id": question.id, "kind": question.kind, "ask": quiz.pieces(question.ask), "answers": answers}


def _static_question(question: quiz.Question) -> str:
    answers = "".join(f"<li>{quiz.html(answer.text)}</li>" for answer in question.answers)
    return (
        f"<li><p>{quiz.html(question.ask)} <em>{HINTS[question.kind]}</em></p>\n"
        f'<ol type="A">{answers}</ol>\n'
        f"<details><summary>What is right, and why</summary><ul>{_static_reasons(question)}</ul></details></li>"
    )


def _static_reasons(question: quiz.Question) -> str:
    reasons = []
    for letter, answer in zip(LETTERS, question.answers, strict=False):
        verdict = "right" if answer.right else "wrong"
        belief = f" The misconception: <em>{quiz.html(answer.misconception)}.</em>" if answer.misconception else ""
        reasons.append(f"<li><strong>{letter} is {verdict}.</strong>{belief} {quiz.html(answer.why)}</li>")
    return "".join(reasons)


def _as_text(found: quiz.Quiz) -> str:
    """Questions and answers for a terminal, without the solutions."""
    lines = [f"Quiz: {quiz.plain(found.title)}"]
    for number, question in enumerate(found.questions, 1):
        lines += ["", f"{number}. {quiz.plain(question.ask)} {HINTS[question.kind]}"]
        lines += [
            f"   {letter}. {quiz.plain(answer.text)}" for letter, answer in zip(LETTERS, question.answers, strict=False)
        ]
    return "\n".join(lines)
