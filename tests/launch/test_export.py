"""The folder that becomes the branch `notebooks`: complete, plain, the same each time, and true to the site."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import nbformat
import pytest

from tests.launch.environments import CHAPTER
from tests.site.html_pages import read_page
from tools import execution, export_notebooks, normalise
from tools.course_index import Index

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]
NOT_PLAIN = {
    "a role": re.compile(r"\{[a-z:]+\}`"),
    "a directive": re.compile(r"^\s*(:{3,}|`{3,}\{)", re.MULTILINE),
    "a label": re.compile(r"^\([\w-]+\)=|^:label:", re.MULTILINE),
    "a numbered formula": re.compile(r"^\$\$ *\([\w-]+\)", re.MULTILINE),
    "a relative link": re.compile(r"\]\((?!https?://|mailto:)"),
    "a formula that runs over lines of a quote": re.compile(r"^>[^$\n]*\$\$[^$]*\n", re.MULTILINE),
}
SPANS = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def copies(folder: Path) -> dict[str, nbformat.NotebookNode]:
    paths = sorted((folder / "book").rglob("*.ipynb"))
    return {path.relative_to(folder).with_suffix("").as_posix(): nbformat.read(path, as_version=4) for path in paths}


def prose(notebook: nbformat.NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_every_notebook_of_the_book_is_exported(exported: Path, index: Index) -> None:
    assert set(copies(exported)) == set(index.notebooks())
    assert {path.relative_to(ROOT).with_suffix("").as_posix() for path in execution.book_notebooks()} == set(
        index.notebooks()
    )


def test_the_branch_holds_what_binder_and_colab_need(exported: Path) -> None:
    for name in (
        ".binder/requirements.txt",
        ".binder/postBuild",
        "requirements.txt",
        "pyproject.toml",
        "course_lib/__init__.py",
        "LICENSE",
        "book/results/P3-T3-laptop.json",
        "README.md",
    ):
        assert (exported / name).is_file(), name
    assert list(exported.rglob("__pycache__")) == []


def test_every_copy_is_a_valid_notebook(exported: Path) -> None:
    for notebook in copies(exported).values():
        nbformat.validate(notebook)


@pytest.mark.parametrize("what", NOT_PLAIN)
def test_no_copy_holds(exported: Path, what: str) -> None:
    found = {
        page: NOT_PLAIN[what].findall(SPANS.sub("", prose(notebook))) for page, notebook in copies(exported).items()
    }
    assert {page: marks for page, marks in found.items() if marks} == {}


def test_code_is_copied_letter_by_letter(exported: Path) -> None:
    for page, notebook in copies(exported).items():
        original = [cell.source for cell in normalise.read(ROOT / f"{page}.ipynb").cells if cell.cell_type == "code"]
        assert [cell.source for cell in notebook.cells if cell.cell_type == "code"][1:] == original


def test_every_copy_begins_with_its_home_and_the_installation(exported: Path, index: Index) -> None:
    for page, notebook in copies(exported).items():
        home, install = notebook.cells[:2]
        assert index.url(page) in home.source and index.pages[page].title in home.source
        assert install.cell_type == "code" and index.repository in install.source
        compile(install.source, "install", "exec")


@pytest.mark.pipeline
def test_two_exports_are_equal(exported: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "tools.export_notebooks", str(tmp_path / "again")],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    first, second = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and ".git" not in path.parts
        }
        for folder in (exported, tmp_path / "again")
    )
    assert first == second


@pytest.mark.pipeline
def test_an_older_export_is_replaced_and_its_git_stays(exported: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(exported, tmp_path / "branch")
    (folder / ".git").mkdir()
    (folder / "book" / "gone.ipynb").touch()
    export_notebooks.write(folder)
    assert (folder / ".git").is_dir() and not (folder / "book" / "gone.ipynb").exists()


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(SystemExit, match="holds something else"):
        export_notebooks.write(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_a_new_address_reaches_every_copy(tmp_path: Path, index: Index) -> None:
    other = Index()
    other.repository, other.site = "https://github.com/somebody/else", "https://somebody.github.io/else"
    text = str(export_notebooks.export(other, CHAPTER))
    assert "https://github.com/somebody/else" in text and "https://somebody.github.io/else/book/" in text
    assert index.repository.removeprefix("https://github.com/") not in text


# against the built site


def titles_on_the_site(folder: Path, page: str) -> list[str]:
    """ "Theorem 1.6" of every numbered box and figure of a page, in order."""
    text = (folder / f"{page}.html").read_text(encoding="utf-8")
    return [unescape(number).strip() for number in re.findall(r'<span class="caption-number">(.*?)</span>', text)]


@pytest.mark.slow
def test_the_numbers_are_those_of_the_site(site_folder: Path, index: Index) -> None:
    for page in index.notebooks():
        assert titles_on_the_site(site_folder, page) == [
            name for name in index.pages[page].numbered if re.search(r"\d", name)
        ], page
    assert len(index.pages[CHAPTER].numbered) > 10


@pytest.mark.slow
def test_equations_have_the_numbers_of_the_site(site_folder: Path, index: Index) -> None:
    equations = {mark.anchor: mark for mark in index.labels.values() if mark.anchor.startswith("equation-")}
    assert equations
    for anchor, mark in equations.items():
        html = (site_folder / f"{mark.page}.html").read_text(encoding="utf-8")
        assert re.search(rf'id="{anchor}">\s*<span class="eqno">{re.escape(mark.text)}<', html), mark


@pytest.mark.slow
def test_every_link_to_the_site_leads_somewhere(site_folder: Path, exported: Path, index: Index) -> None:
    anchors: dict[Path, set[str]] = {}
    broken, seen = [], 0
    for page, notebook in copies(exported).items():
        for link in re.findall(rf"\]\({re.escape(index.site)}/([^)]*)\)", prose(notebook)):
            place, _, anchor = link.partition("#")
            file = site_folder / (place or "index.html")
            seen += 1
            if not file.is_file():
                broken.append(f"{page}: {link}: no such page")
            elif anchor and anchor not in anchors.setdefault(file, set(read_page(file).ids)):
                broken.append(f"{page}: {link}: no such anchor")
    assert broken == [] and seen > 20


@pytest.mark.slow
def test_citations_read_as_on_the_site(site_folder: Path, index: Index) -> None:
    text = unescape(re.sub(r"<[^>]*>", "", (site_folder / f"{CHAPTER}.html").read_text(encoding="utf-8")))
    source = (normalise.ROOT / f"{CHAPTER}.ipynb").read_text(encoding="utf-8")
    for key in re.findall(r"\{cite:t\}`(\w+)`", source):
        assert index.cited(key, textual=True).replace("*", "") in text
    for key in re.findall(r"\{cite\}`(\w+)`", source):
        assert f"[{index.cited(key, textual=False)}]".replace("*", "") in text
    assert {"{cite:t}`", "{cite}`"} <= set(re.findall(r"\{cite(?::t)?\}`", source))
