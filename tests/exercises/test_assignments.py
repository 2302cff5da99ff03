"""The classroom with several assignments: each gets its own walls, marks and feedback; hostile kinds gain nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from classroom_helpers import classroom, grade_table
from in_process import NEW

from exercises import simulate
from exercises.grading import verdicts
from exercises.grading.sandbox import Sandbox

ROOT = Path(__file__).resolve().parents[2]
SHORTEST = {"COURSE_GRADE_STEP_SECONDS": "1", "COURSE_GRADE_SUBMISSION_SECONDS": "2"}
ALL_KINDS = "gauge-freedom"  # the assignment that every hostile kind is tried on; the others get a few
FEW = ["hostile-exit", "hostile-patched-library", "hostile-hidden-tests", "hostile-lying-eq", "hostile-file-forged-checks"]
HOSTILE = [kind for kind in simulate.expected(ALL_KINDS) if kind.startswith("hostile-")]
CASES = [(name, kind) for name in NEW for kind in (HOSTILE if name == ALL_KINDS else FEW)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict]:
    """The judge's verdict on every hostile case, as the classroom asks for it, with short limits."""
    folder = tmp_path_factory.mktemp("judged")
    before = {name: os.environ.get(name) for name in SHORTEST}
    os.environ.update(SHORTEST)
    try:
        with ThreadPoolExecutor(2) as pool:
            found = dict(zip(CASES, pool.map(lambda case: _verdict(folder, *case), CASES), strict=True))
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return found


def _verdict(folder: Path, name: str, kind: str) -> dict:
    submitted = folder / f"{name}-{kind}.ipynb"
    submitted.write_bytes(simulate.content(kind, name))
    source = ROOT / "exercises" / "source" / name / f"{name}.ipynb"
    return verdicts.verdict_on(submitted.with_suffix(".json"), source, submitted)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_hostile_submission_passes_no_check(judged: dict[tuple[str, str], dict], name: str, kind: str) -> None:
    verdict = judged[name, kind]
    assert set(verdict["checks"]) == set(simulate.points(name))
    assert not any(check["passed"] for check in verdict["checks"].values())
    assert not any(check.get("look") for check in verdict["checks"].values())  # no check failed at reading an answer
    assert verdict["student_seconds"] <= 2.6


