"""The small files that an instructor writes, as editors and spreadsheets save them: in any Unicode encoding."""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from exercises.engine.grading.judge import write_whole

# In these, spreadsheets save a table where nobody asked for Unicode.
LIKELY = ("cp1252", "cp1250", "cp1251", "mac_roman", "gb18030", "shift_jis")


class Failed(ValueError):
    """What was asked cannot be done; the message says why, and what to do."""


@contextmanager
def of_file(path: Path, help_: str = "") -> Iterator[None]:
    """What is wrong inside is said with the file in which it stands, and with what helps."""
    try:
        yield
    except ValueError as error:
        raise Failed("; ".join(filter(None, (f"{path}: {error}", help_)))) from None


def perhaps(name: str, known: Iterable[str]) -> str:
    """What somebody may have meant, behind a name that nobody knows."""
    close = difflib.get_close_matches(name, known, n=1)
    return f" (perhaps {close[0]})" if close else ""


def decoded(path: Path, encoding: str | None = None, *, ask: bool = True) -> str:
    """The text of a file in an encoding; without one in UTF-8, with a byte-order mark or without, UTF-16 or UTF-32.

    ValueError, with the line and the way out, for any other: a byte stands for another letter in each encoding, and a
    guess would write somebody's name wrong. With `ask`, it shows how that line reads in each likely one.
    """
    try:
        content = path.read_bytes()
        return content.decode(encoding or json.detect_encoding(content))
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror})") from None
    except LookupError:
        raise ValueError(f"--encoding {encoding}: no such encoding; expected one such as {', '.join(LIKELY)}") from None
    except UnicodeDecodeError as error:
        if encoding:
            raise ValueError(f"it is not in {encoding} ({error.reason})") from None
        before, after = content[: error.start].split(b"\n"), content[error.start :].split(b"\n")
        told = f"line {len(before)} is not in UTF-8: save the file once more as UTF-8 (in Excel: 'CSV UTF-8')"
        read = {one: (before[-1] + after[0]).decode(one, "replace").strip()[:60] for one in LIKELY}
        seen = "; ".join(f"{one}: {text}" for one, text in read.items() if "\ufffd" not in text)
        more = f". Or say --encoding, by the one in which this line is right: {seen}" if ask else ""
        raise ValueError(told + more) from None


def written(path: Path) -> str:
    """The text of a file that an instructor wrote, in any encoding of Unicode."""
    return decoded(path, ask=False)


Kind = TypeVar("Kind")


def read_toml(path: Path, kind: type[Kind]) -> Kind:
    """A file in TOML as `kind`. ValueError names the place, what stands there and what was expected."""
    try:
        found = tomllib.loads(written(path))
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
    return converted("the file", found, kind)


def converted(place: str, value: Any, kind: type[Kind]) -> Kind:
    """A value of TOML or YAML as `kind`. ValueError names the place, what stands there and what was expected."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        told, _, place_in_it = str(error).partition(" - at `$")
        where = place_in_it.rstrip("`")
        for name in where.split("."):
            value = value.get(name, value) if isinstance(value, dict) else value
        names = ", ".join(getattr(kind, "__struct_encode_fields__", ()))
        known = f"; expected some of {names}" if "unknown field" in told else ""
        raise ValueError(f"{place}{where} is {str(value)[:200]!r}: {told}{known}") from None


def sha256(content: bytes) -> str:
    """The checksum of some bytes."""
    return hashlib.sha256(content).hexdigest()


def write_table(path: Path, names: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> None:
    """A CSV file that is whole or as it was before; other programs read no formula in it."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows({key: _harmless(value) for key, value in line.items()} for line in lines)
    write_whole(path, text.getvalue())


def _harmless(value: Any) -> Any:
    """Spreadsheets run a text that begins with one of these signs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value
