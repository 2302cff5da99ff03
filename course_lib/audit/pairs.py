"""Pairs (user, item) from files and arrays, as the rows of the two tables that their ids name.

    .npz             arrays `users` and `items`, or one (N, 2)
    .npy             (N, 2)
    .csv .tsv .txt   a pair a line, read in chunks, split by what the first line has most of: tabs, commas, semicolons,
                     or else spaces; with a header where a field is named as users or items are
    .parquet         read in chunks; .arrow and .feather too; needs pyarrow

Columns are known by their names: user_id, userId, users, customer_id, movieId, product_id, asin (OTHER_NAMES), or what
begins with user or item; a name with a digit is an id. Two columns alone may have any names, and a text file without a
header has its pairs in the first two. Of more columns none is guessed: `FILE#USERS,ITEMS` names the two. Where a table
has ids (`course_lib.audit.files`), the pairs are mapped by them; else they are row numbers, from 0.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.audit.files import arrow_ids, arrow_parts, located, numpy_arrays, plain_ids, refuse_file, whole
from course_lib.audit.tables import AnyArray, Ids, Table
from course_lib.data.interactions import Interactions

CHUNK = 500_000  # lines, or rows of Parquet, held at once
PAIRS = "pairs in .npz (users, items), .npy (N, 2), .csv, .tsv, .txt, .parquet, .arrow or .feather"
NO_ID = np.iinfo(np.int64).min
WHOLE = re.compile(r"(-?\d{1,19})(\.0*)?")  # 7, and 7.0 as pandas writes it where a column has a gap
QUOTED = re.compile(r'"[^"]*"?')  # signs in it split nothing
OTHER_NAMES = {  # of columns, in lower case
    "user": r"uid|(customer|client|member|visitor|reviewer|person|reader|listener|viewer)s?[ _-]?ids?",
    "item": r"iid|asin|isbn|sku|"
    r"(movie|film|video|show|product|article|track|song|artist|album|book|business|game)s?[ _-]?ids?",
}
Columns = tuple[AnyArray, AnyArray]


class Naming:
    """From the ids of a table to its rows; -1 for the rows that were left out."""

    def __init__(self, table: Table, side: str) -> None:
        self.side, self.rows = side, len(table.rows)
        self.place = np.full(table.size, -1, dtype=np.int64)
        self.place[table.kept] = np.arange(self.rows)
        self.known: AnyArray | None = None
        self.order: Ids = np.zeros(0, dtype=np.int64)
        if table.ids is not None:
            self.known, self.order = _sorted(table.ids)

    def rows_of(self, ids: AnyArray, name: str, start: int = 0) -> Ids:
        """The row of each id. Raises ValueError for an id that the table lacks, with its place after `start` others."""
        numbers = (
            np.where(whole(ids), ids, NO_ID).astype(np.int64) if ids.dtype.kind == "f" else ids
        )  # pandas, with a gap
        found = self._numbered(numbers) if self.known is None else self._named(numbers)
        bad = np.flatnonzero(found == -2)
        if len(bad):
            size = len(self.place)
            known = f"a row number from 0 to {size - 1}" if self.known is None else f"one of the {size} ids, such as "
            known += "" if self.known is None else str(self.known[0])
            wrong = str(ids[bad[0]]) or "'' (empty)"
            raise ValueError(
                f"{name}: pair {start + bad[0]} has the {self.side} {wrong}, which is none of the table's "
                f"(pairs like it here: {len(bad)}); expected {known}"
            )
        return found

    def _numbered(self, ids: AnyArray) -> Ids:
        numbers = _integers(ids).astype(np.int64)
        inside = (numbers >= 0) & (numbers < len(self.place))
        found: Ids = np.where(inside, self.place[np.where(inside, numbers, 0)], -2)
        return found

    def _named(self, ids: AnyArray) -> Ids:
        assert self.known is not None
        ids = ids.astype(str) if self.known.dtype.kind == "U" else _integers(ids)
        found = self._looked_up(ids)
        points = np.flatnonzero(found == -2) if ids.dtype.kind == "U" else np.zeros(0, np.int64)
        if len(points):  # 7.0 is 7, where no id reads 7.0
            found[points] = self._looked_up(
                np.array([read[1] if (read := WHOLE.fullmatch(each)) else each for each in ids[points]])
            )
        return found

    def _looked_up(self, ids: AnyArray) -> Ids:
        assert self.known is not None
        at = np.minimum(np.searchsorted(self.known, ids), len(self.known) - 1)
        found: Ids = np.where(self.known[at] == ids, self.place[self.order[at]], -2)
        return found


@dataclass(frozen=True)
class Found:
    """pairs: the distinct ones that name two rows; repeated: how often a pair came again; lost: pairs of zero rows."""

    pairs: Interactions
    repeated: int
    lost: int


def read_pairs(text: str, name: str, users: Table, items: Table) -> Found:
    """The pairs of FILE or FILE#USERS,ITEMS."""
    path, chosen = located(text, name, PAIRS)
    wanted = tuple(part.strip() for part in chosen.split(",")) if chosen else ()
    if chosen and len(wanted) != 2:
        raise refuse_file(name, path, f"#{chosen} names {len(wanted)} columns", "two: FILE#USERS,ITEMS")
    return _joined(_chunks(path, wanted, name), f"{name} ({path})", users, items)


