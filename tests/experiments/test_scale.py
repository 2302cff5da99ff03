"""The experiments on many processes: what real processes compute and send, and that none is left behind."""

import itertools
import json
import socket
import subprocess
import sys
import time
from typing import Any

import psutil
import pytest
import torch
from refused import refused

from course_lib import losses, processes
from course_lib.checking import some
from course_lib.experiments.core.command import cli
from course_lib.experiments.core.registry import cells_of
from course_lib.experiments.core.summary import tidy
from course_lib.experiments.scale import calibration, gradients, shards, team, traffic


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Two processes, all losses and recipes: one start, which takes longer than all they do."""
    return team.start("gradients", 2, 0, seconds=100)


@pytest.fixture(scope="module")
def counted() -> list[dict[str, Any]]:
    return team.start("traffic", 2, 0, seconds=100)


@pytest.mark.seconds
def test_every_recipe_is_as_predicted(rows: list[dict[str, Any]]) -> None:
    off = [row["value"] for row in rows if row["metric"] == "off prediction"]
    assert len(off) == len(gradients.LOSSES) * len(gradients.RECIPES) and max(off) < 1e-10


@pytest.mark.seconds
def test_what_the_theorem_calls_equal_is_equal_and_nothing_else(rows: list[dict[str, Any]]) -> None:
    words = ("loss", "gather", "rows", "reduction", "times_world")
    worst: dict[Any, float] = {}
    equal: dict[Any, bool] = {}
    for row in rows:
        if row["metric"].endswith(" off"):
            case = tuple(row[word] for word in words)
            worst[case] = max(worst.get(case, 0.0), row["value"])
            equal[case] = gradients.is_equal(row)
    assert sum(equal.values()) == 4 * len(gradients.LOSSES) + 1  # the four right recipes, and SOGram
    for case, value in some(list(worst.items())):
        assert value < 1e-10 if equal[case] else value > 0.01, case


@pytest.mark.seconds
def test_the_factor_of_the_queries_is_the_predicted_one(rows: list[dict[str, Any]]) -> None:
    for row in some([row for row in rows if row["metric"] == "queries" and row["gather"] != "local"]):
        names = {name: row[name] for name in ("rows", "gather", "reduction")}
        factors = processes.gradient_factors(processes=2, **names).times(2 if row["times_world"] else 1)
        assert row["value"] == pytest.approx(float(factors.query), rel=1e-10)


def test_a_gather_of_constants_is_not_predicted_by_another_recipe() -> None:
    """It can fail: the prediction of one recipe is far from that of another."""
    data, parameters = gradients.made(0, 8)
    one, other = (
        gradients.predicted("softmax", gradients.Recipe(gather, "own", "mean", False), 2, data, parameters)
        for gather in processes.GATHERS
    )
    assert gradients.distance(one, other) > 0.01


@pytest.mark.pipeline
def test_the_sockets_send_what_the_formula_says(counted: list[dict[str, Any]]) -> None:
    """Within a kilobyte a step, for the messages' own heads."""
    if all(row["metric"] != "bytes" for row in counted):
        pytest.skip("this system does not count the bytes of a socket")
    for row in some([row for row in counted if row["metric"] == "bytes"]):
        expected = traffic.formula(row)
        assert expected <= row["value"] < expected + 2000


@pytest.mark.pipeline
def test_the_gramians_cost_the_same_for_any_batch(counted: list[dict[str, Any]]) -> None:
    found = {
        row["batch"]: row["value"]
        for row in counted
        if (row["gather"], row["metric"], row["width"]) == ("d x d sums", "formula bytes", 64)
    }
    assert len(found) == 2 and len(set(found.values())) == 1


@pytest.mark.pipeline
def test_a_process_that_fails_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "__name__", "course_lib.experiments.scale.nobody")
    with pytest.raises(RuntimeError, match="gradients in 2 processes: a process failed"):
        team.start("gradients", 2, 0, seconds=60)


