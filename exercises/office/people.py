"""Whose file is it? Names as people and learning platforms write them, and the class's roster.

Without a roster a name becomes an identifier of plain letters ("Müller, Jörg" -> "muller-jorg"). With `roster.csv` in
the classroom's folder every name must be somebody of the class; what fits nobody, or two people, is a doubt.
"""

from __future__ import annotations

import csv
import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import permutations
from pathlib import Path

ROSTER = "roster.csv"
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_COPY = re.compile(r"\s*(\(\d+\)|- ?copy|[-_ ]?kopie)\s*$", re.IGNORECASE)
_MOODLE = re.compile(r"(?P<name>.+?)_\d+_assignsubmission_(file|onlinetext)_?(?P<rest>.*)")
_CANVAS = re.compile(r"(?P<name>[a-z0-9]+)(_late)?_(?P<number>\d+)_\d+_(?P<rest>.+)", re.IGNORECASE)
_BLACKBOARD = re.compile(
    r".+?_(?P<name>[^_]+)_attempt_(?P<when>\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d)(_(?P<rest>.+))?", re.IGNORECASE
)


class BadRoster(ValueError):
    """The roster cannot be used; the message names the line."""


@dataclass(frozen=True)
class Label:
    """What the name of a file or a folder says: a person, the rest of the name, and a time, where there is one."""

    name: str
    rest: str = ""
    when: datetime | None = None
    number: str | None = None
    """The platform's own number of the person (Canvas)."""


@dataclass(frozen=True)
class Person:
    """One line of the roster. `numbers` holds a platform's own names of the person: column -> value."""

    student: str
    name: str = ""
    email: str = ""
    numbers: dict[str, str] = field(default_factory=dict)

    def spellings(self) -> Iterable[str]:
        """Everything by which this person may be called."""
        return filter(None, (self.student, self.name, self.email, self.email.split("@")[0], *self.numbers.values()))


@dataclass(frozen=True)
class Match:
    """The student meant, or why nobody is."""

    student: str | None
    problem: str | None = None
    advice: str | None = None


def label(text: str) -> Label:
    """Reads the names that Moodle, Canvas and Blackboard give to files and folders; any other name is a person's."""
    text = unicodedata.normalize("NFC", text).strip()
    if found := _MOODLE.fullmatch(text):
        return Label(found["name"], found["rest"])
    if found := _BLACKBOARD.fullmatch(text):
        when = datetime.strptime(found["when"], "%Y-%m-%d-%H-%M-%S").astimezone()
        return Label(found["name"], found["rest"] or "", when)
    if found := _CANVAS.fullmatch(text):
        return Label(found["name"], found["rest"], number=found["number"])
    return Label(without_copy(text))


def without_copy(text: str) -> str:
    """'in-batch-bias (1)' -> 'in-batch-bias': what a browser adds to the name of a second download."""
    while (shorter := _COPY.sub("", text)) != text and shorter:
        text = shorter
    return text


def words(text: str, *, german: bool = False) -> tuple[str, ...]:
    """The words of a name in plain small letters, sorted; with `german`, ü is ue and not u."""
    if german:
        for letter, pair in {"ä": "ae", "ö": "oe", "ü": "ue"}.items():
            text = unicodedata.normalize("NFC", text).replace(letter, pair).replace(letter.upper(), pair)
    text = text.replace("ß", "ss").replace("ø", "o").replace("Ø", "O").replace("ł", "l").replace("Ł", "L")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return tuple(sorted(re.findall(r"[a-z0-9]+", plain)))


def identifier(name: str) -> str | None:
    """A name as it can stand in paths and tables; None where no letter of it can."""
    if IDENTIFIER.fullmatch(name):
        return name
    text = name.replace("ß", "ss").replace("ø", "o").replace("ł", "l")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    joined = "-".join(re.findall(r"[a-z0-9]+", plain))[:64].rstrip("-")
    return joined or None


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

    def match(self, name: str, number: str | None = None) -> Match:
        """The student whom a name means."""
        if self.open:
            student = identifier(name)
            if student is None:
                return Match(None, f"no name can be made of {name[:80]!r}", "rename it to the student's name")
            return Match(student)
        if name in self.people:
            return Match(name)
        found = set[str]()
        if number:
            found = {person.student for person in self.people.values() if number in person.numbers.values()}
        found = found or set().union(*(self._by_words.get(key, set()) for key in _keys(name)))
        if len(found) == 1:
            return Match(found.pop())
        if found:
            both = " and ".join(sorted(found))
            return Match(None, f"{name[:80]!r} could be {both}", f"rename it to one of {both}")
        known = [person.name or person.student for person in self.people.values()]
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" (perhaps {close[0]})" if close else ""
        return Match(
            None, f"nobody in {ROSTER} is called {name[:80]!r}{hint}", f"rename it, or add the name to {ROSTER}"
        )


def _keys(name: str) -> set[object]:
    """A name in any order of its words, or written as one: 'Smith, Anna', 'anna smith', 'smithanna'."""
    keys: set[object] = set()
    for german in (False, True):
        found = words(name, german=german)
        keys |= {found} if found else set()
        if 1 <= len(found) <= 4:
            keys |= {"".join(order) for order in permutations(found)}
    return keys


def read_roster(course: Path) -> Roster:
    """The classroom's roster; without the file everybody is welcome.

    Columns: `student` (an identifier, asked for), `name`, `email`, and any others, which are a platform's own names of
    the person (`canvas_id`, `SIS Login ID`, ...).
    """
    path = course / ROSTER
    if not path.exists():
        return Roster(everybody=True)
    people: list[Person] = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        if "student" not in (reader.fieldnames or []):
            raise BadRoster(f"{path} has the columns {reader.fieldnames}; expected one called 'student'")
        for number, row in enumerate(reader, 2):
            cells = {key: (value or "").strip() for key, value in row.items() if key}
            student = cells.pop("student")
            if not IDENTIFIER.fullmatch(student):
                raise BadRoster(
                    f"{path}, line {number}: student is {student!r}; expected letters, digits and . _ @ -, at most 64"
                )
            if any(person.student == student for person in people):
                raise BadRoster(f"{path}, line {number}: student {student!r} stands there twice")
            people.append(Person(student, cells.pop("name", ""), cells.pop("email", ""), cells))
    return Roster(people)
