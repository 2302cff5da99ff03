"""The quiz of the chapter: course_lib decides its answers, and its numbers are right."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from course_lib import gauge, geometry
from course_lib.lessons.gauge_freedom import stretched_axes
from tests.lessons.every import explanation

NAME = "gauge-freedom"


def rank_of_the_rows_themselves(A: Any) -> Any:
    return A.shape[1] - np.linalg.matrix_rank(A.astype(float))


def of_stretched_rows(right: Any, X: Any, k: int, metric: str = "cosine", **options: Any) -> Any:
    return right(X * [3, 1, 1] if metric == "cosine" else X, k, metric, **options)


WRONG_FORMULAS = [
    (gauge, "apply_gauge", lambda f: lambda A, B, d: (A * d, B * d), "what-changes", ""),
    (gauge, "apply_gauge", lambda f: lambda A, B, d: (A, B), "post-hoc", ""),
    (gauge, "diagonal_gauge_dimension", lambda f: rank_of_the_rows_themselves, "which-stretch", ""),
    (gauge, "keeps_norms", lambda f: lambda A, S, tol: True, "which-stretch", ""),
    (gauge, "linear_gauge_dimension", lambda f: lambda A: max(0, 4 - len(A)), "how-many-rows", ""),
    (gauge, "steck_objectives", lambda f: lambda X, A, B, decay: (f(X, A, B, decay=decay)[0],) * 2, "decay", ""),
    (gauge, "steck_second", lambda f: lambda X, k, decay: f(X, k=k, decay=0.0), "decay", ""),
    (gauge, "neighbours", lambda f: partial(of_stretched_rows, f), "distances", ""),
    (geometry, "cosine_distance", lambda f: lambda a, b: f(a, b) ** 0.5, "distances", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    row = np.array([0.6, 0.8])
    assert f"{geometry.norm(row * [2, 0.5]):.2f}" in explanation(NAME, "which-stretch", "all")
    rows = np.random.default_rng(0).normal(size=(5, 4))
    assert gauge.linear_gauge_dimension(rows[:4]) == 6 and gauge.diagonal_gauge_dimension(rows[:4]) == 0
    assert gauge.linear_gauge_dimension(rows) == 5
    assert gauge.linear_gauge_dimension(np.random.default_rng(1).normal(size=(10, 4))) == 0
    assert f"{2 - math.sqrt(2):.2f}" in explanation(NAME, "distances", "metric")
    films = stretched_axes.StretchedAxes()  # "with six items in the plane the nearest neighbour already changes"
    before, after = (gauge.neighbours(rows, 1) for rows in (films.trained[0], films.moved[0]))
    assert len(films.items) == 6 and (before != after).any()


def test_the_family_of_stretches_changes_cosines() -> None:
    """The explanation says so; here for d_1^2 = 2: exact squares, one cosine before and after."""
    first, second = Fraction(2), (1 - Fraction(36, 100) * 2) / Fraction(64, 100)
    rows = np.array([[0.6, 0.8], [0.6, -0.8]])
    moved = rows * np.sqrt([float(first), float(second)])
    assert geometry.norm(moved) == pytest.approx([1, 1])
    assert geometry.cosine(*rows) == pytest.approx(-0.28) and geometry.cosine(*moved) == pytest.approx(0.44)
