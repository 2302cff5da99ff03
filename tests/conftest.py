"""Fixtures that every test may use: the browser, the built site, the original data sets."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.tabs import Tab, Tabs
from tools import browsing

ROOT = Path(__file__).resolve().parents[1]
# pytest keeps the tests that it has compiled, whatever PYTHONDONTWRITEBYTECODE says: to compile all takes longer than
# many a run.
sys.dont_write_bytecode = False

IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}

# No deadline: a busy computer is no fault of the code. In CI the same examples each time: a red run can be repeated.
# `thorough` (COURSE_EXAMPLES=thorough, every week in CI) tries many more, and other ones each time.
settings.register_profile("course", deadline=None, derandomize=IN_CI, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=300)
settings.load_profile(os.environ.get("COURSE_EXAMPLES", "course"))

FIRST = ("notebooks", "exercises", "experiments", "launch", "installation", "tools")  # folders of the longest files
IN_PIECES = "test_pages.py"  # of tests/site: each page of the site is a piece of work of its own
ONE_EXPORT = {f"tests/launch/test_{name}.py" for name in ("binder", "colab", "export", "workflows")}
PIPELINES = {f"tests/{folder}" for folder in ("exercises", "installation", "launch")}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector rest while tests are gathered, and then leave them out.

    Ten thousand tests are millions of objects that stay to the end; it would read them again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 10, 10)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what the browser or a whole pipeline is needed for; sorts for several processes.

    The longest files come first, that none is left over at the end, and the browser's tests last: Playwright keeps an
    event loop for itself, inside which no test could start another one. At the very end stand the pages of the site,
    small pieces that fill what time the processes have left.
    """
    for item in items:
        file = item.nodeid.partition("::")[0]
        if "browser_path" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if item.get_closest_marker("gpu") and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU: make test-gpu"))
        if item.get_closest_marker("scale") and find_spec("torchrec") is None:
            item.add_marker(
                pytest.mark.skip(reason="needs TorchRec, which has an environment of its own: make test-scale")
            )
        if file.rpartition("/")[0] in PIPELINES and item.get_closest_marker("slow"):
            item.add_marker("pipeline")
    files = {path: at for at, path in enumerate(dict.fromkeys(item.path for item in items))}
    items.sort(key=lambda item: (*_position(item), files[item.path]))  # mutmut names tests of all files mixed up


def _position(item: pytest.Item) -> tuple[bool, int]:
    folder, in_pieces = item.path.parent.name, item.path.name == IN_PIECES
    place = len(FIRST) + in_pieces if folder not in FIRST else FIRST.index(folder)
    return item.get_closest_marker("browser") is not None, place


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Work in pieces of one file, as its fixtures ask for, in the order of the collection.

    A page of the site is a piece of its own; the files that share an export of all notebooks are one piece. Only for
    `--dist loadfile`.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Pieces(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            if file in ONE_EXPORT:
                return "tests/launch"
            return file + nodeid.partition("[")[2] if file.endswith(f"site/{IN_PIECES}") else file

    config.option.loadscopereorder = False
    return Pieces(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One plain line where the browser's tests were skipped: a green run without it has not looked at the pages."""
    reports = terminalreporter.getreports("skipped")
    if skipped := sum("no Chromium or Chrome found" in str(report.longrepr) for report in reports):
        terminalreporter.write_line(
            f"NOT TESTED: {skipped} tests of pages and interactives need a browser and were skipped. To add them: "
            "apt install chromium, then run the same command again.",
            yellow=True,
        )


@cache
def has_gpu() -> bool:
    """Asked only where a test wants one: torch takes a second to import."""
    import torch

    return torch.cuda.is_available()


def skip_or_fail_in_ci(reason: str) -> None:
    """Skips the test where a reader lacks something; fails it in CI, where nothing may be lacking."""
    if IN_CI:
        pytest.fail(f"{reason} (CI is set, so this is a failure and not a skip)", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The path of the system's Chromium or Chrome; skips (fails in CI) where there is none."""
    path = browsing.find()
    if path is None:
        skip_or_fail_in_ci(browsing.NONE_FOUND)
    return path


@pytest.fixture(scope="session")
def browser(browser_path: str) -> Iterator:
    """A headless Playwright browser that reaches 127.0.0.1 and nothing else; ask it for `new_page()`."""
    with browsing.browser() as running:
        yield running


@pytest.fixture(scope="session")
def site_folder() -> Path:
    """The folder of the built book; skips (fails in CI) where it was not built."""
    folder = ROOT / "_build" / "html"
    if not (folder / "index.html").is_file():
        skip_or_fail_in_ci("the book is not built: run `make book` first (`make test` does)")
    return folder


@pytest.fixture(scope="session")
def site(site_folder: Path) -> Iterator[str]:
    """The address (`http://127.0.0.1:PORT`, no slash at its end) at which the built book is served."""
    with browsing.served(site_folder) as address:
        yield address


@pytest.fixture(scope="session")
def course_data() -> Path:
    """The folder of the original data sets: COURSE_DATA, or `../shared/data`; skips where there is neither."""
    chosen = os.environ.get("COURSE_DATA")
    folder = Path(chosen) if chosen else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(
            f"no original data sets at {folder}: set COURSE_DATA to the folder that holds them (see the README)"
        )
    return folder


@pytest.fixture(scope="session")
def tabs(browser: Any) -> Tabs:
    """The browser's pages, used by one test after the other."""
    return Tabs(browser)


@pytest.fixture
def page(tabs: Tabs, site: str) -> Iterator[Any]:
    """An empty page of a wide light window beside the built site; errors of its scripts fail the test that uses it."""
    tab = tabs.take()
    yield tab.page
    tabs.give_back(tab)
    assert tab.thrown == []


@pytest.fixture
def new_page(browser: Any, site: str) -> Iterator[Any]:
    """As `page`, in a window of its own that is closed in the end: for scripts that run before those of the site."""
    tab = Tab(browser.new_context(viewport={"width": 1280, "height": 900}).new_page(), {})
    yield tab.page
    tab.page.context.close()
    assert tab.thrown == []
