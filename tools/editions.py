"""What the site says of itself: pages and their chapters, version, day of the last change, address where one is set."""

from __future__ import annotations

import subprocess
from datetime import date
from functools import cache
from pathlib import Path

import yaml

from tools import address, toc

ROOT = Path(__file__).resolve().parents[1]


@cache
def places(root: Path = ROOT) -> dict[str, toc.Entry]:
    """Page -> its place in the contents, for every page of _toc.yml."""
    return {entry.page: entry for entry in toc.entries(toc.tree(root))}


@cache
def title(root: Path = ROOT) -> str:
    """The name of the course, from _config.yml."""
    return str(yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["title"])


@cache
def site_address(root: Path = ROOT) -> str:
    """The public address of the site without a slash at its end; "" as long as nobody has set one."""
    repository = address.repository(root)
    return address.site(repository) if address.is_set(repository) else ""


@cache
def last_changes(root: Path = ROOT) -> dict[str, str]:
    """File, from the root of the repository -> the day of its last commit, "2026-11-22".

    Empty outside a repository, and in a clone without history, where every file would seem as old as the clone.
    """
    if _git("rev-parse", "--is-shallow-repository", root=root).strip() != "false":
        return {}
    days: dict[str, str] = {}
    day = ""
    for line in _git("log", "--format=%x00%cs", "--name-only", "--", "book", root=root).splitlines():
        if line.startswith("\0"):
            day = line[1:]
        elif line:
            days.setdefault(line, day)  # the newest commit comes first
    return days


def in_words(day: str) -> str:
    """2026-11-22 as "22 November 2026"."""
    found = date.fromisoformat(day)
    return f"{found.day} {found:%B %Y}"


def _git(*arguments: str, root: Path) -> str:
    """What git says; nothing where it cannot answer."""
    command = ["git", "-c", "core.quotePath=false", *arguments]
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""
