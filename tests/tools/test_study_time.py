"""The study time of a page follows its stated rule, and is the same wherever it is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from drafts import is_draft, main_pages

from tools import study_time
from tools.course_index import Index

# What the two critical readers took for a page of October 2026, with its exercises, and the page's own counts.
READ = {
    "cosine": (2811, 169, 6, 216, 125, 240),
    "jacobian": (2948, 166, 6, 335, 155, 300),
    "popularity": (3465, 177, 6, 150, 95, 270),
    "gauge": (4197, 348, 5, 178, 120, 360),
    "in-batch": (3846, 246, 8, 249, 180, 300),
    "gramian": (4389, 313, 5, 379, 135, 300),
    "direction": (3889, 206, 6, 37, 150, 300),
    "ddc": (4031, 225, 7, 92, 120, 300),
}


def page(folder: Path, words: int, formulas: int, displayed: int, lines: int, exercises: int) -> Path:
    """A notebook with so many of each."""
    text = (
        "word " * words + "$x$ " * formulas + "\n\n" + "$$\ny\n$$\n\n" * displayed + "\n## Exercises\n\nMore words.\n"
    )
    task = f"*Prove. Difficulty 1, importance 2, {exercises} minutes.*"
    cells = [{"cell_type": "markdown", "source": source, "metadata": {}} for source in (text, task)]
    cells.append({"cell_type": "code", "source": "\n".join(["pass"] * lines), "metadata": {}})
    cells.append({"cell_type": "code", "source": "hidden = 1\n" * 50, "metadata": {"tags": ["hide-input"]}})
    path = folder / "page.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", READ)
def test_the_rule_agrees_within_a_quarter_with_what_readers_took(tmp_path: Path, name: str) -> None:
    *counts, took = READ[name]
    words, formulas, displayed, lines, exercises = counts
    time = study_time.of_page(page(tmp_path, *counts))
    assert time.reading == pytest.approx(words / 45 + formulas / 6 + displayed + lines / 10)
    assert time.exercises == exercises
    assert abs(time.reading + time.exercises - took) <= took / 4


def test_markup_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    box = ":::{note}\n:class: c\nIn it.\n:::\n\nAfter it.\n"
    path.write_text(f"Two words {{finding}}`x-y-z` [here](../a/b.ipynb)<!-- a comment -->.\n{box}")
    assert study_time.of_page(path).reading == pytest.approx(7 / 45)


def test_times_are_said_in_fives_and_halves() -> None:
    assert study_time.in_words(63.0) == "65 minutes" and study_time.in_words(1.0) == "5 minutes"
    assert study_time.StudyTime(150, 100).hours == "4 hours"
    assert study_time.StudyTime(50, 45).hours == "1.5 hours"
    assert study_time.StudyTime(35, 25).hours == "an hour"
    assert study_time.StudyTime(15, 10).hours == "less than an hour"


def test_the_hours_of_every_chapter_stand_on_the_map() -> None:
    index = Index()
    text = (index.root / "book" / "index.md").read_text(encoding="utf-8")
    for path in (path for path in main_pages() if not is_draft(path)):
        name = path.relative_to(index.root).with_suffix("").as_posix()
        assert f"{{hours}}`{name}`" in text
        assert study_time.of_name(name).reading > 20
        said = path.read_text(encoding="utf-8")
        assert "{minutes}`reading`" in said and "{minutes}`exercises`" in said, name  # in the head, by the rule
    with pytest.raises(KeyError, match="no page"):
        study_time.of_name("book/none")
    with pytest.raises(KeyError, match="expected one of reading"):
        study_time.said("minutes", "all", "book/index")
