"""The classroom's command answers where teachers have always called it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_classroom_answers_where_teachers_have_always_called_it() -> None:
    command = [sys.executable, "exercises/classroom.py", "--help"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0 and "release" in found.stdout
