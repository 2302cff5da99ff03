"""Starts the other libraries' side of a benchmark (serve.py) in the Python that has them, and asks it for one
measurement at a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import numpy as np

from course_lib import datasets
from course_lib.datasets import planted
from course_lib.interactions import Interactions

SHAPES = {"ml-1m": (6_038, 3_533, 575_281), "gowalla": (29_858, 40_981, 1_027_370)}
VARIABLE = "COURSE_RIVALS"


class Rival:
    """`with Rival(kind, data, threads) as rival: rival.measure()` -> (seconds, processor's seconds) of one pass or
    ranking.

    Where the library cannot be had, `available` is False and `reason` says why: the comparison is left out.
    """

    def __init__(self, kind: str, data: Path, threads: int) -> None:
        self.kind = kind
        python = os.path.abspath(os.environ.get(VARIABLE, sys.executable))
        command = [python, str(Path(__file__).with_name("serve.py")), kind, str(data), str(threads)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        # implicit parallelises by itself, on top of a BLAS with one thread: its own advice
        blas = 1 if kind.startswith("implicit") else threads
        environment |= {"OPENBLAS_NUM_THREADS": str(blas), "OMP_NUM_THREADS": str(threads)}
        self._errors = data.with_name(f"{kind}.log").open("w+", encoding="utf-8")
        # RecBole writes logs where it runs: not here
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors, "cwd": data.parent}
        self._process = subprocess.Popen(command, text=True, env=environment, **pipes)
        self.available = self._answer() == "ready"
        self.reason = "" if self.available else self._last_error()

    def _answer(self) -> str:
        """The next line that is an answer; RecBole prints lines of its own."""
        for line in self._process.stdout:
            words = line.split()
            if words == ["ready"] or (len(words) == 3 and all(_is_number(word) for word in words)):
                return line.strip()
        return ""

    def _last_error(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        return (self._errors.read().strip().splitlines() or ["it gave no answer"])[-1]

    def measure(self) -> tuple[float, float]:
        """Seconds on the clock and of the processor."""
        self._process.stdin.write("once\n")
        self._process.stdin.flush()
        answer = self._answer()
        if not answer:
            raise RuntimeError(f"{self.kind} stopped: {self._last_error()}")
        seconds, work, _ = (float(word) for word in answer.split())
        return seconds, work

    def __enter__(self) -> Rival:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def left_out(rival: Rival) -> str:
    """The sentence for a library that cannot be had."""
    return f"  {rival.kind}: left out, it cannot be run here ({rival.reason}); benchmarks/README.md says how to get it"


def pairs(name: str) -> Interactions:
    """The pairs of ml-1m (ratings of 4 and 5) or gowalla where they can be had, else synthetic ones of the same
    size.
    """
    try:
        return datasets.load(name)
    except (FileNotFoundError, ConnectionError):
        users, items, size = SHAPES[name]
        print(f"{name} cannot be had here (COURSE_DATA): synthetic pairs of its size instead")
        return planted.synthetic_large(users, items, size, rng=np.random.default_rng(0)).interactions


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
