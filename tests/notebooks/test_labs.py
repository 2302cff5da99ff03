"""A lab calls the columns of its tables by the names that readers see there."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from course_lib.checking import some
from course_lib.experiments.core.display import NAMES

LABS = sorted((Path(__file__).resolve().parents[2] / "book").glob("*/*-lab.ipynb"))
ITALIC = re.compile(r"(?<![*\w])\*([^*\n]+)\*(?![*\w])")
HEAD = re.compile(r'<th scope="col"[^>]*>(.*?)</th>')


def words_and_heads(lab: Path) -> tuple[set[str], set[str]]:
    """What the text of a lab sets in italics, and the heads of its tables, as stored."""
    cells = nbformat.read(lab, as_version=4).cells
    said = {word.lower() for cell in cells if cell.cell_type == "markdown" for word in ITALIC.findall(cell.source)}
    shown = [output.get("data", {}).get("text/html", "") for cell in cells for output in cell.get("outputs", ())]
    return said, {head.lower() for html in shown for head in HEAD.findall(html)}


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_no_column_goes_by_the_code_that_its_table_replaces(lab: Path) -> None:
    said, heads = words_and_heads(lab)
    codes = {code.lower() for code, name in some(NAMES.items()) if code.lower() != name.lower()}
    assert heads and said & codes <= heads


def test_the_names_of_a_lab_are_found() -> None:
    said, heads = words_and_heads(next(lab for lab in LABS if lab.stem == "popularity-norm-coupling-lab"))
    assert "top 1 %, cosine" in said & heads and "share cos" not in said
