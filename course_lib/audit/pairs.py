"""Pairs (user, item) from files and arrays, as the rows of the two tables that their ids name.

    .npz                   arrays `users` and `items` (or user_ids and movieId, ...), or one (N, 2)
    .npy                   (N, 2)
    .csv .tsv .txt .dat    a pair a line, read in chunks, split by what the first line has most of: tabs, commas,
                           semicolons, ::, or else spaces; with a header where a field is named as users or items are.
                           Without one, lines of a user and all of the user's items are read too (`lines.by_user`)
    .parquet               two columns, and those of ratings and times; .arrow, .feather and a folder of Parquet parts
                           too; needs pyarrow

Columns are known by their names: user_id, userId, users, customer_id, movieId, product_id, asin (`columns`), or what
begins with user or item; a name with a digit is an id. Two columns alone may have any names, and a text file without a
header has its pairs in the first two, and a rating and a time behind them, in any order. Of more columns none is
guessed: `FILE#USERS,ITEMS` names the two. Where a table has ids (`course_lib.audit.files`), the pairs are mapped by
them; else they are row numbers, from 0. An id is what is written (`course_lib.audit.ids`).

No rating decides whether a pair counts. `Found.read` says what was read, and how many ratings are 0 or below. A column
named as times are (`columns.is_time`), of numbers or of dates such as 2024-05-01 or 20240501, gives each pair its time;
of a pair that comes again the earliest counts. Times beyond `hits.LATEST` are
in the next of UNITS that fits, and become seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.audit.arrow import ENDINGS, arrow_ids, arrow_table
from course_lib.audit.columns import SIDES, is_rating, named_like, vague_time
from course_lib.audit.files import listed, numpy_arrays, refuse_objects
from course_lib.audit.ids import Naming, plain_ids
from course_lib.audit.lines import Layout, below, by_user, fields_in, layout_of, lines_of, records
from course_lib.audit.schema import INFERRED, Schema
from course_lib.audit.sources import located, refuse_file
from course_lib.audit.tables import AnyArray, Table
from course_lib.hits import LATEST
from course_lib.interactions import Interactions

CHUNK = 500_000  # lines, or rows of Parquet, whose ids are held as such at once
UNITS = {"": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}  # of times: how many in a second
FIRST_TIME = 1e8  # seconds since 1970: the year 1973
LIKE_TIMES = 8e8, 2.0**31  # the years 1995 and 2038: a column without a name, whose median lies there, holds times
LISTS = 10_000  # lines of a user and all of the user's items
LOOKED, FEWEST = 1_000, 100  # lines without a header whose columns are told apart by what they hold
SCALE = 11  # values that a scale of ratings has: 0 to 10
TEXTS = (".csv", ".tsv", ".txt", ".dat", ".data", ".inter")
PAIRS = "pairs in .npz (users, items), .npy (N, 2), .csv, .tsv, .txt, .dat, .parquet, .arrow or .feather"


@dataclass(frozen=True)
class Chunk:
    """Users and items (N,) as the file has them, the lines of the file where they stand, ratings and times, or None.

    read: lines or rows of the file that these are.
    """

    users: AnyArray
    items: AnyArray
    read: int
    lines: AnyArray | None = None
    ratings: AnyArray | None = None
    times: AnyArray | None = None


@dataclass
class Source:
    """The chunks of a file, how it was understood, and what the chunks that passed by held.

    total: what the file holds, counted apart from the chunks, or None; unit: of what. columns: those of users and of
    items; rating, time: those that tell how much a user liked an item, and when, or none; unused: the others. numbered:
    whether the first pair, 0 and 1, may be what pandas calls columns without names.
    """

    chunks: Iterable[Chunk]
    total: int | None
    unit: str
    columns: tuple[str, str]
    rating: str = ""
    unused: tuple[str, ...] = ()
    time: str = ""
    read: int = 0
    pairs: int = 0
    below: int = 0
    no_number: int = 0
    clocked: bool = True
    numbered: bool = False

    def counted(self) -> Iterator[Chunk]:
        """The chunks, which are counted."""
        for chunk in self.chunks:
            self.read += chunk.read
            self.pairs += len(chunk.users)
            self.clocked &= chunk.times is not None
            if chunk.ratings is not None:
                low, none = below(chunk.ratings)
                self.below, self.no_number = self.below + low, self.no_number + none
            yield chunk

    def said(self) -> tuple[str, dict[str, Any]]:
        """(one sentence for the report, which column is what)."""
        users, items = self.columns
        of = "" if self.total is None else f" of {self.total:,}"
        said = f"read {self.read:,}{of} {self.unit}"
        said += f", {self.pairs:,} pairs" if self.pairs != self.read else ""
        said += f"; users: {users}; items: {items}"
        unused, rated = self.unused, bool(self.rating) and self.no_number < self.pairs
        time = self.time if self.clocked else ""
        if time:
            said += f"; times: {time}"
        elif self.time:
            unused = (*unused, self.time)
            said += f"; no times, for {self.time} does not hold one in each"
        if rated:
            odd = f"0 or below: {self.below:,}" + (f", no number: {self.no_number:,}" if self.no_number else "")
            said += f"; every pair counts as positive, whatever its {self.rating} ({odd})"
        elif self.rating:
            unused = (self.rating, *unused)
        said += "; line 1 was read as the pair 0, 1" if self.numbered else ""
        taken: dict[str, Any] = {"user": users, "item": items, "time": time or None}
        taken |= {"rating": self.rating if rated else None, "ignored": [*unused]}
        return said + (f"; not used: {listed(unused)}" if unused else ""), taken


@dataclass(frozen=True)
class Found:
    """pairs: the distinct ones that name two rows; repeated: how often a pair came again; lost: pairs of zero rows.

    read, schema: how much of a file was read, and which columns as what: a sentence, and {user, item, time, rating,
    ignored}; unit: of UNITS, what the times were given in; numbered: see `Source`.
    """

    pairs: Interactions
    repeated: int
    lost: int
    read: str = ""
    schema: dict[str, Any] = field(default_factory=dict)
    unit: str = ""
    numbered: bool = False


def read_pairs(text: str, name: str, users: Table, items: Table, schema: Schema = INFERRED) -> Found:
    """The pairs of FILE or FILE#USERS,ITEMS."""
    path, chosen = located(text, name, PAIRS)
    wanted = tuple(part.strip() for part in chosen.split(",")) if chosen else ()
    if chosen and (len(wanted) != 2 or len(set(wanted)) != 2):
        raise refuse_file(name, path, f"#{chosen} names {len(set(wanted))} columns", "two: FILE#USERS,ITEMS")
    if wanted:
        schema = replace(schema, user=wanted[0], item=wanted[1])
    source = _source(path, schema, name, items)
    found = _joined(source.counted(), f"{name} ({path})", users, items)
    said, taken = source.said()
    return replace(found, read=said, schema=taken, numbered=source.numbered)


