"""The rule by which a printed number counts as reproduced."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from course_lib.papers import agreement
from course_lib.papers.agreement import Spread, judge, pooled


@pytest.mark.seconds
def test_one_more_run_lies_in_the_interval_in_95_of_100_cases() -> None:
    """What the rule promises: three runs of ours and one of the paper, all from the same law."""
    rng = np.random.default_rng(0)
    runs = rng.normal(5, 2, size=(20_000, 4))
    agrees = np.mean([judge(row[:3], row[3]).verdict == "agrees" for row in runs])
    assert agrees == pytest.approx(0.95, abs=4 * np.sqrt(0.05 * 0.95 / 20_000))


def test_a_number_far_off_differs_and_the_bound_is_the_formulas() -> None:
    values = [1.0, 2.0, 3.0]
    bound = stats.t.ppf(0.975, 2) * 1.0 * np.sqrt(4 / 3)
    assert judge(values, 2 + bound - 1e-9).verdict == "agrees"
    assert judge(values, 2 + bound + 1e-9).verdict == "differs"
    assert judge(values, 0.0).allowed == pytest.approx(bound)


def test_the_papers_own_interval_adds_in_squares() -> None:
    assert judge([1.0, 3.0], 2.0, printed_half=3.0).allowed == pytest.approx(
        np.hypot(judge([1.0, 3.0], 2.0).allowed, 3.0)
    )


def test_pooling_uses_the_spread_within_groups_only() -> None:
    spread = pooled([[1.0, 3.0], [101.0, 103.0], [7.0]])
    assert (spread.deviation, spread.freedom) == (pytest.approx(np.sqrt(2)), 2)
    with pytest.raises(ValueError, match="no group"):
        pooled([[1.0], [2.0]])


def test_a_pooled_spread_judges_a_single_run() -> None:
    assert judge([1.0], 1.5, spread=Spread(1.0, 10)).verdict == "agrees"
    assert judge([1.0], 9.0, spread=Spread(1.0, 10)).verdict == "differs"


def test_what_cannot_be_judged_says_why() -> None:
    assert judge([], 1.0).verdict == "not run"
    assert judge([1.0], 1.0).verdict == "one run"
    assert judge([1.0, 1.1, 0.9], 1.0, converged=False).verdict == "not converged"
    assert set(agreement.Verdict.__args__) == {"agrees", "differs", "one run", "not converged", "not run"}


def test_what_is_no_number_is_refused_by_name() -> None:
    """NaN would count as a number that differs."""
    with pytest.raises(ValueError, match="printed is nan"):
        judge([1.0, 2.0], float("nan"))
    with pytest.raises(ValueError, match=r"values\[1\] is nan"):
        judge([1.0, float("nan")], 1.0)
    with pytest.raises(ValueError, match="freedom is 0"):
        Spread(1.0, 0)
