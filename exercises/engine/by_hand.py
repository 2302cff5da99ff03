"""The pages on which a person gives marks: `make grade-by-hand`, or the step `by-hand` of the classroom.

A Jupyter server on this machine, whose root is the classroom's folder, which formgrader asks for. Marks go into
nbgrader's gradebook as they are typed; `feedback` then renews pages and tables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from exercises.engine.office.room import Room
from exercises.engine.office.texts import Failed


def queue(course: Path) -> dict[str, int]:
    """assignment -> how many of the submissions that count a person must look at, where anything was graded."""
    if not (course / "gradebook.db").exists():
        return {}
    with Room(course, "").gradebook() as book:
        every = {one.name: book.notebook_submissions(one.name, one.name) for one in book.assignments}
        return {name: sum(bool(one.needs_manual_grade) for one in every[name]) for name in sorted(every) if every[name]}


def described(waiting: dict[str, int]) -> str:
    """The queue in a line."""
    return ", ".join(f"{name} {count}" for name, count in waiting.items() if count) or "nothing waits"


def serve(course: Path, assignment: str | None, options: Iterable[str] = ()) -> None:
    """Prints what waits, and becomes the server: with nbgrader's pages, and without Jupyter's own ones in the way.

    It opens the list of an assignment's submissions: of the one that is named, else of the first that waits.
    """
    waiting = queue(course)
    if not waiting:
        raise Failed(f"nothing was graded in {course} yet: run `make classroom SUBMISSIONS=FOLDER` first")
    told = f"Submissions to grade by hand: {described(waiting)}. Marks are kept as you type; Ctrl+C ends it."
    print(told, flush=True)
    first = assignment or next((name for name, count in waiting.items() if count), None)
    start = "/formgrader/gradebook" + (f"/{quote(first)}" * 2 if first else "")
    server = [sys.executable, "-m", "jupyterlab", "--log-level=WARN"]  # the address is shown all the same
    server += [f"--ServerApp.root_dir={course}", f"--LabApp.default_url={start}"]
    server += ["--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}", *options]
    os.chdir(course)  # where nbgrader_config.py lies
    os.execv(server[0], server)
