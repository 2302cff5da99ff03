"""Ids as they are written, and the rows of a table that they name.

An id is a whole number or a text. A text is the number that it spells only where it is written as numbers are: 10, or
10.0 as pandas writes it where a column has a gap. 010, +10, 1_0, 1e1 and the same in other digits may be other ids.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from course_lib.audit.sources import refuse_file
from course_lib.audit.tables import AnyArray, Ids, Table

IDS = "a whole number or a text in every row"
WRITTEN = re.compile(r"(0|-?[1-9][0-9]{0,19})(\.0+)?")
EXACT = 2**53  # from here on a float is its neighbours too
MOST = np.iinfo(np.int64).max


def beyond(dtype: np.dtype[np.floating]) -> int:
    """The first whole number that, as a float, is the one after it too: 2^53, or 2^24 of float32."""
    digits: int = np.finfo(dtype).nmant + 1
    return 1 << digits


def whole(numbers: AnyArray) -> AnyArray:
    """Which floats are whole numbers, all of them so small that no neighbour is rounded to them."""
    found: AnyArray = (np.abs(numbers) < beyond(numbers.dtype)) & (numbers == np.floor(numbers))
    return found


def plain_ids(ids: AnyArray, where: str, name: str, path: Path, start: int = 0) -> AnyArray:
    """The ids as whole numbers or text. Raises ValueError, with `where` and the row, for other numbers and no text.

    start: rows that stand before these in the file.
    """
    bad, expected = np.zeros(0, dtype=np.int64), IDS
    if ids.dtype.kind == "f":
        bad = np.flatnonzero(~whole(ids))
        if len(bad) and np.abs(ids.flat[bad[0]]) >= beyond(ids.dtype):
            expected += f", below {beyond(ids.dtype)} in {ids.dtype}, which rounds larger ones to their neighbours"
    elif ids.dtype.kind == "S":
        try:
            ids = np.char.decode(ids, "utf-8")
        except UnicodeDecodeError as problem:
            bad = np.flatnonzero(ids == problem.object)
    elif ids.dtype.kind not in "iuU":
        raise refuse_file(name, path, f"{where}: ids of the type {ids.dtype}", IDS)
    if ids.dtype.kind == "U":
        bad = np.flatnonzero(ids == "")
    if len(bad):
        value = str(ids.flat[bad[0]]) or "empty"
        raise refuse_file(name, path, f"{where}: the id in row {start + bad[0]} is {value}", expected)
    return ids.astype(np.int64) if ids.dtype.kind == "f" else ids


def numbers_of(ids: AnyArray) -> tuple[AnyArray, AnyArray]:
    """(the ids as int64, which of them are such numbers). Larger ones, such as hashes, are texts."""
    if ids.dtype.kind in "iuf":
        fits = whole(ids) if ids.dtype.kind == "f" else ids <= MOST
        return np.where(fits, ids, 0).astype(np.int64), fits
    texts = np.ascontiguousarray(ids.astype(str))
    try:
        numbers = texts.astype(np.int64)
        fits = numbers.astype(str) == texts  # int() reads 010, +10 and 1_0 too
    except (ValueError, OverflowError):
        numbers, fits = np.zeros(texts.shape, np.int64), np.zeros(texts.shape, bool)
    for at in np.flatnonzero(~fits):
        number = _number(str(texts[at]))
        if number is not None and -MOST <= number <= MOST:
            numbers[at], fits[at] = number, True
    return numbers, fits


def _number(text: str) -> int | None:
    read = WRITTEN.fullmatch(text)
    if read is None or (read[2] and abs(int(read[1])) >= EXACT):
        return None
    return int(read[1])


def checked_ids(ids: AnyArray, rows: int, name: str, path: Path) -> AnyArray:
    """The ids of a table's rows: one for each, all different. Raises ValueError that names the first that is not."""
    if ids.shape != (rows,):
        counted = f"the ids have the shape {ids.shape}"
        if ids.ndim == 1:
            counted = f"there are {len(ids)} ids for {rows} rows" + (f", the first is {ids[0]}" if len(ids) else "")
        raise refuse_file(name, path, counted, "an id for each row, and no header")
    ids = plain_ids(ids, "ids", name, path)
    unique, first, counts = np.unique(ids, return_index=True, return_counts=True)
    if len(unique) < rows:
        twice = unique[counts > 1][0]
        what = f"the id {twice!s} names {counts.max()} rows, the first is row {first[unique == twice][0]}"
        raise refuse_file(name, path, what, "a different id for each row")
    return ids


