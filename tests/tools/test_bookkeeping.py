"""Bookkeeping stays in the notebooks: pages show what is for readers."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes, utils

from tools import bookkeeping

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
LONG = "total = 0\nfor i in range(3):\n    total += i\n    total *= 2\nmean = total / 3"


def cell(code: str, *printed: str, tags: tuple[str, ...] = ()) -> nodes.document:
    """A page with one cell, as MyST-NB makes it."""
    page = utils.new_document("page")
    made = nodes.container(
        classes=["cell"], nb_element="cell_code", cell_metadata={"tags": list(tags)}, hide_mode="input"
    )
    made += nodes.container("", nodes.literal_block(code, code), classes=["cell_input"])
    if printed:
        blocks = [nodes.literal_block(text, text, classes=["output", "stream"]) for text in printed]
        made += nodes.container("", *blocks, classes=["cell_output"])
    page += made
    return page


def app_of(*published: str) -> SimpleNamespace:
    """Sphinx, while it reads a page that publishes numbers under these names."""
    return SimpleNamespace(env=SimpleNamespace(docname="page", nb_metadata={"page": {"glue": list(published)}}))


def left(page: nodes.document, *published: str) -> list[str]:
    bookkeeping.tidy(app_of(*published), page)
    return [block.astext() for block in page.findall(nodes.literal_block)]


def test_published_numbers_leave_the_page_and_other_words_stay() -> None:
    printed = cell("publish('slope', s)", "slope = 0.25\np9-share = 1 / 3")
    assert left(printed, "slope", "p9-share") == ["publish('slope', s)"]
    assert left(cell("print(s)", "The slope is 0.25.", "slope = 1"), "slope")[1:] == ["The slope is 0.25."]
    announced = "SCALE-X1 at smoke scale: 2 of 2 cells to run, about 24 s on 2 cores"
    assert left(cell("run()", announced)) == ["run()"]


@pytest.mark.parametrize("published", [(), ("slope",), ("alpha", "slope")])
def test_printed_lines_of_another_form_or_name_stay(published: tuple[str, ...]) -> None:
    answer = "alpha = 0.59, beta = 2.61\nbeta = 2.61"
    assert left(cell("print(answer)", answer), *published) == ["print(answer)", answer]


def test_a_page_without_published_numbers_keeps_what_it_prints() -> None:
    app = SimpleNamespace(env=SimpleNamespace(docname="page"))  # MyST-NB has collected nothing so far
    bookkeeping.tidy(app, page := cell("print(a)", "a = 1"))
    assert [block.astext() for block in page.findall(nodes.literal_block)] == ["print(a)", "a = 1"]


def test_folded_code_that_only_imports_publishes_or_draws_leaves_no_bar() -> None:
    imports = "import numpy as np\n" * 6
    assert left(cell(imports, tags=("hide-input",))) == []
    assert left(cell(imports + LONG, tags=("hide-input",))) == []  # sets the page up, and shows nothing
    drawn = cell("plots.spread(\n    a,\n    b,\n    c,\n    d,\n)", "text", tags=("hide-input",))
    assert left(drawn) == ["text"]
    (container,) = [node for node in drawn.findall(nodes.container) if "cell" in node["classes"]]
    assert "hide_mode" not in container


def test_folded_code_stays_where_open_code_reads_what_it_makes() -> None:
    make = "users = table(3)\npublish('n', 3)"
    for reading, kept in (("print(users)", True), ("print(others)", False), ("users = 1", False)):
        page = cell(make, tags=("hide-cell",))
        page += cell(reading).children[0]
        assert (make in left(page)) is kept
    imported = cell("import users\nfilms = 1", tags=("hide-cell",))
    imported += cell("print(users, films)").children[0]
    assert left(imported) == ["print(users, films)"]


def test_folded_code_that_computes_keeps_its_bar_and_open_code_stays() -> None:
    assert left(cell(LONG, "text", tags=("hide-input",))) == [LONG, "text"]
    assert left(cell("import torch")) == ["import torch"]
    assert left(cell("%matplotlib inline", "x", tags=("hide-input",))) == ["%matplotlib inline", "x"]


RUN = 'small = experiments.run("P3-T6", scale=SCALE)\nHTML(small.to_html())'


@pytest.mark.parametrize(
    ("code", "next_code", "folded"),
    [
        (RUN, 'stored("P3-T6", serving="raw")', True),
        (RUN, 'stored("P3-T5")', False),
        ('table_of("P1-T2")[1]', 'stored("P1-T2", picture=gains)', True),
        ('small = experiments.run("P3-T6", scale=SCALE)', 'stored("P3-T6")', False),  # shows nothing
    ],
)
def test_a_small_run_is_folded_where_the_stored_run_follows(code: str, next_code: str, folded: bool) -> None:
    page = cell(code, "a table")
    page += cell(next_code, "another table").children
    bookkeeping.tidy(app_of(), page)
    modes = [node.get("hide_mode") for node in page.findall(nodes.container) if node.get("nb_element") == "cell_code"]
    assert modes == ["output" if folded else "input", "input"]  # as `cell` makes them


def names_on(page: Path) -> set[str]:
    """Under which names a page of the site publishes numbers; MyST-NB writes them beside the notebooks that it ran."""
    stored = (SITE.parent / "jupyter_execute" / page.relative_to(SITE)).with_suffix(".glue.json")
    return set(json.loads(stored.read_text(encoding="utf-8"))) if stored.is_file() else set()


@pytest.mark.browser
@pytest.mark.skipif(not SITE.is_dir(), reason="needs the built site: run `make book`")
def test_no_page_of_the_site_shows_a_published_number_as_a_line() -> None:
    blocks = re.compile(r'<div class="output stream[^"]*">.*?<pre>(.*?)</pre>', re.S)
    found = {
        page.name: text
        for page in (SITE / "book").rglob("*.html")
        for text in blocks.findall(page.read_text(encoding="utf-8"))
        if bookkeeping.is_bookkeeping(unescape(re.sub(r"<[^>]*>", "", text)), names_on(page))
    }
    assert found == {}
