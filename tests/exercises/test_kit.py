"""The written parts of the kit: board notes, essays, projects. Their sums add up, and they read like the book."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from drafts import classes

from exercises.engine import chapters, exam, simulate
from exercises.engine.grading.items import of_answer
from tools import conclusions, prose, toc
from tools.slides import deck

ROOT = Path(__file__).resolve().parents[2]
BOARD, ESSAYS = chapters.with_file("board.md"), chapters.with_file("essays.md")
OF_ALL = [chapters.HERE / "engine" / name for name in ("projects.md", "syllabus.md")]
TEXTS = [*OF_ALL, *chapters.HERE.glob("*/board.md"), *chapters.HERE.glob("*/essays.md")]
LEVELS = ("Weak", "Middling", "Strong")
by_name = {"ids": lambda path: f"{path.parent.name}-{path.stem}"}


@pytest.mark.parametrize("path", TEXTS, **by_name)
def test_a_page_of_the_kit_passes_the_copy_editor(path: Path) -> None:
    assert list(prose.finds(path.read_text(encoding="utf-8"))) == []


@pytest.mark.seconds
def test_an_exam_passes_the_copy_editor(tmp_path: Path) -> None:
    exam.write(tmp_path, {name: exam.exam(name).templates for name in exam.with_exam()}, "any words")
    for name in ("questions.md", "answers-and-marks.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert list(prose.finds(text)) == []


def test_every_chapter_has_board_notes() -> None:
    assert set(BOARD) == classes()


@pytest.mark.parametrize("name", BOARD)
def test_board_notes_fill_two_sessions_and_one_page_each(name: str) -> None:
    text = chapters.file(name, "board.md").read_text(encoding="utf-8")
    page = ROOT / f"{toc.page_of(name)}.ipynb"
    title = "".join(json.loads(page.read_text(encoding="utf-8"))["cells"][0]["source"]).split("\n")[0]
    sessions = text.split("\n## Session ")
    head, how_long = sessions[0].strip().split("\n\n")
    assert head == f"{title}, at the board" and len(sessions) == 3
    assert "sessions of 90 minutes" in how_long and f"(`make slides`) fills {deck.SESSION} of them" in how_long
    for session in sessions[1:]:
        spans = [(int(a), int(b)) for a, b in re.findall(r"^\| (\d+)–(\d+) \|", session, re.MULTILINE)]
        assert spans[0][0] == 0 and spans[-1][1] == 90
        assert all(before[1] == after[0] for before, after in pairwise(spans))
        assert "**Guess to collect**" in session and len(session.split()) < 400


def test_every_assignment_has_sample_essays() -> None:
    assert chapters.assignments() == ESSAYS


@pytest.mark.parametrize("name", ESSAYS)
def test_the_criteria_of_sample_essays_are_the_points_of_the_rubric(name: str) -> None:
    question, solution = ("".join(cell["source"]) for cell in simulate.source(name)["cells"][-2:])
    intro = chapters.file(name, "essays.md").read_text(encoding="utf-8").split("\n\nGrade")[0]
    number = re.match(r"## Task (\d)\.", question)
    assert number and intro.startswith(f"# Three essays on `{name}`, task {number[1]}\n")
    bullets = re.findall(r"^- (.+?): (.+)[;.]$", intro, re.MULTILINE)
    stated = [f"{name}: {text}" for names, text in bullets for name in re.findall(r"\*\*([^*]+)\*\*", names)]
    assert len(stated) == sum(one.points for one in of_answer(solution))


@pytest.mark.parametrize("name", ESSAYS)
def test_sample_essays_are_marked_by_the_rubric_of_their_task(name: str) -> None:
    text = chapters.file(name, "essays.md").read_text(encoding="utf-8")
    graded = [cell["metadata"]["nbgrader"] for cell in simulate.source(name)["cells"]]
    [worth] = [about["points"] for about in graded if about["grade"] and about["solution"]]
    criteria = re.findall(r"\*\*([^*]+)\*\*", text.split("a point each:")[1].split("\n\nGrade")[0])
    totals = []
    for level, part in zip(LEVELS, text.split("\n## ")[1:], strict=True):
        stated = re.match(rf"{level}: (\d) of {worth}\n", part)
        assert stated, level
        marks = re.findall(r"^\| ([^|]+) \| (\d) \| [^|]{10,} \|$", part, re.MULTILINE)
        assert [name for name, _ in marks] == criteria and len(criteria) == worth
        totals.append(sum(int(points) for _, points in marks))
        assert totals[-1] == int(stated[1])
        essay = " ".join(line.removeprefix("> ") for line in part.split("\n") if line.startswith(">"))
        assert 150 <= len(essay.split()) <= 300, len(essay.split())
        [comment] = re.findall(r"^\*\*To the student\.\*\* (.+?)\n(?:\n|\Z)", part, re.MULTILINE | re.DOTALL)
        assert 2 <= len(list(conclusions.sentences(" ".join(comment.split())))) <= 3
        lost = [name for name, points in marks if points == "0"]  # the comment names a point to be had next
        assert any(f"**{name}**" in comment for name in lost) if lost else comment.startswith("Full marks")
    assert totals[0] < worth / 2 <= totals[1] < totals[2] == worth


def test_the_projects_add_up() -> None:
    text = OF_ALL[0].read_text(encoding="utf-8")
    assert len(re.findall(r"^## \d\. ", text, re.MULTILINE)) == 4
    rubric = text.split("## Rubric, ")[1]
    [worth] = re.findall(r"^(\d+) points", rubric)
    assert sum(int(points) for points in re.findall(r"^\| [^|]+ \| (\d+) \|", rubric, re.MULTILINE)) == int(worth)
    hours = [float(hour) for hour in re.findall(r" ([\d.]+) \|$", text.split("## Rubric")[0], re.MULTILINE)]
    assert f"For pairs, {sum(hours):g} hours for each student" in text and len(hours) == 5
    for part in text.split("\n## ")[3:]:
        for word in ("**Data**", "**Runs**", "**Controls**", "**Milestone 1", "**Pass**", "**Excellent**", "**Trap**"):
            assert word in part, (part[:40], word)
