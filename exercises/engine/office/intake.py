"""Which files lie in a folder of submissions, and whose and of which assignment is each?

    FOLDER/STUDENT/ASSIGNMENT.ipynb   FOLDER/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb   FOLDER/STUDENT.ipynb

and what Moodle, Canvas and Blackboard make of these, also as the zip file that they give for a class. A student's own
zip file is opened too, and the notebooks in it are taken. A file is the assignment whose answer cells it holds,
whatever it is called; where the cells do not say it, the name does. Every file is taken down, those that cannot count
too.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from heapq import nlargest
from io import BytesIO
from pathlib import Path

from course_lib.lessons.shared.grading import notebooks

from .ledger import Arrival, Receipt, in_utc, in_zone
from .people import Label, Roster, label, without_copy
from .texts import written

MOST_FILES = 10_000
LISTED, BEFORE_END = b"PK\x01\x02", 100  # of a ZIP file: a line of its list; bytes between that list and its end
MOST_UNPACKED = 200_000_000  # bytes of all files that are read of a student's archive
MOST_OF_A_CLASS = 2_000_000_000
ZIP = b"PK\x03\x04", b"PK\x05\x06"
BY_HAND = "unpack it and collect again, or ask the student for the .ipynb file itself"
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
TAR = b"ustar"  # at the place 257
OTHERS = (b"Rar!", b"7z\xbc\xaf", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
KEPT_BYTES = notebooks.MOST_BYTES  # those of a larger file are not kept; that it came is
TIMESTAMP = "timestamp.txt"
OF_THE_EXCHANGE = (TIMESTAMP, "submission_secret.txt")  # nbgrader's, which asks for them when it hands feedback back
_NOT_WORK = {*OF_THE_EXCHANGE, "Thumbs.db", "desktop.ini", "__MACOSX"}
NO_NOTEBOOK = "it is no notebook"
SAVE_AGAIN = "ask the student for the .ipynb file, saved once more in Jupyter"

Assignments = Mapping[str, frozenset[str]]  # each with the names of its answer cells
Numbers = dict[tuple[str, str | None, str], set[str]]  # (student, assignment, platform) -> its numbers of the student


def arrivals(
    folder: Path,
    assignments: Assignments,
    roster: Roster,
    only: str | None = None,
    known: Numbers | None = None,
    zone: tzinfo | None = None,
) -> list[Arrival]:
    """All files in `folder`. With `only`, files that clearly are another assignment are left out.

    `known` holds the numbers of what came before, where no roster tells two people of one name apart. zone: of times in
    the names of files and in archives; None is this computer's.
    """
    every = (one for file in _files(folder, roster, zone) for one in _unpacked(file))
    found = [replace(one, assignment=_assignment_of(one, assignments)) for one in every]
    if only is not None:
        found = [arrival for arrival in found if arrival.assignment in (only, None)]
    clear = {arrival.assignment for arrival in found if arrival.assignment} or set(assignments)
    last_resort = only or (clear.pop() if len(clear) == 1 else None)
    found = [_judged(arrival, last_resort, roster) for arrival in found]
    found = [arrival for arrival in found if arrival.student or not arrival.opened]  # its files are doubts
    return list(_two_people(found, roster, known or {}))


# ---- reading files ----


def _files(folder: Path, roster: Roster, zone: tzinfo | None) -> Iterator[Arrival]:
    """Every file that somebody may have meant as work, with its content; `folder` may be a zip file of these."""
    if folder.is_file():
        yield from _of_a_class(folder, zone)
        return
    for entry in sorted(folder.iterdir()):
        if _is_nobodys((entry.name,)):
            continue
        if entry.is_symlink() or not entry.is_dir():
            whole = _is_of_a_class(entry, roster)
            yield from _of_a_class(entry, zone) if whole else [_arrival(entry, folder, zone)]
            continue
        every = (path for path in sorted(entry.rglob("*")) if not path.is_dir())
        inside = [path for path in every if not _is_nobodys(path.relative_to(entry).parts)]
        yield from (_arrival(path, folder, zone) for path in inside)
        if not inside:
            shown, now = _printable(entry.name), in_utc(datetime.now(UTC))
            yield Arrival(f"{shown}/", label(shown).name, now, problem="the folder is empty", advice=SAVE_AGAIN)


def _is_of_a_class(path: Path, roster: Roster) -> bool:
    """Whether a loose file is a platform's zip of a whole class, or holds the work of people of the roster.

    What is a student's by its own name is never a class's, whoever is named in it.
    """
    own = _label(_printable(path.name))
    if own.platform or (not roster.open and roster.match(own.name).student):
        return False
    try:
        if path.is_symlink() or not path.is_file() or not zipfile.is_zipfile(path):
            return False
        labels = [_label(one.parts[0]) for one in _of_people(path)]
    except (Unopened, OSError):
        return False
    return any(each.platform or (not roster.open and roster.match(each.name).student) for each in labels)


def _of_people(path: Path) -> list[Packed]:
    """The files of a class's zip that somebody may have meant as work, without the one folder in which all may lie."""
    some = [one for one in packed_in(path) if not _is_nobodys(one.parts)]
    tops = {one.parts[0] for one in some}
    if len(tops) != 1 or any(len(one.parts) == 1 for one in some):
        return some
    inner = [replace(one, parts=one.parts[1:]) for one in some]
    packed_whole = label(path.stem).name == label(tops.pop()).name  # as systems do that pack a folder
    return inner if packed_whole or any(_label(one.parts[0]).platform for one in inner) else some


