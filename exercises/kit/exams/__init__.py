"""The exam questions, a module for each chapter; a chapter without one has no exam yet."""

from __future__ import annotations

import importlib
from pathlib import Path

from exercises.kit.asking import Exam
from tools import toc


def chapters() -> list[str]:
    """The chapters that have an exam, in the order of the book."""
    found = {path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[!_]*.py")}
    order = [Path(page).name for page, _ in toc.pages()]
    return sorted(found, key=lambda name: (order.index(name) if name in order else len(order), name))


def exam(chapter: str) -> Exam:
    """The exam of a chapter. KeyError for a chapter that has none."""
    if chapter not in chapters():
        raise KeyError(f"no exam on {chapter!r}; expected one of {', '.join(chapters())}")
    made: Exam = importlib.import_module(f"exercises.kit.exams.{chapter.replace('-', '_')}").EXAM
    return made
