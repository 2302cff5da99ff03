"""A quiz: how its file is read and refused, and how it works in Python and in a browser."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

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
    assert shown.score() == (0, TOTAL) and shown.summary() == f"0 of {TOTAL} questions answered right."
    shown.chosen = right_answers()
    assert shown.score() == (TOTAL, TOTAL)
    shown.chosen = {**right_answers(), "cold-film": ["masked", "uniform"]}
    assert shown.score() == (TOTAL - 1, TOTAL)
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


def test_the_quiz_mounts_with_groups_and_legends_and_announces_what_it_says(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    questions = quiz.load(NAME).questions
    assert page.locator(".cw-quiz fieldset > legend").count() == len(questions)
    for n, one in enumerate(questions, 1):
        box = question(page, one.id)
        kind = "radio" if one.kind == "one" else "checkbox"
        assert box.locator(f"input[type={kind}]").count() == len(one.answers)
        assert box.locator("legend").inner_text().startswith(f"Question {n}. ")
    assert page.locator(".course-widget > ol").count() == 0  # the static list made room
    assert page.locator(".cw-feedback[aria-live=polite]").count() == TOTAL
    assert page.locator(".cw-summary[aria-live=polite]").count() == 1
    assert page.get_by_role("group").count() == 1 + TOTAL
    assert page.get_by_role("button", name="Check question 2").count() == 1


def test_a_part_of_the_right_answers_none_and_a_shown_one_are_not_enough(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    box = answer(page, "coefficient")
    assert box.locator(".cw-feedback").inner_text() == "Choose an answer first."
    box = question(page, "serving")
    box.locator('[data-action="show"]').click()
    assert box.get_attribute("data-result") == "shown"
    assert box.locator(".cw-verdict").inner_text() == "A and B are right."
    assert box.locator(".cw-reasons li").count() == 4
    assert page.locator(".cw-summary").inner_text().startswith("0 of ")
    box = answer(page, "bigger-batch", "harder", "bias-fades")
    assert box.locator(".cw-verdict").inner_text() == (
        "✗ Not yet. 1 choice is right, 1 is wrong, 1 right answer is missing."
    )
    box.locator('input[value="bias-fades"]').uncheck()
    assert (box.get_attribute("data-result"), box.locator(".cw-feedback").inner_text()) == ("", "")  # of another choice
    assert answer(page, "bigger-batch").get_attribute("data-result") == "wrong"  # a right one is still missing
    box = answer(page, "bigger-batch", "same-ratio")
    assert box.get_attribute("data-result") == "right"


def test_all_right_and_start_over(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    answer(page, "coefficient", "zero")  # a first try that fails
    for name, choices in right_answers().items():
        answer(page, name, *choices)
        question(page, name).locator('[data-action="check"]').click()  # once more: no other try
    assert (
        page.locator(".cw-summary").inner_text() == f"All {TOTAL} answered right, {TOTAL - 1} of them at the first try."
    )
    page.locator('[data-action="again"]').click()
    assert page.locator(".cw-summary").inner_text() == f"0 of {TOTAL} answered right."
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
    assert page.locator(".cw-summary").inner_text() == f"All {TOTAL} answered right, {TOTAL} of them at the first try."


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


def test_quiz_and_picture_share_a_page(site_page: Callable[..., Any]) -> None:
    page = site_page(InBatchWeights().static_html(), Quiz(NAME).static_html(), Quiz(NAME).static_html())
    assert page.locator('[data-course-widget-ready="true"]').count() == 3
    page.locator('.cw-quiz input[value="zero"]').first.check()
    assert page.locator(".cw-quiz input:checked").count() == 1  # the two quizzes do not share their radio buttons
    used = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(used) == len(set(used)) > 0


# ==== the reader of the quiz files refuses faulty ones in words


GOOD = {
    "title": "A quiz",
    "questions": [
        {
            "id": "first",
            "kind": "one",
            "ask": "How many?",
            "answers": [
                {"id": "a", "right": True, "text": "one", "why": "because"},
                {"id": "b", "right": False, "text": "two", "why": "because not", "misconception": "More is better"},
            ],
        }
    ],
}


def written(folder: Path, change: Callable[[dict], Any]) -> Path:
    data = copy.deepcopy(GOOD)
    change(data)
    path = folder / "faulty.yml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def first(data: dict) -> dict:
    return data["questions"][0]


def answers(data: dict) -> list[dict]:
    return first(data)["answers"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("title"), "faulty.yml: Object missing required field `title`"),
        (lambda d: d.update(titel="x"), "faulty.yml: Object contains unknown field `titel`"),
        (lambda d: d["questions"].append(copy.deepcopy(first(d))), "faulty.yml: id first given twice"),
        (lambda d: first(d).update(kind="many"), r"kind is 'many'; expected one or several - at `questions\[0\]`"),
        (lambda d: first(d).update(ask="what is $r_i?"), r"ask: \$ is opened and not closed in 'what is"),
        (lambda d: first(d).update(ask="is $r_$ large?"), r"cannot read \$r_\$ from '_' on"),
        (lambda d: first(d).update(ask="is it <b>so</b>?"), "HTML in 'is it <b>so</b>"),
        (lambda d: answers(d)[1].update(id="a"), "id a given twice"),
        (lambda d: answers(d)[1].pop("misconception"), r"misconception is missing; .*answers\[1\]`"),
        (lambda d: answers(d)[0].update(misconception="x"), "a right answer has no misconception"),
        (lambda d: answers(d)[0].update(right=False, misconception="x"), "0 answers are right; kind 'one' expects"),
        (
            lambda d: [
                first(d).update(kind="several"),
                answers(d).pop(),
                answers(d).append({**answers(d)[0], "id": "c"}),
            ],
            "2 of 2 answers are right",
        ),
    ],
)
def test_a_faulty_file_is_refused_in_words(tmp_path: Path, change: Callable[[dict], Any], message: str) -> None:
    with pytest.raises(quiz.QuizError, match=message):
        quiz.read(written(tmp_path, change))


def test_faults_of_the_yaml_itself_are_named(tmp_path: Path) -> None:
    path = tmp_path / "twice.yml"
    path.write_text("title: a\ntitle: b\nquestions: []\n")
    with pytest.raises(quiz.QuizError, match=r"twice.yml: line 1: title given twice"):
        quiz.read(path)
    path.write_text("title: [")
    with pytest.raises(quiz.QuizError, match=r"twice.yml: while parsing"):
        quiz.read(path)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(quiz.QuizError, match=r"name is 'nothing'; expected one of .*in-batch-bias"):
        quiz.load("nothing")
    with pytest.raises(quiz.QuizError, match=r"name is '../quiz/in-batch-bias'"):
        quiz.load("../quiz/in-batch-bias")


def test_a_function_that_does_not_fit_its_question_is_named() -> None:
    question = quiz.load(NAME).questions[0]
    for chapter, name, message in [
        (NAME, "nothing", "expected the function 'nothing' in course_lib.*has no attribute 'nothing'"),
        ("no-chapter", "nothing", "No module named"),
        (NAME, "serving", r"speaks of \['divide', 'log', .*expected \['zero'"),
    ]:
        with pytest.raises(quiz.QuizError, match=message):
            quiz.recompute(chapter, replace(question, id=name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b & c", "a &lt; b &amp; c"),
        ("*x* and `y_1`", "<em>x</em> and <code>y_1</code>"),
        ("$r_i c_j$", "<span><var>r</var><sub><var>i</var></sub>\xa0<var>c</var><sub><var>j</var></sub></span>"),
        ("$ℓ^-$", "<span><var>ℓ</var><sup>−</sup></span>"),
        ("$log S_{ij}$", "<span>log\xa0<var>S</var><sub><var>ij</var></sub></span>"),
        ("$(M - 1)/(s - 1)$", "<span>(<var>M</var>\xa0−\xa01)/(<var>s</var>\xa0−\xa01)</span>"),
    ],
)
def test_the_markup(text: str, expected: str) -> None:
    assert quiz.html(text) == expected
