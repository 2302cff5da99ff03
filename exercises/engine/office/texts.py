"""The small files that an instructor writes, as editors and spreadsheets save them: in any Unicode encoding."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

LIKELY = ("cp1252", "cp1250", "cp1251", "mac_roman", "gb18030", "shift_jis")
"""Encodings in which spreadsheets save a table where nobody asked for Unicode."""


def decoded(path: Path, encoding: str | None = None) -> str:
    """The text of a file in an encoding, or in any of Unicode.

    ValueError for one in neither: a guess would write somebody's name wrong. The message shows how the first line in
    doubt reads in each likely encoding.
    """
    try:
        if encoding is None:
            return written(path)
        return path.read_bytes().decode(encoding)
    except LookupError:
        raise ValueError(f"--encoding {encoding}: no such encoding; expected one such as {', '.join(LIKELY)}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not in {encoding} ({error.reason})") from None
    except ValueError as error:
        if not path.is_file():
            raise
        line = next(line for line in path.read_bytes().splitlines() if not _is_utf8(line))
        read = {one: line.decode(one, "replace").strip()[:60] for one in LIKELY}
        seen = "; ".join(f"{one}: {text}" for one, text in read.items() if "\ufffd" not in text)
        raise ValueError(f"{error}. Or say --encoding, by the one in which this line is right: {seen}") from None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def written(path: Path) -> str:
    """The text of a file in UTF-8, with a byte-order mark or without, in UTF-16 or in UTF-32.

    ValueError, with the line and the way out, for any other encoding: a byte stands for another letter in each of them,
    and a name that is read wrong is nobody's.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror})") from None
    encoding = json.detect_encoding(content)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"line {line} is not in UTF-8: save the file once more as UTF-8 (in Excel: 'CSV UTF-8')"
        ) from None


def sha256(content: bytes) -> str:
    """The checksum of some bytes."""
    return hashlib.sha256(content).hexdigest()
