"""Which files lie in a folder of submissions, and whose and of which assignment is each?

    FOLDER/STUDENT/ASSIGNMENT.ipynb   FOLDER/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb   FOLDER/STUDENT.ipynb

and what Moodle, Canvas and Blackboard make of these, also as the zip file that they give for a class. A student's own
zip file is opened too, and the notebooks in it are taken. A file is the assignment whose answer cells it holds,
whatever it is called; where the cells do not say it, the name does. Every file is taken down, those that cannot count
too.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path

from course_lib.lessons.shared.grading import notebooks

from . import archives
from .ledger import Arrival, Receipt
from .people import Label, Roster, label, without_copy
from .texts import written

KEPT_BYTES = notebooks.MOST_BYTES
"""The bytes of a larger file are not kept; that it came is."""
TIMESTAMP = "timestamp.txt"
_NOT_WORK = {TIMESTAMP, "submission_secret.txt", "Thumbs.db", "desktop.ini", "__MACOSX"}
SAVE_AGAIN = "ask the student for the .ipynb file, saved once more in Jupyter"


@dataclass(frozen=True)
class Assignment:
    """What tells the files of one assignment from others: the names of its answer cells."""

    name: str
    answers: frozenset[str]


Numbers = dict[tuple[str, str | None, str], set[str]]
"""(student, assignment, platform) -> the platform's numbers of those who handed it in."""


def arrivals(
    folder: Path,
    assignments: Iterable[Assignment],
    roster: Roster,
    only: str | None = None,
    known: Numbers | None = None,
) -> list[Arrival]:
    """All files in `folder`. With `only`, files that clearly are another assignment are left out.

    `known` holds the numbers of what came before, where no roster tells two people of one name apart.
    """
    every = list(assignments)
    found = [_identified(arrival, every) for arrival in _files(folder, roster)]
    if only is not None:
        found = [arrival for arrival in found if arrival.assignment in (only, None)]
    clear = {arrival.assignment for arrival in found if arrival.assignment}
    last_resort = only or (clear.pop() if len(clear) == 1 else every[0].name if len(every) == 1 else None)
    found = [_judged(arrival, last_resort, roster) for arrival in found]
    found = [arrival for arrival in found if arrival.student or not arrival.opened]  # its files are doubts
    return list(_two_people(found, roster, known or {}))


def _files(folder: Path, roster: Roster) -> Iterator[Arrival]:
    """Every file that somebody may have meant as work, with its content; `folder` may be a zip file of these."""
    if folder.is_file():
        yield from _of_a_class(folder)
        return
    for entry in sorted(folder.iterdir()):
        if _is_nobodys((entry.name,)):
            continue
        if entry.is_symlink() or not entry.is_dir():
            yield from _of_a_class(entry) if _is_of_a_class(entry, roster) else _unpacked(_arrival(entry, folder))
            continue
        every = (path for path in sorted(entry.rglob("*")) if not path.is_dir())
        inside = [path for path in every if not _is_nobodys(path.relative_to(entry).parts)]
        for path in inside:
            yield from _unpacked(_arrival(path, folder))
        if not inside:
            now = datetime.now(UTC)
            name = label(_printable(entry.name)).name
            yield Arrival(f"{_printable(entry.name)}/", name, now, problem="the folder is empty", advice=SAVE_AGAIN)


def _is_of_a_class(path: Path, roster: Roster) -> bool:
    """Whether a loose file is a platform's zip of a whole class, or holds the work of people of the roster.

    What is a student's by its own name is never a class's, whoever is named in it.
    """
    own = _label(_printable(path.name))
    if own.number or own.when or (not roster.open and roster.match(own.name).student):
        return False
    try:
        if path.is_symlink() or not path.is_file() or not zipfile.is_zipfile(path):
            return False
        labels = [_label(one.parts[0]) for one in _of_people(path, archives.files(path, KEPT_BYTES))]
    except (archives.Unopened, OSError):
        return False
    named = not roster.open and any(roster.match(each.name).student for each in labels)
    return named or any(each.number or each.when for each in labels)


def _of_people(path: Path, packed: list[archives.Packed]) -> list[archives.Packed]:
    """The files of a class's zip that somebody may have meant as work, without the one folder in which all may lie."""
    some = [one for one in packed if not _is_nobodys(one.parts)]
    tops = {one.parts[0] for one in some}
    if len(tops) != 1 or any(len(one.parts) == 1 for one in some):
        return some
    inner = [replace(one, parts=one.parts[1:]) for one in some]
    packed_whole = label(path.stem).name == label(tops.pop()).name  # as systems do that pack a folder
    labelled = any(who.number or who.when for who in (_label(one.parts[0]) for one in inner))
    return inner if packed_whole or labelled else some


