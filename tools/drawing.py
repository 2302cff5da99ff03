"""Imported by the kernel of a notebook that is executed for the site: each figure is drawn twice, as SVG.

First as the notebook asks for it; then for a phone: as wide as a hand, panels that stood side by side one above the
other, long titles on two lines. The second drawing travels inside the first, between two comments, and
``tools/figures.py`` takes it out again. In Jupyter nothing changes.
"""

from __future__ import annotations

import io
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from IPython.core import pylabtools

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PHONE = 4.2  # inches: in a column of 328 px, letters of 10.5 points are then 11 px high
SMALL_PANEL = 2.9  # inches; narrower panels stand in twos on a phone
CROWD = 400  # more points than this are stored as a picture inside the drawing
LINE, LEGEND = 36, 46  # letters in a line of a title, and in a row of a legend, on a phone
BEGIN, END = "<!-- for a phone:", ":for a phone -->"
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
FORMULA = re.compile(r"\$[^$]*\$")
PATH = re.compile(r'(?<= d=")[^"]*(?=")')
DASHES_IN_COMMENT = ("--", "- -")
# Words in the page's sans (Source Sans 3, cut down and renamed as its licence asks: ../book/assets/fonts/OFL.txt), and
# letters of formulas in a serif, as on the page.
FONTS = Path(__file__).with_name("fonts")
FACES: Any = {  # matplotlib names each key in its type
    "font.sans-serif": ["Course Sans"],
    "mathtext.fontset": "custom",
    "mathtext.rm": "Course Sans",
    "mathtext.sf": "Course Sans",
    "mathtext.it": "STIXGeneral:italic",
    "mathtext.cal": "STIXGeneral:italic",
    "mathtext.bf": "STIXGeneral:bold",
    "mathtext.bfit": "STIXGeneral:italic:bold",
    "mathtext.fallback": "stix",
}

as_it_was: Any = pylabtools.print_figure


def print_figure(fig: Figure, fmt: str = "png", *arguments: Any, **options: Any) -> Any:
    """IPython's function of this name; as SVG both drawings."""
    return both(fig) if fmt == "svg" else as_it_was(fig, fmt, *arguments, **options)


def both(fig: Figure) -> str:
    """The drawing for a desk, which carries the drawing for a phone."""
    _store_crowds_as_pictures(fig)
    wide = svg(fig)
    for_a_phone(fig)
    narrow = svg(fig)
    return wide.replace("</svg>", f"{BEGIN}{narrow.replace(*DASHES_IN_COMMENT)}{END}</svg>")


def _store_crowds_as_pictures(fig: Figure) -> None:
    """Let what has very many points be a picture inside the drawing, which would weigh as much as the whole page."""
    for axes in fig.axes:
        for marks in axes.collections:
            corners = sum(np.asarray(path.vertices).shape[0] for path in marks.get_paths())
            marks.set_rasterized(np.asarray(marks.get_offsets()).shape[0] > CROWD or corners > 10 * CROWD)
        lengths = [len(np.asarray(line.get_xdata())) for line in axes.lines]
        for line, length in zip(axes.lines, lengths, strict=True):
            marked = length > CROWD and line.get_marker() not in ("None", "", " ", None)
            line.set_rasterized(marked or sum(lengths) > 10 * CROWD)


@cache
def faces() -> Any:
    """Matplotlib's settings for the page's faces, which it knows from now on."""
    from matplotlib.font_manager import fontManager

    for path in sorted(FONTS.glob("*.ttf")):
        fontManager.addfont(path)
    return FACES