@pytest.mark.slow
@pytest.mark.parametrize("name", NEW)
def test_no_hidden_check_no_public_check_and_no_source_was_read(judged: dict[tuple[str, str], dict], name: str) -> None:
    outputs = judged[name, "hostile-hidden-tests"]["outputs"].values()
    printed = [output["output"] for output in outputs if output["output"]]
    assert printed and set(printed) == {"[]\n"}


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder with notebooks of all four assignments, graded by one command: ada is right, bob wrong, eve forges."""
    pytest.importorskip("nbgrader", reason="nbgrader is missing: pip install '.[classroom]'")
    folder = tmp_path_factory.mktemp("term")
    for name in NEW:
        for student, kind in (("ada", "reference"), ("bob", next(iter(simulate.wrong_answers(name))))):
            path = folder / "in" / student / f"{name}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(simulate.content(kind, name))
    eve = folder / "in" / "eve" / NEW[0]
    eve.mkdir(parents=True)
    (eve / f"{NEW[0]}.ipynb").write_bytes(simulate.content("hostile-file-forged-checks", NEW[0]))
    limits = {"COURSE_GRADE_STEP_SECONDS": "5", "COURSE_GRADE_SUBMISSION_SECONDS": "20"}
    classroom("all", "--submissions", folder / "in", "--course", folder, "--workers", 2, **limits)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", NEW)
def test_each_assignment_has_its_own_marks(term: Path, name: str) -> None:
    rows, expected = grade_table(term, name), simulate.expected(name)
    assert {student: float(row["total"]) for student, row in rows.items()} == {
        "ada": expected["reference"], "bob": expected[next(iter(simulate.wrong_answers(name)))], "eve": 0}  # fmt: skip
    assert rows["ada"]["out_of"] == str(expected["reference"] + 6.0)
    assert rows["ada"]["to_grade_by_hand"] == "1"
    for check, points in simulate.points(name).items():
        lost = check in next(iter(simulate.wrong_answers(name).values())).lost
        assert float(rows["bob"][check]) == (0 if lost else points)
    assert ("no such file" in rows["eve"]["look_at"]) == (name != NEW[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", NEW)
def test_the_feedback_names_the_misconception(term: Path, name: str) -> None:
    html = (term / "feedback" / "bob" / name / f"{name}.html").read_text(encoding="utf-8")
    message = next(iter(simulate.wrong_answers(name).values())).message
    assert message in html.replace("&gt;", ">").replace("&lt;", "<").replace("&#39;", "'")


@pytest.mark.slow
@pytest.mark.parametrize("name", NEW)
def test_the_release_holds_no_solution_and_no_hidden_check(term: Path, name: str) -> None:
    released = (term / "release" / name / f"{name}.ipynb").read_text(encoding="utf-8")
    for secret in ("BEGIN SOLUTION", "BEGIN HIDDEN", "exercises.hidden", "hidden.", "Rubric", "Does not follow"):
        assert secret not in released, secret
    text = "\n".join("".join(cell["source"]) for cell in json.loads(released)["cells"])
    for cell in simulate.source(name)["cells"]:
        for kept in simulate.SOLUTION.findall("".join(cell["source"]) + "\n"):
            for line in filter(None, map(str.strip, kept.split("\n"))):
                assert len(line) < 16 or line not in text, line
    assert text.count("raise NotImplementedError('Write your answer here.')") == sum(
        cell["cell_type"] == "code" and cell["metadata"]["nbgrader"]["solution"] for cell in simulate.source(name)["cells"])  # fmt: skip
    assert len(list((term / "release" / name).iterdir())) == 1


@pytest.mark.slow
def test_only_what_was_handed_in_is_graded_and_one_assignment_can_be_asked_for(term: Path) -> None:
    assert not (term / "grades" / "in-batch-bias.csv").exists()
    before = {path: path.stat().st_mtime_ns for path in term.glob("verdicts/*/*.graded")}
    assert len(before) == 3 * len(NEW)
    done = classroom("grade", "--assignment", NEW[1], "--course", term)
    assert done.stdout.count("grades: ") == 1 and f"{NEW[1]}.csv" in done.stdout
    done = classroom("feedback", "--course", term)
    assert done.stdout.count("grades: ") == len(NEW)
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    pytest.importorskip("nbgrader")
    (tmp_path / "in").mkdir()
    yield tmp_path


def _found(folder: Path, name: str | None = None) -> dict[str, list[str]]:
    """assignment -> students, as `collect` sorts the files out."""
    from exercises import classroom as command

    found = command.handed_in(folder / "in", command.chosen(ROOT / "exercises", name))
    return {assignment: [student for student, _ in files] for assignment, files in found.items()}


def test_a_loose_notebook_is_recognised_by_its_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in simulate.assignments():
        (folder / "in" / f"student-of-{name}.ipynb").write_bytes(simulate.content("empty", name))
    (folder / "in" / "stranger.ipynb").write_bytes(b'{"cells": []}')
    assert _found(folder) == {name: [f"student-of-{name}"] for name in simulate.assignments()}
    assert "stranger.ipynb is none of the assignments" in capsys.readouterr().out


def test_a_broken_notebook_belongs_to_the_only_assignment_there_is(folder: Path) -> None:
    (folder / "in" / "ada.ipynb").write_bytes(simulate.content("empty", "gauge-freedom"))
    (folder / "in" / "bob.ipynb").write_bytes(b"\x00")
    assert _found(folder) == {"gauge-freedom": ["ada", "bob"]}
    assert _found(folder, "jacobian-conditions") == {"jacobian-conditions": ["ada", "bob"]}


def test_a_folder_without_any_assignment_is_refused(folder: Path) -> None:
    (folder / "in" / "notes.ipynb").write_bytes(b'{"cells": []}')
    done = classroom("all", "--submissions", folder / "in", "--course", folder, check=False)
    assert done.returncode != 0 and "nothing was handed in" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", NEW)
def test_a_student_of_this_assignment_reaches_no_formula(name: str) -> None:
    """Neither by import, nor by file, nor through a module that an open room imported for itself."""
    from exercises.grading import notebooks

    source = notebooks.read_source(ROOT / "exercises" / "source" / name / f"{name}.ipynb")
    rooms = ["geometry", "gauge", "norms", "popularity", "jacobians", "encoders", "losses", "in_batch", "checks.real", "proofs"]
    cells = [f"import course_lib.{room}" for room in rooms]
    cells += [f"open({str(path)!r}).read()" for path in (ROOT / "course_lib").glob("[egnp]*.py")]
    cells += [f"open({str(ROOT / 'course_lib' / 'checks' / simulate.module_of(name))!r} + '.py').read()"]
    cells += ["import sys\nassert any(name in key for key in sys.modules for name in ('geometry', 'gauge', 'norms'))"]
    fine = ["from course_lib import checks\nassert checks.gauge_freedom.films(1.0) is None", "from course_lib import datasets, arrays"]
    with Sandbox([*cells, *fine], notebooks.open_rooms(source)) as box:
        errors = [result["error"] for result in box.results]
    assert all(errors[: len(cells)])
    assert errors[len(cells) :] == [None, None]
