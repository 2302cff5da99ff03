"""A simulated class for trying the classroom out: `python -m exercises.engine.simulate FOLDER --students 30`.

Reference solutions, untouched notebooks, typical wrong answers and hostile notebooks, as files
FOLDER/STUDENT/....ipynb. The tests grade the same notebooks; `expected` says what each kind must get from the automatic
checks.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from course_lib.lessons.shared.grading.replay import checks_name
from exercises.engine import chapters
from exercises.engine.chapters import HERE, Wrong, assignments, module_of

Notebook = dict[str, Any]
FIRST = "in-batch-bias"
SOLUTION = re.compile(r"^ *### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n?", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS\n?", re.DOTALL)
SCRIPT = "<script>stolen()</script> <img src=x onerror=stolen()> [here](javascript:stolen()) $a<b$\n\n<iframe src=x>"
PICTURE = "![no such picture](attachment:missing.png) ![](attachment:../../../etc/passwd)"
FORMULA = (
    r"$\def\a{\a\a}\a$ $\text{<script>stolen()</script>}$ $\href{javascript:stolen()}{x}$ " + "$" + "{" * 1500 + "$"
)
STUB = "    raise NotImplementedError('Write your answer here.')\n"

# Each of these stands in every answer cell of an otherwise untouched notebook, together with the stubs.
HOSTILE: dict[str, str] = {
    "endless-loop": "while True:\n    pass",
    "endless-call": "def {name}(*arguments):\n    while True:\n        pass",
    "endless-sleep": "import time\ntime.sleep(10**6)",
    "exit": "import sys\nsys.exit(0)",
    "os-exit": "import os\nos._exit(0)",
    "crash": "import ctypes\nctypes.string_at(0)",
    "memory": "x = []\nwhile True:\n    x.append(bytearray(10**8))",
    "huge-output": "while True:\n    print('x' * 10**6)",
    "huge-answer": "def {name}(*arguments):\n    return 'x' * 10**8",
    "deep-answer": "def {name}(*arguments):\n    x = []\n    for _ in range(10**5):\n        x = [x]\n    return x",
    "stuffed-replies": """
import json, os
for handle in range(3, 64):
    try:
        for _ in range(100):
            os.write(handle, json.dumps({"ok": True, "value": 0, "walls": [], "passed": True}).encode() + b"\\n")
    except OSError:
        pass
""",
    "silent-replies": """
import os
for handle in range(3, 64):
    try:
        os.close(handle)
    except OSError:
        pass
""",
    "patched-library": """
import builtins, fractions, sys
import course_lib
names = "in_batch geometry gauge norms gramians popularity correction jacobians datasets arrays"
for name in names.split():
    try:
        library = __import__("course_lib." + name, fromlist=["x"])
    except ImportError:
        continue
    for key, thing in list(vars(library).items()):
        if callable(thing):
            setattr(library, key, lambda *a, **k: 0)
for name in ("course_lib.lessons.{module}.checks", "course_lib.lessons.{module}", "exercises.{module}.hidden"):
    sys.modules[name] = sys.modules[__name__]
builtins.abs = builtins.sum = builtins.min = builtins.max = lambda *a, **k: 0
builtins.all = builtins.any = builtins.isinstance = lambda *a, **k: True
builtins.AssertionError = builtins.Exception = type("Quiet", (BaseException,), {})
fractions.Fraction.__eq__ = lambda *a: True
""",
    "patched-nbgrader": """
import sys
for name in list(sys.modules):
    if "plain" in name or "nbgrader" in name or "grading" in name:
        module = sys.modules[name]
        for key in list(vars(module)):
            if callable(getattr(module, key)):
                setattr(module, key, lambda *a, **k: {"ok": True, "value": True, "passed": True})
""",
    "lying-eq": """
class Yes(float):
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __sub__(self, other): return 0.0
    __lt__ = __le__ = __gt__ = __ge__ = __ne__ = __eq__
    __rsub__ = __sub__
    def __reduce__(self): return (exec, ("raise SystemExit",))
def {name}(*arguments): return Yes(1)
""",
    "files": """
