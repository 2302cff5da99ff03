"""course_lib/dependencies.py: the files behind a piece of code, and a hash that comments do not change."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.dependencies import code_hash, dependencies

FILES = {
    "lib/__init__.py": "",
    "lib/arrays.py": "one = 1\n",
    "lib/maths/__init__.py": "",
    "lib/maths/shapes.py": '"""Shapes."""\n\n\ndef area(side):\n    """A square\'s."""\n    from lib import arrays\n\n'
    "    return side * arrays.one\n",
    "lib/models/__init__.py": "from lib.models.losses import loss\n",
    "lib/models/losses.py": "from ..maths import shapes\n\n\ndef loss():\n    return shapes.area(2)\n",
    "lib/lessons/__init__.py": "",
    "lib/lessons/bias/__init__.py": "from lib.lessons.bias import drawing, findings\n",
    "lib/lessons/bias/findings.py": 'def grows():\n    """After minus before."""\n',
    "lib/lessons/bias/drawing.py": "from lib.maths.shapes import area\n",
    "lib/lessons/bias/words.js": "// words\n",
    "lib/lessons/bias/tables/numbers.csv": "1,2\n",
    "lib/lessons/norms/__init__.py": "two = 2\n",
    "lib/command.py": 'from importlib import import_module\n\nCOMMANDS = {"norms": "lib.lessons.norms"}\n'
    "run = import_module\nmain = lambda name: import_module(COMMANDS[name])\n",
    "lib/typed.py": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from lib.lessons import norms\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small package: rooms, two lessons, a command that imports by name."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def names(root: Path, source: str) -> set[str]:
    """The files behind some code, without the package's own ``__init__``, which is behind everything."""
    found = {path.relative_to(root / "lib").as_posix() for path in dependencies(source, root, "lib")}
    return found - {"__init__.py"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numpy", set()),
        ("from lib import arrays", {"arrays.py"}),
        ("import lib.arrays as a", {"arrays.py"}),
        ("from lib.maths import shapes", {"maths/__init__.py", "maths/shapes.py", "arrays.py"}),
        ("import lib.maths.shapes as s", {"maths/__init__.py", "maths/shapes.py", "arrays.py"}),
        ("lib.maths.shapes", {"maths/__init__.py", "maths/shapes.py", "arrays.py"}),  # a module by its name
        ("def f():\n    from lib.maths.shapes import area", {"maths/__init__.py", "maths/shapes.py", "arrays.py"}),
        ("from lib.typed import x", {"typed.py"}),
        ("if TYPE_CHECKING:\n    import lib.arrays\nelse:\n    import lib.typed", {"typed.py"}),
        ("if now:\n    import lib.typed\nelif TYPE_CHECKING:\n    import lib.arrays", {"typed.py"}),
        ("import typing\nif typing.TYPE_CHECKING:\n    if now:\n        import lib.arrays", set()),
        ("from lib import command", {"command.py", "lessons/__init__.py", "lessons/norms/__init__.py"}),
    ],
)
def test_the_files_behind_some_code_are_found(root: Path, source: str, expected: set[str]) -> None:
    assert names(root, source) == expected


def test_a_lesson_brings_its_data_its_packages_and_no_other_lesson(root: Path) -> None:
    found = names(root, "from lib.lessons import bias")
    lesson = {"lessons/__init__.py", "lessons/bias/__init__.py", "lessons/bias/drawing.py", "lessons/bias/findings.py"}
    data = {"lessons/bias/words.js", "lessons/bias/tables/numbers.csv"}
    assert found == lesson | data | {"maths/__init__.py", "maths/shapes.py", "arrays.py"}


def test_relative_imports_lead_to_the_same_files(root: Path) -> None:
    assert {"models/losses.py", "maths/shapes.py", "arrays.py"} <= names(root, "from lib.models import losses")


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "same"),
    [
        ("maths/shapes.py", '"""Shapes."""', '"""Shapes, and what they are good for."""\n# a comment', True),
        ("maths/shapes.py", '"""A square\'s."""', '"""The area of a square."""', True),
        ("maths/shapes.py", "side * arrays.one", "side*arrays.one  # formatted otherwise", True),
        ("maths/shapes.py", "side * arrays.one", "side + arrays.one", False),
        ("arrays.py", "one = 1", "one = 2", False),
        ("lessons/bias/findings.py", "After minus before", "Before minus after", False),  # a page shows it
        ("lessons/bias/words.js", "words", "other words", False),
        ("lessons/bias/tables/numbers.csv", "2", "3", False),
        ("lessons/norms/__init__.py", "two = 2", "two = 3", True),
    ],
)
def test_the_hash_of_a_lesson_changes_with_what_it_does(root: Path, name: str, old: str, new: str, same: bool) -> None:
    def now() -> str:
        return code_hash(dependencies("lib.lessons.bias", root, "lib"), root)

    before = now()
    edited(root / "lib" / name, old, new)
    assert (now() == before) is same


def test_a_file_that_goes_or_moves_changes_the_hash(root: Path) -> None:
    paths = dependencies("lib.lessons.bias", root, "lib")
    before = code_hash(paths, root)
    (root / "lib/lessons/bias/words.js").unlink()
    assert code_hash(paths, root) != before
    assert code_hash([root / "lib/arrays.py"], root) != code_hash([root / "lib/maths/__init__.py"], root)


def test_what_cannot_be_parsed_counts_as_it_is_written(root: Path) -> None:
    path = root / "lib" / "arrays.py"
    path.write_text("one = (  # a\n")
    before = code_hash([path], root)
    path.write_text("one = (  # another comment\n")
    assert code_hash([path], root) != before


def test_the_hash_is_the_same_under_every_version_of_python(root: Path) -> None:
    """Each version has fields of its own in its trees; CI runs this under the oldest and the newest."""
    path = root / "lib" / "arrays.py"
    path.write_text(
        'from . import b\n@c\nclass A(B, x=1):\n    y: int = -2.5\n\n    async def f(self, *a, k=None, **o) -> "A":\n'
        '        """Said."""\n        u"é\\U0001fae8"\n        return [f"{a!r:<{k}} {b}" "" for a, b in o'
        " if a is not None and not b[1:]]\n"
        "try:\n    pass\nexcept* C:\n    lambda: (yield)\n",
        encoding="utf-8",
    )
    assert code_hash([path], root) == "040de109386468e947a802da148b2f2205236a308a37e336359945061e84e7c0"
