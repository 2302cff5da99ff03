"""Figures of the chapter on DDC. They draw what they are given; formulas are in `course_lib.debiasing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.lessons.shared.house import GRID, INK, PULL, PULL_TINT, PUSH, SOFT, SPARE, WRONG, in_style, note

EVEN = 20  # per cent: up to here the axis of changes is linear
SUBSCRIPTED = 12.5  # points, of names with subscripts: on a phone a subscript is then 9 px high


@in_style
def moved_items(
    shifts: Any, losses: Mapping[str, Any], share: Any, changes: Mapping[str, Any]
) -> tuple[Figure, np.ndarray]:
    """One model whose items are moved together: losses in percent, share with alpha < 0, changes of popularity in %.

    losses, changes: name -> value at each shift; share: value at each shift. The model's own lists are the same
    everywhere, so that its own curves would be level: 100 %, none and 0 %.
    """
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.7), dpi=92)
    for ax, curves in zip(axes, (losses, {"": share}, changes), strict=True):
        for (color, marker, dashes), (name, values) in zip(SPARE, curves.items(), strict=False):
            ax.plot(shifts, values, color=color, marker=marker, ls=dashes, ms=5, label=name)
        ax.set_xlabel("shift of all items along $e_{pop}$")
        ax.axvline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
        if "" not in curves:
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=len(curves), fontsize=9, handlelength=2.6)
    axes[0].set(title="loss, % of the model's", ylim=(0, 105))
    axes[1].set(title="share of people with α < 0", ylim=(-0.05, 1.05))
    axes[2].set_title("change of popularity, %")
    axes[2].axhline(0, color=INK, lw=1)
    return fig, axes


@in_style
def losses_after(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[Figure, Axes]:
    """A row for each model, a mark for each loss in percent of the model's own (logarithmic), one mark for each seed.

    rows: model -> {what the loss is of: percents of the seeds}. The line stands at 100 %: the model itself.
    """
    fig, ax = plt.subplots(figsize=(8.2, 0.5 * len(rows) + 1.5), dpi=92)
    y = np.arange(len(rows))[::-1]
    for layer, ((color, marker, _), kind) in enumerate(zip(SPARE, next(iter(rows.values())), strict=False)):
        found = [(x, at) for at, of_model in zip(y, rows.values(), strict=True) for x in of_model[kind]]
        ax.plot(*zip(*found, strict=True), color=color, label=kind, **_mark(marker, layer))
    ax.axvline(100, color=INK, lw=1.3)
    ax.set(xscale="log", xlabel="loss after, % of the model's (logarithmic)", ylim=(-0.6, len(rows) - 0.4))
    ax.set_yticks(y, list(rows))
    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200) if ax.get_xlim()[0] <= tick <= ax.get_xlim()[1]]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.grid(visible=False, axis="y")
    fig.legend(loc="outside upper center", ncols=3)
    return fig, ax


@in_style
def alone_and_together(points: Mapping[str, tuple[float, Mapping[str, float]]]) -> tuple[Figure, Axes]:
    """Change of popularity in percent against the centre of the items: one mark for each scalar alone, one for both.

    points: model -> (centre in standard deviations, {what is served: percent}). A thin line joins the marks of a model.
    """
    fig, ax = plt.subplots(figsize=(8.2, 4.3), dpi=92)
    last = -np.inf  # a name goes under its marks where the one to its left is too near
    for name, (centre, changes) in sorted(points.items(), key=lambda point: point[1][0]):
        ax.plot([centre] * len(changes), list(changes.values()), color=GRID, lw=1.4, zorder=1)
        above = centre - last > 0.15
        end, place = (max(changes.values()), 9) if above else (min(changes.values()), -27)
        note(ax, name, (centre, end), (0, place), ha="center", fontsize=8.5, color=INK)
        last = centre if above else last
    for layer, ((color, marker, _), kind) in enumerate(zip(SPARE, next(iter(points.values()))[1], strict=False)):
        x, y = zip(*((centre, changes[kind]) for centre, changes in points.values()), strict=True)
        ax.plot(x, y, color=color, label=kind, **_mark(marker, layer))
    ax.axhline(0, color=INK, lw=1)
    ax.axvline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
    ax.set_yscale("symlog", linthresh=EVEN, linscale=1.5)
    low, high = ax.get_ylim()
    ticks = [tick for tick in (-100, -50, -20, -10, 0, 10, 20, 50, 100) if low <= tick <= high]
    ax.set_yticks(ticks, [_signed(tick) for tick in ticks])
    ax.minorticks_off()
    ax.margins(x=0.12, y=0.16)
    ax.set_xlabel("centre of the items along the popularity direction, in standard deviations")
    ax.set_ylabel(f"change of popularity, % (compressed beyond ±{EVEN})")
    fig.legend(loc="outside upper center", ncols=3)
    return fig, ax


@in_style
def two_users(user: Any, pref: Any, pop: Any, alpha: float, beta: float) -> tuple[Figure, Axes]:
    """(11), (12), (14) in the plane: the vectors that meet positives and negatives, and the one that is served."""
    e, f, p = (np.asarray(vector, dtype=float) for vector in (user, pref, pop))
    fig, ax = plt.subplots(figsize=(6.0, 4.3), dpi=92)
    ax.spines[["left", "bottom"]].set_visible(False)
    corners = {
        ("meets own items:", "$e_u+\\beta e_{pref}$"): (e + beta * f, PULL),
        ("meets the others:", "$e_u+\\alpha e_{pop}$"): (e + alpha * p, PUSH),
    }
    final = e + alpha * p + beta * f
    for ((words, formula), (point, color)), up in zip(corners.items(), (6, -2), strict=True):
        _arrow(ax, np.zeros(2), point, color)
        for end in (e, final):
            ax.plot(*zip(point, end, strict=True), color=SOFT, lw=1, ls=(0, (2, 2)))
        behind = {"fc": ax.get_facecolor(), "ec": "none", "pad": 0}  # covers the dashes
        look: dict[str, Any] = {"color": color, "bbox": behind}
        note(ax, words, (point[0], point[1]), (8, up), fontsize=9.5, va="bottom", **look)
        note(ax, formula, (point[0], point[1]), (8, up - 1), fontsize=SUBSCRIPTED, va="top", **look)
    _arrow(ax, np.zeros(2), e, INK)
    _arrow(ax, np.zeros(2), final, WRONG)
    note(ax, "$e_u$", (e[0], e[1]), (6, 4), color=INK, fontsize=SUBSCRIPTED)
    served: dict[str, Any] = {"color": WRONG, "va": "center", "fontsize": 9.5}
    note(ax, "is served: both", (final[0], final[1]), (8, 0), **served)
    for vector, name, place in ((f, "$e_{pref}$", (-2, -13)), (p, "$e_{pop}$", (-4, 6))):
        _arrow(ax, np.zeros(2), vector, SOFT, width=1.2)
        note(ax, name, (vector[0], vector[1]), place, color=SOFT, ha="right", fontsize=SUBSCRIPTED)
    points = np.stack([np.zeros(2), e, f, p, final, *(point for point, _ in corners.values())])
    low, high = points.min(0), points.max(0)
    ax.set(xlim=(low[0] - 0.5, high[0] + 1.5), ylim=(low[1] - 0.4, high[1] + 0.4), aspect="equal", xticks=[], yticks=[])
    ax.grid(visible=False)
    return fig, ax


@in_style
def turned_user(vectors: Mapping[str, Any], positives: Any, negatives: Any) -> tuple[Figure, np.ndarray]:
    """The same items before two or more users: the user's own as discs, the others as crosses, each with its score.

    vectors: title -> (2,). The side of the plane that scores above the best of the others is tinted.
    """
    own, others = np.asarray(positives, dtype=float), np.asarray(negatives, dtype=float)
    fig, axes = plt.subplots(1, len(vectors), figsize=(4.3 * len(vectors), 3.6), sharey=True, dpi=92, squeeze=False)
    reach = 1.6 + max(abs(own).max(), abs(others).max())
    grid = np.linspace(-reach, reach, 121)
    plane = np.stack(np.meshgrid(grid, grid), axis=-1)
    for ax, (title, vector) in zip(axes[0], vectors.items(), strict=True):
        u = np.asarray(vector, dtype=float)
        level = (others @ u).max()
        ax.contourf(grid, grid, plane @ u, levels=[level, 1e9], colors=[PULL_TINT])
        ax.contour(grid, grid, plane @ u, levels=[level], colors=[SOFT], linewidths=1, linestyles="dashed")
        _arrow(ax, np.zeros(2), u / max(1.0, np.linalg.norm(u)), INK)
        for points, marker, color in ((own, "o", PULL), (others, "X", PUSH)):
            ax.scatter(*points.T, marker=marker, s=90, color=color, zorder=3, ec="white")
            for point in points:
                note(ax, _signed(point @ u), point, (9, 6), color=color, weight="bold")
        wrong = int(((own @ u)[:, None] <= others @ u).sum())
        ax.set(title=title, xlabel=f"pairs in the wrong order: {wrong} of {len(own) * len(others)}")
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.grid(visible=False)
    return fig, axes[0]


@in_style
def missing_minimum(
    lengths: Any, shares: Any, paths: Mapping[str, tuple[Any, Any, float | None]]
) -> tuple[Figure, np.ndarray]:
    """Left: share of users without a minimiser by number of items. Right: beta of users along gradient descent.

    lengths, shares: bars. paths: name -> (steps, beta, the minimiser or None).
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), dpi=92)
    axes[0].bar(lengths, shares, color=WRONG, width=0.8)
    axes[0].set(title="without a minimiser", xlabel="items of the user", ylabel="share of users")
    axes[0].set(ylim=(0, 1.05), xticks=[1, 5, 10, 15, 20])
    for (color, _, dashes), (name, (steps, beta, best)) in zip(
        ((PULL, "", "-"), (WRONG, "", (0, (5, 2)))), paths.items(), strict=False
    ):
        axes[1].plot(steps, beta, color=color, ls=dashes, label=name)
        if best is not None:
            axes[1].axhline(best, color=color, lw=1, ls=(0, (1, 2)))
    axes[1].set(xscale="log", title="β while the loss falls", xlabel="steps of gradient descent", ylabel="β")
    axes[1].legend(loc="upper left")
    return fig, axes


