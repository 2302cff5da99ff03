"""Figures that several lessons draw: curves of training, quantities over steps, paths on circles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc

from course_lib import geometry
from course_lib.lessons.shared.house import GRID, INK, SPARE, in_style, series_style


@in_style
def training_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    label: str,
    x_label: str = "step",
    log: bool = False,
) -> tuple[Figure, Axes]:
    """A quantity against the training step: name -> (steps, values)."""
    fig, ax = plt.subplots()
    for index, (name, (steps, values)) in enumerate(curves.items()):
        ax.plot(steps, values, **series_style(name, index), markevery=0.12)
    ax.set(xlabel=x_label, ylabel=label, yscale="log" if log else "linear")
    ax.legend()
    return fig, ax


@in_style
def over_steps(
    curves: Mapping[str, Sequence[float]], *, label: str, level: float | None = None, log: bool = False
) -> tuple[Figure, Axes]:
    """One number per step for several runs, told apart by marker, line and a name at the end of each.

    curves: name -> values at steps 0, 1, 2, ...; level: a thin line to compare with; log: logarithmic axis.
    """
    fig, ax = plt.subplots(figsize=(6.6, 3.9))
    for index, (name, given) in enumerate(curves.items()):
        values = np.asarray(given, dtype=float)
        if values.ndim != 1 or len(values) < 2:
            raise ValueError(f"the curve {name!r} has shape {values.shape}; expected at least two numbers")
        ax.plot(values, **series_style(name, index), markevery=(index % 3, max(1, len(values) // 8)))
    if level is not None:
        ax.axhline(level, color=INK, lw=1, ls=(0, (4, 3)))
    if log:
        ax.set_yscale("log")
    ax.set(xlabel="step of training", ylabel=label)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9.5)
    return fig, ax


def arrow(ax: Axes, start: Any, end: Any, *, color: str, width: float = 2.0, line: str = "-") -> None:
    head = "-|>,head_width=0.22,head_length=0.45"
    look = {"arrowstyle": head, "color": color, "lw": width, "ls": line, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops=look)


def plane(ax: Axes, reach: float) -> None:
    ax.set_aspect("equal")
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
    ax.set_axis_off()


@in_style
def circles(panels: Mapping[str, Any], *, size: float = 2.9) -> tuple[Figure, np.ndarray]:
    """P0's Figure 2 by code: paths of vectors of the plane, each step an arrow, with the circle that it starts on.

    panels: title -> path (T + 1, n, 2) of n vectors over T steps. An arc of 50 degrees to each side shows the circle of
    each start; a step that is tangent leaves it at a right angle to the radius. Hollow marks are starts, full ones
    ends; each vector has its own marker. Returns the figure and an array of its axes, one for each panel.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    fig, grid = plt.subplots(rows, columns, figsize=(size * columns, (size + 0.35) * rows), squeeze=False, dpi=88)
    for ax in grid.flat[len(panels) :]:
        ax.set_visible(False)
    for ax, (title, given) in zip(grid.flat, panels.items(), strict=False):
        path = np.asarray(given, dtype=float)
        if path.ndim != 3 or path.shape[-1] != 2:
            raise ValueError(f"the path {title!r} has shape {path.shape}; expected (T + 1, n, 2), vectors of the plane")
        _draw_paths(ax, path)
        ax.set_title(title, fontsize=10.5)
    return fig, grid.ravel()[: len(panels)]


def _draw_paths(ax: Axes, path: np.ndarray) -> None:
    reach = 1.12 * float(geometry.norm(path).max())
    ax.plot(0, 0, "+", color=INK, ms=8)
    for index in range(path.shape[1]):
        color, marker, _ = SPARE[index % len(SPARE)]
        for start, end in zip(path[:-1, index], path[1:, index], strict=True):
            middle, radius = np.degrees(np.arctan2(*start[::-1])), float(geometry.norm(start))
            turn = min(50, 400 * 0.35 * reach / max(radius, 1e-9) / 2)
            ax.add_patch(
                Arc((0, 0), 2 * radius, 2 * radius, theta1=middle - turn, theta2=middle + turn, ec=GRID, lw=1.3)
            )
            if geometry.norm(end - start) > 0.004 * reach:
                arrow(ax, start, end, color=color, width=1.5)
        ax.plot(*path[0, index], marker, mfc="white", mec=color, ms=6.5, mew=1.5, zorder=4)
        ax.plot(*path[-1, index], marker, color=color, ms=6.5, zorder=4)
    plane(ax, reach)
