"""Due dates, late days and penalties, from one small file: `deadlines.toml` in the classroom's folder.

    zone = "Europe/Berlin"   # whose calendar counts the days; this computer's where it is not given

    [late]
    free_days = 3            # days that each student may be late in the whole term, used up in the order of due dates
    percent_per_day = 10     # what each further day, begun or whole, costs of the points earned
    at_most_percent = 50

    [assignments.in-batch-bias]
    due = 2026-11-20T23:59:00+01:00
    weight = 2               # in the combined gradebook; 1 where it is not given

    [extensions.anna]        # days, for one student
    in-batch-bias = 2

A day late, free, or of an extension is one of the calendar: what was due at 23:59 is a day late until 23:59 of the next
day, also when the clocks change in that night. Without the file nothing is ever late. The time that counts is the
platform's stamp where there is one, else the file's own date, which copying can change: a line of the table says so
where it costs marks.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec

from .ledger import Receipt
from .people import identifier
from .texts import Failed, converted, of_file, perhaps, read_toml

DEADLINES = "deadlines.toml"
DAY = timedelta(days=1)
LONGEST = 3660  # days of an extension, free days


class Late(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The rule for late work."""

    free_days: Annotated[int, msgspec.Meta(ge=0, le=LONGEST)] = 0
    percent_per_day: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.0
    at_most_percent: Annotated[float, msgspec.Meta(ge=0, le=100)] = 100.0


@dataclass(frozen=True)
class Lateness:
    """How late a student's file is, how many free days that takes, and what it costs."""

    days: int = 0
    free: int = 0
    percent: float = 0.0
    by_the_files_date: bool = False

    def note(self) -> str:
        """A word for the table, where something came late."""
        doubt = ", by the file's own date, which copying can change" if self.by_the_files_date and self.percent else ""
        return f"{self.days} day{'s' * (self.days > 1)} late, {self.free} of them free: {self.percent:g} % off{doubt}"


@dataclass(frozen=True)
class Deadlines:
    """What `deadlines.toml` says; without a zone it is this computer's."""

    due: Mapping[str, datetime] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    extensions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    late: Late = field(default_factory=Late)
    zone: ZoneInfo | None = None

    def check(self, assignments: Iterable[str], students: Iterable[str] | None) -> None:
        """Failed for an assignment that the course does not have, or a student who is not in its roster.

        Without a roster, for a name that no student can have in the tables.
        """
        given = set(self.weights).union(*self.extensions.values())
        _known("assignment", given, set(assignments))
        kind = "student" if students is None else "student in roster.csv"
        can_be = [identifier(name) or "" for name in self.extensions] if students is None else students
        _known(kind, set(self.extensions), set(can_be))

    def weight(self, assignment: str) -> float:
        """What an assignment counts in the combined gradebook."""
        return self.weights.get(assignment, 1.0)

    def extension(self, student: str, assignment: str) -> float:
        """Days more for one student."""
        return self.extensions.get(student, {}).get(assignment, 0.0)

    def due_after(self, assignment: str, days: float) -> datetime:
        """The due date, days of the calendar later; the part of a day that is left over is one of 24 hours."""
        due, whole = self.due[assignment], int(days)
        if whole:
            due = _moment(due.astimezone(self.zone).replace(tzinfo=None) + whole * DAY, self.zone)
        return due + days % 1 * DAY

    def days_late(self, student: str, assignment: str, handed_in: datetime) -> int:
        """Days begun after the due date and the student's own extension; 0 in time, or where nothing is due."""
        if assignment not in self.due:
            return 0
        extension = self.extension(student, assignment)
        over = handed_in - self.due_after(assignment, extension)
        least = max(0, math.ceil(over / DAY) - 1)  # a day of the calendar may have 25 hours
        return next(days for days in count(least) if handed_in <= self.due_after(assignment, extension + days))

    def lateness(self, student: str, files: Mapping[str, Receipt]) -> dict[str, Lateness]:
        """assignment -> how late, for all that a student handed in: the free days go to what was due first."""
        left, found = self.late.free_days, {}
        for assignment in sorted(files, key=lambda name: (self.due.get(name, datetime.max.replace(tzinfo=UTC)), name)):
            receipt = files[assignment]
            days = self.days_late(student, assignment, datetime.fromisoformat(receipt.handed_in))
            free = min(left, days)
            left -= free
            percent = min(self.late.at_most_percent, (days - free) * self.late.percent_per_day)
            found[assignment] = Lateness(days, free, percent, not receipt.stamped)
        return found


def read_deadlines(course: Path) -> Deadlines:
    """The classroom's deadlines; without the file nothing is due."""
    path = course / DEADLINES
    if not path.exists():
        return Deadlines()
    with of_file(path):
        file = read_toml(path, _File)
        about = {name: converted(f"assignments.{name}", one, _Assignment) for name, one in file.assignments.items()}
        given = {unicodedata.normalize("NFC", who): days for who, days in file.extensions.items()}.items()
        extensions = {who: converted(f"extensions.{who}", days, dict[str, _Days]) for who, days in given}
        late, zone = converted("late", file.late, Late), _zone(file.zone)
        due = {name: _due(name, one.due, zone) for name, one in about.items() if one.due is not None}
    return Deadlines(due, {name: one.weight for name, one in about.items()}, extensions, late, zone)


_Days = Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]


class _Assignment(msgspec.Struct, forbid_unknown_fields=True):
    due: Any = None
    weight: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 1.0


class _File(msgspec.Struct, forbid_unknown_fields=True):
    zone: Any = None
    late: Any = {}
    assignments: dict[str, Any] = {}
    extensions: dict[str, Any] = {}


def _known(what: str, given: set[str], known: set[str]) -> None:
    for name in sorted(given - known):
        raise Failed(f"{DEADLINES}: there is no {what} called {name!r}{perhaps(name, known)}")


def _zone(name: Any) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, TypeError, OSError, LookupError):
        raise ValueError(f"zone is {name!r}; expected a name such as 'Europe/Berlin'") from None


def _due(name: str, due: Any, zone: ZoneInfo | None) -> datetime:
    """A due date; one without an offset is a time of the class's clocks."""
    if not isinstance(due, datetime):
        raise ValueError(f"due of {name} is {due!r}; expected a date with a time, 2026-11-20T23:59:00+01:00")
    try:
        moment = due if due.tzinfo else _moment(due, zone)
        shown = moment.astimezone(zone).replace(tzinfo=None)
        _moment(shown + 2 * LONGEST * DAY, zone)
    except (OverflowError, ValueError, OSError):
        raise ValueError(f"due of {name} is {due}; expected a date of a class") from None
    if due.tzinfo is None and shown != due:
        raise ValueError(f"due of {name} is {due}, which no clock showed, as the clocks went forward then")
    return moment


def _moment(shown: datetime, zone: ZoneInfo | None) -> datetime:
    """When the class's clocks show a time: the second time where they show it twice; where never, after the gap."""
    both = (shown.replace(fold=fold) for fold in (0, 1))
    return max((each.replace(tzinfo=zone) if zone else each.astimezone()).astimezone(UTC) for each in both)
