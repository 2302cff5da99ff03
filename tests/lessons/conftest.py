"""Fixtures of the lessons' tests: pages of the site, JavaScript modules in an empty page, closed figures."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from course_lib.lessons.shared.widgets import bundle
from tests.tabs import Tab, Tabs
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
def site_page(page_folder: Path, tabs: Tabs) -> Iterator[Callable[..., Any]]:
    """Opens widgets on a page two folders below the script, from file://; fails on any console error or request."""
    taken: list[tuple[Tab, bool]] = []

    def show(*bodies: str, width: int = 1280, errors: bool = False, script: bool = True, **options: Any) -> Any:
        path = page_folder / "page.html"
        path.write_text(page_html(*bodies, folder="../../", script=script), encoding="utf-8")
        tab = tabs.take(width, **options)
        taken.append((tab, errors))
        tab.page.goto(path.as_uri())
        if script and not errors:
            tab.page.wait_for_selector('.course-widget[data-course-widget-ready="true"]')
        return tab.page

    yield show
    for tab, _ in taken:
        tabs.give_back(tab)
    assert [line for tab, errors in taken for line in [*tab.outside, *([] if errors else tab.errors)]] == []


@pytest.fixture
def library(tabs: Tabs) -> Iterator[Callable[..., Any]]:
    """Loads a JavaScript module into an empty page; returns a function that evaluates JavaScript there."""
    tab = tabs.take()

    def load(name: str, source: Callable[[str], str] = lambda text: text) -> Callable[..., Any]:
        tab.page.add_script_tag(content=script_of(name, source))
        return lambda expression, argument=None: evaluated(tab.page, expression, argument)

    yield load
    tabs.give_back(tab)


@pytest.fixture
def in_jupyter(tabs: Tabs) -> Iterator[Callable[..., Any]]:
    """Renders widgets as Jupyter does (`mount_in_jupyter`); in the end each view is closed and nobody listens."""
    taken: list[Tab] = []

    def show(widget: Any) -> Any:
        taken.append(tabs.take(height=720))
        mount_in_jupyter(taken[-1].page, widget)
        return taken[-1].page

    yield show
    listening = [tab.page.evaluate("(close(), Object.values(listeners).flat().length)") for tab in taken]
    for tab in taken:
        tabs.give_back(tab)
    assert not any(listening)
