"""Replays one notebook by the grader's rules: its cells in the sandbox, each check here, at its place between them.

The public checks are this installation's; the hidden ones stand in an instructor's notebook alone. A check that calls a
student's function asks the sandbox and gets a plain value.
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterable
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from types import ModuleType
from typing import Any

from nbformat import NotebookNode

from . import notebooks
from .looking import WHY_MISSING, graded_with, look_at
from .reading import defined
from .sandbox import Limits, NotStarted, NoWalls, Sandbox, StudentError

WARM_UP, EXPERIMENT = "-warm-up", "-experiment"
"""The ends of the names of a chapter's smaller notebooks: my-topic-warm-up."""


def replay(
    assignment: str,
    pristine: NotebookNode,
    submitted: Iterable[notebooks.Cell],
    limits: Limits | None = None,
    order: list[notebooks.Saved] | None = None,
) -> dict[str, Any]:
    """The verdict on the cells that were handed in: of each check, each cell, and what a person should look at.

    `pristine` is the assignment as its instructor has it, with hidden checks, or as students have it. Where checks
    fail, all is run once more in the `order` in which it was saved, by default that of `submitted`, if it is another
    one: a check that passes in one of both has passed.
    """
    rebuilt = notebooks.rebuilt(pristine, submitted)
    began = time.monotonic()
    public = import_module(checks_name(assignment))
    with Sandbox(open_rooms=notebooks.open_rooms(pristine), limits=limits) as sandbox:
        notebook = Notebook(rebuilt, sandbox, public)
        notebook.run()
        seconds = sandbox.seconds
    order = order or notebooks.saved_order(rebuilt)
    if order and not all(one["passed"] for one in notebook.verdicts.values()):
        with Sandbox(open_rooms=notebooks.open_rooms(pristine), limits=limits) as sandbox:
            again = Notebook(notebooks.in_saved_order(pristine, order), sandbox, public)
            again.run()
            seconds += sandbox.seconds
        for name, one in again.verdicts.items():
            if one["passed"] and not notebook.verdicts[name]["passed"]:
                message = "passed with the cells in the order in which they were saved, not in that of the assignment"
                notebook.verdicts[name] = {"passed": True, "message": message, "at_the_end": True}
    return {
        "checks": notebook.verdicts,
        "outputs": notebook.outputs,
        "look_at": list(look_at(rebuilt, notebook.outputs, notebook.verdicts)),
        "graded_with": graded_with(),
        "walls": sandbox.walls,
        "student_seconds": round(seconds, 2),
        "seconds": round(time.monotonic() - began, 2),
    }


def checks_name(assignment: str) -> str:
    """The module of an assignment's public checks: my-topic -> course_lib.lessons.my_topic.checks.

    That of a warm-up is `warm_up`, beside it; an experiment has the chapter's, for `hand_in` alone.
    """
    module = "warm_up" if assignment.endswith(WARM_UP) else "checks"
    return f"course_lib.lessons.{chapter_of(assignment).replace('-', '_')}.{module}"


def chapter_of(assignment: str) -> str:
    """my-topic-warm-up -> my-topic."""
    return assignment.removesuffix(WARM_UP).removesuffix(EXPERIMENT)


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
            if name not in self.verdicts or self.verdicts[name]["passed"]:
                continue
            again = self._checked(cell)
            if again["passed"]:
                message = "passed with the names as they are at the end of the notebook, not at its place"
                self.verdicts[name] = {"passed": True, "message": message, "at_the_end": True}
            elif again["stage"] == "hidden":  # the public part passes now
                self.verdicts[name] = again

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
