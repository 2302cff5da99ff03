"""A stored result knows the code that made it: it goes stale, is made again, or is vouched for by cells run again."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toys

from course_lib import experiments
from course_lib.checking import some
from course_lib.experiments.core import code, registry, verify
from course_lib.experiments.core.provenance import lost_commits

RESULTS = Path(__file__).resolve().parents[2] / "book" / "results"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict]:
    """An experiment of four cells with its own folders; the list notes the cells that were run."""

    def rows(cell: dict) -> list[dict]:
        where = {"data": cell["data"], "x": cell["x"], "seed": cell["seed"]}
        return [where | {"metric": "third", "value": cell["x"] / 3}, where | {"metric": "seconds", "value": len(ran)}]

    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    change_code(monkeypatch, "first")
    ran = toys.register(
        monkeypatch,
        rows,
        plan=lambda scale, seeds: [
            {"data": data, "x": x, "seed": s} for s in seeds for data in ("a", "b") for x in (1, 2)
        ],
        estimate=lambda cell: 10.0 * cell["x"],
        describe=lambda cell: {"name": cell["data"], "sha256": cell["data"]},
        layout={"rows": ("x",)},
        module="toy",
    )
    return ran


def change_code(monkeypatch: pytest.MonkeyPatch, now: str) -> None:
    monkeypatch.setattr(code, "_hash", lambda module: now)


def run_toy() -> experiments.Result:
    result = experiments.run("TOY", progress=False)
    result.save()
    return result


def checked(result: experiments.Result, **options: object) -> verify.Verdict:
    return verify.verify(result, rng=np.random.default_rng(0), **options)


def test_a_result_goes_stale_with_its_code_and_says_so(toy, monkeypatch, capsys) -> None:
    result = run_toy()
    assert result.provenance["code"] == [{"module": "toy", "hash": "first"}]
    assert code.state(result.provenance).holds and "stale" not in result.caption()
    change_code(monkeypatch, "second")
    assert not code.state(result.provenance).holds and "stale: code has changed" in result.caption()
    experiments.cli(["list"])
    assert "STALE (code has changed)" in capsys.readouterr().out


def test_again_makes_the_stored_cells_of_stale_results_and_no_other(toy, monkeypatch, capsys) -> None:
    experiments.run("TOY", progress=False, only={"data": "a"}).save()
    assert experiments.cli(["again", "TOY"]) == 0 and len(toy) == 2
    change_code(monkeypatch, "second")
    assert experiments.cli(["again", "TOY", "--list"]) == 0 and len(toy) == 2
    assert "TOY smoke: code has changed; under a minute" in capsys.readouterr().out
    assert experiments.cli(["again", "TOY"]) == 0
    assert toy[2:] == toy[:2] and len(experiments.load_result("TOY", "smoke").rows) == 4
    assert code.state(experiments.load_result("TOY", "smoke").provenance).holds


def test_cells_that_agree_vouch_for_a_result_until_the_next_change(toy, monkeypatch, capsys) -> None:
    run_toy()
    change_code(monkeypatch, "second")
    assert experiments.cli(["verify", "TOY"]) == 0
    assert "TOY smoke: agrees: 2 of 4 cells run again, 2 numbers, worst difference 0" in capsys.readouterr().out
    vouched = experiments.load_result("TOY", "smoke")
    assert code.state(vouched.provenance) == code.State(True, "vouched for by 2 of 4 cells")
    assert "stale" not in vouched.caption()
    ran = len(toy)
    again = experiments.run("TOY", seeds=(0, 1), progress=False)  # what is vouched for counts as finished
    assert len(toy) == ran + 4 and again.provenance["vouched"] == vouched.provenance["vouched"]
    change_code(monkeypatch, "third")
    assert not code.state(vouched.provenance).holds


def test_a_number_that_moves_is_named_and_nothing_is_recorded(toy, monkeypatch, capsys) -> None:
    run_toy()

    def other(cell: dict) -> list[dict]:
        return [{"data": cell["data"], "x": cell["x"], "seed": 0, "metric": "third", "value": cell["x"] / 3 * 1.00001}]

    monkeypatch.setitem(registry.REGISTRY, "TOY", replace(registry.get("TOY"), run_cell=other))
    assert experiments.cli(["verify", "TOY"]) == 1
    shown = capsys.readouterr().out
    assert "NOT VOUCHED FOR: 2 of 4 cells" in shown and "0.3333333333333333 stored, for" in shown
    result = experiments.load_result("TOY", "smoke")
    assert "vouched" not in result.provenance
    with pytest.raises(ValueError, match="TOY is not vouched for"):
        verify.vouch(result, checked(result))


def test_only_short_cells_are_drawn_some_of_each_data_set(toy) -> None:
    result = run_toy()
    del toy[:]
    assert checked(result, seconds=15) and [(cell["data"], cell["x"]) for cell in toy] == [("a", 1), ("b", 1)]
    assert checked(result, cells=2).cells == 4
    nothing = checked(result, seconds=5)
    assert not nothing and nothing.problems == ["no cell of at most 5 s"]


def test_the_shortest_of_the_longer_cells_is_run_as_well_until_one_was(toy, monkeypatch) -> None:
    needed = {("a", 2): 30.0, ("b", 2): 20.0}
    of_a_cell = replace(registry.get("TOY"), estimate=lambda cell: needed.get((cell["data"], cell["x"]), 10.0))
    monkeypatch.setitem(registry.REGISTRY, "TOY", of_a_cell)
    result = run_toy()
    assert checked(result, seconds=15, beyond=19).cells == 2
    del toy[:]
    verdict = checked(result, seconds=15, beyond=40)
    assert verdict and [(cell["data"], cell["x"]) for cell in toy] == [("a", 1), ("b", 1), ("b", 2)]
    assert checked(verify.vouch(result, verdict), seconds=15, beyond=40).cells == 2
    assert checked(result, seconds=5, beyond=6).problems == ["no cell of at most 6 s"]


def test_runs_of_other_cells_add_up_until_the_share_is_reached(toy, monkeypatch) -> None:
    run_toy()
    change_code(monkeypatch, "second")
    for wanted in (2, 4):  # one of each data set first, then those that were not run again
        assert experiments.cli(["verify", "TOY"]) == 0
        vouched = experiments.load_result("TOY", "smoke").provenance["vouched"]
        assert vouched["cells"] == len(vouched["which"]) == wanted
    first, again = (sorted((cell["data"], cell["x"]) for cell in part) for part in (toy[:4], toy[4:]))
    assert first == again
    change_code(monkeypatch, "third")  # what older code gave vouches for nothing now
    assert experiments.cli(["verify", "TOY", "--share", "0.5"]) == 0
    assert experiments.load_result("TOY", "smoke").provenance["vouched"]["cells"] == 2


def test_a_share_draws_more_where_fewer_were_run_again() -> None:
    groups, rng = {"a": list(range(40)), "b": [40, 41]}, np.random.default_rng(0)
    drawn = verify.drawn_cells(groups, {0, 1}, rng, cells=1, share=0.09)  # of 40: 3.6, so 4
    assert len([at for at in drawn if at < 40]) == 2 and not {0, 1} & {*drawn} and len(drawn) == 3


def test_after_a_change_of_code_the_default_runs_a_tenth_of_the_short_cells_again(toy, monkeypatch, capsys) -> None:
    """40 cells of data a, 2 of b, one of them longer: a tenth of 41 is 4.1, where one for each data set would be 2."""
    many = [{"data": "a", "x": x, "seed": 0} for x in range(40)] + [{"data": "b", "x": x, "seed": 0} for x in (1, 2)]

    def seconds(cell: dict) -> float:
        return 300.5 if cell == many[-1] else 100.0

    usual = registry.get("TOY")
    monkeypatch.setitem(registry.REGISTRY, "TOY", replace(usual, plan=lambda scale, seeds: many, estimate=seconds))
    run_toy()
    for now in ("second", "third"):  # as long as the code stays, what was run again stays counted
        change_code(monkeypatch, now)
        assert experiments.cli(["verify", "TOY", "--share", "0"]) == 0
        assert "TOY smoke: below the bar: 2 of 41 cells of at most 120 s, expected 10%" in capsys.readouterr().out
        change_code(monkeypatch, f"after the {now}")
        assert experiments.cli(["verify", "TOY"]) == 0
        said = capsys.readouterr().out
        assert "agrees: 5 of 42 cells" in said
        assert "below the bar: none of 1 longer cells, expected one: --beyond 301 runs the shortest" in said
        assert experiments.cli(["verify", "TOY", "--beyond", "301"]) == 0
        assert "below the bar" not in capsys.readouterr().out
        assert not verify.lacking(experiments.load_result("TOY", "smoke"))


def test_a_stated_tolerance_is_recorded(toy, monkeypatch) -> None:
    result, usual = run_toy(), registry.get("TOY")

    def other(cell: dict) -> list[dict]:
        return [{**row, "value": row["value"] * 1.001} for row in usual.run_cell(cell)]

    monkeypatch.setitem(registry.REGISTRY, "TOY", replace(usual, run_cell=other))
    assert not checked(result)
    assert verify.vouch(result, checked(result, tolerance=0.01)).provenance["vouched"]["to"] == 0.01


def test_the_code_behind_every_stored_result_can_be_had() -> None:
    """It is that of this checkout, or of a commit that a clone has."""
    for result in some(verify.stored()):
        named = [git["commit"] for git in result.provenance["git"]]
        named += [result.provenance.get("vouched", {}).get("git", {}).get("commit")]
        lost = set(lost_commits(result.provenance))
        assert code.state(result.provenance).holds or {*filter(None, named)} - lost, result.id
    assert lost_commits({"git": [{"commit": "0" * 40}]}) in ([], ["0" * 40])


def test_a_row_that_was_not_stored_is_a_problem_and_without_a_number_nothing_agrees() -> None:
    verdict = verify.Verdict(1, 1)
    assert not verdict
    verify.compare([{"metric": "a", "value": 2.0}], [{"metric": "a", "value": 1.0}], verdict)
    assert (verdict.numbers, verdict.worst) == (1, 0.5) and verdict.problems.pop().startswith("1.0 now, 2.0 stored")
    assert verdict
    verify.compare([{"metric": "a", "value": 1.0}], [{"metric": "b", "value": 1.0}], verdict)
    verify.compare([{"metric": "a", "value": None}], [{"metric": "a", "value": 1.0}], verdict)
    verify.compare([{"metric": "a", "value": 0.0}], [{"metric": "a", "value": -0.0}], verdict)
    assert len(verdict.problems) == 2 and "no stored number for" in verdict.problems[0] and not verdict


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_what_is_no_number_agrees_with_no_number(value: float | None) -> None:
    verdict = verify.Verdict(1, 1)
    verify.compare([{"metric": "a", "value": 1.0}], [{"metric": "a", "value": value}], verdict)
    assert not verdict and len(verdict.problems) == 1


def test_a_stored_number_answers_for_one_new_number() -> None:
    stored, verdict = [{"metric": "a", "value": 1.0}, {"metric": "a", "value": 2.0}], verify.Verdict(1, 1)
    verify.compare(stored, [{"metric": "a", "value": 2.0}, {"metric": "a", "value": 1.0}], verdict)
    assert verdict
    verify.compare(stored, [{"metric": "a", "value": 2.0}] * 2, verdict)
    assert verdict.problems == ['2.0 now, 1.0 stored, for {"metric": "a"}']


def test_a_stored_number_that_is_not_made_again_is_a_problem(toy, monkeypatch) -> None:
    result, whole = run_toy(), registry.get("TOY")

    def halves(rows: list[dict]) -> list[dict]:
        return [row | {"metric": "half " + row["metric"], "value": row["value"] / 2} for row in rows]

    both = replace(result, rows=[*result.rows, *halves(result.rows)])
    for made, agrees in (
        (lambda cell: [*(rows := whole.run_cell(cell)), *halves(rows)], True),
        (whole.run_cell, False),
    ):
        monkeypatch.setitem(registry.REGISTRY, "TOY", replace(whole, run_cell=made))
        verdict = checked(both)
        assert bool(verdict) == agrees
        assert all(problem.startswith("not made again") for problem in verdict.problems)


def test_a_result_without_a_hash_is_not_known_to_hold() -> None:
    assert not code.state({}).holds and "before results kept" in code.state({}).words


def test_the_hash_of_an_experiment_follows_its_imports_and_no_other_papers(tmp_path: Path) -> None:
    motion, other = (code.code_of(f"course_lib.experiments.{name}") for name in ("p0.motion", "p0.popularity"))
    assert motion["hash"] != other["hash"] and len(motion["hash"]) == 16
    files = code._imports(code.dependencies.ROOT).closure("course_lib.experiments.p0.motion", without=code.MACHINERY)
    behind = {path.relative_to(RESULTS.parents[1]).as_posix() for path in files}
    assert {"course_lib/geometry.py", "course_lib/experiments/core/summary.py"} <= behind
    assert not behind & {"course_lib/experiments/core/registry.py", "course_lib/audit.py"}


def test_what_a_gpu_made_is_run_again_on_one_or_beside_the_code_of_before_on_the_processor(monkeypatch) -> None:
    result = experiments.load_result("P3-T6", "full", RESULTS)
    assert verify.device_of(result) == {"device": "cuda"}
    assert {cell["device"] for cell in verify.stored_cells(result)} == {"cuda"}
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    verdict = verify.verify(result, rng=np.random.default_rng(0))
    assert not verdict and str(verdict).endswith("made on a GPU, and torch finds none here")
    ran: list[dict] = []
    monkeypatch.setattr(verify, "_given_by", lambda folder, result, cell: ran.append(cell) or [])
    monkeypatch.setitem(registry.REGISTRY, "P3-T6", replace(registry.get("P3-T6"), run_cell=lambda cell: []))
    verify.verify(result, rng=np.random.default_rng(0), against=RESULTS.parents[1])
    assert [cell["device"] for cell in ran] == ["cpu"]


@pytest.mark.seconds
def test_every_stored_row_belongs_to_a_cell_of_the_plan() -> None:
    """So that `again` makes all of a result, and `verify` draws from all of it."""
    for path in some(sorted(RESULTS.glob("*.json"))):
        name, _, scale = path.stem.rpartition("-")
        result = experiments.load_result(name, scale, RESULTS)
        assert len(verify.stored_cells(result)) == result.provenance["cells"]["finished"], path.name


def test_a_cell_of_several_seeds_is_run_again_with_its_own() -> None:
    """One cell of PRACTICE-1 has thirteen; the others have those of the run."""
    held = [tuple(cell["seeds"]) for cell in verify.stored_cells(experiments.load_result("PRACTICE-1", "laptop"))]
    assert held.count(tuple(range(5))) == 17 and held.count(tuple(range(13))) == 1


@pytest.mark.seconds
def test_a_stored_cell_is_what_todays_code_gives(tmp_path: Path, monkeypatch) -> None:
    """The shortest check of the stored results: the toy in the plane of P0's second experiment, to six digits."""
    stored = experiments.load_result("P0-E1", "laptop", RESULTS)
    cell = next(cell for cell in verify.stored_cells(stored) if cell["data"] == "tastes")
    verdict = verify.Verdict(1, 1)
    verify.compare(stored.rows, json.loads(json.dumps(registry.get("P0-E1").run_cell(cell))), verdict)
    assert verdict, str(verdict)


