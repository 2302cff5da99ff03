"""Figures of the debiasing chapters that show results:
accuracy against popularity, projections, rules, k, training, the sign of alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .house import INK, PULL, PULL_TINT, PUSH, SOFT, SPARE, in_style, white_sheet

Curve = tuple[Sequence[float], Sequence[float], Sequence[float]]  # x, mean, half-width of an interval (0: none)
# method -> marker and colour; a marker is enough to tell them apart
METHODS: dict[str, tuple[str, str]] = {
    "IPS": ("v", "#9c5a86"),
    "DICE": ("s", "#007a5e"),
    "MACR": ("^", "#8a6d00"),
    "PC": ("X", "#8a1c4f"),
    "PAAC": ("P", "#0072b2"),
    "DCCL": ("D", "#56b4e9"),
    "TPAB": ("<", "#566172"),
    "DDC": ("*", "#d55e00"),
}


@in_style
def accuracy_and_popularity(
    panels: Mapping[str, Mapping[str, Sequence[float]]], *, accuracy: str = "MRR@10"
) -> tuple[Figure, np.ndarray]:
    """What every method changes against the backbone alone, in percent: how popular its lists are (across), how
    accurate (up).

    panels: backbone -> method -> (change of popularity, change of accuracy, half-widths of their intervals or 0). The
    backbone is the origin; up and to the left is what debiasing wants, more accurate and less popular, and is tinted.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels) + 1.3, 4.2), squeeze=False, dpi=92)
    for ax, (title, points) in zip(axes[0], panels.items(), strict=True):
        for at, (name, (x, y, wide, high)) in enumerate(points.items()):
            marker, color = METHODS.get(name, SPARE[at % len(SPARE)][1::-1])
            ax.errorbar(x, y, xerr=wide or None, yerr=high or None, color=color, lw=1)
            size = 13 if marker == "*" else 8
            ax.plot(x, y, marker, color=color, ms=size, mec="white", ls="", label=name, zorder=3)
        ax.plot(0, 0, "o", mfc="white", mec=INK, ms=8, mew=1.6, ls="", label="backbone", zorder=3)
        ax.margins(0.12)
        low, high = ax.get_xlim(), ax.get_ylim()
        ax.fill_between([low[0], 0], 0, high[1], color=PULL_TINT, lw=0, zorder=0)
        ax.axvline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
        ax.axhline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
        ax.set(xlim=low, ylim=high, title=title, xlabel="change of AvgPop@10, %")
    axes[0, 0].set_ylabel(f"change of {accuracy}, %")
    handles = {label: h for ax in axes[0] for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles.keys(), loc="outside right center")
    return fig, axes[0]


