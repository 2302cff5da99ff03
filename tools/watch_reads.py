"""Imported by the kernel of a notebook that is executed for the cache: notes every file of the checkout that it reads.

The file that ``COURSE_READS`` names gets one path in each line, relative to the checkout, when it is first read, and at
the end the kernel's seconds of processor time.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
READS_VARIABLE = "COURSE_READS"
PROCESSOR = "processor seconds: "
WATCHED = ("course_lib", "book")  # not .venv, _build and .git, which lie in the checkout too
WRITING = os.O_WRONLY | os.O_RDWR


def shown(path: str) -> str | None:
    """A path as it is noted: relative to the checkout, the source for a compiled module; None for what is not noted."""
    full = os.path.abspath(path)
    if full.endswith(".pyc"):
        full = source_from_cache(full)
    inside = os.path.relpath(full, ROOT)
    parts = Path(inside).parts
    return inside if parts and parts[0] in WATCHED and "__pycache__" not in parts else None


def watch(target: Path) -> None:
    """From now on note in ``target`` what this process reads."""
    noted: set[str] = set()
    stream = target.open("a", buffering=1, encoding="utf-8")

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path, mode, flags = arguments
        if set(mode or "r") & set("wax+") or (flags or 0) & WRITING or stream.closed:
            return
        try:
            inside = shown(os.fsdecode(path))
        except ValueError:  # another drive, or a compiled file with no place of a source
            return
        if inside is not None and inside not in noted:
            noted.add(inside)
            stream.write(f"{inside}\n")

    sys.addaudithook(note)
    atexit.register(lambda: stream.write(f"{PROCESSOR}{time.process_time():.2f}\n"))


if READS_VARIABLE in os.environ:
    watch(Path(os.environ[READS_VARIABLE]))
