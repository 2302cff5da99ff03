"""Figures of the chapter on Jacobians: kernels as blocks, angles of movement, norms of towers over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.lessons.shared.house import GRID, INK, PULL, PULL_TINT, PUSH, PUSH_FILL, SOFT, in_style, white_sheet

PETALS = 27  # of a rose: an odd number, so that 90 degrees is in the middle of one, and 90 +- 10 are three of them
NEAR = 10  # degrees from 90


@in_style
def kernel_blocks(kernels: Mapping[str, Any], names: Sequence[str]) -> tuple[Figure, np.ndarray]:
    """K_ij = J_i J_j^T of several towers, each as a matrix of blocks, drawn in squares.

    kernels: title -> (B, B, d, d); names: the B inputs, equal ones with equal names. The area of a square is |entry|
    as a share of the panel's largest; filled squares are positive, hollow ones negative. Blocks whose two inputs are
    the same stand on a tint: a lookup has squares there and nowhere else, and only on their diagonals.
    """
    columns = 4
    rows = math.ceil(len(kernels) / columns)
    fig, axes = plt.subplots(rows, columns, figsize=(1.95 * columns, 2.2 * rows), squeeze=False)
    for ax in axes.flat[len(kernels) :]:
        ax.set_axis_off()
    for ax, (title, kernel) in zip(axes.flat, kernels.items(), strict=False):
        _draw_kernel(ax, np.asarray(kernel, dtype=float), names)
        ax.set_title(title, fontsize=9.5, pad=4, loc="center")
    return fig, axes


def _draw_kernel(ax: Axes, kernel: np.ndarray, names: Sequence[str]) -> None:
    if kernel.ndim != 4 or kernel.shape[0] != kernel.shape[1] != len(names) or kernel.shape[2] != kernel.shape[3]:
        raise ValueError(
            f"a kernel has shape {kernel.shape}; expected ({len(names)}, {len(names)}, d, d), one block for two of "
            "the names"
        )
    count, d = kernel.shape[0], kernel.shape[2]
    size, largest = count * d, np.abs(kernel).max()
    for i in range(count):
        for j in range(count):
            if names[i] == names[j]:
                ax.add_patch(Rectangle((j * d, i * d), d, d, fc=PULL_TINT, ec="none", zorder=0))
            for (a, b), value in np.ndenumerate(kernel[i, j]):
                _square(ax, j * d + b + 0.5, i * d + a + 0.5, value / largest)
    for at in range(0, size + 1, d):
        ax.plot([at, at], [0, size], color=SOFT, lw=0.8)
        ax.plot([0, size], [at, at], color=SOFT, lw=0.8)
    middle = np.arange(count) * d + d / 2
    ax.set(xlim=(-0.05, size + 0.05), ylim=(size + 0.05, -0.05), aspect="equal")
    ax.set_xticks(middle, names, fontsize=8.5)
    ax.set_yticks(middle, names, fontsize=8.5)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False, pad=1)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _square(ax: Axes, x: float, y: float, share: float) -> None:
    side = 0.92 * math.sqrt(abs(share))
    if side < 0.03:
        return
    style = {"fc": PULL, "ec": PULL} if share > 0 else {"fc": "white", "ec": PUSH, "lw": 1.3}
    ax.add_patch(Rectangle((x - side / 2, y - side / 2), side, side, zorder=3, **style))


@in_style
def angle_roses(angles: Mapping[str, Any], *, chance: float | None = None) -> tuple[Figure, np.ndarray]:
    """P0's Figure 3 as roses: how often each angle between an embedding and its movement occurred.

    angles: title -> degrees, any number of them. The embedding points to the right (0 degrees), the tangent up (90). A
    petal's AREA is its share; the dotted arc is what uniform directions of the plane would give; the band is 90 +- 10,
    with the share that falls in it. chance: the share that uniform directions would have there, written below.
    """
    fig, axes = plt.subplots(
        1, len(angles), figsize=(3.0 * len(angles), 2.5), subplot_kw={"projection": "polar"}, squeeze=False
    )
    for ax, (title, values) in zip(axes[0], angles.items(), strict=True):
        _draw_rose(ax, np.asarray(values, dtype=float), title, chance)
    return fig, axes[0]


def _draw_rose(ax: Axes, degrees: np.ndarray, title: str, chance: float | None) -> None:
    if degrees.size == 0 or not np.isfinite(degrees).all():
        raise ValueError(f"angles of {title!r}: expected finite degrees, at least one, got {degrees.size} values")
    counts, edges = np.histogram(degrees, bins=PETALS, range=(0, 180))
    radii = np.sqrt(counts / counts.sum())  # the area of a sector grows with the square of its radius
    reach = 1.12 * max(radii.max(), math.sqrt(1 / PETALS))
    width = np.radians(180 / PETALS)
    ax.set(thetamin=0, thetamax=180, ylim=(0, reach))
    ax.bar(np.pi / 2, reach, width=np.radians(2 * NEAR), color=PULL_TINT, zorder=0)
    ax.bar(np.radians(edges[:-1]) + width / 2, radii, width=width, color=PUSH_FILL, ec=INK, lw=0.8, zorder=2)
    arc = np.linspace(0, np.pi, 91)
    ax.plot(arc, np.full(91, math.sqrt(1 / PETALS)), color=INK, ls=(0, (1, 1.5)), lw=1.3, zorder=4)
    look = {"arrowstyle": "-|>", "color": INK, "lw": 2.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (0, reach), (0, 0), arrowprops=look, zorder=5)
    share = (np.abs(degrees - 90) <= NEAR).mean()
    below = f"{100 * share:.0f} % within 90 ± {NEAR}" + (
        f"\n(by chance {100 * chance:.0f} %)" if chance is not None else ""
    )
    ax.set_title(title, pad=2, fontsize=11, loc="center")
    ax.text(0.5, 0.11, below, ha="center", va="top", fontsize=10.5, transform=ax.transAxes)
    ax.set_xticks(np.radians([0, 45, 90, 135, 180]), ["0°\nout", "45°", "90°", "135°", "180°\nin"], fontsize=9.5)
    ax.set_yticks([])
    ax.grid(color=GRID, lw=0.6)
    ax.spines["polar"].set_color(SOFT)


@in_style
def tower_norms(
    norms: Mapping[str, Any], *, named: Mapping[str, Mapping[int, str]] | None = None
) -> tuple[Figure, np.ndarray]:
    """Lengths of many embeddings over the steps of training, each as a multiple of its start, one panel per tower.

    norms: title -> (steps + 1, n), each panel with its own range; named: title -> {column drawn thick: its name}.
    """
    fig, axes = plt.subplots(1, len(norms), figsize=(4.1 * len(norms), 3.5), squeeze=False)
    for ax, (title, values) in zip(axes[0], norms.items(), strict=True):
        lengths = np.asarray(values, dtype=float)
        if lengths.ndim != 2 or lengths.shape[0] < 2 or (lengths <= 0).any():
            raise ValueError(
                f"norms of {title!r} have shape {lengths.shape}; expected positive lengths (steps + 1, n), steps at "
                "least 1"
            )
        relative, last = lengths / lengths[0], len(lengths) - 1
        ax.plot(relative, color=SOFT, lw=0.6, alpha=0.4)
        for column, name in (named or {}).get(title, {}).items():
            ax.plot(relative[:, column], color=PUSH, lw=1.7)
            _name_the_end(ax, name, last, relative[-1, column])
        ax.axhline(1, color=INK, lw=1, ls=(0, (4, 3)))
        ax.set_xlabel("step")
        ax.set_title(title)
    axes[0, 0].set_ylabel("length, start = 1")
    return fig, axes[0]


def _name_the_end(ax: Axes, name: str, x: float, y: float) -> None:
    """A name above the end of a rising curve; for a falling one in the free corner above, with a line to the end."""
    style: dict[str, Any] = {"ha": "right", "fontsize": 10, "bbox": white_sheet()}
    if y >= 1:
        ax.annotate(name, (x, y), (-2, 5), textcoords="offset points", **style)
    else:
        line = {"arrowstyle": "-", "color": INK, "lw": 0.8}
        ax.annotate(name, (x, y), (0.98, 0.87), textcoords="axes fraction", arrowprops=line, **style)


@in_style
def leak_map(leak: Any, names: Sequence[str]) -> tuple[Figure, Axes]:
    """`tangent_criterion` as a table: how fast the worst tangent gradient at j (column) drives q_i (row) outwards.

    leak (B, B) in shares of the fastest movement there is; 0 means safe. Every cell has its number.
    """
    leak = np.asarray(leak, dtype=float)
    if leak.shape != (len(names), len(names)):
        raise ValueError(
            f"leak has shape {leak.shape}; expected one row and one column for each of the {len(names)} names"
        )
    fig, ax = plt.subplots(figsize=(1.2 + 0.72 * len(names), 0.9 + 0.62 * len(names)))
    ax.imshow(leak, cmap="Oranges", vmin=0, vmax=1)
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9.5, "color": INK, "bbox": white_sheet()}
    for (i, j), value in np.ndenumerate(leak):
        ax.text(j, i, f"{value:.2f}" if value > 5e-3 else "0", **look)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="gradient at", ylabel="pushes out")
    ax.grid(False)
    ax.tick_params(length=0)
    return fig, ax
