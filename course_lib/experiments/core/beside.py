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
    "best map@10": ("map@10", 1.0),
    "NDCG dot": ("ndcg@10", 1.0),
    "NDCG cos": ("ndcg@10", 1.0),
    "recall dot": ("recall@10", 1.0),
    "recall cos": ("recall@10", 1.0),
    **{f"P@{k}": (f"precision@{k}", 100.0) for k in (1, 5, 25)},
    **{f"R@{k}": (f"recall@{k}", 100.0) for k in (1, 5, 25)},
}
COUNTS = ("AvgPop@10", "AvgPop dot", "AvgPop cos", "mean count@10")  # mean counts, of lists of ten
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
        text = f"on {display.text_of(self.data)} {_count(self.above)} of {self.numbers} numbers {over}"
        return f"{text}, and {_count(self.below)} below"


def html(result: Result, **arguments: Any) -> str:
    """`Result.to_html` with the rows of the lists, and the sentence on who beats them."""
    _stored(result)
    rows = chosen(result, arguments)
    added = list_rows(result, rows, arguments)
    if not added:
        why = missing(result, rows)
        return result.to_html(**arguments) + (f'<p class="lists">{escaping.escape(why)}</p>' if why else "")
    layout = {"rows": arguments.get("rows"), "columns": arguments.get("columns"), "digits": arguments.get("digits")}
    whole = replace(result, rows=[*rows, *added], layout=cast(Layout, {**result.layout, "metrics": ()}))
    found = against(result, **arguments)
    more = NO_COVERAGE if _only_metrics(result, arguments) else _shown_by(result, found)
    said = f'<p class="lists">{escaping.escape(_counted(found) + more)}</p>' if found else ""
    return whole.to_html(**{key: value for key, value in layout.items() if value is not None}) + said


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
    names = [row["metric"] for row in rows if row["metric"] in ACCURACY]
    if not names or not list_rows(result, rows, arguments):
        return []
    base = ACCURACY[names[0]]
    kinds = {name for name in names if ACCURACY[name] == base}
    found = []
    for data in dict.fromkeys(row.get("data") for row in rows):
        held = {name: of_list(result, str(data), name, *base) for name in LISTS[:2]}
        held = {name: values for name, values in held.items() if values}
        mine = [row for row in rows if row["metric"] in kinds and row.get("data") == data and not is_list(row)]
        numbers = [
            [(value, seed) for value, seed in group if any(seed in values for values in held.values())]
            for group in _by_cell(mine)
        ]
        numbers = [group for group in numbers if group]
        if not held or not numbers:
            continue
        seeds = sorted({seed for group in numbers for _, seed in group})
        best = max(held, key=lambda name: float(np.mean([held[name][seed] for seed in seeds])))
        gains = [[value - held[best][seed] for value, seed in group] for group in numbers]
        found.append(
            Against(
                str(data),
                names[0],
                best,
                float(np.mean([held[best][seed] for seed in seeds])),
                len(numbers),
                sum(min(group) > 0 for group in gains),
                sum(max(group) < 0 for group in gains),
                len(seeds),
            )
        )
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
    name = next((column for column in NAMED if any(column in row for row in rows) and column in left), None)
    if name is None:
        name = next((column for column in NAMED if any(column in row for row in rows)), "model")
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
                base, factor = _measured(across["metric"])
                values = of_list(result, str(data), kind, base, factor)
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
        if row["metric"] in ACCURACY or row["metric"] in COUNTS:
            across = {"metric": row["metric"], **{column: row.get(column) for column in top}}
            seen.setdefault(tuple(map(str, across.values())), across)
    yield from seen.values()
    if extra and seen:
        here = {across["metric"] for across in seen.values()}
        yield from ({"metric": name} for name in (SHOWN, *(() if here & {*COUNTS} else ("mean count@10",))))


def _measured(metric: str) -> tuple[str, float]:
    if metric in ACCURACY:
        return ACCURACY[metric]
    return ("mean count@10" if metric in COUNTS else metric), 1.0


def _only_metrics(result: Result, arguments: dict[str, Any]) -> bool:
    """Whether nothing but the metrics stands across."""
    return tuple(arguments.get("columns") or result.layout.get("columns", ("metric",))) == ("metric",)


def is_list(row: Row) -> bool:
    """Whether a row is one of a list without a model."""
    return any(row.get(column) in LISTS for column in NAMED)


def _by_cell(rows: Sequence[Row]) -> list[list[tuple[float, int]]]:
    """(value, seed) of the numbers of one cell, cell by cell."""
    cells: dict[str, list[tuple[float, int]]] = {}
    for row in rows:
        where = {key: row[key] for key in row if key == "metric" or key not in NOT_WHERE}
        if row.get("value") is not None:
            cells.setdefault(str(sorted(where.items(), key=str)), []).append((row["value"], row.get("seed", 0)))
    return list(cells.values())


def _count(number: int) -> str:
    return str(number) if number else "none"


def of_list(result: Result, data: str, kind: str, metric: str, factor: float = 1.0) -> dict[int, float]:
    """Seed -> what a list has in a metric of LISTS-X1, on the data and the split of a result; {} where none fits."""
    split = next((name for start, name in SPLITS.items() if result.id.startswith(start)), "")
    hashes = {entry["sha256"] for entry in result.provenance.get("data", []) if entry["name"] == data}
    names = {name for sha, name in _data_of_lists() if sha in hashes}
    found: dict[int, float] = {}
    for name in names:
        found |= {seed: factor * value for seed, value in _numbers().get((name, split, kind, metric), {}).items()}
    return found


@cache
def _lists() -> Result:
    """LISTS-X1; without rows where it is not stored, as beside an installed wheel."""
    try:
        return load_result("LISTS-X1", "laptop")
    except FileNotFoundError:
        return Result("LISTS-X1", "laptop", "not stored", [], {}, {"data": []})


@cache
def _data_of_lists() -> list[tuple[str, str]]:
    return [(entry["sha256"], entry["name"]) for entry in _lists().provenance["data"]]


@cache
def _numbers() -> dict[tuple[str, str, str, str], dict[int, float]]:
    found: dict[tuple[str, str, str, str], dict[int, float]] = {}
    for row in _lists().rows:
        found.setdefault((row["data"], row["split"], row["list"], row["metric"]), {})[row["seed"]] = row["value"]
    return found
