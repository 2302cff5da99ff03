"""Figures of the chapter on popularity and norms: the coupling, the quartic law, norms against counts, remedies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, PercentFormatter

from course_lib import norms as laws
from course_lib.lessons.shared.house import (
    INK,
    PULL,
    PULL_TINT,
    PUSH,
    SOFT,
    SPARE,
    in_style,
    note,
    plain_numbers,
    white_sheet,
)

Curve = tuple[Sequence[float], Sequence[float]]


# ---- the coupling


@in_style
def coupled_runs(rare: float, popular: float, uniforms: Any) -> tuple[Figure, np.ndarray]:
    """Two items that share their luck: above, one uniform number per step and the two thresholds; below, both counts.

    rare <= popular: update probabilities; uniforms (T,). A full mark lies below both thresholds (both items are
    updated), a half mark between them (only the popular one), a hollow one above (neither). Returns the figure and its
    two axes.
    """
    if not 0 <= rare <= popular <= 1:
        raise ValueError(f"rare is {rare} and popular {popular}; expected 0 <= rare <= popular <= 1")
    moved = laws.coupled_updates(np.array([rare, popular]), uniforms)
    uniforms, steps = np.asarray(uniforms), np.arange(1, len(uniforms) + 1)
    fig, axes = plt.subplots(2, 1, figsize=(7.2, 4.8), sharex=True, height_ratios=(3, 2), dpi=92)
    top, bottom = axes
    top.axhspan(0, rare, color=PULL_TINT, zorder=0)
    for level, name, dashes in ((rare, "rare", "--"), (popular, "popular", "-")):
        top.axhline(level, color=INK, lw=1.4, ls=dashes)
        top.text(len(steps) + 0.7, level, f"π of the {name}\nitem, {level:.2g}", va="center", fontsize=9)
    for fill, marked, label in (
        ("full", moved[0], "both are updated"),
        ("bottom", moved[1] & ~moved[0], "only the popular item"),
        ("none", ~moved[1], "neither"),
    ):
        if marked.any():
            look = {"color": PULL, "mec": PULL, "mfcalt": "white", "ms": 8}
            top.plot(steps[marked], uniforms[marked], "o", fillstyle=fill, label=label, **look)
    top.set(ylim=(0, 1), ylabel="shared uniform number")
    top.legend(ncols=3, loc="upper left", bbox_to_anchor=(0, 1.18), fontsize=9, handletextpad=0.2)
    for row, name, dashes, color in ((moved[1], "popular", "-", PUSH), (moved[0], "rare", "--", PULL)):
        counts = np.concatenate(([0], np.cumsum(row)))
        bottom.step(np.arange(len(counts)), counts, where="post", color=color, ls=dashes)
        bottom.text(len(steps) + 0.7, counts[-1], f"{name}: {counts[-1]}", va="center", fontsize=9, color=color)
    bottom.set(xlabel="batch", ylabel="updates so far", xlim=(0, len(steps) + 0.6))
    return fig, axes


# ---- the law


@in_style
def growth_law(rates: Sequence[float], *, start_norm: float, h: float) -> tuple[Figure, Axes]:
    """||q|| against the number of updates for several learning rates: flat, a mark at the crossover, then slope 1/4.

    h: root mean square of the scale-free gradient.
    """
    most = 1e6
    fig, ax = plt.subplots()
    updates = np.geomspace(1, most, 200)
    for (color, marker, dashes), rate in zip(SPARE, rates, strict=False):
        lengths = laws.predicted_norm(start_norm, lr=rate, h=h, updates=updates)
        turn = float(laws.crossover_count(start_norm, lr=rate, h=h))
        ax.plot(updates, lengths, color=color, ls=dashes, label=f"learning rate {rate:g}")
        if 1 <= turn <= most:
            place = turn, laws.predicted_norm(start_norm, lr=rate, h=h, updates=turn)
            ax.plot(*place, marker, color=color)
            note(ax, f"n* = {turn:,.0f}", place, (-6, 8), ha="right", fontsize=9, color=color)
    ax.set(xscale="log", yscale="log", xlabel="updates of the item", ylabel="length ||q||")
    ax.legend()
    plain_numbers(ax)
    return fig, ax


@in_style
def norms_against_counts(
    counts: Any,
    lengths: Mapping[str, Any],
    *,
    lines: Mapping[str, Any] | None = None,
    start_norm: float | None = None,
    named: Mapping[str, int] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Length against popularity, a panel for each model: dots for items, squares for medians of bins of popularity.

    counts (n,) positive; lengths: name -> (n,) norms; lines: name of a panel -> (n,) predicted norms, drawn as a line
    over the counts; named: names written beside these items, in the last panel. All panels share their axes, which are
    logarithmic.
    """
    counts = np.asarray(counts, dtype=float)
    fig, axes = plt.subplots(
        1, len(lengths), figsize=(max(6.4, 4.1 * len(lengths)), 3.9), sharex=True, sharey=True, squeeze=False, dpi=88
    )
    edges = np.unique(np.geomspace(counts.min(), counts.max() * 1.0001, 9))
    for ax, (name, given) in zip(axes[0], lengths.items(), strict=True):
        values = np.asarray(given, dtype=float)
        if values.shape != counts.shape:
            raise ValueError(f"lengths[{name!r}] has shape {values.shape} and counts {counts.shape}; expected the same")
        ax.plot(counts, values, ".", color=SOFT, ms=3, alpha=0.45, rasterized=True)
        groups = [(counts >= low) & (counts < high) for low, high in itertools.pairwise(edges)]
        middles = [(np.median(counts[g]), np.median(values[g])) for g in groups if g.any()]
        ax.plot(*zip(*middles, strict=True), "s", color=PUSH, mec="white", label="median of the items")
        if lines and name in lines:
            order = np.argsort(counts)
            ax.plot(counts[order], np.asarray(lines[name])[order], "-", color=PULL, label="predicted")
        if start_norm is not None:
            ax.axhline(start_norm, color=INK, lw=1, ls=(0, (2, 2)))
            ax.text(counts.max(), start_norm, "start", ha="right", va="bottom", fontsize=9, bbox=white_sheet())
        ax.set(title=name, xscale="log", yscale="log", xlabel="popularity (training pairs)")
    last = np.asarray(list(lengths.values())[-1], dtype=float)
    for name, item in (named or {}).items():
        where = counts[item], last[item]
        axes[0, -1].plot(*where, "o", color=INK, ms=5)
        note(axes[0, -1], name, where, (-9, 7), ha="right", fontsize=9)
    axes[0, 0].set_ylabel("length of the item's embedding")
    axes[0, 0].legend(loc="upper left", fontsize=9)
    plain_numbers(axes[0, 0])
    return fig, axes[0]


