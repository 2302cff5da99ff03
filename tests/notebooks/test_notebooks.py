"""Every notebook of the book is in normal form, runs in a fresh kernel (here or in the book's build), and gives the
numbers that it stores.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from drafts import main_pages

from tests.notebooks.validation import ROOT, code_cells, replayed, validate
from tools import normalise
from tools.claims import load
from tools.course_index import glued
from tools.execution import Cache

BOOK = ROOT / "book"
CLAIMS = load()
NOTEBOOKS = sorted(path for path in BOOK.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


def name_of(path: Path) -> str:
    """What the claims call a notebook: "sampling/my-topic"."""
    return path.relative_to(BOOK).with_suffix("").as_posix()


def test_every_chapter_has_a_lab() -> None:
    chapters = main_pages()
    assert len(chapters) >= 5
    assert [name_of(path) for path in chapters if path.with_stem(f"{path.stem}-lab") not in NOTEBOOKS] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_every_notebook_is_in_normal_form(path: Path) -> None:
    assert normalise.faults(path) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_no_cell_is_exempt_from_running(path: Path) -> None:
    for cell in code_cells(path):
        assert "nbval-skip" not in cell.metadata.get("tags", []) and "NBVAL_SKIP" not in cell.source
        assert "raises-exception" not in cell.metadata.get("tags", []) or cell.outputs, (
            "a cell that fails must show how"
        )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_cell_that_only_publishes_numbers_shows_them_in_the_text_alone(path: Path) -> None:
    """Its printed lines, "slope = 0.25", are for nbval: the tag remove-stdout takes them off the page."""
    for cell in code_cells(path):
        printed = "".join(output.text for output in cell.outputs if output.output_type == "stream").strip()
        names = set(glued(cell))
        if names and all(line.partition(" = ")[0].strip() in names for line in printed.splitlines()):
            hidden = {"remove-stdout", "remove-output", "remove-cell"} & set(cell.metadata.get("tags", []))
            assert not printed or hidden, f"{path.name}: tag the cell remove-stdout:\n{cell.source}"


@pytest.fixture(scope="module")
def build() -> Iterator[tuple[Cache, frozenset[Path]]]:
    """The build's executions at the smallest scale, as stored, and the notebooks that pass with theirs."""
    with patch.dict(os.environ, {"COURSE_SCALE": "smoke"}):
        cache = Cache()
        yield cache, replayed(NOTEBOOKS, cache)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_every_notebook_gives_the_numbers_it_stores(path: Path, build: tuple[Cache, frozenset[Path]]) -> None:
    """How long it may take is measured by benchmarks/notebooks.py: seconds are no property of a notebook alone."""
    cache, passed = build
    result = validate(path, name=name_of(path), claims=CLAIMS, cache=cache, passed=passed)
    assert result.problems == [], "\n".join(result.problems)
