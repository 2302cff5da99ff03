"""DDC on Gowalla's size: preference directions, and every user's two scalars solved to optimality.

    python benchmarks/ddc.py [--rounds 3]

Takes the pairs of gowalla where COURSE_DATA has them, else synthetic pairs of the same size; tables of width 64, drawn
at random (float32). Prints seconds and the peak of the memory that NumPy allocated for `preference_directions`, beside
its alternative (one row of all scores per user, in blocks) and `DDC.solve` with ten negatives for each positive and a
ridge. Exits with 1 when the directions take more than 2 seconds or 500 MB.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout needs no installation
from course_lib import datasets
from course_lib.correction import preference_directions
from course_lib.datasets import planted
from course_lib.debiasing import DDC
from course_lib.interactions import Interactions

SECONDS, MEGABYTES, WIDTH = 2.0, 500.0, 64


def pairs() -> Interactions:
    try:
        return datasets.load_split("gowalla")["train"]
    except (FileNotFoundError, ConnectionError):
        print("gowalla is not in COURSE_DATA: synthetic pairs of its size instead")
        return planted.synthetic_large(29_858, 40_981, 810_128, rng=np.random.default_rng(0)).interactions


def by_all_scores(users: np.ndarray, items: np.ndarray, data: Interactions, top: float = 0.3) -> np.ndarray:
    """The same directions from blocks of the whole score matrix."""
    result = np.zeros_like(users)
    for start in range(0, data.n_users, 512):
        scores = users[start : start + 512] @ items.T
        for row, score in enumerate(scores, start):
            his = data.items_of(row)
            best = his[np.argsort(-score[his], kind="stable")[: int(np.ceil(round(top * len(his), 9)))]]
            total = items[best].sum(axis=0)
            result[row] = total / (np.linalg.norm(total) or 1)
    return result


def measured(action: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Best seconds of `rounds` calls, and the peak of NumPy's memory in one more call, in MB."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return min(seconds), peak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    data, rng = pairs(), np.random.default_rng(0)
    users, items = (rng.normal(0, 0.1, (rows, WIDTH)).astype(np.float32) for rows in data.shape)
    ours, memory = measured(lambda: preference_directions(users, items, data), rounds)
    theirs, _ = measured(lambda: by_all_scores(users, items, data), 1)
    print(f"{data!r}")
    print(
        f"preference_directions: {ours:.2f} s, {memory:.0f} MB (bars: {SECONDS:g} s, {MEGABYTES:g} MB); "
        f"by all scores {theirs:.1f} s, {theirs / ours:.0f} times as long"
    )
    start = time.perf_counter()
    model = DDC(users, items, data)
    model.solve(10, ridge=0.01, rng=np.random.default_rng(0))
    print(f"DDC.solve: {time.perf_counter() - start:.1f} s for {data.n_users:,} users and {10 * len(data):,} triples")
    return int(ours > SECONDS or memory > MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
