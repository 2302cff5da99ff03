"""A result as a reader sees it: the paper against ours as one chart, and under it the table, numbers first.

Everything is HTML and SVG that needs no style sheet, so that a notebook, the website and a printed page show the same.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import numpy as np

from course_lib.experiments.core import printed
from course_lib.experiments.core.summary import Row, spread
from course_lib.papers.agreement import Verdict

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
# The course's own colours on its site, which has them for light and dark pages; elsewhere two that read on both.
OURS, PRINTED = "var(--course-pull, #1f6fb5)", "var(--course-push, #c2571a)"
WIDTH, LINE, TOP = 330, 34, 18  # of a panel of the chart, in px
Group = dict[tuple[Any, ...], dict[tuple[Any, ...], list[Row]]]  # rows of the result by row and column of the table


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
    """Rows of a result, arranged: which columns name the rows, which are the same everywhere, what stands across."""

    left: tuple[str, ...]
    same: dict[str, Any]  # columns with one value in all rows: they go into the caption
    heads: list[tuple[Any, ...]]
    groups: Group

    @classmethod
    def of(cls, rows: Sequence[Row], left: Sequence[str], top: Sequence[str]) -> Pivot:
        """The arrangement of some rows; of the columns at the left at least one stays.

        Rows that agree in the first columns stand together, and each value where it came first.
        """
        found = {name: list(dict.fromkeys(row.get(name) for row in rows)) for name in left}
        several = tuple(name for name in left if len(found[name]) > 1) or tuple(left[:1])
        same = {name: values[0] for name, values in found.items() if name not in several and values[0] is not None}
        groups: Group = {}
        for row in rows:
            key = tuple(row.get(name) for name in several)
            head = tuple(row.get(name) for name in top)
            groups.setdefault(key, {}).setdefault(head, []).append(row)
        heads = dict.fromkeys(tuple(row.get(name) for name in top) for row in rows if row.get("value") is not None)
        places = [{value: place for place, value in enumerate(found[name])} for name in several]

        def place_of(key: tuple[Any, ...]) -> list[int]:
            return [place[part] for place, part in zip(places, key, strict=True)]

        return cls(several, same, list(heads), {key: groups[key] for key in sorted(groups, key=place_of)})

    def head(self, head: tuple[Any, ...]) -> str:
        """The title of a column."""
        parts = [text_of(part) for part in head if part is not None]
        return NAMES.get(" ".join(parts)) or " ".join(map(name_of, parts))

    def told(self, keys: Sequence[tuple[Any, ...]]) -> set[str]:
        """The columns that tell some rows from one another; for a single row, all."""
        parts = zip(self.left, *keys, strict=True)
        return {name for name, *values in parts if len(keys) == 1 or len({*values}) > 1}

    def row(self, key: tuple[Any, ...], told: set[str]) -> str:
        """The name of a row in the chart by these columns: names stand alone, a number needs that of its column."""
        return " · ".join(
            text_of(part, name) if isinstance(part, str) else f"{name_of(name)} {text_of(part)}"
            for name, part in zip(self.left, key, strict=True)
            if part is not None and name in told
        )

    def caption(self) -> str:
        """What is the same in all rows, but for the data, which the caption of a result names."""
        return _everywhere("In every row", {name: value for name, value in self.same.items() if name != "data"})


def _everywhere(where: str, same: dict[str, Any]) -> str:
    said = [f"{name_of(name)} {text_of(value, name)}" for name, value in same.items() if value is not None]
    return f"{where}: {', '.join(said)}." if said else ""


def table(pivot: Pivot, digits: int, caption: str) -> str:
    """Our mean and standard deviation, and below it the number that the paper prints; folded where it is long."""
    heads = [("", name_of(name)) for name in pivot.left]
    heads += [(' class="number"', pivot.head(head)) for head in pivot.heads]
    head = "".join(f'<th scope="col"{kind}>{html.escape(text)}</th>' for kind, text in heads)
    lines = []
    for key, cells in pivot.groups.items():
        said = (text_of(part, name) for name, part in zip(pivot.left, key, strict=True))
        names = "".join(f'<th scope="row">{html.escape(text)}</th>' for text in said)
        numbers = "".join(f"<td>{_cell(cells.get(head, []), digits)}</td>" for head in pivot.heads)
        lines.append(f"<tr>{names}{numbers}</tr>")
    shown = (
        f'<table class="{"wide widest" if len(heads) > 9 else "wide" if len(heads) > 6 else "result"}">'
        f"<caption><span>{html.escape(caption)}</span></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )
    if len(lines) < LONG:
        return shown
    title = html.escape(caption.split(". ")[0])
    words = f"{title}: all {len(lines)} lines"
    # the inner box is the one that Jupyter and the site put around a table, so that it scrolls and looks the same
    return f'<details class="long-table"><summary>{words}</summary><div class="text_html">{shown}</div></details>'


def _cell(rows: Sequence[Row], digits: int) -> str:
    values = [row["value"] for row in rows if row.get("value") is not None]
    if not values:
        return ""
    paper = {row["paper"] for row in rows if row.get("paper") is not None}
    said = f"<br><small>paper {number([paper.pop()], digits)}</small>" if len(paper) == 1 else ""
    ours, _, deviation = number(values, digits).partition(" ± ")
    return ours + (f" <small>±&nbsp;{html.escape(deviation)}</small>" if deviation else "") + said


@dataclass(frozen=True)
class Dot:
    """A row of a panel: our mean with its 95 % interval over the runs, the paper's number, and the verdict."""

    ours: float
    half: float
    paper: float
    verdict: Verdict | None  # None where our data are not the paper's


