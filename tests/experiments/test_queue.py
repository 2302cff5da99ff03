"""The queue for a lent GPU: it keeps its minutes, stores what ended, goes on, and takes the most informative first."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import toys

from course_lib import experiments
from course_lib.experiments.core import code, queue, registry, verify
from course_lib.experiments.core.provenance import cells_folder

SECOND = 1 / 60


class Clock:
    """Stands still but for what sleeps: on a busy machine a queue has the same minutes."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


CLOCK = Clock()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict]:
    """An experiment whose cells take as long as they say; the list notes those that ran."""

    def rows(cell: dict) -> list[dict]:
        CLOCK.sleep(cell["x"] / 20)
        return [{"x": cell["x"], "seed": cell["seed"], "metric": "double", "value": 2.0 * cell["x"]}]

    def plan(scale: str, seeds: tuple, *, device: str = "cpu") -> list[dict]:
        return [{"x": x, "seed": seed, "device": device} for seed in seeds for x in (1, 8, 2)]

    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(queue, "SPARE", 0.05)
    monkeypatch.setattr(queue, "time", CLOCK)
    monkeypatch.setattr(queue, "device_speed", lambda device: 10.0)  # it will be seen to be 20
    return toys.register(monkeypatch, rows, plan=plan, estimate=lambda cell: 1.0 * cell["x"], module="toy")


def run(*seeds: int, **more) -> queue.Run:
    return queue.Run("TOY", "smoke", seeds or (0,), {}, **more)


def work(seconds: float, *runs: queue.Run, device: str = "cpu") -> tuple[list[experiments.Result], list[str]]:
    said: list[str] = []
    return queue.Queue(runs, seconds * SECOND, device, said.append, started=CLOCK.now).work(), said


def test_all_that_fits_is_run_in_order_and_stored(toy) -> None:
    (result,), said = work(5, run(0, 1))
    assert [cell["x"] for cell in toy] == [1, 8, 2, 1, 8, 2]
    assert experiments.load_result("TOY", "smoke").rows == result.rows and len(result.rows) == 6
    assert said[0].startswith(experiments.core.provenance.hardware("cpu")["processor"])
    assert "6 of 6 missing cells of 6" in said[1]


def test_a_cell_that_would_not_end_is_left_and_a_shorter_one_takes_its_place(toy) -> None:
    begun = CLOCK.now
    (result,), said = work(0.5, run(0))
    assert CLOCK.now - begun < 0.5
    assert [cell["x"] for cell in toy] == [1, 2] and "2 of 3 missing" in said[1]
    assert result.provenance["cells"] == {"planned": 3, "finished": 2}


def test_the_next_time_it_goes_on_where_it_stopped(toy) -> None:
    work(0.5, run(0))
    (result,), said = work(5, run(0))
    assert [cell["x"] for cell in toy] == [1, 2, 8] and "1 of 1 missing cells of 3" in said[1]
    assert [row["x"] for row in result.rows] == [1, 8, 2]  # in the order of the plan
    work(5, run(0))
    assert len(toy) == 3


def test_what_a_stored_result_holds_is_not_run_where_its_cells_are_gone_but_by_other_code(toy, monkeypatch) -> None:
    work(5, run(0))
    for path in cells_folder().rglob("*.json"):
        path.unlink()
    (result,), _ = work(5, run(0, 1))
    assert [cell["seed"] for cell in toy] == [0, 0, 0, 1, 1, 1] and len(result.rows) == 6
    monkeypatch.setattr(code, "_hash", lambda module: "another")
    work(5, run(0, 1))
    assert len(toy) == 12


def test_the_first_minutes_go_to_the_first_run(toy) -> None:
    work(0.5, run(1), run(0))
    seeds = [cell["seed"] for cell in toy]
    assert seeds == sorted(seeds, reverse=True) and seeds.count(1) == 2


def test_a_gpus_cells_stand_beside_the_processors_with_its_name(toy, monkeypatch) -> None:
    experiments.run("TOY", seeds=(0, 1), only={"x": [1, 2]}, progress=False).save()
    monkeypatch.setattr(registry, "hardware", lambda device: {"device": device})
    monkeypatch.setattr(queue, "hardware", lambda device: {"gpu": "a card", "processor": "x"})
    monkeypatch.setattr(registry, "provenance", with_hardware)
    (result,), _ = work(5, run(0, 1), device="cuda")
    assert [(row["x"], row.get("device")) for row in result.rows] == [(1, None), (8, "cuda"), (2, None)] * 2
    assert [cell["device"] for cell in toy] == ["cpu"] * 4 + ["cuda"] * 2
    assert [one["device"] for one in result.provenance["hardware"]] == ["cpu", "cuda"]
    assert {cell["x"]: cell["device"] for cell in verify.stored_cells(result)} == {1: "cpu", 2: "cpu", 8: "cuda"}
    monkeypatch.setattr(verify.torch.cuda, "is_available", lambda: False)
    verdict = verify.verify(result, cells=9, rng=np.random.default_rng(0))
    assert verdict and verdict.cells == 4  # the GPU's are left to a GPU
    with pytest.raises(ValueError, match="holds cells of cuda too"):
        verify.make_again(result)