def refuse_names_as_pairs(found: Iterable[Found | None]) -> None:
    """Raises ValueError where both files begin with the line 0,1, and share no other pair."""
    both = [each.pairs for each in found if each is not None and each.numbered]
    if len(both) == 2 and both[0].contains(both[1].users, both[1].items).sum() <= 1:
        raise ValueError(
            "pairs and held-out both begin with the line 0,1: pandas writes it above columns without names, and it is "
            "no pair; expected names of columns, or no such line"
        )


def pairs_of(values: Any, name: str, users: Table, items: Table) -> Found:
    """The same of `Interactions`, of two arrays (N,), or of one (N, 2)."""
    if isinstance(values, Interactions):
        return _joined([Chunk(values.users, values.items, len(values), times=values.times)], name, users, items)
    if isinstance(values, tuple) and len(values) == 2:
        left, right = (checking.as_numpy(side) for side in values)
    else:
        both = checking.as_numpy(values)
        if both.ndim != 2 or both.shape[1] != 2:
            raise ValueError(f"{name} has shape {both.shape}; expected Interactions, two arrays (N,), or one (N, 2)")
        left, right = both.T
    return _joined([Chunk(left, right, len(left))], name, users, items)


def _joined(chunks: Iterable[Chunk], name: str, users: Table, items: Table) -> Found:
    left_names, right_names = Naming(users, "user"), Naming(items, "item")
    parts, clocks, at = [], [], 0
    for chunk in chunks:
        clocks.append(chunk.times)
        left, right = chunk.users, chunk.items
        if left.ndim != 1 or left.shape != right.shape:
            raise ValueError(f"{name} has users of shape {left.shape} and items {right.shape}; expected both (N,)")
        both = ((left_names, left), (right_names, right))
        parts.append([names.rows_of(ids, name, at, chunk.lines) for names, ids in both])
        at += len(left)
    if not at:
        raise ValueError(f"{name} holds no pair; expected at least one")
    rows, columns = (np.concatenate(side) for side in zip(*parts, strict=True))
    kept = (rows >= 0) & (columns >= 0)
    known = [clock for clock in clocks if clock is not None]
    rows, columns = rows[kept], columns[kept]
    times = np.concatenate(known)[kept] if len(known) == len(clocks) else None
    unit = ""
    if times is not None:
        times, unit = _in_seconds(times)
        _refuse_mixed(times, name)
        order = np.argsort(times, kind="stable")  # of equal pairs the first stays
        rows, columns, times = rows[order], columns[order], times[order]
    pairs = Interactions.merged(
        rows, columns, n_users=len(users.rows), n_items=len(items.rows), times=times, keep="first"
    )
    return Found(pairs, int(kept.sum()) - len(pairs), int((~kept).sum()), unit=unit)