@in_style
def projection_panels(
    panels: Mapping[str, tuple[Any, Any, str]],
) -> tuple[Figure, np.ndarray]:
    """<e_i, e_pop> against the count of the item, a panel for each model:
    title -> (counts, projections, a line of text).
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(3.7 * len(panels) + 0.6, 3.7), squeeze=False, dpi=88)
    for ax, (title, (counts, along, text)) in zip(axes[0], panels.items(), strict=True):
        if np.shape(counts) != np.shape(along):
            raise ValueError(f"{title}: {np.shape(counts)} counts and {np.shape(along)} projections; expected as many")
        ax.axhline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
        ax.plot(counts, along, ".", color=PULL, ms=5, alpha=0.6, rasterized=True)
        ax.text(
            0.97,
            0.04,
            text,
            transform=ax.transAxes,
            ha="right",
            va="bottom",
            fontsize=9,
            bbox=white_sheet(),
        )
        ax.set(title=title, xlabel="popularity (training pairs)")
    axes[0, 0].set_ylabel("projection on e_pop")
    return fig, axes[0]


@in_style
def sensitivity(
    curves: Mapping[str, Mapping[str, Curve]],
    levels: Mapping[str, Mapping[str, float]] | None = None,
) -> tuple[Figure, np.ndarray]:
    """One panel for each metric, its curves over k: metric -> backbone -> (k, mean, half-width); levels:
    the same without DDC, dotted.
    """
    fig, axes = plt.subplots(1, len(curves), figsize=(4.3 * len(curves) + 0.4, 3.7), squeeze=False, dpi=92)
    for ax, (metric, series) in zip(axes[0], curves.items(), strict=True):
        for (color, marker, dashes), (name, (tops, means, halves)) in zip(SPARE, series.items(), strict=False):
            ax.plot(
                tops,
                means,
                marker=marker,
                ls=dashes,
                color=color,
                label=f"{name} with DDC",
            )
            ax.fill_between(
                tops,
                np.subtract(means, halves),
                np.add(means, halves),
                color=color,
                alpha=0.15,
                lw=0,
            )
            if levels and name in levels.get(metric, {}):
                level = levels[metric][name]
                ax.axhline(level, color=color, lw=1.2, ls=(0, (1, 2)))
                beside = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 9, "color": color}
                ax.text(1.01, level, f"{name}\nalone", **beside)
        if metric.endswith("%"):
            ax.axhline(0, color=INK, lw=1.2, ls=(0, (1, 2)))
            ax.text(1.01, 0, "backbone\nalone", transform=ax.get_yaxis_transform(), va="center", fontsize=9)
        ax.set(title=metric, xlabel="k: share of a user's items behind e_pref")
        ax.margins(y=0.12)
    axes[0, 0].legend(fontsize=9)
    return fig, axes[0]


@in_style
def convergence(runs: Mapping[str, Mapping[str, Any]]) -> tuple[Figure, np.ndarray]:
    """BPR's loss per triple of what is served (logarithmic) and validation MRR@10 along training and DDC, a column for
    each run.

    runs: title -> {"training": (epochs, losses, mrrs), "DDC": (epochs, losses, mrrs), "scaled": least loss by one
    factor on all scores, "objective": DDC's own losses, or absent}.
    """
    fig, axes = plt.subplots(
        2,
        len(runs),
        figsize=(4.3 * len(runs) + 0.4, 5.6),
        sharex="col",
        squeeze=False,
        dpi=88,
    )
    for column, (title, run) in enumerate(runs.items()):
        top, low = axes[:, column]
        (epochs, losses, mrrs), (after, then, found) = run["training"], run["DDC"]
        for ax, first, second in ((top, losses, then), (low, mrrs, found)):
            ax.plot(epochs, first, "-", marker="o", ms=3, color=INK, label="training")
            ax.plot(
                after,
                second,
                "-",
                marker="s",
                ms=3,
                color=PUSH,
                label="DDC, served embedding",
            )
            ax.axvline(epochs[-1], color=SOFT, lw=1, ls=(0, (2, 2)))
        if "objective" in run:
            top.plot(
                after,
                run["objective"],
                ls=(0, (1, 1.5)),
                color=PUSH,
                label="DDC, its objective",
            )
        top.axhline(
            run["scaled"],
            color=PULL,
            lw=1.4,
            ls=(0, (5, 2)),
            label="same ranking as before,\nscores times a factor",
        )
        low.axhline(max(mrrs), color=INK, lw=1, ls=(0, (1, 2)))
        top.set(title=title, yscale="log")
        low.set(xlabel="epoch")
    axes[0, 0].set_ylabel("BPR loss per triple")
    axes[1, 0].set_ylabel("validation MRR@10")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2)
    return fig, axes


@in_style
def rule_changes(
    changes: Mapping[str, Mapping[str, tuple[float, float]]],
    *,
    label: str = "change of MRR@10 in %",
) -> tuple[Figure, np.ndarray]:
    """The change against the backbone under each update rule, with intervals, a panel for each backbone or metric:
    title -> rule -> (mean, half).
    """
    fig, axes = plt.subplots(
        1,
        len(changes),
        figsize=(4.0 * len(changes) + 1.2, 4.4),
        sharey=True,
        squeeze=False,
        dpi=92,
    )
    for ax, (title, rules) in zip(axes[0], changes.items(), strict=True):
        ax.axvline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
        for at, (rule, (mean, half)) in enumerate(rules.items()):
            ours = rule == "b_a"
            ax.errorbar(
                mean,
                at,
                xerr=half or None,
                color=PUSH if ours else INK,
                lw=1.4,
                capsize=3,
            )
            ax.plot(
                mean,
                at,
                "*" if ours else "o",
                color=PUSH if ours else INK,
                ms=13 if ours else 6,
                mec="white",
            )
        ax.set(title=title, xlabel=label, yticks=range(len(rules)), yticklabels=list(rules))
    axes[0, 0].invert_yaxis()
    return fig, axes[0]


@in_style
def sign_of_alpha(
    groups: Mapping[str, Mapping[str, Sequence[float]]], *, moved: Sequence[str] = ()
) -> tuple[Figure, np.ndarray]:
    """Where the mean item lies along e_pop against the share of users with alpha < 0 (left) and the change of AvgPop in
    % (right).

    groups: name -> {"centroid", "negative", "change"}, a mark for each model. moved: the groups that are one model
    whose items were moved together; their marks are joined by a line. Changes beyond 20 % are drawn on a logarithmic
    scale.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.2, 4.2), dpi=92)
    looks = [*SPARE, ("#8a6d00", "P", (0, (1, 1))), ("#56b4e9", "X", (0, (6, 2)))]
    for at, (name, points) in enumerate(groups.items()):
        color, marker, dashes = looks[at % len(looks)]
        order = np.argsort(points["centroid"])
        x = np.asarray(points["centroid"], dtype=float)[order]
        for ax, key in zip(axes, ("negative", "change"), strict=True):
            y = np.asarray(points[key], dtype=float)[order]
            line = dashes if name in moved else ""
            ax.plot(x, y, marker=marker, ls=line, lw=1.2, ms=7, color=color, mec="white", label=name)
    for ax in axes:
        ax.axvline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
        ax.set_xlabel("mean item along e_pop, in standard deviations")
    axes[0].set(title="share of users with alpha < 0", ylim=(-0.05, 1.05))
    axes[1].axhline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
    axes[1].set_title("change of AvgPop@10 by DDC, %")
    axes[1].margins(y=0.09)
    axes[1].set_yscale("symlog", linthresh=20, linscale=1.5)
    ticks = [
        tick
        for tick in (-50, -20, -10, 0, 10, 20, 50, 100, 200)
        if axes[1].get_ylim()[0] <= tick <= axes[1].get_ylim()[1]
    ]
    axes[1].set_yticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
    axes[1].minorticks_off()
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2)
    return fig, axes