import os, pathlib
for place in (pathlib.Path({root!r}), pathlib.Path.home(), pathlib.Path("/tmp"), pathlib.Path("/etc")):
    try:
        for path in place.rglob("*"):
            if path.suffix in (".ipynb", ".py", ".db", ".json"):
                try:
                    path.write_text("spoilt")
                    exec(path.read_text())
                except Exception:
                    pass
    except Exception:
        pass
""",
    "hidden-tests": """
import glob, json, os, subprocess, sys
found = []
for pattern in ({root!r} + "/exercises/**/*.ipynb", {root!r} + "/exercises/**/*.py", "/proc/*/environ", "/proc/*/mem"):
    for path in glob.glob(pattern, recursive=True):
        try:
            found.append(open(path).read())
        except Exception:
            pass
for guess in (
    "exercises/{module}/assignment.ipynb", "exercises/{module}/hidden.py", "exercises/{module}/typical.py",
    "course_lib/lessons/{module}/checks.py", "course_lib/lessons/{module}/proofs.py",
):
    try:
        found.append(open({root!r} + "/" + guess).read())
        for cell in json.loads(found[-1])["cells"]:
            exec("".join(cell["source"]))
    except Exception:
        pass
try:
    from exercises.{module} import hidden
    found.append(vars(hidden))
except ImportError:
    pass
try:
    import inspect
    import course_lib.lessons.{module}.checks as checks
    found.append(inspect.getsource(checks))
except Exception:
    pass
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ClosedRooms"]
for name in [name for name in sys.modules if name.startswith(("course_lib.lessons", "exercises."))]:
    del sys.modules[name]
for name in ("course_lib.lessons.{module}.checks", "course_lib.geometry", "exercises.{module}.hidden"):
    try:
        found.append(vars(__import__(name, fromlist=["x"])))
    except (ImportError, OSError):
        pass
try:
    subprocess.run(["cat", {root!r} + "/exercises/{module}/hidden.py"])
except Exception:
    pass
print(found)
""",
    "fork": """
import os, threading
while True:
    try:
        os.fork()
    except OSError:
        break
os.setsid() if os.getsid(0) != os.getpid() else None
for _ in range(100):
    try:
        threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()
    except RuntimeError:
        break
os.kill(os.getppid(), 9)
""",
    "network": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9', timeout=5)",
    "disk": "n = 0\nwhile True:\n    open(f'{n}', 'wb').write(b'x' * 10**6)\n    n += 1\n    if n == 1500: break",
    "inodes": "import os\nn = 0\nwhile True:\n    os.mkdir(f'{n}')\n    n += 1",
    "kernel-signals": """
import fcntl, os, struct
judge = os.getppid()
for handle in (0, 1, 2, open("x", "w")):
    for step in (
        lambda: fcntl.fcntl(handle, 10, 9),
        lambda: fcntl.fcntl(handle, 8, judge),
        lambda: fcntl.fcntl(handle, 15, struct.pack("ii", 1, judge)),
        lambda: fcntl.ioctl(handle, 0x8901, struct.pack("i", judge)),
        lambda: fcntl.fcntl(handle, 4, 0o20000),
        lambda: fcntl.ioctl(handle, 0x5452, struct.pack("i", 1)),
    ):
        try:
            step()
        except OSError:
            pass
""",
    "priorities": """
import ctypes, os
call, judge = ctypes.CDLL(None).syscall, os.getppid()
zero, least = ctypes.byref(ctypes.c_int(0)), ctypes.create_string_buffer(b"\\x30" + bytes(3) + b"\\x05", 48)
for number, arguments in (
    (141, (0, judge, 19)), (142, (judge, zero)), (144, (judge, 5, zero)), (203, (judge, 1, b"\\x01")),
    (251, (1, judge, 3 << 13)), (314, (judge, least, 0)), (302, (judge, 7, bytes(16), None)), (62, (judge, 9)),
):
    call(number, *arguments)
""",
    "watched-files": """
import ctypes, os
call = ctypes.CDLL(None).syscall
for flags in (0, 4, 8):
    watch = call(300, flags, 0)
    call(301, watch, 0x11, ctypes.c_ulonglong(0x10000 | 0x20000), -100, b"/")
""",
    "root": """
