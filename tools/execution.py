"""Executes notebooks side by side, and keeps what they gave for as long as nothing changes that they depend on.

The cache is jupyter-cache's, in ``_build/.jupyter_cache``: the book, ``tools/normalise.py`` and the notebook tests
share it. jupyter-cache knows a notebook by its code cells. With each execution stand here also: the files that the
notebook's imports reach (``course_lib/dependencies.py``), the files of the checkout that its kernel really read
(``tools/watch_reads.py``), the stored results that it names, and the fingerprint of all of them.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, CachingError
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbformat import NotebookNode

from course_lib import dependencies
from tools import kernels, watch_reads

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "_build" / ".jupyter_cache"
DRAWING = ROOT / "tools" / "drawing.py"  # how the kernel draws each figure
CELL_TIMEOUT = 600  # seconds
KEPT = 300  # fingerprints of the last builds
FORK_FOR = 3  # notebooks: for fewer, the process that forks takes as long to start as their kernels

SCALARS_VARIABLE = "COURSE_SCALARS"  # as in course_lib.lessons.shared.scalars
EXPERIMENT = re.compile(r"(?:P\d+|SCALE|TEXT)-[A-Z]+\d*")
# What may change the digits that a notebook prints, besides files: the scale, and which kernels multiply matrices.
TELLING = re.compile(r"COURSE_|OMP_|OPENBLAS_|MKL_|NPY_|ATEN_|ONEDNN_|DNNL_|NUMBA_|PYTHONHASHSEED")
SILENT = {
    "COURSE_CACHE",
    "COURSE_CHROMIUM",
    "COURSE_LAUNCH",
    "COURSE_EXECUTED",
    "COURSE_READS",
    "COURSE_SCALARS",
    "NUMBA_CACHE_DIR",
}
DEFAULTS = {"OMP_NUM_THREADS": "1", "COURSE_SCALE": "smoke"}  # sums in one order: the same digits on every machine
PACKAGES = ("numpy", "scipy", "torch", "numba", "matplotlib", "sympy")


class NotebookFailed(RuntimeError):
    """A cell raised an exception, took too long, or lost its kernel; the message names notebook and cell."""


@dataclass(frozen=True)
class Execution:
    """What one execution gave: the notebook with its outputs, seconds on the clock, when it began (ns), seconds of the
    processor, the scalars that it published (the lines of the file), and the files of the checkout that it read.
    """

    notebook: NotebookNode
    seconds: float
    began: int
    processor: float = float("nan")
    scalars: str = ""
    reads: tuple[str, ...] = field(default=())


def read(path: Path) -> NotebookNode:
    """A notebook from disk, as version 4."""
    notebook: NotebookNode = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    return notebook


def shown(path: Path) -> str:
    """A path as messages name it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def code_of(notebook: NotebookNode) -> str:
    """The Python of a notebook's code cells, without the lines that only IPython understands."""
    sources = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    lines = (line for source in sources for line in source.splitlines())
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!"))) + "\n"


def files_behind(notebook: NotebookNode, graph: dependencies.Imports | None = None) -> frozenset[Path]:
    """The files that a notebook depends on, as far as its text tells: code and data of the library, stored results,
    and the claims where it imports them.
    """
    code = code_of(notebook)
    try:
        found = set((graph or dependencies.Imports()).closure(code))
        strings = dependencies.strings_of(code)
    except SyntaxError:
        everything = (ROOT / dependencies.PACKAGE).rglob("*")
        return frozenset(path for path in everything if path.is_file() and "__pycache__" not in path.parts)
    experiments = {name for text in strings for name in EXPERIMENT.findall(text)}
    for name in experiments:
        found |= set((ROOT / "book" / "results").glob(f"{name}-*.json"))
    if _imports_claims(code):
        found |= set((ROOT / "book" / "claims").glob("*.yml"))
    return frozenset(found)


