"""Due dates, late days and penalties, from one small file: `deadlines.toml` in the classroom's folder.

    [late]
    free_days = 3            # days that each student may be late in the whole term, used up in the order of due dates
    percent_per_day = 10     # what each further day, begun or whole, costs of the points earned
    at_most_percent = 50

    [assignments.in-batch-bias]
    due = 2026-11-20T23:59:00+01:00
    weight = 2               # in the combined gradebook; 1 where it is not given

    [extensions.anna]        # days, for one student
    in-batch-bias = 2

Without the file nothing is ever late. The time that counts is the platform's stamp where there is one, else the file's
own date, which copying can change: a line of the table says so where it costs marks.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from .ledger import Receipt

DEADLINES = "deadlines.toml"
DAY = timedelta(days=1)


class BadDeadlines(ValueError):
    """The file cannot be used; the message names the place."""


@dataclass(frozen=True)
class Lateness:
    """How late a student's file is, how many free days that takes, and what it costs."""

    days: int = 0
    free: int = 0
    percent: float = 0.0
    by_the_files_date: bool = False

    def note(self) -> str | None:
        """A word for the table; None for what is in time."""
        if not self.days:
            return None
        doubt = ", by the file's own date, which copying can change" if self.by_the_files_date and self.percent else ""
        return f"{self.days} day{'s' * (self.days > 1)} late, {self.free} of them free: {self.percent:g} % off{doubt}"


@dataclass(frozen=True)
class Deadlines:
    """What `deadlines.toml` says."""

    due: Mapping[str, datetime] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    extensions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    free_days: int = 0
    percent_per_day: float = 0.0
    at_most_percent: float = 100.0

    def check(self, assignments: Iterable[str], students: Iterable[str] | None) -> None:
        """BadDeadlines for an assignment that the course does not have, or a student who is not in its roster."""
        given = set(self.weights).union(*self.extensions.values())
        _known("assignment", given, set(assignments))
        if students is not None:
            _known("student in roster.csv", set(self.extensions), set(students))

    def weight(self, assignment: str) -> float:
        """What an assignment counts in the combined gradebook."""
        return self.weights.get(assignment, 1.0)

    def days_late(self, student: str, assignment: str, handed_in: datetime) -> int:
        """Days begun after the due date and the student's own extension; 0 in time, or where nothing is due."""
        if assignment not in self.due:
            return 0
        extension = float(self.extensions.get(student, {}).get(assignment, 0.0))
        over = handed_in - self.due[assignment] - extension * DAY
        return max(0, math.ceil(over / DAY))

    def lateness(self, student: str, files: Mapping[str, Receipt]) -> dict[str, Lateness]:
        """assignment -> how late, for all that a student handed in: the free days go to what was due first."""
        left, found = self.free_days, {}
        for assignment in sorted(files, key=lambda name: (self.due.get(name, datetime.max.replace(tzinfo=UTC)), name)):
            receipt = files[assignment]
            days = self.days_late(student, assignment, datetime.fromisoformat(receipt.handed_in))
            free = min(left, days)
            left -= free
            percent = min(self.at_most_percent, (days - free) * self.percent_per_day)
            found[assignment] = Lateness(days, free, percent, not receipt.stamped)
        return found


def read_deadlines(course: Path) -> Deadlines:
    """The classroom's deadlines; without the file nothing is due."""
    path = course / DEADLINES
    if not path.exists():
        return Deadlines()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadDeadlines(f"{path}: {error}") from None
    late, assignments = content.get("late", {}), content.get("assignments", {})
    for place, given, known in (
        ("", content, {"late", "assignments", "extensions"}),
        (" in late", late, _LATE),
        *((f" in assignments.{name}", about, _ASSIGNMENT) for name, about in assignments.items()),
    ):
        if unknown := set(given) - known:
            raise BadDeadlines(
                f"{path}: {', '.join(sorted(unknown))}{place} is unknown; expected {', '.join(sorted(known))}"
            )
    due = {name: _due(path, name, about) for name, about in assignments.items() if "due" in about}
    return Deadlines(
        due=due,
        weights={
            name: _number(path, f"weight of {name}", about.get("weight", 1)) for name, about in assignments.items()
        },
        extensions={
            student: {name: _number(path, f"extension of {student}", days) for name, days in given.items()}
            for student, given in content.get("extensions", {}).items()
        },
        free_days=int(_number(path, "free_days", late.get("free_days", 0))),
        percent_per_day=_number(path, "percent_per_day", late.get("percent_per_day", 0)),
        at_most_percent=_number(path, "at_most_percent", late.get("at_most_percent", 100)),
    )


_LATE = {"free_days", "percent_per_day", "at_most_percent"}
_ASSIGNMENT = {"due", "weight"}


def _known(what: str, given: set[str], known: set[str]) -> None:
    for name in sorted(given - known):
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" (perhaps {close[0]})" if close else ""
        raise BadDeadlines(f"{DEADLINES}: there is no {what} called {name!r}{hint}")


def _due(path: Path, name: str, about: Mapping[str, Any]) -> datetime:
    due = about["due"]
    if not isinstance(due, datetime):
        raise BadDeadlines(f"{path}: due of {name} is {due!r}; expected a date with a time, 2026-11-20T23:59:00+01:00")
    return due if due.tzinfo else due.astimezone()


def _number(path: Path, what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise BadDeadlines(f"{path}: {what} is {value!r}; expected a number that is not negative")
    return float(value)
