"""A quiz in Python and in a browser, shown on that of this chapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from course_lib.lessons.in_batch_bias.in_batch_weights import InBatchWeights
from course_lib.lessons.shared import quiz
from course_lib.lessons.shared.widgets.quiz import Quiz
from tests.widget_pages import press

NAME = "in-batch-bias"


TOTAL = len(quiz.load(NAME).questions)


def right_answers() -> dict[str, list[str]]:
    return {q.id: [a.id for a in q.answers if a.right] for q in quiz.load(NAME).questions}


def test_the_score_counts_what_is_chosen() -> None:
    shown = Quiz(NAME)
    total = len(quiz.load(NAME).questions)
    assert shown.score() == (0, total) and shown.summary() == f"0 of {total} questions answered right."
    shown.chosen = right_answers()
    assert shown.score() == (total, total)
    shown.chosen = {**right_answers(), "cold-film": ["masked", "uniform"]}
    assert shown.score() == (total - 1, total)
    assert repr(Quiz(NAME)) == "Quiz('in-batch-bias', chosen={})"


def test_answers_that_do_not_exist_are_named() -> None:
    with pytest.raises(ValueError, match="chosen names the question 'x'; expected one of coefficient, "):
        Quiz(NAME, chosen={"x": ["a"]})
    with pytest.raises(ValueError, match=r"chosen\['coefficient'\] is 'zero'; expected a list of some of zero, "):
        Quiz(NAME, chosen={"coefficient": "zero"})
    shown = Quiz(NAME)
    with pytest.raises(ValueError, match="expected a list of some of"):
        shown.chosen = {"coefficient": ["a lot"]}
    assert shown.chosen == {}


def test_the_text_form_keeps_the_solutions_to_itself() -> None:
    text = Quiz(NAME)._repr_mimebundle_()[0]["text/plain"]
    assert text.startswith("Quiz: The bias of in-batch sampling") and "   A. 0, because the pair is positive." in text
    assert "misconception" not in text and "$" not in text


def page_with_quiz(site_page: Callable[..., Any], **options: Any) -> Any:
    return site_page(Quiz(NAME).static_html(), **options)


def question(page: Any, name: str) -> Any:
    return page.locator(f'.cw-question[data-question="{name}"]')


def answer(page: Any, name: str, *choices: str) -> Any:
    box = question(page, name)
    for choice in choices:
        box.locator(f'input[value="{choice}"]').check()
    box.locator('[data-action="check"]').click()
    return box


def test_the_quiz_mounts_with_groups_and_legends(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    questions = quiz.load(NAME).questions
    assert page.locator(".cw-quiz fieldset > legend").count() == len(questions)
    for n, one in enumerate(questions, 1):
        box = question(page, one.id)
        kind = "radio" if one.kind == "one" else "checkbox"
        assert box.locator(f"input[type={kind}]").count() == len(one.answers)
        assert box.locator("legend").inner_text().startswith(f"Question {n}. ")
    assert page.locator(".course-widget > ol").count() == 0  # the static list made room


def test_part_of_the_right_answers_is_not_enough(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    box = answer(page, "bigger-batch", "harder", "bias-fades")
    assert box.locator(".cw-verdict").inner_text() == (
        "✗ Not yet. 1 choice is right, 1 is wrong, 1 right answer is missing."
    )
    box.locator('input[value="bias-fades"]').uncheck()
    assert (box.get_attribute("data-result"), box.locator(".cw-feedback").inner_text()) == ("", "")  # of another choice
    assert answer(page, "bigger-batch").get_attribute("data-result") == "wrong"  # a right one is still missing
    box = answer(page, "bigger-batch", "same-ratio")
    assert box.get_attribute("data-result") == "right"


def test_nothing_chosen_is_said(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    box = answer(page, "coefficient")
    assert box.locator(".cw-feedback").inner_text() == "Choose an answer first."
    assert page.locator(".cw-summary").inner_text().startswith("0 of ")


def test_the_answer_can_be_shown_and_does_not_count(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    box = question(page, "serving")
    box.locator('[data-action="show"]').click()
    assert box.get_attribute("data-result") == "shown"
    assert box.locator(".cw-verdict").inner_text() == "A and B are right."
    assert box.locator(".cw-reasons li").count() == 4
    assert page.locator(".cw-summary").inner_text().startswith("0 of ")


def test_all_right_and_start_over(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    answer(page, "coefficient", "zero")  # a first try that fails
    for name, choices in right_answers().items():
        answer(page, name, *choices)
        question(page, name).locator('[data-action="check"]').click()  # once more: no other try
    total = len(right_answers())
    assert (
        page.locator(".cw-summary").inner_text() == f"All {total} answered right, {total - 1} of them at the first try."
    )
    page.locator('[data-action="again"]').click()
    assert page.locator(".cw-summary").inner_text() == f"0 of {total} answered right."
    assert page.locator("input:checked").count() == 0 and page.locator(".cw-feedback:not(:empty)").count() == 0
    assert page.evaluate("document.activeElement.closest('.cw-question').dataset.question") == "coefficient"


def test_the_keyboard_alone_answers_the_whole_quiz(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    where = "(() => { const e = document.activeElement; return e.value || e.dataset?.action || e.tagName; })()"
    page.locator("body").focus()
    for one in quiz.load(NAME).questions:
        at = [a.id for a in one.answers]
        page.keyboard.press("Tab")
        assert page.evaluate(where) == at[0]
        if one.kind == "one":
            target = at.index(next(iter(one.right)))
            page.keyboard.press("Space")
            for _ in range(target):
                page.keyboard.press("ArrowDown")
        else:
            for place, name in enumerate(at):
                assert page.evaluate(where) == name
                if name in one.right:
                    page.keyboard.press("Space")
                if place < len(at) - 1:
                    page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # a form: Enter checks
        assert question(page, one.id).get_attribute("data-result") == "right", one.id
        page.keyboard.press("Tab")
        assert page.evaluate(where) == "check"
        page.keyboard.press("Tab")
        assert page.evaluate(where) == "show"
        page.keyboard.press("Tab")
        assert page.evaluate(where) == "SUMMARY"  # why not the others
    total = TOTAL
    assert page.locator(".cw-summary").inner_text() == f"All {total} answered right, {total} of them at the first try."


def test_feedback_is_announced(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    assert page.locator(".cw-feedback[aria-live=polite]").count() == TOTAL
    assert page.locator(".cw-summary[aria-live=polite]").count() == 1
    assert page.get_by_role("group").count() == 1 + TOTAL
    assert page.get_by_role("button", name="Check question 2").count() == 1


def test_without_javascript_the_answers_are_folded_below(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page, java_script_enabled=False, script=False, width=360)
    folds = page.locator(".course-widget details")
    assert folds.count() == TOTAL
    assert not folds.first.locator("li").first.is_visible()
    folds.first.locator("summary").click()
    assert "B is right." in folds.first.inner_text() and "The misconception: " in folds.first.inner_text()
    assert page.locator("main").evaluate("main => main.scrollWidth <= 360")


def test_the_model_is_followed_and_told(in_jupyter: Callable[..., Any]) -> None:
    """The module that anywidget gets, with a model as Jupyter has it."""
    shown = Quiz(NAME)
    page = in_jupyter(shown)
    page.evaluate("model.set('chosen', { serving: ['times-c', 'log'] })")  # Python says
    assert page.evaluate("[...document.querySelectorAll(':checked')].map((e) => e.value)") == ["times-c", "log"]
    press(page, 'input[value="zero"]', "Space")  # the reader says
    page.keyboard.press("ArrowDown")
    chosen = page.evaluate("model.get('chosen')")
    assert chosen == {"coefficient": ["without-own"], "serving": ["times-c", "log"]}
    shown.chosen = chosen  # Python takes it as it comes
    assert shown.score() == (1, TOTAL)
    assert page.evaluate("[saved, bubbled]") == [2, 0]  # JupyterLab never sees the keys
    page.evaluate("close()")
    assert page.evaluate("Object.values(listeners).flat().length") == 0


def test_quiz_and_picture_share_a_page(site_page: Callable[..., Any]) -> None:
    page = site_page(InBatchWeights().static_html(), Quiz(NAME).static_html(), Quiz(NAME).static_html())
    assert page.locator('[data-course-widget-ready="true"]').count() == 3
    page.locator('.cw-quiz input[value="zero"]').first.check()
    assert page.locator(".cw-quiz input:checked").count() == 1  # the two quizzes do not share their radio buttons
    used = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(used) == len(set(used)) > 0
