"""The figure of the chapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from course_lib.lessons.negatives import plots

TAUS = [0.1, 0.2, 0.5, 1.0]
LINES = {
    "plain, alone": (TAUS, [3, 5, 7, 8], [680, 679, 675, 600]),
    "logQ, alone": (TAUS, [9, 13, 15, 15], [500, 400, 300, 80]),
}
FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "temperature_sweep": lambda: plots.temperature_sweep(LINES, (24.0, 24.0)),
}


def test_both_panels_hold_every_line_and_the_list() -> None:
    _, axes = plots.temperature_sweep(LINES, (24.0, 24.0))
    assert [len(ax.get_lines()) for ax in axes] == [3, 3]
    assert list(axes[1].get_lines()[2].get_ydata()) == [500, 400, 300, 80]
