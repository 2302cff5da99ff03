"""The words and the table of a result as a reader sees it; `core.pictures` draws.

The table is HTML that needs no style sheet, so that a notebook, the website and a printed page show the same.
"""

from __future__ import annotations

import html
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd

from course_lib.experiments.core.summary import Row

TOLD: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
TINY, ROUNDING = 1e-4, 1e-12  # means below the first have no digits, below the second no size
LONG = 24  # lines from which a table is folded


def number(values: Sequence[float], digits: int) -> str:
    """The mean with the standard deviation over the runs, to two digits of the deviation; one run to four digits.

    digits: how many decimal places there are at most, unless all of them were zeros; a deviation that they do not show
    is below one of the last place. A mean nearer to 0 than `TINY` is "≈ 0", or "0" where only rounding may be left.
    A whole number that all of several runs have is a count. Where a run diverged (NaN, infinity), "not finite".
    """
    if not np.isfinite(values).all():
        return "not finite"
    centre = mean(values)
    if len(values) > 1 and len({*values}) == 1 and float(centre).is_integer():
        return f"{centre:.0f}"
    deviation = stdev(values) if len(values) > 1 else 0.0
    size = max(abs(centre), deviation)
    if size < min(TINY, 0.5 * 10**-digits):
        return "≈ 0" if size > ROUNDING else "0"
    if size < 0.5 * 10**-digits:
        digits = places = 1 - int(np.floor(np.log10(size)))
    else:
        digits = 0 if len(values) == 1 and size >= 100 and float(centre).is_integer() else digits  # a count
        size, wanted = (deviation, 2) if deviation else (abs(centre), 4)
        places = min(digits, max(0, wanted - 1 - int(np.floor(np.log10(size)))))
    centre = round(centre, places) + 0.0  # a rounded -0.00 is 0.00
    said = f"{deviation:.{places}f}" if deviation >= 0.5 * 10**-places else f"<{10**-places:.{places}f}"
    return f"{centre:.{places}f}" + (f" ± {said}" if len(values) > 1 else "")


def name_of(column: str) -> str:
    """What a column is called on a page."""
    return TOLD["columns"].get(column, column.replace("_", " "))


def decimal(value: float) -> str:
    """A number of an axis or a name in one form, 0.1 as well as 0.00001; below a millionth a power of ten."""
    if not 1e-6 <= abs(value) < 1e-4:
        return f"{value:,.10g}"
    return np.format_float_positional(value, precision=10, fractional=False, trim="-")


def text_of(value: Any, column: str = "") -> str:
    """A coordinate as text: data sets by their names, numbers short; the column says what an ambiguous word means."""
    if value is None or isinstance(value, bool):
        return "–" if value is None else "yes" if value else "no"
    if not isinstance(value, str):
        return decimal(float(f"{value:g}")) if isinstance(value, float) else str(value)
    stem, _, core = value.partition("-5core" if "-5core" in value else "-10core")
    if stem in TOLD["data"]:
        return TOLD["data"][stem] + (f", {core}" if core.strip("-") else "")
    if column == "loss" and value in TOLD["losses"]:
        return TOLD["losses"][value]
    return TOLD["values"].get(value, in_words(value.replace("_", " ")))


def in_words(text: str) -> str:
    """Short names inside a text, spelt out: "infonce cos" is "InfoNCE on cosines"."""
    for short, words in TOLD["words"].items():
        text = text.replace(short, words)
    return text


@dataclass(frozen=True)
class Pivot:
    """Rows of a result, arranged: which columns name the rows, which are the same everywhere, and the cells.

    A cell is the list of its rows, or NaN; the index and the columns of `cells` are tuples, None where a row says
    nothing.
    """

    left: tuple[str, ...]
    same: dict[str, Any]  # columns with one value in all rows: they go into the caption
    cells: pd.DataFrame

    @classmethod
    def of(cls, rows: Sequence[Row], left: Sequence[str], top: Sequence[str]) -> Pivot:
        """The arrangement of some rows; of the columns at the left at least one stays.

        Rows that agree in the first columns stand together, and each value where it came first.
        """
        found = {name: list(dict.fromkeys(row.get(name) for row in rows)) for name in left}
        several = tuple(name for name in left if len(found[name]) > 1) or tuple(left[:1])
        same = {name: values[0] for name, values in found.items() if name not in several and values[0] is not None}
        cells = pivoted(rows, several, top)
        order = sorted(
            range(len(cells)), key=lambda at: [found[n].index(v) for n, v in zip(several, cells.index[at], strict=True)]
        )
        said = [any(row.get("value") is not None for cell in cells[head].dropna() for row in cell) for head in cells]
        return cls(several, same, cells.iloc[order].loc[:, said])

    def caption(self) -> str:
        """What is the same in all rows, but for the data, which the caption of a result names."""
        return everywhere("In every row", {name: value for name, value in self.same.items() if name != "data"})

    def texts(self, said: Callable[[list[Row]], str]) -> pd.DataFrame:
        """A table of texts: the names of the rows, then what `said` makes of each cell that is not empty."""
        lines = [
            [
                *(text_of(part, name) for name, part in zip(self.left, key, strict=True)),
                *(said(cell) if isinstance(cell, list) else "" for cell in cells),
            ]
            for key, cells in zip(self.cells.index, self.cells.to_numpy(), strict=True)
        ]
        return pd.DataFrame(lines, columns=[*map(name_of, self.left), *map(head_of, self.cells)])


