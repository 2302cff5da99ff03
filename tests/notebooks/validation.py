"""Compares what a notebook gives with what it stores, and its scalars with the claims.

What it gives is what it gave in the book's build, where that still holds; otherwise tools/execution.py runs it. nbval
compares: `tests.notebooks.replay` hands it the outputs as if a kernel had just sent them. `pytest --nbval` on a
notebook does the same with a kernel of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from tools.claims import Claim, check_scalars
from tools.execution import Cache, NotebookFailed, kernel_environment, refresh

ROOT = Path(__file__).resolve().parents[2]
SANITIZE = Path(__file__).with_name("sanitize.cfg")
EXECUTED_VARIABLE = "EXECUTED_NOTEBOOKS"  # {notebook: its executed copy} as JSON, for tests.notebooks.replay


def read_scalars(executed: nbformat.NotebookNode) -> dict[str, float]:
    """The numbers that a notebook published; a name published with two different values is an error."""
    scalars: dict[str, float] = {}
    outputs = (output for cell in executed.cells for output in cell.get("outputs", []))
    for kept in (output.get("metadata", {}).get("scrapbook", {}) for output in outputs):
        name, value = kept.get("name"), kept.get("value")
        if value is not None and scalars.setdefault(name, value) != value:
            raise ValueError(
                f"name: {name!r} was published twice, as {scalars[name]!r} and as {value!r}; expected once"
            )
    return scalars


@dataclass(frozen=True)
class Validation:
    """What is wrong with a notebook, in sentences (none: all is well), and the scalars that it published."""

    problems: list[str]
    scalars: dict[str, float] = field(default_factory=dict)


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
    cache: Cache,
    name: str | None = None,
    claims: list[Claim] | None = None,
    passed: frozenset[Path] = frozenset(),
) -> Validation:
    """Validate a notebook; ``name`` is what the claims call it (its path under book/ without suffix).

    Every code cell must be stored as run, must run without an exception, must give the stored text outputs (cells
    tagged ``nbval-ignore-output`` excepted), and every scalar that a claim expects must be published within its
    tolerance. ``claims`` stands in for the rows of claims in tests of this function. ``cache``: where an execution
    is taken from, or kept. ``passed``: notebooks whose execution nbval has compared already (`replayed`).
    """
    problems = unrun_cells(path)
    try:
        refresh([path], cache)
    except NotebookFailed as error:
        return Validation([*problems, str(error)])
    if path not in passed:
        problems += _run_nbval(path, cache)
    scalars = read_scalars(cache.notebook(path))
    if name is not None:
        problems += check_scalars(name, scalars, claims)
    return Validation(problems, scalars)


def replayed(paths: list[Path], cache: Cache) -> frozenset[Path]:
    """Those of the notebooks whose executions in the cache hold, and which pass in every cell: all in one process.

    The others are for `validate`, one by one, which says what is wrong with them.
    """
    known = [path for path in paths if cache.holds(path)]
    if not known:
        return frozenset()
    done = _nbval(known, cache)
    counts = Counter(Path(name) for name in re.findall(r"^REPLAYED (.+)$", done.stdout, re.MULTILINE))
    return frozenset(path for path in known if counts[path.resolve()] == len(code_cells(path)))


def _nbval(paths: list[Path], cache: Cache) -> subprocess.CompletedProcess[str]:
    """nbval in strict mode, on executions of the cache."""
    executed = {str(path.resolve()): str(cache.outputs_at(path)) for path in paths}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "nbval", "--color=no", "--nbval"]
    command += ["--nbval-current-env", "--nbval-sanitize-with", str(SANITIZE), "-p", "tests.notebooks.replay"]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the two that are named above, and none of other packages
    environment = {**os.environ, **kernel_environment(), **alone, EXECUTED_VARIABLE: json.dumps(executed)}
    return subprocess.run(
        [*command, *map(str, paths)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def _run_nbval(path: Path, cache: Cache) -> list[str]:
    """nbval's problems with one notebook; a cell that was skipped is one too."""
    done = _nbval([path], cache)
    expected = len(code_cells(path))
    found = re.search(r"^(\d+) passed(?:, \d+ warnings?)? in", done.stdout, re.MULTILINE)
    if done.returncode == 0 and found and int(found[1]) == expected:
        return []
    return [f"nbval: expected {expected} cells to pass\n{done.stdout[-6000:]}{done.stderr[-2000:]}"]
