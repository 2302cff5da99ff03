"""The quizzes: exactly the marked answers are right, faulty files are refused in words, and the page works in a
browser.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from course_lib.lessons.in_batch_bias import quiz as in_batch_bias
from course_lib.lessons.in_batch_bias.in_batch_weights import InBatchWeights
from course_lib.lessons.shared import quiz
from course_lib.lessons.shared.widgets.quiz import Quiz
from tests.widget_pages import Elements, mount_in_jupyter, serious_violations, site_page

ROOT = Path(__file__).resolve().parents[2]
NAME = "in-batch-bias"
QUESTIONS = [(name, question) for name in quiz.names() for question in quiz.load(name).questions]
TOTAL = len(quiz.load(NAME).questions)
COMPUTED = [(name, question) for name, question in QUESTIONS if question.computed_by]


def ids(given: list[tuple[str, quiz.Question]]) -> list[str]:
    return [f"{name}-{question.id}" for name, question in given]


# ---- the answers


@pytest.mark.parametrize(("name", "question"), COMPUTED, ids=ids(COMPUTED))
def test_exactly_the_marked_answers_are_right(name: str, question: quiz.Question) -> None:
    assert quiz.recompute(question) == {answer.id: answer.right for answer in question.answers}


@pytest.mark.parametrize("name", quiz.names())
def test_every_question_of_a_chapter_is_computed(name: str) -> None:
    questions = quiz.load(name).questions
    assert len(questions) >= 5 and all(question.computed_by for question in questions)
    assert {question.kind for question in questions} == {"one", "several"}


@pytest.mark.parametrize(
    ("formula", "wrong", "caught"),
    [
        ("expected_weights", lambda right: lambda *a, **k: tuple(w * 2 for w in right(*a, **k)), "coefficient"),
        ("misclassification_threshold", lambda right: lambda s, m: -right(s, m), "bigger_batch"),
        ("pair_popularity", lambda right: lambda r, c: 1 / right(r, c), "serving"),
    ],
)
def test_a_wrong_formula_changes_the_verdicts(
    monkeypatch: pytest.MonkeyPatch, formula: str, wrong: Any, caught: str
) -> None:
    """The verdicts come from course_lib and not from the quiz file: break a formula, and they are others."""
    before = getattr(in_batch_bias, caught)()
    monkeypatch.setattr(in_batch_bias.in_batch, formula, wrong(getattr(in_batch_bias.in_batch, formula)))
    assert getattr(in_batch_bias, caught)() != before


@pytest.mark.parametrize(("kind", "pop"), [("in_batch", 1), ("in_batch", 6), ("unbiased", 6), ("popularity", 2)])
def test_the_weights_of_one_pair_are_those_of_the_whole_matrix(kind: str, pop: int) -> None:
    """The helper works from coefficients alone; in_batch.expected_weights from a label matrix."""
    labels = in_batch_bias._labels_around_one_pair(films=pop, fans=1, n_positives=9)
    found = in_batch_bias.in_batch.expected_weights(kind, labels=in_batch_bias.exact(labels), batch_size=4)
    expected = tuple(weights[0, 0] * labels.size for weights in found)
    assert in_batch_bias._weights_of_a_positive(kind, pop, 4, 9) == expected


def test_the_numbers_in_the_explanations() -> None:
    threshold = in_batch_bias.in_batch.misclassification_threshold
    assert [round(threshold(s, 10001)) for s in (32, 1024, 101, 51, 1001)] == [324, 11, 101, 201, 11]
    assert in_batch_bias._labels_around_one_pair(films=4, fans=6, n_positives=101).sum() == 101


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=ids(QUESTIONS))
def test_every_explanation_says_something(name: str, question: quiz.Question) -> None:
    for answer in question.answers:
        assert len(answer.why.split()) >= 8, (name, question.id, answer.id)
        assert answer.right or 2 <= len(answer.misconception.split()) <= 12
    beliefs = [answer.misconception for answer in question.answers if not answer.right]
    assert len(set(beliefs)) == len(beliefs)


# ---- the reader of the files

GOOD = {
    "title": "A quiz",
    "questions": [
        {
            "id": "first",
            "kind": "one",
            "ask": "How many?",
            "not_computed": "a matter of taste",
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


def test_a_good_file_is_read(tmp_path: Path) -> None:
    found = quiz.read(written(tmp_path, lambda data: None))
    assert (found.name, found.title, found.questions[0].right) == ("faulty", "A quiz", {"a"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("title"), "faulty.yml: title missing"),
        (lambda d: d.update(titel="x"), "faulty.yml: unknown field 'titel'; expected title, questions"),
        (lambda d: d.update(questions=[]), "faulty.yml: questions is empty"),
        (lambda d: d.update(questions={}), r"questions is \{\} \(dict\); expected a list"),
        (lambda d: d["questions"].append("x"), "question 2 is a str; expected fields id, kind, ask"),
        (lambda d: d["questions"].append(copy.deepcopy(first(d))), "faulty.yml: questions: id first given twice"),
        (lambda d: first(d).update(id="First One"), "id is 'First One'; expected lower-case words"),
        (lambda d: first(d).update(kind="many"), r"question 1 \(first\): kind is 'many'; expected one of one, several"),
        (lambda d: first(d).pop("ask"), r"question 1 \(first\): ask missing"),
        (lambda d: first(d).update(ask=" "), "ask is empty"),
        (lambda d: first(d).update(ask="what is $r_i?"), r"ask: \$ is opened and not closed in 'what is"),
        (lambda d: first(d).update(ask="is $r_$ large?"), r"cannot read \$r_\$ from '_' on"),
        (lambda d: first(d).update(ask="is it <b>so</b>?"), "HTML in 'is it <b>so</b>"),
        (lambda d: first(d).pop("not_computed"), "either computed_by .a function. or not_computed"),
        (lambda d: first(d).update(computed_by="course_lib.maths.losses:square"), "and not both"),
        (
            lambda d: [first(d).pop("not_computed"), first(d).update(computed_by="os:getcwd")],
            "expected course_lib.module:function",
        ),
        (lambda d: first(d)["answers"].pop(), "1 answers; expected 2 to 8"),
        (
            lambda d: first(d)["answers"][0].update(text=2.3),
            r"text is 2.3 \(float\); expected a text \(numbers in quotes",
        ),
        (lambda d: first(d)["answers"][0].update(right="yes"), r"right is 'yes' \(str\); expected true or false"),
        (lambda d: first(d)["answers"][1].update(id="a"), "answers: id a given twice"),
        (
            lambda d: first(d)["answers"][1].pop("misconception"),
            r"answer 2 \(b\): misconception is missing; name the belief",
        ),
        (lambda d: first(d)["answers"][0].update(misconception="x"), "a right answer has no misconception"),
        (
            lambda d: first(d)["answers"][0].update(right=False, misconception="x"),
            "0 answers are right; kind 'one' expects exactly 1",
        ),
        (
            lambda d: [
                first(d).update(kind="several"),
                first(d)["answers"].pop(1),
                first(d)["answers"].append({**first(d)["answers"][0], "id": "c"}),
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
    with pytest.raises(quiz.QuizError, match="twice.yml: line 1: title given twice"):
        quiz.read(path)
    path.write_text("title: [")
    with pytest.raises(quiz.QuizError, match="twice.yml: while parsing"):
        quiz.read(path)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(quiz.QuizError, match="name is 'nothing'; expected one of .*in-batch-bias"):
        quiz.load("nothing")
    with pytest.raises(quiz.QuizError, match="name is '../quiz/in-batch-bias'"):
        quiz.load("../quiz/in-batch-bias")


def test_a_function_that_does_not_fit_its_question_is_named() -> None:
    question = quiz.load(NAME).questions[0]
    for target, message in [
        ("course_lib.lessons.in_batch_bias.quiz:nothing", "has no attribute 'nothing'"),
        ("course_lib.nothing:f", "No module named"),
        ("course_lib.lessons.in_batch_bias.quiz:serving", r"speaks of \['divide', 'log', .*expected \['zero'"),
    ]:
        with pytest.raises(quiz.QuizError, match=message):
            quiz.recompute(quiz.Question(**{**vars(question), "computed_by": target}))
    with pytest.raises(quiz.QuizError, match="has no computed_by: a matter of taste"):
        quiz.recompute(quiz.Question(**{**vars(question), "computed_by": "", "not_computed": "a matter of taste"}))


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


# ---- the widget in Python


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


def test_the_text_form_keeps_the_solutions_to_itself() -> None:
    text = Quiz(NAME)._repr_mimebundle_()[0]["text/plain"]
    assert text.startswith("Quiz: The bias of in-batch sampling") and "   A. 0, because the pair is positive." in text
    assert "misconception" not in text and "$" not in text


@pytest.mark.parametrize("name", quiz.names())
def test_no_mark_of_mathjax_reaches_the_page(name: str) -> None:
    """The page's MathJax looks at text; a stray delimiter would make it typeset half a question."""
    shown = re.sub(r' data-state="[^"]*"', "", Quiz(name).static_html())
    assert not re.search(r"\$|\\[(\[]", shown)


