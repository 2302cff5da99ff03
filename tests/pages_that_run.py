"""A page that runs Python, alone in a site of its own, with the files of the book and the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools import browsing, python_in_page

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = [*Path(ROOT, "book/assets").glob("python_*.js"), *Path(ROOT, "book/assets").glob("*_here.js")]


class Shown(NamedTuple):
    """A page in a browser, where it is served, and all that it asked for, which is from there alone."""

    page: Any
    address: str
    asked: list[str]


@contextmanager
def served(folder: Path, body: str, module: str, **about: str) -> Iterator[str]:
    """The address of the page; skips where the engine was not fetched."""
    if not (python_in_page.FOLDER / "about.json").is_file():
        pytest.skip("make python-in-page fetches the engine")
    python_in_page.pack_course(None)  # type: ignore[arg-type]
    static = folder / "site" / "_static"
    static.mkdir(parents=True)
    (static / "python").symlink_to(python_in_page.FOLDER / "python")
    for path in SCRIPTS:
        (static / path.name).symlink_to(path)
    given = {"module": module, "megabytes": "28", "audit-megabytes": "41"} | about
    data = " ".join(f'data-{name}="{value}"' for name, value in given.items())
    (static.parent / "page.html").write_text(
        f'<!doctype html><html lang="en"><title>A page</title><main>{body}</main>'
        f'<script src="_static/python_start.js" {data}></script></html>',
        encoding="utf-8",
    )
    with browsing.served(static.parent) as address:
        yield f"{address}/page.html"


@contextmanager
def shown(browser: Any, folder: Path, body: str, module: str, **about: str) -> Iterator[Shown]:
    """The page, open."""
    with served(folder, body, module, **about) as opened:
        address = opened.removesuffix("/page.html")
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(opened)
        yield Shown(page, address, asked)
        assert all(url.startswith((address, "blob:")) for url in asked)
        page.close()
