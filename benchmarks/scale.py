"""What a single machine does with 5, 10 and 20 million pairs: seconds, peak memory, and how they grow.

    COURSE_RIVALS=path/to/python python benchmarks/scale.py [--sizes 5 10 20] [--steps parquet bpr] [--whole]

Synthetic pairs with power laws (`datasets.synthetic_large`), 50,000 users and 10,000 items for each million pairs: 1 M
users and 200,000 items at 20 M pairs. Tables of width 64, float32. Each step runs in a process of its own, of which the
seconds of the step (on the clock, and of the processor) and the peak memory (with what was loaded before) are shown.
The slope is that of the line through (log pairs, log seconds): 1 is linear. Where implicit does the same work it runs
beside: a pass of BPR, and the best 20 for the same users. An epoch of `train_recommender` and the rankings of all users
are measured on a part (200 batches, 20,000 users), or as a whole with --whole. Bars at 20 M pairs: below.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout needs no installation
from rivals.client import Rival, left_out

from course_lib import backbones, tables
from course_lib.correction import preference_directions
from course_lib.datasets import planted
from course_lib.interactions import Interactions, epoch_batches, sample_negatives
from course_lib.metrics import evaluate, top_k
from course_lib.popularity import popularity_direction
from course_lib.training.bpr import bpr_epoch
from course_lib.training.recommenders import split_811, train_recommender

WIDTH, K, BATCH = 64, 20, 8192
BATCHES, USERS = 200, 20_000  # what is measured of an epoch and of a ranking, unless --whole
FULL = 20  # million pairs, at which the bars hold
SECONDS = {"parquet": 30.0, "adagrad": 720.0, "lazy_adam": 720.0, "ddc": 12.0}
GIGABYTES, BPR = 4.0, 3.0  # of every step but "make"; a pass of implicit over one of the course
RIVALS = {"bpr": "implicit-epoch", "top": "implicit-top"}

Timed = tuple[Callable[[], Any], float]  # what is timed, and how many times the whole work is what it does


# ------------------------------------------------------------------------------------------------------- the steps


def load(folder: Path) -> Interactions:
    """The pairs of `make`."""
    stored = np.load(folder / "data.npz")
    m, n = stored["shape"]
    return Interactions(stored["users"], stored["items"], n_users=int(m), n_items=int(n))


def embeddings(data: Interactions) -> list[np.ndarray]:
    """Random tables, the same in every process."""
    rng = np.random.default_rng(1)
    return [rng.normal(0, 0.1, (rows, WIDTH)).astype(np.float32) for rows in data.shape]


def write_parquet(path: Path, data: Interactions) -> None:
    """A log of all pairs in random order with ids such as u004213, in row groups of a million rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    order = np.random.default_rng(2).permutation(len(data))
    schema = pa.schema([("user", pa.string()), ("item", pa.string()), ("stars", pa.float32())])
    names = {
        side: pa.array([f"{side[0]}{at:09d}" for at in range(size)])
        for side, size in zip(("user", "item"), data.shape, strict=True)
    }
    with pq.ParquetWriter(path, schema) as writer:
        for rows in np.array_split(order, max(1, len(order) // 1_000_000)):
            ids = [
                names[side].take(pa.array(column[rows]))
                for side, column in (("user", data.users), ("item", data.items))
            ]
            writer.write_table(pa.table([*ids, pa.array(rows % 5 + 1, pa.float32())], schema=schema))


def make(folder: Path, millions: float, _: bool) -> Timed:
    """Draws the pairs, and writes them for the other steps."""

    def run() -> None:
        sizes = (int(million_parts * millions) for million_parts in (50_000, 10_000, 1_000_000))
        data = planted.synthetic_large(*sizes, rng=np.random.default_rng(0)).interactions
        np.savez(folder / "data.npz", users=data.users, items=data.items, shape=np.array(data.shape))
        write_parquet(folder / "log.parquet", data)

    return run, 1


def arrays(folder: Path, *_: Any) -> Timed:
    """`Interactions` from arrays in random order."""
    stored = np.load(folder / "data.npz")
    order = np.random.default_rng(2).permutation(len(stored["users"]))
    users, items, (m, n) = stored["users"][order], stored["items"][order], stored["shape"]
    del order
    return lambda: Interactions(users, items, n_users=int(m), n_items=int(n)), 1


def parquet(folder: Path, *_: Any) -> Timed:
    """`read_pairs`: string ids, a million rows at a time."""
    path = folder / "log.parquet"
    return lambda: tables.read_pairs(path, user="user", item="item", rating="stars", keep="first"), 1


def core(folder: Path, *_: Any) -> Timed:
    """`k_core(10)`."""
    data = load(folder)
    return lambda: data.k_core(10), 1


def split(folder: Path, *_: Any) -> Timed:
    """A random 8:1:1 split."""
    data = load(folder)
    return lambda: split_811(data, np.random.default_rng(3)), 1


def negatives(law: str) -> Callable[..., Timed]:
    """One negative for each pair of a pass, in batches."""

    def step(folder: Path, *_: Any) -> Timed:
        data, rng = load(folder), np.random.default_rng(4)

        def run() -> None:
            for where in epoch_batches(data, BATCH, rng):
                sample_negatives(data, data.users[where], rng, law=law)

        return run, 1

    return step


def bpr(folder: Path, *_: Any) -> Timed:
    """A pass of `bpr_epoch`."""
    data, rng = load(folder), np.random.default_rng(5)
    both = embeddings(data)
    warm = data.select(np.arange(200_000))
    bpr_epoch(*both, warm, lr=0.05, rng=rng)  # compiles, with threads
    return lambda: bpr_epoch(*both, data, lr=0.05, rng=rng), 1


def epoch(optimizer: str) -> Callable[..., Timed]:
    """An epoch of `train_recommender` with MF and sparse gradients."""

    def step(folder: Path, _: float, whole: bool) -> Timed:
        data = load(folder)
        model = backbones.make("MF", data, d=WIDTH, sparse=True, generator=torch.Generator().manual_seed(0))
        some = np.random.default_rng(6).permutation(len(data))[: BATCHES * BATCH]
        part = data if whole else data.select(some)
        settings: dict[str, Any] = {"lr": 1e-3, "seed": 0, "batch_size": BATCH, "optimizer": optimizer}
        return lambda: train_recommender(model, part, None, epochs=1, **settings), len(data) / len(part)

    return step


def top(folder: Path, _: float, whole: bool) -> Timed:
    """The exact best 20 for all users, or for a part of them by `user_ids`."""
    data = load(folder)
    both = embeddings(data)
    chosen = chosen_users(data.n_users, whole)
    top_k(*both, data, K, user_ids=chosen[:1])  # compiles, and makes the matrix
    return lambda: top_k(*both, data, K, user_ids=chosen), data.n_users / len(chosen)


def chosen_users(n_users: int, whole: bool) -> np.ndarray:
    """The users who are ranked."""
    some = np.random.default_rng(7).choice(n_users, size=min(USERS, n_users), replace=False)
    return np.arange(n_users) if whole else np.sort(some)


def ddc(folder: Path, *_: Any) -> Timed:
    """DDC's preference directions of all users, and the popularity direction."""
    data = load(folder)
    both = embeddings(data)
    return lambda: (preference_directions(*both, data), popularity_direction(both[1], data.col_counts)), 1


def evaluation(folder: Path, _: float, whole: bool) -> Timed:
    """All metrics at 20 over all items, for the users with a test pair; or for the test pairs of a part of them."""
    train, test = load(folder).split_random(0.9, np.random.default_rng(8))
    both, everybody = embeddings(train), int((test.row_counts > 0).sum())
    if not whole:
        test = test.select(np.isin(test.users, chosen_users(test.n_users, whole)))
    top_k(*both, train, K, user_ids=[0])
    return lambda: evaluate(*both, train, test, K), everybody / int((test.row_counts > 0).sum())


STEPS: dict[str, Callable[..., Timed]] = {
    "make": make,
    "arrays": arrays,
    "parquet": parquet,
    "core": core,
    "split": split,
    "uniform": negatives("uniform"),
    "popularity": negatives("popularity"),
    "bpr": bpr,
    "adagrad": epoch("adagrad"),
    "lazy_adam": epoch("lazy_adam"),
    "top": top,
    "ddc": ddc,
    "evaluation": evaluation,
}


# ------------------------------------------------------------------------------------------------------ measurements


def measure(name: str, folder: Path, millions: float, whole: bool) -> dict[str, float]:
    """In the child: seconds of the whole work, on the clock and of the processor, and the peak memory in GB."""
    run, times = STEPS[name](folder, millions, whole)
    start, work = time.perf_counter(), time.process_time()
    run()
    seconds, processor = time.perf_counter() - start, time.process_time() - work
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": seconds * times, "processor": processor * times, "gigabytes": peak, "times": times}


def in_a_child(name: str, folder: Path, millions: float, threads: int, whole: bool) -> dict[str, float]:
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, "--child", name, str(folder), "--sizes", str(millions)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [*command, *["--whole"] * whole], env=environment, stdout=subprocess.PIPE, check=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def beside(name: str, folder: Path, threads: int, whole: bool) -> float | None:
    """Seconds of implicit for the whole work."""
    data = load(folder)
    stored, times = {"users": data.users, "items": data.items, "shape": np.array(data.shape)}, 1.0
    if name == "top":
        stored["left"], stored["right"] = embeddings(data)
        stored["chosen"] = chosen_users(data.n_users, whole)
        times = data.n_users / len(stored["chosen"])
    np.savez(folder / "rival.npz", **stored)
    del data, stored
    with Rival(RIVALS[name], folder / "rival.npz", threads) as rival:
        if rival.available:
            return rival.measure()[0] * times
        print(left_out(rival))
        return None


def main() -> int:
    """Prints all measurements and returns 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=float, nargs="+", default=[5, 10, 20], help="millions of pairs")
    parser.add_argument("--steps", nargs="+", choices=[*STEPS][1:], default=[*STEPS][1:])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("STEP", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.child[0], Path(given.child[1]), given.sizes[0], given.whole)))
        return 0
    found: dict[str, list[float]] = {}
    checked: dict[str, str] = {}
    for millions in given.sizes:
        print(f"{millions:g} million pairs, {50_000 * millions:,.0f} users, {10_000 * millions:,.0f} items")
        with TemporaryDirectory() as folder:
            for name in ["make", *given.steps]:
                checked |= step(name, Path(folder), millions, given, found)
    if len(given.sizes) > 1:
        for name, seconds in found.items():
            slope = np.polyfit(np.log(given.sizes), np.log(seconds), 1)[0]
            print(f"{name}: seconds grow as pairs to the power {slope:.2f}")
    print("\n".join(summary(checked)))
    return int(any(checked.values()))


def bars() -> list[str]:
    """The names of all bars: STEP seconds, STEP memory, and one against implicit."""
    return [*(f"{name} seconds" for name in SECONDS), *(f"{name} memory" for name in [*STEPS][1:]), "bpr of implicit"]


def summary(checked: dict[str, str]) -> list[str]:
    """The bars that are missed, how many were checked, and those that were not."""
    missed = [f"missed: {bar}: {what}" for bar, what in checked.items() if what]
    left = [bar for bar in bars() if bar not in checked]
    if not checked:
        return [f"no bar was checked: they hold at {FULL} million pairs (--sizes {FULL})"]
    if left:
        return [*missed, f"{len(checked) - len(missed)} bars are met; not checked: {', '.join(left)}"]
    return missed or [f"every bar is met ({len(checked)})"]


def step(
    name: str, folder: Path, millions: float, given: argparse.Namespace, found: dict[str, list[float]]
) -> dict[str, str]:
    """Measures and prints one step; each bar that was checked -> how it is missed, "" where it is met."""
    one = in_a_child(name, folder, millions, given.threads, given.whole)
    found.setdefault(name, []).append(one["seconds"])
    part = f", from 1/{one['times']:.3g} of it" if one["times"] > 1 else ""
    line = (
        f"  {name:10} {one['seconds']:8.1f} s ({one['processor']:.1f} s of processor), {one['gigabytes']:.2f} GB{part}"
    )
    other = beside(name, folder, given.threads, given.whole) if name in RIVALS else None
    print(line + (f"; implicit {other:.1f} s, {other / one['seconds']:.2f} times" if other else ""), flush=True)
    return checked_bars(name, one, other) if millions == FULL and name != "make" else {}


def checked_bars(name: str, one: dict[str, float], other: float | None) -> dict[str, str]:
    """Each bar of a step at FULL -> how it is missed, "" where it is met; other: seconds of implicit, if it is here."""
    seconds, gigabytes = one["seconds"], one["gigabytes"]
    found = {f"{name} memory": f"{gigabytes:.2f} GB, bar {GIGABYTES}" if gigabytes > GIGABYTES else ""}
    if name in SECONDS:
        found[f"{name} seconds"] = f"{seconds:.1f} s, bar {SECONDS[name]}" if seconds > SECONDS[name] else ""
    if name == "bpr" and other is not None:
        found["bpr of implicit"] = f"not {BPR:g} times as fast" if other < BPR * seconds else ""
    return found


if __name__ == "__main__":
    sys.exit(main())
