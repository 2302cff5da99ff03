"""Run the book's notebooks and store them in their normal form.

Normal form: every code cell was run, in order, in a fresh kernel; text outputs are kept, so that tests can compare
them and readers of a diff can read them; images, widget views, cell ids, progress, timings and editor metadata are
dropped.
The same notebook gives the same bytes on every machine, up to the numbers that it computes.

Notebooks run side by side, and only those that must: outputs that the book's build has and that still hold are taken
from its cache (tools/execution.py).

    python -m tools.normalise [NOTEBOOK ...]           run where needed, rewrite (default: every notebook of the book)
    python -m tools.normalise --all [NOTEBOOK ...]     run them whether needed or not
    python -m tools.normalise --check [NOTEBOOK ...]   run nothing; fail when a notebook is not in normal form
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Collection
from glob import has_magic
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools import execution

ROOT = Path(__file__).resolve().parents[1]
KEPT_OUTPUTS = ("text/plain", "text/html", "text/markdown", "text/latex", "application/papermill.record/text/plain")
KEPT_CELL_METADATA = ("tags", "mystnb", "nbgrader")
KEPT_OUTPUT_METADATA = ("scrapbook",)
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# What a run says of itself where its cells are not stored yet: it depends on what ran before.
PROGRESS = re.compile(r"^.* cells to run, .* on 2 cores\n|^.*\d+%\|.*\| \d+/\d+ \[.*\]$", re.MULTILINE)
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
read = execution.read


def clean(notebook: NotebookNode) -> NotebookNode:
    """The normal form of a notebook that was run. Changes nothing in a notebook that already has this form."""
    cells = [_clean_cell(cell) for cell in notebook.cells if cell.source.strip() or cell.cell_type != "code"]
    for number, cell in enumerate((cell for cell in cells if cell.cell_type == "code"), start=1):
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    own = {"course": notebook.metadata.course} if "course" in notebook.metadata else {}  # such as {"draft": true}
    metadata = nbformat.from_dict(own | NOTEBOOK_METADATA)
    return NotebookNode(cells=cells, metadata=metadata, nbformat=4, nbformat_minor=4)


def _clean_cell(cell: NotebookNode) -> NotebookNode:
    """One cell without id, without editor metadata, and with its text outputs only."""
    kept = {key: cell.metadata[key] for key in KEPT_CELL_METADATA if cell.metadata.get(key)}
    result = NotebookNode(cell_type=cell.cell_type, metadata=nbformat.from_dict(kept), source=cell.source.strip("\n"))
    if cell.cell_type == "code":
        result.execution_count = cell.execution_count
        result.outputs = _clean_outputs(cell.outputs)
    return result


def _clean_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Standard output merged into one stream at the place of its first line, then what was displayed, as text."""
    result: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "error":
            raise ValueError(f"outputs: got the error {output.ename}: {output.evalue}, expected a cell that runs")
        if output.output_type == "stream":
            if output.name == "stdout" and _clean_text(output.text):
                _append_text(result, output.text)
            continue
        data = {kind: _clean_text(output.data[kind]) for kind in KEPT_OUTPUTS if kind in output.data}
        if any(data.values()):
            metadata = {
                key: {name: text for name, text in output.metadata[key].items() if name != "value"}  # digits differ
                for key in KEPT_OUTPUT_METADATA
                if key in output.metadata
            }
            result.append(nbformat.from_dict({"output_type": output.output_type, "data": data, "metadata": metadata}))
    return result


def _append_text(outputs: list[NotebookNode], text: str) -> None:
    """Add to the cell's one stream of standard output."""
    for output in outputs:
        if output.output_type == "stream":
            output.text += _clean_text(text)
            return
    outputs.append(NotebookNode(output_type="stream", name="stdout", text=_clean_text(text)))


def _clean_text(text: str) -> str:
    """Text without progress, and without addresses in memory, which differ in every run."""
    return ADDRESS.sub("0x0", PROGRESS.sub("", text))


