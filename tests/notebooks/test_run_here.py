"""The cell of a main page that a reader may run in the page: it runs alone, with NumPy, and prints what is stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages_that_run import shown

from tools import python_in_page, toc

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in toc.way() if (ROOT / f"{page}.ipynb").is_file()]


def cell(page: str) -> dict[str, Any]:
    """The one cell of a page that is tagged."""
    cells = json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    [found] = [one for one in cells if python_in_page.TAG in one["metadata"].get("tags", [])]
    return dict(found)


@pytest.mark.parametrize("page", PAGES)
def test_the_cell_runs_alone_and_prints_what_is_stored(page: str) -> None:
    found = cell(page)
    code = "".join(found["source"])
    imports = [line for line in code.splitlines() if line.startswith(("import ", "from "))]
    assert imports == ["import numpy as np"] and len(code.splitlines()) <= 25
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "".join("".join(output["text"]) for output in found["outputs"])


@pytest.mark.pipeline
@pytest.mark.browser
def test_in_the_page_every_cell_prints_what_it_prints_here(browser: Any, tmp_path: Path) -> None:
    """Also: nothing is asked for before the click and nothing outside ever; what hangs or floods is ended."""
    body = '<div class="cell tag_run-here"><div class="cell_input"><pre>print(1)</pre></div></div>'
    with shown(browser, tmp_path, body, "run_here.js") as (page, _address, asked):
        page.wait_for_timeout(500)
        assert not any("python/" in url for url in asked)
        page.get_by_role("button", name="Run Python here").click()

        def printed(code: str | None = None) -> tuple[str, str]:
            if code is not None:
                page.fill("textarea", code)
                page.keyboard.press("Control+Enter")
            page.wait_for_function("!document.querySelector('.run-here button').disabled", timeout=120_000)
            return page.text_content(".run-here-output"), page.text_content(".run-here output")

        assert printed() == ("1\n", "Done.")
        for name in PAGES:
            found = cell(name)
            said = "".join("".join(output["text"]) for output in found["outputs"])
            assert printed("".join(found["source"])) == (said, "Done."), name
        assert "ZeroDivisionError" in printed("1 / 0")[0]
        assert "No module named 'torch'" in printed("import torch")[0]
        assert printed("while True: print('x' * 1000)")[1].startswith("Ended: it printed more")
        page.fill("textarea", "while True: pass")
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="Stop").click()
        assert printed("print('alive')") == ("alive\n", "Done.")
