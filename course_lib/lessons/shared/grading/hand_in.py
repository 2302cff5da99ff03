"""The last cell of an assignment: the saved notebook, replayed as the grader will, before it is handed in.

`python -m course_lib.lessons.shared.grading.hand_in NAME < NOTEBOOK` replays one in a process of its own and prints the
verdict as JSON; NAME is the assignment where the notebook does not carry its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[4]
MOST_SECONDS = 1_200  # by the clock: what a notebook may use of the processor is far less
NEEDED = ("IPython", "nbformat")


def hand_in(file: str | Path) -> None:
    """Replay a saved notebook by the grader's rules, in a fresh process, and print what it would find.

    Parameters
    ----------
    file : str or Path
        The notebook, such as "my-topic.ipynb", in the folder of the kernel. On Colab: the one on the screen.

    Raises
    ------
    TypeError
        For what is no name of a file.
    FileNotFoundError
        Where there is no such file; the message names the notebooks that lie there.
    ModuleNotFoundError
        Without nbformat or IPython.
    RuntimeError
        Where the replay itself came to no end.

    Notes
    -----
    Printed are: work that is not in the saved file, each task with its public checks, what did not run and why, and the
    receipt: a checksum of all that was written, which the class's table of files has, too.
    """
    for package in NEEDED:
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"hand_in needs {package}: run `%pip install {package}` first", name=package)
    if not isinstance(file, str | Path):
        raise TypeError(f"file is {file!r}; expected the name of the saved notebook, such as 'my-topic.ipynb'")
    content, when = _saved(Path(file))
    found = _replayed(content, Path(file).stem)
    print("\n".join([f"{Path(file).name}, {when}", *_unsaved(found["names"], found["sources"]), *_report(found)]))


def _saved(path: Path) -> tuple[bytes, str]:
    """The notebook's bytes, and when they were saved."""
    if path.is_file():
        return (
            path.read_bytes(),
            f"as it was saved at {time.strftime('%H:%M:%S', time.localtime(path.stat().st_mtime))}",
        )
    if "google.colab" in sys.modules:
        shown = sys.modules["google.colab"]._message.blocking_request("get_ipynb", timeout_sec=60)
        return json.dumps(shown["ipynb"]).encode(), "as it is on the screen"
    here = sorted(one.name for one in path.absolute().parent.glob("*.ipynb"))
    raise FileNotFoundError(
        f"{path} is not in {path.absolute().parent}; expected the name under which this notebook is saved: "
        f"{', '.join(here) or 'no notebook lies there'}"
    )


def _replayed(content: bytes, name: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", __name__, name],
        input=content,
        capture_output=True,
        env=environment,
        timeout=MOST_SECONDS,
        check=False,
    )
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1].rpartition("Unreadable: ")[2]
        told = told or "the process ended without a word"
        raise RuntimeError(f"{name}.ipynb could not be replayed: {told}; expected an assignment as it was saved")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _unsaved(names: list[str], sources: list[str]) -> Iterator[str]:
    """A line for each answer that ran last in another form than the saved one."""
    from IPython import get_ipython

    from .reading import defined

    shell: Any = get_ipython()
    ran = shell.history_manager.input_hist_raw if shell else []
    kept = {source.strip() for source in sources}
    for name in names:
        last = next((cell.strip() for cell in reversed(ran) if name in defined(cell)), None)
        if last is not None and last not in kept:
            yield (
                f"  NOT SAVED: the `{name}` that ran last is not in the file. Save the notebook (Ctrl+S) and run this "
                "cell again. If you changed it since and did not run it, run it first."
            )


def _report(found: dict[str, Any]) -> Iterator[str]:
    """What stands below the first line."""
    if found["walls"] is None:
        yield f"  Not replayed: {found['why']}"
    else:
        walls = "" if found["walls"] else ", unprotected (the grader's computer keeps your code away from its files)"
        yield f"  Replayed from top to bottom in a fresh Python by the grader's rules{walls}:"
    for title, points, line in found["tasks"]:
        yield f"    {title + ':':<24}{line} ({points:g} point{'s' * (points != 1)})"
    if found["look_at"]:
        yield "  What did not run as it may have run for you:"
        yield from (f"    {line}" for line in found["look_at"])
    texts = ", and a person reads your texts" if found["texts"] else ""
    yield f"  Public checks only: points are given for other inputs{texts}."
    if found["grader"] not in (None, found["here"]):
        yield f"  You have {found['here']}; it will be graded with {found['grader']}."
    yield f"Receipt {found['receipt']} · {time.strftime('%Y-%m-%d %H:%M %z')} · {found['here']}"


def replayed(content: bytes, name: str) -> dict[str, Any]:
    """What `hand_in` prints of a notebook; NAME where the notebook does not say which assignment it is."""
    from . import notebooks
    from .looking import graded_with
    from .replay import replay
    from .sandbox import ALL_WALLS, Limits

    pristine = notebooks.handed_out(content)
    cells = notebooks.handed_in(content)
    about, rebuilt = pristine.metadata.get("course", {}), notebooks.rebuilt(pristine, cells)
    found: dict[str, Any] = {
        "receipt": notebooks.receipt(rebuilt),
        "grader": about.get("graded_with"),
        "here": graded_with(),
        "names": sorted(notebooks.answer_names(pristine)),
        "sources": [cell.source for cell in cells],
        "texts": any(notebooks.grading(one).get("grade") and not notebooks.is_test(one) for one in rebuilt.cells),
    }
    if os.name == "nt":
        why = "Windows lacks what the replay needs. Open the notebook on Colab or Binder, or in WSL"
        return {**found, "walls": None, "why": why, "tasks": [], "look_at": []}
    verdict = replay(about.get("assignment", name), pristine, cells, Limits(walls=False))
    return {
        **found,
        "walls": list(verdict["walls"]) == list(ALL_WALLS),
        "tasks": list(_tasks(rebuilt, verdict["checks"])),
        "look_at": [line.replace("the student's own", "your own") for line in verdict["look_at"]],
        "checks": verdict["checks"],
    }


def _tasks(notebook: Any, checks: dict[str, dict[str, Any]]) -> Iterator[tuple[str, float, str]]:
    """For each graded cell: what it is called, its points, and how it stands."""
    from . import notebooks

    titles = notebooks.titles(notebook)
    for cell in notebook.cells:
        about = notebooks.grading(cell)
        if not about.get("grade"):
            continue
        name = about["grade_id"]
        if notebooks.is_test(cell):
            line = "passed" if checks[name]["passed"] else f"NOT passed: {checks[name]['message']}"
        elif notebooks.is_stub(cell.source):
            line = "nothing is written here"
        else:
            line = f"{len(cell.source.split())} words, for a person to read"
        yield titles[name], float(about["points"]), line


if __name__ == "__main__":
    print(json.dumps(replayed(sys.stdin.buffer.read(), sys.argv[1])))
