"""The judge against a real kernel: what passes in the one passes in the other, or `look_at` names the difference.

`COURSE_TRIES=200 make test-pipelines PYTEST_ARGS=tests/exercises/test_kernel.py` asks it of 200 notebooks.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from generated_notebooks import ASSIGNMENT, as_saved, draw
from nbclient import NotebookClient

from course_lib.lessons.shared.grading import notebooks
from exercises.engine import chapters, simulate, variants
from exercises.engine.grading import judge

NOTEBOOKS = int(os.environ.get("COURSE_TRIES", "12"))
SOURCE = chapters.file(ASSIGNMENT, "assignment.ipynb")
FIRST = """
import io as _io
from contextlib import redirect_stdout as _quietly
from course_lib.lessons.shared.forms import plainly as _through
from course_lib.lessons.in_batch_bias import checks as _checks

def _check(name, code):
    names = {key: _through(value) if callable(value) else value for key, value in globals().items()}
    with _quietly(_io.StringIO()):
        exec(code, {**names, "checks": _checks})
    print("passed", name)
"""


def passed_in_a_kernel(cells: list[dict[str, Any]], folder: Path) -> set[str]:
    """The graded cells that pass, hidden checks included, where a kernel runs the notebook from top to bottom."""
    code = dict(variants.graded_code(simulate.source(ASSIGNMENT)))
    made = [nbformat.v4.new_code_cell(FIRST)]
    for cell in cells:
        if cell["cell_type"] == "code":
            check = cell["check"]
            source = f"_check({check!r}, {code[check]!r})" if check else cell["source"]
            made.append(nbformat.v4.new_code_cell(source))
    notebook = nbformat.v4.new_notebook(cells=made)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (folder / "beside_the_notebook.py").write_text("anything = 1\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(simulate.HERE.parent), "IPYTHONDIR": str(folder / "ipython")}
    client = NotebookClient(notebook, allow_errors=True, timeout=120, resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.outputs)
    return set(re.findall(r"^passed (\w+)$", printed, re.MULTILINE))


def judged(cells: list[dict[str, Any]], seed: int, folder: Path) -> dict[str, Any]:
    """The verdict on the notebook as some program saved it, by way of the working copy that a classroom makes of it."""
    content = json.dumps(as_saved(cells, seed)).encode()
    released = nbformat.from_dict(simulate.empty(ASSIGNMENT))
    copy = notebooks.rebuilt(released, notebooks.handed_in(content))
    path = folder / f"{ASSIGNMENT}.ipynb"
    path.write_text(nbformat.writes(copy), encoding="utf-8")
    return judge.judge(chapters.hand_over(ASSIGNMENT, path.parent), path)


@pytest.mark.pipeline
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(NOTEBOOKS))
def test_the_judge_says_what_a_kernel_says_or_names_the_difference(seed: int, tmp_path: Path) -> None:
    cells = draw(seed)
    verdict = judged(cells, seed, tmp_path)
    here = {name for name, check in verdict["checks"].items() if check["passed"]}
    there = passed_in_a_kernel(cells, tmp_path)
    tasks = _tasks()
    for name in here ^ there:
        named = [line for line in verdict["look_at"] if tasks[name] in line]
        assert named, (
            f"{name}: {'here' if name in here else 'in the kernel'} only; {verdict['checks'][name]['message']}"
        )


def _tasks() -> dict[str, str]:
    """graded cell -> the words that a line of look_at begins with: "task 1"."""
    found, task = {}, ""
    for cell in simulate.source(ASSIGNMENT)["cells"]:
        if match := re.match(r"## (Task \d+)", "".join(cell["source"])):
            task = match[1].lower()
        found[cell["metadata"]["nbgrader"]["grade_id"]] = task
    return found
