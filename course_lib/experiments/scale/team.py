"""Processes for an experiment: starts them, gathers their embeddings in each way, reads what their sockets sent.

    python -m course_lib.experiments.scale.team gradients      one process of a run that torchrun started

`start(task, P)` is what an experiment calls. Each process runs `task` of this package, and process 0 hands over rows.
`run` starts any command whose process 0 does so.
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
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
import torch.distributed
from torch import Tensor

from course_lib import checking
from course_lib.experiments.core.provenance import ROOT
from course_lib.experiments.core.summary import Row
from course_lib.training.processes import FabricProcesses

if TYPE_CHECKING:
    from lightning_fabric import Fabric

LIMIT = 120  # seconds for a run of processes, their start included
MOST = 32  # processes: each takes some 200 MB
TASKS = ("calibration", "gradients", "traffic")
TORCHRUN = ("LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE")  # where it says how many processes a machine has, and machines


def start(task: str, processes: int, seed: int, *, seconds: float = LIMIT) -> list[Row]:
    """The rows that process 0 of `processes` local ones makes; RuntimeError as `run`.

    Fabric forks them, where that is possible, as torch takes seconds to load.
    """
    checking.choice(task, "task", TASKS)
    checking.whole(processes, "processes", 2, MOST, why="all of them on this machine")
    command = [sys.executable, "-m", __name__, task, "--seed", str(seed), "--processes", str(processes)]
    return cast(list[Row], run(command, f"{task} in {processes} processes", seconds))


def run(command: Sequence[str], what: str, seconds: float) -> Any:
    """What process 0 of `command --out FILE` has written to the file, from JSON.

    RuntimeError, which names `what`, with what they said where a process fails, and where they take longer than
    `seconds`. All are ended then, and when the caller is killed if the command calls `end_with_caller`.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        shared = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        started = subprocess.Popen(
            [*command, "--out", str(out)],
            env=os.environ | shared,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said = started.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{what}: they were not done in {seconds:g} s and have been ended") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        if started.returncode:
            raise RuntimeError(f"{what}: a process failed: {said[-2000:]}")
        return json.loads(out.read_text(encoding="utf-8"))


def _each(fabric: Fabric, *, task: str, seed: int, out: Path | None) -> None:
    """One process: runs the task with the others, and process 0 hands over its rows."""
    torch.set_num_threads(1)
    rows = import_module(f"course_lib.experiments.scale.{task}").in_each_process(fabric, seed)
    if fabric.is_global_zero:
        text = json.dumps(rows, indent=1)
        print(text) if out is None else out.write_text(text, encoding="utf-8")
    fabric.barrier()
    torch.distributed.destroy_process_group()


def end_with_caller() -> None:
    """From now on this process, and those that it starts, end when the one that started it is gone."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(caller: int) -> None:
    while os.getppid() == caller:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)


# ---- in each process


def gathered(fabric: Fabric, rows: Tensor, gather: str) -> Tensor:
    """The rows of all processes, (B, d) -> (P B, d). "gradients": with those of all processes, added up. "constant":
    numbers, with this process's own rows put back in.
    """
    everyone = FabricProcesses(fabric)
    if gather == "gradients":
        return everyone.gathered(rows)
    parts = list(everyone.concatenated(rows).chunk(fabric.world_size))
    parts[fabric.global_rank] = rows
    return torch.cat(parts)


def average(fabric: Fabric, tensors: list[Tensor]) -> list[Tensor]:
    """The mean over the processes of each tensor, as DistributedDataParallel makes of gradients."""
    everyone = FabricProcesses(fabric)
    return [everyone.total(tensor) / fabric.world_size for tensor in tensors]


def sent(fabric: Fabric) -> int | None:
    """Bytes that the TCP sockets of this process have sent, headers apart; None where the system does not say.

    They are counted when all processes have come here and the last bytes have been acknowledged.
    """
    fabric.barrier()
    time.sleep(0.05)
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
    from lightning_fabric import Fabric  # as slow to import as torch, and a reader of results needs none of it
    from lightning_fabric.strategies.ddp import DDPStrategy

    method: Literal["fork", "spawn", "popen"] = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    count, nodes = given.processes, 1
    if count:
        end_with_caller()
    else:
        count, nodes, method = *(int(os.environ[name]) for name in TORCHRUN), "popen"
    strategy = DDPStrategy(timeout=timedelta(seconds=LIMIT), start_method=method)
    fabric = Fabric(accelerator="cpu", devices=count, num_nodes=nodes, strategy=strategy)
    fabric.launch(partial(_each, task=given.task, seed=given.seed, out=given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
