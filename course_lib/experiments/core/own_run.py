"""Runs of experiments on data, or with functions, of one's own: `experiments run P3-T5 --data my.csv --with loss.py`.

A paper's experiments open a `Door`: whose cells are the pattern, what a set must have for them, which functions they
take. The cells of the pattern get the own data in place of theirs; the rest is the run that everybody has. Beside the
rows stand lists without a model, and each number is compared with a baseline of its own seed: `intervals`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import stats

from course_lib import metrics, popularity
from course_lib.experiments.core import beside, own, own_data, registry
from course_lib.experiments.core.data import Recipes
from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import Row, tidy
from course_lib.interactions import Interactions

Parts = Callable[[str, int], tuple[Interactions, ...]]  # data, seed -> train, test; with known between if it is more
LATELY = 0.1
OWN_COST = 4.0  # times the pattern's seconds, of a cell with an own function: gradients by autograd
BASE_GB, COPIES = 0.6, 12  # torch and the libraries; tables of float64: parameters, gradients, moments, best state
SAID = 0.05
COMPARED = ("mean", "against", "difference", "low", "high", "Holm p", "said")
DAY, UNITS = 86_400.0, " or ".join(own_data.UNITS)


@dataclass(frozen=True)
class Door:
    """What an experiment says to somebody who comes with data or functions of their own.

    like: the set of each scale whose cells are the pattern, and how many pairs it has; takes: kinds of functions, with
    `enter(cells, file)`, which puts them into the cells; needs, wishes: what a set must, and should have; adapt(cells,
    data, scale): grids and budgets by stated rules; parts: what its lists are made from, leave out, and are to find,
    None where it has lists of its own; main: the rows that are compared, none where it has intervals of its own;
    against: what their baseline has in place of their own values; run_cell: for cells with an own function.
    """

    id: str
    recipes: Recipes
    like: Mapping[str, tuple[str, int]]
    parts: Parts | None = None
    main: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    against: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    named: str = ""  # the column in which the lists stand
    places: Sequence[Mapping[str, Any]] = ({},)  # the coordinates of the lists' rows
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    least_items: int = 1
    wishes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    adapt: Callable[[list[Any], Interactions, str], list[Any]] = lambda cells, data, scale: cells
    enter: Callable[[list[Any], own.File], list[Any]] | None = None
    run_cell: Callable[[Any], list[Row]] | None = None


DOORS: dict[str, Door] = {}


def open_door(*doors: Door) -> None:
    """Puts doors up."""
    DOORS.update({door.id: door for door in doors})


def doors() -> dict[str, Door]:
    """Every door, by experiment."""
    for file in sorted(Path(__file__).parents[1].glob("*/own.py")):
        if file.parent != Path(__file__).parent:
            import_module(f"{registry.PACKAGE}.{file.parent.name}.own")
    return DOORS


def door_of(name: str) -> Door:
    """The door of an experiment; ValueError lists those that there are."""
    registry.get(name)
    if name not in doors():
        raise ValueError(f"{name} takes no data or functions of one's own; expected one of {', '.join(sorted(DOORS))}")
    return DOORS[name]


@dataclass(frozen=True)
class Request:
    """What is asked for: a scale, seeds, an own set or None, a file with functions or None, values that cells get."""

    id: str
    scale: str
    seeds: tuple[int, ...]
    source: own_data.Source | None = None
    functions: Path | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    only: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Ready:
    """A request whose data are read and whose functions were tried."""

    door: Door
    request: Request
    file: own.File | None
    data: Interactions | None
    name: str | None  # of the own set
    cells: list[Any]
    estimate: Callable[[Any], float]

    def sentences(self) -> list[str]:
        """What there is, what is lacking, and how long and how large the run should be."""
        said = [] if self.data is None else [repr(self.data), *self._lacking()]
        if self.file is not None:
            said.append("passed: " + ", ".join(f"{one.kind} {one.name!r}" for one in self.file.found))
        seconds = sum(self.estimate(cell) for cell in self.cells)
        size = "" if self.data is None else f", {gigabytes(self.data, self.cells):.1f} GB at most"
        words = f"{registry.about(seconds)} on 2 cores"
        return [*said, f"{self.request.id}: {len(self.cells)} cells, {words}{size}"]

    def _lacking(self) -> Iterator[str]:
        assert self.data is not None
        for column, why in self.door.wishes.items():
            if not has(self.data, column):
                yield f"the set has no {column}: {why}"


def has(data: Interactions, what: str) -> bool:
    """Whether a set has times, ratings, or a column of its items."""
    return what in data.item_table if what not in ("times", "ratings") else getattr(data, what) is not None


def gigabytes(data: Interactions, cells: Sequence[Any]) -> float:
    """The memory that a run should take at most: libraries, pairs, tables, and the grid of a batch or of all pairs."""
    m, n = data.shape
    width = max(cell.get("k", cell.get("d", 64)) for cell in cells)
    side = max(min(int(np.sqrt(cell.get("ratio") or 0) * len(data)), max(m, n)) for cell in cells)
    return BASE_GB + float(200 * len(data) + 8 * COPIES * width * (m + n) + 16 * side * side) / 2**30


@contextmanager
def ready(request: Request) -> Iterator[Ready]:
    """Reads the data and tries the functions; within it they are in the experiment's tables.

    ValueError says what the set lacks, or which function does not enter this experiment.
    """
    door = door_of(request.id)
    with own.loaded(request.functions) if request.functions else nullcontext() as file:
        for one in file.found if file else ():
            if one.kind not in door.takes:
                takes = " or ".join(door.takes) or "no functions"
                where = ", ".join(sorted(key for key, other in DOORS.items() if one.kind in other.takes))
                raise one.refuse(f"{door.id} does not take it", f"{takes}; a {one.kind} enters {where}")
        data = own_data.read(request.source) if request.source else None
        for need in door.needs:
            if data is not None and not has(data, need):
                raise ValueError(f"{door.id} needs {need}, and {data.name} has none; expected --{need[:-1]} COLUMN")
        if data is not None and "times" in door.needs and data.times is not None and np.ptp(data.times) < 2 * DAY:
            span = f"{data.name} has times from {data.times.min():g} to {data.times.max():g}"
            raise ValueError(f"{door.id} needs seconds over two days or more, and {span}; expected --time-unit {UNITS}")
        if data is not None and data.n_items < door.least_items:
            raise ValueError(f"{door.id} needs {door.least_items} items, and {data.name} has {data.n_items}")
        name = None if data is None else _name(data, request, door.recipes)
        with lent(door, data, name, request):
            yield _planned(door, request, file, data, name)


_NAMES: dict[str, str] = {}  # of own sets in this process: whose pairs


def _name(data: Interactions, request: Request, recipes: Recipes) -> str:
    """The name of a set; with a mark where a paper's set, or another of this process, has it.

    Splits are remembered by name.
    """
    assert request.source is not None
    mark = hashlib.sha256(json.dumps([data.sha256, request.source.split]).encode()).hexdigest()[:6]
    taken = data.name in recipes.table or _NAMES.setdefault(data.name, mark) != mark
    return f"{data.name} {mark}" if taken else data.name


@contextmanager
def lent(door: Door, data: Interactions | None, name: str | None, request: Request) -> Iterator[None]:
    """Within it the experiment's recipes have the own set, too."""
    if data is None or name is None or request.source is None:
        yield
        return
    nothing = np.full(data.n_items, "")
    columns = {"genres": nothing, **data.item_table, "name": data.item_table.get("title", nothing)}
    with door.recipes.lent(name, request.source.recipe, dataclasses.replace(data, name=name, item_table=columns)):
        yield


