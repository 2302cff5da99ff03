"""Virtual environments that stand for Binder's and Colab's, and notebooks run in them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
NOT_PASSED_ON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "COURSE_", "COLAB_", "MAKE", "MFLAGS")
# The chapter that the badges of README open.
CHAPTER = re.findall(r"lab/tree/(book/[\w/-]+)\.ipynb", (ROOT / "README.md").read_text(encoding="utf-8"))[0]
CELL_TIMEOUT = 900  # seconds; an installation with torch takes minutes


@dataclass(frozen=True)
class Run:
    """A notebook that was run: its seconds, its peak of memory in megabytes (kernel and what it starts)."""

    notebook: NotebookNode
    seconds: float
    megabytes: float


def clean_variables(**more: str) -> dict[str, str]:
    """This process's environment variables without those that would let an environment see the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_PASSED_ON)}
    return {
        **kept,
        "OMP_NUM_THREADS": "1",
        "PYTHONNOUSERSITE": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        **more,
    }


def make_environment(folder: Path, *packages: str) -> Path:
    """A new virtual environment with some packages; returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    # Python 3.11 puts an old setuptools into every environment; held at its version, it would keep a new torch out
    pip(python, "uninstall", "--quiet", "--yes", "setuptools")
    if packages:
        pip(python, "install", "--quiet", *packages)
    return python


def pip(python: Path, *arguments: str, cwd: Path | None = None) -> str:
    """What a pip command of an environment prints."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        command, cwd=cwd, env=clean_variables(PIP_RETRIES="0"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def version(python: Path, package: str) -> str:
    """The version of a package in an environment, as Python imports it."""
    code = f"import {package}; print({package}.__version__)"
    done = subprocess.run(
        [str(python), "-c", code], cwd=python.parent, env=clean_variables(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def megabytes_on_disk(folder: Path) -> float:
    """The size of a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 2**20


def run_notebook(notebook: NotebookNode, python: Path, folder: Path, **variables: str) -> Run:
    """Run a notebook in a kernel of an environment that has ipykernel; an exception in a cell is raised here."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    specs = python.parents[1] / "kernels"
    (specs / "clean").mkdir(parents=True, exist_ok=True)
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "clean", "language": "python"}
    (specs / "clean" / "kernel.json").write_text(json.dumps(spec))
    manager = KernelManager(kernel_name="clean", kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(specs)]))
    client = NotebookClient(notebook, km=manager, timeout=CELL_TIMEOUT, resources={"metadata": {"path": str(folder)}})
    with MemoryWatch(str(python)) as watch:
        start = time.perf_counter()
        try:
            client.execute(env=clean_variables(PIP_RETRIES="0", **variables), cwd=str(folder))
        finally:
            if manager.has_kernel:  # nbclient ends only the kernels that it made by itself
                manager.shutdown_kernel(now=True)
        seconds = time.perf_counter() - start
    return Run(notebook, seconds, watch.peak / 2**20)


class MemoryWatch:
    """The highest memory (bytes) of the processes below this one that run a certain Python, looked at ten times a
    second.
    """

    def __init__(self, python: str) -> None:
        self.python = python
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.peak = max(self.peak, self._now())

    def _now(self) -> int:
        found: dict[int, int] = {}  # each process once, also where one of them starts another one
        for process in psutil.Process().children(recursive=True):
            try:
                if process.cmdline()[:1] == [self.python]:
                    for one in (process, *process.children(recursive=True)):
                        found[one.pid] = one.memory_info().rss
            except psutil.Error:
                continue
        return sum(found.values())