def _in_seconds(times: AnyArray) -> tuple[AnyArray, str]:
    """Times in seconds since 1970, and the unit that they had; as they are where no unit fits."""
    for unit, size in UNITS.items():
        if not len(times) or times.max() / size <= LATEST:
            return (times / size if unit else times), unit
    return times, ""


def _refuse_mixed(times: AnyArray, name: str) -> None:
    """Raises ValueError for times far below all others: 0 or -1 for a time that is missing, or another unit."""
    latest = float(times.max(initial=0))
    low, high = times < latest / 100, times > latest / 3
    if latest > FIRST_TIME and low.any() and (low | high).all():
        raise ValueError(
            f"{name}: {int(low.sum())} times are {times[low].max():g} or below, others {times[high].min():g} or above, "
            "in seconds; expected a time of each pair, all in one unit, or --columns time=- for none"
        )


# ------------------------------------------------------------------------------------------------------------- formats


def _source(path: Path, schema: Schema, name: str, items: Table) -> Source:
    ending = path.suffix.lower()
    if path.is_dir() or ending in ENDINGS:
        return _from_arrow(path, schema, name)
    if ending in (".npy", ".npz"):
        return _from_numpy(path, schema, name)
    if ending in TEXTS:
        return _from_text(path, schema, name, items)
    raise refuse_file(name, path, f"the ending {ending!r} is none of pairs", PAIRS)


