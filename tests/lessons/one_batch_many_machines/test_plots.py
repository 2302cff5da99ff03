"""How the chapter's figures are drawn; tests/lessons/test_every_figure.py looks at the result."""

from __future__ import annotations

from course_lib.lessons.one_batch_many_machines import plots

FIGURES = {"sum_of_squares": lambda: plots.sum_of_squares([1.0, 2.0, 6.0])}
