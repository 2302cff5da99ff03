"""Which files lie in a folder of submissions, and whose and of which assignment is each?

    FOLDER/STUDENT/ASSIGNMENT.ipynb   FOLDER/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb   FOLDER/STUDENT.ipynb

and what Moodle, Canvas and Blackboard make of these. A file is the assignment whose answer cells it holds, whatever it
is called; where the cells do not say it, the name does. Every file is taken down, those that cannot count too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.utils import parse_utc

from exercises.grading import notebooks

from .ledger import Arrival
from .people import Label, Roster, label, without_copy

KEPT_BYTES = 100_000_000
"""The bytes of a larger file are not kept; that it came is."""
TIMESTAMP = "timestamp.txt"
_NOT_WORK = {TIMESTAMP, "submission_secret.txt", "Thumbs.db", "desktop.ini", "__MACOSX"}
SAVE_AGAIN = "ask the student for the .ipynb file, saved once more in Jupyter"


@dataclass(frozen=True)
class Assignment:
    """What tells the files of one assignment from others: the names of its answer cells."""

    name: str
    answers: frozenset[str]


def arrivals(
    folder: Path,
    assignments: Iterable[Assignment],
    roster: Roster,
    only: str | None = None,
    skip: Callable[[Arrival], bool] = lambda arrival: False,
) -> list[Arrival]:
    """All files in `folder` but those to skip. With `only`, files that clearly are another assignment are left out."""
    every = list(assignments)
    found = [_identified(arrival, every) for arrival in _files(folder) if not skip(arrival)]
    if only is not None:
        found = [arrival for arrival in found if arrival.assignment in (only, None)]
    clear = {arrival.assignment for arrival in found if arrival.assignment}
    last_resort = only or (clear.pop() if len(clear) == 1 else every[0].name if len(every) == 1 else None)
    found = [_judged(arrival, last_resort, roster) for arrival in found]
    return list(_same_name_twice(found)) if roster.open else found


def _files(folder: Path) -> Iterator[Arrival]:
    """Every file that somebody may have meant as work, with its content."""
    for entry in sorted(folder.iterdir()):
        if _is_nobodys(entry):
            continue
        if entry.is_symlink() or not entry.is_dir():
            yield _arrival(entry, folder)
            continue
        inside = [path for path in sorted(entry.rglob("*")) if not _is_nobodys(path, entry) and not path.is_dir()]
        for path in inside:
            yield _arrival(path, folder)
        if not inside:
            now = datetime.now(UTC)
            name = label(_printable(entry.name)).name
            yield Arrival(f"{_printable(entry.name)}/", name, now, problem="the folder is empty", advice=SAVE_AGAIN)


def _is_nobodys(path: Path, above: Path | None = None) -> bool:
    """Hidden files that are no notebooks, checkpoints of Jupyter, what nbgrader's exchange and systems add."""
    parts = path.relative_to(above).parts if above else (path.name,)
    hidden = any(part.startswith("._") or (part.startswith(".") and not part.endswith(".ipynb")) for part in parts)
    return hidden or not _NOT_WORK.isdisjoint(parts)


def _printable(name: str) -> str:
    r"""A name with \xfc for a byte that is no UTF-8, as some archives of other systems leave them."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


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
            plain = replace(plain, problem="its name is not in UTF-8", advice="rename it, and collect again")
        return replace(plain, content=path.read_bytes())
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})"
        return Arrival(shown, who.name, datetime.now(UTC), problem=reason, advice="check who may read the folder")


def _label(path: str) -> Label:
    """What the student's folder, or the name of a loose file, says."""
    return label(path.split("/", 1)[0].removesuffix(".ipynb"))


def stamp_of(path: Path) -> datetime | None:
    """The time in a file as nbgrader's exchange writes it; None where there is none that can be read."""
    try:
        found: datetime | None = parse_utc(path.read_text(encoding="utf-8").strip())
    except (OSError, ValueError, OverflowError):
        return None
    return found.replace(tzinfo=UTC) if found else None


