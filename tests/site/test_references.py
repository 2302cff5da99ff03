"""The long references as many pages: a field that filters, and addresses of old that lead on."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CLAIMS, API = "book/reference/claims", "book/reference/api"


@pytest.fixture(autouse=True)
def no_mathematics(page) -> None:
    """Formulas stay as written: to typeset 500 claims takes longer than all tests."""
    page.route("**/mathjax/**", lambda route: route.abort())


def shown(page, rows: str) -> int:
    return page.eval_on_selector_all(rows, "rows => rows.filter(row => row.checkVisibility()).length")


@pytest.mark.parametrize("place", ["site", "folder"])
def test_the_index_of_claims_is_filtered_by_words_and_status(page, site: str, site_folder, place: str) -> None:
    start = site if place == "site" else site_folder.as_uri()
    page.goto(f"{start}/{CLAIMS}.html")
    rows, form = "table.claims-index tr[id]", page.locator("form.course-filter")
    total = shown(page, rows)
    assert total > 400 and form.locator("output").inner_text() == f"{total} of {total} claims shown"
    assert form.locator("output").get_attribute("aria-live") == "polite"
    form.get_by_label("Words").focus()
    page.keyboard.type("P2-Prop8")
    assert 1 <= shown(page, rows) < 10 and page.locator("#claim-p2-prop8-nondeg").is_visible()
    assert shown(page, "table.claims-index tbody") == 1  # the heads of the other chapters are gone too
    form.get_by_label("Words").fill("")
    form.get_by_label("Status").select_option("not run")
    assert 1 <= shown(page, rows) < total / 4
    assert form.locator("output").inner_text() == f"{shown(page, rows)} of {total} claims shown"


def test_a_page_of_claims_is_filtered_and_a_link_to_a_hidden_row_shows_it(page, site: str) -> None:
    page.goto(f"{site}/{CLAIMS}/ddc.html")
    rows = "table.claims tbody tr:has([id^=claim-])"
    total = shown(page, rows)
    page.get_by_label("Words").fill("xyzzy")
    assert shown(page, rows) == 0 and total > 40
    page.evaluate("location.hash = '#claim-p1-eq9'")
    page.wait_for_function("() => document.querySelector('form.course-filter').elements.words.value === ''")
    assert shown(page, rows) == total


def test_a_page_of_the_library_is_filtered(page, site: str) -> None:
    page.goto(f"{site}/{API}/maths.html")
    page.get_by_label("Words").fill("cosine_gradient")
    assert 1 <= shown(page, "article section > dl.py") < 10
    assert page.locator('[id="course_lib.geometry.cosine_gradient"]').is_visible()
    assert not page.locator('[id="course_lib.gramians"]').is_visible()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{CLAIMS}.html#claim-p1-eq9", f"{CLAIMS}/ddc.html#claim-p1-eq9"),
        (f"{API}.html#api-in-batch", f"{API}/maths.html#api-in-batch"),
        (f"{API}.html#course_lib.losses.infonce", f"{API}/maths.html#course_lib.losses.infonce"),
        (
            f"{API}.html#course_lib.interactions.Interactions.popularity",  # a method: with its class
            f"{API}/data.html#course_lib.interactions.Interactions.popularity",
        ),
        (f"{API}.html#module-course_lib.training", f"{API}/training.html#module-course_lib.training"),
    ],
)
def test_an_address_of_old_leads_to_the_new_page(page, site: str, site_folder, old: str, new: str) -> None:
    for start in (site, site_folder.as_uri()):
        page.goto(f"{start}/{old}", wait_until="commit")
        page.wait_for_url(f"{start}/{new}", wait_until="commit")


def test_an_index_without_an_old_address_stays(page, site: str) -> None:
    for address in (f"{site}/{API}.html", f"{site}/{CLAIMS}.html#find-a-claim"):
        page.goto(address, wait_until="networkidle")
        assert page.url == address