@pytest.mark.parametrize("metric", ["seconds", "ms", "cell ms", "peak GB"])
def test_what_a_machine_measures_is_not_compared(metric: str) -> None:
    assert verify.MEASURED.search(metric) and not verify.MEASURED.search(f"{metric} of 10")


def test_a_row_that_says_when_is_known_by_the_rest() -> None:
    """A curve over seconds: the seconds differ in every run, its numbers do not."""
    verdict = verify.Verdict(1, 1)
    for value in (2.0, 3.0):
        verify.compare(
            [{"metric": "a", "seconds": 1.5, "value": 2.0}], [{"metric": "a", "seconds": 1.7, "value": value}], verdict
        )
    assert verdict.numbers == 2 and len(verdict.problems) == 1


@pytest.mark.pipeline
def test_the_code_of_a_checkout_gives_its_rows_and_other_code_is_refused() -> None:
    [result] = verify.stored(["P2-X1"], "laptop")
    cell = next(cell for cell in verify.stored_cells(result) if cell["data"].startswith("movietweetings"))
    root, provenance = RESULTS.parents[1], {"vouched": {"code": code.code_of(registry.get("P2-X1").module)}}
    rows = verify._given_by(root, replace(result, provenance=provenance), cell)
    assert rows == json.loads(json.dumps(registry.get("P2-X1").run_cell(cell)))
    with pytest.raises(ValueError, match="is not the code of the stored P2-X1"):
        verify._given_by(root, replace(result, provenance={}), cell)
