"""Processes for an experiment: starts them, gathers their embeddings in each way, reads what their sockets sent.

    python -m course_lib.experiments.scale.team gradients      one process of a run that torchrun started

`start(task, P)` is what an experiment calls. Each process runs `task` of this package, and process 0 hands over rows.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed
import torch.distributed.nn.functional as carried
from torch import Tensor

from course_lib import checking
from course_lib.experiments.core.summary import Row

dist: Any = torch.distributed  # whose types do not know all that it exports

LIMIT = 120  # seconds for a run of processes, their start included
TASKS = ("gradients", "traffic")


def start(task: str, processes: int, seed: int, *, seconds: float = LIMIT) -> list[Row]:
    """The rows that process 0 of `processes` local ones makes; RuntimeError with what they said where one fails.

    All are ended after `seconds`, or when one of them fails.
    """
    checking.choice(task, "task", TASKS)
    checking.whole(processes, "processes", 2)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        command = [sys.executable, "-m", __name__, task, "--seed", str(seed), "--out", str(out)]
        shared = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([_root(), os.environ.get("PYTHONPATH", "")])}
        started = subprocess.Popen(
            [*command, "--processes", str(processes)],
            env=os.environ | shared,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said = started.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            raise RuntimeError(
                f"{task}: {processes} processes were not done in {seconds:g} s and have been ended"
            ) from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        if started.returncode:
            raise RuntimeError(f"{task}: a process of {processes} failed: {said[-2000:]}")
        return cast(list[Row], json.loads(out.read_text(encoding="utf-8")))


def _fork(count: int, task: str, seed: int, out: Path) -> int:
    """Runs `count` processes on this machine, forked where that is possible, as torch takes seconds to load; 1 where
    one of them fails, and then the others are ended.
    """
    kinds = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in kinds else "spawn")
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()), "WORLD_SIZE": str(count)}
    children = [context.Process(target=_one, args=(rank, task, seed, out), daemon=True) for rank in range(count)]
    for child in children:
        child.start()
    while any(child.exitcode is None for child in children) and all(child.exitcode in (None, 0) for child in children):
        time.sleep(0.02)
    for child in children:
        if child.exitcode is None:
            child.terminate()
    return int(any(child.exitcode for child in children))


def _one(rank: int, task: str, seed: int, out: Path | None) -> None:
    """One process: joins the others as the environment says, runs the task, and process 0 hands over its rows."""
    os.environ["RANK"] = str(rank)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=LIMIT))
    rows = import_module(f"course_lib.experiments.scale.{task}").in_each_process(seed)
    if rank == 0:
        text = json.dumps(rows, indent=1)
        print(text) if out is None else out.write_text(text, encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _root() -> str:
    return str(Path(__file__).resolve().parents[3])


# ---- in each process


def gathered(rows: Tensor, gather: str) -> Tensor:
    """The rows of all processes, (B, d) -> (P B, d). "gradients": torch's gather, which sends gradients back and adds
    them up. "constant": numbers, with this process's own rows put back in.
    """
    if gather == "gradients":
        everyone: Any = carried.all_gather
        return torch.cat(list(everyone(rows)))
    parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, rows.detach().contiguous())
    parts[dist.get_rank()] = rows
    return torch.cat(parts)


def average(tensors: list[Tensor]) -> list[Tensor]:
    """The mean over the processes of each tensor, as DistributedDataParallel makes of gradients."""
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor.div_(dist.get_world_size())
    return tensors


def sent() -> int | None:
    """Bytes that the TCP sockets of this process sent, headers apart; None where the system does not say."""
    counts = [_acknowledged(own) for own in _sockets()]
    return None if not counts or None in counts else sum(count for count in counts if count is not None)


def _sockets() -> Iterator[socket.socket]:
    for place in Path("/proc/self/fd").iterdir() if Path("/proc/self/fd").is_dir() else ():
        try:
            is_socket = os.readlink(place).startswith("socket:")
        except FileNotFoundError:  # the folder's own handle
            continue
        if is_socket:
            with socket.socket(fileno=os.dup(int(place.name))) as own:
                if own.type == socket.SOCK_STREAM and own.family in (socket.AF_INET, socket.AF_INET6):
                    yield own


def _acknowledged(own: socket.socket) -> int | None:
    """tcpi_bytes_acked of Linux's struct tcp_info (at byte 120): what the other end has said to have got."""
    found = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256) if hasattr(socket, "TCP_INFO") else b""
    return int(struct.unpack_from("Q", found, 120)[0]) if len(found) >= 128 else None


def main(arguments: list[str]) -> int:
    """One process of those that torchrun started; or, with --processes, all of them."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.experiments.scale.team", description=main.__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--processes", type=int)
    given = parser.parse_args(arguments)
    if given.processes:
        return _fork(given.processes, given.task, given.seed, given.out)
    _one(int(os.environ["RANK"]), given.task, given.seed, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
