"""The figures of the chapter."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.lessons.judging.proofs import hit
from course_lib.lessons.shared.house import INK, SPARE, in_style, plain_numbers


@in_style
def sampled_chances(others: int, samples: Sequence[int], *, k: int = 10) -> tuple[Figure, Axes]:
    """The chance to be hit against the rank, for several numbers of sampled films and for all: Proposition 1."""
    fig, ax = plt.subplots(figsize=(6.6, 3.6))
    ranks = np.unique(np.geomspace(1, others + 1, 60).round().astype(int))
    for index, m in enumerate((*samples, others)):
        colour, _, line = SPARE[1 + index % (len(SPARE) - 1)]
        if m == others:  # a step, drawn as one
            ax.step([1, k, others + 1], [1, 0, 0], where="post", color=INK, label="all films")
            continue
        chances = [float(hit(int(r), others, m, k)) for r in ranks]
        ax.plot(ranks, chances, color=colour, ls=line, label=f"{m} sampled films")
    ax.set(xscale="log", xlabel="rank of the hidden film among all", ylabel=f"chance to be among the best {k}")
    plain_numbers(ax)
    ax.legend()
    return fig, ax
