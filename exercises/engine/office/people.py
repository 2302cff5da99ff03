"""Whose file is it? Names as people and learning platforms write them, and the class's roster.

Without a roster a name becomes an identifier: plain letters where it is written in Latin ones ("Müller, Jörg" ->
"muller-jorg"), else its own ("王小明"). With `roster.csv` in the classroom's folder every name must be somebody of the
class; what fits nobody, or two people, is a doubt. A platform's number of a person, in a column of the roster, decides
before the name.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import permutations, zip_longest
from pathlib import Path

import msgspec

from .texts import of_file, perhaps, written

ROSTER = "roster.csv"
UNNAMED = "platform_id"  # numbers of a platform that has no preset
LONGEST_NAME = 120  # bytes of an identifier: it stands in names of files, of which no system takes more than 255
_COPY = re.compile(r"\s*(\(\d+\)|- ?copy|[-_ ]?kopie)\s*$", re.IGNORECASE)
# Letters that Unicode does not take apart into a plain one and a mark, and letters of two alphabets that look the same.
_LETTERS = str.maketrans("łđðøħŧıɖƀǥɨ" + "یىکة", "lddohtidbgi" + "ييكه", "\u0640") | str.maketrans(
    {"æ": "ae", "œ": "oe", "þ": "th", "ß": "ss", "ŋ": "ng", "ə": "e"} | dict.fromkeys("ʻʼʽʾʿ", "'")
)
_IN_TWO = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}  # as German and the Nordic languages spell them out


class Platform(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One platform of platforms.yml."""

    known_by: list[str]
    roster: dict[str, list[str]]
    no_people: list[str] = []
    export: dict[str, list[str]] = {}
    files: str = ""
    times: str = ""


@cache
def platforms() -> dict[str, Platform]:
    """The presets."""
    text = Path(__file__).with_name("platforms.yml").read_bytes()
    return msgspec.yaml.decode(text, type=dict[str, Platform])


@dataclass(frozen=True)
class Label:
    """What the name of a file or a folder says: a person, and a time and a number, where there are any.

    when: what the class's clocks showed, without a zone.
    number: the platform's own of the person: Canvas's of the user, Moodle's of the user in one assignment.
    """

    name: str
    when: datetime | None = None
    platform: str = ""
    number: str | None = None


@dataclass(frozen=True)
class Person:
    """One line of the roster. `numbers` holds a platform's own names of the person: column -> value."""

    student: str
    name: str = ""
    email: str = ""
    numbers: dict[str, str] = field(default_factory=dict)

    def numbers_on(self, platform: str) -> set[str]:
        """What the columns of a platform hold: `moodle_id`, or several in one cell, as Moodle has one an assignment.

        Those of a platform that nobody named, `platform_id`, are everybody's.
        """
        columns = (column for column in self.numbers if platform in column.lower() or column == UNNAMED)
        cells = (self.numbers[column] for column in columns if platform)
        return {number for cell in cells for number in re.split(r"[\s,;/]+", cell) if number}

    def spellings(self) -> Iterable[str]:
        """Everything by which this person may be called."""
        others = (one.strip() for cell in self.numbers.values() for one in cell.split(";"))
        return filter(None, (self.student, self.name, self.email, self.email.split("@")[0], *others))


@dataclass(frozen=True)
class Match:
    """The student meant, or why nobody is."""

    student: str | None
    problem: str | None = None
    advice: str | None = None


def label(text: str) -> Label:
    """Reads the names that Moodle, Canvas and Blackboard give to files and folders; any other name is a person's."""
    text = unicodedata.normalize("NFC", text).strip()
    for platform, one in platforms().items():
        if one.files and (found := re.fullmatch(one.files, text, re.IGNORECASE)):
            parts = found.groupdict()
            with suppress(ValueError):  # a 45th of November: it is somebody's own name for a file
                when = datetime.strptime(parts["when"], one.times) if "when" in parts else None
                return Label(found["name"], when, platform, parts.get("number"))
    return Label(without_copy(text))


def without_copy(text: str) -> str:
    """'in-batch-bias (1)' -> 'in-batch-bias': what a browser adds to the name of a second download."""
    while (shorter := _COPY.sub("", text)) != text and shorter:
        text = shorter
    return text


def words(text: str, *, in_two: bool = False) -> tuple[str, ...]:
    """The words of a name in plain small letters; with `in_two`, ü is ue and not u."""
    if in_two:
        text = "".join(_IN_TWO.get(letter, letter) for letter in unicodedata.normalize("NFC", text).lower())
    return tuple(_split(_plain(text)))


def _plain(text: str) -> str:
    """Small letters without accents, in any script; what is a vowel or a sound of its own, as in Hindi, stays.

    Marks are dropped by their combining class: 10 to 36 are the points of Hebrew and Arabic, from 200 on accents.
    """
    found = unicodedata.normalize("NFKD", text)
    for _ in range(2):  # a capital with a mark may become another one
        found = unicodedata.normalize("NFKD", found.casefold().translate(_LETTERS))
    return "".join(sign for sign in found if not (10 <= (mark := unicodedata.combining(sign)) <= 36 or mark >= 200))


def _split(text: str) -> list[str]:
    """The runs of letters, marks and digits; signs that nobody sees, as between Arabic letters, separate nothing."""
    seen = (sign for sign in text if unicodedata.category(sign) != "Cf")
    return "".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in seen).split()


def identifier(name: str) -> str | None:
    """A name as it can stand in paths and tables; None where no letter of it can."""
    if is_identifier(name) and name.isascii():
        return name
    letters = ((_plain(sign), sign.lower()) for sign in unicodedata.normalize("NFKC", name))
    text = "".join(plain if plain.isascii() else sign for plain, sign in letters)
    joined = unicodedata.normalize("NFC", "-".join(_split(text)))[:64]
    return joined.encode()[:LONGEST_NAME].decode(errors="ignore").rstrip("-") or None


