"""The registry of experiments, and the runner: a run is a list of independent cells, each stored when it is finished.

An experiment has a plan and a cell function. `plan(scale, seeds, **options)` lists the cells, each a dict of plain
values (a TypedDict of the experiment) that says everything its outcome depends on; `run_cell(cell)` returns the rows of
one cell. A finished cell is stored under the SHA-256 of (experiment, the cell, the data it uses) with the hash of the
code that made it, so that a killed run goes on where it stopped, two scales share the cells that they have in common,
and a cell is run again when its code has changed (`core.code`).

An experiment of paper P3 is registered when `course_lib.experiments.p3` is imported, which is when it is asked for.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from tqdm.auto import tqdm

from course_lib import checking, outputs
from course_lib.experiments.core import code, dealt
from course_lib.experiments.core import rules as constitution
from course_lib.experiments.core.provenance import (
    cells_folder,
    digest,
    hardware,
    provenance,
    read_json,
    results_folder,
    write_json,
)
from course_lib.experiments.core.results import Layout, Result, agrees
from course_lib.experiments.core.summary import Row
from course_lib.training import resumable

SCALES = ("smoke", "laptop", "full")
START = 10.0  # seconds in which the libraries and the data are loaded, however short the cells are
CELLS = "the folder of finished cells (COURSE_CACHE)"
PACKAGE = __name__.removesuffix(".core.registry")
Cell = Mapping[str, Any]  # any experiment's cell; each experiment has a TypedDict of its own
Seeds = tuple[int, ...]
C = TypeVar("C", bound=Cell)
Plan = Callable[..., list[C]]


@dataclass(frozen=True)
class Experiment(Generic[C]):
    """One registered experiment; `module` is where its code is, the root of what its outcome depends on.

    elsewhere: the part of a cell that a device of another kind must give again, and the relative difference allowed;
    without it, what a GPU made is compared on a GPU alone. rules: what it keeps of the rules of comparing, None where
    it does not say.
    """

    id: str
    title: str
    plan: Plan[C]
    run_cell: Callable[[C], list[Row]]
    estimate: Callable[[C], float]
    describe: Callable[[C], dict[str, Any]]
    finish: Callable[[list[Row]], dict[str, float]]
    layout: Layout = field(default_factory=Layout)
    module: str = ""
    elsewhere: Callable[[C], tuple[C, float]] | None = None
    rules: constitution.Rules | None = None


REGISTRY: dict[str, Experiment[Any]] = {}
# What cells of an experiment share and a queue makes first, once: a function, and the stages of its arguments.
AHEAD: dict[str, tuple[Callable[[Any], None], Callable[[list[Any]], Iterator[list[Any]]]]] = {}


def experiment(
    name: str,
    title: str,
    *,
    plan: Plan[C],
    estimate: Callable[[C], float],
    describe: Callable[[C], dict[str, Any]],
    finish: Callable[[list[Row]], dict[str, float]],
    layout: Layout | None = None,
    elsewhere: Callable[[C], tuple[C, float]] | None = None,
    rules: constitution.Rules | None = None,
) -> Callable[[Callable[[C], list[Row]]], Callable[[C], list[Row]]]:
    """Registers the decorated cell function under the id `name`; the rest are the fields of `Experiment`."""

    def register(run_cell: Callable[[C], list[Row]]) -> Callable[[C], list[Row]]:
        if name in REGISTRY:
            raise ValueError(f"experiment {name!r} is registered twice")
        here = run_cell.__module__
        told = (name, title, plan, run_cell, estimate, describe, finish, layout or {}, here, elsewhere)
        REGISTRY[name] = Experiment(*told, rules or constitution.OLDER.get(name))
        return run_cell

    return register


def papers() -> list[str]:
    """The papers that have experiments here: the modules beside `core`."""
    found = pkgutil.iter_modules(import_module(PACKAGE).__path__)
    return sorted(module.name for module in found if module.name != "core")


def names() -> tuple[str, ...]:
    """The ids of all experiments, paper by paper, E2 before E10."""
    for paper in papers():
        import_module(f"{PACKAGE}.{paper}")
    return tuple(sorted(REGISTRY, key=lambda name: [part.zfill(4) for part in re.split(r"(\d+)", name)]))


def get(name: str) -> Experiment[Any]:
    """The experiment of this id; ValueError lists those that there are."""
    paper = name.partition("-")[0].lower()
    if name not in REGISTRY and paper in papers():
        import_module(f"{PACKAGE}.{paper}")
    if name not in REGISTRY:
        raise ValueError(f"experiment {name!r} does not exist; expected one of {', '.join(names())}")
    return REGISTRY[name]


def cells_of(
    name: str, scale: str = "smoke", seeds: Iterable[int] = (0,), only: Cell | None = None, **options: Any
) -> list[Any]:
    """The cells of a run; `only` keeps those that agree with its keys (a list of values allows several)."""
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}; expected one of {SCALES}")
    seeds = tuple(checking.whole(seed, "seeds", 0) for seed in seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds: got {seeds}; expected one or more whole numbers from 0 on, each once")
    check_options(name, options)
    chosen, data = get(name), options.get("data")
    try:
        cells = chosen.plan(scale, seeds, **options)
    except KeyError:  # of a plan that looks the data up
        cells = []
    if data is not None and not any(cell.get("data") == data for cell in cells):
        raise _no_data(chosen, data, (scale,))
    return chosen_cells(cells, only or {}, f"{name} at {scale} scale")


def _no_data(chosen: Experiment[Any], data: str, scales: Iterable[str]) -> ValueError:
    known = dict.fromkeys(cell["data"] for scale in scales for cell in chosen.plan(scale, (0,)))
    return ValueError(f"data is {data!r}, which {chosen.id} does not run on; expected one of {', '.join(known)}")


def chosen_cells(cells: list[Any], only: Cell, of: str) -> list[Any]:
    """The cells that agree with the values of `only`; ValueError names a value that no cell has."""
    for key, value in only.items():
        if not any(key in cell for cell in cells):
            raise ValueError(f"only: no cell of {of.split()[0]} has {key!r}; expected one of {sorted(cells[0])}")
        there = ", ".join(map(repr, dict.fromkeys(str(cell.get(key)) for cell in cells)))
        cells = [cell for cell in cells if agrees(cell.get(key), value)]
        if not cells:
            raise ValueError(f"only: no cell of {of} has {key} {value!r}; expected one of {there}")
    return cells


def options_of(name: str) -> list[str]:
    """The options that the plan of an experiment knows."""
    plan = get(name).plan
    parameters = inspect.signature(plan).parameters.values()
    known = [one.name for one in parameters if one.kind != one.VAR_KEYWORD and one.name not in {"scale", "seeds"}]
    if any(one.kind == one.VAR_KEYWORD for one in parameters):  # which go into its cells
        known += [key for key in plan("smoke", (0,))[0] if key not in {"seed", *known}]
    return known


def check_options(name: str, options: Iterable[str]) -> None:
    """ValueError for an option that the plan of an experiment does not know."""
    known = options_of(name)
    for option in options:
        if option not in known:
            there = f"expected {' or '.join(known)}" if known else f"{name} has no options"
            raise ValueError(f"option {option!r} is none of {name}: {there}")


def run(
    name: str,
    scale: str = "smoke",
    seed: int = 0,
    *,
    seeds: Iterable[int] | None = None,
    only: Cell | None = None,
    among: Collection[Cell] | None = None,
    collect: bool = False,
    store: str | Path | None = None,
    progress: bool = True,
    devices: int | None = None,
    share: dealt.Share = dealt.ALONE,
    **options: Any,
) -> Result:
    """Runs an experiment, or goes on with it, and returns its result (which `Result.save` writes).

    seeds: several instead of `seed`; only: run only the cells that agree with these values; among: run and gather only
    these; collect: run nothing, gather what is stored; store: folder of finished cells (default
    ~/.cache/two-tower-course/cells); devices: how many processes share the cells (default: COURSE_DEVICES, or 1), or
    where the experiment is about processes, how many of them a cell has; share: that of this process, where torchrun
    has started several; options: the experiment's own; device: at full scale "cuda" where there is a GPU, else "cpu".
    A stored cell counts while its code is unchanged, or the stored result of this experiment is vouched for.
    """
    chosen, seeds, devices = get(name), tuple(seeds) if seeds is not None else (seed,), dealt.wanted(devices)
    if devices is not None and "devices" in inspect.signature(chosen.plan).parameters:
        options, devices = options | {"devices": devices}, 1
    before = stored_provenance(name, scale)
    codes = code.accepted(code.code_of(chosen.module), before)
    if among is None and scale == "full" and "device" in options_of(name) and "device" not in options:
        options |= {"device": _device(share, f"{name} {scale} device")}
    planned, folder = cells_of(name, scale, seeds, None, **options), Path(store or cells_folder())
    wanted = planned if only is None else cells_of(name, scale, seeds, only, **options)
    wanted = wanted if among is None else [cell for cell in wanted if cell in among]
    plan, unavailable = _with_data(chosen, planned, folder)
    missing = [
        (cell, path)
        for place, (cell, path) in enumerate(plan)
        if share.mine(place) and not collect and cell in wanted and not finished_cell(path, codes)
    ]
    if missing:
        outputs.folder(folder, CELLS)
    if progress:
        _announce(chosen, scale, len(planned), [cell for cell, _ in missing], unavailable, share.size)
    for _ in tqdm(
        _runs(chosen, missing, devices), name, len(missing), unit="cell", disable=not progress or not missing
    ):
        pass
    if share.size > 1:
        _exchange(share, f"{name} {scale}", plan, codes)
    gathered = [path for cell, path in plan if among is None or cell in among]
    finished = [record for path in gathered if (record := finished_cell(path, codes))]
    result = assemble(chosen, scale, len(planned), finished, unavailable)
    if any(record.get("code") != codes[0] for record in finished):
        result.provenance["vouched"] = (before or {})["vouched"]
    return result


def _device(share: dealt.Share, key: str) -> str:
    """Where a run at full scale computes: on a GPU where torch finds one. Under torchrun the first process decides."""
    own = "cuda" if torch.cuda.is_available() else "cpu"
    return share.exchanged(key, own)[0] if share.size > 1 else own


def stored_provenance(name: str, scale: str) -> dict[str, Any] | None:
    """The provenance of the stored result of an experiment, None where there is none."""
    path = results_folder() / f"{name}-{scale}.json"
    found: dict[str, Any] = read_json(path)["provenance"] if path.is_file() else {}
    return found or None


def codes_of(name: str, scale: str) -> list[code.Code | None]:
    """The codes whose finished cells count: today's, and what the stored result is vouched for."""
    return code.accepted(code.code_of(get(name).module), stored_provenance(name, scale))


