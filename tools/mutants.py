"""Mutation testing: changes the library in small ways, one at a time, and counts the changes that no test notices.

`make mutants` draws SAMPLE mutants of maths, data, models/debiasing and training, by a seed, from each module in
proportion to its mutants, and runs on each the tests that reach the changed function. mutmut makes and runs them, in a
copy of the repository in `_build/mutation`; a run that was stopped goes on where it was. Mutants that change nothing
but a text or the message of an error are left out. What is found stands in `_build/mutation/report.md`: the score, that
of each module, and every survivor with what was changed. `--report` writes it while a run goes on.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build" / "mutation"
REASONS = Path(__file__).with_suffix(".yml")  # why a survivor changes nothing that anybody can see
COPIED = ("course_lib", "tests", "tools")
MUTATED = ("course_lib/maths", "course_lib/data", "course_lib/models/debiasing", "course_lib/training")
TESTS: tuple[str, ...] = ("tests/maths", "tests/data", "tests/models", "tests/training")
TESTS += ("tests/experiments/test_p0_motion.py", "tests/experiments/test_p0_popularity.py")  # towers, remedies
TESTS += tuple(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("tests/lessons/*/test_proofs.py")))
# What runs in processes that a test starts: mutmut does not see that it is reached, and changes it there all the same.
ELSEWHERE = {f"course_lib.training.{name}": "tests/training/test_processes.py" for name in ("processes", "loop")}
SAMPLE = 1500
FEW = 200  # mutants that one call of mutmut is told by name: with more it takes an hour to find them
SKIPPED = 34  # mutmut's own mark of a mutant that is not to be run: here of one outside the sample
KILLED = {"killed", "timeout", "segfault"}  # a program that hangs or crashes is noticed too
STATUS = {0: "survived", 5: "no tests", 33: "no tests", 36: "timeout", -24: "timeout", 24: "timeout", 152: "timeout"}
STATUS |= {255: "timeout", 1: "killed", 3: "killed", -11: "segfault", -9: "segfault", -6: "segfault"}
SETTINGS = f"""
[tool.mutmut]
source_paths = ["course_lib"]
also_copy = ["tools"]
only_mutate = {json.dumps([f"{folder}/*" for folder in MUTATED])}
pytest_add_cli_args = ["-p", "no:cacheprovider", "-m", "not slow and not browser and not laptop", "-k", "not compiles"]
pytest_add_cli_args_test_selection = {json.dumps(TESTS)}
use_git_change_detection = false
track_dependencies = false
timeout_constant = 4
"""
# CI: the same examples of the property tests each time.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "CI": "true", "COURSE_EXAMPLES": "mutants"}


@dataclass(frozen=True)
class Mutant:
    """One change: mutmut's name for it, the module that it is in, and its status (None: not run yet)."""

    name: str
    module: str
    status: str | None


def prepare(folder: Path = FOLDER) -> None:
    """Copy what mutmut needs; files keep their times, so that only changed ones are mutated again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(text + SETTINGS, encoding="utf-8")


def mutmut(folder: Path, names: Sequence[str], limit: float | None = None) -> int:
    """Call `mutmut run` for these mutants in one process; returns its exit status, 124 where the limit came first.

    A name that no mutant has makes mutmut write all mutants, learn which test reaches which function, and stop.
    """
    command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", "1", *names]
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(folder / "mutants")}
    with (folder / "mutmut.log").open("a", encoding="utf-8") as log:
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, stdout=log, stderr=log, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return 124
    return done.returncode


def mutants(folder: Path = FOLDER) -> list[Mutant]:
    """All mutants that mutmut has written."""
    found = []
    for path in sorted((folder / "mutants").rglob("*.meta")):
        module = path.relative_to(folder / "mutants").as_posix().removesuffix(".meta")
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        for name, code in codes.items():
            status = None if code in (None, 2, SKIPPED) else STATUS.get(code, f"exit status {code}")
            found.append(Mutant(name, module, status))
    return found


# ------------------------------------------------------------------------------------------------ texts are left out


@lru_cache(maxsize=64)
def functions_of(source: str) -> dict[str, ast.FunctionDef]:
    """The functions of a mutated file by name; mutmut writes f as x_f__mutmut_orig, x_f__mutmut_1, ..."""
    return {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}


def only_text(original: ast.FunctionDef, changed: ast.FunctionDef) -> bool:
    """Whether two versions of a function differ in texts alone, or in what an error is told."""
    return _meaning(original) == _meaning(changed)


class _WithoutTexts(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """A text, or the None that mutmut puts in its place."""
        return ast.Constant("") if node.value is None or isinstance(node.value, str) else node

    def visit_JoinedStr(self, _node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant("")

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        """A refusal is a refusal, whatever it says."""
        return ast.Raise(exc=ast.Constant(""), cause=None) if node.exc is not None else node


@lru_cache(maxsize=2)  # the original is asked for again with each of its mutants
def _meaning(function: ast.FunctionDef) -> str:
    return ast.dump(_WithoutTexts().visit(ast.parse(_unnamed(function))))


def _unnamed(function: ast.FunctionDef) -> str:
    return re.sub(rf"\bdef {re.escape(function.name)}\b", "def f", ast.unparse(function), count=1)


def that_count(found: Sequence[Mutant], folder: Path = FOLDER) -> list[Mutant]:
    """The mutants that change more than texts."""
    kept = []
    by_module: dict[str, list[Mutant]] = defaultdict(list)
    for one in found:
        by_module[one.module].append(one)
    for module, some in by_module.items():
        functions = functions_of((folder / "mutants" / module).read_text(encoding="utf-8"))
        for one in some:
            original, changed = versions(one.name, functions)
            if not only_text(original, changed):
                kept.append(one)
    return kept


def versions(name: str, functions: dict[str, ast.FunctionDef]) -> tuple[ast.FunctionDef, ast.FunctionDef]:
    """A mutant's function as it was and as it is."""
    local = name.rpartition(".")[2]
    return functions[re.sub(r"__mutmut_\d+$", "__mutmut_orig", local)], functions[local]


