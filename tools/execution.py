"""Executes the book's notebooks with jupyter-cache, and keeps what they gave while nothing changes that they rest on.

jupyter-cache knows a notebook by its code cells. With each execution stands here one salt: a hash of the code and data
of ``course_lib`` that the notebook's imports reach, comments and docstrings left out (``course_lib/dependencies.py``),
of the stored results that it names, and of the settings and versions that may change a digit.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import logging
import os
import platform
import re
import signal
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
from jupyter_cache.cache.db import NbCacheRecord
from jupyter_cache.cache.main import JupyterCacheBase
from jupyter_cache.executors.basic import ExecutionWorkerLocalMProc, JupyterExecutorLocalMproc
from nbformat import NotebookNode

from course_lib import dependencies

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "_build" / ".jupyter_cache"
KERNELS = ROOT / "tools" / "jupyter"  # how a kernel of the book draws figures
DRAWING = (
    ROOT / "tools" / "drawing.py",
    KERNELS / "kernels/python3/kernel.json",
    *(ROOT / "tools/fonts").glob("*.ttf"),
)
CELL_TIMEOUT = 600  # seconds
EXPERIMENT = re.compile(r"(?:P\d+|SCALE|TEXT|LISTS|PRACTICE)-[A-Z]*\d*")
# What may change the digits that a notebook prints, besides files: the scale, and which kernels multiply matrices.
TELLING = re.compile(
    r"COURSE_(SCALE|NUDGE|DEVICES|RESULTS)|OMP_|OPENBLAS_|MKL_|NPY_|ATEN_|ONEDNN_|DNNL_|NUMBA_CPU|PYTHONHASHSEED"
)
DEFAULTS = {"OMP_NUM_THREADS": "1", "COURSE_SCALE": "smoke"}  # sums in one order: the same digits on every machine
PACKAGES = ("numpy", "scipy", "torch", "numba", "matplotlib", "sympy")
PROGRESS = logging.getLogger(__name__)
PROGRESS.setLevel(logging.INFO)  # jupyter-cache then names each notebook on stderr as it begins and ends


class NotebookFailed(RuntimeError):
    """A cell raised an exception, took too long, or lost its kernel; the message names notebook and cell."""


def book_notebooks() -> list[Path]:
    """Every notebook of the book, sorted by path."""
    return sorted(path for path in (ROOT / "book").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


def read(path: Path) -> NotebookNode:
    """A notebook from disk, as version 4."""
    notebook: NotebookNode = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    return notebook


def code_of(notebook: NotebookNode) -> str:
    """The Python of a notebook's code cells, without the lines that only IPython understands."""
    sources = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    lines = (line for source in sources for line in source.splitlines())
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!"))) + "\n"


def files_behind(notebook: NotebookNode, graph: dependencies.Imports | None = None) -> frozenset[Path]:
    """The files that a notebook depends on: code and data of the library, the stored results that it names, the claims
    where it imports them, and how figures are drawn.
    """
    code = code_of(notebook)
    try:
        found = set((graph or dependencies.Imports()).closure(code))
        strings = dependencies.strings_of(code)
    except SyntaxError:
        everything = (ROOT / dependencies.PACKAGE).rglob("*")
        return frozenset(path for path in everything if path.is_file() and "__pycache__" not in path.parts)
    for name in {name for text in strings for name in EXPERIMENT.findall(text)}:
        found |= set((ROOT / "book" / "results").glob(f"{name}-*.json"))
    if any(
        "claims" in ast.dump(node)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ):
        found |= set((ROOT / dependencies.PACKAGE).glob("lessons/*/claims.yml"))
    return frozenset(found | set(DRAWING))