def by_id(table: Table) -> Table:
    """The table with its rows in the order of their ids, so that no figure depends on how a file orders them.

    As whole numbers where all ids are written so, else as texts; a table without ids as it is.
    """
    if table.ids is None:
        return table
    ids = table.aligned(table.ids)
    numbers, fits = numbers_of(ids)
    order = np.argsort(numbers if fits.all() else ids.astype(str), kind="stable")
    if np.array_equal(order, np.arange(len(order))):
        return table
    return replace(table, rows=table.rows[order], places=table.kept[order])


class Naming:
    """From the ids of a table to its rows; -1 for the rows that were left out."""

    def __init__(self, table: Table, side: str) -> None:
        self.side, self.rows, self.left_out = side, len(table.rows), table.schema.get("ignored") or ()
        self.place = np.full(table.size, -1, dtype=np.int64)
        self.place[table.kept] = np.arange(self.rows)
        self.known: AnyArray | None = None
        self.order: Ids = np.zeros(0, dtype=np.int64)
        if table.ids is not None:
            numbers, fits = numbers_of(table.ids) if table.ids.dtype.kind in "iu" else (table.ids, np.False_)
            names = numbers if fits.all() else table.ids.astype(str)  # in a table made by hand they may be any
            self.order = np.argsort(names, kind="stable")
            self.known = names[self.order]

    def rows_of(self, ids: AnyArray, name: str, start: int = 0, lines: AnyArray | None = None) -> Ids:
        """The row of each id. Raises ValueError for an id that the table lacks, with its place after `start` others.

        lines: (N,) the line of the file in which each stands, for the message.
        """
        found = self.looked_up(ids)
        bad = np.flatnonzero(found == -2)
        if len(bad):
            line = "" if lines is None else f", in line {lines[bad[0]]}"
            line += " (if it names the columns: --columns user=NAME item=NAME)" if line.endswith(" 1") else ""
            raise ValueError(
                f"{name}: pair {start + bad[0]} has the {self.side} {_shown(str(ids[bad[0]]))}, which is none of the "
                f"table's{line} (pairs like it here: {len(bad)}); expected {self._expected(str(ids[bad[0]]))}"
            )
        return found

    def _expected(self, text: str) -> str:
        size = len(self.place)
        numbers = self.known is None or self.known.dtype.kind != "U"
        odd = any(map(str.isdigit, text)) and not WRITTEN.fullmatch(text)
        written = ", written as 10 is, not 010 or +10" if numbers and odd else ""
        if self.known is None:
            unused = ", ".join(self.left_out[:4])
            ids = f", or the ids of the rows ({unused} {'was' if len(self.left_out) == 1 else 'were'} left out: "
            ids += f"--{self.side}-ids FILE#COLUMN if the ids stand there)"
            return f"a row number from 0 to {size - 1}{written}{ids if unused else ''}"
        return f"one of the {size} ids, such as {self.known[0]}{written}"

    def knows(self, ids: AnyArray) -> bool:
        """Whether the table has all of these ids."""
        return bool((self.looked_up(ids) != -2).all())

    def looked_up(self, ids: AnyArray) -> Ids:
        """(N,) the row of each id, -1 for one that was left out, -2 for one that the table lacks."""
        if self.known is None:
            numbers, fits = numbers_of(ids)
            inside = fits & (numbers >= 0) & (numbers < len(self.place))
            found: Ids = np.where(inside, self.place[np.where(inside, numbers, 0)], -2)
            return found
        if self.known.dtype.kind != "U":
            numbers, fits = numbers_of(ids)
            return np.where(fits, self._found(numbers), -2)
        if ids.dtype.kind == "f":
            numbers, fits = numbers_of(ids)
            return np.where(fits, self._found(numbers.astype(str)), -2)
        texts = ids.astype(str)
        found = self._found(texts)
        missing = np.flatnonzero(found == -2)
        if len(missing):  # 7.0 is 7, where no id reads 7.0
            read = [(text, _number(text)) for text in texts[missing].tolist()]
            found[missing] = self._found(np.array([text if number is None else str(number) for text, number in read]))
        return found

    def _found(self, ids: AnyArray) -> Ids:
        assert self.known is not None
        at = np.minimum(np.searchsorted(self.known, ids), len(self.known) - 1)
        found: Ids = np.where(self.known[at] == ids, self.place[self.order[at]], -2)
        return found


def _shown(text: str) -> str:
    """A text as a message shows it: in quotes where its ends cannot be seen."""
    if not text:
        return "'' (empty)"
    return text if text == text.strip() else repr(text)
