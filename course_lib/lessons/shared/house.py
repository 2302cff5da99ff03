"""The house style: colours, series, and the decorator that draws in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator

INK, SOFT, GRID = "#1a2230", "#566172", "#d9dee5"
PULL, PULL_TINT, PUSH, PUSH_FILL, WRONG, WRONG_TINT = "#0a5c9e", "#dcecfa", "#b04a06", "#f0a25f", "#8a1c4f", "#fbe6ef"
PUSHES = LinearSegmentedColormap.from_list("pushes", ["#fff8f1", "#f6c08f", "#d9772b", "#8c3703"])

STYLE: Any = {  # matplotlib names each key in its type
    "figure.figsize": (6.4, 3.8),
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.bbox": "tight",
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.facecolor": "white",
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "legend.frameon": False,
    "hatch.linewidth": 0.7,
}

# name, colour, marker, line: a series is told apart three times over
SERIES: dict[str, tuple[str, str, str, Any]] = {
    "unbiased": ("Unbiased", "#0072b2", "o", "-"),
    "unbiased_omega": ("Unbiased-ω", "#56b4e9", "D", (0, (6, 2))),
    "in_batch": ("In-Batch", "#d55e00", "s", "-"),
    "popularity": ("Popularity", "#9c5a86", "v", (0, (4, 2, 1, 2))),
    "pos_neg": ("Pos-Neg", "#007a5e", "^", (0, (1, 1.2))),
    "masked": ("Masked", "#1a2230", "P", (0, (3, 1.5))),
    "sogram": ("Sogram", "#8a6d00", "X", (0, (5, 1, 1, 1, 1, 1))),
}
SPARE = [
    ("#1a2230", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#0072b2", "^", ":"),
    ("#007a5e", "D", "-."),
    ("#9c5a86", "v", (0, (5, 2))),
    ("#8a6d00", "P", (0, (1, 1.5))),
    ("#a83232", "X", (0, (7, 2, 1, 2))),
    ("#4f6272", "p", (0, (3, 1))),
]


def style() -> None:
    """Makes the house style the default of this session, for figures that a notebook draws itself."""
    mpl.rcParams.update(STYLE)


def in_style(figure: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(figure)
    def drawn(*arguments: Any, **options: Any) -> Any:
        with mpl.rc_context(STYLE):
            return figure(*arguments, **options)

    return drawn


def series_style(name: str, index: int = 0) -> dict[str, Any]:
    """Keyword arguments of `Axes.plot` for a loss of SERIES, or for the `index`-th of any other series.

    Raises ValueError where a chart has more series than there are looks: two of them would look the same.
    """
    if name in SERIES:
        label, color, marker, line = SERIES[name]
    elif index < len(SPARE):
        label = name
        color, marker, line = SPARE[index]
    else:
        raise ValueError(f"index is {index} for {name!r}; expected at most {len(SPARE)} series in one chart")
    return {"label": label, "color": color, "marker": marker, "linestyle": line}


def note(ax: Axes, text: str, at: Any, by: tuple[float, float], **look: Any) -> None:
    """A text beside the point `at` of the data, moved by (points to the right, points up)."""
    ax.annotate(text, at, by, textcoords="offset points", **look)


def white_sheet() -> dict[str, Any]:
    """A white sheet under a text, so that no line runs through it."""
    return {"fc": "white", "ec": "none", "pad": 1.5, "alpha": 0.85}


def plain_numbers(ax: Axes) -> None:
    """1, 2, 5, 10, ... instead of powers of ten, on a logarithmic axis of less than three decades."""
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if high < 1000 * low:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")
