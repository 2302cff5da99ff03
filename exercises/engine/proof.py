"""Proves a variant by solving it: its own solution earns everything, and copied answers lose what varies.

Notebooks are marked in this process, without walls: their code is trusted.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any

from course_lib.lessons.shared import forms
from exercises.engine import simulate
from exercises.engine.simulate import Notebook
from exercises.engine.variants import Variant, build, changes

ATTEMPTS = 5
ASKED = re.compile(r"^checks\.\w+\((\w+)", re.MULTILINE)


class Inconsistent(RuntimeError):
    """A variant whose own solution fails, or which the public answers solve."""


def proved(assignment: str, seed: str) -> Variant:
    """The first variant of a seed that stands the proof. Random inputs can be degenerate: then the next is drawn."""
    found: dict[str, str] = {}
    for attempt in range(ATTEMPTS):
        variant = build(assignment, seed, attempt)
        found = faults(variant)
        if not found:
            return variant
    raise Inconsistent(f"{assignment} with this seed, {ATTEMPTS} times: {found}")


def faults(variant: Variant) -> dict[str, str]:
    """What is wrong with a variant: graded check -> the message that its solution gets, or that a copy passes."""
    own = marks(simulate.solved(variant.source), variant.source, simulate.public_checks(variant.assignment))
    found = {check: message for check, message in own.items() if message}
    copied = copied_marks(variant, simulate.reference(variant.assignment), must_vary(variant.assignment))
    return found | {check: "the public answer passes" for check, message in copied.items() if not message}


def must_vary(assignment: str) -> set[str]:
    """The graded checks that a public answer has to fail."""
    module = changes(assignment)
    return set(module.CHECKS) - set(module.FOLLOWS)


def copied_marks(variant: Variant, other: Notebook, checks: set[str]) -> dict[str, str]:
    """The marks of these checks when the answer to each, and to nothing else, is copied from a solved notebook."""
    theirs = {cell["metadata"]["nbgrader"]["grade_id"]: cell["source"] for cell in other["cells"]}
    asked: dict[str, set[str]] = defaultdict(set)
    for name, code in graded_code(simulate.solved(variant.source)):
        if name in checks:
            call = ASKED.search(code)
            if call is None:
                raise Inconsistent(f"no function is asked in {code!r}")
            asked[call[1]].add(name)
    found: dict[str, str] = {}
    for function, names in asked.items():
        copy = simulate.solved(variant.source)
        for cell in copy["cells"]:
            if cell["metadata"]["nbgrader"]["grade_id"] == function:
                cell["source"] = theirs[function]
        module = simulate.public_checks(variant.assignment)
        found |= marks(copy, variant.source, module, only=names)
    return found


# ---- marks without walls ----


def functions(notebook: Notebook) -> dict[str, Any]:
    """The names that a notebook's setup and answer cells define."""
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and not cell["metadata"]["nbgrader"]["grade"]:
            exec("\n".join(line for line in cell["source"].split("\n") if "%pip" not in line), names)
    return names


def graded_code(source: Notebook) -> Iterator[tuple[str, str]]:
    """(grade_id, code) of the cells of a source that are graded by machine."""
    for cell in source["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["grade"] and not about["solution"]:
            yield about["grade_id"], "".join(cell["source"])


def marks(
    notebook: Notebook, source: Notebook, checks: ModuleType, *, only: set[str] | None = None, public: bool = False
) -> dict[str, str]:
    """grade_id -> "" where the check of the source passes, or its message; `public` leaves the hidden checks out."""
    answers = {name: forms.plainly(thing) for name, thing in functions(notebook).items() if callable(thing)}
    found = {}
    for name, code in graded_code(source):
        if only is not None and name not in only:
            continue
        try:
            with redirect_stdout(io.StringIO()):
                exec(simulate.HIDDEN.sub("", code + "\n") if public else code, {**answers, "checks": checks})
            found[name] = ""
        except (AssertionError, NotImplementedError) as error:
            found[name] = str(error) or type(error).__name__
    return found
