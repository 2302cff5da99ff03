"""Figures of the chapter: what trainings find after so many steps, who pushes whom, the gradient of each recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.lessons.shared.house import INK, PULL, PUSH_FILL, SOFT, in_style, series_style

if TYPE_CHECKING:  # it trains, with torch
    from course_lib.lessons.one_batch_many_machines.stops import Stopped

GATHERS = {"gradients": "with gradients", "constant": "constants", "local": "nothing gathered"}
NAMES = {"movietweetings": "MovieTweetings", "ml-1m": "ML-1M"}
RECIPES = [  # (gather, rows, whether the loss is multiplied by P), from top to bottom
    *(
        (gather, rows, times)
        for gather in ("gradients", "constant")
        for rows in ("own", "all")
        for times in (False, True)
    ),
    ("local", "own", False),
]


@in_style
def recall_by_steps(steps: Sequence[int], stopped: Mapping[str, Mapping[str, Stopped]]) -> tuple[Figure, np.ndarray]:
    """R@10 of each training against its steps, a panel for each model; the most popular films are a level line.

    steps, stopped: `stops.STOPS` and `stops.stored()`. Thick lines are means over seeds, thin lines single seeds.
    Returns the figure and its axes (models,).
    """
    models = [name for name in stopped if name != "lists"]
    popular = stopped["lists"]["most popular"].recall.mean()
    fig, axes = plt.subplots(1, len(models), figsize=(7.6, 3.1), sharey=True, dpi=92)
    for ax, model in zip(axes, models, strict=True):
        ax.axhline(popular, color=SOFT, lw=1.6, ls=(0, (6, 3)), label="most popular")
        for at, (machines, found) in enumerate(stopped[model].items()):
            look = series_style(machines, at)
            ax.plot(steps, found.recall.T, color=look["color"], lw=0.5, alpha=0.5)
            ax.plot(steps, found.recall.mean(axis=0), **look, lw=1.8, ms=4.5, mfc="none")
        ax.set(xscale="log", title=model, xlabel="steps")
        ax.set_xticks([100, 1000], ["100", "1,000"])
        ax.xaxis.set_minor_formatter("")
    axes[0].set(ylabel="R@10 in %", ylim=(0, None))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return fig, axes


@in_style
def who_pushes_whom(processes: int, batch_size: int) -> tuple[Figure, Axes]:
    """The grid of rows and columns: pulls on the diagonal, near pushes in the machines' blocks, far pushes outside."""
    size = processes * batch_size
    fig, ax = plt.subplots(figsize=(3.6, 3.6), dpi=92)
    for a in range(size):
        for c in range(size):
            near = a // batch_size == c // batch_size
            colour = PULL if a == c else PUSH_FILL if near else "none"
            ax.add_patch(Rectangle((c, a), 1, 1, fc=colour, ec=SOFT, lw=0.6, hatch=None if near else "////"))
    for machine in range(processes):
        at = machine * batch_size
        ax.add_patch(Rectangle((at, at), batch_size, batch_size, fill=False, ec=INK, lw=2.0))
    middle = batch_size * (np.arange(processes) + 0.5)
    words = [f"machine {machine + 1}" for machine in range(processes)]
    ax.set_xticks(middle, words)
    ax.set_yticks(middle, words, rotation=90, va="center")
    ax.set(xlim=(0, size), ylim=(size, 0), xlabel="films", ylabel="rows", aspect="equal")
    ax.tick_params(length=0)
    return fig, ax


def name_of(gather: str, rows: str, times_world: bool) -> str:
    """What a recipe is called on the page: "constants, all rows, times P"."""
    return f"{GATHERS[gather]}, {rows} rows" + (", times P" if times_world else "")


