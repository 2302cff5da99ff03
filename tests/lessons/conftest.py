"""Fixtures of the lessons' tests: pages of the site, JavaScript modules in an empty page, closed figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from course_lib.lessons.shared.widgets import bundle
from tests.widget_pages import evaluated, mount_in_jupyter, page_html, script_of

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """No test leaves a figure open for the next one."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder two below that of the script and the style sheet."""
    top = tmp_path_factory.mktemp("site")
    for name, content in bundle.static_files().items():
        (top / name).write_text(content, encoding="utf-8")
    folder = top / "book" / "sampling"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def site_page(page_folder: Path, browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens widgets on a page two folders below the script, from file://; fails on any console error or request."""
    contexts, problems = [], []

    def show(*bodies: str, width: int = 1280, errors: bool = False, script: bool = True, **options: Any) -> Any:
        path = page_folder / "page.html"
        path.write_text(page_html(*bodies, folder="../../", script=script), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        if not errors:
            page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: request.url.startswith("file:") or problems.append(request.url))
        page.goto(path.as_uri())
        if script and not errors:
            page.wait_for_selector('.course-widget[data-course-widget-ready="true"]')
        return page

    yield show
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def library(browser: Any) -> Iterator[Callable[..., Any]]:
    """Loads a JavaScript module into an empty page; returns a function that evaluates JavaScript there."""
    page = browser.new_page()

    def load(name: str, source: Callable[[str], str] = lambda text: text) -> Callable[..., Any]:
        page.add_script_tag(content=script_of(name, source))
        return lambda expression, argument=None: evaluated(page, expression, argument)

    yield load
    page.close()


@pytest.fixture
def in_jupyter(browser: Any) -> Iterator[Callable[..., Any]]:
    """Renders widgets as Jupyter does (`mount_in_jupyter`); in the end each view is closed and nobody listens."""
    pages = []

    def show(widget: Any) -> Any:
        page = browser.new_page()
        mount_in_jupyter(page, widget)
        pages.append(page)
        return page

    yield show
    listening = [page.evaluate("(close(), Object.values(listeners).flat().length)") for page in pages]
    for page in pages:
        page.close()
    assert not any(listening)