def _of_a_class(path: Path) -> Iterator[Arrival]:
    """The files of a class's zip, as if they had been unpacked."""
    packed_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    try:
        every = _of_people(path, archives.files(path, KEPT_BYTES))
        archives.check_size(every, archives.MOST_OF_A_CLASS)
        for one in every:
            who = _label(one.parts[0])
            shown, when = _printable("/".join(one.parts)), who.when or one.written or packed_at
            plain = Arrival(shown, who.name, when, stamped=who.when is not None)
            yield from _unpacked(_read(plain, one))
    except archives.Unopened as error:
        yield Arrival(path.name, path.stem, packed_at, problem=str(error), advice=archives.BY_HAND)


def _unpacked(arrival: Arrival) -> Iterator[Arrival]:
    """A file, or where it is a zip file the notebooks in it: handed in with it, the one written last the newest."""
    content = arrival.content
    if arrival.problem or content is None or not content.startswith(archives.ZIP):
        yield arrival
        return
    try:
        some = [one for one in archives.files(content, KEPT_BYTES) if not _is_nobodys(one.parts)]
        inside = [one for one in some if re.search(r"\.ipynb|\.zip$", one.parts[-1], re.IGNORECASE)]
        if not inside:
            raise archives.Unopened("no notebook is in it")
        archives.check_size(inside, archives.MOST_UNPACKED)
    except archives.Unopened as error:
        yield replace(arrival, problem=str(error), advice=archives.BY_HAND)
        return
    yield replace(arrival, opened=True)
    for one in inside:
        path = _printable("/".join([arrival.path, *one.parts]))
        yield _read(replace(arrival, path=path, content=None), one)


def _read(arrival: Arrival, packed: archives.Packed) -> Arrival:
    try:
        return replace(arrival, content=packed.read())
    except archives.Unopened as error:
        return replace(arrival, problem=str(error), advice=archives.BY_HAND)


def _is_nobodys(parts: tuple[str, ...]) -> bool:
    """Hidden files that are no notebooks, checkpoints of Jupyter, what nbgrader's exchange and systems add."""
    hidden = any(part.startswith("._") or (part.startswith(".") and not part.endswith(".ipynb")) for part in parts)
    return hidden or not _NOT_WORK.isdisjoint(parts)


def _printable(name: str) -> str:
    r"""A name with \xfc for a byte that is no UTF-8, or that would steer a terminal in which it is printed."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda sign: f"\\x{ord(sign[0]):02x}", text)


def _arrival(path: Path, folder: Path) -> Arrival:
    true_path = path.relative_to(folder).as_posix()
    shown = _printable(true_path)
    who = _label(shown)
    try:
        status = path.lstat()
        written = datetime.fromtimestamp(status.st_mtime, UTC)
        stamp = who.when or stamp_of(path.with_name(TIMESTAMP))
        plain = Arrival(shown, who.name, stamp or written, stamped=stamp is not None)
        if path.is_symlink() or not path.is_file():
            return replace(plain, problem="it is no ordinary file", advice=SAVE_AGAIN)
        if status.st_size > KEPT_BYTES:
            size = f"the file has {status.st_size:,} bytes, of which none were kept"
            return replace(plain, problem=size, advice="ask the student to clear the outputs and hand in again")
        if shown != true_path:
            plain = replace(plain, problem="its name holds what is no text", advice="rename it, and collect again")
        return replace(plain, content=path.read_bytes())
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})"
        return Arrival(shown, who.name, datetime.now(UTC), problem=reason, advice="check who may read the folder")


def _label(path: str) -> Label:
    """What the student's folder, or the name of a loose file, says."""
    return label(re.sub(r"\.(ipynb|zip)$", "", path.split("/", 1)[0], flags=re.IGNORECASE))


def numbers(receipts: Iterable[Receipt]) -> Numbers:
    """The platforms' numbers of those whose files came in properly."""
    found: Numbers = {}
    for receipt in receipts:
        number = _label(receipt.path).number
        if number and receipt.student and not receipt.problem and not receipt.withdrawn:
            found.setdefault(_key(receipt), set()).add(number)
    return found


def stamp_of(path: Path) -> datetime | None:
    """The time in a file as nbgrader's exchange writes it; None where there is none that can be read."""
    from nbgrader.utils import parse_utc

    try:
        found: datetime | None = parse_utc(written(path).strip())
    except (ValueError, OverflowError):
        return None
    return found.replace(tzinfo=UTC) if found else None


def _identified(arrival: Arrival, assignments: list[Assignment]) -> Arrival:
    """With the assignment, where the answer cells of the file or its name say which."""
    if arrival.content is None or arrival.opened:
        return arrival
    return replace(arrival, assignment=_recognised(arrival.content, assignments) or _named(arrival.path, assignments))


