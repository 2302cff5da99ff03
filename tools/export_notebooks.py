"""Writes the copies of the notebooks that Binder and Colab open, and what a Binder needs to run them.

    python -m tools.export_notebooks OUT           `make notebooks`, into _build/notebooks
    python -m tools.export_notebooks OUT --lab     `make lab`: the notebooks alone, to work in

OUT becomes the content of the branch `notebooks`: every notebook of the book in plain Markdown, with a first cell that
installs the course where Colab runs it; course_lib and the stored results; .binder/. The same sources give the same
bytes. For the lab, a copy that is as this tool wrote it is renewed when the course changes; one that was changed, be it
only run and saved, is left alone: whoever wants the new one deletes or renames theirs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from course_lib import outputs
from tools import editions, normalise
from tools.course_index import GLUE, Index, Unknown
from tools.plain_markdown import PlainMarkdown

ROOT = Path(__file__).resolve().parents[1]
BRANCH = "notebooks"
COPIED = (".binder", "course_lib", "book/results", "pyproject.toml", "requirements.txt", "LICENSE", "LICENSE-text")
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "*.pyc")
KEPT_TAGS = ("parameters", "raises-exception")
HIDDEN_TAGS = ("hide-input", "hide-cell", "remove-input", "remove-cell")
WIDGET_MARK = "data-course-widget="
LIST = ".copies.json"  # of what `make lab` wrote: copy -> hash

INSTALL = """\
#@title Run this cell first: on Colab it installs the course, elsewhere it does nothing
# Of what the course needs, only what is missing comes: no package that is here changes its version.
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

