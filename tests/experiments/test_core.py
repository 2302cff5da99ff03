"""experiments: the registry, resumption after a kill, provenance, stored results and their tables, the command line."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import toys

from course_lib import experiments
from course_lib.experiments.core import code, extend, registry, results
from course_lib.experiments.core.provenance import git_state, write_json

pytestmark = pytest.mark.seconds


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """An experiment of six cells; the list notes the cells that were really run."""

    def rows(cell: dict) -> list[dict]:
        value = {"metric": "square", "value": cell["x"] ** 2 + cell["seed"], "paper": 4.0 if cell["x"] == 2 else None}
        return [{"x": cell["x"], "seed": cell["seed"], **value}]

    return toys.register(
        monkeypatch,
        rows,
        plan=lambda scale, seeds, power=1: [
            {"x": x**power, "seed": seed, "scale": scale} for seed in seeds for x in (1, 2, 3)
        ],
        describe=lambda cell: {"name": "numbers", "recipe": {}, "sha256": f"of {cell['scale']}", "positives": 3},
        finish=lambda rows: {"total": float(sum(row["value"] for row in rows))},
        layout={"rows": ("x",), "columns": ("metric",)},
    )


def test_a_run_gives_rows_scalars_and_provenance(toy, tmp_path: Path) -> None:
    result = experiments.run("TOY", seeds=(0, 10), store=tmp_path, progress=False)
    assert [row["value"] for row in result.rows] == [1, 4, 9, 11, 14, 19] and result.scalars == {"total": 58.0}
    origin = result.provenance
    assert (
        origin["scale"] == "smoke" and origin["seeds"] == [0, 10] and origin["cells"] == {"planned": 6, "finished": 6}
    )
    assert origin["data"] == [{"name": "numbers", "recipe": {}, "sha256": "of smoke", "positives": 3}]
    assert origin["seconds"] >= 0 and origin["finished"].endswith("+00:00")
    (versions,), (hardware,), (git,) = origin["versions"], origin["hardware"], origin["git"]
    assert versions["numpy"] == np.__version__ and versions["torch"] and versions["scipy"] and versions["python"]
    assert hardware["device"] == "cpu" and hardware["cores"] == os.cpu_count() and hardware["threads"] >= 1
    assert set(git) == {"commit", "dirty"}


def test_finished_cells_are_not_run_again(toy, tmp_path: Path) -> None:
    experiments.run("TOY", seeds=(0,), store=tmp_path, progress=False)
    again = experiments.run("TOY", seeds=(0, 1), store=tmp_path, progress=False)
    assert [(cell["seed"], cell["x"]) for cell in toy] == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    assert len(again.rows) == 6


@pytest.mark.parametrize("change", ["seed", "data", "option", "code"])
def test_whatever_the_outcome_depends_on_makes_another_cell(toy, tmp_path: Path, monkeypatch, change: str) -> None:
    experiments.run("TOY", store=tmp_path, progress=False)
    if change == "code":
        monkeypatch.setattr(code, "_hash", lambda module: "another")
    arguments = {"seed": {"seed": 5}, "data": {"scale": "laptop"}, "option": {"power": 2}, "code": {}}[change]
    experiments.run("TOY", store=tmp_path, progress=False, **arguments)
    assert len(toy) == (5 if change == "option" else 6)  # 1 ** 2 == 1 ** 1 is the one cell that stays


def test_only_runs_a_part_and_collect_runs_nothing(toy, tmp_path: Path) -> None:
    part = experiments.run("TOY", store=tmp_path, progress=False, only={"x": [1, 3]})
    assert [row["x"] for row in part.rows] == [1, 3] and part.provenance["cells"] == {
        "planned": 3,
        "finished": 2,
    }
    assert "1 of 3 planned runs were not made" in part.caption()
    gathered = experiments.run("TOY", store=tmp_path, progress=False, collect=True)
    assert gathered.rows == part.rows and len(toy) == 2
    nothing = experiments.run("TOY", store=tmp_path / "empty", progress=False, collect=True)
    assert nothing.rows == [] and nothing.scalars == {} and len(toy) == 2


def test_cells_without_their_data_are_named_and_left_out(toy, tmp_path: Path, monkeypatch, capsys) -> None:
    from dataclasses import replace

    def describe(cell: dict) -> dict:
        if cell["data"] == "gone":
            raise FileNotFoundError("gone is not on this machine")
        return {"name": "here", "sha256": "0"}

    def plan(scale, seeds) -> list[dict]:
        sets = {"smoke": ("here", "gone"), "laptop": ("gone",)}[scale]
        return [{"x": 1, "seed": 0, "data": data} for data in sets]

    monkeypatch.setitem(registry.REGISTRY, "TOY", replace(registry.get("TOY"), describe=describe, plan=plan))
    result = experiments.run("TOY", store=tmp_path)
    assert (
        result.provenance["unavailable"] == ["gone"] and result.provenance["cells"]["finished"] == 1 and len(toy) == 1
    )
    assert "the cells on gone are left out: gone is not on this machine" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError, match="gone is not"):
        experiments.run("TOY", "laptop", store=tmp_path, progress=False)


def test_results_are_stored_whole_and_read_back(toy, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    result = experiments.run("TOY", store=tmp_path / "cells", progress=False)
    path = result.save()
    assert path == tmp_path / "results" / "TOY-smoke.json" and [file.name for file in path.parent.iterdir()] == [
        path.name
    ]
    again = experiments.load_result("TOY", "smoke")
    assert again.rows == result.rows and again.scalars == result.scalars and again.to_markdown() == result.to_markdown()
    with pytest.raises(FileNotFoundError, match="experiments run TOY --scale full"):
        experiments.load_result("TOY", "full")


def test_a_device_that_is_not_there_is_refused_before_the_work(toy) -> None:
    with pytest.raises(ValueError, match="device: got 'cuda:9'"):
        registry.run_and_store(registry.get("TOY"), {"device": "cuda:9"}, Path("never.json"))


@pytest.mark.parametrize(
    ("scale", "gpu", "device"), [("full", True, "cuda"), ("full", False, "cpu"), ("laptop", True, "cpu")]
)
def test_the_full_scale_takes_a_gpu_where_there_is_one(
    toy, tmp_path, monkeypatch, scale: str, gpu: bool, device: str
) -> None:
    def plan(scale: str, seeds: tuple[int, ...], device: str = "cpu") -> list[dict]:
        return [{"x": 1, "seed": seed, "scale": scale, "device": device} for seed in seeds]

    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    monkeypatch.setattr(registry, "hardware", lambda device: {})
    monkeypatch.setattr(
        registry, "provenance", lambda device: {"versions": {}, "hardware": {}, "git": {}, "finished": "now"}
    )
    monkeypatch.setitem(registry.REGISTRY, "TOY", replace(registry.get("TOY"), plan=plan))
    how = {"store": tmp_path, "progress": False}
    experiments.run("TOY", scale, **how)
    experiments.run("TOY", scale, seed=1, device="cpu", **how)
    experiments.run("TOY", scale, seed=2, among=experiments.cells_of("TOY", scale, (2,)), **how)
    assert [cell["device"] for cell in toy] == [device, "cpu", "cpu"]


def test_under_torchrun_the_first_process_decides_where_all_compute(monkeypatch) -> None:
    """Else a machine without a GPU would have other cells than one with."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    share = SimpleNamespace(size=2, exchanged=lambda key, own: ["cpu", own])
    assert registry._device(share, "key") == "cpu"
    assert registry._device(registry.dealt.ALONE, "key") == "cuda"


