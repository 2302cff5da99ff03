"""What a reader does with Python in the page, in the Firefox of this machine: Chromium's tests look closer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import pages_that_run
from tests.notebooks.test_run_here import BODY, PAGES, cell

pytest.importorskip("marionette_driver", reason="`.venv/bin/pip install marionette_driver`")
from tests import firefox
from tests.firefox import Keys

pytestmark = [pytest.mark.pipeline, pytest.mark.browser, pytest.mark.slow]
LOADED = "performance.getEntriesByType('resource').map(({ name }) => name)"
DONE = "!document.querySelector('.run-here button').disabled && document.querySelector('.run-here output').textContent"
PRINTED = "document.querySelector('.run-here-output').textContent"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[firefox.Firefox, Path]]:
    """The browser, and where it puts what it downloads."""
    if firefox.find() is None:
        pytest.skip("no Firefox found: `apt install firefox-esr`")
    folder = tmp_path_factory.mktemp("firefox")
    with firefox.opened(folder) as running:
        yield running, folder


def downloaded(path: Path) -> Any:
    """A file of JSON, once it is whole."""
    end = time.monotonic() + 60
    while not (path.is_file() and path.stat().st_size):
        assert time.monotonic() < end, f"{path.name} did not come"
        time.sleep(0.1)
    return json.loads(path.read_text(encoding="utf-8"))


def written(page: firefox.Firefox, code: str) -> None:
    """Put code into the first editor; what is typed comes after it."""
    page.evaluate(
        f"(([it]) => {{ it.value = {json.dumps(code)}; it.focus(); }})(document.querySelectorAll('textarea'))"
    )


def test_every_cell_prints_what_it_prints_here_and_by_the_keyboard(page: Any, tmp_path: Path) -> None:
    page, _ = page
    with pages_that_run.served(tmp_path, BODY, "run_here.js") as address:
        page.navigate(address)
        page.waits("document.querySelector('.run-here button')?.focus() ?? true")
        assert not any("python/" in url for url in page.evaluate(LOADED))
        page.types(Keys.ENTER)
        assert page.waits(DONE) == "Done." and page.evaluate(PRINTED) == "1\n"
        for name in PAGES:
            found = cell(name)
            written(page, "".join(found["source"]))
            page.types(Keys.CONTROL + Keys.ENTER)
            assert page.waits(DONE) == "Done.", name
            assert page.evaluate(PRINTED) == "".join("".join(output["text"]) for output in found["outputs"]), name
        written(page, "while True: pass")
        page.types(Keys.CONTROL + Keys.ENTER)
        page.waits("document.querySelector('.run-here output').textContent === 'Running'")
        page.clicks("Stop")
        assert page.waits(DONE) == "Stopped."
        written(page, "if 1:\n")
        page.types(f"{Keys.TAB}print(2){Keys.CONTROL}{Keys.ENTER}")
        assert page.waits(DONE) == "Done." and page.evaluate(PRINTED) == "2\n"
        page.types(Keys.ESCAPE + Keys.TAB)
        assert page.evaluate("document.activeElement.textContent") == "Run"
        assert all(url.startswith(address.removesuffix("page.html")) for url in page.evaluate(LOADED))


def test_the_audit_of_the_sample_is_made_and_kept(page: Any, tmp_path: Path) -> None:
    page, folder = page
    with pages_that_run.served(tmp_path, '<div class="audit-here"></div>', "audit_here.js") as address:
        page.navigate(address)
        page.waits("document.querySelector('.audit-here button')")
        page.clicks("Try it with a sample")
        page.waits("document.querySelector('.audit-here a[download=\"report.json\"]')", 600)
        assert page.evaluate("document.querySelector('.audit-here output').textContent") == "Done."
        page.clicks("report.json")
        assert downloaded(folder / "report.json")["verdicts"]


def test_a_warm_up_is_done_and_taken_along(page: Any, tmp_path: Path) -> None:
    page, folder = page
    chapter = PAGES[0].rpartition("/")[2]
    about = {"page": chapter, "tasks": "5", "minutes": "60"}
    body = '<section id="exercises"><h2>Exercises</h2></section>'
    with pages_that_run.served(tmp_path, body, "run_here.js", **about) as address:
        page.navigate(address)
        page.waits("document.querySelector('.tasks-here button')")
        page.clicks("Do 5 tasks here")
        page.waits("document.querySelector('.tasks-here textarea')")
        written(page, "def mine():\n    return 1\n")
        page.types(f"# mine{Keys.CONTROL}{Keys.ENTER}")
        assert page.waits(DONE).startswith(("Not yet.", "It ended with an error."))
        page.clicks("Download as the notebook")
        made = downloaded(folder / f"{chapter}-warm-up.ipynb")
        assert any("# mine" in cell["source"] for cell in made["cells"])
