"""The figures of norms and popularity show what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from course_lib.lessons.popularity_norm_coupling import plots

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "coupled_runs": lambda: plots.coupled_runs(0.2, 0.6, [0.1, 0.5, 0.9, 0.3]),
    "decay_balance": lambda: plots.decay_balance([0.1, 1.0], {"decay": [1.0, 1.8]}, {"decay": [1.0, 1.78]}),
    "growth_law": lambda: plots.growth_law([1.0, 10.0], start_norm=1.0, h=0.02),
    "norms_against_counts": lambda: plots.norms_against_counts(
        [1, 3, 9, 80], {"after": [1.0, 1.2, 1.5, 3.0]}, lines={"after": [1.1, 1.2, 1.6, 2.9]}, start_norm=1.0
    ),
    "lengths_and_shares": lambda: plots.lengths_and_shares(([0, 10], [1.0, 1.3]), {"dot": ([0, 10], [0.01, 0.3])}),
    "remedy_rows": lambda: plots.remedy_rows(
        {"nothing": {"cosine": (0.01, 0.04), "dot product": (0.3, 0.1)}}, chance=0.007, most_popular=0.1
    ),
    "saturation_slope": lambda: plots.saturation_slope(512, [0.0, 0.1, 1.0]),
    "two_items": lambda: plots.two_items({"a": [[1.0, 1.0], [1.2, 0.9]], "b": [[1.0, 1.0], [0.8, 1.4], [1.4, 1.5]]}),
}


def test_coupled_runs_mark_each_batch_once_and_count_both_items() -> None:
    uniforms = [0.05, 0.3, 0.9, 0.6, 0.1]
    _, (top, bottom) = plots.coupled_runs(0.2, 0.7, uniforms)
    marks = {line.get_label(): np.asarray(line.get_xdata()).tolist() for line in top.lines if line.get_marker() == "o"}
    assert marks == {"both are updated": [1, 5], "only the popular item": [2, 4], "neither": [3]}
    ends = sorted(int(line.get_ydata()[-1]) for line in bottom.lines)
    assert ends == [2, 4]
    for line in top.lines:
        if line.get_marker() == "o":
            assert line.get_fillstyle() in ("full", "bottom", "none")  # no colour needed
    with pytest.raises(ValueError, match="expected 0 <= rare <= popular <= 1"):
        plots.coupled_runs(0.7, 0.2, uniforms)


def test_growth_law_marks_the_crossover_on_its_curve() -> None:
    _, ax = plots.growth_law([1.0, 10.0], start_norm=1.0, h=0.02)
    marks = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [mark.get_xdata()[0] for mark in marks] == [1250.0, 12.5]
    assert all(mark.get_ydata()[0] == pytest.approx(2**0.25) for mark in marks)


def test_norms_against_counts_draws_medians_and_lines() -> None:
    counts, lengths = np.array([1, 1, 1, 100]), np.array([1.0, 2.0, 9.0, 5.0])
    _, axes = plots.norms_against_counts(counts, {"a": lengths, "b": lengths}, lines={"b": lengths})
    (squares,) = [line for line in axes[0].lines if line.get_marker() == "s"]
    assert np.column_stack(squares.get_data()).tolist() == [[1, 2], [100, 5]]
    assert [len(ax.lines) for ax in axes] == [2, 3]
    with pytest.raises(ValueError, match=r"lengths\['a'\] has shape \(2,\) and counts \(4,\)"):
        plots.norms_against_counts(counts, {"a": [1.0, 2.0]})


def test_saturation_lies_between_a_quarter_and_a_half() -> None:
    _, ax = plots.saturation_slope(512, [0.0, 1.0])
    flat, steep = (np.asarray(line.get_ydata()) for line in ax.lines[:2])
    assert np.allclose(flat, 0.25) and steep[0] < 0.26 and 0.49 < steep[-1] < 0.5


def test_two_items_end_where_they_end() -> None:
    _, (_, lengths) = plots.two_items({"a": [[1.0, 0.0], [1.0, 1.0]], "b": [[1.0, 0.0], [3.0, 4.0]]})
    assert [text.get_text() for text in lengths.texts] == ["a:\n1.41", "b:\n5.00"]
    with pytest.raises(ValueError, match=r"paths\['a'\] has shape \(3,\)"):
        plots.two_items({"a": [1.0, 2.0, 3.0]})


def test_lengths_and_shares_stand_in_two_panels_with_bands_and_the_chance_line() -> None:
    bands = {"length": [0.0, 0.1], "dot": [0.0, 0.05]}
    shares = {"dot": ([0, 5], [0.01, 0.4]), "cosine": ([0, 5], [0.01, 0.02])}
    _, (left, right) = plots.lengths_and_shares(([0, 5], [1.0, 1.5]), shares, bands=bands, chance=0.02)
    assert list(left.lines[0].get_ydata()) == [1.0, 1.5] and len(left.collections) == 1
    assert [list(line.get_ydata()) for line in right.lines[:2]] == [[0.01, 0.4], [0.01, 0.02]]
    assert len(right.collections) == 1 and left.get_ylim()[0] == right.get_ylim()[0] == 0
    assert right.lines[-1].get_ydata()[0] == 0.02 and right.texts[0].get_text() == "chance"


def test_named_films_stand_in_the_last_panel() -> None:
    lengths = np.array([1.0, 3.0])
    _, (first, last) = plots.norms_against_counts(
        [1, 80], {"before": lengths, "after": 2 * lengths}, named={"Iron Man 3": 1}
    )
    assert not first.texts and [text.get_text() for text in last.texts] == ["Iron Man 3"]
    assert last.texts[0].xy == (80, 6)
