"""The exact 20 best items of every user of gowalla, known ones left out: `metrics.top_k` against implicit 0.7.3.

    COURSE_RIVALS=path/to/python python benchmarks/top_k.py [--rounds 3] [--threads 2]

29,858 users, 40,981 items, d = 64, float32, embeddings drawn at random. Both sides take turns in one run; the ratio is
the median over the rounds, and 99.9 % of the lists must be the same (float32 sums in another order may swap two items).
Bar: twice as fast. Where implicit cannot be run the comparison is left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout needs no installation
from rivals.client import Rival, left_out, pairs

from course_lib.metrics import top_k

WIDTH, K, BAR = 64, 20, 2.0


def main() -> int:
    """Prints seconds and ratio and returns 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    data, rng = pairs("gowalla"), np.random.default_rng(0)
    left, right = (rng.normal(size=(rows, WIDTH)).astype(np.float32) for rows in data.shape)
    mine = top_k(left, right, data, K)  # compiles, and builds the cached matrix

    def measure() -> tuple[float, float]:
        start, work = time.perf_counter(), time.process_time()
        top_k(left, right, data, K)
        return time.perf_counter() - start, time.process_time() - work

    times = [measure() for _ in range(arguments.rounds)]
    clock, work = (statistics.median(column) for column in zip(*times, strict=True))
    size = data.n_users * data.n_items
    print(
        f"gowalla: top {K} of {size / 1e9:.2f} billion scores in {clock:.2f} s "
        f"({work:.2f} s of processor, {arguments.threads} threads)"
    )
    with TemporaryDirectory() as folder:
        stored = Path(folder) / "data.npz"
        np.savez(stored, users=data.users, items=data.items, shape=np.array(data.shape), left=left, right=right)
        with Rival("implicit-top", stored, arguments.threads) as rival:
            if not rival.available:
                print(left_out(rival))
                return 0
            turns = [(measure(), rival.measure()) for _ in range(arguments.rounds)]
            same = float((np.load(stored.with_name("lists.npy")) == mine).all(axis=1).mean())
    theirs = [statistics.median(turn[1][at] for turn in turns) for at in (0, 1)]
    ratios = [statistics.median(b[at] / a[at] for a, b in turns) for at in (0, 1)]
    print(
        f"  implicit: {theirs[0]:.2f} s ({theirs[1]:.2f} s of processor); "
        f"the course is {ratios[0]:.2f} times as fast on the clock, {ratios[1]:.2f} by processor (bar {BAR:g})"
    )
    print(f"  {same:.3%} of the lists are the same in both")
    return int(ratios[0] < BAR or same < 0.999)


if __name__ == "__main__":
    sys.exit(main())
