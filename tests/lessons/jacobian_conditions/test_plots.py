"""The figures of the chapter on Jacobian conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.lessons.jacobian_conditions import plots

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "angle_roses": lambda: plots.angle_roses({"a": [90.0, 88.0], "b": [10.0, 120.0, 95.0]}, chance=0.11),
    "kernel_blocks": lambda: plots.kernel_blocks(
        {"lookup": np.eye(4).reshape(2, 2, 2, 2).transpose(0, 2, 1, 3) - 0.1}, ["a", "b"]
    ),
    "leak_map": lambda: plots.leak_map([[0.0, 0.3], [0.2, 1.0]], ["a", "b"]),
    "tower_norms": lambda: plots.tower_norms({"users": [[1.0, 2.0], [3.0, 1.0]]}, named={"users": {0: "a user"}}),
}
