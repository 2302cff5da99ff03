"""Resolves the course's dependencies for the oldest Python that it supports and writes requirements.txt, the lock.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.txt"
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
APART = {"mutation"}
ONLY_WITH_CUDA = re.compile(r"(nvidia|cuda|triton)\b")


def wanted() -> list[str]:
    """What pyproject.toml asks for: the core, what builds it, every extra but that of `make mutants`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = (packages for name, packages in project["project"]["optional-dependencies"].items() if name not in APART)
    found = {*project["project"]["dependencies"], *project["build-system"]["requires"], *itertools.chain(*extras)}
    return sorted(each for each in found if not each.startswith(f"{project['project']['name']}["))  # extras name extras


def resolve(folder: Path, torch_index: str) -> dict[str, str]:
    """name -> version of every package that pip would install into an empty folder, on this machine's platform."""
    chosen = [f"{name}=={version}" for name, version in CHOSEN.items()]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    command += ["--python-version", OLDEST_PYTHON, "--only-binary", ":all:", "--target", str(folder)]
    command += ["--extra-index-url", torch_index] if torch_index else []
    report = json.loads(
        subprocess.run([*command, *wanted(), *chosen], check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    found = {item["metadata"]["name"]: item["metadata"]["version"] for item in report["install"]}
    return {name: version.split("+")[0] for name, version in found.items() if not ONLY_WITH_CUDA.match(name.lower())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-index", default="", help="a further package index, where torch is looked for")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        versions = resolve(Path(folder), arguments.torch_index)
    lines = [f"{name}=={versions[name]}" for name in sorted(versions, key=str.lower)]
    header = (
        f"# Written by `make lock` for Python {OLDEST_PYTHON} and newer; do not edit. What it locks: pyproject.toml.\n"
    )
    LOCK.write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{LOCK.name}: {len(lines)} packages")


if __name__ == "__main__":
    main()
