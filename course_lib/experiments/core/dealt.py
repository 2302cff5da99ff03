"""The cells of a run, dealt out to several processes: on this machine, or on all that torchrun has started.

Cells are independent of each other, so their numbers are those of one process, whatever the number of processes. Each
process has a GPU of its own where there are as many, and its share of the cores; with other threads, a training on a
large data set has other last digits (`machine.threads_for`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import get_context
from typing import Any, TypeVar

from course_lib import checking

MOST = 64  # processes
VARIABLE = "COURSE_DEVICES"
OF_TORCHRUN = "TORCHELASTIC_RUN_ID"  # it sets this, besides the names that other launchers set as well
FOREVER = timedelta(days=30)  # the longest run of another process's cells
Task = TypeVar("Task")


def wanted(devices: int | None) -> int | None:
    """How many processes: `devices`, or what COURSE_DEVICES says; None where neither says."""
    given = os.environ.get(VARIABLE, "").strip()
    if devices is None and given:
        if not given.isdigit():
            raise ValueError(f"{VARIABLE} is {given!r}; expected a whole number of at least 1, such as 2")
        devices = int(given)
    return None if devices is None else checking.whole(devices, "devices", 1, MOST, why="processes on this machine")


@dataclass(frozen=True)
class Share:
    """One process of those that torchrun has started: which it is, of how many, and the table that all read."""

    rank: int
    size: int
    store: Any

    def mine(self, place: int) -> bool:
        """Whether the cell in this place of the plan is this process's."""
        return place % self.size == self.rank

    def exchanged(self, key: str, own: str) -> list[str]:
        """What each process has under the key, by rank, when all have come so far."""
        self.store.set(f"{key}/{self.rank}", own)
        keys = [f"{key}/{rank}" for rank in range(self.size)]
        self.store.wait(keys, FOREVER)  # where one fails, torchrun ends all
        return [self.store.get(each).decode() for each in keys]


ALONE = Share(0, 1, None)


def of_torchrun() -> Share:
    """This process's share where torchrun has started it, else all.

    What torchrun says of its processes is taken out of the environment: each cell is a run of one process.
    """
    if OF_TORCHRUN not in os.environ:
        return ALONE
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(rendezvous("env://"))
    local, count = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    for name in [*os.environ]:
        if name.startswith("TORCHELASTIC_") or name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
            del os.environ[name]
    _take_part(local, count)
    return Share(rank, size, store)


def each_done(work: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], processes: int) -> Iterator[None]:
    """Calls work(*task) for every task, in new processes, and yields whenever one is done.

    What a task raises is raised here, when the tasks under way are finished; no other is begun. ChildProcessError where
    a process ends before its tasks are done.
    """
    context = get_context("spawn")
    places = context.Queue()
    for place in range(processes):
        places.put(place)
    given = (places, processes, os.getpid())
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=given) as pool:
        under_way = [pool.submit(work, *task) for task in tasks]
        try:
            for one in as_completed(under_way):
                one.result()
                yield
        except BrokenProcessPool:
            raise ChildProcessError(
                f"one of {processes} processes ended before its cells were done (was it killed, or short of memory?); "
                "finished cells are kept: the same command goes on from there"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(places: Any, processes: int, caller: int) -> None:
    """Of a new process: takes its part of the machine, and ends when the caller is gone."""
    _take_part(places.get(), processes)
    threading.Thread(target=_end_with, args=(caller,), daemon=True).start()


def _end_with(caller: int) -> None:
    while os.getppid() == caller:
        time.sleep(1)
    os._exit(1)


def _take_part(place: int, processes: int) -> None:
    """A GPU of the machine, by turns, and a share of its cores."""
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(max(1, min(torch.get_num_threads(), cores // processes)))
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [str(at) for at in range(torch.cuda.device_count())] if seen is None else seen.split(",")
    if len(names) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = names[place % len(names)]
