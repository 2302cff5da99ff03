"""Pictures of stored results, as SVG that says its numbers: rows with several marks, and curves.

`core.display` draws one printed number against one of ours. Here a row may have ours on several data sets and the
paper's on several others, so each series has a shape of its own, and what ours are held against stands upright. A panel
is as wide as a phone.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.experiments.core.display import OURS, PRINTED, WIDTH, decimal, text_of, ticks
from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import spread

GREEN, VIOLET = "light-dark(#00705a, #5fd0ae)", "light-dark(#7a4a8c, #d9aee8)"
LOOKS = {  # shape, colour, filled or hollow
    "circle": ("circle", OURS, True),
    "diamond": ("diamond", GREEN, False),
    "triangle": ("triangle", VIOLET, True),
    "square": ("square", "currentColor", False),
    "ring": ("circle", "currentColor", False),
    "bar": ("bar", PRINTED, True),
    "hollow bar": ("bar", PRINTED, False),
    "line": ("line", PRINTED, True),
    "height": ("dash", PRINTED, True),  # on a curve: a number
    "place": ("dashes", PRINTED, True),  # and a place on the x axis
}
OUR_LOOKS, HELD_LOOKS = tuple(LOOKS)[:5], tuple(LOOKS)[5:8]  # our numbers, and what they are held against
NAME, LANE, HEAD, FOOT, HEIGHT = 17, 12, 22, 20, 210  # px: a row's name, a lane of marks, title, axis, a plot of curves
Scale = Callable[[float], float]


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
        return LOOKS[self.look][1] == PRINTED


@dataclass(frozen=True)
class Mark:
    """A number of a series: the mean of some runs, and half of its 95 % interval; a paper's number is one run."""

    series: Series
    value: float
    half: float = 0.0
    runs: int = 1

    def __post_init__(self) -> None:
        if self.half < 0:
            raise ValueError(f"half must be half the width of an interval, at least 0; got {self.half}")

    @classmethod
    def of(cls, series: Series, values: Sequence[float]) -> Mark:
        """The mean of the runs with its interval."""
        return cls(series, mean(values), spread(list(values)), len(values))

    @property
    def words(self) -> str:
        """ "ours on Last.fm 1.2 ± 0.3"."""
        return f"{self.series.name} {self.value:.3g}" + (f" ± {self.half:.2g}" if self.half else "")


@dataclass(frozen=True)
class Curve:
    """Marks of a series, one for each x; without marks, an upright line at each x."""

    series: Series
    x: Sequence[float]
    marks: Sequence[Mark] = ()

    @property
    def words(self) -> str:
        """ "ours 1.2 ± 0.3 at 0.1, ours 1.3 at 0.2"."""
        said = [mark.words for mark in self.marks] or [self.series.name] * len(self.x)
        return ", ".join(f"{words} at {x:g}" for words, x in zip(said, self.x, strict=True))


def relative(result: Result, metric: str, of: Mapping[str, Any], over: Mapping[str, Any]) -> list[float]:
    """100 (a / b - 1), a and b the metric in the rows `of` and `over` of one seed; for each seed that has both."""
    ours, plain = (
        {row.get("seed", 0): row["value"] for row in result.select(metric=metric, **at)} for at in (of, over)
    )
    return [100 * (ours[seed] / plain[seed] - 1) for seed in sorted(ours) if seed in plain]


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
    panels: Mapping[str, Mapping[str, Sequence[Mark]]],
    caption: str,
    *,
    level: float | None = None,
    logarithmic: bool = False,
    side_by_side: bool = False,
) -> str:
    """HTML of a figure: a panel for each title, in it a row for each name, in it marks on one axis.

    level: a value with a line of its own, such as 0 for changes. side_by_side: all of a row's marks at one height,
    instead of one lane for each series. Rows without marks are left out.
    """
    full = {title: {name: marks for name, marks in panel.items() if marks} for title, panel in panels.items()}
    drawn = [_rows(title, panel, level, logarithmic, side_by_side) for title, panel in full.items() if panel]
    marks = [mark for panel in full.values() for row in panel.values() for mark in row]
    return _figure(drawn, [mark.series for mark in marks], f"{_runs(marks)} {caption}")


def curves(
    panels: Mapping[str, Sequence[Curve]],
    caption: str,
    *,
    x: str,
    level: float | None = None,
    logarithmic: bool = False,
) -> str:
    """HTML of a figure: a panel for each title, its curves along the quantity x, on a logarithmic axis or not."""
    drawn = [_curves(title, panel, x, level, logarithmic) for title, panel in panels.items() if panel]
    found = [curve for panel in panels.values() for curve in panel]
    runs = _runs([mark for curve in found for mark in curve.marks])
    return _figure(drawn, [curve.series for curve in found], f"{runs} {caption}")


