"""Compares what a notebook gives with what it stores, and its scalars with the claims.

What it gives is what it gave in the book's build, where that still holds (tools/execution.py knows what a notebook
depends on); otherwise it runs in a fresh kernel. nbval compares in both cases: `tests.notebooks.replay` hands it the
outputs of the build as if a kernel had just sent them.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import nbformat

from course_lib.lessons.shared.scalars import SCALARS_VARIABLE
from tools.claims import Claim, check_scalars
from tools.execution import Cache

ROOT = Path(__file__).resolve().parents[2]
SANITIZE = Path(__file__).with_name("sanitize.cfg")
CELL_TIMEOUT = 300  # seconds: a cell that takes longer hangs
REPLAY = ("-p", "tests.notebooks.replay")
# pytest without jsonschema's grammar of web addresses (tests/conftest.py, which nbval's processes do not read).
PYTEST = "import sys; sys.modules['rfc3987_syntax'] = None; import pytest; sys.exit(pytest.main())"
EXECUTED_VARIABLE = "COURSE_EXECUTED"  # {notebook: its executed copy} as JSON, for tests.notebooks.replay


def read_scalars(path: str | Path) -> dict[str, float]:
    """The numbers that a notebook wrote to ``path``; a name published with two different values is an error."""
    scalars: dict[str, float] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        name, value = entry["name"], entry["value"]
        if name in scalars and scalars[name] != value:
            raise ValueError(
                f"name: {name!r} was published twice, as {scalars[name]!r} and as {value!r}; expected once"
            )
        scalars[name] = value
    return scalars


@dataclass(frozen=True)
class Validation:
    """What one run gave: sentences about what is wrong (none:
    all is well), processor seconds, and the published scalars; whether the book's build had run it.
    """

    problems: list[str]
    seconds: float
    scalars: dict[str, float]
    replayed: bool = False


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    """The notebook's code cells, in order."""
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def unrun_cells(path: Path) -> list[str]:
    """Problems with the stored counts: nbval compares nothing in a cell that was never run, and says nothing."""
    return [
        f"code cell {number} is stored with execution count {cell.execution_count}, expected {number}"
        for number, cell in enumerate(code_cells(path), start=1)
        if cell.execution_count != number
    ]


def validate(
    path: Path,
    *,
    name: str | None = None,
    claims: list[Claim] | None = None,
    cache: Cache | None = None,
    passed: frozenset[Path] = frozenset(),
) -> Validation:
    """Validate a notebook; ``name`` is what the claims call it (its path under book/ without suffix).

    Every code cell must be stored as run, must run again without an exception, must give the stored text outputs
    (cells tagged ``nbval-ignore-output`` excepted), and every scalar that a claim expects must be published within
    its tolerance. ``claims`` stands in for the rows of book/claims in tests of this function. ``cache``: where an
    execution may be taken from; without one, or where it has none that holds, the notebook runs. ``passed``: notebooks
    whose execution nbval has compared already (`replayed`).
    """
    problems = unrun_cells(path)
    environment = _environment()
    known = cache.data(path, environment) if cache else None
    with tempfile.TemporaryDirectory() as folder:
        published = Path(folder) / "scalars.jsonl"
        published.touch()
        start = processor_seconds()
        if known and cache:
            published.write_text(known["scalars"], encoding="utf-8")
            if path not in passed:
                problems += _run_nbval(path, {**environment, **_executed([path], cache)}, REPLAY)
        else:
            problems += _run_nbval(path, {**environment, SCALARS_VARIABLE: str(published)})
        seconds = known["processor_seconds"] if known else processor_seconds() - start
        scalars = read_scalars(published)
    if name is not None:
        problems += check_scalars(name, scalars, claims)
    return Validation(problems, seconds, scalars, replayed=known is not None)


def replayed(paths: list[Path], cache: Cache) -> frozenset[Path]:
    """Those of the notebooks whose executions in the cache hold, and which pass in every cell: all in one process.

    The others are for `validate`, one by one, which says what is wrong with them.
    """
    environment = _environment()
    known = [path for path in paths if cache.data(path, environment)]
    if not known:
        return frozenset()
    done = _nbval(known, {**environment, **_executed(known, cache)}, REPLAY)
    counts = Counter(Path(name) for name in re.findall(r"^REPLAYED (.+)$", done.stdout, re.MULTILINE))
    return frozenset(path for path in known if counts[path.resolve()] == len(code_cells(path)))


def _executed(paths: list[Path], cache: Cache) -> dict[str, str]:
    return {EXECUTED_VARIABLE: json.dumps({str(path.resolve()): str(cache.outputs_at(path)) for path in paths})}


def _environment() -> dict[str, str]:
    """The variables under which a notebook is checked: at the smallest scale, with sums in one order, as stored."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COURSE_SCALE")}
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {"OMP_NUM_THREADS": "1", **kept, "PYTHONPATH": paths}


def processor_seconds() -> float:
    """What all processes that this one has started and seen end have used:
    on one thread the time on an idle machine.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _nbval(
    paths: list[Path], environment: dict[str, str], options: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    """nbval in strict mode."""
    command = [sys.executable, "-c", PYTEST, "-q", "-p", "no:cacheprovider", "-p", "nbval", "--color=no", "--nbval"]
    command += ["--nbval-current-env", "--nbval-sanitize-with", str(SANITIZE)]
    command += ["--nbval-cell-timeout", str(CELL_TIMEOUT), *options, *map(str, paths)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def _run_nbval(path: Path, environment: dict[str, str], options: tuple[str, ...] = ()) -> list[str]:
    """nbval's problems with one notebook; a cell that was skipped is one too."""
    done = _nbval([path], environment, options)
    expected = len(code_cells(path))
    found = re.search(r"^(\d+) passed(?:, \d+ warnings?)? in", done.stdout, re.MULTILINE)
    if done.returncode == 0 and found and int(found[1]) == expected:
        return []
    return [f"nbval: expected {expected} cells to pass\n{done.stdout[-6000:]}{done.stderr[-2000:]}"]
