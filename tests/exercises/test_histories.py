"""Nothing is lost: random terms of a class, with a judge that is planted, and `kill -9` at random places.

A history hands in, renames, breaks and removes files, collects, grades, marks by hand and takes back, in random order.
A model in plain Python says what must count; every byte and every mark that was ever there must still be there, and
what is done twice changes nothing. `make test-histories` runs 500 of them, the number that the course is held to, and
10 in which the real judge and the real nbgrader grade and write feedback.
"""

import csv
import gc
import hashlib
import math
import os
import random
import shutil
import signal
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import pytest
from planted_class import ASSIGNMENTS, POINTS, automatic, booked, judged, untouched, work

from exercises.engine import classroom
from exercises.engine.office import stages
from exercises.engine.office.ledger import Ledger
from exercises.engine.office.room import Room

pytestmark = pytest.mark.seconds

HISTORIES = int(os.environ.get("COURSE_TRIES", "6"))
REAL_HISTORIES = max(1, HISTORIES // 50)
STEPS = 30
DAY, PERCENT, MOST = 86_400, 10, 50
PEOPLE = {"ada": "ada", "Müller Jörg": "muller-jorg", "smith, anna": "smith-anna"}
BROKEN = b"\x00 broken "
NEWEST = "SELECT coalesce(max(id), 0) FROM collection"
Key = tuple[str, str]


# ---- commands, and their sudden end ----


def command(course: Path, *arguments: str, kill_at: int | None = None, real: bool = False) -> int | None:
    """A classroom command in a process of its own. With `kill_at`, kill -9 strikes at that call of a function.

    Returns how many calls the command took when it came to its end before that, and None when it was killed.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if not real:
            Room.judged, stages.autograde = judged, booked
        calls = 0

        def count(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            calls += 1
            if calls == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
                if kill_at is not None:
                    sys.setprofile(count)
                classroom.main([*arguments, "--course", str(course), "--workers", "1"])
            status = 0
        except SystemExit as error:
            os.write(writer, str(error.code).encode()[:4000])
            status = 1
        except BaseException as error:
            os.write(writer, repr(error).encode()[:4000])
            status = 2
        finally:
            sys.setprofile(None)
        os.write(writer, str(calls).encode() if status == 0 else b"")
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, code = os.waitpid(child, 0)
    if os.WIFSIGNALED(code):
        assert kill_at is not None
        return None
    nothing = "nothing was handed in" in said or "nothing to take back" in said
    assert os.WEXITSTATUS(code) == 0 or nothing, said
    return int(said) if not nothing else 0


# ---- the model ----


@dataclass
class Came:
    """A file as the model remembers it."""

    key: Key
    number: int
    worked_on: bool
    collection: int
    when: int
    sha: str
    withdrawn: bool = False


@dataclass
class History:
    """One random term of a class."""

    seed: int
    course: Path
    real: bool = False
    dice: random.Random = field(init=False)
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: 30_000))
    lying: dict[str, tuple[Key, int, bool, str]] = field(default_factory=dict)  # path -> what lies in the folder
    came: list[Came] = field(default_factory=list)
    exchange: dict[str, tuple[Key, int, str, int]] = field(default_factory=dict)  # path in submitted/ -> what came
    receipts: int = 0  # of the exchange's, how many the model has seen
    marks: dict[tuple[str, str, int], float] = field(default_factory=dict)  # (student, assignment, essay) -> marks
    bytes_: set[str] = field(default_factory=set)
    clock: int = 1_000_000_000
    number: int = 0
    collections: int = 0
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.folder = self.course / "in"
        self.folder.mkdir()
        self.people = self.dice.sample(list(PEOPLE), self.dice.randint(1, 3))  # few of them meet more often
        if rostered := self.dice.random() < 0.5:
            lines = [f'{student},"{name}"' for name, student in PEOPLE.items()]
            (self.course / "roster.csv").write_text("\n".join(["student,name", *lines]), encoding="utf-8")
        self.spellings = {name: [name, *([student] if rostered else [])] for name, student in PEOPLE.items()}
        self.assignments = self.dice.sample(ASSIGNMENTS, self.dice.randint(1, 2))
        self.due = self.clock + self.dice.choice([2, 10**6]) * DAY
        lines = [
            f"[assignments.{name}]\ndue = {datetime.fromtimestamp(self.due, UTC).isoformat()}" for name in ASSIGNMENTS
        ]
        lines.append(f"[late]\npercent_per_day = {PERCENT}\nat_most_percent = {MOST}\n")
        (self.course / "deadlines.toml").write_text("\n".join(lines), encoding="utf-8")

    # -- what students do

    def hand_in(self) -> None:
        self._put(work, worked_on=True)

    def hand_in_untouched(self) -> None:
        self._put(untouched, worked_on=False)

    def hand_in_broken(self) -> None:
        self._put(lambda assignment, number: BROKEN + b"%d" % number, worked_on=False)

    def rename(self) -> None:
        """A browser adds ' (1)', or a student gives a name of their own."""
        nested = [path for path in sorted(self.lying) if "/" in path]
        if nested:
            path = self.dice.choice(nested)
            new = path.split("/")[0] + self.dice.choice(["/homework.ipynb", "/" + Path(path).stem + " (1).ipynb"])
            if new not in self.lying:
                (self.folder / path).rename(self.folder / new)
                self.lying[new] = self.lying.pop(path)

    def new_week(self) -> None:
        """An empty folder: what is missing in it takes nothing away."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.lying.clear()

    def hand_in_by_exchange(self) -> None:
        """nbgrader's exchange, or a person, writes into submitted/: under any spelling, beside any working copy."""
        person, assignment = self.dice.choice(self.people), self.dice.choice(self.assignments)
        folder = self.dice.choice(self.spellings[person])  # without a roster, two spellings are a doubt
        name = self.dice.choice([assignment, f"{assignment} (1)", "homework"])
        path = f"{folder}/{assignment}/{name}.ipynb"
        self.number, self.clock = self.number + 1, self.clock + self.dice.choice([60, DAY // 2])
        file = self.course / "submitted" / path
        if path in self.exchange and file.exists():
            return  # the exchange too writes nothing over
        content = work(assignment, self.number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, (self.clock, self.clock))
        sha = hashlib.sha256(content).hexdigest()
        self.exchange[path] = (PEOPLE[person], assignment), self.number, sha, self.clock

    def _put(self, make: Callable[[str, int], bytes], *, worked_on: bool) -> None:
        person, assignment = self.dice.choice(self.people), self.dice.choice(self.assignments)
        forms = [f"{person}/{assignment}.ipynb", f"{person}/{assignment}/{assignment}.ipynb"]
        path = self.dice.choice([*forms, f"{person} - {assignment}.ipynb"])
        again = self.dice.random() < 0.2 and self.number > 2 and worked_on
        number = self.dice.randint(1, self.number) if again else self.number + 1
        self.number, self.clock = max(self.number, number), self.clock + self.dice.choice([60, DAY // 2])
        content = make(assignment, number) + b"\n" * self.dice.choice([0, 1, 2])  # the same answers, saved again
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, (self.clock, self.clock))
        sha = hashlib.sha256(content).hexdigest()
        self.lying[path] = (PEOPLE[person], assignment), number, worked_on, sha

    # -- what the instructor does

    def collect(self) -> None:
        self._run("collect", "--submissions", str(self.folder), then=self._collected)

    def grade(self) -> None:
        if self._run("grade"):
            self._check_table()

    def feedback(self) -> None:
        self._run("feedback")

    def undo(self) -> None:
        standing = [one for one in self.came if not one.withdrawn]
        before = self._withdrawn()

        def taken_back() -> None:
            last = max(self._collection_of_receipts(standing), default=0)
            for one in standing if self._withdrawn() != before else []:
                one.withdrawn = one.withdrawn or one.collection == last

        self._run("undo", once=True, then=taken_back)

    def undo_one(self) -> None:
        student, assignment = self._somebody()
        expected = self.counting().get((student, assignment))
        before = self._withdrawn()
        if expected:
            self._run("undo", "--student", student, "--assignment", assignment, once=True)
            for one in self.same_answers(expected) if self._withdrawn() != before else []:
                one.withdrawn = True

    def mark_by_hand(self) -> None:
        """As formgrader does it: the marks of a text, for the submission that is booked."""
        student, assignment = self._somebody()
        room, counting = Room(self.course, assignment), self.counting().get((student, assignment))
        if counting is None or student not in stages.graded(room, [student]):
            return
        copy = room.notebook("counted", student).read_text(encoding="utf-8")
        if not counting.worked_on or f"Essay {counting.number // 2}" not in copy:
            return
        score = float(self.dice.randint(0, 6))
        with room.gradebook() as book:
            name = f"essay_answer_{assignment.replace('-', '_')}"
            grade = book.find_grade(name, assignment, assignment, student)
            grade.manual_score, grade.needs_manual_grade = score, False
            book.db.commit()
        self.marks[student, assignment, counting.number // 2] = score

    def _somebody(self) -> Key:
        """Somebody's work that counts; where nothing does, anybody."""
        anybody = PEOPLE[self.people[0]], self.assignments[0]
        return self.dice.choice(
            [one for one, _ in sorted(self.counting().items(), key=lambda pair: pair[0])] or [anybody]
        )

    def week(self) -> None:
        """Handed in, collected, graded and marked, as it should be."""
        for step in (self.hand_in, self.collect, self.grade, self.mark_by_hand):
            step()

    # -- running, and what must hold

    def _run(self, *arguments: str, then: Callable[[], None] | None = None, once: bool = False) -> bool:
        """Runs a command, killed at a random place every third time and then, mostly, started again."""
        kill_at = self.dice.randint(1, self.calls[arguments[0]]) if self.dice.random() < 0.35 else None
        calls = command(self.course, *arguments, kill_at=kill_at, real=self.real)
        self.log.append(f"{' '.join(arguments)}{f' killed at {kill_at}' if calls is None else ''}")
        if kill_at is not None and calls:
            self.calls[arguments[0]] = calls
        self.check_nothing_is_lost()
        stopped = calls is None and (once or self.dice.random() < 0.3)
        if calls is None and not stopped:
            command(self.course, *arguments, real=self.real)
        if then and (once or not stopped or self._anything_new()):
            then()
        self._taken_in(whole=not stopped and arguments[0] in ("collect", "grade"))
        if stopped:
            return False
        if not once and self.dice.random() < 0.3:
            before = self.snapshot()
            command(self.course, *arguments, real=self.real)
            assert self.snapshot() == before, f"{arguments}: once more, and something changed"
        return True

    def _anything_new(self) -> bool:
        """Whether a collection that was killed had come to its end in the ledger."""
        with closing(sqlite3.connect(self.course / "submissions.db")) as database:
            try:
                (newest,) = database.execute(f"{NEWEST} WHERE folder = ?", (str(self.folder),)).fetchone()
            except sqlite3.OperationalError:
                return False
        return bool(newest > self.collections)

    def _collected(self) -> None:
        known = {(one.key, one.sha) for one in self.came if not one.withdrawn}
        new = []
        in_order = sorted(self.lying.items(), key=lambda pair: Path(pair[0]).parts)
        for path, ((student, _), number, worked_on, sha) in in_order:
            key = student, self._recognised(path) or f"doubt {path}"  # a doubt comes in by its place
            self.bytes_.add(sha)
            if (key, sha) not in known:
                when = int((self.folder / path).stat().st_mtime)
                new.append(Came(key, number, worked_on, 0, when, sha))
                known.add((key, sha))
        with closing(sqlite3.connect(self.course / "submissions.db")) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            asked = f"{NEWEST} WHERE folder = ?", (str(self.folder),)
            (self.collections,) = database.execute(*asked).fetchone() if "collection" in tables else (0,)
        for one in new:
            one.collection = self.collections
        self.came += new

    def _recognised(self, path: str) -> str | None:
        """The assignment that a file is seen to be: a broken one by its name, else by what all the others are."""
        told = {
            place: key[1]
            for place, (key, *_) in self.lying.items()
            if key[1] in Path(place).name or not (self.folder / place).read_bytes().startswith(BROKEN)
        }
        every = set(told.values())
        return told.get(path) or (every.pop() if len(every) == 1 else None)

    def _taken_in(self, *, whole: bool) -> None:
        """What came by the exchange. After a command that came to its end, that is every file of it."""
        by_sha = {sha: (key, number, when) for key, number, sha, when in self.exchange.values()}
        for receipt in Ledger(self.course).receipts():
            if receipt.id > self.receipts and receipt.path.startswith("submitted/"):
                key, number, when = by_sha[receipt.sha256 or ""]
                assert (receipt.student, receipt.assignment, receipt.problem) == (*key, None), receipt
                self.came.append(Came(key, number, True, receipt.collection, when, receipt.sha256 or ""))
                self.bytes_.add(receipt.sha256 or "")
                self.receipts = receipt.id
        assert not whole or set(by_sha) <= self.bytes_, "a file of the exchange was not taken in"

    def _collection_of_receipts(self, standing: list[Came]) -> Iterator[int]:
        return (one.collection for one in standing)

    def _withdrawn(self) -> int:
        return sum(receipt.withdrawn for receipt in Ledger(self.course).receipts())

    def counting(self) -> dict[Key, Came]:
        """What must count, as the model has it: the newest with work in it, from when its answers first came."""
        return {key: self.same_answers(newest)[0] for key, newest in self._newest().items()}

    def _newest(self) -> dict[Key, Came]:
        return {one.key: one for one in self._worked_on()}

    def _worked_on(self) -> list[Came]:
        standing = [one for one in self.came if one.worked_on and not one.withdrawn]
        return sorted(standing, key=lambda one: (one.collection, one.when))

    def same_answers(self, came: Came) -> list[Came]:
        """Everything with these answers that counts or could, from the oldest to the newest."""
        return [one for one in self._worked_on() if (one.key, one.number) == (came.key, came.number)]

    def check_nothing_is_lost(self) -> None:
        """Every byte that was collected or lay in submitted/, and every mark that a person gave."""
        lying = {hashlib.sha256(path.read_bytes()).hexdigest() for path in self.course.glob("submitted/*/*/*.ipynb")}
        if not (self.course / "submissions.db").exists():
            assert {sha for _, _, sha, _ in self.exchange.values()} <= lying
            return
        ledger = Ledger(self.course)
        ledger.receipts()
        with closing(sqlite3.connect(self.course / "submissions.db")) as database:
            kept = dict(database.execute("SELECT sha256, content FROM file"))
        assert self.bytes_ <= set(kept)
        assert {sha for _, _, sha, _ in self.exchange.values()} <= set(kept) | lying
        assert all(hashlib.sha256(content).hexdigest() == sha for sha, content in kept.items())
        given = {(s, room, score) for room in ASSIGNMENTS for s, score in self._given(room)}
        assert {(s, room, score) for (s, room, _), score in self.marks.items()} <= given

    def _given(self, assignment: str) -> Iterator[tuple[str, float]]:
        """In the ledger, or as a person typed them: a command that was killed may not have taken them in."""
        with closing(sqlite3.connect(self.course / "submissions.db")) as database:
            marks = "SELECT student, score FROM hand_mark WHERE assignment = ?"
            yield from database.execute(marks, (assignment,)).fetchall()
        with Room(self.course, assignment).gradebook() as book:
            for one in book.notebook_submissions(assignment, assignment):
                yield from ((one.student.id, grade.manual_score) for grade in one.grades)

    def _check_table(self) -> None:
        for assignment in ASSIGNMENTS:
            counting = {student: one for (student, room), one in self.counting().items() if room == assignment}
            if not (self.course / "grades" / f"{assignment}.csv").exists():
                assert not counting
                continue
            with (self.course / "grades" / f"{assignment}.csv").open(encoding="utf-8") as file:
                rows = {row["student"]: row for row in csv.DictReader(file)}
            name = f"answer_{assignment.replace('-', '_')}"
            for student, one in counting.items():
                row, mark = rows[student], self.marks.get((student, assignment, one.number // 2))
                assert sum(float(row[f"test_{name}_{k}"]) for k in POINTS) == automatic(one.number), (student, one)
                assert row["to_grade_by_hand"] == ("1" if mark is None else "0"), (student, one, mark)
                assert mark is None or float(row[f"essay_{name}"]) == mark, (student, one, mark)
                earned, days = automatic(one.number) + (mark or 0.0), max(0, math.ceil((one.when - self.due) / DAY))
                kept = 1 - min(MOST, PERCENT * days) / 100
                assert float(row["total"]) == pytest.approx(earned * kept, abs=0.006), (student, one, mark, days)
        files = (self.course / "grades" / "files.csv").read_text(encoding="utf-8") if self.came else ""
        assert all(one.sha in files for one in self.came)

    def snapshot(self) -> dict[str, object]:
        """All that a person or nbgrader reads."""
        found: dict[str, object] = {}
        for name in ("submissions.db", "gradebook.db"):
            with closing(sqlite3.connect(self.course / name)) as database:
                tables = [table for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                for table in tables:
                    found[f"{name}:{table}"] = sorted(map(repr, database.execute(f"SELECT * FROM {table}")))
        for pattern in ("grades/*.csv", "counted/*/*/*.ipynb", "autograded/*/*/*.ipynb"):
            found |= {str(path): path.read_bytes() for path in self.course.glob(pattern)}
        return found

    def live(self) -> None:
        """Up to STEPS steps, then a last collection and grading, without a kill."""
        often = [self.hand_in, self.collect, self.grade, self.mark_by_hand, self.week, self.week, self.undo_one]
        seldom = [self.hand_in_untouched, self.hand_in_broken, self.rename, self.new_week, self.undo, self.undo_one]
        seldom += [self.hand_in_by_exchange, self.hand_in_by_exchange]
        seldom += [self.feedback] if self.real else []
        for _ in range(self.dice.randint(4, STEPS)):
            step = self.dice.choice([*often, *often, *seldom])
            if len(self.log) > STEPS:
                break
            self.log.append(step.__name__)
            step()
        command(self.course, "grade", real=self.real)
        self._taken_in(whole=True)
        self.check_nothing_is_lost()
        self._check_table()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.pipeline] * (seed > 0)) for seed in range(HISTORIES)]
)
def test_no_history_loses_a_byte_or_a_mark(planted: Path, tmp_path: Path, seed: int) -> None:
    live(planted, tmp_path, seed, real=False)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("seed", range(REAL_HISTORIES))
def test_no_history_with_the_real_judge_loses_a_byte_or_a_mark(planted: Path, tmp_path: Path, seed: int) -> None:
    live(planted, tmp_path, seed, real=True)


def live(planted: Path, tmp_path: Path, seed: int, *, real: bool) -> None:
    """One history in a classroom of its own."""
    shutil.copytree(planted, tmp_path / "class")
    gc.freeze()  # a child that collects what it inherited copies it
    history = History(seed, tmp_path / "class", real)
    try:
        history.live()
    except AssertionError:
        print(f"seed {seed}:", *history.log, sep="\n  ")
        raise
    finally:
        shutil.rmtree(tmp_path / "class", ignore_errors=True)
