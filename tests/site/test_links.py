"""The built pages, read without a browser:
every link leads somewhere, every picture speaks, nothing comes from outside.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.site.html_pages import CHAPTERS, ROOT, Page, find_pages, is_outside, read_page, target_of
from tools import generated_pages, toc

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
ENTRIES = [chapter for part in TOC["parts"] for chapter in part["chapters"]]
EXPECTED = [entry.page for entry in toc.entries(TOC)]

pytestmark = pytest.mark.usefixtures("site_folder")


@cache
def pages(folder: Path) -> tuple[Page, ...]:
    return tuple(read_page(path) for path in find_pages(folder))


is_file = cache(Path.is_file)


@cache
def ids_of(path: Path) -> frozenset[str]:
    return frozenset(read_page(path).ids)


def test_every_chapter_and_its_lab_are_pages_of_the_book() -> None:
    assert CHAPTERS and len(EXPECTED) >= 10
    for chapter in CHAPTERS:
        name = chapter.removesuffix(".html")
        [entry] = [entry for entry in ENTRIES if entry["file"] == name]
        sections = [section["file"] for section in entry["sections"]]
        assert sections[-1] == f"{name}-lab" and {page.removeprefix(name) for page in sections} <= set(toc.BESIDE)


def test_every_internal_link_and_anchor_leads_somewhere(site_folder: Path) -> None:
    broken, anchors = [], 0
    for page in pages(site_folder):
        for link in page.links:
            if is_outside(link) or link in ("", "#"):
                continue
            file, anchor = target_of(page.path, link)
            anchors += bool(anchor)
            if not is_file(file):
                broken.append(f"{page.path.relative_to(site_folder)}: {link}: no such file")
            elif anchor and file.suffix == ".html" and anchor not in ids_of(file):
                broken.append(f"{page.path.relative_to(site_folder)}: {link}: no such anchor")
    assert broken == [] and anchors > 20


def test_every_file_that_a_page_loads_is_part_of_the_site(site_folder: Path) -> None:
    missing = []
    for page in pages(site_folder):
        for address in page.loads:
            if address.startswith("data:"):
                continue
            if is_outside(address) or not target_of(page.path, address)[0].is_file():
                missing.append(f"{page.path.relative_to(site_folder)}: {address}")
    assert missing == []


def test_no_style_sheet_of_the_course_asks_another_host(site_folder: Path) -> None:
    sheets = list((site_folder / "_static").glob("course*.css"))
    assert sheets
    for sheet in sheets:
        assert not re.search(r"url\(\s*['\"]?(https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet.name


def test_every_picture_in_an_article_says_in_words_what_it_shows(site_folder: Path) -> None:
    silent = []
    for page in pages(site_folder):
        for image in page.images:
            alt = image.get("alt", "").strip()
            if len(alt.split()) < 3 or alt.endswith((".png", ".svg", ".jpg")) or "/" in alt.split()[0]:
                silent.append(f"{page.path.relative_to(site_folder)}: {image.get('src')}: alt={alt!r}")
    assert silent == []


def test_no_id_stands_twice_on_a_page(site_folder: Path) -> None:
    twice = {
        str(page.path.relative_to(site_folder)): doubled
        for page in pages(site_folder)
        if page.path.name != "search.html"  # Sphinx's own page carries the theme's search box twice
        and (doubled := [name for name, count in Counter(page.ids).items() if count > 1])
    }
    assert twice == {}


def test_live_code_of_thebe_and_widget_managers_are_absent(site_folder: Path) -> None:
    for page in pages(site_folder):
        text = page.path.read_text(encoding="utf-8")
        for word in ("thebe", "require.min.js", "html-manager", "jsdelivr", "unpkg.com", "cdnjs"):
            assert word not in text, f"{page.path.relative_to(site_folder)} mentions {word}"


def test_the_start_page_leads_to_the_book(site_folder: Path) -> None:
    assert "book/index.html" in (site_folder / "index.html").read_text(encoding="utf-8")


def test_every_interactive_says_draws_and_lists_what_it_shows_without_javascript(site_folder: Path) -> None:
    for page in pages(site_folder):
        if page.widgets:
            text = page.path.read_text(encoding="utf-8")
            assert text.count('class="cw-summary"') == len(page.widgets), page.path
            tables, pictures = text.count('class="cw-static-table"'), len(re.findall('<svg[^>]*role="img"', text))
            assert pictures >= tables == len([name for name in page.widgets if name != "quiz"]), page.path


@pytest.mark.seconds
def test_everything_public_of_the_library_has_an_entry(site_folder: Path) -> None:
    """What a module defines, or a package hands on, on the page of its room; and the index has a line for it."""
    missing, listed, seen = [], ids_of(site_folder / f"{generated_pages.API}.html"), 0
    for room in (name for name in generated_pages.rooms() if not name.startswith("lessons.")):
        ids = ids_of(site_folder / f"{generated_pages.api_page(room)}.html")
        for module in generated_pages.modules_of(room):
            names = _public(module)
            seen += len(names)
            missing += [name for name in names if name not in ids or name not in listed]
    assert missing == [] and seen > 400


def _public(module: str) -> list[str]:
    """The public functions and classes of a module that have a docstring, with the module's name."""
    found = importlib.import_module(module)
    names = getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")])
    things = {name: getattr(found, name) for name in names}
    return [
        f"{module}.{name}"
        for name, thing in things.items()
        if (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__.startswith(module)
        and thing.__doc__
    ]
