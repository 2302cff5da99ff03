"""The notation page and course_lib use the same names, and the map of the course tells what exists."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest
import yaml
from drafts import is_draft, main_pages

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    row
    for group in yaml.safe_load((ROOT / "book" / "notation.yml").read_text(encoding="utf-8"))
    for row in group["rows"]
]
USES = [(row["code"], use) for row in ROWS for use in row.get("used_in", [])]


@pytest.mark.parametrize(("code", "use"), USES, ids=[f"{code}-{use}" for code, use in USES])
def test_the_function_has_an_argument_of_this_name(code: str, use: str) -> None:
    module, function, *name = use.split(":")
    parameters = inspect.signature(getattr(importlib.import_module(module), function)).parameters
    assert (name[0] if name else code) in parameters


def test_the_notation_is_held_to_the_code_in_many_places() -> None:
    assert len(USES) >= 15


def test_no_name_and_no_symbol_means_two_things() -> None:
    names = [name.strip() for row in ROWS for name in row["code"].split(",")]
    symbols = [row["symbol"] for row in ROWS if row["symbol"]]
    assert len(names) == len(set(names)) and len(symbols) == len(set(symbols))


def test_the_map_of_the_course_links_every_chapter_that_exists() -> None:
    index = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    chapters = [path for path in main_pages() if not is_draft(path)]
    pages = [*chapters, *(lab for path in chapters if (lab := path.with_stem(f"{path.stem}-lab")).is_file())]
    missing = [path.name for path in pages if f"({path.parent.name}/{path.name})" not in index]
    assert missing == []