def _from_numpy(path: Path, schema: Schema, name: str) -> Source:
    arrays, objects = numpy_arrays(path, name)
    vectors = [key for key, array in arrays.items() if array.ndim == 1] + objects
    two = [key for key, array in arrays.items() if array.ndim == 2 and array.shape[1] == 2]
    wanted = schema.user or schema.item
    keys = (schema.user or "users", schema.item or "items")
    if not two and not all(key in vectors for key in keys):
        sides = [
            _side(schema.kept(vectors), own, side) for own, side in zip((schema.user, schema.item), SIDES, strict=True)
        ]
        keys = (sides[0][0], sides[1][0]) if [*map(len, sides)] == [1, 1] else keys
    if bad := next((key for key in objects if key in keys), None):
        raise refuse_objects(name, path, bad)
    if all(key in arrays for key in keys):
        left, right = (_ids_of(arrays[key], key, name, path) for key in keys)
        others = [key for key in vectors if key not in keys]
        even = [key for key in others if key in arrays and arrays[key].shape == left.shape]
        even = [key for key in even if arrays[key].dtype.kind in "iufb" or not schema.is_rating(key)]
        rating, when = _rating_and_time(even, schema)
        times = _clock(arrays[when]) if when else None
        chunk = Chunk(left, right, len(left), ratings=arrays[rating] if rating else None, times=times)
        unused = tuple(key for key in others if key not in (rating, when))
        return Source([chunk], None, "pairs", (keys[0], keys[1]), rating, unused, when)
    if wanted or len(two) != 1:
        held = ", ".join(f"{key or 'an array'} {array.shape}" for key, array in arrays.items())
        expected = f"arrays named {keys[0]} and {keys[1]}, or one of shape (N, 2)"
        raise refuse_file(name, path, f"it holds {held}", expected)
    both = _ids_of(arrays[two[0]], "ids", name, path)
    columns = ("the first column", "the second column")
    unused = tuple(key for key in vectors if key)
    return Source([Chunk(both[:, 0], both[:, 1], len(both))], None, "pairs", columns, unused=unused)


def _clock(values: AnyArray) -> AnyArray | None:
    """(N,) seconds, or what the numbers count; None where these are no times."""
    try:
        if values.dtype.kind in "OUS":
            texts = np.array([each.removesuffix(" UTC") for each in values.astype(str).tolist()])  # BigQuery
            try:
                values = texts.astype(np.float64)
            except ValueError:
                with warnings.catch_warnings():  # of a Z, or another zone, behind the time: it is read, as of UTC
                    warnings.simplefilter("ignore", UserWarning)
                    values = texts.astype("datetime64[s]")
        if values.dtype.kind == "M":
            values = np.where(np.isnat(values), np.nan, values.astype("datetime64[s]").astype(np.float64))
    except (ValueError, TypeError):
        return None
    return _days(values) if values.dtype.kind in "iuf" and np.isfinite(values).all() else None


def _days(numbers: AnyArray) -> AnyArray:
    """Numbers that are all dates, as 20240131 or 20240131235959, in seconds since 1970; others as they are."""
    clock = 10**6 if len(numbers) and numbers.min() > 10**13 else 1
    if not len(numbers) or numbers.min() < 19700101 * clock or numbers.max() > 21001231 * clock + clock:
        return numbers
    whole = numbers.astype(np.int64)
    date, rest = whole // clock, whole % clock
    year, month, day = date // 10**4, date // 100 % 100, date % 100
    hour, minute, second = rest // 10**4, rest // 100 % 100, rest % 100
    inside = [(1, month, 12), (1, day, 31), (0, hour, 23), (0, minute, 59), (0, second, 59)]
    if (whole != numbers).any() or any(((part < low) | (part > high)).any() for low, part, high in inside):
        return numbers
    months = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    return (((days * 24 + hour) * 60 + minute) * 60 + second).astype(np.float64)


def _ids_of(array: AnyArray, where: str, name: str, path: Path) -> AnyArray:
    if array.dtype.kind not in "iuUS":
        raise refuse_file(name, path, f"it holds {array.dtype} numbers", "ids: whole numbers or strings")
    return plain_ids(array, where, name, path)


def _side(names: list[str], own: str, side: str) -> list[str]:
    """The names that may be those of users, or of items: the declared one, or by `columns`."""
    return [own] * names.count(own) if own else [names[place] for place in named_like(names, side, loose=False)]


