"""The figures of the chapter, each drawn once; what holds for every figure is tested for all lessons at once."""

from __future__ import annotations

import pytest

from course_lib.lessons.judging import plots

FIGURES = {"sampled_chances": lambda: plots.sampled_chances(660, [20, 100])}


def test_a_sample_of_twenty_cannot_tell_rank_three_from_rank_thirty_and_all_films_can() -> None:
    _, ax = plots.sampled_chances(660, [20])
    sampled, full = ax.lines
    at = {int(rank): value for rank, value in zip(sampled.get_xdata(), sampled.get_ydata(), strict=True)}
    assert at[1] == 1 and min(value for rank, value in at.items() if rank <= 30) > 0.99
    assert list(full.get_xdata()) == pytest.approx([1, 10, 661]) and list(full.get_ydata()) == [1, 0, 0]
