"""Notebooks as students write them, drawn by a seed: styles, magics, helpers, orders, metadata, what cannot run.

`draw(seed)` gives the cells in the student's order. A cell's `check` names the graded cell that it is, whatever was
done to its metadata, so that a real kernel can run the same notebook with the whole check in its place.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable
from typing import Any

from honest_notebooks import notebook as honest

from exercises.engine import simulate

Cells = list[dict[str, Any]]
ASSIGNMENT = simulate.FIRST
STYLES = ("loops", "vectorised", "reference")

BEFORE = [
    "%matplotlib inline",
    "%load_ext autoreload\n%autoreload 2",
    "%config InlineBackend.figure_format = 'retina'",
    "sum?",
    "?len",
    "where = !pwd\nwhere[0]",
    "!ls",
    "import asyncio\nawait asyncio.sleep(0)",
    "t = %timeit -o -n 1000 sum([1])\nassert t.best > 0",
    "shell = get_ipython()\nassert shell is not None",
    "display({'a': 1})",
    "remainder = (\n    17\n    % 5\n)\nassert remainder == 2",
    "differs = (\n    1\n    != 2\n)",
    "%time quick = sum(range(10))\nassert quick == 45",
    "%%capture said\nprint('quiet')",
    "print(f'{sum([1, 2])!r}')",
    "\x0cpages = 1",
    "import json, math, itertools, functools, collections, random, time",
    "%env MY_OWN=1",
    "async def later():\n    return 3\nassert await later() == 3",
    "1 / 0",
    "%no_such_magic",
    f"from course_lib.lessons.{simulate.module_of(ASSIGNMENT)} import checks",
    "import sympy",
    "_ = 5\n_",
    "plots = None;",
]
"""Cells, or the beginnings of cells, that cost no points anywhere."""
CANNOT = [
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as p:\n    list(p.map(abs, [1]))",
    "import subprocess\nsubprocess.run(['true'], check=True)",
    "from beside_the_notebook import anything",
    "import no_such_package",
    "note = {'a': 1}\ntext = f'{note['a']}'",
    "where = !pwd\nassert where[0].startswith('/')",
    "import socket\nsocket.socket().close()",
]
"""What runs in some kernels and not where answers are graded."""


def draw(seed: int) -> Cells:
    """The cells of one student's notebook."""
    dice = random.Random(seed)
    style = dice.choice(STYLES)
    found = simulate.reference(ASSIGNMENT) if style == "reference" else honest(style, ASSIGNMENT)
    cells: Cells = copy.deepcopy(found["cells"])
    for cell in cells:
        about = cell["metadata"]["nbgrader"]
        cell["answer"] = about["grade_id"] if about["solution"] and cell["cell_type"] == "code" else None
        cell["check"] = about["grade_id"] if about["grade"] and not about["solution"] else None
        if about["grade_id"] == "own":
            cell["metadata"] = {}
        cell["source"] = simulate.HIDDEN.sub("", cell["source"] + "\n").rstrip("\n")
    for change in dice.sample(CHANGES, dice.randint(1, 5)):
        change(cells, dice)
    return cells


def code(source: str) -> dict[str, Any]:
    """A cell that the student added."""
    return {"cell_type": "code", "metadata": {}, "source": source, "answer": None, "check": None}


def answers(cells: Cells) -> Cells:
    """The answers of a notebook that are still in cells of their own."""
    return [cell for cell in cells if cell["answer"]]


def _begins(cells: Cells, dice: random.Random) -> None:
    """An answer's cell begins with something of the student's."""
    cell = dice.choice(answers(cells))
    first = dice.choice([one for one in BEFORE if not one.startswith("%%") and "1 / 0" not in one])
    _put_first(cell, f"{first}\n")


def _put_first(cell: dict[str, Any], source: str) -> None:
    """Puts code before a cell's own; `%%time` stays the first line, else it is no magic of the cell."""
    magic = re.match(r"(%%.*\n)?", cell["source"])[0]
    cell["source"] = f"{magic}{source}{cell['source'].removeprefix(magic)}"


def _cells_of_their_own(cells: Cells, dice: random.Random) -> None:
    for _ in range(dice.randint(1, 6)):
        cells.insert(dice.randint(2, len(cells)), code(dice.choice(BEFORE)))


