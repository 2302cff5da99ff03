"""`make chapter`: what it writes is whole, and a name that cannot be used is refused before anything is written.

That the book builds and every test passes with the new chapter takes minutes, and is tried by hand.
"""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest
import yaml

from course_lib.lessons.shared.quiz import reading
from tools import new_chapter
from tools.claims import rows
from tools.new_chapter import Chapter, ChapterError

ROOT = Path(__file__).resolve().parents[2]
MINE = Chapter("my-topic", "sampling", "My topic")


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """What `make chapter` reads of the repository, elsewhere."""
    for name in ("_toc.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for path in rows.files():
        shutil.copytree(
            path.parent, tmp_path / path.parent.relative_to(ROOT), ignore=lambda _, names: {*names} - {"claims.yml"}
        )
    return tmp_path


def test_every_file_is_written_and_can_be_read(house: Path) -> None:
    written = new_chapter.write(MINE, house)
    assert {path.relative_to(house).as_posix() for path in written} == set(new_chapter.files(MINE))
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "<<" not in text or path.suffix == ".js", path
        if path.suffix == ".py":
            ast.parse(text)
        if path.suffix == ".ipynb":
            assert json.loads(text)["metadata"]["course"]["draft"] is True


def test_its_quiz_and_its_claims_pass_their_strict_readers(house: Path) -> None:
    new_chapter.write(MINE, house)
    assert len(reading.read(house / "course_lib/lessons/my_topic/quiz.yml").questions) >= 1
    known = {claim.id for claim in rows.load()}
    added = [claim for claim in rows.load(house / "course_lib" / "lessons") if claim.id not in known]
    assert len(added) >= 1 and all(claim.chapter == "sampling/my-topic" for claim in added)


def test_the_contents_name_the_page_its_further_page_and_its_lab(house: Path) -> None:
    new_chapter.write(MINE, house)
    toc = yaml.safe_load((house / "_toc.yml").read_text(encoding="utf-8"))
    [part] = [part for part in toc["parts"] if part["caption"] == "Sampling"]
    page = "book/sampling/my-topic"
    assert part["chapters"][-1] == {"file": page, "sections": [{"file": f"{page}-further"}, {"file": f"{page}-lab"}]}
    [part] = [part for part in toc["parts"] if part["caption"] == "Reference"]
    below = {entry["file"].rpartition("/")[2]: entry.get("sections", []) for entry in part["chapters"]}
    assert below["claims"][-1] == {"file": "book/reference/claims/my-topic", "title": "My topic"}
    [lessons] = [entry for entry in below["api"] if entry["file"].endswith("/lessons")]
    assert {"file": "book/reference/api/lessons/my-topic", "title": "My topic"} in lessons["sections"]


@pytest.mark.parametrize(
    ("chapter", "said"),
    [
        (Chapter("My Topic", "sampling", "x"), "NAME='My Topic': expected lower-case words"),
        (Chapter("class", "sampling", "x"), "NAME='class'"),
        (Chapter("my-topic", "cooking", "x"), "PART='cooking': expected one of geometry, sampling, debiasing"),
    ],
)
def test_what_cannot_be_used_is_refused(house: Path, chapter: Chapter, said: str) -> None:
    with pytest.raises(ChapterError, match=said):
        new_chapter.write(chapter, house)
    assert not (house / "course_lib" / "lessons" / "my_topic").exists()


def test_a_chapter_is_never_overwritten(house: Path) -> None:
    new_chapter.write(MINE, house)
    with pytest.raises(ChapterError, match="exists already"):
        new_chapter.write(MINE, house)