# ---- in the browser


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


@pytest.mark.parametrize(("name", "one"), QUESTIONS, ids=ids(QUESTIONS))
def test_every_wrong_answer_is_explained_and_the_right_ones_win(
    site_page: Callable[..., Any],
    name: str,
    one: quiz.Question,
) -> None:
    page = site_page(Quiz(name).static_html())
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
    total = len(quiz.load(name).questions)
    assert page.locator(".cw-summary").inner_text() == f"1 of {total} answered right."


def test_part_of_the_right_answers_is_not_enough(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page)
    box = answer(page, "bigger-batch", "harder", "bias-fades")
    assert box.locator(".cw-verdict").inner_text() == (
        "✗ Not yet. 1 choice is right, 1 is wrong, 1 right answer is missing."
    )
    box.locator('input[value="bias-fades"]').uncheck()
    assert (
        box.get_attribute("data-result") == "" and box.locator(".cw-feedback").inner_text() == ""
    )  # it spoke of another choice
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


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_the_quiz_fits_the_width(site_page: Callable[..., Any], width: int) -> None:
    page = page_with_quiz(site_page, width=width)
    for button in page.locator('[data-action="show"]').all():
        button.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.evaluate(
        "[...document.querySelectorAll('.cw-answer, .cw button')].map((b) => Math.min(b.offsetWidth, b.offsetHeight))"
    )
    assert min(sizes) >= 24  # WCAG 2.5.8, target size


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_quiz(site_page: Callable[..., Any], scheme: str) -> None:
    page = page_with_quiz(site_page, color_scheme=scheme, reduced_motion="reduce")
    answer(page, "coefficient", "zero")
    answer(page, "cold-film", "uniform").locator("summary").click()
    question(page, "serving").locator('[data-action="show"]').click()
    assert serious_violations(page) == []


