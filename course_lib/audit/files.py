"""Tables, counts and ids from files. Nothing in a file is ever executed: no pickle is loaded, only numbers.

`FILE#NAME` picks one array, tensor or column of a file that holds several. Formats, by the file's ending:

    .npy .npz                 numpy.save, numpy.savez: an (n, d) array; in .npz an array `ids` names its rows
    .pt .pth .bin .ckpt       torch.save of tensors or a state_dict, read with weights_only=True
    .safetensors              needs the package safetensors
    .parquet .arrow .feather  a column of lists, or d columns of floats; a column of ids names the rows; needs pyarrow

Ids are whole numbers (also as floats) or text (also as bytes in UTF-8); one that is null, empty or another number is
refused. A column that is named as ids are is never a dimension. `pip install '.[tables]'` in the folder of the course
adds both packages.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import checking, extras
from course_lib.audit.tables import AnyArray, Table, table_of

PICKLES = (".pkl", ".pickle", ".p", ".joblib", ".dill", ".model")
TABLES = "a table in .npy, .npz, .pt, .pth, .bin, .ckpt, .safetensors, .parquet, .arrow or .feather"
IDS = "a whole number or a text in every row"
ID_NAMES = ("ids", "id", "names", "name", "item_ids", "item_id", "user_ids", "user_id")
ID_NAMED = re.compile(r"(.*_)?(?i:ids?|names?)|.*[a-z]Ids?")  # item_id, ID and movieId, but not grid
BROKEN = (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def refuse_file(name: str, path: Path, what: str, expected: str) -> ValueError:
    """The error that names the argument, the file, what is wrong with it and what was expected."""
    return ValueError(f"{name}: {path}: {what}; expected {expected}")


def located(text: str, name: str, expected: str) -> tuple[Path, str]:
    """(file, what is chosen in it) of FILE or FILE#NAME. Raises ValueError where there is no such file, or it is empty.

    A file whose own name holds a # is found first.
    """
    whole = "#" not in text or Path(text).exists()
    path, _, chosen = (text, "", "") if whole else text.rpartition("#")
    where = Path(path)
    if where.is_dir():
        raise refuse_file(name, where, "this is a folder", expected)
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


def read_table(text: str, name: str, *, ids: str | None = None, drop_zero_rows: bool = False) -> Table:
    """The table of FILE or FILE#NAME, with its ids where the file has them, or from the file `ids` (`read_ids`)."""
    path, chosen = located(text, name, TABLES)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        advice = " (a .csv holds pairs or counts)" if path.suffix.lower() in (".csv", ".tsv", ".txt") else ""
        what = f"the ending {path.suffix!r} is no table's{advice}" if path.suffix else "its name has no ending"
        raise refuse_file(name, path, what, TABLES)
    rows, names = reader(path, chosen, name)
    if ids is not None:
        names = read_ids(ids, f"{name} ids")
    if names is not None:
        names = _checked_ids(names, len(rows), name, path if ids is None else located(ids, name, IDS)[0])
    table = table_of(rows, f"{name} ({path})", drop_zero_rows=drop_zero_rows)
    return Table(table.rows, f"{path}#{chosen}" if chosen else str(path), table.size, table.zero_rows, names)


def read_counts(text: str, size: int, name: str = "counts") -> AnyArray:
    """The counts (size,) of FILE.npy, FILE.npz#NAME, or of a text file with one number a line."""
    expected = "one number for each item, in .npy, or in .txt or .csv, one a line"
    path, chosen = located(text, name, expected)
    found = _vector(path, chosen, name, expected)
    if found.dtype.kind not in "fiu":
        try:
            found = found.astype(np.float64)
        except ValueError as problem:
            raise refuse_file(name, path, f"it holds no numbers ({problem})", expected) from None
    return checking.counts(found, f"{name} ({path})", size)


