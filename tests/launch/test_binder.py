"""The files in .binder build an environment with Binder's own commands, and the notebooks fit into its memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.launch.environments import clean_variables, make_environment, megabytes_on_disk, run_notebook

ROOT = Path(__file__).resolve().parents[2]
BINDER = ROOT / ".binder"
MEMORY = 2048  # megabytes; mybinder.org stops a session that takes more
SERVER = 400  # megabytes kept for JupyterLab's server and a second kernel's imports


def lines(name: str) -> list[str]:
    return [
        line for line in (BINDER / name).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    ]


def test_torch_is_the_locked_one_for_the_cpu() -> None:
    locked = re.search(r"^torch==(\S+)$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert f"torch=={locked}+cpu" in lines("requirements.txt")
    assert "--extra-index-url https://download.pytorch.org/whl/cpu" in lines("requirements.txt")


@pytest.mark.seconds
def test_the_script_after_the_build_can_be_run(exported: Path) -> None:
    assert os.access(BINDER / "postBuild", os.X_OK) and os.access(exported / ".binder" / "postBuild", os.X_OK)
    assert subprocess.run(["bash", "-n", str(BINDER / "postBuild")], check=False).returncode == 0


@pytest.mark.launch
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Binder runs Linux")
def test_binder_builds_and_runs_every_notebook_within_its_memory(exported: Path, tmp_path: Path, index, capsys) -> None:
    """repo2docker runs `pip install -r .binder/requirements.txt`, then .binder/postBuild, in the repository's folder.

    Its base environment brings JupyterLab; here ipykernel stands for that.
    """
    python = make_environment(tmp_path / "venv", "ipykernel")
    variables = clean_variables(PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}", PIP_RETRIES="0")
    for command in (
        [str(python), "-m", "pip", "install", "--no-cache-dir", "-r", ".binder/requirements.txt"],
        ["./.binder/postBuild"],
    ):
        done = subprocess.run(command, cwd=exported, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
    with capsys.disabled():
        print(f"\nBinder: {megabytes_on_disk(tmp_path / 'venv'):.0f} MB on disk", end="")
    for page in index.notebooks():
        path = exported / f"{page}.ipynb"
        run = run_notebook(nbformat.read(path, as_version=4), python, path.parent, COURSE_CACHE=str(tmp_path / "cache"))
        with capsys.disabled():
            print(f"\nBinder, {page}: {run.seconds:.0f} s, peak of memory {run.megabytes:.0f} MB", end="")
        assert 50 < run.megabytes < MEMORY - SERVER
        if page.endswith("-lab"):  # the labs find the stored results
            assert "no stored result" not in str(
                [cell.get("outputs") for cell in run.notebook.cells if "P3-T3" in cell.source]
            )