def _runs(marks: Iterable[Mark]) -> str:
    """What the intervals of our marks are, in a sentence."""
    several = {mark.runs > 1 for mark in marks if not mark.series.held}
    if several == {False}:
        return "Each mark of ours is a single run."
    alone = "; a mark of ours without one is a single run" if False in several else ""
    return f"Pale bars are 95 % intervals over the seeds{alone}."


def _figure(panels: Sequence[str], series: Iterable[Series], caption: str) -> str:
    if not panels:
        raise ValueError("panels: nothing to draw; expected one mark at least")
    legend = " · ".join(
        f'<span style="white-space:nowrap"><svg width="14" height="12" viewBox="-7 -6 14 12" aria-hidden="true">'
        f"{_shape(one, 0, 0, 10)}</svg> {html.escape(one.name)}</span>"
        for one in sorted(dict.fromkeys(series), key=lambda one: list(LOOKS).index(one.look))
    )
    return (
        '<figure class="paper-against-ours" style="margin:1rem 0">'
        f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start;gap:.5rem">{"".join(panels)}</div>'
        f"<figcaption>{legend}<br>{html.escape(caption)}</figcaption></figure>"
    )


def _rows(
    title: str, panel: Mapping[str, Sequence[Mark]], level: float | None, logarithmic: bool, side_by_side: bool
) -> str:
    marks = [mark for row in panel.values() for mark in row]
    low, high = _reach([end for mark in marks for end in _ends(mark, logarithmic)], level)
    at = _scale(low, high, 12, WIDTH - 12, logarithmic)
    series = dict.fromkeys(mark.series for mark in marks if not mark.series.held)
    lane = {one: 0 if side_by_side else place for place, one in enumerate(series)}
    lanes = LANE * (1 + max(lane.values(), default=0))
    tall = NAME + lanes + 5
    height = HEAD + tall * len(panel) + FOOT
    tops = [HEAD + tall * place for place in range(len(panel))]

    def grid(x: float, strength: float) -> str:
        bands = "".join(f"M{x:.1f} {top + NAME}v{tall - NAME}" for top in tops)
        return f'<path d="{bands}" stroke="currentColor" opacity="{strength}"/>'

    parts = [
        grid(at(x), 0.18) + f'<text x="{at(x):.1f}" y="{height - 5}" text-anchor="middle" font-size="11" opacity=".75">'
        f"{decimal(x)}</text>"
        for x in _ticks(low, high, logarithmic)
    ]
    if level is not None:
        parts.append(grid(at(level), 0.6))
    for top, (name, row) in zip(tops, panel.items(), strict=True):
        parts.append(f'<text x="0" y="{top + 13}">{html.escape(name)}</text>')
        for mark in sorted(row, key=lambda mark: not mark.series.held):  # ours on top
            y = top + NAME + 2 + (lanes / 2 if mark.series.held else LANE * (lane[mark.series] + 0.5))
            if mark.half:
                left, right = map(at, _ends(mark, logarithmic))
                parts.append(_whisker(mark.series, f"M{left:.1f} {y}H{right:.1f}"))
            parts.append(_shape(mark.series, at(mark.value), y, lanes))
    said = "; ".join(f"{name}: {', '.join(mark.words for mark in row)}" for name, row in panel.items())
    return _panel(title, said, height, parts)


def _curves(title: str, panel: Sequence[Curve], x_name: str, level: float | None, logarithmic: bool) -> str:
    marks = [mark for curve in panel for mark in curve.marks]
    low, high = _reach([end for mark in marks for end in (mark.value - mark.half, mark.value + mark.half)], level)
    left, right = _reach([x for curve in panel for x in curve.x], None)
    bottom = HEAD + HEIGHT
    at, up = _scale(left, right, 52, WIDTH - 12, logarithmic), _scale(low, high, bottom - 8, HEAD + 8, False)
    parts = [
        f'<path d="M44 {up(y):.1f}H{WIDTH}" stroke="currentColor" opacity=".18"/>'
        f'<text x="38" y="{up(y) + 4:.1f}" text-anchor="end" font-size="11" opacity=".75">{decimal(y)}</text>'
        for y in ticks(low, high, False)
    ]
    parts += [
        f'<text x="{at(x):.1f}" y="{bottom + 14}" text-anchor="middle" font-size="11" opacity=".75">{decimal(x)}</text>'
        for x in _ticks(left, right, logarithmic)
    ]
    if level is not None:
        parts.append(f'<path d="M44 {up(level):.1f}H{WIDTH}" stroke="currentColor" opacity=".6"/>')
    parts.append(f'<text x="{WIDTH}" y="{bottom + 30}" text-anchor="end">{html.escape(x_name)}</text>')
    for curve in panel:
        parts += _upright(curve, at, bottom) if not curve.marks else _one_curve(curve, at, up)
    return _panel(title, "; ".join(curve.words for curve in panel), bottom + 36, parts)


