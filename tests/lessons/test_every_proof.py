"""Every statement of every lesson: its residuals are zero, its enumeration finds nothing, its counterexamples refute.

That a wrong formula is found out is tested in shared/test_tables_can_fail.py.
"""

import inspect
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sympy as sp

from course_lib.checking import some
from course_lib.lessons.shared.counterexample import Counterexample
from tests.lessons.every import LESSONS, modules

BOOK = Path(__file__).resolve().parents[2] / "book"
STATEMENT = ("thm_", "lem_", "prop_", "cor_")
LABEL = re.compile(r":label: ((?:thm|lem|prop|cor)-[a-z0-9-]+)")
FUNCTIONS: list[tuple[str, str, Callable[..., Any]]] = [
    (lesson, name, function)
    for kind in ("proofs", "enumeration", "broken")
    for lesson, module in modules(kind).items()
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__
]


def chosen(wanted: Callable[[str, Callable[..., Any]], bool]) -> list[Any]:
    return [pytest.param(one, id=f"{lesson}-{name}") for lesson, name, one in FUNCTIONS if wanted(name, one)]


def needs_nothing(function: Callable[..., Any]) -> bool:
    return all(one.default is not one.empty for one in inspect.signature(function).parameters.values())


def is_counterexample(name: str, function: Callable[..., Any]) -> bool:
    return inspect.signature(function).return_annotation == Counterexample.__name__ and needs_nothing(function)


STATEMENTS = chosen(lambda name, _: name.startswith(STATEMENT))
ENUMERATIONS = chosen(lambda name, _: name.startswith("enumerate_"))
COUNTEREXAMPLES = chosen(is_counterexample)
RUN = frozenset(one.values[0] for one in [*STATEMENTS, *ENUMERATIONS, *COUNTEREXAMPLES])  # what the tests below call


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_labelled_statement_has_its_function(lesson: str) -> None:
    pages = BOOK.glob(f"*/{lesson.replace('_', '-')}*.ipynb")
    labels = {label for page in pages for label in LABEL.findall(page.read_text(encoding="utf-8"))}
    found = {name for one, name, _ in FUNCTIONS if one == lesson and name.startswith(STATEMENT)}
    assert found == {label.replace("-", "_") for label in labels}
    assert found or lesson == "first_model", "a lesson states something; only the way in does not"


@pytest.mark.seconds
@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_residual_is_zero(statement: Callable[[], Any]) -> None:
    found = statement()
    residuals = found if isinstance(found, list) else [found]
    assert residuals and all(sp.sympify(residual) == 0 for residual in some(residuals))


@pytest.mark.seconds
@pytest.mark.parametrize("enumeration", ENUMERATIONS)
def test_every_enumeration_finds_nothing(enumeration: Callable[[], Any]) -> None:
    found = enumeration()
    assert isinstance(found, Fraction | int) and found == 0


@pytest.mark.parametrize("example", COUNTEREXAMPLES)
def test_every_counterexample_refutes(example: Callable[[], Counterexample]) -> None:
    assert example().passes