def pairs_of(values: Any, name: str, users: Table, items: Table) -> Found:
    """The same of `Interactions`, of two arrays (N,), or of one (N, 2)."""
    if isinstance(values, Interactions):
        return _joined([(values.users, values.items)], name, users, items)
    if isinstance(values, tuple) and len(values) == 2:
        left, right = (checking.as_numpy(side) for side in values)
    else:
        both = checking.as_numpy(values)
        if both.ndim != 2 or both.shape[1] != 2:
            raise ValueError(f"{name} has shape {both.shape}; expected Interactions, two arrays (N,), or one (N, 2)")
        left, right = both.T
    return _joined([(left, right)], name, users, items)


def _joined(chunks: Iterable[Columns], name: str, users: Table, items: Table) -> Found:
    left_names, right_names = Naming(users, "user"), Naming(items, "item")
    parts, at = [], 0
    for left, right in chunks:
        if left.ndim != 1 or left.shape != right.shape:
            raise ValueError(f"{name} has users of shape {left.shape} and items {right.shape}; expected both (N,)")
        parts.append((left_names.rows_of(left, name, at), right_names.rows_of(right, name, at)))
        at += len(left)
    if not at:
        raise ValueError(f"{name} holds no pair; expected at least one")
    rows, columns = (np.concatenate(side) for side in zip(*parts, strict=True))
    kept = (rows >= 0) & (columns >= 0)
    pairs = Interactions.merged(
        rows[kept], columns[kept], n_users=len(users.rows), n_items=len(items.rows), keep="first"
    )
    return Found(pairs, int(kept.sum()) - len(pairs), int((~kept).sum()))


# ------------------------------------------------------------------------------------------------------------- formats


def _chunks(path: Path, wanted: tuple[str, ...], name: str) -> Iterator[Columns]:
    ending = path.suffix.lower()
    if ending in (".npy", ".npz"):
        yield _from_numpy(path, wanted, name)
    elif ending in (".parquet", ".arrow", ".feather"):
        yield from _from_arrow(path, wanted, name)
    elif ending in (".csv", ".tsv", ".txt"):
        yield from _from_text(path, wanted, name)
    else:
        raise refuse_file(name, path, f"the ending {ending!r} is none of pairs", PAIRS)


def _from_numpy(path: Path, wanted: tuple[str, ...], name: str) -> Columns:
    arrays = numpy_arrays(path, name)
    for array in arrays.values():
        if array.dtype.kind not in "iuUS":
            raise refuse_file(name, path, f"it holds {array.dtype} numbers", "ids: whole numbers or strings")
    keys = wanted or ("users", "items")
    if all(key in arrays for key in keys):
        left, right = (plain_ids(arrays[key], key, name, path) for key in keys)
        return left, right
    two = [array for array in arrays.values() if array.ndim == 2 and array.shape[1] == 2]
    if wanted or len(two) != 1:
        listed = ", ".join(f"{key or 'an array'} {array.shape}" for key, array in arrays.items())
        raise refuse_file(
            name, path, f"it holds {listed}", f"arrays named {keys[0]} and {keys[1]}, or one of shape (N, 2)"
        )
    both = plain_ids(two[0], "ids", name, path)
    return both[:, 0], both[:, 1]


