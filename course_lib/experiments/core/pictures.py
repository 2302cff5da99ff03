"""Pictures of stored results, drawn by matplotlib as SVG that says its numbers: rows with several marks, and curves.

A picture is made of a tidy table with a line for each run: `panel`, `series`, `value`, and the `name` of its row or its
place `x` on a curve. A row may have ours on several data sets and the paper's on several others, so each series has a
shape of its own, and what ours are held against stands upright. A panel is as wide as a phone, and has the colours of
a light or a dark page.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from course_lib import checking
from course_lib.experiments.core import printed
from course_lib.experiments.core.display import Pivot, decimal, everywhere, head_of, name_of, printed_by, text_of
from course_lib.experiments.core.summary import spread

INK, SHEET, OURS, PRINTED, GREEN, VIOLET = "#010101", "#fefefe", "#1f6fb5", "#c2571a", "#00705a", "#7a4a8c"
ON_A_PAGE = {  # the site has colours of its own for light and dark pages; elsewhere stand those that read on both
    INK: "currentColor",
    SHEET: "var(--pst-color-background, Canvas)",
    OURS: f"var(--course-pull, {OURS})",
    PRINTED: f"var(--course-push, {PRINTED})",
    GREEN: f"light-dark({GREEN}, #5fd0ae)",
    VIOLET: f"light-dark({VIOLET}, #d9aee8)",
}
BAR = ((-1, -5), (1, -5), (1, 5), (-1, 5), (-1, -5))
LOOKS: dict[str, tuple[Any, str, str, bool]] = {  # marker, sign in the legend, colour, filled or hollow
    "circle": ("o", "●", OURS, True),
    "diamond": ("D", "◇", GREEN, False),
    "triangle": ("^", "▲", VIOLET, True),
    "square": ("s", "□", INK, False),
    "ring": ("o", "○", INK, False),
    "bar": (BAR, "▮", PRINTED, True),
    "hollow bar": (BAR, "▯", PRINTED, False),
    "line": ("|", "|", PRINTED, True),
    "height": ("_", "▬", PRINTED, True),  # on a curve: a number
    "place": ("", "┆", PRINTED, True),  # and a place on the x axis
}
OUR_LOOKS, HELD_LOOKS = tuple(LOOKS)[:5], tuple(LOOKS)[5:8]  # our numbers, and what they are held against
WIDTH, HEIGHT = 330, 210  # px of a panel, and of its plot of curves; matplotlib's points are px here
NAME, LANE, HEAD, FOOT = 17, 12, 22, 20  # px of a row's name, of a lane of marks, of the title, of an axis
STYLE: Any = {  # whatever a notebook has set for its own figures
    "figure.constrained_layout.use": False,
    "savefig.bbox": None,
    "axes.grid": False,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.spines.bottom": False,
    "text.color": INK,
    "font.size": 12,
    "svg.fonttype": "none",
}
FOR_A_PAGE = (  # of matplotlib's SVG: faces come from the page, ids and a style sheet would reach beyond the picture
    (r'<g id="[^"]*"(/?)>', r"<g\1>"),
    (r"<style.*?</style>|<g/>|<defs>\s*</defs>", ""),
    (r"; font-family: [^;\"]*", ""),
    (r">\s+<", "><"),
    (r'width="[\d.]+pt" height="([\d.]+)pt"', rf'width="{WIDTH}" height="\1" style="max-width:100%;height:auto"'),
)
LONG_NUMBER = re.compile(r"\d+\.\d{3,}")


@dataclass(frozen=True)
class Series:
    """What is drawn in one look, a key of LOOKS, under a name in the legend."""

    name: str
    look: str

    def __post_init__(self) -> None:
        if self.look not in LOOKS:
            raise ValueError(f"look: got {self.look!r}, expected one of {', '.join(LOOKS)}")

    @property
    def held(self) -> bool:
        """Whether ours are held against these: a paper's numbers, a formula's, a prediction."""
        return LOOKS[self.look][2] == PRINTED

    def draw(self, ax: Axes, x: Any, y: Any, size: float) -> None:
        """Draws its marks; `size` px high where they are upright."""
        marker, _, colour, filled = LOOKS[self.look]
        inside = colour if filled else SHEET
        size = size if self.held else {"D": 7, "s": 7}.get(marker, 8)
        edge = 2.5 if self.look == "height" else 1.6
        look: dict[str, Any] = {"markersize": size, "color": colour, "markerfacecolor": inside, "markeredgewidth": edge}
        ax.plot(x, y, linestyle="none", marker=marker, clip_on=False, zorder=2 if self.held else 3, **look)


def relative(cells: pd.DataFrame, column: str, plain: Any, alike: Iterable[str]) -> pd.DataFrame:
    """Each value as 100 (a / b - 1), in percent of the one that is `plain` in a column and agrees in those `alike`.

    A line without such a partner is left out; None is what a cell does not say.
    """
    is_plain = cells[column].isna() if plain is None else cells[column] == plain
    partners = cells.loc[is_plain, [*alike, "value"]]
    both = cells[~is_plain].merge(partners, on=list(alike), suffixes=("", " of plain"))
    return both.assign(value=100 * (both["value"] / both["value of plain"] - 1))


def named(keys: Iterable[str], words: str = "{}", *, column: str = "") -> dict[str, Series]:
    """Key of a column -> series of ours, named with `words` around its text, each with the next look.

    ValueError for more keys than looks.
    """
    listed = list(keys)
    if len(listed) > len(OUR_LOOKS):
        raise ValueError(f"keys: got {len(listed)}, expected at most {len(OUR_LOOKS)}, one for each look")
    looks = zip(listed, OUR_LOOKS, strict=False)
    return {key: Series(words.format(text_of(key, column)), look) for key, look in looks}


def rows(
    runs: pd.DataFrame,
    caption: str,
    *,
    level: float | None = None,
    logarithmic: bool = False,
    side_by_side: bool = False,
) -> str:
    """HTML of a figure: a panel for each title, in it a row for each name, in it marks on one axis.

    level: a value with a line of its own, such as 0 for changes. side_by_side: all of a row's marks at one height,
    instead of one lane for each series.
    """
    marks = _marks(runs, "name")
    drawn = [
        _rows(title, panel, level=level, logarithmic=logarithmic, side_by_side=side_by_side)
        for title, panel in marks.groupby("panel", sort=False)
    ]
    return _figure(drawn, f"{_legend(marks)}<br>{html.escape(f'{_intervals(marks)} {caption}')}")


def curves(runs: pd.DataFrame, caption: str, *, x: str, level: float | None = None, logarithmic: bool = False) -> str:
    """HTML of a figure: a panel for each title, its curves along the quantity x, on a logarithmic axis or not.

    A series whose look is "place" has no values: an upright line stands at each x.
    """
    marks = _marks(runs, "x")
    drawn = [_curves(title, panel, x, level, logarithmic) for title, panel in marks.groupby("panel", sort=False)]
    return _figure(drawn, f"{_legend(marks)}<br>{html.escape(f'{_intervals(marks)} {caption}')}")


def chart(pivot: Pivot, judged: Mapping[printed.Key, printed.Compared]) -> str:
    """Our numbers beside those of the paper: a panel for each column of a table that has some, with verdicts.

    Empty where the paper prints nothing of these rows; a sentence where every number is the paper's.
    """
    unlike = "metric" in pivot.left  # rows in different units: ours over the paper's
    found = _with_printed(pivot, judged, unlike)
    if not found:
        return ""
    if all(np.isclose(mean(values), paper, rtol=1e-6, atol=1e-9) for values, paper, _ in found.values()):
        each = f"Each of the {len(found)} numbers" if len(found) > 1 else "The one number"
        return f'<p class="paper-against-ours">{each} that the paper prints here is also ours.</p>'
    keys = list(dict.fromkeys(key for _, key in found))
    told = {name for name, *values in zip(pivot.left, *keys, strict=True) if len(keys) == 1 or len({*values}) > 1}
    ours, theirs = Series("ours", "circle"), Series("paper", "bar")
    runs = pd.DataFrame(
        {"panel": head, "name": _name_of(pivot.left, key, told) + verdict, "series": series, "value": value}
        for (head, key), (values, paper, verdict) in found.items()
        for series, numbers in ((ours, values), (theirs, [paper]))
        for value in numbers
    )
    marks = _marks(runs, "name")
    drawn = []
    for head, panel in marks.groupby("panel", sort=False):
        least, most = panel["value"].min(), panel["value"].max()
        title = head_of(head) + (", ours divided by the paper's" if unlike else "")
        logarithmic = bool(least > 0 and most / least > 50)
        drawn.append(_rows(title, panel, logarithmic=logarithmic, side_by_side=True, linked=True))
    shared = {name: part for name, part in zip(pivot.left, keys[0], strict=True) if name not in told}
    spoken = ", with its 95 % interval over the runs" if marks["half"].any() else ", from a single run"
    data = "" if any(verdict for *_, verdict in found.values()) else ", on its own data"
    legend = f"{_sign(ours)} ours{spoken} · {_sign(theirs)} the paper{data}."
    return _figure(drawn, f"{legend} {html.escape(everywhere('In each line', shared))}".strip())


def _with_printed(
    pivot: Pivot, judged: Mapping[printed.Key, printed.Compared], unlike: bool
) -> dict[tuple[Any, Any], tuple[list[float], float, str]]:
    """{(head, name of the row): (ours, the paper's, verdict in words)} of the cells that the paper prints."""
    found = {}
    for head, cells in pivot.cells.items():
        for key, cell in cells.dropna().items():
            said = [row for row in cell if row.get("value") is not None and np.isfinite(row["value"])]
            if said and (paper := printed_by(said)) is not None:
                unit = paper if unlike and paper else 1.0
                compared = judged.get(printed.key_of(said[0]))
                verdict = f" — {compared.judged.verdict}" if compared is not None and compared.same_data else ""
                found[head, key] = [row["value"] / unit for row in said], paper / unit, verdict
    return found


def _name_of(columns: Iterable[str], key: tuple[Any, ...], told: set[str]) -> str:
    """The name of a row by the columns `told`: names stand alone, a number needs that of its column."""
    return " · ".join(
        text_of(part, name) if isinstance(part, str) else f"{name_of(name)} {text_of(part)}"
        for name, part in zip(columns, key, strict=True)
        if part is not None and name in told
    )


def _marks(runs: pd.DataFrame, along: str) -> pd.DataFrame:
    """For each series at each place the mean of its runs, half of its 95 % interval, and how many runs there are."""
    if runs.empty:
        raise ValueError("runs: nothing to draw; expected one line at least")
    cells = runs.groupby(["panel", along, "series"], sort=False)["value"].agg(list).reset_index(name="runs")
    return cells.assign(value=cells["runs"].map(mean), half=cells["runs"].map(spread), runs=cells["runs"].map(len))


def _intervals(marks: pd.DataFrame) -> str:
    """What the intervals of our marks are, in a sentence."""
    several = {mark.runs > 1 for mark in marks.itertuples() if not mark.series.held}
    if several == {False}:
        return "Each mark of ours is a single run."
    alone = "; a mark of ours without one is a single run" if False in several else ""
    return f"Pale bars are 95 % intervals over the seeds{alone}."


def _sign(series: Series) -> str:
    _, sign, colour, _ = LOOKS[series.look]
    return f'<span aria-hidden="true" style="color:{ON_A_PAGE[colour]}">{sign}</span>'


def _legend(marks: pd.DataFrame) -> str:
    series = sorted(marks["series"].unique(), key=lambda one: list(LOOKS).index(one.look))
    signs = (f'<span style="white-space:nowrap">{_sign(one)} {html.escape(one.name)}</span>' for one in series)
    return " · ".join(signs)


def _figure(panels: Iterable[str], caption: str) -> str:
    grid = "display:flex;flex-wrap:wrap;align-items:flex-start;gap:.5rem 1.5rem"
    return (
        f'<figure class="paper-against-ours" style="margin:1rem 0"><div style="{grid}">{"".join(panels)}</div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _rows(
    title: str,
    panel: pd.DataFrame,
    *,
    level: float | None = None,
    logarithmic: bool,
    side_by_side: bool,
    linked: bool = False,
) -> str:
    names, ours = list(panel["name"].unique()), [one for one in panel["series"].unique() if not one.held]
    lanes = LANE * (1 if side_by_side else max(len(ours), 1))
    tall = NAME + lanes + 5
    deep = HEAD + tall * len(names)
    tops = HEAD + tall * np.arange(len(names))
    panel = panel.assign(low=panel["value"] - panel["half"], high=panel["value"] + panel["half"])
    if logarithmic:  # an interval near zero, or beyond, is cut a decade below its mark
        checking.real(panel["value"].min(), "value", above=0)
        panel["low"] = panel["low"].clip(lower=panel["value"] / 10)
    with mpl.rc_context(STYLE):
        fig, ax = _axes(title, (12, FOOT, WIDTH - 24, deep), deep + FOOT)
        ax.set(ylim=(deep, 0), yticks=[], xscale="log" if logarithmic else "linear")
        ticks = _span(ax, "x", [*panel["low"], *panel["high"], *([] if level is None else [level])])
        for at, strength in [*((tick, 0.18) for tick in ticks), *([] if level is None else [(level, 0.6)])]:
            ax.vlines(0 * tops + at, tops + NAME, tops + tall, color=INK, alpha=strength, linewidth=1, clip_on=False)
        for top, name in zip(tops, names, strict=True):
            fig.text(0, 1 - (top + 13) / (deep + FOOT), name)
        if linked:
            ends = panel.groupby("name", sort=False)["value"].agg(["min", "max"])
            ax.hlines(tops + NAME + 2 + lanes / 2, ends["min"], ends["max"], color=INK, alpha=0.35, linewidth=1)
        for series, marks in panel.groupby("series", sort=False):
            lane = lanes / 2 if series.held or side_by_side else LANE * (ours.index(series) + 0.5)
            y = tops[[names.index(name) for name in marks["name"]]] + NAME + 2 + lane
            ax.hlines(
                y, marks["low"], marks["high"], color=LOOKS[series.look][2], alpha=0.45, linewidth=3, clip_on=False
            )
            series.draw(ax, marks["value"], y, lanes + 2)
        said = "; ".join(
            f"{name}: {', '.join(map(_words, row.itertuples()))}" for name, row in panel.groupby("name", sort=False)
        )
        return _svg(fig, f"{title}. {said}.")


def _curves(title: str, panel: pd.DataFrame, x_name: str, level: float | None, logarithmic: bool) -> str:
    deep = HEIGHT + FOOT + 22
    with mpl.rc_context(STYLE):
        fig, ax = _axes(title, (52, FOOT + 22, WIDTH - 64, HEIGHT - 8), HEAD + deep)
        ax.set(xscale="log" if logarithmic else "linear")
        ax.tick_params(pad=10)
        ax.set_xlabel(x_name, loc="right", color=INK)
        ends = pd.concat([panel["value"] - panel["half"], panel["value"] + panel["half"]]).dropna()
        _span(ax, "x", panel["x"])
        for tick in _span(ax, "y", [*ends, *([] if level is None else [level])]):
            ax.axhline(tick, color=INK, alpha=0.6 if tick == level else 0.18, linewidth=1, clip_on=False)
        said = []
        for series, curve in panel.groupby("series", sort=False):
            colour, x = LOOKS[series.look][2], curve["x"]
            if series.look == "place":
                ax.vlines(x, *ax.get_ylim(), color=colour, linestyle="dashed", linewidth=1.6)
            else:
                ax.plot(x, curve["value"], color=colour, alpha=0.7, linewidth=1.2, clip_on=False)
                low, high = curve["value"] - curve["half"], curve["value"] + curve["half"]
                ax.vlines(x, low, high, color=colour, alpha=0.45, linewidth=3, clip_on=False)
                series.draw(ax, x, curve["value"], 14)
            said.append(", ".join(f"{_words(mark)} at {mark.x:g}" for mark in curve.itertuples()))
        return _svg(fig, f"{title}. {'; '.join(said)}.")


def _axes(title: str, place: tuple[float, float, float, float], height: float) -> tuple[Figure, Axes]:
    """A figure as wide as a phone. place: px from the left, from the bottom, width, height."""
    fig = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
    fig.text(0, 1 - 13 / height, title, weight="bold")
    left, bottom, across, up = place
    ax = fig.add_axes((left / WIDTH, bottom / height, across / WIDTH, up / height))
    ax.tick_params(which="both", length=0, labelsize=11, labelcolor=INK)
    return fig, ax


def _span(ax: Axes, which: str, values: Iterable[float]) -> list[float]:
    """Lets an axis reach from the least to the greatest value, and returns its ticks: round numbers."""
    found = np.array(list(values), dtype=float)
    if not found.size or not np.isfinite(found).all():
        raise ValueError("value: nothing finite to draw; expected numbers")
    low, high = found.min(), found.max()
    axis, logarithmic = getattr(ax, f"{which}axis"), getattr(ax, f"get_{which}scale")() == "log"
    if low == high:
        axis.set_ticks([low])
    elif logarithmic:
        powers = np.floor(np.log10(high)) - np.ceil(np.log10(low)) + 1
        axis.set_major_locator(LogLocator(subs=(1.0,) if powers > 2 else (1.0, 2.0, 5.0), numticks=20))
    else:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(lambda value, _: decimal(float(f"{value:.6g}")))
    ax.minorticks_off()
    if low < high:
        getattr(ax, f"set_{which}lim")(low, high)
    slack = 1e-9 * (high - low)
    return [float(tick) for tick in axis.get_majorticklocs() if low - slack <= tick <= high + slack]


def _words(mark: Any) -> str:
    """ "ours on Last.fm 1.2 ± 0.3"; a place has no number."""
    number = "" if np.isnan(mark.value) else f" {mark.value:.4g}"
    return f"{mark.series.name}{number}" + (f" ± {mark.half:.2g}" if mark.half else "")


def _shorter(number: re.Match[str]) -> str:
    """A coordinate to a hundredth of a pixel: what is left does not depend on the machine's last digits."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _svg(fig: Figure, said: str) -> str:
    """A figure as SVG inside a page, which says its numbers and takes the page's colours and face."""
    drawn, unsaid = io.StringIO(), dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": said}):  # ids that differ from those of other pictures
        fig.savefig(drawn, format="svg", transparent=True, metadata=unsaid)
    text = drawn.getvalue().partition("<svg ")[2]
    for pattern, by in FOR_A_PAGE:
        text = re.sub(pattern, by, text, flags=re.DOTALL)
    text = re.sub(r'="[^"]*"', lambda value: LONG_NUMBER.sub(_shorter, value[0]), re.sub(r"\s*\n\s*", " ", text))
    text = re.sub("#[0-9a-f]{6}", lambda colour: ON_A_PAGE.get(colour[0], colour[0]), text)
    return f'<svg role="img" aria-label="{html.escape(said)}" fill="currentColor" {text}'