@in_style
def saturation_slope(batch_size: int, coherences: Sequence[float]) -> tuple[Figure, Axes]:
    """Slope of log ||q|| in log popularity, far beyond the crossover, against the expected copies in a batch."""
    fig, ax = plt.subplots()
    copies = np.geomspace(1e-3, 1e3, 200)
    copies = copies[copies <= batch_size]
    for (color, _, dashes), coherence in zip(SPARE, coherences, strict=False):
        slope = laws.expected_squared_gradient_slope(copies / batch_size, batch_size=batch_size, coherence=coherence)
        ax.plot(copies, slope / 4, color=color, ls=dashes, label=f"coherence {coherence:g}")
    for level, name in ((0.25, "1/4"), (0.5, "1/2")):
        ax.axhline(level, color=SOFT, lw=1, ls=(0, (1, 2)))
        ax.text(copies[0], level, f"{name} ", va="bottom", ha="left", fontsize=9, color=SOFT)
    ax.set(xscale="log", ylim=(0.22, 0.53), xlabel="copies of the item in a batch, B p", ylabel="slope of the norm")
    ax.legend(loc="center left")
    return fig, ax


@in_style
def decay_balance(probability: Any, measured: Mapping[str, Any], predicted: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """Length under weight decay against the update probability: measured marks, predicted lines, by the same names."""
    fig, ax = plt.subplots()
    for (color, marker, dashes), name in zip(SPARE, measured, strict=False):
        ax.plot(probability, measured[name], marker, color=color, label=f"{name}, simulated")
        if name in predicted:
            lengths = np.broadcast_to(predicted[name], np.shape(probability))
            ax.plot(probability, lengths, color=color, ls=dashes, label=f"{name}, predicted")
    ax.set(xscale="log", yscale="log", xlabel="update probability π of the item", ylabel="length ||q||")
    ax.legend(fontsize=9)
    plain_numbers(ax)
    return fig, ax


# ---- items that grow without being popular


@in_style
def two_items(paths: Mapping[str, Any]) -> tuple[Figure, np.ndarray]:
    """The paths of items in the plane, and their lengths against the number of updates.

    paths: name -> (n + 1, 2) positions, the start first. Circles on the left are the lengths that the items end with.
    """
    fig, axes = plt.subplots(1, 2, figsize=(8.2, 3.9), dpi=92)
    plane, lengths = axes
    for (color, marker, dashes), (name, given) in zip(SPARE[1:], paths.items(), strict=False):
        path = np.asarray(given, dtype=float)
        if path.ndim != 2 or path.shape[1] != 2:
            raise ValueError(f"paths[{name!r}] has shape {path.shape}; expected (n + 1, 2)")
        length = np.hypot(*path.T)
        plane.plot(*path.T, color=color, lw=1.2, marker=marker, ms=3)
        plane.plot(*path[-1], marker, color=color, ms=8)
        angle = np.linspace(-0.25, np.pi / 2 + 0.25, 60)
        plane.plot(length[-1] * np.cos(angle), length[-1] * np.sin(angle), color=color, lw=1, ls=dashes)
        lengths.plot(np.arange(1, len(path)), length[1:], color=color, ls=dashes)
        lengths.plot(len(path) - 1, length[-1], marker, color=color)
        where = {"xytext": (-8, 6), "textcoords": "offset points", "ha": "right", "fontsize": 9}
        lengths.annotate(f"{name}:\n{length[-1]:.2f}", (len(path) - 1, length[-1]), color=color, va="bottom", **where)
    plane.plot(*np.asarray(next(iter(paths.values())))[0], "o", color=INK, ms=7)
    plane.set(aspect="equal", title="in the plane", xlabel="first coordinate", ylabel="second coordinate")
    lengths.set(xscale="log", title="length", xlabel="updates", ylabel="||q||")
    lengths.margins(y=0.16)
    return fig, axes


# ---- lists


@in_style
def lengths_and_shares(
    lengths: Curve,
    shares: Mapping[str, Curve],
    *,
    bands: Mapping[str, Sequence[float]] | None = None,
    chance: float = 0.01,
) -> tuple[Figure, np.ndarray]:
    """P0's Figure 4: the mean length of the items (left) and what their lists hold (right), against the training step.

    lengths: (steps, mean lengths). shares: name of a ranking -> (steps, shares of the most popular items). bands:
    "length" or the name of a ranking -> half-width of the confidence interval at each step. chance: the share in lists
    drawn at random, a dotted line.
    """
    fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), dpi=92)
    curves = {"length": (axes[0], lengths), **{name: (axes[1], curve) for name, curve in shares.items()}}
    for (color, marker, dashes), (name, (ax, given)) in zip(SPARE, curves.items(), strict=False):
        steps, means = (np.asarray(values, dtype=float) for values in given)
        ax.plot(steps, means, color=color, marker=marker, ls=dashes, label=name)
        if bands and name in bands:
            half = np.asarray(bands[name], dtype=float)
            ax.fill_between(steps, np.maximum(means - half, 0), means + half, color=color, alpha=0.15, lw=0)
    axes[0].set(xlabel="training step", ylabel="mean length of the items", ylim=(0, None))
    axes[1].axhline(chance, color=SOFT, lw=1, ls=(0, (1, 2)))
    axes[1].annotate("chance", (1.01, chance), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=SOFT)
    axes[1].set(xlabel="training step", ylabel="share of the top 1 % items", ylim=(0, None))
    axes[1].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes[1].legend(loc="upper left")
    return fig, axes


