"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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


def test_the_example_is_about_ten_lines() -> None:
    lines = [line for line in EXAMPLE.splitlines() if line.strip() and not re.match(r"(import|from) ", line)]
    assert len(lines) <= 10


def test_links_and_pictures_exist() -> None:
    places = [place for place in re.findall(r"\]\(([^)]+)\)", README) if not place.startswith(("http", "#"))]
    assert places and [place for place in places if not (ROOT / place).exists()] == []


def test_the_map_names_folders_that_exist() -> None:
    folders = re.findall(r"^\| `(\w+/)` \|", README, re.MULTILINE)
    assert len(folders) >= 5 and [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_the_chapter_that_it_names_exists() -> None:
    notebooks = set(re.findall(r"book/[\w/-]+\.ipynb", README))
    assert notebooks and [name for name in notebooks if not (ROOT / name).is_file()] == []
