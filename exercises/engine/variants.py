"""Private variants of the assignments: the same tasks with numbers and questions that a seed draws.

variant.md of a chapter holds each cell that a seed changes, whole, with «name» for a number. variant.py says what
is drawn:

    numbers(rng)   the numbers of one variant, by name
    CHECKS         for each graded check, the numbers that its public and its hidden part are given
    FOLLOWS        of these checks, those whose task changes with another one only: the public answer may pass them
    DECIDE         for a check, where not all of its numbers change the answer: those that do, for the tests

Expected answers are never written down: the checks compute them with course_lib from the numbers. The random inputs of
all hidden checks change with the seed as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from exercises.engine import chapters, inputs, simulate
from exercises.engine.simulate import Notebook

T = TypeVar("T")
CALL = re.compile(r"^(checks|hidden)\.(\w+)\((\w+)\)$", re.MULTILINE)
NUMBER = re.compile(r"«(\w+)»")
OWN = """

*This version of the assignment is your course's own: its numbers and questions are not those of the public one.*"""


class Misfit(ValueError):
    """A description of a variant that does not fit its assignment."""


@dataclass(frozen=True)
class Variant:
    """One assignment as one seed makes it; `source` is its notebook with solutions and hidden checks."""

    assignment: str
    numbers: dict[str, Any]
    source: Notebook

    def check_numbers(self, check: str) -> dict[str, Any]:
        """What a graded check is given; nothing where the seed leaves it alone."""
        return {name: self.numbers[name] for name in changes(self.assignment).CHECKS.get(check, ())}


def with_variants() -> list[str]:
    """The assignments that have such a module: all but drafts."""
    return chapters.with_file("variant.py")


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
        about, code = cell["metadata"]["nbgrader"], cell["cell_type"] == "code"
        name, text = about["grade_id"], "".join(cell["source"])
        if name in changed:
            text = _filled(changed[name], numbers, code=code)
        if about["grade"] and code:
            text = _called(text, {key: numbers[key] for key in module.CHECKS.get(name, ())}, hidden_seed)
        cell["source"] = text + (OWN if name == "intro" else "")
    there = {cell["metadata"]["nbgrader"]["grade_id"] for cell in notebook["cells"]}
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
    given = "".join(f", {name}={_literal(value)}" for name, value in numbers.items())
    text = CALL.sub(rf"\1.\2(\3{given})", text)
    text = text.replace(" import hidden\n", " import hidden\nfrom exercises.engine.inputs import seeded\n")
    return re.sub(r"^hidden\.", f"with seeded({hidden_seed}):\n    hidden.", text, flags=re.MULTILINE)


def _literal(value: Any) -> str:
    """A number in a call: locked cells know no Fraction of their own."""
    return repr(str(value)) if isinstance(value, Fraction) else repr(value)


def _written(value: Any, *, code: bool) -> str:
    """A number in a solution, or in the text of a task, where it stands between dollar signs or alone."""
    if isinstance(value, str):
        return value
    if code:
        return f"Fraction({value.numerator}, {value.denominator})" if isinstance(value, Fraction) else repr(value)
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{'-' if value < 0 else ''}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    return f"({', '.join(map(str, value))})" if isinstance(value, (list, tuple)) else str(value)


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
