"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]
CHECK = """
assert torch.isfinite(loss), loss
assert all(tower.grad is not None and tower.grad.abs().sum() > 0 for tower in (users, items))
"""


def test_the_example_runs(tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text("import sys\nsys.path.insert(0, sys.argv[1])\n" + EXAMPLE + CHECK, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(script), str(ROOT)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_links_and_pictures_exist() -> None:
    places = [place for place in re.findall(r"\]\(([^)]+)\)", README) if not place.startswith(("http", "#"))]
    assert places and [place for place in places if not (ROOT / place).exists()] == []


WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"] + [
    path
    for folder in ("book", "exercises", "tools")
    for path in sorted((ROOT / folder).rglob("*.*"))
    if path.suffix in {".md", ".ipynb", ".jinja"}
]
# What installs the course, and torch with it.
INSTALLS = re.compile(r"""^[^|]*(?:^|[`.:] ?)pip install '\.\[(training|lessons)\]'""")
CPU_BUILD = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


def test_the_cpu_build_of_torch_stands_beside_every_command_that_installs_the_course() -> None:
    """At most two lines before it, or in the line after it: on Linux the usual torch brings gigabytes of CUDA."""
    places, bare = 0, []
    for path in WRITTEN:
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if INSTALLS.search(line):
                places += 1
                if CPU_BUILD not in "\n".join(lines[max(0, number - 2) : number + 2]):
                    bare.append(f"{path.relative_to(ROOT)}:{number + 1}: {line.strip()}")
    assert places >= 2 and bare == []