def _of_a_class(path: Path, zone: tzinfo | None) -> Iterator[Arrival]:
    """The files of a class's zip, as if they had been unpacked."""
    packed_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    try:
        every = _of_people(path)
        check_size((one.size for one in every), MOST_OF_A_CLASS)
    except Unopened as error:
        yield Arrival(path.name, path.stem, in_utc(packed_at), problem=str(error), advice=BY_HAND)
        return
    for one in every:
        who, shown = _label(one.parts[0]), _printable("/".join(one.parts))
        shown_time = who.when or one.written
        when = in_utc(in_zone(shown_time, zone) if shown_time else packed_at)
        yield _read(Arrival(shown, who.name, when, stamped=who.when is not None), one)


def _unpacked(arrival: Arrival) -> Iterator[Arrival]:
    """A file, or where it is a zip file the notebooks in it: handed in with it, the one written last the newest."""
    content = arrival.content
    if arrival.problem or content is None or not content.startswith(ZIP):
        yield arrival
        return
    try:
        some = [one for one in packed_in(content) if not _is_nobodys(one.parts)]
        inside = [one for one in some if re.search(r"\.ipynb|\.zip$", one.parts[-1], re.IGNORECASE)]
        if not inside:
            raise Unopened("no notebook is in it")
        check_size((one.size for one in inside), MOST_UNPACKED)
    except Unopened as error:
        yield replace(arrival, problem=str(error), advice=BY_HAND)
        return
    yield replace(arrival, opened=True)
    for one in inside:
        path = _printable("/".join([arrival.path, *one.parts]))
        yield _read(replace(arrival, path=path, content=None), one)


def _read(arrival: Arrival, packed: Packed) -> Arrival:
    try:
        return replace(arrival, content=packed.read())
    except Unopened as error:
        return replace(arrival, problem=str(error), advice=BY_HAND)


def _is_nobodys(parts: tuple[str, ...]) -> bool:
    """Hidden files that are no notebooks, checkpoints of Jupyter, what nbgrader's exchange and systems add."""
    hidden = any(part.startswith("._") or (part.startswith(".") and not part.endswith(".ipynb")) for part in parts)
    return hidden or not _NOT_WORK.isdisjoint(parts)


def _printable(name: str) -> str:
    r"""A name with \xfc for a byte that is no UTF-8, or that would steer a terminal in which it is printed."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda sign: f"\\x{ord(sign[0]):02x}", text)


def _arrival(path: Path, folder: Path, zone: tzinfo | None) -> Arrival:
    """A file of a folder, read where it can be and may count."""
    true_path = path.relative_to(folder).as_posix()
    shown = _printable(true_path)
    who = _label(shown)
    plain = Arrival(shown, who.name, in_utc(datetime.now(UTC)))
    try:
        status = path.lstat()
        stamp = in_zone(who.when, zone) if who.when else stamp_of(path.with_name(TIMESTAMP))
        when = in_utc(stamp or datetime.fromtimestamp(status.st_mtime, UTC))
        plain = replace(plain, handed_in=when, stamped=stamp is not None)
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
        return replace(plain, problem=reason, advice="check who may read the folder")


def _label(path: str) -> Label:
    """What the student's folder, or the name of a loose file, says."""
    return label(re.sub(r"\.(zip|ipynb(\.(txt|json))?)$", "", path.split("/", 1)[0], flags=re.IGNORECASE))


def stamp_of(path: Path) -> datetime | None:
    """The time in a file as nbgrader's exchange writes it; None where there is none that can be read."""
    from nbgrader.utils import parse_utc

    try:
        found: datetime | None = parse_utc(written(path).strip())
    except (ValueError, OverflowError):
        return None
    return found.replace(tzinfo=UTC) if found else None


# ---- zip files: opened in memory, within limits, and never written to the disk ----


class Unopened(Exception):
    """An archive, or a file in one, that is not opened; the message says why."""


@dataclass(frozen=True)
class Packed:
    """A file in an archive: where it lies, when it was written, its bytes as stated, and how to read it, or Unopened.

    No more than the stated bytes are ever unpacked.
    """

    parts: tuple[str, ...]
    written: datetime | None
    size: int
    read: Callable[[], bytes]


def packed_in(archive: bytes | Path) -> list[Packed]:
    """The files of an archive, the oldest first; of one that is too large to be kept, `read` raises Unopened.

    A path is a platform's archive of a class, which may be too large for memory.
    """
    most = MOST_FILES if isinstance(archive, bytes) else 10 * MOST_FILES
    try:
        if _listed(archive) > most:
            raise Unopened(f"more than {most:,} files are in the archive")
        opened = zipfile.ZipFile(BytesIO(archive) if isinstance(archive, bytes) else archive)
    except _BROKEN as error:
        raise Unopened(f"the archive is broken ({error})") from None
    return sorted(_packed(opened), key=lambda one: one.written or datetime.min)


