"""Every answer is seen: cells that were split, copied, moved, deleted or typed anew, and pictures in texts."""

import json
import re
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from course_lib.lessons.shared.grading import notebooks
from exercises.engine import simulate
from exercises.engine.grading.harmless import harmless_html

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "exercises/in_batch_bias/assignment.ipynb"
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
Cells = list[dict]
ESSAY = "Weights differ, so nothing was destroyed, and 0.23 of my pairs lie below zero."


def released() -> notebooks.NotebookNode:
    return notebooks.nbformat.reads(json.dumps(simulate.empty()), as_version=4)


def own(kind: str, source: str) -> dict:
    return {"cell_type": kind, "metadata": {}, "source": source}


def place(cells: Cells, name: str) -> int:
    return next(n for n, cell in enumerate(cells) if cell["metadata"].get("nbgrader", {}).get("grade_id") == name)


def answers(cells: Cells) -> dict[str, str]:
    """The answers of a notebook after the two passes that a submission goes through."""
    once = notebooks.rebuilt(released(), notebooks.handed_in(json.dumps({"cells": cells}).encode()))
    twice = notebooks.rebuilt(
        notebooks.read_source(SOURCE), notebooks.working_copy(notebooks.nbformat.writes(once).encode())
    )
    found = [
        {notebooks.grading(cell)["grade_id"]: cell.source for cell in notebook.cells if notebooks.is_answer(cell)}
        for notebook in (once, twice)
    ]
    assert found[0] == found[1]
    return found[0]


@pytest.fixture
def cells() -> Cells:
    found: Cells = simulate.reference()["cells"]
    return found


def right(name: str) -> str:
    return simulate.reference()["cells"][place(simulate.reference()["cells"], name)]["source"]


def test_the_parts_of_a_split_answer_are_joined_in_order(cells: Cells) -> None:
    """Ctrl+Shift+- gives both halves the name of the whole."""
    at = place(cells, "best_score")
    helper = {**cells[at], "source": "from fractions import Fraction as F"}
    cells[at : at + 1] = [helper, cells[at]]
    found = answers(cells)["best_score"]
    assert notebooks.parts(found) == [helper["source"], right("best_score")]


def test_an_error_in_one_part_does_not_take_the_next(cells: Cells) -> None:
    at = place(cells, "best_score")
    cells.insert(at, {**cells[at], "source": "print(best_score(1, 1, 2, 6))  # before it is defined"})
    assert len(notebooks.parts(answers(cells)["best_score"])) == 2


def test_a_function_split_in_its_middle_is_whole_again(cells: Cells) -> None:
    at = place(cells, "best_score")
    head, body = "def best_score(pop, omega, batch_size, n_positives):", "    return pop"
    cells[at : at + 1] = [{**cells[at], "source": head}, {**cells[at], "source": body}]
    (found,) = notebooks.parts(answers(cells)["best_score"])
    names: dict = {}
    exec(found, names)
    assert names["best_score"](7, 1, 2, 3) == 7


def test_a_split_text_is_joined(cells: Cells) -> None:
    at = place(cells, "criticise")
    cells[at : at + 1] = [{**cells[at], "source": "First half."}, {**cells[at], "source": "Second half."}]
    assert answers(cells)["criticise"] == "First half.\n\nSecond half."


@pytest.mark.parametrize("before", [True, False])
def test_an_untouched_copy_takes_nothing_away(cells: Cells, before: bool) -> None:
    at = place(cells, "best_score")
    stub = simulate.empty()["cells"][at]
    cells.insert(at if before else at + 1, stub)
    assert answers(cells)["best_score"] == right("best_score")


@pytest.mark.parametrize("where", [0, 3, -1])
@pytest.mark.parametrize("deleted", [True, False])
def test_an_answer_in_a_cell_of_its_own_is_found_by_what_it_defines(cells: Cells, where: int, deleted: bool) -> None:
    at = place(cells, "best_score")
    mine = own("code", cells[at]["source"])
    if deleted:
        del cells[at]
    else:
        cells[at] = simulate.empty()["cells"][at]
    cells.insert(where if where >= 0 else len(cells), mine)
    assert answers(cells)["best_score"] == right("best_score")


