"""The figures of the chapter on DDC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.lessons.ddc import plots

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "decay_and_sign": lambda: plots.decay_and_sign(["a", "b"], {"share": [0.1, 0.9], "change": [-3.0, 4.0]}),
    "differences": lambda: plots.differences(
        {"a": (0.01, 0.002, 3.0, 1.0), "b": (-0.01, 0.002, -3.0, 1.0)}, labels=("MRR", "AvgPop")
    ),
    "frontier": lambda: plots.frontier({"a": ([1, 2], [0.1, 0.2], ["0", ""])}, {"model": (1.5, 0.15)}),
    "loss_and_ranking": lambda: plots.loss_and_ranking(
        {"a": (0.1, 0.12), "b": (0.01, 0.11)}, {1: 0.1, 3: 0.03}, 0.12, marked=["a"]
    ),
    "missing_minimum": lambda: plots.missing_minimum(
        [1, 2], [1.0, 0.5], {"one": ([1, 10], [0.0, 1.0], 1.0), "other": ([1, 10], [0.0, 2.0], None)}
    ),
    "net_push": lambda: plots.net_push(np.linspace(-1, 1, 40), np.linspace(-5, 9, 40), np.linspace(-2, 1, 40)),
    "moved_items": lambda: plots.moved_items(
        [-1, 0, 1], {"own": [50, 20, 2], "served": [80, 80, 90]}, [0, 0.5, 1], {"both": [1.0, 0.0, -9.0]}
    ),
    "losses_after": lambda: plots.losses_after({"MF": {"own": [9.0, 10], "served": [90.0, 95]}}),
    "alone_and_together": lambda: plots.alone_and_together(
        {"MF": (-0.3, {"α": 5.0, "both": 6.0}), "LightGCN": (0.9, {"α": -60.0, "both": -9.0})}
    ),
    "turned_user": lambda: plots.turned_user(
        {"before": [3, 1], "after": [-0.5, 0]}, [[1, 0], [-1, -1]], [[-2, 1], [-2, -1]]
    ),
    "two_users": lambda: plots.two_users([1.5, 1.1], [0.94, -0.34], [0.17, 0.98], alpha=-1.0, beta=1.5),
    "accuracy_and_popularity": lambda: plots.accuracy_and_popularity(
        {"MF": {"DDC": (10.0, 5.0, 3.0, 1.0), "IPS": (-20.0, -9.0, 0.0, 0.0), "new": (-3.0, 1.0, 0.0, 0.0)}}
    ),
    "sign_of_alpha": lambda: plots.sign_of_alpha(
        {
            "MF": {"centroid": [0.2, -0.4], "negative": [0.9, 0.1], "change": [-10.0, 5.0]},
            "moved": {"centroid": [-1.0, 1.0], "negative": [0.0, 1.0], "change": [5.0, -9.0]},
        },
        moved=("moved",),
    ),
}
