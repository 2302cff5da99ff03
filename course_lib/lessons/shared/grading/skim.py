"""Reads some members of a large JSON file and passes over the others: nothing is made of what is passed over.

A notebook of 25 MB has 20 kB of sources; the rest are outputs and the state of widgets. `members` gives the places of
the members of an object or of an array, `value` reads one. Time and memory are bounded for any bytes: what is passed
over is scanned by one regular expression, and what has more than MOST_MEMBERS members or MOST_BRACKETS brackets is
refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_MEMBERS = 100_000
"""Of an object or an array that is read: cells, keys of a cell."""
MOST_BRACKETS = 5_000_000
"""Of a value: a few seconds of scanning. A million printed lines are texts, and need none; a table needs two a row."""
_SPACE = re.compile(rb"[ \t\r\n]*+")
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)
_PLAIN = re.compile(rb'[^\s,:"\[\]{}]++')  # a number, true, false, null


class NotJson(ValueError):
    """The bytes are no JSON, as far as they were looked at."""


class TooMuch(NotJson):
    """More members or brackets than are read."""


@dataclass(frozen=True)
class Member:
    """A member of an object or of an array: its name (None in an array), and where its value begins and ends."""

    name: str | None
    begin: int
    end: int


def in_utf8(content: bytes) -> bytes:
    """A JSON file in UTF-8, whichever Unicode encoding it came in; NotJson where it is in none."""
    encoding = json.detect_encoding(content)
    if encoding == "utf-8":
        return content
    try:
        return content.decode(encoding).encode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise NotJson(f"no {encoding}") from error


def members(content: bytes, begin: int) -> Iterator[Member]:
    """The members of the object or array that begins at a place of `content`; NotJson where none does."""
    at = _space(content, begin)
    opened = content[at : at + 1]
    if opened not in (b"{", b"["):
        raise NotJson(f"no object and no array at byte {at}")
    closed = b"}" if opened == b"{" else b"]"
    at = _space(content, at + 1)
    if content[at : at + 1] == closed:
        return
    for _ in range(MOST_MEMBERS):
        name = None
        if opened == b"{":
            end = _end(content, at) if content[at : at + 1] == b'"' else at
            name = str(value(content, Member(None, at, end)))
            at = _expect(content, end, b":")
        end = _end(content, at)
        yield Member(name, at, end)
        at = _space(content, end)
        if content[at : at + 1] == closed:
            return
        at = _expect(content, at, b",")
    raise TooMuch(f"more than {MOST_MEMBERS:,} members")


def value(content: bytes, member: Member) -> Any:
    """What a member holds; bytes that are no UTF-8 are read as Windows-1252."""
    raw = content[member.begin : member.end]
    try:
        text = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"no value at byte {member.begin}") from error


def _space(content: bytes, at: int) -> int:
    found = _SPACE.match(content, at)
    return found.end() if found else at


def _expect(content: bytes, at: int, sign: bytes) -> int:
    """The place behind a sign, and behind the space around it."""
    at = _space(content, at)
    if content[at : at + 1] != sign:
        raise NotJson(f"no {sign.decode()!r} at byte {at}")
    return _space(content, at + 1)


def _end(content: bytes, at: int) -> int:
    """Where the value ends that begins at a place."""
    first = content[at : at + 1]
    if first not in (b"{", b"["):
        found = (_TEXT if first == b'"' else _PLAIN).match(content, at)
        if not found:
            raise NotJson(f"no value at byte {at}")
        return found.end()
    depth = 0
    for _ in range(MOST_BRACKETS):
        found = _TO_BRACKET.match(content, at)
        if not found:
            raise NotJson(f"no end of the value at byte {at}: the file ends, or a text does not")
        at = found.end()
        depth += 1 if found[1] in (b"{", b"[") else -1
        if not depth:
            return at
    raise TooMuch(f"more than {MOST_BRACKETS:,} brackets")
