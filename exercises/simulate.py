"""A simulated class for trying the classroom out: `python exercises/simulate.py FOLDER --students 30`.

Reference solutions, untouched notebooks, typical wrong answers and hostile notebooks, as files FOLDER/STUDENT/....ipynb.
The tests grade the same notebooks; `EXPECTED` says what each kind must get from the automatic checks.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "source" / "in-batch-bias" / "in-batch-bias.ipynb"
SOLUTION = re.compile(r"^ *### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n?", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS\n?", re.DOTALL)
SCRIPT = "<script>stolen()</script> <img src=x onerror=stolen()> [here](javascript:stolen()) $a<b$\n\n<iframe src=x>"
STUB = "    raise NotImplementedError('Write your answer here.')\n"

# wrong[kind][grade_id] = the whole answer cell
WRONG: dict[str, dict[str, str]] = {
    "wrong-own-negative": {  # takes every positive for its own negative: rho pop instead of rho (pop - 1)
        "negative_weight": """
def negative_weight(labels, i, j, batch_size):
    rows, cols = sum(labels[i]), sum(row[j] for row in labels)
    return Fraction(batch_size - 1, sum(map(sum, labels)) - 1) * rows * cols
""",
        "best_score": """
def best_score(pop, omega, batch_size, n_positives):
    return 1 / (1 + Fraction(omega) * Fraction(batch_size - 1, n_positives - 1) * pop)
""",
    },
    "wrong-with-replacement": {  # takes s/M for rho, everywhere
        "negative_weight": """
def negative_weight(labels, i, j, batch_size):
    rows, cols = sum(labels[i]), sum(row[j] for row in labels)
    return Fraction(batch_size, sum(map(sum, labels))) * (rows * cols - labels[i][j])
""",
        "best_score": """
def best_score(pop, omega, batch_size, n_positives):
    return 1 / (1 + Fraction(omega) * Fraction(batch_size, n_positives) * (pop - 1))
""",
        "share_pushed_down": """
def share_pushed_down(users, items, batch_size):
    pop = np.bincount(users)[users] * np.bincount(items)[items]
    return float(np.mean(pop - 1 > len(users) / batch_size))
""",
    },
    "wrong-diagonal": {  # forgets the diagonal in task 4, has the sign of the gap wrong, counts ties as negative
        "counterexample": """
def counterexample():
    return [[1, 1, 0], [0, 0, 1]], 2, (0, 2), -1
""",
        "shard_weights": """
def shard_weights(row_counts, col_counts, n_positives, shape, n_devices):
    h = len(row_counts)
    scale = Fraction(n_positives, shape[0] * shape[1] * h) * Fraction(n_positives - 1, h - 1)
    return [[scale / (r * c) for c in col_counts] for r in row_counts]
""",
        "share_pushed_down": """
def share_pushed_down(users, items, batch_size):
    pop = np.bincount(users)[users] * np.bincount(items)[items]
    return float(np.mean((pop - 1) * (batch_size - 1) >= len(users) - 1))
""",
    },
}

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
    "silent-replies": "import os\nfor handle in range(3, 64):\n    try:\n        os.close(handle)\n    except OSError:\n        pass",
    "patched-library": """
import builtins, fractions, sys
import course_lib
try:
    import course_lib.in_batch as library
    library.expected_weights = library.batch_weights = lambda *a, **k: (0, 0)
except ImportError:
    pass
sys.modules["course_lib.checks"] = sys.modules["exercises.hidden.in_batch_bias"] = sys.modules[__name__]
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
for guess in ("exercises/source/in-batch-bias/in-batch-bias.ipynb", "exercises/hidden/in_batch_bias.py"):
    try:
        found.append(open({root!r} + "/" + guess).read())
        for cell in json.loads(found[-1])["cells"]:
            exec("".join(cell["source"]))
    except Exception:
        pass
try:
    from exercises.hidden import in_batch_bias
    found.append(vars(in_batch_bias))
except ImportError:
    pass
try:
    subprocess.run(["cat", {root!r} + "/exercises/hidden/in_batch_bias.py"])
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
    "disk": "n = 0\nwhile True:\n    open(f'{n}', 'wb').write(b'x' * 10**6)\n    n += 1\n    if n == 200: break",
    "recursion": "def {name}(*arguments):\n    return {name}(*arguments)",
    "surrogates": "def {name}(*arguments):\n    return chr(0xD800)\nprint(chr(0xD800))\nraise ValueError(chr(0xD800))",
    "signals": "import signal, os\nfor n in range(1, 64):\n    try: signal.signal(n, signal.SIG_IGN)\n    except Exception: pass\nwhile True: pass",
}  # fmt: skip

