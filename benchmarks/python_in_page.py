"""Python in the page: seconds from the click to the result, and the most memory that the tab had, by its process.

    python benchmarks/python_in_page.py [--audit 20000x64 200000x128]     (after make python-in-page; Linux)

A cell with NumPy, then the audit of so many items of such a width, a quarter as many users, ten training pairs and a
held-out one each. The tab is empty before each. Bars: 20 s and 0.6 GB for the cell.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import pages_that_run

from tools import browsing, python_in_page

CELL = '<div class="cell tag_run-here"><div class="cell_input"><pre>import numpy\nprint(1)</pre></div></div>'
SECONDS, GIGABYTES = 20, 0.6


def peaks() -> dict[str, float]:
    """Gigabytes that each tab of a Chromium on this machine had at most, by the number of its process."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (process / "cmdline").read_bytes():
                [peak] = [line for line in (process / "status").read_text().splitlines() if line.startswith("VmHWM")]
                found[process.name] = int(peak.split()[1]) / 1e6
        except OSError:  # it has ended
            continue
    return found


def tables(folder: Path, items: int, width: int) -> None:
    """Files for each input of the audit, by its name; the first items are the popular ones."""
    rng, users = np.random.default_rng(0), items // 4
    for name, rows in (("items", items), ("users", users)):
        np.save(folder / f"{name}.npy", rng.normal(size=(rows, width)).astype("f4"))
    chances = 1 / np.arange(1, items + 1)
    for name, each in (("pairs", 10), ("held-out", 1)):
        drawn = rng.choice(items, users * each, p=chances / chances.sum())
        pairs = np.unique(np.stack([np.repeat(np.arange(users), each), drawn], 1), axis=0)
        np.savetxt(folder / f"{name}.csv", pairs, "%d", ",", header="user,item", comments="")


def measured(browser: Any, size: str | None) -> tuple[float, float, str]:
    """Seconds, gigabytes and the page's last word, for the audit of a size, or for the cell."""
    body, script = ('<div class="audit-here"></div>', "audit_here.js") if size else (CELL, "run_here.js")
    with TemporaryDirectory() as folder, pages_that_run.served(Path(folder), body, script) as address:
        before, page = peaks(), browser.new_page()
        page.goto(address)
        button = page.get_by_role("button", name="Audit here" if size else "Run")
        button.wait_for()
        if size:
            tables(Path(folder), *map(int, size.split("x")))
            for path in (*Path(folder).glob("*.npy"), *Path(folder).glob("*.csv")):
                page.set_input_files(f"input[name={path.stem}]", str(path))
        start = time.perf_counter()
        button.click()
        page.wait_for_function("document.querySelector('.run-here button').disabled")
        page.wait_for_function("!document.querySelector('.run-here button').disabled", timeout=1_000_000)
        seconds = time.perf_counter() - start
        own = [peak for process, peak in peaks().items() if process not in before]
        said = page.text_content(".run-here output")
        page.close()
    return seconds, max(own), said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audit", nargs="*", default=[], metavar="ITEMSxWIDTH")
    given = parser.parse_args()
    if not (python_in_page.FOLDER / "about.json").is_file():
        print("not measured: make python-in-page fetches the engine")
        return
    missed = False
    with browsing.browser() as browser:
        for size in (None, *given.audit):
            seconds, gigabytes, said = measured(browser, size)
            print(f"{size or 'a cell'}: {seconds:.1f} s, {gigabytes:.2f} GB. {said}", flush=True)
            missed |= size is None and (seconds > SECONDS or gigabytes > GIGABYTES)
    sys.exit(missed)


if __name__ == "__main__":
    main()
