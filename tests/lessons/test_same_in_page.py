"""The same in Python, in the page: what needs no torch runs there and gives the numbers that it gives here."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pages_that_run import ROOT, shown

from tests.lessons.test_every_interactive import INTERACTIVES, KINDS

SCRIPT = (ROOT / "book" / "assets" / "same_here.js").read_text(encoding="utf-8")
LIGHT = re.findall(r'"(\w+)"', SCRIPT[SCRIPT.index("const LIGHT") :].partition(";")[0])
NAMES = {kind.__name__: name for name, kind in KINDS.items()}
FOLD = '<details class="cw-python"><summary>The same in Python</summary><pre class="cw-code"></pre></details>'
WITHOUT = """
import sys, types
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "pandas"):
            raise ModuleNotFoundError(f"no {name}", name=name)
sys.meta_path.insert(0, Without())
"""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")

pytestmark = pytest.mark.pipeline


@cache
def code_of(name: str) -> str:
    """What an interactive offers, by the name of its class."""
    return INTERACTIVES[NAMES[name]]().python()


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("name", NAMES)
def test_those_that_run_in_the_page_are_those_that_need_no_torch(name: str) -> None:
    done = run(WITHOUT + code_of(name))
    assert (done.returncode == 0) == (name in LIGHT), done.stderr
    assert name in LIGHT or "ModuleNotFoundError" in done.stderr


@pytest.mark.browser
def test_in_the_page_they_give_the_numbers_that_they_give_here(browser: Any, tmp_path: Path) -> None:
    """The same words; numbers to the twelfth digit, as another processor would give them too."""
    assert {"StretchedAxes", "NormGrowth"} < set(LIGHT) < set(NAMES)
    with shown(browser, tmp_path, FOLD, "run_here.js") as (page, _address, asked):
        page.evaluate("(code) => (document.querySelector('.cw-code').textContent = code)", code_of(LIGHT[0]))
        page.locator("summary").click()
        assert page.get_by_role("button", name="Run Python here: 41 MB").is_enabled()
        assert not any("python/" in url for url in asked)
        for name in LIGHT:
            if name == LIGHT[0]:
                page.get_by_role("button", name="Run Python here").click()
            else:
                page.locator("textarea").fill(code_of(name))
                page.locator("textarea").press("Control+Enter")
            page.locator(".run-here button:enabled", has_text="Run").wait_for(timeout=200_000)
            printed, here = page.locator(".run-here-output").text_content(), run(code_of(name)).stdout
            assert NUMBER.sub("#", printed) == NUMBER.sub("#", here), name
            assert [*map(float, NUMBER.findall(printed))] == pytest.approx(
                [*map(float, NUMBER.findall(here))], rel=1e-12, abs=1e-11
            ), name


@pytest.mark.browser
def test_what_needs_torch_says_where_it_runs(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, FOLD, "run_here.js") as (page, *_):
        page.evaluate("(code) => (document.querySelector('.cw-code').textContent = code)", code_of("TowerMotion"))
        page.locator("summary").click()
        assert "needs torch" in page.locator("p.run-here").inner_text()
        assert page.get_by_role("button").count() == 0
