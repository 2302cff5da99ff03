"""Grading 30 ordinary students with the real limits, from release to feedback, on a machine that others use too.

The bar is ten minutes by the clock, at load 6 as well, and every mark must be the one that the tests know for its kind
of submission: under load a notebook earns what it earns on an idle machine. `--load 6` adds as many busy processes as
are needed; the load of others counts.

    python benchmarks/classroom.py [--submissions 30] [--load 6] [--hostile]

Needs nbgrader (pip install -e .[classroom]) and Linux; says so and ends with 0 where they are missing.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # a checkout needs no installation
simulate = importlib.import_module("exercises.engine.simulate")

BAR = 600.0
LIMITS = ["--step-seconds=10", "--submission-seconds=40"]


@contextmanager
def busy(load: float) -> Iterator[None]:
    """As many processes that never rest as are missing to this load."""
    others = max(0, round(load - os.getloadavg()[0]))
    burners = [
        subprocess.Popen([sys.executable, "-c", f"import time\nwhile time.time() < {time.time() + 3600}: pass"])
        for _ in range(others)
    ]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def grade(folder: Path, kinds: list[str]) -> tuple[float, dict[str, float]]:
    """Seconds by the clock from the first release to the last page of feedback, and the total of each student.

    RuntimeError where grading failed.
    """
    simulate.write_class(folder / "in", kinds)
    command = [sys.executable, "-m", "exercises.engine.classroom", "all"]
    command += ["--submissions", str(folder / "in"), "--course", str(folder), *LIMITS]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    seconds = time.perf_counter() - start
    with (folder / "grades" / f"{simulate.FIRST}.csv").open(encoding="utf-8") as file:
        return seconds, {row["student"]: float(row["total"]) for row in csv.DictReader(file)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=30, help="size of the class (30)")
    parser.add_argument("--load", type=float, default=0.0, help="the load at which to grade (that of the machine)")
    parser.add_argument("--hostile", action="store_true", help="every kind of submission, most of them hostile")
    options = parser.parse_args()
    if sys.platform != "linux" or importlib.util.find_spec("nbgrader") is None:
        print("left out: grading needs Linux and nbgrader")
        return 0
    expected = simulate.expected()
    ordinary = [kind for kind in expected if not kind.startswith("hostile-")]
    kinds = [ordinary[place % len(ordinary)] for place in range(options.submissions)]
    if options.hostile:
        kinds = simulate.kinds_of_a_class(options.submissions)
    with tempfile.TemporaryDirectory() as folder, busy(options.load):
        seconds, marks = grade(Path(folder), kinds)
        load = os.getloadavg()[1]
    other = {name: mark for name, mark in marks.items() if mark != expected[name.rsplit("-", 1)[0]]}
    print(
        f"{len(kinds)} submissions at load {load:.1f}: {seconds:.0f} s (bar {BAR:.0f}); wrong marks: {other or 'none'}"
    )
    return int(seconds > BAR or bool(other) or len(marks) != len(kinds))


if __name__ == "__main__":
    sys.exit(main())
