"""Plain values: what an answer may be made of, and all that passes between a student's process and the judge.

A value is None, a bool, an int, a finite or infinite float, a short string, a Fraction, or a list of values. Tuples and
arrays travel as lists. Nothing else can be sent, so no object with an `__eq__` of its own ever meets a check. The
public checks send questions and answers through the same conversion: a float32 or a tensor passes both or neither.
"""

from __future__ import annotations

import json
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

MOST_BYTES = 2_000_000
DEEPEST = 8


class NotPlain(ValueError):
    """A value, or a message, that is not plain."""


def to_plain(value: Any, depth: int = 0) -> Any:
    """What json can write: rationals become {"fraction": [numerator, denominator]}, tuples and arrays lists.

    Numbers of other packages, such as SymPy's, count by what Python's `numbers` says that they are. A complex number
    without an imaginary part is a real one.
    """
    if depth > DEEPEST:
        raise NotPlain(f"an answer may be nested {DEEPEST} lists deep, not deeper")
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy, tensors of torch
        value = value.tolist()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is complex and value.imag == 0:  # `numpy.linalg.eig` makes all of them complex if one pair is
        return value.real
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational):
        return {"fraction": [int(value.numerator), int(value.denominator)]}
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [to_plain(entry, depth + 1) for entry in value]
    raise NotPlain(
        f"an answer must be made of numbers, Fractions, strings, lists, tuples or arrays, not {type(value).__name__}"
    )


def from_plain(value: Any, depth: int = 0) -> Any:
    """The value that `to_plain` wrote; NotPlain for anything that it cannot have written."""
    if depth > DEEPEST:
        raise NotPlain("nested too deeply")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [from_plain(entry, depth + 1) for entry in value]
    if type(value) is dict and list(value) == ["fraction"]:
        parts = value["fraction"]
        if type(parts) is list and len(parts) == 2 and all(type(part) is int for part in parts) and parts[1] != 0:
            return Fraction(*parts)
    raise NotPlain("not a plain value")


def dumps(message: dict[str, Any]) -> bytes:
    """One line of JSON."""
    return json.dumps(message).encode() + b"\n"


def loads(line: bytes) -> dict[str, Any]:
    """The message in one line; NotPlain when it is too long, too deep or no JSON object."""
    if len(line) > MOST_BYTES:
        raise NotPlain(f"an answer may be {MOST_BYTES:,} bytes long, not longer")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NotPlain("unreadable message") from error
    if type(message) is not dict:
        raise NotPlain("unreadable message")
    return message
