"""Figures of the chapter and its lab: label matrices, thresholds, metrics against the batch ratio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import in_batch
from course_lib.lessons.shared.findings import Difference
from course_lib.lessons.shared.house import (
    INK,
    PULL,
    PULL_TINT,
    PUSH,
    SOFT,
    SPARE,
    WRONG,
    WRONG_TINT,
    in_style,
    note,
    plain_numbers,
    series_style,
    white_sheet,
)

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1)))  # lines are told apart without colour, too

# ---- label matrices


@in_style
def sampling_strategies(
    labels: Any,
    *,
    naive: Sequence[tuple[int, int]],
    cross: tuple[Sequence[int], Sequence[int]],
    in_batch: Sequence[tuple[int, int]],
) -> tuple[Figure, np.ndarray]:
    """P3's Fig. 2 by code: three ways to sample, above the label matrix and below the batch that results.

    labels (m, n) of 0/1; indices count from 0. naive: the sampled cells; cross: (rows, columns); in_batch: the sampled
    positives (row, column). A positive that a batch counts as negative is hatched and crossed.
    Returns the figure and its axes (2, 3). Raises ValueError for an in_batch cell that is no positive.
    """
    labels = _label_matrix(labels)
    for pair in in_batch:
        if not labels[tuple(pair)]:
            raise ValueError(f"in_batch holds {tuple(pair)}, which is no positive of labels")
    rows, columns = cross
    crossed = [(i, j) for i in rows for j in columns]
    height = 0.62 * max(labels.shape[0], len(in_batch), len(rows))
    fig, axes = plt.subplots(2, 3, figsize=(8.2, 2 * height + 0.9), gridspec_kw={"hspace": 0.02})
    for ax, title, cells in zip(axes[0], ("Naive", "Cross", "In-batch"), (naive, crossed, in_batch), strict=True):
        _draw_labels(ax, labels, cells)
        ax.set_title(title)
    for row in rows:
        axes[0, 1].add_patch(
            Rectangle((-0.46, row - 0.46), labels.shape[1] - 0.08, 0.92, fill=False, ec=PUSH, lw=1.6, ls=(0, (4, 2)))
        )
    for column in columns:
        axes[0, 1].add_patch(
            Rectangle((column - 0.46, -0.46), 0.92, labels.shape[0] - 0.08, fill=False, ec=PUSH, lw=1.6, ls=(0, (4, 2)))
        )
    _draw_list(axes[1, 0], labels, naive)
    _draw_batch(axes[1, 1], labels, rows, columns, in_batch=False)
    _draw_batch(axes[1, 2], labels, [i for i, _ in in_batch], [j for _, j in in_batch], in_batch=True)
    axes[0, 0].set_ylabel("label matrix", labelpad=14)
    axes[1, 0].set_ylabel("batch", labelpad=14)
    return fig, axes


def _label_matrix(labels: Any) -> np.ndarray:
    matrix = np.asarray(labels)
    if matrix.ndim != 2 or not np.isin(matrix, (0, 1)).all():
        raise ValueError(f"labels has shape {matrix.shape}; expected an (m, n) matrix of zeros and ones")
    return matrix.astype(int)


def _bare(ax: Axes, m: int, n: int) -> None:
    """A grid of m by n unit cells, row 0 on top, without frame or ticks."""
    ax.set(xlim=(-0.55, n - 0.45), ylim=(m - 0.45, -0.55), xticks=[], yticks=[], aspect="equal")
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _name_axes(ax: Axes, rows: Iterable[int], columns: Iterable[int]) -> None:
    rows, columns = list(rows), list(columns)
    ax.set_xticks(range(len(columns)), [f"C{j + 1}" for j in columns])
    ax.set_yticks(range(len(rows)), [f"R{i + 1}" for i in rows])
    ax.tick_params(length=0, labelsize=8.5, top=False, bottom=False, labeltop=True, labelbottom=False, left=False)


def _draw_cell(ax: Axes, i: float, j: float, label: int, *, treated: str, sampled: bool = False) -> None:
    """One cell: treated as "positive" (tinted), "negative" (white), or "mistaken" (a positive taken for a negative)."""
    face = {"positive": PULL_TINT, "negative": "white", "mistaken": WRONG_TINT}[treated]
    edge = PUSH if sampled else WRONG if treated == "mistaken" else SOFT
    hatch, thick, above = "////" if treated == "mistaken" else None, 2.4 if sampled else 1, 3 if sampled else 2
    ax.add_patch(Rectangle((j - 0.45, i - 0.45), 0.9, 0.9, fc=face, ec=edge, lw=thick, hatch=hatch, zorder=above))
    look: Any = {"weight": "bold", "color": INK} if label else {"weight": "normal", "color": SOFT}
    text = ax.text(j, i, str(label), ha="center", va="center", zorder=4, **look)
    if treated == "mistaken":
        text.set_bbox({"fc": WRONG_TINT, "ec": "none", "pad": 1.2})
        _cross(ax, i, j, WRONG_TINT)


def _cross(ax: Axes, i: float, j: float, ground: str) -> None:
    """A cross in the upper right corner of a cell: a mistaken positive."""
    look: Any = {"ha": "center", "va": "center", "fontsize": 8, "color": WRONG, "family": "DejaVu Sans"}
    ax.text(j + 0.3, i - 0.29, "✕", zorder=4, bbox={"fc": ground, "ec": "none", "pad": 0.8}, **look)


def _draw_labels(ax: Axes, labels: np.ndarray, sampled: Sequence[tuple[int, int]]) -> None:
    m, n = labels.shape
    chosen = {tuple(map(int, cell)) for cell in sampled}
    _bare(ax, m, n)
    _name_axes(ax, range(m), range(n))
    for (i, j), label in np.ndenumerate(labels):
        _draw_cell(ax, i, j, label, treated="positive" if label else "negative", sampled=(i, j) in chosen)


def _draw_batch(ax: Axes, labels: np.ndarray, rows: Sequence[int], columns: Sequence[int], *, in_batch: bool) -> None:
    _bare(ax, len(rows), len(columns))
    _name_axes(ax, rows, columns)
    for a, i in enumerate(rows):
        for b, j in enumerate(columns):
            label = int(labels[i, j])
            taken = (a == b) if in_batch else bool(label)
            treated = "positive" if taken else "mistaken" if label else "negative"
            _draw_cell(ax, a, b, label, treated=treated, sampled=in_batch and a == b)


def _draw_list(ax: Axes, labels: np.ndarray, cells: Sequence[tuple[int, int]]) -> None:
    """Loose cells in rows of three, each with its own row and column name: nothing is shared."""
    wide = 3
    _bare(ax, -(-len(cells) // wide), wide)
    for k, (i, j) in enumerate(cells):
        row, column = divmod(k, wide)
        _draw_cell(ax, row, column, int(labels[i, j]), treated="positive" if labels[i, j] else "negative")
        ax.text(column - 0.4, row - 0.3, f"R{i + 1},C{j + 1}", fontsize=6.5, color=SOFT, va="center", zorder=4)


# ---- curves of the theory


@in_style
def misclassification_threshold(
    n_positives: int, *, popularity: Any = None, quantiles: Sequence[float] = (0.5, 0.9, 0.99)
) -> tuple[Figure, Axes]:
    """Popularity above which the in-batch loss wants a positive pair to look negative, against the batch size.

    n_positives: M; popularity: those of the positive pairs of a data set, drawn as horizontal lines at `quantiles`.
    """
    sizes = np.unique(np.geomspace(2, n_positives, 60).round().astype(int))
    threshold = [in_batch.misclassification_threshold(int(size), n_positives) for size in sizes]
    fig, ax = plt.subplots()
    ax.loglog(sizes, threshold, color=PUSH, label="threshold 1 + (|O| − 1)/(|Ô| − 1)")
    top = max(threshold[0], *([] if popularity is None else [np.max(popularity)])) * 1.6
    ax.fill_between(sizes, threshold, top, fc=WRONG_TINT, ec=WRONG, hatch="///", lw=0, alpha=0.75)
    look: Any = {"ha": "right", "bbox": white_sheet()}
    ax.text(sizes[-1] * 0.85, top * 0.6, "mistaken: pushed apart", va="top", color=WRONG, weight="bold", **look)
    ax.text(sizes[0] * 1.3, 1.5, "pulled together", color=PULL, weight="bold", va="bottom")
    if popularity is not None:
        for quantile in quantiles:
            level = float(np.quantile(np.asarray(popularity), quantile))
            ax.axhline(level, color=INK, lw=1, ls=(0, (5, 3)))
            ax.text(sizes[-1] * 0.85, level * 1.12, f"{quantile:.0%} of positive pairs below", fontsize=8.5, **look)
    ax.set(xlabel="batch size |Ô|", ylabel="popularity of the pair", ylim=(1, top), xlim=(sizes[0], sizes[-1]))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1))
    return fig, ax


@in_style
def variance_curve(batch_sizes: Sequence[int], variances: Mapping[str, Sequence[float]]) -> tuple[Figure, Axes]:
    """Exact spread of the batch losses against the batch size (claim X1), on logarithmic axes.

    variances: loss name -> one variance for each batch size (as from `in_batch.exact_moments`), all >= 0.
    Drawn is its root, which has the unit of the loss. A variance of 0 (the full batch) has no logarithm and is left
    out; a loss without any other is named in the legend all the same.
    """
    fig, ax = plt.subplots()
    for index, (name, given) in enumerate(variances.items()):
        values = np.asarray(given, dtype=float)
        if values.shape != (len(batch_sizes),) or (values < 0).any():
            raise ValueError(
                f"variances[{name!r}] has shape {values.shape}, minimum {values.min()}; "
                f"expected {len(batch_sizes)} values >= 0"
            )
        shown = np.where(values > 0, np.sqrt(values), np.nan)
        ax.plot(batch_sizes, shown, **series_style(name, index))
    ax.set(xscale="log", yscale="log", xlabel="batch size |Ô|", ylabel="standard deviation of the batch loss")
    plain_numbers(ax)
    ax.legend()
    return fig, ax


# ---- real data


@in_style
def metric_against_ratio(
    cells: Iterable[Mapping[str, Any]],
    *,
    metric: str = "P@5",
    paper: Iterable[Mapping[str, Any]] = (),
    title: str = "",
    losses: Sequence[str] | None = None,
) -> tuple[Figure, Axes]:
    """A metric against the batch ratio |Ô|²/|O|², one line for each loss: ours filled, the paper's hollow.

    cells, paper: mappings with `loss`, `ratio` (None: no batches, drawn as a level), `value`, and possibly `metric`
    (others are left out). Several values of one loss and ratio (seeds) give their mean and a bar from least to most.
    losses: which, and in what order.
    """
    fig, ax = plt.subplots(figsize=(6.8, 4.2))
    ours, theirs = _grouped(cells, metric), _grouped(paper, metric)
    chosen = losses or [*dict.fromkeys([*ours, *theirs])]
    if not any(ours.get(loss) or theirs.get(loss) for loss in chosen):
        raise ValueError(f"cells holds no value of metric {metric!r} for the losses {chosen}")
    for index, loss in enumerate(chosen):
        look = series_style(loss, index)
        _draw_levels(ax, ours.get(loss, {}), look, hollow=False)
        _draw_levels(ax, theirs.get(loss, {}), {**look, "label": f"{look['label']}, paper"}, hollow=True)
    ax.set(xscale="log", xlabel="batch ratio |Ô|² / |O|²", ylabel=metric, title=title)
    ax.set_ylim(bottom=min(0, ax.get_ylim()[0]))
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9)
    return fig, ax


def _grouped(cells: Iterable[Mapping[str, Any]], metric: str) -> dict[str, dict[float | None, list[float]]]:
    """loss -> ratio -> values, ratios in order."""
    found: dict[str, dict[float | None, list[float]]] = {}
    for cell in cells:
        if cell.get("metric", metric) == metric:
            found.setdefault(cell["loss"], {}).setdefault(cell["ratio"], []).append(float(cell["value"]))
    return {
        loss: dict(sorted(ratios.items(), key=lambda item: (item[0] is None, item[0])))
        for loss, ratios in found.items()
    }


def _draw_levels(ax: Axes, values: dict[float | None, list[float]], look: dict[str, Any], *, hollow: bool) -> None:
    """The line over ratios, and a dashed level where there is no ratio."""
    face: dict[str, Any] = {
        "markerfacecolor": "white" if hollow else look["color"],
        "alpha": 0.8 if hollow else 1.0,
        "linewidth": 1.0 if hollow else 1.8,
    }
    ratios = [ratio for ratio in values if ratio is not None]
    if ratios:
        means = [np.mean(values[ratio]) for ratio in ratios]
        spread = [
            [mean - min(values[r]) for mean, r in zip(means, ratios, strict=True)],
            [max(values[r]) - mean for mean, r in zip(means, ratios, strict=True)],
        ]
        ax.errorbar(ratios, means, yerr=spread if np.any(spread) else None, capsize=3, elinewidth=1, **look, **face)
    if None in values:
        label = {"label": look["label"]} if not ratios else {}
        line = {"color": look["color"], "linestyle": look["linestyle"], "lw": face["linewidth"], "alpha": face["alpha"]}
        ax.axhline(float(np.mean(values[None])), **line, **label)


@in_style
def popularity_profile(
    popularity: Any,
    curves: Mapping[str, Any],
    *,
    label: str,
    popularity_label: str = "popularity",
    bins: int = 12,
) -> tuple[Figure, Axes]:
    """Mean of a quantity over bins of popularity, one line for each loss.

    popularity (k,) > 0; curves: loss name -> (k,) values (scores, shares, counts). Bins hold about equally many, and
    bins between equal popularities are merged.
    """
    popularity = np.asarray(popularity, dtype=float)
    if popularity.ndim != 1 or not popularity.size or (popularity <= 0).any():
        raise ValueError(f"popularity has shape {popularity.shape}; expected (k,) with k >= 1 values above 0")
    edges = np.unique(np.quantile(popularity, np.linspace(0, 1, bins + 1)))
    which = np.clip(np.searchsorted(edges, popularity, side="right") - 1, 0, max(len(edges) - 2, 0))
    occupied = np.unique(which)
    centres = [np.exp(np.log(popularity[which == b]).mean()) for b in occupied]
    fig, ax = plt.subplots()
    for index, (name, given) in enumerate(curves.items()):
        values = np.asarray(given, dtype=float)
        if values.shape != popularity.shape:
            raise ValueError(f"curves[{name!r}] has shape {values.shape}; expected {popularity.shape}, as popularity")
        ax.plot(centres, [values[which == b].mean() for b in occupied], **series_style(name, index))
    ax.set(xscale="log", xlabel=popularity_label, ylabel=label)
    ax.legend()
    return fig, ax


@in_style
def quality_and_popularity(quality: Mapping[str, float], recommended: Mapping[str, Any]) -> tuple[Figure, np.ndarray]:
    """How good recommendations are, and how popular: bars beside boxes, one row for each model.

    quality: model -> number; recommended: model -> popularity of every item it recommends (any shape, > 0). A box spans
    the middle half, its line the median, its whiskers 90 % of the recommendations. Returns the figure and its two axes.
    """
    if list(quality) != list(recommended):
        raise ValueError(
            f"quality names {list(quality)} but recommended names {list(recommended)}; "
            "expected the same models in the same order"
        )
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 0.9 + 0.6 * len(quality)), sharey=True)
    rows, top = range(len(quality)), max(quality.values())
    bars = left.barh(
        rows, list(quality.values()), height=0.55, color=[SPARE[row % len(SPARE)][0] for row in rows], ec="white", lw=0
    )
    for row, (bar, value) in enumerate(zip(bars, quality.values(), strict=True)):
        bar.set_hatch(("", "///", "...", "xx", "\\\\\\")[row % 5])
        left.text(value + 0.02 * top, row, f"{value:.2f}", va="center", weight="bold")
    left.set(xlabel="P@5 on held-out films, %", xlim=(0, 1.22 * top), yticks=rows, yticklabels=list(quality))
    right.boxplot(
        [np.ravel(values) for values in recommended.values()],
        positions=list(rows),
        orientation="horizontal",
        widths=0.5,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": PULL_TINT, "edgecolor": INK},
        medianprops={"color": PUSH, "linewidth": 2.4},
        manage_ticks=False,
    )
    right.set(xscale="log", xlabel="fans of the recommended films")
    left.invert_yaxis()
    for ax in (left, right):
        ax.grid(visible=False, axis="y")
    return fig, np.array([left, right])


@in_style
def lead_against(
    kept: Mapping[str, Any], lead: Mapping[str, Any], *, joined: Sequence[str] = (), xlabel: str, ylabel: str
) -> tuple[Figure, Axes]:
    """Lead of one loss against a property of the data, one point for each data set, with 95 % intervals over seeds.

    kept, lead: name -> one number for each seed; joined: names of a family, drawn as circles with a line in this order
    and their names below; the others are squares with their names beside them.
    """
    if list(kept) != list(lead):
        raise ValueError(f"kept names {list(kept)} but lead names {list(lead)}; expected the same sets in one order")
    fig, ax = plt.subplots(figsize=(6.8, 4.2))
    ax.axhline(0, color=SOFT, lw=1.2)
    ax.plot(
        [np.mean(kept[name]) for name in joined], [np.mean(lead[name]) for name in joined], color=SOFT, lw=1, ls=":"
    )
    for name, values in lead.items():
        made = name in joined
        (x, across), (y, up) = ((mean.value, mean.half or 0.0) for mean in map(Difference.above, (kept[name], values)))
        color, marker = (PUSH, "o") if made else (PULL, "s")
        ax.errorbar(x, y, xerr=across, yerr=up, capsize=3, elinewidth=1, color=color, marker=marker)
        beside = ((-7, 5), "right") if x > 75 else ((7, -4 if x < 5 else 10), "left")  # at the edge nothing lies right
        by, side = ((0, -16), "center") if made else beside
        sheet = {} if made else {"bbox": white_sheet(), "zorder": 1.5}
        note(ax, name, (x, y), by, ha=side, fontsize=7.5 if made else 8.5, **sheet)
    ax.set(xlabel=xlabel, ylabel=ylabel, xlim=(-4, 104))
    return fig, ax


@in_style
def along_the_way(
    panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]], *, printed: Mapping[str, float]
) -> tuple[Figure, np.ndarray]:
    """P@5 against the iteration, a panel for each data set, a line for each objective: mean and range over splits.

    panels: {data set: {objective: (iterations (looks,), P@5 (splits, looks))}}. printed: {objective: P3's number},
    a dashed level in the first panel.
    """
    if not panels or not all(panels.values()):
        raise ValueError("panels is empty; expected at least one data set with one objective")
    fig, axes = plt.subplots(1, len(panels), figsize=(3.3 * len(panels) + 1.3, 3.6), sharey=True, squeeze=False)
    for place, (ax, (name, objectives)) in enumerate(zip(axes[0], panels.items(), strict=True)):
        for index, (objective, (iterations, values)) in enumerate(objectives.items()):
            look = series_style(objective, index)
            ax.plot(iterations, values.mean(axis=0), color=look["color"], label=objective, lw=1.8, ls=DASHES[index])
            ax.fill_between(iterations, values.min(axis=0), values.max(axis=0), color=look["color"], alpha=0.15, lw=0)
            if place == 0 and objective in printed:
                ax.axhline(printed[objective], color=look["color"], lw=1, ls=(0, (1, 3)))
        ax.set(xscale="log", xlabel="iteration of L-BFGS", title=name)
    axes[0, 0].set_ylabel("P@5, %")
    axes[0, 0].set_ylim(bottom=0)
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=9)
    return fig, axes[0]


@in_style
def after_passes(
    passes: Sequence[int], looks: Mapping[str, np.ndarray], levels: tuple[float, float]
) -> tuple[Figure, np.ndarray]:
    """P@5 (left) and films shown (right) against the passes: mean over splits, and their range.

    looks: {objective: (splits, passes, 2)}. levels: both numbers of the most popular films. Returns the figure and its
    two axes.
    """
    fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.6), dpi=92)
    for place, (ax, level, title) in enumerate(zip(axes, levels, ("P@5, %", "films ever shown"), strict=True)):
        ax.axhline(level, color=SOFT, lw=1.6, ls=(0, (6, 3)), label="most popular films")
        for at, (name, values) in enumerate(looks.items()):
            look = series_style(name, at)
            ax.plot(passes, values[:, :, place].mean(axis=0), **look, lw=1.8, ms=5, mfc="none")
            low, high = values[:, :, place].min(axis=0), values[:, :, place].max(axis=0)
            ax.fill_between(passes, low, high, color=look["color"], alpha=0.12, lw=0)
        ax.set(xscale="log", xlabel="passes", title=title, ylim=(0, None))
        ax.set_xticks(passes, [str(one) for one in passes])
        ax.xaxis.set_minor_formatter("")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return fig, axes
