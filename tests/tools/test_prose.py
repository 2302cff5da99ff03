"""The book's sentences pass a copy-editor: proselint, the course's own list of phrases, the length of sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import conclusions, prose
from tools.normalise import edited

PAGES = prose.pages()
EDITED = {PAGES[-1], *edited(PAGES)}  # the README and what git says was edited; the others among the pipelines


@pytest.mark.seconds
@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=[pytest.mark.pipeline] * (page not in EDITED)) for page in PAGES]
)
def test_a_page_says_nothing_that_a_copy_editor_would_strike_out(page: Path) -> None:
    assert list(prose.finds(conclusions.text_of(page))) == []


@pytest.mark.parametrize("rule", prose.rules()["checks"], ids=lambda rule: rule["name"])
def test_every_check_of_the_course_finds_its_phrase(rule: dict[str, object]) -> None:
    examples = {
        "who": "Whoever trains this model sees it.",
        "person": "The student finds that his test passes.",
        "order": "The loss is convex, nor is it bounded.",
        "translated": "Hold every number against that one.",
        "aphorism": "Projecting is not free.",
        "label": "The gauge-free rows keep their neighbours.",
    }
    found = [find.check for find in prose.finds(examples[str(rule["name"])])]
    assert f"course.{rule['name']}" in found


def test_proselint_itself_reads_along() -> None:
    assert [find.check.split(".")[0] for find in prose.finds("This is a very unique model.")] == ["uncomparables"]


def test_a_long_sentence_is_found_and_a_formula_counts_as_one_word() -> None:
    limit = prose.rules()["longest_sentence"]
    assert list(prose.finds("The model " + "learns $a + b + c$ and " * (limit // 3 - 1) + "stops.")) == []
    (find,) = prose.finds("The model " + "learns and " * limit + "stops.")
    assert find.check == "course.long"


def test_code_and_mathematics_are_not_read() -> None:
    assert list(prose.finds("Run `he who` and read $his$.\n\n```python\nwhoever = 1\n```\n")) == []


def test_a_phrase_that_must_stay_says_so() -> None:
    assert list(prose.finds("The residual is a vector. <!-- prose: course.label -->")) == []
    assert list(prose.finds("The residual is a vector. <!-- prose: course.who -->")) != []


def test_boxes_inside_boxes_are_read() -> None:
    text = "::::{admonition} Try it\n:class: question\n\n:::{note}\nWhoever tries it wins.\n:::\n::::"
    assert [find.check for find in prose.finds(text)] == ["course.who"]
