"""Processor seconds of every notebook of the book, and of the export of their copies, as ratios to a reference work.

The reference work is a fixed piece of what notebooks do: products and a decomposition in NumPy, a training step in
torch, sorting, and a loop in plain Python. It runs on one thread before and after each notebook, and a ratio is the
notebook's processor time over the mean of the two. So a slow or busy machine slows both sides alike.

    python benchmarks/notebooks.py [NAME ...] [--repeat 1]     NAME: part of a notebook's name, all by default

Exits with 1 when a notebook misses its bar of 100 references, the export its bar of 30, or a number is not as stored.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the tests' own way to run a notebook, and a checkout needs no installation
book = importlib.import_module("tests.notebooks.test_notebooks")
execution = importlib.import_module("tools.execution")
validation = importlib.import_module("tests.notebooks.validation")

BAR, EXPORT_BAR = 100.0, 30.0


def processor_seconds() -> float:
    """What all processes that this one has started and seen end have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reference_work() -> float:
    """About a second's work; returns a number, so that nothing is left out."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((1200, 300))
    total = float(np.linalg.svd(table, compute_uv=False)[0] + np.sort(rng.standard_normal(2_000_000))[0])
    for _ in range(6):
        total += float((table @ (table.T @ table)).sum())
    weights = torch.zeros(2000, 64, requires_grad=True)
    for _ in range(60):
        loss = torch.logsumexp(weights[:512] @ weights[512:1024].T + 1.0, dim=1).mean()
        loss.backward()
    counts: dict[int, int] = {}
    for number in range(2_000_000):
        counts[number % 997] = counts.get(number % 997, 0) + number
    return total + sum(counts.values())


def reference_seconds() -> float:
    """Processor seconds of the reference work now, in a fresh Python with one thread."""
    command = [sys.executable, str(Path(__file__).resolve()), "--reference"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    return float(done.stdout)


def time_reference_work() -> float:
    """Processor seconds of the second of two rounds, here: the first one loads and warms up."""
    reference_work()
    start = time.process_time()
    reference_work()
    return time.process_time() - start


def report(name: str, seconds: float, reference: float, bar: float) -> bool:
    """Prints one line; True when the bar is met."""
    ratio = seconds / reference
    met = ratio <= bar
    missed = "" if met else " MISSED"
    print(f"{name:45s} {seconds:6.1f} s, reference {reference:.2f} s: {ratio:5.1f} (bar {bar:.0f}){missed}", flush=True)
    return met


def measure_notebook(path: Path, repeat: int) -> bool:
    """The median of `repeat` runs against the references around them; False for a missed bar or a wrong number."""
    seconds, references, right = [], [reference_seconds()], True
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            start, cache = processor_seconds(), execution.Cache(Path(folder))
            execution.refresh([path], cache)
            seconds.append(processor_seconds() - start)
            result = validation.validate(path, name=book.name_of(path), cache=cache)
        references.append(reference_seconds())
        right = right and not result.problems
    met = report(book.name_of(path), statistics.median(seconds), statistics.mean(references), BAR)
    if not right:
        print("    its numbers are not those that it stores: run `make test`")
    return met and right


def measure_export() -> bool:
    """`make notebooks`: the copies for Binder and Colab."""
    first, start = reference_seconds(), processor_seconds()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tools.export_notebooks", str(Path(folder) / "copies")]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    seconds = processor_seconds() - start
    return report("export of all notebooks", seconds, (first + reference_seconds()) / 2, EXPORT_BAR)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of notebooks' names (default: all, and the export)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each (1)")
    parser.add_argument("--reference", action="store_true", help="print the seconds of the reference work alone")
    options = parser.parse_args()
    if options.reference:
        print(time_reference_work())
        return 0
    met = [measure_notebook(path, options.repeat) for path in notebooks(options.names)]
    if not options.names:
        met.append(measure_export())
    return int(not all(met))


def notebooks(parts: list[str]) -> list[Path]:
    """The book's notebooks whose names hold one of the parts; all of them where no part is given."""
    return [path for path in book.NOTEBOOKS if not parts or any(part in book.name_of(path) for part in parts)]


if __name__ == "__main__":
    sys.exit(main())
