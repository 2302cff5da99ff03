"""The house style needs no colour, and leaves no trace."""

import itertools
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from course_lib import in_batch
from course_lib.lessons.shared import house, plots
from tests.colours import contrast

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "circles": lambda: plots.circles({"a": [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.1, 1.2]]]}),
    "over_steps": lambda: plots.over_steps({"a": [1.0, 2.0, 3.0], "b": [1.0, 0.9]}, label="norm", level=1.0, log=True),
    "training_curves": lambda: plots.training_curves({"unbiased": ([1, 2], [3.0, 2.0])}, label="loss", log=True),
}


def test_style_is_the_default_after_it_was_asked_for() -> None:
    with mpl.rc_context():
        house.style()
        assert {key: mpl.rcParams[key] for key in ("axes.grid", "axes.edgecolor")} == {
            "axes.grid": True,
            "axes.edgecolor": house.SOFT,
        }


def test_words_on_tints_are_legible_and_marks_are_visible() -> None:
    assert contrast(house.WRONG, house.WRONG_TINT) > 4.5 and contrast(house.INK, house.PULL_TINT) > 4.5
    assert all(contrast(color, "white") > 2 for _, color, _, _ in house.SERIES.values())


def test_no_two_series_need_colour_to_be_told_apart() -> None:
    assert set(in_batch.KINDS) <= set(house.SERIES)
    for group in ([look[2:] for look in house.SERIES.values()], [look[1:] for look in house.SPARE]):
        for (marker, dashes), (other_marker, other_dashes) in itertools.combinations(group, 2):
            assert marker != other_marker or dashes != other_dashes
    assert len({look[2] for look in house.SERIES.values()}) == len(house.SERIES)


def test_a_series_more_than_there_are_looks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"index is 8 .*at most 8 series"):
        house.series_style("one more", len(house.SPARE))