def test_without_javascript_the_answers_are_folded_below(site_page: Callable[..., Any]) -> None:
    page = page_with_quiz(site_page, java_script_enabled=False, script=False, width=360)
    folds = page.locator(".course-widget details")
    assert folds.count() == TOTAL
    assert not folds.first.locator("li").first.is_visible()
    folds.first.locator("summary").click()
    assert "B is right." in folds.first.inner_text() and "The misconception: " in folds.first.inner_text()
    assert page.locator("main").evaluate("main => main.scrollWidth <= 360")


def test_the_model_is_followed_and_told(browser: Any) -> None:
    """The module that anywidget gets, with a model as Jupyter has it."""
    page = browser.new_page()
    shown = Quiz(NAME)
    mount_in_jupyter(page, shown._esm, shown.state())
    page.evaluate("model.set('chosen', { serving: ['times-c', 'log'] })")  # Python says
    assert page.evaluate("[...document.querySelectorAll(':checked')].map((e) => e.value)") == ["times-c", "log"]
    page.locator('input[value="zero"]').focus()
    page.keyboard.press("Space")  # the reader says
    page.keyboard.press("ArrowDown")
    chosen = page.evaluate("model.get('chosen')")
    assert chosen == {"coefficient": ["without-own"], "serving": ["times-c", "log"]}
    shown.chosen = chosen  # Python takes it as it comes
    assert shown.score() == (1, TOTAL)
    assert page.evaluate("[saved, bubbled]") == [2, 0]  # JupyterLab never sees the keys
    page.evaluate("close()")
    assert page.evaluate("Object.values(listeners).flat().length") == 0
    page.close()


def test_quiz_and_picture_share_a_page(site_page: Callable[..., Any]) -> None:
    page = site_page(InBatchWeights().static_html(), Quiz(NAME).static_html(), Quiz(NAME).static_html())
    assert page.locator('[data-course-widget-ready="true"]').count() == 3
    page.locator('.cw-quiz input[value="zero"]').first.check()
    assert page.locator(".cw-quiz input:checked").count() == 1  # the two quizzes do not share their radio buttons
    used = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(used) == len(set(used)) > 0
