"""The page for addresses that do not exist: links from the root of the site, the chapters of the contents."""

from __future__ import annotations

from bs4 import BeautifulSoup

from tools import not_found

TITLES = {"book/debiasing/ddc": "DDC & more", "book/reference/claims": "Claims"}


def test_it_lists_the_chapters_that_were_built_and_searches() -> None:
    page = BeautifulSoup(not_found.page("Course", TITLES, ""), "html.parser")
    assert [(link["href"], link.text) for link in page.select("nav a")] == [
        ("book/debiasing/ddc.html", "DDC & more"),
        ("book/reference/claims.html", "Claims"),
    ]
    assert [title.text for title in page.select("nav h2")] == ["Debiasing", "Reference"]
    assert page.form["action"] == "search.html" and page.input["name"] == "q"
    assert page.select_one('meta[name="robots"]')["content"] == "noindex"


def test_it_knows_the_folder_of_an_address_that_was_set() -> None:
    assert 'const set = "/course/";' in not_found.page("Course", TITLES, "https://somebody.github.io/course")
    assert 'const set = "/";' in not_found.page("Course", TITLES, "https://somebody.github.io")
    assert 'const set = "";' in not_found.page("Course", TITLES, "")


def test_nothing_of_it_lies_elsewhere_but_the_icon() -> None:
    page = BeautifulSoup(not_found.page("Course", TITLES, ""), "html.parser")
    assert [link["href"] for link in page.select("link")] == ["_static/favicon.svg"] and not page.select("[src]")
    assert "<<" not in str(page)