def settings(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Versions and environment variables that may change what a notebook prints."""
    given = os.environ if environment is None else environment
    told = {name: value for name, value in given.items() if TELLING.match(name) and value}
    return {**DEFAULTS, **told, **versions(), "python": platform.python_version()}


@cache
def versions() -> dict[str, str]:
    """The versions of the packages that compute."""
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def salt(
    notebook: NotebookNode, *, environment: Mapping[str, str] | None = None, graph: dependencies.Imports | None = None
) -> str:
    """A hash over all that a notebook's outputs depend on, besides its own cells."""
    told = json.dumps(settings(environment), sort_keys=True)
    return hashlib.sha256(f"{dependencies.code_hash(files_behind(notebook, graph))}{told}".encode()).hexdigest()[:16]


def state() -> str:
    """Changes when any file does that a notebook may depend on: as long as it is the same, all salts are."""
    folders = (ROOT / dependencies.PACKAGE, ROOT / "book" / "results")
    files = [path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
    stats = [(str(path), status.st_mtime_ns, status.st_size) for path in (*files, *DRAWING) for status in [path.stat()]]
    return hashlib.sha256(repr((sorted(stats), sorted(settings().items()))).encode()).hexdigest()[:16]


class Executions(JupyterCacheBase):  # type: ignore[misc]
    """jupyter-cache's folder, where storing one notebook takes out no other.

    jupyter-cache asks twice which records there are, and deletes what only the second answer has: that is also a
    notebook which another process of the pool stored in between. `Cache.forget` takes out what is old.
    """

    def truncate_caches(self) -> None:
        """Keep everything."""


class Cache:
    """The executed notebooks of the book: jupyter-cache's folder, and `salts.json`.

    That has for each notebook the salt of its execution, and the last state of the files at which that still held.
    """

    def __init__(self, folder: Path = CACHE) -> None:
        self.store = Executions(folder)
        self.graph = dependencies.Imports()
        self.salts = folder / "salts.json"

    def holds(self, path: Path, now: str = "") -> bool:
        """Whether the notebook was executed as it is now, and nothing has changed that it depends on.

        now: what `state` says, where many notebooks are asked for; what holds in it is asked for no more.
        """
        notebook = read(path)
        try:
            record = self.store.match_cache_notebook(notebook)
        except KeyError:
            return False
        # another notebook may have the same cells, and another folder; a run that was killed may leave a record alone
        mine = record.uri == str(path) and self.outputs_at(path).is_file()
        executed, last = self._known().get(str(path), ("", ""))
        return mine and bool(executed) and (last == (now or state()) or executed == salt(notebook, graph=self.graph))

    def notebook(self, path: Path) -> NotebookNode:
        """A notebook with the outputs of its execution; ask `holds` first."""
        merged: NotebookNode = self.store.merge_match_into_notebook(read(path))[1]
        return merged

    def outputs_at(self, path: Path) -> Path:
        """The file that holds the outputs of the notebook as it is now."""
        return Path(self.store._get_notebook_path_cache(self.store.create_hashed_notebook(read(path))[1]))

    def forget(self, path: Path) -> None:
        """Take out what earlier executions of a notebook gave, and another one's with the same cells."""
        notebook = read(path)
        key = self.store.create_hashed_notebook(notebook)[1]
        for record in self.store.list_cache_records():
            if record.uri == str(path) or record.hashkey == key:
                try:
                    self.store.remove_cache(record.pk)
                except KeyError:  # a run that was killed left the record without its folder
                    NbCacheRecord.remove_record(record.pk, self.store.db)

    def keep_salts(self, salts: Mapping[str, str], now: str = "", held: Iterable[Path] = ()) -> None:
        """Note under which salts notebooks were executed ("": it is about to run again), and which still held."""
        known = self._known()
        known |= {str(path): (known[str(path)][0], now) for path in held if str(path) in known}
        known |= {uri: (executed, now) for uri, executed in salts.items()}
        beside = self.salts.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(known, indent=1), encoding="utf-8")
        os.replace(beside, self.salts)  # whole, or not at all

    def _known(self) -> dict[str, tuple[str, str]]:
        try:
            known = json.loads(self.salts.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {uri: tuple(noted) for uri, noted in known.items() if isinstance(noted, list)}


def kernel_environment() -> dict[str, str]:
    """The variables of a kernel that sees this checkout, and draws as tools/jupyter says."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    kernels = os.pathsep.join(filter(None, [str(KERNELS), os.environ.get("JUPYTER_PATH", "")]))
    return {**DEFAULTS, **os.environ, "PYTHONPATH": paths, "JUPYTER_PATH": kernels}


class Worker(ExecutionWorkerLocalMProc):  # type: ignore[misc]
    """Runs a notebook in a process of a pool, which can be ended afterwards.

    Where a kernel dies at its start, nbclient leaves a handler of SIGTERM behind that ends nothing: the pool, which
    ends its processes by that signal, would wait for ever.
    """

    @staticmethod
    def execute(project_nb: Any, data: Any) -> Any:
        """As jupyter-cache, with the usual effect of SIGTERM at the end."""
        try:
            return ExecutionWorkerLocalMProc.execute(project_nb, data)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


class Executor(JupyterExecutorLocalMproc):  # type: ignore[misc]
    """Runs notebooks side by side, each in its folder."""

    _EXECUTION_WORKER = Worker


def refresh(paths: Iterable[Path], cache: Cache, *, everything: bool = False) -> list[Path]:
    """Execute, side by side, the notebooks whose execution does not hold (or ``everything``); returns which were run.

    The salts are those from before the run: a file that changes meanwhile makes its notebook run again next time.

    Raises
    ------
    NotebookFailed
        For the notebooks that fail. What ran to its end is kept.
    """
    now, asked = state(), list(paths)
    stale = [path for path in asked if everything or not cache.holds(path, now)]
    salts = {str(path): salt(read(path), graph=cache.graph) for path in stale}
    # where this run is broken off, the stale ones run again
    cache.keep_salts(dict.fromkeys(salts, ""), now, held=set(asked) - set(stale))
    if not stale:
        return []
    for path in stale:
        cache.forget(path)
        cache.store.add_nb_to_project(str(path))
    with patch.dict(os.environ, kernel_environment()):
        executor = Executor(cache.store, logger=PROGRESS)
        done = executor.run_and_cache(filter_uris=list(salts), timeout=CELL_TIMEOUT)
        succeeded, failed = done.succeeded, done.excepted
        if done.errored:  # once more: another process had taken a kernel's port, or held the cache's database
            for uri in done.errored:
                cache.forget(Path(uri))  # its record may have been written, without its outputs
            done = executor.run_and_cache(filter_uris=done.errored, timeout=CELL_TIMEOUT)
            succeeded, failed = [*succeeded, *done.succeeded], [*failed, *done.excepted, *done.errored]
    cache.keep_salts({uri: salts[uri] for uri in succeeded}, now)
    if failed:
        raise NotebookFailed("\n".join(f"{uri}: {_traceback(cache, uri)}" for uri in failed))
    return stale


def _traceback(cache: Cache, uri: str) -> str:
    """The cell that failed, with its error."""
    return cache.store.get_project_record(uri).traceback or "its kernel died, see above"
