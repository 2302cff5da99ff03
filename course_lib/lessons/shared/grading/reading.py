"""What stands in a cell of code, as IPython reads it: magics and shell lines are calls, and no line is taken out."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from IPython.core.inputtransformer2 import TransformerManager

_RUNS_ITS_BODY = re.compile(r"\A\s*%%(time|capture|prun)\b.*\n?")
_MARKED = re.compile(r"^\s*[%!?,;/]|=\s*[%!]|\?\s*$", re.MULTILINE)
MOST_WORK = 300_000
"""Characters that IPython may look at: for each line that may be a magic it reads the whole cell once more."""
CELLS = 512
"""Of how many cells is kept what they are: more than a notebook has, which is asked once for each answer."""
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, RuntimeError)


def tree(source: str) -> ast.Module | None:
    """The syntax tree of a cell; None where it is no Python, also after IPython's own rules."""
    return _read(source)[1]


def python_only(source: str) -> str:
    """The Python of a cell, with calls in place of its magics; the cell as it stands where it is no Python."""
    return _read(source)[0]


def _read(source: str) -> tuple[str, ast.Module | None]:
    for read in (str, _transformed):
        try:
            text = read(source)
            return text, ast.parse(text)
        except _UNREADABLE:
            continue
    return source, None


def _transformed(source: str) -> str:
    """The Python that IPython makes of a cell. The body of `%%time` and its like is the notebook's own code."""
    body = _RUNS_ITS_BODY.sub("", source)
    if len(_MARKED.findall(body)) * len(body) > MOST_WORK:
        raise ValueError("more magics than a person writes")
    return str(TransformerManager().transform_cell(body))


@lru_cache(CELLS)
def defined(source: str) -> frozenset[str]:
    """The names that some code defines at its top; none where it is no Python."""
    found: set[str] = set()
    for node in _body(source):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return frozenset(found)


def _body(source: str) -> list[ast.stmt]:
    found = tree(source)
    return found.body if found else []


@lru_cache(CELLS)
def is_idle(source: str) -> bool:
    """Whether some code does nothing but import, explain, and define functions that raise."""
    found = tree(source)
    return found is not None and all(map(_is_idle, found.body))


def _is_idle(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        *before, last = node.body
        return isinstance(last, ast.Raise) and all(_is_idle(one) for one in before)
    return isinstance(node, (ast.Import, ast.ImportFrom)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
