"""The browser of this machine, and a folder served to it: for the tests, the pictures and the PDF."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

# The headless shell first: Chromium without windows, which takes half of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
)
NONE_FOUND = (
    "no Chromium or Chrome found: `apt install chromium` (macOS: `brew install --cask chromium`), "
    "or set COURSE_CHROMIUM to its path"
)
# Quiet (no call home), and blind to every host but this machine: a page that needs another one fails.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]


def find() -> str | None:
    """The path of a Chromium or Chrome on this machine: COURSE_CHROMIUM first, then the usual names and places."""
    if chosen := os.environ.get("COURSE_CHROMIUM"):
        return shutil.which(chosen)
    return next(filter(None, map(shutil.which, (*NAMES, *PLACES))), None)


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Playwright browser that reaches 127.0.0.1 and nothing else; FileNotFoundError where there is none."""
    from playwright.sync_api import sync_playwright

    if (path := find()) is None:
        raise FileNotFoundError(NONE_FOUND)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        yield running
        running.close()


class _QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and does not print a line for each."""

    def log_message(self, *_: object) -> None:
        pass


class _QuietServer(ThreadingHTTPServer):
    """Says nothing of a browser that goes on before it has read a whole answer."""

    daemon_threads = True

    def handle_error(self, *where: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*where)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address (`http://127.0.0.1:PORT`, no slash at its end) at which a folder is served meanwhile."""
    server = _QuietServer(("127.0.0.1", 0), partial(_QuietHandler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