# Not a matter of code: what stands in the file. Each takes the notebook and returns the file's content.
FILES: dict[str, Callable[[dict], bytes]] = {
    "file-no-json": lambda notebook: b"\x00\xff not a notebook",
    "file-deep-json": lambda notebook: b'{"cells":' + b"[" * 200_000,
    "file-huge": lambda notebook: json.dumps(notebook).encode() + b" " * 21_000_000,
    "file-deleted-cells": lambda notebook: json.dumps({**notebook, "cells": []}).encode(),
    "file-forged-checks": lambda notebook: json.dumps(_forged(notebook)).encode(),
}

# kind -> automatic points (of 28) that it must get
EXPECTED: dict[str, float] = {
    "reference": 28, "empty": 0, "wrong-own-negative": 21, "wrong-with-replacement": 14, "wrong-diagonal": 19,
    **dict.fromkeys((f"hostile-{name}" for name in [*HOSTILE, *FILES]), 0),
}  # fmt: skip


def reference() -> dict:
    """The source with its solutions, and without its hidden tests."""
    notebook = json.loads(SOURCE.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = HIDDEN.sub("", SOLUTION.sub(r"\1", "".join(cell["source"]) + "\n")).rstrip("\n")
    return notebook


def empty() -> dict:
    """The notebook as a student gets it, nearly: nbgrader's own release differs only in its checksums."""
    notebook = json.loads(SOURCE.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        stub = STUB if cell["cell_type"] == "code" else "*Write your answer here.*\n"
        cell["source"] = HIDDEN.sub("", SOLUTION.sub(lambda _, stub=stub: stub, "".join(cell["source"]) + "\n")).rstrip("\n")
    return notebook


def wrong(kind: str) -> dict:
    """The reference with some answers replaced."""
    notebook, answers = reference(), WRONG[kind]
    for cell in notebook["cells"]:
        name = cell["metadata"]["nbgrader"]["grade_id"]
        cell["source"] = answers.get(name, cell["source"]).strip("\n")
    return notebook


def hostile(code: str) -> dict:
    """An untouched notebook with `code` in every answer cell, and a script in place of the essay."""
    notebook = empty()
    for cell in notebook["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["solution"] and cell["cell_type"] == "code":
            filled = code.replace("{name}", about["grade_id"]).replace("{root!r}", repr(str(HERE.parent)))
            cell["source"] += "\n\n" + filled
        elif about["solution"]:
            cell["source"] = SCRIPT
    return notebook


def _forged(notebook: dict) -> dict:
    """Checks replaced by `pass`, worth a million points, doubled, with outputs that say 28."""
    cells = json.loads(json.dumps(notebook["cells"]))
    for cell in cells:
        about = cell["metadata"]["nbgrader"]
        if about["grade"]:
            about.update(points=10**6, locked=False, checksum="0")
            cell.update(source="28", cell_type="code", execution_count=1, outputs=[
                {"output_type": "execute_result", "data": {"text/plain": "28"}, "metadata": {}, "execution_count": 1}])  # fmt: skip
    return {**notebook, "cells": [*cells, *cells]}


def content(kind: str) -> bytes:
    """The file of one kind of submission."""
    name = kind.removeprefix("hostile-")
    if kind == "reference":
        notebook = reference()
    elif kind in WRONG:
        notebook = wrong(kind)
    elif name in HOSTILE:
        notebook = hostile(HOSTILE[name])
    elif name in FILES:
        return FILES[name](empty())
    else:
        notebook = empty()
    return json.dumps(notebook).encode()


def write_class(folder: Path, kinds: list[str]) -> None:
    """One folder for each submission; the student is named after the kind, numbered where kinds repeat."""
    for number, kind in enumerate(kinds):
        path = folder / f"{kind}-{number:02d}" / SOURCE.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(kind))


def kinds_of_a_class(students: int) -> list[str]:
    """Every kind at least once where there is room, and the rest ordinary students."""
    kinds = list(EXPECTED)
    ordinary = ["reference", *WRONG, "reference", "empty"]
    while len(kinds) < students:
        kinds.append(ordinary[len(kinds) % len(ordinary)])
    return kinds[: max(students, 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--students", type=int, default=30)
    arguments = parser.parse_args()
    kinds = kinds_of_a_class(arguments.students)
    write_class(arguments.folder, kinds)
    print(f"{len(kinds)} submissions in {arguments.folder}")


if __name__ == "__main__":
    main()
