"""The field above a long reference that hides what a reader does not look for, and what leads old addresses on."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

HERE = Path(__file__).parent


def form(what: str, *, rows: str, groups: str = "", choices: Iterable[str] = ()) -> str:
    """HTML: a form that shows itself where scripts run, with its script (tools/filter.js).

    what: what is filtered, in words, "claims". rows, groups: selectors of CSS; of a group nothing is left when all
    rows in it are hidden. choices: entries of a menu of statuses, each the text of an <em> in a row.
    """
    options = "".join(f"<option>{escape(choice)}</option>" for choice in choices)
    menu = f'<label>Status <select name="kind"><option value="">any</option>{options}</select></label>'
    return (
        f'<form class="course-filter" role="search" aria-label="Filter the {escape(what)}" '
        f'data-what="{escape(what)}" data-rows="{escape(rows)}" data-groups="{escape(groups)}" hidden>'
        '<label>Words <input type="search" name="words" autocomplete="off"></label>'
        f'{menu if options else ""}<output aria-live="polite"></output></form>'
        f"\n<script>\n{_script('filter.js')}</script>"
    )


def forwarding() -> str:
    """HTML: the script that leads an address of old to the page below (tools/forward.js).

    What is forwarded lies in an element with the attribute `data-forwards`: each line has an id and a link.
    """
    return f"<script>\n{_script('forward.js')}</script>"


def _script(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
