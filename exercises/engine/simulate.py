"""A simulated class for trying the classroom out: `python -m exercises.engine.simulate FOLDER --students 30`.

Reference solutions, untouched notebooks, typical wrong answers and hostile notebooks, as files
FOLDER/STUDENT/....ipynb. The tests grade the same notebooks; `expected` says what each kind must get from the automatic
checks.
"""

from __future__ import annotations

import copy
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from nbformat.v4 import new_output

from course_lib.lessons.shared.grading.notebooks import CODE_STUB, TEXT_STUB
from course_lib.lessons.shared.grading.replay import checks_name
from exercises.engine import chapters
from exercises.engine.chapters import HERE, Wrong, assignments, module_of
from exercises.engine.options import Options

Notebook = dict[str, Any]
FIRST = "in-batch-bias"
SOLUTION = re.compile(r"^ *### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n?", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS\n?", re.DOTALL)
SCRIPT = "<script>stolen()</script> <img src=x onerror=stolen()> [here](javascript:stolen()) $a<b$\n\n<iframe src=x>"
PICTURE = "![no such picture](attachment:missing.png) ![](attachment:../../../etc/passwd)"
FORMULA = (
    r"$\def\a{\a\a}\a$ $\text{<script>stolen()</script>}$ $\href{javascript:stolen()}{x}$ " + "$" + "{" * 1500 + "$"
)

HOSTILE: dict[str, str] = yaml.safe_load(Path(__file__).with_name("hostile.yml").read_text(encoding="utf-8"))

# Not a matter of code: what stands in the file. Each takes the notebook and returns the file's content.
FILES: dict[str, Callable[[Notebook], bytes]] = {
    "file-no-json": lambda notebook: b"\x00\xff not a notebook",
    "file-deep-json": lambda notebook: b'{"cells":' + b"[" * 200_000,
    "file-huge": lambda notebook: json.dumps(notebook).encode() + b" " * 21_000_000,
    "file-deleted-cells": lambda notebook: json.dumps({**notebook, "cells": []}).encode(),
    "file-missing-picture": lambda notebook: json.dumps(_with_cell(notebook, "markdown", PICTURE)).encode(),
    "file-endless-own-cell": lambda notebook: json.dumps(_with_cell(notebook, "code", "while True: pass")).encode(),
    "file-formula": lambda notebook: json.dumps(_with_cell(notebook, "markdown", FORMULA)).encode(),
    "file-forged-checks": lambda notebook: json.dumps(_forged(notebook)).encode(),
}


def public_checks(assignment: str = FIRST) -> ModuleType:
    """The public checks of an assignment, which lie with the lesson of its chapter."""
    return importlib.import_module(checks_name(assignment))


def wrong_answers(assignment: str = FIRST) -> dict[str, Wrong]:
    """The typical wrong submissions of an assignment."""
    return dict(chapters.module(assignment, "typical").WRONG)


def source(assignment: str = FIRST) -> Notebook:
    return dict(json.loads(chapters.notebook_of(assignment).read_text(encoding="utf-8")))


def about(cell: dict[str, Any]) -> dict[str, Any]:
    """nbgrader's metadata of a cell."""
    found: dict[str, Any] = cell["metadata"]["nbgrader"]
    return found


def points(assignment: str = FIRST, *, by_hand: bool = False) -> dict[str, float]:
    """grade_id -> points of the cells graded by machine, or by hand."""
    every = map(about, source(assignment)["cells"])
    return {one["grade_id"]: one["points"] for one in every if one["grade"] and one["solution"] == by_hand}


def expected(assignment: str = FIRST) -> dict[str, float]:
    """kind -> automatic points that it must get."""
    each = points(assignment)
    lost = {"reference": (), **{kind: wrong.lost for kind, wrong in wrong_answers(assignment).items()}}
    found = {kind: sum(each.values()) - sum(each[name] for name in names) for kind, names in lost.items()}
    return found | dict.fromkeys(["empty", *(f"hostile-{name}" for name in [*HOSTILE, *FILES])], 0)


def reference(assignment: str = FIRST) -> Notebook:
    """The source with its solutions, and without its hidden tests."""
    return solved(source(assignment))


def solved(notebook: Notebook) -> Notebook:
    """A copy of a source notebook with its solutions, and without its hidden tests."""
    return _answered(notebook, {"code": r"\1", "markdown": r"\1"})


def empty(assignment: str = FIRST) -> Notebook:
    """The notebook as a student gets it, nearly: nbgrader's own release differs only in its checksums."""
    return _answered(source(assignment), {"code": f"    {CODE_STUB}\n", "markdown": f"{TEXT_STUB}\n"})


def _answered(notebook: Notebook, answers: dict[str, str]) -> Notebook:
    """A copy with these texts for the solutions, as `re` reads them, and without hidden tests."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        text = SOLUTION.sub(answers[cell["cell_type"]], "".join(cell["source"]) + "\n")
        cell["source"] = HIDDEN.sub("", text).rstrip("\n")
    return notebook


def with_answers(notebook: Notebook, answers: dict[str, str]) -> Notebook:
    """The notebook, some of whose answer cells are replaced: grade_id -> the whole cell."""
    for cell in notebook["cells"]:
        cell["source"] = answers.get(about(cell)["grade_id"], cell["source"]).strip("\n")
    return notebook


def wrong(kind: str, assignment: str = FIRST) -> Notebook:
    """The reference with some answers replaced."""
    return with_answers(reference(assignment), wrong_answers(assignment)[kind].answers)


def hostile(code: str, assignment: str = FIRST) -> Notebook:
    """An untouched notebook with `code` in every answer cell, and a script in place of the essay."""
    notebook = empty(assignment)
    named = code.replace("{root!r}", repr(str(HERE.parent))).replace("{assignment}", assignment)
    named = named.replace("{module}", module_of(assignment))
    for cell in notebook["cells"]:
        if about(cell)["solution"] and cell["cell_type"] == "code":
            cell["source"] += "\n\n" + named.replace("{name}", about(cell)["grade_id"])
        elif about(cell)["solution"]:
            cell["source"] = SCRIPT
    return notebook


def _with_cell(notebook: Notebook, kind: str, source: str) -> Notebook:
    """A notebook with a cell of the student's own in it."""
    cell = {"cell_type": kind, "metadata": {}, "source": source}
    return {**notebook, "cells": [*notebook["cells"][:2], cell, *notebook["cells"][2:]]}


def _forged(notebook: Notebook) -> Notebook:
    """Checks replaced by `pass`, worth a million points, doubled, with outputs that say 28."""
    cells = copy.deepcopy(notebook["cells"])
    for cell in cells:
        if about(cell)["grade"]:
            about(cell).update(points=10**6, locked=False, checksum="0")
            output = new_output("execute_result", {"text/plain": "28"}, execution_count=1)
            cell.update(source="28", cell_type="code", execution_count=1, outputs=[output])
    return {**notebook, "cells": [*cells, *cells]}


def content(kind: str, assignment: str = FIRST) -> bytes:
    """The file of one kind of submission."""
    name = kind.removeprefix("hostile-")
    if name in FILES:
        return FILES[name](empty(assignment))
    if name in HOSTILE:
        notebook = hostile(HOSTILE[name], assignment)
    elif kind in ("reference", "empty"):  # a warm-up or an experiment has no typical wrong answers
        notebook = reference(assignment) if kind == "reference" else empty(assignment)
    else:
        notebook = wrong(kind, assignment)
    return json.dumps(notebook).encode()


def write_class(folder: Path, kinds: list[str], assignment: str = FIRST) -> None:
    """One folder for each submission; the student is named after the kind, numbered where kinds repeat."""
    for number, kind in enumerate(kinds):
        path = folder / f"{kind}-{number:02d}" / f"{assignment}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(kind, assignment))


def kinds_of_a_class(students: int, assignment: str = FIRST) -> list[str]:
    """Two ordinary students and a hostile one in turn, the hostile ones of all kinds in turn."""
    hostile = [kind for kind in expected(assignment) if kind.startswith("hostile-")]
    ordinary = ["reference", *wrong_answers(assignment), "reference", "empty"]
    kinds = []
    for place in range(max(students, 1)):
        group, among = divmod(place, 3)
        kinds.append(hostile[group % len(hostile)] if among == 2 else ordinary[(2 * group + among) % len(ordinary)])
    return kinds


def main() -> None:
    parser = Options(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--students", type=int, default=30, help="how many submissions of each assignment (30)")
    known = [*assignments(), "all"]
    parser.add_argument("--assignment", choices=known, default=FIRST, help=f"{FIRST}, another one, or all")
    arguments = parser.parse_args()
    names = assignments() if arguments.assignment == "all" else [arguments.assignment]
    for name in names:
        write_class(arguments.folder, kinds_of_a_class(arguments.students, name), name)
    print(f"{len(names) * arguments.students} submissions in {arguments.folder}")


if __name__ == "__main__":
    main()
