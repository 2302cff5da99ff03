"""tools/processors.py: which kinds a machine can emulate, what it hides from NumPy, and that a failure is named."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("processors", ROOT / "tools" / "processors.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["processors"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_a_kind_says_what_the_machine_lacks(tool: ModuleType) -> None:
    kinds = {kind.name: kind for kind in tool.KINDS}
    assert kinds["sse"].missing("x86_64", {}) == "" and kinds["nudged"].missing("arm64", {}) == ""
    assert kinds["avx512"].missing("AMD64", {"AVX512F": False}) == "needs AVX512F"
    assert kinds["avx512"].missing("AMD64", {"AVX512F": True}) == ""
    assert kinds["neoverse"].missing("x86_64", {}) == "needs aarch64, this is x86_64"


def test_only_wider_features_are_hidden_from_numpy(tool: ModuleType) -> None:
    kinds = {kind.name: kind for kind in tool.KINDS}
    features, names = {"X86_V3": True, "X86_V4": True, "AVX512_SPR": False}, ["X86_V3", "X86_V4", "AVX512_SPR"]
    assert kinds["avx2"].environment(features, names)["NPY_DISABLE_CPU_FEATURES"] == "X86_V4"
    assert kinds["sse"].environment(features, names)["NPY_DISABLE_CPU_FEATURES"] == "X86_V3 X86_V4"
    assert "NPY_DISABLE_CPU_FEATURES" not in kinds["native"].environment(features, names)


def test_two_threads_run_half_as_many_tests_side_by_side(tool: ModuleType) -> None:
    kinds = {kind.name: kind for kind in tool.KINDS}
    assert [kinds["two-threads"].side_by_side(count) for count in (1, 2, 5)] == [1, 1, 2]
    assert kinds["sse"].side_by_side(5) == 5


@pytest.mark.pipeline
def test_a_run_that_fails_or_finds_no_test_is_told(tool: ModuleType, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "test_x.py").write_text("def test_good(): pass\ndef test_bad(): assert False\n")
    monkeypatch.setitem(tool.SUITES, "tests", [str(tmp_path / "test_x.py")])
    asked = {"processes": 1, "log": tmp_path / "log"}
    assert tool.run(tool.KINDS[0], "tests", match="good", **asked) == ""
    assert "test_x.py::test_bad" in tool.run(tool.KINDS[0], "tests", match="", **asked)
    assert "pytest ended with 5" in tool.run(tool.KINDS[0], "tests", match="no_such", **asked)


def test_what_a_kind_leaves_out_exists(tool: ModuleType) -> None:
    for name in (name for kind in tool.KINDS for name in kind.left_out):
        file, _, function = name.partition("::")
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, name