def pivoted(rows: Sequence[Row], left: Sequence[str], top: Sequence[str]) -> pd.DataFrame:
    """The rows that agree in the columns `left` and `top`, as lists, in order of appearance."""
    names, heads = ([tuple(row.get(name) for name in columns) for row in rows] for columns in (left, top))
    tidy = pd.DataFrame({"name": names, "head": heads, "cell": rows})
    return tidy.pivot_table(index="name", columns="head", values="cell", aggfunc=list, sort=False)


def head_of(head: tuple[Any, ...]) -> str:
    """The title of a column."""
    parts = [text_of(part) for part in head if part is not None]
    return TOLD["columns"].get(" ".join(parts)) or " ".join(map(name_of, parts))


def everywhere(where: str, same: Mapping[str, Any]) -> str:
    """A sentence on what is the same in several rows."""
    said = [f"{name_of(name)} {text_of(value, name)}" for name, value in same.items() if value is not None]
    return f"{where}: {', '.join(said)}." if said else ""


def table(pivot: Pivot, digits: int, caption: str) -> str:
    """Our mean and standard deviation, and below it the number that the paper prints; folded where it is long.

    pandas' own HTML names the rows in plain cells or without `scope`, which a screen reader needs.
    """
    texts, names = pivot.texts(lambda cell: _html(cell, digits)), len(pivot.left)
    heads = [("", text) for text in texts.columns[:names]]
    heads += [(' class="number"', text) for text in texts.columns[names:]]
    head = "".join(f'<th scope="col"{kind}>{html.escape(text)}</th>' for kind, text in heads)
    lines = [
        "<tr>"
        + "".join(f'<th scope="row">{html.escape(text)}</th>' for text in line[:names])
        + "".join(f"<td>{text}</td>" for text in line[names:])
        + "</tr>"
        for line in texts.to_numpy()
    ]
    shown = (
        f'<table class="{"wide widest" if len(heads) > 9 else "wide" if len(heads) > 6 else "result"}">'
        f"<caption><span>{html.escape(caption)}</span></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )
    if len(lines) < LONG:
        return shown
    words = f"{html.escape(caption.split('. ')[0])}: all {len(lines)} lines"
    # the inner box is the one that Jupyter and the site put around a table, so that it scrolls and looks the same
    return f'<details class="long-table"><summary>{words}</summary><div class="text_html">{shown}</div></details>'


def printed_by(rows: Sequence[Row]) -> float | None:
    """The number that the paper prints for a cell, None where it prints none or several."""
    paper = {row["paper"] for row in rows if row.get("paper") is not None}
    return paper.pop() if len(paper) == 1 else None


def said(rows: Sequence[Row], digits: int) -> str:
    """A cell as plain text: our mean with its deviation, and in brackets what the paper prints."""
    ours, paper = _numbers(rows, digits)
    return f"{ours} ({paper})" if paper else ours


def _html(rows: Sequence[Row], digits: int) -> str:
    ours, paper = _numbers(rows, digits)
    ours, _, deviation = ours.partition(" ± ")
    below = f"<br><small>paper {paper}</small>" if paper else ""
    return ours + (f" <small>±&nbsp;{html.escape(deviation)}</small>" if deviation else "") + below


def _numbers(rows: Sequence[Row], digits: int) -> tuple[str, str]:
    """Our mean with its deviation, and what the paper prints, as texts; empty where there is none."""
    values, paper = [row["value"] for row in rows if row.get("value") is not None], printed_by(rows)
    if not values:
        return "", ""
    return number(values, digits), "" if paper is None else number([paper], digits)
