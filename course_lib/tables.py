"""`Interactions` from Parquet files whose ids are strings or integers, read in chunks with pyarrow.

    data = read_pairs(["part-0.parquet", "part-1.parquet"], user="customer", item="article", keep="first")
    data.item_names[data.items_of(0)]           # the ids that the files have for the items of the first user

The ids are put in order, strings by their code points, and numbered from 0. So the numbers do not depend on the order
of the files, the rows or the row groups, nor on the size of a chunk. Never more than a chunk of ids is in memory as
strings, beside one copy of each. `pip install '.[tables]'` brings pyarrow.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import checking, extras
from course_lib.interactions import Interactions

AnyArray = NDArray[Any]
CHUNK = 1 << 20  # rows


def read_pairs(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    user: str,
    item: str,
    keep: str,
    time: str | None = None,
    rating: str | None = None,
    chunk: int = CHUNK,
    name: str = "",
) -> Interactions:
    """Read the distinct pairs of one or several Parquet files.

    The names of users and items are their ids in the files.

    Parameters
    ----------
    files : path or iterable of paths
        The files.
    user, item : str
        The columns of the ids, strings or integers.
    keep : {"first", "last", "highest"}
        Which of the equal pairs lends its time and its rating, as in ``Interactions.merged``.
    time : str, optional
        A column of timestamps (stored in whole seconds since 1970) or of numbers, the same of the two in all files.
    rating : str, optional
        A column of numbers.
    chunk : int, optional
        How many rows are read at a time.
    name : str, optional
        The name of the result.

    Returns
    -------
    Interactions
        The pairs.

    Raises
    ------
    ValueError
        For a missing id, a time or a rating that is no finite number, and what pyarrow cannot read: the error names the
        file, the row group (from 0) and the column. Also for a column that does not exist or is of another kind, for
        one column given twice, for no file and for no row.
    ImportError
        Where pyarrow is not installed.

    Examples
    --------
    The file has three rows, of which two are the same pair:

    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet
    >>> from course_lib.tables import read_pairs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "log.parquet"
    ...     pa.parquet.write_table(pa.table({"who": ["eve", "bob", "eve"], "what": [7, 7, 7]}), path)
    ...     data = read_pairs(path, user="who", item="what", keep="first")
    >>> data.user_names.tolist(), data.item_names.tolist(), data.pairs.tolist()
    (['bob', 'eve'], [7], [[0, 0], [1, 0]])
    """
    paths = [Path(file) for file in ([files] if isinstance(files, str | os.PathLike) else files)]
    checking.whole(chunk, "chunk")
    ids = {user: _Numbering(), item: _Numbering()}
    numbers: dict[str, list[AnyArray]] = {column: [] for column in (time, rating) if column is not None}
    columns = [column for column in (user, item, time, rating) if column is not None]
    if len(set(columns)) < len(columns):
        raise ValueError(f"user, item, time and rating are the columns {columns}; expected a column for each")
    nothing = None if rating is None else np.empty(0)  # before a row is read: whether these pairs can be merged
    Interactions.merged([], [], n_users=1, n_items=1, keep=keep, ratings=nothing)
    kinds: dict[str, str | None] = dict.fromkeys(numbers)
    for path in checking.some(paths, "files"):
        for group, batch in _batches(path, ids, kinds, chunk):
            for column, numbering in ids.items():
                numbering.add(_without_nulls(batch.column(column), path, group, column), chunk)
            for column, parts in numbers.items():
                parts.append(_finite(_without_nulls(batch.column(column), path, group, column), path, group, column))
    (users, user_names), (items, item_names) = (numbering.numbered(chunk) for numbering in ids.values())
    if not len(users):
        raise checking.refuse([str(path) for path in paths], "files", "at least one row")
    times, ratings = (None if column is None else np.concatenate(numbers.pop(column)) for column in (time, rating))
    return Interactions.merged(
        users,
        items,
        n_users=len(user_names),
        n_items=len(item_names),
        keep=keep,
        times=times,
        ratings=ratings,
        name=name,
        user_table={"name": user_names},
        item_table={"name": item_names},
    )


class _Numbering:
    """The ids seen so far, numbered as they come; `numbered` puts them in their own order."""

    def __init__(self) -> None:
        self.kind: Any = None  # pyarrow's large_string, int64 or uint64
        self.known: Any = None  # a pyarrow array of the distinct ids
        self._codes: list[AnyArray] = []
        self._pending: list[Any] = []  # dictionary arrays, of at most about a chunk of rows

    def add(self, column: Any, chunk: int) -> None:
        """The next rows, strings or integers, encoded by a dictionary or not."""
        arrow = _arrow()
        found = column if hasattr(column, "indices") else column.dictionary_encode()
        values = found.dictionary.cast(self.kind)
        self._pending.append(arrow.DictionaryArray.from_arrays(found.indices.cast(arrow.int32()), values))
        if sum(map(len, self._pending)) >= chunk:
            self._unify()

    def _unify(self) -> None:
        """Gives the pending rows their numbers: new ids go behind the known ones."""
        arrow = _arrow()
        if self.known is None:
            self.known = self._pending[0].dictionary[:0]
        head = arrow.DictionaryArray.from_arrays(arrow.array([], arrow.int32()), self.known)
        unified = arrow.chunked_array([head, *self._pending]).unify_dictionaries().chunks
        self.known = unified[-1].dictionary
        self._codes += [part.indices.to_numpy() for part in unified[1:]]
        self._pending.clear()

    def numbered(self, chunk: int) -> tuple[AnyArray, AnyArray]:
        """(rows,) the number of each row's id, and the ids in order, without those of a dictionary that no row has."""
        if self._pending:
            self._unify()
        if not self._codes:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        codes = np.concatenate(self._codes)
        self._codes.clear()
        order = import_module("pyarrow.compute").sort_indices(self.known).to_numpy()
        order = order[np.bincount(codes, minlength=len(order))[order] > 0]
        place = np.empty(len(self.known), np.int64)
        place[order] = np.arange(len(order))
        names = self.known.take(_arrow().array(order))
        text = self.kind == _arrow().large_string()
        return place[codes], np.array(names.to_pylist(), np.dtypes.StringDType()) if text else names.to_numpy()