@pytest.mark.parametrize("name", ["P1-T2", "P1-T3", "P3-T6", "P4-T2"])
def test_plans_that_pass_their_options_on_take_a_device_too(name: str) -> None:
    assert "device" in registry.options_of(name)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "x=7"], "only: no cell of TOY at smoke scale has x 7; expected one of '1', '2', '3'"),
        (["--option", "foo=1"], "option 'foo' is none of TOY: expected power"),
        (["--option", "scale=full"], "option 'scale' is none of TOY: expected power"),
        (["--devices", "0"], "devices is 0; expected a whole number from 1 to 64, processes on this machine"),
    ],
)
def test_a_command_that_fits_no_cell_is_refused_in_one_line(toy, capsys, arguments, words: str) -> None:
    assert experiments.cli(["run", "TOY", "--scale", "smoke", "--no-write", *arguments]) == 2
    assert words in capsys.readouterr().out and toy == []


def test_a_download_that_failed_is_said_in_one_line(toy, tmp_path: Path, monkeypatch, capsys) -> None:
    def offline(cell: dict) -> list[dict]:
        raise OSError("no connection")

    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    monkeypatch.setitem(registry.REGISTRY, "TOY", replace(registry.get("TOY"), run_cell=offline))
    assert experiments.cli(["run", "TOY", "--scale", "smoke", "--no-write"]) == 2
    assert capsys.readouterr().out.endswith("error: no connection\n")