@pytest.mark.pipeline
def test_processes_that_take_too_long_are_ended(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child of the started process is ended with it."""
    sleep = "import time; time.sleep(99)"
    script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}]).wait()"
    popen = subprocess.Popen

    def sleeping(command: Any, **options: Any) -> Any:
        return popen([sys.executable, "-c", script], **options)

    monkeypatch.setattr(team.subprocess, "Popen", sleeping)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with pytest.raises(RuntimeError, match="they were not done in 1 s and have been ended"):
        team.start("gradients", 2, 0, seconds=1)
    time.sleep(0.2)
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert [child for child in left if child.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.pipeline
def test_processes_end_when_their_caller_is_killed() -> None:
    script = "from course_lib.experiments.scale import team; team.start('gradients', 2, 0)"
    caller = psutil.Popen([sys.executable, "-c", script])
    while not (started := caller.children(recursive=True)):
        assert caller.poll() is None
        time.sleep(0.05)
    caller.kill()
    caller.wait()
    gone, left = psutil.wait_procs(started, timeout=60)
    assert gone and not left


test_nonsense_is_refused = refused(
    (lambda: team.start("nothing", 2, 0), "task is 'nothing'"),
    (lambda: team.start("traffic", 1, 0), "is 1"),
    (lambda: team.start("traffic", 99, 0), "from 2 to 32"),
)


# ---- shards


def test_one_shard_is_the_whole_batch_and_each_shard_has_its_own_softmax() -> None:
    scores = torch.randn(8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    log_q = torch.randn(8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    whole = losses.in_batch_softmax(scores, tau=0.5, log_q=log_q)
    assert shards.sharded_loss(scores, 1, tau=0.5, log_q=log_q) == whole
    halves = [losses.in_batch_softmax(scores[s][:, s], tau=0.5, log_q=log_q[s]) for s in (slice(4), slice(4, 8))]
    assert shards.sharded_loss(scores, 2, tau=0.5, log_q=log_q) == torch.stack(halves).mean()


@pytest.mark.seconds
def test_a_run_of_few_steps_has_three_numbers() -> None:
    cell = {**cells_of("SCALE-X2")[0], "steps": 2}
    found = {row["metric"]: row["value"] for row in shards.shard_cell(cell)}
    assert tuple(found) == shards.METRICS and 0 <= found["recall@10"] <= 1 and found["AvgPop@10"] > 0


def test_devices_choose_the_number_of_processes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    asked: list[Any] = []
    monkeypatch.setattr(team, "start", lambda *given: asked.append(given) or [])
    monkeypatch.setattr(
        "course_lib.experiments.core.registry.assemble", lambda *_: (_ for _ in ()).throw(ValueError("end"))
    )
    assert cli(["run", "SCALE-X1", "--devices", "3", "--no-write", "--seeds", "77"]) == 2
    assert asked == [("gradients", 3, 77)] and "end" in capsys.readouterr().out
    assert [cell["processes"] for cell in cells_of("SCALE-X3", devices=5)] == [5]
    with pytest.raises(ValueError, match=r"devices is 3; expected a divisor of 1024"):
        cells_of("SCALE-X4", devices=3)
    monkeypatch.undo()
    assert cli(["run", "SCALE-X1", "--devices", "0", "--no-write", "--seeds", "77"]) == 2
    assert "devices is 0" in capsys.readouterr().out


@pytest.mark.seconds
def test_torchrun_runs_the_same_lines(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process with the environment that torchrun gives it: with one, every recipe is right."""
    out, ones = tmp_path / "rows.json", ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE")
    given = {"TORCHELASTIC_RUN_ID": "none", "RANK": "0", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
    with socket.create_server(("127.0.0.1", 0)) as free:
        given["MASTER_PORT"] = str(free.getsockname()[1])
    for name, value in (given | dict.fromkeys(ones, "1")).items():
        monkeypatch.setenv(name, value)
    threads = torch.get_num_threads()
    assert team.main(["gradients", "--out", str(out)]) == 0
    torch.set_num_threads(threads)
    rows = json.loads(out.read_text(encoding="utf-8"))
    assert max(row["value"] for row in some([row for row in rows if row["metric"].endswith(" off")])) < 1e-10


def test_the_predictions_of_steps_that_follow_the_model_are_their_milliseconds() -> None:
    """Rows made by four prices: the fit to two processes finds them, and four processes on two cores take twice."""
    prices, rows = [2e-3, 5e-9, 1e-11, 2e-9], []
    for size, batches in calibration.BATCHES.items():
        for batch, width, (gather, taken) in itertools.product(batches, calibration.WIDTHS, calibration.RECIPES):
            where = {"processes": size, "batch": batch, "width": width, "gather": gather, "rows": taken, "seed": 0}
            work = 1e3 * float(calibration.amounts(where) @ prices)
            rows += tidy(where, {"work ms": work, "step ms": work * size / 2})
    known, model = calibration.scalars(rows), calibration.predicted(rows)
    assert known["softmax-ns"] == pytest.approx(5) and known["byte-ns"] == pytest.approx(2)
    steps = [row["value"] for row in rows if row["metric"] == "step ms"]
    assert [row["value"] for row in model] == pytest.approx(steps)
    assert {row["metric"] for row in model} == {"predicted ms"}