def read_ids(text: str, name: str) -> AnyArray:
    """The ids (n,), one for each row of a table: integers or strings, from .npy, .npz#NAME, or a text file by lines."""
    expected = "one id for each row, in .npy, or in .txt or .csv, one a line"
    path, chosen = located(text, name, expected)
    return _vector(path, chosen, name, expected)


# ------------------------------------------------------------------------------------------------------------- formats


def _read_npy(path: Path, chosen: str, name: str) -> tuple[AnyArray, AnyArray | None]:
    arrays = _arrays(path, name)
    if list(arrays) == [""]:
        if chosen:
            raise refuse_file(name, path, f"it holds one array, which has no name {chosen!r}", f"{path.name} alone")
        return arrays[""], None
    ids = next((arrays[key] for key in ID_NAMES if key in arrays), None)
    tables = {key: array for key, array in arrays.items() if np.ndim(array) == 2}
    return _one_of(tables, chosen, name, path), ids


def _read_torch(path: Path, chosen: str, name: str) -> tuple[AnyArray, AnyArray | None]:
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # a broken file may make the restricted reader stumble in any way
        raise refuse_file(
            name,
            path,
            "torch cannot read it as weights alone (it is broken, or holds other objects, such as a whole module), so "
            "nothing was loaded",
            "what torch.save(model.state_dict(), FILE) wrote: a checkpoint that holds other objects can run code when "
            "it is loaded; where you trust it, load it yourself and store its state_dict",
        ) from None
    table = _one_of({key: value for key, value in _tensors(found) if value.ndim == 2}, chosen, name, path)
    kind = "quantized" if table.is_quantized else "on no device" if table.is_meta else str(table.layout)
    if kind != "torch.strided":
        raise refuse_file(name, path, f"its table is {kind}", "a dense tensor of floating-point numbers")
    return table, None


def _read_safetensors(path: Path, chosen: str, name: str) -> tuple[AnyArray, AnyArray | None]:
    package = _package("safetensors", name, path)
    try:
        with package.safe_open(str(path), framework="pt") as file:
            keys = list(file.keys())
            shapes = {key: tuple(file.get_slice(key).get_shape()) for key in keys}
            shapes = {key: shape for key, shape in shapes.items() if len(shape) == 2}
            key = _name_of(shapes, chosen, name, path)
            return file.get_tensor(key), None
    except package.SafetensorError as problem:
        raise refuse_file(name, path, f"it is no safetensors file ({_first_line(problem)})", TABLES) from None


def _read_arrow(path: Path, chosen: str, name: str) -> tuple[AnyArray, AnyArray | None]:
    found = arrow_table(path, name)
    types = import_module("pyarrow.types")
    lists = [field.name for field in found.schema if _is_list(types, field.type)]
    floats = (field.name for field in found.schema if types.is_floating(field.type))
    plain = [key for key in floats if not ID_NAMED.fullmatch(key)]
    ids = next((key for key in ID_NAMES if key in found.column_names and key not in lists), None)
    names = None if ids is None else arrow_ids(found, ids, name, path)
    if not lists and not chosen and plain:
        return np.column_stack([_column(found, key, name, path) for key in plain]), names
    key = _name_of(dict.fromkeys(lists, (found.num_rows, "lists")), chosen, name, path)
    return _list_column(found, key, name, path), names


READERS: dict[str, Callable[[Path, str, str], tuple[Any, AnyArray | None]]] = {
    ".npy": _read_npy,
    ".npz": _read_npy,
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), _read_torch),
    ".safetensors": _read_safetensors,
    **dict.fromkeys((".parquet", ".arrow", ".feather"), _read_arrow),
}


# --------------------------------------------------------------------------------------------------------------- parts


def numpy_arrays(path: Path, name: str) -> dict[str, AnyArray]:
    """{name: array} of .npz, {"": array} of .npy. Arrays of Python objects are never loaded."""
    return _arrays(path, name)


def arrow_table(path: Path, name: str) -> Any:
    """The pyarrow Table of a Parquet or Arrow file."""
    parts = list(arrow_parts(path, name, list))
    return _package("pyarrow", name, path).concat_tables(parts)