@in_style
def loss_and_ranking(
    points: Mapping[str, tuple[float, float]], scaled: Mapping[float, float], level: float, *, marked: Sequence[str]
) -> tuple[Figure, Axes]:
    """Training loss of what is served (across, logarithmic) against held-out MRR@10.

    points: name -> (loss, mrr); scaled: factor on all scores -> loss of the model, all at the same mrr `level`; marked:
    names in bold.
    """
    fig, ax = plt.subplots(figsize=(7.4, 4.2), dpi=92)
    losses = list(scaled.values())
    ax.plot(losses, [level] * len(losses), "|-", color=SOFT, ms=9, lw=1.2, zorder=1)
    for factor, loss in scaled.items():
        note(ax, f"× {factor:g}", (loss, level), (0, 7), ha="center", fontsize=8.5, color=SOFT)
    for name, (loss, mrr) in points.items():
        bold = name in marked
        size, marker, color = (70, "D", WRONG) if bold else (45, "o", PULL)
        ax.scatter(loss, mrr, s=size, marker=marker, color=color, zorder=3, ec="white")
        note(ax, name, (loss, mrr), (7, -3), fontsize=9.5, weight="bold" if bold else "normal", color=INK)
    ax.set(
        xscale="log", xlabel="BPR loss per training triple of the embedding that is served", ylabel="MRR@10, held out"
    )
    ax.grid(visible=True, which="both", color=GRID)
    return fig, ax


