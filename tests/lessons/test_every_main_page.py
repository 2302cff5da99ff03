"""Every main page: the code that it shows is short, from scratch and compared with the library, and no plumbing."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from drafts import FIRST, is_draft, main_pages

from course_lib.checking import some

PAGES = [path for path in main_pages() if not is_draft(path)]
FOLDED = {"hide-cell", "hide-input", "remove-input", "remove-cell"}
NOT_SHOWN = {"hide-cell", "hide-output", "remove-output", "remove-cell"}
BUILD = re.compile(r"^## Build it\b", re.M)
PLUMBING = re.compile(r"\bpublish\(|\bresiduals?\b|\[0(?:\.0)?(?:, 0(?:\.0)?)+\]")  # the last is a list of zeros

Cell = dict[str, Any]


def cells_of(page: Path) -> list[Cell]:
    cells: list[Cell] = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return cells


def tags(cell: Cell) -> set[str]:
    return set(cell["metadata"].get("tags", []))


def source(cell: Cell) -> str:
    return "".join(cell["source"])


def shown_code(cells: list[Cell]) -> list[str]:
    """The source of each code cell that a reader sees without unfolding anything."""
    return [source(cell) for cell in cells if cell["cell_type"] == "code" and not FOLDED & tags(cell)]


def build_cells(cells: list[Cell]) -> list[Cell]:
    """The cells of the sections called "Build it", up to the next heading of that rank."""
    found, inside = [], False
    for cell in cells:
        if cell["cell_type"] == "markdown" and (headings := re.findall(r"^## .*$", source(cell), re.M)):
            inside = bool(BUILD.match(headings[-1]))
        elif inside:
            found.append(cell)
    return found


def lines_from_scratch(code: str) -> int:
    """Lines with code or a comment that are no part of an assertion."""
    asserted = {
        line
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Assert)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(bool(line.strip()) and at not in asserted for at, line in enumerate(code.splitlines(), start=1))


def outputs(cell: Cell) -> str:
    """The text of what a cell prints or returns."""
    texts = [output.get("text", output.get("data", {}).get("text/plain", "")) for output in cell.get("outputs", [])]
    return "\n".join("".join(text) for text in texts)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_thing_is_built_in_10_to_25_lines_and_compared_with_the_library(page: Path) -> None:
    shown = shown_code(build_cells(cells_of(page)))
    assert 10 <= sum(map(lines_from_scratch, shown)) <= 25
    assert any(isinstance(node, ast.Assert) for code in shown for node in ast.walk(ast.parse(code)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_main_page_shows_no_plumbing(page: Path) -> None:
    cells = cells_of(page)
    text = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    prose = text.split("\n## Exercises")[0]
    printed = [outputs(cell) for cell in cells if cell["cell_type"] == "code" and not NOT_SHOWN & tags(cell)]
    assert prose and [shown for shown in (prose, *shown_code(cells), *printed) if PLUMBING.search(shown)] == []
    assert PLUMBING.search("publish('a', 1)") and PLUMBING.search("[0, 0, 0]")


BOOK = Path(__file__).resolve().parents[2] / "book"
EVERY_CHAPTER = {page.stem for page in (*main_pages(), FIRST)}


def chapters_linked(text: str) -> set[str]:
    """The chapters, by their names, whose main pages a text links to."""
    return set(re.findall(r"\(\S*?([\w-]+)\.ipynb\)", text)) & EVERY_CHAPTER


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_map_and_the_top_of_a_page_name_the_same_chapters_to_read_before(page: Path) -> None:
    name = page.relative_to(BOOK).with_suffix("").as_posix()
    cards = (BOOK / "index.md").read_text(encoding="utf-8")
    on_the_map = re.search(rf"^Takes {{hours}}`book/{name}`\. Needs: (.*?)\. \[Further\]", cards, re.M)
    on_the_page = re.search(r"^You need (.*?) · ", source(cells_of(page)[0]), re.M)
    assert on_the_map and on_the_page
    assert chapters_linked(on_the_map[1]) == chapters_linked(on_the_page[1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_link_to_a_claim_has_words_and_no_label(page: Path) -> None:
    prose = "\n".join(source(cell) for cell in cells_of(page) if cell["cell_type"] == "markdown")
    assert re.findall(r"\[[PX]\d[^\]]*\]\(\S*#claim-", prose) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_at_a_glance_is_one_line(page: Path) -> None:
    boxes = re.findall(r"^:class: at-a-glance\n\n(.*?)\n:::", source(cells_of(page)[0]), re.M | re.S)
    [line] = [re.sub(r"\]\([^)]*\)|\{[\w:]+\}|[\[`]", "", box) for box in boxes]
    assert "\n" not in line and len(line) <= 130


CODE = re.compile(r"(?<![\w`#-])P[0-4]\b(?!-)")


def test_a_text_names_papers_by_their_authors() -> None:
    """The codes P0 to P4 stand in tables, in code and in the names of claims and experiments."""
    for page in some(sorted(BOOK.glob("*/*.ipynb"))):
        prose = "\n".join(source(cell) for cell in cells_of(page) if cell["cell_type"] == "markdown")
        prose = re.sub(r"^(?P<fence>```+)(?!\{).*?^(?P=fence)|`[^`\n]*`", "", prose, flags=re.M | re.S)
        lines = [line for line in prose.splitlines() if not line.startswith(("|", "    "))]
        assert [line for line in lines if CODE.search(line)] == [], page.stem
    assert CODE.search("P0's Table 2") and not CODE.search("run P3-X2")
