"""The class's roster from a platform's own export: `python -m exercises.engine.classroom roster --from EXPORT`.

What each platform calls its columns stands in platforms.yml; `--column name="Vorname,Nachname"` says it for any other
file, and `--encoding cp1252` for one that is not in Unicode. A number identifies a person, a name only helps: who comes
again under another name, or another login, stays the same student, and the old name still finds the files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .people import ROSTER, UNNAMED, Person, identifier, is_identifier, lines_of, platforms, read_roster, words
from .texts import Failed, decoded, write_table

ASKED = ("student", "name", "email", "number")
FORMER = "former_names"
NO_NUMBER = ("", "n/a", "na", "nan", "none", "null", "unknown", "-", "0")  # in the cell of somebody who has none
ROUNDED = re.compile(r"[0-9]([.,][0-9]+)?E\+[0-9]+")  # 1.07E+16
HOW = "Say which they are: --column student=... --column name=... --column number=..."


def columns_of(given: Iterable[str]) -> dict[str, list[str]]:
    """Columns by flags: ["name=Vorname,Nachname"] -> {"name": ["Vorname", "Nachname"]}. Failed for another form."""
    found: dict[str, list[str]] = {}
    for one in given:
        what, _, columns = one.partition("=")
        names = [name.strip() for name in columns.split(",")]
        if what not in ASKED or not all(names):
            raise Failed(f"--column {one}: expected one of {', '.join(ASKED)}, =, and names of columns")
        if what in found:
            raise Failed(f"--column {one}: {what} is {','.join(found[what])} already; expected each once")
        found[what] = names
    return found


def people_of(path: Path, given: Mapping[str, Sequence[str]], encoding: str | None = None) -> list[Person]:
    """The people of an export. Failed names the line, or what its columns are and how to say which is which."""
    try:
        text = decoded(path, encoding)
        known = [name for one in platforms().values() for name in one.known_by]
        lines = list(lines_of(text, [*known, *(name for names in given.values() for name in names)]))
    except ValueError as error:
        how = f"{HOW}." if "the columns are" in str(error) else ""
        raise Failed(f"{path}: {error}. {how}".rstrip(". ")) from None
    if not lines:
        raise Failed(f"{path}: nobody stands below the names of the columns; expected a line for each person")
    header = list(lines[0][1])
    system, preset = next(((k, v) for k, v in platforms().items() if set(v.known_by) <= set(header)), ("", None))
    columns = {**(preset.roster if preset else {}), **given}
    unknown = [name for what in given for name in given[what] if name not in header]
    if unknown or "student" not in columns:
        what = f"no column {unknown[0]!r}" if unknown else "the export of no platform that is known here"
        presets = Path(__file__).with_name("platforms.yml")
        raise Failed(f"{path}: {what}; its columns are {', '.join(header)}. {HOW}, or write them into {presets}")
    nobody = preset.no_people if preset else [""]
    every = (_person(line, cells, columns, system) for line, cells in lines if _name(cells, columns) not in nobody)
    found = list({(one.student, one.name): one for one in every}.values())  # who is in two sections may stand twice
    if twice := {one.student for one in found if [other.student for other in found].count(one.student) > 1}:
        raise Failed(f"{path}: {min(twice)!r} stands there twice: take another column, --column student=...")
    return found


def _name(cells: Mapping[str, str], columns: Mapping[str, Sequence[str]]) -> str:
    asked = columns.get("name") or columns["student"]
    return " ".join(" ".join(cells.get(column, "") for column in asked).split())


def _person(line: int, cells: Mapping[str, str], columns: Mapping[str, Sequence[str]], system: str) -> Person:
    first = {what: next((cells[name] for name in columns.get(what, []) if cells.get(name)), "") for what in ASKED}
    if lost := next((cell for cell in (first["student"], first["number"]) if ROUNDED.fullmatch(cell)), None):
        why = "a spreadsheet has rounded it: take the platform's own file, before it was opened and saved"
        raise Failed(f"line {line}: the number {lost} is no number of a person; {why}")
    name = _name(cells, columns)
    student = first["student"] if is_identifier(first["student"]) else identifier(first["student"] or name)
    if student is None:
        raise Failed(f"line {line}: nothing says who {name!r} is: say --column student=...")
    own = {name for known in platforms().values() for names in known.export.values() for name in names}
    numbers = {column: cell for column, cell in cells.items() if column in own - {"student", "name", "email"}}
    if digits := re.search(r"\d+", first["number"]):
        numbers[f"{system.partition('_')[0]}_id" if system else UNNAMED] = digits[0]
    return Person(student, name, first["email"], numbers)


def joined(old: Iterable[Person], new: Iterable[Person]) -> Iterator[tuple[Person, str]]:
    """The people of a class after a new export, each with what changed: "new", "was called ...", "gone" or nothing.

    Who is gone from the export stays in the roster: what was handed in is theirs. What two people share, such as "n/a"
    for a number, identifies nobody.
    """
    before, new = {one.student: one for one in old}, list(new)
    owners = [Counter(key for one in people for key in {*_numbers(one)}) for people in (before.values(), new)]
    by_number = {
        key: one for one in before.values() for key in _numbers(one) if all(found[key] < 2 for found in owners)
    }
    met = set[str]()
    for person in new:
        own = (by_number[key] for key in _numbers(person) if key in by_number)
        same = next((one for one in own if one.student not in met), None)
        if same is None:
            yield person, "new"
            continue
        met.add(same.student)
        renamed = same.name and sorted(words(same.name)) != sorted(words(person.name))  # "Smith, Anna" is Anna Smith
        told = f"was called {same.name}" if renamed else ""
        former = [same.numbers.get(FORMER, ""), same.name if told else ""]
        several = {key: _both(same.numbers.get(key, ""), cell) for key, cell in person.numbers.items()}
        numbers = {**same.numbers, **several, FORMER: "; ".join(filter(None, former))}
        yield Person(same.student, person.name, person.email or same.email, numbers), told
    yield from ((one, "gone from the export; kept") for one in before.values() if one.student not in met)


def _numbers(person: Person) -> Iterator[tuple[str, str]]:
    """What identifies a person for good: the numbers and logins of a platform, each by its column."""
    logins = {name for one in platforms().values() for name in one.roster["student"]}
    numbers = {name for one in platforms().values() for name in one.roster["number"]}
    for column, cell in person.numbers.items():
        if column in logins | numbers or column.endswith("_id"):
            yield from ((column, number) for number in cell.split() if number.casefold() not in NO_NUMBER)
    # A login or a number of the university is the same on two platforms, under another column: Moodle's "ID number" is
    # Canvas's "SIS User ID". A platform's own number is not: two people can have it on two platforms.
    anywhere = (cell for column, cell in person.numbers.items() if column in logins - numbers)
    yield from (("", cell) for cell in (person.student, *anywhere) if cell.casefold() not in NO_NUMBER)


def _both(old: str, new: str) -> str:
    """Moodle gives a person a number in each assignment: all of them stand in the cell."""
    return " ".join(dict.fromkeys([*old.split(), *new.split()])) if new.isdigit() and old != new else new or old


def update(course: Path, export: Path, given: Mapping[str, Sequence[str]], encoding: str | None = None) -> Path:
    """Writes roster.csv from an export, and says who is new, called otherwise, or gone."""
    old = read_roster(course)
    found = list(joined(old.people.values(), people_of(export, given, encoding)))
    for person, told in found:
        if told:
            print(f"roster: {person.name} ({person.student}): {told}")
    gone = [person for person, told in found if told.startswith("gone")]
    if old.people and len(gone) == len(old.people):
        print("roster: no number and no login of this export was in the roster. If these are the same people, delete")
        print(f"{course / ROSTER} and read each export with --column student=..., a column of numbers that both have")
    columns = dict.fromkeys(key for person, _ in found for key in person.numbers)
    lines = [{**vars(person), **person.numbers} for person, _ in found]
    write_table(course / ROSTER, ["student", "name", "email", *columns], lines)
    print(f"roster: {len(lines)} people in {course / ROSTER}")
    return course / ROSTER
