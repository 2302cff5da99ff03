"""tools/normalise.py: what a stored notebook keeps, what it drops, and how a notebook out of form is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import normalise

ROOT = normalise.ROOT


def stream(text: str, name: str = "stdout"):
    return new_output("stream", name=name, text=text)


def shown(**data):
    data = {key.replace("_", "/"): value for key, value in data.items()}
    return new_output("display_data", data=data, metadata={"a": 1})


def run_cell(source: str, *outputs, count: int = 7, **metadata):
    return new_code_cell(source, outputs=list(outputs), execution_count=count, metadata=metadata)


@pytest.fixture
def messy():
    """A notebook as an editor leaves it."""
    figure = shown(image_png="iVBOR", text_plain="<Figure size 600x300 with 1 Axes>")
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "f00"}}
    widget = shown(**view, text_html="<div>static</div>")
    said = stream("1\n"), stream("warned", "stderr"), stream("2\n")
    plan = stream("P1-F1 at smoke scale: 2 of 2 cells to run, under a minute on 2 cores\n")
    bar = new_output("display_data", data={"text/plain": "P1-F1:   0%|          | 0/2 [00:00<?, ?cell/s]"})
    thing = new_output("execute_result", data={"text/plain": "<object at 0x7f00deadbeef>"}, execution_count=9)
    cells = [
        new_markdown_cell("# Title\n", metadata={"collapsed": True}),
        run_cell("print(1)\n", *said, tags=["hide-input"], scrolled=True),
        run_cell("run()", plan, bar, stream("done\n")),
        run_cell("draw()", figure, mystnb={"image": {"alt": "A line"}}, ExecuteTime={"start": "now"}),
        run_cell("widget", widget),
        run_cell("   "),
        run_cell("object()", thing),
    ]
    kernel = {"name": "my-env", "display_name": "Mine"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "widgets": {"state": {}}})


def test_code_cells_are_counted_from_one_without_gaps_and_empty_ones_go(messy) -> None:
    cells = [cell for cell in normalise.clean(messy).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4, 5]
    assert cells[4].outputs[0].execution_count == 5


def test_only_text_outputs_stay(messy) -> None:
    cells = normalise.clean(messy).cells
    first, run, figure, widget, result = [cell.outputs for cell in cells if cell.cell_type == "code"]
    assert first == [{"output_type": "stream", "name": "stdout", "text": "1\n2\n"}]
    assert run == [{"output_type": "stream", "name": "stdout", "text": "done\n"}]
    assert figure[0].data == {"text/plain": "<Figure size 600x300 with 1 Axes>"}
    assert widget[0].data == {"text/html": "<div>static</div>"}
    assert result[0].data == {"text/plain": "<object at 0x0>"}


def test_ids_and_editor_metadata_go_tags_and_alt_texts_stay(messy) -> None:
    text = normalise.write_text(normalise.clean(messy))
    for dropped in ('"id"', "iVBOR", "widget-view", "ExecuteTime", "scrolled", "collapsed", "my-env", "warned"):
        assert dropped not in text
    for kept in ("hide-input", "A line"):
        assert kept in text


def test_normal_form_is_stable(messy) -> None:
    once = normalise.write_text(normalise.clean(messy))
    assert normalise.write_text(normalise.clean(nbformat.reads(once, as_version=4))) == once


def test_a_stored_exception_is_refused() -> None:
    error = new_output("error", ename="ValueError", evalue="no", traceback=[])
    with pytest.raises(ValueError, match="ValueError: no"):
        normalise.clean(new_notebook(cells=[run_cell("fail()", error)]))


def test_check_tells_a_messy_notebook_from_a_normal_one(messy, tmp_path: Path) -> None:
    path = tmp_path / "page.ipynb"
    nbformat.write(messy, path)
    assert "was not run, or not in order" in normalise.faults(path)[0]
    path.write_text(normalise.write_text(normalise.clean(messy)), encoding="utf-8")
    assert normalise.faults(path) == []
    stored = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(stored, indent=2), encoding="utf-8")
    assert normalise.faults(path) == [
        "it holds images, ids, widget views, metadata or an order of keys that the normal form has not"
    ]


@pytest.mark.slow
@pytest.mark.pipeline
def test_the_tool_runs_a_notebook_and_stores_the_same_bytes_every_time(tmp_path: Path) -> None:
    path = tmp_path / "page.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("print(1 + 1)"), new_code_cell("import os; os.getcwd()")]), path)
    texts = []
    for _ in range(2):
        subprocess.run([sys.executable, "-m", "tools.normalise", path], cwd=ROOT, check=True, capture_output=True)
        texts.append(path.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert "2\\n" in texts[0] and str(tmp_path) in texts[0]  # a notebook runs in its own folder
    command = [sys.executable, "-m", "tools.normalise", "--check", path]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_an_edited_notebook_is_stored_in_its_normal_form_and_the_others_stay(
    messy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "book").mkdir()
    paths = [tmp_path / "book" / f"{name}.ipynb" for name in ("clean", "edited", "new")]
    for path in paths[:2]:
        nbformat.write(messy, path)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    before = paths[0].read_text(encoding="utf-8")
    for path in paths[1:]:
        cell = new_code_cell(f"print(6 * 7)  # {path.stem}", metadata={"collapsed": True})
        nbformat.write(new_notebook(cells=[cell]), path)
    assert normalise.edited(paths, tmp_path) == paths[1:]
    monkeypatch.setattr(normalise.execution, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(normalise.execution.Cache.__init__, "__defaults__", (tmp_path / "cache",))
    normalise.run_and_store(paths[1:], paths[1:])
    assert paths[0].read_text(encoding="utf-8") == before
    for path in paths[1:]:
        assert normalise.faults(path) == [] and "42" in path.read_text(encoding="utf-8")
    assert all(normalise.execution.Cache(tmp_path / "cache").holds(path) for path in paths[1:])


def test_a_notebook_keeps_its_outputs_where_a_run_fails(messy, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.ipynb"
    nbformat.write(messy, path)
    before = path.read_text(encoding="utf-8")

    def fails(*_: object, **__: object) -> None:
        raise normalise.execution.NotebookFailed("a")

    monkeypatch.setattr(normalise.execution, "Cache", lambda: None)
    monkeypatch.setattr(normalise.execution, "refresh", fails)
    with pytest.raises(normalise.execution.NotebookFailed):
        normalise.run_and_store([path], [path])
    assert path.read_text(encoding="utf-8") == before


def test_without_git_nothing_counts_as_edited(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert normalise.edited([tmp_path / "book" / "a.ipynb"], tmp_path) == []


def test_a_notebook_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        normalise.main(["nobody.ipynb"])
    assert "no such notebook: nobody.ipynb" in capsys.readouterr().err
