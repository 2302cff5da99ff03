"""The figure of the chapter on serving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from course_lib.lessons.serving import plots

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "by_quarter": lambda: plots.by_quarter(
        {"films": {"inner product": [0.4, 0.6, 0.8, 1.0], "one more coordinate": [0.9, 0.5, 0.1, float("nan")]}}
    ),
}
