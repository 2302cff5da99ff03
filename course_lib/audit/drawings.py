"""Pictures of verdicts as SVG: matplotlib draws them, the page colours them, so that they read in dark and in light."""

from __future__ import annotations

import html
import io
import re
import textwrap
from typing import Any

from course_lib.audit.verdicts import Picture

# colours that stand for the page's own; nothing else in a drawing has them
INK, SOFT, LINES, FIRST, SECOND = "#010101", "#020202", "#030303", "#040404", "#050505"
VARIABLES = {INK: "--ink", SOFT: "--soft", LINES: "--rule", FIRST: "--accent", SECOND: "--second"}
STYLE: Any = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), SOFT),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor", "svg.fonttype"), "none"),
    **dict.fromkeys(("axes.grid", "axes.axisbelow", "figure.constrained_layout.use"), True),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "font.family": "sans-serif",
    "font.size": 9,
    "grid.color": LINES,
    "grid.linewidth": 0.6,
}
SERIES = ((FIRST, "o", "-"), (SECOND, "s", "--"))  # told apart by colour, marker and line


def drawing(picture: Picture, salt: str) -> str:
    """The picture as an `svg` element with a name for screen readers; `salt` keeps its ids apart from others'."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({**STYLE, "svg.hashsalt": salt}):
        rows = len(next(iter(picture.columns.values())))
        figure = Figure(figsize=(4.4, 0.7 + 0.3 * rows if picture.kind == "points" else 2.6))
        axes = figure.subplots()
        {"line": _line, "points": _points}[picture.kind](axes, picture)
        axes.set_xlabel(picture.y if picture.kind == "points" else picture.x)
        axes.set_ylabel("" if picture.kind == "points" else picture.y)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _for_the_page(buffer.getvalue(), picture.title, salt)


def _line(axes: Any, picture: Picture) -> None:
    from matplotlib.ticker import NullFormatter

    (_, x), *series = picture.columns.items()
    for (name, values), (colour, marker, line) in zip(series, SERIES, strict=False):
        axes.plot(x, values, line, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=name)
    if picture.log_x and min(x) > 0:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if len(series) > 1:
        axes.legend()


def _points(axes: Any, picture: Picture) -> None:
    """A row for each name: value, low, high; further columns stand in the table alone."""
    names, middle, low, high, *_ = picture.columns.values()
    places = list(range(len(names)))[::-1]
    below = [at - end for at, end in zip(middle, low, strict=True)]
    above = [end - at for at, end in zip(middle, high, strict=True)]
    axes.errorbar(middle, places, xerr=[below, above], fmt="o", color=FIRST, capsize=3, markersize=4)
    axes.axvline(0, color=SOFT, linewidth=0.8)
    axes.set_yticks(places, [textwrap.fill(str(name), 24) for name in names])
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.locator_params(axis="x", nbins=5)


def _for_the_page(svg: str, title: str, salt: str) -> str:
    """Without prologue and metadata, coloured by the page's variables, with ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{salt}-\1"', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{salt}-", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = svg.replace("xlink:href", "href")
    size = re.search(r'viewBox="([^"]+)"', svg)
    box = size[1] if size else "0 0 317 187"
    return re.sub(r"<svg\b[^>]*>", f'<svg role="img" aria-label="{html.escape(title)}" viewBox="{box}">', svg, count=1)
