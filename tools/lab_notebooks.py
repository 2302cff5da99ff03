"""Writes the copies of the notebooks that `make lab` opens: the plain ones, and never over what a reader has changed.

    python tools/lab_notebooks.py notebooks

A copy that is as this tool wrote it is renewed when the course changes; one that was changed, be it only run and saved,
is left alone. Whoever wants the new one deletes or renames theirs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import export_notebooks, normalise
from tools.course_index import Index

LIST = ".copies.json"  # copy -> hash of what was written


def renew(folder: Path, copies: dict[str, str]) -> list[str]:
    """Write the copies (path -> text) that nobody has changed; returns those that were left although they are old."""
    known = folder / LIST
    written: dict[str, str] = json.loads(known.read_text(encoding="utf-8")) if known.is_file() else {}
    left = []
    for name, text in copies.items():
        path, new = folder / name, _hash(text)
        if path.is_file() and _hash(path.read_text(encoding="utf-8")) != written.get(name):
            left += [name] if written.get(name) != new else []
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written[name] = new
    folder.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return left


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def plain_copies() -> dict[str, str]:
    """Path below the folder, such as "sampling/my-topic.ipynb" -> text of the copy."""
    index = Index()
    pages = {page: export_notebooks.export(index, page) for page in index.notebooks()}
    return {f"{page.removeprefix('book/')}.ipynb": normalise.write_text(copy) for page, copy in pages.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name in renew(folder, plain_copies()):
        print(
            f"{folder / name}: left as it is, for you changed it; the course has a newer one (delete yours to get it)"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
