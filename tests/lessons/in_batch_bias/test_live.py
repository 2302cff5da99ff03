"""An interactive in a real JupyterLab: the reader's keys reach Python, and Python's values reach the reader."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course_lib.lessons.in_batch_bias.in_batch_weights import FIG2_LABELS, InBatchWeights
from tests import jupyterlab

SHOW = """
import json, pathlib
from course_lib.lessons.in_batch_bias.in_batch_weights import InBatchWeights
shown = InBatchWeights()
keep = lambda _: pathlib.Path("state.json").write_text(json.dumps(shown.state()))
shown.observe(keep)
keep(None)
shown
"""
CHANGE = 'shown.kind = "unbiased"'

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.pipeline]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab that serves tmp_path."""
    with jupyterlab.served(tmp_path, tmp_path) as address:
        yield address


def test_keys_reach_python_and_python_reaches_the_page(lab: str, tmp_path: Path, browser: Any) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(SHOW.strip()), nbformat.v4.new_code_cell(CHANGE)]
    )
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "live.ipynb")

    page = browser.new_page(viewport={"width": 1280, "height": 1400})
    page.goto(f"{lab}/lab/tree/live.ipynb")
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    cells.nth(1).wait_for(timeout=60000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60000)
    cells.nth(0).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")  # command mode from here on, in which JupyterLab takes arrow keys for itself
    summary = page.locator(".cw-summary")
    summary.wait_for(timeout=60000)
    assert summary.inner_text().replace("\u00a0", " ") == InBatchWeights().summary()

    page.locator('input[name="batch_size"]').focus()
    page.keyboard.press("ArrowRight")
    page.locator('.cw-grid button[tabindex="0"]').focus()  # (R2, C4)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    labels = [list(row) for row in FIG2_LABELS]
    labels[0][3] = 1
    expected = InBatchWeights(labels, batch_size=4)
    state = tmp_path / "state.json"
    jupyterlab.wait_for(lambda: state.read_text() == json.dumps(expected.state()), tmp_path / "lab.log", 10)
    assert page.evaluate("document.activeElement.dataset.cell") == "0,3"

    cells.nth(1).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expected.kind = "unbiased"
    page.wait_for_function(
        "text => document.querySelector('.cw-summary').textContent.replaceAll('\u00a0', ' ') === text",
        arg=expected.summary(),
        timeout=10000,
    )
    page.close()