def _recognised(content: bytes, assignments: Iterable[Assignment]) -> str | None:
    """The assignment with most of whose answer cells a file shares its names; None where no single one has most."""
    names, _ = _names(content)
    shared = [(len(names & each.answers), each.name) for each in assignments]
    first, second = nlargest(2, [*shared, (0, ""), (0, "")])
    return first[1] if first[0] > second[0] else None


def _names(content: bytes) -> tuple[set[str | None], str | None]:
    """The names of a file's cells, and why none of them can be read, if so."""
    try:
        return {cell.name for cell in notebooks.handed_in(content)}, None
    except notebooks.Unreadable as error:
        return set(), str(error)


def _named(path: str, assignments: Iterable[Assignment]) -> str | None:
    """The assignment whose name stands in a path: the longest, as one name may hold another."""
    own = path.split("/", 1)[-1]  # a folder's name is the student's
    plain = re.sub(r"[^a-z0-9]+", "-", own.lower())
    found = [each.name for each in assignments if each.name.lower() in plain]
    return max(found, key=len, default=None)


def _judged(arrival: Arrival, last_resort: str | None, roster: Roster) -> Arrival:
    """With the student, and with whatever is wrong."""
    arrival = replace(arrival, assignment=arrival.assignment or (None if arrival.opened else last_resort))
    name, who = _person(arrival), _label(arrival.path)
    match = roster.match(name, who.platform, who.number)
    arrival = replace(arrival, name=name, student=match.student)
    if arrival.problem or arrival.opened:
        return arrival
    problem, advice = (match.problem, match.advice) if match.problem else _wrong(arrival)
    return replace(arrival, problem=problem, advice=advice)


def _wrong(arrival: Arrival) -> tuple[str | None, str | None]:
    """Why a file cannot count, and what to do about it."""
    content = arrival.content or b""
    if content.startswith((*archives.ZIP, *archives.OTHERS)):
        kind = "an archive in an archive" if content.startswith(archives.ZIP) else "an archive, and no zip file"
        return f"it is {kind}", archives.BY_HAND
    named = ".ipynb" in Path(arrival.path).name.lower()  # also '.ipynb.txt', as some browsers save one
    unreadable = None if named and arrival.assignment else _names(content)[1]
    if unreadable:
        return unreadable if named else "it is no notebook", SAVE_AGAIN
    if arrival.assignment is None:
        return "it is none of the assignments", "give --assignment NAME, or put the assignment's name into the file's"
    return None, None


def _person(arrival: Arrival) -> str:
    """A loose file's name may hold the assignment's too: 'smith, anna - in-batch-bias' is Anna Smith's."""
    first, *inside = arrival.path.split("/")
    if (inside and not first.lower().endswith(".zip")) or not arrival.assignment:
        return arrival.name
    pattern = re.sub(r"[^a-z0-9]+", r"[-_ ]", re.escape(arrival.assignment).replace("\\", ""))
    rest = re.sub(rf"[\s_.-]*{pattern}[\s_.-]*", " ", without_copy(arrival.name), flags=re.IGNORECASE).strip(" ,")
    return without_copy(rest) if rest else arrival.name


def _two_people(found: list[Arrival], roster: Roster, known: Numbers) -> Iterator[Arrival]:
    """Two people under one name are a doubt: two spellings of it without a roster, and two numbers of a platform.

    Moodle's number is another one in each of its assignments. So where a roster has one person of the name, only the
    numbers that came together are compared; without a roster also those that came before. An empty folder is nobody's
    work.
    """
    spellings: dict[str, set[str]] = defaultdict(set)
    here: Numbers = {key: set(those) for key, those in known.items()} if roster.open else {}
    for arrival in found:
        if arrival.student and not arrival.problem and not arrival.opened:
            if roster.open and not arrival.path.endswith("/"):
                spellings[arrival.student].add(arrival.name.casefold())
            if number := _label(arrival.path).number:
                here.setdefault(_key(arrival), set()).add(number)
    for arrival in found:
        student, who = arrival.student, _label(arrival.path)
        if not student or arrival.problem or arrival.opened:
            yield arrival
            continue
        names, those = sorted(spellings[student]), sorted(here.get(_key(arrival), ()))
        own = roster.people[student].numbers_on(who.platform) if student in roster.people else set()
        if len(names) > 1:
            problem = f"{' and '.join(map(repr, names))} are both {student!r} in plain letters"
            yield replace(arrival, problem=problem, advice="write a roster.csv, or rename one of the two")
        elif len(those) > 1 and who.number and who.number not in own:
            problem = f"{who.platform.title()}'s numbers {' and '.join(those)} are both called {who.name!r}"
            advice = f"write them into a column {who.platform}_id of roster.csv, or rename one of the two"
            yield replace(arrival, problem=problem, advice=advice)
        else:
            yield arrival


def _key(one: Arrival | Receipt) -> tuple[str, str | None, str]:
    return one.student or "", one.assignment, _label(one.path).platform
