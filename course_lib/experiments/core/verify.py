"""Runs some cells of a stored result again, compares every number, and vouches for the result where they agree.

A change of code that should change no number (a new name, a new message) makes every result stale all the same. To
make all of them again takes hours; a few cells of each, drawn at random, take minutes. What agrees to DIGITS digits in
all of them is vouched for: the result keeps the hash of today's code, and which of its cells were run again. Runs of
other cells with the same code add up; what older code gave counts no more. The bar is a tenth of the short cells, which
is the default, and one of the longer ones (`--beyond`): `lacking` says what a result lacks of it.

Another kind of processor may move a number of a long training by itself. Then the code of before, in a checkout of its
own, can be run on the same machine in place of the stored numbers (`--against`).
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib import checking
from course_lib.experiments.core import code, registry
from course_lib.experiments.core.provenance import digest, git_state, results_folder
from course_lib.experiments.core.results import Result, load_result
from course_lib.experiments.core.summary import Row, part

DIGITS = 6
SHARE, SHORT = 0.1, 120.0  # the bar: of the cells of at most so many seconds, and one of the longer ones
FLOOR = 1e-4  # what is smaller is compared as if it were this large: rounding alone makes a zero
MEASURED = re.compile(r"(^|\s)(seconds|ms|GB)$")  # what a machine measures: another number every time


@dataclass
class Verdict:
    """What running cells again gave: how many of how many, the largest relative difference, and what disagrees."""

    cells: int
    of: int
    numbers: int = 0
    worst: float = 0.0
    problems: list[str] = field(default_factory=list)
    against: str | None = None  # the commit whose code was run beside today's, where it was not the stored numbers
    tolerance: float = 10.0**-DIGITS  # the relative difference that agrees
    elsewhere: str | None = None  # the device of a run again on one of another kind
    which: list[str] = field(default_factory=list)  # the digests of the cells that were run again

    def __bool__(self) -> bool:
        return bool(self.numbers) and not self.problems

    def __str__(self) -> str:
        said = f"{self.cells} of {self.of} cells run again, {self.numbers} numbers, worst difference {self.worst:.1g}"
        said += f" on {self.elsewhere}, {self.tolerance:g} allowed" if self.elsewhere else ""
        return "; ".join([said, *self.problems[:3]])


def stored(names: Iterable[str] = (), scale: str | None = None) -> Iterator[Result]:
    """The stored results, in the order of the registry: those of `names` (default all) at one scale (default any)."""
    wanted = list(names) or registry.names()
    for name in wanted:
        registry.get(name)
        for one in registry.SCALES if scale is None else (scale,):
            if (results_folder() / f"{name}-{one}.json").is_file():
                yield load_result(name, one)


def stored_cells(result: Result) -> list[registry.Cell]:
    """The cells of an experiment's plan of which a stored result has rows, as `cells_of_rows` says.

    A cell that another device made than most of the result has the name of that device, from its rows.
    """
    seeds = result.provenance.get("seeds") or _seeds_inside(result) or (0,)
    cells = registry.cells_of(result.id, result.scale, seeds, **device_of(result))
    owners = cells_of_rows(result.rows, cells)
    devices = [part(row, "device") if "device" in row else {} for row in result.rows]
    found = {at: device for device, own in zip(devices, owners, strict=True) for at in own}
    return [{**cell, **found[at]} for at, cell in enumerate(cells) if at in found]


def _seeds_inside(result: Result) -> list[int]:
    """The seeds of a result whose cells each hold several: those in rows of cells that take the seeds of the run."""
    plan = registry.cells_of(result.id, result.scale, (0,))
    owners = cells_of_rows(result.rows, plan)
    asked = [any(plan[at].get("seeds") == [0] for at in own) for own in owners]
    return sorted(
        {row["seed"] for row, own in zip(result.rows, asked, strict=True) if own and row.get("seed") is not None}
    )


def device_of(result: Result) -> dict[str, Any]:
    """The option `device` of a result's run: that of its first hardware, where the experiment takes one."""
    devices = [machine.get("device") or "cpu" for machine in result.provenance.get("hardware", [])]
    return {"device": devices[0]} if devices and "device" in registry.options_of(result.id) else {}


