"""Honest solutions of every assignment, written in five ways: each earns every point."""

import json
from pathlib import Path

import pytest
from drafts import one_quickly
from honest_notebooks import STYLES, notebook
from in_process import ASSIGNMENTS, marks

from exercises.engine import chapters
from exercises.engine.grading import judge

pytestmark = pytest.mark.seconds


@pytest.mark.parametrize("style", one_quickly(STYLES))
@pytest.mark.parametrize("assignment", one_quickly(sorted(ASSIGNMENTS, key="ddc".__eq__), most=3))  # its loops: 9 s
def test_an_honest_solution_earns_every_point(assignment: str, style: str) -> None:
    found = marks(notebook(style, assignment), assignment)
    assert {check: message for check, message in found.items() if message} == {}


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_it_earns_them_behind_the_walls(assignment: str, style: str, tmp_path: Path) -> None:
    path = tmp_path / f"{assignment}.ipynb"
    path.write_text(json.dumps(notebook(style, assignment)), encoding="utf-8")
    checks = judge.judge(chapters.hand_over(assignment, tmp_path), path)["checks"]
    assert {name: check["message"] for name, check in checks.items() if not check["passed"]} == {}