def test_a_moved_answer_is_where_it_belongs(cells: Cells) -> None:
    cells.append(cells.pop(place(cells, "best_score")))
    assert answers(cells)["best_score"] == right("best_score")


def test_without_any_metadata_nothing_is_lost(cells: Cells) -> None:
    """As some editors and converters save it."""
    cells[place(cells, "criticise")]["source"] = ESSAY
    found = answers([{"cell_type": cell["cell_type"], "metadata": {}, "source": cell["source"]} for cell in cells])
    assert found["best_score"] == right("best_score") and found["criticise"] == ESSAY
    assert set(found) == notebooks.answer_names(released())


def _deleted(cells: Cells, at: int) -> None:
    del cells[at]


def _untouched(cells: Cells, at: int) -> None:
    cells[at]["source"] = notebooks.TEXT_STUB


@pytest.mark.parametrize("spoil", [_deleted, _untouched])
def test_a_text_in_a_cell_of_its_own_beside_the_task_is_the_answer(
    cells: Cells, spoil: Callable[[Cells, int], None]
) -> None:
    spoil(cells, place(cells, "criticise"))
    cells.append(own("markdown", ESSAY))
    assert answers(cells)["criticise"] == ESSAY


@pytest.mark.parametrize("cell", [own("markdown", ESSAY), own("code", ESSAY), own("code", f"# {ESSAY}")])
def test_a_text_that_cannot_be_placed_is_looked_at_by_a_person(cells: Cells, cell: dict) -> None:
    cells[place(cells, "criticise")]["source"] = notebooks.TEXT_STUB
    cells.insert(2, cell)
    notebook = notebooks.rebuilt(released(), notebooks.handed_in(json.dumps({"cells": cells}).encode()))
    assert notebooks.text_to_place(notebook) == ["criticise"]
    assert any(ESSAY in one.source for one in notebook.cells)


def test_an_empty_text_and_a_heading_need_nobody(cells: Cells) -> None:
    cells[place(cells, "criticise")]["source"] = notebooks.TEXT_STUB
    cells.insert(2, own("markdown", "### My tries"))
    notebook = notebooks.rebuilt(released(), notebooks.handed_in(json.dumps({"cells": cells}).encode()))
    assert notebooks.text_to_place(notebook) == []


def test_what_was_typed_into_the_assignments_own_cells_is_not_lost(cells: Cells) -> None:
    """The setup cell gets an import, the task's text an answer: both were locked, in other editors than nbgrader's."""
    cells[place(cells, "setup")]["source"] += "\nimport scipy.linalg"
    cells[place(cells, "task6")]["source"] = ESSAY
    notebook = notebooks.rebuilt(released(), notebooks.handed_in(json.dumps({"cells": cells}).encode()))
    mine = [cell.source for cell in notebook.cells if notebooks.is_own(cell)]
    assert any("import scipy.linalg" in source for source in mine)
    assert any(ESSAY in cell.source for cell in notebook.cells)
    checks = {cell.id: cell.source for cell in notebook.cells if notebooks.is_test(cell)}
    assert checks == {cell.id: cell.source for cell in released().cells if notebooks.is_test(cell)}


@pytest.mark.seconds
def test_magics_are_read_soon_however_many_there_are() -> None:
    """IPython reads a cell once more for each of its magics, and each answer that is missing looks at every cell."""
    mine = [own("code", f"# {place}\n" + "%x\n" * 700 + "y = 1") for place in range(270)]
    content, began = json.dumps({"cells": [*simulate.empty()["cells"], *mine]}).encode(), time.process_time()
    assert len(notebooks.rebuilt(released(), notebooks.handed_in(content)).cells) > 270
    assert time.process_time() - began < 20


def test_a_notebook_as_it_was_handed_out_has_no_cell_of_the_students() -> None:
    content = json.dumps(simulate.empty()).encode()
    for pristine in (released(), notebooks.read_source(SOURCE)):
        notebook = notebooks.rebuilt(pristine, notebooks.handed_in(content))
        assert not any(notebooks.is_own(cell) for cell in notebook.cells)
        assert not notebooks.is_worked_on(notebook, released())


