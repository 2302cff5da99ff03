"""A student's cells run as IPython runs them, each check at its place, and what did not run is named."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sympy

from course_lib.lessons.shared import plain
from course_lib.lessons.shared.grading import notebooks, reading, sandbox
from course_lib.lessons.shared.grading.looking import graded_with
from course_lib.lessons.shared.grading.sandbox import Sandbox
from exercises.engine import chapters, simulate
from exercises.engine.grading import judge

pytestmark = pytest.mark.seconds

SOURCE = chapters.file(simulate.FIRST, "assignment.ipynb")
Cells = list[dict[str, Any]]

AS_IN_A_KERNEL = {
    "a line that begins with a percent sign": ("%load_ext autoreload\nx = (\n    17\n    % 5\n)", 2),
    "a line that begins with an exclamation mark": ("%matplotlib inline\nx = (\n    1\n    != 2\n)", True),
    "a text with such lines": ('x = """\n%time\n!ls\n"""', "\n%time\n!ls\n"),
    "help": ("sum?\nx = 1", 1),
    "help before the name": ("?sum\nx = 1", 1),
    "source of a function": ("import fractions\nfractions.Fraction??\nx = 1", 1),
    "a shell line": ("!ls -l\nx = 1", 1),
    "a shell's output": ("lines = !pwd\nx = lines[0]", ""),
    "a shell's output as one": ("x = !echo {1 + 1}\nx = x.n", ""),
    "an installation": ("%pip install --quiet something\n!pip install more\nx = 1", 1),
    "a magic of an extension": ("%load_ext line_profiler\n%lprun -f sum sum([1])\nx = 1", 1),
    "a timed line": ("%time x = 5", 5),
    "a timing": ("t = %timeit -o -n 1000000 -r 50 sum([1])\nx = t.loops", 1),
    "a timed cell": ("%%time\nx = 6", 6),
    "a captured cell": ("%%capture out\nprint('hello')\nx = 7", 7),
    "a file that the notebook writes": ("%%writefile beside.py\nvalue = 8", None),
    "await": ("import asyncio\nx = await asyncio.sleep(0, 9)", 9),
    "an asynchronous loop": (
        "async def count():\n    for n in range(3):\n        yield n\nx = [n async for n in count()]",
        [0, 1, 2],
    ),
    "the running loop": ("import asyncio\nx = asyncio.get_running_loop().is_running()", True),
    "the shell itself": ("get_ipython().run_line_magic('matplotlib', 'inline')\nx = 10", 10),
    "display": ("display([1])\nx = 11", 11),
    "a value at the end": ("x = 12\nx", 12),
    "no value at the end": ("x = 13\nx;", 13),
    "a page break": ("\x0cx = 14", 14),
    "an indented cell": ("    x = 15", 15),
    "a doctest's prompts": (">>> x = 16", 16),
    "plots": ("%pylab inline\nx = int(np.arange(3).sum())\nplot([1]); show()", 3),
    "an environment variable": ("%env WHERE=here\nimport os\nx = os.environ['WHERE']", "here"),
}


@pytest.fixture(scope="module")
def kernel() -> Any:
    """Every cell, one after the other, in one process; and the value of x after each."""
    values = {}
    with Sandbox(["def now(): return x"]) as box:
        for name, (cell, _) in AS_IN_A_KERNEL.items():
            error = box.run(cell)["error"]
            values[name] = error or box.call("now")
            box.run("x = None")
        box.run("import beside\nx = beside.value")
        values["the file that it wrote"] = box.call("now")
    return values


@pytest.mark.parametrize("name", AS_IN_A_KERNEL)
def test_a_cell_runs_as_in_a_kernel(kernel: dict[str, Any], name: str) -> None:
    assert kernel[name] == AS_IN_A_KERNEL[name][1]


def test_a_module_that_the_notebook_wrote_can_be_imported(kernel: dict[str, Any]) -> None:
    assert kernel["the file that it wrote"] == 8


def test_output_history_holds_the_values_at_the_ends_of_cells() -> None:
    with Sandbox(["6 * 7", "def f(): return [_, Out[1]]"]) as box:
        assert box.call("f") == [42, 42]
        assert box.results[0]["output"] == "Out[1]: 42\n"


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("x = (", "SyntaxError: incomplete input (line 1 of your cell)"),
        ("a = 1\n1 / 0", "ZeroDivisionError: division by zero (line 2 of your cell)"),
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package' (line 1 of your cell)"),
        ("f'{x['a']}'" if graded_with() < "Python 3.12" else "f'{'", "SyntaxError: f-string"),
    ],
)
def test_an_error_says_which_line_of_the_cell(cell: str, told: str) -> None:
    with Sandbox([cell]) as box:
        assert str(box.results[0]["error"]).startswith(told)


def test_what_was_left_out_of_a_cell_is_told() -> None:
    with Sandbox(["where = !pwd\n%pip install x\n%no_such_magic y\n%matplotlib inline\nsum?"]) as box:
        assert box.results[0]["skipped"] == ["!pwd", "%pip install x", "%no_such_magic y (unknown)"]


# ---- checks at their places, and what a person is told ----


@pytest.fixture
def cells() -> Cells:
    found: Cells = simulate.reference()["cells"]
    for cell in found:
        cell["source"] = simulate.HIDDEN.sub("", cell["source"] + "\n").rstrip("\n")
    return found


def at(cells: Cells, name: str) -> int:
    return next(n for n, cell in enumerate(cells) if cell["metadata"].get("nbgrader", {}).get("grade_id") == name)


def code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}


def verdict(cells: Cells, folder: Path) -> dict[str, Any]:
    path = folder / SOURCE.name
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")
    return judge.judge(chapters.hand_over(simulate.FIRST, folder), path)


def failed(found: dict[str, Any]) -> set[str]:
    return {name for name, check in found["checks"].items() if not check["passed"]}


def calls(cell: dict[str, Any], what: str) -> None:
    """The function of an answer begins with a call of a helper."""
    head, _, body = cell["source"].partition("\n")
    cell["source"] = f"{head}\n    {what}\n{body}"


def test_a_helper_of_one_name_in_two_tasks(cells: Cells, tmp_path: Path) -> None:
    for name, takes in (("negative_weight", "a, b"), ("share_pushed_down", "a")):
        cell = cells[at(cells, name)]
        calls(cell, f"count({takes.replace('a', '1').replace('b', '2')})")
        cell["source"] = f"def count({takes}): return a\n{cell['source']}"
    cells.append(code("count = negative_weight = 3"))
    found = verdict(cells, tmp_path)
    assert not failed(found) and found["look_at"] == []


def test_a_helper_below_its_use_counts_and_is_named(cells: Cells, tmp_path: Path) -> None:
    calls(cells[at(cells, "best_score")], "below()")
    cells.append(code("def below(): pass"))
    found = verdict(cells, tmp_path)
    assert not failed(found)
    assert found["look_at"] == [
        "task 2: passed with the names as they are at the end of the notebook, not at its place"
    ]


def test_two_answers_in_one_cell_above_what_was_handed_out(cells: Cells, tmp_path: Path) -> None:
    first, second = at(cells, "negative_weight"), at(cells, "best_score")
    cells[first]["source"] += f"\n\n{cells[second]['source']}"
    cells[second]["source"] = simulate.empty()["cells"][second]["source"]
    found = verdict(cells, tmp_path)
    assert not failed(found) and found["look_at"] == []


IN_A_FILE = "%%writefile solved.py\nfrom fractions import Fraction\n{answer}"


@pytest.mark.parametrize(
    ("own", "named"),
    [
        (("if True:\n{indented}",), "another cell gives it"),
        ((IN_A_FILE, "from solved import best_score"), "another cell gives it"),
        (("%%time\n%%capture\n{answer}",), "another cell gives it"),
        (("best_score(1, 2, 3, 4)",), ""),  # it was tried, and never written
    ],
)
def test_an_answer_that_stands_above_what_was_handed_out_and_was_hidden_by_it_is_named(
    cells: Cells, tmp_path: Path, own: tuple[str, ...], named: str
) -> None:
    place = at(cells, "best_score")
    answer = cells[place]["source"]
    indented = "\n".join(f"    {line}" for line in answer.splitlines())
    cells[place]["source"] = simulate.empty()["cells"][place]["source"]
    cells[place:place] = [code(one.format(answer=answer, indented=indented)) for one in own]
    found = verdict(cells, tmp_path)
    told = [line for line in found["look_at"] if line.startswith("task 2, best_score: ") and "another cell" in line]
    assert failed(found) == {"test_best_score"} and bool(told) == bool(named)


def test_an_answer_whose_older_version_stands_below_is_named(cells: Cells, tmp_path: Path) -> None:
    old = {**cells[at(cells, "best_score")], "source": "def best_score(*a):\n    return 1", "id": "copy"}
    cells.insert(at(cells, "test_best_score") + 1, old)
    released = notebooks.nbformat.from_dict(simulate.empty())
    copy = notebooks.rebuilt(released, notebooks.handed_in(json.dumps({"cells": cells}).encode()))
    assert verdict(copy.cells, tmp_path)["look_at"] == [
        "task 2, best_score: several cells define it; the last of them counted"
    ]


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (
            "import no_such_package",
            f"No module named 'no_such_package' (line 1 of your cell) (graded with {graded_with()})",
        ),
        ("import threading; threading.Thread(target=print).start()", "can't start new thread"),
        ("open('data.csv')", "No such file or directory: 'data.csv'"),
        ("where = !pwd\nassert where[0]", "AssertionError"),
        ("while True: pass", "This cell took longer than 1 seconds"),
    ],
)
def test_an_answers_cell_that_does_not_run_here_is_named_with_the_reason(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, reason: str
) -> None:
    monkeypatch.setattr("course_lib.lessons.shared.grading.sandbox.USUAL", sandbox.Limits(step=1.0))
    cell = cells[at(cells, "best_score")]
    cell["source"] = f"{first}\n{cell['source']}"
    found = verdict(cells, tmp_path)
    assert failed(found) == {"test_best_score"}
    (line,) = [line for line in found["look_at"] if "not run here" not in line]
    assert line.startswith("task 2, best_score: ") and reason in line
    assert reason.partition(" (graded")[0] in found["checks"]["test_best_score"]["message"]  # the student reads it too


def test_a_function_that_cannot_run_here_is_named_at_its_check(cells: Cells, tmp_path: Path) -> None:
    calls(cells[at(cells, "best_score")], "import beside_the_notebook")
    (line,) = verdict(cells, tmp_path)["look_at"]
    assert line.startswith("task 2: best_score raised ModuleNotFoundError")


def _passed(cell: dict[str, Any]) -> None:
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [f"{notebooks.PASSED_PUBLICLY}; more\n"]}]


def _failed(cell: dict[str, Any]) -> None:
    cell["outputs"] = [{"output_type": "error", "ename": "ValueError", "evalue": "lost", "traceback": []}]


@pytest.mark.parametrize(
    ("what", "saved", "named"),
    [
        ("return 1", _passed, "the saved notebook says that the public check passed; here: the best score"),
        ("return 1", lambda cell: None, None),  # a wrong number is the student's, and the check says what is wrong
        ("raise ValueError('lost')", _failed, None),  # the student saw it
        ("raise ValueError('lost')", lambda cell: None, "best_score raised ValueError: lost"),
    ],
)
def test_a_check_that_passed_where_it_was_written_is_named(
    cells: Cells, tmp_path: Path, what: str, saved: Callable[[dict[str, Any]], None], named: str | None
) -> None:
    calls(cells[at(cells, "best_score")], what)
    saved(cells[at(cells, "test_best_score")])
    released = notebooks.nbformat.from_dict(simulate.empty())
    copy = notebooks.rebuilt(released, notebooks.handed_in(json.dumps({"cells": cells}).encode()))
    found = verdict(copy.cells, tmp_path)
    assert failed(found) == {"test_best_score"}
    told = [line.partition("task 2: ")[2] for line in found["look_at"]]
    assert len(told) == bool(named) and all(line.startswith(str(named)) for line in told)


def test_code_that_runs_publicly_and_not_on_hidden_inputs_is_named(cells: Cells, tmp_path: Path) -> None:
    calls(cells[at(cells, "best_score")], "assert n_positives < 10, 'too many'")
    (line,) = verdict(cells, tmp_path)["look_at"]
    assert "the public check passed, then the code did not run: best_score raised AssertionError: too many" in line


def test_what_was_left_as_it_was_handed_out_needs_nobody(tmp_path: Path) -> None:
    found = verdict(simulate.empty()["cells"], tmp_path)
    assert len(failed(found)) == len(found["checks"]) and found["look_at"] == []


# ---- reading code, and plain values ----


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(): pass\nx = 1\ny: int = 2\nclass C: pass\nasync def g(): pass", {"f", "x", "y", "C", "g"}),
        ("%matplotlib inline\ndef f():\n    return (1\n        % 2)", {"f"}),
        ("%%time\ndef f(): pass", {"f"}),
        ("where = !pwd\ndef f(): pass", {"where", "f"}),
        ("await g()\ndef f(): pass", {"f"}),
        ("\x0cdef f(): pass", {"f"}),
        ("f?\ndef f(): pass", {"f"}),
        ("no python (", set()),
        ("%%bash\ndef f(): pass", set()),
    ],
)
def test_the_names_that_a_cell_defines(source: str, names: set[str]) -> None:
    assert reading.defined(source) == names


def test_a_cell_with_thousands_of_magics_is_not_read_for_minutes() -> None:
    assert reading.tree("!x\n" * 20_000 + "x = (") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (sympy.Rational(1, 3), Fraction(1, 3)),
        (sympy.Integer(3), 3),
        (sympy.S.Half, Fraction(1, 2)),
        (sympy.Float(0.5), 0.5),
        (sympy.Matrix([[1, sympy.Rational(2, 3)]]), [[1, Fraction(2, 3)]]),
        ((sympy.Integer(1), [sympy.Rational(-1, 2)]), [1, [Fraction(-1, 2)]]),
    ],
)
def test_sympys_numbers_are_numbers(value: object, expected: object) -> None:
    found = plain.from_plain(json.loads(json.dumps(plain.to_plain(value))))
    assert found == expected and type(found) is type(expected)
