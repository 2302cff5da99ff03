"""The house of course_lib: an import never points upward, no lesson uses another, and what should be light is light."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]

# Importing one of these loads no torch: a page, a grader or a student's notebook is there in a second.
TORCH_FREE = (
    *("checking", "datasets", "interactions", "arrays", "correction", "gauge", "geometry", "gramians", "in_batch"),
    *("losses", "norms", "popularity", "processes", "step_cost", "papers", r"lessons.shared.(?!film_models)\w+"),
    *("lessons.*.proofs", "lessons.*.plots", "lessons.*.checks"),
)


def sources() -> list[str]:
    """The modules of course_lib."""
    paths = sorted((ROOT / "course_lib").rglob("*.py"))
    return [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths]


def test_imports_keep_the_contracts_of_pyproject() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None) == 0


@pytest.mark.seconds
def test_few_files_outside_its_folders_name_a_chapter() -> None:
    """A lesson can be deleted with its page: its name stands in its own folders, and in three other files at most.

    Not counted are the contents, the list of pages whose conclusions are not checked yet (_config.yml), the pages and
    claims that link to it, the exercises with their tests, and the audit: two of its verdicts have the names of
    chapters.
    """
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8", errors="ignore")
        for name in tracked
        if name
        and not name.startswith(("book/", "exercises/", "tests/exercises/", "course_lib/audit/", "tests/audit/"))
        and not name.endswith("/claims.yml")
        and name not in ("_toc.yml", "_config.yml")
        and (ROOT / name).is_file()
    }
    naming: dict[str, list[str]] = {lesson: [] for lesson in lessons()}
    kebab = {lesson.replace("_", "-"): lesson for lesson in naming if "_" in lesson}
    words = re.compile(rf"\b({'|'.join(kebab)})\b|lessons[./]({'|'.join(naming)})\b")
    for name, text in texts.items():
        for lesson in {kebab.get(in_a_page, module) for in_a_page, module in words.findall(text)}:
            if not name.startswith((f"course_lib/lessons/{lesson}/", f"tests/lessons/{lesson}/")):
                naming[lesson].append(name)
    assert {lesson: names for lesson, names in naming.items() if len(names) > 3} == {}


def lessons() -> list[str]:
    """The names of the lessons' folders."""
    folders = (path for path in (ROOT / "course_lib" / "lessons").iterdir() if (path / "__init__.py").is_file())
    return sorted(path.name for path in folders if path.name != "shared")


def modules_after(statement: str) -> set[str]:
    """The names of the modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


@pytest.mark.seconds
def test_every_test_file_that_is_named_is_there() -> None:
    """Pages, scripts and docstrings say where what they claim is tested."""
    named = subprocess.run(
        ["git", "grep", "-ohIE", r"\btests/[a-z_]+/[a-z0-9_/]+\.py\b", "--", ":!CHANGELOG.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = set(named.stdout.split())
    assert len(names) > 20 and sorted(name for name in names if not (ROOT / name).is_file()) == []


def test_the_bare_package_is_light() -> None:
    loaded = modules_after("import course_lib")
    assert "course_lib" in loaded
    assert loaded & {"torch", "numpy", "scipy", "sympy", "matplotlib", "yaml"} == set()


def torch_free() -> list[str]:
    """The modules that TORCH_FREE names."""
    patterns = [re.compile(rf"course_lib\.{name}(\..*)?".replace("*.", r"\w+\.")) for name in TORCH_FREE]
    return [module for module in sources() if any(pattern.fullmatch(module) for pattern in patterns)]


@pytest.mark.seconds
def test_light_modules_load_no_torch() -> None:
    """All in one interpreter: where torch gets in, the message names the first module that brings it."""
    modules = torch_free()
    assert len(modules) > 50
    code = (
        "import sys, importlib\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'torch' not in sys.modules, f'{name} loads torch'\n"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
