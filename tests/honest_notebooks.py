"""Honest solutions of every assignment, as notebooks in several styles.

The class STYLE of `lessons/CHAPTER/honest.py` holds what a student of that style would write; what is missing there is
the reference's. float32 is the vectorised style, torch32 the torch one, both in single precision except where a
statement asks for more. An answer comes to every check as plain numbers (`forms.plainly`), so tensors are tried in two
assignments alone, for what torch needs behind the walls.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from exercises.engine import simulate

LESSONS = Path(__file__).parent / "lessons"
SINGLE = {  # style -> (the style that it is made from, what is replaced in it by what)
    "float32": ("vectorised", "dtype=float)", "dtype=np.float32)"),
    "torch32": ("torch", "dtype=torch.float64", "dtype=torch.float32"),
}
PRECISE = {"ddc": ("solve_user", "inflation")}  # the statement asks for six digits, which is more than float32 has
STYLES = ("loops", "vectorised", "torch", *SINGLE)


@cache
def written(style: str, assignment: str) -> tuple[dict[str, str], str]:
    """name -> source of the answers in this style, and all else that stands in the file: imports and helpers."""
    made_from, old, new = SINGLE.get(style, (style, "", ""))
    text = (LESSONS / simulate.module_of(assignment) / "honest.py").read_text(encoding="utf-8")
    styles = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    if made_from not in styles:
        pytest.skip(f"{assignment} has no answers in the style {made_from}")
    asked = {cell["metadata"]["nbgrader"]["grade_id"] for cell in simulate.source(assignment)["cells"]}
    answers, rest = {}, []
    for node in styles[made_from].body[1:]:  # behind its docstring
        source = dedent(ast.get_source_segment(text, node, padded=True) or "")
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