def finished_cell(path: Path, codes: Collection[code.Code | None]) -> dict[str, Any] | None:
    """The record of a finished cell, None where there is none that one of these codes made."""
    if not path.is_file():
        return None
    record: dict[str, Any] = read_json(path)
    return record if record.get("code") in codes else None


def _with_data(
    chosen: Experiment[Any], cells: list[Cell], folder: Path
) -> tuple[list[tuple[Cell, Path]], dict[str, str]]:
    """The cells whose data is at hand with the path of each, and {data: why not} for the others.

    Raises what loading raised if there are only others.
    """
    found: list[tuple[Cell, Path]] = []
    unavailable: dict[str, str] = {}
    error: OSError | None = None
    for cell in cells:
        if cell.get("data") in unavailable:
            continue
        try:
            found.append((cell, cell_path(chosen, cell, folder)))
        except OSError as problem:  # not on this machine and not to be downloaded
            unavailable[cell["data"]], error = str(problem), problem
    if error is not None and not found:
        raise error
    return found, unavailable


def _announce(
    chosen: Experiment[Any],
    scale: str,
    planned: int,
    missing: list[Cell],
    unavailable: dict[str, str],
    processes: int,
) -> None:
    for name, why in unavailable.items():
        tqdm.write(f"{chosen.id}: the cells on {name} are left out: {why}")
    if missing:
        needed = about(sum(chosen.estimate(cell) for cell in missing))
        where = f" by process 0 of {processes}" if processes > 1 else ""
        tqdm.write(
            f"{chosen.id} at {scale} scale: {len(missing)} of {planned} cells to run{where}, {needed} on 2 cores"
        )


