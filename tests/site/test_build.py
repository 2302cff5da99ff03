"""What the build does besides Sphinx: one address, notebooks executed first, valid markup, docstrings as written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from tools import course_index, export_notebooks, generated_pages, normalise, offline_site, page_frame

ROOT = Path(__file__).resolve().parents[2]


def test_a_page_depends_on_the_outputs_of_its_notebook(tmp_path: Path) -> None:
    noted: list[str] = []
    env = SimpleNamespace(doc2path=lambda page: str(ROOT / page), note_dependency=noted.append)
    app = SimpleNamespace(outdir=str(tmp_path / "html"), env=env)
    offline_site.note_outputs(app, "book/index.md", [])
    assert noted == []
    offline_site.note_outputs(app, "book/start/data.ipynb", [])
    assert len(noted) == 1 and noted[0].startswith(str(tmp_path / ".jupyter_cache" / "executed"))


def test_only_the_parts_of_mathjax_that_a_page_may_request_are_copied(tmp_path: Path) -> None:
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=str(tmp_path))
    offline_site.copy_assets(app, None)
    mathjax = tmp_path / "_static" / "mathjax"
    assert (mathjax / "tex-chtml.js").is_file() and len(list(mathjax.rglob("*.woff"))) > 20
    assert sum(path.stat().st_size for path in mathjax.rglob("*") if path.is_file()) < 3_000_000
    assert (tmp_path / "_static" / "course-widgets.js").is_file() and (tmp_path / "_static" / "course.css").is_file()


def test_markup_is_mended() -> None:
    proof = '<div class="proof admonition" id="proof"></div>'
    context = {"body": f'{proof}<div role="doc-biblioentry"></div><p id="proof-content"></p>'}
    offline_site.repair_html(None, "", "", context, None)
    assert context["body"] == '<div class="proof admonition in-words"></div><div role="listitem"></div><p></p>'


def test_notation_becomes_tables_that_a_bar_in_a_formula_does_not_break() -> None:
    row = {"code": "gram_u, gram_v", "symbol": "|G|", "shape": "(d, d)", "meaning": "two"}
    text = generated_pages.notation_tables([{"group": "Model", "rows": [row]}])
    assert text.splitlines()[0] == "## Model"
    assert text.splitlines()[-1] == "| $\\|G\\|$ | `gram_u`, `gram_v` | (d, d) | two |"


@pytest.mark.parametrize(
    ("docstring", "shown"),
    [
        ("rho = |O| * x_i, see `balance`.", ["rho = \\|O\\| \\* x\\_i, see \\ ``balance``\\ ."]),
        ("One\nline.", ["One line."]),
        ("A sentence.\n\nname   what it is\nother  more", ["A sentence.", ".. code-block:: text"]),
        ("A sentence.\nname   what it is", ["A sentence.", ".. code-block:: text"]),
        ("An odd ` backtick.", ["An odd \\` backtick."]),
    ],
)
def test_docstrings_are_shown_as_they_are_written(docstring: str, shown: list[str]) -> None:
    lines = docstring.split("\n")
    generated_pages.keep_docstrings_as_written(None, "function", "f", None, None, lines)
    assert [line for line in lines if line and not line.startswith(" ")] == shown


def test_an_unknown_marker_is_an_error() -> None:
    with pytest.raises(ValueError, match="got 'nothing', expected one of notation, rooms, api"):
        generated_pages.fill("<!-- fill: nothing -->")


def test_every_module_of_the_library_is_on_its_page() -> None:
    """Each room under its label on one page; each lesson with all its modules; each page in the book."""
    rooms, texts = (
        generated_pages.rooms(),
        {page: generated_pages.api_sections(page) for page in generated_pages.api_pages()},
    )

    def inside(folder: Path) -> set[str]:
        return {path.stem for path in folder.glob("[!_]*") if path.suffix == ".py" or (path / "__init__.py").is_file()}

    library = ROOT / "course_lib"
    lessons = {f"lessons.{name}" for name in inside(library / "lessons")}
    assert len(set(rooms)) == len(rooms) and set(rooms) == inside(library) - {"lessons"} | lessons
    for path in (ROOT / "course_lib/lessons").glob("*/[!_]*.py"):
        name = path.parent.name
        shown = texts[f"lessons/{name.replace('_', '-')}"]
        assert f".. automodule:: course_lib.lessons.{name}.{path.stem}\n" in shown
    whole = "".join(texts.values())
    labels = [generated_pages.anchor_of(room) for room in rooms]
    assert len(set(labels)) == len(labels) and all(whole.count(f"({label})=\n## ") == 1 for label in labels)
    assert {"api-geometry", "api-interactions", "api-in_batch", "api-datasets"} <= set(labels)
    assert all(f"](#{label}) |" in generated_pages.api_list() for label in labels)
    for page in texts:
        text = (ROOT / f"{generated_pages.API}/{page}.md").read_text(encoding="utf-8")
        assert f"<!-- fill: api {page} -->" in text


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("course_lib.in_batch.batch_loss", "maths"),
        ("course_lib.training.towers.judge", "training"),
        ("course_lib.lessons.shared.scalars.publish", "lessons/shared"),
        ("course_lib.checking", "ground"),
    ],
)
def test_a_name_of_the_library_has_one_page(name: str, page: str) -> None:
    assert generated_pages.api_page_of(name) == f"{generated_pages.API}/{page}"
    with pytest.raises(KeyError, match=r"'course_lib\.cooking' lies in no room"):
        generated_pages.api_page_of("course_lib.cooking")
    with pytest.raises(ValueError, match="got api 'cooking', expected one of data, maths"):
        generated_pages.api_sections("cooking")


def built_again(folder: Path, warn: str = "") -> tuple[int, str]:
    """The exit status of a build with `-W --keep-going`, and how many pages it read."""
    import io
    import re

    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace
    from sphinx.util.logging import getLogger

    told = io.StringIO()
    source, html, trees = (str(folder / name) for name in ("source", "html", "trees"))
    with docutils_namespace():
        app = Sphinx(source, None, html, trees, "text", {}, told, io.StringIO(), warningiserror=True, keep_going=True)
        app.connect("build-finished", offline_site.WarnedPages().forget)
        if warn:
            app.connect("env-updated", lambda *_: getLogger(__name__).warning(warn))
        app.build()
    return app.statuscode, re.search("([0-9]+) added, ([0-9]+) changed", told.getvalue()).group()


def test_after_a_warning_the_pages_that_warned_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    fine, broken = tmp_path / "source" / "index.rst", tmp_path / "source" / "broken.rst"
    fine.write_text("Title\n=====\n\n.. toctree::\n\n   broken\n")
    broken.write_text("Broken\n======\n\n:ref:`nowhere`\n")
    assert built_again(tmp_path) == (1, "2 added, 0 changed")
    assert built_again(tmp_path) == (1, "0 added, 1 changed")  # nothing was mended: it warns again
    broken.write_text("Broken\n======\n\nMended.\n")
    assert built_again(tmp_path, warn="on no page") == (1, "0 added, 1 changed")
    assert built_again(tmp_path) == (0, "2 added, 0 changed")  # no page is to blame: all are read
    assert built_again(tmp_path) == (0, "0 added, 0 changed")


@pytest.mark.slow
@pytest.mark.pipeline
def test_a_warning_stops_the_build_every_time(tmp_path: Path) -> None:

    for name in ("_config.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("tools", "course_lib", "book/assets"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "book" / "references.bib", tmp_path / "book" / "references.bib")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    jupyter_book = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    command = [*jupyter_book, "build", str(tmp_path), "-W", "--keep-going"]
    index, broken, fine = tmp_path / "book" / "index.md", "# Title\n\n{ref}`nowhere`\n", "# Title\n\nFine.\n"
    for text, code in ((broken, 1), (None, 1), (fine, 0), (None, 0)):  # None: build again, nothing changed
        if text:
            index.write_text(text)
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr


def test_a_node_that_another_parser_made_belongs_to_its_page() -> None:
    page, other = new_document("page"), new_document("nested")
    other += (paragraph := nodes.paragraph("", "", nodes.emphasis("", "a")))
    page += paragraph
    paragraph.document = other
    generated_pages.adopt(None, page)
    assert {id(node.document) for node in page.findall()} == {id(page)}


def test_a_notebook_is_cleaned_once_for_each_time_that_sphinx_copies_it(monkeypatch, tmp_path: Path) -> None:
    source, copied = tmp_path / "page.ipynb", tmp_path / "site" / "_sources" / "page.ipynb"
    copied.parent.mkdir(parents=True)
    source.write_text("raw")
    app = SimpleNamespace(outdir=tmp_path / "site", srcdir=tmp_path, builder=SimpleNamespace(format="html"))
    cleaned: list[str] = []
    monkeypatch.setattr(course_index, "Index", lambda folder: folder)
    monkeypatch.setattr(export_notebooks, "export", lambda index, page: cleaned.append(page))
    monkeypatch.setattr(normalise, "write_text", lambda notebook: "clean")
    for state in ("raw", "clean", "raw"):  # copied; left as it was by a build that writes no page; copied again
        copied.write_text(state)
        page_frame.clean_downloads(app, None)
        assert copied.read_text() == "clean"
    assert cleaned == ["page", "page"]


@pytest.mark.parametrize("name", ["course [A]", "course?", "course*"])
def test_a_checkout_whose_path_is_a_pattern_is_refused_before_any_work(name: str) -> None:
    with pytest.raises(SystemExit, match="may not stand in the path of the checkout"):
        normalise.refuse_patterns(Path("/home/me") / name)
