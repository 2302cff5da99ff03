"""What every interactive of the course has in common."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib import extras
from course_lib.lessons.shared.widgets import bundle

try:
    import anywidget
except ImportError as error:
    raise extras.missing(error, "an interactive") from error

MOST_SEED = 2**32 - 1  # of random.js


def read(stored: Path) -> Any:
    """What a lesson has stored for its interactive, as JSON."""
    return json.loads(stored.read_text(encoding="utf-8"))


# Traits stand here without [Any, Any]: those of Colab's traitlets (5.7) cannot be subscripted.
class _Between(traitlets.TraitType):  # type: ignore[type-arg]
    """A number of a widget's state, `low` to `high`, a multiple of `unit`; a limit may be a function of the widget."""

    def __init__(self, default: Any, low: Any, high: Any, unit: int = 1) -> None:
        super().__init__(default)
        self.low, self.high, self.unit = low, high, unit
        self.tag(sync=True, state=True)

    def inside(self, obj: Any, value: Any) -> Any:
        low, high = (limit(obj) if callable(limit) else limit for limit in (self.low, self.high))
        if not low <= value <= high or (self.unit > 1 and value % self.unit):
            steps = f" in steps of {self.unit}" if self.unit > 1 else ""
            raise ValueError(f"{self.name} is {value}; expected {low} to {high}{steps}")
        return value


class Number(_Between, traitlets.Float):  # type: ignore[type-arg]
    """A number of a widget's state."""

    def validate(self, obj: Any, value: Any) -> float:
        return float(self.inside(obj, super().validate(obj, value)))


class Count(_Between, traitlets.Int):  # type: ignore[type-arg]
    """A whole number of a widget's state."""

    def validate(self, obj: Any, value: Any) -> int:
        return int(self.inside(obj, super().validate(obj, value)))


class Word(traitlets.Unicode):  # type: ignore[type-arg]
    """A word of a widget's state, one of `words`, which may be a function of the widget."""

    def __init__(self, default: str, words: Collection[str] | Callable[[Any], Collection[str]]) -> None:
        super().__init__(default)
        self.words = words
        self.tag(sync=True, state=True)

    def validate(self, obj: Any, value: Any) -> str:
        word = str(super().validate(obj, value))
        words = self.words(obj) if callable(self.words) else self.words
        if word not in words:
            raise ValueError(f"{self.name} is {word!r}; expected one of {', '.join(words)}")
        return word


class Checked(traitlets.TraitType):  # type: ignore[type-arg]
    """A part of a widget's state that `check(value, name, widget)` makes plain, or refuses with a ValueError."""

    def __init__(self, default: Any, check: Callable[[Any, str, Any], Any]) -> None:
        super().__init__(default)
        self.check = check
        self.tag(sync=True, state=True)

    def validate(self, obj: Any, value: Any) -> Any:
        return self.check(value, str(self.name), obj)


class Stored(traitlets.TraitType):  # type: ignore[type-arg]
    """What a lesson has stored for its interactive, read from its file; no argument of the interactive gives it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.tag(sync=True, state=True)

    def default(self, obj: Any = None) -> Any:
        return read(self.path)


class CourseWidget(anywidget.AnyWidget):
    """A widget that lives in Jupyter and on a static page, and that says in words what it shows.

    A subclass sets `module_name` (its JavaScript module), makes up its state of `Number`, `Count`, `Word` and of other
    traits with `.tag(sync=True, state=True)`, and writes `summary`, `picture` and `table` (or its own `static_body`).
    Its HTML is the same, byte for byte, for the same state: notebooks are compared by their outputs.
    """

    module_name: ClassVar[str] = ""
    frame: ClassVar[str] = "course-widget full-width"  # the theme's full-width reaches into the margin on the right
    caption: ClassVar[str] = ""  # how to read the picture of a page without JavaScript

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # anywidget makes a subclass of the subclass on every instance: only a class that names a module gets its text
        if cls.__dict__.get("module_name"):
            cls._esm = bundle.module(cls.module_name)
            cls._css = bundle.stylesheet()
        super().__init_subclass__(**kwargs)

    def __init__(self, *values: Any, **state: Any) -> None:
        """The state by name; `values` belong to the first traits of the class, in the order in which it has them."""
        given = {name for name, trait in self.traits(state=True).items() if not isinstance(trait, Stored)}
        names = [name for name in vars(type(self)) if name in given]
        state = dict(zip(names, values, strict=False)) | state
        if len(values) > len(names) or not set(state) <= given:
            raise TypeError(f"{type(self).__name__} got {list(state)}; expected some of {', '.join(names)}")
        super().__init__(**{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in state.items()})

    def summary(self) -> str:
        """The text equivalent: what the picture shows, in sentences."""
        raise NotImplementedError

    def picture(self) -> str:
        """The picture for a page without JavaScript: one <svg role="img">, no ids, no outside files."""
        raise NotImplementedError

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The numbers of the picture: column heads and rows of cells; the first cell of a row names it."""
        raise NotImplementedError

    def state(self) -> dict[str, object]:
        """The traits that make up what a reader sees, ready for JSON."""
        return {name: getattr(self, name) for name in sorted(self.trait_names(state=True))}

    def static_html(self) -> str:
        """What a page shows without a kernel, and what the script of `static_files()` mounts.

        One <div class=FRAME data-course-widget=MODULE data-state=JSON> around `static_body`: picture, caption, text
        and table.
        When the script has mounted the widget in their place, the div has data-course-widget-ready="true"; "failed"
        means that they stayed and that the console says why.
        """
        state = html.escape(json.dumps(self.state(), separators=(",", ":"), sort_keys=True))
        return (
            f'<div class="{self.frame}" data-course-widget="{self.module_name}" data-state="{state}">\n'
            f"{self.static_body()}\n</div>"
        )

    def static_body(self) -> str:
        """What stands in the page until the script has mounted the widget, and stays without JavaScript."""
        unbroken = html.escape(self.summary()).replace(" %", "\u00a0%")
        return (
            f"<figure>{self.picture()}<figcaption>{html.escape(self.caption)}</figcaption></figure>\n"
            f'<p class="cw-summary">{unbroken}</p>\n'
            f"{_table_html(*self.table())}"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.state().items())})"

    def _repr_mimebundle_(self, **kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
        live = super()._repr_mimebundle_(**kwargs)
        if live is None:
            return None
        data, metadata = live
        return {**data, "text/plain": self.summary(), "text/html": self.static_html()}, metadata


class Folded:
    """An interactive behind one button that says `words`: on a page a fold, in Jupyter the interactive itself."""

    def __init__(self, shown: CourseWidget, words: str) -> None:
        self.shown, self.words = shown, words

    def _repr_mimebundle_(self, **kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
        live = self.shown._repr_mimebundle_(**kwargs)
        if live is None:
            return None
        data, metadata = live
        opens = f'<details class="cw-folded"><summary>{html.escape(self.words)}</summary>'
        return {**data, "text/html": f"{opens}\n{data['text/html']}\n</details>"}, metadata


def _table_html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        + "</tr>\n"
        for name, *cells in rows
    )
    return (
        '<details class="cw-data"><summary>The numbers as a table</summary>\n<table class="cw-static-table">'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></details>"
    )
