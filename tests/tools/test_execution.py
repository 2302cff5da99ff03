"""tools/execution.py: which notebooks run again, side by side, and what is kept of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import execution, watch_reads
from tools.execution import Cache, NotebookFailed, fingerprint, refresh

BOOK = Path(__file__).resolve().parents[2] / "book"


def notebook(*sources: str, text: str = "# A page"):
    return new_notebook(cells=[new_markdown_cell(text), *map(new_code_cell, sources)])


def stored(path: Path, *sources: str, text: str = "# A page", **metadata: object) -> Path:
    made = notebook(*sources, text=text)
    made.cells[1].metadata.update(metadata)
    nbformat.write(made, path)
    return path


def run(cache: Cache, *paths: Path) -> list[Path]:
    return refresh(paths, cache, tell=lambda line: None)


def test_the_scale_and_the_kernels_of_the_processor_count_and_names_of_files_do_not() -> None:
    page = notebook("print(1)")
    same = [{}, {"COURSE_SCALE": "smoke"}, {"OMP_NUM_THREADS": "1"}, {"COURSE_SCALARS": "/tmp/x"}, {"HOME": "/me"}]
    assert len({fingerprint(page, environment=environment) for environment in same}) == 1
    others = [{}, {"COURSE_SCALE": "laptop"}, {"OPENBLAS_CORETYPE": "Haswell"}, {"OMP_NUM_THREADS": "2"}]
    assert len({fingerprint(page, environment=environment) for environment in others}) == len(others)


def test_a_notebook_depends_on_the_results_and_the_code_that_it_names() -> None:
    behind = execution.files_behind(
        notebook("stored('P2-X1')\nfrom course_lib.lessons.shared.scalars import publish\n%matplotlib inline")
    )
    shown = {execution.shown(path) for path in behind}
    assert {"course_lib/lessons/shared/scalars.py", "book/results/P2-X1-laptop.json"} <= shown
    assert not any("P2-X2" in name or "claims" in name for name in shown)
    with_claims = execution.files_behind(notebook("from tools.claims import load"))
    assert BOOK / "claims" / "cosine-orthogonality.yml" in with_claims


def test_a_notebook_that_cannot_be_parsed_depends_on_everything() -> None:
    everything = execution.files_behind(notebook("print("))
    assert {"scalars.py", "losses.py"} <= {path.name for path in everything}


@pytest.mark.slow
def test_only_what_changed_runs_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    first, second = stored(tmp_path / "a.ipynb", "print(1)"), stored(tmp_path / "b.ipynb", "print(2)")
    assert set(run(cache, first, second)) == {first, second}
    assert cache.outputs_at(first).is_file() and cache.outputs_at(second).is_file()  # where MyST-NB looks for them
    assert run(cache, first, second) == []
    stored(first, "print(1)", text="# A page, with another sentence")
    stored(second, "print(2)", mystnb={"figure": {"caption": "Another caption."}})
    assert run(cache, first, second) == []
    assert cache.notebook(first).cells[0].source == "# A page, with another sentence"
    carried = cache.notebook(second).cells[1]
    assert carried.metadata["mystnb"] == {"figure": {"caption": "Another caption."}}
    assert carried.outputs[0].text == "2\n"
    stored(first, "print(3)")
    assert run(cache, first, second) == [first]
    stored(second, "print(2)", tags=["raises-exception"])
    assert run(cache, first, second) == [second]


@pytest.mark.slow
def test_what_a_kernel_reads_is_noted_and_a_change_in_it_runs_the_notebook_again(tmp_path: Path, monkeypatch) -> None:
    cache = Cache(tmp_path / "cache")
    reading = "(Path(library.__file__).parents[3] / 'book' / 'notation.yml').read_text()"
    sources = (
        "import importlib\nname = 'scal' + 'ars'\n"
        "library = importlib.import_module('course_lib.lessons.shared.' + name)",
        f"from pathlib import Path\nlibrary.publish('n', len({reading}))",
    )
    path = stored(tmp_path / "a.ipynb", *sources)
    run(cache, path)
    data = cache.data(path)
    assert data is not None and {"course_lib/lessons/shared/scalars.py", "book/notation.yml"} <= set(data["reads"])
    assert data["scalars"].startswith('{"name": "n", "value": ') and data["processor_seconds"] > 0
    hashes, states = execution.dependencies.code_hash, execution.states
    monkeypatch.setattr(
        execution.dependencies, "code_hash", lambda paths: hashes(paths) + str(BOOK / "notation.yml" in paths)
    )
    assert cache.data(path) is not None  # no file's state tells of a change: it is not looked into
    monkeypatch.setattr(execution, "states", lambda paths: [*states(paths), str(BOOK / "notation.yml" in paths)])
    assert cache.data(path) is None


def test_a_fingerprint_is_made_again_when_a_file_changes_that_it_may_rest_on(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "course_lib" / "lessons").mkdir(parents=True)
    code, seen, result = (tmp_path / name for name in ("course_lib/lessons/a.py", "seen.txt", "book/results/R.json"))
    result.parent.mkdir(parents=True)
    code.write_text("a = 1")
    made: list[int] = []
    monkeypatch.setattr(execution, "ROOT", tmp_path)
    monkeypatch.setattr(execution, "fingerprint", lambda *_, **__: str(made.append(1) or len(made)))

    def asked(*sources: str, reads: tuple[str, ...] = ("seen.txt",), **environment: str) -> str:
        known = execution.Fingerprints(tmp_path / "known.json")  # as another build reads it
        return known.of(notebook(*sources), reads, environment, execution.dependencies.Imports())

    assert [asked("print(1)"), asked("print(1)")] == ["1", "1"]
    assert [asked("print(2)"), asked("print(1)", OMP_NUM_THREADS="2"), asked("print(1)", reads=())] == ["2", "3", "4"]
    for number, path in enumerate((code, seen, result, code.with_name("b.py")), start=5):
        path.write_text("a = 2 and more")
        assert [asked("print(1)"), asked("print(1)")] == [str(number)] * 2, path
    code.unlink()
    assert asked("print(1)") == "9"
    (tmp_path / "known.json").write_text("{")  # torn
    assert asked("print(1)") == "10"


def rewritten(seen: Path) -> None:
    seen.write_text("2")


def replaced_by_an_older_one(seen: Path) -> None:
    other = seen.with_name("other.txt")
    other.write_text("2")
    os.utime(other, (1e9, 1e9))
    os.replace(other, seen)


def of_the_future(seen: Path) -> None:
    os.utime(seen, (4e9, 4e9))


@pytest.mark.parametrize(
    ("before", "meanwhile", "holds"),
    [
        (None, None, True),
        (None, rewritten, False),
        (None, replaced_by_an_older_one, False),
        (Path.unlink, None, True),
        (of_the_future, None, True),
    ],
)
def test_an_execution_holds_where_no_file_changed_while_it_ran(
    before: Callable[[Path], None] | None,
    meanwhile: Callable[[Path], None] | None,
    holds: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "ROOT", tmp_path)
    seen, told = tmp_path / "seen.txt", list[str]()
    seen.write_text("1")
    if before:
        before(seen)
    time.sleep(0.02)  # a file's clock ticks a hundred times a second

    def kernel(path: Path, notebook: object, variables: dict[str, str], server: object) -> None:
        if meanwhile:
            meanwhile(seen)
        Path(variables[watch_reads.READS_VARIABLE]).write_text("seen.txt\n")

    monkeypatch.setattr(execution, "_run_cells", kernel)
    cache, path = Cache(tmp_path / "cache"), stored(tmp_path / "a.ipynb", "print(1)")
    refresh([path], cache, tell=told.append)
    assert (cache.data(path) is not None) == holds
    assert ("runs again next time" in told[0]) != holds


@pytest.mark.slow
def test_a_failure_names_notebook_and_cell_and_keeps_what_ran(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    good = stored(tmp_path / "good.ipynb", "print('more code than the other: it runs first')")
    bad = stored(tmp_path / "bad.ipynb", "a = 1", "a / 0")
    with pytest.raises(NotebookFailed, match=r"(?s)bad\.ipynb, code cell 2: .*ZeroDivisionError"):
        refresh([good, bad], cache, jobs=1, tell=lambda line: None)
    assert cache.data(good) is not None and cache.data(bad) is None


def test_reads_are_noted_as_sources_inside_the_checkout() -> None:
    root = watch_reads.ROOT
    assert (
        watch_reads.shown(str(root / "course_lib" / "lessons" / "shared" / "__pycache__" / "scalars.cpython-311.pyc"))
        == "course_lib/lessons/shared/scalars.py"
    )
    assert watch_reads.shown(str(root / "book" / "results" / "P2-X1-laptop.json")) == "book/results/P2-X1-laptop.json"
    for elsewhere in (
        "/etc/hostname",
        str(root / ".venv" / "x.py"),
        str(root / "course_lib" / "__pycache__" / "a.nbi"),
    ):
        assert watch_reads.shown(elsewhere) is None
