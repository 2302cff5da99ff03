"""The quizzes of the first two geometry chapters: what decides their answers is course_lib, and the numbers in them are
right.

That exactly the marked answers are right, and that the page explains every wrong one, is tested for all quizzes in
test_quiz.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from course_lib import encoders, geometry, jacobians
from course_lib.lessons.cosine_orthogonality import quiz as cosine_orthogonality
from course_lib.lessons.jacobian_conditions import quiz as jacobian_conditions
from course_lib.lessons.shared import quiz
from course_lib.lessons.shared.widgets.quiz import Quiz
from course_lib.papers import p0
from tests.widget_pages import serious_violations, site_page

NAMES = ("cosine-orthogonality", "jacobian-conditions")


def marked(name: str, question: str) -> dict[str, bool]:
    one = next(each for each in quiz.load(name).questions if each.id == question)
    return {answer.id: answer.right for answer in one.answers}


def broken(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, wrong: Callable[[Any], Any]) -> None:
    monkeypatch.setattr(holder, name, wrong(getattr(holder, name)))


# ---- a broken formula gives other verdicts


@pytest.mark.parametrize(
    ("place", "formula", "wrong", "question"),
    [
        # a gradient that keeps its part along q
        ("geometry", "cosine_gradient", lambda right: lambda q, k: right(q, k) + 0.1 * q, "one-step"),
        ("geometry", "cosine_gradient", lambda right: lambda q, k: right(q, k) * np.linalg.norm(q), "gradient-length"),
        ("geometry", "cosine_gradient", lambda right: lambda q, k: right(q, k) * np.linalg.norm(k), "gradient-length"),
        ("geometry", "cosine_gradient", lambda right: lambda q, k: 3 * q, "while-training"),
        # a cosine that normalises one side only
        ("losses", "cosine_scores", lambda right: lambda q, k: q @ geometry.normalise(k).T, "which-losses"),
        ("losses", "cosine_scores", lambda right: lambda q, k: q @ k.T, "while-training"),
        ("losses", "cosine_scores", lambda right: lambda q, k: q @ k.T, "leaves-the-circle"),
        ("geometry", "cosine", lambda right: lambda q, k: (q * k).sum(), "which-losses"),
    ],
)
def test_a_wrong_formula_changes_the_verdicts_of_chapter_1(
    monkeypatch: pytest.MonkeyPatch, place: str, formula: str, wrong: Any, question: str
) -> None:
    assert getattr(cosine_orthogonality, question.replace("-", "_"))() == marked(NAMES[0], question)
    broken(monkeypatch, getattr(cosine_orthogonality, place), formula, wrong)
    assert getattr(cosine_orthogonality, question.replace("-", "_"))() != marked(NAMES[0], question)


class ElementwiseAdagrad(torch.optim.Adagrad):
    """What row-wise Adagrad would be with a rate for each number."""


class NoBias(torch.nn.Linear):
    """A linear layer that forgets the bias it is asked for."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias=False)


@pytest.mark.parametrize(
    ("holder", "name", "wrong", "question"),
    [
        (jacobian_conditions.jacobians, "kernel_blocks", lambda right: lambda *a: 6 / 5 * right(*a), "linear-kernel"),
        (jacobian_conditions.jacobians, "RowWiseAdagrad", lambda right: ElementwiseAdagrad, "which-optimisers"),
        (jacobian_conditions.losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "which-towers"),
        (jacobian_conditions.losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "deep-tower"),
        (jacobian_conditions.encoders, "ScaledLookup", lambda right: encoders.BiasedLookup, "which-towers"),
        (jacobian_conditions.nn, "Linear", lambda right: NoBias, "deep-tower"),
        (jacobian_conditions.p0, "chance_of_right_angle", lambda right: lambda d: 20 / 180, "twenty-per-cent"),
    ],
)
def test_a_wrong_tool_changes_the_verdicts_of_chapter_2(
    monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, wrong: Any, question: str
) -> None:
    assert getattr(jacobian_conditions, question.replace("-", "_"))() == marked(NAMES[1], question)
    broken(monkeypatch, holder, name, wrong)
    assert getattr(jacobian_conditions, question.replace("-", "_"))() != marked(NAMES[1], question)


# ---- the numbers in the texts


def test_the_numbers_in_the_explanations_of_chapter_1() -> None:
    assert math.sin(math.radians(30)) / 2 == pytest.approx(0.25) and math.cos(math.radians(30)) / 2 == pytest.approx(
        0.43, abs=0.004
    )
    assert geometry.TORCH_COSINE_EPS == 0.00000001  # "below 0.000 000 01"
    grown = geometry.norm(cosine_orthogonality._train(scale=1, lr=1e-3))
    assert grown[-1] > grown[0] and (np.diff(grown) > 0).all()  # "tiny, but it is there, it has one sign"


def test_the_numbers_in_the_explanations_of_chapter_2() -> None:
    assert [round(100 * p0.chance_of_right_angle(d)) for d in (2, 3, 4, 64)] == [11, 17, 22, 83]
    with_bias = encoders.DenseLinear(torch.tensor([[1.0, 2.0], [3.0, 1.0]]), 8, bias=True)
    torch.testing.assert_close(jacobians.kernel_blocks(with_bias, torch.arange(2))[0, 1], 6 * torch.eye(8))


def test_momentum_is_perpendicular_once() -> None:
    """ "The first step is perpendicular, the second is not." """
    worst = [
        jacobian_conditions._worst(
            encoders.Lookup(6, 3, generator=jacobian_conditions._generator()),
            lambda p: torch.optim.SGD(p, 0.3, momentum=0.9),
            steps,
        )
        for steps in (1, 2, 3)
    ]
    assert worst[0] < 1e-12 and max(worst[1:]) > 1e-3


# ---- the page


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_answer_shown_axe_finds_nothing(site_page: Callable[..., Any], name: str, scheme: str) -> None:
    page = site_page(Quiz(name).static_html(), color_scheme=scheme, width=360, reduced_motion="reduce")
    for button in page.locator('[data-action="show"]').all():
        button.click()
    assert page.locator(".cw-reasons li").count() == sum(
        len(question.answers) for question in quiz.load(name).questions
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert serious_violations(page) == []
