"""A queue of runs for a GPU that is lent for some minutes: what fits is run and stored, and the next time goes on.

A queue is a file with a run a line, the most informative first, worded as for `experiments run`:

    P3-X2 --scale full --seeds 0 1 2 3 4 --only data=ml-1m pointwise=logistic
    P1-T3 --scale laptop --seeds 0 1 2 --only data=ml-1m-10core backbone=LightGCN --devices 12

Experiments estimate their cells for two cores. The device is measured first, in seconds; from then on the finished
cells say how long the others will take. A cell that would not end in time is left for the next time, and a
shorter one further down takes its place. Every cell is stored as it ends, and the result of a run after its last cell:
into the stored result of the same plan where there is one, with the device's name on the rows if that is another.

With several processes on one GPU, what cells share is made first, once (`registry.AHEAD`).

The course's own queue, experiments/queue.txt, comes after `make test-gpu`, which compares the GPU's numbers with the
processor's in a minute. The chunked softmax at B = 262,144 is no run of it: `python benchmarks/softmax.py --device
cuda` measures it (benchmarks/README.md). The practice part is not in it: its experiments have no option `device`, and
the option would change the code of all their stored results. (This stands here, as queue.txt is hashed with the code
of P2 and LISTS-X1, which lie beside it: a word there makes their results stale.)
"""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from course_lib import checking, outputs
from course_lib.experiments.core import dealt, extend, registry
from course_lib.experiments.core.code import state
from course_lib.experiments.core.provenance import cells_folder, hardware
from course_lib.experiments.core.results import Result, load_result
from course_lib.experiments.core.verify import stored_cells

DEFAULT = Path(__file__).parents[1] / "queue.txt"
SIDE, TWO_CORES = 1024, 0.13  # of the product that measures a device, and its seconds on two cores
SPARE = 5.0  # seconds for what comes after the last cell of a run


@dataclass(frozen=True)
class Run:
    """One line of a queue. only: as for `registry.run`; processes: how many share the cells, on one GPU."""

    id: str
    scale: str
    seeds: tuple[int, ...]
    only: dict[str, Any]
    processes: int = 1

    def cells(self, device: str) -> list[registry.Cell]:
        """Its cells on a device, in the order of the plan."""
        options = {"device": device} if "device" in registry.options_of(self.id) else {}
        return registry.cells_of(self.id, self.scale, self.seeds, self.only or None, **options)


@dataclass
class Queue:
    """Runs, and the minutes that they have. seen: the longest cell so far, by experiment and data: estimated, taken."""

    runs: Sequence[Run]
    minutes: float
    device: str
    say: Callable[[str], None] = print
    started: float = field(default_factory=time.monotonic)
    seen: dict[tuple[str, Any], tuple[float, float]] = field(default_factory=dict)
    speed: float = 1.0  # of the device, times two cores

    def left(self) -> float:
        """Seconds until the end."""
        return self.started + 60 * self.minutes - time.monotonic()

    def seconds(self, name: str, cell: registry.Cell) -> float:
        """How long a cell should take here: in proportion to the longest one seen; what is beyond that as measured.

        A short cell alone says little of a long one: it loads the data, and wakes the device.
        """
        estimate = registry.get(name).estimate(cell)
        longest, took = self.seen.get((name, cell.get("data")), (0.0, 0.0))
        return took * min(1.0, estimate / longest if longest else 1.0) + max(0.0, estimate - longest) / self.speed

    def note(self, name: str, cell: registry.Cell, took: float) -> None:
        """Remembers how long a cell took, unless a longer one is known."""
        estimate, place = registry.get(name).estimate(cell), (name, cell.get("data"))
        if estimate >= self.seen.get(place, (0.0, 0.0))[0]:
            self.seen[place] = estimate, took

    def work(self) -> list[Result]:
        """Runs what fits, in order; the results that were stored."""
        outputs.folder(cells_folder(), registry.CELLS)
        about = hardware(self.device)
        self.speed = device_speed(self.device)
        name = about.get("gpu", about["processor"])
        self.say(f"{name}: {self.speed:.3g} times two cores; {self.minutes:g} minutes")
        return [result for run in self.runs if (result := self._run(run)) is not None]

    def _run(self, run: Run) -> Result | None:
        missing = self._missing(run)
        all_cells, begun = len(run.cells(self.device)), self.left()
        ended = self._in_processes(run, missing) if run.processes > 1 else self._one_by_one(run, missing)
        self.say(
            f"{run.id} {run.scale}: {ended} of {len(missing)} missing cells of {all_cells} "
            f"in {begun - self.left():.0f} s; {self.left():.0f} s left"
        )
        return stored(run, self.device) if ended or (missing == [] and all_cells) else None

    def _missing(self, run: Run) -> list[tuple[registry.Cell, Path]]:
        """The cells that neither the store nor the stored result has, each with its place in the store."""
        chosen, codes = registry.get(run.id), registry.codes_of(run.id, run.scale)
        places = [(cell, registry.cell_path(chosen, cell, cells_folder())) for cell in run.cells(self.device)]
        held = held_by_result(run, self.device)
        return [
            (cell, path)
            for cell, path in places
            if json.dumps(cell, sort_keys=True) not in held and not registry.finished_cell(path, codes)
        ]

    def _one_by_one(self, run: Run, missing: list[tuple[registry.Cell, Path]]) -> int:
        ended = 0
        for cell, path in missing:
            if self.seconds(run.id, cell) + SPARE > self.left():
                continue
            begun = time.monotonic()
            registry.run_and_store(registry.get(run.id), cell, path)
            self.note(run.id, cell, time.monotonic() - begun)
            ended += 1
        return ended

    def _in_processes(self, run: Run, missing: list[tuple[registry.Cell, Path]]) -> int:
        """What the cells share first, stage by stage, then the cells; a stage is left where time gets short."""
        if run.id in registry.AHEAD and missing:
            work, stages = registry.AHEAD[run.id]
            for at, stage in enumerate(stages([cell for cell, _ in missing])):
                tasks = [(task,) for task in stage]
                done = self._while_it_fits(work, tasks, run.processes)
                self.say(f"{run.id}: stage {at}, {done} of {len(tasks)}; {self.left():.0f} s left")
                if done < len(tasks):
                    return 0
        cells = [(run.id, cell, path) for cell, path in missing]
        return self._while_it_fits(registry.run_by_name, cells, run.processes)

    def _while_it_fits(self, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], processes: int) -> int:
        """How many tasks ended; no other is begun where less time is left than one has taken so far."""
        begun, ended = time.monotonic(), 0
        if not tasks or self.left() < SPARE:
            return 0
        for _ in dealt.each_done(work, tasks, min(processes, len(tasks))):
            ended += 1
            one = (time.monotonic() - begun) * min(processes, len(tasks)) / ended
            if one + SPARE > self.left():
                break
        return ended


