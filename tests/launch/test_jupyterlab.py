"""An exported copy in the real JupyterLab, which is what Binder shows: typeset, boxed, and without leftovers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.launch.environments import CHAPTER
from tools.course_index import Index

SECONDS = 120
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def jupyterlab(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab that serves the export."""
    pytest.importorskip("jupyterlab")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = tmp_path_factory.mktemp("jupyter")
    variables = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(own),
        "JUPYTERLAB_SETTINGS_DIR": str(own),
        "JUPYTERLAB_WORKSPACES_DIR": str(own),
    }
    settings = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--IdentityProvider.token=",
        f"--ServerApp.root_dir={exported}",
    ]
    with (own / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *settings], env=variables, stdout=log, stderr=log
        )
    try:
        address, start = f"http://127.0.0.1:{port}", time.monotonic()
        while True:
            try:
                urlopen(f"{address}/api").close()
                break
            except URLError:
                assert server.poll() is None and time.monotonic() < start + SECONDS, (own / "log").read_text()
                time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_the_copy_reads_well_in_jupyterlab(browser, jupyterlab: str, index: Index) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 3000})
    page.goto(f"{jupyterlab}/doc/tree/{CHAPTER}.ipynb?reset", timeout=SECONDS * 1000)
    boxes = [name for name in index.pages[CHAPTER].numbered if not name.startswith("Fig.")]
    page.wait_for_function(
        "count => document.querySelectorAll('.jp-MarkdownOutput blockquote').length >= count"
        " && document.querySelectorAll('.jp-MarkdownOutput mjx-container').length >= 5 * count",
        arg=len(boxes),
        timeout=SECONDS * 1000,
    )
    page.wait_for_timeout(1000)
    titles = page.locator(".jp-MarkdownOutput blockquote > p:first-child strong:first-child").all_text_contents()
    missing = [name for name in boxes if not any(title == name or title.startswith(f"{name} (") for title in titles)]
    assert missing == []
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
    text = page.evaluate("""() => [...document.querySelectorAll(".jp-MarkdownOutput")].map((output) => {
        const copy = output.cloneNode(true);
        copy.querySelectorAll("pre, code, mjx-container").forEach((element) => element.remove());
        return copy.textContent;
    }).join("\\n")""")
    assert [
        mark for mark in ("$", "\\frac", "\\sum", "{prf", "{eq}", "{cite", "{glue", ":::", ":label:") if mark in text
    ] == []
    page.close()
