"""Text files of pairs, line by line, and the signs by which their lines are split.

Quotes mean something between commas and semicolons alone, or where the first line has them: between tabs a quote is a
sign like others (12" single), and no line is ever swallowed. A quoted text may hold ends of lines, as long as none of
what it swallows looks like a line of the file. A file without a header in which each user has one line, and the lines
differ in length, holds lines of a user and all of the user's items, as LightGCN's do.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from course_lib.audit.sources import refuse_file
from course_lib.audit.tables import AnyArray

SPLITS = ("\t", ",", ";")
TEXT = "a text of lines in UTF-8"
COLONS = "::"  # MovieLens; where a line has it, commas belong to a text
EVEN = "as many in every line (or for each user one line of the user and all items, with spaces between them)"
SIGNS = "split by tabs, commas, semicolons or spaces"
QUOTED = re.compile(r'"(?:[^"]|"")*"')
RATINGS = 20  # more values than scales of ratings have: a third column with more holds something else


@dataclass(frozen=True)
class Layout:
    """How the lines of a file are split.

    split: the sign, or None for white space; loose: whether spaces follow it; quoted: whether quotes are no part of a
    field; width: fields of the first line.
    """

    split: str | None
    loose: bool
    quoted: bool
    width: int

    def raw(self, line: str) -> list[str]:
        """The fields of a line, whatever quotes it has."""
        if self.loose:
            return [field.lstrip(" ") for field in line.split(self.split)]
        return line.split(self.split)


def layout_of(first: str, ending: str) -> Layout:
    """What the first line of a file shows."""
    bare = QUOTED.sub("", first)
    most = max(SPLITS, key=bare.count)
    order = {".tsv": ("\t", most, COLONS), ".csv": (most, COLONS)}.get(ending, (COLONS, most))
    split = next((sign for sign in order if sign in bare), None)
    loose = split is not None and bare.count(split) == bare.count(f"{split} ")
    fields = Layout(split, loose, False, 0).raw(first)
    quoted = split in (",", ";") or any(QUOTED.fullmatch(field) for field in fields)
    plain = Layout(split, loose, quoted, 0)
    return Layout(split, loose, quoted, len(_quoted(first, plain) or fields) if quoted else len(fields))


def lines_of(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end) of the lines that hold something. Raises ValueError for no UTF-8."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip(" \n"):
                    yield number, line.rstrip("\n")
    except UnicodeDecodeError as problem:
        raise refuse_file(name, path, f"it is no UTF-8 text ({problem})", TEXT) from None


def records(path: Path, name: str, layout: Layout) -> Iterator[tuple[int, int, list[str]]]:
    """(number of its first line, how many lines, fields) of each record.

    Raises ValueError that names the line for a quote that is not closed, and for a text that is none.
    """
    lines = lines_of(path, name)
    for number, line in lines:
        if "\0" in line:
            raise refuse_file(name, path, f"line {number} holds the sign 0", TEXT)
        if not layout.quoted or '"' not in line:
            yield number, 1, layout.raw(line)
            continue
        record = _with_quotes(line, lines, layout)
        if record is None:
            what = f"the quotes of line {number} do not close on it, and what follows reads like other lines"
            raise refuse_file(name, path, what, "quotes in pairs, or the columns of users and items alone")
        yield number, *record


def _with_quotes(line: str, lines: Iterator[tuple[int, str]], layout: Layout) -> tuple[int, list[str]] | None:
    """(how many lines, fields) of the record that begins with this line.

    None where a quote is still open when a line follows that could be another record, or none, or only very long ones.
    """
    taken, text = 1, line
    while len(text) <= csv.field_size_limit():
        if (fields := _quoted(text, layout)) is not None:
            return taken, fields
        _, more = next(lines, (0, ""))
        if not more or layout.split not in (",", ";") or len(layout.raw(more)) == layout.width:
            return None
        taken, text = taken + 1, f"{text}\n{more}"
    return None


def _quoted(text: str, layout: Layout) -> list[str] | None:
    """The fields of a record with quotes; None where one is still open."""
    if layout.split == COLONS:
        return layout.raw(text)
    split, loose = layout.split or " ", layout.loose or layout.split is None
    try:
        return next(csv.reader([text], strict=True, delimiter=split, skipinitialspace=loose))
    except csv.Error as problem:
        if "unexpected end" in str(problem):
            return None
    # "Weird Al" Yankovic: it ends on its line, so nothing is swallowed
    return next(csv.reader([text], delimiter=split, skipinitialspace=loose))


def fields_in(
    found: Iterator[tuple[int, int, list[str]]], path: Path, name: str, need: int, width: int, size: int
) -> Iterator[list[tuple[int, int, list[str]]]]:
    """The records in blocks. Raises ValueError for one with fewer fields than are needed, or another number of them."""
    while block := list(islice(found, size)):
        for number, _, fields in block:
            if len(fields) != width or width < need:
                what = f"line {number} has {len(fields)} column{'s' * (len(fields) != 1)}"
                if len(fields) < need:
                    raise refuse_file(name, path, what, f"at least {need}, {SIGNS}")
                raise refuse_file(name, path, f"{what}, the first {width}", EVEN)
        yield block


def by_user(path: Path, name: str, layout: Layout, known: Callable[[AnyArray], bool]) -> bool:
    """Whether each line of a file without a header holds a user and all of the user's items.

    It does where no user has two lines, spaces split them, and they differ in length. known: whether the table has
    all of these items. Raises ValueError where lines of one length could be read in both ways.
    """
    users: set[str] = set()
    widths: set[int] = set()
    columns: tuple[set[str], ...] = (set(), set(), set())  # second, third, and all after the second
    counted = True
    for _, _, fields in records(path, name, layout):
        if fields[0] in users:
            return False
        counted &= fields[1:2] == [str(len(fields) - 2)]
        users.add(fields[0])
        widths.add(len(fields))
        for seen, part in zip(columns, (fields[1:2], fields[2:3], fields[2:]), strict=True):
            seen.update(part)
    if len(widths) > 1:
        if counted and layout.split is None:
            what = "in every line the second number counts those behind it"
            raise refuse_file(name, path, what, "a user and all of the user's items in each line, without their number")
        return layout.split is None
    second, third, rest = columns
    few = len(third) <= RATINGS and (layout.split is not None or 2 * len(third) <= len(second))
    if third and not few and layout.split != COLONS and known(np.array(sorted(rest))):
        what = f"each user has one line, with {layout.width} columns, and all but the first hold ids of items"
        expected = "two columns, or a first line that names the columns, such as user item rating"
        raise refuse_file(name, path, what, expected)
    return False


def below(values: AnyArray) -> tuple[int, int]:
    """(how many of these ratings are 0 or below, how many are no numbers)."""
    if values.dtype.kind not in "iuf":
        try:
            values = values.astype(np.float64)
        except (ValueError, TypeError):
            values = np.array([_rating(each) for each in values.astype(str).tolist()], dtype=np.float64)
    return int((values <= 0).sum()), int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0


def _rating(text: str) -> float:
    try:
        return float({"true": "1", "false": "0"}.get(text.strip().lower(), text))
    except ValueError:
        return np.nan
