"""tools/mutants.py: which changes count, how they are drawn, and what the report says of them."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from course_lib import checking
from tools import mutants
from tools.mutants import Mutant

SOURCE = """
def x_half__mutmut_orig(n):
    checking.whole(n, "n", 0)
    if n % 2:
        raise ValueError(f"n is {n}; expected an even number")
    return n / 2

def x_half__mutmut_1(n):
    checking.whole(n, None, 0)
    if n % 2:
        raise ValueError(f"n is {n}; expected an even number")
    return n / 2

def x_half__mutmut_2(n):
    checking.whole(n, "n", 0)
    if n % 2:
        raise ValueError(None)
    return n / 2

def x_half__mutmut_3(n):
    checking.whole(n, "n", 1)
    if n % 2:
        raise ValueError(f"n is {n}; expected an even number")
    return n / 2

def x_half__mutmut_4(n):
    checking.whole(n, "n", 0)
    if n % 2:
        raise ValueError(f"n is {n}; expected an even number")
    return n * 2
"""
NAMES = [f"course_lib.maths.sums.x_half__mutmut_{number}" for number in (1, 2, 3, 4)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What mutmut leaves behind: a mutated file, and beside it what became of its mutants."""
    place = tmp_path / "mutants" / "course_lib" / "maths"
    place.mkdir(parents=True)
    (place / "sums.py").write_text(SOURCE, encoding="utf-8")
    codes = dict(zip(NAMES, (1, None, 0, 1), strict=True))
    (place / "sums.py.meta").write_text(json.dumps({"exit_code_by_key": codes}), encoding="utf-8")
    return tmp_path


def test_a_change_of_a_message_is_left_out(folder: Path) -> None:
    kept = mutants.that_count(mutants.mutants(folder), folder)
    assert [one.name for one in kept] == NAMES[2:]


def test_a_difference_shows_the_changed_lines(folder: Path) -> None:
    last = mutants.mutants(folder)[-1]
    assert mutants.difference(last, folder) == "-    return n / 2\n+    return n * 2"


def test_a_difference_shows_a_changed_default(folder: Path) -> None:
    name = "course_lib.maths.steps.x_step__mutmut_1"
    source = "def x_step__mutmut_orig(lr=1):\n    return lr\n\ndef x_step__mutmut_1(lr=2):\n    return lr\n"
    (folder / "mutants/course_lib/maths/steps.py").write_text(source, encoding="utf-8")
    shown = mutants.difference(Mutant(name, "course_lib/maths/steps.py", None), folder)
    assert shown == "-def f(lr=1):\n+def f(lr=2):"


def test_the_report_has_the_score_and_every_survivor(folder: Path) -> None:
    found = mutants.mutants(folder)
    assert [one.status for one in found] == ["killed", None, "survived", "killed"]
    text = mutants.report(found, folder, reasons={})
    assert "2 of 3 killed: 66.7 %; 1 not run yet." in text and "| course_lib/maths/sums.py | 2 | 3 |" in text
    assert text.count("```diff") == 1 and "+    checking.whole(n, 'n', 1)" in text
    assert "Survivors: 1, of which 1 without a reason." in text and "## No reason yet: 1" in text


def test_a_survivor_has_the_reason_of_its_function_and_its_new_line(folder: Path) -> None:
    reasons = {"Never less than one": {"maths.sums.half": ["'n', 1)"], "maths.sums.third": ["'n', 2)"]}}
    text = mutants.report(mutants.mutants(folder), folder, reasons)
    assert "of which 0 without a reason" in text and "## Never less than one: 1" in text
    other = {"Another change": {"maths.sums.half": ["n * 3"]}}
    assert "## No reason yet: 1" in mutants.report(mutants.mutants(folder), folder, other)


def test_every_reason_is_of_a_function_that_there_is() -> None:
    for functions in checking.some(mutants.known_reasons().values()):
        for place, parts in checking.some(functions.items()):
            *above, name = place.split(".")
            paths = [mutants.ROOT.joinpath("course_lib", *above[: at + 1]) for at in range(len(above))]
            files = [
                file for path in paths for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()
            ]
            assert f"def {name}(" in files[-1].read_text(encoding="utf-8") and checking.some(parts), place


def test_a_sample_is_decided_by_its_seed_and_takes_from_each_module_in_proportion() -> None:
    sizes = {"a.py": 900, "b.py": 90, "c.py": 2}
    found = [Mutant(f"{module}.{number}", module, None) for module, size in sizes.items() for number in range(size)]
    sample = mutants.drawn(found, 100, seed=0)
    assert Counter(one.module for one in sample) == {"a.py": 91, "b.py": 9, "c.py": 1}
    assert sample == mutants.drawn(found[::-1], 100, seed=0) != mutants.drawn(found, 100, seed=1)
    assert len(mutants.drawn(found, 5000, seed=0)) == len(found)


def test_a_stopped_run_goes_on_with_what_has_no_status(folder: Path) -> None:
    assert mutants.mark(NAMES, folder) == 1
    assert mutants.mark(NAMES[2:], folder) == 0  # the second is now marked as not to be run ...
    assert [one.status for one in mutants.of(NAMES, folder)] == ["killed", None, "survived", "killed"]
    assert mutants.mark(NAMES, folder) == 1  # ... until it is asked for


@pytest.mark.parametrize(("again", "called"), [(False, [[]]), (True, [[NAMES[2]]])])
def test_survivors_are_run_again_by_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, again: bool, called: list[list[str]]
) -> None:
    calls: list[list[str]] = []

    def call(folder: Path, names: list[str], limit: float | None = None) -> int:
        calls.append(names)
        return 0

    monkeypatch.setattr(mutants, "mutmut", call)
    for name in ("prepare", "reach_elsewhere"):
        monkeypatch.setattr(mutants, name, lambda folder: None)
    monkeypatch.setattr(mutants, "drawn_names", lambda *_: NAMES)
    sample = mutants.run(4, 0, None, folder, again=again)
    assert calls == [["no.such.mutant"], *called] and [one.name for one in sample] == NAMES


def test_what_runs_in_processes_of_its_own_is_reached_by_their_tests(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = {"tests/test_sums.py::test_in_two_processes": 9.0, "tests/test_other.py::test_alone": 1.0}
    stats = folder / "mutants" / "mutmut-stats.json"
    stats.write_text(json.dumps({"tests_by_mangled_function_name": {}, "duration_by_test": tests}), encoding="utf-8")
    monkeypatch.setattr(mutants, "ELSEWHERE", {"course_lib.maths.sums": "tests/test_sums.py"})
    mutants.reach_elsewhere(folder)
    reached = json.loads(stats.read_text(encoding="utf-8"))["tests_by_mangled_function_name"]
    assert reached == {"course_lib.maths.sums.x_half": ["tests/test_sums.py::test_in_two_processes"]}


def test_the_mutated_folders_and_their_tests_exist() -> None:
    assert all((mutants.ROOT / name).is_file() for name in checking.some(mutants.ELSEWHERE.values()))
    assert all((mutants.ROOT / name).is_dir() for name in mutants.MUTATED)
    assert all((mutants.ROOT / name).exists() for name in mutants.TESTS)


def test_a_function_is_compared_without_its_name() -> None:
    one, other = (ast.parse(f"def {name}(x):\n    return x").body[0] for name in ("f__mutmut_orig", "f__mutmut_1"))
    assert isinstance(one, ast.FunctionDef) and isinstance(other, ast.FunctionDef) and mutants.only_text(one, other)
