"""What the tests of the graded exercises share: the classroom's command, and its table."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from exercises.engine import simulate

ROOT = Path(__file__).resolve().parents[1]
SHORT = ("--step-seconds=2", "--submission-seconds=5")  # the tests' own limits, where no others follow


def needs_nbgrader() -> None:
    """Skips a test, or a whole file, where nbgrader is missing; to import it takes as long as many a test."""
    if find_spec("nbgrader") is None:
        pytest.skip("nbgrader is missing: pip install '.[classroom]'", allow_module_level=True)


def classroom(*arguments: object, check: bool = True, **environment: object) -> subprocess.CompletedProcess[str]:
    """Runs the classroom's command as an instructor would, with SHORT limits where the arguments have none."""
    own = [*map(str, arguments)]
    limits = () if any("-seconds" in one for one in own) else SHORT
    command = [sys.executable, "-m", "exercises.engine.classroom", own[0], *limits, *own[1:]]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        check=False,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@dataclass(frozen=True)
class Graded:
    """A graded classroom: its folder, and the grade table by student."""

    folder: Path
    rows: dict[str, dict[str, str]]

    def of(self, kind: str) -> dict[str, str]:
        (row,) = (row for name, row in self.rows.items() if name.rsplit("-", 1)[0] == kind)
        return row


def grade_table(folder: Path, assignment: str = simulate.FIRST) -> dict[str, dict[str, str]]:
    with (folder / "grades" / f"{assignment}.csv").open(encoding="utf-8") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def hands_out_no_secret(folder: Path, assignment: str) -> None:
    """The release holds no solution, no hidden check and no rubric; a place for each answer, and nothing beside it."""
    released = (folder / "release" / assignment / f"{assignment}.ipynb").read_text(encoding="utf-8")
    for secret in ("BEGIN SOLUTION", "BEGIN HIDDEN", "import hidden", "hidden.", "Rubric", "Does not follow"):
        assert secret not in released, secret
    text = "\n".join("".join(cell["source"]) for cell in json.loads(released)["cells"])
    cells = simulate.source(assignment)["cells"]
    for cell in cells:
        for kept in simulate.SOLUTION.findall("".join(cell["source"]) + "\n"):
            for line in filter(None, map(str.strip, kept.split("\n"))):
                assert len(line) < 16 or line not in text, line
    answers = [cell["cell_type"] == "code" and cell["metadata"]["nbgrader"]["solution"] for cell in cells]
    assert text.count("raise NotImplementedError('Write your answer here.')") == sum(answers)
    assert [path.name for path in (folder / "release" / assignment).iterdir()] == [f"{assignment}.ipynb"]