def _upright(curve: Curve, at: Scale, bottom: float) -> list[str]:
    return [_shape(curve.series, at(x), (HEAD + bottom) / 2, bottom - HEAD) for x in curve.x]


def _one_curve(curve: Curve, at: Scale, up: Scale) -> list[str]:
    points = [(at(x), mark) for x, mark in zip(curve.x, curve.marks, strict=True)]
    path = "L".join(f"{x:.1f} {up(mark.value):.1f}" for x, mark in points)
    colour = LOOKS[curve.series.look][1]
    parts = [f'<path d="M{path}" style="stroke:{colour}" fill="none" stroke-width="1.2" opacity=".7"/>']
    for x, mark in points:
        if mark.half:
            low, high = mark.value - mark.half, mark.value + mark.half
            parts.append(_whisker(curve.series, f"M{x:.1f} {up(low):.1f}V{up(high):.1f}"))
        parts.append(_shape(curve.series, x, up(mark.value), 14))
    return parts


def _panel(title: str, said: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-label="{html.escape(title)}. {html.escape(said)}." viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" style="max-width:100%;height:auto" fill="currentColor" font-size="12">'
        f'<text x="0" y="13" font-weight="600">{html.escape(title)}</text>{"".join(parts)}</svg>'
    )


def _whisker(series: Series, path: str) -> str:
    return f'<path d="{path}" style="stroke:{LOOKS[series.look][1]}" stroke-width="3" opacity=".45"/>'


def _shape(series: Series, x: float, y: float, tall: float) -> str:
    """The mark of a series; an upright one of the paper is `tall` px high."""
    kind, colour, filled = LOOKS[series.look]
    top = y - tall / 2
    path = {
        "circle": f"M{x - 4:.1f} {y:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
        "diamond": f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5Z",
        "triangle": f"M{x:.1f} {y - 5:.1f}l5 9h-10Z",
        "square": f"M{x - 3.5:.1f} {y - 3.5:.1f}h7v7h-7Z",
        "bar": f"M{x - 2:.1f} {top:.1f}h4v{tall:g}h-4Z",
        "line": f"M{x:.1f} {top:.1f}v{tall:g}",
        "dash": f"M{x - 7:.1f} {y - 1:.1f}h14v2h-14Z",
        "dashes": f"M{x:.1f} {top:.1f}v{tall:g}",
    }[kind]
    inside = colour if filled else "none" if kind == "bar" else "var(--pst-color-background, Canvas)"
    broken = ' stroke-dasharray="4 3"' if kind == "dashes" else ""
    return f'<path d="{path}" style="stroke:{colour};fill:{inside}" stroke-width="1.6"{broken}/>'


def _ends(mark: Mark, logarithmic: bool) -> tuple[float, float]:
    """The interval of a mark; one that comes near zero, or below, is cut on a logarithmic axis a decade below it."""
    least = mark.value - mark.half
    if logarithmic:
        least = max(least, checking.real(mark.value, "value", above=0) / 10)
    return least, mark.value + mark.half


def _reach(values: Sequence[float], level: float | None) -> tuple[float, float]:
    """The least and the greatest of some values, and of the level."""
    reach = [*values, *([] if level is None else [level])]
    if not reach or not np.isfinite(reach).all():
        raise ValueError("values: nothing finite to draw; expected numbers")
    return min(reach), max(reach)


def _ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Round numbers from low to high; on a logarithmic axis of few decades also 2 and 5 times the powers of ten."""
    found = ticks(low, high, logarithmic)
    if not logarithmic or len(found) > 2:
        return found
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
    return [float(step * power) for power in powers for step in (1, 2, 5) if low <= step * power <= high]


def _scale(low: float, high: float, first: float, last: float, logarithmic: bool) -> Scale:
    """From a value to px: low at first, high at last, and the middle where both are one."""
    a, b = (np.log10(low), np.log10(high)) if logarithmic else (low, high)

    def at(value: float) -> float:
        part = ((np.log10(value) if logarithmic else value) - a) / (b - a) if b > a else 0.5
        return float(first + (last - first) * part)

    return at
