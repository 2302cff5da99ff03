"""The rule by which a printed number counts as reproduced."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused
from scipy import stats

from course_lib.papers import agreement
from course_lib.papers.agreement import Spread, judge, pooled, shared, weigh


def verdicts_of(printed_at: float, deviation: float, times: int = 1_500) -> dict[str, float]:
    """Simulated: three runs of ours around 100, and a printed one around `printed_at`: the share of each verdict."""
    rng = np.random.default_rng(0)
    ours = rng.normal(100, deviation, (times, 3))
    printed = rng.normal(printed_at, deviation, times)
    found = [judge(runs, one).verdict for runs, one in zip(ours, printed, strict=True)]
    return {verdict: found.count(verdict) / times for verdict in ("agrees", "differs", "undecided")}


@pytest.mark.seconds
def test_a_number_beyond_the_margin_agrees_in_at_most_5_of_100_cases() -> None:
    """The expectations lie as far apart as the margin allows, where an equivalence test errs most."""
    for deviation in (0.5, 2.0):
        assert verdicts_of(100 / (1 - agreement.MARGIN) + 1e-9, deviation)["agrees"] <= 0.05 + 0.02
    assert verdicts_of(100, 0.5)["agrees"] > 0.95
    assert verdicts_of(120, 0.5)["differs"] > 0.95


def test_the_bounds_are_the_formulas() -> None:
    values, half = [99.0, 100.0, 101.0], stats.t.ppf(0.95, 2) * 1.0 * np.sqrt(4 / 3)
    assert judge(values, 100.0).half == pytest.approx(half) and judge(values, 100.0).allowed == pytest.approx(5.0)
    edge = (100 + half) / 0.95  # above: off - half = 5 % of the printed number
    assert judge(values, edge + 1e-6).verdict == "differs" and judge(values, edge - 1e-6).verdict == "undecided"
    edge = (100 - half) / 0.95  # off + half = 5 % of it
    assert judge(values, edge - 1e-6).verdict == "agrees" and judge(values, edge + 1e-6).verdict == "undecided"
    assert judge(values, 0.0).allowed == 0


def test_the_papers_own_interval_is_the_margin_where_it_prints_one() -> None:
    values = [99.0, 100.0, 101.0]
    assert judge(values, 100.0, printed_half=3.0).verdict == "undecided"
    wide = judge(values, 100.0, printed_half=4.0)
    assert (wide.allowed, wide.verdict) == (4.0, "agrees")


def test_cells_that_share_their_splits_know_less_than_they_count() -> None:
    """Greenhouse and Geisser's degrees of freedom: between n - 1 and (n - 1)^2, whatever the number of cells."""
    rng = np.random.default_rng(0)
    split = rng.normal(size=5)
    alike = shared([split + level for level in (10.0, 20.0, 30.0)])
    assert (alike.freedom, alike.deviation) == (pytest.approx(4), pytest.approx(split.std(ddof=1)))
    apart = shared(rng.normal(size=(200, 5)))
    assert 14 < apart.freedom <= 16
    one = rng.normal(size=(3, 4))
    centred = one - one.mean(axis=1, keepdims=True)
    S = centred @ centred.T / 3
    assert shared(one).freedom == pytest.approx(3 * np.trace(S) ** 2 / np.trace(S @ S))
    assert shared(one).deviation == pytest.approx(np.sqrt(np.trace(S) / 3))
    assert shared([[1.0, 1.0]]).deviation == 0
    with pytest.raises(ValueError, match=r"cells has shape \(1, 1\)"):
        shared([[1.0]])


@pytest.mark.seconds
def test_the_pooled_interval_holds_for_cells_that_share_their_splits() -> None:
    """Simulated: twenty cells whose runs correlate by .8; a 90 % interval covers at least 90 % of single runs."""
    rng, inside, naive = np.random.default_rng(0), 0, 0
    for _ in range(1_000):
        common = rng.normal(size=4)
        cells = np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(size=(20, 4))  # the last column: the paper's run
        spread, many = shared(cells[:, :3]), pooled(list(cells[:, :3]))
        off = abs(cells[0, 3] - cells[0, :3].mean())
        inside += off <= spread.of_difference(3)
        naive += off <= many.of_difference(3)
    assert inside / 1_000 > 0.87 > 0.85 > naive / 1_000


def test_pooling_uses_the_spread_within_groups_only() -> None:
    spread = pooled([[1.0, 3.0], [101.0, 103.0], [7.0]])
    assert (spread.deviation, spread.freedom) == (pytest.approx(np.sqrt(2)), 2)
    with pytest.raises(ValueError, match="no group"):
        pooled([[1.0], [2.0]])


def test_a_pooled_spread_judges_a_single_run() -> None:
    assert judge([100.0], 101.0, spread=Spread(1.0, 10)).verdict == "agrees"
    assert judge([100.0], 120.0, spread=Spread(1.0, 10)).verdict == "differs"
    assert weigh(100.0, 20, Spread(1.0, 19), 101.0).n == 20


def test_what_cannot_be_judged_says_why() -> None:
    assert judge([], 1.0).verdict == "not trained"
    assert judge([1.0], 1.0).verdict == "undecided" and np.isnan(judge([1.0], 1.0).half)
    assert judge([1.0, 1.1, 0.9], 1.0, converged=False).verdict == "not converged"
    assert set(agreement.Verdict.__args__) == {
        *("agrees", "differs", "undecided"),
        *("not converged", "not trained", "not to be had"),
    }


NAN = float("nan")  # which would count as a number that differs
test_what_is_no_number_is_refused_by_name = refused(
    (lambda: judge([1.0, 2.0], NAN), "printed is nan"),
    (lambda: judge([1.0, NAN], 1.0), r"values\[1\] is nan"),
    (lambda: Spread(1.0, 0), "freedom is 0"),
    (lambda: judge(3, 1.0), "values is 3; expected a list of numbers"),
    (lambda: judge([1.0, 2.0], 1.0, converged="yes"), "converged is 'yes'"),
    # an empty one would be passed over in silence
    *((lambda s=s: judge([1.0, 2.0], 1.0, spread=s), "spread is .*; expected a Spread, or None") for s in (0, [], 1.5)),
    (lambda: pooled(3), "groups is 3"),
    (lambda: pooled([[[1.0, 2.0]]]), r"groups\[0\] is"),
    (lambda: pooled([[1.0, NAN]]), r"groups\[0\]\[1\]"),
    (lambda: shared([[1.0, NAN]]), "cells holds NaN or infinity"),
)