@in_style
def remedy_rows(
    models: Mapping[str, Mapping[str, tuple[float, float]]], *, chance: float, most_popular: float
) -> tuple[Figure, np.ndarray]:
    """A row for each model: the share of popular items and the quality of its lists, by cosine and by dot product.

    models: name -> {"cosine": (share, NDCG), "dot product": (share, NDCG)}, shares above 0, for their axis is
    logarithmic; a hollow mark is the first, a full one the second. chance: share of lists drawn at random;
    most_popular: NDCG of the most popular items for everybody. Both are dotted lines.
    """
    rows = np.arange(len(models))[::-1]
    fig, axes = plt.subplots(1, 2, figsize=(8.4, 0.8 + 0.42 * len(models)), sharey=True, dpi=92)
    for which, ax in enumerate(axes):
        both = np.array([[model[name][which] for name in ("cosine", "dot product")] for model in models.values()])
        ax.hlines(rows, *both.T, color=SOFT, lw=1.6)
        for column, name, face in ((0, "by cosine", "white"), (1, "by dot product", PULL)):
            ax.plot(both[:, column], rows, "o", color=PULL, mfc=face, ms=8, label=name)
        ax.axvline((chance, most_popular)[which], color=SOFT, lw=1, ls=(0, (1, 2)))
        label = ("chance", "most popular items")[which]
        ax.text((chance, most_popular)[which], len(models) - 0.4, label, ha="center", fontsize=9, color=SOFT)
    axes[0].set(xscale="log", xlabel="share of the top 1 % items in the lists", yticks=rows, yticklabels=list(models))
    axes[0].set(ylim=(-0.6, len(models) - 0.1))
    axes[0].xaxis.set_major_locator(LogLocator(subs=(1.0,)))
    axes[0].xaxis.set_major_formatter(PercentFormatter(1.0))
    axes[0].xaxis.set_minor_formatter("")
    axes[1].set(xlabel="NDCG@10", xlim=(0, None))
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9)
    return fig, axes
