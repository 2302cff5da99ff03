"""Opens the pages on which a person gives marks: `python -m exercises.engine.by_hand` (`make grade-by-hand`).

It starts a Jupyter server on this machine whose root is the classroom's folder, which formgrader asks for, and prints
what waits. Marks go into nbgrader's gradebook as they are typed; `classroom feedback` then renews pages and tables.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

try:
    if find_spec("nbgrader") is None:  # it is imported where it is asked
        raise ModuleNotFoundError(name="nbgrader")
    from exercises.engine.chapters import HERE
    from exercises.engine.office.room import Failed, Room, settings, usable
except ImportError as error:
    sys.exit(f"{error.name} is missing. `make grade-by-hand` installs it, or: pip install '.[classroom]'")


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


def command(course: Path, assignment: str | None, extra: list[str]) -> list[str]:
    """The server: at the classroom's folder, with nbgrader's pages, and without Jupyter's own ones in the way.

    It opens an assignment's list of submissions, or without one that of all assignments.
    """
    start = "/formgrader/gradebook" + (f"/{quote(assignment)}" * 2 if assignment else "")
    server = [sys.executable, "-m", "jupyterlab", "--log-level=WARN"]  # the address is shown all the same
    server += [f"--ServerApp.root_dir={course}", f"--LabApp.default_url={start}"]
    return [*server, "--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}", *extra]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--course", type=Path, default=HERE, help="the classroom's folder (this one)")
    parser.add_argument("--assignment", help="open the list of this assignment's submissions")
    given, extra = parser.parse_known_args(arguments)
    try:
        course = usable(given.course.resolve())
    except Failed as error:
        sys.exit(f"by_hand: {error}")
    waiting = queue(course)
    if not waiting:
        sys.exit(f"by_hand: nothing was graded in {course} yet: run `make classroom SUBMISSIONS=FOLDER` first")
    print(
        f"Submissions to grade by hand: {described(waiting)}. Marks are kept as you type; Ctrl+C ends it.", flush=True
    )
    first = given.assignment or next((name for name, count in waiting.items() if count), None)
    settings(course)
    os.chdir(course)  # where nbgrader_config.py lies
    started = command(course, first, extra)
    os.execv(started[0], started)


if __name__ == "__main__":
    main()
