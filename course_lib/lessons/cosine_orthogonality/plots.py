"""Figures of the chapter on cosine gradients: circles, tangents, steps, and what happens to lengths.

All geometry comes from `course_lib.geometry`; a figure draws it. Plane figures show d = 2: everything a cosine
gradient does happens in the plane that q and k span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from course_lib import geometry
from course_lib.lessons.shared.house import INK, PULL, PULL_TINT, PUSH, SOFT, SPARE, WRONG, in_style, note, white_sheet
from course_lib.lessons.shared.plots import arrow, plane

# ---- arrows and circles


def _circle(ax: Axes, radius: float, *, color: str = SOFT, line: Any = "-", width: float = 1.2) -> None:
    ax.add_patch(Circle((0, 0), radius, fill=False, ec=color, lw=width, ls=line))


def _right_angle(ax: Axes, corner: np.ndarray, along: np.ndarray, up: np.ndarray, size: float) -> None:
    """A small square at `corner` between two directions."""
    along, up = (size * geometry.normalise(x) for x in (along, up))
    ax.add_patch(Polygon([corner + along, corner + along + up, corner + up], closed=False, fill=False, ec=INK, lw=1.1))


def _label(ax: Axes, where: Any, text: str, *, color: str = INK, **options: Any) -> None:
    x, y = where
    ax.text(x, y, text, color=color, bbox=white_sheet(), zorder=5, **{"ha": "center", "va": "center", **options})


def _plane_vector(values: Any, name: str) -> np.ndarray:
    vector = np.asarray(values, dtype=float)
    if vector.shape != (2,):
        raise ValueError(f"{name} has shape {vector.shape}; expected a vector of the plane, shape (2,)")
    return vector


@in_style
def tangent_step(q: Any, k: Any, *, lr: float) -> tuple[Figure, np.ndarray]:
    """The lemma in one picture: where the gradient of cos(q, k) comes from, and what a step along it does to ||q||.

    q, k (2,) nonzero; lr the learning rate of a step q + lr grad cos, which turns q towards k. Left: the unit vectors,
    and the part of k's that is orthogonal to q's; its length is the sine. Right: that part divided by ||q||, times lr,
    is the step; with q it makes a right angle, so q + dq ends on a larger circle. Returns the figure and two axes.
    """
    q, k = _plane_vector(q, "q"), _plane_vector(k, "k")
    fig, axes = plt.subplots(1, 2, figsize=(9.0, 4.1))
    _where_it_comes_from(axes[0], geometry.normalise(q), geometry.normalise(k))
    _what_it_does(axes[1], q, k, lr * geometry.cosine_gradient(q, k))
    return fig, axes


def _where_it_comes_from(ax: Axes, u: np.ndarray, w: np.ndarray) -> None:
    foot = float(geometry.cosine(u, w)) * u
    _circle(ax, 1.0)
    ax.plot(*zip((0, 0), foot, strict=True), color=SOFT, lw=5, alpha=0.35, solid_capstyle="butt")
    arrow(ax, (0, 0), u, color=INK)
    arrow(ax, (0, 0), w, color=PULL)
    arrow(ax, foot, w, color=PUSH, width=2.4)
    _right_angle(ax, foot, -u, w - foot, 0.09)
    _label(ax, 1.13 * u, r"$\hat q$", weight="bold")
    _label(ax, 1.13 * w, r"$\hat k$", color=PULL)
    outwards = geometry.normalise(w - foot)
    _label(ax, 0.5 * foot - 0.12 * outwards, r"$\cos\varphi$", color=SOFT)
    _label(ax, 0.5 * (foot + w) + 0.16 * u, r"$\sin\varphi$", color=PUSH)
    plane(ax, 1.3)
    ax.set(xlim=(-0.75, 1.25), ylim=(-0.45, 1.25))
    ax.set_title(r"$\hat k-\cos\varphi\;\hat q$ is orthogonal to $q$")


def _what_it_does(ax: Axes, q: np.ndarray, k: np.ndarray, step: np.ndarray) -> None:
    moved = q + step
    before, after = float(geometry.norm(q)), float(geometry.norm(moved))
    reach = 1.16 * max(after, float(geometry.norm(k)))
    tangent = geometry.normalise(step)
    ax.add_patch(Polygon([(0, 0), q, moved], fc=PULL_TINT, ec="none", alpha=0.7))
    _circle(ax, before)
    _circle(ax, after, line=(0, (4, 2)))
    ends = [q - 0.55 * reach * tangent, q + 1.0 * reach * tangent]
    ax.plot(*zip(*ends, strict=True), color=SOFT, lw=0.9, ls=(0, (1, 2)), clip_on=True)
    arrow(ax, (0, 0), k, color=PULL)
    arrow(ax, (0, 0), q, color=INK)
    arrow(ax, (0, 0), moved, color=INK, line="--")
    arrow(ax, q, moved, color=PUSH, width=2.4)
    _right_angle(ax, q, -q, step, 0.06 * reach)
    outwards = geometry.normalise(q)
    _label(ax, q + 0.09 * reach * outwards - 0.02 * reach * tangent, "$q$")
    _label(ax, k + 0.08 * reach * geometry.normalise(k), "$k$", color=PULL)
    _label(ax, moved + 0.15 * reach * geometry.normalise(moved), r"$q+\Delta q$")
    _label(ax, q + 0.5 * step + 0.09 * reach * outwards, r"$\Delta q$", color=PUSH)
    plane(ax, reach)
    ax.set(xlim=(-0.68 * reach, 1.12 * reach), ylim=(-0.41 * reach, 1.12 * reach))
    ax.set_title(r"$\|q+\Delta q\|^2=\|q\|^2+\|\Delta q\|^2$")


@in_style
def gradient_fields(k: Any, *, radii: Sequence[float] = (0.5, 1.0, 1.5), arrows: int = 16) -> tuple[Figure, np.ndarray]:
    """Two landscapes over the plane of q, for one fixed k (2,): cos(q, k) beside <q, k>, with their gradients.

    Left the level lines are rays, and the arrows run along the circles, shorter further out. Right the level lines are
    straight, every arrow is k, and most leave the circle. Returns the figure and its two axes.
    """
    k = _plane_vector(k, "k")
    reach = 1.25 * max(radii)
    side = np.linspace(-reach, reach, 240)  # even: never hits 0
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    angles = np.linspace(0, 2 * np.pi, arrows, endpoint=False) + 0.5 * np.pi / arrows
    points = np.stack([np.cos(angles), np.sin(angles)], axis=-1)  # (arrows, 2)
    places = (np.asarray(radii)[:, None, None] * points).reshape(-1, 2)
    panels = {
        "cosine: the gradient keeps to the circle": (geometry.cosine(grid, k), geometry.cosine_gradient(places, k)),
        "dot product: the gradient is always $k$": (grid @ k, np.broadcast_to(k, places.shape)),
    }
    fig, axes = plt.subplots(1, 2, figsize=(9.0, 4.5), dpi=88)  # many arrows: fewer dots keep the page light
    for ax, (title, (height, slope)) in zip(axes, panels.items(), strict=True):
        ax.contourf(side, side, height, levels=12, cmap="Blues", alpha=0.55)
        ax.contour(side, side, height, levels=12, colors="white", linewidths=0.7)
        for radius in radii:
            _circle(ax, radius, color=INK, width=0.8)
        longest = float(geometry.norm(slope).max())
        length = 0.75 * slope / longest * 2 * np.pi * min(radii) / arrows * 2.2
        ax.quiver(*places.T, *length.T, angles="xy", scale_units="xy", scale=1, width=0.006, color=PUSH, zorder=3)
        arrow(ax, (0, 0), min(radii) * 0.8 * geometry.normalise(k), color=PULL, width=2.4)
        _label(ax, -0.22 * min(radii) * geometry.normalise(k), "0", color=PULL)
        _label(ax, min(radii) * 0.55 * geometry.normalise(k) + np.array([0.07, -0.11]) * reach, "$k$", color=PULL)
        plane(ax, reach)
        ax.set_title(title)
    return fig, axes


# ---- lengths over time


@in_style
def norm_paths(runs: Mapping[str, Any], items: Sequence[int]) -> tuple[Figure, np.ndarray]:
    """How long each of some vectors is, against the step, one panel for each run; the headings count all moves.

    runs: title -> `training.free_vectors.Moves` (or anything with `path`, `longer`, `shorter`). The median vector of
    `items` is drawn thick. Returns the figure and its axes, which share the vertical scale.
    """
    fig, axes = plt.subplots(1, len(runs), figsize=(4.4 * len(runs), 4.0), sharey=True, squeeze=False, dpi=88)
    for ax, (title, moves) in zip(axes[0], runs.items(), strict=True):
        ends = [moves.path(item)[1][-1] for item in items]
        middle = items[int(np.argsort(ends)[len(ends) // 2])]
        for item in items:
            steps, norms = moves.path(item)
            thin = {"color": PULL, "lw": 0.9, "alpha": 0.45, "zorder": 2}
            thick = {"color": PUSH, "lw": 2.6, "alpha": 1, "zorder": 3}
            ax.step(steps, norms, where="post", **(thick if item == middle else thin))
        ax.set_title(title)
        ax.set(xlabel="training step")
        _tally(ax, moves.longer, moves.shorter)
    axes[0, 0].set(ylabel="length of a film's vector, $\\|q\\|$", ylim=(0, None))
    return fig, axes[0]


def _tally(ax: Axes, longer: int, shorter: int) -> None:
    text = f"▲ longer {longer:,} times\n▼ shorter {shorter:,} times"
    sheet = {**white_sheet(), "pad": 3}
    ax.text(0.03, 0.97, text, transform=ax.transAxes, va="top", linespacing=1.5, bbox=sheet, zorder=6)


@in_style
def angle_paths(curves: Mapping[str, Sequence[float]], *, label: str) -> tuple[Figure, Axes]:
    """An angle in degrees against the step: name -> values from step 0, each with its own marker and line."""
    fig, ax = plt.subplots()
    gap = 0.055 * max(max(values) for values in curves.values())
    lowest = -np.inf  # names at the ends of the lines, from the lowest up, without overlap
    heights = {}
    for name, values in sorted(curves.items(), key=lambda item: item[1][-1]):
        lowest = heights[name] = max(float(values[-1]), lowest + gap)
    for index, (name, values) in enumerate(curves.items()):
        color, marker, line = SPARE[index % len(SPARE)]
        every = (index, max(1, len(values) // 8))
        ax.plot(range(len(values)), values, color=color, marker=marker, ls=line, markevery=every)
        end = (1.02 * (len(values) - 1), heights[name])
        ax.annotate(name, end, va="center", color=color, annotation_clip=False)
    ax.set(xlabel="step", ylabel=label, ylim=(0, None))
    ax.set_xlim(0, 1.01 * (max(len(values) for values in curves.values()) - 1))
    return fig, ax


# ---- what breaks it


@in_style
def clamp_reach(
    ratios: Sequence[float],
    laws: Mapping[str, Sequence[float]],
    measured: Mapping[str, tuple[Sequence[float], Sequence[float]]],
) -> tuple[Figure, Axes]:
    """|cos(q, gradient)| against ||q||/eps: 0 is tangent. Lines are formulas, marks are measured.

    ratios (T,); laws: name -> (T,) values; measured: name -> (ratios, values).
    """
    fig, ax = plt.subplots(figsize=(7.2, 3.9))
    ax.axvspan(min(ratios), 1, color=WRONG, alpha=0.06, lw=0)
    for index, (name, values) in enumerate(laws.items()):
        ax.plot(ratios, values, color=(INK, PULL, PUSH)[index % 3], ls=("-", "--", ":")[index % 3], label=name)
    for index, (name, (x, y)) in enumerate(measured.items()):
        color = (INK, PULL, PUSH)[index // 2 % 3]
        marker, size = (("o", 7), ("x", 6), ("s", 8), ("+", 9))[index % 4]
        ax.plot(x, y, marker, color=color, mfc="none", ms=size, mew=1.5, label=name)
    ax.set(xscale="log", xlabel="$\\|q\\|\\,/\\,\\epsilon$", ylabel="|cos(q, gradient)|", ylim=(-0.04, 1))
    ax.set_xlim(min(ratios), max(ratios))
    ax.text(0.02, 0.96, "inside the clamp", transform=ax.transAxes, va="top", color=WRONG)
    ax.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig, ax


@in_style
def precision(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x_label: str,
    label: str,
    marks: Mapping[str, float] | None = None,
) -> tuple[Figure, Axes]:
    """A relative error against a scale, both logarithmic: name -> (scales, errors). Zero errors are left out.

    marks: name -> scale, drawn as a vertical line.
    """
    fig, ax = plt.subplots(figsize=(7.2, 4.0))
    for index, (name, (xs, ys)) in enumerate(curves.items()):
        x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
        color, marker, line = SPARE[index % len(SPARE)]
        keep = np.isfinite(y) & (y > 0)
        ax.plot(x[keep], y[keep], color=color, marker=marker, ls=line, label=name, mfc="none")
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=label)
    for name, at in (marks or {}).items():
        ax.axvline(at, color=WRONG, lw=1, ls=(0, (1, 2)))
        note(ax, name, (at, 1), (3, -4), xycoords=("data", "axes fraction"), va="top", color=WRONG, fontsize=9)
    ax.legend(fontsize=9)
    return fig, ax
