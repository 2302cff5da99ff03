"""The scoreboard of the part "In practice": what a list or model finds later in time, against how many films it shows.

A chapter hands in the rows of its stored result, `rows(stored.select(data=..., protocol=..., window=...))`, perhaps of
several results, and draws them with `picture` or shows them with `table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from course_lib import checking
from course_lib.lessons.shared.house import INK, PULL, PUSH, SOFT, in_style, plain_numbers, white_sheet
from course_lib.lessons.shared.scalars import Table

LISTS = ("popular", "last tenth", "decayed", "chosen list", "best list in hindsight")
KINDS = {"list": ("s", PUSH), "model": ("o", PULL), "chance": ("D", SOFT)}  # mark and colour


@dataclass(frozen=True)
class Score:
    """One row: recall@10 later in time, with the interval over people where it has one, and the films that it shows.

    kind: "list" (the same for everybody), "model", or "chance". count: the mean number of ratings of a film in a place.
    """

    name: str
    recall: float
    shown: float
    low: float | None = None
    high: float | None = None
    count: float | None = None
    kind: str = "model"

    def __post_init__(self) -> None:
        checking.real(self.recall, "recall", least=0, most=1)
        checking.real(self.shown, "shown", least=1)
        checking.choice(self.kind, "kind", tuple(KINDS))
        if (self.low is None) != (self.high is None):
            raise ValueError(f"low is {self.low} and high {self.high}; expected both ends of an interval, or none")
        if self.low is not None and self.high is not None:
            checking.real(self.high, "high", least=checking.real(self.low, "low", least=0, most=1), most=1)
        if self.count is not None:
            checking.real(self.count, "count", least=0)


def rows(found: Iterable[Mapping[str, Any]], names: Mapping[str, str] | Sequence[str] | None = None) -> list[Score]:
    """The scores in the tidy rows of one data set, protocol and window; values of several seeds count as their mean.

    names: which rows, in this order, and perhaps how each is called on the page: {"last tenth": "hits lately"}.
    ValueError where a row that is named is not there, or lacks its recall or the films that it shows.
    """
    values: dict[str, dict[str, list[float]]] = {}
    places = set()
    for at, row in enumerate(found):
        if not (isinstance(row, Mapping) and {"row", "metric", "value"} <= row.keys()):
            raise checking.refuse(row, f"found[{at}]", "a tidy row with row, metric and value")
        values.setdefault(row["row"], {}).setdefault(row["metric"], []).append(row["value"])
        if row["metric"] == "films shown":
            places.add(tuple(row.get(key) for key in ("data", "protocol", "window")))
    if len(places) > 1:
        raise ValueError(f"found has rows of {len(places)} boards, such as {sorted(places)[:2]}; expected those of one")
    if isinstance(names, str):
        raise checking.refuse(names, "names", "several names, such as a list of them")
    wanted = (
        dict(names) if isinstance(names, Mapping) else {name: name for name in (values if names is None else names)}
    )
    return [_score(name, called, values.get(name, {})) for name, called in wanted.items()]


def _score(name: str, called: str, values: Mapping[str, Sequence[float]]) -> Score:
    means = {metric: float(np.mean(numbers)) for metric, numbers in values.items()}
    for metric in ("recall@10", "films shown"):
        if metric not in means:
            raise ValueError(f"the row {name!r} has no {metric!r}; expected one, it has {sorted(means)}")
    return Score(
        called,
        means["recall@10"],
        means["films shown"],
        means.get("recall low"),
        means.get("recall high"),
        means.get("mean count@10"),
        "chance" if name == "chance" else "list" if name in LISTS else "model",
    )


def table(scores: Sequence[Score], caption: str) -> Table:
    """The scores as a table of a page, in the order given."""
    heads = ("list or model", "recall@10", "interval over people", "films shown", "ratings of a film shown")
    body = [
        [
            one.name,
            f"{one.recall:.3f}",
            None if one.low is None else f"{one.low:.3f} to {one.high:.3f}",
            f"{one.shown:.0f}",
            None if one.count is None else f"{one.count:.0f}",
        ]
        for one in scores
    ]
    return Table(caption, heads, body)


@in_style
def picture(scores: Sequence[Score], *, level: str | None = None) -> tuple[Figure, Axes]:
    """Recall later in time (with its interval over people) upwards, films shown across, a name beside each mark.

    Squares are lists without a model, circles are models. level: the name of a score whose height is a thin line.
    """
    if not scores:
        raise ValueError("scores is empty; expected at least one row")
    fig, ax = plt.subplots(figsize=(6.8, 4.4))
    for kind, (mark, colour) in KINDS.items():
        for one in (score for score in scores if score.kind == kind):
            if one.low is not None and one.high is not None:
                ax.plot([one.shown, one.shown], [one.low, one.high], color=colour, lw=1.2, alpha=0.65)
            ax.plot(one.shown, one.recall, mark, color=colour, ms=6.5, mec="white", zorder=4)
    if level is not None:
        checking.choice(level, "level", [one.name for one in scores])
        ax.axhline(next(one.recall for one in scores if one.name == level), color=INK, lw=0.9, ls=(0, (4, 3)))
    ax.set(xscale="log", xlabel="films shown in anybody’s ten", ylabel="recall@10, later in time")
    ax.set_ylim(bottom=0)
    ax.set_xlim(0.6 * min(one.shown for one in scores), 3.2 * max(one.shown for one in scores))
    plain_numbers(ax)
    _name_marks(fig, ax, scores)
    return fig, ax


def _name_marks(fig: Figure, ax: Axes, scores: Sequence[Score]) -> None:
    """A name near each mark, where it covers no other name and no mark; from left to right, where marks are crowded."""
    fig.canvas.draw()
    marks = [ax.transData.transform((one.shown, one.recall)) for one in scores]
    taken: list[Any] = []
    renderer = fig.canvas.get_renderer()  # type: ignore[attr-defined]
    for place in sorted(range(len(scores)), key=lambda at: (scores[at].shown, -scores[at].recall)):
        options = [(side, step) for step in (0, 13, -13, 26, -26, 39, -39, 52, -52) for side in ("left", "right")]
        for side, step in options:
            text = ax.annotate(
                scores[place].name,
                (scores[place].shown, scores[place].recall),
                (8 if side == "left" else -8, step),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=9.5,
                bbox=white_sheet(),
                arrowprops={"arrowstyle": "-", "color": SOFT, "lw": 0.6, "shrinkB": 3} if abs(step) > 13 else None,
            )
            text.update_positions(renderer)
            box = Text.get_window_extent(text, renderer)  # without its line
            inside = ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 and box.y0 >= ax.bbox.y0
            covered = any(box.overlaps(other) for other in taken) or any(
                box.padded(3).contains(*mark) for at, mark in enumerate(marks) if at != place
            )
            if inside and not covered:
                break
            text.remove()
        else:
            ax.add_artist(text)  # nowhere is free: rather covered than nameless
        taken.append(box)