def is_identifier(text: str) -> bool:
    """Letters, marks and digits of any script and . _ @ -, the first a letter or digit, short enough for a file."""
    kinds = [sign in "._@-" or unicodedata.category(sign)[0] in "LMN" for sign in text]
    normal = unicodedata.normalize("NFC", text) == text
    return normal and all(kinds) and text[:1].isalnum() and len(text) <= 64 and len(text.encode()) <= LONGEST_NAME


class Roster:
    """The people of a class; `open` is true where there is no roster and everybody is welcome."""

    def __init__(self, people: Iterable[Person] = (), *, everybody: bool = False) -> None:
        self.people = {person.student: person for person in people}
        self.open = everybody
        self._by_words: dict[object, set[str]] = defaultdict(set)
        for person in self.people.values():
            for spelling in person.spellings():
                for key in _keys(spelling):
                    self._by_words[key].add(person.student)

    def match(self, name: str, platform: str = "", number: str | None = None) -> Match:
        """The student whom a name means, or a platform's number of the person where the roster has it."""
        if self.open:
            student = identifier(name)
            if student is None:
                return Match(None, f"no name can be made of {name[:80]!r}", "rename it to the student's name")
            return Match(student)
        people = self.people.values()
        of_platform = {person.student for person in people if number and number in person.numbers_on(platform)}
        own = {name} & self.people.keys()
        canvass = number if platform == "canvas" else None  # its numbers are of persons, whatever the column is called
        of_number = {person.student for person in people if canvass in person.numbers.values()}
        of_name = set[str]().union(*(self._by_words.get(key, set()) for key in _keys(name)))
        if of_number:
            of_name &= of_number  # of those who have the number, and of nobody else
        for found in (of_platform, own, of_number, of_name):
            if len(found) == 1:
                return Match(found.pop())
        found = of_number or of_name
        if found:
            both = " and ".join(sorted(found))
            column = f", or write its number {number} into a column {platform}_id of {ROSTER}" if number else ""
            if column and platform == "moodle":
                column += " (`roster --from` the assignment's grading worksheet does it for everybody)"
            return Match(None, f"{name[:80]!r} could be {both}", f"rename it to one of {both}{column}")
        hint = perhaps(name, [person.name or person.student for person in people])
        unknown = f"nobody in {ROSTER} is called {name[:80]!r}{hint}"
        return Match(None, unknown, f"rename it, or add the name to {ROSTER}")


def _keys(name: str) -> set[object]:
    """A name in any order of its words, or written as one: 'Smith, Anna', 'anna smith', 'smithanna'.

    Of five words and more, as one only with the last of them first, or the first last.
    """
    keys: set[object] = set()
    for found in (words(name), words(name, in_two=True)):
        turned = [(*found[place:], *found[:place]) for place in range(len(found))]
        keys |= {"".join(order) for order in (permutations(found) if len(found) <= 4 else turned)}
        keys.add(tuple(sorted(found)))
    return keys - {"", ()}


def read_roster(course: Path) -> Roster:
    """The classroom's roster; without the file everybody is welcome.

    Columns: `student` (an identifier, asked for), `name`, `email`, and any others, which are a platform's own names of
    the person (`canvas_id`, `SIS Login ID`, ...).
    """
    path, people = course / ROSTER, dict[str, Person]()
    if not path.exists():
        return Roster(everybody=True)
    with of_file(path):
        for line, cells in lines_of(written(path)):
            student = cells.pop("student")
            if not is_identifier(student):
                form = "letters, digits and . _ @ -, at most 64"
                raise ValueError(f"line {line}: student is {student!r}; expected {form}")
            if student in people:
                raise ValueError(f"line {line}: student {student!r} stands there twice")
            people[student] = Person(student, cells.pop("name", ""), cells.pop("email", ""), cells)
    return Roster(people.values())


def lines_of(text: str, known: Iterable[str] = ("student",)) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line that says something, with its number: column -> cell. Commas, semicolons or tabs are between cells.

    `known` are columns of which the table has one; the class's own have `student`. ValueError for a table that has none
    of them, and for one of another form.
    """
    heads = text.splitlines()[:2]  # Excel may write `sep=;` above the names of the columns
    names = set(known)
    usual = max(",;\t", key=heads[0].count) if heads else ","  # for the error, where no column is known
    sign = next((s for s in ",;\t" if any(names & {*_cells(head.split(s))} for head in heads)), usual)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True)
    try:
        some = [(rows.line_num, _cells(row)) for row in rows]
    except csv.Error as error:
        raise ValueError(f"{error}; expected every quote closed") from None
    full = ((line, cells) for line, cells in some if any(cells) and not cells[0].startswith("sep="))
    _, header = next(full, (1, []))
    if not names & {*header}:
        asked = "one called 'student'" if names == {"student"} else f"some of {', '.join(sorted(names))}"
        raise ValueError(f"the columns are {header}; expected {asked}")
    counted = names if len(names) > 1 else {*header} - {""}  # a platform's marks may have one name
    if twice := {name for name in counted if header.count(name) > 1}:
        raise ValueError(f"the column {', '.join(sorted(twice))} stands there twice")
    for line, cells in full:
        if any(cells[len(header) :]):
            told = f"line {line} has {len(cells)} cells for {len(header)} columns"
            raise ValueError(f"{told}: put a name with {sign!r} in quotes")
        yield line, {name: cell for name, cell in zip_longest(header, cells[: len(header)], fillvalue="") if name}


def _cells(row: Iterable[str]) -> list[str]:
    return [unicodedata.normalize("NFC", cell.strip(' "\u00a0\ufeff')) for cell in row]
