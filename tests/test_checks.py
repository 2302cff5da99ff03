"""Every test checks something, and what it goes through is not empty.

`all(...)` over nothing is true, and a loop over nothing asserts nothing: the check of a theorem on gauges once passed
like that in each of its 200 evaluations. So a check goes through what stands there written out, or through
`checking.some(...)`, which refuses an empty collection.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.checking import some

ROOT = Path(__file__).resolve().parents[1]
OF_MATHEMATICS = (
    *("tests/library/*.py",),
    *("tests/lessons/*/test_claims*.py", "tests/lessons/*/test_proofs*.py", "tests/lessons/test_every_proof.py"),
    *("course_lib/lessons/*/proofs.py", "course_lib/lessons/*/enumeration.py", "course_lib/lessons/*/broken.py"),
)
KEEP_SOME = {"enumerate", "sorted", "reversed", "list", "tuple", "zip", "product", "set", "array", "tensor"}
CHECKS = ("raises", "warns", "fail", "assert_", "skip")  # parts of the names of calls that check


def of_mathematics() -> list[Path]:
    """The files whose checks must not go through nothing."""
    return sorted(path for pattern in OF_MATHEMATICS for path in ROOT.glob(pattern))


def surely_some(node: ast.expr, constants: set[str]) -> bool:
    """Whether an expression is plainly not empty: written out, `some(...)`, or made of such.

    constants: names that are assigned such expressions. A range up to a number or a name is taken to be meant.
    """
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return bool(node.elts)
    if isinstance(node, ast.Dict):
        return bool(node.keys)
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.Name):
        return node.id in constants
    if isinstance(node, ast.BinOp):
        return surely_some(node.left, constants) or surely_some(node.right, constants)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return all(surely_some(one.iter, constants) and not one.ifs for one in some(node.generators))
    return isinstance(node, ast.Call) and _gives_some(node, constants)


def _gives_some(call: ast.Call, constants: set[str]) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in {"some", "count"}:
        return True
    if name in {"range", "ndindex"}:
        return not any(isinstance(part, ast.Call | ast.Subscript) for part in ast.walk(call) if part is not call)
    if name in {"items", "values", "keys"} and isinstance(function, ast.Attribute):
        return surely_some(function.value, constants)
    return name in KEEP_SOME and bool(call.args) and all(surely_some(one, constants) for one in call.args[:1])


def constants_of(tree: ast.AST) -> set[str]:
    """The names that are given plainly not empty values somewhere and no other ones."""
    found: set[str] = set()
    for _ in range(3):  # one may be made of another
        given: dict[str, bool] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        given[target.id] = given.get(target.id, True) and surely_some(node.value, found)
        found = {name for name, fine in given.items() if fine}
    return found


def checks_in(node: ast.AST) -> bool:
    """Whether a piece of code asserts, expects an error, or calls something that does by its name."""
    for one in ast.walk(node):
        if isinstance(one, ast.Assert):
            return True
        if isinstance(one, ast.Call):
            name = one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")
            if name.startswith(CHECKS):
                return True
    return False


def doubtful(source: str) -> Iterator[ast.expr]:
    """What the checks of a piece of code go through and what might be empty."""
    tree = ast.parse(source)
    constants = constants_of(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and checks_in(node) and not surely_some(node.iter, constants):
            yield node.iter
        if isinstance(node, ast.Assert):
            yield from _doubtful_alls(node.test, constants)


def _doubtful_alls(test: ast.expr, constants: set[str]) -> Iterator[ast.expr]:
    for call in ast.walk(test):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "all":
            [over] = call.args
            if isinstance(over, ast.GeneratorExp | ast.ListComp):
                yield from (one.iter for one in over.generators if not surely_some(one.iter, constants))
            elif not surely_some(over, constants):
                yield over


@pytest.mark.parametrize("path", of_mathematics(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_check_goes_through_what_may_be_empty(path: Path) -> None:
    found = [f"line {one.lineno}: {ast.unparse(one)}" for one in doubtful(path.read_text(encoding="utf-8"))]
    assert not found, f"write some(...) (course_lib.checking) around what these checks go through: {found}"


def test_every_test_checks_something() -> None:
    """Itself, or by calling a function of the test folders that does."""
    checking: set[str] = set()
    others: dict[str, set[str]] = {}  # function -> the names that it calls, and the fixtures that it asks for
    tests = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(one, ast.FunctionDef):
                tests += [(path, one.name)] if one.name.startswith("test_") else []
                if checks_in(one):
                    checking.add(one.name)
                else:
                    others[one.name] = others.get(one.name, set()) | _called(one)
    while more := {name for name, called in others.items() if name not in checking and called & checking}:
        checking |= more
    assert [f"{path.name}::{name}" for path, name in some(tests) if name not in checking] == []


def _called(function: ast.FunctionDef) -> set[str]:
    calls = (one.func for one in ast.walk(function) if isinstance(one, ast.Call))
    names = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}
    return names | {one.arg for one in function.args.args}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("assert all(x > 0 for x in found())", ["found()"]),
        ("for x in found():\n    assert x", ["found()"]),
        (
            "for x in [y for y in (1, 2) if y > 3]:\n    np.testing.assert_allclose(x, 1)",
            ["[y for y in (1, 2) if y > 3]"],
        ),
        ("xs = []\nfor x in xs:\n    assert x", ["xs"]),
        ("xs = [1, 2]\nfor x in xs:\n    assert x", []),
        ("for x in some(found()):\n    assert x", []),
        ("for x in found():\n    total += x\nassert total", []),
        ("assert all(some(x.ok for x in found()))", []),
    ],
)
def test_what_may_be_empty_is_found(source: str, found: list[str]) -> None:
    assert [ast.unparse(one) for one in doubtful(textwrap.dedent(source))] == found
