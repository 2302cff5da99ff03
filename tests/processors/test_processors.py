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


def test_a_failure_is_named(tool: ModuleType, tmp_path: Path) -> None:
    notebook = "test_every_notebook_gives_the_numbers_it_stores[geometry/gauge-freedom]"
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_a" name="test_b[1]"><failure/></testcase>'
        f'<testcase classname="n" name="{notebook}"><error/></testcase><testcase classname="n" name="c"/>'
        '<testcase classname="n" name="d"><skipped/></testcase></testsuite></testsuites>'
    )
    ran, failed = tool.read_report(report)
    assert (ran, failed) == (3, ("test_a::test_b[1]", "geometry/gauge-freedom"))
    assert tool.Outcome(ran, failed, 1.0).text() == "2 of 3 FAILED: test_a::test_b[1], geometry/gauge-freedom"
    assert not tool.Outcome(ran, failed, 1.0).good and tool.Outcome(3, (), 1.0).good


@pytest.mark.pipeline
def test_a_run_that_finds_no_test_is_trouble(tool: ModuleType, tmp_path: Path) -> None:
    kind = tool.KINDS[0]
    outcome = tool.run(kind, "notebooks", match="no_such_notebook", processes=1, log=tmp_path / "log")
    assert not outcome.good and "pytest ended with 5" in outcome.text()


def test_what_a_kind_leaves_out_exists(tool: ModuleType) -> None:
    for name in (name for kind in tool.KINDS for name in kind.left_out):
        file, _, function = name.partition("::")
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, name
