"""The notebooks that people open are the plain copies: from the button "Download", in `make lab`, for a term."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import export_notebooks, normalise, pin
from tools.course_index import Index

COPY = "sampling/x.ipynb"


@pytest.mark.slow
def test_the_button_gives_the_copy_that_binder_opens(site_folder: Path, index: Index) -> None:
    for page in index.notebooks():
        assert f'_sources/{page}.ipynb"' in (site_folder / f"{page}.html").read_text(encoding="utf-8")
        offered = (site_folder / "_sources" / f"{page}.ipynb").read_text(encoding="utf-8")
        assert offered == normalise.write_text(export_notebooks.export(index, page))


def test_a_copy_is_renewed_until_a_reader_changes_it(tmp_path: Path) -> None:
    folder = tmp_path / "notebooks"
    assert export_notebooks.renew(folder, {COPY: "one"}) == []
    assert export_notebooks.renew(folder, {COPY: "two"}) == []
    assert (folder / COPY).read_text() == "two"
    (folder / COPY).write_text("mine")
    assert export_notebooks.renew(folder, {COPY: "two"}) == []  # nothing newer to speak of
    assert export_notebooks.renew(folder, {COPY: "three"}) == [COPY]
    assert (folder / COPY).read_text() == "mine"
    (folder / COPY).unlink()
    assert export_notebooks.renew(folder, {COPY: "three"}) == [] and (folder / COPY).read_text() == "three"


def test_a_copy_for_a_term_installs_the_course_of_that_term(index: Index) -> None:
    page = index.notebooks()[0]
    texts = [
        "\n".join(cell.source for cell in export_notebooks.top_cells(index, page, *branch))
        for branch in ((), ("notebooks-autumn-2026",))
    ]
    assert '"--branch", "notebooks"]' in texts[0] and '"--branch", "notebooks-autumn-2026"]' in texts[1]


@pytest.mark.parametrize("term", ["", "Autumn 2026", "a/b", "../x", "-d"])
def test_a_name_that_links_would_break_on_is_refused(term: str) -> None:
    with pytest.raises(pin.PinError, match="expected lower-case words"):
        pin.branch_of(term)


def test_a_pinned_branch_holds_the_folder_and_does_not_move(tmp_path: Path) -> None:
    root, folder = tmp_path / "course", tmp_path / "copies"
    for path in (root, folder):
        path.mkdir()
    (root / "own.txt").write_text("mine")
    (folder / "a.ipynb").write_text("{}")
    for command in (["init", "--quiet"], ["config", "user.name", "a"], ["config", "user.email", "a@b"]):
        pin.git(*command, root=root) if command[0] == "config" else subprocess.run(
            ["git", *command], cwd=root, check=True
        )
    branch = pin.branch_of("autumn-2026")
    pin.commit(folder, branch, "Copies", root)
    assert pin.git("ls-tree", "-r", "--name-only", branch, root=root) == "a.ipynb"
    assert pin.git("status", "--porcelain", root=root) == "?? own.txt"  # checkout and index are as they were
    with pytest.raises(pin.PinError, match="the branch notebooks-autumn-2026 exists"):
        pin.commit(folder, branch, "Copies", root)


def test_the_links_name_the_branch() -> None:
    found = pin.links("notebooks-autumn-2026", "https://github.com/somebody/course", "book/a/b")
    assert set(found) == {"Binder", "Colab", "JupyterHub"}
    assert all("notebooks-autumn-2026" in link and "somebody" in link for link in found.values())
    assert "urlpath=lab%2Ftree%2Fcourse%2Fbook" in found["JupyterHub"]
