"""What passes from top to bottom in the student's own order passes, wherever the assignment has its cells."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.sandbox import Limits
from exercises.engine import chapters, simulate
from exercises.engine.grading import judge

pytestmark = pytest.mark.seconds
ASSIGNMENT, ANSWER = simulate.FIRST, "negative_weight"
Cells = list[dict[str, Any]]


def own(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def place(cells: Cells, name: str) -> int:
    return next(at for at, cell in enumerate(cells) if cell["metadata"].get("nbgrader", {}).get("grade_id") == name)


def stub(cells: Cells) -> str:
    """Leaves the answer as it was handed out, and returns what stood there."""
    at = place(cells, ANSWER)
    right = str(cells[at]["source"])
    cells[at] = simulate.empty()["cells"][at]
    return right


def an_answer_below_its_import(cells: Cells) -> None:
    right = stub(cells)
    at = place(cells, ANSWER) + 1
    cells[at:at] = [own("from typing import List as L"), own(right.replace("(labels", "(labels: L", 1))]


def an_answer_at_the_end_with_its_helper(cells: Cells) -> None:
    right = stub(cells)
    cells += [own("def same(function):\n    return function"), own(f"@same\n{right}")]
    cells.append(cells.pop(place(cells, ANSWER) + 1))  # its first check, behind them


def a_setup_cell_again_after_a_reset(cells: Cells) -> None:
    at = place(cells, ANSWER) + 3
    cells[at:at] = [own("%reset -f"), dict(cells[place(cells, "setup")])]


def a_copy_of_an_answer_for_scratch(cells: Cells) -> None:
    at = place(cells, ANSWER)
    cells.insert(at + 3, {**cells[at], "source": "negative_weight = None  # tried something else here"})


def a_copy_of_an_answer_with_an_exit(cells: Cells) -> None:
    at = place(cells, ANSWER)
    cells.append({**cells[at], "source": "%reset -f"})


def a_function_in_two_halves(cells: Cells) -> None:
    at = place(cells, ANSWER)
    head, line, rest = str(cells[at]["source"]).partition("\n    return ")
    cells[at : at + 1] = [{**cells[at], "source": head + "\n    pass"}, {**cells[at], "source": (line + rest)[1:]}]


def judged(cells: Cells, folder: Path) -> dict[str, Any]:
    source = chapters.hand_over(ASSIGNMENT, folder)
    released = notebooks.nbformat.reads(json.dumps(simulate.empty()), as_version=4)
    content = json.dumps({**simulate.empty(), "cells": cells}).encode()
    counted = folder / "counted.ipynb"
    counted.write_text(notebooks.nbformat.writes(notebooks.rebuilt(released, notebooks.handed_in(content))))
    return judge.judge(source, counted, Limits(10, 40))


@pytest.mark.parametrize(
    "change",
    [
        an_answer_below_its_import,
        an_answer_at_the_end_with_its_helper,
        a_setup_cell_again_after_a_reset,
        a_copy_of_an_answer_for_scratch,
        a_copy_of_an_answer_with_an_exit,
        a_function_in_two_halves,
    ],
)
def test_what_passes_as_it_was_saved_passes(change: Callable[[Cells], None], tmp_path: Path) -> None:
    cells: Cells = simulate.reference()["cells"]
    change(cells)
    verdict = judged(cells, tmp_path)
    assert {name: one["message"] for name, one in verdict["checks"].items() if not one["passed"]} == {}


def test_a_wrong_answer_fails_in_both_orders(tmp_path: Path) -> None:
    cells: Cells = simulate.wrong(next(iter(simulate.wrong_answers())))["cells"]
    cells.append(dict(cells[place(cells, "setup")]))
    assert not all(one["passed"] for one in judged(cells, tmp_path)["checks"].values())


def test_copies_of_a_check_are_no_further_tries(tmp_path: Path) -> None:
    cells: Cells = simulate.reference()["cells"]
    at = place(cells, ANSWER)
    right = str(cells[at]["source"])
    cells[at]["source"] = right.partition("\n")[0] + "\n    return None"
    check = cells[at + 1]
    cells[at + 2 : at + 2] = [own(right), dict(check), own("def negative_weight(*given):\n    return 0")]
    checks = judged(cells, tmp_path)["checks"]
    assert not checks[check["metadata"]["nbgrader"]["grade_id"]]["passed"]


def test_a_whole_function_that_is_indented_is_a_part_of_its_own(tmp_path: Path) -> None:
    cells: Cells = simulate.reference()["cells"]
    at = place(cells, ANSWER)
    right = str(cells[at]["source"])
    head = right.partition("\n")[0] + "\n    return None"
    indented = "\n".join(f"    {line}" for line in right.splitlines())
    cells[at : at + 1] = [{**cells[at], "source": head}, {**cells[at], "source": indented}]
    assert all(one["passed"] for one in judged(cells, tmp_path)["checks"].values())


def test_only_another_order_is_kept() -> None:
    released = notebooks.nbformat.reads(json.dumps(simulate.empty()), as_version=4)
    cells: Cells = simulate.reference()["cells"]
    for moved in (False, True):
        if moved:
            cells.append(cells.pop(place(cells, ANSWER)))
        found = notebooks.rebuilt(released, notebooks.handed_in(json.dumps({"cells": cells}).encode()))
        assert bool(notebooks.saved_order(found)) == moved


def test_a_source_that_was_cut_is_named(tmp_path: Path) -> None:
    cells: Cells = simulate.reference()["cells"]
    at = place(cells, ANSWER)
    cells[at]["source"] = f"data = '{'x' * notebooks.LONGEST_SOURCE}'\n{cells[at]['source']}"
    assert any("only the first 100,000 characters" in line for line in judged(cells, tmp_path)["look_at"])
