"""The process that runs a student's code: `python -I -B student_process.py ROOT FOLDER CPU_SECONDS ROOM ...`.

It reads requests from its standard input and writes plain answers to its standard output, one line of JSON each:
    {"cell": source}                 -> {"ok": true, "output": text, "skipped": [text, ...]}, or with "ok": false and an
                                        "error"
    {"call": name, "args": [...]}    -> {"ok": true, "value": plain} or {"ok": false, "error": text}
Nothing in this process is trusted. Whatever a student does here can spoil only the student's own answers.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

_GIVEN = sys.argv[1:] if __name__ == "__main__" else [".", ".", "0"]  # a mere import is given nothing
ROOT, FOLDER, CPU_SECONDS, OPEN_ROOMS = _GIVEN[0], _GIVEN[1], int(_GIVEN[2]), tuple(_GIVEN[3:])
LESSONS = "course_lib.lessons"  # where the public checks lie
LONGEST_TEXT = 4_000
MOST_SKIPPED = 10
CELL = "<ipython-input-"  # how IPython names the file of a cell


class Text(io.TextIOBase):
    """Keeps the beginning of what is printed and forgets the rest, however much it is."""

    def __init__(self) -> None:
        self.kept = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.kept += text[: max(0, LONGEST_TEXT - len(self.kept))]
        return len(text)


class Quiet(types.ModuleType):
    """The public checks print; here nobody reads. Whatever is asked of this module is there, and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        return None


class ClosedRooms(MetaPathFinder, Loader):
    """Says why a room of course_lib cannot be imported here, and gives a Quiet for a lesson and its checks."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == LESSONS or name.startswith(f"{LESSONS}."):
            return ModuleSpec(name, self, is_package=True)
        if name.startswith(("course_lib.", "exercises")):
            open_rooms = ", ".join(OPEN_ROOMS)
            raise ImportError(
                f"{name} is not there while your answers are graded: write the formula yourself. "
                f"Of course_lib you may use {open_rooms}."
            )
        return None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return Quiet(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing: a Quiet is whole as it is made."""


def opened() -> list[types.ModuleType]:
    """The modules of the open rooms, such as "datasets", imported."""
    return [import_module(f"course_lib.{room}") for room in OPEN_ROOMS]


def place_of(module: types.ModuleType) -> str:
    """The file of a module, or the folder of a package."""
    file = module.__file__
    if file is None:
        raise ImportError(f"{module.__name__} is a mere folder, expected a module or a package of course_lib")
    return os.path.dirname(file) if hasattr(module, "__path__") else file


def readable(rooms: Sequence[types.ModuleType]) -> list[str]:
    """What the student's code may read: Python, its packages, and the open rooms of course_lib."""
    python = [os.path.join(sys.base_prefix, "lib"), os.path.join(sys.prefix, "lib"), "/lib", "/lib64", "/usr/lib"]
    random = ["/dev/urandom", "/dev/random"]
    return [*python, "/etc/ld.so.cache", *random, "/usr/share/zoneinfo", *map(place_of, rooms)]


def is_closed(name: str, rooms: Sequence[types.ModuleType]) -> bool:
    """Whether a module of course_lib is neither in an open room nor on the way to one."""
    if not name.startswith("course_lib."):
        return False
    names = [room.__name__ for room in rooms]
    return not any(f"{name}.".startswith(f"{room}.") or room.startswith(f"{name}.") for room in names)


def hide(name: str) -> None:
    """Takes a module out of the places where an import statement would find it."""
    del sys.modules[name]
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        vars(sys.modules[parent]).pop(child, None)


def can_read(path: str) -> bool:
    try:
        with open(path, "rb"):
            return True
    except OSError:
        return False


def prepare() -> tuple[Callable[..., Any], Callable[..., Any], types.ModuleType, types.ModuleType, list[str]]:
    """Imports everything that the walls will later hide, and raises the walls."""
    sys.path.insert(0, ROOT)
    from course_lib.lessons.shared import plain
    from course_lib.lessons.shared.grading import shell, walls

    import_module("numpy")
    rooms = opened()
    for name in [name for name in sys.modules if is_closed(name, rooms)]:  # what an open room imported for itself
        hide(name)
    sys.meta_path.insert(0, ClosedRooms())
    raised = walls.raise_walls(readable=readable(rooms), writable=FOLDER, cpu_seconds=CPU_SECONDS)
    if "landlock" in raised and can_read(os.path.join(ROOT, "course_lib", "lessons", "shared", "grading", "walls.py")):
        raised.remove("landlock")  # the course lies inside a folder of Python's own: the wall has a hole
    return plain.loads, plain.dumps, plain, shell, raised


def explain(error: BaseException) -> str:
    """The last frames and the message; never longer than LONGEST_TEXT."""
    try:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(CELL)]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        told = error.msg if isinstance(error, SyntaxError) else error
        where = "" if line is None else f" (line {line} of your cell)"
        return f"{type(error).__name__}: {told}{where}"[:LONGEST_TEXT]
    except BaseException:  # an exception that cannot be printed
        return "an error that cannot be shown"


def answer(request: dict[str, Any], run: Callable[[str], Any], shell: Any, plain: types.ModuleType) -> dict[str, Any]:
    """Runs a cell, or calls a function."""
    printed = Text()
    sys.stdout = sys.stderr = printed
    shell.skipped.clear()
    try:
        if "cell" in request:
            error = run(request["cell"])
            told = {"output": printed.kept, "skipped": [*map(str, shell.skipped)][:MOST_SKIPPED]}
            return {"ok": error is None, "error": None if error is None else explain(error), **told}
        if request["call"] not in shell.user_ns:
            return {"ok": False, "error": f"NameError: {request['call']} is not defined"}
        with shell.builtin_trap:  # display and get_ipython, as in a cell
            value = shell.user_ns[request["call"]](*plain.from_plain(request["args"]))
        return {"ok": True, "value": plain.to_plain(value)}
    except BaseException as error:  # SystemExit and KeyboardInterrupt too
        return {"ok": False, "error": explain(error), "output": printed.kept}


def main() -> None:
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what is printed past Python goes nowhere
        os.dup2(nothing, stream)
    loop = asyncio.new_event_loop()  # has a pair of sockets, which the walls would refuse
    asyncio.set_event_loop(loop)
    loads, dumps, plain, shells, raised = prepare()
    replies.write(dumps({"walls": raised}))
    replies.flush()
    sys.path.insert(0, FOLDER)  # a kernel finds the modules that lie beside the notebook
    shell = shells.start(FOLDER)
    for line in requests:
        reply = answer(loads(line), partial(shells.run, shell, loop), shell, plain)
        replies.write(dumps(reply))
        replies.flush()


if __name__ == "__main__":
    main()
