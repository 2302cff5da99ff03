"""The solutions of the book's exercises:
each piece of code prints what the page says, and one in words alone has a test elsewhere.
"""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from drafts import main_pages, short_chapters

from tests.lessons.every import printed

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]
DIRECTIVE = re.compile(r"^:::\{(exercise|solution)\} *(.*?)\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"^:label: (\S+)$", re.MULTILINE)
CODE = re.compile(r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
ABOUT = re.compile(r"^\*[^*]+\. Difficulty [123], importance [123], \d+ minutes\.\*$", re.MULTILINE)


class Box(NamedTuple):
    """An exercise or a solution of a chapter; argument: the exercise's title, or the label that a solution solves."""

    page: str
    kind: str
    argument: str
    body: str

    @property
    def label(self) -> str:
        return LABEL.search(self.body)[1]


def boxes_of(page: str, text: str) -> list[Box]:
    return [Box(page, *match) for match in DIRECTIVE.findall(text)]


def all_boxes() -> list[Box]:
    found = []
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        found += boxes_of(path.relative_to(ROOT).as_posix(), text)
    return found


BOXES = all_boxes()
# Among the pipelines: twelve models; and those whose model a test of their chapter trains anew at every `make test`.
TRAINED_ANEW = {"sol-three-tests", "sol-another-law", "sol-new-places", "sol-inner-product-wins", "sol-mend-afterwards"}
SNIPPETS = [
    pytest.param(code, printed, id=f"{box.label}-{n}", marks=[pytest.mark.pipeline] * (box.label in TRAINED_ANEW))
    for box in BOXES
    if box.kind == "solution"
    for n, (code, printed) in enumerate(CODE.findall(box.body), 1)
]


# ---- what the pages hold


@pytest.mark.parametrize(("code", "shown"), SNIPPETS)
def test_the_code_of_a_solution_prints_what_the_page_says(code: str, shown: str) -> None:
    assert shown, "a solution shows what its code prints, in a ```text block right below it"
    assert printed(code)[0].rstrip() == shown.rstrip()


def test_every_exercise_says_what_it_takes_and_has_one_solution() -> None:
    exercises = [box for box in BOXES if box.kind == "exercise"]
    solved = [(box.page, box.argument) for box in BOXES if box.kind == "solution"]
    assert sorted(solved) == sorted((box.page, box.label) for box in exercises)
    assert [box.label for box in exercises if not ABOUT.search(box.body)] == []
    assert [box.label for box in BOXES if box.kind == "solution" and ":class: dropdown" not in box.body] == []


def test_every_chapter_has_exercises() -> None:
    least = {path.relative_to(ROOT).as_posix(): 6 for path in main_pages()}
    least |= {path.relative_to(ROOT).as_posix(): 3 for path in short_chapters()}
    counts = Counter(box.page for box in BOXES if box.kind == "exercise")
    assert {page: counts[page] for page in least if counts[page] < least[page]} == {}


def test_a_solution_in_words_alone_has_a_test_that_names_its_exercise() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    words_alone = [box.argument for box in BOXES if box.kind == "solution" and not CODE.search(box.body)]
    assert [label for label in words_alone if f"{label}:" not in tests] == []


def test_the_lines_of_code_fit_the_page() -> None:
    shown = [line for box in BOXES for block in CODE.findall(box.body) for text in block for line in text.split("\n")]
    assert [line for line in shown if len(line) > 76] == []
