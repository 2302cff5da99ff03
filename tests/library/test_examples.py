"""The examples in the library's docstrings give what they say."""

from __future__ import annotations

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
APART = {"audit", "experiments", "lessons"}
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "course_lib").rglob("*.py"))
    if path.relative_to(ROOT).parts[1] not in APART and ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str) -> None:
    done = doctest.testmod(import_module(name), optionflags=FLAGS)
    assert done.attempted and not done.failed


def test_nearly_every_public_function_has_one() -> None:
    public = [
        node
        for path in sorted((ROOT / "course_lib").rglob("*.py"))
        if path.relative_to(ROOT).parts[1] not in APART
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    without = [node.name for node in public if ">>>" not in (ast.get_docstring(node) or "")]
    assert len(public) > 400 and len(without) < 0.1 * len(public), without
