"""Numbers that a notebook shows: named scalars, usable in its prose and checked by the tests, and tables.

A number in a sentence must come from code. ``publish("ratio", 0.4)`` does two things:

1. it prints ``ratio = 0.4``, so that the reader sees where the number comes from;
2. it records the number under its name in the cell's output: its text, where the prose of the page finds it (MyST's
   glue role), and its value, which the notebook tests compare with the tolerance in the lesson's ``claims.yml``.
"""

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

NAME_PATTERN = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
GLUE_PREFIX = "application/papermill.record/"  # the key under which MyST-NB looks for values to use in prose


def format_scalar(value: Any, *, digits: int | None = None) -> str:
    """The text of a number: ``digits`` decimals when given, all digits of a whole number, else six significant digits.

    Fractions without ``digits`` keep their exact form, such as ``1/3``.
    """
    if digits is not None and (isinstance(digits, bool) or not isinstance(digits, int) or digits < 0):
        raise ValueError(f"digits: got {digits!r}, expected None or a whole number of decimals, 0 or more")
    number = _as_number(value)
    if digits is not None:
        text = f"{float(number):.{digits}f}"
        return text.removeprefix("-") if float(text) == 0 else text  # a rounded -0.00 is 0.00
    if isinstance(number, (Integral, Fraction)):
        return str(number)
    return f"{float(number):.6g}"


def publish(name: str, value: Any, *, digits: int | None = None) -> None:
    """Publish one number of a notebook under a name.

    Args:
        name: lower-case words joined by ``-`` or ``_``; used once per notebook.
        value: an int, float or Fraction, or a NumPy or torch number with one element; finite.
        digits: decimals to show (None: exact for whole numbers and fractions, six significant digits otherwise).
            The tests compare the full value, not the rounded text.

    Raises:
        ValueError: for a badly formed name, or a value that is not one finite number.
    """
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        raise ValueError(
            f"name: got {name!r}, expected lower-case words joined by '-' or '_', such as 'precision-at-5'"
        )
    text = format_scalar(value, digits=digits)
    print(f"{name} = {text}")
    record_for_prose(name, text, float(_as_number(value)))


@dataclass(frozen=True)
class Table:
    """A table for a notebook: HTML that scrolls on a narrow screen, and aligned text where there is no HTML.

    caption: what the table shows, in a sentence. heads: one head a column. rows: cells; the first one names its row.
    A number is shown as by `format_scalar`; words stay as they are; None is a dash. digits: decimals of all numbers
    that are not whole (None: six significant digits).
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    digits: int | None = None

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.heads):
                raise ValueError(
                    f"rows: row {number} has {len(row)} cells, expected one for each of the {len(self.heads)} heads"
                )

    def _texts(self) -> list[list[str]]:
        return [[self._text(cell) for cell in row] for row in self.rows]

    def _text(self, cell: Any) -> str:
        if cell is None:
            return "–"
        if isinstance(cell, str):
            return cell
        if isinstance(cell, Integral):
            return f"{int(cell):,}"
        return format_scalar(cell, digits=self.digits)

    def _is_number(self, column: int) -> bool:
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and not any(isinstance(cell, str) for cell in cells)

    def __repr__(self) -> str:
        texts = [list(self.heads), *self._texts()]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        align = [str.rjust if self._is_number(column) else str.ljust for column in range(len(self.heads))]
        lines = ["  ".join(a(t, w) for a, t, w in zip(align, row, widths, strict=True)).rstrip() for row in texts]
        return "\n".join([self.caption, *lines])

    def _repr_html_(self) -> str:
        kinds = [' class="number"' if self._is_number(column) else "" for column in range(len(self.heads))]
        head = "".join(
            f'<th scope="col"{kind}>{html.escape(text)}</th>' for kind, text in zip(kinds, self.heads, strict=True)
        )
        body = "\n".join(
            f'<tr><th scope="row">{html.escape(row[0])}</th>'
            + "".join(f"<td{kind}>{html.escape(text)}</td>" for kind, text in zip(kinds[1:], row[1:], strict=True))
            + "</tr>"
            for row in self._texts()
        )
        caption = f"<caption>{html.escape(self.caption)}</caption>"
        return (
            f'<table class="course-table">{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
        )


def _as_number(value: Any) -> Real:
    """A finite Python number from a Python, NumPy or torch number."""
    if not isinstance(value, Real) and hasattr(value, "item"):  # an array or a tensor; .item() needs one element
        try:
            value = value.item()
        except (ValueError, RuntimeError):
            raise ValueError(f"value: got an array of shape {tuple(value.shape)}, expected one number") from None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"value: got {value!r} of type {type(value).__name__}, expected one number")
    if not math.isfinite(value):
        raise ValueError(f"value: got {value!r}, expected a finite number")
    return value


def record_for_prose(name: str, text: str, value: float | None = None) -> None:
    """Store a text, and perhaps its number, in the cell's output, where MyST-NB's ``glue`` roles find it; nothing is
    shown for it.
    """
    try:
        from IPython import display, get_ipython
    except ImportError:
        return
    if get_ipython() is None:
        return
    show: Any = display.display
    kept = {"name": name, "mime_prefix": GLUE_PREFIX} | ({} if value is None else {"value": value})
    # repr keeps the text as written: the glue role evaluates literals, and 0.40 would become 0.4
    show({f"{GLUE_PREFIX}text/plain": repr(text)}, raw=True, metadata={"scrapbook": kept})
