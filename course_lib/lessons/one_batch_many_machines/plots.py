"""Figures of the chapter."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.lessons.shared.house import INK, PULL, PUSH, in_style


@in_style
def sum_of_squares(numbers: Sequence[float]) -> tuple[Figure, Axes]:
    """The sum of squared distances to t, over t, with its least value at the mean. FILL IN: the chapter's figures."""
    values = np.asarray(numbers, dtype=float)
    t = np.linspace(values.min() - 1, values.max() + 1, 200)
    fig, ax = plt.subplots()
    ax.plot(t, ((values[:, None] - t) ** 2).sum(axis=0), color=PULL)
    ax.plot(values, np.zeros_like(values), "|", color=INK, markersize=14)
    ax.axvline(values.mean(), color=PUSH, linestyle="--")
    ax.set_xlabel("t")
    ax.set_ylabel("sum of squared distances")
    return fig, ax
