"""The gravity term: through Gramians against the double sum, and what it adds to a training step.

    python benchmarks/gravity.py [--rounds 7]

1. The gradient of the term on a batch of B with k = 64: both forms take turns, ratio as the median over rounds; the
exponent of the
   Gramian form's cost in B, fitted over B = 2048 ... 32768.
2. The B at which both forms cost the same, for k = 32, 64, 128: theory counts k B^2 against k^2 B multiplications, so B
= k. 3. One SGD step of two towers (an embedding table, hidden layers of 256 and 64) on batches of 1024 with SOGram,
against the same step without
   the gravity term.

Exits with 1 when the Gramian form is not 50 times faster at B = 8192, or the SOGram step takes more than 1.3 times the
plain one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout needs no installation
from course_lib import gramians

FASTER, STEP = 50, 1.3


def double_sum(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """(14) as it stands: all inner products of the batch, squared."""
    return ((left @ right.T) ** 2).mean()


def gradient(form: Callable[..., torch.Tensor], size: int, width: int) -> Callable[[], None]:
    """One forward and backward pass of a form of the term on random embeddings."""
    generator = torch.Generator().manual_seed(0)
    tables = [torch.randn(size, width, generator=generator).requires_grad_() for _ in range(2)]
    return lambda: torch.autograd.grad(form(*tables), tables)


def seconds(action: Callable[[], object], least: float = 0.002) -> float:
    """Seconds of one call; short ones are repeated until the clock can see them."""
    calls, start = 0, time.perf_counter()
    while not calls or time.perf_counter() - start < least:
        action()
        calls += 1
    return (time.perf_counter() - start) / calls


def in_turns(actions: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every action in every round; they take turns, so that a busy computer slows all alike."""
    for action in actions.values():
        action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(seconds(action))
    return times


def ratio(times: dict[str, list[float]], name: str, base: str) -> float:
    return statistics.median(a / b for a, b in zip(times[name], times[base], strict=True))


def exponent(sizes: list[int], width: int, rounds: int) -> float:
    """The slope of log seconds against log B for the Gramian form."""
    times = in_turns({str(size): gradient(gramians.gravity, size, width) for size in sizes}, rounds)
    middle = [statistics.median(times[str(size)]) for size in sizes]
    return float(np.polyfit(np.log(sizes), np.log(middle), 1)[0])


def crossover(width: int, rounds: int) -> float:
    """B at which both forms take the same time, between the measured sizes on logarithmic axes."""
    sizes = [width // 4, width // 2, width, 2 * width, 4 * width, 8 * width, 16 * width]
    logs = []
    for size in sizes:
        times = in_turns(
            {"pairs": gradient(double_sum, size, width), "gramians": gradient(gramians.gravity, size, width)}, rounds
        )
        logs.append(np.log(ratio(times, "pairs", "gramians")))
    above = next((at for at, value in enumerate(logs) if value > 0), None)
    if above in (None, 0):
        return float("nan")
    share = -logs[above - 1] / (logs[above] - logs[above - 1])
    return float(np.exp(np.log(sizes[above - 1]) + share * np.log(sizes[above] / sizes[above - 1])))


class Step:
    """One SGD step of two towers on a batch of pairs, with or without the gravity term through SOGram."""

    def __init__(self, *, gravity: bool, batch: int = 1024, entities: int = 4096, width: int = 64) -> None:
        torch.manual_seed(0)
        self.towers = torch.nn.ModuleList(
            torch.nn.Sequential(
                torch.nn.Embedding(entities, 150),
                torch.nn.Linear(150, 256),
                torch.nn.ReLU(),
                torch.nn.Linear(256, width),
            )
            for _ in range(2)
        )
        self.optimiser = torch.optim.SGD(self.towers.parameters(), lr=0.01)
        self.sides = [gramians.SOGram(width, 0.01) for _ in range(2)] if gravity else None
        self.batch, self.entities, self.rng = batch, entities, torch.Generator().manual_seed(0)

    def __call__(self) -> None:
        pairs = torch.randint(self.entities, (2, self.batch), generator=self.rng)
        left, right = (tower(ids) for tower, ids in zip(self.towers, pairs, strict=True))
        loss = (1 - (left * right).sum(1)).square().mean()
        if self.sides:
            # the estimates of the steps before are independent of this batch; the batch is folded in afterwards
            if self.sides[0].steps:
                loss = loss + 10 * gramians.gravity_loss(left, right, self.sides[0].estimate, self.sides[1].estimate)
            for side, ids, rows in zip(self.sides, pairs, (left, right), strict=True):
                side.update(ids, rows)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    times = in_turns(
        {"pairs": gradient(double_sum, 8192, 64), "gramians": gradient(gramians.gravity, 8192, 64)}, rounds
    )
    faster = ratio(times, "pairs", "gramians")
    print(
        f"B = 8192, k = 64: double sum {1000 * statistics.median(times['pairs']):.1f} ms, Gramians "
        f"{1000 * statistics.median(times['gramians']):.2f} ms, {faster:.0f} times faster (bar {FASTER})"
    )
    print(f"cost of the Gramian form grows like B^{exponent([2048, 4096, 8192, 16384, 32768], 64, rounds):.2f}")
    for width in (32, 64, 128):
        print(f"k = {width}: both forms cost the same at B = {crossover(width, rounds):.0f} (operation count: {width})")
    steps = in_turns({"plain": Step(gravity=False), "sogram": Step(gravity=True)}, 4 * rounds)
    dearer = ratio(steps, "sogram", "plain")
    print(
        f"a step on 1024 pairs: plain {1000 * statistics.median(steps['plain']):.1f} ms, "
        f"with SOGram {dearer:.3f} times that (bar {STEP})"
    )
    return int(faster < FASTER or dearer > STEP)


if __name__ == "__main__":
    raise SystemExit(main())
