"""`two-tower-audit` on a large model: 1 M items, 2 M users, d = 128, float32, 20 M training and 2 M held-out pairs.

    python benchmarks/audit.py [--part 1.0]

From files (of pairs with times) to the written page, in a process of its own. --part makes everything smaller. Bars: 10
minutes on 2 cores (20 minutes of processor time where other programs are busy), 12 GB.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ITEMS, USERS, WIDTH, PAIRS, HELD_OUT = 1_000_000, 2_000_000, 128, 20_000_000, 2_000_000
MINUTES, GIGABYTES = 10, 12


def write(folder: Path, part: float) -> None:
    """Tables whose items have a popularity, and pairs that follow it."""
    rng = np.random.default_rng(0)
    items, users = int(part * ITEMS), int(part * USERS)
    weights = rng.lognormal(0, 1.5, items)
    for name, rows in (("items", items), ("users", users)):
        np.save(folder / f"{name}.npy", rng.standard_normal((rows, WIDTH), dtype=np.float32))
    law = np.cumsum(weights / weights.sum())
    for name, size in (("pairs", int(part * PAIRS)), ("held_out", int(part * HELD_OUT))):
        chosen = np.minimum(np.searchsorted(law, rng.random(size)), items - 1)
        who, times = rng.integers(0, users, size), rng.integers(0, 100_000_000, size)
        np.savez(folder / f"{name}.npz", users=who, items=chosen, times=times)


def main() -> int:
    """Prints minutes and gigabytes and returns 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=float, default=1.0)
    part = parser.parse_args().part
    with TemporaryDirectory() as folder:
        write(Path(folder), part)
        command = [sys.executable, "-m", "course_lib", "audit", folder, "--out", f"{folder}/report.html"]
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        minutes = (time.perf_counter() - start) / 60
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor, gigabytes = (used.ru_utime + used.ru_stime) / 60, used.ru_maxrss / 2**20
    late = min(minutes, processor / 2) > MINUTES
    print(f"audit, {part:g} of the size: {minutes:.1f} min, {processor:.1f} of processor time (bar {MINUTES}, 2 cores)")
    print(f"peak of memory {gigabytes:.1f} GB (bar {GIGABYTES} GB)")
    return int(late or gigabytes > GIGABYTES)


if __name__ == "__main__":
    sys.exit(main())
