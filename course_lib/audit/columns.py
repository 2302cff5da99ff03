"""What columns and arrays are called: one list of names for the ids in tables and in pairs, and which names the rows.

A name is compared in lower case, without the type that RecBole writes behind it (`user_id:token`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_lib.audit.ids import numbers_of
from course_lib.audit.sources import refuse_file
from course_lib.audit.tables import AnyArray

SIDES = ("user", "item")
KINDS = {  # what users and items are called elsewhere
    "user": r"customer|client|member|visitor|reviewer|person|reader|listener|viewer",
    "item": r"movie|film|video|show|product|article|track|song|artist|album|book|business|game",
}
RARER = {  # and what they are called where nothing above is there
    "user": r"account|buyer|subscriber|session",
    "item": r"listing|hotel|recipe|news|document|paper|post|job|venue|restaurant|course|anime|photo|repo",
}
CODES = {"user": r"uid", "item": r"iid|asin|isbn|sku"}
ID = r"s?[ _-]?ids?"
OF_IDS = {side: (rf"{side}{ID}", rf"({CODES[side]}|({KINDS[side]}){ID})") for side in SIDES}  # the surer first
BARE = {side: (rf"{side}s?", rf"({KINDS[side]})s?") for side in SIDES}
PLAIN = r"ids?"
NAMES = (r"names?", r".*_names?")
OTHER = re.compile(r"(.*[ _-])?(?i:ids?)|.*[a-z]Ids?")  # venue_id, ID and venueId, but not grid
INDEX = re.compile(r"__index_level_[0-9]+__")  # pandas, of an index without a name
RATING = re.compile(
    r"ratings?|stars?|scores?|labels?|values?|weights?|counts?|clicks?|clicked|like[sd]?|targets?|feedback|relevance|"
    r"overall|plays|play[ _-]?counts?|purchase[sd]?|watch[ _-]?ratio|popularity|freq(uency)?|y"
)
TIME = re.compile(r"((unix|review|event)[ _-]?)*(times?|timestamps?|dates?|datetimes?)|ts|created[ _-]?at")
FAMILY = re.compile(r"(.*?)([0-9]+)([^0-9]*)")  # dim_10, 10, 10_emb: the last number says which dimension


def named_like(names: Sequence[str], side: str, *, loose: bool = True) -> list[int]:
    """The places of the names that are called so, by the surest kind of name that there is: item_id before item_name.

    A name with a digit is none: in a text file without a header, user_17 is an id. loose: whether what begins with user
    or item may do.
    """
    lower = ["" if any(map(str.isdigit, name)) else _plain(name) for name in names]
    sure, others = OF_IDS[side]
    bare, kinds = BARE[side]
    rarer = (rf"({RARER[side]}){ID}", kinds, rf"({RARER[side]})s?")
    for kind in (sure, bare, others, *rarer, *([f"{side}.*"] if loose else [])):
        if found := [place for place, name in enumerate(lower) if re.fullmatch(kind, name)]:
            return found
    return []


def is_rating(name: str) -> bool:
    """Whether a column tells how much a user liked an item."""
    return bool(RATING.fullmatch(_plain(name)))


def is_time(name: str) -> bool:
    """Whether a column tells when a pair was made."""
    return bool(TIME.fullmatch(_plain(name)))


def vague_time(name: str) -> bool:
    """Whether such a time may be written in words, where another column may hold a number (unixReviewTime)."""
    return not re.search("stamp|unix", _plain(name))


@dataclass(frozen=True)
class Candidates:
    """Names that may hold the ids of a table's rows, all as sure as each other.

    sure: named for nothing but that: a single one is taken, and what is wrong with it is wrong with the file. Others
    are ids where they differ in all rows.
    """

    names: tuple[str, ...]
    sure: bool


def candidates(names: Iterable[str], side: str, *, index: Iterable[str] = (), bare: bool = True) -> list[Candidates]:
    """What may hold the ids of a table's rows, the surest first.

    side: "user", "item", or "" where nothing tells which the rows are. index: names of the index that pandas kept.
    bare: whether `item` or `movies` alone may be ids; an array of this name is a table, or half of the pairs.
    """
    index = set(index)
    left = list(names)
    own = [each for each in SIDES if side in (each, "")]
    found = [Candidates(_taken(left, [OF_IDS[each][0] for each in own]), True), Candidates(_taken(left, [PLAIN]), True)]
    found += [Candidates(_taken(left, [BARE[each][0] for each in own if bare]), False)]
    found += [Candidates(_taken(left, [OF_IDS[each][1] for each in own]), True)]
    found += [Candidates(_taken(left, [BARE[each][1] for each in own if bare]), False)]
    foreign = _taken(left, [kind for each in SIDES if each not in own for kind in OF_IDS[each]])
    other = tuple(name for name in left if OTHER.fullmatch(name))
    left = [name for name in left if name not in other]
    found += [Candidates(other, False), *(Candidates(_taken(left, [kind]), False) for kind in NAMES)]
    late = tuple(name for name in left if name in index or INDEX.fullmatch(name))
    return [each for each in (*found, Candidates(foreign, False), Candidates(late, False)) if each.names]


def families(names: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """{(before, after): the names that differ in one number alone, in the order of the number}, of two or more."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if read := FAMILY.fullmatch(name):
            found.setdefault((read[1], read[3]), []).append(name)
    return {key: sorted(those, key=number_of) for key, those in found.items() if len(those) > 1}


