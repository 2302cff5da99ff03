"""The command line: what it prints, what it writes, its exit status, and what it refuses."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from audit import planted

from course_lib.__main__ import main
from course_lib.audit import audit, command, pairs, report
from course_lib.audit.command import cli
from course_lib.audit.snapshots.rows import files_in
from course_lib.audit.verdicts import CATALOGUE
from course_lib.geometry import normalise

pytestmark = pytest.mark.seconds


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a clean model, and of one that leaks."""
    where = tmp_path_factory.mktemp("model")
    for name, model in (("clean", planted.clean(1)), ("leak", planted.PLANTS["leaked-test-pairs"](1, 2))):
        np.savez(where / f"{name}.npz", items=model.items, users=model.users)
        for part in ("pairs", "held_out"):
            np.save(where / f"{name}-{part}.npy", getattr(model, part).pairs)
    (where / "training.toml").write_text('loss = "unbiased"\nbatch_size = 64\n')
    return where


MODELS = {"clean": ("clean", 1), "leak": ("leaked-test-pairs", 1)}


def arguments(folder: Path, name: str) -> list[str]:
    """Everything that is known of a model."""
    table = f"{folder}/{name}.npz"
    pairs = ["--pairs", f"{folder}/{name}-pairs.npy", "--held-out", f"{folder}/{name}-held_out.npy"]
    return ["--items", f"{table}#items", "--users", f"{table}#users", *pairs, "--training", f"{folder}/training.toml"]