import ctypes, os
call = ctypes.CDLL(None).syscall
for step in (
    lambda: os.setuid(0), lambda: os.setresgid(0, 0, 0), lambda: os.setgroups([0]), lambda: os.chroot("."),
    lambda: os.mknod("device", 0o60666, 0x801), lambda: open("/proc/sys/kernel/hostname", "w").write("spoilt"),
    lambda: open("/dev/mem", "rb"), lambda: open("/etc/shadow"), lambda: open("/proc/1/environ"),
    lambda: os.link("/etc/shadow", "x"), lambda: call(165, b"/", b".", None, 4096, None), lambda: call(272, 0x10000000),
    lambda: call(304, -100, bytes(128), 0), lambda: os.sethostname("spoilt"), lambda: print("as", os.getuid()),
):
    try:
        step()
    except Exception:
        pass
""",
    "recursion": "def {name}(*arguments):\n    return {name}(*arguments)",
    "surrogates": "def {name}(*arguments):\n    return chr(0xD800)\nprint(chr(0xD800))\nraise ValueError(chr(0xD800))",
    "signals": """
import signal, os
for n in range(1, 64):
    try: signal.signal(n, signal.SIG_IGN)
    except Exception: pass
while True: pass
""",
}

# Not a matter of code: what stands in the file. Each takes the notebook and returns the file's content.
FILES: dict[str, Callable[[Notebook], bytes]] = {
    "file-no-json": lambda notebook: b"\x00\xff not a notebook",
    "file-deep-json": lambda notebook: b'{"cells":' + b"[" * 200_000,
    "file-huge": lambda notebook: json.dumps(notebook).encode() + b" " * 21_000_000,
    "file-deleted-cells": lambda notebook: json.dumps({**notebook, "cells": []}).encode(),
    "file-missing-picture": lambda notebook: json.dumps(_with_cell(notebook, "markdown", PICTURE)).encode(),
    "file-endless-own-cell": lambda notebook: json.dumps(_with_cell(notebook, "code", "while True: pass")).encode(),
    "file-formula": lambda notebook: json.dumps(_with_cell(notebook, "markdown", FORMULA)).encode(),
    "file-forged-checks": lambda notebook: json.dumps(_forged(notebook)).encode(),
}


def public_checks(assignment: str = FIRST) -> ModuleType:
    """The public checks of an assignment, which lie with the lesson of its chapter."""
    return importlib.import_module(checks_name(assignment))


def wrong_answers(assignment: str = FIRST) -> dict[str, Wrong]:
    """The typical wrong submissions of an assignment."""
    answers: dict[str, Wrong] = chapters.module(assignment, "typical").WRONG
    return answers


def source(assignment: str = FIRST) -> Notebook:
    path = chapters.notebook_of(assignment)
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def points(assignment: str = FIRST, *, by_hand: bool = False) -> dict[str, float]:
    """grade_id -> points of the cells graded by machine, or by hand."""
    abouts = [cell["metadata"]["nbgrader"] for cell in source(assignment)["cells"]]
    return {about["grade_id"]: about["points"] for about in abouts if about["grade"] and about["solution"] == by_hand}


def expected(assignment: str = FIRST) -> dict[str, float]:
    """kind -> automatic points that it must get."""
    each = points(assignment)
    wrong = {
        kind: sum(each.values()) - sum(each[name] for name in w.lost) for kind, w in wrong_answers(assignment).items()
    }
    hostile_kinds = [f"hostile-{name}" for name in [*HOSTILE, *FILES]]
    return {"reference": sum(each.values()), "empty": 0, **wrong, **dict.fromkeys(hostile_kinds, 0)}


def reference(assignment: str = FIRST) -> Notebook:
    """The source with its solutions, and without its hidden tests."""
    return solved(source(assignment))


def solved(notebook: Notebook) -> Notebook:
    """A copy of a source notebook with its solutions, and without its hidden tests."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        cell["source"] = HIDDEN.sub("", SOLUTION.sub(r"\1", "".join(cell["source"]) + "\n")).rstrip("\n")
    return notebook


