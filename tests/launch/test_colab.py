"""The first cell of an exported notebook: on Colab it installs the course and changes no package that is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from packaging.requirements import Requirement

from tests.launch.environments import CHAPTER, Run, clean_variables, make_environment, pip, run_notebook, version
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


# What Colab has of the packages that the pages ask for: googlecolab/backend-info, pip-freeze.txt of 19 August 2026.
ON_COLAB = {
    "anywidget": "0.9.21",
    "ipywidgets": "7.7.1",
    "llvmlite": "0.44.0",
    "matplotlib": "3.10.0",
    "numba": "0.61.2",
    "numpy": "2.1.3",
    "pandas": "2.2.3",
    "pooch": "1.9.0",
    "pyyaml": "6.0.3",
    "scipy": "1.16.3",
    "sympy": "1.14.0",
    "torch": "2.11.0",
    "tqdm": "4.67.3",
}
UNDER_THEM = {"ipython": "7.34.0", "traitlets": "5.7.1"}  # of which Colab's kernel is made
HELD = [f"{name}=={number}" for name, number in {**ON_COLAB, **UNDER_THEM}.items() if name != "torch"]


def test_no_package_that_colab_has_is_too_old_for_a_page() -> None:
    """The first cell leaves them at their versions, and would stop."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked, waiting = [Requirement(text) for text in project["dependencies"]], ["lessons"]
    while waiting:
        for text in project["optional-dependencies"][waiting.pop()]:
            one = Requirement(text)
            if one.name == project["name"]:
                waiting += one.extras
            else:
                asked.append(one)
    there = [one for one in asked if one.name in ON_COLAB]
    assert len(there) > 9 and [str(one) for one in there if ON_COLAB[one.name] not in one.specifier] == []


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


def run_cell(
    python: Path, repository: Path, folder: Path, *, then: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the first cell, and perhaps some code after it, as a script, without a network."""
    offline = {
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,  # whose constraints may name versions that are only pretended here
        "PIP_NO_BUILD_ISOLATION": "0",  # means: no isolation
    }
    folder.mkdir(exist_ok=True)
    command = [str(python), "-c", f"{first_cell(repository)}\n{then}"]
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
@pytest.mark.parametrize(("numpy", "torch"), [("2.1.3", "2.5.0"), ("2.5.9", "2.99.1")], ids=["older", "newer"])
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
def test_after_a_restart_of_the_session_it_finds_the_results_again(
    borrowed: Path, repository: Path, tmp_path: Path
) -> None:
    asks = "from course_lib.experiments import load_result; print(len(load_result('P0-E8', 'laptop').rows))"
    for _ in range(2):  # what is installed stays, what a process was told does not
        done = run_cell(borrowed, repository, tmp_path / "work", then=asks, **COLAB)
        assert done.returncode == 0 and int(done.stdout) > 10, done.stderr


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
@pytest.mark.parametrize("held", [[], HELD, ["numpy==2.4.5"]], ids=["bare", "colab", "numpy-2.4"])
def test_every_exported_notebook_runs_in_a_clean_environment(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, held: list[str], request, index, capsys
) -> None:
    folder = tmp_path_factory.mktemp("colab")
    python = make_environment(folder / "venv", "ipykernel", *held)
    # Colab has a torch; here the cell brings one, and the locked one is to be had for the CPU, without gigabytes of
    # CUDA
    locked = re.search(r"^torch==\S+$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)[0]
    (folder / "torch.txt").write_text(f"{locked}\n")
    variables = {"COURSE_CACHE": str(folder / "cache"), **COLAB, "PIP_CONSTRAINT": str(folder / "torch.txt")}
    for page in index.notebooks() if not held else [CHAPTER]:
        run = run_notebook(read(repository, page), python, folder, **variables)
        report(f"{request.node.callspec.id}: {page}", run, capsys)
    assert has_course(python, folder)
    there = pip(python, "freeze").splitlines()
    assert [one for one in held if one not in there and one != "pyyaml==6.0.3"] == []


def report(name: str, run: Run, capsys) -> None:
    with capsys.disabled():
        print(f"\nColab, {name}: {run.seconds:.0f} s, peak of memory {run.megabytes:.0f} MB", end="")
