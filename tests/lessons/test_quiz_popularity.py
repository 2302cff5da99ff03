"""The quizzes on the popularity direction and on DDC: verdicts come from course_lib, and so do the numbers in the
explanations.

What holds for every quiz (each marked answer is computed, each wrong one explained, the page) is in test_quiz.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from course_lib import correction, losses, popularity
from course_lib.lessons.ddc import quiz as ddc
from course_lib.lessons.popularity_direction import quiz as popularity_direction
from course_lib.lessons.shared import quiz

LIBRARY = {"popularity": popularity, "correction": correction, "losses": losses}
MODULES = {"popularity-direction": popularity_direction, "ddc": ddc}


def explanation(name: str, question: str, answer: str) -> str:
    (asked,) = [one for one in quiz.load(name).questions if one.id == question]
    return next(one.why for one in asked.answers if one.id == answer).replace("\n", " ")


@pytest.mark.parametrize(
    ("module", "where", "formula", "wrong", "caught", "answer"),
    [
        (
            popularity_direction,
            "popularity",
            "double_dipping_law",
            lambda f: lambda c, d, r: f(c, 16, r),
            "null",
            "width",
        ),
        (
            popularity_direction,
            "popularity",
            "double_dipping_law",
            lambda f: lambda c, d, r: popularity.ChanceLaw(0.0, 0.1),
            "null",
            "zero",
        ),
        (
            popularity_direction,
            "popularity",
            "double_dipping_draws",
            lambda f: lambda *a, **k: np.zeros(9),
            "null",
            "significant",
        ),
        (
            popularity_direction,
            "popularity",
            "cross_fitted_correlation",
            lambda f: lambda x, c, r, rng: popularity.projection_correlation(x, c, r),
            "null",
            "halves",
        ),
        (
            popularity_direction,
            "popularity",
            "pull_matrix",
            lambda f: lambda labels, law: f(labels, popularity.TripleLaw()),
            "first_axis",
            "law",
        ),
        (
            popularity_direction,
            "popularity",
            "pull_matrix",
            lambda f: lambda labels, law: 0 * labels + labels.sum(0),
            "first_axis",
            "taste",
        ),
        (
            popularity_direction,
            "popularity",
            "expected_roles",
            lambda f: lambda labels, law: (f(labels, law)[0], 0 * f(labels, law)[1]),
            "pushed",
            "none",
        ),
        (
            popularity_direction,
            "popularity",
            "expected_roles",
            lambda f: lambda labels, law: (f(labels, law)[0], 3 * f(labels, law)[1]),
            "pushed",
            "equal",
        ),
        (ddc, "correction", "has_minimiser", lambda f: lambda a, b: not f(a, b), "minimum", "both"),
        (ddc, "correction", "solve_user", lambda f: lambda s, t, a, b: f(s, t, a, b - b.mean()), "origin", "sign"),
        (ddc, "correction", "solve_user", lambda f: lambda s, t, a, b: f(s, t, a, b - b.mean()), "origin", "gone"),
        (ddc, "losses", "bpr", lambda f: lambda p, n: (p - n).mean() ** 2, "loss_scale", "below"),
        (
            ddc,
            "correction",
            "user_loss",
            lambda f: lambda s, t, a, b, x, y: f(s, t, 0 * a, b, x, y),
            "served",
            "learned",
        ),
        (
            ddc,
            "correction",
            "user_loss",
            lambda f: lambda s, t, a, b, x, y: f(s, t[1:], a, b[1:], x, y),
            "served",
            "shipped",
        ),
    ],
)
def test_a_wrong_formula_changes_the_verdicts(
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    where: str,
    formula: str,
    wrong: Callable[..., Any],
    caught: str,
    answer: str,
) -> None:
    before = getattr(module, caught)()
    library = LIBRARY[where]
    monkeypatch.setattr(library, formula, wrong(getattr(library, formula)))
    try:
        after = getattr(module, caught)()
    except AssertionError:
        return  # the function has noticed it
    assert after[answer] != before[answer]


@pytest.mark.parametrize("name", MODULES)
def test_every_function_of_the_quiz_is_asked(name: str) -> None:
    """A function nobody asks settles nothing."""
    asked = {question.computed_by.partition(":")[2] for question in quiz.load(name).questions}
    module = MODULES[name]
    there = {
        key
        for key, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__ and key[0] != "_"
    }
    assert asked == there and len(asked) == 5


def test_the_numbers_in_the_explanations_on_the_direction() -> None:
    counts = popularity_direction._power_law(popularity_direction.ITEMS)
    few, many = (popularity.double_dipping_law(c, 16, 0.05).mean for c in (counts, np.repeat(counts, 10)))
    assert few == pytest.approx(0.14, abs=0.005) and "0.14" in explanation("popularity-direction", "null", "zero")
    assert many / few == pytest.approx(1 / 3, abs=0.02) and "a third" in explanation(
        "popularity-direction", "null", "more"
    )
    drawn = popularity.double_dipping_draws(counts, 16, 0.05, size=20_000, rng=np.random.default_rng(1))
    least = stats.t.isf(0.025, 238)
    share = (np.abs(drawn) > least / np.sqrt(238 + least**2)).mean()
    assert 0.5 < share < 0.7 and "more than half" in explanation("popularity-direction", "null", "significant")
    assert popularity_direction.FANS / popularity_direction.USERS == 1 / 100


def test_opposite_means_lie_away_from_popularity() -> None:
    """'Slightly away': the mean cosine of unseen means and e_pop is below 0 in the world of the first question."""
    labels = popularity_direction._skewed(30, 12)
    items = popularity_direction._model(
        labels, popularity_direction.torch.optim.SGD, {"lr": 2.0}, steps=60, centred=True
    )[1]
    axis = popularity.popularity_direction(items, labels.sum(0), 0.25)
    cosines = [popularity_direction._cosine(items[row == 0].mean(0), axis) for row in labels]
    assert np.mean(cosines) < 0 and "*away*" in explanation("popularity-direction", "conserved", "aligned")


def test_the_numbers_in_the_explanations_on_ddc() -> None:
    loss = {margin: float(losses.bpr(np.array([margin]), np.zeros(1))) for margin in (2.0, 6.0, -2.0, -6.0)}
    assert (round(loss[2.0], 3), round(loss[6.0], 4), round(100 * loss[6.0] / loss[2.0])) == (0.127, 0.0025, 2)
    assert "0.127" in explanation("ddc", "loss-scale", "below") and "0.0025" in explanation(
        "ddc", "loss-scale", "below"
    )
    assert (round(loss[-2.0], 2), round(loss[-6.0], 2)) == (2.13, 6.0) and "2.13 to 6.00" in explanation(
        "ddc", "loss-scale", "wrong"
    )
    final = ddc.USER + ddc.BETA * ddc.PREFERENCE
    assert (ddc.POSITIVE @ final).tolist() == [4.5] and (ddc.NEGATIVES @ final).tolist() == [7, 0, 0]
    assert (ddc.NEGATIVES @ ddc.USER).tolist() == [-1, 0, 0] and "−1, 0 and 0" in explanation(
        "ddc", "served", "learned"
    )
    assert pytest.approx(0.25) == ddc.ALPHA + ddc.BETA_GAP * ddc.TILT and "= 0.25" in explanation(
        "ddc", "popularity", "up"
    )