def arrow_parts(path: Path, name: str, columns: Callable[[list[str]], list[str]], rows: int = 1 << 20) -> Iterator[Any]:
    """The columns that `columns` chooses by name, part by part: an empty pyarrow Table, then Tables of so many rows.

    An Arrow file comes in the blocks in which it was written. Raises ValueError for what pyarrow cannot read.
    """
    arrow = _package("pyarrow", name, path)
    try:
        if path.suffix.lower() == ".parquet":
            with import_module("pyarrow.parquet").ParquetFile(path) as file:
                chosen = columns(file.schema_arrow.names)
                yield file.schema_arrow.empty_table().select(chosen)
                for batch in file.iter_batches(rows, columns=chosen):
                    yield arrow.Table.from_batches([batch])
        else:
            with arrow.memory_map(str(path)) as source, arrow.ipc.open_file(source) as blocks:
                chosen = columns(blocks.schema.names)
                yield blocks.schema.empty_table().select(chosen)
                for at in range(blocks.num_record_batches):
                    yield arrow.Table.from_batches([blocks.get_batch(at)]).select(chosen)
    except (arrow.ArrowException, OSError) as problem:
        raise refuse_file(name, path, f"pyarrow cannot read it ({_first_line(problem)})", "Parquet or Arrow") from None


def arrow_ids(found: Any, key: str, name: str, path: Path, start: int = 0) -> AnyArray:
    """The ids (n,) in a column of a pyarrow Table. Raises ValueError as `plain_ids`, and for nulls."""
    types, column = import_module("pyarrow.types"), found.column(key)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    _no_nulls(column, key, name, path, IDS, start)
    if types.is_decimal(column.type) and not column.type.scale:
        column = column.cast("int64")
    text = re.match(r"(large_|fixed_size_)?(string|binary)", str(column.type))
    if not text and not types.is_integer(column.type) and not types.is_floating(column.type):
        raise refuse_file(name, path, f"column {key} is of the type {column.type}", IDS)
    return plain_ids(np.array(column.to_pylist()) if text else column.to_numpy(), f"column {key}", name, path, start)


def plain_ids(ids: AnyArray, where: str, name: str, path: Path, start: int = 0) -> AnyArray:
    """The ids as whole numbers or text. Raises ValueError, with `where` and the row, for other numbers and no text.

    start: rows that stand before these in the file.
    """
    bad = np.zeros(0, dtype=np.int64)
    if ids.dtype.kind == "f":
        bad = np.flatnonzero(~whole(ids))
    elif ids.dtype.kind == "S":
        try:
            ids = np.char.decode(ids, "utf-8")
        except UnicodeDecodeError as problem:
            bad = np.flatnonzero(ids == problem.object)
    elif ids.dtype.kind not in "iuU":
        raise refuse_file(name, path, f"{where}: ids of the type {ids.dtype}", IDS)
    if ids.dtype.kind == "U":
        bad = np.flatnonzero(ids == "")
    if len(bad):
        value = str(ids.flat[bad[0]]) or "empty"
        raise refuse_file(name, path, f"{where}: the id in row {start + bad[0]} is {value}", IDS)
    return ids.astype(np.int64) if ids.dtype.kind == "f" else ids


def whole(numbers: AnyArray) -> AnyArray:
    """Which floats are whole numbers, none of them so large that its neighbours are not floats as well."""
    largest = 2.0 ** (np.finfo(numbers.dtype).nmant + 1)
    return np.asarray((numbers == np.floor(numbers)) & (np.abs(numbers) <= largest))


def _arrays(path: Path, name: str) -> dict[str, AnyArray]:
    expected = "numbers that numpy.save or numpy.savez wrote"
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {key: loaded[key] for key in loaded.files}
    except BROKEN as problem:
        what = _first_line(problem)
        if "pickle" in what.lower():  # what numpy says of every file that is not its own, with advice to load it anyway
            what = "it is another kind of file, or holds Python objects"
            expected += "; Python objects are never loaded: convert the array with numpy.stack or .astype(float) first"
        raise refuse_file(name, path, f"it cannot be read ({what})", expected) from None


