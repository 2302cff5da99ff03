"""The figures of the chapter on Gramian estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.lessons.gramian_estimators import plots

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "cost_of_forms": lambda: plots.cost_of_forms(
        [16, 256], {"pairs": [1e-4, 1e-2], "Gramians": [1e-4, 1e-3]}, width=64
    ),
    "double_sum": lambda: plots.double_sum(np.arange(24.0).reshape(8, 3) % 5, np.arange(24.0).reshape(8, 3) % 7),
    "estimation_errors": lambda: plots.estimation_errors(
        {"SOGram, 128": ([1, 2], [1.0, 0.5]), "SOGram, 1024": ([1, 2], [1.0, 0.3])}
    ),
    "folding": lambda: plots.folding({"none": {"observed": [0.1, 0.9], "random": [0.5, 0.5]}}, [-1, 0, 2]),
    "gravity_flow": lambda: plots.gravity_flow([[2.0, 0.1], [-1.5, 0.4], [0.3, 0.6]], [[1.0, 1.0], [-1.0, 0.5]]),
    "memories": lambda: plots.memories(5, {"batch": [1, 0, 0, 0, 0], "SOGram": [0.5, 0.25, 0.125, 0.06, 0.03]}),
    "one_person": lambda: plots.one_person(["Up"], ["Heat", "Big"], {"λ = 0": ([1.0], [0.9, 1.1])}),
    "rate_tradeoff": lambda: plots.rate_tradeoff(delta=0.01, sigma=1.0, drift="random_walk"),
}
