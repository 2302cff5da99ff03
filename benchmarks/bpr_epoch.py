"""One pass of BPR with MF at d = 64: `backbones.bpr_epoch` against implicit 0.7.3 and RecBole 1.2.1, on ML-1M and
gowalla.

    COURSE_RIVALS=path/to/python python benchmarks/bpr_epoch.py [--rounds 5] [--threads 2]

Both sides take turns in one run; the ratio is the median over the rounds. implicit: as many triples, in parallel and
unordered (Hogwild), negatives by popularity. RecBole: a pass of its trainer, Adam on batches of 8192 triples, negatives
uniform. The course: plain SGD, negatives uniform and exact, one result for any number of threads. Bars: 3 times faster
than implicit, 15 times faster than RecBole. A library that cannot be run is left out. Besides seconds on the clock the
processor's are shown, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout needs no installation
from rivals.client import Rival, left_out, pairs

from course_lib.interactions import Interactions
from course_lib.training.bpr import bpr_epoch

WIDTH, LR = 64, 0.05
BARS = {"implicit-epoch": 3.0, "recbole-epoch": 15.0}
ROUNDS = {"recbole-epoch": 2}  # a pass takes it half a minute


class Ours:
    """Passes over one set of pairs, one after the other."""

    def __init__(self, data: Interactions, threads: int, negatives: str = "uniform") -> None:
        self.data, self.threads, self.negatives, self.rng = data, threads, negatives, np.random.default_rng(0)
        self.tables = [self.rng.normal(scale=0.1, size=(rows, WIDTH)).astype(np.float32) for rows in data.shape]
        self.measure()  # compiles

    def measure(self) -> tuple[float, float]:
        """Seconds of a pass, on the clock and of the processor: the mean of three."""
        start, work = time.perf_counter(), time.process_time()
        for _ in range(3):
            bpr_epoch(*self.tables, self.data, lr=LR, rng=self.rng, negatives=self.negatives, threads=self.threads)
        return (time.perf_counter() - start) / 3, (time.process_time() - work) / 3


def middle(times: list[tuple[float, float]]) -> str:
    """The median of both kinds of seconds."""
    clock, work = (statistics.median(column) for column in zip(*times, strict=True))
    return f"{clock:.3f} s ({work:.3f} s of processor)"


def compare(name: str, kind: str, data: Path, ours: Ours, rounds: int) -> bool:
    """Prints one comparison; False where the bar is missed."""
    with Rival(kind, data, ours.threads) as rival:
        if not rival.available:
            print(left_out(rival))
            return True
        turns = [(ours.measure(), rival.measure()) for _ in range(ROUNDS.get(kind, rounds))]
    mine, theirs = ([turn[side] for turn in turns] for side in (0, 1))
    clock, work = (statistics.median(b[at] / a[at] for a, b in turns) for at in (0, 1))
    print(
        f"  {kind}: {middle(theirs)}, the course {middle(mine)}: "
        f"{clock:.1f} times faster on the clock, {work:.1f} by processor (bar {BARS[kind]:g})"
    )
    return clock >= BARS[kind]


def main() -> int:
    """Prints every comparison and returns 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    met = True
    for name in ("ml-1m", "gowalla"):
        data = pairs(name)
        ours = Ours(data, arguments.threads)
        times = [ours.measure() for _ in range(arguments.rounds)]
        work = statistics.median(work for _, work in times) / len(data)
        print(
            f"{name}: {len(data):,} pairs, {arguments.threads} threads, {middle(times)}, {1e9 * work:.0f} ns a triple"
        )
        for law, threads in (("uniform", 1), ("popularity", arguments.threads)):
            other = Ours(data, threads, law)
            print(f"  negatives {law}, {threads} threads: {middle([other.measure() for _ in range(arguments.rounds)])}")
        with TemporaryDirectory() as folder:
            stored = Path(folder) / "data.npz"
            np.savez(stored, users=data.users, items=data.items, shape=np.array(data.shape))
            for kind in BARS:
                met &= compare(name, kind, stored, ours, arguments.rounds)
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
