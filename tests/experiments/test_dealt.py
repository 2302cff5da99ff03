"""Cells dealt out to processes give the rows of one process; what fails in one of them is said."""

import math
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import toys
from torch.distributed import HashStore

from course_lib import experiments
from course_lib.experiments.core import dealt
from course_lib.experiments.core.dealt import Share


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """An experiment of five cells; the list notes those that were really run."""
    return toys.register(
        monkeypatch,
        lambda cell: [{"x": cell["x"], "metric": "square", "value": cell["x"] ** 2}],
        plan=lambda scale, seeds: [{"x": x, "seed": seeds[0]} for x in range(5)],
    )


@pytest.mark.parametrize("shared", [True, False], ids=["one store of cells", "a store on each machine"])
def test_shares_of_torchrun_make_the_result_of_one_process(
    toy: list[dict[str, Any]], tmp_path: Path, shared: bool
) -> None:
    """Process 1 had a cell of its own share already."""
    alone = experiments.run("TOY", store=tmp_path / "alone", progress=False)
    folders = [tmp_path / "0", tmp_path / ("0" if shared else "1")]
    experiments.run("TOY", only={"x": 3}, store=folders[1], progress=False)
    toy.clear()
    table, found = HashStore(), {}

    def one(rank: int) -> None:
        found[rank] = experiments.run("TOY", store=folders[rank], progress=False, share=Share(rank, 2, table))

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(cell["x"] for cell in toy) == [0, 1, 2, 4]
    assert found[0].rows == found[1].rows == alone.rows
    assert found[0].provenance["cells"] == {"planned": 5, "finished": 5}


@pytest.mark.pipeline
def test_processes_give_the_numbers_of_one(tmp_path: Path) -> None:
    given: dict[str, Any] = {"seeds": (0, 1, 2), "progress": False}  # more cells than processes
    alone = experiments.run("P0-E0", store=tmp_path / "alone", **given)
    dealt_out = experiments.run("P0-E0", store=tmp_path / "dealt", devices=2, **given)
    assert dealt_out.rows == alone.rows and len({row["seed"] for row in alone.rows}) == 3


@pytest.mark.pipeline
@pytest.mark.parametrize(
    ("work", "error", "words"),
    [
        (int, ValueError, "invalid literal for int"),
        (os._exit, ChildProcessError, "one of 2 processes ended before its cells were done"),
    ],
    ids=["a cell that fails", "a process that dies"],
)
def test_what_ends_a_process_is_said(work: Callable[..., Any], error: type[Exception], words: str) -> None:
    tasks = [("x",)] if work is int else [(3,)]
    with pytest.raises(error, match=words):
        list(dealt.each_done(work, tasks, 2))


def test_the_variable_says_how_many_processes(
    toy: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(dealt, "each_done", lambda work, tasks, processes: iter(asked.append(processes) or []))
    monkeypatch.setenv("COURSE_DEVICES", "3")
    experiments.run("TOY", store=tmp_path, progress=False, collect=False)
    assert asked == [3] and toy == []
    experiments.run("TOY", store=tmp_path, progress=False, devices=9)
    assert asked == [3, 5]  # no more than there are cells
    experiments.run("TOY", store=tmp_path, progress=False, devices=1)
    assert asked == [3, 5] and [cell["x"] for cell in toy] == [0, 1, 2, 3, 4]
    monkeypatch.setenv("COURSE_DEVICES", "all")
    with pytest.raises(ValueError, match="COURSE_DEVICES is 'all'; expected a whole number of at least 1"):
        experiments.run("TOY", store=tmp_path, progress=False)


def test_cells_of_a_run_of_torchrun_are_runs_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dealt.of_torchrun() is dealt.ALONE
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    given = dict(zip(names, ("0", "0", "1", "1"), strict=True)) | {"TORCHELASTIC_RUN_ID": "a"}
    with socket.create_server(("127.0.0.1", 0)) as free:
        given |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    share = dealt.of_torchrun()
    assert (share.rank, share.size) == (0, 1) and share.exchanged("a", "rows") == ["rows"]
    assert not {*names, "TORCHELASTIC_RUN_ID"} & {*os.environ}


def test_each_process_has_a_card_and_a_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = torch.get_num_threads()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    cards = []
    for place in range(3):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
        dealt._take_part(place, 3)
        cards.append(os.environ["CUDA_VISIBLE_DEVICES"])
    assert cards == ["4", "7", "4"] and asked == [math.floor(8 / 3)] * 3
    monkeypatch.undo()
    assert torch.get_num_threads() == threads
