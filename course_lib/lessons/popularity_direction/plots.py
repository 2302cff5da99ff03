"""Figures of the chapter: clouds along an axis, roles, the mean item, singular vectors, the law of chance.

Directions, laws and correlations come from `course_lib.popularity`; a figure draws them. Where there are more
items than dots are worth, every figure shows the same number of them, evenly over the ranks of popularity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import popularity
from course_lib.lessons.shared.house import INK, PULL, PUSH, PUSH_FILL, SOFT, SPARE, WRONG, in_style, white_sheet

DOTS = 180
COLOURS = tuple(color for color, _, _ in SPARE)


def some_items(counts: Any, shown: int = DOTS) -> np.ndarray:
    """Ids of at most `shown` items, evenly over the ranks of popularity, the first and the last among them."""
    order = np.argsort(np.asarray(counts), kind="stable")
    return np.asarray(order[np.unique(np.linspace(0, len(order) - 1, min(shown, len(order))).round().astype(int))])


@in_style
def projections(
    panels: Mapping[str, Sequence[float]], counts: Any, *, named: Mapping[str, int] | None = None
) -> tuple[Figure, np.ndarray]:
    """One number per item against its count, with Pearson's r over all items: a panel for each name -> (n,) numbers.

    named: name -> id of an item that is marked and named in every panel. Numbers are shown as multiples of their
    standard deviation.
    """
    counts = np.asarray(counts, dtype=float)
    fig, axes = plt.subplots(1, len(panels), figsize=(3.3 * len(panels), 3.4), sharex=True, squeeze=False, dpi=92)
    shown = some_items(counts)
    for ax, (name, given) in zip(axes[0], panels.items(), strict=True):
        values = np.asarray(given, dtype=float)
        if values.shape != counts.shape:
            raise ValueError(f"{name} has shape {values.shape}; expected one number for each of {len(counts)} counts")
        values = values / values.std()
        ax.plot(counts[shown], values[shown], "o", color=PULL, mec="white", mew=0.3, ms=4.2, alpha=0.8)
        ax.axhline(0, color=SOFT, lw=0.8)
        _name_items(ax, counts, values, named or {})
        r = f"r = {popularity.pearson(values, counts):.2f}"
        ax.text(0.04, 0.96, r, transform=ax.transAxes, va="top", color=INK, bbox=white_sheet())
        ax.set(title=name, xlabel="popularity", yticks=[])
        ax.margins(y=0.14)
    axes[0, 0].set_ylabel("place of the film")
    return fig, axes[0]


def _name_items(ax: Axes, counts: np.ndarray, values: np.ndarray, named: Mapping[str, int]) -> None:
    """Marks items and writes their names, towards the middle of the panel."""
    for name, item in named.items():
        x, y = counts[item], values[item]
        right = x > counts.max() / 2
        ax.plot(x, y, "D", color=PUSH, mec="white", mew=0.6, ms=6.5)
        options: dict[str, Any] = {
            "ha": "right" if right else "left",
            "color": PUSH,
            "fontsize": 10,
            "bbox": white_sheet(),
        }
        ax.annotate(name, (x, y), (-6 if right else 6, -3), textcoords="offset points", va="top", **options)


@in_style
def popularity_cloud(items: Any, counts: Any, ratio: float = 0.05, *, groups: Any = None) -> tuple[Figure, Axes]:
    """The item embeddings in a plane: across, along e_pop; up, along the widest direction at right angles to it.

    Marks grow with the count; head and tail of e_pop have triangles; crosses are their means and the mean of all items.
    groups (n,) of 0 and 1: a second kind of item, in another colour and with square marks.
    """
    items, counts = np.asarray(items, dtype=float), np.asarray(counts, dtype=float)
    axis = popularity.popularity_direction(items, counts, ratio)
    centre = items.mean(0)
    rest = (items - centre) - np.outer((items - centre) @ axis, axis)
    other = np.linalg.svd(rest, full_matrices=False)[2][0]
    plane = np.stack([items @ axis, (items - centre) @ other], axis=1)
    head, tail = popularity.head_items(counts, ratio), popularity.tail_items(counts, ratio)
    fig, ax = plt.subplots(figsize=(6.4, 4.0), dpi=92)
    kinds = np.zeros(len(counts), dtype=int) if groups is None else np.asarray(groups)
    middle = np.setdiff1d(some_items(counts, 2 * DOTS), np.concatenate([head, tail]))
    sizes = 6 + 60 * counts / counts.max()
    for kind, color, mark in ((0, SOFT, "o"), (1, WRONG, "s")):
        chosen = middle[kinds[middle] == kind]
        ax.scatter(plane[chosen, 0], plane[chosen, 1], s=sizes[chosen], c=color, marker=mark, alpha=0.45, lw=0)
    for ids, color, mark, name in ((head, PUSH, "^", "head"), (tail, PULL, "v", "tail")):
        look: dict[str, Any] = {"c": color, "marker": mark, "label": f"{name}: {len(ids)} items"}
        ax.scatter(plane[ids, 0], plane[ids, 1], s=sizes[ids] + 12, alpha=0.8, lw=0, **look)
        ax.plot(*plane[ids].mean(0), "X", color=color, mec="white", ms=13, mew=1.2, zorder=4)
    start, end = plane[tail].mean(0), plane[head].mean(0)
    ax.annotate(
        "", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 2, "shrinkA": 6, "shrinkB": 6}, zorder=5
    )
    ax.plot(*plane.mean(0), "P", color=INK, mec="white", ms=11, mew=1.2, zorder=6, label="mean of all items")
    ax.set(xlabel="along $e_{pop}$", ylabel="widest direction across")
    ax.legend(loc="upper left", bbox_to_anchor=(0, 1.14), ncols=3, fontsize=9)
    return fig, ax


@in_style
def roles(counts: Any, negatives: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """How often an item is expected as a negative, against how often it is a positive, for each law: name -> (n,).

    On the diagonal both roles balance. Below it the mean user pulls the item, above it pushes it away.
    """
    counts = np.asarray(counts, dtype=float)
    shown = some_items(counts, 60)
    fig, ax = plt.subplots(figsize=(6.4, 4.0), dpi=92)
    reach = np.array([counts.min(), counts.max()])
    ax.fill_between(reach, reach, reach[1] * 1.3, color=PUSH_FILL, alpha=0.22, lw=0)
    ax.plot(reach, reach, color=INK, lw=1.2)
    ax.text(reach[0] * 1.1, reach[1] * 0.95, "pushed away from the mean user", color=PUSH, va="top")
    ax.text(reach[1], reach[0] * 1.2, "pulled towards the mean user", color=PULL, ha="right")
    for index, (name, values) in enumerate(negatives.items()):
        color, marker, _ = SPARE[(index + 1) % len(SPARE)]
        ax.plot(counts[shown], np.asarray(values)[shown], marker, color=color, ms=4.5, alpha=0.8, label=name)
    ax.set(xscale="log", yscale="log", ylim=(reach[0] * 0.9, reach[1] * 1.3))
    ax.set(xlabel="popularity = times a positive", ylabel="expected times a negative")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="negatives drawn")
    return fig, ax


@in_style
def mean_item(moves: Mapping[str, Sequence[float]], sides: Mapping[str, Sequence[float]]) -> tuple[Figure, np.ndarray]:
    """Left: how far the mean item has moved, against the epoch, logarithmic. Right: where it lies along e_pop.

    moves, sides: name -> one number after each epoch, the same names. moves in units of the items' root mean square
    length, 0 is drawn at 1e-17; sides in units of the standard deviation of the projections.
    """
    if set(moves) != set(sides):
        raise ValueError(f"moves has {sorted(moves)} and sides {sorted(sides)}; expected the same names")
    fig, (far, along) = plt.subplots(1, 2, figsize=(9.0, 3.5), dpi=92)
    for index, name in enumerate(moves):
        color, marker, line = SPARE[index % len(SPARE)]
        epochs = np.arange(1, len(moves[name]) + 1)
        style = {"color": color, "marker": marker, "ls": line, "ms": 4.5, "markevery": max(1, len(epochs) // 6)}
        far.plot(epochs, np.maximum(np.asarray(moves[name], dtype=float), 1e-17), label=name, **style)
        along.plot(epochs, sides[name], **style)
    far.set(yscale="log", xlabel="epoch", ylabel="how far the mean item has moved", ylim=(1e-17, 10))
    along.axhline(0, color=SOFT, lw=0.8)
    along.set(xlabel="epoch", ylabel="mean item along $e_{pop}$")
    fig.legend(*far.get_legend_handles_labels(), loc="outside upper center", ncols=len(moves))
    return fig, np.array([far, along])


@in_style
def axis_growth(
    passes: Sequence[float], measured: Mapping[str, Sequence[float]], predicted: Mapping[str, Sequence[float]]
) -> tuple[Figure, Axes]:
    """Length of the items along singular vectors of M against the pass: marks are measured, lines predicted."""
    fig, ax = plt.subplots(figsize=(6.4, 3.7), dpi=92)
    for index, (name, values) in enumerate(measured.items()):
        color, marker, line = SPARE[index % len(SPARE)]
        ax.plot(passes, values, marker, color=color, ms=6, mfc="white", label=name)
        if name in predicted:
            ax.plot(passes, predicted[name], color=color, ls=line, lw=1.6)
    ax.set(yscale="log", xlabel="passes over the data", ylabel="length of the items along the axis")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig, ax


@in_style
def one_list(
    passes: Sequence[int], r: Sequence[float], shares: Sequence[float], *, formula: float
) -> tuple[Figure, Axes]:
    """Against the passes: r of projection and popularity, and the share of people with one film at the top.

    formula: r of the pull matrix's first axis, a level line. All of the same length.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.7), dpi=92)
    labels = ("r of projection\nand popularity", "people with the\nsame film at the top")
    for values, label, (color, marker, line) in zip((r, shares), labels, SPARE, strict=False):
        every = max(1, len(passes) // 12)
        ax.plot(passes, values, color=color, marker=marker, ls=line, markevery=every, label=label)
    ax.axhline(formula, color=PULL, lw=1, ls=(0, (1, 1.3)), label="r of the formula")
    ax.set(xlabel="passes over the data", ylim=(0, 1.04), ylabel="r, or share of the people")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig, ax


@in_style
def fan_means(counts: Any, cosines: Mapping[str, Any], n_users: int) -> tuple[Figure, Axes]:
    """Cosine between the mean of an item's fans and the mean user, against the count: name -> (n,).

    The line is sqrt(P/m).
    """
    counts = np.asarray(counts, dtype=float)
    shown = some_items(counts, 140)
    fig, ax = plt.subplots(figsize=(6.4, 3.7), dpi=92)
    for (name, values), color, marker in zip(cosines.items(), (SOFT, PUSH), ("o", "^"), strict=False):
        ax.plot(counts[shown], np.asarray(values)[shown], marker, color=color, ms=4.5, alpha=0.7, label=name)
    grid = np.geomspace(counts.min(), n_users, 100)
    ax.plot(grid, np.sqrt(grid / n_users), color=INK, label=r"$\sqrt{P/m}$")
    ax.axhline(0, color=SOFT, lw=0.8)
    ax.set(xscale="log", xlabel=f"fans P of the item (of m = {n_users:,} users)")
    ax.set(ylabel="cos(mean fan, mean user)", ylim=(-0.55, 1.05))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig, ax


@in_style
def chance_law(simulated: Any, exact: Any, *, marks: Mapping[str, float] | None = None) -> tuple[Figure, Axes]:
    """What Figure 1's r is for embeddings that know nothing: simulations as bars, draws of the exact law as a line.

    marks: name -> r.
    """
    simulated, exact = np.asarray(simulated, dtype=float), np.asarray(exact, dtype=float)
    low, high = min(simulated.min(), exact.min()), max(simulated.max(), exact.max())
    bins = np.linspace(low, high, 26)
    fig, ax = plt.subplots(figsize=(6.4, 3.3), dpi=92)
    ax.hist(
        simulated, bins.tolist(), density=True, color=PUSH_FILL, ec="white", lw=0.4, label="random embeddings, measured"
    )
    density = np.histogram(exact, bins, density=True)[0]
    ax.plot((bins[:-1] + bins[1:]) / 2, density, color=INK, marker="o", ms=3, label="the exact law")
    ax.axvline(0, color=WRONG, ls="--", lw=1.6, label="what one would expect")
    for index, (name, value) in enumerate((marks or {}).items()):
        ax.axvline(value, color=PULL, ls=(0, (1, 1.3)))
        ax.text(value, ax.get_ylim()[1] * (0.95 - 0.12 * index), f" {name}", color=PULL, va="top", bbox=white_sheet())
    ax.set(xlabel="r between projection and popularity", yticks=[])
    ax.spines["left"].set_visible(False)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig, ax


@in_style
def projection_panels(panels: Mapping[str, tuple[Any, Any, str]]) -> tuple[Figure, np.ndarray]:
    """<e_i, e_pop> against the count of the item, a panel for each title -> (counts, projections, a line of text)."""
    fig, axes = plt.subplots(1, len(panels), figsize=(3.7 * len(panels) + 0.6, 3.7), squeeze=False, dpi=88)
    for ax, (title, (counts, along, text)) in zip(axes[0], panels.items(), strict=True):
        if np.shape(counts) != np.shape(along):
            raise ValueError(f"{title}: {np.shape(counts)} counts and {np.shape(along)} projections; expected as many")
        ax.axhline(0, color=SOFT, lw=1, ls=(0, (2, 2)))
        ax.plot(counts, along, ".", color=PULL, ms=5, alpha=0.6, rasterized=True)
        ax.text(0.97, 0.04, text, transform=ax.transAxes, ha="right", va="bottom", fontsize=9, bbox=white_sheet())
        ax.set(title=title, xlabel="popularity (training pairs)")
    axes[0, 0].set_ylabel("projection on $e_{pop}$")
    return fig, axes[0]
