"""Runs a student's cells in a process behind walls and asks it for plain values (the trusted side)."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from course_lib.lessons.shared import plain

from .notebooks import OPEN_ROOMS

ROOT = Path(__file__).resolve().parents[4]
BUDGETS = ("own", "answers", "calls")
"""The cells that a student added; those of the assignment; the calls that the checks make. None eats another's time."""
SLOW_SECONDS = 1.0
"""When the time of a student's own cells is used up, those that took longer are left out; the others run on."""
START_SECONDS = 60.0  # the process's own imports, by the clock; no student code runs yet
OUTSIDE_SECONDS = (
    300.0  # by the clock, or 30 times what a step may take, whatever the processor did: the machine is stuck
)
MOST_FOLDER_BYTES = 50_000_000
MOST_FILES = 1_000
MOST_RESTARTS = 8  # because of the assignment's cells and of calls; and as many because of a student's own
ALL_WALLS = ("limits", "user", "landlock", "seccomp")


@dataclass(frozen=True)
class Limits:
    """What a submission may do, in seconds of the processor and as many without it: asleep, or at a disk."""

    step: float = 10.0
    """One cell, or one call."""
    submission: float = 40.0
    """Each of the BUDGETS."""
    walls: bool = True
    """Whether a system without walls grades nothing."""


USUAL = Limits()


class StudentError(Exception):
    """The student's code raised, stopped, took too long or answered with something that is no plain value."""


class NotStarted(RuntimeError):
    """The machine could not run a student's code at all: no fault of the code."""


class NoWalls(RuntimeError):
    """This system cannot keep a student's code away from the rest of the machine."""


_TICK = 0.05  # seconds between two looks at what a process has used


class Stopwatch:
    """What a process takes from now on: seconds of the processor, and seconds in which it asked for none.

    Seconds in which it waited for its turn on a busy machine are neither. `None` watches the clock alone.
    """

    def __init__(self, process: int | None) -> None:
        self._process = process
        self._began = time.monotonic()
        self._first = self._last = _used(process)
        self._stopped = False

    def _now(self) -> tuple[float, float, float]:
        """(processor, idle, clock) since the beginning."""
        clock = time.monotonic() - self._began
        if not self._stopped:
            self._last = _used(self._process) or self._last
        if self._first is None or self._last is None:
            return clock, 0.0, clock
        ran, waited = (late - early for late, early in zip(self._last, self._first, strict=True))
        return ran, max(0.0, clock - ran - waited), clock

    def is_over(self, limit: float) -> bool:
        """Whether the process ran, or idled, for longer than `limit` seconds."""
        ran, idle, clock = self._now()
        return ran > limit or idle > limit or clock > max(OUTSIDE_SECONDS, 30 * limit)

    def charged(self, limit: float) -> float:
        """What the step costs; idle time costs too, so that sleep does not hold up a class."""
        if self._stopped:
            return 0.0
        ran, idle, _ = self._now()
        return min(max(ran, idle if idle > SLOW_SECONDS else ran), limit)

    def stop(self) -> None:
        """What comes now is not counted."""
        self._stopped = True


def _used(process: int | None) -> tuple[float, float] | None:
    """Seconds that a process ran, and that it waited for a processor; None where the system does not say.

    /proc/PID/schedstat counts both in nanoseconds, of the process's one thread: the walls allow no other.
    """
    try:
        text = Path(f"/proc/{process}/schedstat").read_text(encoding="ascii")
    except OSError:
        return None
    ran, waited = map(int, text.split()[:2])
    return ran / 1e9, waited / 1e9


def _is_full(folder: str) -> bool:
    """Whether a folder holds more than it may; looks at no more files than that takes."""
    files = size = 0
    for place, folders, names in os.walk(folder):
        files += len(folders) + len(names)
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
        if files > MOST_FILES or size > MOST_FOLDER_BYTES:
            return True
    return False


