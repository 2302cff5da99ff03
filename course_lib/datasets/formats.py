"""Parsers of the original file formats, from bytes to columns: fast, and exact about the row that is wrong.

Tables are read in blocks of whole lines, each block by one call of NumPy. Only when a block fails is it searched, by
bisection, for its first bad line, so that the message can name the file, the line and its content.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from course_lib.datasets.errors import BadRow, TruncatedFile

__all__ = [
    "COMPRESSED",
    "Column",
    "find_file",
    "open_compressed",
    "open_text",
    "read_adjacency",
    "read_csv_text",
    "read_libsvm",
    "read_separated_text",
    "read_table",
    "teaching_truncation",
]

COMPRESSED: dict[str, Callable[..., Any]] = {"": open, ".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
BLOCK = 1 << 24  # bytes read at a time
DAMAGE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.ReadError)
MAX_ID = 100_000_000
SHOWN = 120  # characters of a bad line that a message shows


@dataclass(frozen=True)
class Column:
    """One column of a table of numbers.

    Parameters
    ----------
    name : str
        The name of the column.
    dtype : str
        Its NumPy type, such as "i8".
    low, high : float
        A value outside this range is an error.

    Examples
    --------
    >>> from course_lib.datasets.formats import Column
    >>> Column("rating", "f4", 0.5, 5)
    Column(name='rating', dtype='f4', low=0.5, high=5)
    """

    name: str
    dtype: str
    low: float
    high: float


# ---------------------------------------------------------------------------------------------------------------- files
def find_file(folder: Path, name: str) -> Path | None:
    """Return the path of a file in a folder, or of its .xz, .gz or .bz2 form.

    Parameters
    ----------
    folder : Path
        The folder.
    name : str
        The name of the file, without the suffix of a compressed form.

    Returns
    -------
    Path or None
        The path, or None where there is no such file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import formats
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     (folder / "train.txt.gz").touch()
    ...     formats.find_file(folder, "train.txt").name, formats.find_file(folder, "test.txt")
    ('train.txt.gz', None)
    """
    paths = (folder / f"{name}{suffix}" for suffix in COMPRESSED)
    return next((path for path in paths if path.is_file()), None)


def open_compressed(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, unpacked as its suffix says.

    Parameters
    ----------
    path : Path
        The file: .xz, .gz, .bz2, or any other suffix for a plain file.

    Returns
    -------
    binary stream
        The bytes of the file, unpacked.

    Examples
    --------
    >>> import gzip, pathlib, tempfile
    >>> from course_lib.datasets import formats
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.txt.gz"
    ...     _ = path.write_bytes(gzip.compress(b"0 5 7"))
    ...     with formats.open_compressed(path) as stream:
    ...         print(stream.read())
    b'0 5 7'
    """
    stream: IO[bytes] = COMPRESSED.get(path.suffix, open)(path, "rb")
    return stream


