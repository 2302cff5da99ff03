"""The words and the table of a result as a reader sees it; `core.pictures` draws.

The table is HTML that needs no style sheet, so that a notebook, the website and a printed page show the same.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd

from course_lib.experiments.core.summary import Row

# What the columns of results are called where people read them; other columns keep their names.
NAMES = {
    "<e pref, e pop>": "cosine of preference and popularity",
    "alpha < 0": "share with α below 0",
    "centroid": "centre of the items, in sd",
    "chance": "by chance",
    "cost step ms": "ms a step",
    "decay": "weight decay",
    "excess": "objective of two runs, excess",
    "first axis": "first axis: |r|",
    "formula bytes": "bytes by the formula",
    "gauged": "overlap after a gauge",
    "headless": "first axis without the head: |r|",
    "k": "width",
    "d": "width",
    "lambda": "λ",
    "last P@5": "P@5 at the end",
    "linear dimension": "linear gauges left",
    "lists": "length of list",
    "lr": "learning rate",
    "NDCG cos": "NDCG, cosine",
    "NDCG dot": "NDCG, dot product",
    "negative": "share on the negative side",
    "norm ratio": "length, times the start",
    "one side": "users on one side of it",
    "pointwise": "loss of a pair",
    "predicted ms": "ms a step, predicted",
    "product": "distance of the product",
    "queries": "factor on the queries",
    "ratio": "batch ratio",
    "rotation": "objective after a rotation, excess",
    "row lengths": "change of row lengths by a gauge",
    "selection": "chosen by",
    "share": "trained: share of the variance",
    "share chance": "top 1 % by chance",
    "share cos": "top 1 %, cosine",
    "share dot": "top 1 %, dot product",
    "share within 10": "share in 90° ± 10°",
    "step ms": "ms a step",
    "stop_at": "stopped at gradient",
    "tau": "τ",
    "temperature off": "temperature: relative distance",
    "times_world": "loss times P",
    "top": "share of items used",
    "towers off": "towers: relative distance",
    "trained r": "trained: cross-fitted r",
    "widest": "trained, widest axis: |r|",
    "words": "words in titles",
    "map@10": "MAP@10",
    "best map@10": "best MAP@10",
    "map@10 of 500": "MAP@10 of 500",
    "train map@10": "MAP@10 in training",
}
DATA = {
    "amazon-beauty": "Amazon Beauty",
    "citeulike": "CiteULike",
    "gowalla": "Gowalla",
    "lastfm": "Last.fm",
    **{f"made-{fitting}": f"made, 5 of {fitting}" for fitting in (5, 6, 8, 10, 20, 50)},
    "ml-100k-ratings": "ML-100K, ratings",
    "ml-32m-shape": "made, of the shape of ML-32M",
    "movietweetings-ratings": "MovieTweetings, ratings",
    "wikispeedia-nested": "Wikispeedia, nested topics",
    "wikispeedia-topics": "Wikispeedia, topics",
    "ml-100k": "ML-100K",
    "ml-10m": "ML-10M",
    "ml-1m": "ML-1M",
    "ml-20m": "ML-20M",
    "movietweetings": "MovieTweetings",
    "wikispeedia": "Wikispeedia",
    "tastes": "invented tastes",
}
ADDED = {"a": "popularity", "b": "preference", "ab": "both"}  # to the positive, and to the negative, in P1's Table 5
VALUES = {
    **{f"{first}_{then}": f"{ADDED[first]}, {ADDED[then]}" for first in ADDED for then in ADDED},
    "b_a": "preference, popularity (DDC)",
    "score rows": "predictions",
    "pos_neg": "Pos-Neg",
    "in_batch": "In-Batch",
    "unbiased": "Unbiased",
    "sogram": "Sogram",
    "unbiased_omega": "Unbiased-ω",
    "pos_neg_omega": "Pos-Neg-ω",
    "in_batch_omega": "In-Batch-ω",
    "bernoulli": "coin tosses",  # of P3's Table 3, with the three below
    "exact": "exact cut",
    "m": "users, m",
    "n": "items, n",
}
LOSSES = {"popularity": "Popularity"}  # P3's loss; elsewhere the word is a law of negatives
WORDS = {  # of titles and of names that are put together
    "infonce cos": "InfoNCE on cosines",
    "infonce dot": "InfoNCE on dot products",
    "one-hot > linear users": "users by a one-hot linear layer",
    "frozen embedding > linear users": "users by a frozen embedding and a linear layer",
    "embedding > linear users": "users by an embedding and a linear layer",
    "embedding users": "users by an embedding",
    "transformer users": "users by a transformer",
    " > linear": " and linear layer",
    "on e_pop": "on the popularity direction",
    "sign of alpha": "sign of α",
    "rates alpha": "rates α",
    "omega in": "ω in",
    "sogram ": "SOGram ",
    "sagram ": "SAGram ",
}
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
    return NAMES.get(column, column.replace("_", " "))


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
    if column == "loss" and value in LOSSES:
        return LOSSES[value]
    stem, _, core = value.partition("-5core" if "-5core" in value else "-10core")
    if stem in DATA:
        return DATA[stem] + (f", {core}" if core.strip("-") else "")
    return VALUES.get(value, in_words(value.replace("_", " ")))


def in_words(text: str) -> str:
    """Short names inside a text, spelt out: "infonce cos" is "InfoNCE on cosines"."""
    for short, words in WORDS.items():
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


def pivoted(rows: Sequence[Row], left: Sequence[str], top: Sequence[str]) -> pd.DataFrame:
    """The rows that agree in the columns `left` and `top`, as lists, in order of appearance."""
    names, heads = ([tuple(row.get(name) for name in columns) for row in rows] for columns in (left, top))
    tidy = pd.DataFrame({"name": names, "head": heads, "cell": rows})
    return tidy.pivot_table(index="name", columns="head", values="cell", aggfunc=list, sort=False)


def head_of(head: tuple[Any, ...]) -> str:
    """The title of a column."""
    parts = [text_of(part) for part in head if part is not None]
    return NAMES.get(" ".join(parts)) or " ".join(map(name_of, parts))


def everywhere(where: str, same: Mapping[str, Any]) -> str:
    """A sentence on what is the same in several rows."""
    said = [f"{name_of(name)} {text_of(value, name)}" for name, value in same.items() if value is not None]
    return f"{where}: {', '.join(said)}." if said else ""


def table(pivot: Pivot, digits: int, caption: str) -> str:
    """Our mean and standard deviation, and below it the number that the paper prints; folded where it is long.

    pandas' own HTML names the rows in plain cells or without `scope`, which a screen reader needs.
    """
    heads = [("", name_of(name)) for name in pivot.left]
    heads += [(' class="number"', head_of(head)) for head in pivot.cells]
    head = "".join(f'<th scope="col"{kind}>{html.escape(text)}</th>' for kind, text in heads)
    lines = []
    for key, cells in zip(pivot.cells.index, pivot.cells.to_numpy(), strict=True):
        said = (text_of(part, name) for name, part in zip(pivot.left, key, strict=True))
        names = "".join(f'<th scope="row">{html.escape(text)}</th>' for text in said)
        lines.append(f"<tr>{names}{''.join(f'<td>{_cell(cell, digits)}</td>' for cell in cells)}</tr>")
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


def _cell(rows: Any, digits: int) -> str:
    values = [row["value"] for row in rows if row.get("value") is not None] if isinstance(rows, list) else []
    if not values:
        return ""
    paper = printed_by(rows)
    said = "" if paper is None else f"<br><small>paper {number([paper], digits)}</small>"
    ours, _, deviation = number(values, digits).partition(" ± ")
    return ours + (f" <small>±&nbsp;{html.escape(deviation)}</small>" if deviation else "") + said
