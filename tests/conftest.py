"""Fixtures that every test may use: the browser, the built site, the original data sets."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
# pytest keeps the tests that it has compiled, whatever PYTHONDONTWRITEBYTECODE says: to compile all takes longer than
# many a run. And jsonschema, under nbformat, does without a grammar of web addresses that takes seconds to build: no schema
# of notebooks uses it.
sys.dont_write_bytecode = False
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}

# No deadline: a busy computer is no fault of the code. In CI the same examples each time: a red run can be repeated.
settings.register_profile("course", deadline=None, derandomize=IN_CI)
settings.load_profile("course")

BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
)
# Quiet (no call home), and blind to every host but this machine: a page that needs another one fails its test.
BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test that uses the browser, and runs those last: Playwright keeps an event loop for itself,
    inside which no test could start another one.
    """
    for item in items:
        if "browser_path" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One plain line where the browser's tests were skipped: a green run without it has not looked at the pages."""
    reports = terminalreporter.getreports("skipped")
    if skipped := sum("no Chromium or Chrome found" in str(report.longrepr) for report in reports):
        terminalreporter.write_line(
            f"NOT TESTED: {skipped} tests of pages and interactives need a browser and were skipped. To add them: "
            "apt install chromium, then run the same command again.",
            yellow=True,
        )


def skip_or_fail_in_ci(reason: str) -> None:
    """Skips the test where a reader lacks something; fails it in CI, where nothing may be lacking."""
    if IN_CI:
        pytest.fail(f"{reason} (CI is set, so this is a failure and not a skip)", pytrace=False)
    pytest.skip(reason)


def find_browser() -> str | None:
    """The path of a Chromium or Chrome on this machine: COURSE_CHROMIUM first, then the usual names and places."""
    chosen = os.environ.get("COURSE_CHROMIUM")
    if chosen:
        return shutil.which(chosen)
    found = (shutil.which(name) for name in (*BROWSER_NAMES, *BROWSER_PLACES))
    return next((path for path in found if path), None)


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The path of the system's Chromium or Chrome; skips (fails in CI) where there is none."""
    path = find_browser()
    if path is None:
        skip_or_fail_in_ci(
            "no Chromium or Chrome found: `apt install chromium` (macOS: `brew install --cask chromium`), "
            "or set COURSE_CHROMIUM to its path"
        )
    return path


@pytest.fixture(scope="session")
def browser(browser_path: str) -> Iterator:
    """A headless Playwright browser that reaches 127.0.0.1 and nothing else; ask it for `new_page()`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser_path, headless=True, args=BROWSER_ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def site_folder() -> Path:
    """The folder of the built book; skips (fails in CI) where it was not built."""
    folder = ROOT / "_build" / "html"
    if not (folder / "index.html").is_file():
        skip_or_fail_in_ci("the book is not built: run `make book` first (`make test` does)")
    return folder


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and does not print a line for each."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(site_folder: Path) -> Iterator[str]:
    """The address (`http://127.0.0.1:PORT`, no slash at its end) at which the built book is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site_folder)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


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