if "COLAB_RELEASE_TAG" in os.environ:
    folder = Path("NAME").resolve()
    if not folder.exists():
        clone = ["git", "clone", "--quiet", "--depth", "1", "--branch", "BRANCH"]
        subprocess.run([*clone, "ADDRESS", folder], check=True)
    if importlib.util.find_spec("course_lib") is None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        here = subprocess.check_output([*pip, "list", "--format=freeze"], text=True)
        held = folder / "held.txt"  # what is here, at its version
        held.write_text(here)
        done = subprocess.run(
            [*pip, "install", "--constraint", held, f"{folder}[lessons]"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        if done.returncode:
            raise RuntimeError(
                "The course needs a newer version of a package than the one that is here, or pip found no"
                f" network. Nothing was changed. What pip says:\\n{done.stdout}"
            )
        importlib.invalidate_caches()
    # after a restart of the session, too, which keeps what is installed
    os.environ["COURSE_RESULTS"] = str(folder / "book" / "results")
    if "google.colab" in sys.modules:  # lets Colab show the interactives
        from google.colab import output

        output.enable_custom_widget_manager()
"""

README = """\
# {title}: notebooks to run

Copies of the notebooks of [{title}]({site}/), in plain Markdown, and the code that they import.
Binder and Colab open them from here. This branch is written by `tools/export_notebooks.py`; change the sources in
[the repository]({repository}) instead.
"""


def top_cells(index: Index, page: str, branch: str = BRANCH) -> list[NotebookNode]:
    """The two cells that a copy starts with: where it comes from, and the installation on Colab, from its branch."""
    title, book = index.pages[page].title, editions.title()
    home = f"[{title}]({index.url(page)})"
    text = (
        f"*This notebook is a copy of {home}, a page of the course [{book}]({index.site}/). "
        "The page shows everything that runs here.*"
    )
    install = (
        INSTALL.replace("ADDRESS", index.repository)
        .replace("NAME", index.repository.rpartition("/")[2])
        .replace("BRANCH", branch)
    )
    folded = {"cellView": "form", "jupyter": {"source_hidden": True}}  # Colab's word for it, and JupyterLab's
    return [new_markdown_cell(text), new_code_cell(install.rstrip("\n"), metadata=folded)]


def export(index: Index, page: str, branch: str = BRANCH) -> NotebookNode:
    """The plain copy of one notebook, for a branch that Colab installs the course from."""
    source = index.source(page)
    writer = PlainMarkdown(index, page)
    cells = top_cells(index, page, branch)
    for number, cell in enumerate(normalise.read(source).cells):
        try:
            cells += _plain_cells(cell, writer)
        except (Unknown, ValueError, StopIteration) as error:
            raise Unknown(f"{source.relative_to(index.root)}, cell {number}: {error}") from error
    for cell in cells:
        cell.pop("id", None)  # random, and unknown to version 4.4
    return NotebookNode(
        cells=cells, metadata=nbformat.from_dict(normalise.NOTEBOOK_METADATA), nbformat=4, nbformat_minor=4
    )


def _plain_cells(cell: NotebookNode, writer: PlainMarkdown) -> list[NotebookNode]:
    """A cell's copy, with a cell for the caption of the figure that it draws; none for a cell of labels only."""
    if cell.cell_type == "markdown":
        text = writer.convert(cell.source)
        return [new_markdown_cell(text)] if text else []
    if cell.cell_type != "code":
        raise Unknown(f"cell: got the type {cell.cell_type!r}, expected markdown or code")
    tags = cell.metadata.get("tags", [])
    metadata: dict[str, Any] = {"tags": kept} if (kept := [tag for tag in tags if tag in KEPT_TAGS]) else {}
    if any(tag in HIDDEN_TAGS for tag in tags):
        metadata["jupyter"] = {"source_hidden": True}
    made = new_code_cell(
        cell.source, metadata=metadata, outputs=[output for output in cell.outputs if _is_readable(output)]
    )
    picture = cell.metadata.get("mystnb", {})
    caption, alt = picture.get("figure", {}).get("caption", ""), picture.get("image", {}).get("alt", "")
    if picture.get("figure") and not caption:
        raise Unknown("figure: it has no caption")
    return [made, new_markdown_cell(writer.caption(caption, alt))] if caption or alt else [made]


def _is_readable(output: NotebookNode) -> bool:
    """Whether a stored output says something without the site:
    no glued numbers, no picture's placeholder, no interactive.
    """
    data = output.get("data", {})
    text = data.get("text/plain", "")
    return not (GLUE in data or text.startswith("<Figure size") or WIDGET_MARK in data.get("text/html", ""))


def replaceable(folder: Path) -> list[Path]:
    """What an older export left in the folder, its .git apart; stops the program if the folder holds anything else."""
    found = [path for path in folder.iterdir() if path.name != ".git"] if folder.is_dir() else []
    readme = folder / "README.md"
    if found and not (readme.is_file() and "tools/export_notebooks.py" in readme.read_text(encoding="utf-8")):
        raise SystemExit(f"{folder} holds something else than an earlier export; name an empty or a new folder")
    return found


def write(out: Path, root: Path = ROOT, branch: str = BRANCH) -> list[str]:
    """Write the whole branch into a folder; returns the pages."""
    old = replaceable(out)
    index = Index(root)
    copies = {page: normalise.write_text(export(index, page, branch)) for page in index.notebooks()}
    for path in old:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    out.mkdir(parents=True, exist_ok=True)
    for page, text in copies.items():
        target = out / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for name in COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, out / name, ignore=NOT_COPIED)
        else:
            shutil.copy(source, out / name)
    readme = README.format(title=editions.title(), site=index.site, repository=index.repository)
    (out / "README.md").write_text(readme, encoding="utf-8")
    return list(copies)


def renew(folder: Path, copies: dict[str, str]) -> list[str]:
    """Write the copies (path -> text) that nobody has changed; returns those that were left although they are old."""
    known = folder / LIST
    written: dict[str, str] = json.loads(known.read_text(encoding="utf-8")) if known.is_file() else {}
    left = []
    for name, text in copies.items():
        path, new = folder / name, _hash(text)
        if path.is_file() and _hash(path.read_text(encoding="utf-8")) != written.get(name):
            left += [name] if written.get(name) != new else []
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written[name] = new
    folder.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return left


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def plain_copies() -> dict[str, str]:
    """Path below the folder, such as "sampling/my-topic.ipynb" -> text of the copy."""
    index = Index()
    pages = {page: export(index, page) for page in index.notebooks()}
    return {f"{page.removeprefix('book/')}.ipynb": normalise.write_text(copy) for page, copy in pages.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="a new or empty folder, or an earlier export")
    parser.add_argument(
        "--lab", action="store_true", help="the notebooks alone, and never over what a reader has changed"
    )
    given, start = parser.parse_args(), time.perf_counter()
    try:
        out = outputs.folder(given.out, "out")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if given.lab:
        for name in renew(out, plain_copies()):
            print(f"{out / name}: left, for you changed it; the course has a newer one (delete yours to get it)")
        return 0
    try:
        pages = write(out)
    except Unknown as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{out}: {len(pages)} notebooks in {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
