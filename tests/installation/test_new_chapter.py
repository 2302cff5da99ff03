"""`make chapter` in a copy of the repository: what it writes passes at once what the tests ask of every chapter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASKED_OF_EVERY_CHAPTER = (
    "tests/lessons/my_topic",
    "tests/lessons/test_every_assignment.py",
    "tests/lessons/test_every_deck.py",
    "tests/lessons/test_every_interactive.py",
    "tests/lessons/test_every_proof.py",
    "tests/lessons/test_every_quiz.py",
    "tests/exercises/test_assignments.py::test_a_student_of_this_assignment_reaches_no_formula",
    "tests/tools/test_claims.py::test_every_rule_holds_for_the_course",
    "tests/tools/test_claims.py::test_a_row_says_what_of_its_proof_the_machine_checked",
)
OF_ALL_TOGETHER = (
    "tests/lessons/test_every_assignment.py::test_the_readme_lists_every_assignment",
    "tests/lessons/test_every_interactive.py::test_every_interactive_lies_in_a_lesson",
    *("tests/test_house.py", "-k", "not named_is_there"),  # that one asks git, which has no file of the copy
    "tests/tools/test_claims.py::test_every_file_of_rows_has_a_page_and_the_index_and_the_errata_hold_all",
    "tests/tools/test_study_time.py",
)

pytestmark = pytest.mark.pipeline


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git knows of this tree, with a new chapter."""
    there = tmp_path_factory.mktemp("course")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().splitlines():
        if (ROOT / name).is_file():
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, there / name)
    subprocess.run(["git", "init", "--quiet", str(there)], check=True)
    done = run(there, "-m", "tools.new_chapter", "my-topic", "--part", "sampling")
    assert done.returncode == 0, done.stderr
    return there


def run(there: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the copy, with its own modules; no site is built there, and what needs one is skipped."""
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=there,
        env={**os.environ, "PYTHONPATH": str(there), "CI": ""},
        capture_output=True,
        text=True,
        timeout=1200,
    )


@pytest.mark.parametrize(
    "asked", [(*ASKED_OF_EVERY_CHAPTER, "-k", "my_topic or my-topic or course"), OF_ALL_TOGETHER], ids=["one", "all"]
)
def test_the_tests_of_every_chapter_pass_at_once(copy: Path, asked: tuple[str, ...]) -> None:
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *asked)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


def test_its_code_is_formatted_linted_and_typed(copy: Path) -> None:
    mine = ["course_lib/lessons/my_topic", "tests/lessons/my_topic", "exercises/my_topic"]
    for command in (["ruff", "format", "--check"], ["ruff", "check"], ["mypy"]):
        done = run(copy, "-m", *command, *(mine[:1] if command == ["mypy"] else mine))
        assert done.returncode == 0, (command, done.stdout[-2000:])