def _from_arrow(path: Path, schema: Schema, name: str) -> Source:
    seen: list[str] = []

    def used_of(columns: list[str]) -> list[str]:
        """Those of users and of items, and a rating and a time where there are such."""
        if len(columns) < 2:
            raise refuse_file(name, path, f"it has {len(columns)} columns", "one of users and one of items")
        places = _places(columns, schema, name, path)
        if places is None and len(columns) > 2:
            raise _unclear(columns, "users and items", name, path)
        two = [columns[place] for place in places or (0, 1)]
        if seen and set(seen) != set(columns):
            raise refuse_file(name, path, "its parts have different columns", "the same columns in all parts")
        seen[:] = columns
        return two + [key for key in _rating_and_time((key for key in columns if key not in two), schema) if key]

    found = arrow_table(path, name, used_of)
    used = found.column_names
    unused = tuple(key for key in seen if key not in used)
    rating, time = _rating_and_time(used[2:], schema)

    def chunks() -> Iterator[Chunk]:
        for at in range(0, found.num_rows, CHUNK):
            part = found.slice(at, CHUNK)
            both = [arrow_ids(part, column, name, path, at) for column in used[:2]]
            rated = part.column(rating).to_numpy() if rating else None
            times = _clock(part.column(time).to_numpy()) if time else None
            yield Chunk(both[0], both[1], part.num_rows, ratings=rated, times=times)

    return Source(chunks(), found.num_rows, "rows", (used[0], used[1]), rating, unused, time)


def _rating_and_time(names: Iterable[str], schema: Schema) -> tuple[str, str]:
    """Which of the columns beside users and items is which; "" for none. Of several times the surest is taken."""
    names = list(names)
    rating = next(filter(schema.is_rating, names), "")
    return rating, min((name for name in names if schema.is_time(name) and name != rating), key=vague_time, default="")


def _from_text(path: Path, schema: Schema, name: str, items: Table) -> Source:
    layout = layout_of(next(lines_of(path, name), (0, ""))[1], path.suffix.lower())
    fields = next(records(path, name, layout), (0, 0, [""]))[2]
    places = _places([field.strip() for field in fields], schema, name, path)
    total = sum(1 for _ in lines_of(path, name))
    if places is None and by_user(path, name, layout, Naming(items, "item").knows):
        return Source(_lists(path, name, layout), total, "lines", ("the first field", "all other fields"))
    header = places is not None
    if not header and layout.split is not None and len(fields) > 2 and fields == [*map(str, range(len(fields)))]:
        what = f"line 1 is {', '.join(fields)}: pandas numbers columns without names so, and it is no pair"
        raise refuse_file(name, path, what, "names of columns, or no such line")
    names = [(header and field.strip()) or f"column {at}" for at, field in enumerate(fields, 1)]
    used = places or (0, 1)
    others = [name for at, name in enumerate(names) if at not in used]
    rating, time = _rating_and_time(others, schema)
    if not header:
        rating, time = _unnamed(path, name, layout, others, Naming(items, "item"), total)
    extra = [names.index(name) if name else None for name in (rating, time)]
    chunks = _rows_of(path, name, layout, used, extra, header)
    columns = (names[used[0]], names[used[1]] if len(names) > 1 else "none")
    unused = tuple(each for each in others if each not in (rating, time))
    numbered = not header and fields == ["0", "1"]
    return Source(chunks, total - header, "lines", columns, rating, unused, time, numbered=numbered)


