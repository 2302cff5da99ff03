"""Adds seeds to a stored result without running again what it holds.

The cells that a result was made of stay on the machine that made it; a clone of the course has the result alone. While
its code holds (`core.code`), its rows stand for its cells, and only the cells of the plan that it lacks are run. They
may run on another device, whose name their rows then carry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from course_lib.experiments.core import registry
from course_lib.experiments.core.code import state
from course_lib.experiments.core.results import Result
from course_lib.experiments.core.verify import cells_of_rows, device_of


def extended(result: Result, seeds: Iterable[int], *, device: str | None = None, **how: Any) -> Result:
    """A stored result, and beside its cells those of more `seeds`, run now; `how`: as for `registry.run`.

    device: where these run, by default where the result was made.

    ValueError where its code has changed, and where a row fits several cells.
    """
    had = result.provenance.get("seeds", [])
    seeds = (*had, *(seed for seed in seeds if seed not in had))
    standing = state(result.provenance)
    if not standing.holds:
        raise ValueError(f"{result.id} cannot be extended: {standing.words}; expected a result that holds")
    made_on = device_of(result)
    runs_on = made_on if device is None else {"device": device}
    cells = registry.cells_of(result.id, result.scale, seeds, **made_on)
    owners = cells_of_rows(result.rows, cells)
    if any(len(places) != 1 for places in owners):
        raise ValueError(f"{result.id} cannot be extended: some of its rows fit no cell of its plan, or several")
    held = set().union(*owners)
    there = registry.cells_of(result.id, result.scale, seeds, **runs_on)
    new = [cell for at, cell in enumerate(there) if at not in held]
    more = registry.run(result.id, result.scale, seeds=seeds, among=new, **how, **runs_on)
    if runs_on != made_on:
        more = replace(more, rows=[{**row, **runs_on} for row in more.rows])
    rows = [(min(places), row) for places, row in zip(owners, result.rows, strict=True)]
    rows += [(min(places), row) for places, row in zip(cells_of_rows(more.rows, cells), more.rows, strict=True)]
    together = [row for _, row in sorted(rows, key=lambda one: one[0])]
    scalars, origin = registry.get(result.id).finish(together), _of_both(result.provenance, more.provenance)
    return replace(more, rows=together, scalars=scalars, provenance=origin)


def _of_both(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The provenance of a result whose cells come from two runs."""
    lists = ("data", "code", "versions", "hardware", "git")
    both: dict[str, Any] = {key: registry.distinct([*before.get(key, []), *now[key]]) for key in lists}
    cells = {**now["cells"], "finished": before["cells"]["finished"] + now["cells"]["finished"]}
    seconds = round(before["seconds"] + now["seconds"], 2)
    seeds = sorted({*before.get("seeds", []), *now["seeds"]})
    finished = max(filter(None, (before.get("finished"), now["finished"])), default=None)  # None: no cell was lacking
    kept: dict[str, Any] = {key: before[key] for key in ("vouched", "predictions") if key in before}
    return {**now, **both, "cells": cells, "seconds": seconds, "seeds": seeds, "finished": finished, **kept}
