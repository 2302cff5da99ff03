"""Parsers of the original file formats, from bytes to columns, fast, and exact about the row that is wrong.

Every file is read in blocks of whole lines. A block is tokenised by NumPy in one go; only when a check on it fails is it
read again line by line, to say which line and why.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

import io
import numpy as np
from numpy.typing import NDArray

from .errors import BadRow, TruncatedFile

COMPRESSED = {"": open, ".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
BLOCK = 1 << 25  # bytes read at a time
DAMAGE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)


def find_file(folder: Path, name: str) -> Path | None:
    """The path of folder/name, or of its .xz, .gz or .bz2 form, or None."""
    paths = (folder / f"{name}{suffix}" for suffix in COMPRESSED)
    return next((path for path in paths if path.is_file()), None)


def open_compressed(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked by its suffix."""
    return COMPRESSED.get(path.suffix, open)(path, "rb")


@contextmanager
def open_text(folder: Path, name: str, encoding: str = "utf-8") -> Iterator[TextIO]:
    """The lines of folder/name or its compressed form."""
    path = find_file(folder, name)
    if path is None:
        raise FileNotFoundError(f"{folder} has no {name} (nor .xz, .gz, .bz2)")
    with open_compressed(path) as stream, io.TextIOWrapper(stream, encoding=encoding, newline="\n") as lines:
        yield lines
