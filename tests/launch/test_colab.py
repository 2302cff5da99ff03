"""The first cell of an exported notebook: on Colab it installs the course and changes no package that is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tests.launch.environments import CHAPTER, Run, clean_variables, make_environment, run_notebook, version
from tools import address

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]
COLAB = {"COLAB_RELEASE_TAG": "release-colab-test"}
ADDRESS = address.repository()  # from which the cell installs the course; here, from a folder


@pytest.fixture(scope="session")
def repository(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the export, as a git repository with the branch that the cell clones."""
    folder = shutil.copytree(exported, tmp_path_factory.mktemp("repository") / "notebooks")
    for command in (
        ["init", "--quiet", "--initial-branch", "notebooks"],
        ["add", "--all"],
        ["commit", "--quiet", "--message", "Export"],
    ):
        subprocess.run(
            ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *command], cwd=folder, check=True
        )
    return folder


def read(folder: Path, page: str) -> NotebookNode:
    text = (folder / f"{page}.ipynb").read_text(encoding="utf-8")
    return nbformat.reads(text.replace(f'\\"{ADDRESS}\\"', f'\\"{folder}\\"'), as_version=4)


def first_cell(folder: Path) -> str:
    """The source of the installing cell."""
    return next(cell.source for cell in read(folder, CHAPTER).cells if cell.cell_type == "code")


# quick: an environment that sees this one's packages but not the course, offline


@pytest.fixture
def borrowed(tmp_path: Path) -> Path:
    """The Python of a new environment that sees the packages of this one, and no course_lib."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    own = Path(
        subprocess.check_output(
            [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
        ).strip()
    )
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def pretend(python: Path, package: str, number: str) -> None:
    """Put an empty package of some version in front of the borrowed one."""
    folder = next((python.parents[1] / "lib").glob("python*")) / "site-packages"
    (folder / package).mkdir()
    (folder / package / "__init__.py").write_text(f"__version__ = {number!r}\n")
    information = folder / f"{package}-{number}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {number}\n")
    (information / "RECORD").write_text(
        f"{package}/__init__.py,,\n{information.name}/METADATA,,\n{information.name}/RECORD,,\n"
    )
    (information / "INSTALLER").write_text("pip\n")


def run_cell(python: Path, repository: Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the first cell as a script, without a network."""
    offline = {
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,  # whose constraints may name versions that are only pretended here
        "PIP_NO_BUILD_ISOLATION": "0",  # means: no isolation
    }
    folder.mkdir(exist_ok=True)
    command = [str(python), "-c", first_cell(repository)]
    return subprocess.run(
        command, cwd=folder, env=clean_variables(**offline, **variables), capture_output=True, text=True, check=False
    )


def has_course(python: Path, folder: Path) -> bool:
    command = [str(python), "-c", "import importlib.util; print(importlib.util.find_spec('course_lib') is not None)"]
    return subprocess.check_output(command, cwd=folder, env=clean_variables(), text=True).strip() == "True"


def test_away_from_colab_nothing_happens(borrowed: Path, repository: Path, tmp_path: Path) -> None:
    done = run_cell(borrowed, repository, tmp_path / "work")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not has_course(borrowed, tmp_path / "work") and list((tmp_path / "work").iterdir()) == []


@pytest.mark.pipeline
@pytest.mark.parametrize(("numpy", "torch"), [("2.0.1", "2.5.0"), ("2.5.9", "2.99.1")], ids=["older", "newer"])
def test_on_colab_the_course_comes_and_numpy_and_torch_stay(
    borrowed: Path, repository: Path, tmp_path: Path, numpy: str, torch: str
) -> None:
    pretend(borrowed, "numpy", numpy)
    pretend(borrowed, "torch", torch)
    done = run_cell(borrowed, repository, tmp_path / "work", **COLAB)
    assert done.returncode == 0, done.stderr
    assert has_course(borrowed, tmp_path / "work")
    assert (version(borrowed, "numpy"), version(borrowed, "torch")) == (numpy, torch)


def test_a_package_that_is_too_old_is_left_alone_and_named(borrowed: Path, repository: Path, tmp_path: Path) -> None:
    pretend(borrowed, "numpy", "1.26.4")
    done = run_cell(borrowed, repository, tmp_path / "work", **COLAB)
    assert done.returncode != 0 and not has_course(borrowed, tmp_path / "work")
    assert "needs a newer version of a package" in done.stderr and "numpy>=2" in done.stderr
    assert version(borrowed, "numpy") == "1.26.4"


@pytest.mark.slow
def test_running_it_again_does_no_harm(borrowed: Path, repository: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert run_cell(borrowed, repository, tmp_path / "work", **COLAB).returncode == 0


@pytest.mark.slow
def test_the_exported_chapter_runs_with_what_its_first_cell_installs(
    borrowed: Path, repository: Path, tmp_path: Path, capsys
) -> None:
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    run = run_notebook(read(repository, CHAPTER), borrowed, tmp_path, **COLAB, **offline)
    report(CHAPTER, run, capsys)


# the whole way: a new environment that holds nothing but a kernel, and perhaps a NumPy of its own


@pytest.mark.launch
@pytest.mark.slow
@pytest.mark.parametrize("numpy", ["", "2.0.2", "2.4.5"], ids=["bare", "numpy-2.0", "numpy-2.4"])
def test_every_exported_notebook_runs_in_a_clean_environment(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, numpy: str, index, capsys
) -> None:
    folder = tmp_path_factory.mktemp("colab")
    python = make_environment(folder / "venv", "ipykernel", *([f"numpy=={numpy}"] if numpy else []))
    # Colab has a torch; here the cell brings one, and the locked one is to be had for the CPU, without gigabytes of
    # CUDA
    locked = re.search(r"^torch==\S+$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)[0]
    (folder / "torch.txt").write_text(f"{locked}\n")
    variables = {"COURSE_CACHE": str(folder / "cache"), **COLAB, "PIP_CONSTRAINT": str(folder / "torch.txt")}
    for page in index.notebooks() if not numpy else [CHAPTER]:
        run = run_notebook(read(repository, page), python, folder, **variables)
        report(f"{numpy or 'bare'}: {page}", run, capsys)
    assert has_course(python, folder)
    assert not numpy or version(python, "numpy") == numpy


def report(name: str, run: Run, capsys) -> None:
    with capsys.disabled():
        print(f"\nColab, {name}: {run.seconds:.0f} s, peak of memory {run.megabytes:.0f} MB", end="")
