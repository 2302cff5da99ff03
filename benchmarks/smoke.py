"""Seconds of every experiment at smoke scale, from an empty store; the bar is 60 s each on 2 cores, 15 s for P0-E8.

python benchmarks/smoke.py
"""

import sys
import tempfile
import time
from pathlib import Path

from course_lib import experiments

BAR, BARS = 60.0, {"P0-E8": 15.0}


def main() -> int:
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for which in experiments.names():
            start = time.perf_counter()
            experiments.run(which, "smoke", store=Path(folder), progress=False)
            seconds = time.perf_counter() - start
            bar = BARS.get(which, BAR)
            missed |= seconds > bar
            print(f"{which}: {seconds:5.1f} s (bar {bar:.0f} s)", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
