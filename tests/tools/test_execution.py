"""tools/execution.py: which notebooks run again, side by side, and what is kept of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_cache.cache.db import NbCacheRecord
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_lib import dependencies
from tools import execution
from tools.execution import Cache, NotebookFailed, refresh, salt

BOOK = Path(__file__).resolve().parents[2] / "book"


def notebook(*sources: str, text: str = "# A page"):
    return new_notebook(cells=[new_markdown_cell(text), *map(new_code_cell, sources)])


def stored(path: Path, *sources: str, text: str = "# A page") -> Path:
    nbformat.write(notebook(*sources, text=text), path)
    return path


def test_the_scale_and_the_kernels_of_the_processor_count_and_names_of_files_do_not() -> None:
    page = notebook("print(1)")
    same = [{}, {"COURSE_SCALE": "smoke"}, {"OMP_NUM_THREADS": "1"}, {"COURSE_CACHE": "/tmp/x"}, {"HOME": "/me"}]
    assert len({salt(page, environment=environment) for environment in same}) == 1
    others = [{}, {"COURSE_SCALE": "laptop"}, {"OPENBLAS_CORETYPE": "Haswell"}, {"OMP_NUM_THREADS": "2"}]
    assert len({salt(page, environment=environment) for environment in others}) == len(others)


def test_a_notebook_depends_on_the_results_and_the_code_that_it_names() -> None:
    behind = execution.files_behind(
        notebook("stored('P2-X1')\nfrom course_lib.lessons.shared.scalars import publish\n%matplotlib inline")
    )
    shown = {path.relative_to(execution.ROOT).as_posix() for path in behind}
    assert {"course_lib/lessons/shared/scalars.py", "book/results/P2-X1-laptop.json"} <= shown
    assert not any("P2-X2" in name or "claims" in name for name in shown)
    with_claims = execution.files_behind(notebook("from tools.claims import load"))
    assert BOOK.parent / "course_lib" / "lessons" / "cosine_orthogonality" / "claims.yml" in with_claims


def test_a_notebook_that_cannot_be_parsed_depends_on_everything() -> None:
    everything = execution.files_behind(notebook("print("))
    assert {"scalars.py", "norms.py"} <= {path.name for path in everything}


@pytest.mark.slow
def test_only_what_changed_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    uses = "from course_lib.lessons.shared.scalars import publish"
    first, second = stored(tmp_path / "a.ipynb", "print(1)"), stored(tmp_path / "b.ipynb", uses, "publish('n', 2)")
    assert refresh([first, second], cache) == [first, second]
    assert cache.outputs_at(first).is_file() and cache.outputs_at(second).is_file()  # where MyST-NB looks for them
    stored(first, "print(1)", text="# A page, with another sentence")
    assert refresh([first, second], Cache(tmp_path / "cache")) == []
    assert cache.notebook(first).cells[0].source == "# A page, with another sentence"
    stored(first, "print(3)")
    assert refresh([first, second], cache) == [first]
    meaning = dependencies.meaning
    for line, again in ((b"\n# a comment", []), (b"\nSOMETHING = 1", [second])):

        def changed(source: bytes, line: bytes = line) -> bytes:
            return meaning(source + line if b"def publish(" in source else source)

        dependencies._hash_of_state.cache_clear()
        monkeypatch.setattr(dependencies, "meaning", changed)
        assert refresh([first, second], Cache(tmp_path / "cache")) == []  # as long as no file has another time or size
        monkeypatch.setattr(execution, "state", lambda line=line: line.decode())
        assert refresh([first, second], Cache(tmp_path / "cache")) == again
    dependencies._hash_of_state.cache_clear()


def test_storing_one_notebook_takes_out_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where another process stores one between the two questions of jupyter-cache's `records_to_delete`."""
    store, first, second = Cache(tmp_path / "cache"), *(stored(tmp_path / f"{n}.ipynb", f"print({n})") for n in (1, 2))
    store.store.cache_notebook_file(str(first), check_validity=False)
    monkeypatch.setattr(NbCacheRecord, "records_to_delete", lambda keep, db: [1])
    store.store.cache_notebook_file(str(second), check_validity=False)
    assert store.outputs_at(first).is_file() and store.outputs_at(second).is_file()


def test_the_state_of_the_files_tells_a_new_or_a_changed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "ROOT", tmp_path)
    path = tmp_path / "course_lib" / "a.py"
    path.parent.mkdir()
    states = [execution.state()]
    for text in ("a = 1", "a = 10"):
        path.write_text(text)
        states.append(execution.state())
    os.utime(path, (1, 1))
    assert len({*states, execution.state()}) == 4 and execution.state() == execution.state()


