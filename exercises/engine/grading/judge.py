"""Judges one submission: `python -m exercises.engine.grading.judge SOURCE SUBMITTED VERDICT LIMITS`.

A verdict is made in a process of its own, and kept until the submission or the grading changes (`verdict_on`).
The student's cells run in the sandbox, in the notebook's order; each check of the instructor's SOURCE, hidden ones
included, runs here, at its place between them, with the course_lib of this checkout (`replay`). The verdict, a JSON
file, says for every graded cell whether it passed and what its message was, and what a person should look at.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course_lib.dependencies import dependencies
from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.reading import defined
from course_lib.lessons.shared.grading.replay import checks_name, replay
from course_lib.lessons.shared.grading.sandbox import ROOT, USUAL, Limits, NoWalls

ATTEMPTS = 2
# So many times the seconds of a submission by the clock, and a judge is ended from outside; its sandbox stops sooner.
JUDGE_SECONDS = 30
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
    command = [sys.executable, "-m", __name__, *map(str, (source, submitted, path)), json.dumps(vars(limits))]
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
    cells, pristine = notebooks.working_copy(submitted.read_bytes()), notebooks.read_source(source)
    verdict = replay(source.stem, pristine, cells, limits, notebooks.saved_order(read_json(submitted)))
    verdict["look_at"] += _other_versions(notebooks.rebuilt(pristine, cells), verdict["checks"])
    return verdict


def _other_versions(notebook: NotebookNode, checks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A line for each answer whose check failed and may have met another version than the one that was meant.

    The student's kernel had whichever ran last: what was handed out may stand below the answer and not have run.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    tests = [cell for cell in code if notebooks.is_test(cell)]
    failed = "\n".join(cell.source for cell in tests if not checks[notebooks.grading(cell)["grade_id"]]["passed"])
    titles = notebooks.titles(notebook)
    for cell in filter(notebooks.is_answer, code):
        name = notebooks.grading(cell)["grade_id"]
        where = f"{titles[name].lower()}, {name}"
        gives = re.compile(rf"\b(def|import|as)\b.*\b{name}\b|\b{name}\b[^(\n]*=")
        if not re.search(rf"\b{name}\b", failed):
            continue
        if notebooks.is_stub(cell.source):
            if any(gives.search(other.source) for other in code if other is not cell and other not in tests):
                yield f"{where}: it was left as it was handed out, and another cell gives it; that one did not count"
        elif sum(name in defined(part) for part in cell.source.split(notebooks.NEXT_PART)) > 1:
            yield f"{where}: several cells define it; the last of them counted"


def fingerprint(source: Path, submitted: Path) -> str:
    """Changes with the submission, with the assignment and with whatever grades it."""
    return _digest([source, submitted]) + _digest_of_code(source.stem)


@cache
def _digest_of_code(assignment: str) -> str:
    """Read once in a process: a command grades by the code that it began with."""
    return _digest(grading_code(assignment))


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{len(content)} ".encode() + content)
    return digest.hexdigest()


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
    part.write_text(text, encoding="utf-8", errors="replace", newline="")  # half a character has no bytes
    part.replace(path)


def main() -> None:
    source, submitted, path = map(Path, sys.argv[1:4])
    try:
        verdict = judge(source, submitted, Limits(**json.loads(sys.argv[4])))
    except NoWalls as error:
        raise SystemExit(f"{REFUSED}{error}") from None
    verdict["fingerprint"] = fingerprint(source, submitted)
    write_whole(path, json.dumps(verdict, indent=1))


if __name__ == "__main__":
    main()