def with_hardware(device: str) -> dict:
    now = {"versions": {}, "git": {"commit": None, "dirty": None}, "finished": "2026-11-27"}
    return {**now, "hardware": {"device": device}}


def double(x: int) -> None:
    Path(f"{x}.made").touch()


def test_several_processes_make_first_what_cells_share(toy, monkeypatch, tmp_path: Path) -> None:
    """Stage by stage; and where time gets short nothing more is begun."""
    begun: list[list[tuple]] = []

    def each_done(work: Callable, tasks: list[tuple], processes: int):
        begun.append(tasks)
        for task in tasks:
            work(*task)
            yield

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(queue.dealt, "each_done", each_done)
    monkeypatch.setitem(registry.AHEAD, "TOY", (double, lambda cells: iter([[1, 2], [8]])))
    (result,), said = work(5, run(0, processes=2))
    assert begun[:2] == [[(1,), (2,)], [(8,)]] and len(begun[2]) == 3 and len(result.rows) == 3
    assert "stage 0, 2 of 2" in said[1] and "stage 1, 1 of 1" in said[2]
    begun.clear()
    monkeypatch.setitem(registry.AHEAD, "TOY", (CLOCK.sleep, lambda cells: iter([[0.3, 0.3, 0.3, 0.3]])))
    results, said = work(0.8, run(3, processes=2))  # two at a time: each takes .6 of two
    assert results == [] and len(begun) == 1 and "stage 0, 1 of 4" in said[1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("TOY --scale huge", "line 2"),
        ("TOY --only y=1", "no cell of TOY has 'y'"),
        ("TOY --only x", "expected key=value"),
        ("NOPE", "does not exist"),
        ("TOY --frobnicate", "line 2"),
    ],
)
def test_a_line_that_is_no_run_is_named(toy, tmp_path: Path, capsys, line: str, words: str) -> None:
    path = tmp_path / "queue.txt"
    path.write_text(f"# first\n{line}\n", encoding="utf-8")
    assert experiments.cli(["queue", str(path)]) == 2
    assert words in capsys.readouterr().out


def test_an_empty_queue_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no run"):
        queue.read(tmp_path / "empty")


def test_the_courses_own_queue_can_be_read() -> None:
    runs = queue.read(queue.DEFAULT)
    assert [run.id for run in runs][:2] == ["P3-X2", "P1-T3"] and all(run.cells("cuda") for run in runs)


def test_a_short_cell_that_woke_the_device_does_not_keep_the_long_ones_out(toy) -> None:
    """The first one took 3 s instead of .1: the long one is expected to take 3 s and the rest at the device's speed."""
    jobs = queue.Queue([run()], 1.0, "cpu", speed=10.0)
    assert jobs.seconds("TOY", {"x": 8}) == pytest.approx(0.8)
    jobs.note("TOY", {"x": 1}, 3.0)
    assert jobs.seconds("TOY", {"x": 8}) == pytest.approx(3.0 + 7 / 10)
    jobs.note("TOY", {"x": 8}, 4.0)
    jobs.note("TOY", {"x": 2}, 9.0)  # shorter: what is known is better
    assert jobs.seconds("TOY", {"x": 2}) == pytest.approx(1.0) and jobs.seconds("TOY", {"x": 8}) == 4.0


def test_from_the_command_line(toy, tmp_path: Path, capsys) -> None:
    path = tmp_path / "queue.txt"
    path.write_text("TOY --scale smoke --seeds 0 1 --only x=[1,2]  # the short ones\n", encoding="utf-8")
    assert experiments.cli(["queue", str(path), "--minutes", "0.1", "--device", "cpu"]) == 0
    assert "stored: TOY smoke, 4 of 6 cells" in capsys.readouterr().out
    assert [cell["x"] for cell in toy] == [1, 2, 1, 2]


def test_a_device_is_measured() -> None:
    assert 0.01 < queue.device_speed("cpu") < 100
