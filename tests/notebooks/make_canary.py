"""Writes canary.ipynb: a notebook with ONE wrong stored number, which the notebook tests must catch.

python -m tests.notebooks.make_canary
"""

from pathlib import Path

import nbformat

from tools import normalise

FOLDER = Path(__file__).resolve().parent

INTRODUCTION = "# A canary\n\nOne stored output of this notebook is wrong. A test proves that the test suite sees it."
CODE = (
    "from course_lib.lessons.shared.scalars import publish\n\nbatch_size, n_positives = 3, 5",
    "rho = (batch_size - 1) / (n_positives - 1)\nprint('rho =', rho)",
    "publish('canary-rho', rho)",
)
RIGHT, WRONG = '"rho = 0.5\\n"', '"rho = 0.25\\n"'


def main() -> None:
    cells = [nbformat.v4.new_markdown_cell(INTRODUCTION), *map(nbformat.v4.new_code_cell, CODE)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    path = FOLDER / "canary.ipynb"
    nbformat.write(notebook, path)
    normalise.run_and_store([path], [path], everything=True)
    path.write_text(path.read_text(encoding="utf-8").replace(RIGHT, WRONG), encoding="utf-8")


if __name__ == "__main__":
    main()
