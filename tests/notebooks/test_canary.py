"""The notebook tests catch what they are there to catch: a canary with one wrong stored number must fail them."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from msgspec.structs import replace
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.notebooks.validation import replayed, validate
from tools.claims import Claim, Scalar
from tools.course_index import GLUE
from tools.execution import Cache, refresh

NAME = "canary-rho"
CODE = (
    "from course_lib.lessons.shared.scalars import publish\n\nbatch_size, n_positives = 3, 5",
    "rho = (batch_size - 1) / (n_positives - 1)\nprint('rho =', rho)",
    f"publish('{NAME}', rho)",
)
ROW = Claim(
    id="X-canary",
    statement="A canary sings.",
    paper="X",
    place="tests/notebooks",
    status="tested",
    not_claimed="Anything.",
    scalars=(Scalar(name=NAME, expected=0.5, tolerance=0.01, source="arithmetic", notebook="canary"),),
)


def stored(path: Path, rho: str) -> Path:
    """A notebook as the book stores one, in whose second cell somebody has printed this number."""
    shown = {"name": NAME, "mime_prefix": "application/papermill.record/"}
    glue = new_output("display_data", data={GLUE: "'0.5'"}, metadata={"scrapbook": shown})
    printed = [new_output("stream", text=text) for text in (f"rho = {rho}\n", f"{NAME} = 0.5\n")]
    given = zip(CODE, ([], printed[:1], [printed[1], glue]), (1, 2, 3), strict=True)
    cells = [new_code_cell(source, outputs=out, execution_count=number) for source, out, number in given]
    nbformat.write(new_notebook(cells=cells), path)
    return path


@pytest.fixture
def corrected(tmp_path: Path) -> Path:
    """The canary with its one wrong number put right."""
    return stored(tmp_path / "corrected.ipynb", "0.5")


def edited(path: Path, **fields) -> Path:
    """The same file with fields of its first code cell changed."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    next(cell for cell in notebook["cells"] if cell["cell_type"] == "code").update(fields)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def expecting(**fields) -> list[Claim]:
    """The row with its expected scalar changed."""
    return [replace(ROW, scalars=(replace(ROW.scalars[0], **fields),))]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.mark.slow
def test_one_wrong_stored_number_is_caught(cache: Cache, tmp_path: Path) -> None:
    canary = stored(tmp_path / "canary.ipynb", "0.25")
    problems = validate(canary, name="canary", claims=[ROW], cache=cache).problems
    assert len(problems) == 1
    assert "rho = 0.25" in problems[0] and "rho = 0.5" in problems[0]
    assert "1 failed, 2 passed" in problems[0] and replayed([canary], cache) == frozenset()


@pytest.mark.pipeline
@pytest.mark.slow
def test_cells_never_run_and_scalars_that_their_claims_do_not_expect_are_caught(corrected: Path, cache: Cache) -> None:
    """One cell that was never run, one scalar outside its tolerance, one not published; nothing else is wrong."""
    wrong = [*expecting(expected=0.6), *expecting(name="canary-omega")]
    edited(corrected, execution_count=None, outputs=[])
    result = validate(corrected, name="canary", claims=[ROW, *wrong], cache=cache)
    assert result.problems[0] == "code cell 1 is stored with execution count None, expected 1"
    assert [problem.partition(": ")[0] for problem in result.problems[1:]] == ["X-canary"] * 2
    assert result.scalars == {"canary-rho": 0.5}


@pytest.mark.pipeline
@pytest.mark.slow
def test_a_skipped_cell_is_caught(corrected: Path, cache: Cache) -> None:
    problems = validate(edited(corrected, metadata={"tags": ["nbval-skip"]}), cache=cache).problems
    assert len(problems) == 1 and "expected 3 cells to pass" in problems[0]


@pytest.mark.slow
@pytest.mark.pipeline
def test_an_execution_is_compared_once_and_a_cell_that_raises_is_caught(corrected: Path, cache: Cache) -> None:
    refresh([corrected], cache)
    passed = replayed([corrected], cache)
    assert passed == {corrected}
    right = validate(corrected, name="canary", claims=[ROW], cache=cache, passed=passed)
    assert right.problems == [] and right.scalars == {"canary-rho": 0.5}
    missed = validate(corrected, name="canary", claims=expecting(expected=0.6), cache=cache, passed=passed)
    assert missed.problems[0].startswith("X-canary: ")
    changed = validate(edited(corrected, source="batch_size, n_positives = 3, 1"), cache=cache)
    assert len(changed.problems) == 1 and "ZeroDivisionError" in changed.problems[0]