@pytest.mark.pipeline
@pytest.mark.slow
def test_a_failure_names_the_notebook_and_its_cell_and_keeps_what_ran(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    good, bad = stored(tmp_path / "good.ipynb", "print(1)"), stored(tmp_path / "bad.ipynb", "a = 1", "a / 0")
    with pytest.raises(NotebookFailed, match=r"(?s)bad\.ipynb: .*a / 0.*ZeroDivisionError"):
        refresh([good, bad], cache)
    assert cache.holds(good) and not cache.holds(bad)


def kernels_that_die(folder: Path, deaths: int) -> Path:
    """A folder of kernels, of which the first few end at their start."""
    left = folder / "left"
    left.write_text("x" * deaths)
    dies = f"""
import pathlib, runpy, sys
left = pathlib.Path({str(left)!r})
if deaths := left.read_text():
    left.write_text(deaths[1:])
    sys.exit("Address already in use")
runpy.run_module("ipykernel_launcher", run_name="__main__")
"""
    spec = folder / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    command = [sys.executable, "-c", dies, "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": command, "display_name": "dies", "language": "python"}))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("deaths", [1, 2])
def test_a_kernel_that_dies_at_its_start_is_started_once_more(tmp_path: Path, monkeypatch, deaths: int) -> None:
    monkeypatch.setattr(execution, "KERNELS", kernels_that_die(tmp_path, deaths))
    cache, path = Cache(tmp_path / "cache"), stored(tmp_path / "a.ipynb", "print(1)")
    if deaths == 1:
        assert refresh([path], cache) == [path] and cache.holds(path)
    else:
        with pytest.raises(NotebookFailed, match=r"a\.ipynb: its kernel died"):
            refresh([path], cache)


@pytest.mark.slow
def test_outputs_that_could_not_be_kept_are_made_once_more(tmp_path: Path, monkeypatch) -> None:
    """As where another process holds the database, at the last step of keeping them."""
    cache, path = Cache(tmp_path / "cache"), stored(tmp_path / "a.ipynb", "print(1)")
    kept = type(cache.store).truncate_caches

    def locked_once(store: object) -> None:
        if not (held := tmp_path / "held").exists():
            held.touch()
            raise OSError("database is locked")
        kept(store)

    monkeypatch.setattr(type(cache.store), "truncate_caches", locked_once)
    assert refresh([path], cache) == [path] and (tmp_path / "held").exists() and cache.holds(path)


ENDED = """
import os, signal, sys, types
import nbformat
from tools import execution
notebook = types.SimpleNamespace(uri=sys.argv[1], nb=nbformat.read(sys.argv[1], as_version=4))
try:
    execution.Worker.execute(notebook, types.SimpleNamespace(timeout=60, allow_errors=False))
except RuntimeError as error:  # of nbclient: the kernel died
    print(error, flush=True)
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
"""


@pytest.mark.slow
def test_a_process_whose_kernel_died_at_its_start_can_be_ended(tmp_path: Path) -> None:
    """As the pool ends it, which would wait for ever otherwise."""
    path = stored(tmp_path / "a.ipynb", "print(1)")
    kernels = {"JUPYTER_PATH": str(kernels_that_die(tmp_path, 1)), "PYTHONPATH": str(execution.ROOT)}
    command = [sys.executable, "-c", ENDED, str(path)]
    environment = {**os.environ, **kernels}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == -signal.SIGTERM and "Kernel died" in done.stdout


@pytest.mark.pipeline
@pytest.mark.slow
def test_a_run_that_was_killed_leaves_nothing_that_holds_or_breaks(tmp_path: Path, monkeypatch) -> None:
    cache = Cache(tmp_path / "cache")
    path = stored(tmp_path / "a.ipynb", "print(1)")
    refresh([path], cache)
    shutil.rmtree(cache.outputs_at(path).parent)  # between the record and its folder
    assert not cache.holds(path) and refresh([path], cache) == [path] and cache.holds(path)
    cache.salts.write_text("{")  # as a full disk leaves it
    assert not cache.holds(path) and refresh([path], cache) == [path] and cache.holds(path)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(execution, "Executor", killed)
    kept = cache.outputs_at(path).read_text(encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        refresh([path], cache, everything=True)
    cache.outputs_at(path).parent.mkdir(exist_ok=True)
    cache.outputs_at(path).write_text(kept, encoding="utf-8")  # what a worker had stored before
    assert not cache.holds(path)
