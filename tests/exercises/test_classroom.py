"""The graded exercises, with the real nbgrader:
right, wrong, empty and hostile submissions, and the classroom's commands.
"""

import contextlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from classroom_helpers import Graded, hands_out_no_secret

from course_lib.lessons.shared.grading.sandbox import ALL_WALLS
from exercises.engine import simulate

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = simulate.expected()
HOSTILE = [kind for kind in EXPECTED if kind.startswith("hostile-")]
PARTIAL = simulate.wrong_answers()


def points(row: dict[str, str]) -> dict[str, float]:
    return {name: float(value) for name, value in row.items() if name.startswith("test_")}


def page(graded: Graded, kind: str) -> str:
    (path,) = graded.folder.glob(f"feedback/{kind}-[0-9][0-9]/in-batch-bias/in-batch-bias.html")
    return path.read_text(encoding="utf-8")


def test_the_reference_gets_full_marks(graded: Graded) -> None:
    row = graded.of("reference")
    assert sum(points(row).values()) == float(row["total"]) == 28
    assert row["out_of"] == "34.0"
    assert row["to_grade_by_hand"] == "1"  # its task 6 waits for a person
    assert not row["look_at"]


def test_an_empty_submission_gets_nothing(graded: Graded) -> None:
    row = graded.of("empty")
    assert float(row["total"]) == 0
    assert row["to_grade_by_hand"] == "0"
    assert "No answer was found" in page(graded, "empty") and "No answer was found" not in page(graded, "reference")


@pytest.mark.parametrize("kind", PARTIAL)
def test_a_wrong_answer_gets_its_part(graded: Graded, kind: str) -> None:
    expected = points(graded.of("reference")) | dict.fromkeys(PARTIAL[kind].lost, 0)
    assert points(graded.of(kind)) == expected
    assert sum(expected.values()) == EXPECTED[kind]


@pytest.mark.parametrize("kind", PARTIAL)
def test_feedback_names_the_misconception(graded: Graded, kind: str) -> None:
    assert PARTIAL[kind].message in page(graded, kind) and "BEGIN HIDDEN" not in page(graded, kind)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_submission_gains_nothing_and_costs_its_own_time_only(graded: Graded, kind: str) -> None:
    row = graded.of(kind)
    assert sum(points(row).values()) == 0
    assert float(row["total"]) == 0
    assert page(graded, kind)
    assert float(row["seconds"]) <= 5.5


def test_the_checks_foresaw_every_answer(graded: Graded) -> None:
    """No check failed for want of reading an answer: that would hide a wrong zero."""
    unforeseen = {name: row["look_at"] for name, row in graded.rows.items() if "could not read" in row["look_at"]}
    assert not unforeseen


def test_the_walls_stood(graded: Graded) -> None:
    verdicts = [json.loads(path.read_text()) for path in graded.folder.glob("verdicts/in-batch-bias/*--*.json")]
    assert len(verdicts) == len(EXPECTED)
    assert all(verdict["walls"] == list(ALL_WALLS) for verdict in verdicts)


def test_no_hidden_check_and_no_file_was_read(graded: Graded) -> None:
    (path,) = graded.folder.glob("verdicts/in-batch-bias/hostile-hidden-tests-*--in-batch-bias.json")
    assert "[]" in path.read_text()  # what the look for the hidden checks found, as it printed it
    for file in ("assignment.ipynb", "hidden.py"):
        assert "spoilt" not in (ROOT / "exercises" / "in_batch_bias" / file).read_text(encoding="utf-8")


def test_nothing_is_left_of_any_submission(graded: Graded) -> None:
    """No process: each has its folder in its command line. And no file."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            commands.append(path.read_bytes())
    assert len(commands) > 1 and not any(str(graded.folder / "tmp").encode() in command for command in commands)
    assert list((graded.folder / "tmp").iterdir()) == []


def test_the_gradebook_is_nbgraders(graded: Graded) -> None:
    with sqlite3.connect(graded.folder / "gradebook.db") as database:
        (students,) = database.execute("select count(*) from student").fetchone()
        (checks,) = database.execute("select count(*) from grade where auto_score = 0 or auto_score > 0").fetchone()
    assert students == len(EXPECTED)
    assert checks >= 9 * students
    assert len(list(graded.folder.glob("autograded/*/in-batch-bias/in-batch-bias.ipynb"))) == students


def test_the_feedback_runs_no_script_of_a_student(graded: Graded) -> None:
    html = page(graded, "hostile-endless-loop")
    assert "stolen()" in html  # shown as text
    for harm in ("<script>stolen", "<img src", '<img alt="No', 'href="javascript', "<iframe"):
        assert harm not in html, harm


def test_the_release_holds_no_solution_and_no_hidden_check(graded: Graded) -> None:
    hands_out_no_secret(graded.folder, simulate.FIRST)


def test_plain_nbgrader_commands_work_behind_the_same_walls(graded: Graded) -> None:
    """`nbgrader autograde` by itself: the same points, for an honest and for a hostile student."""
    for kind, total in (("wrong-diagonal", 19), ("hostile-os-exit", 0)):
        student = next(name for name in graded.rows if name.startswith(kind))
        for verdict in graded.folder.glob(f"verdicts/in-batch-bias/{student}--*.json"):
            verdict.unlink()
        command = [sys.executable, "-m", "nbgrader", "autograde", "in-batch-bias", "--force", f"--student={student}"]
        done = subprocess.run(command, cwd=graded.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with sqlite3.connect(graded.folder / "gradebook.db") as database:
            query = """select sum(auto_score) from grade
                join submitted_notebook on grade.notebook_id = submitted_notebook.id
                join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
                where student_id = ?"""
            assert database.execute(query, (student,)).fetchone()[0] == total


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["collect"], "--submissions"),
        (["collect", "--submissions", "/nowhere"], "no such folder"),
        (["release", "--assignment", "nothing"], "no assignment 'nothing'"),
        (["grade", "--workers", "0"], "at least 1"),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process; test_assignments.py looks at a process that ends so."""
    from exercises.engine import classroom as command

    with pytest.raises(SystemExit) as ended:
        command.main([*arguments, "--course", str(tmp_path)])
    assert ended.value.code not in {None, 0}
    assert message in f"{ended.value.code}\n{capsys.readouterr().err}"