def cells_of_rows(rows: list[Row], cells: list[registry.Cell]) -> list[set[int]]:
    """For each row the places of the cells that it may belong to.

    A row belongs to a cell when they agree in all that both say and in which the cells of the plan differ; where
    several do, to those that say least beyond the row. Where none does, null in a cell says nothing.
    """
    written = [{key: json.dumps(value, sort_keys=True) for key, value in cell.items()} for cell in cells]
    telling = {key for one in written for key in one if any(other.get(key) != one[key] for other in written)}

    @cache
    def places(text: str) -> set[int]:
        row = {key: json.dumps(value, sort_keys=True) for key, value in json.loads(text).items()}

        def agreeing(*silent: str) -> dict[int, int]:
            return {
                at: len(telling & one.keys() - row.keys())
                for at, one in enumerate(written)
                if all(one.get(key, "null") in (row[key], *silent) for key in row)
            }

        beyond = agreeing() or agreeing("null")
        return {at for at, more in beyond.items() if more == min(beyond.values())}

    return [places(json.dumps({key: row[key] for key in sorted(telling & row.keys())})) for row in rows]


def drawn_cells(
    groups: Mapping[Any, list[int]], done: Set[int], rng: np.random.Generator, *, cells: int, share: float
) -> list[int]:
    """Some cells of each group: `cells`, or as many as `done` lacks to the share; those that `done` has come last.

    groups: data set -> the places of its cells; done: those that were run again before, with the same code.
    """
    drawn = []
    for group in groups.values():
        lacking = math.ceil(share * len(group)) - len(done & {*group})
        new, old = ([at for at in group if (at in done) == was] for was in (False, True))
        order = [part[at] for part in (new, old) for at in rng.permutation(len(part))]
        drawn += order[: max(cells, lacking)]
    return drawn


def verify(
    result: Result,
    *,
    cells: int = 1,
    share: float = SHARE,
    seconds: float = SHORT,
    beyond: float = 0,
    rng: np.random.Generator,
    against: Path | None = None,
    tolerance: float | None = None,
) -> Verdict:
    """Runs cells of each data set of a stored result again, drawn among those estimated at most `seconds` long.

    cells, share: so many of them at least, and more until this share was run again, by this run and those before with
    the same code.
    beyond: where none of the longer ones was, the shortest of them as well, if it is estimated at most so long.
    tolerance: the relative difference that is allowed on another machine: where a GPU made a cell and none is here, or
    on a processor that rounds otherwise. What agrees to that only is vouched for to that only.
    against: a checkout of the code that made the result, or for which it was vouched; today's numbers are compared with
    those that it gives here, where there is no GPU on the processor. Without it, what a GPU made needs one, or an
    experiment that says what another device must give again (`Experiment.elsewhere`). Returns a verdict that is true
    when there was a cell to run and every number agrees.
    """
    checking.whole(cells, "cells")
    checking.generator(rng)
    experiment, all_cells = registry.get(result.id), stored_cells(result)
    verdict, elsewhere = Verdict(0, len(all_cells)), set[int]()
    if tolerance is not None:
        verdict.tolerance = checking.real(tolerance, "tolerance", above=0, below=1)
    if not torch.cuda.is_available():
        elsewhere = {at for at, cell in enumerate(all_cells) if cell.get("device") == "cuda"}
    alike = [digest(cell) for cell in all_cells]
    part_of = experiment.elsewhere or (None if tolerance is None else lambda cell: (cell, tolerance))
    if elsewhere and against is None and part_of is not None:
        for at in elsewhere:
            all_cells[at], verdict.tolerance = part_of({**all_cells[at], "device": "cpu"})
        verdict.elsewhere = "the processor"
    elif against is not None:
        all_cells = [{**cell, "device": "cpu"} if at in elsewhere else cell for at, cell in enumerate(all_cells)]
    elif len(elsewhere) == len(all_cells):
        verdict.problems.append("made on a GPU, and torch finds none here")
        return verdict
    groups: dict[Any, list[int]] = {}
    longer: dict[int, float] = {}
    for at, cell in enumerate(all_cells):
        if at in elsewhere and against is None and part_of is None:
            continue
        if (needed := experiment.estimate(cell)) <= seconds:
            groups.setdefault(cell.get("data"), []).append(at)
        else:
            longer[at] = needed
    before_now = set(_vouched_cells(result))
    done = {at for at, name in enumerate(alike) if name in before_now}
    drawn = drawn_cells(groups, done, rng, cells=cells, share=share)
    if longer and not done & {*longer} and min(longer.values()) <= beyond:
        drawn.append(min(longer, key=lambda at: longer[at]))
    verdict.cells, verdict.which = len(drawn), [alike[at] for at in drawn]
    if not drawn:
        verdict.problems.append(f"no cell of at most {max(seconds, beyond):g} s")
    if against is not None:
        verdict.against = git_state(against)["commit"]
    owners = cells_of_rows(result.rows, all_cells)
    for at in drawn:
        before, wanted = result.rows, [row for row, owner in zip(result.rows, owners, strict=True) if owner == {at}]
        if against is not None:
            before = wanted = _given_by(against, result, all_cells[at])
        if at in elsewhere and against is None:  # a part of the cell, which need not make all of its looks
            before, wanted = wanted, []
        compare(before, json.loads(json.dumps(experiment.run_cell(all_cells[at]))), verdict, wanted=wanted)
    return verdict


