"""The workflows of GitHub Actions: valid, with few permissions;
and the push of the branch `notebooks`, tried out here.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.launch.environments import CHAPTER

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))}
TRIGGERS = {name: workflow[True] for name, workflow in WORKFLOWS.items()}  # YAML 1.1 reads the key `on` as true
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"]]
WRITES = {
    ("publish", "notebooks"): {"contents": "write"},
    ("publish", "pages"): {"pages": "write", "id-token": "write"},
}
TARGETS = set(re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split())


def steps(name: str, job: str) -> list[dict]:
    return WORKFLOWS[name]["jobs"][job]["steps"]


@pytest.mark.parametrize(("name", "job"), JOBS)
def test_permissions_are_the_least(name: str, job: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert WORKFLOWS[name]["jobs"][job].get("permissions") == WRITES.get((name, job))


@pytest.mark.parametrize(("name", "job"), JOBS)
def test_every_job_ends_and_every_action_has_a_major_version(name: str, job: str) -> None:
    assert 0 < WORKFLOWS[name]["jobs"][job]["timeout-minutes"] <= 60
    used = [step["uses"] for step in steps(name, job) if "uses" in step]
    assert [action for action in used if not re.fullmatch(r"actions/[\w-]+@v\d+", action)] == []
    assert all(("uses" in step) != ("run" in step) for step in steps(name, job))


@pytest.mark.parametrize(("name", "job"), JOBS)
def test_commands_are_targets_of_make(name: str, job: str) -> None:
    named = re.findall(r"^make ([a-z-]+)", "\n".join(step.get("run", "") for step in steps(name, job)), re.MULTILINE)
    assert set(named) <= TARGETS


def test_only_a_green_push_to_main_is_published() -> None:
    trigger = TRIGGERS["publish"]["workflow_run"]
    assert trigger == {"workflows": [WORKFLOWS["test"]["name"]], "branches": ["main"], "types": ["completed"]}
    condition = WORKFLOWS["publish"]["jobs"]["build"]["if"]
    assert "conclusion == 'success'" in condition and "workflow_run.event == 'push'" in condition
    assert all(WORKFLOWS["publish"]["jobs"][job]["needs"] == "build" for job in ("notebooks", "pages"))


def test_jobs_that_may_write_run_no_code_of_the_repository() -> None:
    for name, job in WRITES:
        text = "\n".join(step.get("run", "") for step in steps(name, job))
        assert not re.search(r"\b(make|python|pip)\b", text)


def test_no_step_pastes_a_title_or_branch_name_into_a_shell() -> None:
    for name, job in JOBS:
        assert [step["run"] for step in steps(name, job) if "${{" in step.get("run", "")] == []


# the step that pushes, with a folder in place of GitHub


def git(*arguments: str, folder: Path) -> str:
    command = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with a branch main, that can be pushed to."""
    origin, work = tmp_path / "origin.git", tmp_path / "work"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch", "main", str(origin)], check=True)
    git("clone", "--quiet", str(origin), str(work), folder=tmp_path)
    git("switch", "--quiet", "--orphan", "main", folder=work)
    for name in ("only-on-main.txt", ".gitignore"):
        (work / name).write_text("build/\n")
    git("add", "--all", folder=work)
    git("commit", "--quiet", "--message", "Main", folder=work)
    git("push", "--quiet", "origin", "main", folder=work)
    return origin


def push(origin: Path, exported: Path, tmp_path: Path, *, run: int) -> list[str]:
    """Run the workflow's own script in a fresh clone; returns the commits of the branch afterwards."""
    (script,) = (step["run"] for step in steps("publish", "notebooks") if "run" in step)
    clone, archive = tmp_path / f"clone-{run}", tmp_path / f"{run}.tar"
    git("clone", "--quiet", str(origin), str(clone), folder=tmp_path)
    subprocess.run(
        ["tar", "--create", "--exclude", "./.git", "--file", str(archive), "--directory", str(exported), "."],
        check=True,
    )
    variables = {"PATH": os.environ["PATH"], "ARCHIVE": str(archive), "GITHUB_SHA": f"{run}", "HOME": str(tmp_path)}
    subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script], cwd=clone, env=variables, check=True, capture_output=True
    )
    return git("log", "--format=%s", "notebooks", folder=origin).splitlines()


@pytest.mark.pipeline
def test_the_branch_is_made_kept_and_renewed(origin: Path, exported: Path, tmp_path: Path) -> None:
    assert push(origin, exported, tmp_path, run=1) == ["Copies of the notebooks of 1"]
    files = git("ls-tree", "-r", "--name-only", "notebooks", folder=origin).splitlines()
    assert f"{CHAPTER}.ipynb" in files and ".binder/postBuild" in files and "only-on-main.txt" not in files
    assert git("ls-tree", "notebooks", ".binder/postBuild", folder=origin).startswith("100755")
    assert len(push(origin, exported, tmp_path, run=2)) == 1, "nothing changed: no commit, and Binder keeps its image"
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / "README.md").write_text("new\n")
    assert push(origin, changed, tmp_path, run=3) == ["Copies of the notebooks of 3", "Copies of the notebooks of 1"]
    assert git("ls-tree", "-r", "--name-only", "notebooks", folder=origin) == "README.md"
    assert git("show", "main:only-on-main.txt", folder=origin) == "build/"
