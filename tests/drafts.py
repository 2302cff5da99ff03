"""The chapters that `make chapter` wrote and nobody has finished: tests ask less of them, and count them nowhere."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def is_draft(notebook: Path) -> bool:
    """Whether a notebook says of itself, in its metadata, that it is a draft."""
    metadata = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]
    return bool(metadata.get("course", {}).get("draft"))


DRAFTS = {path.stem for path in (ROOT / "book").glob("*/*.ipynb") if is_draft(path)}