def _runs(chosen: Experiment[Any], missing: list[tuple[Cell, Path]], devices: int | None) -> Iterator[None]:
    """Runs the cells, in processes of their own where several are wanted."""
    if devices is not None and min(devices, len(missing)) > 1:
        tasks = ((chosen.id, cell, path) for cell, path in missing)
        yield from dealt.each_done(run_by_name, tasks, min(devices, len(missing)))
    else:
        for cell, path in missing:
            run_and_store(chosen, cell, path)
            yield


def run_by_name(name: str, cell: Cell, path: Path) -> None:
    """`run_and_store`, for another process."""
    run_and_store(get(name), cell, path)


def _exchange(share: dealt.Share, key: str, plan: list[tuple[Cell, Path]], codes: Collection[code.Code | None]) -> None:
    """Every process gets the finished cells of all."""
    own = {path.name: record for _, path in plan if (record := finished_cell(path, codes))}
    there = {path.name: path for _, path in plan}
    for text in share.exchanged(key, json.dumps(own)):
        for name, record in json.loads(text).items():
            if not finished_cell(there[name], codes):
                write_json(there[name], record)


def run_and_store(chosen: Experiment[Any], cell: Cell, path: Path) -> None:
    """Runs one cell and stores its rows with where they come from."""
    device = cell.get("device", "cpu")
    hardware(device)  # before the work: a device that is not there is refused
    made_by = code.code_of(chosen.module)
    states = path.with_suffix(".states")  # of its loops, where a kill leaves them
    with resumable.kept(states / made_by["hash"]) as place:
        rows = chosen.run_cell(cell)
    record = {"cell": cell, "rows": rows, "data": chosen.describe(cell), "seconds": place.seconds, "code": made_by}
    write_json(path, record | provenance(device))
    shutil.rmtree(states, ignore_errors=True)


