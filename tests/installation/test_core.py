"""`pip install two-tower-course` alone: the library and `two-tower-audit`, with few packages and without Jupyter."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from launch.environments import make_environment, megabytes_on_disk, pip
from packaging.requirements import Requirement

from course_lib.audit import cli

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FEW = 16  # packages; 57 beside torch when the interactives belonged to the core
NEED_TORCH = ("backbones", "debiasing", "dependence", "encoders", "jacobians", "optimisers", "training")


def plain(name: str) -> str:
    """A distribution's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(requirements: Iterable[str]) -> set[str]:
    """The distributions that these need, as this environment has them. CUDA's, and what is not installed, stay out."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        asked = Requirement(waiting.pop())
        if plain(asked.name) in found or (asked.marker and not asked.marker.evaluate({"extra": ""})):
            continue
        try:
            needs = metadata.requires(asked.name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(plain(asked.name))
        waiting += needs
    return found


CORE = closure(PROJECT["dependencies"])
# In a new interpreter: a package that the core does not bring cannot be imported.
WALL = """
import sys
from importlib import metadata
from importlib.abc import MetaPathFinder

core = set(sys.argv.pop(1).split(","))
brings = metadata.packages_distributions()
plain = lambda name: name.lower().replace("_", "-").replace(".", "-")
hidden = {name for name, owners in brings.items() if not {plain(owner) for owner in owners} & core}
hidden -= {"course_lib", "_distutils_hack"}

class Wall(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}: not in the core", name=name)

sys.meta_path.insert(0, Wall())
"""


def behind_the_wall(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A new interpreter that has the core alone."""
    command = [sys.executable, "-c", WALL + code, ",".join(sorted(CORE)), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_core_is_few_packages_and_no_jupyter() -> None:
    assert 10 < len(CORE) <= FEW, sorted(CORE)
    assert not CORE & {"anywidget", "ipython", "jupyterlab", "lightning-fabric", "numba", "pooch", "requests", "torch"}


def test_extras_that_name_extras_name_those_that_exist() -> None:
    extras = PROJECT["optional-dependencies"]
    named = [Requirement(each) for packages in extras.values() for each in packages]
    own = [asked.extras for asked in named if asked.name == PROJECT["name"]]
    assert own and set().union(*own) <= set(extras)


def test_the_wall_keeps_out_what_the_core_lacks() -> None:
    done = behind_the_wall("import anywidget")
    assert done.returncode == 1 and "not in the core" in done.stderr


@pytest.mark.pipeline
def test_the_command_runs_with_the_core_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "items.npy", rng.standard_normal((150, 8)))
    np.save(tmp_path / "users.npy", rng.standard_normal((60, 8)))
    np.save(tmp_path / "pairs.npy", np.stack([np.arange(600) % 60, rng.integers(0, 150, 600)], axis=1))
    code = "from course_lib.audit import cli\nsys.exit(cli(sys.argv[1:]))"
    done = behind_the_wall(code, str(tmp_path), "--out", str(tmp_path / "report.html"))
    assert done.returncode == 0, done.stderr
    assert "popularity-lengths" in done.stdout and "<svg" in (tmp_path / "report.html").read_text()
    done = behind_the_wall(code, str(tmp_path), str(tmp_path), "--out", str(tmp_path / "changes.html"))
    assert done.returncode == 0, done.stderr


def test_the_library_is_imported_with_the_core_alone() -> None:
    """Every module of the library that needs no torch, and what the exercises check answers with."""
    code = f"""
from importlib import import_module
from pkgutil import walk_packages
import course_lib
names = [path.replace("/", ".").removesuffix(".py").removesuffix(".__init__") for path in sys.argv[1].split()]
rooms = ("experiments", "lessons", *{NEED_TORCH})
chosen = [name for name in names if name.endswith(".checks") or f"{{name}}.".split(".")[1] not in rooms]
for name in chosen:
    import_module(name)
print(len(chosen))
"""
    files = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "course_lib").rglob("*.py")))
    done = behind_the_wall(code, " ".join(files))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 80


def test_what_needs_torch_says_how_to_get_it() -> None:
    one = "try:\n    import course_lib.{}\nexcept ModuleNotFoundError as error:\n    print(error)"
    said = behind_the_wall("\n".join(map(one.format, NEED_TORCH))).stdout.splitlines()
    needs = "needs torch, which is not installed: pip install '.[training]'"
    assert all(f"course_lib.{room} {needs}" in line for room, line in zip(NEED_TORCH, said, strict=True))


def test_the_audit_says_the_same_without_torch_and_numba(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    users, items = rng.standard_normal((60, 8)), rng.standard_normal((150, 8))
    pairs = np.stack([np.arange(900) % 60, rng.integers(0, 150, 900)], axis=1)
    arrays = {"users": users, "items": items, "pairs": pairs[:700], "test": pairs[700:]}
    files = {name: str(tmp_path / f"{name}.npy") for name in arrays}
    for name, values in arrays.items():
        np.save(files[name], values)
    asked = [
        "--items",
        files["items"],
        "--users",
        files["users"],
        "--pairs",
        files["pairs"],
        "--held-out",
        files["test"],
    ]
    code = "from course_lib.audit import cli\nsys.exit(cli(sys.argv[1:]))"
    done = behind_the_wall(code, *asked, "--json", str(tmp_path / "light.json"), "--out", str(tmp_path / "light.html"))
    assert done.returncode == 0, done.stderr
    assert cli([*asked, "--json", str(tmp_path / "all.json"), "--out", str(tmp_path / "all.html")]) == 0
    light, whole = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("light", "all"))
    assert light["verdicts"] == whole["verdicts"] and light["baselines"] == whole["baselines"]


def test_a_format_without_its_package_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "items.safetensors").write_bytes(b"x" * 20)
    done = behind_the_wall(
        "from course_lib.audit import cli\nsys.exit(cli(sys.argv[1:]))", f"{tmp_path}/items.safetensors"
    )
    assert done.returncode == 2
    assert "the package safetensors, which reads it, is not installed" in done.stderr
    assert "pip install '.[tables]' in the folder of the course" in done.stderr


@pytest.mark.slow
def test_a_new_environment_gets_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Installed from the index: how many packages and megabytes come beyond torch."""
    source = tmp_path / "source"
    shutil.copytree(ROOT / "course_lib", source / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, source / name)
    locked = re.search(r"^torch==\S+$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)[0]
    try:
        python = make_environment(tmp_path / "venv", locked)
    except AssertionError as problem:
        if "No matching distribution" in str(problem) or "connection" in str(problem).lower():
            pytest.skip("no package index can be reached")
        raise

    def measured() -> tuple[int, float]:
        return len(pip(python, "list", "--format=freeze").splitlines()), megabytes_on_disk(tmp_path / "venv")

    before = measured()
    pip(python, "install", "--quiet", "--no-compile", str(source))
    after = measured()
    with capsys.disabled():
        print(f"\nbeyond torch: {after[0] - before[0]} packages, {after[1] - before[1]:.0f} MB", end="")
    assert after[0] - before[0] <= FEW and after[1] - before[1] < 600
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((150, 8)))
    command = [str(python.parent / "two-tower-audit"), f"{tmp_path}/items.npy", "--out", f"{tmp_path}/report.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
