"""Figures of the chapter on gauges: scores and cosines, distances on the sphere, stretched planes, free dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.lessons.shared.house import (
    INK,
    PULL,
    PUSH,
    SOFT,
    SPARE,
    WRONG,
    in_style,
    note,
    series_style,
    white_sheet,
)


@in_style
def scores_and_cosines(scores: tuple[Any, Any], cosines: tuple[Any, Any]) -> tuple[Figure, np.ndarray]:
    """Left: the scores of two models against each other. Right: their cosines. Each a pair of vectors of equal length.

    Returns the figure and its two axes.
    """
    fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.9))
    for ax, pair, what in zip(
        axes, (scores, cosines), ("score of a person and a film", "cosine of two films"), strict=True
    ):
        first, second = map(np.asarray, pair)
        if first.shape != second.shape or first.ndim != 1:
            raise ValueError(
                f"{what}: got shapes {first.shape} and {second.shape}; expected two vectors of equal length"
            )
        low, high = min(first.min(), second.min()), max(first.max(), second.max())
        ax.plot([low, high], [low, high], color=SOFT, lw=1, ls=(0, (4, 3)), zorder=1)
        ax.plot(first, second, ls="none", marker="o", ms=3, color=PULL, alpha=0.35, mew=0, zorder=2)
        ax.set(xlabel=f"{what}, model 1", ylabel="model 2", aspect="equal")
    axes[0].set_title("What they predict")
    axes[1].set_title("What they call similar")
    return fig, axes


@in_style
def sphere_distances() -> tuple[Figure, Axes]:
    """The angle, the chord, 1 - cos and half the squared chord, against the angle in degrees."""
    angle = np.linspace(0, np.pi, 181)
    chord = 2 * np.sin(angle / 2)
    fig, ax = plt.subplots()
    degrees = np.degrees(angle)
    ax.plot(degrees, angle, color=INK, ls=":", label="angle (geodesic)")
    ax.plot(degrees, chord, color=PULL, ls="--", label="chord")
    ax.plot(degrees, 1 - np.cos(angle), color=PUSH, lw=4, alpha=0.45, label="1 − cosine")
    ax.plot(degrees, chord**2 / 2, color=WRONG, lw=1.2, label="½ chord²")
    ax.set(xlabel="angle between two directions, degrees", ylabel="distance", xticks=np.arange(0, 181, 45))
    ax.legend(loc="upper left")
    return fig, ax


@in_style
def on_the_circle(A: Any, B: Any, d: Any) -> tuple[Figure, np.ndarray]:
    """Two tables of unit rows before and after the diagonal gauge d: A D and B D^-1, with the unit circle.

    A (n, 2), B (m, 2), d (2,). Rows of A are arrows, those of B hollow squares. Returns the figure and its two axes.
    """
    A, B, d = (np.asarray(values, dtype=float) for values in (A, B, d))
    turn = np.linspace(0, 2 * np.pi, 200)
    fig, axes = plt.subplots(1, 2, figsize=(8.0, 4.2))
    for ax, title, rows, others in zip(axes, ("before", "after"), (A, A * d), (B, B / d), strict=True):
        ax.plot(np.cos(turn), np.sin(turn), color=INK, lw=1.2)
        for at, point in enumerate(rows, 1):
            ax.annotate("", point, (0, 0), arrowprops={"arrowstyle": "-|>", "color": PULL, "lw": 1.6, "shrinkB": 0})
            _name(ax, point, f"$a_{at}$", PULL)
        for at, point in enumerate(others, 1):
            ax.plot(*point, marker="s", ms=8, mfc="white", mec=PUSH, mew=1.6)
            _name(ax, point, f"$b_{at}$", PUSH)
        ax.set(title=title, xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal", xlabel="axis 1", ylabel="axis 2")
    return fig, axes


@in_style
def circle_and_ellipse(rows: Any, d: Any) -> tuple[Figure, np.ndarray]:
    """Which unit rows stay on the circle under D = diag(d)? Those where it meets the ellipse ||D a|| = 1.

    rows (n, 2) of unit vectors; d (2,). Left: the rows, the circle, the ellipse. Right: the rows after D. A row that
    leaves the circle is a cross, one that stays a dot.
    """
    rows, d = np.asarray(rows, dtype=float), np.asarray(d, dtype=float)
    turn = np.linspace(0, 2 * np.pi, 300)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    fig, axes = plt.subplots(1, 2, figsize=(8.0, 4.2))
    axes[0].plot(*(circle / d).T, color=WRONG, ls="--", label="ellipse $\\|Da\\|=1$")
    stays = np.abs(np.linalg.norm(rows * d, axis=1) - 1) < 1e-9
    for ax, points, title in zip(axes, (rows, rows * d), ("before", "after $D$"), strict=True):
        ax.plot(*circle.T, color=INK, lw=1.2, label="unit circle")
        for point, kept in zip(points, stays, strict=True):
            ax.plot([0, point[0]], [0, point[1]], color=SOFT, lw=1)
            ax.plot(*point, ls="none", marker="o" if kept else "X", ms=9, color=PULL if kept else PUSH, mec="white")
        ax.set(title=title, xlim=(-1.55, 1.55), ylim=(-1.55, 1.55), aspect="equal", xlabel="axis 1", ylabel="axis 2")
    axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2)
    return fig, axes


@in_style
def free_dimensions(
    series: Mapping[str, tuple[Any, Any]], *, needed: Mapping[str, float] | None = None
) -> tuple[Figure, Axes]:
    """Dimensions of the gauges that keep all lengths, against the number of rows: {label: (rows, dimensions)}.

    needed: {label: number of rows} draws a vertical line where the count says that the freedom ends.
    """
    fig, ax = plt.subplots()
    for at, (label, (rows, free)) in enumerate(series.items()):
        ax.plot(rows, free, **series_style(label, at), markevery=max(1, len(list(rows)) // 12), drawstyle="steps-post")
    top = ax.get_ylim()[1]
    for label, n in (needed or {}).items():
        ax.axvline(n, color=SOFT, lw=1, ls=(0, (2, 2)))
        ax.text(n, top, f" {label}", color=SOFT, va="top", ha="left", bbox=white_sheet())
    ax.set(xlabel="rows on the sphere", ylabel="free dimensions", ylim=(-0.5, top))
    ax.legend(loc="center right")
    return fig, ax


@in_style
def neighbour_overlap(
    curves: Mapping[str, tuple[Any, Any]],
    *,
    chance: float | None = None,
    x_label: str = "spread of the gauge (sd of log factors)",
) -> tuple[Figure, Axes]:
    """Share of the top 10 left against the spread of the gauge: {label: (spreads, shares)}; chance: a dotted line."""
    fig, ax = plt.subplots()
    for at, (label, (spread, share)) in enumerate(curves.items()):
        ax.plot(spread, share, **series_style(label, at))
    if chance is not None:
        ax.axhline(chance, color=SOFT, lw=1.2, ls=":")
        ax.text(ax.get_xlim()[0], chance, " two random lists", ha="left", va="bottom", color=SOFT, bbox=white_sheet())
    ax.set(xlabel=x_label, ylabel="share of the ten neighbours that is left", ylim=(0, 1.04))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=2)
    return fig, ax


@in_style
def hundred_gauges(shares: Sequence[float], *, picked: float, chance: float) -> tuple[Figure, Axes]:
    """How many of some random gauges keep which share of the neighbours.

    picked: the share that model 2 keeps, a solid line; chance: that of two random lists, a dotted one.
    """
    fig, ax = plt.subplots(figsize=(6.4, 2.6))
    ax.hist(shares, bins=list(np.arange(0, 1.01, 0.05)), color=PULL, alpha=0.6, ec="white")
    for share, name, dashes in ((picked, "model 2", "-"), (chance, "two random lists", ":")):
        ax.axvline(share, color=PUSH if dashes == "-" else SOFT, lw=1.6, ls=dashes, label=name)
    ax.set(xlabel="share of the ten neighbours that is left", ylabel="gauges", xlim=(0, 1))
    ax.legend(loc="upper right")
    return fig, ax


@in_style
def two_starts(
    values: Mapping[str, Mapping[str, float]], *, chance: float | None = None, x_label: str
) -> tuple[Figure, Axes]:
    """A dumbbell for each model: {model: {measure: share}}, two measures each, told apart by marker and fill."""
    fig, ax = plt.subplots(figsize=(6.8, 0.75 * len(values) + 1.5))
    measures = list(next(iter(values.values())))
    for row, found in enumerate(values.values()):
        ax.plot([min(found.values()), max(found.values())], [row, row], color=SOFT, lw=1.4, zorder=1)
    for at, measure in enumerate(measures):
        color, marker, _ = SPARE[at]
        share = [found[measure] for found in values.values()]
        look: Any = {"color": color, "marker": marker, "ms": 9, "mew": 1.8, "mfc": color if at == 0 else "white"}
        ax.plot(share, range(len(values)), ls="none", label=measure, **look)
    if chance is not None:
        ax.axvline(chance, color=SOFT, lw=1.2, ls=":")
        ax.text(chance, len(values) - 0.45, " chance", color=SOFT, va="center")
    ax.set(xlabel=x_label, xlim=(0, 1.03), ylim=(len(values) - 0.2, -0.6))
    ax.set_yticks(range(len(values)), list(values))
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, 1.02 + 0.6 / len(values)), ncol=len(measures))
    return fig, ax


def _name(ax: Axes, point: Any, name: str, color: str) -> None:
    """The name of a point, outside of it."""
    length = float(np.hypot(*point)) or 1.0
    offset = (14 * point[0] / length, 13 * point[1] / length + 2)
    note(ax, name, point, offset, color=color, ha="center", va="center", fontsize=9.5)
