"""The checks of the assignment on gauges: messages that fit, and the numbers that its solutions quote."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from in_process import functions
from sample_essays import unaccounted

from course_lib import gauge
from course_lib.lessons.gauge_freedom import checks
from course_lib.lessons.shared import real
from course_lib.lessons.shared.forms import NotYet, plainly
from exercises.engine import simulate
from exercises.gauge_freedom import hidden

MESSAGES = [
    ("feasible_square", lambda k, n: (np.eye(k), [-1.0, 1.0]), "signs change no cosine"),
    ("feasible_square", lambda k, n: (np.eye(k), [1.0, 1.0]), "identity"),
    ("feasible_square", lambda k, n: ([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0]), "span all 2"),
    ("feasible_square", lambda k, n: ([[1.0, 1.0]] * 2, [1.0, 2.0]), "length 1"),
    ("nearest", lambda B, i, j: [0.0, 1.0], "positive numbers"),
    ("survives", lambda M: [True, True], "three truth values"),
    ("pinning", lambda k: [[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], "fewer do"),
    ("decay", lambda A, B: [10**400, 1], "finite"),
]


def test_the_essay_on_gauges_quotes_the_neighbours_left() -> None:
    left = functions(simulate.reference("gauge-freedom"))["neighbours_left"]
    shares = {s: np.mean([left(*checks.films(s, seed=seed), 10) for seed in range(5)]) for s in (1, 2)}
    assert 0.35 < shares[1] < 0.5  # "less than half"
    assert shares[2] == pytest.approx(0.25, abs=0.05)  # "about a quarter"
    narrow, wide = (left(*checks.films(s), 10) for s in (1, 2))
    assert not unaccounted(
        "gauge-freedom",
        f"{narrow:.2f}",
        f"of spread 1 kept {100 * narrow:.0f} % of the ten nearest films, one of spread 2 kept {100 * wide:.0f} %",
        f"{100 * narrow:.0f} %",
        f"for $k=16$ that takes {16 * 17 // 2} rows",
        "vectors of length 1",
        "items at length 1",
    )


def test_the_films_of_two_checks_have_equal_scores() -> None:
    """A gauge changes neighbours and no score: what the task on films claims."""
    users, items, _, _ = real.film_factors(16)
    d = gauge.random_diagonal_gauge(16, spread=2.0, rng=np.random.default_rng(0))
    first, second = gauge.apply_gauge(users, items, d)
    assert np.abs(first @ second.T - users @ items.T).max() < 1e-10


@pytest.mark.parametrize("form", [float, np.int64, np.array, lambda x: x / 1])
def test_a_dimension_counts_in_whatever_form_a_whole_number_comes(form: Callable[[int], Any]) -> None:
    """k (k + 1) / 2 is a float in Python."""
    reference = functions(simulate.reference("gauge-freedom"))
    hidden.diagonal_dimension(plainly(lambda A: form(reference["diagonal_gauges"](A))))
    hidden.linear_dimension(plainly(lambda A: form(reference["linear_gauges"](A))))
    with pytest.raises(NotYet, match="no floats"):
        hidden.linear_dimension(plainly(lambda A: reference["linear_gauges"](A) + 0.5))
