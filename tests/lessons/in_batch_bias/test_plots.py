"""The figures of the chapter on in-batch sampling draw what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from course_lib.lessons.in_batch_bias import plots
from course_lib.lessons.shared import house

LABELS = [[0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]]


CELLS = [
    {"loss": loss, "ratio": ratio, "value": value, "metric": "P@5"}
    for loss, ratio, value in [
        ("unbiased", 1e-3, 17.0),
        ("unbiased", 1e-3, 18.0),
        ("unbiased", 1e-1, 18.5),
        ("in_batch", 1e-3, 0.5),
        ("popularity", None, 0.3),
    ]
]


FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "sampling_strategies": lambda: plots.sampling_strategies(
        LABELS, naive=[(0, 0), (1, 2), (2, 2), (3, 1)], cross=([0, 2], [1, 3]), in_batch=[(1, 1), (1, 3), (3, 0)]
    ),
    "misclassification_threshold": lambda: plots.misclassification_threshold(1000, popularity=[2, 5, 40]),
    "variance_curve": lambda: plots.variance_curve([2, 3, 4], {"unbiased": [4.0, 1.0, 0.0], "masked": [1.0, 0.5, 0.0]}),
    "metric_against_ratio": lambda: plots.metric_against_ratio(CELLS, paper=CELLS[:1], title="ML-1M"),
    "popularity_profile": lambda: plots.popularity_profile(
        np.arange(1, 101), {"in_batch": np.arange(100)}, label="score"
    ),
    "quality_and_popularity": lambda: plots.quality_and_popularity(
        {"naive": 1.5, "in-batch": 0.4}, {"naive": np.arange(1, 102), "in-batch": [[1, 2], [3, 4]]}
    ),
    "lead_against": lambda: plots.lead_against(
        {"made": [100, 100], "films": [20, 22]},
        {"made": [60, 62], "films": [-5, -7]},
        joined=["made"],
        xlabel="kept",
        ylabel="lead",
    ),
    "along_the_way": lambda: plots.along_the_way(
        {name: {"Unbiased": (np.array([1, 10, 100]), np.array([[1, 9, 4], [2, 8, 5]]))} for name in ("A", "B")},
        printed={"Unbiased": 8.5},
    ),
}


def line(ax: Any, label: str) -> tuple[np.ndarray, np.ndarray]:
    """x and y of the one line (or error bar) with this label."""
    handles, labels = ax.get_legend_handles_labels()
    (handle,) = [handle for handle, known in zip(handles, labels, strict=True) if known == label]
    return tuple(np.asarray(values, dtype=float) for values in getattr(handle, "lines", [handle])[0].get_data())


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_fig2_marks_the_positives_that_the_batch_mistakes() -> None:
    """P3, Section 3.3.1: (R2, C2), (R2, C4) and (R4, C4), and no other."""
    _, axes = FIGURES["sampling_strategies"]()
    crosses = [sum("✕" in text for text in texts(ax)) for ax in axes.ravel()]
    assert crosses == [0, 0, 0, 0, 0, 3]
    hatched = [patch for patch in axes[1, 2].patches if patch.get_hatch()]
    assert sorted((p.get_y() + 0.45, p.get_x() + 0.45) for p in hatched) == [(0, 1), (1, 0), (2, 1)]
    assert [tick.get_text() for tick in axes[1, 2].get_xticklabels()] == ["C2", "C4", "C1"]
    assert [tick.get_text() for tick in axes[1, 2].get_yticklabels()] == ["R2", "R2", "R4"]


def test_fig2_refuses_a_batch_of_negatives() -> None:
    with pytest.raises(ValueError, match=r"in_batch holds \(0, 0\), which is no positive"):
        plots.sampling_strategies(LABELS, naive=[], cross=([], []), in_batch=[(0, 0)])


def test_threshold_is_the_one_of_in_batch() -> None:
    _, ax = plots.misclassification_threshold(1000, popularity=np.arange(1, 101), quantiles=(0.5,))
    sizes, threshold = line(ax, "threshold 1 + (|O| − 1)/(|Ô| − 1)")
    assert (sizes[0], sizes[-1]) == (2, 1000)
    np.testing.assert_allclose(threshold, 1 + 999 / (sizes - 1))
    assert "50% of positive pairs below" in texts(ax) and 50.5 in [one.get_ydata()[0] for one in ax.lines]


def test_variance_curve_draws_standard_deviations() -> None:
    _, ax = FIGURES["variance_curve"]()
    np.testing.assert_allclose(line(ax, "Unbiased")[1], [2, 1, np.nan])
    with pytest.raises(
        ValueError, match=r"variances\['masked'\] has shape \(2,\), minimum -1.0; expected 2 values >= 0"
    ):
        plots.variance_curve([2, 3], {"masked": [4.0, -1.0]})


def test_metric_against_ratio_averages_seeds_and_keeps_the_paper_hollow() -> None:
    _, ax = FIGURES["metric_against_ratio"]()
    ratios, values = line(ax, "Unbiased")
    np.testing.assert_allclose([ratios, values], [[1e-3, 1e-1], [17.5, 18.5]])
    (bars,) = [c for c in ax.containers if c.get_label() == "Unbiased"]
    low, high = bars.lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == (17.0, 18.0)
    (paper,) = [c for c in ax.containers if c.get_label() == "Unbiased, paper"]
    assert paper.lines[0].get_markerfacecolor() == "white" and bars.lines[0].get_markerfacecolor() != "white"
    np.testing.assert_allclose(line(ax, "Popularity")[1], 0.3)  # no ratio: a level
    assert -1 < ax.get_ylim()[0] <= 0  # differences are seen against zero
    with pytest.raises(ValueError, match="no value of metric 'R@5'"):
        plots.metric_against_ratio(CELLS, metric="R@5")


def test_quality_and_popularity_puts_bars_beside_boxes() -> None:
    _, (left, right) = FIGURES["quality_and_popularity"]()
    assert [bar.get_width() for bar in left.patches] == [1.5, 0.4] and texts(left) == ["1.50", "0.40"]
    medians = [one.get_xdata()[0] for one in right.lines if one.get_color() == house.PUSH]
    assert medians == [51, 2.5]
    whiskers = [one.get_xdata() for one in right.lines if len(set(one.get_ydata())) == 1 and len(one.get_xdata()) == 2]
    assert any(np.allclose(sorted(ends), [6, 26]) for ends in whiskers)  # from the 5 % to the 25 % quantile of 1 to 101
    with pytest.raises(ValueError, match=r"quality names \['a'\] but recommended names \['b'\]"):
        plots.quality_and_popularity({"a": 1.0}, {"b": [1]})


def test_popularity_profile_averages_within_bins() -> None:
    popularity = np.repeat([1, 10, 100], 40)
    _, ax = plots.popularity_profile(popularity, {"in_batch": np.repeat([3.0, 2.0, 1.0], 40)}, label="score", bins=6)
    x, y = line(ax, "In-Batch")
    assert y.tolist() == sorted(y, reverse=True) and y[0] > 2.9 and y[-1] < 2 and x[0] == pytest.approx(1)
    with pytest.raises(ValueError, match=r"curves\['a'\] has shape \(2,\); expected \(3,\)"):
        plots.popularity_profile([1, 2, 3], {"a": [1, 2]}, label="score")
    with pytest.raises(ValueError, match="values above 0"):
        plots.popularity_profile([0, 2], {"a": [1, 2]}, label="score")


def test_a_lead_is_drawn_with_its_interval_and_its_name() -> None:
    _, ax = FIGURES["lead_against"]()
    made, films = ax.containers
    for point, at in ((made, (100, 61)), (films, (21, -6))):
        np.testing.assert_allclose(np.array(point.lines[0].get_data(), dtype=float).ravel(), at)
    low, high = films.lines[2][1].get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * 12.706, rel=1e-3) and texts(ax) == ["made", "films"]  # t of two seeds
    with pytest.raises(ValueError, match="expected the same sets in one order"):
        plots.lead_against({"a": [1]}, {"b": [1]}, xlabel="", ylabel="")