def _timed(cells: Cells, dice: random.Random) -> None:
    cell = dice.choice(answers(cells))
    if not cell["source"].lstrip().startswith(("%", "\x0c")):
        cell["source"] = f"%%{dice.choice(['time', 'capture'])}\n{cell['source']}"


def _a_helper_name_twice(cells: Cells, dice: random.Random) -> None:
    """Two answers use helpers of one name that take different things, or one of them makes a number of it."""
    first, second = dice.sample(range(len(answers(cells))), 2)
    for take, place in enumerate(sorted((first, second)), 1):
        cell = answers(cells)[place]
        cell["source"] = _calling(cell["source"], f"helper({', '.join('1' * take)})")
        _put_first(cell, f"def helper({', '.join('abc'[:take])}):\n    return a\n\n\n")
    if dice.random() < 0.5:
        cells.append(code("helper = 3"))


def _calling(source: str, call: str) -> str:
    """A function of the source with a call as its first line."""
    lines = source.split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith("def "))
    return "\n".join([*lines[: at + 1], f"    {call}", *lines[at + 1 :]])


def _a_helper_below(cells: Cells, dice: random.Random) -> None:
    """The helper of an answer stands below it, and was run before: in a fresh kernel its check fails."""
    cell = dice.choice(answers(cells))
    cell["source"] = _calling(cell["source"], "below()")
    cells.append(code("def below():\n    return 1"))


def _moved(cells: Cells, dice: random.Random) -> None:
    """The answer is in a cell of the student's own, above what was handed out."""
    cell = dice.choice(answers(cells))
    stub = next(
        one["source"]
        for one in simulate.empty(ASSIGNMENT)["cells"]
        if one["metadata"]["nbgrader"]["grade_id"] == cell["answer"]
    )
    at = next(n for n, one in enumerate(cells) if one is cell)
    cells.insert(at + 1, code(cell["source"]))
    cell["source"] = stub
    cell["answer"] = None


def _split(cells: Cells, dice: random.Random) -> None:
    """An answer in two cells, as Ctrl+Shift+- leaves them."""
    cell = dice.choice(answers(cells))
    at = next(n for n, one in enumerate(cells) if one is cell)
    cells.insert(at, {**copy.deepcopy(cell), "source": "import math as _math", "answer": None})


def _wrong(cells: Cells, dice: random.Random) -> None:
    """An answer that is wrong, or raises."""
    cell = dice.choice(answers(cells))
    cell["source"] = _calling(cell["source"], dice.choice(["return 12345", "raise ValueError('lost')", "return None"]))


def _cannot_run(cells: Cells, dice: random.Random) -> None:
    """Something that a grader without a network, a shell or other packages cannot run."""
    cell = dice.choice(answers(cells))
    what = dice.choice(CANNOT)
    if dice.random() < 0.5:
        _put_first(cell, f"{what}\n")
    elif "!" not in what:
        cell["source"] = _calling(cell["source"], what.replace("\n", "\n    "))


def _later_for_another_use(cells: Cells, dice: random.Random) -> None:
    """The name of an answered function becomes a number at the end."""
    cells.append(code(f"{dice.choice(answers(cells))['answer']} = 3"))


CHANGES: list[Callable[[Cells, random.Random], None]] = [
    _begins,
    _cells_of_their_own,
    _timed,
    _a_helper_name_twice,
    _a_helper_below,
    _moved,
    _split,
    _wrong,
    _cannot_run,
    _later_for_another_use,
]


def as_saved(cells: Cells, seed: int) -> dict[str, Any]:
    """The notebook as one of the usual programs saves it."""
    dice = random.Random(f"saved {seed}")
    kind = dice.choice(["nbgrader", "nbgrader", "colab", "equal ids", "vscode", "lines"])
    saved = []
    for number, cell in enumerate(cells):
        one = {key: copy.deepcopy(cell[key]) for key in ("cell_type", "metadata", "source")}
        if one["cell_type"] == "code":
            one |= {"outputs": [], "execution_count": dice.choice([None, number])}
        if kind == "colab":
            one["metadata"] = {"id": f"c{number}"}
        if kind == "vscode":
            one["metadata"] |= {"vscode": {"languageId": "python"}}
        if kind == "lines":
            one["source"] = one["source"].splitlines(keepends=True) if "\x0c" not in one["source"] else one["source"]
        one["id"] = "same" if kind == "equal ids" else f"cell-{number}"
        saved.append(one)
    return {"cells": saved, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
