"""Judges one submission: `python -m exercises.engine.grading.judge SOURCE SUBMITTED VERDICT`.

A verdict is made in a process of its own, and kept until the submission or the grading changes (`verdict_on`).
The student's cells run in the sandbox, in the notebook's order; each check of the instructor's SOURCE, hidden ones
included, runs here, at its place between them, with the course_lib of this checkout (`replay`). The verdict, a JSON
file, says for every graded cell whether it passed and what its message was, and what a person should look at.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.dependencies import dependencies
from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.replay import checks_name, replay
from course_lib.lessons.shared.grading.sandbox import ROOT, USUAL, Limits, NoWalls

ATTEMPTS = 2
JUDGE_SECONDS = 30
"""So many times the seconds of a submission by the clock, and a judge is ended from outside; its sandbox stops far
earlier, even on a busy machine."""
SETTINGS = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "1"}
REFUSED = "Not graded: "


class NotJudged(RuntimeError):
    """A judge came to no verdict, twice: the machine's fault, or that of an attack. No marks follow from it."""


def verdict_on(path: Path, source: Path, submitted: Path, limits: Limits = USUAL) -> dict[str, Any]:
    """The verdict that lies at `path`, or a new one, which is then stored there."""
    last = ""
    for attempt in range(1 + ATTEMPTS):
        if attempt:
            last = _judged(path, source, submitted, limits)
        if last.startswith(REFUSED):
            raise NoWalls(last.removeprefix(REFUSED))
        found = read_json(path)
        if found.get("fingerprint") == fingerprint(source, submitted):  # whole, and nothing has changed
            return found
    why = last[:300] or "no verdict on these files (did a file of the course change meanwhile?)"
    raise NotJudged(f"could not be judged: {why}; run grade again")


def _judged(path: Path, source: Path, submitted: Path, limits: Limits) -> str:
    """Lets a judge write its verdict to `path`; returns the last line of what it complained about."""
    command = [sys.executable, "-m", __name__, str(source), str(submitted), str(path)]
    command += [f"--step-seconds={limits.step}", f"--submission-seconds={limits.submission}"]
    command += [] if limits.walls else ["--without-walls"]
    most = JUDGE_SECONDS * limits.submission
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **SETTINGS}, capture_output=True, timeout=most, check=False
        )
    except subprocess.TimeoutExpired:  # it is killed, and with it the student's process
        return f"the judge took longer than {most:.0f} seconds"
    return done.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]


def judge(source: Path, submitted: Path, limits: Limits | None = None) -> dict[str, Any]:
    """The verdict on one notebook."""
    cells = notebooks.working_copy(submitted.read_bytes())
    return replay(source.stem, notebooks.read_source(source), cells, limits)


def nothing_handed_in(source: Path, why: str) -> dict[str, Any]:
    """The verdict on what cannot be judged: no points, and the reason."""
    tests = [cell for cell in notebooks.read_source(source).cells if notebooks.is_test(cell)]
    checks = {notebooks.grading(cell)["grade_id"]: {"passed": False, "message": why} for cell in tests}
    return {"checks": checks, "outputs": {}, "walls": [], "student_seconds": 0.0, "seconds": 0.0, "look": why}


def fingerprint(source: Path, submitted: Path) -> str:
    """Changes with the submission, with the assignment and with whatever grades it."""
    return _digest([source, submitted], _digest_of_code(source.stem))


def _digest(paths: Iterable[Path], before: str = "") -> str:
    digest = hashlib.sha256(before.encode())
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{len(content)} ".encode() + content)
    return digest.hexdigest()


@cache
def _digest_of_code(assignment: str) -> str:
    """Read once in a process: a command grades by the code that it began with."""
    return _digest(grading_code(assignment))


def grading_code(assignment: str) -> list[Path]:
    """The files that decide an assignment's marks: the judge and its walls, the checks, and all that these import."""
    exercises = ROOT / "exercises"
    hidden = exercises / assignment.replace("-", "_") / "hidden.py"
    checks = dependencies(checks_name(assignment))
    if hidden.is_file():
        checks |= {hidden, exercises / "engine" / "inputs.py"} | dependencies(hidden.read_text(encoding="utf-8"))
    rules = ROOT / "course_lib" / "lessons" / "shared" / "grading"  # also of modules that only a process imports
    return sorted(checks.union((exercises / "engine" / "grading").glob("*.py"), rules.glob("*.py")))


def read_json(path: Path) -> dict[str, Any]:
    """What a file of JSON holds; nothing where it is not there, or not whole."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def write_whole(path: Path, text: str) -> None:
    """Writes a file that is either not there or whole, also when the power fails in between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8", newline="")
    part.replace(path)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """The options that say what a submission may do."""
    parser.add_argument("--step-seconds", type=float, default=USUAL.step, help="for a cell, or a call (10)")
    parser.add_argument("--submission-seconds", type=float, default=USUAL.submission, help="for all of a kind (40)")
    parser.add_argument(
        "--without-walls", action="store_true", help="grade where there are none, too: for a class that you trust"
    )


def limits_of(given: argparse.Namespace) -> Limits:
    """What was said with these options."""
    return Limits(given.step_seconds, given.submission_seconds, not given.without_walls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("source", "submitted", "verdict"):
        parser.add_argument(name, type=Path)
    add_limits(parser)
    arguments = parser.parse_args()
    try:
        verdict = judge(arguments.source, arguments.submitted, limits_of(arguments))
    except NoWalls as error:
        raise SystemExit(f"{REFUSED}{error}") from None
    except notebooks.Unreadable as error:
        verdict = nothing_handed_in(arguments.source, str(error))
    verdict["fingerprint"] = fingerprint(arguments.source, arguments.submitted)
    write_whole(arguments.verdict, json.dumps(verdict, indent=1))


if __name__ == "__main__":
    main()