def svg(fig: Figure) -> str:
    """A figure as SVG in the page's faces, see-through where it is blank, the same at every run.

    Coordinates have a hundredth of a point.
    """
    import matplotlib as mpl
    from matplotlib.text import Text

    for words in fig.findobj(Text):
        if isinstance(words, Text) and words.get_fontfamily() == ["sans-serif"]:
            words.set_fontfamily(["Course Sans", "DejaVu Sans"])  # which has what is missing, ✕ for example
            words.set_math_fontfamily("custom")
    target = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "course", **faces()}):
        fig.savefig(
            target,
            format="svg",
            bbox_inches="tight",
            transparent=True,
            dpi=144,
            metadata={"Date": None, "Creator": None},
        )
    text = target.getvalue().decode()
    text = text[text.index("<svg") :]
    return PATH.sub(lambda path: LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", path[0]), text)


def for_a_phone(fig: Figure) -> None:
    """Give a figure the width of a phone, and its panels one column, or two where they are small."""
    width, height = fig.get_size_inches()
    grids = {spec.get_gridspec() for axes in fig.axes if (spec := axes.get_subplotspec())}
    if len(grids) == 1 and width > PHONE:
        grid = grids.pop()
        panels = [axes for axes in fig.axes if axes.get_subplotspec()]
        columns = 2 if width / grid.ncols < SMALL_PANEL and len(panels) >= 4 else 1
        if 1 < grid.ncols != columns and all(_one_cell(axes) for axes in panels):
            rows = -(-len(panels) // columns)
            height *= rows / grid.nrows * (0.9 if rows > 1 else 1.0)
            _place(fig, panels, rows, columns)
    fig.set_size_inches(min(width, PHONE), height)
    for legend in [*fig.legends, *filter(None, (axes.get_legend() for axes in fig.axes))]:
        _fold(fig, legend)
    for axes in fig.axes:
        for side in ("left", "center", "right"):
            axes.set_title(broken(axes.get_title(loc=side)), loc=side)
        axes.set_xlabel(broken(axes.get_xlabel()))


def _fold(fig: Figure, legend: Any) -> None:
    """Give a legend no more columns than a phone has room for; one that stood to the right goes below.

    (Matplotlib lays a legend out once: to do it again, it has only private methods.)
    """
    names = [text.get_text() for text in legend.get_texts()]
    columns = max(1, LEGEND // (max(map(_length, names), default=0) + 6))
    axes = legend.axes
    if getattr(legend, "_outside_loc", None) == "right" or (
        axes and legend.get_bbox_to_anchor().x0 >= axes.bbox.x1 - 3
    ):
        title = legend.get_title().get_text() or None
        # what the legend has drawn of an error bar is a line without its mark: better to ask the axes
        own, labels = axes.get_legend_handles_labels() if axes else ([], [])
        handles = own if labels == names else legend.legend_handles
        legend.remove()
        fig.legend(handles, names, loc="outside lower center", ncols=columns, title=title, fontsize=9.5)
    elif columns < legend._ncols:
        legend.set_ncols(columns)
        legend._init_legend_box(legend.legend_handles, names)
        legend._set_loc(legend._loc)


def _one_cell(axes: Axes) -> bool:
    """Whether a panel fills one cell of its grid."""
    spec = axes.get_subplotspec()
    return spec is not None and len(spec.rowspan) == len(spec.colspan) == 1


def _place(fig: Figure, panels: list[Axes], rows: int, columns: int) -> None:
    """Put the panels into a new grid; a panel that had its neighbour's axis gets the axis's words too."""
    places = fig.add_gridspec(rows, columns)
    for number, axes in enumerate(panels):
        axes.set_subplotspec(places[number // columns, number % columns])
        if number % columns == 0 and axes.get_shared_y_axes().joined(axes, panels[0]):
            axes.tick_params(labelleft=True)
            axes.set_ylabel(axes.get_ylabel() or panels[0].get_ylabel())
        axes.tick_params(labelbottom=True)


def _length(words: str) -> int:
    """Letters in words; a formula counts as four."""
    return len(FORMULA.sub("abcd", words))


def broken(title: str) -> str:
    """A title on lines that a phone has room for; formulas stay whole."""
    if _length(title) <= LINE or "\n" in title:
        return title
    whole = FORMULA.sub(lambda formula: formula[0].replace(" ", "\0"), title)
    return "\n".join(textwrap.wrap(whole, LINE, break_long_words=False)).replace("\0", " ")


pylabtools.print_figure = print_figure
