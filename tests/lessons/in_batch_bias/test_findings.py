"""How far another split may be: the interval that decides whether a printed number of P3 reproduces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from course_lib.experiments.core.results import Result
from course_lib.lessons.in_batch_bias import findings
from course_lib.lessons.shared.findings import FindingError


def table_6(**splits: list[float]) -> Result:
    """A stored Table 6 whose Pos-Neg-ω has these P@5 at the ratios 1, 2, ..."""
    where = {
        "data": "ml-1m",
        "pointwise": "square",
        "loss": "pos_neg_omega",
        "method": "L-BFGS",
        "serving": "raw",
        "metric": "P@5",
    }
    rows = [
        {**where, "ratio": ratio, "seed": seed, "value": value, "paper": 10.0, "stopped": "gradient norm reached"}
        for ratio, values in enumerate(splits.values(), 1)
        for seed, value in enumerate(values)
    ]
    return Result("P3-T6", "laptop", "table 6", rows)


def test_one_more_split_is_students_prediction_interval() -> None:
    """With one cell of n values it is the interval of the textbooks; SciPy has its quantile."""
    values = [10.0, 11.0, 12.5, 9.0]
    half = stats.t.ppf(0.975, 3) * np.std(values, ddof=1) * np.sqrt(1 + 1 / 4)
    assert findings.one_more_split(table_6(one=values), 4) == pytest.approx(half)


def test_the_spread_is_pooled_over_cells_and_not_over_their_levels() -> None:
    """Two cells with the same spread at different levels: as one cell with twice the degrees of freedom."""
    both = findings.one_more_split(table_6(low=[1.0, 2.0, 3.0], high=[21.0, 22.0, 23.0]), 3)
    assert both == pytest.approx(stats.t.ppf(0.975, 4) * 1.0 * np.sqrt(1 + 1 / 3))


def test_another_split_covers_nineteen_of_twenty() -> None:
    """Simulated: three splits make the interval, a fourth falls into it."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(400):
        *ours, other = rng.normal(10, 0.3, 4)
        inside += abs(np.mean(ours) - other) < findings.one_more_split(table_6(one=ours), 3)
    assert 0.92 < inside / 400 < 0.98


def test_a_run_that_did_not_converge_counts_in_no_comparison() -> None:
    stored = table_6(one=[10.0, 10.1, 10.2])
    stored.rows.append({**stored.rows[0], "ratio": 2, "value": 99.0, "stopped": "ABNORMAL"})
    assert list(findings.table_6_agrees.function(stored)) == ["Pos-Neg-ω, 1"]


def test_a_printed_number_just_above_what_another_split_may_change_is_above_it() -> None:
    """The two smallest ratios of a made-up table, whose printed number is 10: 8 lies far below it, 10 does not."""
    stored = table_6(one=[8.0, 8.1], two=[8.0, 8.2])
    for row in stored.rows:
        row["ratio"] = {1: 1e-4, 2: 1e-5}[row["ratio"]]
    about = findings.small_ratios_stay_below  # alone: the table has no other rows for its family
    found = about.judged(about.cases(stored))
    assert found.support.startswith("both batch ratios, 2 seeds each") and set(found.cases) == {"0.0001", "1e-05"}
    for row in stored.rows:
        row["value"] += 2
    with pytest.raises(FindingError, match="small-ratios-stay-below"):
        about.judged(about.cases(stored))


def open_sets(lead: float) -> Result:
    """P3-X1 of the two sets: In-Batch leads by `lead` at both ratios, give or take a point."""
    rows = [
        {"data": data, "k": 8, "loss": loss, "ratio": ratio, "metric": "P@1", "seed": seed, "value": value}
        for data in findings.OPEN
        for seed, noise in enumerate((-1.0, 0.0, 1.0))
        for loss, ratio, value in (
            ("unbiased", None, 50.0),
            ("in_batch", 1e-5, 50 + lead + noise),
            ("in_batch", 1e-3, 50 + lead + noise),
        )
    ]
    return Result("P3-X1", "laptop", "reversal", rows)


def test_an_order_is_open_where_no_interval_leaves_zero_out() -> None:
    about = findings.two_sets_stay_open
    found = about.judged(about.cases(open_sets(0.5)))
    assert found.support == "undecided in all 4 pairs of data set and batch ratio, 3 seeds each: +0.5"
    with pytest.raises(FindingError, match="two-sets-stay-open: is called undecided, but"):
        about.judged(about.cases(open_sets(50.0)))
