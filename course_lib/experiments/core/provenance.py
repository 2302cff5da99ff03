"""Where a number comes from: versions, hardware, git commit, data hash; and the folders results live in."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from course_lib.interactions import Interactions

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("numpy", "scipy", "torch")
CODE = ("course_lib", "benchmarks")


def results_folder() -> Path:
    """COURSE_RESULTS, else book/results of the repository, else ./results (an installed course_lib has no book)."""
    if chosen := os.environ.get("COURSE_RESULTS"):
        return Path(chosen)
    return ROOT / "book" / "results" if (ROOT / "book").is_dir() else Path("results")


def cells_folder() -> Path:
    """COURSE_CACHE/cells, else ~/.cache/two-tower-course/cells: finished cells of interrupted runs."""
    base = os.environ.get("COURSE_CACHE") or Path.home() / ".cache" / "two-tower-course"
    return Path(base) / "cells"


def provenance(device: str = "cpu") -> dict[str, Any]:
    """What a result must say about the machine and the code that made it."""
    return {
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "hardware": hardware(device),
        "git": git_state(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def hardware(device: str = "cpu") -> dict[str, Any]:
    """Processor, cores, threads used by torch, and the GPU when the device is one."""
    if device not in ("cpu", "cuda"):
        raise ValueError(f"device: got {device!r}; expected cpu or cuda (CUDA_VISIBLE_DEVICES says which GPU)")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device: got {device!r}, and torch finds no GPU here; expected cpu")
    found = {"device": device, "processor": _processor(), "cores": os.cpu_count(), "threads": torch.get_num_threads()}
    if device == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def git_state(root: Path = ROOT) -> dict[str, Any]:
    """{"commit": the last that changed the code, "dirty": whether the code differs from it}; None outside a repository.

    The code is course_lib and benchmarks. The commit is not HEAD: a commit that only stores results is often moved to
    another branch, which gives it another name, and a clone would lack the one that the next result names.
    """
    commit = _git(root, "log", "-1", "--format=%H", "--", *CODE)
    changes = _git(root, "status", "--porcelain", "--", *CODE)
    return {"commit": commit or None, "dirty": None if changes is None else bool(changes)}


def lost_commits(provenance: dict[str, Any], root: Path = ROOT) -> list[str]:
    """The commits that a result names and that a clone would lack: no ancestors of HEAD; none outside a repository."""
    named = [git.get("commit") for git in [*provenance.get("git", []), provenance.get("vouched", {}).get("git", {})]]
    return [one for one in dict.fromkeys(filter(None, named)) if _is_lost(root, one)]


@cache
def _is_lost(root: Path, commit: str) -> bool:
    whole = _git(root, "rev-parse", "--is-shallow-repository") == "false"
    return whole and _git(root, "merge-base", "--is-ancestor", commit, "HEAD") is None


def describe_data(name: str, recipe: dict[str, Any], data: Interactions) -> dict[str, Any]:
    """Name, how it was filtered, statistics, and the SHA-256 of its pairs."""
    return {"name": name, "recipe": recipe, "sha256": data.sha256, **data.statistics()}


def digest(value: Any) -> str:
    """SHA-256 of a JSON-able value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file whole or not at all: beside it first, then one rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(beside, path)


def read_json(path: Path) -> Any:
    """What `write_json` wrote; ValueError names a file that is torn or is no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # UnicodeDecodeError is one, too
        raise ValueError(f"{path} is torn or is no JSON ({error}); delete it, or take it back from git") from None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _git(root: Path, *arguments: str) -> str | None:
    try:
        command = ["git", "-C", str(root), *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
