"""The notation page and course_lib use the same names, and the map of the course tells what exists."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest
import yaml
from drafts import is_draft, main_pages, short_chapters

from tools import symbols

ROOT = Path(__file__).resolve().parents[2]
GROUPS = yaml.safe_load((ROOT / "book" / "notation.yml").read_text(encoding="utf-8"))
ROWS = [row for group in GROUPS for row in group["rows"]]
NOTEBOOKS = (path for path in (ROOT / "book").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
PAGES = sorted(path for path in NOTEBOOKS if not is_draft(path))
CHAPTERS = sorted({path.stem for path in (*main_pages(), *short_chapters())})
USES = [(row["code"], use) for row in ROWS for use in row.get("used_in", [])]


@pytest.mark.parametrize(("code", "use"), USES, ids=[f"{code}-{use}" for code, use in USES])
def test_the_function_has_an_argument_of_this_name(code: str, use: str) -> None:
    module, function, *name = use.split(":")
    parameters = inspect.signature(getattr(importlib.import_module(module), function)).parameters
    assert (name[0] if name else code) in parameters


def test_the_notation_is_held_to_the_code_in_many_places() -> None:
    assert len(USES) >= 15


def test_no_name_means_two_things_and_in_a_chapter_no_symbol_does() -> None:
    names = [name.strip() for row in ROWS for name in row["code"].split(",") if name]
    assert len(names) == len(set(names))
    for chapter in CHAPTERS:
        rows = [row for row in symbols.rows(chapter) if not row.get("local")]
        written = [head.strip() for row in rows for head in row["symbol"].split("=")[0].split(",") if head]
        assert len(written) == len(set(written)), chapter


def test_a_letter_with_several_meanings_in_the_book_says_why() -> None:
    listed = [row for group in GROUPS for row in group.get("several", [])]
    letters = [symbol for row in listed for name in row["symbol"].split(",") for symbol in symbols.symbols(name)]
    assert sorted(letters) == list(symbols.meanings())
    assert all(len(row["why"]) > 20 for row in listed)


def test_every_row_says_in_which_chapters_it_holds_and_these_use_it() -> None:
    pages = {chapter: [page for page in PAGES if symbols.chapter_of(page) == chapter] for chapter in CHAPTERS}
    used = {chapter: set().union(*map(symbols.used, found)) for chapter, found in pages.items()}
    for group in GROUPS:
        for row in group["rows"]:
            assert not row["symbol"] or "in" in row or "only" in group or "everywhere" in group, row["symbol"]
            for chapter in row.get("in", [group["only"]] if "only" in group else []):
                assert symbols.symbols(row["symbol"].split("=")[0]) & used[chapter], (row["symbol"], chapter)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_notation_has_every_symbol_of_a_page(page: Path) -> None:
    assert symbols.unknown(page) == {}


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (r"\hat q = q/\lVert q\rVert", {"hat q", "q"}),
        (r"L_{DDC}(\alpha_u) + e_u^{final}", {"L", "alpha", "u", "e"}),
        (r"\mathbb{E}[w\,\hat{\mathbb{O}}] \text{ over the triples}", {"mathbb E", "w", "hat O"}),
        (r"\begin{aligned} x_{ij} &= \ln(1+s) \end{aligned}", {"x", "i", "j", "s"}),
    ],
)
def test_the_symbols_of_a_formula(formula: str, found: set[str]) -> None:
    assert symbols.symbols(formula) == found


def test_a_symbol_that_nobody_explained_is_found(tmp_path: Path) -> None:
    page = tmp_path / "ddc-further.md"
    page.write_text("Here $\\gamma$ and $e_{pop}$ are known, and $\\Xi_{uij}$ is not.", encoding="utf-8")
    assert symbols.unknown(page) == {"Xi": "\\Xi_{uij}"}


def test_a_letter_of_another_chapter_must_be_declared_anew(tmp_path: Path) -> None:
    page = tmp_path / "cosine-orthogonality-further.md"
    page.write_text("The share $\\beta$ of the past, and the angle $\\varphi$.", encoding="utf-8")
    assert symbols.unknown(page) == {"beta": "\\beta"}


def test_what_one_chapter_introduces_belongs_to_a_chapter() -> None:
    only = [group["only"] for group in GROUPS if "only" in group]
    assert only and set(only) <= {path.stem for path in PAGES} and len(only) == len(set(only))


def test_the_map_of_the_course_links_every_chapter_that_exists() -> None:
    index = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    chapters = [path for path in main_pages() if not is_draft(path)]
    pages = [*chapters, *(lab for path in chapters if (lab := path.with_stem(f"{path.stem}-lab")).is_file())]
    missing = [path.name for path in pages if f"({path.parent.name}/{path.name})" not in index]
    assert missing == []
