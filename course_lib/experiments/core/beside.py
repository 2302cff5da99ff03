"""The lists without a model beside an experiment's table: most popular, popular lately, chance, from LISTS-X1.

`html(result)` is `result.to_html()` with the fitting rows, the mean count of what is shown where it was stored, the
coverage and the mean count of the lists, and below the table a sentence on who beats the lists. A row fits if its data
have the same hash, and its split is drawn as that of the experiment, from the same seed. A table without a metric of
lists, and one whose data LISTS-X1 does not have, stays as it is, and says so.
"""

from __future__ import annotations

import html as escaping
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np

from course_lib import checking
from course_lib.experiments.core import display
from course_lib.experiments.core.results import Layout, Result, load_result
from course_lib.experiments.core.summary import Row

LISTS = ("most popular", "popular lately", "chance")
SPLITS = {  # of LISTS-X1, by the beginning of an experiment's name; the first that fits
    "P0-": "random 9:1",
    "P1-": "random 8:1:1, validation known",
    "P3-": "random 9:1",
    "P4-F8": "random 8:2, untrained kept",
    "P4-": "random 9:1, untrained kept",
    "SCALE-X2": "random 9:1",
    "SCALE-X4": "random 9:1",
}
NAMED = ("loss", "objective", "setting", "model", "rule", "backbone", "method", "way", "lambda", "top")
ACCURACY = {  # the metric of LISTS-X1, and what its number is multiplied by
    **{f"{name}@10": (f"{name.lower()}@10", 1.0) for name in ("MRR", "NDCG", "MAP", "Recall", "recall", "ndcg", "map")},
    **{f"{name} {way}": (f"{name.lower()}@10", 1.0) for name in ("NDCG", "recall") for way in ("dot", "cos")},
    "best map@10": ("map@10", 1.0),
    **{
        f"{short}@{k}": (f"{name}@{k}", 100.0)
        for short, name in (("P", "precision"), ("R", "recall"))
        for k in (1, 5, 25)
    },
}
COUNTS = ("AvgPop@10", "AvgPop dot", "AvgPop cos", "mean count@10")  # mean counts, of lists of ten
MEASURED = ACCURACY | dict.fromkeys(COUNTS, ("mean count@10", 1.0))
SHOWN = "coverage@10"
NOT_WHERE = ("metric", "value", "seed", "path", "paper", "stopped")  # of a row: not where its number belongs


@dataclass(frozen=True)
class Against:
    """How many numbers of a table lie above and below a list of hits in every run, on one data set."""

    data: str
    metric: str
    list: str
    found: float
    numbers: int
    above: int
    below: int
    runs: int

    @property
    def words(self) -> str:
        """ "on ML-1M 3 of 26 numbers lie above the list of the most popular items (0.123) in all 3 runs, 21 below"."""
        items = "the most popular items" if self.list == LISTS[0] else "what was popular lately"
        runs = "its one run" if self.runs == 1 else f"all {self.runs} runs"
        over = f"lie above the list of {items} ({self.found:.3g}) in {runs}"
        if self.above == self.numbers > 1:
            return f"on {display.text_of(self.data)} all {self.numbers} numbers {over}"
        text = f"on {display.text_of(self.data)} {self.above or 'none'} of {self.numbers} numbers {over}"
        return f"{text}, and {self.below or 'none'} below"


def html(result: Result, **arguments: Any) -> str:
    """`Result.to_html` with the rows of the lists, and the sentence on who beats them."""
    _stored(result)
    rows = chosen(result, arguments)
    added = list_rows(result, rows, arguments)
    if not added:
        why = missing(result, rows)
        return result.to_html(**arguments) + (f'<p class="lists">{escaping.escape(why)}</p>' if why else "")
    layout = {key: arguments[key] for key in ("rows", "columns", "digits") if arguments.get(key) is not None}
    whole = replace(result, rows=[*rows, *added], layout=cast(Layout, {**result.layout, "metrics": ()}))
    found = against(result, **arguments)
    more = NO_COVERAGE if _only_metrics(result, arguments) else _shown_by(result, found)
    said = f'<p class="lists">{escaping.escape(_counted(found) + more)}</p>' if found else ""
    return whole.to_html(**layout) + said