def _vector(path: Path, chosen: str, name: str, expected: str) -> AnyArray:
    if path.suffix.lower() in (".npy", ".npz"):
        arrays = {key: array for key, array in _arrays(path, name).items() if array.ndim == 1}
        return _one_of(arrays, chosen, name, path) if arrays else _no_vector(name, path, expected)
    if path.suffix.lower() not in (".txt", ".csv", ".tsv"):
        return _no_vector(name, path, expected)
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip().splitlines()
        return np.array([line.strip() for line in lines])
    except UnicodeDecodeError as problem:
        raise refuse_file(name, path, f"it is no UTF-8 text ({problem})", expected) from None


def _no_vector(name: str, path: Path, expected: str) -> AnyArray:
    raise refuse_file(name, path, "it holds no array with one axis", expected)


def _one_of(found: dict[str, Any], chosen: str, name: str, path: Path) -> Any:
    return found[_name_of({key: tuple(np.shape(value)) for key, value in found.items()}, chosen, name, path)]


def _name_of(shapes: dict[str, tuple[Any, ...]], chosen: str, name: str, path: Path) -> str:
    """The chosen key, or the only one."""
    listed = ", ".join(f"{key} {shape}" for key, shape in shapes.items()) or "none"
    if chosen and chosen not in shapes:
        raise refuse_file(name, path, f"it holds no table named {chosen!r}", f"one of its tables: {listed}")
    if not chosen and len(shapes) != 1:
        what = "it holds no table" if not shapes else f"it holds {len(shapes)} tables: {listed}"
        like = next((key for key in shapes if name.rstrip("s") in key), next(iter(shapes), "NAME"))
        raise refuse_file(name, path, what, f"one, or its name after a #, such as {path.name}#{like}")
    return chosen or next(iter(shapes))


def _tensors(found: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(name, tensor) of everything in nested dictionaries."""
    if hasattr(found, "detach"):
        yield prefix, found
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from _tensors(value, f"{prefix}.{key}" if prefix else str(key))


def _package(package: str, name: str, path: Path) -> Any:
    try:
        return import_module(package)
    except ImportError:
        what = f"the package {package}, which reads it, is not installed"
        raise refuse_file(name, path, what, extras.advice(package)) from None


def _is_list(types: Any, kind: Any) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _column(found: Any, key: str, name: str, path: Path) -> AnyArray:
    column = found.column(key)
    _no_nulls(column, key, name, path, "a number in every row")
    return np.asarray(column.to_numpy())


def _no_nulls(column: Any, key: str, name: str, path: Path, expected: str, start: int = 0) -> None:
    if column.null_count:
        first = start + np.flatnonzero(column.is_null().to_numpy())[0]
        raise refuse_file(
            name, path, f"column {key} holds {column.null_count} nulls, the first in row {first}", expected
        )


def _list_column(found: Any, key: str, name: str, path: Path) -> AnyArray:
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


def _checked_ids(ids: AnyArray, rows: int, name: str, path: Path) -> AnyArray:
    if ids.shape != (rows,):
        counted = (
            f"there are {len(ids)} ids for {rows} rows" if ids.ndim == 1 else f"the ids have the shape {ids.shape}"
        )
        raise refuse_file(name, path, counted, "an id for each row")
    ids = plain_ids(ids, "ids", name, path)
    unique, first, counts = np.unique(ids, return_index=True, return_counts=True)
    if len(unique) < rows:
        twice = unique[counts > 1][0]
        raise refuse_file(
            name,
            path,
            f"the id {twice!s} names {counts.max()} rows, the first is row {first[unique == twice][0]}",
            "a different id for each row",
        )
    return ids


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]