def _batches(
    path: Path, ids: dict[str, _Numbering], kinds: dict[str, str | None], chunk: int
) -> Iterator[tuple[int, Any]]:
    """(row group, at most `chunk` of its rows) one after the other."""
    arrow, parquet = _arrow(), import_module("pyarrow.parquet")
    try:
        schema = parquet.read_schema(path)
        _check_kinds(path, schema, ids, kinds)
        texts = [column for column, numbering in ids.items() if numbering.kind == arrow.large_string()]
        file = parquet.ParquetFile(path, read_dictionary=texts)
    except (arrow.ArrowException, OSError) as problem:
        raise ValueError(f"{path}: pyarrow cannot read it ({problem}); expected a Parquet file") from None
    wanted = [*ids, *kinds]
    with file:
        for group in range(file.num_row_groups):
            try:
                for batch in file.iter_batches(chunk, row_groups=[group], columns=wanted):
                    yield group, batch
            except (arrow.ArrowException, OSError) as problem:
                column = next((column for column in wanted if not _readable(file, group, column)), "/".join(wanted))
                raise _refuse(path, group, column, f"pyarrow cannot read it ({problem})", "whole pages") from None


def _readable(file: Any, group: int, column: str) -> bool:
    try:
        file.read_row_group(group, columns=[column])
    except (_arrow().ArrowException, OSError):
        return False
    return True


def _check_kinds(path: Path, schema: Any, ids: dict[str, _Numbering], kinds: dict[str, str | None]) -> None:
    """That the columns exist and hold what they should, in each file the kind of the first: it is remembered."""
    for column in [*ids, *kinds]:
        if column not in schema.names:
            raise ValueError(f"{path}: there is no column {column!r}; expected one of {', '.join(schema.names)}")
        kind = schema.field(column).type
        if column in ids:
            known, found, expected = ids[column].kind, _kind_of_ids(kind), "strings or integers, which are ids"
            ids[column].kind = found
        else:
            known, found, expected = kinds[column], _kind_of_numbers(kind), "numbers or timestamps"
            kinds[column] = found
        if found is None or known not in (None, found):
            expected = expected if known is None else f"{known}, as in the first file"
            raise ValueError(f"{path}, column {column!r}: it holds {kind}; expected {expected}")


def _kind_of_ids(kind: Any) -> Any:
    """The pyarrow type to which ids of a kind are widened; None where they are no ids."""
    arrow = _arrow()
    kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
    if arrow.types.is_string(kind) or arrow.types.is_large_string(kind):
        return arrow.large_string()
    if arrow.types.is_integer(kind):
        return arrow.uint64() if kind == arrow.uint64() else arrow.int64()
    return None


def _kind_of_numbers(kind: Any) -> str | None:
    """Timestamps of all units become seconds, numbers stay in a unit that nobody names: the two never mix."""
    types = _arrow().types
    if types.is_timestamp(kind):
        return "timestamps"
    return "numbers" if types.is_integer(kind) or types.is_floating(kind) else None


def _without_nulls(values: Any, path: Path, group: int, column: str) -> Any:
    missing = values.null_count + (values.dictionary.null_count if hasattr(values, "dictionary") else 0)
    if missing:
        raise _refuse(path, group, column, f"{missing} values are missing", "a value in every row")
    return values


def _finite(values: Any, path: Path, group: int, column: str) -> AnyArray:
    """Numbers as they are, timestamps in whole seconds since 1970."""
    array: AnyArray = values.to_numpy(zero_copy_only=False)
    if array.dtype.kind == "M":
        return array.astype("datetime64[s]").astype(np.int64)
    if not np.isfinite(array).all():
        raise _refuse(path, group, column, f"it holds {array[~np.isfinite(array)][0]}", "finite numbers")
    return array


def _refuse(path: Path, group: int, column: str, what: str, expected: str) -> ValueError:
    return ValueError(f"{path}, row group {group}, column {column!r}: {what}; expected {expected}")


def _arrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise extras.missing(error, "read_pairs") from error
