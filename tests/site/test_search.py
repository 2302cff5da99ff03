"""The search leads to the page that is about what a reader asks for."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from tools.claims import rows

BOOK = Path(__file__).resolve().parents[2] / "book"
SEARCH = yaml.safe_load((BOOK / "search.yml").read_text(encoding="utf-8"))
IDEAS: dict[str, list[str]] = SEARCH["ideas"]
QUERIES: dict[str, str] = SEARCH["queries"]
FOUND = """() => [...document.querySelectorAll("#search-results li > a")]
  .map((link) => link.getAttribute("href").replace(/\\.html.*/, ""))"""


def test_every_page_of_the_list_exists() -> None:
    pages = {path.relative_to(BOOK.parent).with_suffix("").as_posix() for path in BOOK.rglob("*.*")}
    assert set(IDEAS) | set(QUERIES.values()) <= pages


def test_every_main_page_has_ideas() -> None:
    chapters = {rows.name_of(path).removesuffix(".yml") for path in rows.files()}
    assert chapters and chapters <= {name.rsplit("/", 1)[1] for name in IDEAS}


ASK = """(query) => {
  document.querySelector("#search-results").replaceChildren();
  Search.performSearch(query);
}"""


def test_the_engine_is_what_its_head_says() -> None:
    """What the command in its first line makes of npm's MiniSearch 7.2.0, letter by letter."""
    engine = (BOOK.parent / "tools" / "vendor" / "minisearch.min.js").read_bytes()
    assert sha256(engine).hexdigest() == "4dbe11506bc2503e26812db1c6127b6396533a9a227bb3672eba1592b72fa8d9"


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.pipeline
def test_a_hundred_queries_find_their_page_first(new_page, site: str) -> None:
    new_page.add_init_script("window.fetch = async () => new Response('')")  # what is found is fetched for its summary
    new_page.goto(f"{site}/search.html?q=tower")
    wrong = {}
    for query, wanted in QUERIES.items():
        new_page.get_by_text("Search finished").wait_for()
        new_page.evaluate(ASK, query)
        new_page.locator("#search-results li > a").first.wait_for()
        first = new_page.evaluate(FOUND)[:3]
        if first[:1] != [wanted]:
            wrong[query] = first
    assert len(QUERIES) >= 100 and not wrong, wrong


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("P1-Eq9", "book/reference/claims/ddc"),
        ("train_recommender", "book/reference/api/training"),
        ("batch_loss", "book/reference/api/maths"),
    ],
)
def test_what_stands_on_a_page_of_the_references_is_found_there(page, site: str, query: str, wanted: str) -> None:
    page.goto(f"{site}/search.html?q={quote(query)}")
    page.get_by_text("Search finished").wait_for()
    assert wanted in page.evaluate(FOUND)


@pytest.mark.browser
@pytest.mark.slow
def test_from_a_folder_the_search_finds_the_same_and_the_console_is_clean(browser, site_folder: Path) -> None:
    page, errors = browser.new_page(), []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{(site_folder / 'search.html').as_uri()}?q=popularity%20bias")
    page.get_by_text("Search finished").wait_for()
    found = page.evaluate(FOUND)
    page.close()
    assert found[0] == "book/geometry/popularity-norm-coupling" and errors == []


@pytest.mark.browser
@pytest.mark.slow
def test_entries_of_the_library_stand_below_pages(page, site: str) -> None:
    page.goto(f"{site}/search.html?q=popularity")
    page.locator("#search-results li > a").first.wait_for()
    page.wait_for_function("() => !document.querySelector('#search-progress')?.innerText.match(/Searching|Preparing/)")
    found = page.evaluate(FOUND)
    entries = [place for place, name in enumerate(found) if "/reference/api" in name]
    chapters = [place for place, name in enumerate(found) if "/reference/" not in name]
    assert chapters and (not entries or chapters[0] < entries[0])