def empty(assignment: str = FIRST) -> Notebook:
    """The notebook as a student gets it, nearly: nbgrader's own release differs only in its checksums."""
    notebook = source(assignment)
    for cell in notebook["cells"]:
        stub = STUB if cell["cell_type"] == "code" else "*Write your answer here.*\n"  # no backslash: re would read it
        cell["source"] = HIDDEN.sub("", SOLUTION.sub(stub, "".join(cell["source"]) + "\n")).rstrip("\n")
    return notebook


def wrong(kind: str, assignment: str = FIRST) -> Notebook:
    """The reference with some answers replaced."""
    notebook, answers = reference(assignment), wrong_answers(assignment)[kind].answers
    for cell in notebook["cells"]:
        name = cell["metadata"]["nbgrader"]["grade_id"]
        cell["source"] = answers.get(name, cell["source"]).strip("\n")
    return notebook


def hostile(code: str, assignment: str = FIRST) -> Notebook:
    """An untouched notebook with `code` in every answer cell, and a script in place of the essay."""
    notebook = empty(assignment)
    for cell in notebook["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["solution"] and cell["cell_type"] == "code":
            filled = code.replace("{name}", about["grade_id"]).replace("{root!r}", repr(str(HERE.parent)))
            filled = filled.replace("{module}", module_of(assignment)).replace("{assignment}", assignment)
            cell["source"] += "\n\n" + filled
        elif about["solution"]:
            cell["source"] = SCRIPT
    return notebook


def _with_cell(notebook: Notebook, kind: str, source: str) -> Notebook:
    """A notebook with a cell of the student's own in it."""
    cell = {"cell_type": kind, "metadata": {}, "source": source}
    return {**notebook, "cells": [*notebook["cells"][:2], cell, *notebook["cells"][2:]]}


def _forged(notebook: Notebook) -> Notebook:
    """Checks replaced by `pass`, worth a million points, doubled, with outputs that say 28."""
    cells = json.loads(json.dumps(notebook["cells"]))
    for cell in cells:
        about = cell["metadata"]["nbgrader"]
        if about["grade"]:
            about.update(points=10**6, locked=False, checksum="0")
            cell.update(
                source="28",
                cell_type="code",
                execution_count=1,
                outputs=[
                    {
                        "output_type": "execute_result",
                        "data": {"text/plain": "28"},
                        "metadata": {},
                        "execution_count": 1,
                    }
                ],
            )
    return {**notebook, "cells": [*cells, *cells]}


def content(kind: str, assignment: str = FIRST) -> bytes:
    """The file of one kind of submission."""
    name = kind.removeprefix("hostile-")
    if kind == "reference":
        notebook = reference(assignment)
    elif kind in wrong_answers(assignment):
        notebook = wrong(kind, assignment)
    elif name in HOSTILE:
        notebook = hostile(HOSTILE[name], assignment)
    elif name in FILES:
        return FILES[name](empty(assignment))
    else:
        notebook = empty(assignment)
    return json.dumps(notebook).encode()


def write_class(folder: Path, kinds: list[str], assignment: str = FIRST) -> None:
    """One folder for each submission; the student is named after the kind, numbered where kinds repeat."""
    for number, kind in enumerate(kinds):
        path = folder / f"{kind}-{number:02d}" / f"{assignment}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(kind, assignment))


def kinds_of_a_class(students: int, assignment: str = FIRST) -> list[str]:
    """Two ordinary students and a hostile one in turn, the hostile ones of all kinds in turn."""
    hostile = [kind for kind in expected(assignment) if kind.startswith("hostile-")]
    ordinary = ["reference", *wrong_answers(assignment), "reference", "empty"]
    kinds = []
    for place in range(max(students, 1)):
        group, among = divmod(place, 3)
        kinds.append(hostile[group % len(hostile)] if among == 2 else ordinary[(2 * group + among) % len(ordinary)])
    return kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--students", type=int, default=30, help="how many submissions of each assignment (30)")
    parser.add_argument(
        "--assignment", choices=[*assignments(), "all"], default=FIRST, help=f"{FIRST}, another one, or all"
    )
    arguments = parser.parse_args()
    names = assignments() if arguments.assignment == "all" else [arguments.assignment]
    for name in names:
        write_class(arguments.folder, kinds_of_a_class(arguments.students, name), name)
    print(f"{len(names) * arguments.students} submissions in {arguments.folder}")


if __name__ == "__main__":
    main()
