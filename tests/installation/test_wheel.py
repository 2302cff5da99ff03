"""The wheel holds every module, data file and script of course_lib, and works where there is no checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_SHIPPED = {"__pycache__", ".ipynb_checkpoints"}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that no build folder appears in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "course_lib", source / "course_lib", ignore=shutil.ignore_patterns(*NOT_SHIPPED))
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, source / name)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(source),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    """The wheel's content in a folder of its own: what an installation puts into site-packages."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "site")
    return wheel.parent / "site"


def test_the_wheel_holds_every_file(unpacked: Path) -> None:
    source = unpacked.parent / "source"
    wanted = {path.relative_to(source) for path in (source / "course_lib").rglob("*") if path.is_file()}
    found = {path.relative_to(unpacked) for path in unpacked.rglob("*")}
    assert len(wanted) > 20 and sorted(map(str, wanted - found)) == []


def test_the_wheel_holds_nothing_but_the_package_and_its_licences(unpacked: Path) -> None:
    tops = {path.name.partition("-")[0] for path in unpacked.iterdir()}
    assert tops == {"course_lib", "two_tower_course"}
    assert {"LICENSE", "LICENSE-text"} <= {path.name for path in unpacked.rglob("LICENSE*")}


@pytest.mark.parametrize(
    "code",
    [
        "from course_lib import datasets; assert len(datasets.load()) > 50_000",
        "import course_lib.lessons.shared.widgets.quiz",
        "from course_lib.lessons.shared import quiz; from course_lib.lessons.shared.widgets.quiz import Quiz; "
        "assert Quiz(quiz.names()[0]).score()[1] >= 5",
        "from course_lib import papers; assert papers.table('P3', 'T3')",
    ],
)
def test_it_works_without_the_checkout(unpacked: Path, tmp_path: Path, code: str) -> None:
    path = f"[{str(unpacked)!r}, *(p for p in sys.path if p not in ('', {str(ROOT)!r}))]"
    script = f"import sys; sys.path[:] = {path}\n{code}\n"
    script += f"import course_lib; assert course_lib.__file__.startswith({str(unpacked)!r}), course_lib.__file__"
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_claims_ask_for_a_checkout(unpacked: Path, tmp_path: Path) -> None:
    """The tools of the book are in no wheel: the command says so, in one line."""
    path = f"[{str(unpacked)!r}, *(p for p in sys.path if p not in ('', {str(ROOT)!r}))]"
    script = (
        f"import sys; sys.path[:] = {path}\nfrom course_lib.__main__ import main\nsys.exit(main(['claims', 'list']))"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "`claims` needs a checkout of the course: it reads book/ and tests/\n"
