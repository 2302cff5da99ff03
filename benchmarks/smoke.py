"""Seconds of every experiment at smoke scale, from an empty store; the bar is 60 s each on 2 cores.

    python benchmarks/smoke.py
"""

import sys
import tempfile
import time
from pathlib import Path

from course_lib import experiments

BAR = 60.0


def main() -> int:
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for id in experiments.names():
            start = time.perf_counter()
            experiments.run(id, "smoke", store=Path(folder), progress=False)
            seconds = time.perf_counter() - start
            slowest = max(slowest, seconds)
            print(f"{id}: {seconds:5.1f} s (bar {BAR:.0f} s)", flush=True)
    return int(slowest > BAR)


if __name__ == "__main__":
    sys.exit(main())
