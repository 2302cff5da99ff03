"""Every quiz: exactly the marked answers are right, and the page explains each wrong one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from drafts import DRAFTS

from course_lib.lessons.shared import quiz
from course_lib.lessons.shared.widgets.quiz import Quiz
from tests.widget_pages import Elements, serious_violations

QUESTIONS = [(name, question) for name in quiz.names() for question in quiz.load(name).questions]
COMPUTED = [(name, question) for name, question in QUESTIONS if question.computed_by]


def ids(given: list[tuple[str, quiz.Question]]) -> list[str]:
    return [f"{name}-{question.id}" for name, question in given]


def question(page: Any, name: str) -> Any:
    return page.locator(f'.cw-question[data-question="{name}"]')


def answer(page: Any, name: str, *choices: str) -> Any:
    box = question(page, name)
    for choice in choices:
        box.locator(f'input[value="{choice}"]').check()
    box.locator('[data-action="check"]').click()
    return box


@pytest.mark.parametrize(("name", "question"), COMPUTED, ids=ids(COMPUTED))
def test_exactly_the_marked_answers_are_right(name: str, question: quiz.Question) -> None:
    assert quiz.recompute(question) == {answer.id: answer.right for answer in question.answers}


@pytest.mark.parametrize("name", quiz.names())
def test_every_question_of_a_chapter_is_computed(name: str) -> None:
    questions = quiz.load(name).questions
    assert (len(questions) >= 5 or name in DRAFTS) and all(question.computed_by for question in questions)
    assert {question.kind for question in questions} == {"one", "several"}


@pytest.mark.parametrize("name", quiz.names())
def test_every_function_of_a_quiz_is_asked(name: str) -> None:
    """A function nobody asks settles nothing."""
    module = import_module(f"course_lib.lessons.{name.replace('-', '_')}.quiz")
    there = {key for key, one in vars(module).items() if callable(one) and one.__module__ == module.__name__}
    asked = {question.computed_by for question in quiz.load(name).questions}
    assert asked == {f"{module.__name__}:{key}" for key in there if key[0] != "_"}


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


@pytest.mark.parametrize("name", quiz.names())
def test_no_mark_of_mathjax_reaches_the_page(name: str) -> None:
    """The page's MathJax looks at text; a stray delimiter would make it typeset half a question."""
    shown = re.sub(r' data-state="[^"]*"', "", Quiz(name).static_html())
    assert not re.search(r"\$|\\[(\[]", shown)


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


def try_every_answer(page: Any, one: quiz.Question) -> None:
    """Each wrong answer of a question, one after the other, and then the right ones."""
    box = question(page, one.id)
    for wrong in (a for a in one.answers if not a.right):
        for input_ in box.locator("input[type=checkbox]:checked").all():
            input_.uncheck()
        answer(page, one.id, wrong.id)
        assert box.get_attribute("data-result") == "wrong"
        text = box.locator(".cw-feedback").inner_text()
        letter = "ABCDEFGH"[one.answers.index(wrong)]
        assert f"{letter} is wrong. The misconception: " in text and " is right." not in text
        assert box.locator(".cw-answer[data-verdict=right]").count() == 0  # the right one is not given away
    for input_ in box.locator("input[type=checkbox]:checked").all():
        input_.uncheck()
    answer(page, one.id, *one.right)
    assert box.get_attribute("data-result") == "right"
    assert box.locator(".cw-verdict").inner_text() == "✓ Right."
    assert box.locator(".cw-feedback > ul > li").count() == len(one.right)
    box.locator(".cw-feedback summary").click()
    assert box.locator(".cw-feedback li").count() == len(one.answers)


@pytest.mark.parametrize("name", quiz.names())
def test_every_answer_shown_axe_finds_nothing(site_page: Callable[..., Any], name: str) -> None:
    page = site_page(Quiz(name).static_html(), width=360, reduced_motion="reduce")
    for button in page.locator('[data-action="show"]').all():
        button.click()
    assert page.locator(".cw-feedback .cw-reasons li").count() == sum(
        len(question.answers) for question in quiz.load(name).questions
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert serious_violations(page) == [], scheme
