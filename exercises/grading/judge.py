"""Judges one submission: `python -m exercises.grading.judge SOURCE SUBMITTED VERDICT`.

The student's cells run in the sandbox; the checks of the instructor's SOURCE, hidden ones included, run here, with the
course_lib of this checkout. A check that calls a student's function asks the sandbox and gets a plain value. The
verdict, a JSON file, says for every graded cell whether it passed and what its message was.
"""

from __future__ import annotations

import argparse
import builtins
import hashlib
import json
import os
import time
from collections.abc import Iterable
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

from course_lib.dependencies import dependencies

from . import notebooks
from .sandbox import ROOT, SUBMISSION_SECONDS, NoWalls, Sandbox, StudentError

JUDGE_SECONDS = 30 * SUBMISSION_SECONDS
"""After this long by the clock a judge is ended from outside; its sandbox stops far earlier, even on a busy machine."""


class Answer:
    """A student's function, seen from here: calling it asks the student's process."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        self._sandbox, self._name = sandbox, name

    def __call__(self, *args: Any) -> Any:
        return self._sandbox.call(self._name, *args)


class Names(dict[str, Any]):
    """The names of a check: what is neither built in nor trusted is the student's."""

    def __init__(self, sandbox: Sandbox, trusted: dict[str, Any]) -> None:
        super().__init__(trusted)
        self._sandbox = sandbox

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return Answer(self._sandbox, name)


def judge(source: Path, submitted: Path) -> dict[str, Any]:
    """The verdict on one notebook."""
    pristine = notebooks.read_source(source)
    cells = notebooks.student_cells(notebooks.rebuilt(pristine, notebooks.working_copy(submitted.read_bytes())))
    pieces = [(cell, piece) for cell in cells for piece in notebooks.parts(cell.source)]
    own = [place for place, (cell, _) in enumerate(pieces) if notebooks.is_own(cell)]
    began = time.monotonic()
    public = import_module(checks_name(source.stem))
    with Sandbox([piece for _, piece in pieces], notebooks.open_rooms(pristine), own=own) as sandbox:
        checks = {
            notebooks.grading(cell)["grade_id"]: run_check(cell.source, sandbox, public)
            for cell in pristine.cells
            if notebooks.is_test(cell)
        }
        outputs: dict[str, dict[str, Any]] = {}
        for (cell, _), result in zip(pieces, sandbox.results, strict=True):
            outputs[cell.id] = _joined(outputs.get(cell.id), result)
        return {
            "checks": checks,
            "outputs": outputs,
            "walls": sandbox.walls,
            "student_seconds": round(sandbox.seconds, 2),
            "seconds": round(time.monotonic() - began, 2),
        }


def _joined(first: dict[str, Any] | None, second: dict[str, Any]) -> dict[str, Any]:
    """What two pieces of one cell printed, and their errors."""
    if first is None:
        return second
    errors = [text for text in (first.get("error"), second.get("error")) if text]
    output = (first.get("output") or "") + (second.get("output") or "")
    return {"error": "\n".join(errors) or None, "output": output}


def checks_name(assignment: str) -> str:
    """The module of an assignment's public checks: in-batch-bias -> course_lib.lessons.in_batch_bias.checks."""
    return f"course_lib.lessons.{assignment.replace('-', '_')}.checks"


def run_check(source: str, sandbox: Sandbox, checks: ModuleType) -> dict[str, Any]:
    """Runs one graded cell: passed only when it came to its end."""
    names = Names(sandbox, {"checks": checks})
    try:
        with redirect_stdout(StringIO()):
            exec(compile(source, "<check>", "exec"), {"__builtins__": builtins}, names)
    except (AssertionError, StudentError) as error:
        return {"passed": False, "message": str(error)[:2000] or "the check failed"}
    except (NoWalls, MemoryError):
        raise
    except Exception as error:  # a check that did not foresee this answer: no points, and a person should look
        return {
            "passed": False,
            "message": f"the check could not read the answer ({type(error).__name__})",
            "look": True,
        }
    return {"passed": True, "message": "passed"}


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
    hidden = ROOT / "exercises" / "hidden" / f"{assignment.replace('-', '_')}.py"
    checks = dependencies(checks_name(assignment))
    if hidden.is_file():
        checks |= {hidden, hidden.with_name("__init__.py")} | dependencies(hidden.read_text(encoding="utf-8"))
    return sorted(checks.union((ROOT / "exercises" / "grading").glob("*.py")))


def write_whole(path: Path, text: str) -> None:
    """Writes a file that is either not there or whole, also when the power fails in between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("source", "submitted", "verdict"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    try:
        verdict = judge(arguments.source, arguments.submitted)
    except NoWalls as error:
        raise SystemExit(f"Not graded: {error}") from None
    except notebooks.Unreadable as error:
        verdict = nothing_handed_in(arguments.source, str(error))
    verdict["fingerprint"] = fingerprint(arguments.source, arguments.submitted)
    write_whole(arguments.verdict, json.dumps(verdict, indent=1))


if __name__ == "__main__":
    main()