def test_a_table_alone_gets_a_report(tmp_path, capsys):
    """`python -m course_lib audit items.npy` as the chapter shows it."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "items.npy", 3 * normalise(rng.standard_normal((60, 4))))
    np.save(tmp_path / "counts.npy", np.arange(60))
    where = [str(tmp_path / "items.npy"), "--counts", str(tmp_path / "counts.npy")]
    assert main(["audit", *where]) == 0
    said = capsys.readouterr().out
    assert "popularity-lengths: FINE" in said and "The lengths of the rows alone leave the gauge fixed." in said
    assert main(["audit", *where, "--json", "-k", "5"]) == 0
    found = json.loads(capsys.readouterr().out)["cosines"]
    assert found["verdict"] == "fixed" and found["k"] == 5 and set(found["overlap"]) == {"0.25", "0.5", "1"}


def test_the_report_and_the_numbers_are_written(folder, tmp_path, capsys):
    page, numbers = tmp_path / "report.html", tmp_path / "report.json"
    assert cli([*arguments(folder, "clean"), "--out", str(page), "--json", str(numbers)]) == 0
    found = json.loads(numbers.read_text())
    assert found["schema_version"] == "2"
    assert [verdict["id"] for verdict in found["verdicts"]] == list(CATALOGUE)
    assert found["inputs"]["training"]["batch_size"] == 64 and found["inputs"]["pairs"]["pairs"] == 6000
    said = capsys.readouterr().out
    assert page.read_text().startswith("<!DOCTYPE html>") and "popularity-lengths" in said
    assert said.splitlines()[-1].startswith("Written: ") and str(page) in said.splitlines()[-1]


def test_the_tables_of_the_remedies_are_written(folder, tmp_path, capsys):
    assert cli([*arguments(folder, "clean"), "--remedies", str(tmp_path)]) == 0
    model = planted.clean(1)
    items = np.load(tmp_path / "normalise-the-items" / "items.npy")
    np.testing.assert_allclose(items, normalise(model.items))
    assert len(list(tmp_path.glob("*/users.npy"))) == len(list(tmp_path.glob("*/items.npy"))) == 7
    assert cli([f"{folder}/clean.npz#items", "--remedies", str(tmp_path)]) == 2
    assert "--remedies: no remedy could be measured" in capsys.readouterr().err


FILES = ("out", "json", "markdown") if Path("/proc/self").is_dir() else ()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["--out", "{}/nodir/x.html"], "--out: {0}/nodir/x.html: there is no folder {0}/nodir; expected"),
        (["--json", "{}/nodir/x.json"], "--json: {0}/nodir/x.json: there is no folder {0}/nodir; expected"),
        (["--out", "{}"], "--out: {0}: this is a folder"),
        *((["--" + name, "/proc/x"], f"--{name} is '/proc/x'; expected a file that can be written") for name in FILES),
        (["--remedies", "/proc/x"], "--remedies is '/proc/x'; expected a folder that can be written"),
        (["--remedies", "{}/clean.npz/new"], "--remedies: {0}/clean.npz is a file; expected a folder"),
        (["--remedies", "{}/new"], "--remedies: no remedy could be measured; expected one model with users"),
        (["{}", "--remedies", "{}/new"], "--remedies: two snapshots were given"),
        (["--seed", "-1"], "--seed is -1; expected a whole number of at least 0"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_computed(given, reason, folder, capsys, monkeypatch):
    for work in ("audit", "compare", "read_table", "read_snapshot"):
        monkeypatch.setattr(command, work, lambda *_, **__: pytest.fail("computed"))
    assert cli([f"{folder}/clean.npz#items", *(part.format(folder) for part in given)]) == 2
    assert reason.format(folder) in capsys.readouterr().err
    assert not (folder / "new").exists()


@pytest.mark.parametrize("seed", [0, 7])
def test_the_seed_of_a_report_makes_it_again(seed, tmp_path, capsys):
    rows = np.random.default_rng(3).standard_normal((60, 4))
    np.save(tmp_path / "items.npy", rows)
    (tmp_path / "new").mkdir()
    np.save(tmp_path / "new" / "items.npy", rows)
    for given in ([f"{tmp_path}/items.npy"], [f"{tmp_path}/items.npy", f"{tmp_path}/new"]):
        assert cli([*given, "--json", "--seed", str(seed)]) == 0
        assert json.loads(capsys.readouterr().out)["options"]["seed"] == seed


def test_a_pipeline_can_fail_on_a_fault(folder, capsys, monkeypatch):
    assert cli([*arguments(folder, "leak"), "--fail-on", "fault"]) == 1
    assert "leaked-test-pairs: FAULT" in capsys.readouterr().out
    for name, status in (("leak", 0), ("clean", 0)):
        monkeypatch.setattr(command, "audit", lambda *_, name=name, **__: planted.report(*MODELS[name]))
        assert cli([*arguments(folder, name), *(["--fail-on", "fault"] * (name == "clean"))]) == status


@pytest.mark.parametrize("error", [TypeError("no\nlength"), MemoryError(), ImportError("gone"), AssertionError()])
def test_a_crash_is_no_fault(error, folder, capsys, monkeypatch):
    """Exit status 2 and one line, so that a pipeline with --fail-on fault can tell them apart."""

    def crashes(*_, **__):
        raise error

    monkeypatch.setattr(command, "audit", crashes)
    given = [*arguments(folder, "leak"), "--fail-on", "fault"]
    assert cli(given) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"failed ({type(error).__name__}" in said and "--traceback" in said
    assert cli([*given, "--traceback"]) == 2
    assert "in crashes" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--help", "--version", None])
def test_a_reader_that_has_read_enough_is_no_crash(option, folder, monkeypatch):
    """`... | head -1`, with a reader that is gone: what was printed is still in the buffer.

    Python would flush it at its end, complain, and exit with 120.
    """
    read, write = os.pipe()
    os.close(read)
    monkeypatch.setattr("sys.argv", ["two-tower-audit", *([option] if option else arguments(folder, "clean"))])
    with open(write, "w") as pipe:
        monkeypatch.setattr("sys.stdout", pipe)
        with pytest.raises(SystemExit) as stopped:
            command.main()
        assert os.fstat(write).st_rdev == os.stat(os.devnull).st_rdev  # what is left has somewhere to go
    assert stopped.value.code == 2


@pytest.mark.parametrize("name", ["pairs.csv.gz", "held_out.parquet.zip", "users.npy.xz"])
def test_a_compressed_file_in_a_folder_is_refused_and_not_passed_over(name, tmp_path, capsys):
    np.save(tmp_path / "items.npy", np.random.default_rng(0).normal(size=(30, 4)))
    (tmp_path / name).write_bytes(b"anything")
    assert cli([str(tmp_path)]) == 2 and f"{name} is compressed" in capsys.readouterr().err


def test_a_compressed_copy_beside_the_file_itself_is_passed_over(tmp_path):
    np.save(tmp_path / "items.npy", np.random.default_rng(0).normal(size=(30, 4)))
    for name in ("items.npy.gz", "pairs.2024.csv.gz"):
        (tmp_path / name).write_bytes(b"anything")
    assert files_in(tmp_path, "old") == {"items": str(tmp_path / "items.npy")}


def test_an_error_leaves_no_bar_behind(monkeypatch, capsys):
    def fails(evidence):
        raise ValueError("a question")

    monkeypatch.setattr(report, "dead_rows", fails)
    with pytest.raises(ValueError, match="a question"):
        audit(np.random.default_rng(0).normal(size=(30, 4)), rng=np.random.default_rng(0), progress=True)
    assert capsys.readouterr().err.rsplit("\r", 1)[-1] == ""


def test_dates_as_numbers_are_seconds_also_one_that_no_calendar_has():
    found = pairs._days(np.array([20230131.0, 20230231.0]))
    assert found.tolist() == np.array(["2023-01-31", "2023-03-03"], "datetime64[s]").astype(float).tolist()
    assert pairs._days(np.array([20230131.0, 20231331.0])).tolist() == [20230131, 20231331]  # no month: no dates


def test_the_law_of_negatives_may_be_named_by_its_library(folder, capsys):
    given = [*arguments(folder, "clean"), "--loss", "bpr", "--negatives", "implicit", "--json"]
    assert cli(given) == 0
    found = {verdict["id"]: verdict for verdict in json.loads(capsys.readouterr().out)["verdicts"]}["in-batch-bias"]
    assert found["theorem"] == "prop-laws-of-negatives" and found["figures"]["by_popularity"] == 1


def test_zero_rows_are_dropped_when_asked_and_counted(tmp_path, capsys):
    model = planted.PLANTS["dead-rows"](0, 2)
    np.save(tmp_path / "items.npy", model.items)
    np.save(tmp_path / "counts.npy", model.pairs.col_counts)
    where = [f"{tmp_path}/items.npy", "--counts", f"{tmp_path}/counts.npy"]
    assert cli(where) == 2 and "--drop-zero-rows" in capsys.readouterr().err
    assert cli([*where, "--drop-zero-rows"]) == 0
    assert "Zero item rows that were left out, with their counts and their pairs: 60." in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "items: the item table was given twice or not at all; expected"),
        (["--index", "{}"], "items: the item table was given twice or not at all (--index took {}); expected"),
        (["{}/clean.npz#items", "--pairs", "{}/clean-pairs.npy"], "pairs were given without a user table"),
        (["{}/clean.npz#nothing"], "it holds no table named 'nothing'; expected one of its tables: items (600, 32)"),
        (["{}/clean.npz#items", "--training", "{}/none.toml"], "there is no file"),
        (["{}/clean.npz#items", "--batch-size", "1"], "batch_size is 1; expected a whole number of at least 2"),
        (["{}/clean.npz#items", "-k", "0"], "k is 0"),
    ],
)
def test_a_wrong_call_is_refused(given, reason, folder, capsys):
    assert cli([part.format(folder) for part in given]) == 2
    assert reason.replace("{}", str(folder)) in capsys.readouterr().err


def test_what_no_training_has_is_refused_with_its_file(folder, tmp_path, capsys):
    for text, reason in (
        ("bach_size = 4", "bach_size"),
        ("loss = ", "training.toml: Invalid value"),
        ("batch_size = 1", "training.toml: batch_size is 1; expected a whole number of at least 2"),
    ):
        (tmp_path / "training.toml").write_text(text)
        assert cli([f"{folder}/clean.npz#items", "--training", f"{tmp_path}/training.toml"]) == 2
        assert reason in capsys.readouterr().err


def test_the_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli(["--version"])
    assert stopped.value.code == 0 and capsys.readouterr().out.startswith("two-tower-audit ")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("user=uid item=uid", "--columns: uid is both user and item; expected a column for each"),
        ("user=uid item=sku time=price rating=price", "price is both time and rating"),
        ("user=uid item=sku ignored=uid", "uid is both user and ignored"),
        ("user=uid item=sku time=nope", "time=nope: none of the files has it; expected one of .*price"),
        ("user=uid item=sku id=nope", "id=nope: none of the files has it; expected one of .*uid"),
        ("user=uid item=sku rating=nope", "rating=nope: none of the files has it"),
        ("user=uid item=sku ignored=price,prise", "ignored=prise: none of the files has it"),
    ],
)
def test_columns_that_are_not_there_or_are_two_things_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], columns: str, message: str
) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "items.npy", rng.normal(size=(30, 4)))
    np.save(tmp_path / "users.npy", rng.normal(size=(20, 4)))
    lines = [f"{user},{(3 * user + step) % 30},{user / 7}" for user in range(20) for step in range(3)]
    (tmp_path / "pairs.csv").write_text("\n".join(["uid,sku,price", *lines]))
    assert cli([str(tmp_path), "--columns", *columns.split()]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert cli([str(tmp_path), "--columns", "user=uid", "item=sku", "ignored=price,"]) == 0
    assert cli([f"{tmp_path}/items.npy", "--columns", "item=sku"]) == 2
    assert "item=sku: none of the files has it" in capsys.readouterr().err
