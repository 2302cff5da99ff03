"""The small tasks of each chapter: their solutions pass, each slip is named, and a class has them like assignments."""

import ast
import re

import pytest
from in_process import functions

from course_lib.lessons.shared.forms import PASSED, NotYet
from course_lib.lessons.shared.grading.hand_in import hand_in
from course_lib.lessons.shared.warm_up import Asked
from exercises.engine import chapters, simulate, variants

WARM_UPS = chapters.warm_ups()
FIRST_WEEK = "first-model-warm-up"
every = pytest.mark.parametrize("name", WARM_UPS)


def asked(name: str) -> dict[str, Asked]:
    """The checks of a warm-up, by the function that they are for."""
    return {key: check for key, check in vars(simulate.public_checks(name)).items() if isinstance(check, Asked)}


def test_nine_chapters_have_one_and_the_first_week_has_its_own() -> None:
    chapters_of = {name.removesuffix(chapters.WARM_UP) for name in WARM_UPS}
    assert len(chapters_of) == len(WARM_UPS) >= 10 and "first-model" in chapters_of
    assert chapters_of - {"first-model"} <= {*chapters.assignments()}


@every
def test_the_solutions_earn_everything_and_an_empty_one_nothing(name: str) -> None:
    checks, source = simulate.public_checks(name), simulate.source(name)
    assert set(variants.marks(simulate.reference(name), source, checks).values()) == {""}
    empty = variants.marks(simulate.empty(name), source, checks)
    assert set(empty) == set(simulate.points(name)) and all(empty.values())


@every
def test_each_slip_is_refused_with_its_hint_on_the_public_cases(name: str) -> None:
    for check in asked(name).values():
        assert len(check.slips) >= 2
        for hint, formula in check.slips.items():
            with pytest.raises(NotYet) as told:
                check.on(formula, *check.cases)
            assert hint in str(told.value)


@every
def test_passing_says_what_it_means(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = functions(simulate.reference(name))
    for key, check in asked(name).items():
        check(found[key])
    assert capsys.readouterr().out.count(PASSED) == len(asked(name))
    assert simulate.public_checks(name).hand_in is hand_in


@every
def test_the_grader_asks_what_the_public_check_does_not(name: str) -> None:
    for cell in simulate.source(name)["cells"]:
        about, source = cell["metadata"]["nbgrader"], "".join(cell["source"])
        if about["grade"] and not about["solution"]:
            (call,) = [
                node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) > 1
            ]
            hidden = [ast.literal_eval(one) for one in call.args[1:]]
            public = asked(name)[about["grade_id"].removeprefix("test_")].cases
            assert hidden and not [case for case in hidden if case in public]


@every
def test_points_and_minutes_add_up(name: str) -> None:
    cells = simulate.source(name)["cells"]
    intro = "".join(cells[0]["source"])
    rows = re.findall(r"^\| \d \| (.+?) \| (\d) \| (\d+) \|$", intro, re.MULTILINE)
    headings = re.findall(
        r"^## Task \d\. (.+?)\n\n\*(\d) points .*? (\d+) minutes\*$",
        "\n\n".join("".join(cell["source"]) for cell in cells),
        re.MULTILINE,
    )
    assert rows == headings and sum(int(minutes) for *_, minutes in rows) == (60 if name == FIRST_WEEK else 20)
    given = sum(cell["metadata"]["nbgrader"].get("points", 0) for cell in cells)
    assert given == sum(int(points) for _, points, _ in rows) and f" {given:g} points," in intro