def difference(one: Mutant, folder: Path = FOLDER) -> str:
    """What a mutant changes, the lines with their signs."""
    functions = functions_of((folder / "mutants" / one.module).read_text(encoding="utf-8"))
    before, after = (_unnamed(version).splitlines() for version in versions(one.name, functions))
    lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@"))


# ------------------------------------------------------------------------------------------------ the sample


def drawn(found: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """`size` mutants in random order, from each module in proportion to its mutants (at least one)."""
    rng = random.Random(seed)
    by_module: dict[str, list[Mutant]] = defaultdict(list)
    for one in sorted(found, key=lambda one: one.name):
        by_module[one.module].append(one)
    share = min(1.0, size / max(len(found), 1))
    chosen = []
    for module in sorted(by_module):
        here = by_module[module]
        chosen += rng.sample(here, min(len(here), max(1, round(share * len(here)))))
    rng.shuffle(chosen)
    return chosen


def run(size: int, seed: int, minutes: float | None, folder: Path = FOLDER, *, again: bool = False) -> list[Mutant]:
    """Run what of the sample was not run yet, at most so many minutes; returns the sample with its statuses.

    One call of mutmut, which first runs every test once unchanged. `again`: run the survivors instead, after tests
    were added; mutmut is told their names and first runs their tests alone.
    """
    end = time.monotonic() + 60 * minutes if minutes else None
    prepare(folder)
    print("making the mutants, and running all tests once to see what each reaches (some minutes)", flush=True)
    mutmut(folder, ["no.such.mutant"])
    reach_elsewhere(folder)
    names = drawn_names(size, seed, folder)
    survivors = [one.name for one in of(names, folder) if one.status not in {None, *KILLED}]
    calls = [survivors[at : at + FEW] for at in range(0, len(survivors), FEW)] if again else [[]]
    todo = mark(names, folder)
    for call in calls if again or todo else []:
        left = None if end is None else max(end - time.monotonic(), 0)
        if mutmut(folder, call, left) not in (0, 124) and not again and mark(names, folder) == todo:
            log = (folder / "mutmut.log").read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"mutmut has run none of {todo} mutants; expected some. Its log ends:\n{log[-1500:]}")
    return of(names, folder)


def reach_elsewhere(folder: Path) -> None:
    """Tell mutmut which tests reach the functions of ELSEWHERE."""
    path = folder / "mutants" / "mutmut-stats.json"
    stats = json.loads(path.read_text(encoding="utf-8"))
    reached = stats["tests_by_mangled_function_name"]
    for name in {one.name.rpartition("__mutmut_")[0] for one in mutants(folder)}:
        file = ELSEWHERE.get(name.rpartition(".")[0])
        if file is not None and not reached.get(name):
            reached[name] = [test for test in stats["duration_by_test"] if test.startswith(f"{file}::")]
    path.write_text(json.dumps(stats, indent=4), encoding="utf-8")


