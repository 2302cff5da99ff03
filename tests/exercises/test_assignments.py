"""The classroom with several assignments: each gets its own walls, marks and feedback; hostile kinds gain nothing."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import pytest
from classroom_helpers import classroom, grade_table, hands_out_no_secret, needs_nbgrader
from drafts import one_quickly
from in_process import NEW, verdict_on

from course_lib.lessons.shared.grading import sandbox
from course_lib.lessons.shared.grading.sandbox import Sandbox
from exercises.engine import chapters, simulate, variants
from exercises.engine.grading import judge

ROOT = Path(__file__).resolve().parents[2]
FEW = ["hostile-patched-library", "hostile-hidden-tests", "hostile-lying-eq"]  # test_classroom.py has them all
CASES = [(name, kind) for name in NEW for kind in FEW]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict]:
    """The judge's verdict on every hostile case, in two processes, with a second for a step and two for a
    submission.
    """
    folder = tmp_path_factory.mktemp("judged")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        verdicts = pool.map(verdict_on, *zip(*CASES, strict=True), repeat(folder), chunksize=1)
        return dict(zip(CASES, verdicts, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_hostile_submission_passes_no_check(judged: dict[tuple[str, str], dict], name: str, kind: str) -> None:
    verdict = judged[name, kind]
    assert set(verdict["checks"]) == set(simulate.points(name))
    assert not any(check["passed"] for check in verdict["checks"].values())
    assert not any(check.get("look") for check in verdict["checks"].values())  # no check failed at reading an answer
    assert verdict["student_seconds"] <= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", NEW)
def test_no_hidden_check_no_public_check_and_no_source_was_read(judged: dict[tuple[str, str], dict], name: str) -> None:
    outputs = judged[name, "hostile-hidden-tests"]["outputs"].values()
    printed = [output["output"] for output in outputs if output["output"]]
    assert printed and set(printed) == {"[]\n"}


@pytest.mark.slow
def test_a_double_sum_over_thousands_of_rows_runs_out_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Task 1 of gramian-estimators: the right number in the wrong time loses the check on pairs, and no other."""
    monkeypatch.setattr(sandbox, "USUAL", sandbox.Limits(step=3.0))
    name = "gramian-estimators"
    notebook = simulate.reference(name)
    (cell,) = (cell for cell in notebook["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == "all_pairs")
    cell["source"] = """
def all_pairs(U, V, w, z, c):
    return sum(a * b * (sum(x * y for x, y in zip(u, v)) - c) ** 2 for a, u in zip(w, U) for b, v in zip(z, V))
"""
    (tmp_path / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    found = judge.judge(chapters.hand_over(name, tmp_path), tmp_path / f"{name}.ipynb")["checks"]
    assert {check for check, result in found.items() if not result["passed"]} == {"test_pairs"}
    assert "took longer than" in found["test_pairs"]["message"]


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Loose notebooks of all new assignments in one folder, graded by one command; bob is wrong, and eve forges."""
    needs_nbgrader()
    folder = tmp_path_factory.mktemp("term")
    (folder / "in").mkdir()
    for number, name in enumerate(NEW):
        (folder / "in" / f"ada-{number}.ipynb").write_bytes(simulate.content("reference", name))
    (folder / "in" / "bob.ipynb").write_bytes(simulate.content(WRONG, NEW[0]))
    (folder / "in" / "eve.ipynb").write_bytes(simulate.content("hostile-file-forged-checks", NEW[1]))
    limits = ("--step-seconds=10", "--submission-seconds=40")
    classroom("all", "--submissions", folder / "in", "--course", folder, "--workers", 2, *limits)
    return folder


WRONG = next(iter(simulate.wrong_answers(NEW[0])))


@pytest.mark.slow
@pytest.mark.parametrize("name", NEW)
def test_each_assignment_has_its_own_marks(term: Path, name: str) -> None:
    rows, expected = grade_table(term, name), simulate.expected(name)
    ada = f"ada-{NEW.index(name)}"
    others = {NEW[0]: {"bob": expected.get(WRONG)}, NEW[1]: {"eve": 0}}.get(name, {})
    assert {student: float(row["total"]) for student, row in rows.items()} == {ada: expected["reference"], **others}
    assert rows[ada]["out_of"] == str(expected["reference"] + 6.0)
    assert rows[ada]["to_grade_by_hand"] == "1" and not rows[ada]["look_at"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NEW)
def test_the_release_holds_no_solution_and_no_hidden_check(term: Path, name: str) -> None:
    hands_out_no_secret(term, name)
    assert [path.name for path in (term / "source" / name).iterdir()] == [f"{name}.ipynb"]  # it would be handed out


@pytest.mark.slow
def test_only_what_was_handed_in_is_graded_and_one_assignment_can_be_asked_for(term: Path) -> None:
    assert not (term / "grades" / "in-batch-bias.csv").exists()
    before = {path: path.stat().st_mtime_ns for path in term.glob("autograded/*/*/*.ipynb")}
    assert len(before) == len(NEW) + 2
    done = classroom("grade", "--assignment", NEW[1], "--course", term)
    assert done.stdout.count("grades: ") == 1 and NEW[1] in done.stdout.partition("grades: ")[2].splitlines()[0]
    assert sorted(path.stem for path in term.glob("grades/*.csv")) == sorted([*NEW, "files", "gradebook"])
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    needs_nbgrader()
    (tmp_path / "in").mkdir()
    yield tmp_path


def _found(folder: Path, name: str | None = None) -> dict[str | None, list[str | None]]:
    """assignment -> students, as `collect` sorts the files out."""
    from exercises.engine.office import intake
    from exercises.engine.office.desk import Desk
    from exercises.engine.office.people import Roster

    for each in chapters.assignments():
        chapters.hand_over(each, folder)
    desk, found = Desk(folder), defaultdict(list)
    for arrival in intake.arrivals(folder / "in", desk.assignments(), Roster(everybody=True), name):
        found[None if arrival.problem else arrival.assignment].append(arrival.student)
    return dict(found)


def test_a_loose_notebook_is_recognised_by_its_answers(folder: Path) -> None:
    for name in simulate.assignments():
        (folder / "in" / f"student-of-{name}.ipynb").write_bytes(simulate.content("empty", name))
    (folder / "in" / "stranger.ipynb").write_bytes(b'{"cells": []}')
    expected = {name: ["student-of"] for name in simulate.assignments()}
    assert _found(folder) == {**expected, None: ["stranger"]}


def test_a_folder_says_which_assignment_its_files_are(folder: Path) -> None:
    """Both forms of a folder; a file that is missing is no file."""
    for path in ("ada/gauge-freedom.ipynb", "bob/jacobian-conditions/jacobian-conditions.ipynb"):
        (folder / "in" / path).parent.mkdir(parents=True)
        (folder / "in" / path).write_bytes(b"{}")
    assert _found(folder) == {"gauge-freedom": ["ada"], "jacobian-conditions": ["bob"]}


def test_a_broken_notebook_belongs_to_the_only_assignment_there_is(folder: Path) -> None:
    (folder / "in" / "ada.ipynb").write_bytes(simulate.content("empty", "gauge-freedom"))
    (folder / "in" / "bob.ipynb").write_bytes(b"\x00")
    assert _found(folder) == {"gauge-freedom": ["ada", "bob"]}
    assert _found(folder, "jacobian-conditions") == {"jacobian-conditions": ["bob"]}


@pytest.mark.seconds
def test_a_folder_without_any_assignment_is_refused(folder: Path) -> None:
    (folder / "in" / "notes.ipynb").write_bytes(b'{"cells": []}')
    done = classroom("all", "--submissions", folder / "in", "--course", folder, check=False)
    assert done.returncode != 0 and "nothing was handed in" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", one_quickly(NEW))
def test_a_student_of_this_assignment_reaches_no_formula(name: str) -> None:
    """Neither by import, nor by file, nor through a module that an open room imported for itself."""
    from course_lib.lessons.shared.grading import notebooks

    source = notebooks.read_source(chapters.file(name, "assignment.ipynb"))
    closed = {"geometry", "gauge", "norms", "popularity", "jacobians", "encoders", "in_batch", "gramians", "correction"}
    closed |= {"backbones", "debiasing"} | ({"losses"} - set(notebooks.open_rooms(source)))
    lesson = f"course_lib/lessons/{simulate.module_of(name)}"
    public = lesson.replace("/", ".")
    cells = [f"import {module}" for module in sorted(f"course_lib.{room}" for room in closed)]
    cells += [f"from course_lib import {room}" for room in ("geometry", "gauge", "in_batch")]
    files = [path for room in sorted(closed) for path in (ROOT / "course_lib").glob(f"{room}*/**/*.py")]
    files += [path for room in sorted(closed) for path in (ROOT / "course_lib").glob(f"{room}.py")]
    cells += [f"open({str(path)!r}).read()" for path in files]
    cells += [f"open({str(ROOT / path)!r}).read()" for path in (f"{lesson}/checks.py", f"{lesson}/proofs.py")]
    cells += [f"import os\nos.listdir({str(ROOT / path)!r})" for path in ("course_lib", "course_lib/gauge", lesson)]
    cells += [f"import exercises.{simulate.module_of(name)}.hidden"]
    library = "[key for key in sys.modules if key.startswith('course_lib')]"
    cells += [f"import sys\nassert any(room in key for key in {library} for room in {sorted(closed)})"]
    fine = [
        f"from {public} import checks\nassert checks.films(1.0) is None",
        f"import {public}.checks as quiet\nassert not hasattr(quiet, '__file__') and quiet.check() is None",
        "from course_lib import datasets, arrays",
        "from course_lib import datasets as same\nassert same is datasets",
    ]
    with Sandbox([*cells, *fine], notebooks.open_rooms(source)) as box:
        errors = [result["error"] for result in box.results]
    assert [cell for cell, error in zip(cells, errors, strict=False) if not error] == []
    assert errors[len(cells) :] == [None] * len(fine)


@pytest.mark.seconds
@pytest.mark.parametrize("name", NEW)
def test_a_mark_is_given_again_when_any_file_that_decides_it_has_changed(name: str) -> None:
    files = {path.relative_to(ROOT).as_posix() for path in judge.grading_code(name)}
    own = f"exercises/{name.replace('-', '_')}/hidden.py"
    assert files >= {
        own,
        f"course_lib/lessons/{name.replace('-', '_')}/checks.py",
        "exercises/engine/inputs.py",
        "exercises/engine/grading/judge.py",
        "course_lib/lessons/shared/grading/walls.py",
    }
    computes = any(file.startswith(("course_lib/arrays", "course_lib/geometry")) for file in files)
    assert computes == (name != "practice")  # what a check computes with; Fractions are Python's own


@pytest.mark.parametrize("name", simulate.assignments())
def test_no_public_check_of_an_assignment_is_called_for_two_graded_cells(name: str) -> None:
    """Two checks with points ask two things: a student who passed the first has not passed the second by that."""
    code = [simulate.HIDDEN.sub("", source + "\n") for _, source in variants.graded_code(simulate.source(name))]
    asked = [call for source in code for call in re.findall(r"^checks\.(\w+)\(", source, re.MULTILINE)]
    assert len(asked) == len(set(asked)) == len(code)
