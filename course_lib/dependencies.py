"""What a piece of code depends on: the files of a package that it imports, near and far, and the data beside them.

Nothing is imported here: the files are read. A comment or a docstring is no part of what code does, and so no part of
its hash; but all of a lesson's `findings.py` is, because the page shows its docstrings. The cache of executed notebooks
stands on this, and the stored results of experiments, which must know whether the code that made them has changed.
"""

from __future__ import annotations

import ast
import hashlib
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "course_lib"
SHOWN = {"findings.py"}  # modules whose docstrings a page shows
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef  # what may have a docstring
LEFT_OUT = {"__pycache__", ".ipynb_checkpoints", "py.typed", "claims.yml"}  # no code reads claims


def dependencies(module_or_source: str, root: Path = ROOT, package: str = PACKAGE) -> frozenset[Path]:
    """Return the files of a package that a module or a piece of source code depends on.

    Parameters
    ----------
    module_or_source : str
        The dotted name of a module, or source code.
    root : Path
        The folder that holds the package.
    package : str
        The name of the package. Only its files count.

    Returns
    -------
    frozenset of Path
        The files: the modules that it imports anywhere, those that these import, the ``__init__`` of every package on
        the way, and the data files beside all of them. Of a module, its own file is one of them.

    Raises
    ------
    SyntaxError
        For source code that cannot be parsed.

    Notes
    -----
    Nothing is imported, the files are read. A module that imports by name at run time depends on every module that one
    of its strings names.

    Examples
    --------
    >>> from course_lib.dependencies import dependencies
    >>> sorted(path.name for path in dependencies("course_lib.geometry"))
    ['__init__.py', 'arrays.py', 'checking.py', 'geometry.py']
    >>> sorted(path.name for path in dependencies("from course_lib import checking"))
    ['__init__.py', 'checking.py']
    """
    return Imports(root, package).closure(module_or_source)


def code_hash(paths: Iterable[Path], root: Path = ROOT) -> str:
    """Return a hash over the names and contents of files; of Python files, over what they do.

    Comments and docstrings are no part of what a Python file does.

    Parameters
    ----------
    paths : iterable of Path
        The files, in any order. A file that is not there has a hash too.
    root : Path
        The names of files below it are taken relative to it.

    Returns
    -------
    str
        The SHA-256 hash, 64 hexadecimal digits.

    Notes
    -----
    Of the files named ``findings.py`` all of the content counts, because a lesson's page shows their docstrings.

    Examples
    --------
    A comment changes nothing, another value does:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from course_lib.dependencies import code_hash
    >>> hashes = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for text in ("x = 1", "x = 1  # one", "x = 20"):
    ...         _ = Path(folder, "code.py").write_text(text)
    ...         hashes.append(code_hash([Path(folder, "code.py")]))
    >>> hashes[0] == hashes[1], hashes[0] == hashes[2]
    (True, False)
    """
    digest = hashlib.sha256()
    for path in sorted(set(paths)):
        name = path.relative_to(root) if path.is_relative_to(root) else path
        digest.update(f"{name}\0{_file_hash(path)}\0".encode())
    return digest.hexdigest()


def _file_hash(path: Path) -> str:
    """The hash of one file, computed again only when the file has changed; a file that is not there has one too."""
    if not path.is_file():
        return "missing"
    status = path.stat()
    return _hash_of_state(path, status.st_mtime_ns, status.st_size)


@cache
def _hash_of_state(path: Path, _mtime: int, _size: int) -> str:
    content = path.read_bytes()
    if path.suffix == ".py" and path.name not in SHOWN:
        content = meaning(content)
    return hashlib.sha256(content).hexdigest()