def test_a_torn_result_is_named(toy, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path))
    (tmp_path / "TOY-smoke.json").write_text('{"rows": [')
    assert experiments.cli(["run", "TOY", "--scale", "smoke"]) == 2
    assert "TOY-smoke.json is torn or is no JSON" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seeds", "0"], "--seeds: got [0], and the stored result has [1] too"),
        (["--seeds", "0", "1", "--collect", "--only", "x=[1]"], ""),  # all that was run is there
        (["--seeds", "1", "--extend"], ""),
        (["--seeds", "0", "1", "1"], "seeds: got (0, 1, 1); expected one or more whole numbers from 0 on, each once"),
        (["--seeds", "0", "1", "-1"], "seeds"),
    ],
)
def test_a_run_never_drops_what_is_stored(toy, tmp_path: Path, monkeypatch, capsys, arguments, words: str) -> None:
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    stored = experiments.run("TOY", seeds=(0, 1), progress=False).save()
    before = len(experiments.load_result("TOY", "smoke").rows)
    assert experiments.cli(["run", "TOY", "--scale", "smoke", *arguments]) == (2 if words else 0)
    assert words in capsys.readouterr().out
    assert len(experiments.load_result("TOY", "smoke").rows) == before and stored.is_file()


def test_a_result_that_lacks_numbers_of_the_stored_one_is_not_written(toy, tmp_path: Path) -> None:
    both = experiments.run("TOY", seeds=(0, 1), store=tmp_path, progress=False)
    one = experiments.run("TOY", seeds=(0,), store=tmp_path, progress=False)
    both.save(tmp_path)
    with pytest.raises(ValueError, match=r"TOY-smoke.json is not written: .* holds \d+ numbers that .* seed 1"):
        one.save(tmp_path)
    with pytest.raises(ValueError, match="no cell of TOY has finished"):
        results.Result("TOY", "smoke", "", []).save(tmp_path)
    assert len(results.load_result("TOY", "smoke", tmp_path).rows) == len(both.rows)
    one.save(tmp_path, replace=True)
    assert len(results.load_result("TOY", "smoke", tmp_path).rows) == len(one.rows)


def test_seeds_are_added_to_a_stored_result_whose_cells_are_gone(toy, tmp_path: Path) -> None:
    stored = experiments.run("TOY", seeds=(0,), store=tmp_path / "there", progress=False)
    toy.clear()
    found = extend.extended(stored, (10, 20), store=tmp_path / "here", progress=False)
    assert [cell["seed"] for cell in toy] == 3 * [10] + 3 * [20], "the cells of seed 0 are not run again"
    whole = experiments.run("TOY", seeds=(0, 10, 20), store=tmp_path / "all", progress=False)
    assert found.rows == whole.rows and found.scalars == whole.scalars
    assert found.provenance["cells"] == {"planned": 9, "finished": 9} and found.provenance["seeds"] == [0, 10, 20]
    assert code.state(found.provenance).holds


