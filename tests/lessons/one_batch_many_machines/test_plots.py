"""How the chapter's figures are drawn; tests/lessons/test_every_figure.py looks at the result."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from course_lib.lessons.one_batch_many_machines import plots
from course_lib.lessons.one_batch_many_machines.machines import Outcome

OUTCOMES = {"one machine": [Outcome(0.02, 10, 900, -0.9)], "eight, constants": [Outcome(0.04, 20, 800, 0.9)]}
FIGURES = {
    "found_and_shown": lambda: plots.found_and_shown(OUTCOMES),
    "who_pushes_whom": lambda: plots.who_pushes_whom(2, 3),
}


def test_a_far_cell_is_hatched_and_a_near_one_is_not() -> None:
    _, ax = plots.who_pushes_whom(2, 2)
    cells = {patch.get_xy(): patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_width() == 1}
    assert len(cells) == 16 and cells[2, 0].get_hatch() and not cells[1, 0].get_hatch()