def sentence(result: Result, **arguments: Any) -> str:
    """Who beats the lists: for each data set how many numbers lie above the better list of hits in every run.

    And what share of the items the lists show, and how often these occur.
    """
    found = against(_stored(result), **arguments)
    return _counted(found) + _shown_by(result, found) if found else missing(result, chosen(result, arguments))


def _stored(result: Result) -> Result:
    if not isinstance(result, Result):
        raise checking.refuse(result, "result", "a Result, from load_result")
    return result


def _counted(found: Sequence[Against]) -> str:
    words = "; ".join(one.words for one in found)
    return f"Who beats the lists in {display.name_of(found[0].metric)}? {words[0].upper()}{words[1:]}."


NO_COVERAGE = " These trainings kept no share of items ever shown; that of the lists stands in the table."


def _shown_by(result: Result, found: Sequence[Against]) -> str:
    """The coverage and the mean count of the lists, where a table has no columns for them."""
    told = []
    for one in found:
        parts = []
        for kind in LISTS:
            shown, count = (of_list(result, one.data, kind, metric) for metric in (SHOWN, "mean count@10"))
            if shown:
                ends = [float(np.mean(list(values.values()))) for values in (shown, count)]
                parts.append(f"{kind} {100 * ends[0]:.0f} % and {ends[1]:,.0f}")
        told.append(f"on {display.text_of(one.data)} {', '.join(parts)}")
    return f" Share of the items in any list of ten, and mean count of a listed item: {'; '.join(told)}."


def against(result: Result, **arguments: Any) -> list[Against]:
    """The counts of `sentence`, one for each data set whose lists are stored. Only the first metric of the table."""
    rows = chosen(result, arguments)
    metric = next((row["metric"] for row in rows if row["metric"] in ACCURACY), None)
    if metric is None or not list_rows(result, rows, arguments):
        return []
    found = []
    for data in dict.fromkeys(str(row.get("data")) for row in rows):
        held = {kind: values for kind in LISTS[:2] if (values := of_list(result, data, kind, metric))}
        numbers: dict[str, dict[int, float]] = {}
        for row in rows:
            seed, mine = row.get("seed", 0), ACCURACY.get(row["metric"]) == ACCURACY[metric] and not is_list(row)
            if mine and str(row.get("data")) == data and any(seed in values for values in held.values()):
                where = {key: row[key] for key in row if key == "metric" or key not in NOT_WHERE}
                if row.get("value") is not None:
                    numbers.setdefault(str(sorted(where.items(), key=str)), {})[seed] = row["value"]
        seeds = set[int]().union(*numbers.values())
        if not seeds:
            continue
        means = {kind: float(np.mean([values[seed] for seed in sorted(seeds)])) for kind, values in held.items()}
        best = max(means, key=lambda kind: means[kind])
        gains = [[value - held[best][seed] for seed, value in runs.items()] for runs in numbers.values()]
        above, below = sum(min(one) > 0 for one in gains), sum(max(one) < 0 for one in gains)
        found.append(Against(data, metric, best, means[best], len(gains), above, below, len(seeds)))
    return found


def missing(result: Result, rows: Sequence[Row]) -> str:
    """A sentence where a table about lists has no lists beside it, and nothing for other tables."""
    if not any(row["metric"] in ACCURACY for row in rows) or any(map(is_list, rows)):
        return ""
    return "No list without a model is stored for these data and this split."


# ------------------------------------------------------------------------------------------------------------- the rows


def chosen(result: Result, arguments: dict[str, Any]) -> list[Row]:
    """The rows of a table, as `Result.to_html` takes them, and the mean count of what is shown where it is stored."""
    where = {key: value for key, value in arguments.items() if key not in ("rows", "columns", "digits")}
    if "metric" not in where and result.layout.get("metrics"):
        where["metric"] = tuple(result.layout["metrics"])
    rows = result.select(**where)
    if not any(row["metric"] in ACCURACY for row in rows) or not _only_metrics(result, arguments):
        return rows
    here = {row["metric"] for row in rows}
    cosine_only = not any(name.endswith(" dot") for name in here)
    wanted = [name for name in COUNTS if name not in here and not (cosine_only and name.endswith(" dot"))]
    return rows + (result.select(**{**where, "metric": tuple(wanted)}) if wanted else [])


