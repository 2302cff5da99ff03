"""The contents of the book: the one place that reads _toc.yml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("-further", "-reading", "-lab")  # how the pages beside a chapter end: more of it, a paper read, experiments


def tree(root: Path = ROOT) -> dict[str, Any]:
    """What _toc.yml holds: root, and parts with their chapters."""
    read: dict[str, Any] = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return read


class Entry(NamedTuple):
    """A page in the contents: its part's caption, the number of its chapter or (), how deep it stands in the part.

    Chapters of numbered parts are counted through all parts (use_multitoc_numbering). The pages below a chapter, such
    as its lab, go on with the chapter's numbers, whatever depth ``numbered`` names.
    """

    page: str
    part: str = ""
    number: tuple[int, ...] = ()
    depth: int = 0


def entries(read: Mapping[str, Any]) -> Iterator[Entry]:
    """Every page of what `tree` reads, in order."""
    yield Entry(read["root"])
    chapter = 0
    for part in read.get("parts", []):
        for entry in part["chapters"]:
            chapter += bool(part.get("numbered"))
            yield from _with_sections(entry, str(part.get("caption", "")), (chapter,) * bool(part.get("numbered")), 0)


def _with_sections(entry: dict[str, Any], part: str, number: tuple[int, ...], depth: int) -> Iterator[Entry]:
    yield Entry(entry["file"], part, number, depth)
    for section in entry.get("sections", []):
        yield from _with_sections(section, part, number, depth + 1)


def pages(root: Path = ROOT) -> list[tuple[str, tuple[int, ...]]]:
    """(page, number of its chapter or ()) for every page, in order."""
    return [(entry.page, entry.number) for entry in entries(tree(root))]


def way(root: Path = ROOT) -> list[str]:
    """The pages that *Next* goes through: the root, the first page of all, the chapters, and the decisions."""
    first, *others = [entry for entry in entries(tree(root)) if entry.depth == 0]
    later = [entry for entry in others if entry.number] + [
        entry for entry in others if entry.page.endswith("/decisions")
    ]
    return list(dict.fromkeys(entry.page for entry in [first, *others[:1], *later]))


def main_page(page: str) -> str:
    """The chapter's page of a page that may stand beside it: "book/debiasing/ddc" of "book/debiasing/ddc-lab"."""
    return next((page.removesuffix(end) for end in BESIDE if page.endswith(end)), page)


def page_of(name: str, root: Path = ROOT) -> str:
    """The page of a name: "book/debiasing/ddc" of "ddc"; of a part, its lab. KeyError for other names."""
    for page, _ in pages(root):
        if page.rpartition("/")[2] in (name, f"{name}-lab"):
            return page
    raise KeyError(f"no chapter {name!r}; expected the name of a page in _toc.yml, such as ddc")
