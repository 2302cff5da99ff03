"""The quiz on the popularity direction: verdicts come from course_lib, and so do the numbers in the explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from course_lib import popularity
from course_lib.lessons.popularity_direction import quiz
from tests.lessons.every import explanation


def measured_twice(items: Any, counts: Any, ratio: float, rng: Any) -> float:
    return popularity.projection_correlation(items, counts, ratio)


WRONG_FORMULAS = [
    (popularity, "double_dipping_law", lambda f: lambda c, d, r: f(c, 16, r), "null", "width"),
    (popularity, "double_dipping_law", lambda f: lambda c, d, r: popularity.ChanceLaw(0.0, 0.1), "null", "zero"),
    (popularity, "double_dipping_draws", lambda f: lambda *a, **k: np.zeros(9), "null", "significant"),
    (popularity, "cross_fitted_correlation", lambda f: measured_twice, "null", "halves"),
    (popularity, "pull_matrix", lambda f: lambda y, law: f(y, popularity.TripleLaw()), "first-axis", "law"),
    (popularity, "pull_matrix", lambda f: lambda y, law: 0 * y + y.sum(0), "first-axis", "taste"),
    (popularity, "expected_roles", lambda f: lambda y, law: (f(y, law)[0], 0 * f(y, law)[1]), "pushed", "none"),
    (popularity, "expected_roles", lambda f: lambda y, law: (f(y, law)[0], 3 * f(y, law)[1]), "pushed", "equal"),
]


def test_the_numbers_in_the_explanations_on_the_direction() -> None:
    counts = quiz._power_law(quiz.ITEMS)
    few, many = (popularity.double_dipping_law(c, 16, 0.05).mean for c in (counts, np.repeat(counts, 10)))
    assert few == pytest.approx(0.14, abs=0.005) and "0.14" in explanation("popularity-direction", "null", "zero")
    assert many / few == pytest.approx(1 / 3, abs=0.02) and "a third" in explanation(
        "popularity-direction", "null", "more"
    )
    drawn = popularity.double_dipping_draws(counts, 16, 0.05, size=20_000, rng=np.random.default_rng(1))
    least = stats.t.isf(0.025, 238)
    share = (np.abs(drawn) > least / np.sqrt(238 + least**2)).mean()
    assert 0.5 < share < 0.7 and "more than half" in explanation("popularity-direction", "null", "significant")
    assert quiz.FANS / quiz.USERS == 1 / 100


def test_opposite_means_lie_away_from_popularity() -> None:
    """'Slightly away': the mean cosine of unseen means and e_pop is below 0 in the world of the first question."""
    labels = quiz._skewed(30, 12)
    items = quiz._model(labels, steps=60, centred=True)[1]
    axis = popularity.popularity_direction(items, labels.sum(0), 0.25)
    cosines = [quiz._cosine(items[row == 0].mean(0), axis) for row in labels]
    assert np.mean(cosines) < 0 and "*away*" in explanation("popularity-direction", "conserved", "aligned")
