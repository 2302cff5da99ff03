"""An exported copy in the real JupyterLab, which is what Binder shows: typeset, boxed, and without leftovers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import jupyterlab
from tests.launch.environments import CHAPTER
from tools.course_index import Index

SECONDS = 120
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab that serves the export."""
    pytest.importorskip("jupyterlab")
    with jupyterlab.served(exported, tmp_path_factory.mktemp("jupyter")) as address:
        yield address


def test_the_copy_reads_well_in_jupyterlab(browser, address: str, index: Index) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 3000})
    page.goto(f"{address}/doc/tree/{CHAPTER}.ipynb?reset", timeout=SECONDS * 1000)
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
