"""The instructor's guide: what it names exists, and what it counts is counted right."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from drafts import FIRST, PART, is_draft, main_pages, short_chapters

from course_lib.lessons.shared import quiz

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "book" / "teach" / "instructors-guide.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "tools"))


def test_the_guide_is_a_page_of_the_book() -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    assert "book/teach/instructors-guide" in pages


@pytest.mark.parametrize("link", re.findall(r"\]\(repository:blob/main/([^)#]+)", GUIDE))
def test_links_into_the_repository_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists(), link


def test_the_commands_of_the_guide_exist() -> None:
    """Every program and make target that a code block names."""
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", GUIDE, re.DOTALL)) + GUIDE
    targets = set(re.findall(r"make ([a-z-]+)", blocks))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"classroom", "book", "test"} <= targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
    modules = set(re.findall(r"python -m exercises\.engine\.(\w+)", GUIDE))
    assert modules and [name for name in modules if not (ROOT / f"exercises/engine/{name}.py").is_file()] == []
    files = set(re.findall(r"`exercises/CHAPTER/([\w.]+)`", GUIDE))
    assert {"assignment.ipynb", "hidden.py"} <= files
    assert [name for name in files if not list((ROOT / "exercises").glob(f"*/{name}"))] == []


CHAPTERS = [path for path in (FIRST, *main_pages()) if not is_draft(path)]
LAB = f"{PART}/{PART}-lab"


def text_of(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def exercises_of(path: Path) -> dict[str, int]:
    """Title of each exercise of a chapter -> its minutes."""
    found = re.findall(r":::\{exercise\} (.*?)\n.*?(\d+) minutes\.\*", text_of(path), re.DOTALL)
    return {title.strip('"'): int(minutes) for title, minutes in found}


def test_the_exercises_that_the_guide_assigns_are_in_the_chapter() -> None:
    titles = set(exercises_of(ROOT / "book" / "sampling" / "in-batch-bias.ipynb"))
    plan = GUIDE.split("### Four weeks: one chapter")[1].split("### Four weeks: geometry")[0]
    named = set(re.findall(r"\*([^*]+)\*", plan))
    assert len(named) >= 8 and named <= titles, named - titles


SECTIONS = GUIDE.split("## Chapter by chapter")[-1].split("## What to assign")[0].split("### ")[1:]


def page_of(section: str) -> str:
    """The chapter that a section of the guide is about, "sampling/my-topic", or the lab of a part."""
    return re.search(r"\.\./((?:start|geometry|sampling|debiasing|practice)/[a-z-]+)\.ipynb", section)[1]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.split("\n")[0])
def test_a_section_of_the_guide_assigns_every_exercise_of_its_chapter_once(section: str) -> None:
    page = page_of(section)
    assigned = re.findall(r"\*([^*]+)\*", section.split("Exercises. Before class:")[1].split("Pitfalls:")[0])
    about = short_chapters() if page == LAB else [ROOT / "book" / f"{page}.ipynb"]
    assert sorted(assigned) == sorted(title for path in about for title in exercises_of(path))
    assert section.count("\n1. *") == section.count("\n2. *") == 1  # two sessions


def test_every_finished_chapter_has_a_section() -> None:
    """But the one on in-batch sampling, whose sessions are the first plan of four weeks."""
    pages = {f"{path.parent.name}/{path.stem}" for path in CHAPTERS} | {LAB}
    found = [page_of(section) for section in SECTIONS]
    assert set(found) == pages - {"sampling/in-batch-bias"} and len(found) == len(set(found))


def test_the_guide_gives_the_hours_of_every_chapter_by_the_rule() -> None:
    minutes = GUIDE.split("## Minutes")[1].split("## Plans")[0]
    pages = {f"book/{path.parent.name}/{path.stem}" for path in (*CHAPTERS, *short_chapters())}
    assert set(re.findall(r"^\| \[[^\]]+\]\(\S+\) \| \{hours\}`([^`]+)` \|", minutes, re.MULTILINE)) == pages


def test_the_table_of_misconceptions_comes_from_the_quizzes() -> None:
    import generated_pages

    table = generated_pages.misconceptions()
    wrong = [a for name in quiz.names() for q in quiz.load(name).questions for a in q.answers if not a.right]
    rows = [row for row in table.split("\n") if row.startswith("|")]
    assert len(rows) == len(wrong) + 2 * len(quiz.names()) and all(row.count("|") == 4 for row in rows)
    assert table.count(":::{dropdown}") == len(quiz.names())
    assert "Bias is a kind of noise" in table and "$" not in table
    assert "\\" not in table  # TeX, which no quiz can show: see quiz.markup
    assert "<!-- fill: misconceptions -->" in GUIDE