@in_style
def net_push(net: Any, change: Any, alphas: Any) -> tuple[Figure, np.ndarray]:
    """Change of each list's popularity against alpha (left), alpha + beta cos (right): dots, means of ten groups."""
    fig, axes = plt.subplots(1, 2, figsize=(9.0, 3.7), sharey=True, dpi=88)
    both = "$\\alpha_u+\\beta_u\\,\\langle e_{pref},e_{pop}\\rangle$"
    y = np.asarray(change, dtype=float)
    for ax, across, label in zip(axes, (alphas, net), ("$\\alpha_u$", both), strict=True):
        x = np.asarray(across, dtype=float)
        low, high = np.quantile(x, [0.01, 0.99])
        shown = np.flatnonzero((x > low) & (x < high))[:: max(1, len(x) // 450)]
        ax.scatter(x[shown], y[shown], s=7, color=SOFT, alpha=0.35, lw=0)
        parts = np.array_split(np.argsort(x), 10)
        ax.plot([x[part].mean() for part in parts], [y[part].mean() for part in parts], "o-", color=WRONG)
        ax.axhline(0, color=INK, lw=1)
        ax.axvline(0, color=INK, lw=1)
        ax.set(xlabel=label, xlim=(low, high))
    axes[0].set_ylabel("change of the list's mean popularity")
    axes[0].set_ylim(*np.quantile(y, [0.02, 0.98]))
    return fig, axes


@in_style
def differences(
    rows: Mapping[str, tuple[float, float, float, float]], *, labels: tuple[str, str]
) -> tuple[Figure, np.ndarray]:
    """A row for each method, two columns of dots: name -> (difference, half-width, the second ones)."""
    fig, axes = plt.subplots(1, 2, figsize=(9.2, 0.36 * len(rows) + 1.1), sharey=True, dpi=92)
    names = list(rows)
    for ax, at, label, color in zip(axes, (0, 2), labels, (PULL, PUSH), strict=True):
        values = np.array([rows[name][at : at + 2] for name in names])
        y = np.arange(len(names))[::-1]
        ax.errorbar(values[:, 0], y, xerr=values[:, 1], fmt="o", color=color, ms=5, lw=1.6, capsize=3)
        ax.axvline(0, color=INK, lw=1)
        ax.set(xlabel=label, yticks=y)
        ax.set_yticks(y, names)
    return fig, axes


@in_style
def decay_and_sign(names: Sequence[str], rows: Mapping[str, Sequence[float]]) -> tuple[Figure, np.ndarray]:
    """Small bars: for each model (down) each number of `rows` (across), with its value written at the bar."""
    fig, axes = plt.subplots(
        1, len(rows), figsize=(2.5 * len(rows) + 1.0, 0.36 * len(names) + 1.0), sharey=True, dpi=92, squeeze=False
    )
    y = np.arange(len(names))[::-1]
    for ax, (label, values), (color, _, _) in zip(axes[0], rows.items(), SPARE, strict=False):
        ax.barh(y, values, color=color, height=0.62, alpha=0.85)
        for at, value in zip(y, values, strict=True):
            note(ax, f"{value:.2g}", (max(value, 0), at), (3, 0), va="center", fontsize=9)
        ax.axvline(0, color=INK, lw=1)
        ax.set(title=label, yticks=y)
        ax.set_yticks(y, names)
        ax.margins(x=0.2)
        ax.grid(visible=False, axis="y")
    return fig, axes[0]


@in_style
def frontier(
    curves: Mapping[str, tuple[Any, Any, Sequence[str]]], points: Mapping[str, tuple[float, float]]
) -> tuple[Figure, Axes]:
    """Popularity of the lists (across) against accuracy (up): curves of methods with one setting moved, and points.

    curves: name -> (popularity, accuracy, a label or "" for each place); points: name -> (popularity, accuracy).
    """
    fig, ax = plt.subplots(figsize=(7.4, 4.4), dpi=92)
    for (color, marker, dashes), (name, (x, y, labels)) in zip(SPARE[1:], curves.items(), strict=False):
        ax.plot(x, y, color=color, marker=marker, ls=dashes, ms=5, label=name)
        for at, text in enumerate(labels):
            note(ax, text, (x[at], y[at]), (5, -11), fontsize=8.5, color=color)
    for name, (x, y) in points.items():
        ax.scatter(x, y, s=70, marker="D", color=INK, zorder=4, ec="white")
        note(ax, name, (x, y), (8, -14), fontsize=9.5, weight="bold")
    ax.set(xlabel="mean popularity of the ten films shown", ylabel="MRR@10, held out")
    ax.legend(loc="lower right")
    return fig, ax


def _mark(marker: str, layer: int) -> dict[str, Any]:
    """The look of one of several kinds of marks: later kinds are larger and lie lower, so none hides another."""
    return {"ls": "", "marker": marker, "ms": 7 + 3 * layer, "mec": "white", "zorder": 4 - layer / 10}


def _signed(value: float) -> str:
    """ "+3", "−0.5", "0": to three digits, with a sign that is as wide as a plus."""
    return f"{value:+.3g}".replace("-", "−") if value else "0"


def _arrow(ax: Axes, start: Any, end: Any, color: str, *, width: float = 2.0) -> None:
    look = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 13}
    ax.annotate("", end, start, arrowprops=look)


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
def accuracy_and_popularity(panels: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[Figure, np.ndarray]:
    """What every method changes against the backbone, in percent: popularity of its lists (across), accuracy (up).

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
    axes[0, 0].set_ylabel("change of MRR@10, %")
    handles = {label: h for ax in axes[0] for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles.keys(), loc="outside right center")
    return fig, axes[0]


@in_style
def sign_of_alpha(
    groups: Mapping[str, Mapping[str, Sequence[float]]], *, moved: Sequence[str] = ()
) -> tuple[Figure, np.ndarray]:
    """Where the mean item lies along e_pop against the share with alpha < 0 (left), the change of AvgPop in % (right).

    groups: name -> {"centroid", "negative", "change"}, a mark for each model. moved: the groups that are one model
    whose items were moved together; a line joins their marks. Changes beyond 20 % are drawn on a logarithmic scale.
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
        ax.set_xlabel("mean item along $e_{pop}$, in standard deviations")
    axes[0].set(title="share of users with α below 0", ylim=(-0.05, 1.05))
    axes[1].axhline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
    axes[1].set_title("change of AvgPop@10 by DDC, %")
    axes[1].margins(y=0.09)
    axes[1].set_yscale("symlog", linthresh=20, linscale=1.5)
    ticks = [
        tick
        for tick in (-50, -20, -10, 0, 10, 20, 50, 100, 200)
        if axes[1].get_ylim()[0] <= tick <= axes[1].get_ylim()[1]
    ]
    axes[1].set_yticks(ticks, [_signed(tick) for tick in ticks])
    axes[1].minorticks_off()
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2)
    return fig, axes