def write_text(notebook: NotebookNode) -> str:
    """The bytes of a notebook: sorted keys, one space of indentation, a newline at the end."""
    text: str = nbformat.writes(notebook, version=nbformat.NO_CONVERT, indent=1, sort_keys=True)
    return text.rstrip("\n") + "\n"


def faults(path: Path) -> list[str]:
    """Why a stored notebook is not in normal form; empty when it is. Runs nothing."""
    notebook = read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if code and all(cell.execution_count is None for cell in code):
        return ["it was never run"]
    found = [
        f"code cell {number} was not run, or not in order (its count is {cell.execution_count})"
        for number, cell in enumerate(code, start=1)
        if cell.execution_count != number
    ]
    if not found and write_text(clean(notebook)) != path.read_text(encoding="utf-8"):
        found.append("it holds images, ids, widget views, metadata or an order of keys that the normal form has not")
    return found


def store(path: Path, executed: NotebookNode) -> None:
    """Store the normal form of a notebook that was run, and say whether that changed the file."""
    text = write_text(clean(executed))
    changed = text != path.read_text(encoding="utf-8")
    if changed:
        path.write_text(text, encoding="utf-8")
    print(f"{path}: {'rewritten' if changed else 'as it was'}", flush=True)


def run_and_store(paths: list[Path], stored: Collection[Path], *, everything: bool = False) -> None:
    """Run the notebooks that must run, or ``everything``, and store the normal form of those in ``stored``."""
    cache = execution.Cache()
    before = {path: path.read_text(encoding="utf-8") for path in stored}
    try:
        for path in stored:  # the cache knows a notebook by its cells with their metadata: an editor's go first
            path.write_text(write_text(clean(_without_outputs(read(path)))), encoding="utf-8")
        execution.refresh(paths, cache, everything=everything)
    except BaseException:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
        raise
    for path in stored:
        store(path, cache.notebook(path))


def _without_outputs(notebook: NotebookNode) -> NotebookNode:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    return notebook


def edited(paths: list[Path], root: Path = ROOT) -> list[Path]:
    """The notebooks that differ from git's last commit, or that git does not know; none where there is no git."""
    names: set[str] = set()
    for asked in (["diff", "--name-only", "--relative", "-z", "HEAD"], ["ls-files", "--others", "-z"]):
        try:
            done = subprocess.run(["git", *asked, "--", "book"], cwd=root, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return []
        names |= set(done.stdout.split("\0"))
    return [path for path in paths if path.relative_to(root).as_posix() in names]


def check(paths: list[Path]) -> bool:
    """Whether all notebooks are in normal form; prints what is wrong with those that are not."""
    found = [(path, fault) for path in paths for fault in faults(path)]
    for path, fault in found:
        print(f"{path}: {fault}. Run: python -m tools.normalise {path}")
    return not found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="notebooks (default: all of the book)")
    parser.add_argument("--all", action="store_true", help="run also those whose outputs still hold")
    parser.add_argument("--check", action="store_true", help="run nothing; fail when one is not in normal form")
    options = parser.parse_args(arguments)
    if lost := [str(path) for path in options.notebooks if not path.is_file()]:
        parser.error(f"no such notebook: {', '.join(lost)}; expected paths such as book/start/data.ipynb")
    paths = [path.resolve() for path in options.notebooks] or execution.book_notebooks()
    if options.check:
        return 0 if check(paths) else 1
    refuse_patterns(ROOT)
    try:
        run_and_store(paths, paths, everything=options.all)
    except execution.NotebookFailed as error:
        sys.exit(f"a notebook stopped the build\n{error}")
    return 0


def refuse_patterns(folder: Path) -> None:
    """Stop before any work in a path that sphinx-external-toc would read as a pattern.

    Every file that the table of contents does not name, such as the README, would then be a page of the book.
    """
    if has_magic(str(folder)):
        sys.exit(f"{folder}: [ ], * and ? may not stand in the path of the checkout; rename the folder")


if __name__ == "__main__":
    sys.exit(main())
