"""A Sphinx extension that leaves on a page what is for readers.

A notebook stores more than that: the numbers that its text quotes ("slope = 0.25"), for the test that they have not
moved, and folded cells that import, publish, or draw. The page shows neither those lines nor an empty bar "Show the
code", unless open code of the page reads what they make; the notebook, which every page's buttons open, has them all.
And what an experiment gives at the scale of a page is folded where the page shows its stored run, the one to read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PUBLISHED = re.compile(r"([a-z0-9][\w-]*) = \S.*")
ANNOUNCED = re.compile(r"[A-Z]+\d*-\w+ at \w+ scale: \d+ of \d+ cells to run.*")
SHORT = 4  # lines: a bar "Show the code" is longer than folded code of this length
SHOWING = {"plots", "shared_plots", "plt", "stored", "HTML", "Table", "display"}  # calls that draw or print
PUBLISHING = {"publish", "scalars.publish", "findings.show"}
FOLDED = {"hide-input", "hide-cell"}
RUN = re.compile(r'(?:experiments\.run(?=.*\bto_html\()|table_of)\(\s*"([\w-]+)"', re.DOTALL)  # and shows it
STORED = re.compile(r'\bstored\(\s*"([\w-]+)"')
NEAR = 4  # cells: what stands between a small run and the stored one


def is_bookkeeping(lines: str, published: Collection[str]) -> bool:
    """Whether printed lines are only numbers that a notebook publishes, under these names, or what a run announces."""
    written = [line.strip() for line in lines.strip().splitlines()]
    return bool(written) and all(ANNOUNCED.fullmatch(line) or _name_of(line) in published for line in written)


def _name_of(line: str) -> str | None:
    """ "slope" of "slope = 0.25"."""
    found = PUBLISHED.fullmatch(line)
    return found[1] if found else None


def is_worth_showing(code: str) -> bool:
    """Whether folded code computes something: more than imports, published numbers, and calls that draw."""
    try:
        statements = ast.parse(code).body
    except SyntaxError:  # a magic of IPython
        return True
    return sum((one.end_lineno or one.lineno) - one.lineno + 1 for one in statements if not _only_tells(one)) > SHORT


def is_set_up(code: str) -> bool:
    """Whether a cell imports what the page needs."""
    try:
        return any(isinstance(one, ast.Import | ast.ImportFrom) for one in ast.parse(code).body)
    except SyntaxError:
        return False


def names(code: str, context: type[ast.expr_context]) -> set[str]:
    """The names that a piece of code reads (ast.Load) or gives values to (ast.Store; what it imports is none)."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a magic of IPython
        return set()
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}
    made = {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    return found | made if context is ast.Store else found


def _only_tells(statement: ast.stmt) -> bool:
    """Whether a statement imports, draws, or hands numbers to the text."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.For):
        return all(_only_tells(one) for one in statement.body)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    called = ast.unparse(statement.value.func)
    return called in PUBLISHING or called.split(".")[0] in SHOWING


def fold_small_runs(cells: list[nodes.container]) -> None:
    """Fold the output of an experiment at the page's scale where one of the next cells shows the stored run."""
    codes = [_code(cell) for cell in cells]
    for at, cell in enumerate(cells):
        run = RUN.search(codes[at])
        if run and run[1] in STORED.findall("\n".join(codes[at + 1 : at + 1 + NEAR])):
            cell["hide_mode"] = "output"
            cell["prompt_show"], cell["prompt_hide"] = "Show the small run of this page", "Hide the small run"


def published_names(app: Sphinx) -> set[str]:
    """The names under which the page that is read now publishes numbers, as MyST-NB collects them."""
    of_pages: Mapping[str, Mapping[str, Any]] = getattr(app.env, "nb_metadata", {})
    return set(of_pages.get(app.env.docname, {}).get("glue", ()))


def _stays(code: str, with_output: bool, needed: set[str]) -> bool:
    """Whether folded code stays behind its bar: it computes something, or makes what open code of the page reads."""
    if is_set_up(code):
        return with_output and is_worth_showing(code)
    return is_worth_showing(code) or bool(names(code, ast.Store) & needed)


def _code(cell: nodes.container) -> str:
    return "\n".join(part.astext() for part in cell.children if "cell_input" in part["classes"])


def _tags(cell: nodes.container) -> set[str]:
    return set(cell["cell_metadata"].get("tags", []))


def tidy(app: Sphinx, doctree: nodes.document) -> None:
    """Take the bookkeeping off a page."""
    published = published_names(app)
    cells = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]
    fold_small_runs(cells)
    needed = set().union(*(names(_code(cell), ast.Load) for cell in cells if not _tags(cell) & FOLDED))
    for cell in cells:
        for printed in [node for node in cell.findall(nodes.literal_block) if "stream" in node["classes"]]:
            if is_bookkeeping(printed.astext(), published):
                printed.parent.remove(printed)
        parts = {name: part for part in cell.children for name in part.get("classes", [])}
        shown = parts.get("cell_output")
        if shown is not None and not shown.children:
            cell.remove(shown)
        code = parts.get("cell_input")
        if code is not None and _tags(cell) & FOLDED and not _stays(code.astext(), "cell_output" in parts, needed):
            cell.remove(code)
            cell.attributes.pop("hide_mode", None)
        if not cell.children:
            cell.parent.remove(cell)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", tidy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