# ---- pictures ----


def picture(data: str = PICTURE, kind: str = "image/png") -> dict:
    text = "See ![plot.png](attachment:plot.png)"
    return {"cell_type": "markdown", "metadata": {}, "source": text, "attachments": {"plot.png": {kind: data}}}


def test_a_pasted_picture_stays_with_its_text(cells: Cells) -> None:
    at = place(cells, "criticise")
    cells[at] |= {"source": picture()["source"], "attachments": picture()["attachments"]}
    cells.insert(2, picture())
    found = notebooks.rebuilt(released(), notebooks.handed_in(json.dumps({"cells": cells}).encode()))
    with_pictures = [cell for cell in found.cells if cell.get("attachments")]
    assert len(with_pictures) == 2
    notebooks.nbformat.validate(found)
    for cell in with_pictures:
        assert f'src="data:image/png;base64,{PICTURE}"' in harmless_html(cell.source, cell.attachments)


@pytest.mark.parametrize(
    "attachments",
    [
        None,
        {},
        [],
        {"plot.png": None},
        {"plot.png": {}},
        {"plot.png": {"image/png": 3}},
        {"plot.png": {"image/png": "<script>"}},
        {"plot.png": {"text/html": "PGI+"}},
        {"plot.png": {"image/svg+xml": "PHN2Zz4="}},
        {"plot.png": {"image/png": "A" * 9_000_000}},
    ],
)
def test_a_missing_or_strange_picture_leaves_its_description(attachments: object) -> None:
    content = json.dumps({"cells": [{**picture(), "attachments": attachments}]}).encode()
    (cell,) = notebooks.handed_in(content)
    assert cell.attachments == {}
    html = harmless_html(cell.source, cell.attachments)
    assert "[picture: plot.png]" in html and "<img" not in html


@pytest.mark.parametrize(
    "text",
    [
        '<img src="http://else.where/x.png" onerror="stolen()">',
        '<img src="data:text/html;base64,PGI+">',
        "[here](data:text/html;base64,PGI+)",
        "[here](javascript:stolen())",
        "![x](attachment:../../etc/passwd)",
    ],
)
def test_no_picture_and_no_link_leads_to_harm(text: str) -> None:
    html = harmless_html(text)
    assert not any(harm in html for harm in ("<img", "src=", "onerror", "href=", "stolen"))


@pytest.mark.skipif(find_spec("latex2mathml") is None, reason="needs latex2mathml: pip install '.[classroom]'")
def test_a_formula_is_shown_without_a_script() -> None:
    html = harmless_html(r"The share $\frac{1}{n}<x$ and $$\sum_i r_i$$")
    assert "<mfrac>" in html and 'display="block"' in html and "<mo>&lt;</mo>" in html and "$" not in html


@pytest.mark.parametrize(
    "formula",
    [
        r"\text{<script>stolen()</script>}",
        r"\href{javascript:stolen()}{x}",
        r'\style{background:url(//else.where)}{x}\text{" onerror=stolen() x="}',
        r"\newcommand{\a}{\a\a}\a",
        "{" * 1900 + "}" * 1900,
        r"\frac",
        "x" * 50_000,
    ],
)
def test_no_formula_leads_to_harm(formula: str) -> None:
    """Also where it stands in a picture's description; one that is none stands there as it was typed."""
    for text in (
        f"${formula}$",
        f"$${formula}$$",
        f"![${formula}$](data:image/png;base64,{PICTURE})",
        f"## ${formula}$",
    ):
        html = harmless_html(text)
        tags = re.findall(r"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""", html)
        outside = [re.sub(r'"[^"]*"', "", tag) for tag in tags]
        assert not any(harm in tag for tag in outside for harm in ("script", "onerror", "href", "style", "stolen"))
        assert not any("javascript:" in tag or "else.where" in tag for tag in tags if not tag.startswith("<img"))


def test_a_description_is_no_way_in() -> None:
    assert "<script" not in harmless_html(
        '![a"><script>stolen()</script>](attachment:x) <img alt="><script>x</script>">'
    )
