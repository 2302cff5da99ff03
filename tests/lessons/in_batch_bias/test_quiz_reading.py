"""The reader of the quiz files refuses faulty ones in words."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from course_lib.lessons.shared import quiz

NAME = "in-batch-bias"


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


def answers(data: dict) -> list[dict]:
    return first(data)["answers"]


def test_a_good_file_is_read(tmp_path: Path) -> None:
    found = quiz.read(written(tmp_path, lambda data: None))
    assert (found.name, found.title, found.questions[0].right) == ("faulty", "A quiz", {"a"})


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
        (lambda d: first(d).pop("not_computed"), "either computed_by .a function. or not_computed"),
        (lambda d: first(d).update(computed_by="course_lib.losses:square"), "and not both"),
        (lambda d: first(d).update(computed_by="os:getcwd"), r"course_lib.* at `questions\[0\].computed_by`"),
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
    for target, message in [
        ("course_lib.lessons.in_batch_bias.quiz:nothing", "has no attribute 'nothing'"),
        ("course_lib.nothing:f", "No module named"),
        ("course_lib.lessons.in_batch_bias.quiz:serving", r"speaks of \['divide', 'log', .*expected \['zero'"),
    ]:
        with pytest.raises(quiz.QuizError, match=message):
            quiz.recompute(replace(question, computed_by=target))
    with pytest.raises(quiz.QuizError, match="has no computed_by: a matter of taste"):
        quiz.recompute(replace(question, computed_by="", not_computed="a matter of taste"))


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