def _identified(arrival: Arrival, assignments: list[Assignment]) -> Arrival:
    """With the assignment, where the answer cells of the file or its name say which."""
    if arrival.assignment or arrival.content is None:
        return arrival
    return replace(arrival, assignment=recognised(arrival.content, assignments) or _named(arrival.path, assignments))


def recognised(content: bytes, assignments: Iterable[Assignment]) -> str | None:
    """The assignment with most of whose answer cells a file shares its names; None where no single one has most."""
    try:
        names = {cell.name for cell in notebooks.handed_in(content)}
    except notebooks.Unreadable:
        return None
    shared = sorted(((len(names & each.answers), each.name) for each in assignments), reverse=True)
    clear = bool(shared) and shared[0][0] > (shared[1][0] if len(shared) > 1 else 0)
    return shared[0][1] if clear else None


def _unreadable(content: bytes) -> str | None:
    """Why no cell of a file can be read; None where they can."""
    try:
        notebooks.handed_in(content)
    except notebooks.Unreadable as error:
        return str(error)
    return None


def _named(path: str, assignments: Iterable[Assignment]) -> str | None:
    """The assignment whose name stands in a path: the longest, as one name may hold another."""
    own = path.split("/", 1)[-1]  # a folder's name is the student's
    plain = re.sub(r"[^a-z0-9]+", "-", own.lower())
    found = [each.name for each in assignments if each.name.lower() in plain]
    return max(found, key=len, default=None)


def _judged(arrival: Arrival, last_resort: str | None, roster: Roster) -> Arrival:
    """With the student, and with whatever is wrong."""
    arrival = replace(arrival, assignment=arrival.assignment or last_resort)
    name = _person(arrival)
    match = roster.match(name, _label(arrival.path).number)
    arrival = replace(arrival, name=name, student=match.student)
    if arrival.problem:
        return arrival
    if match.problem:
        return replace(arrival, problem=match.problem, advice=match.advice)
    if not looks_like_a_notebook(arrival):
        return replace(arrival, problem="it is no notebook", advice=SAVE_AGAIN)
    if arrival.assignment is None and (unreadable := _unreadable(arrival.content or b"")):
        return replace(arrival, problem=unreadable, advice=SAVE_AGAIN)
    if arrival.assignment is None:
        advice = "give --assignment NAME, or put the assignment's name into the file's"
        return replace(arrival, problem="it is none of the assignments", advice=advice)
    return arrival


def looks_like_a_notebook(arrival: Arrival) -> bool:
    """By its name, or by its content: '.ipynb.json' and '.ipynb.txt' are what some browsers make of one."""
    if ".ipynb" in Path(arrival.path).name.lower():
        return True
    try:
        return isinstance(json.loads(arrival.content or b"")["cells"], list)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _person(arrival: Arrival) -> str:
    """A loose file's name may hold the assignment's too: 'smith, anna - in-batch-bias' is Anna Smith's."""
    if "/" in arrival.path or not arrival.assignment:
        return arrival.name
    pattern = re.sub(r"[^a-z0-9]+", r"[-_ ]", re.escape(arrival.assignment).replace("\\", ""))
    rest = re.sub(rf"[\s_.-]*{pattern}[\s_.-]*", " ", without_copy(arrival.name), flags=re.IGNORECASE).strip(" ,")
    return without_copy(rest) if rest else arrival.name


def _same_name_twice(found: list[Arrival]) -> Iterator[Arrival]:
    """Where no roster says that they are one person, two spellings that lead to one identifier are a doubt.

    An empty folder is nobody's work: `undo` leaves them in submitted/.
    """
    spellings: dict[str | None, set[str]] = {}
    for arrival in (one for one in found if not one.path.endswith("/")):
        spellings.setdefault(arrival.student, set()).add(arrival.name.casefold())
    for arrival in found:
        if arrival.student and not arrival.problem and len(spellings[arrival.student]) > 1:
            names = " and ".join(repr(name) for name in sorted(spellings[arrival.student]))
            yield replace(
                arrival,
                problem=f"{names} are both {arrival.student!r} in plain letters",
                advice="write a roster.csv, or rename one of the two",
            )
        else:
            yield arrival
