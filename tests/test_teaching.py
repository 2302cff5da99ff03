"""The instructor's guide: what it names exists, and what it counts is counted right."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from course_lib import quiz

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "book" / "teach" / "instructors-guide.md").read_text(encoding="utf-8")
ASSIGNMENT = ROOT / "exercises" / "source" / "in-batch-bias" / "in-batch-bias.ipynb"
sys.path.insert(0, str(ROOT / "tools"))


def test_the_guide_is_a_page_of_the_book() -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    assert "book/teach/instructors-guide" in pages


@pytest.mark.parametrize("link", re.findall(r"\]\(repository:blob/main/([^)#]+)", GUIDE))
def test_links_into_the_repository_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists(), link


@pytest.mark.parametrize("link", re.findall(r"\]\((\.\.[^)#]+)", GUIDE))
def test_links_to_pages_lead_somewhere(link: str) -> None:
    assert (ROOT / "book" / "teach" / link).resolve().is_file(), link


def test_the_commands_of_the_guide_exist() -> None:
    """Every program and make target that a code block names."""
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", GUIDE, re.DOTALL)) + GUIDE
    targets = set(re.findall(r"make ([a-z-]+)", blocks))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"classroom", "book", "test"} <= targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
    scripts = set(re.findall(r"exercises/\w+\.py", GUIDE))
    assert scripts and [script for script in scripts if not (ROOT / script).is_file()] == []
    folders = set(re.findall(r"`(exercises/(?:hidden|source))/`", GUIDE))
    assert len(folders) == 2 and all((ROOT / folder).is_dir() for folder in folders)


def test_the_points_are_those_of_the_assignment() -> None:
    cells = json.loads(ASSIGNMENT.read_text(encoding="utf-8"))["cells"]
    graded = [cell["metadata"].get("nbgrader", {}) for cell in cells]
    total = sum(cell.get("points") or 0 for cell in graded if cell.get("grade"))
    stated = re.search(r"`in-batch-bias`, (\d+) points in six tasks: (.*?)\. The first", GUIDE, re.DOTALL)
    assert int(stated[1]) == total == sum(map(int, re.findall(r"\((\d+)\)", stated[2])))
    assert len(re.findall(r"\(\d+\)", stated[2])) == 6


def test_the_exercises_that_the_guide_assigns_are_in_the_chapter() -> None:
    chapter = (ROOT / "book" / "sampling" / "in-batch-bias.ipynb").read_text(encoding="utf-8")
    if "{exercise}" not in chapter:
        pytest.skip("the chapter has no exercises yet")
    titles = {title.strip('"') for title in re.findall(r":::\{exercise\} (.*?)\\n", chapter.replace('\\"', ""))}
    plan = GUIDE.split("### Four weeks")[1].split("### Eight weeks")[0]
    named = set(re.findall(r"\*([^*]+)\*", plan))
    assert len(named) >= 8 and named <= titles, named - titles


def chapters(text: str) -> dict[str, str]:
    """What the map on the first page of the course says of a chapter, in lower case -> its state."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))  # links: their words
    entries = re.findall(r"- ([^\[\]]+)\[(planned|finished)\]", text)
    return {name.lower(): state for name, state in entries}


def test_the_guide_and_the_map_agree_on_what_is_finished() -> None:
    known = chapters((ROOT / "book" / "index.md").read_text(encoding="utf-8"))
    assert "finished" in known.values()
    minutes = GUIDE.split("## Minutes")[1].split("## Three plans")[0]
    rows = re.findall(r"^\| ([^|]+?) \| \[(planned|finished)\]", minutes, re.MULTILINE)
    stated = {name.lower(): state for name, state in rows if name != "its lab"}
    assert len(stated) == len(known) == 8
    assert {name: [known[one] for one in known if name in one] for name in stated} == {name: [state] for name, state in stated.items()}


def test_the_table_of_misconceptions_comes_from_the_quizzes() -> None:
    import generated_pages

    table = generated_pages.misconceptions()
    wrong = [a for name in quiz.names() for q in quiz.load(name).questions for a in q.answers if not a.right]
    rows = [row for row in table.split("\n") if row.startswith("|")]
    assert len(rows) == len(wrong) + 2 * len(quiz.names()) and all(row.count("|") == 3 for row in rows)
    assert table.count(":::{dropdown}") == len(quiz.names())
    assert "Bias is a kind of noise" in table and "$" not in table
    assert "<!-- fill: misconceptions -->" in GUIDE
