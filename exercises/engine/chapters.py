"""Where the files of a chapter's class lie: exercises/<chapter>/, and what a typical wrong answer is.

warm-up.ipynb     small tasks for a week's first hours
experiment.ipynb  an experiment whose plot and conclusion a person marks
assignment.ipynb  statements, solutions, rubric        essays.md   sample essays with their marks
hidden.py         the hidden checks                    board.md    two sessions at the board
typical.py        typical wrong answers                slides.yml  the decks of two lectures
variant.py, .md   what a seed changes                  exam.py, .md  the questions of an exam

A classroom gets a copy of the assignment alone: nbgrader hands out every other file that lies beside it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from course_lib.lessons.shared.grading.replay import EXPERIMENT, WARM_UP, chapter_of

HERE = Path(__file__).resolve().parents[1]  # exercises/, also the folder of a class that names no other


@dataclass(frozen=True)
class Wrong:
    """The reference solution with some answers replaced.

    answers: the whole answer cell, by grade_id. lost: the graded checks that must then give no points; all others give
    full points. message: what the feedback must say.
    """

    answers: dict[str, str] = field(repr=False)
    lost: tuple[str, ...]
    message: str


def module_of(chapter: str) -> str:
    """gauge-freedom -> gauge_freedom, the name of its folder here and of its lesson."""
    return chapter.replace("-", "_")


def file(chapter: str, name: str) -> Path:
    """A file of a chapter's class, such as "hidden.py", whether it is there or not."""
    return HERE / module_of(chapter) / name


def with_file(name: str) -> list[str]:
    """The chapters, in alphabetical order, whose class has this file."""
    folders = (path.parent.name for path in HERE.glob(f"*/{name}"))
    return sorted(folder.replace("_", "-") for folder in folders if folder != "engine")


def module(chapter: str, name: str) -> ModuleType:
    """One of the modules of a chapter's class, such as "hidden"."""
    return importlib.import_module(f"exercises.{module_of(chapter)}.{name}")


def assignments() -> list[str]:
    """The chapters that have an assignment."""
    return with_file("assignment.ipynb")


def warm_ups() -> list[str]:
    """The names of the warm-ups, as a class has them."""
    return [f"{chapter}{WARM_UP}" for chapter in with_file("warm-up.ipynb")]


def experiments() -> list[str]:
    """The names of the marked experiments."""
    return [f"{chapter}{EXPERIMENT}" for chapter in with_file("experiment.ipynb")]


def graded() -> list[str]:
    """All that a class hands in: assignments, warm-ups and experiments."""
    return [*assignments(), *warm_ups(), *experiments()]


def notebook_of(name: str) -> Path:
    """The instructor's notebook of an assignment, of a warm-up or of an experiment."""
    chapter = chapter_of(name)
    return file(chapter, f"{name.removeprefix(chapter)[1:] or 'assignment'}.ipynb")


def hand_over(name: str, course: Path) -> Path:
    """Copies one of `graded` into the folder of a class; returns where nbgrader looks for it."""
    content, target = notebook_of(name).read_bytes(), course / "source" / name / f"{name}.ipynb"
    if not target.exists() or target.read_bytes() != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return target