def _planned(door: Door, request: Request, file: own.File | None, data: Interactions | None, name: str | None) -> Ready:
    """The pattern's cells on the own set, with the own functions and changes."""
    experiment, (pattern, pairs) = registry.get(door.id), door.like[request.scale]
    cells: list[Any] = registry.cells_of(door.id, request.scale, request.seeds)
    if name is not None:
        assert data is not None
        cells = [{**cell, "data": name} for cell in cells if cell["data"] == pattern]
        cells = door.adapt(cells, data, request.scale)
    for key, value in request.changes.items():
        if not any(key in cell for cell in cells):
            raise ValueError(
                f"--option {key}: no cell of {door.id} has it; expected one of {', '.join(sorted(cells[0]))}"
            )
        cells = [{**cell, key: value} if key in cell else cell for cell in cells]
    cells = list({json.dumps(cell, sort_keys=True): cell for cell in cells}.values())
    if file is not None and door.enter is not None:
        taken = json.dumps(cells)
        for one in file.found:
            if json.dumps(one.name) in taken:
                raise one.refuse(f"{door.id} has something of this name", "a name of its own")
        cells = door.enter(cells, file)
    cells = registry.chosen_cells(cells, request.only or {}, door.id)
    factor = 1.0 if data is None else len(data) / pairs

    def estimate(cell: Any) -> float:
        found = experiment.estimate({**cell, "data": pattern} if name is not None else cell)
        return factor * found * (OWN_COST if "own" in cell else 1.0)

    return Ready(door, request, file, data, name, cells, estimate)


