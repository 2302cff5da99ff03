"""The figures of the chapter: recall, films shown and the popularity that cosines hold, against the temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
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
        ax.set(ylim=(0, None))
        _temperatures(ax)
    axes[0].set_title("recall@10 in %")
    axes[1].set_title("films shown")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return fig, axes


def _temperatures(ax: Axes) -> None:
    ax.set(xscale="log", xlabel="temperature")
    ax.set_xticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
    ax.xaxis.set_minor_formatter("")


@in_style
def popularity_held(
    panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]],
) -> tuple[Figure, np.ndarray]:
    """How much of the log of the counts the scores hold, against the temperature, a panel for each data set.

    panels: title -> loss -> temperatures and shares. Level lines at what the losses aim at, 1 and 0. Returns the figure
    and its axes.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(7.6, 3.3), dpi=92, sharey=True)
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        for level in (0, 1):
            ax.axhline(level, color=SOFT, lw=1.2, ls=(0, (6, 3)))
        for at, (name, (taus, shares)) in enumerate(lines.items()):
            ax.plot(taus, shares, **series_style(name, at), lw=1.8, ms=5, mfc="none")
        ax.set(title=title)
        _temperatures(ax)
    axes[0].set_ylabel("slope on the log of the count")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return fig, axes


@in_style
def by_weight(
    panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]],
    levels: Mapping[str, float],
    chosen: Mapping[str, Mapping[str, float]],
) -> tuple[Figure, np.ndarray]:
    """Recall against the weight of popularity, a panel for each temperature, on one scale.

    panels: title -> loss -> weights and recall in percent. levels: name of a list -> its recall, for two lists, a
    level line in each panel. chosen: title -> loss -> the weight that the window before chose, a filled mark. Returns
    the figure and axes.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(2.3 * len(panels), 4.2), dpi=92, sharey=True)
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        for (name, level), dashes in zip(levels.items(), ((6, 3), (1, 2)), strict=True):
            ax.axhline(level, color=SOFT, lw=1.6, ls=(0, dashes), label=name)
        for at, (name, (weights, recall)) in enumerate(lines.items()):
            style = series_style(name, at)
            ax.plot(weights, recall, **style, lw=1.8, ms=4, mfc="none")
            best = list(weights).index(chosen[title][name])
            ax.plot(weights[best], recall[best], color=style["color"], marker=style["marker"], ms=9, ls="none")
        ax.set(title=title, xlabel="weight", ylim=(0, None))
    axes[0].set_ylabel("recall@10 in %")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return fig, axes
