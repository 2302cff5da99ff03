"""Zip files, as students and platforms pack them: opened in memory, within limits, and never written to the disk."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path

MOST_FILES = 10_000
MOST_UNPACKED = 200_000_000  # bytes of all files that are read of a student's archive
MOST_OF_A_CLASS = 2_000_000_000
ZIP = b"PK\x03\x04", b"PK\x05\x06"
BY_HAND = "unpack it and collect again, or ask the student for the .ipynb file itself"
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
OTHERS = (b"Rar!", b"7z\xbc\xaf", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")


class Unopened(Exception):
    """An archive, or a file in one, that is not opened; the message says why."""


@dataclass(frozen=True)
class Packed:
    """A file in an archive: where it lies, when it was written, its bytes as stated, and how to read it, or Unopened.

    No more than the stated bytes are ever unpacked.
    """

    parts: tuple[str, ...]
    written: datetime | None
    size: int
    read: Callable[[], bytes]


def files(archive: bytes | Path, largest: int) -> list[Packed]:
    """The files of an archive, the oldest first; of one with more than `largest` bytes, `read` raises Unopened.

    A path is a platform's archive of a class, which may be too large for memory.
    """
    # The list of a student's archive is not made before its lines are counted: each begins so.
    if isinstance(archive, bytes) and archive.count(b"PK\x01\x02") > MOST_FILES:
        raise Unopened(f"more than {MOST_FILES:,} files are in the archive")
    try:
        opened = zipfile.ZipFile(BytesIO(archive) if isinstance(archive, bytes) else archive)
    except _BROKEN as error:
        raise Unopened(f"the archive is broken ({error})") from None
    found = list(_files(opened, largest))
    return sorted(found, key=lambda one: one.written or datetime.min.replace(tzinfo=UTC))


def check_size(some: Iterable[Packed], most: int) -> None:
    """Unopened for files that have more than so many bytes together."""
    if sum(one.size for one in some) > most:
        raise Unopened(f"unpacked it has more than {most:,} bytes")


def _files(archive: zipfile.ZipFile, largest: int) -> Iterator[Packed]:
    for info in archive.infolist():
        parts = _parts(info)
        try:  # the clock of who packed it, taken for this computer's, as unpacking does
            written = datetime(*info.date_time).astimezone()
        except (ValueError, OverflowError, OSError):
            written = None
        if parts and not info.is_dir():
            yield Packed(parts, written, info.file_size, partial(_read, archive, info, largest))


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, largest: int) -> bytes:
    if stat.S_ISLNK(info.external_attr >> 16):
        raise Unopened("it is no ordinary file")
    if info.flag_bits & 1:
        raise Unopened("the archive is locked with a password")
    if info.file_size > largest:
        raise Unopened(f"unpacked it has more than {largest:,} bytes")
    try:
        with archive.open(info) as file:
            return file.read(info.file_size + 1)  # asked for no number, it might unpack two gigabytes at once
    except _BROKEN as error:
        raise Unopened(f"the archive is broken ({error})") from None


def _parts(info: zipfile.ZipInfo) -> tuple[str, ...]:
    """The folders and the name of a file; what would lead out of the archive is left out."""
    name = info.filename
    if not info.flag_bits & 0x800:  # Macs write UTF-8 and do not say so
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..") and part[1:] != ":")
