"""Judges one submission: `python -m exercises.engine.grading.judge SOURCE SUBMITTED VERDICT`.

The student's cells run in the sandbox, in the notebook's order; each check of the instructor's SOURCE, hidden ones
included, runs here, at its place between them, with the course_lib of this checkout. A check that calls a student's
function asks the sandbox and gets a plain value. The verdict, a JSON file, says for every graded cell whether it passed
and what its message was, and what a person should look at.
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

from nbformat import NotebookNode

from course_lib.dependencies import dependencies

from . import notebooks
from .looking import WHY_MISSING, graded_with, look_at
from .reading import defined
from .sandbox import ROOT, USUAL, Limits, NotStarted, NoWalls, Sandbox, StudentError


class Answer:
    """A student's function, seen from here: calling it asks the student's process."""

    def __init__(self, notebook: Notebook, name: str) -> None:
        self._notebook, self._name = notebook, name

    def __call__(self, *args: Any) -> Any:
        try:
            return self._notebook.sandbox.call(self._name, *args)
        except StudentError as error:
            raise StudentError(f"{error}{self._notebook.why_missing(self._name)}") from None


class Names(dict[str, Any]):
    """The names of a check: what is neither built in nor trusted is the student's."""

    def __init__(self, notebook: Notebook, trusted: dict[str, Any]) -> None:
        super().__init__(trusted)
        self._notebook = notebook

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return Answer(self._notebook, name)


class Notebook:
    """A student's notebook at work: cell after cell in the sandbox, each check at its place."""

    def __init__(self, notebook: NotebookNode, sandbox: Sandbox, checks: ModuleType) -> None:
        self.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.sandbox, self.checks = sandbox, checks
        self.outputs: dict[str, dict[str, Any]] = {}
        self.verdicts: dict[str, dict[str, Any]] = {}

    def run(self) -> None:
        """Runs everything, and tries the checks that failed once more with the names as they are at the end.

        In a kernel a cell may have been run after one that stands below it.
        """
        for cell in self.cells:
            if notebooks.is_test(cell):
                self.verdicts[notebooks.grading(cell)["grade_id"]] = self._checked(cell)
            elif not self._is_answered_elsewhere(cell):
                for piece in notebooks.parts(cell.source):
                    result = self.sandbox.run(piece, own=notebooks.is_own(cell))
                    self.outputs[cell.id] = _joined(self.outputs.get(cell.id), result)
        for cell in self.cells:
            name = notebooks.grading(cell).get("grade_id")
            if name in self.verdicts and not self.verdicts[name]["passed"] and self._checked(cell)["passed"]:
                message = "passed with the names as they are at the end of the notebook, not at its place"
                self.verdicts[name] = {"passed": True, "message": message, "at_the_end": True}

    def _checked(self, cell: NotebookNode) -> dict[str, Any]:
        return run_check(cell.source, Names(self, {"checks": self.checks}))

    def _is_answered_elsewhere(self, cell: NotebookNode) -> bool:
        """Whether an answer was left as it was handed out and another cell holds it: the stub would replace it."""
        if not notebooks.is_answer(cell) or not notebooks.is_stub(cell.source):
            return False
        name = notebooks.grading(cell)["grade_id"]
        return any(name in defined(one.source) for one in self.cells if one is not cell and not notebooks.is_test(one))

    def why_missing(self, name: str) -> str:
        """What to add where a function is called whose cell ended with an error before it defined the function."""
        for cell in self.cells:
            error = str(self.outputs.get(cell.id, {}).get("error") or "")
            if error and name in (notebooks.grading(cell).get("grade_id"), *defined(cell.source)):
                return WHY_MISSING + error
        return ""


def judge(source: Path, submitted: Path, limits: Limits | None = None) -> dict[str, Any]:
    """The verdict on one notebook."""
    pristine = notebooks.read_source(source)
    rebuilt = notebooks.rebuilt(pristine, notebooks.working_copy(submitted.read_bytes()))
    began = time.monotonic()
    public = import_module(checks_name(source.stem))
    with Sandbox(open_rooms=notebooks.open_rooms(pristine), limits=limits) as sandbox:
        notebook = Notebook(rebuilt, sandbox, public)
        notebook.run()
        return {
            "checks": notebook.verdicts,
            "outputs": notebook.outputs,
            "look_at": list(look_at(rebuilt, notebook.outputs, notebook.verdicts)),
            "graded_with": graded_with(),
            "walls": sandbox.walls,
            "student_seconds": round(sandbox.seconds, 2),
            "seconds": round(time.monotonic() - began, 2),
        }


def _joined(first: dict[str, Any] | None, second: dict[str, Any]) -> dict[str, Any]:
    """What two pieces of one cell printed, their errors, and what was left out of them."""
    if first is None:
        return second
    errors = [text for text in (first.get("error"), second.get("error")) if text]
    output = (first.get("output") or "") + (second.get("output") or "")
    return {
        "error": "\n".join(errors) or None,
        "output": output,
        "skipped": [*first.get("skipped", []), *second.get("skipped", [])],
    }


def checks_name(assignment: str) -> str:
    """The module of an assignment's public checks: in-batch-bias -> course_lib.lessons.in_batch_bias.checks."""
    return f"course_lib.lessons.{assignment.replace('-', '_')}.checks"


def run_check(source: str, names: dict[str, Any]) -> dict[str, Any]:
    """Runs one graded cell, its public part first: passed only when it came to its end.

    `stage` says where it stopped, and `ran` whether the student's code gave an answer there, though a wrong one.
    """
    for stage, code in zip(("public", "hidden"), notebooks.parts_of_check(source), strict=True):
        told = {"passed": False, "stage": stage}
        try:
            with redirect_stdout(StringIO()):
                exec(compile(code, "<check>", "exec"), {"__builtins__": builtins}, names)
        except AssertionError as error:
            return {**told, "message": str(error)[:2000] or "the check failed", "ran": True}
        except StudentError as error:
            return {**told, "message": str(error)[:2000], "ran": False}
        except (NoWalls, NotStarted, MemoryError, ImportError):  # of the course, no fault of the answer
            raise
        except Exception as error:  # a check that did not foresee this answer: no points, and a person should look
            message = f"the check could not read the answer ({type(error).__name__})"
            return {**told, "message": message, "ran": True, "look": True}
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
    exercises = ROOT / "exercises"
    hidden = exercises / assignment.replace("-", "_") / "hidden.py"
    checks = dependencies(checks_name(assignment))
    if hidden.is_file():
        checks |= {hidden, exercises / "engine" / "inputs.py"} | dependencies(hidden.read_text(encoding="utf-8"))
    return sorted(checks.union((exercises / "engine" / "grading").glob("*.py")))


def write_whole(path: Path, text: str) -> None:
    """Writes a file that is either not there or whole, also when the power fails in between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
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
        raise SystemExit(f"Not graded: {error}") from None
    except notebooks.Unreadable as error:
        verdict = nothing_handed_in(arguments.source, str(error))
    verdict["fingerprint"] = fingerprint(arguments.source, arguments.submitted)
    write_whole(arguments.verdict, json.dumps(verdict, indent=1))


if __name__ == "__main__":
    main()
