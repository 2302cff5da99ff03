"""The cell of a main page that a reader may run in the page: it runs alone, with NumPy, and prints what is stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages_that_run import shown

from tests.widget_pages import serious_violations
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


BODY = '<div class="cell tag_run-here"><div class="cell_input"><pre>print(1)</pre></div></div>'

HARMFUL = [  # what it runs, what it prints, how it ends
    ("1 / 0", "ZeroDivisionError", "It ended with an error."),
    ("import torch", "No module named 'torch'", "That package is not here"),
    ("for i in range(10**6):\n    print(i)", "0\n1\n2\n", "Ended: it printed more"),
    ("x = []\nwhile True:\n    x.append(bytearray(b'1' * 10**8))", "", "Ended: it took too long."),
    ("import numpy as np\nnp.ones((50_000, 50_000))", "ValueError: array is too big", "It ended with an error."),
    ("def f(): return f()\nf()", "RecursionError", "It ended with an error."),
    ("import os\nos._exit(3)", "", "It ended with an error."),
    ("input()", "EOFError", "Here Python has no network, no threads"),
    ("import threading\nthreading.Thread().start()", "RuntimeError", "Here Python has no network, no threads"),
    ("from urllib.request import urlopen\nurlopen('http://127.0.0.1')", "getaddrinfo", "Here Python has no network"),
    ("import asyncio\nasyncio.run(asyncio.sleep(0))", "_ssock", "Here Python has no network"),
    ("import subprocess\nsubprocess.run(['ls'])", "OSError", "Here Python has no network"),
    ("if True\n    print(1)", "SyntaxError: expected ':'", "It ended with an error."),
    ("import sys\nsys.exit()", "", "Done."),
    ("print('α → 数 🎬')", "α → 数 🎬\n", "Done."),
]


def printed(page: Any, code: str | None = None) -> tuple[str, str]:
    """What a cell prints, and how the page says that it ended."""
    if code is not None:
        page.fill("textarea", code)
        page.keyboard.press("Control+Enter")
    page.wait_for_function("!document.querySelector('.run-here button').disabled", timeout=200_000)
    return page.text_content(".run-here-output"), page.text_content(".run-here output")


@pytest.mark.pipeline
@pytest.mark.browser
def test_in_the_page_every_cell_prints_what_it_prints_here(browser: Any, tmp_path: Path) -> None:
    """Also: nothing is asked for before the click and nothing outside ever."""
    with shown(browser, tmp_path, BODY, "run_here.js") as (page, _address, asked):
        page.wait_for_timeout(500)
        assert not any("python/" in url for url in asked)
        page.get_by_role("button", name="Run Python here").click()
        assert printed(page) == ("1\n", "Done.")
        for name in PAGES:
            found = cell(name)
            said = "".join("".join(output["text"]) for output in found["outputs"])
            assert printed(page, "".join(found["source"])) == (said, "Done."), name


@pytest.mark.pipeline
@pytest.mark.browser
def test_what_fails_floods_or_fills_memory_ends_and_the_page_lives(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, BODY, "run_here.js") as (page, *_):
        page.get_by_role("button", name="Run Python here").click()
        printed(page)
        for code, says, ends in HARMFUL:
            text, how = printed(page, code)
            assert says in text and (how.startswith(ends) or "MemoryError" in text), code
            assert printed(page, "print('alive')") == ("alive\n", "Done.")


@pytest.mark.pipeline
@pytest.mark.browser
def test_a_page_that_was_ended_in_a_run_says_so_when_it_is_loaded_again(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, BODY, "run_here.js") as (page, *_):
        page.get_by_role("button", name="Run Python here").click()
        printed(page)
        assert page.evaluate("sessionStorage.length") == 0
        page.fill("textarea", "while True: pass")
        page.keyboard.press("Control+Enter")
        page.get_by_text("Running").wait_for()
        [mark] = page.evaluate("Object.keys(sessionStorage)")
        page.reload()  # a reader who leaves has lost nothing
        assert page.text_content(".run-here output") == "Nothing leaves your computer."
        page.add_init_script(f"sessionStorage.setItem({mark!r}, 'yes')")  # what a tab leaves that crashes
        page.reload()
        page.get_by_text("The page was ended while Python ran").wait_for()


@pytest.mark.pipeline
@pytest.mark.browser
def test_an_older_browser_is_told_before_anything_is_loaded(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, BODY, "run_here.js") as (page, _address, asked):
        page.evaluate("() => { WebAssembly.validate = (bytes) => !bytes.includes(0x69); }")  # one that knows no exnref
        page.get_by_role("button", name="Run Python here").click()
        page.get_by_text("this browser is too old; Chrome or Edge 137").wait_for()
        assert not any("python/" in url for url in asked)


@pytest.mark.pipeline
@pytest.mark.browser
def test_by_the_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    """Enter opens, Tab indents, Escape and Tab leave, Ctrl+Enter runs, Stop stops; axe finds no fault."""
    with shown(browser, tmp_path, BODY, "run_here.js") as (page, *_):
        page.get_by_role("button", name="Run Python here").wait_for()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert printed(page) == ("1\n", "Done.")
        page.get_by_role("button", name="Run").focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Control+A")
        page.keyboard.type("if True:\n")
        page.keyboard.press("Tab")
        page.keyboard.type("print(2)")
        page.keyboard.press("Control+Enter")
        assert printed(page) == ("2\n", "Done.")
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Run"
        assert page.input_value("textarea") == "if True:\n    print(2)"
        page.fill("textarea", "while True: pass")
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="Stop").focus()
        page.keyboard.press("Enter")
        page.get_by_text("Stopped.").wait_for()
        assert serious_violations(page) == []


@pytest.mark.pipeline
@pytest.mark.browser
def test_two_cells_at_once_print_what_each_prints_alone(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, BODY + BODY.replace("print(1)", "print(2)"), "run_here.js") as (page, *_):
        for _ in range(2):  # the first one's button then has another name
            page.get_by_role("button", name="Run Python here").first.click()
        page.get_by_text("Done.").nth(1).wait_for(timeout=200_000)
        assert page.locator(".run-here-output").all_text_contents() == ["1\n", "2\n"]


@pytest.mark.pipeline
@pytest.mark.browser
def test_from_a_file_the_page_says_what_to_do(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, BODY, "run_here.js") as _:
        other = browser.new_page()
        other.goto((tmp_path / "site" / "page.html").as_uri())
        assert "python3 -m http.server" in other.inner_text(".run-here-note")
        assert other.get_by_role("button").count() == 0
