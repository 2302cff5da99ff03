"""Running the checks of claims, and comparing the rows with the book and the tests without running anything."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any

from course_lib.lessons.shared import findings
from course_lib.lessons.shared.counterexample import Counterexample
from tools import conclusions
from tools.claims.rows import _PROOF, ROOT, Claim, Scalar
from tools.findings import from_results

PROVED_KINDS = ("theorem", "lemma", "proposition", "corollary", "conjecture")
_DIRECTIVE = re.compile(
    r"^[ \t]*[`:]{3,}[ \t]*\{prf:(?P<kind>[a-z]+)\}(?P<title>.*)(?P<options>(\n[ \t]*(---|:?[\w-]+:.*))*)", re.MULTILINE
)
_LABEL = re.compile(r"^[ \t]*:?label:\s*(\S+)", re.MULTILINE)
_RAN = re.compile(r"^(?P<name>\S+::.*?) (?P<outcome>[A-Z]+)(?: |$)", re.MULTILINE)  # a line of `pytest -v`


@dataclass(frozen=True)
class Statement:
    """A `prf:` directive in the book: its kind (theorem, lemma, ...), its label (or None) and where it stands."""

    kind: str
    label: str | None
    page: str
    title: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one check gave: the claim's id, the check as the row names it, and a problem ("" when it passed)."""

    id: str
    check: str
    problem: str = ""


# ------------------------------------------------------------------------------------------------ the book


def statements(book: Path | str | None = None) -> list[Statement]:
    """Every `prf:` directive in the notebooks and Markdown pages under `book`, in the order of pages and lines."""
    book = Path(book) if book is not None else ROOT / "book"
    pages = sorted(path for kind in ("*.ipynb", "*.md") for path in book.rglob(kind) if _is_page(path, book))
    return [found for path in pages for found in _statements_of(path, book)]


def _is_page(path: Path, book: Path) -> bool:
    parts = path.relative_to(book).parts
    return not any(part.startswith(("_", ".")) for part in parts)


def _statements_of(path: Path, book: Path) -> Iterable[Statement]:
    page = path.relative_to(book).with_suffix("").as_posix()
    for match in _DIRECTIVE.finditer(conclusions.text_of(path)):
        label = _LABEL.search(match["options"])
        yield Statement(match["kind"], label[1] if label else None, page, match["title"].strip())


# ------------------------------------------------------------------------------------------------ lint


def lint(claims: list[Claim], *, book: Path | str | None = None, root: Path | str | None = None) -> list[str]:
    """Problems between the rows, the book and the tests, as sentences; an empty list when all is well.

    Finds a labelled theorem without a row, an unlabelled theorem, a label used twice, a row whose theorem, chapter,
    check function, test or scalar origin does not exist.
    """
    root = Path(root) if root is not None else ROOT
    book = Path(book) if book is not None else root / "book"
    found = statements(book)
    problems = _lint_statements(found, {claim.theorem for claim in claims})
    labels = {statement.label for statement in found}
    for claim in claims:
        problems += [f"{claim.file}: {claim.id}: {text}" for text in _lint_claim(claim, labels, book, root)]
    return problems


def _lint_statements(found: list[Statement], covered: set[str | None]) -> list[str]:
    problems: list[str] = []
    seen: dict[str, str] = {}
    for statement in found:
        name = f"prf:{statement.kind} {statement.title}".strip()
        if statement.kind in PROVED_KINDS and statement.label is None:
            problems.append(f"{statement.page}: {name} has no :label:")
        if statement.label is None:
            continue
        if statement.kind in PROVED_KINDS and statement.label not in covered:
            problems.append(f"{statement.page}: {name} ({statement.label}) has no row in the claims.yml of its lesson")
        if statement.label in seen:
            problems.append(f"{statement.page}: label {statement.label} also stands in {seen[statement.label]}")
        seen[statement.label] = statement.page
    return problems


def _lint_claim(claim: Claim, labels: set[str | None], book: Path, root: Path) -> Iterable[str]:
    if claim.theorem and claim.theorem not in labels:
        yield f"theorem {claim.theorem!r} stands on no page of the book"
    if claim.chapter and not any((book / (claim.chapter + suffix)).exists() for suffix in (".ipynb", ".md")):
        yield f"chapter {claim.chapter!r} does not exist under {book.name}/"
    for name in [*claim.functions, *(scalar.function for scalar in claim.scalars if scalar.function)]:
        try:
            resolve(name)
        except (ImportError, AttributeError) as error:
            yield f"check {name!r} does not exist ({error})"
    for node in claim.nodes:
        if not _node_exists(node, root):
            yield f"check {node!r} does not exist"
    for name in claim.findings:
        try:
            findings.find(name, "")
        except KeyError as error:
            yield error.args[0]
    for scalar in claim.scalars:
        if scalar.notebook and not (book / f"{scalar.notebook}.ipynb").exists():
            yield f"scalar {scalar.name}: notebook {scalar.notebook!r} does not exist"
        if scalar.result and not (book / "results" / f"{scalar.result}.json").exists():
            yield f"scalar {scalar.name}: result file {scalar.result!r} does not exist"


