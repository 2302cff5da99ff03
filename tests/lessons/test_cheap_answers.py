"""Answers that know nothing get nothing: constants, arguments handed back, the public examples by heart, emptied lists.

What a student's process may import and read, the tests of the walls say (tests/exercises): there the library is closed,
and patching NumPy or a check patches the student's own copy. Here every task is asked what is left: is there a function
that does no work, and passes?
"""

import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import Any

import pytest
from drafts import one_quickly
from in_process import ASSIGNMENTS, functions, public_checks

from course_lib.lessons.shared.forms import plainly
from exercises.engine import simulate

pytestmark = pytest.mark.seconds

ONE_CONSTRUCTION = {  # tasks that ask for an example: one may answer all questions, and is the student's own work
    ("ddc", "test_worse"),
    ("jacobian-conditions", "test_tower_i"),
    ("jacobian-conditions", "test_tower_ii"),
}
ONE_PUBLIC_QUESTION = {  # the public part looks at the form, or at one long example; a constant passes it, and no more
    ("gauge-freedom", "test_feasible_square"),
    ("gauge-freedom", "test_feasible_many"),
    ("gramian-estimators", "test_always"),
    ("gramian-estimators", "test_rate_small"),
    ("gramian-estimators", "test_rate_films"),
    ("popularity-direction", "test_null_films"),
    ("popularity-norm-coupling", "test_slope"),
}
Question = tuple[str, tuple[Any, ...], Any]  # a function's name, what it was given, what the reference says


def zeros(value: Any) -> Any:
    """The same form, with 0 in every place of a number."""
    if isinstance(value, (list, tuple)):
        return [zeros(entry) for entry in value]
    return value if isinstance(value, str) or value is None else 0


def emptied(arguments: tuple[Any, ...]) -> None:
    """A check that computed the right answer from lists that a student has changed would take 0 for right."""
    for argument in arguments:
        if isinstance(argument, list):
            argument.clear()


def cheap(public: list[Question], hidden: list[Question]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions that know nothing but the public questions, and constants that even know a hidden answer."""
    (_, arguments, first), last = public[0], hidden[-1][2]
    yield "the first public answer", lambda *_: first
    yield "a hidden answer", lambda *_: last
    yield "zeros", lambda *_: zeros(first)
    yield "zeros, and the arguments emptied", lambda *given: (emptied(given), zeros(first))[1]
    for place in range(len(arguments)):
        yield f"argument {place}", lambda *given, place=place: given[place]
    by_heart = {repr(given): answer for _, given, answer in public}
    yield "the public answers by heart", lambda *given: by_heart.get(repr(given), first)


def passes(code: str, assignment: str, answers: dict[str, Any]) -> bool:
    """Whether a check comes to its end."""
    try:
        with redirect_stdout(io.StringIO()):
            exec(code, {**answers, "checks": public_checks(assignment)})
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("name", one_quickly(ASSIGNMENTS, most=3))
def test_no_function_that_does_no_work_earns_points(name: str) -> None:
    reference = {key: plainly(thing) for key, thing in functions(simulate.reference(name)).items() if callable(thing)}
    earned, seen = set(), set()
    for cell in simulate.source(name)["cells"]:
        about, code = cell["metadata"]["nbgrader"], "".join(cell["source"]) + "\n"
        if not about["grade"] or about["solution"]:
            continue
        asked = [listened(part, name, reference) for part in (simulate.HIDDEN.sub("", code), code)]
        for function in {question[0] for question in asked[1] if question[1]}:
            public, both = ([question for question in part if question[0] == function] for part in asked)
            for kind, answer in cheap(public, both):
                answers = {**reference, function: plainly(answer)}
                if passes(code, name, answers):
                    earned.add((name, about["grade_id"]))
                if kind == "the first public answer" and passes(simulate.HIDDEN.sub("", code), name, answers):
                    seen.add((name, about["grade_id"]))
    assert earned == {task for task in ONE_CONSTRUCTION if task[0] == name}
    assert seen - earned == {task for task in ONE_PUBLIC_QUESTION if task[0] == name}


def listened(code: str, assignment: str, answers: dict[str, Any]) -> list[Question]:
    """What a check asks, and what the reference answers."""
    asked: list[Question] = []

    def listening(name: str, answer: Any) -> Any:
        def call(*arguments: Any) -> Any:
            value = answer(*arguments)
            asked.append((name, arguments, value))
            return value

        return call

    assert passes(code, assignment, {name: listening(name, answer) for name, answer in answers.items()})
    return asked