class Sandbox:
    """A student's notebook, cell after cell, in a process of its own; use it in a `with` block.

    `run` runs the next cell, and `call` calls a function as it is at that point. A cell that ends or hangs the process
    costs itself only: the process starts again without that cell, as long as the time of the submission lasts.
    `open_rooms` are the rooms of course_lib that the student's code may use; `own` the places of those of the first
    `cells` that the student added, whose time is their own.

    Time is the processor's, not the clock's: on a machine under load the same notebook gets the same marks.
    """

    def __init__(
        self,
        cells: Iterable[str] = (),
        open_rooms: Iterable[str] = OPEN_ROOMS,
        *,
        own: Iterable[int] = frozenset(),
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or USUAL
        self._first = list(cells)
        self.cells: list[str] = []
        self.open_rooms = tuple(open_rooms)
        self.own = set(own)
        self.results: list[dict[str, Any]] = []
        self.walls: list[str] = []
        self.spent = dict.fromkeys(BUDGETS, 0.0)
        self._took: dict[int, float] = {}
        self._fatal: set[int] = set()
        self._dead_calls: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._starts = 0
        self._done = 0

    def __enter__(self) -> Sandbox:
        self._folder = tempfile.mkdtemp(prefix="student-")
        try:
            self._reach()
            for place, cell in enumerate(self._first):
                self.run(cell, own=place in self.own)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._remove_folder()

    @property
    def seconds(self) -> float:
        """What the student's code took so far, all together."""
        return sum(self.spent.values())

    def run(self, cell: str, *, own: bool = False) -> dict[str, Any]:
        """Runs the next cell; returns its error, or None, what it printed, and what of it was left out."""
        place = len(self.cells)
        if own:
            self.own.add(place)
        self.cells.append(cell)
        self.results.append({"error": "This cell was not reached: the notebook's time is used up", "output": ""})
        self._reach()
        return self.results[place]

    def call(self, name: str, *args: Any) -> Any:
        """What the student's function `name` returns for `args`, as a plain value; StudentError where it fails."""
        if name in self._dead_calls:
            raise StudentError(self._dead_calls[name])
        self._reach()
        if self._process is None:
            raise StudentError(f"{name} was not reached: the notebook's time is used up")
        try:
            reply = self._ask({"call": name, "args": plain.to_plain(list(args))}, "calls")
        except StudentError as error:
            self._dead_calls[name] = f"{name} {error}"
            raise StudentError(self._dead_calls[name]) from None
        if reply.get("ok") is not True:
            raise StudentError(f"{name} raised {_text(reply.get('error'))}")
        try:
            return plain.from_plain(reply.get("value"))
        except plain.NotPlain as error:
            raise StudentError(f"{name} returned something that cannot be read: {error}") from None

    def _reach(self) -> None:
        """Brings the process to where the notebook is: every cell so far has run that did not end or hang it before."""
        while self._process is None or self._done < len(self.cells):
            if self._process is None:
                if self._starts >= MOST_RESTARTS + self._own_ends() or self.spent["answers"] >= self.limits.submission:
                    return
                self._start()
                self._done = 0
            if self._done < len(self.cells):
                if self._done not in self._fatal:
                    self._run_cell(self._done)
                self._done += 1

    def _run_cell(self, place: int) -> None:
        """Runs a cell; where that was the end of the process, the cell is not run again."""
        budget = "own" if place in self.own else "answers"
        if budget == "own" and self._is_left_out(place):
            left_out = "not run: the time for cells of your own was used up. No points depend on this cell"
            self.results[place] = {"error": left_out, "output": ""}
            return
        before = self.spent[budget]
        try:
            reply = self._ask({"cell": self.cells[place]}, budget)
        except StudentError as error:
            self._fatal.add(place)
            self.results[place] = {"error": f"This cell {error}", "output": ""}
            return
        self._took[place] = self.spent[budget] - before
        error_text = None if reply.get("ok") is True else _text(reply.get("error"))
        skipped = reply.get("skipped")
        self.results[place] = {
            "error": error_text,
            "output": _text(reply.get("output")),
            "skipped": [_text(one) for one in skipped] if isinstance(skipped, list) else [],
        }

    def _is_left_out(self, place: int) -> bool:
        """Whether one of the student's own cells does not run: the time or the restarts for these are used up."""
        slow = self._took.get(place, SLOW_SECONDS) >= SLOW_SECONDS
        return (
            (self._left("own") <= 0 and slow)
            or self._left("own") <= -self.limits.submission
            or (self._own_ends() >= MOST_RESTARTS and place not in self._took)
        )

    def _own_ends(self) -> int:
        """How many of the student's own cells ended the process."""
        return len(self._fatal & self.own)

    def _left(self, budget: str) -> float:
        return self.limits.submission - self.spent[budget]

    def _start(self) -> None:
        self._kill()
        self._starts += 1
        self._empty_folder()
        environment = {
            "PATH": os.defpath,
            "HOME": self._folder,
            "TMPDIR": self._folder,
            "LANG": "C.UTF-8",
            "MPLBACKEND": "agg",
            "MPLCONFIGDIR": self._folder,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "NUMBA_DISABLE_JIT": "1",  # what numba compiles it wants to store; small inputs need no compiler
        }
        script = Path(__file__).with_name("student_process.py")
        budget = str(int(START_SECONDS + len(BUDGETS) * self.limits.submission))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", str(script), str(ROOT), self._folder, budget, *self.open_rooms],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            env=environment,
            start_new_session=True,
        )
        self._buffer = b""
        try:
            self.walls = self._receive(Stopwatch(None), START_SECONDS).get("walls", [])
        except StudentError as error:
            raise NotStarted(f"the process for the student's code did not start: it {error}") from None
        if list(self.walls) != list(ALL_WALLS) and self.limits.walls:
            missing = ", ".join(wall for wall in ALL_WALLS if wall not in self.walls)
            self._kill()
            raise NoWalls(
                f"this system does not offer {missing}, so a submission could read your files and the hidden checks, "
                f"or harm other processes. {_way_out(missing)}, or, if you trust every submission, "
                "grade with --without-walls."
            )

    def _empty_folder(self) -> None:
        """What the cells wrote before is gone: they run anew."""
        self._remove_folder()
        os.makedirs(self._folder, 0o700, exist_ok=True)

    def _remove_folder(self) -> None:
        try:
            shutil.rmtree(self._folder, ignore_errors=True)
        except RecursionError:  # folders in folders in folders
            subprocess.run(["rm", "-rf", "--", self._folder], check=False)

    def _ask(self, request: dict[str, Any], budget: str) -> dict[str, Any]:
        """Sends one request; StudentError when the process ends, hangs or talks nonsense, and then it is gone."""
        if self._process is None:
            raise StudentError("ended the process")
        limit = min(self.limits.step, max(self._left(budget), SLOW_SECONDS if budget == "own" else 0.0))
        if limit <= 0:
            self._kill()
            raise StudentError("was not reached: the notebook's time is used up")
        watch = Stopwatch(self._process.pid)
        try:
            self._send(plain.dumps(request), watch, limit)
            return self._receive(watch, limit)
        except (StudentError, plain.NotPlain) as error:
            self.spent[budget] += watch.charged(limit)
            watch.stop()
            self._kill()
            raise StudentError(str(error)) from None
        finally:
            self.spent[budget] += watch.charged(limit)

    def _send(self, line: bytes, watch: Stopwatch, limit: float) -> None:
        """Writes without ever waiting for a process that does not read."""
        pipe = self._pipes[0].fileno()
        os.set_blocking(pipe, False)
        while line:
            while not select.select([], [pipe], [], _TICK)[1]:
                self._check(watch, limit)
            try:
                line = line[os.write(pipe, line[:65536]) :]
            except OSError:
                raise StudentError("ended the process") from None

    def _receive(self, watch: Stopwatch, limit: float) -> dict[str, Any]:
        pipe = self._pipes[1].fileno()
        while b"\n" not in self._buffer:
            if not select.select([pipe], [], [], _TICK)[0]:
                self._check(watch, limit)
                continue
            piece = os.read(pipe, 1 << 16)
            if not piece:
                raise StudentError("ended the process")
            self._buffer += piece
            if len(self._buffer) > plain.MOST_BYTES:
                raise StudentError("answered with far too much data")
            self._check(watch, limit)
        line, self._buffer = self._buffer.split(b"\n", 1)
        return plain.loads(line)

    def _check(self, watch: Stopwatch, limit: float) -> None:
        if watch.is_over(limit):
            raise StudentError(f"took longer than {self.limits.step:.0f} seconds")
        if _is_full(self._folder):
            raise StudentError(f"wrote more than {MOST_FOLDER_BYTES // 10**6} MB, or {MOST_FILES} files")

    @property
    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Into the student's process, and out of it."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise StudentError("ended the process")
        return process.stdin, process.stdout

    def _kill(self) -> None:
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, 9)
        except OSError:
            self._process.kill()
        self._process.wait()
        for pipe in self._pipes:
            try:
                pipe.close()
            except OSError:
                continue
        self._process = None


def _way_out(missing: str) -> str:
    if "user" in missing:
        return "Root may not become another user here: grade as an ordinary user (sudo -u NAME make classroom ...)"
    return "Grade on Linux 6.2 or newer (x86-64 or ARM64), or in the container of exercises/Dockerfile on such a Linux"


def _text(value: Any) -> str:
    """A string from an untrusted reply, printable and short."""
    text = value if type(value) is str else ""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text[:4_000])