def test_seeds_are_added_where_no_cell_says_on_which_device_it_runs(monkeypatch, tmp_path: Path) -> None:
    def plan(scale: str, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
        return [{"seed": seed} for seed in seeds]

    toys.register(monkeypatch, lambda cell: [{**cell, "metric": "square", "value": 1}], plan=plan, layout={})
    stored = experiments.run("TOY", seeds=(0,), store=tmp_path, progress=False)
    assert len(extend.extended(stored, (1, 2), store=tmp_path, progress=False).rows) == 3


def test_a_result_that_lacks_nothing_stays_what_it_was(toy, tmp_path: Path) -> None:
    stored = experiments.run("TOY", seeds=(0,), store=tmp_path, progress=False)
    toy.clear()
    found = extend.extended(stored, (0,), store=tmp_path / "empty", progress=False)
    assert not toy and found.rows == stored.rows and found.provenance == stored.provenance


def test_a_result_that_is_vouched_for_stays_so_when_it_is_extended(toy, tmp_path: Path) -> None:
    stored = experiments.run("TOY", seeds=(0,), store=tmp_path / "there", progress=False)
    stored.provenance.update({"code": [], "vouched": {"code": code.code_of(""), "cells": 1, "of": 3}})
    found = extend.extended(stored, (0, 1), store=tmp_path / "here", progress=False)
    assert code.state(found.provenance).words == "vouched for by 1 of 3 cells" and found.provenance["code"]


@pytest.mark.parametrize(
    ("change", "seeds", "words"),
    [
        ({"code": [{"module": "", "hash": "of another code"}]}, (0, 1), "code has changed"),
        ({}, (1, 1), r"seeds: got \(0, 1, 1\); expected one or more whole numbers from 0 on, each once"),
        ({"row": {"x": 4}}, (0, 1), "fit no cell"),
    ],
)
def test_what_cannot_be_extended_is_refused(toy, tmp_path: Path, change, seeds, words: str) -> None:
    stored = experiments.run("TOY", seeds=(0,), store=tmp_path, progress=False)
    stored.rows[0].update(change.pop("row", {}))
    stored.provenance.update(change)
    toy.clear()
    with pytest.raises(ValueError, match=words):
        extend.extended(stored, seeds, store=tmp_path, progress=False)
    assert not toy, "refused before the work"


@pytest.mark.parametrize("variable", ["COURSE_RESULTS", "COURSE_CACHE"])
@pytest.mark.parametrize("queued", [False, True])
def test_a_folder_that_cannot_be_written_is_named_before_the_work(
    toy, tmp_path: Path, monkeypatch, capsys, variable: str, queued: bool
) -> None:
    runs = tmp_path / "queue.txt"
    runs.write_text("TOY --scale smoke\n")
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(variable, str(runs / "x"))
    assert experiments.cli(["queue", str(runs), "--device", "cpu"] if queued else ["run", "TOY"]) == 2
    assert f"({variable}) is '{runs}/x" in (said := capsys.readouterr().out) and "that can be written" in said
    assert not toy


@pytest.mark.parametrize("action", ["verify", "again"])
def test_a_folder_of_results_that_became_read_only_is_named_before_cells_are_run_again(
    toy, tmp_path: Path, monkeypatch, capsys, action: str
) -> None:
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    experiments.run("TOY", progress=False, store=tmp_path).save()
    monkeypatch.setattr(code, "_hash", lambda module: "another")
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **given: (_ for _ in ()).throw(PermissionError(13, "no")))
    ran = len(toy)
    assert experiments.cli([action, "TOY"]) == 2 and len(toy) == ran
    assert "(COURSE_RESULTS) is" in (said := capsys.readouterr().out) and "can be written (no)" in said


