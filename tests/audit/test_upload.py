"""The notebook that takes two tables on Colab: its cells run here with an upload of a stand-in."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from course_lib.audit import Report, report_of

NOTEBOOK = Path(__file__).resolve().parents[2] / "book" / "start" / "audit-upload.ipynb"


def code() -> str:
    """The notebook's cells as one script."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def test_what_is_uploaded_is_audited_and_the_page_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, given = np.random.default_rng(0), {}
    for name, array in {
        "items.npy": rng.standard_normal((150, 8)),
        "../users.npy": rng.standard_normal((40, 8)),  # a name cannot lead out of the folder
    }.items():
        np.save(tmp_path / "written.npy", array)
        given[name] = (tmp_path / "written.npy").read_bytes()
    given["pairs.csv"] = b"user,item\n" + b"".join(b"%d,%d\n" % (at % 40, at % 150) for at in range(300))
    brought: list[str] = []
    files: Any = ModuleType("google.colab.files")
    files.upload, files.download = (lambda: given), brought.append
    colab: Any = ModuleType("google.colab")
    colab.files = files
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    monkeypatch.setitem(sys.modules, "google.colab.files", files)
    monkeypatch.chdir(tmp_path)
    room: dict[str, Any] = {}
    exec(compile(code(), str(NOTEBOOK), "exec"), room)
    report = room["report"]
    assert isinstance(report, Report) and report.inputs["pairs"]["pairs"] == 300
    assert sorted(path.name for path in (tmp_path / "my-model").iterdir()) == [
        *("items.npy", "pairs.csv", "report.html", "users.npy"),
    ]
    assert brought == ["my-model/report.html"] and "<svg" in (tmp_path / brought[0]).read_text()


def test_arguments_of_no_command_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--nothing"], ["a", "b", "c"], ["items.npy", "-k", "ten"]):
        with pytest.raises(ValueError, match="expected those of two-tower-audit --help"):
            report_of(wrong)
    with pytest.raises(ValueError, match="nowhere: there is no file of this name"):
        report_of(["nowhere"])