def cell_path(chosen: Experiment[Any], cell: Cell, folder: Path) -> Path:
    """Where a finished cell is stored: its name is the hash of all that its outcome depends on but the code."""
    try:
        data = chosen.describe(cell)["sha256"]
    except KeyError:  # no recipe has this name
        raise _no_data(chosen, cell["data"], SCALES) from None
    key = {"id": chosen.id, "cell": cell, "data": data}
    return folder / chosen.id / f"{digest(key)}.json"


def assemble(
    chosen: Experiment[Any],
    scale: str,
    planned: int,
    finished: list[dict[str, Any]],
    unavailable: dict[str, str] | None = None,
) -> Result:
    """The rows of the finished cells in the order of the plan, with the provenance of all of them."""
    rows = [row for record in finished for row in record["rows"]]
    data = {record["data"]["sha256"]: record["data"] for record in finished}
    origin = {
        "scale": scale,
        "seeds": sorted({record["cell"]["seed"] for record in finished if "seed" in record["cell"]}),
        "data": list(data.values()),
        "seconds": round(sum(record["seconds"] for record in finished), 2),
        "cells": {"planned": planned, "finished": len(finished)},
        "code": distinct(record["code"] for record in finished if record.get("code")),
        **{key: distinct(record[key] for record in finished) for key in ("versions", "hardware", "git")},
        "unavailable": sorted(unavailable or {}),
        "finished": max((record["finished"] for record in finished), default=None),
    }
    scalars = chosen.finish(rows) if rows else {}
    return Result(chosen.id, scale, chosen.title, rows, scalars, origin, chosen.layout)


def distinct(values: Iterable[Any]) -> list[Any]:
    """The different values in order of appearance: one when the whole run came from one machine and one commit."""
    return list({json.dumps(value, sort_keys=True): value for value in values}.values())


def about(seconds: float) -> str:
    """How long a run takes whose cells take so many seconds: "under a minute", "about 5 min", "about 2.0 h"."""
    needed = START + seconds
    if needed < 60:  # a busy machine doubles it, so more digits would promise too much
        return "under a minute"
    return f"about {needed / 60:.0f} min" if needed < 5400 else f"about {needed / 3600:.1f} h"