def _listed(archive: bytes | Path) -> int:
    """How many files an archive lists, before the list is made: the line of each begins so.

    Of a class's archive the list at its end is searched: the archives of students in it have lists of their own.
    """
    if isinstance(archive, bytes):
        return archive.count(LISTED)
    with archive.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        end = content.rfind(b"PK\x05\x06")
        size = int.from_bytes(content[end + 12 : end + 16], "little")  # 2^32 - 1 where it says so elsewhere: all
        start = max(0, end - size - BEFORE_END)
        return sum(1 for _ in re.finditer(LISTED, content[start:end]))


def check_size(sizes: Iterable[int], most: int) -> None:
    """Unopened for files that have more than so many bytes together."""
    if sum(sizes) > most:
        raise Unopened(f"unpacked it has more than {most:,} bytes")


def _packed(archive: zipfile.ZipFile) -> Iterator[Packed]:
    for info in archive.infolist():
        parts = _parts(info)
        try:  # by the clock of who packed it
            written = datetime(*info.date_time)
        except ValueError:
            written = None
        if parts and not info.is_dir():
            yield Packed(parts, written, info.file_size, partial(_unpack, archive, info))


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if stat.S_ISLNK(info.external_attr >> 16):
        raise Unopened("it is no ordinary file")
    if info.flag_bits & 1:
        raise Unopened("the archive is locked with a password")
    check_size([info.file_size], KEPT_BYTES)
    try:
        with archive.open(info) as file:
            return file.read(info.file_size + 1)  # asked for no number, it might unpack two gigabytes at once
    except _BROKEN as error:
        raise Unopened(f"the archive is broken ({error})") from None


def _parts(info: zipfile.ZipInfo) -> tuple[str, ...]:
    """The folders and the name of a file; what would lead out of the archive is left out."""
    name = info.filename
    if not info.flag_bits & 0x800:  # Macs write UTF-8 and do not say so
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..") and part[1:] != ":")


# ---- whose a file is, and of which assignment ----


def _assignment_of(arrival: Arrival, assignments: Assignments) -> str | None:
    """The single one with most of whose answer cells a file shares its names; else the one whose name it has."""
    if arrival.content is None or arrival.opened:
        return None
    names, _ = _names(arrival.content)
    shared = [(len(names & answers), name) for name, answers in assignments.items()]
    first, second = nlargest(2, [*shared, (0, ""), (0, "")])
    if first[0] > second[0]:
        return first[1]
    own = arrival.path.split("/", 1)[-1]  # a folder's name is the student's
    plain = re.sub(r"[^a-z0-9]+", "-", own.lower())
    return max((name for name in assignments if name.lower() in plain), key=len, default=None)


def _names(content: bytes) -> tuple[set[str | None], str | None]:
    """The names of a file's cells, and why none of them can be read, if so."""
    try:
        return {cell.name for cell in notebooks.handed_in(content)}, None
    except notebooks.Unreadable as error:
        return set(), str(error)


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
    if content.startswith((*ZIP, *OTHERS)) or content[257:262] == TAR:
        kind = "an archive in an archive" if content.startswith(ZIP) else "an archive, and no zip file"
        return f"it is {kind}", BY_HAND
    named = ".ipynb" in Path(arrival.path).name.lower()  # also '.ipynb.txt', as some browsers save one
    unreadable = None if named and arrival.assignment else _names(content)[1]
    if unreadable:
        return unreadable if named else NO_NOTEBOOK, SAVE_AGAIN
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


# ---- two people of one name ----


def numbers(some: Iterable[Arrival | Receipt]) -> Numbers:
    """The platforms' numbers of those whose files came in properly."""
    found: Numbers = defaultdict(set)
    for one in some:
        number = _label(one.path).number
        if number and one.student and not one.problem:
            found[_key(one)].add(number)
    return found


def _two_people(found: list[Arrival], roster: Roster, known: Numbers) -> Iterator[Arrival]:
    """Two people under one name are a doubt: two spellings of it without a roster, and two numbers of a platform.

    Moodle's number is another one in each of its assignments. So where a roster has one person of the name, only the
    numbers that came together are compared; without a roster also those that came before. An empty folder is nobody's
    work.
    """
    spellings: dict[str, set[str]] = defaultdict(set)
    came = [arrival for arrival in found if arrival.student and not arrival.problem and not arrival.opened]
    for arrival in came:
        if roster.open and arrival.student and not arrival.path.endswith("/"):
            spellings[arrival.student].add(arrival.name.casefold())
    here = numbers(came)
    for arrival in found:
        student, who = arrival.student, _label(arrival.path)
        if not student or arrival.problem or arrival.opened:
            yield arrival
            continue
        names = sorted(spellings[student])
        those = sorted(here[_key(arrival)] | (known.get(_key(arrival), set()) if roster.open else set()))
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
