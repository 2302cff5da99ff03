"""`checks.hand_in` and the grader say the same, and the receipt names the work in the class's table of files.

`COURSE_TRIES=500 make test-pipelines PYTEST_ARGS=tests/exercises/test_hand_in.py` asks it of 500 notebooks.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from classroom_helpers import classroom
from generated_notebooks import ASSIGNMENT, as_saved, draw

from course_lib.lessons.shared.grading import hand_in as last_cell
from course_lib.lessons.shared.grading import notebooks, sandbox
from course_lib.lessons.shared.grading.hand_in import hand_in, replayed
from exercises.engine import chapters, simulate
from exercises.engine.grading import judge

NOTEBOOKS = int(os.environ.get("COURSE_TRIES", "4"))


def released(assignment: str = ASSIGNMENT) -> nbformat.NotebookNode:
    """What students get, as far as a replay needs it."""
    notebook = nbformat.from_dict(simulate.empty(assignment))
    notebook.metadata["course"] = {**notebook.metadata.get("course", {}), "assignment": assignment}
    return notebook


def carrying(content: dict[str, Any], assignment: str = ASSIGNMENT) -> bytes:
    """A saved notebook that has kept its own metadata, as Jupyter does."""
    course = {"released": notebooks.packed(released(assignment))}
    return json.dumps({**content, "metadata": {**content["metadata"], "course": course}}).encode()


@pytest.mark.pipeline
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(NOTEBOOKS))
def test_the_replay_passes_what_the_grader_finds_publicly_right(seed: int, tmp_path: Path) -> None:
    content = carrying(as_saved(draw(seed), seed))
    here = replayed(content, "renamed")
    copy = notebooks.rebuilt(released(), notebooks.handed_in(content))
    path = tmp_path / f"{ASSIGNMENT}.ipynb"
    path.write_text(nbformat.writes(copy), encoding="utf-8")
    graded = judge.judge(chapters.hand_over(ASSIGNMENT, tmp_path), path)["checks"]
    publicly = {name: check["passed"] or check["stage"] == "hidden" for name, check in graded.items()}
    assert {name: check["passed"] for name, check in here["checks"].items()} == publicly
    assert any(publicly.values()) or seed  # the first notebook is no empty one
    assert here["receipt"] == notebooks.receipt(copy)


@pytest.mark.slow
def test_the_last_cell_of_a_release_gives_the_receipt_that_the_table_of_files_has(tmp_path: Path) -> None:
    classroom("release", "--assignment", ASSIGNMENT, "--course", tmp_path)
    notebook = nbformat.read(tmp_path / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", as_version=4)
    assert notebook.cells[-1].source.endswith(f'checks.hand_in("{ASSIGNMENT}.ipynb")')
    assert "two-tower-course/blob" not in nbformat.writes(notebook)  # nothing is published at the placeholder
    handed_out = notebooks.handed_out(nbformat.writes(notebook).encode())
    carried = nbformat.writes(handed_out)
    assert not [secret for secret in ("BEGIN SOLUTION", "HIDDEN", "hidden.", "Rubric") if secret in carried]
    assert [cell.source for cell in notebook.cells] == [cell.source for cell in handed_out.cells]
    reference = {c["metadata"]["nbgrader"]["grade_id"]: c["source"] for c in simulate.reference(ASSIGNMENT)["cells"]}
    for cell in notebook.cells:
        if notebooks.is_answer(cell):
            cell.source = reference[notebooks.grading(cell)["grade_id"]]
    content = nbformat.writes(notebook).encode()
    found = replayed(content, "renamed")
    assert all(check["passed"] for check in found["checks"].values())
    assert found["grader"] == found["here"] and found["walls"] is True and found["look_at"] == []
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "anna.ipynb").write_bytes(content)
    classroom("collect", "--submissions", tmp_path / "in", "--course", tmp_path)
    with (tmp_path / "grades" / "files.csv").open() as file:
        assert [line["receipt"] for line in csv.DictReader(file)] == [found["receipt"]]


@pytest.mark.seconds
def test_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks by their titles, the reason, work that is not saved, missing walls, and another Python of the grader's."""
    monkeypatch.chdir(tmp_path)
    content = simulate.reference(ASSIGNMENT)
    for cell in content["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == "best_score":
            cell["source"] = "from no_such_package import it\n" + cell["source"]
    Path("mine.ipynb").write_bytes(carrying(content))
    monkeypatch.setattr(last_cell, "_unsaved", lambda names, sources: ["  NOT SAVED: " + ", ".join(names)])
    kept = last_cell._replayed
    monkeypatch.setattr(last_cell, "_replayed", lambda *a: kept(*a) | {"walls": False, "grader": "Python 4"})
    hand_in("mine.ipynb")
    said = capsys.readouterr().out
    assert said.startswith("mine.ipynb, as it was saved at ") and "NOT SAVED: best_score, counterexample" in said
    assert "by the grader's rules, unprotected" in said and "graded with Python 4." in said
    assert "Task 1, check 2 of 2:   passed (3 points)" in said and "test_" not in said
    assert "Task 2:                 NOT passed: best_score raised NameError" in said and "no_such_package" in said
    assert "Task 6:" in said and "words, for a person to read (6 points)" in said
    assert "other inputs, and a person reads your texts." in said
    assert (
        f"Receipt {notebooks.receipt(notebooks.rebuilt(released(), notebooks.handed_in(carrying(content))))} " in said
    )


@pytest.mark.seconds
def test_no_person_reads_a_warm_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"{ASSIGNMENT}-warm-up"
    Path("mine.ipynb").write_bytes(carrying(simulate.reference(name), name))
    hand_in("mine.ipynb")
    assert "points are given for other inputs.\n" in capsys.readouterr().out


def test_a_file_that_is_not_there_names_those_that_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"{ASSIGNMENT} (1).ipynb").write_text("{}")
    with pytest.raises(
        FileNotFoundError, match=r"expected the name under which this notebook is saved: in-batch-bias \("
    ):
        hand_in(f"{ASSIGNMENT}.ipynb")
    with pytest.raises(
        RuntimeError,
        match=r"^in-batch-bias \(1\)\.ipynb could not be replayed: the file is no notebook in format 4; expected an",
    ):
        hand_in(f"{ASSIGNMENT} (1).ipynb")


