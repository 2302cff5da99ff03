"""The launch buttons of the built site: on notebooks only, to the copies, and without a request before the click."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tools.course_index import Index
from tools.export_notebooks import BRANCH

pytestmark = pytest.mark.slow  # they need the built book
HOSTS = ("https://mybinder.org/", "https://colab.research.google.com/")


def launches(folder: Path, page: str) -> list[str]:
    text = (folder / f"{page}.html").read_text(encoding="utf-8")
    return [link for link in re.findall(r'href="([^"]+)"', text) if link.startswith(HOSTS)]


def test_every_notebook_opens_its_copy_on_binder_and_on_colab(site_folder: Path, exported: Path, index: Index) -> None:
    slug = index.repository.removeprefix("https://github.com/")
    for page in index.notebooks():
        binder, colab = launches(site_folder, page)
        parts = urlsplit(binder)
        assert (parts.netloc, parts.path) == ("mybinder.org", f"/v2/gh/{slug}/{BRANCH}")
        (place,) = parse_qs(parts.query)["urlpath"]
        assert place.startswith("lab/tree/") and (exported / place.removeprefix("lab/tree/")).is_file()
        start = f"https://colab.research.google.com/github/{slug}/blob/{BRANCH}/"
        assert colab.startswith(start) and (exported / colab.removeprefix(start)).is_file()
        assert place.endswith(f"/{page}.ipynb") and colab.endswith(f"/{page}.ipynb")


def test_other_pages_have_no_launch_button(site_folder: Path, index: Index) -> None:
    others = [page for page in index.pages if index.source(page).suffix == ".md"]
    assert (
        len(others) > 5 and {page: launches(site_folder, page) for page in others if launches(site_folder, page)} == {}
    )


def test_edit_buttons_still_lead_to_the_source(site_folder: Path, index: Index) -> None:
    for page in index.notebooks():
        assert f"{index.repository}/edit/main/{page}.ipynb" in (site_folder / f"{page}.html").read_text(
            encoding="utf-8"
        )


def test_the_buttons_can_be_reached_by_keyboard_and_ask_nobody(browser, site: str, index: Index) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on(
        "request",
        lambda request: asked.append(request.url) if not request.url.startswith((site, "data:", "blob:")) else None,
    )
    page.goto(f"{site}/{index.notebooks()[-1]}.html", wait_until="networkidle")
    group = page.locator(".dropdown-launch-buttons button").first
    group.focus()
    page.keyboard.press("Enter")
    link = page.locator('.dropdown-launch-buttons a[href^="https://mybinder.org/"]').first
    link.wait_for(state="visible")
    link.focus()
    assert page.evaluate("document.activeElement.href").startswith("https://mybinder.org/")
    assert "Binder" in link.inner_text() and asked == []
    page.close()
