"""An interactive that is written once, in JavaScript: Python asks the same code for words, picture and table.

A page without scripts, a printed page, a notebook's stored output and a test need what the interactive shows. The
engine of quickjs-ng runs its module on a page of paper (`paper_dom.js`) and hands over the summary, every picture
(each <svg role="img"> and each element with `data-paper`) and the table of all numbers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import traitlets

from course_lib import extras
from course_lib.lessons.shared.widgets import bundle
from course_lib.lessons.shared.widgets.base import CourseWidget

DOM = Path(__file__).with_name("paper_dom.js")
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)


@dataclass(frozen=True)
class Drawn:
    """What an interactive shows in one state: summary, pictures as HTML, table, and the same in Python."""

    story: str
    pictures: list[str]
    heads: list[str]
    rows: list[list[str]]
    python: str


@lru_cache(maxsize=64)
def drawn(module: str, state: str) -> Drawn:
    """What the interactive `module` shows in a state (JSON); RuntimeError, with the error, where its script stops."""
    try:
        import quickjs  # a moment to load, and nobody needs it before an interactive is shown
    except ImportError as error:
        raise extras.missing(error, "the picture of an interactive") from error

    script = _DEFAULT.sub("globalThis.widget = ", bundle.module(module))
    context = quickjs.Context()
    try:
        context.eval(f"(() => {{{DOM.read_text(encoding='utf-8')}}})();")
        context.eval(f"(() => {{{script}}})();")
        found = context.eval(f"drawOnce(widget, {json.dumps(state)})")
    except quickjs.JSException as error:
        raise RuntimeError(f"the interactive {module} stops: {error}") from error
    return Drawn(**json.loads(found))


class WrittenOnce(CourseWidget):
    """An interactive whose sentences, pictures and table are those of its JavaScript; see `CourseWidget`."""

    @property
    def drawn(self) -> Drawn:
        """What it shows now."""
        return drawn(self.module_name, json.dumps(self.state(), separators=(",", ":"), sort_keys=True))

    def summary(self) -> str:
        return self.drawn.story

    def picture(self) -> str:
        return "".join(self.drawn.pictures)

    def table(self) -> tuple[list[str], list[list[str]]]:
        return self.drawn.heads, self.drawn.rows

    def python(self) -> str:
        """Lines of Python that compute what it shows."""
        return self.drawn.python


class Hero(WrittenOnce):
    """The first picture of a page: `everything` says whether all its controls are shown, or three at most (hero.js)."""

    everything = traitlets.Bool(False).tag(sync=True, state=True)