def read(path: Path) -> list[Run]:
    """The runs of a queue file; ValueError names the line that is none."""
    if not path.exists() or path.is_dir():
        raise checking.refuse(str(path), "the queue", "a file with a run a line")
    runs = []
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        try:
            told, unknown = _parser().parse_known_args(words)
            if unknown:
                raise ValueError(
                    f"{' '.join(unknown)} is no part of a run; expected --scale, --seeds, --only, --devices"
                )
            runs.append(Run(told.id, told.scale, tuple(told.seeds), dict(map(pair, told.only)), told.devices))
            runs[-1].cells("cpu")  # what is unknown is refused before the clock runs
        except (ValueError, argparse.ArgumentError) as error:
            raise ValueError(f"{path}, line {at}: {error}") from None
    if not runs:
        raise ValueError(f"{path} has no run; expected a line such as: P3-X2 --scale full --seeds 0 1 2")
    return runs


def pair(text: str) -> tuple[str, object]:
    """`key=value` with a JSON value, or plain text where it is no JSON: ratio=[0.1,0.01], pointwise=square."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r}: expected key=value, such as pointwise=square")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value


def device_speed(device: str) -> float:
    """How many times faster than two cores a device multiplies in float64 and takes exponentials, in a second."""
    matrix = torch.rand(SIDE, SIDE, dtype=torch.float64, device=device)
    times: list[float] = []
    while len(times) < 3 or (len(times) < 20 and sum(times) < 0.5):
        begun = time.perf_counter()
        float((matrix @ matrix / SIDE).exp().sum())  # waits for the device
        times.append(time.perf_counter() - begun)
    return TWO_CORES / min(times)


def held_by_result(run: Run, device: str) -> set[str]:
    """The cells of a run, as texts, that the stored result of its plan has already, whatever device made them."""
    before = registry.stored_provenance(run.id, run.scale)
    if before is None or not state(before).holds:
        return set()
    there = {_without_device(cell) for cell in stored_cells(load_result(run.id, run.scale))}
    return {json.dumps(cell, sort_keys=True) for cell in run.cells(device) if _without_device(cell) in there}


def stored(run: Run, device: str) -> Result:
    """The result of what has finished, beside what the stored result of its plan has; written to the folder of results.

    Where that was made by other code, it is made anew from the finished cells alone, in a folder of its own.
    """
    before = registry.stored_provenance(run.id, run.scale)
    how: dict[str, Any] = {"collect": True, "progress": False, "only": run.only or None}
    if before is not None and state(before).holds:
        result = extend.extended(load_result(run.id, run.scale), run.seeds, device=device, **how)
    else:
        how |= {"device": device} if "device" in registry.options_of(run.id) else {}
        result = registry.run(run.id, run.scale, seeds=run.seeds, **how)
    result.save()
    return result


def _without_device(cell: registry.Cell) -> str:
    return json.dumps({key: value for key, value in cell.items() if key != "device"}, sort_keys=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="", exit_on_error=False, add_help=False)
    which(parser, "full").add_argument("--devices", type=int, default=1)
    return parser


def which(parser: argparse.ArgumentParser, scale: str) -> argparse.ArgumentParser:
    """A parser that takes what names a run, for a line of a queue and for the command line."""
    parser.add_argument("id", help="such as P3-T6")
    parser.add_argument("--scale", choices=registry.SCALES, default=scale)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY=VALUE", help="only the cells with these values")
    return parser