def resolve(name: str) -> Callable[..., Any]:
    """The function behind "course_lib.module:function". Raises ImportError or AttributeError when there is none."""
    module, function = name.split(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    if not callable(found):
        raise AttributeError(f"{name} is not a function")
    return found


def _node_exists(node: str, root: Path) -> bool:
    """Whether the file of a pytest node id defines the classes and the test that it names (read, not run)."""
    file, *names = node.split("[")[0].split("::")
    path = root / file
    if not path.exists() or not names[-1].startswith("test"):
        return False
    return "::".join(names) in _defined_in(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _defined_in(path: Path, _changed: int) -> frozenset[str]:
    """The functions of a test file, those of its classes as "Class::function"."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = set()
    for item in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(item, kinds):
            found.add(item.name)
        if isinstance(item, ast.ClassDef):
            found |= {f"{item.name}::{inner.name}" for inner in item.body if isinstance(inner, kinds)}
    return frozenset(found)


# ------------------------------------------------------------------------------------------------ running


def passes(value: Any) -> bool:
    """Whether a check's return value says "holds": None, True, a counterexample that refutes, or a residual of zero.

    A residual may be a number, a fraction, a sympy expression or matrix, a NumPy array (all entries), or a non-empty
    list, tuple or dict of residuals. Anything else, a tiny float among it, says "does not hold".
    """
    if value is None or value is True:
        return True
    if value is False or isinstance(value, str):
        return False
    if isinstance(value, Counterexample):
        return value.passes
    if isinstance(value, dict):
        return passes(list(value.values()))
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(item is not None and passes(item) for item in value)
    if hasattr(value, "shape") and hasattr(value, "tolist"):
        return passes(value.tolist())
    return bool(value == 0)


def run_function(name: str) -> str:
    """Call a check function; "" when it passes, else what went wrong.

    A proof has to return its residual: None from a lesson's proofs does not pass.
    """
    try:
        value = resolve(name)()
    except Exception as error:  # the check may fail in any way; report it beside the others
        return f"{type(error).__name__}: {error}".splitlines()[0]
    if value is None and _PROOF.match(name):
        return "returned None; a proof must return its residual"
    return "" if passes(value) else f"residual is {str(value)[:120]}, expected 0"


def run_nodes(nodes: list[str], root: Path | str | None = None) -> dict[str, str]:
    """Run test node ids in one pytest call; for each "" when it passed, else what happened to it.

    A node that is skipped, expected to fail, in error or not collected has not passed. pytest is given whole tests that
    are there: one that is missing, or has no such parameter, would hide the others.
    """
    root = Path(root) if root is not None else ROOT
    there = sorted({node.split("[")[0] for node in nodes if _node_exists(node, root)})
    if not there:
        return dict.fromkeys(nodes, "not collected")
    command = [sys.executable, "-P", "-m", "pytest", "-v", "--tb=no", "-p", "no:cacheprovider", "--rootdir=.", *there]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "100000"}
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment, check=False)
    outcomes = [(match["name"], match["outcome"].lower()) for match in _RAN.finditer(done.stdout)]
    return {node: _verdict(node, outcomes) for node in nodes}


def _verdict(node: str, outcomes: list[tuple[str, str]]) -> str:
    """What happened to a test, to all of its parameters where the node names none."""
    mine = [outcome for name, outcome in outcomes if name == node or name.startswith(f"{node}[")]
    bad = sorted(set(mine) - {"passed"})
    if not mine:
        return "not collected"
    return f"{', '.join(bad)} ({len(mine)} {'test' if len(mine) == 1 else 'tests'})" if bad else ""


# ------------------------------------------------------------------------------------------------ scalars


def compare(scalar: Scalar, value: object) -> str:
    """ "" when `value` is within the tolerance of the expected number, else a sentence."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return f"{scalar.name} is {value!r}, expected a number"
    if abs(float(value) - scalar.expected) <= scalar.tolerance:
        return ""
    return (
        f"{scalar.name} = {float(value):g}, expected {scalar.expected:g} within {scalar.tolerance:g} ({scalar.source})"
    )


def check_scalars(notebook: str, scalars: dict[str, float], claims: list[Claim] | None = None) -> list[str]:
    """Problems of the numbers that one notebook published; an empty list when all is well.

    `notebook` is its path under `book/` without suffix; `scalars` maps each published name to its value. A scalar that
    a claim expects from this notebook must be among them and within its tolerance.
    """
    from tools.claims.rows import load

    notebook = str(notebook).removesuffix(".ipynb").removeprefix("book/")
    problems = []
    for claim in load() if claims is None else claims:
        for scalar in claim.scalars:
            if scalar.notebook != notebook:
                continue
            if scalar.name not in scalars:
                problems.append(f"{claim.id}: {notebook} did not publish {scalar.name!r}")
                continue
            problem = compare(scalar, scalars[scalar.name])
            problems += [f"{claim.id}: {problem}"] if problem else []
    return problems


def run_scalar(scalar: Scalar, root: Path | str | None = None) -> str:
    """Check a scalar that a function computes or a result file holds; "" when it is within its tolerance."""
    try:
        value = resolve(scalar.function)(**scalar.arguments) if scalar.function else result_scalar(scalar, root)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return compare(scalar, value)


def run_finding(name: str) -> str | None:
    """Compute a finding on stored results: "" when it holds where claimed; None where a page's own cell shows it."""
    found = findings.find(name, "")
    if not found.rests_on:
        return None
    try:
        from_results(found)
    except findings.FindingError as error:
        return str(error)
    return ""


def result_scalar(scalar: Scalar, root: Path | str | None = None) -> object:
    """The number `scalar.name` of a stored result: `scalars` in the file maps names to numbers."""
    path = Path(root or ROOT) / "book" / "results" / f"{scalar.result}.json"
    stored = json.loads(path.read_text(encoding="utf-8")).get("scalars", {})
    if scalar.name not in stored:
        raise KeyError(f"{path.name} holds no scalar {scalar.name!r}; it holds {sorted(stored)[:8]}")
    return stored[scalar.name]
