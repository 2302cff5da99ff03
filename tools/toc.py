"""The contents of the book: the one place that reads _toc.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


def tree(root: Path = ROOT) -> dict[str, Any]:
    """What _toc.yml holds: root, and parts with their chapters."""
    read: dict[str, Any] = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return read


def pages(root: Path = ROOT) -> list[tuple[str, tuple[int, ...]]]:
    """(page, number of its chapter or ()) for every page, in order.

    Chapters of numbered parts are counted through all parts (use_multitoc_numbering). The pages below a chapter, such
    as its lab, go on with the chapter's numbers, whatever depth ``numbered`` names.
    """
    read = tree(root)
    found: list[tuple[str, tuple[int, ...]]] = [(read["root"], ())]
    chapter = 0
    for part in read.get("parts", []):
        for entry in part["chapters"]:
            chapter += bool(part.get("numbered"))
            found += _entries(entry, (chapter,) if part.get("numbered") else ())
    return found


def way(root: Path = ROOT) -> list[str]:
    """The pages that *Next* goes through: the root, the first page of all, the chapters, and the decisions."""
    read = tree(root)
    parts = read.get("parts", [])
    chapters = [entry["file"] for part in parts if part.get("numbered") for entry in part["chapters"]]
    ends = [entry["file"] for part in parts for entry in part["chapters"] if entry["file"].endswith("/decisions")]
    return list(
        dict.fromkeys([read["root"], parts[0]["chapters"][0]["file"], *chapters, *ends] if parts else [read["root"]])
    )


def page_of(name: str, root: Path = ROOT) -> str:
    """The page of a name: "book/debiasing/ddc" of "ddc"; of a part, its lab. KeyError for other names."""
    for page, _ in pages(root):
        if page.rpartition("/")[2] in (name, f"{name}-lab"):
            return page
    raise KeyError(f"no chapter {name!r}; expected the name of a page in _toc.yml, such as ddc")


def _entries(entry: dict[str, Any], number: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
    """A page and the sections under it."""
    inner = [_entries(section, number) for section in entry.get("sections", [])]
    return [(entry["file"], number), *(page for pages in inner for page in pages)]