@in_style
def factors_of_recipes(gradients: Any) -> tuple[Figure, np.ndarray]:
    """By which factor the averaged gradient of the queries' tower is too large: a panel for each number of processes.

    Rows are recipes, columns the mean and the sum of the rows' losses (softmax); 1 is right. Hatched: with this gather
    and these rows the two towers never share one factor, so that no factor repairs both.
    gradients: a result of SCALE-X1. Returns the figure and its axes (numbers of processes,).
    """
    sizes, columns = sorted(gradients.distinct("processes")), ("mean", "sum")
    fig, axes = plt.subplots(1, len(sizes), figsize=(6.9, 4.1), sharey=True, dpi=92, squeeze=False)
    for ax, size in zip(axes[0], sizes, strict=True):
        for y, (gather, rows, times) in enumerate(RECIPES):
            where = {"gather": gather, "rows": rows, "processes": size, "loss": "softmax"}
            right = {"times_world": False, "reduction": "mean"}
            factor, off = (gradients.mean(metric, **where, **right) for metric in ("queries", "towers off"))
            lost = off > abs(factor - 1) + 1e-6  # the items' tower is further off than the queries'
            for x, reduction in enumerate(columns):
                factor = gradients.mean("queries", **where, reduction=reduction, times_world=times)
                colour = plt.get_cmap("RdBu_r")(0.5 + np.log2(factor) / 9)
                box = {"fc": colour, "ec": SOFT, "lw": 0.8, "hatch": "////" if lost else None}
                ax.add_patch(Rectangle((x, y), 1, 1, **box))
                number = ax.text(x + 0.5, y + 0.5, f"{factor:.2g}", ha="center", va="center")
                number.set_bbox({"fc": colour, "ec": "none", "pad": 1.5})
        ax.set_xticks([0.5, 1.5], columns)
        ax.set(xlim=(0, len(columns)), ylim=(len(RECIPES), 0), title=f"{size} processes")
        ax.tick_params(length=0)
        ax.grid(visible=False)
    axes[0, 0].set_yticks(np.arange(len(RECIPES)) + 0.5, [name_of(*recipe) for recipe in RECIPES])
    return fig, axes[0]


@in_style
def recall_lost(lost: Any, model: str = "cosines, logQ", pairs: int = 256) -> tuple[Figure, np.ndarray]:
    """The share of one machine's recall that is lost: against steps, and at the stated ends against 1 - kappa.

    lost: a result of SCALE-X6. A row of panels for each data set; lines are means over seeds, dots single seeds, and
    the level line is proportional to 1 - kappa through the mean of the largest number of machines. Returns the figure
    and its axes (data sets, 2).
    """
    sets = lost.distinct("data")
    fig, axes = plt.subplots(len(sets), 2, figsize=(7.4, 2.9 * len(sets)), dpi=92, squeeze=False)
    for (by_steps, by_kappa), data in zip(axes, sets, strict=True):
        counts = sorted(lost.distinct("machines", data=data, model=model))
        where = {"data": data, "model": model}
        steps = np.array(lost.select(metric="steps", machines=1, **where)[0]["path"])
        paths = {
            count: np.mean([row["path"] for row in lost.select(metric="recall@10", machines=count, **where)], axis=0)
            for count in counts
        }
        shown = steps >= 100
        ends = {count: np.array(lost.values("recall@10", machines=count, **where)) for count in counts}
        line = 0.0
        for at, count in enumerate(counts[1:]):
            look = series_style(f"{count} machines", at)
            by_steps.plot(steps[shown], 1 - paths[count][shown] / paths[1][shown], **look, lw=1.8, ms=4, mfc="none")
            missing = 1 - (pairs / count - 1) / (pairs - 1)
            own = 1 - ends[count] / ends[1]
            by_kappa.plot(np.full(len(own), missing), own, "o", color=look["color"], ms=4, mfc="none")
            line = float(own.mean()) / missing
        by_kappa.plot([0, 1], [0, line], color=SOFT, lw=1.4, ls=(0, (6, 3)), label="in proportion")
        by_steps.set(
            xscale="log", xlabel="steps", ylabel="recall lost, share", ylim=(0, 1), title=NAMES.get(data, data)
        )
        by_kappa.set(xlabel="1 − κ", ylim=(0, 1), xlim=(0, 1.03), title=f"{NAMES.get(data, data)}, stated ends")
    told = [ax.get_legend_handles_labels() for ax in axes[0]]
    fig.legend(told[0][0] + told[1][0], told[0][1] + told[1][1], loc="outside lower center", ncols=3, frameon=False)
    return fig, axes
