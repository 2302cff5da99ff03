"""The small files that an instructor writes, as editors and spreadsheets save them: in any Unicode encoding."""

from __future__ import annotations

import json
from pathlib import Path


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
