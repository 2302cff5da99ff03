"""The solutions of the chapter's exercises print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import nbformat
import pytest

PAGE = Path(__file__).resolve().parents[3] / "book" / "practice" / "negatives.ipynb"
CODE = re.compile(r"^:label: (sol-[\w-]+)$.*?^```python\n(.*?)^```$\n+^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEXT = "\n\n".join(cell.source for cell in nbformat.read(PAGE, 4).cells if cell.cell_type == "markdown")
SOLUTIONS = CODE.findall(TEXT)


def test_every_exercise_has_a_solution_with_code() -> None:
    solved = set(re.findall(r"^:::\{solution\} (ex-[\w-]+)$", TEXT, re.MULTILINE))
    assert set(re.findall(r"^:::\{exercise\}.*?\n:label: (ex-[\w-]+)$", TEXT, re.MULTILINE)) == solved
    assert len(SOLUTIONS) == len(solved) == 3


@pytest.mark.parametrize(("label", "code", "wanted"), SOLUTIONS, ids=[label for label, *_ in SOLUTIONS])
def test_a_solution_prints_what_the_page_says(label: str, code: str, wanted: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue().strip() == wanted.strip()