def drawn_names(size: int, seed: int, folder: Path = FOLDER) -> list[str]:
    """The names of the sample."""
    return [one.name for one in drawn(that_count(mutants(folder), folder), size, seed)]


def mark(sample: Sequence[str], folder: Path) -> int:
    """Mark all that is outside the sample as not to be run; returns how many of the sample are to be run."""
    todo, chosen = 0, set(sample)
    for path in sorted((folder / "mutants").rglob("*.meta")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        codes = kept["exit_code_by_key"]
        for name, code in codes.items():
            if code in (None, 2, SKIPPED):
                codes[name] = None if name in chosen else SKIPPED
                todo += name in chosen
        path.write_text(json.dumps(kept, indent=4), encoding="utf-8")
    return todo


def of(names: Sequence[str], folder: Path = FOLDER) -> list[Mutant]:
    """The mutants of these names, with what became of them."""
    by_name = {one.name: one for one in mutants(folder)}
    return [by_name[name] for name in names]


# ------------------------------------------------------------------------------------------------ the report


def function_of(name: str) -> str:
    """The changed function of a mutant: course_lib.maths.sums.x_half__mutmut_3 changes maths.sums.half."""
    module, _, local = name.rpartition("__mutmut_")[0].rpartition(".")
    parts = local.split("ǁ")[1:] or [local.removeprefix("x_")]
    return ".".join([module.removeprefix("course_lib."), *parts])


def reason(one: Mutant, changed: str, reasons: Mapping[str, Mapping[str, Sequence[str]]]) -> str | None:
    """The reason whose list has the function of the mutant with a part of its new lines; None where there is none."""
    new = "\n".join(line[1:] for line in changed.splitlines() if line.startswith("+"))
    for why, functions in reasons.items():
        if any(part in new for part in functions.get(function_of(one.name), ())):
            return why
    return None


def report(
    sample: Sequence[Mutant], folder: Path = FOLDER, reasons: Mapping[str, Mapping[str, Sequence[str]]] | None = None
) -> str:
    """Score, score of each module, and the survivors: those without a reason first, the others by their reason."""
    done = [one for one in sample if one.status is not None]
    killed = [one for one in done if one.status in KILLED]
    share = f"{100 * len(killed) / len(done):.1f} %" if done else "–"
    reasons = known_reasons() if reasons is None else reasons
    survivors: dict[str, list[str]] = defaultdict(list)
    for one in sorted(done, key=lambda one: one.name):
        if one.status not in KILLED:
            changed = difference(one, folder)
            text = f"`{one.name}` ({one.status})\n\n```diff\n{changed}\n```\n"
            survivors[reason(one, changed, reasons) or "No reason yet"].append(text)
    lines = ["# Mutants", "", f"{len(killed)} of {len(done)} killed: {share}; {len(sample) - len(done)} not run yet."]
    lines += [f"Survivors: {len(done) - len(killed)}, of which {len(survivors['No reason yet'])} without a reason."]
    lines += ["", "| module | killed | of |", "|---|---|---|"]
    counts, kills = (Counter(one.module for one in group) for group in (done, killed))
    lines += [f"| {module} | {kills[module]} | {counts[module]} |" for module in sorted(counts)]
    for why, texts in sorted(survivors.items()):
        lines += ["", f"## {why}: {len(texts)}", "", *texts]
    return "\n".join(lines) + "\n"


def known_reasons() -> dict[str, dict[str, list[str]]]:
    """Reason -> function -> parts of changed lines."""
    found: dict[str, dict[str, list[str]]] = yaml.safe_load(REASONS.read_text(encoding="utf-8"))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the sample, or goes on with it, and writes the report."""
    parser = argparse.ArgumentParser(prog="python tools/mutants.py", description=__doc__)
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"how many mutants (default {SAMPLE})")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--minutes", type=float, help="stop after this time; the next call goes on")
    parser.add_argument("--again", action="store_true", help="run the survivors again, after tests were added")
    parser.add_argument("--report", action="store_true", help="only write what was found so far")
    parser.add_argument("--fresh", action="store_true", help="forget what was found before")
    arguments = parser.parse_args(argv)
    if arguments.fresh:
        shutil.rmtree(FOLDER, ignore_errors=True)
    if arguments.report:
        sample = of(drawn_names(arguments.sample, arguments.seed))
    else:
        sample = run(arguments.sample, arguments.seed, arguments.minutes, again=arguments.again)
    text = report(sample)
    (FOLDER / "report.md").write_text(text, encoding="utf-8")
    print(*text.splitlines()[2:4], f"written: {FOLDER / 'report.md'}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
