"""Which file or folder a text names, and the errors that say what is wrong with it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from course_lib import extras

PICKLES = (".pkl", ".pickle", ".p", ".joblib", ".dill", ".model")
PART = ".parquet"
STEMS = ("items", "users", "pairs", "held_out", "counts", "item_ids", "user_ids")  # of the files of a model
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
LOGS = ("_delta_log", ".hoodie", "metadata")  # of Delta, Hudi and Iceberg: they say which of the parts still count


def refuse_file(name: str, path: Path, what: str, expected: str) -> ValueError:
    """The error that names the argument, the file, what is wrong with it and what was expected."""
    return ValueError(f"{name}: {path}: {what}; expected {expected}")


def located(text: str, name: str, expected: str) -> tuple[Path, str]:
    """(file, what is chosen in it) of FILE or FILE#NAME, where FILE may be a folder of Parquet parts (`parts`).

    Raises ValueError where there is no such file, or it is empty. A file whose own name holds a # is found first.
    """
    whole = "#" not in text or Path(text).exists()
    path, _, chosen = (text, "", "") if whole else text.rpartition("#")
    where = Path(path)
    if is_parts(where):
        return where, chosen
    if where.is_dir():
        raise refuse_file(name, where, f"this is a folder without parts in {PART}", expected)
    if not where.is_file():
        raise refuse_file(name, where, "there is no file of this name", expected)
    if where.suffix.lower() in PICKLES:
        raise refuse_file(
            name,
            where,
            "a pickle can run any code when it is loaded, so it was not opened",
            f"{expected}: where you trust the file, load it yourself and store its numbers with numpy.save",
        )
    if not where.stat().st_size:
        raise refuse_file(name, where, "the file is empty", expected)
    return where, chosen


def is_parts(path: Path) -> bool:
    """Whether this is a folder that holds one table or log in parts, as Spark, Dask and polars write it.

    A folder with files of a model (STEMS) is none, unless its own name ends in .parquet.
    """
    if not path.is_dir():
        return False
    if path.suffix.lower() == PART:
        return True
    held = list(path.iterdir())
    inside = any(each.suffix.lower() == PART or "=" in each.name or each.name in LOGS for each in held)
    return inside and not any(each.stem in STEMS for each in held)


def parts(path: Path, name: str) -> list[Path]:
    """The file, or the parts of a folder by their numbers: part.2 before part.10.

    Names that begin with . or _ are no parts (_SUCCESS, checksums). Raises ValueError for folders in which some parts
    do not count (Delta, Hudi, Iceberg), for those that keep a column in the names of folders, and for other files.
    """
    if not path.is_dir():
        return [path]
    held = sorted(path.iterdir(), key=lambda each: _natural(each.name))
    expected = f"one folder with parts in {PART}, and nothing else"
    found = []
    for each in held:
        if each.name in LOGS:
            raise refuse_file(name, path, f"it holds {each.name}: some of its parts may be out of date", expected)
    for each in held:
        if each.name.startswith((".", "_")):
            continue
        if "=" in each.name and each.is_dir():
            what = f"its column {each.name.partition('=')[0]} is in the names of folders, such as {each.name}"
            raise refuse_file(name, path, what, expected)
        if not each.is_file() or each.suffix.lower() != PART:
            raise refuse_file(name, path, f"it also holds {each.name}", expected)
        found.append(each)
    if not found:
        raise refuse_file(name, path, "this is a folder without parts", expected)
    return found


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A key that sorts numbers in names by their size."""
    return [(0, int(each), "") if each.isdecimal() else (1, 0, each) for each in re.split(r"([0-9]+)", text) if each]


def package(wanted: str, name: str, path: Path) -> Any:
    """The module, or ValueError with the command that installs it."""
    try:
        return import_module(wanted)
    except ImportError:
        what = f"the package {wanted}, which reads it, is not installed"
        raise refuse_file(name, path, what, extras.advice(wanted)) from None


def first_line(problem: BaseException) -> str:
    """What a library says, in one line."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]