def number_of(name: str) -> int:
    """10 of dim_10."""
    read = FAMILY.fullmatch(name)
    assert read is not None
    return int(read[2])


def _plain(name: str) -> str:
    """A name as it is compared."""
    return name.partition(":")[0].strip().lower()


def _taken(left: list[str], kinds: Iterable[str]) -> tuple[str, ...]:
    """The names of these kinds, which leave the list."""
    those = tuple(name for name in left if any(re.fullmatch(kind, _plain(name)) for kind in kinds))
    left[:] = [name for name in left if name not in those]
    return those


# ---- which of the columns or arrays that stand beside a table names its rows


@dataclass(frozen=True)
class Beside:
    """What stands beside a table of so many rows.

    ids: from a name to the ids under it; it raises ValueError where they are none. name, path: for messages.
    """

    ids: Callable[[str], AnyArray]
    rows: int
    name: str
    path: Path

    def chosen(self, possible: Iterable[Candidates]) -> str | None:
        """The surest name; of several that are as sure, the only one whose ids differ in all rows.

        Raises ValueError where two could be meant. An id that the table lacks is refused when the pairs are read, so a
        second column is a danger only where both hold whole numbers, which may be other rows' numbers.
        """
        key = None
        for each in possible:
            alone = each.sure and len(each.names) == 1
            fitting = each.names if alone else tuple(at for at in each.names if self._differ(at))
            if not fitting and each.sure:
                raise self._unclear(each.names)
            if key is None and fitting:
                one = all(self._equal(fitting[0], other) for other in fitting[1:])
                if not one and (each.sure or any(self._numbers(at) is not None for at in fitting)):
                    raise self._unclear(fitting)
                key = fitting[0] if one else None
            elif key is not None and each.sure:
                rival = next((at for at in fitting if self._other_numbers(key, at)), None)
                if rival is not None:
                    raise self._unclear((key, rival))
        return key

    def refuse_likely(self, left: Iterable[str]) -> None:
        """Raises ValueError for what numbers all rows in another way than their places, under no name of ids."""
        places = np.arange(self.rows)
        for key in left:
            if not self._differ(key):
                continue
            numbers = self._numbers(key)
            if numbers is None or (is_rating(key) and not np.array_equal(np.sort(numbers), places)):
                continue  # label, value: may be ids all the same
            if not np.array_equal(numbers, places):
                what = f"{key} holds another whole number for each row, and nothing is named as ids are"
                raise refuse_file(
                    self.name, self.path, what, f"{self._option(key)} if these are the ids, or a file without {key}"
                )

    def _differ(self, key: str) -> bool:
        """Whether these are ids, another one for each row."""
        found = self._or_none(key)
        return found is not None and found.shape == (self.rows,) and len(np.unique(found)) == self.rows

    def _equal(self, key: str, other: str) -> bool:
        return bool(np.array_equal(self.ids(key).astype(str), self.ids(other).astype(str)))

    def _numbers(self, key: str) -> AnyArray | None:
        """These ids as whole numbers, where they all are such."""
        found = self._or_none(key)
        numbers, fits = (found, np.False_) if found is None else numbers_of(found)
        return numbers if fits.all() else None

    def _other_numbers(self, key: str, other: str) -> bool:
        """Whether both are whole numbers, and not the same."""
        left, right = self._numbers(key), self._numbers(other)
        return left is not None and right is not None and left.shape == right.shape and bool((left != right).any())

    def _or_none(self, key: str) -> AnyArray | None:
        try:
            return self.ids(key)
        except ValueError:
            return None

    def _unclear(self, names: Iterable[str]) -> ValueError:
        names = tuple(names)
        what = f"which of {', '.join(names)} names the rows as the pairs do is not clear"
        return refuse_file(self.name, self.path, what, f"one of them, or {self._option(names[0])}")

    def _option(self, key: str) -> str:
        return f"--{side_of(self.name) or 'item'}-ids {self.path.name}#{key}"


def side_of(name: str) -> str:
    """Whose rows a table has, by what the argument is called: "item", "user", or "" where that does not tell."""
    return next((side for side in ("item", "user") if side in name), "")
