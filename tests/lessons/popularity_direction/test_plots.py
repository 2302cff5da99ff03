"""The figures of the chapter on the popularity direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.lessons.popularity_direction import plots

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "axis_growth": lambda: plots.axis_growth(
        [1, 2, 3], {"first": [1.0, 2.0, 4.0], "second": [1.0, 1.2, 1.5]}, {"first": [1.0, 2.1, 4.4]}
    ),
    "chance_law": lambda: plots.chance_law([0.1, 0.2, 0.3, 0.2], [0.15, 0.22, 0.3], marks={"shuffled": 0.2}),
    "fan_means": lambda: plots.fan_means(
        [1, 3, 9, 80], {"at the start": [0.1, 0.1, 0.3, 0.9], "trained": [0.5, 0.6, 0.8, 0.9]}, 100
    ),
    "mean_item": lambda: plots.mean_item(
        {"SGD": [0.0, 1e-16], "Adam": [0.1, 0.2]}, {"SGD": [0.0, 0.0], "Adam": [-0.2, -0.4]}
    ),
    "one_list": lambda: plots.one_list([1, 2, 3], [0.1, 0.9, 0.8], [0.0, 0.9, 0.5], formula=0.98),
    "popularity_cloud": lambda: plots.popularity_cloud(
        np.arange(60.0).reshape(20, 3) % 7, np.arange(20), 0.1, groups=np.arange(20) % 2
    ),
    "projections": lambda: plots.projections(
        {"A": [0.1, 0.3, 0.2], "B": [1.0, 0.0, -1.0], "C": [0, 1, 2]}, [1, 5, 9], named={"Jaws": 0, "Alien": 2}
    ),
    "roles": lambda: plots.roles([1, 5, 9], {"uniform": [5, 5, 5], "popular": [1, 5, 8]}),
    "projection_panels": lambda: plots.projection_panels(
        {"MF": ([1, 2, 9], [0.1, -0.2, 0.8], "r = 0.9"), "null": ([1, 2, 9], [0.0, 0.1, 0.3], "r = 0.3")}
    ),
}
