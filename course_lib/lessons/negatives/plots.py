"""The figure of the chapter: recall and films shown against the temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from course_lib.lessons.shared.house import SOFT, in_style, series_style

Points = tuple[Sequence[float], Sequence[float], Sequence[float]]  # temperatures, recall, films shown


@in_style
def temperature_sweep(lines: Mapping[str, Points], hits: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """Recall (left) and films shown (right) against the temperature.

    lines: name -> temperatures, recall in percent and films shown. hits: recall and films of the list of hits, a level
    line in each panel. Returns the figure and its two axes.
    """
    fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.3), dpi=92)
    for place, (ax, level) in enumerate(zip(axes, hits, strict=True)):
        ax.axhline(level, color=SOFT, lw=1.6, ls=(0, (6, 3)), label="list of hits")
        for at, (name, (taus, *values)) in enumerate(lines.items()):
            ax.plot(taus, values[place], **series_style(name, at), lw=1.8, ms=5, mfc="none")
        ax.set(xscale="log", xlabel="temperature", ylim=(0, None))
        ax.set_xticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
        ax.xaxis.set_minor_formatter("")
    axes[0].set_title("recall@10 in %")
    axes[1].set_title("films shown")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return fig, axes
