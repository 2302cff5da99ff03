"""Every quiz: exactly the marked answers are right, and the page explains each wrong one."""

import json
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from drafts import DRAFTS, one_quickly

from course_lib.lessons.shared import quiz
from course_lib.lessons.shared.widgets.quiz import Quiz
from tests.widget_pages import Elements, misfits, serious_violations_in_both_themes
from tools import toc

QUESTIONS = [(name, question) for name in quiz.names() for question in quiz.load(name).questions]


def ids(given: list[tuple[str, quiz.Question]]) -> list[str]:
    return [f"{name}-{question.id}" for name, question in given]


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=ids(QUESTIONS))
def test_exactly_the_marked_answers_are_right(name: str, question: quiz.Question) -> None:
    assert quiz.recompute(name, question) == {answer.id: answer.right for answer in question.answers}


@pytest.mark.parametrize("name", sorted({*quiz.names()} - DRAFTS))
def test_a_quiz_carries_the_name_of_its_page(name: str) -> None:
    cells = json.loads((toc.ROOT / f"{toc.page_of(name)}.ipynb").read_text(encoding="utf-8"))["cells"]
    assert "".join(cells[0]["source"]).startswith(f"# {quiz.load(name).title}\n")


@pytest.mark.parametrize("name", quiz.names())
def test_a_quiz_has_five_questions_of_both_kinds(name: str) -> None:
    questions = quiz.load(name).questions
    assert len(questions) >= 5 or name in DRAFTS
    assert {question.kind for question in questions} == {"one", "several"}


@pytest.mark.parametrize("name", quiz.names())
def test_every_function_of_a_quiz_is_asked(name: str) -> None:
    """A function nobody asks settles nothing."""
    module = import_module(f"course_lib.lessons.{name.replace('-', '_')}.quiz")
    there = {key for key, one in vars(module).items() if callable(one) and one.__module__ == module.__name__}
    asked = {question.id.replace("-", "_") for question in quiz.load(name).questions}
    assert asked == {key for key in there if key[0] != "_"}


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=ids(QUESTIONS))
def test_every_explanation_says_something(name: str, question: quiz.Question) -> None:
    for answer in question.answers:
        assert len(answer.why.split()) >= 8, (name, question.id, answer.id)
        assert answer.right or 2 <= len(answer.misconception.split()) <= 12
    beliefs = [answer.misconception for answer in question.answers if not answer.right]
    assert len(set(beliefs)) == len(beliefs)


@pytest.mark.parametrize("name", quiz.names())
def test_the_html_is_whole_and_always_the_same(name: str) -> None:
    shown = Quiz(name)
    elements = Elements(shown.static_html()).found
    tag, attributes = elements[0]
    assert (tag, attributes["class"], attributes["data-course-widget"]) == ("div", "course-widget", "quiz")
    assert json.loads(attributes["data-state"] or "") == shown.state()
    assert [name for name, _ in elements].count("details") == len(shown.questions)
    assert all("id" not in a for _, a in elements)
    assert shown.static_html() == Quiz(name).static_html()
    assert len(shown.static_html()) < 40_000
    text = re.sub(r' data-state="[^"]*"', "", shown.static_html())
    assert not re.search(r"\$|\\[(\[]", text)  # with a stray mark of theirs, MathJax would set half a question


@pytest.mark.parametrize("name", quiz.names())
def test_every_wrong_answer_is_explained_and_the_right_ones_win(site_page: Callable[..., Any], name: str) -> None:
    page = site_page(Quiz(name).static_html())
    questions = quiz.load(name).questions
    for won, one in enumerate(questions, start=1):
        try_every_answer(page, one)
        told = f"{won} of {len(questions)} answered right."
        if won == len(questions):
            told = f"All {won} answered right, 0 of them at the first try."
        assert page.locator(".cw-summary").inner_text() == told, one.id


# Clicks inside the page: Playwright would wait for two frames before each. A lesson's own test of its quiz clicks.
ANSWER = """([name, choices]) => {
  const box = document.querySelector(`.cw-question[data-question="${name}"]`);
  const press = (one) => one.click();
  box.querySelectorAll("input[type=checkbox]:checked").forEach(press);
  choices.map((choice) => box.querySelector(`input[value="${choice}"]`)).forEach(press);
  press(box.querySelector('[data-action="check"]'));
  const count = (selector) => box.querySelectorAll(selector).length;
  const told = { result: box.dataset.result, feedback: box.querySelector(".cw-feedback").innerText,
    verdict: box.querySelector(".cw-verdict").innerText, given: count(".cw-answer[data-verdict=right]"),
    reasons: count(".cw-feedback > ul > li") };
  if (told.result === "right") press(box.querySelector(".cw-feedback summary"));
  return { ...told, all: count(".cw-feedback li") };
}"""


def try_every_answer(page: Any, one: quiz.Question) -> None:
    """Each wrong answer of a question, one after the other, and then the right ones."""
    for wrong in (a for a in one.answers if not a.right):
        told = page.evaluate(ANSWER, [one.id, [wrong.id]])
        assert told["result"] == "wrong"
        letter = "ABCDEFGH"[one.answers.index(wrong)]
        assert f"{letter} is wrong. The misconception: " in told["feedback"] and " is right." not in told["feedback"]
        assert told["given"] == 0  # the right one is not given away
    told = page.evaluate(ANSWER, [one.id, list(one.right)])
    assert (told["result"], told["verdict"]) == ("right", "✓ Right.")
    assert (told["reasons"], told["all"]) == (len(one.right), len(one.answers))


@pytest.mark.parametrize("name", one_quickly(quiz.names(), most=2))
def test_every_answer_shown_axe_finds_nothing(site_page: Callable[..., Any], name: str) -> None:
    page = site_page(Quiz(name).static_html(), width=360, reduced_motion="reduce")
    for button in page.locator('[data-action="show"]').all():
        button.click()
    assert page.locator(".cw-feedback .cw-reasons li").count() == sum(
        len(question.answers) for question in quiz.load(name).questions
    )
    assert misfits(page, 360) == []
    assert serious_violations_in_both_themes(page) == {}
