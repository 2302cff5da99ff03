"""The one table of data sets, catalogue.yml: one `Entry` each."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml

from course_lib.datasets import readers
from course_lib.datasets.entries import Entry, Remote

__all__ = ["ENTRIES", "Entry", "Remote"]


def _entry(name: str, row: dict[str, Any]) -> Entry:
    """An entry of the file: names of readers as functions, lists as tuples, files as what is downloaded."""
    base, hashes = row.pop("base", ""), row.pop("files", {})
    row["read"] = getattr(readers, row["read"]) if "read" in row else None
    row["forms"] = tuple(map(tuple, row.get("forms", ())))
    row["archives"] = tuple(row.get("archives", ()))
    remotes = [Remote(f"{base}/{file}", f"{name}/{file}", *value.split(":")) for file, value in hashes.items()]
    return Entry(name=name, remotes=tuple(remotes), **row)


_FILE = yaml.safe_load((files(__package__) / "catalogue.yml").read_text(encoding="utf-8"))
ENTRIES: dict[str, Entry] = {name: _entry(name, row) for name, row in _FILE["sets"].items()}
