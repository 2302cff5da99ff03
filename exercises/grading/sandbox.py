"""Runs a student's cells in a process behind walls and asks it for plain values (the trusted side)."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from . import plain
from .notebooks import OPEN_ROOMS

ROOT = Path(__file__).resolve().parents[2]
STEP_SECONDS = float(os.environ.get("COURSE_GRADE_STEP_SECONDS", "10"))  # one cell, or one call
START_SECONDS = 30.0  # the process's own imports; no student code runs yet
SUBMISSION_SECONDS = float(
    os.environ.get("COURSE_GRADE_SUBMISSION_SECONDS", "40")
)  # all cells and all calls of one submission together
MOST_RESTARTS = 8
ALL_WALLS = ("limits", "landlock", "seccomp")
WITHOUT_WALLS = "COURSE_GRADE_WITHOUT_WALLS"


class StudentError(Exception):
    """The student's code raised, stopped, took too long or answered with something that is no plain value."""


class NoWalls(RuntimeError):
    """This system cannot keep a student's code away from the rest of the machine."""


class Sandbox:
    """A student's notebook, cell after cell, in a process of its own; use it in a `with` block.

    A cell that ends or hangs the process costs itself only: the process starts again without that cell, as long as the
    time of the submission lasts. `open_rooms` are the rooms of course_lib that the student's code may use.
    """

    def __init__(self, cells: list[str], open_rooms: Iterable[str] = OPEN_ROOMS) -> None:
        self.cells = cells
        self.open_rooms = tuple(open_rooms)
        self.results: list[dict[str, Any]] = [{} for _ in cells]
        self.walls: list[str] = []
        self.seconds = 0.0
        self._fatal: set[int] = set()
        self._dead_calls: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._starts = 0

    def __enter__(self) -> Sandbox:
        self._folder = tempfile.mkdtemp(prefix="student-")
        try:
            self._run_cells()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        try:
            shutil.rmtree(self._folder, ignore_errors=True)
        except RecursionError:  # folders in folders in folders
            subprocess.run(["rm", "-rf", "--", self._folder], check=False)

    def call(self, name: str, *args: Any) -> Any:
        """What the student's function `name` returns for `args`, as a plain value; StudentError where it fails."""
        if name in self._dead_calls:
            raise StudentError(self._dead_calls[name])
        if self._process is None:
            self._run_cells()
        if self._process is None:
            raise StudentError(f"{name} was not reached: the notebook's time is used up")
        try:
            reply = self._ask({"call": name, "args": plain.to_plain(list(args))})
        except StudentError as error:
            self._dead_calls[name] = f"{name} {error}"
            raise StudentError(self._dead_calls[name]) from None
        if reply.get("ok") is not True:
            raise StudentError(f"{name} raised {_text(reply.get('error'))}")
        try:
            return plain.from_plain(reply.get("value"))
        except plain.NotPlain as error:
            raise StudentError(f"{name} returned something that cannot be read: {error}") from None

    def _run_cells(self) -> None:
        """Starts the process and runs every cell that has not ended or hung it before."""
        while self._starts < MOST_RESTARTS and self.seconds < SUBMISSION_SECONDS:
            self._start()
            for place, source in enumerate(self.cells):
                if place in self._fatal:
                    continue
                try:
                    reply = self._ask({"cell": source})
                except StudentError as error:
                    self._fatal.add(place)
                    self.results[place] = {"error": f"This cell {error}", "output": ""}
                    break
                error_text = None if reply.get("ok") is True else _text(reply.get("error"))
                self.results[place] = {"error": error_text, "output": _text(reply.get("output"))}
            else:
                return

    def _start(self) -> None:
        self._kill()
        self._starts += 1
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
        budget = str(int(START_SECONDS + SUBMISSION_SECONDS))
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
        self.walls = self._receive(time.monotonic() + START_SECONDS).get("walls", [])
        if list(self.walls) != list(ALL_WALLS) and os.environ.get(WITHOUT_WALLS) != "1":
            missing = ", ".join(wall for wall in ALL_WALLS if wall not in self.walls)
            self._kill()
            raise NoWalls(
                f"this system does not offer {missing}, so a submission could read your files and the hidden checks. "
                "Grade on Linux 6.2 or newer (x86-64 or ARM64), or, if you trust every submission, set "
                f"{WITHOUT_WALLS}=1."
            )

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends one request; StudentError when the process ends, hangs or talks nonsense, and then it is gone."""
        left = SUBMISSION_SECONDS - self.seconds
        if left <= 0:
            self._kill()
            raise StudentError("was not reached: the notebook's time is used up")
        began = time.monotonic()
        try:
            self._send(plain.dumps(request), began + min(STEP_SECONDS, left))
            return self._receive(began + min(STEP_SECONDS, left))
        except (StudentError, plain.NotPlain) as error:
            self._kill()
            raise StudentError(str(error)) from None
        finally:
            self.seconds += time.monotonic() - began

    def _send(self, line: bytes, deadline: float) -> None:
        """Writes without ever waiting for a process that does not read."""
        pipe = self._pipes[0].fileno()
        os.set_blocking(pipe, False)
        while line:
            if not select.select([], [pipe], [], max(0.0, deadline - time.monotonic()))[1]:
                raise StudentError(f"took longer than {STEP_SECONDS:.0f} seconds")
            try:
                line = line[os.write(pipe, line[:65536]) :]
            except OSError:
                raise StudentError("ended the process") from None

    def _receive(self, deadline: float) -> dict[str, Any]:
        pipe = self._pipes[1].fileno()
        while b"\n" not in self._buffer:
            if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise StudentError(f"took longer than {STEP_SECONDS:.0f} seconds")
            piece = os.read(pipe, 1 << 16)
            if not piece:
                raise StudentError("ended the process")
            self._buffer += piece
            if len(self._buffer) > plain.MOST_BYTES:
                raise StudentError("answered with far too much data")
        line, self._buffer = self._buffer.split(b"\n", 1)
        return plain.loads(line)

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


def _text(value: Any) -> str:
    """A string from an untrusted reply, printable and short."""
    text = value if type(value) is str else ""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text[:4_000])