def list_rows(result: Result, rows: Sequence[Row], arguments: dict[str, Any]) -> list[Row]:
    """The rows of the lists, each with the coordinates that all rows of the table share."""
    top = tuple(arguments.get("columns") or result.layout.get("columns", ("metric",)))
    left = tuple(arguments.get("rows") or result.layout.get("rows", ()))
    known = [column for column in NAMED if any(column in row for row in rows)]
    name = next((column for column in known if column in left), [*known, "model"][0])
    added: list[Row] = []
    for data in dict.fromkeys(row.get("data") for row in rows):
        mine = [row for row in rows if row.get("data") == data]
        there = {row[name]: row for row in mine if row.get(name) in LISTS}
        seeds = {row.get("seed") for row in mine}
        same = {
            column: mine[0].get(column)
            for column in result.columns()
            if column not in (*NOT_WHERE, name, *top) and len({str(row.get(column)) for row in mine}) == 1
        }
        for kind in LISTS:
            held = there.get(kind)
            own = {} if held is None else {key: held[key] for key in held if key not in NOT_WHERE and key not in top}
            told = {row["metric"] for row in mine if held is not None and row.get(name) == kind}
            for across in _places(mine, top, extra=_only_metrics(result, arguments)):
                if across["metric"] in told:
                    continue
                values = of_list(result, str(data), kind, across["metric"])
                added += [
                    {**same, **own, "data": data, name: kind, **across, "seed": seed, "value": value}
                    for seed, value in values.items()
                    if seed in seeds or seeds == {None}
                ]
    return added


def _places(rows: Sequence[Row], top: Sequence[str], *, extra: bool) -> Iterator[dict[str, Any]]:
    """The columns of a table that a list has a number for: one dict of the columns across for each."""
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if row["metric"] in MEASURED:
            across = {"metric": row["metric"], **{column: row.get(column) for column in top}}
            seen.setdefault(tuple(map(str, across.values())), across)
    yield from seen.values()
    if extra and seen:
        here = {across["metric"] for across in seen.values()}
        yield from ({"metric": name} for name in (SHOWN, *(() if here & {*COUNTS} else ("mean count@10",))))


def _only_metrics(result: Result, arguments: dict[str, Any]) -> bool:
    """Whether nothing but the metrics stands across."""
    return tuple(arguments.get("columns") or result.layout.get("columns", ("metric",))) == ("metric",)


def is_list(row: Row) -> bool:
    """Whether a row is one of a list without a model."""
    return any(row.get(column) in LISTS for column in NAMED)


def of_list(result: Result, data: str, kind: str, metric: str) -> dict[int, float]:
    """Seed -> what a list has in a metric, on the data and the split of a result; {} where none fits."""
    split = next((name for start, name in SPLITS.items() if result.id.startswith(start)), "")
    base, factor = MEASURED.get(metric, (metric, 1.0))
    hashes = [entry["sha256"] for entry in result.provenance.get("data", []) if entry["name"] == data]
    found = [_lists().get((sha, split, kind, base), {}) for sha in hashes]
    return {seed: factor * value for values in found for seed, value in values.items()}


@cache
def _lists() -> dict[tuple[str, str, str, str], dict[int, float]]:
    """LISTS-X1 by hash of the data, split, list and metric; empty where it is not stored, as beside a wheel."""
    try:
        stored = load_result("LISTS-X1", "laptop")
    except FileNotFoundError:
        return {}
    hashes = {entry["name"]: entry["sha256"] for entry in stored.provenance["data"]}
    found: dict[tuple[str, str, str, str], dict[int, float]] = {}
    for row in stored.rows:
        place = (hashes[row["data"]], row["split"], row["list"], row["metric"])
        found.setdefault(place, {})[row["seed"]] = row["value"]
    return found