def meaning(source: bytes) -> bytes:
    """Return what a Python file does: its syntax tree without docstrings.

    Parameters
    ----------
    source : bytes
        The content of the file.

    Returns
    -------
    bytes
        The tree as text, the same for every version of Python. A file that cannot be parsed is returned as it is.

    Examples
    --------
    >>> from course_lib.dependencies import meaning
    >>> meaning(b"def double(x): return 2 * x") == meaning(b"def double(x): 'Twice x.'; return 2*x  # fast")
    True
    >>> meaning(b"def double(x): return 2 * x") == meaning(b"def double(x): return x + x")
    False
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    return _written(tree).encode()


def _written(node: object) -> str:
    """As `ast.dump`, but without docstrings, empty fields, empty pieces of text and the u of u"", which versions of
    Python treat differently, and in ASCII: what `repr` prints as it is depends on the version's Unicode.
    """
    if isinstance(node, list):
        return f"[{', '.join(map(_written, node))}]"
    if not isinstance(node, ast.AST):
        return ascii(node)
    parts = []
    for name in node._fields:
        value: Any = getattr(node, name, None)
        if name == "body" and isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            value = value[1:]
        elif name == "values" and isinstance(node, ast.JoinedStr):
            value = [one for one in value if not (isinstance(one, ast.Constant) and one.value == "")]
        if name != "kind" and value is not None and value != []:
            parts.append(f"{name}={_written(value)}")
    return f"{type(node).__name__}({', '.join(parts)})"


def strings_of(source: str) -> frozenset[str]:
    """Return every text constant of a piece of code, docstrings included.

    Parameters
    ----------
    source : str
        The source code.

    Returns
    -------
    frozenset of str
        The texts.

    Raises
    ------
    SyntaxError
        For source code that cannot be parsed.

    Examples
    --------
    >>> from course_lib.dependencies import strings_of
    >>> sorted(strings_of("print('hello', 'world', 3)"))
    ['hello', 'world']
    """
    return frozenset(
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


class Imports:
    """Read the import graph of one package from its files, when asked.

    Each module is read once: an object does not see what is changed later.

    Parameters
    ----------
    root : Path
        The folder that holds the package.
    package : str
        The name of the package.

    Examples
    --------
    What a module imports by itself, and the number of files that it depends on:

    >>> from course_lib.dependencies import Imports
    >>> imports = Imports()
    >>> sorted(imports.direct("course_lib.geometry"))
    ['course_lib', 'course_lib.arrays', 'course_lib.checking']
    >>> len(imports.closure("course_lib.geometry"))
    4
    """

    def __init__(self, root: Path = ROOT, package: str = PACKAGE) -> None:
        self.root, self.package = root, package
        self._found: dict[str, Path | None] = {}
        self._direct: dict[str, frozenset[str]] = {}

    def closure(self, module_or_source: str, *, without: Collection[str] = ()) -> frozenset[Path]:
        """See `dependencies`. without: modules that do not count, nor what only they import."""
        start = {module_or_source} if self.file_of(module_or_source) else self.imported_by(module_or_source)
        modules: set[str] = set()
        queue = deque(name for one in start for name in self.with_parents(one))
        while queue:
            name = queue.popleft()
            if name in modules or name in without:
                continue
            modules.add(name)
            queue.extend(parent for one in self.direct(name) for parent in self.with_parents(one))
        files = {file for file in map(self.file_of, modules) if file}
        return frozenset(files | {data for folder in {file.parent for file in files} for data in data_files(folder)})

    def file_of(self, name: str) -> Path | None:
        """The file of a module by its dotted name: a module's own, or a package's ``__init__``."""
        if name not in self._found:
            parts = name.split(".")
            self._found[name] = None
            if parts[0] == self.package and all(part.isidentifier() for part in parts):
                base = self.root.joinpath(*parts)
                places = (base / "__init__.py", base.with_name(f"{base.name}.py"))
                self._found[name] = next((place for place in places if place.is_file()), None)
        return self._found[name]

    def is_package(self, name: str) -> bool:
        """Whether a dotted name is a package with an ``__init__``."""
        file = self.file_of(name)
        return file is not None and file.name == "__init__.py"

    def with_parents(self, name: str) -> list[str]:
        """A module and the packages that hold it: Python runs all of their ``__init__``."""
        parts = name.split(".")
        return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]

    def direct(self, name: str) -> frozenset[str]:
        """The modules that a module imports by itself."""
        if name not in self._direct:
            file = self.file_of(name)
            self._direct[name] = self.imported_by(file.read_text(encoding="utf-8"), name) if file else frozenset()
        return self._direct[name]

    def imported_by(self, source: str, importer: str = "") -> frozenset[str]:
        """The modules that a piece of code imports anywhere, also inside functions; ``importer``: its name."""
        nodes = list(_nodes_that_run(ast.parse(source)))
        found: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Import):
                found |= {module for alias in node.names for module in self.modules_of(alias.name)}
            elif isinstance(node, ast.ImportFrom):
                base = self._base_of(node, importer)
                found |= {module for alias in node.names for module in self.modules_of(f"{base}.{alias.name}")}
        if _imports_by_name(nodes):
            found |= {name for name in strings_of(source) if self.file_of(name)}
        return frozenset(found)

    def modules_of(self, name: str) -> list[str]:
        """The modules on the way to a dotted name; of one that goes on into a module (a function, say), to there."""
        return [one for one in self.with_parents(name) if self.file_of(one)]

    def _base_of(self, node: ast.ImportFrom, importer: str) -> str:
        """The absolute name of X in ``from X import a``."""
        if not node.level:
            return node.module or ""
        parents = importer.split(".") if self.is_package(importer) else importer.split(".")[:-1]
        return ".".join([*parents[: len(parents) - node.level + 1], *([node.module] if node.module else [])])


def _nodes_that_run(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, but for what only a type checker imports: the body of ``if TYPE_CHECKING``.

    The condition and the other branches count.
    """
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        for name in node._fields:
            if name == "body" and isinstance(node, ast.If) and _asks_for_types(node.test):
                continue
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    waiting.append(child)


def _asks_for_types(test: ast.expr) -> bool:
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING"


def data_files(folder: Path) -> Iterator[Path]:
    """Yield the files beside a folder's modules that are no modules, also those in folders below that hold no code.

    Parameters
    ----------
    folder : Path
        The folder.

    Yields
    ------
    Path
        The files. Left out are ``__pycache__``, ``.ipynb_checkpoints``, ``py.typed``, and the claims of a lesson, which
        no code of the library reads.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from course_lib.dependencies import data_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("code.py", "names.json", "readme.txt"):
    ...         Path(folder, name).touch()
    ...     print([path.name for path in data_files(Path(folder))])
    ['names.json', 'readme.txt']
    """
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_OUT or path.suffix in {".py", ".pyc"}:
            continue
        if path.is_file():
            yield path
        elif not any(path.rglob("*.py")):
            yield from data_files(path)


def _imports_by_name(nodes: list[ast.AST]) -> bool:
    """Whether code calls ``import_module`` or ``__import__``."""
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    names = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in called}
    return bool(names & {"import_module", "__import__"})