def chart(pivot: Pivot, judged: dict[printed.Key, printed.Compared]) -> str:
    """A panel for each column with numbers of the paper: one line a row, ours as a dot, the paper's as a bar.

    Empty where the paper prints nothing of these rows; a sentence where every number is the paper's.
    """
    unit = ", ours divided by the paper's" if "metric" in pivot.left else ""
    found = {head: dots for head in pivot.heads if (dots := dict(_dots(pivot, head, judged)))}
    drawn = [dot for dots in found.values() for dot in dots.values()]
    if not drawn:
        return ""
    if all(np.isclose(dot.ours, dot.paper, rtol=1e-6, atol=1e-9) for dot in drawn):
        each = f"Each of the {len(drawn)} numbers" if len(drawn) > 1 else "The one number"
        return f'<p class="paper-against-ours">{each} that the paper prints here is also ours.</p>'
    keys = list(dict.fromkeys(key for dots in found.values() for key in dots))
    told = pivot.told(keys)
    panels = [
        _panel(pivot.head(head) + unit, {pivot.row(key, told): dot for key, dot in dots.items()})
        for head, dots in found.items()
    ]
    grid = "display:flex;flex-wrap:wrap;gap:.5rem 1.5rem"
    runs = ", with its 95 % interval over the runs" if any(dot.half for dot in drawn) else ", from a single run"
    data = "" if any(dot.verdict for dot in drawn) else ", on its own data"
    shared = {name: part for name, part in zip(pivot.left, keys[0], strict=True) if name not in told}
    legend = (
        f'<span style="color:{OURS}">●</span> ours{runs} · <span style="color:{PRINTED}">▮</span> the paper{data}. '
        + html.escape(_everywhere("In each line", shared))
    )
    return (
        f'<figure class="paper-against-ours" style="margin:1rem 0"><div style="{grid}">{"".join(panels)}</div>'
        f"<figcaption>{legend.strip()}</figcaption></figure>"
    )


def _dots(
    pivot: Pivot, head: tuple[Any, ...], judged: dict[printed.Key, printed.Compared]
) -> Iterable[tuple[tuple[Any, ...], Dot]]:
    """The rows of a panel, by the keys of the table's rows."""
    for key, cells in pivot.groups.items():
        rows = [row for row in cells.get(head, []) if row.get("value") is not None and np.isfinite(row["value"])]
        paper = {row["paper"] for row in rows if row.get("paper") is not None}
        if rows and len(paper) == 1:
            said = paper.pop()
            unit = said if "metric" in pivot.left and said else 1.0  # rows in different units: ours over the paper's
            values = [row["value"] / unit for row in rows]
            cell = judged.get(printed.key_of(rows[0]))
            verdict = cell.judged.verdict if cell is not None and cell.same_data else None
            yield key, Dot(mean(values), spread(values), said / unit, verdict)


