"""`make chapter`: what it writes is whole, and a name that cannot be used is refused before anything is written.

That the book builds and every test passes with the new chapter takes minutes, and is tried by hand.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

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
