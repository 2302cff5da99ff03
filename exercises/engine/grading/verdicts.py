"""Verdicts on disk: made in a process of their own, kept until the submission or the grading changes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from course_lib.lessons.shared.grading.sandbox import ROOT, USUAL, Limits, NoWalls

from .judge import fingerprint


def stored(path: Path, source: Path, submitted: Path) -> dict[str, Any] | None:
    """The verdict at `path`, unless something changed since, or it is not whole."""
    try:
        verdict = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return verdict if verdict.get("fingerprint") == fingerprint(source, submitted) else None


ATTEMPTS = 2
JUDGE_SECONDS = 30
"""So many times the seconds of a submission by the clock, and a judge is ended from outside; its sandbox stops far
earlier, even on a busy machine."""


class NotJudged(RuntimeError):
    """A judge came to no verdict, twice: the machine's fault, or that of an attack. No marks follow from it."""


def verdict_on(path: Path, source: Path, submitted: Path, limits: Limits = USUAL) -> dict[str, Any]:
    """The stored verdict, or a new one from a judge in a process of its own, which is then stored."""
    last, found = "", stored(path, source, submitted)
    for _ in range(ATTEMPTS):
        if found is not None:
            return found
        last = _judged(path, source, submitted, limits)
        if last.startswith("Not graded: "):
            raise NoWalls(last.removeprefix("Not graded: "))
        found = stored(path, source, submitted)
    if found is not None:
        return found
    raise NotJudged(f"could not be judged: {last[:300] or 'the judge ended without a word'}; run grade again")


def _judged(path: Path, source: Path, submitted: Path, limits: Limits) -> str:
    """Lets a judge write its verdict to `path`; returns the last line of what it complained about."""
    command = [sys.executable, "-m", "exercises.engine.grading.judge", str(source), str(submitted), str(path)]
    command += [f"--step-seconds={limits.step}", f"--submission-seconds={limits.submission}"]
    command += [] if limits.walls else ["--without-walls"]
    most = JUDGE_SECONDS * limits.submission
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "NUMBA_DISABLE_JIT": "1",
    }
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        _, errors = process.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"the judge took longer than {most:.0f} seconds"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return errors.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