def _panel(title: str, dots: Mapping[str, Dot]) -> str:
    """One panel as SVG; its description says all numbers."""
    means = [value for dot in dots.values() for value in (dot.ours, dot.paper)]
    logarithmic = min(means) > 0 and max(means) / min(means) > 50
    low = min(min(dot.paper, _least(dot) if logarithmic else dot.ours - dot.half) for dot in dots.values())
    high = max(max(dot.ours + dot.half, dot.paper) for dot in dots.values())
    at = _scale(low, high, logarithmic)
    height = TOP + LINE * len(dots) + 20
    bands = "".join(f"M{{x:.1f}} {TOP + LINE * place + 18}v16" for place in range(len(dots)))  # below each name
    marks = [
        f'<path d="{bands.format(x=at(x))}" stroke="currentColor" opacity=".18"/>'
        f'<text x="{at(x):.1f}" y="{height - 5}" text-anchor="middle" font-size="11" opacity=".75">{decimal(x)}</text>'
        for x in ticks(low, high, logarithmic)
        if 0 <= at(x) <= WIDTH
    ]
    lines = [_line(name, dot, TOP + LINE * place, at, low) for place, (name, dot) in enumerate(dots.items())]
    said = "; ".join(f"{name}: ours {d.ours:.4g} ± {d.half:.2g}, paper {d.paper:.4g}" for name, d in dots.items())
    return (
        f'<svg role="img" aria-label="{html.escape(title)}. {html.escape(said)}." viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" style="max-width:100%;height:auto" fill="currentColor" font-size="12">'
        f'<text x="0" y="12" font-weight="600">{html.escape(title)}</text>{"".join(marks)}{"".join(lines)}</svg>'
    )


def ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Round numbers from low to high: powers of ten, or three to six multiples of 1, 2 or 5 times one."""
    if logarithmic:
        return [float(10.0**power) for power in range(int(np.ceil(np.log10(low))), int(np.floor(np.log10(high))) + 1)]
    if high <= low:
        return [low]
    tenth = 10 ** np.floor(np.log10((high - low) / 3))
    step = max(factor for factor in (1, 2, 5, 10) if factor * tenth <= (high - low) / 2) * tenth
    return [float(f"{at * step:.6g}") for at in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _scale(low: float, high: float, logarithmic: bool) -> Any:
    """From a value to px, with a margin at both ends."""
    a, b = (np.log10(low), np.log10(high)) if logarithmic else (low, high)
    span = (b - a) or abs(a) or 1.0

    def at(x: float) -> float:
        return float(12 + (WIDTH - 24) * ((np.log10(x) if logarithmic else x) - a) / span) if b > a else WIDTH / 2

    return at


def _least(dot: Dot) -> float:
    """The lower end of our interval on a logarithmic axis: one near zero, or below, is cut a decade below our mean."""
    return max(dot.ours - dot.half, dot.ours / 10)


def _line(name: str, dot: Dot, top: float, at: Any, low: float) -> str:
    """The name of a row, and under it our dot with its interval and the paper's bar."""
    y = top + 26
    word = f" — {dot.verdict}" if dot.verdict else ""
    left, right = at(max(dot.ours - dot.half, low)), at(dot.ours + dot.half)
    interval = f'<path d="M{left:.1f} {y}H{right:.1f}" stroke="{OURS}" stroke-width="3" opacity=".55"/>' * (
        dot.half > 0
    )
    return (
        f'<text x="0" y="{top + 14}">{html.escape(name)}'
        f'<tspan opacity=".75" font-style="italic">{word}</tspan></text>'
        f'<path d="M{at(dot.ours):.1f} {y}H{at(dot.paper):.1f}" stroke="currentColor" opacity=".35"/>{interval}'
        f'<circle cx="{at(dot.ours):.1f}" cy="{y}" r="4.5" fill="{OURS}"/>'
        f'<rect x="{at(dot.paper) - 2:.1f}" y="{y - 7}" width="4" height="14" fill="{PRINTED}"/>'
    )
