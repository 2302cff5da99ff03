"""Opens a page of the built book as a test needs it, without waiting for a silent network."""

from __future__ import annotations

from typing import Any

MOUNTED = "[...document.querySelectorAll('[data-course-widget]')].every((one) => one.dataset.courseWidgetReady)"
TYPESET = "(async () => { await (window.MathJax?.startup?.promise ?? null); await document.fonts.ready; })()"


def open_whole(page: Any, address: str) -> None:
    """Opens a page and waits for its mathematics, its fonts and its interactives."""
    page.goto(address, wait_until="load")
    page.evaluate(TYPESET)
    page.wait_for_function(MOUNTED)


def open_without_mathematics(page: Any, address: str) -> None:
    """Opens a page and waits for its interactives; formulas stay as written, for typesetting takes half of the time."""
    page.route("**/mathjax/**", lambda route: route.abort())
    open_whole(page, address)
