"""The quiz in a real JupyterLab: the reader's keys reach Python, and Python's answers reach the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course_lib.lessons.shared.widgets.quiz import Quiz
from tests.lessons.in_batch_bias.conftest import wait_for

SHOW = """
import json, pathlib
from course_lib.lessons.shared.widgets.quiz import Quiz
shown = Quiz("in-batch-bias")
shown.observe(lambda _: pathlib.Path("chosen.json").write_text(json.dumps([shown.chosen, shown.score()])))
shown
"""
CHANGE = 'shown.chosen = {"serving": ["times-c", "times-both"]}'

pytestmark = [pytest.mark.pipeline, pytest.mark.slow, pytest.mark.browser]  # test_live goes the same way, always


def test_keys_reach_python_and_python_reaches_the_page(lab: str, tmp_path: Path, browser: Any) -> None:
    cells = [nbformat.v4.new_code_cell(text) for text in (SHOW.strip(), CHANGE)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "live.ipynb")

    page = browser.new_page(viewport={"width": 1280, "height": 1400})
    page.goto(f"{lab}/lab/tree/live.ipynb")
    shown = page.locator(".jp-Notebook .jp-CodeCell")
    shown.nth(1).wait_for(timeout=60000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60000)
    shown.nth(0).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")  # command mode from here on, in which JupyterLab takes keys for itself
    page.locator(".cw-quiz").wait_for(timeout=60000)

    page.locator('input[value="zero"]').focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    question = page.locator('.cw-question[data-question="coefficient"]')
    assert question.get_attribute("data-result") == "right"
    kept = tmp_path / "chosen.json"
    wanted = json.dumps([{"coefficient": ["without-own"]}, [1, len(Quiz("in-batch-bias").questions)]])
    wait_for(lambda: kept.read_text() == wanted, tmp_path / "lab.log", 10)

    shown.nth(1).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function("document.querySelectorAll('.cw-quiz :checked').length === 2", timeout=10000)
    assert question.get_attribute("data-result") == ""
    page.close()