def test_short_runs_are_no_promise_of_seconds() -> None:
    """6 cells of 0.3 s were announced as "about 0 s", and took 24 s: to load torch takes longer than they do."""
    said = [registry.about(seconds) for seconds in (0, 49, 51, 290, 5389, 5400, 7190)]
    minutes = ["about 1 min", "about 5 min", "about 90 min"]
    assert said == ["under a minute", "under a minute", *minutes, "about 1.5 h", "about 2.0 h"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"value": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"value": float("nan")})  # NaN is no JSON
    assert json.loads(path.read_text()) == {"value": 1} and [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_tables_show_spread_and_the_papers_number(toy, tmp_path: Path) -> None:
    result = experiments.run("TOY", seeds=(0, 2), store=tmp_path, progress=False)
    assert result.table() == [["x", "square"], ["1", "2.0 ± 1.4"], ["2", "5.0 ± 1.4 (4.00)"], ["3", "10.0 ± 1.4"]]
    assert result.table(x=2, seed=0) == [["x", "square"], ["2", "4.00 (4.00)"]]
    assert result.table(rows=("seed",), columns=("x",), digits=0)[1] == ["0", "1", "4 (4)", "9"]
    markdown = result.to_markdown()
    assert "| 2 | 5.0 ± 1.4 (4.00) |" in markdown and "In brackets: the paper." in markdown
    with pytest.raises(ValueError, match="'y' is no column"):
        result.select(y=1)
    with pytest.raises(ValueError, match=r"fits \{'x': 7\}; it has x: 1, 2, 3"):
        result.table(x=7)


def test_values_go_by_seed_and_curves_by_what_they_go_along() -> None:
    rows = [
        {"metric": "m", "x": x, "seed": seed, "value": 10.0 * x + seed} for seed, x in ((2, 3), (0, 3), (2, 1), (0, 1))
    ]
    result = results.Result("A", "smoke", "a", rows)
    assert result.values("m", x=3) == [30, 32]
    assert result.curve("m", "x")[:2] == ([1, 3], [11, 31])


def test_html_escapes_text() -> None:
    result = results.Result(
        "A", "smoke", "a < b", [{"name": "<script>", "metric": "m", "value": 1.0}], layout={"rows": ("name",)}
    )
    assert "<script>" not in result.to_html() and "&lt;script&gt;" in result.to_html()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("NONE",), "experiment 'NONE' does not exist; expected one of .*P3-T3"),
        (("TOY", "tiny"), "scale is 'tiny'"),
    ],
)
def test_errors_name_what_is_wrong(toy, arguments, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        experiments.run(*arguments, progress=False)
    with pytest.raises(ValueError, match="no cell of TOY has 'z'"):
        experiments.cells_of("TOY", only={"z": 1})
    with pytest.raises(ValueError, match="registered twice"):
        experiments.experiment(
            "TOY",
            "again",
            plan=lambda scale, seeds: [],
            estimate=lambda cell: 0.0,
            describe=lambda cell: {},
            finish=lambda rows: {},
        )(lambda cell: [])


def test_the_command_line_runs_stores_and_prints(toy, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    assert (
        experiments.cli(
            ["run", "TOY", "--scale", "smoke", "--seeds", "0", "1", "--only", "x=[1,2]", "--option", "power=1"]
        )
        == 0
    )
    shown = capsys.readouterr()
    assert (
        "4 of 6 cells to run, under a minute on 2 cores" in shown.out
        and "| 2 | 4.50 ± 0.71 (4.00) |" in shown.out
        and "4/4" in shown.err
    )
    assert len(json.loads((tmp_path / "results" / "TOY-smoke.json").read_text())["rows"]) == 4
    assert len(list((tmp_path / "cache" / "cells" / "TOY").iterdir())) == 4
    assert experiments.cli(["list"]) == 0
    listed = capsys.readouterr().out
    assert "TOY" in listed and "stored" in listed and "P3-T6" in listed and "not run" in listed
    assert experiments.cli(["run", "NONE"]) == 2
    assert "experiment 'NONE' does not exist" in capsys.readouterr().out
    assert experiments.cli(["run", "TOY", "--only", "x"]) == 2
    assert "expected key=value" in capsys.readouterr().out


def test_git_state_sees_a_changed_file(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
            check=True,
            capture_output=True,
        )

    assert git_state(tmp_path) == {"commit": None, "dirty": None}
    git("init")
    (tmp_path / "course_lib").mkdir()
    (tmp_path / "course_lib" / "a.py").write_text("a = 1\n")
    git("add", ".")
    git("commit", "-m", "one")
    clean = git_state(tmp_path)
    assert len(clean["commit"]) == 40 and clean["dirty"] is False
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "result.json").write_text("{}\n")
    git("add", ".")
    git("commit", "-m", "a result")
    assert git_state(tmp_path) == clean, "a commit without code is not what a result was made by"
    (tmp_path / "course_lib" / "a.py").write_text("a = 2\n")
    assert git_state(tmp_path) == {**clean, "dirty": True}
