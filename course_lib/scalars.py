"""Named numbers that a notebook publishes: shown, usable in its prose, and checked by the tests.

A number in a sentence must come from code. ``publish("ratio", 0.4)`` does three things:

1. it prints ``ratio = 0.4``, so that the reader sees where the number comes from;
2. it records the number under its name, so that the prose can write ``{glue:text}`ratio```;
3. when the environment variable ``COURSE_SCALARS`` names a file, it appends one JSON line to that file.
   The notebook tests read the file and compare each number with the tolerance in ``book/claims/*.yml``.
"""

import json
import math
import os
import re
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import Any

SCALARS_VARIABLE = "COURSE_SCALARS"
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
        raise ValueError(f"name: got {name!r}, expected lower-case words joined by '-' or '_', such as 'precision-at-5'")
    text = format_scalar(value, digits=digits)
    print(f"{name} = {text}")
    _record_for_prose(name, text)
    _append_to_file(name, value)


def read_scalars(path: str | Path) -> dict[str, float]:
    """The numbers that a notebook wrote to ``path``; a name that was published with two different values is an error."""
    scalars: dict[str, float] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        name, value = entry["name"], entry["value"]
        if name in scalars and scalars[name] != value:
            raise ValueError(f"name: {name!r} was published twice, as {scalars[name]!r} and as {value!r}; expected once")
        scalars[name] = value
    return scalars


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


def _record_for_prose(name: str, text: str) -> None:
    """Store the text in the cell's output, where MyST-NB's ``glue`` roles find it; nothing is shown for it."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return
    if get_ipython() is None:
        return
    # repr keeps the text as written: the glue role evaluates literals, and 0.40 would become 0.4
    metadata = {"scrapbook": {"name": name, "mime_prefix": GLUE_PREFIX}}
    display({f"{GLUE_PREFIX}text/plain": repr(text)}, raw=True, metadata=metadata)


def _append_to_file(name: str, value: Any) -> None:
    """Append ``{"name": ..., "value": ...}`` to the file that the environment names, if it names one."""
    path = os.environ.get(SCALARS_VARIABLE)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, "value": float(_as_number(value))}) + "\n")
