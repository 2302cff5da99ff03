"""The tasks that a reader does in the page: the class's own notebooks, without what only its teacher has.

A chapter has its warm-up, those of *In practice* the tasks of the assignment that are theirs. They are files that the
page asks for at a click: statements, code, and the check under each answer, which runs in the page as it runs in the
notebook. A warm-up can be taken along as that notebook, with the answers in it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from pathlib import Path
from textwrap import dedent
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode

from course_lib.lessons.shared.grading import notebooks

EXERCISES = Path(__file__).resolve().parents[1] / "exercises"
OF_PRACTICE = {"judging": "12", "negatives": "34", "new-films": "5", "serving": "6"}  # numbers of the tasks
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION\n?", re.DOTALL | re.MULTILINE)
MINUTES = re.compile(r"(\d+) minutes\*")
TASK = re.compile(r"## Task (\d)")


def source(chapter: str) -> tuple[Path, str] | None:
    """The notebook that a chapter's tasks stand in, and their numbers, all where there are none."""
    own = EXERCISES / chapter.replace("-", "_") / "warm-up.ipynb"
    path = EXERCISES / "practice" / "assignment.ipynb" if chapter in OF_PRACTICE else own
    return (path, OF_PRACTICE.get(chapter, "")) if path.is_file() else None


def released(path: Path, name: str) -> NotebookNode:
    """The notebook as students have it: it may be handed in, and replayed by its last cell."""
    notebook = notebooks.read_source(path)
    for cell in notebook.cells:
        stub = notebooks.CODE_STUB if cell.cell_type == "code" else notebooks.TEXT_STUB
        cell.source = SOLUTION.sub(rf"\1{stub}\n", f"{cell.source}\n").rstrip()
        cell.source = notebooks.parts_of_check(cell.source)[0].rstrip()
    notebook.cells.append(notebooks.last_cell(name))
    notebook.metadata["course"] = {**notebook.metadata.get("course", {}), "assignment": name}
    notebook.metadata["course"]["released"] = notebooks.packed(notebook)
    return notebook


def tasks(chapter: str) -> dict[str, Any]:
    """What the page shows of a chapter's tasks, and the notebook to take along, None where there is none."""
    found = source(chapter)
    assert found is not None, f"{chapter} has no tasks"
    path, wanted = found
    name = f"{chapter}-warm-up"
    notebook = released(path, name)
    intro, setup, *cells = notebook.cells[:-1]
    shown: list[dict[str, Any]] = []
    for cell in cells:
        about = {"name": cell.metadata.nbgrader.grade_id, "code": cell.source}
        if match := TASK.match(cell.source):
            shown.append({"number": match[1], "says": html(f"#{cell.source}"), "answers": [], "checks": []})
            shown[-1]["minutes"] = sum(map(int, MINUTES.findall(cell.source)))
        elif notebooks.is_answer(cell):
            shown[-1]["answers"].append(about | {"text": cell.cell_type == "markdown"})
        elif notebooks.is_test(cell):
            shown[-1]["checks"].append(cell.source)
    shown = [task for task in shown if task["number"] in wanted or not wanted]
    [how] = [part for part in intro.source.split("\n\n") if part.startswith("**How it is graded.**")]
    return {
        "name": name,
        "minutes": sum(task["minutes"] for task in shown),
        "says": html(how),
        "setup": plain(setup.source),
        "tasks": shown,
        "notebook": None if wanted else notebook,
    }


def plain(setup: str) -> str:
    """The first cell of a notebook, as it is where the course is installed: without the lines that install it."""
    before, _, tried = setup.partition("try:\n")
    return before + dedent(tried.splitlines(keepends=True)[0])


def html(markdown: str) -> str:
    """A statement, with its formulas as MathJax finds them."""
    return str(_reader().render(markdown))


@cache
def _reader() -> MarkdownIt:
    def formula(text: str, about: dict[str, Any]) -> str:
        opened, closed = (r"\[", r"\]") if about["display_mode"] else (r"\(", r"\)")
        return escape(f"{opened}{text}{closed}")

    return MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, renderer=formula)


def write(folder: Path) -> None:
    """A file for each chapter that has tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    every = [path.parent.name.replace("_", "-") for path in sorted(EXERCISES.glob("*/warm-up.ipynb"))]
    for chapter in [*every, *(one for one in OF_PRACTICE if source(one))]:
        (folder / f"{chapter}.json").write_text(json.dumps(tasks(chapter)), encoding="utf-8")