def test_on_colab_the_notebook_on_the_screen_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Colab's interface is known to be; not tried there."""

    class Colab:
        class _message:
            @staticmethod
            def blocking_request(what: str, timeout_sec: int) -> dict[str, Any]:
                return {"ipynb": {"cells": [what, timeout_sec]}}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "google.colab", Colab)
    content, when = last_cell._saved(Path("anything.ipynb"))
    assert json.loads(content) == {"cells": ["get_ipynb", 60]} and when == "as it is on the screen"


def test_unsaved_work_is_what_ran_last_and_is_not_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        class history_manager:
            input_hist_raw = ("", "def f(x):\n    return 1\n", "%%time\ndef g(x):\n    return 2", "f(1)")

    monkeypatch.setattr("IPython.get_ipython", Shell)
    both = ["def f(x):\n    return 1", "%%time\ndef g(x):\n    return 2"]
    assert list(last_cell._unsaved(["f", "g", "h"], both)) == []
    (line,) = last_cell._unsaved(["f", "g", "h"], [*both[:1], "def g(x):\n    return 3"])
    assert "NOT SAVED: the `g`" in line


def test_a_receipt_is_of_what_was_written_and_of_nothing_else() -> None:
    content = simulate.reference(ASSIGNMENT)
    first = notebooks.rebuilt(released(), notebooks.handed_in(carrying(content)))
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "anything"}]
    same = notebooks.rebuilt(released(), notebooks.handed_in(carrying(content)))
    content["cells"][3]["source"] += "\n# one more remark"
    other = notebooks.rebuilt(released(), notebooks.handed_in(carrying(content)))
    assert notebooks.receipt(first) == notebooks.receipt(same) != notebooks.receipt(other)


def test_a_text_that_lost_the_address_of_a_link_is_no_text_of_the_students() -> None:
    """A release leaves out addresses at which nothing is published."""
    pristine = released()
    pristine.cells[0].source = pristine.cells[0].source.replace("](https://github.com", "](https://elsewhere.example")
    rebuilt = notebooks.rebuilt(pristine, notebooks.handed_in(json.dumps(simulate.empty(ASSIGNMENT)).encode()))
    assert "https" in pristine.cells[0].source and not [cell for cell in rebuilt.cells if notebooks.is_own(cell)]


def test_a_notebook_whose_settings_were_lost_is_replayed_by_its_own_checks() -> None:
    content = json.dumps({**simulate.reference(ASSIGNMENT), "metadata": {}}).encode()
    kept = {notebooks.grading(cell)["grade_id"] for cell in notebooks.handed_out(content).cells}
    assert kept == {notebooks.grading(cell)["grade_id"] for cell in released().cells}


@pytest.mark.parametrize("name", simulate.assignments())
def test_every_assignment_can_call_it(name: str) -> None:
    assert simulate.public_checks(name).hand_in is hand_in


@pytest.mark.seconds
def test_it_works_where_the_course_is_installed_and_there_is_no_checkout(tmp_path: Path) -> None:
    """Without walls there: the course then lies among Python's packages, which a student's code may read."""
    folder = tmp_path / "site-packages"
    shutil.copytree(sandbox.ROOT / "course_lib", folder / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    code = f"from course_lib.lessons.in_batch_bias import checks\nchecks.hand_in({str(tmp_path / 'a.ipynb')!r})"
    (tmp_path / "a.ipynb").write_bytes(carrying(simulate.reference(ASSIGNMENT)))
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": passed") + done.stdout.count("   passed") == 9 and "Receipt" in done.stdout


@pytest.mark.parametrize("file", [None, 3, ["a.ipynb"], b"a.ipynb"])
def test_what_names_no_file_is_refused(file: Any) -> None:
    with pytest.raises(TypeError, match=r"file is .*; expected the name of the saved notebook"):
        hand_in(file)
