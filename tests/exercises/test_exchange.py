"""JupyterHub's way: nbgrader's exchange hands the assignment out, brings the work in, and the feedback back."""

import getpass
import json
import subprocess
import sys
from pathlib import Path

import pytest
from classroom_helpers import classroom, grade_table

from exercises.engine import simulate

NAME = simulate.FIRST


def nbgrader(step: str, *options: str, exchange: Path, cwd: Path, teacher: bool = False) -> None:
    """An nbgrader command of the instructor (`teacher`) or of a student."""
    options = (*options, f"--Exchange.root={exchange}", *(() if teacher else ("--course", "two-tower-course")))
    command = [sys.executable, "-m", "nbgrader", step, NAME, *options]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_student_gets_the_assignment_and_the_feedback_by_the_exchange(tmp_path: Path) -> None:
    course, exchange, home = (tmp_path / name for name in ("course", "exchange", "home"))
    for folder in (course, exchange, home):
        folder.mkdir()
    exchange.chmod(0o777)
    classroom("release", "--assignment", NAME, "--course", course)
    nbgrader("release_assignment", exchange=exchange, cwd=course, teacher=True)
    nbgrader("fetch_assignment", exchange=exchange, cwd=home)
    (home / NAME / f"{NAME}.ipynb").write_text(json.dumps(simulate.reference()), encoding="utf-8")
    nbgrader("submit", exchange=exchange, cwd=home)
    nbgrader("collect", exchange=exchange, cwd=course, teacher=True)
    classroom("grade", "--course", course)
    classroom("feedback", "--course", course)
    (row,) = grade_table(course).values()
    assert float(row["total"]) == 28 and row["look_at"] == "" and row["student"] == getpass.getuser()
    nbgrader("release_feedback", exchange=exchange, cwd=course, teacher=True)
    nbgrader("fetch_feedback", exchange=exchange, cwd=home)
    (page,) = home.glob(f"{NAME}/feedback/*/{NAME}.html")
    assert "28.0 / 34.0 points" in page.read_text(encoding="utf-8")
