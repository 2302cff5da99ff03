"""Figures of the chapter on Gramian estimators: folding, all pairs against two small matrices, estimators' errors.

Gramians and rates come from `course_lib.gramians`; a figure draws them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import gramians
from course_lib.lessons.shared.house import (
    INK,
    PULL,
    PUSH,
    PUSH_FILL,
    PUSHES,
    SOFT,
    SPARE,
    in_style,
    note,
    plain_numbers,
    white_sheet,
)

COLOURS = tuple(color for color, _, _ in SPARE)
MARKERS, LINES = ("o", "s", "^", "D", "v", "P"), ("-", (0, (4, 2)), (0, (1, 1.3)))


@in_style
def folding(panels: Mapping[str, Mapping[str, Any]], bins: Any) -> tuple[Figure, np.ndarray]:
    """Inner products of observed pairs (lines up) and of random pairs (filled), one panel for each model.

    panels: title -> {"observed": shares, "random": shares} of the bins; bins: their edges, one more. The label of an
    observed pair (1) and the wish for a random one (0) are dotted. Returns the figure and its axes.
    """
    edges = np.asarray(bins, dtype=float)
    fig, axes = plt.subplots(1, len(panels), figsize=(2.6 * len(panels) + 0.8, 3.0), sharex=True, squeeze=False, dpi=92)
    for ax, (title, shares) in zip(axes[0], panels.items(), strict=True):
        for name in ("random", "observed"):
            if len(shares[name]) != len(edges) - 1:
                given = f"{len(shares[name])} shares of {name} pairs for {len(edges)} edges"
                raise ValueError(f"{title}: {given}; expected {len(edges) - 1}")
        ax.stairs(shares["random"], edges, fill=True, fc=PUSH_FILL, ec=PUSH, lw=1.0, alpha=0.85, label="random pairs")
        ax.stairs(shares["observed"], edges, color=PULL, lw=2.0, label="observed pairs")
        for wish, color in ((0, PUSH), (1, PULL)):
            ax.axvline(wish, color=color, ls=(0, (1, 2)), lw=1.2)
        top = max(*shares["random"], *shares["observed"])
        ax.set(title=title, xlabel="inner product", yticks=[], ylim=(0, 1.12 * top))
        ax.spines["left"].set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2)
    return fig, axes[0]


@in_style
def one_person(
    liked: Sequence[str], others: Sequence[str], scores: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> tuple[Figure, Axes]:
    """One person's scores: a row for each film, those that they liked above, a mark for each model.

    scores: model -> (scores of the liked films, scores of the others). The label of an observed pair, 1, is dotted.
    """
    names = [*liked, *others]
    places = [*range(len(liked)), *(len(liked) + 0.8 + at for at in range(len(others)))]
    fig, ax = plt.subplots(figsize=(7.6, 0.27 * len(names) + 1.2), dpi=92)
    for index, (model, parts) in enumerate(scores.items()):
        values = [*parts[0], *parts[1]]
        if len(values) != len(names):
            raise ValueError(f"{model} has {len(values)} scores; expected one for each of {len(names)} films")
        color, marker, _ = SPARE[index % len(SPARE)]
        ax.plot(values, places, marker, color=color, mfc="white" if index % 2 else color, ms=7, mew=1.6, label=model)
    ax.axvline(1, color=SOFT, ls=(0, (1, 2)), lw=1.2)
    ax.axhline(len(liked) - 0.1, color=SOFT, lw=1)
    ax.set(yticks=places, yticklabels=names, xlabel="score")
    ax.invert_yaxis()
    fig.legend(loc="outside upper center", ncols=len(scores), fontsize=9.5)
    for text, at in (("liked", 0.0), ("others", places[len(liked)])):
        ax.text(1.02, at, text, transform=ax.get_yaxis_transform(), va="center", color=INK, fontsize=9.5)
    return fig, ax


@in_style
def double_sum(left: Any, right: Any) -> tuple[Figure, np.ndarray]:
    """All n^2 squared inner products on one side of the sign, two k x k Gramians on the other. left, right (n, k)."""
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    n, k = left.shape
    fig, axes = plt.subplots(
        1, 3, figsize=(8.4, 3.5), width_ratios=[n, 0.42 * n, 0.42 * n], gridspec_kw={"wspace": 0.12}
    )
    squares = (left @ right.T) ** 2
    axes[0].imshow(squares, cmap=PUSHES, vmax=float(np.quantile(squares, 0.98)), interpolation="nearest")
    axes[0].set_title(f"{n} × {n} squared inner products")
    for ax, table, name in zip(axes[1:], (left, right), ("$G_u$", "$G_v$"), strict=True):
        gram = gramians.gramian(table)
        reach = abs(gram).max()
        ax.imshow(gram, cmap="PuOr_r", vmin=-reach, vmax=reach, interpolation="nearest")
        ax.set_title(f"{name}: {k} × {k}")
    for ax, sign in zip(axes[1:], ("=", "·"), strict=True):
        ax.text(
            -0.14, 0.5, sign, transform=ax.transAxes, fontsize=22, ha="center", va="center", color=INK, weight="bold"
        )
    mean = squares.mean()
    axes[0].set_xlabel(f"their mean: {mean:.4f}")
    axes[1].set_xlabel("entry by entry,")
    axes[2].set_xlabel(f"summed: {gramians.gravity(left, right):.4f}")
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        ax.grid(visible=False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    return fig, axes


@in_style
def gravity_flow(embeddings: Any, starts: Any) -> tuple[Figure, np.ndarray]:
    """What gravity alone does to u while V stands still: paths in the plane, and lengths along two directions.

    embeddings V (n, 2); starts (s, 2). The exact solution exp(-2 G_v t) u, time in units of n. Left: level lines of <u,
    G_v u>, the v as dots, paths from hollow to full marks. Right: the parts of the first start along both eigenvectors
    of G_v, and an inner product with one v.
    """
    v, u = np.asarray(embeddings, dtype=float), np.asarray(starts, dtype=float)
    gram = gramians.gramian(v)
    levels, axes_of = np.linalg.eigh(gram)
    times = np.concatenate([[0], np.geomspace(0.02, 4, 60)]) / levels[-1]
    decay = np.exp(-2 * times[:, None] * levels)  # (T, 2)
    paths = np.einsum("ta,sa,ba->tsb", decay, u @ axes_of, axes_of)  # (T, s, 2)
    fig, (plane, lines) = plt.subplots(1, 2, figsize=(9.0, 4.0), dpi=92)
    reach = 1.12 * max(abs(u).max(), abs(v).max())
    side = np.linspace(-reach, reach, 120)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    height = np.einsum("xya,ab,xyb->xy", grid, gram, grid)
    plane.contourf(side, side, height, levels=10, cmap="Blues", alpha=0.5)
    plane.plot(*v.T, ".", color=PUSH, ms=3, alpha=0.5)
    for index in range(u.shape[0]):
        plane.plot(*paths[:, index].T, color=INK, lw=1.5)
        plane.plot(*u[index], "o", mfc="white", mec=INK, ms=7, mew=1.5)
        plane.plot(*paths[-1, index], "o", color=INK, ms=6)
    plane.set(xticks=[], yticks=[], xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    plane.grid(visible=False)
    along = paths[:, 0] @ axes_of[:, ::-1]
    for index, name in enumerate(("along the long axis of $G_v$", "along the short axis")):
        left = along[:, index] / along[0, index]
        lines.plot(times * levels[-1], left, color=(PUSH, PULL)[index], ls=("-", "--")[index], label=name)
    lines.axhline(0, color=SOFT, lw=1)
    lines.set(xlabel="time", ylabel="share that is left", ylim=(-0.05, 1.05))
    lines.legend()
    return fig, np.array([plane, lines])


@in_style
def estimation_errors(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> tuple[Figure, Axes]:
    """Errors on one trajectory against the step, logarithmic: "estimator" or "estimator, batch" -> (steps, errors).

    What stands before the comma sets colour and marker, what stands after it the line.
    """
    fig, ax = plt.subplots(figsize=(7.6, 4.2), dpi=92)
    kinds = list(dict.fromkeys(name.split(", ")[0] for name in curves))
    sizes = list(dict.fromkeys(name.partition(", ")[2] for name in curves))
    for name, (steps, errors) in curves.items():
        kind, _, size = name.partition(", ")
        at = kinds.index(kind)
        line = LINES[(sizes.index(size) + at // len(COLOURS)) % len(LINES)]
        look: Any = {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)], "ls": line, "ms": 5}
        words = name.replace("sagram", "SAGram").replace("sogram", "SOGram")
        ax.plot(steps, errors, markevery=(at, max(1, len(steps) // 7)), label=words, **look)
    ax.set(xlabel="training step", ylabel="relative error of the Gramian", yscale="log")
    ax.set_xlim(left=0)
    plain_numbers(ax)
    ax.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=4)
    return fig, ax


@in_style
def rate_tradeoff(*, delta: float, sigma: float, drift: str = "coherent") -> tuple[Figure, Axes]:
    """SOGram's mean square error against its rate alpha: variance, squared lag, their sum, and where that is least.

    delta: how far the Gramian moves in a step; sigma: the standard deviation of the Gramian of one batch. Relative to
    sigma^2.
    """
    rates = np.geomspace(1e-3, 1, 300)
    total = {"coherent": gramians.coherent_error, "random_walk": gramians.random_walk_error}[drift](
        rates, delta=delta, sigma=sigma
    )
    noise = gramians.sogram_variance(rates, sigma=sigma)
    best = gramians.optimal_alpha(delta, sigma, drift)
    fig, ax = plt.subplots()
    ax.plot(rates, noise / sigma**2, color=PUSH, ls="--", label="variance")
    ax.plot(rates, (total - noise) / sigma**2, color=PULL, ls=(0, (1, 1.3)), label="squared lag")
    ax.plot(rates, total / sigma**2, color=INK, lw=2.4, label="their sum")
    ax.axvline(best, color=SOFT, lw=1)
    _note_on_line(ax, f"best α = {best:.3g}", (best, 1.0), (4, -12))
    floor = float(total.min() / sigma**2) / 30
    ax.set(xscale="log", yscale="log", xlabel="rate α", ylabel="mean square error, one batch = 1", ylim=(floor, 30))
    ax.legend(loc="lower left")
    return fig, ax


@in_style
def memories(ages: int, weights: Mapping[str, Any]) -> tuple[Figure, Axes]:
    """How much weight an estimate gives to what was seen `age` steps ago: name -> (ages,), a sum of at most 1."""
    fig, ax = plt.subplots(figsize=(7.2, 3.6))
    for index, (name, given) in enumerate(weights.items()):
        values = np.asarray(given, dtype=float)
        if values.shape != (ages,):
            raise ValueError(f"{name} has shape {values.shape}; expected one weight for each of {ages} ages")
        color, marker, line = SPARE[index % len(SPARE)]
        ax.plot(range(ages), values, color=color, ls=line, marker=marker, markevery=(0, max(1, ages // 6)), label=name)
    ax.set(xlabel="age of an embedding, in steps", ylabel="weight in the estimate", yscale="log")
    ax.set_ylim(1e-5, 1.5)
    ax.legend()
    return fig, ax


@in_style
def cost_of_forms(sizes: Sequence[int], seconds: Mapping[str, Sequence[float]], *, width: int) -> tuple[Figure, Axes]:
    """Seconds of one gradient of the gravity term against the batch size, both logarithmic, with a mark at 2 width."""
    fig, ax = plt.subplots()
    for index, (name, values) in enumerate(seconds.items()):
        color, marker, line = SPARE[index % len(SPARE)]
        ax.plot(sizes, 1000 * np.asarray(values), color=color, marker=marker, ls=line, label=name)
    ax.axvline(2 * width, color=SOFT, lw=1)
    _note_on_line(ax, f"B = 2d = {2 * width}", (2 * width, 0.97), (4, -8))
    ax.set(xscale="log", yscale="log", xlabel="batch size B", ylabel="milliseconds for a gradient")
    ax.legend(loc="lower right")
    return fig, ax


def _note_on_line(ax: Axes, text: str, at: tuple[float, float], by: tuple[float, float]) -> None:
    """A text beside a vertical line: at = (place across, share of the height)."""
    note(ax, text, at, by, xycoords=("data", "axes fraction"), color=INK, bbox=white_sheet())
