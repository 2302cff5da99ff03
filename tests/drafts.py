"""The chapters of the book, and those that `make chapter` wrote and nobody has finished: tests ask less of them.

And which of many are asked at every `make test`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def is_draft(notebook: Path) -> bool:
    """Whether a notebook says of itself, in its metadata, that it is a draft."""
    metadata = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]
    return bool(metadata.get("course", {}).get("draft"))


DRAFTS = {path.stem for path in (ROOT / "book").glob("*/*.ipynb") if is_draft(path)}
PARTS = ("geometry", "sampling", "debiasing")
BESIDE = ("-lab", "-further", "-reading")  # how the pages beside a chapter's main page end


FIRST = ROOT / "book" / "start" / "first-model.ipynb"  # the way in: no lab, no marks


PART = "practice"  # the part whose class is one for all of its chapters; its page is their lab


def main_pages() -> list[Path]:
    """The notebooks that are main pages of chapters, without labs and further pages; drafts among them."""
    found = (path for part in PARTS for path in (ROOT / "book" / part).glob("*.ipynb"))
    return sorted(path for path in found if not path.stem.endswith(BESIDE))


def short_chapters() -> list[Path]:
    """The finished chapters of the part "In practice": each is its main page alone, with one lab for all of them."""
    found = (path for path in (ROOT / "book" / PART).glob("*.ipynb") if not path.stem.endswith(BESIDE))
    return sorted(path for path in found if not is_draft(path))


def classes() -> set[str]:
    """Whose class has board notes, an exam and a deck: each finished chapter, the first of all, and a whole part."""
    return {path.stem for path in main_pages() if not is_draft(path)} | {FIRST.stem, PART}


def one_quickly(names: Sequence[Any], most: int = 1) -> list[Any]:
    """The first where the same template, script or rule serves all of them; the others among the pipelines.

    So are mistakes that a test must notice. A tuple is several arguments.
    """
    several = [name if isinstance(name, tuple) else (name,) for name in names]
    return [*names[:most], *(pytest.param(*each, marks=pytest.mark.pipeline) for each in several[most:])]