BEFORE = """
import json, sys
from course_lib.experiments.core import registry
experiment = registry.get(sys.argv[1])
rows = experiment.run_cell(json.loads(sys.argv[2]))
print(json.dumps(rows))
"""


def _given_by(folder: Path, result: Result, cell: registry.Cell) -> list[Row]:
    """The rows of a cell by the code in another checkout; ValueError where that is not the code of the result."""
    command = [sys.executable, "-c", BEFORE, result.id, json.dumps(cell)]
    paths = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"the code in {folder} fails on a cell of {result.id}: {done.stderr.strip()[-300:]}")
    made_by = code.code_in(folder, registry.get(result.id).module)
    vouched = result.provenance.get("vouched")
    if made_by not in [*result.provenance.get("code", []), *([vouched["code"]] if vouched else [])]:
        raise ValueError(f"the code in {folder} is not the code of the stored {result.id}; expected its checkout")
    rows: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return rows


def compare(before: Iterable[Row], now: Iterable[Row], verdict: Verdict, *, wanted: Iterable[Row] = ()) -> None:
    """Notes in the verdict how rows that were made again differ from stored ones with the same names.

    A stored number answers for one new number. wanted: the stored rows that must all be made again.
    """
    known: dict[str, list[float | None]] = {}
    for row in _looks(before, verdict):
        known.setdefault(_name(row), []).append(row["value"])
    made: set[str] = set()
    for row in _looks(now, verdict):
        made.add(_name(row))
        if MEASURED.search(row["metric"]):
            continue
        if not (values := known.get(_name(row))):
            verdict.problems.append(f"no stored number for {_name(row)}")
            continue
        differences = [_difference(row["value"], value) for value in values]
        nearest = min(differences)
        stored_value = values.pop(differences.index(nearest))
        verdict.numbers += 1
        verdict.worst = max(verdict.worst, nearest)
        if nearest > verdict.tolerance:
            verdict.problems.append(f"{row['value']} now, {stored_value} stored, for {_name(row)}")
    lacking = [name for row in _looks(wanted, verdict) if (name := _name(row)) not in made]
    verdict.problems.extend(f"not made again: {name}" for name in dict.fromkeys(lacking))


