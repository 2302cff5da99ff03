"""The foot of a page in a browser: marks that stay, a citation that can be copied; and the page for wrong addresses."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.site.opening import open_without_mathematics

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CHAPTER, OTHER, MAP = "book/debiasing/ddc", "book/debiasing/ddc-lab", "book/index"


def test_a_mark_stays_and_can_be_taken_back_by_keyboard(page, site: str) -> None:
    open_without_mathematics(page, f"{site}/{CHAPTER}.html")
    button = page.get_by_role("button", name="I have read this")
    assert button.get_attribute("aria-pressed") == "false"
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert page.locator(".page-foot [role=status]").inner_text() == "Marked as read, in this browser only."
    open_without_mathematics(page, f"{site}/{OTHER}.html")
    ticked = page.locator(".bd-sidebar-primary a:has(.read-mark)")
    assert ticked.count() == 1 and ticked.get_attribute("href").endswith("ddc.html")
    assert button.get_attribute("aria-pressed") == "false"
    open_without_mathematics(page, f"{site}/{MAP}.html")
    assert page.locator(".chapter-card a:has(.read-mark)").count() == 1
    assert "one page as read" in page.locator(".read-so-far").inner_text()
    page.locator(".read-so-far").get_by_role("button", name="Clear all marks").press("Enter")
    assert page.locator(".read-mark").count() == 0 and not page.locator(".read-so-far button").is_visible()
    open_without_mathematics(page, f"{site}/{CHAPTER}.html")
    assert button.get_attribute("aria-pressed") == "false"
    button.press("Space")
    button.press("Space")
    assert button.get_attribute("aria-pressed") == "false" and page.locator(".read-mark").count() == 0


def test_it_works_from_a_folder(page, site_folder: Path) -> None:
    open_without_mathematics(page, f"{(site_folder / CHAPTER).as_uri()}.html")
    page.get_by_role("button", name="I have read this").click()
    open_without_mathematics(page, f"{(site_folder / MAP).as_uri()}.html")
    page.locator(".chapter-card a:has(.read-mark)").wait_for()  # a file is another process: the mark reaches it later


def test_a_browser_that_keeps_nothing_shows_no_button_and_no_error(new_page, site: str) -> None:
    new_page.add_init_script("""const getItem = Storage.prototype.getItem;
        Storage.prototype.getItem = function (name) {  // the theme asks unguarded: it gets its answers
            if (name.startsWith("two-tower-course")) throw new DOMException("refused", "SecurityError");
            return getItem.call(this, name);
        };""")
    open_without_mathematics(new_page, f"{site}/{CHAPTER}.html")
    assert not new_page.locator(".page-foot .mark-read").is_visible()
    assert new_page.locator(".page-foot .edition").is_visible()


def test_words_of_somebody_else_under_the_key_do_no_harm(new_page, site: str) -> None:
    new_page.add_init_script("localStorage.setItem('two-tower-course.read', 'not JSON')")
    open_without_mathematics(new_page, f"{site}/{CHAPTER}.html")
    assert new_page.get_by_role("button", name="I have read this").get_attribute("aria-pressed") == "false"


def test_the_citation_is_folded_and_has_a_button_that_copies(page, site: str) -> None:
    open_without_mathematics(page, f"{site}/{CHAPTER}.html")
    entry = page.locator(".cite-page pre")
    assert not entry.is_visible()
    page.get_by_text("Cite this chapter").press("Enter")
    assert entry.inner_text().startswith("@misc{two-towers-ddc,")
    assert page.locator(".cite-page button.copybtn").count() == 1


@pytest.mark.parametrize("address", ["nothing.html", "book/nothing.html", "book/debiasing/deep/er/nothing.html"])
def test_a_wrong_address_helps_at_any_depth(page, site: str, site_folder: Path, address: str) -> None:
    text = (site_folder / "404.html").read_text(encoding="utf-8")
    page.route(re.compile("nothing"), lambda route: route.fulfill(status=404, content_type="text/html", body=text))
    page.goto(f"{site}/{address}")
    assert page.evaluate("document.querySelector('link[rel=icon]').href") == f"{site}/_static/favicon.svg"
    page.get_by_label("Search the course").fill("popularity bias")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/search.html?q=popularity+bias", wait_until="commit")
    page.go_back()
    page.get_by_role("link", name="Does debiasing work?").click()
    page.wait_for_url(f"{site}/{CHAPTER}.html", wait_until="commit")


def test_the_page_for_wrong_addresses_has_nothing_against_it_from_axe(page, site: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.goto(f"{site}/404.html")
    assert [found["id"] for found in Axe().run(page).response["violations"]] == []


def test_the_site_moved_to_another_folder_keeps_working(page, site_folder: Path, tmp_path: Path) -> None:
    for name in ("404.html", "search.html"):
        shutil.copy(site_folder / name, tmp_path / name)
    page.goto((tmp_path / "404.html").as_uri())
    assert page.get_by_role("link", name="the first page").evaluate("link => link.href").endswith("/book/index.html")
    assert page.evaluate("document.baseURI") == f"{tmp_path.as_uri()}/"