@contextmanager
def open_text(folder: Path, name: str, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open a text file of a folder, or its compressed form, as a context manager.

    Parameters
    ----------
    folder : Path
        The folder.
    name : str
        The name of the file, without the suffix of a compressed form.
    encoding : str, optional
        The encoding of the text.

    Yields
    ------
    text stream
        The lines of the file.

    Raises
    ------
    FileNotFoundError
        Where the folder has neither form.
    TruncatedFile
        For a compressed file that is damaged.

    Examples
    --------
    >>> import gzip, pathlib, tempfile
    >>> from course_lib.datasets import formats
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     _ = (folder / "train.txt.gz").write_bytes(gzip.compress(b"0 5 7"))
    ...     with formats.open_text(folder, "train.txt") as lines:
    ...         print(list(lines))
    ['0 5 7']
    """
    path = find_file(folder, name)
    if path is None:
        raise FileNotFoundError(f"{folder} has no {name} (nor {name}.xz, .gz, .bz2)")
    with (
        teaching_truncation(str(path)),
        open_compressed(path) as stream,
        io.TextIOWrapper(stream, encoding=encoding, newline="\n") as lines,
    ):
        yield lines


@contextmanager
def teaching_truncation(label: str) -> Iterator[None]:
    """Turn what the unpackers raise on a damaged file into ``TruncatedFile``, as a context manager.

    The message of the new error says what to do.

    Parameters
    ----------
    label : str
        The name of the file in the message.

    Raises
    ------
    TruncatedFile
        In place of the unpacker's error, which stays as its cause.

    Examples
    --------
    >>> import gzip
    >>> from course_lib import datasets
    >>> from course_lib.datasets import formats
    >>> try:
    ...     with formats.teaching_truncation("train.txt.gz"):
    ...         gzip.decompress(gzip.compress(b"0 5 7")[:-4])
    ... except datasets.TruncatedFile as error:
    ...     print(str(error)[:44])
    train.txt.gz ends too early or is damaged (E
    """
    try:
        yield
    except DAMAGE as error:
        raise TruncatedFile(
            f"{label} ends too early or is damaged ({type(error).__name__}: {error}). A download that was cut off "
            "looks like this: delete the file and get it again"
        ) from error


# --------------------------------------------------------------------------------------------------------------- tables
def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines; the last line gets its line end if it has none."""
    rest = b""
    while block := stream.read(BLOCK):
        whole, newline, tail = block.rpartition(b"\n")
        if newline:
            yield rest + whole + newline
            rest = tail
        else:
            rest += tail
    if rest:
        yield rest + b"\n"


def _parse_block(block: bytes, separator: bytes, columns: tuple[Column, ...]) -> NDArray[Any] | None:
    """The rows of a block as a structured array, or None when one of its lines is not of the form asked for."""
    if len(separator) > 1:
        if b"\t" in block:
            return None
        block, separator = block.replace(separator, b"\t"), b"\t"
    if not block.strip():
        return None
    dtype = np.dtype([(column.name, column.dtype) for column in columns])
    try:
        delimiter = separator.decode("ascii")
        rows = np.loadtxt(io.BytesIO(block), dtype=dtype, delimiter=delimiter, comments=None, ndmin=1, encoding="ascii")
    except (ValueError, UnicodeDecodeError, OverflowError):
        return None
    if len(rows) != block.count(b"\n"):  # loadtxt passes over empty lines
        return None
    inside = all(((rows[c.name] >= c.low) & (rows[c.name] <= c.high)).all() for c in columns)
    return rows if inside else None


def _first_bad_line(block: bytes, separator: bytes, columns: tuple[Column, ...]) -> tuple[int, bytes]:
    """(index, content) of the first line that does not parse: the shortest prefix that fails ends with it."""
    lines = block.splitlines(keepends=True)
    good, bad = 0, len(lines)  # the prefix of `good` lines parses, that of `bad` lines does not
    while bad - good > 1:
        middle = (good + bad) // 2
        if _parse_block(b"".join(lines[good:middle]), separator, columns) is None:
            bad = middle
        else:
            good = middle
    return good, lines[good]


def _bad_row(label: str, number: int, expected: str, line: bytes | str) -> BadRow:
    text = line.decode("utf-8", errors="replace") if isinstance(line, bytes) else line
    text = text.rstrip("\r\n")
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return BadRow(f"{label}, line {number}: expected {expected}, got {shown!r}")


def read_table(
    stream: IO[bytes], label: str, *, separator: bytes, columns: tuple[Column, ...], header: bytes | None = None
) -> dict[str, NDArray[Any]]:
    r"""Read the columns of a table of numbers with one row a line.

    Parameters
    ----------
    stream : binary stream
        The bytes of the file.
    label : str
        The name of the file in errors.
    separator : bytes
        What stands between columns, such as ``b"::"`` or ``b","``.
    columns : tuple of Column
        The columns.
    header : bytes, optional
        The first line, which must be exactly that.

    Returns
    -------
    dict of str to array
        The columns by name.

    Raises
    ------
    BadRow
        For a row that has another form or a value out of its range, with file, line number and content; for another
        header and for an empty file.

    Examples
    --------
    >>> import io
    >>> from course_lib.datasets import formats
    >>> columns = formats.Column("user", "i8", 0, 99), formats.Column("item", "i8", 0, 99)
    >>> table = formats.read_table(io.BytesIO(b"1::5\n2::7\n"), "ratings.dat", separator=b"::", columns=columns)
    >>> {name: values.tolist() for name, values in table.items()}
    {'user': [1, 2], 'item': [5, 7]}
    """
    expected = separator.decode().join(column.name for column in columns)
    number = 1
    if header is not None:
        first = stream.readline()
        if first.rstrip(b"\r\n") != header:
            raise _bad_row(label, 1, f"the header {header.decode()!r}", first)
        number = 2
    parsed = []
    for block in _blocks(stream):
        rows = _parse_block(block, separator, columns)
        if rows is None:
            index, line = _first_bad_line(block, separator, columns)
            ranges = ", ".join(f"{c.name} in {c.low:g}..{c.high:g}" for c in columns)
            raise _bad_row(label, number + index, f"{expected} with {ranges}", line)
        parsed.append(rows)
        number += len(rows)
    if not parsed:
        raise BadRow(f"{label}: expected rows {expected}, got an empty file")
    return {column.name: np.concatenate([rows[column.name] for rows in parsed]) for column in columns}


def read_adjacency(stream: IO[bytes], label: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""Read the pairs of a file in the LightGCN text format.

    The format has one line for each user: "user item item ...", with ids from 0. A user without items ("17") is allowed
    and adds no pair.

    Parameters
    ----------
    stream : binary stream
        The bytes of the file.
    label : str
        The name of the file in errors.

    Returns
    -------
    users, items : array of int64
        The pairs.

    Raises
    ------
    BadRow
        For a line of another form, with file, line number and content, and for an empty file.

    Examples
    --------
    >>> import io
    >>> from course_lib.datasets import formats
    >>> users, items = formats.read_adjacency(io.BytesIO(b"0 5 7\n1\n2 5\n"), "train.txt")
    >>> users.tolist(), items.tolist()
    ([0, 0, 2], [5, 7, 5])
    """
    users, items = [], []
    for number, line in enumerate(stream, start=1):
        try:
            user, *row = map(int, line.split())
            if min(user, *row, 0) < 0 or max(user, *row, 0) > MAX_ID:
                raise ValueError
        except ValueError:
            raise _bad_row(label, number, "user item item ... (integers from 0)", line) from None
        users.append(np.full(len(row), user, dtype=np.int64))
        items.append(np.array(row, dtype=np.int64))
    if not users:
        raise BadRow(f"{label}: expected lines user item item ..., got an empty file")
    return np.concatenate(users), np.concatenate(items)


def read_libsvm(stream: IO[bytes], label: str) -> tuple[NDArray[np.int64], NDArray[np.int64], sparse.csr_array]:
    r"""Read a file in the LIBSVM multi-label format.

    The format has one line for each row: "label,label index:value index:value ...". A line without labels starts with a
    blank.

    Parameters
    ----------
    stream : binary stream
        The bytes of the file.
    label : str
        The name of the file in errors.

    Returns
    -------
    rows, labels : array of int64
        The pairs of a row and a label.
    features : sparse array, shape (lines, largest index)
        The features in CSR, with the file's indices, which start at 1, moved to 0.

    Raises
    ------
    BadRow
        For a line of another form, with file, line number and content, and for an empty file.

    Examples
    --------
    >>> import io
    >>> from course_lib.datasets import formats
    >>> rows, labels, features = formats.read_libsvm(io.BytesIO(b"3,8 1:0.5\n4 2:0.25\n"), "train.txt")
    >>> rows.tolist(), labels.tolist(), features.toarray().tolist()
    ([0, 0, 1], [3, 8, 4], [[0.5, 0.0], [0.0, 0.25]])
    """
    label_counts, feature_counts, labels, indices, values = [], [], [], [], []
    for number, line in enumerate(stream, start=1):
        try:
            head, _, tail = line.rstrip(b"\r\n").partition(b" ")
            if b":" in head:
                raise ValueError
            row_labels = [int(word) for word in head.split(b",")] if head else []
            entries = [word.split(b":") for word in tail.split()]
            row_indices = [int(index) for index, _ in entries]
            row_values = [float(value) for _, value in entries]
            if min(row_labels, default=0) < 0 or min(row_indices, default=1) < 1:
                raise ValueError
            if max(*row_labels, *row_indices, 0, 0) > MAX_ID:
                raise ValueError
        except ValueError:
            raise _bad_row(label, number, "label,label index:value index:value ...", line) from None
        label_counts.append(len(row_labels))
        feature_counts.append(len(row_indices))
        labels += row_labels
        indices.append(np.array(row_indices, dtype=np.int64) - 1)
        values.append(np.array(row_values))
    if not label_counts:
        raise BadRow(f"{label}: expected lines label,label index:value ..., got an empty file")
    pointers = np.concatenate(([0], np.cumsum(feature_counts)))
    flat = np.concatenate(indices)
    shape = (len(label_counts), int(flat.max(initial=-1)) + 1)
    features = sparse.csr_array((np.concatenate(values), flat, pointers), shape=shape)
    rows = np.repeat(np.arange(len(label_counts)), label_counts)
    return rows, np.array(labels, dtype=np.int64), features


# ----------------------------------------------------------------------------------------------------------------- text
def _text_rows(rows: Iterator[tuple[int, list[str]]], label: str, expected: tuple[str, ...]) -> list[list[str]]:
    kept = []
    for number, row in rows:
        if len(row) != len(expected):
            raise _bad_row(label, number, f"{len(expected)} fields ({', '.join(expected)})", " | ".join(row))
        kept.append(row)
    return kept


@contextmanager
def _text_lines(stream: IO[bytes], label: str, encoding: str, newline: str) -> Iterator[TextIO]:
    """The lines of a stream; BadRow where its bytes are not text of this encoding."""
    try:
        with io.TextIOWrapper(stream, encoding=encoding, newline=newline) as lines:
            yield lines
    except UnicodeDecodeError as error:
        raise BadRow(
            f"{label}: expected {encoding} text, got the bytes {error.object[error.start : error.end]!r}"
        ) from error


def read_separated_text(
    stream: IO[bytes],
    label: str,
    *,
    separator: str,
    fields: tuple[str, ...],
    encoding: str = "utf-8",
    comment: str = "",
) -> list[list[str]]:
    r"""Read the rows of a text table, one a line.

    Parameters
    ----------
    stream : binary stream
        The bytes of the file.
    label : str
        The name of the file in errors.
    separator : str
        What stands between fields.
    fields : tuple of str
        The names of the fields.
    encoding : str, optional
        The encoding of the text.
    comment : str, optional
        Lines that start with it are passed over, and so are empty lines then.

    Returns
    -------
    list of list of str
        The rows.

    Raises
    ------
    BadRow
        For a row with another number of fields, and for bytes that are not text of this encoding.

    Examples
    --------
    >>> import io
    >>> from course_lib.datasets import formats
    >>> stream = io.BytesIO(b"# films\n1::Alien\n2::Brazil\n")
    >>> formats.read_separated_text(stream, "movies.dat", separator="::", fields=("id", "title"), comment="#")
    [['1', 'Alien'], ['2', 'Brazil']]
    """
    with _text_lines(stream, label, encoding, "\n") as lines:
        content = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, start=1))
        if comment:
            content = ((number, line) for number, line in content if line and not line.startswith(comment))
        return _text_rows(((number, line.split(separator)) for number, line in content), label, fields)


def read_csv_text(stream: IO[bytes], label: str, fields: tuple[str, ...]) -> list[list[str]]:
    r"""Read the rows of a comma separated text table with quotes, below a header.

    Parameters
    ----------
    stream : binary stream
        The bytes of the file, in UTF-8.
    label : str
        The name of the file in errors.
    fields : tuple of str
        The header, which must be exactly that.

    Returns
    -------
    list of list of str
        The rows.

    Raises
    ------
    BadRow
        For another header, a row with another number of fields, and bytes that are not UTF-8.

    Examples
    --------
    >>> import io
    >>> from course_lib.datasets import formats
    >>> stream = io.BytesIO(b'movieId,title\n1,"Good, the Bad and the Ugly"\n')
    >>> formats.read_csv_text(stream, "movies.csv", ("movieId", "title"))
    [['1', 'Good, the Bad and the Ugly']]
    """
    with _text_lines(stream, label, "utf-8", "") as lines:
        reader = csv.reader(lines)
        header = next(reader, [])
        if tuple(header) != fields:
            raise _bad_row(label, 1, f"the header {','.join(fields)!r}", ",".join(header))
        return _text_rows(((reader.line_num, row) for row in reader), label, fields)
