"""Resolves the course's dependencies for the oldest Python that it supports and writes requirements.txt, the lock.

And requirements-scale.txt, the lock of the environment in which `make test-scale` runs TorchRec on the CPU.

The lock names exact versions and no index, so that it works with any mirror. It leaves out the CUDA packages
that torch brings on Linux: torch itself names the exact ones it needs, and a computer without a GPU needs none.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK, SCALE_LOCK = ROOT / "requirements.txt", ROOT / "requirements-scale.txt"
# Held by hand. Jupyter Book 1 is the last line that runs these extensions; the theme from 1.2 on adds a second
# search bar, and an unpinned pair lets pip walk back to jupyter-book 0.6. Everything else takes its newest version.
CHOSEN = {
    "jupyter-book": "1.0.4.post1",
    "sphinx-book-theme": "1.1.4",
    "sphinx-exercise": "1.2.1",
    "sphinx-mathjax-offline": "0.0.2",
    "sphinx-proof": "0.4.0",
    "torch": "2.13.0",
}
# Not 3.11 and whatever comes: Debian 12 has 3.11.2, and some packages ask for 3.11.5.
OLDEST_PYTHON = "3.11.0"
APART = {"mutation", "scale", "text"}  # the last: 91 MB for one section, whose results are stored
# TorchRec asks for fbgemm-gpu, which is CUDA, and for one old version of torchmetrics; on the CPU it runs without them.
# This pair belongs to torch 2.13; the next one belongs to the next torch.
TORCHREC = {"torchrec": "1.8.0"}
WITH_TORCHREC = ["fbgemm-gpu-cpu==1.8.0", "iopath", "pyre-extensions", "tensordict", "torchmetrics"]
AT_SCALE = ("data", "experiments", "training")  # extras
FOR_ITS_TESTS = ["hypothesis", "pytest", "pytest-xdist"]
ONLY_WITH_CUDA = re.compile(r"(nvidia|cuda|triton)\b")


def wanted(only: Collection[str] = ()) -> list[str]:
    """What pyproject.toml asks for: the core, what builds it, these extras, or all of them but APART."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    every = project["project"]["optional-dependencies"]
    extras = [packages for name, packages in every.items() if (name in only if only else name not in APART)]
    found = {*project["project"]["dependencies"], *project["build-system"]["requires"], *itertools.chain(*extras)}
    return sorted(each for each in found if not each.startswith(f"{project['project']['name']}["))  # extras name extras


def resolve(packages: Iterable[str], folder: Path, torch_index: str) -> dict[str, str]:
    """name -> version of every package that pip would install into an empty folder, on this machine's platform."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    command += ["--python-version", OLDEST_PYTHON, "--only-binary", ":all:", "--target", str(folder)]
    command += ["--extra-index-url", torch_index] if torch_index else []
    report = json.loads(subprocess.run([*command, *packages], check=True, stdout=subprocess.PIPE, text=True).stdout)
    found = {item["metadata"]["name"]: item["metadata"]["version"] for item in report["install"]}
    return {name: version.split("+")[0] for name, version in found.items() if not ONLY_WITH_CUDA.match(name.lower())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-index", default="", help="a further package index, where torch is looked for")
    arguments = parser.parse_args()
    chosen = [f"{name}=={version}" for name, version in CHOSEN.items()]
    with tempfile.TemporaryDirectory() as folder:
        write(LOCK, resolve([*wanted(), *chosen], Path(folder), arguments.torch_index))
        same = ["--constraint", str(LOCK), *WITH_TORCHREC, *FOR_ITS_TESTS]
        write(SCALE_LOCK, TORCHREC | resolve([*wanted(AT_SCALE), *same], Path(folder), arguments.torch_index))


def write(lock: Path, versions: Mapping[str, str]) -> None:
    """One package a line, in alphabetical order."""
    lines = [f"{name}=={versions[name]}" for name in sorted(versions, key=str.lower)]
    header = (
        f"# Written by `make lock` for Python {OLDEST_PYTHON} and newer; do not edit. What it locks: pyproject.toml.\n"
    )
    lock.write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{lock.name}: {len(lines)} packages")


if __name__ == "__main__":
    main()
