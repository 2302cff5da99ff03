"""In-batch softmax with its gradients, d = 128, float32: `losses.chunked_softmax` against torch's cross entropy.

    python benchmarks/softmax.py [--rounds 3] [--threads 2]
    python benchmarks/softmax.py --device cuda

Processor time as a ratio, both in turns in one run, at batches of 4,096 and 16,384; peak memory above that of a process
that has only loaded torch and the tables, each measurement in a process of its own, at 16,384 and 65,536.
Bars: 1.0 and 1.1 times the processor time; 0.3 and 0.5 GB.

On a GPU: seconds and peak memory of a step at batches up to 262,144, beside torch's while its scores fit; no bars.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout needs no installation
from course_lib import losses

WIDTH, TAU = 128, 0.1
TIMES = {4096: 1.0, 16384: 1.1}
MEMORY = {16384: 0.3, 65536: 0.5}
ON_A_GPU, TORCH_FITS = (16384, 65536, 262144), 65536  # whose scores are 17 GB, held two or three times


def step(kind: str, batch: int, device: str = "cpu", rows: int | None = None) -> None:
    """One loss and the gradients of both tables."""
    generator = torch.Generator().manual_seed(0)
    tables = (torch.randn(batch, WIDTH, generator=generator).to(device) for _ in range(2))
    left, right = (functional.normalize(table).requires_grad_() for table in tables)
    if kind == "chunked":
        loss = losses.chunked_softmax(left, right, tau=TAU, rows=rows)
    else:
        loss = functional.cross_entropy(left @ right.T / TAU, torch.arange(batch, device=device))
    torch.autograd.backward(loss)


def on_a_gpu(device: str, rounds: int) -> None:
    """Prints seconds and gigabytes of a step: in chunks of 32 MiB of scores, in chunks of 1,024 rows, and torch's."""
    kinds = {"chunked": None, "chunked, 1,024 rows": 1024, "torch": None}
    for batch in ON_A_GPU:
        for name, rows in kinds.items():
            if name == "torch" and batch > TORCH_FITS:
                continue
            seconds = []
            torch.cuda.reset_peak_memory_stats()
            for _ in range(rounds + 1):
                torch.cuda.synchronize()
                begun = time.perf_counter()
                step(name.partition(",")[0], batch, device, rows)
                torch.cuda.synchronize()
                seconds.append(time.perf_counter() - begun)
            used = torch.cuda.max_memory_allocated() / 1e9
            print(f"{name}, B = {batch:,}: {statistics.median(seconds[1:]):.3f} s, {used:.2f} GB", flush=True)


def processor(kind: str, batch: int) -> float:
    """Seconds of processor time of one step."""
    start = time.process_time()
    step(kind, batch)
    return time.process_time() - start


def gigabytes(kind: str, batch: int) -> float:
    """Peak memory of a step, above that of a tiny one, in a process of its own."""
    command = [sys.executable, __file__, "--memory", kind, str(batch)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def peak() -> float:
    """The most memory that this process has used, in GB; ru_maxrss would count the parent's."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6


def print_memory(kind: str, batch: int) -> None:
    """The child's side of `gigabytes`."""
    step(kind, 2)
    before = peak()
    step(kind, batch)
    print(peak() - before)


def main() -> int:
    """Prints ratios and memory, and returns 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.memory:
        print_memory(arguments.memory[0], int(arguments.memory[1]))
        return 0
    if arguments.device != "cpu":
        print(torch.cuda.get_device_name(arguments.device))
        on_a_gpu(arguments.device, arguments.rounds)
        return 0
    missed = 0
    for batch, bar in TIMES.items():
        turns = [(processor("chunked", batch), processor("torch", batch)) for _ in range(arguments.rounds + 1)][1:]
        ratio = statistics.median(mine / theirs for mine, theirs in turns)
        missed += ratio > bar
        print(f"B = {batch:,}: {ratio:.2f} times torch's processor time (bar {bar})")
    for batch, bar in MEMORY.items():
        used = gigabytes("chunked", batch)
        missed += used > bar
        whole = f", torch {gigabytes('torch', batch):.2f} GB" if batch < 2**15 else ""
        print(f"B = {batch:,}: {used:.2f} GB{whole} (bar {bar} GB)")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
