"""tools/kernels.py: a forked kernel is like one that was started by itself, and leaves nothing behind."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools import execution, kernels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not kernels.CAN_FORK, reason="kernels are forked on Linux only"),
    pytest.mark.xdist_group("kernels"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kernels.ForkServer]:
    """Something is printed at its start, as a package may: that is no answer."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text("print('hello')")
    environment = execution.kernel_environment()
    environment["PYTHONPATH"] += f"{os.pathsep}{folder}"
    with kernels.ForkServer(environment) as started:
        yield started


def run(folder: Path, *sources: str, server: kernels.ForkServer | None) -> execution.Execution:
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    return execution.execute(folder / "page.ipynb", notebook, server)


def outputs(done: execution.Execution) -> list[list[dict]]:
    return [cell.outputs for cell in done.notebook.cells]


LOOK = """
import os, signal, sys
from pathlib import Path
print([path for path in sys.path if not Path(path, "sitecustomize.py").exists()])  # not that of the fixture
print(os.getcwd(), __name__, signal.getsignal(signal.SIGCHLD))
print({name: value for name, value in sorted(os.environ.items()) if name.startswith(("OMP", "COURSE_SCALE", "PYTHON"))})
print(sorted(name for name in sys.modules if name.split(".")[0] == "course_lib"))
"""
DRAW = """
import matplotlib.pyplot as plt
fig, ax = plt.subplots()
ax.plot([1, 2], label="$x^2$")
ax.legend()
plt.show()
"""
COUNT = """
import numpy as np
import torch
from course_lib.lessons.shared.scalars import publish
publish("threads", torch.get_num_threads())
print(np.linalg.norm(np.arange(9.0)), torch.arange(9.0).softmax(0).log().sum())
"""
CALL = """
import subprocess
print(subprocess.run(["sh", "-c", "exit 3"]).returncode)
"""


def test_a_forked_kernel_gives_what_one_of_its_own_gives(tmp_path: Path, server: kernels.ForkServer) -> None:
    forked, alone = (run(tmp_path, LOOK, DRAW, COUNT, CALL, server=one) for one in (server, None))
    assert outputs(forked) == outputs(alone)
    assert outputs(forked)[0][0].text.endswith("[]\n") and str(tmp_path) in outputs(forked)[0][0].text
    assert outputs(forked)[1][0].data["image/svg+xml"].startswith("<svg")
    assert forked.scalars == alone.scalars and '"threads"' in forked.scalars
    assert forked.reads == alone.reads and "course_lib/lessons/shared/scalars.py" in forked.reads
    assert forked.processor < alone.processor  # the imports


def test_what_one_kernel_does_the_next_does_not_see(tmp_path: Path, server: kernels.ForkServer) -> None:
    change = "import numpy, os\nnumpy.mine = os.environ['MINE'] = 'x'"
    look = "import numpy, os\nprint(hasattr(numpy, 'mine'), 'MINE' in os.environ)"
    run(tmp_path, change, server=server)
    assert outputs(run(tmp_path, look, server=server))[0][0].text == "False False\n"


def test_the_process_that_forks_has_one_thread(tmp_path: Path, server: kernels.ForkServer) -> None:
    """A fork takes along one thread only: what another one held would stay locked."""
    run(tmp_path, "1", server=server)
    assert len([*Path(f"/proc/{server._process.pid}/task").iterdir()]) == 1


def test_a_kernel_that_dies_is_named_and_the_others_go_on(tmp_path: Path, server: kernels.ForkServer) -> None:
    with pytest.raises(execution.NotebookFailed, match=r"page\.ipynb, code cell 2: Kernel died"):
        run(tmp_path, "1", "import os\nos._exit(3)", server=server)
    with pytest.raises(execution.NotebookFailed, match=r"(?s)code cell 1: .*ZeroDivisionError"):
        run(tmp_path, "1 / 0", server=server)
    assert outputs(run(tmp_path, "print(1)", server=server))[0][0].text == "1\n"


def test_without_room_for_a_process_one_notebook_fails(monkeypatch) -> None:
    def full() -> int:
        raise OSError("no memory")

    monkeypatch.setattr(kernels.os, "fork", full)
    monkeypatch.setattr(kernels.signal, "signal", lambda *_: None)
    monkeypatch.setattr(kernels.sys, "stdin", io.StringIO("{}\n{}\n"))
    answers = io.StringIO()
    assert kernels.serve(answers) is None
    assert answers.getvalue() == f"{kernels.FAILED}no memory\n" * 2


def test_unseeded_draws_differ(tmp_path: Path, server: kernels.ForkServer) -> None:
    draw = "import random, numpy, torch\nprint(random.random(), numpy.random.rand(), torch.rand(1))"
    first, second = (outputs(run(tmp_path, draw, server=server))[0][0].text.split() for _ in range(2))
    assert all(one != other for one, other in zip(first, second, strict=True))


def test_the_end_of_the_server_is_the_end_of_its_kernels(tmp_path: Path) -> None:
    """Here it is killed, as by a machine that is short of memory."""
    with kernels.ForkServer(execution.kernel_environment()) as server:
        kernel = server.fork(["-f", str(tmp_path / "connection.json")], execution.kernel_environment(), str(tmp_path))
        assert kernel.poll() is None
        server._process.kill()
        with pytest.raises(kernels.NoKernel, match=r"kernels are forked from has ended \(exit -9\)"):
            server.fork([], {}, str(tmp_path))
        with pytest.raises(execution.NotebookFailed, match=r"page\.ipynb: the process that kernels"):
            run(tmp_path, "1", server=server)
    stop = time.monotonic() + 30
    while kernel.poll() is None and time.monotonic() < stop:
        time.sleep(0.2)
    assert kernel.poll() == 0


@pytest.mark.parametrize("can", [True, pytest.param(False, marks=pytest.mark.pipeline)])
def test_few_notebooks_or_another_system_need_no_server(tmp_path: Path, monkeypatch, can: bool) -> None:
    started: list[int] = []

    class Counted(kernels.ForkServer):
        def __init__(self, environment) -> None:
            started.append(1)
            super().__init__(environment)

    monkeypatch.setattr(kernels, "ForkServer", Counted)
    monkeypatch.setattr(kernels, "CAN_FORK", can)
    cache = execution.Cache(tmp_path / "cache")
    paths = [tmp_path / f"{name}.ipynb" for name in "abcde"]
    for path in paths:
        execution.nbformat.write(new_notebook(cells=[new_code_cell(f"print({path.stem!r})")]), path)
    execution.refresh(paths[:2], cache, tell=lambda line: None)
    assert not started
    assert set(execution.refresh(paths, cache, tell=lambda line: None)) == set(paths[2:])
    assert len(started) == can
    assert [cache.notebook(path).cells[0].outputs[0].text for path in paths] == [f"{name}\n" for name in "abcde"]