def _imports_claims(code: str) -> bool:
    """Whether a notebook's own cells import the claims."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {*(getattr(node, "module", "") or "").split("."), *(alias.name for alias in node.names)}
    return any(name.split(".")[-1] == "claims" for name in names)


def settings(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Versions and environment variables that may change what a notebook prints."""
    given = os.environ if environment is None else environment
    told = {name: value for name, value in given.items() if TELLING.match(name) and name not in SILENT and value}
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {**DEFAULTS, **told, **versions, "python": platform.python_version()}


def depends_on(
    notebook: NotebookNode, reads: Iterable[str], graph: dependencies.Imports | None = None
) -> frozenset[Path]:
    """The files that an execution rests on: what its text tells, what it read, and how figures are drawn."""
    return files_behind(notebook, graph) | {ROOT / name for name in reads} | {DRAWING}


def fingerprint(
    notebook: NotebookNode,
    reads: Iterable[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
    graph: dependencies.Imports | None = None,
) -> str:
    """A hash over all that a notebook's outputs depend on, besides its own cells; ``reads``: what it read last time."""
    paths = depends_on(notebook, reads, graph)
    told = json.dumps(settings(environment), sort_keys=True)
    return hashlib.sha256(f"{dependencies.code_hash(paths)}{told}".encode()).hexdigest()[:16]


def states(paths: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Name, time of the last change and size of files, sorted; a file that is not there has neither."""
    found = []
    for path in sorted(set(paths)):
        status = path.stat() if path.is_file() else None
        found.append((str(path), status.st_mtime_ns if status else 0, status.st_size if status else -1))
    return found


def changed_since(began: int, paths: Iterable[Path]) -> bool:
    """Whether one of the files was written or put in its place since then (ns).

    A file from elsewhere may keep an older time of writing; the time at which it came says so. Times that lie in the
    future say nothing. A path without a file says nothing either: the kernel may have looked there in vain.
    """
    now = time.time_ns()
    found = [path.stat() for path in paths if path.is_file()]
    return any(began < moment <= now for status in found for moment in (status.st_mtime_ns, status.st_ctime_ns))


def files_that_may_count() -> list[Path]:
    """All files that a fingerprint may rest on, besides what a kernel read."""
    return [
        Path(folder) / name
        for top in (dependencies.PACKAGE, "tools", "book/results", "book/claims")
        for folder, _, names in os.walk(ROOT / top)
        if not folder.endswith("__pycache__")
        for name in names
    ]


class Fingerprints:
    """Fingerprints of earlier builds, for as long as no file changes that they may rest on: to make them takes seconds.

    They stand in a file of the cache, under a hash of the states of those files.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self.known: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.known = {}

    def of(
        self,
        notebook: NotebookNode,
        reads: Iterable[str],
        environment: Mapping[str, str] | None,
        graph: dependencies.Imports,
    ) -> str:
        """See `fingerprint`."""
        reads = sorted(reads)
        files = states([*files_that_may_count(), *(ROOT / name for name in reads)])
        asked = json.dumps([code_of(notebook), files, settings(environment)], sort_keys=True)
        key = hashlib.sha256(asked.encode()).hexdigest()
        if key not in self.known:
            self.known[key] = fingerprint(notebook, reads, environment=environment, graph=graph)
            self._write()
        return self.known[key]

    def _write(self) -> None:
        """Keep the latest hundreds; another process that writes at the same time loses nothing but time."""
        kept = dict([*self.known.items()][-KEPT:])
        with tempfile.NamedTemporaryFile("w", dir=self.file.parent, delete=False, encoding="utf-8") as beside:
            beside.write(json.dumps(kept))
        os.replace(beside.name, self.file)


def execute(path: Path, notebook: NotebookNode | None = None, server: kernels.ForkServer | None = None) -> Execution:
    """Run all cells in a fresh kernel whose working directory is the notebook's folder; ``server`` forks it."""
    notebook = read(path) if notebook is None else notebook
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = None, []
    with tempfile.TemporaryDirectory() as folder:
        scalars, reads = Path(folder) / "scalars.jsonl", Path(folder) / "reads.txt"
        scalars.touch()
        reads.touch()
        start, began = time.perf_counter(), time.time_ns()
        _run_cells(path, notebook, {SCALARS_VARIABLE: str(scalars), watch_reads.READS_VARIABLE: str(reads)}, server)
        seconds = time.perf_counter() - start
        lines = reads.read_text(encoding="utf-8").splitlines()
        spent = [line.removeprefix(watch_reads.PROCESSOR) for line in lines if line.startswith(watch_reads.PROCESSOR)]
        names = sorted(line for line in lines if not line.startswith(watch_reads.PROCESSOR))
        processor = float(spent[-1]) if spent else float("nan")
        return Execution(notebook, seconds, began, processor, scalars.read_text(encoding="utf-8"), tuple(names))


def kernel_environment() -> dict[str, str]:
    """The variables of a kernel that sees this checkout."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**DEFAULTS, **os.environ, "PYTHONPATH": paths}


def _run_cells(
    path: Path, notebook: NotebookNode, variables: Mapping[str, str], server: kernels.ForkServer | None
) -> None:
    """Run the cells of a notebook in a kernel that notes what it reads."""
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=[
            "--IPKernelApp.exec_lines=__import__('tools.watch_reads'); __import__('tools.drawing')",
            "--InlineBackend.figure_formats=svg",
            "--IPKernelApp.log_level=ERROR",
        ],
        record_timing=False,  # which would change the cells' metadata, and with them jupyter-cache's key
        kernel_manager_class=server.manager() if server else AsyncKernelManager,
    )
    try:
        client.execute(env={**kernel_environment(), **variables})
    except (CellControlSignal, DeadKernelError) as error:
        raise NotebookFailed(f"{shown(path)}, code cell {_stopped_at(notebook)}: {error}") from error
    except kernels.NoKernel as error:
        raise NotebookFailed(f"{shown(path)}: {error}") from error


def _stopped_at(notebook: NotebookNode) -> int:
    """The number, from one, of the code cell that failed: the first without a count or with an error that was not asked
    for.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        wanted = "raises-exception" in cell.metadata.get("tags", [])
        if cell.execution_count is None or (not wanted and any(one.output_type == "error" for one in cell.outputs)):
            return number
    return len(code)


class Cache:
    """The executed notebooks of the book."""

    def __init__(self, folder: Path = CACHE) -> None:
        self.store_of = get_cache(folder)
        self.graph = dependencies.Imports()
        self.fingerprints = Fingerprints(folder / "fingerprints.json")

    def data(self, path: Path, environment: Mapping[str, str] | None = None) -> dict[str, Any] | None:
        """What is known of a notebook's execution, where it still holds: nothing that it depends on has changed."""
        notebook = read(path)
        try:
            found = self.store_of.match_cache_notebook(notebook)
        except KeyError:
            return self._with_other_metadata(path, notebook, environment)
        mine = found.uri == str(path)  # another notebook may have the same cells, and another folder
        return found.data if mine and self._holds(notebook, found.data, environment) else None

    def notebook(self, path: Path) -> NotebookNode:
        """A notebook with the outputs of its execution; call `data` first to know that there are any."""
        merged: NotebookNode = self.store_of.merge_match_into_notebook(read(path))[1]
        return merged

    def outputs_at(self, path: Path) -> Path:
        """The file that holds the outputs of the notebook as it is now."""
        return Path(self.store_of._get_notebook_path_cache(self.store_of.create_hashed_notebook(read(path))[1]))

    def keep(self, path: Path, execution: Execution) -> bool:
        """Keep an execution in the place of older ones of the same notebook; returns whether it holds.

        Where a file that it rests on was changed meanwhile, nobody knows which state the kernel saw: it does not hold.
        """
        found = fingerprint(execution.notebook, execution.reads, graph=self.graph)
        files = depends_on(execution.notebook, execution.reads, self.graph)
        holds = not changed_since(execution.began, files)
        data = {
            "execution_seconds": execution.seconds,
            "processor_seconds": execution.processor,
            "scalars": execution.scalars,
            "reads": list(execution.reads),
            "fingerprint": found if holds else "",
        }
        self._write(path, execution.notebook, data)
        return holds

    def seconds(self, path: Path) -> float:
        """How long a notebook took last, whether that still holds or not; infinity where it was never run."""
        return max((record.data.get("execution_seconds", 0.0) for record in self._records(path)), default=float("inf"))

    def _holds(self, notebook: NotebookNode, data: dict[str, Any], environment: Mapping[str, str] | None) -> bool:
        now = self.fingerprints.of(notebook, data.get("reads", ()), environment, self.graph)
        return bool(data.get("fingerprint") == now)

    def _records(self, path: Path) -> list[Any]:
        return [record for record in self.store_of.list_cache_records() if record.uri == str(path)]

    def _write(self, path: Path, notebook: NotebookNode, data: dict[str, Any]) -> None:
        for record in self._records(path):
            try:
                self.store_of.remove_cache(record.pk)
            except KeyError:  # its folder is gone: written anew below
                continue
        self.store_of.cache_notebook_bundle(
            CacheBundleIn(notebook, str(path), data=data), check_validity=False, overwrite=True
        )

    def _with_other_metadata(
        self, path: Path, notebook: NotebookNode, environment: Mapping[str, str] | None
    ) -> dict[str, Any] | None:
        """Carry outputs over to a notebook in which only a caption or an alt text has changed."""
        for record in self._records(path):
            try:
                old = self.store_of.get_cache_bundle(record.pk).nb
            except (KeyError, CachingError):
                continue
            code = [cell for cell in notebook.cells if cell.cell_type == "code"]
            same = [_what_runs(cell) for cell in old.cells] == [_what_runs(cell) for cell in code]
            if same and self._holds(notebook, record.data, environment):
                carried = copy.deepcopy(notebook)
                places = (cell for cell in carried.cells if cell.cell_type == "code")
                for cell, had in zip(places, old.cells, strict=True):
                    cell.outputs, cell.execution_count = had.outputs, had.execution_count
                carried.metadata = {**old.metadata, **carried.metadata}
                self._write(path, carried, record.data)
                return dict(record.data)
        return None


def _what_runs(cell: NotebookNode) -> tuple[str, tuple[str, ...]]:
    """What of a code cell its execution depends on."""
    return cell.source, tuple(cell.metadata.get("tags", ()))


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def say(line: str) -> None:
    """Print a line of progress at once."""
    print(line, file=sys.stdout, flush=True)


def _length(path: Path, cache: Cache) -> tuple[float, bool, int]:
    """By what notebooks are sorted: their last time; if there is none, labs, which train models, are longer than other
    notebooks, and much code is longer than little.
    """
    return cache.seconds(path), path.stem.endswith("-lab"), len(code_of(read(path)))


def refresh(
    paths: Iterable[Path],
    cache: Cache,
    *,
    everything: bool = False,
    jobs: int | None = None,
    tell: Callable[[str], None] = say,
) -> list[Path]:
    """Execute, side by side, the notebooks whose execution does not hold (or ``everything``); returns which were run.

    Raises:
        NotebookFailed: for the first that fails. What ran to its end is kept; what had not begun is left.
    """
    stale = [path for path in paths if everything or cache.data(path) is None]
    stale.sort(key=lambda path: _length(path, cache), reverse=True)  # the longest first: none runs alone at the end
    with ExitStack() as stack:
        server = None
        if kernels.CAN_FORK and len(stale) >= FORK_FOR:
            server = stack.enter_context(kernels.ForkServer(kernel_environment()))
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=jobs or processors()))
        running: dict[Future[Execution], Path] = {pool.submit(execute, path, None, server): path for path in stale}
        try:
            for number, future in enumerate(as_completed(running), start=1):
                path, done = running[future], future.result()
                again = (
                    ""
                    if cache.keep(path, done)
                    else "; a file that it rests on changed meanwhile: runs again next time"
                )
                tell(f"executed {number}/{len(stale)}: {shown(path)} ({done.seconds:.0f} s){again}")
        except BaseException as error:
            if server is not None and not isinstance(error, Exception):  # Ctrl-C waits for no cell
                server.end()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return stale
