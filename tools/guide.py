"""The instructor's guide, chapter by chapter: which exercises it hands out when, and where students stumble."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "book" / "teach" / "instructors-guide.md"
BEGIN = re.compile(r"^\[(?:Chapter|Lab)\]\(\.\./\w+/([\w-]+?)(?:-lab)?\.ipynb\)", re.MULTILINE)
ROLE = r"\{[\w:]+\}`[^`]*`"
SUPPORT = re.compile(rf"\s*(?:<!--.*?-->|\({ROLE}(?:, {ROLE})*\)|\(\[claim\]\([^)]*\)\))")


@cache
def sections(path: Path) -> Mapping[str, str]:
    """Chapter, or part with one class -> its section of the guide in this file."""
    parts = re.split(r"^##+ ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = [(BEGIN.search(text), text) for text in parts]
    return {link[1]: text for link, text in found if link}


def homework(name: str) -> dict[str, str]:
    """When -> which exercises of a chapter, as the guide hands them out: "Before class", "In class", "At home"."""
    found = re.search(r"^Exercises\. (.*)$", sections(GUIDE).get(name, ""), re.MULTILINE)
    return dict(re.findall(r"(Before class|In class|At home): (.*?)\.(?=\s|$)", found[1])) if found else {}


def pitfalls(name: str) -> list[str]:
    """Where students of a chapter stumble, a line for each, without what the guide says in support."""
    _, _, listed = sections(GUIDE).get(name, "").partition("Pitfalls:")
    listed = SUPPORT.sub("", listed)
    return [" ".join(one.split()) for one in re.split(r"^- ", listed, flags=re.MULTILINE)[1:]]
