"""Parquet and Arrow files, and folders of Parquet parts, through pyarrow: columns of ids, of lists and of numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.audit.ids import IDS, plain_ids
from course_lib.audit.sources import first_line, package, parts, refuse_file
from course_lib.audit.tables import AnyArray

ENDINGS = (".parquet", ".arrow", ".feather")
DIGITS = 22  # of a number of 64 bits, with a sign and .0


def arrow_table(path: Path, name: str, columns: Callable[[list[str]], list[str]] = list) -> Any:
    """The pyarrow Table of a Parquet or Arrow file, or of a folder of parts, with the columns that `columns` chooses.

    Raises ValueError for what pyarrow cannot read, for columns of one name, and for parts that do not fit together.
    """
    arrow = package("pyarrow", name, path)
    found = [_part(each, name, columns) for each in parts(path, name)]
    try:
        return arrow.concat_tables(found, promote_options="permissive")
    except arrow.ArrowException as problem:
        what = f"its parts do not fit together ({first_line(problem)})"
        raise refuse_file(name, path, what, "the same columns in all parts") from None


def _part(path: Path, name: str, columns: Callable[[list[str]], list[str]]) -> Any:
    arrow, parquet = package("pyarrow", name, path), import_module("pyarrow.parquet")
    try:
        if path.suffix.lower() == ".parquet":
            file = parquet.ParquetFile(path)
            held, read = file.schema_arrow.names, file.read
        else:
            whole = arrow.ipc.open_file(arrow.memory_map(str(path))).read_all()
            held, read = whole.schema.names, whole.select
        twice = next((key for key in held if held.count(key) > 1), None)
        if twice is not None:
            raise refuse_file(name, path, f"it has several columns named {twice}", "a name of its own for each column")
        return read(columns(held))
    except (arrow.ArrowException, OSError) as problem:
        raise refuse_file(name, path, f"pyarrow cannot read it ({first_line(problem)})", "Parquet or Arrow") from None


def arrow_ids(found: Any, key: str, name: str, path: Path, start: int = 0) -> AnyArray:
    """The ids (n,) in a column of a pyarrow Table. Raises ValueError as `plain_ids`, and for nulls."""
    types, column = import_module("pyarrow.types"), found.column(key)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    no_nulls(column, key, name, path, IDS, start)
    if types.is_decimal(column.type) and not column.type.scale:
        column = column.cast("string")  # they may be longer than 64 bits
    text = re.match(r"(large_|fixed_size_)?(string|binary)", str(column.type))
    if not text and not types.is_integer(column.type) and not types.is_floating(column.type):
        raise refuse_file(name, path, f"column {key} is of the type {column.type}", IDS)
    return plain_ids(np.array(column.to_pylist()) if text else column.to_numpy(), f"column {key}", name, path, start)


def no_nulls(column: Any, key: str, name: str, path: Path, expected: str, start: int = 0) -> None:
    """Raises ValueError with the first row whose value is missing."""
    if column.null_count:
        first = start + np.flatnonzero(column.is_null().to_numpy())[0]
        raise refuse_file(
            name, path, f"column {key} holds {column.null_count} nulls, the first in row {first}", expected
        )


def is_list(kind: Any) -> bool:
    """Whether each row of such a column holds several values."""
    types = import_module("pyarrow.types")
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_number(kind: Any, *, floats: bool = False) -> bool:
    """Whether each row of such a column holds a number; with `floats`, one with a point."""
    types = import_module("pyarrow.types")
    return bool(types.is_floating(kind) or (types.is_integer(kind) and not floats))


def is_short(column: Any) -> bool:
    """Whether these are numbers, or texts short enough to be numbers that are written out."""
    types, compute = import_module("pyarrow.types"), import_module("pyarrow.compute")
    if is_number(column.type) or types.is_decimal(column.type):
        return True
    if not re.match(r"(large_)?string$", str(column.type)):
        return False
    return (compute.max(compute.binary_length(column)).as_py() or 0) <= DIGITS


def numbers(found: Any, key: str, name: str, path: Path) -> AnyArray:
    """(n,) the numbers of a column."""
    column = found.column(key)
    if not is_number(column.type):
        raise refuse_file(name, path, f"column {key} is of the type {column.type}", "a number in every row")
    no_nulls(column, key, name, path, "a number in every row")
    return np.asarray(column.to_numpy())


def lists(found: Any, key: str, name: str, path: Path) -> AnyArray:
    """(n, d) the numbers of a column of lists. Raises ValueError for lists of other lengths, and for nulls in them."""
    column = found.column(key).combine_chunks()
    lengths = np.asarray(import_module("pyarrow.compute").list_value_length(column).fill_null(0))
    odd = np.flatnonzero(lengths != lengths[0]) if len(lengths) else np.zeros(0, np.int64)
    if not len(lengths) or not lengths[0] or len(odd):
        where = (
            f"row {odd[0]} of column {key} holds {lengths[odd[0]]} numbers, row 0 {lengths[0]}" if len(odd) else "empty"
        )
        raise refuse_file(name, path, where, "as many numbers in every row")
    flat = column.flatten()
    if flat.null_count:
        raise refuse_file(name, path, f"column {key} holds {flat.null_count} nulls", "numbers alone")
    return np.asarray(flat).reshape(len(lengths), -1)


def pandas_index(found: Any) -> tuple[list[str], range | None]:
    """(the columns that pandas wrote for its index, the index where it is a range that pandas did not write)."""
    try:
        kept = json.loads((found.schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
    except (ValueError, KeyError, TypeError):
        return [], None
    columns = [each for each in kept if isinstance(each, str) and each in found.column_names]
    spans = [each for each in kept if isinstance(each, dict) and each.get("kind") == "range"]
    if len(spans) != 1:
        return columns, None
    span = range(spans[0]["start"], spans[0]["stop"], spans[0]["step"])
    return columns, span if len(span) == found.num_rows and span != range(found.num_rows) else None
