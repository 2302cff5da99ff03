"""Private variants of the assignments: the same tasks with numbers and questions that a seed draws.

variant.md of a chapter holds each cell that a seed changes, whole, with «name» for a number. variant.py says what
is drawn:

    numbers(rng)   the numbers of one variant, by name
    CHECKS         for each graded check, the numbers that its public and its hidden part are given
    FOLLOWS        of these checks, those whose task changes with another one only: the public answer may pass them
    DECIDE         for a check, where not all of its numbers change the answer: those that do, for the tests

Expected answers are never written down: the checks compute them with course_lib from the numbers. The random inputs of
all hidden checks change with the seed as well.

A variant is proved by solving it: its own solution earns everything, and copied answers lose what varies. For that
notebooks are marked in this process, without walls: their code is trusted.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from course_lib.lessons.shared import forms
from exercises.engine import chapters, inputs, simulate
from exercises.engine.simulate import Notebook

T = TypeVar("T")
CALL = re.compile(r"^(checks|hidden)\.(\w+)\((\w+)\)$", re.MULTILINE)
NUMBER = re.compile(r"«(\w+)»")
ASKED = re.compile(r"^checks\.\w+\((\w+)", re.MULTILINE)
ATTEMPTS = 5
OWN = """

*This version of the assignment is your course's own: its numbers and questions are not those of the public one.*"""


class Misfit(ValueError):
    """A description of a variant that does not fit its assignment."""


class Inconsistent(RuntimeError):
    """A variant whose own solution fails, or which the public answers solve."""


@dataclass(frozen=True)
class Variant:
    """One assignment as one seed makes it; `source` is its notebook with solutions and hidden checks."""

    assignment: str
    numbers: dict[str, Any]
    source: Notebook


def changes(assignment: str) -> ModuleType:
    """The module that says what a seed changes in an assignment."""
    return chapters.module(assignment, "variant")


def cells(assignment: str) -> dict[str, str]:
    """The cells that a seed changes, by grade_id, each whole, with «name» where a number will stand."""
    text = chapters.file(assignment, "variant.md").read_text(encoding="utf-8")
    parts = re.split(r"^<!-- (\w+) -->\n", text, flags=re.MULTILINE)[1:]
    found = {name: part.strip("\n") for name, part in zip(parts[::2], parts[1::2], strict=True)}
    return {name: part.removeprefix("```python\n").removesuffix("\n```") for name, part in found.items()}


def build(assignment: str, seed: str, attempt: int = 0) -> Variant:
    """The variant of an assignment that a seed draws. Misfit where variant.md does not fit the assignment."""
    rng = inputs.of_words(json.dumps([seed, assignment, attempt]))
    module, changed = changes(assignment), cells(assignment)
    numbers = module.numbers(rng)
    notebook, hidden_seed = simulate.source(assignment), int(rng.integers(2**31, 2**62))
    for cell in notebook["cells"]:
        about, code = simulate.about(cell), cell["cell_type"] == "code"
        name, text = about["grade_id"], "".join(cell["source"])
        if name in changed:
            text = _filled(changed[name], numbers, code=code)
        if about["grade"] and code:
            text = _called(text, {key: numbers[key] for key in module.CHECKS.get(name, ())}, hidden_seed)
        cell["source"] = text + (OWN if name == "intro" else "")
    there = {simulate.about(cell)["grade_id"] for cell in notebook["cells"]}
    if unknown := (set(changed) | set(module.CHECKS)) - there:
        raise Misfit(f"{assignment} has no cells {sorted(unknown)}")
    return Variant(assignment, numbers, notebook)


def _filled(text: str, numbers: dict[str, Any], *, code: bool) -> str:
    """A cell with its numbers. Misfit where it names one that is not drawn."""
    if unknown := set(NUMBER.findall(text)) - set(numbers):
        raise Misfit(f"variant.md names {sorted(unknown)}, but variant.py draws {sorted(numbers)}")
    return NUMBER.sub(lambda match: _written(numbers[match[1]], code=code), text)


def _called(text: str, numbers: dict[str, Any], hidden_seed: int) -> str:
    """A graded cell whose checks get the numbers, and whose hidden check draws its inputs from a seed of its own."""
    # locked cells know no Fraction of their own
    plain = {name: str(value) if isinstance(value, Fraction) else value for name, value in numbers.items()}
    given = "".join(f", {name}={value!r}" for name, value in plain.items())
    text = CALL.sub(rf"\1.\2(\3{given})", text)
    text = text.replace(" import hidden\n", " import hidden\nfrom exercises.engine.inputs import seeded\n")
    return re.sub(r"^hidden\.", f"with seeded({hidden_seed}):\n    hidden.", text, flags=re.MULTILINE)


def _written(value: Any, *, code: bool) -> str:
    """A number in a solution, or in the text of a task, where it stands between dollar signs or alone."""
    if isinstance(value, str):
        return value
    if code:
        return f"Fraction({value.numerator}, {value.denominator})" if isinstance(value, Fraction) else repr(value)
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{'-' if value < 0 else ''}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    return f"({', '.join(map(str, value))})" if isinstance(value, (list, tuple)) else str(value)


# ---- the proof ----


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
    theirs = {simulate.about(cell)["grade_id"]: cell["source"] for cell in other["cells"]}
    asked: dict[str, set[str]] = {}
    for name, code in graded_code(variant.source):
        if name in checks:
            call = ASKED.search(code)
            if call is None:
                raise Inconsistent(f"no function is asked in {code!r}")
            asked.setdefault(call[1], set()).add(name)
    found: dict[str, str] = {}
    for function, names in asked.items():
        copy = simulate.with_answers(simulate.solved(variant.source), {function: theirs[function]})
        found |= marks(copy, variant.source, simulate.public_checks(variant.assignment), only=names)
    return found


def functions(notebook: Notebook) -> dict[str, Any]:
    """The names that a notebook's setup and answer cells define."""
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and not simulate.about(cell)["grade"]:
            exec("\n".join(line for line in cell["source"].split("\n") if "%pip" not in line), names)
    return names


def graded_code(source: Notebook) -> Iterator[tuple[str, str]]:
    """(grade_id, code) of the cells of a source that are graded by machine."""
    for cell in source["cells"]:
        about = simulate.about(cell)
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


# ---- what the modules draw with ----


def pick(rng: np.random.Generator, *choices: T) -> T:
    """One of the choices."""
    return choices[int(rng.integers(len(choices)))]


def whole(rng: np.random.Generator, least: int, most: int, *, but: Sequence[int] = ()) -> int:
    """A whole number from least to most, none of `but`."""
    return pick(rng, *(number for number in range(least, most + 1) if number not in but))


def fraction(rng: np.random.Generator, *choices: str) -> Fraction:
    """One of the fractions."""
    return Fraction(pick(rng, *choices))