def _unnamed(path: Path, name: str, layout: Layout, others: list[str], items: Naming, total: int) -> tuple[str, str]:
    """Which of the columns behind a user and an item holds the rating and which the time, by what they hold.

    Raises ValueError where the second column holds few values, as ratings do, and the third ids of many items.
    """

    def columns(step: int) -> list[AnyArray]:
        found = islice(records(path, name, layout), 0, LOOKED * step, step)
        return [*map(np.array, zip(*(fields for _, _, fields in found if len(fields) == layout.width), strict=True))]

    def rated(looked: list[AnyArray]) -> bool:
        second, third = (len(np.unique(column)) for column in looked[1:3])
        many = len(looked[0]) >= FEWEST and third > 2 * second and items.rows >= 10 * second
        return many and second <= SCALE and items.knows(np.unique(looked[2]))

    if not others or layout.width < 3:
        return "", ""
    looked = columns(1)
    if rated(looked) and rated(columns(max(1, total // LOOKED))):  # of a file in the order of its items, look at more
        what = f"column 2 holds {len(np.unique(looked[1]))} values, as ratings do, and column 3 ids of items"
        raise refuse_file(name, path, what, "a first line that names the columns, such as user,rating,item")
    rating, time = (others[0], others[1] if len(others) == 2 else "")  # user, item, rating, time: MovieLens
    if _like_times(looked[2]) and not (time and _like_times(looked[3])):
        rating, time = time, rating
    return rating, time


def _like_times(values: AnyArray) -> bool:
    """Whether a column that nothing names holds times, of our days and in one unit."""
    clock = _clock(values)
    if clock is None or not len(clock):
        return False
    seconds, _ = _in_seconds(clock)
    return bool(LIKE_TIMES[0] <= np.median(seconds) and seconds.max() <= LIKE_TIMES[1])


def _rows_of(
    path: Path, name: str, layout: Layout, used: tuple[int, int], extra: list[int | None], header: bool
) -> Iterator[Chunk]:
    """A pair of each line; extra: where its rating and its time are."""
    found = records(path, name, layout)
    if header:
        next(found)
    for block in fields_in(found, path, name, max(used) + 1, layout.width, CHUNK):
        left, right = (np.array([fields[place] for _, _, fields in block]) for place in used)
        lines = np.array([number for number, _, _ in block])
        rated, times = (None if at is None else np.array([fields[at] for _, _, fields in block]) for at in extra)
        clock = None if times is None else _clock(times)
        yield Chunk(left, right, sum(taken for _, taken, _ in block), lines, rated, clock)


def _lists(path: Path, name: str, layout: Layout) -> Iterator[Chunk]:
    """The pairs of lines that hold a user and all of the user's items."""
    found = records(path, name, layout)
    while block := list(islice(found, LISTS)):
        lengths = [len(fields) - 1 for _, _, fields in block]
        left = np.repeat([fields[0] for _, _, fields in block], lengths)
        lines = np.repeat([number for number, _, _ in block], lengths)
        right = np.array([item for _, _, fields in block for item in fields[1:]], dtype=str)
        yield Chunk(left, right, sum(taken for _, taken, _ in block), lines)


def _places(fields: list[str], schema: Schema, name: str, path: Path) -> tuple[int, int] | None:
    """Which columns hold the users and the items; None where the first line is no header."""
    wanted = [column for column in (schema.user, schema.item) if column]
    for column in wanted:
        if fields.count(column) != 1:
            what = f"it has {'several columns' if column in fields else 'no column'} {column}"
            raise refuse_file(name, path, what, f"one of {', '.join(fields)}")
    if len(wanted) == 2:
        return fields.index(wanted[0]), fields.index(wanted[1])
    free = ["" if field in (*schema.ignored, *wanted) else field for field in fields]
    users = [fields.index(schema.user)] if schema.user else named_like(free, "user")
    items = [fields.index(schema.item)] if schema.item else named_like(free, "item")
    if (not users and not items) or len(fields) < 2:
        return None
    if len(fields) == 2 and len(users) + len(items) == 1 and not any(map(is_rating, fields)):
        user = users[0] if users else 1 - items[0]
        return user, 1 - user
    for side, found in (("users", users), ("items", items)):
        if len(found) != 1:
            raise _unclear([fields[place] for place in found] or fields, side, name, path)
    return users[0], items[0]


def _unclear(columns: list[str], side: str, name: str, path: Path) -> ValueError:
    what = f"which of the columns {', '.join(columns)} holds the {side} is not clear from their names"
    return refuse_file(name, path, what, f"--columns user=NAME item=NAME, or {path.name}#USERS,ITEMS")
