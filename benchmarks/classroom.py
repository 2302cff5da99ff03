"""Grading 36 submissions, some of them hostile, with the real limits: seconds, and a ratio to reference work.

Most of it is waiting for submissions that hang, so this is time on the clock. The bar is ten minutes on a machine whose
reference work (benchmarks/notebooks.py) takes one second.

    python benchmarks/classroom.py [--submissions 36]

Needs nbgrader (pip install -e .[classroom]) and Linux; says so and ends with 0 where they are missing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from notebooks import reference_seconds

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # a checkout needs no installation
simulate = importlib.import_module("exercises.simulate")

BAR = 600.0
LIMITS = {"COURSE_GRADE_STEP_SECONDS": "10", "COURSE_GRADE_SUBMISSION_SECONDS": "40"}


def grade(folder: Path, submissions: int) -> float:
    """Seconds on the clock from the first release to the last page of feedback; RuntimeError where grading failed."""
    simulate.write_class(folder / "in", simulate.kinds_of_a_class(submissions))
    command = [sys.executable, str(ROOT / "exercises" / "classroom.py"), "all"]
    command += ["--submissions", str(folder / "in"), "--course", str(folder)]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | LIMITS, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=36, help="size of the class (36)")
    options = parser.parse_args()
    if sys.platform != "linux" or importlib.util.find_spec("nbgrader") is None:
        print("left out: grading needs Linux and nbgrader")
        return 0
    reference = reference_seconds()
    with tempfile.TemporaryDirectory() as folder:
        seconds = grade(Path(folder), options.submissions)
    ratio = seconds / ((reference + reference_seconds()) / 2)
    print(f"{options.submissions} submissions: {seconds:.0f} s, {ratio:.0f} references (bar {BAR:.0f})")
    return int(ratio > BAR)


if __name__ == "__main__":
    sys.exit(main())
