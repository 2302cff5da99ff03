"""The quizzes on norms and on gauges: verdicts come from course_lib, and so do the numbers in the explanations.

What holds for every quiz (each marked answer is computed, each wrong one explained, the page) is in test_quiz.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from course_lib import gauge, geometry, norms
from course_lib.lessons.gauge_freedom import quiz as gauge_freedom
from course_lib.lessons.gauge_freedom import stretched_axes
from course_lib.lessons.popularity_norm_coupling import norm_growth
from course_lib.lessons.popularity_norm_coupling import quiz as popularity_norm_coupling
from course_lib.lessons.shared import quiz

NORMS, GAUGES = "popularity-norm-coupling", "gauge-freedom"


def explanation(name: str, question: str, answer: str) -> str:
    (asked,) = [one for one in quiz.load(name).questions if one.id == question]
    return next(one.why for one in asked.answers if one.id == answer)


@pytest.mark.parametrize(
    ("room", "formula", "wrong", "caught"),
    [
        ("norms", "predicted_norm", lambda f: lambda *a, **k: f(*a, **k) ** 2, "sixteen_times"),
        ("norms", "crossover_count", lambda f: lambda norm, **k: f(norm, **k) * norm, "same_picture"),
        ("geometry", "cosine_gradient", lambda f: lambda q, k: f(q, k) * geometry.norm(q)[..., None], "same_picture"),
        ("geometry", "cosine_gradient", lambda f: lambda q, k: f(q, k) - 0.5 * q, "who_grows"),
        (
            "norms",
            "expected_squared_gradient",
            lambda f: lambda p, **k: f(p, **{**k, "coherence": 1.0}),
            "head_of_the_catalogue",
        ),
        ("norms", "decay_equilibrium", lambda f: lambda p, **k: f(1.0, **k), "weight_decay"),
        ("norms", "decayed_path", lambda f: lambda *a, **k: f(*a, **{**k, "lazy": False}), "weight_decay"),
        ("geometry", "normalise", lambda f: lambda x: x / geometry.norm(x).mean(), "serving"),
    ],
)
def test_a_wrong_formula_changes_the_verdicts_on_norms(
    monkeypatch: pytest.MonkeyPatch, room: str, formula: str, wrong: Callable[..., Any], caught: str
) -> None:
    before = getattr(popularity_norm_coupling, caught)()
    module = getattr(popularity_norm_coupling, room)
    monkeypatch.setattr(module, formula, wrong(getattr(module, formula)))
    assert getattr(popularity_norm_coupling, caught)() != before


@pytest.mark.parametrize(
    ("room", "formula", "wrong", "caught"),
    [
        ("gauge", "apply_gauge", lambda f: lambda A, B, d: (A * d, B * d), "what_changes"),
        ("gauge", "apply_gauge", lambda f: lambda A, B, d: (A, B), "post_hoc"),
        (
            "gauge",
            "diagonal_gauge_dimension",
            lambda f: lambda A: A.shape[1] - np.linalg.matrix_rank(A.astype(float)),
            "which_stretch",
        ),
        ("gauge", "keeps_norms", lambda f: lambda A, S, tol: True, "which_stretch"),
        ("gauge", "linear_gauge_dimension", lambda f: lambda A: max(0, 4 - len(A)), "how_many_rows"),
        ("gauge", "steck_objectives", lambda f: lambda X, A, B, decay: (f(X, A, B, decay=decay)[0],) * 2, "decay"),
        ("gauge", "steck_second", lambda f: lambda X, k, decay: f(X, k=k, decay=0.0), "decay"),
        (
            "gauge",
            "neighbours",
            lambda f: lambda X, k, metric="cosine", **o: f(X * [3, 1, 1] if metric == "cosine" else X, k, metric, **o),
            "distances",
        ),
        ("geometry", "cosine_distance", lambda f: lambda a, b: f(a, b) ** 0.5, "distances"),
    ],
)
def test_a_wrong_formula_changes_the_verdicts_on_gauges(
    monkeypatch: pytest.MonkeyPatch, room: str, formula: str, wrong: Callable[..., Any], caught: str
) -> None:
    before = getattr(gauge_freedom, caught)()
    module = getattr(gauge_freedom, room)
    monkeypatch.setattr(module, formula, wrong(getattr(module, formula)))
    assert getattr(gauge_freedom, caught)() != before


def test_every_function_of_a_quiz_is_asked() -> None:
    """A function nobody asks settles nothing."""
    for name, module in ((NORMS, popularity_norm_coupling), (GAUGES, gauge_freedom)):
        asked = {question.computed_by.partition(":")[2] for question in quiz.load(name).questions}
        there = {
            key
            for key, value in vars(module).items()
            if callable(value) and value.__module__ == module.__name__ and key[0] != "_"
        }
        assert asked == there


def test_the_numbers_in_the_explanations_on_norms() -> None:
    consistent, conflicting = popularity_norm_coupling.conflicting_items((1000, 100))
    assert f"from 1 to {consistent:.2f}" in explanation(NORMS, "who-grows", "more-is-longer").replace("\n", " ")
    assert f"reaches {conflicting:.2f} in 100" in explanation(NORMS, "who-grows", "more-is-longer")
    assert pytest.approx(1.19, abs=0.005) == 2**0.25
    assert norms.update_probability(0.01, 1024) > 0.9999  # "in practically every step"
    coherent = norms.expected_squared_gradient(np.array([0.01, 0.02]), batch_size=1024, coherence=1.0)
    assert (coherent[1] / coherent[0]) ** 0.25 == pytest.approx(1.40, abs=0.005)  # the answer for copies that agree


def test_the_numbers_in_the_explanations_on_gauges() -> None:
    row = np.array([0.6, 0.8])
    assert f"{geometry.norm(row * [2, 0.5]):.2f}" in explanation(GAUGES, "which-stretch", "all")
    rows = np.random.default_rng(0).normal(size=(5, 4))
    assert gauge.linear_gauge_dimension(rows[:4]) == 6 and gauge.diagonal_gauge_dimension(rows[:4]) == 0
    assert gauge.linear_gauge_dimension(rows) == 5
    assert gauge.linear_gauge_dimension(np.random.default_rng(1).normal(size=(10, 4))) == 0
    assert f"{2 - math.sqrt(2):.2f}" in explanation(GAUGES, "distances", "metric")
    films = stretched_axes.StretchedAxes()  # "with six items in the plane the nearest neighbour already changes"
    assert len(films.items) == 6 and any(films._nearest_changes())


def test_the_family_of_stretches_changes_cosines() -> None:
    """The explanation says so; here for d_1^2 = 2: exact squares, one cosine before and after."""
    first, second = Fraction(2), (1 - Fraction(36, 100) * 2) / Fraction(64, 100)
    rows = np.array([[0.6, 0.8], [0.6, -0.8]])
    moved = rows * np.sqrt([float(first), float(second)])
    assert geometry.norm(moved) == pytest.approx([1, 1])
    assert geometry.cosine(*rows) == pytest.approx(-0.28) and geometry.cosine(*moved) == pytest.approx(0.44)


def test_the_statistical_claims_of_the_norm_quiz_show_in_the_interactive() -> None:
    """'A law that holds on average': in the interactive single items differ from the predicted line, the mean
    hardly.
    """
    run = norm_growth.NormGrowth(lr=1.0)
    ratio = run.run().norms / run.predicted
    assert ratio.std() > 0.02 and abs(ratio.mean() - 1) < 0.1
