"""Honest solutions of every assignment, written in five ways: each earns every point.

`honest/STYLE/ASSIGNMENT.py` holds what a student of that style would write; what is missing there is the reference's.
float32 is the vectorised style, torch32 the torch one, both in single precision except where a statement asks for more.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest
from in_process import ASSIGNMENTS, marks

from exercises import simulate
from exercises.grading import judge

HONEST = Path(__file__).with_name("honest")
SINGLE = {  # style -> (the style that it is made from, what is replaced in it by what)
    "float32": ("vectorised", "dtype=float)", "dtype=np.float32)"),
    "torch32": ("torch", "dtype=torch.float64", "dtype=torch.float32"),
}
PRECISE = {"ddc": ("solve_user", "inflation")}  # the statement asks for six digits, which is more than float32 has
STYLES = ("loops", "vectorised", "torch", "scipy", *SINGLE)


@cache
def written(style: str, assignment: str) -> tuple[dict[str, str], str]:
    """name -> source of the answers in this style, and all else that stands in the file: imports and helpers."""
    made_from, old, new = SINGLE.get(style, (style, "", ""))
    text = (HONEST / made_from / f"{simulate.module_of(assignment)}.py").read_text(encoding="utf-8")
    asked = {cell["metadata"]["nbgrader"]["grade_id"] for cell in simulate.source(assignment)["cells"]}
    answers, rest = {}, []
    for node in ast.parse(text).body:
        source = ast.get_source_segment(text, node) or ""
        if old and getattr(node, "name", None) not in PRECISE.get(assignment, ()):
            source = source.replace(old, new)
        if isinstance(node, ast.FunctionDef) and node.name in asked:
            answers[node.name] = source
        else:
            rest.append(source)
    return answers, "\n\n\n".join(rest)


def notebook(style: str, assignment: str) -> dict:
    """The reference with the answers of a style, and a cell of the student's own before them."""
    found, (answers, rest) = simulate.reference(assignment), written(style, assignment)
    for cell in found["cells"]:
        cell["source"] = answers.get(cell["metadata"]["nbgrader"]["grade_id"], cell["source"])
    about = {"grade": False, "solution": False, "grade_id": "own"}
    found["cells"].insert(2, {"cell_type": "code", "metadata": {"nbgrader": about}, "source": rest})
    return found


@pytest.mark.parametrize(
    "style", [STYLES[0], *(pytest.param(style, marks=pytest.mark.pipeline) for style in STYLES[1:])]
)
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_an_honest_solution_earns_every_point(assignment: str, style: str) -> None:
    found = marks(notebook(style, assignment), assignment)
    assert {check: message for check, message in found.items() if message} == {}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_a_style_is_another_way_than_the_reference(assignment: str, style: str) -> None:
    answers, _ = written(style, assignment)
    reference = {cell["source"] for cell in simulate.reference(assignment)["cells"]}
    assert answers and not reference & set(answers.values())
    if style in SINGLE:
        made_from, old, new = SINGLE[style]
        doubles = {name for name, source in written(made_from, assignment)[0].items() if old in source}
        assert {name for name in doubles if new in answers[name]} == doubles - set(PRECISE.get(assignment, ()))


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_it_earns_them_behind_the_walls(assignment: str, style: str, tmp_path: Path) -> None:
    path = tmp_path / f"{assignment}.ipynb"
    path.write_text(json.dumps(notebook(style, assignment)), encoding="utf-8")
    checks = judge.judge(simulate.HERE / "source" / assignment / path.name, path)["checks"]
    assert {name: check["message"] for name, check in checks.items() if not check["passed"]} == {}