def _from_arrow(path: Path, wanted: tuple[str, ...], name: str) -> Iterator[Columns]:
    def two(columns: list[str]) -> list[str]:
        if len(columns) < 2:
            raise refuse_file(name, path, f"it has {len(columns)} columns", "one of users and one of items")
        places = _places(columns, wanted, name, path)
        if places is None and len(columns) > 2:
            raise _unclear(columns, "users and items", name, path)
        return [columns[place] for place in places or (0, 1)]

    at = 0
    for part in arrow_parts(path, name, two, CHUNK):
        left, right = (arrow_ids(part, column, name, path, at) for column in part.column_names)
        yield left, right
        at += part.num_rows


def _from_text(path: Path, wanted: tuple[str, ...], name: str) -> Iterator[Columns]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            bare = QUOTED.sub("", file.readline())
            file.seek(0)
            split = max("\t,;", key=bare.count)
            lines: Iterator[list[str]] = csv.reader(file, delimiter=split if split in bare else " ")
            first = next(lines, [])
            places = _places([field.strip() for field in first], wanted, name, path)
            at = 0 if places is None else 1
            lines = chain([first], lines) if places is None else lines
            while block := list(islice(lines, CHUNK)):
                yield _columns(block, places or (0, 1), name, path, at)
                at += len(block)
    except (UnicodeDecodeError, csv.Error) as problem:
        raise refuse_file(name, path, f"it is no text of lines ({problem})", PAIRS) from None


def _columns(block: list[list[str]], places: tuple[int, int], name: str, path: Path, at: int) -> Columns:
    need = max(places) + 1
    short = next((number for number, line in enumerate(block) if 0 < len(line) < need), None)
    if short is not None:
        what = f"line {at + short + 1} has {len(block[short])} column{'s' * (len(block[short]) != 1)}"
        raise refuse_file(name, path, what, f"at least {need}, split by tabs, commas, semicolons or spaces")
    left, right = (np.array([line[place].strip() for line in block if line]) for place in places)
    return left, right


def _places(fields: list[str], wanted: tuple[str, ...], name: str, path: Path) -> tuple[int, int] | None:
    """Which columns hold the users and the items; None where the first line is no header."""
    if wanted:
        for column in wanted:
            if column not in fields:
                raise refuse_file(name, path, f"it has no column {column}", f"one of {', '.join(fields)}")
        return fields.index(wanted[0]), fields.index(wanted[1])
    users, items = _named_like(fields, "user"), _named_like(fields, "item")
    if (not users and not items) or len(fields) < 2:
        return None
    if len(fields) == 2 and len(users) + len(items) == 1:
        user = users[0] if users else 1 - items[0]
        return user, 1 - user
    for side, found in (("users", users), ("items", items)):
        if len(found) != 1:
            raise _unclear([fields[place] for place in found] or fields, side, name, path)
    return users[0], items[0]


def _named_like(fields: list[str], side: str) -> list[int]:
    """The places of the fields that are named so, by the surest name that there is: item_id goes before item_name."""
    lower = ["" if any(map(str.isdigit, field)) else field.lower() for field in fields]  # "user_17" is an id
    for name in (rf"{side}s?[ _-]?ids?", rf"{side}s?", OTHER_NAMES[side], f"{side}.*"):
        if found := [place for place, field in enumerate(lower) if re.fullmatch(name, field)]:
            return found
    return []


def _unclear(columns: list[str], side: str, name: str, path: Path) -> ValueError:
    what = f"which of the columns {', '.join(columns)} holds the {side} is not clear from their names"
    return refuse_file(name, path, what, f"their names after a #, as in {path.name}#USERS,ITEMS")


def _sorted(ids: AnyArray) -> tuple[AnyArray, Ids]:
    names = ids if ids.dtype.kind in "iu" else ids.astype(str)
    order = np.argsort(names, kind="stable")
    return names[order], order


def _integers(ids: AnyArray) -> AnyArray:
    """Text as integers; what is none, or too large for 64 bits, becomes a number that no table has."""
    if ids.dtype.kind in "iu":
        return ids
    try:
        return ids.astype(str).astype(np.int64)
    except (ValueError, OverflowError):
        return np.array([_integer(str(each)) for each in ids], dtype=np.int64)


def _integer(text: str) -> int:
    read = WHOLE.fullmatch(text)
    number = NO_ID if read is None else int(read[1])
    return number if abs(number) < -NO_ID else NO_ID
