"""What was ever handed in, and every mark that a person gave, in one SQLite file: submissions.db.

A collection writes its receipts in one transaction: it is there whole or not at all, also after `kill -9`. A receipt
says when a file came, from where, whose and of which assignment it is, and its SHA-256; the bytes lie beside it.
Nothing is ever changed or deleted: what is taken back is marked as withdrawn, and a later mark follows an earlier one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from .texts import sha256

_TABLES = {
    "file": "sha256 TEXT PRIMARY KEY, content BLOB NOT NULL",
    "collection": "id INTEGER PRIMARY KEY, at TEXT NOT NULL, folder TEXT NOT NULL",
    "receipt": """id INTEGER PRIMARY KEY, collection INTEGER NOT NULL REFERENCES collection, path TEXT NOT NULL,
        name TEXT NOT NULL, student TEXT, assignment TEXT, handed_in TEXT NOT NULL, stamped INTEGER NOT NULL,
        sha256 TEXT REFERENCES file, problem TEXT, advice TEXT""",
    "withdrawal": "receipt INTEGER PRIMARY KEY REFERENCES receipt, at TEXT NOT NULL",
    "hand_mark": """id INTEGER PRIMARY KEY, at TEXT DEFAULT CURRENT_TIMESTAMP, assignment TEXT NOT NULL,
        student TEXT NOT NULL, cell TEXT NOT NULL, answer TEXT NOT NULL, score REAL, extra_credit REAL, comment TEXT""",
}

Mark = tuple[float | None, float | None, str | None]  # a person's: a score, extra credit, a comment


@dataclass(frozen=True)
class Arrival:
    """A file as it came: where it lay, whose and of which assignment it is, and what is wrong with it.

    name: the person's, as the file or its folder gives it.
    content: None where there is nothing to keep: a link, an empty folder, a file too large to be kept.
    stamped: whether `handed_in` comes from a platform's time stamp and not from the file's date.
    problem: why the file cannot count; None for a file that may.
    opened: an archive whose files came in each by itself is kept, and graded by nobody.
    """

    path: str
    name: str
    handed_in: str
    content: bytes | None = None
    student: str | None = None
    assignment: str | None = None
    stamped: bool = False
    problem: str | None = None
    advice: str | None = None
    opened: bool = False

    @property
    def sha256(self) -> str | None:
        """The checksum of the bytes, where they are kept."""
        return sha256(self.content) if self.content is not None else None


@dataclass(frozen=True)
class Receipt:
    """One file that arrived, as the ledger keeps it; times are UTC, in ISO format."""

    id: int
    collection: int
    collected: str
    path: str
    name: str
    student: str | None
    assignment: str | None
    handed_in: str
    stamped: bool
    sha256: str | None
    problem: str | None
    advice: str | None
    withdrawn: bool


_RECEIPTS = """SELECT receipt.*, collection.at AS collected, withdrawal.at IS NOT NULL AS withdrawn FROM receipt
    JOIN collection ON collection.id = collection LEFT JOIN withdrawal ON withdrawal.receipt = receipt.id
    ORDER BY receipt.id"""
_ARRIVED = ("path", "name", "student", "assignment", "handed_in", "stamped", "sha256", "problem", "advice")


class Ledger:
    """The ledger of one classroom."""

    def __init__(self, course: Path) -> None:
        self._path = course / "submissions.db"

    def collect(self, arrivals: Iterable[Arrival], folder: str) -> list[Receipt]:
        """Keeps what is new, in one transaction; what was received before, and not withdrawn, is not received again."""
        with self._open() as database:
            known = {_key(receipt) for receipt in _read(database) if not receipt.withdrawn}
            new: dict[tuple[object, ...], Arrival] = {}
            for arrival in arrivals:
                if (key := _key(arrival)) not in known:
                    new.setdefault(key, arrival)
            if not new:
                return []
            now = in_utc(datetime.now(UTC))
            into = database.execute("INSERT INTO collection (at, folder) VALUES (?, ?)", (now, folder)).lastrowid
            for arrival in new.values():
                if arrival.content is not None:
                    database.execute("INSERT OR IGNORE INTO file VALUES (?, ?)", (arrival.sha256, arrival.content))
                row = [into, *(getattr(arrival, name) for name in _ARRIVED)]
                columns, places = ", ".join(["collection", *_ARRIVED]), ", ".join("?" * len(row))
                database.execute(f"INSERT INTO receipt ({columns}) VALUES ({places})", row)
            return [receipt for receipt in _read(database) if receipt.collection == into]

    def receipts(self) -> list[Receipt]:
        """All of them, withdrawn ones too, in the order in which they came."""
        with self._open() as database:
            return _read(database)

    def content(self, sha256: str) -> bytes:
        """The bytes of a file, as they were handed in."""
        with self._open() as database:
            row = database.execute("SELECT content FROM file WHERE sha256 = ?", (sha256,)).fetchone()
        return bytes(row[0])

    def withdraw(self, receipts: Iterable[Receipt]) -> None:
        """From now on these do not count. They stay in the ledger, and collected again they come in anew."""
        rows = [(receipt.id, in_utc(datetime.now(UTC))) for receipt in receipts]
        with self._open() as database:
            database.executemany("INSERT OR IGNORE INTO withdrawal VALUES (?, ?)", rows)

    # ---- marks by hand ----

    def keep(self, assignment: str, marks: Iterable[tuple[str, str, str, Mark]]) -> None:
        """Adds marks that a person gave: whose, of which graded cell, and the checksum of the answer judged."""
        rows = [(assignment, student, cell, answer, *mark) for student, cell, answer, mark in marks]
        columns = "assignment, student, cell, answer, score, extra_credit, comment"
        with self._open() as database:
            database.executemany(f"INSERT INTO hand_mark ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def marks(self, assignment: str) -> dict[tuple[str, str, str], Mark]:
        """(student, cell, answer) -> what a person last gave for it."""
        asked = "SELECT student, cell, answer, score, extra_credit, comment FROM hand_mark WHERE assignment = ?"
        with self._open() as database:
            rows = database.execute(f"{asked} ORDER BY id", (assignment,))
            return {(student, cell, answer): tuple(mark) for student, cell, answer, *mark in rows}

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all that is done inside is there afterwards, or nothing."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=30)) as database, database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'hand_mark'").fetchone():
                schema = [f"CREATE TABLE IF NOT EXISTS {table} ({columns});" for table, columns in _TABLES.items()]
                database.executescript(" ".join(["BEGIN;", *schema, "COMMIT;"]))
            database.row_factory = sqlite3.Row
            yield database


def in_zone(shown: datetime, zone: tzinfo | None) -> datetime:
    """What the clocks of a zone showed, as a moment; None is this computer's."""
    return shown.replace(tzinfo=zone) if zone else shown.astimezone()


def in_utc(when: datetime) -> str:
    """A time as the ledger keeps it."""
    return when.astimezone(UTC).isoformat(timespec="seconds")


def _read(database: sqlite3.Connection) -> list[Receipt]:
    return [Receipt(**row) for row in database.execute(_RECEIPTS)]


def _key(one: Arrival | Receipt) -> tuple[object, ...]:
    """What makes two arrivals the same: person, assignment and bytes; the stamp; the place of what cannot count."""
    place, stamp = one.path if one.problem else None, one.handed_in if one.stamped else None
    return one.student, one.assignment, one.sha256, stamp, place, one.problem