def run(asked: Ready, *, progress: bool = True, store: Path | None = None) -> Result:
    """Runs what is ready, or goes on with it; the rows of the lists without a model stand first."""
    door, request, experiment = asked.door, asked.request, registry.get(asked.door.id)
    run_cell = door.run_cell or experiment.run_cell
    changed = dataclasses.replace(
        experiment,
        plan=lambda scale, seeds: asked.cells,
        estimate=asked.estimate,
        run_cell=run_cell,
        module=run_cell.__module__,
    )
    with patch.dict(registry.REGISTRY, {door.id: changed}):
        found = registry.run(door.id, request.scale, seeds=request.seeds, progress=progress, store=store)
    rows = found.rows
    if asked.name is not None:  # no paper prints a number for these data
        theirs = [{key: value for key, value in row.items() if key != "paper"} for row in rows]
        rows = [*list_rows(asked, found), *theirs]
    origin = found.provenance | {"own": _own(asked)}
    return dataclasses.replace(found, rows=rows, provenance=origin)


def _own(asked: Ready) -> dict[str, Any]:
    """What provenance says of own data and functions."""
    said: dict[str, Any] = {"split": asked.request.source.split if asked.request.source else "as published"}
    if asked.file is not None:
        said |= {"file": asked.file.path.name, "sha256": asked.file.sha256}
        said["functions"] = [f"{one.kind} {one.name}" for one in asked.file.found]
    return said | ({"changes": dict(asked.request.changes)} if asked.request.changes else {})


# ------------------------------------------------------------------------------------------------ lists without a model
def list_rows(asked: Ready, result: Result) -> list[Row]:
    """The most popular items, those popular lately where there are times, and chance, in the metrics of the result."""
    assert asked.name is not None
    door, rows = asked.door, []
    wanted = [name for name in dict.fromkeys(row["metric"] for row in result.rows) if name in beside.MEASURED]
    if not wanted or door.parts is None:
        return []
    for seed in asked.request.seeds:
        train, *rest = door.parts(asked.name, seed)
        known, test = rest if len(rest) > 1 else (train, *rest)
        for kind, tables in _lists(train, seed):
            lists = metrics.top_k(*tables, known, 25)
            found = metrics.metrics_from_ranking(lists, test, (1, 5, 10, 25))
            shown = lists[np.flatnonzero(test.row_counts), :10]
            values = {}
            for name in wanted:
                base, factor = beside.ACCURACY.get(name, ("", 1.0))
                values[name] = factor * found[base] if base else popularity.average_popularity(shown, train.col_counts)
            for place in door.places:
                rows += tidy({"data": asked.name, **place, door.named: kind, "seed": seed}, values)
    return rows


def _lists(train: Interactions, seed: int) -> Iterator[tuple[str, tuple[Any, Any]]]:
    ones = np.ones((train.n_users, 1))
    yield beside.LISTS[0], (ones, metrics.popularity_scores(train)[:, None])
    if train.times is not None:
        yield beside.LISTS[1], (ones, metrics.popularity_scores(train, lately=LATELY)[:, None])
    rng = np.random.default_rng([seed, 1])
    yield beside.LISTS[2], (rng.standard_normal((train.n_users, 32)), rng.standard_normal((train.n_items, 32)))