def _looks(rows: Iterable[Row], verdict: Verdict) -> Iterator[Row]:
    """The rows, and one for each look of those that were followed along a run, whose ends another device may leave."""
    for row in rows:
        rest = {key: value for key, value in row.items() if key != "path"}
        if "path" not in row or not verdict.elsewhere:
            yield rest
        rest.pop("stopped", None)
        for at, value in enumerate(row.get("path", ())):
            yield {**rest, "look": at, "value": value}


def _name(row: Row) -> str:
    """All that a row says but its number, the paper's, its device, and what a machine measured."""
    left_out = {"value", "paper", "device"}
    said = {key: value for key, value in row.items() if key not in left_out and not MEASURED.search(key)}
    return json.dumps(said, sort_keys=True)


def _difference(one: float | None, other: float | None) -> float:
    """|a - b| / max(|a|, |b|, FLOOR); 0 for two that are missing, infinity for one that is missing or no number."""
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return abs(one - other) / max(abs(one), abs(other), FLOOR)


def _vouched_cells(result: Result) -> list[str]:
    """The digests of the cells that were run again with today's code."""
    vouched = result.provenance.get("vouched") or {}
    same = vouched.get("code") == code.code_of(registry.get(result.id).module)
    return list(vouched.get("which", [])) if same else []


def vouch(result: Result, verdict: Verdict) -> Result:
    """The result, saying that it is vouched for; ValueError where the verdict does not.

    Cells that were run again before, with the same code, stay counted.
    """
    if not verdict:
        raise ValueError(f"{result.id} is not vouched for: {verdict}")
    which = sorted({*_vouched_cells(result), *verdict.which})
    result.provenance["vouched"] = {
        "code": code.code_of(registry.get(result.id).module),
        "cells": max(len(which), verdict.cells),
        **({"which": which} if which else {}),
        "of": verdict.of,
        "numbers": verdict.numbers,
        "worst": verdict.worst,
        "git": git_state(),
        "on": datetime.now(UTC).date().isoformat(),
        **({"against": verdict.against} if verdict.against else {}),
        **({"on a": verdict.elsewhere} if verdict.elsewhere else {}),
        **({"to": verdict.tolerance} if verdict.tolerance > 10.0**-DIGITS else {}),
    }
    return result


def lacking(result: Result) -> str:
    """What a result lacks of the bar, in words: SHARE of the short cells run again with today's code, and a longer one.

    The empty text where it lacks nothing.
    """
    estimate, done = registry.get(result.id).estimate, set(_vouched_cells(result))
    needed = {digest(cell): estimate(cell) for cell in stored_cells(result)}
    short = {name for name, seconds in needed.items() if seconds <= SHORT}
    longer = {name: seconds for name, seconds in needed.items() if seconds > SHORT}
    said = []
    if len(short & done) < SHARE * len(short):
        said.append(f"{len(short & done)} of {len(short)} cells of at most {SHORT:g} s, expected {SHARE:.0%}: --share")
    if longer and not done & {*longer}:
        least = math.ceil(min(longer.values()))
        said.append(f"none of {len(longer)} longer cells, expected one: --beyond {least} runs the shortest")
    return "; ".join(said)


def make_again(result: Result, *, progress: bool = True) -> Result:
    """Runs the stored cells of a result whose code has changed, and goes on where a run before was stopped.

    ValueError where several devices made it: their cells are run one device after the other, as `extend` does.
    """
    if devices := {row["device"] for row in result.rows if "device" in row}:
        raise ValueError(f"{result.id} holds cells of {', '.join(devices)} too; expected a result of one device")
    seeds = result.provenance.get("seeds") or (0,)
    how: dict[str, Any] = {"seeds": seeds, "among": stored_cells(result), "progress": progress}
    return registry.run(result.id, result.scale, **how, **device_of(result))
