"""The figures of the chapter on gauge freedom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from course_lib.lessons.gauge_freedom import plots

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "circle_and_ellipse": lambda: plots.circle_and_ellipse([[1.0, 0.0], [0.5**0.5, 0.5**0.5]], [1.5**0.5, 0.5**0.5]),
    "free_dimensions": lambda: plots.free_dimensions({"any": ([0, 1, 2], [2, 1, 0])}, needed={"k": 2}),
    "hundred_gauges": lambda: plots.hundred_gauges([0.2, 0.4, 0.41], picked=0.2, chance=0.07),
    "neighbour_overlap": lambda: plots.neighbour_overlap(
        {"diagonal": ([0, 1], [1.0, 0.3]), "linear": ([0, 1], [1.0, 0.4])}, chance=0.02
    ),
    "on_the_circle": lambda: plots.on_the_circle([[0.6, 0.8]], [[0.8, 0.6]], [4 / 3, 3 / 4]),
    "scores_and_cosines": lambda: plots.scores_and_cosines(([0.0, 1.0], [0.0, 1.0]), ([0.2, -0.4], [0.5, 0.9])),
    "sphere_distances": plots.sphere_distances,
    "two_starts": lambda: plots.two_starts({"sphere": {"cosine": 0.3, "scores": 0.4}}, chance=0.02, x_label="share"),
}