# ---------------------------------------------------------------------------------------------------- paired intervals
def intervals(
    result: Result, main: Mapping[str, Any], against: Mapping[str, Any], *, splits: float = 0.0
) -> pd.DataFrame:
    """Each number against its baseline of the same seed, and against the most popular items.

    main: which rows; against: what the baseline has in place of a row's own value, None where there is none. The
    intervals hold together, for 95 %, over all lines that stand against one baseline (Bonferroni); "said" is Holm's
    verdict. splits: test pairs over training pairs where each seed has another split: half widths then have
    sqrt(1/n + splits) in place of sqrt(1/n) (Nadeau and Bengio, 2003). One seed has no interval.
    """
    rows = [row for row in result.rows if all(row.get(key) == value for key, value in main.items())]
    if not rows:
        raise ValueError(f"{result.id} has no row with {dict(main)}; expected one, to compare")
    named = [
        key
        for key in dict.fromkeys(key for row in rows for key in row)
        if key not in beside.NOT_WHERE and key not in main
    ]
    cells: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in rows:
        cells.setdefault(tuple(row.get(key) for key in named), {})[row.get("seed", 0)] = row["value"]
    hits = {cell[named.index("data")]: values for cell, values in cells.items() if beside.LISTS[0] in cell}
    lines = []
    for cell, values in cells.items():
        there = dict(zip(named, cell, strict=True))
        base = cells.get(tuple({**there, **against}.get(key) for key in named)) if against else None
        for which, other in ((_words(against), base), (beside.LISTS[0], hits.get(there["data"]))):
            if other is not None and other is not values and not {*beside.LISTS} & {*cell}:
                lines.append(
                    {**there, "mean": np.mean([*values.values()]), "against": which, **_paired(values, other, splits)}
                )
    return _family(pd.DataFrame(lines).dropna(axis="columns", how="all")) if lines else pd.DataFrame()


def _words(against: Mapping[str, Any]) -> str:
    return ", ".join(str(value) for value in against.values() if value is not None) or "alone"


def _paired(values: Mapping[int, float], other: Mapping[int, float], splits: float) -> dict[str, float]:
    """The mean difference over the seeds that both have, its standard error, and its p."""
    seeds = sorted({*values} & {*other})
    differences = np.array([values[seed] - other[seed] for seed in seeds])
    n, mean = len(differences), float(differences.mean()) if len(differences) else np.nan
    error = float(differences.std(ddof=1)) * np.sqrt(1 / n + splits) if n > 1 else np.nan
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1)) if n > 1 and error > 0 else np.nan
    return {"difference": mean, "error": error, "p": p, "seeds": n}


def _family(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the ends of simultaneous intervals, and which differences are said."""
    if "error" not in table:
        return table
    parts = []
    for _, family in table.groupby("against", sort=False):
        size = int(family["p"].notna().sum())
        half = family["error"] * stats.t.ppf(1 - SAID / (2 * max(size, 1)), np.maximum(family["seeds"] - 1, 1))
        order = np.argsort(family["p"].to_numpy(), kind="stable")  # nan last, in every pandas
        holm = (family["p"].iloc[order] * np.arange(size, size - len(family), -1).clip(1)).cummax().clip(upper=1.0)
        ends = {"low": family["difference"] - half, "high": family["difference"] + half, "Holm p": holm}
        parts.append(family.assign(**ends, said=holm < SAID))
    return pd.concat(parts).drop(columns="error")


def telling(compared: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The columns of `intervals` in which its lines differ, and those that compare; and what all lines have."""
    shown = (compared.nunique(dropna=False) > 1) | compared.columns.isin(COMPARED)
    return compared.loc[:, shown], {name: compared[name].iloc[0] for name in compared.columns[~shown]}


def of_door(result: Result, door: Door, asked: Ready) -> pd.DataFrame:
    """`intervals` of a run through a door."""
    rules = registry.get(door.id).rules
    drawn_anew = asked.request.source is None or asked.request.source.split == "random"
    return intervals(result, door.main, door.against, splits=rules.splits if rules and drawn_anew else 0.0)
