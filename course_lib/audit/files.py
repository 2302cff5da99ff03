"""Tables, counts and ids from files. Nothing in a file is ever executed: no pickle is loaded, only numbers.

`FILE#NAME` picks one array, tensor or column of a file that holds several. Formats, by the file's ending:

    .npy .npz                 numpy.save, numpy.savez: an (n, d) array
    .pt .pth .bin .ckpt       torch.save of tensors or a state_dict, read with weights_only=True
    .safetensors              needs the package safetensors; also the .json that says which file has which tensor
    .faiss .index             a flat index of faiss, with its ids where it has such; read without faiss
    .vec .w2v .txt            word2vec's text: a line with both sizes, or none, then a row a line, behind its id
    .parquet .arrow .feather  a column of lists, or d columns of numbers whose names differ in a number (dim_0, dim_1,
                              ..., in the order of the numbers); also a folder of Parquet parts; needs pyarrow

Of several such families of columns `FILE#dim_` picks one, and `FILE#x,y,z` names the columns. What is neither a
dimension nor an id is left out, and `Table.read` says so. Whole numbers of 8 or 16 bits are no table: they are codes,
or the bits of other numbers.

Beside the table may stand ids, by any name that the pairs may use (`course_lib.audit.columns`): item_id, ids, movieId,
asin, an index of pandas. Where two of them could be meant, none is guessed; `--item-ids FILE#COLUMN` names one. Ids are
whole numbers (also as floats) or text (also as bytes in UTF-8); one that is null, empty or another number is refused.
`pip install '.[tables]'` in the folder of the course adds both packages.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, count, pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import checking, extras
from course_lib.audit import arrow
from course_lib.audit.arrow import arrow_ids as arrow_ids
from course_lib.audit.columns import FAMILY, Beside, Candidates, candidates, families, number_of, side_of
from course_lib.audit.ids import IDS, by_id, checked_ids
from course_lib.audit.lines import lines_of
from course_lib.audit.schema import INFERRED, NONE, Schema
from course_lib.audit.sources import PART, first_line, located, package, refuse_file
from course_lib.audit.tables import AnyArray, Table, no_codes, table_of

TABLES = (
    "a table in .npy, .npz, .pt, .pth, .bin, .ckpt, .safetensors (or its .json), .parquet, .arrow, .feather, .faiss, "
    ".index, .vec, .w2v or .txt (word2vec's text)"
)
BROKEN = (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError)
NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
FRACTION = re.compile(r"[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")  # no id


@dataclass(frozen=True)
class Rows:
    """What a reader found: values (n, d), and what they are called; ids (n,) or None, and where they stand.

    left_out: columns and arrays of the file that are neither. total: rows of the file, where it says how many.
    """

    values: Any
    dimensions: str = ""
    ids: AnyArray | None = None
    ids_from: str = ""
    left_out: tuple[str, ...] = ()
    total: int | None = None


def read_table(
    text: str, name: str, *, ids: str | None = None, schema: Schema = INFERRED, drop_zero_rows: bool = False
) -> Table:
    """The table of FILE or FILE#NAME, with its ids where the file has them, or from the file `ids` (`read_ids`).

    Beside a table without ids, a file named item_ids or user_ids in its folder names the rows. Rows with ids stand in
    the order of these (`ids.by_id`).
    """
    path, chosen = located(text, name, TABLES)
    ending = PART if path.is_dir() else path.suffix.lower()
    reader = READERS.get(ending)
    if reader is None:
        advice = " (a .csv holds pairs or counts; pandas turns one into .parquet)" if ending in (".csv", ".tsv") else ""
        what = f"the ending {path.suffix!r} is no table's{advice}" if path.suffix else "its name has no ending"
        raise refuse_file(name, path, what, TABLES)
    found = reader(path, chosen, name, schema if ids is None else replace(schema, id=NONE))
    if ids is None and found.ids is None and schema.id != NONE:
        ids = _ids_beside(path, name)
    names, ids_from = found.ids, found.ids_from
    if ids is not None:
        names, ids_from = read_ids(ids, f"{name} ids"), ids
    if names is not None:
        names = checked_ids(names, len(found.values), name, path if ids is None else located(ids, name, IDS)[0])
    values = no_codes(checking.as_numpy(found.values), f"{name} ({path})", refused=(1, 2))
    if ending not in arrow.ENDINGS or names is None:  # beside a column of ids, a dimension may hold whole numbers
        _refuse_ids_inside(values, name, path)
    table = table_of(found.values, f"{name} ({path})", drop_zero_rows=drop_zero_rows)
    found = replace(found, left_out=tuple(each for each in found.left_out if ids != f"{path}#{each}"))
    source = f"{path}#{chosen}" if chosen else str(path)
    taken = {"id": ids_from or None, "dimensions": found.dimensions or None, "ignored": [*found.left_out]}
    return by_id(Table(table.rows, source, table.size, table.zero_rows, names, _read(table, found, ids_from), taken))


def _refuse_ids_inside(values: AnyArray, name: str, path: Path) -> None:
    """Raises ValueError where one column of an array numbers the rows, as an id before each vector does."""
    whole = values[:100] == np.floor(values[:100]) if values.ndim == 2 and values.dtype.kind == "f" else None
    for at in () if whole is None or whole.all() else np.flatnonzero(whole.all(axis=0)):
        column = values[:, at]
        if (column == np.floor(column)).all() and len(np.unique(column)) == len(column):
            what = f"column {at} holds another whole number in each row, as ids do, and the others no whole numbers"
            raise refuse_file(name, path, what, f"vectors alone, and ids in a file of their own, {_option(name)}")


def _option(name: str) -> str:
    return f"--{side_of(name) or 'item'}-ids FILE"


def _ids_beside(path: Path, name: str) -> str | None:
    """The file item_ids or user_ids in the folder of a table that does not say which row is which."""
    side = side_of(name)
    kinds = (".npy", ".txt", ".csv", ".json")
    held = [str(each) for end in kinds if side and (each := path.with_name(f"{side}_ids{end}")).is_file()]
    if len(held) > 1:
        raise refuse_file(name, path, f"beside it lie {' and '.join(held)}", f"one of them, or --{side}-ids FILE")
    return held[0] if held else None


def _read(table: Table, found: Rows, ids_from: str) -> str:
    """What was taken from the file, as what."""
    dimensions = found.dimensions or f"{table.rows.shape[1]} numbers a row"
    of = "" if found.total is None else f" of {found.total:,}"
    rows = f"read {table.size:,}{of} rows; dimensions: {dimensions}"
    named = f"; ids: {ids_from}" if ids_from else "; ids: none, so a row has its number, from 0"
    return rows + named + (f"; left out: {listed(found.left_out)}" if found.left_out else "")


def listed(names: tuple[str, ...], most: int = 8) -> str:
    """Names with commas, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def read_counts(text: str, size: int, name: str = "counts") -> AnyArray:
    """The counts (size,) of FILE.npy, FILE.npz#NAME, or of a text file with one number a line."""
    expected = "one number for each item, in .npy, or in .txt or .csv, one a line"
    path, chosen = located(text, name, expected)
    found = _vector(path, chosen, name, expected)
    if found.dtype.kind not in "fiu":
        bad = next((str(each) for each in found if not NUMBER.fullmatch(str(each))), None)
        if bad is not None:
            raise refuse_file(name, path, f"it holds no numbers ({bad!r})", expected)
        found = found.astype(np.float64)
    return checking.counts(found, f"{name} ({path})", size)


def read_ids(text: str, name: str) -> AnyArray:
    """The ids (n,), one for each row of a table: from .npy, .npz#NAME, text by lines, .json, or .parquet#COLUMN."""
    expected = "one id for each row: in .npy, in .txt or .csv, one a line, a list in .json, or items.parquet#COLUMN"
    path, chosen = located(text, name, expected)
    if path.is_dir() or path.suffix.lower() in arrow.ENDINGS:
        found = arrow.arrow_table(path, name)
        if chosen not in found.column_names:
            what = f"it has no column {chosen}" if chosen else "which of its columns holds the ids is not said"
            raise refuse_file(name, path, what, f"one of {', '.join(found.column_names)} after a #")
        return arrow_ids(found, chosen, name, path)
    return _vector(path, chosen, name, expected)


# ------------------------------------------------------------------------------------------------------------- formats


def _read_npy(path: Path, chosen: str, name: str, schema: Schema) -> Rows:
    arrays, objects = numpy_arrays(path, name)
    if list(arrays) == [""]:
        if chosen:
            raise refuse_file(name, path, f"it holds one array, which has no name {chosen!r}", f"{path.name} alone")
        return Rows(arrays[""])
    tables = {key: array for key, array in arrays.items() if np.ndim(array) == 2}
    if chosen in objects or (objects and not tables):
        raise refuse_objects(name, path, chosen if chosen in objects else objects[0])
    key = _name_of(_shapes(tables), chosen, name, path)
    vectors = {at: array for at, array in arrays.items() if np.ndim(array) < 2}
    rows = Rows(tables[key], f"{key}, {_width(tables[key])}", left_out=(*vectors, *objects))

    def ids(at: str) -> AnyArray:
        if at in objects:
            raise refuse_objects(name, path, at)
        return vectors[at]

    return _beside(rows, key, ids, name, path, schema)


def _read_torch(path: Path, chosen: str, name: str, schema: Schema) -> Rows:
    try:
        import torch
    except ImportError:
        raise refuse_file(
            name, path, "the package torch, which reads it, is not installed", extras.advice("torch")
        ) from None
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
    held = dict(_tensors(found))
    tables = {key: value for key, value in held.items() if hasattr(value, "detach") and value.ndim == 2}
    key = _name_of(_shapes(tables), chosen, name, path)
    table = tables[key]
    kind = "quantized" if table.is_quantized else "on no device" if table.is_meta else str(table.layout)
    if kind != "torch.strided":
        raise refuse_file(name, path, f"its table is {kind}", "a dense tensor of floating-point numbers")
    vectors = {at: value for at, value in held.items() if _may_be_ids(value)}
    rows = Rows(table, f"{key}, {_width(table)}" if key else "", left_out=tuple(vectors))
    read = _beside(rows, key, lambda at: checking.as_numpy(vectors[at]), name, path, schema)
    naming = [at for at, value in held.items() if isinstance(value, dict) and len(value) == len(table)]
    if naming and read.ids is None and schema.id != NONE:
        what = f"its dictionary {naming[0]} has an entry for each row, and is not read"
        raise refuse_file(name, path, what, f"a list of the ids in the order of the rows, or {_option(name)}")
    return read


def _read_safetensors(path: Path, chosen: str, name: str, schema: Schema) -> Rows:
    files = [path] if path.suffix.lower() == ".safetensors" else _shards(path, name)
    safe = package("safetensors", name, path)
    where: dict[str, Path] = {}
    kinds: dict[str, tuple[tuple[int, ...], str]] = {}
    said: dict[str, str] = {}

    def tensor(key: str) -> Any:
        with safe.safe_open(str(where[key]), framework="pt") as file:
            return file.get_tensor(key)

    try:
        for each in files:
            with safe.safe_open(str(each), framework="pt") as file:
                slices = {key: file.get_slice(key) for key in file.keys()}  # noqa: SIM118  (no dictionary)
                said |= file.metadata() or {}
            where |= dict.fromkeys(slices, each)
            kinds |= {key: (tuple(each.get_shape()), each.get_dtype()) for key, each in slices.items()}
        key = _name_of({at: shape for at, (shape, _) in kinds.items() if len(shape) == 2}, chosen, name, path)
        table = tensor(key)
        left = (at for at, (shape, kind) in kinds.items() if len(shape) == 1 and kind[0] in "IUF")
        vectors = {at: checking.as_numpy(tensor(at)) for at in left}
    except safe.SafetensorError as problem:
        raise refuse_file(name, path, f"it is no safetensors file ({first_line(problem)})", TABLES) from None
    rows = Rows(table, f"{key}, {_width(table)}", left_out=tuple(vectors))
    read = _beside(rows, key, lambda at: vectors[at], name, path, schema)
    if read.ids is None and schema.id != NONE and (found := candidates(said, side_of(name), bare=False)):
        what = f"its metadata hold {found[0].names[0]}, which is not read"
        raise refuse_file(name, path, what, f"a tensor of this name, or {_option(name)}")
    return read


def _shards(path: Path, name: str) -> list[Path]:
    """The files that a model.safetensors.index.json lists, in its own folder."""
    expected = "the index of a checkpoint in .safetensors, with a weight_map"
    try:
        files = {str(each) for each in json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise refuse_file(name, path, "it has no weight_map", expected) from None
    for each in sorted(files):
        if Path(each).name != each or not path.with_name(each).is_file():
            raise refuse_file(name, path, f"there is no file {each} beside it", expected)
    return [path.with_name(each) for each in sorted(files)]


def _read_faiss(path: Path, chosen: str, name: str, schema: Schema) -> Rows:
    """A flat index, or one with ids around it, byte by byte as faiss writes it."""
    expected, flat = "a flat index that faiss.write_index wrote", (b"IxFI", b"IxF2", b"IxFl")
    head = struct.Struct("<4siqqq?i")
    try:
        with path.open("rb") as file:
            kind, width, total, *_, metric = head.unpack(file.read(head.size))
            outer = kind in (b"IxMp", b"IxM2")
            if outer:
                kind, width, total, *_, metric = head.unpack(file.read(head.size))
            if kind not in flat or metric not in (0, 1):
                raise refuse_file(name, path, f"it is no flat index ({kind.decode('latin-1')})", expected)
            size = struct.unpack("<Q", file.read(8))[0]
            values = np.fromfile(file, "<f4", size)
            ids = np.fromfile(file, "<i8", struct.unpack("<Q", file.read(8))[0]) if outer else None
    except (struct.error, OverflowError):
        raise refuse_file(name, path, "it ends too early", expected) from None
    if width < 1 or len(values) != total * width or (ids is not None and len(ids) != total):
        raise refuse_file(name, path, f"it does not hold {total} vectors of width {width}", expected)
    rows = Rows(values.reshape(total, width), f"{width} numbers of float32, of a flat index")
    if ids is None or schema.id == NONE:
        return rows
    return replace(rows, ids=ids, ids_from="the index")


def _read_words(path: Path, chosen: str, name: str, schema: Schema) -> Rows:
    """word2vec's text: an id may hold spaces where the first line says how many numbers follow it."""
    expected = "an id and as many numbers in every line, split by spaces, as word2vec and GloVe write them"
    lines = lines_of(path, name)
    first = next(lines, (0, ""))
    counted = re.fullmatch(r"\s*([0-9]+)\s+([0-9]+)\s*", first[1])
    width = int(counted[2]) if counted else len(first[1].split()) - 1
    if width < 2:
        what = f"in {path.suffix} lies word2vec's text, and line 1 is none (pairs and counts lie in .csv)"
        raise refuse_file(name, path, what, TABLES)
    ids, rows = [], []
    for number, line in lines if counted else chain([first], lines):
        word, *values = line.rstrip().rsplit(None, width)
        try:
            rows.append(np.array(values, np.float32))
        except ValueError:
            values = []
        if len(values) != width:
            raise refuse_file(name, path, f"line {number} does not hold an id and {width} numbers", expected)
        ids.append(word)
    if counted and int(counted[1]) != len(rows):
        raise refuse_file(name, path, f"line 1 says {counted[1]} rows, and {len(rows)} follow", expected)
    if not counted and all(FRACTION.fullmatch(word) for word in ids):
        raise refuse_file(name, path, f"every line begins with a number such as {ids[0]}, which is no id", expected)
    found = Rows(np.stack(rows), f"{width} numbers after the id", total=len(rows))
    return found if schema.id == NONE else replace(found, ids=np.array(ids), ids_from="the first word of each line")


def _read_arrow(path: Path, chosen: str, name: str, schema: Schema) -> Rows:
    found, chosen = arrow.arrow_table(path, name), chosen or schema.dimensions
    kept, span = arrow.pandas_index(found)
    kinds = {field.name: field.type for field in found.schema}
    lists = {key: kinds[key] for key in schema.kept(kinds) if arrow.is_list(kinds[key])}
    columns = {key: kinds[key] for key in schema.kept(kinds) if key not in lists}
    own = schema.of_rows(side_of(name), columns)
    possible = [Candidates((own,), True)] if own not in ("", NONE) else candidates(columns, side_of(name), index=kept)
    named = {key for each in possible for key in each.names}
    picked = _dimensions(lists, {key: kind for key, kind in columns.items() if key not in named}, chosen, name, path)
    if isinstance(picked, str):
        values, first_to_last, taken = arrow.lists(found, picked, name, path), picked, [picked]
    else:
        values, taken = np.column_stack([arrow.numbers(found, key, name, path) for key in picked]), picked
        first_to_last = " to ".join(dict.fromkeys((picked[0], picked[-1])))
        _check_family(picked, chosen, name, path)
        _refuse_hexadecimal(picked, columns, chosen, name, path)
    left = tuple(each for each in found.column_names if each not in taken)
    rows = Rows(values, f"{first_to_last}, {_width(values)}", left_out=left, total=found.num_rows)
    if own == NONE:
        return rows
    beside = Beside(cache(lambda key: arrow_ids(found, key, name, path)), len(values), name, path)
    key = beside.chosen(possible)
    if key is None and span is not None:
        return replace(rows, ids=np.array(span), ids_from="the index that pandas kept")
    if key is None and len(kept) > 1:
        what = f"the index that pandas kept has {len(kept)} columns ({listed(tuple(kept))}), none of them an id"
        raise refuse_file(name, path, what, "one column with an id for each row")
    likely = [each for each in schema.kept(left) if arrow.is_short(found.column(each))]
    return _with_ids(rows, key, beside, likely, "column ")


def _with_ids(rows: Rows, key: str | None, beside: Beside, left: Iterable[str], what: str = "") -> Rows:
    """The rows with the ids under this name; without one, nothing of what is left out may look like ids."""
    if key is None:
        beside.refuse_likely(left)
        return rows
    left_out = tuple(each for each in rows.left_out if each != key)
    return replace(rows, ids=beside.ids(key), ids_from=f"{what}{key}", left_out=left_out)


READERS: dict[str, Callable[[Path, str, str, Schema], Rows]] = {
    ".npy": _read_npy,
    ".npz": _read_npy,
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), _read_torch),
    **dict.fromkeys((".safetensors", ".json"), _read_safetensors),
    **dict.fromkeys((".faiss", ".index"), _read_faiss),
    **dict.fromkeys((".vec", ".w2v", ".txt"), _read_words),
    **dict.fromkeys(arrow.ENDINGS, _read_arrow),
}


# --------------------------------------------------------------------------------------------------- columns of a table


def _dimensions(
    lists: Mapping[str, Any], columns: Mapping[str, Any], chosen: str, name: str, path: Path
) -> str | list[str]:
    """The column of lists, or the columns of numbers in their order, that are the table.

    Without a choice: the only column of lists of floats, else the only family of columns, whose names differ in a
    number alone, else the only column of lists of whole numbers.
    """
    groups, wanted = families(columns), _split(chosen)
    if chosen in lists:
        return chosen
    if wanted and all(part in columns for part in wanted):
        return wanted
    if chosen:
        picked = [those for (before, _), those in groups.items() if before == chosen]
        if len(picked) != 1:
            held = ", ".join([*lists, *columns]) or "none"
            raise refuse_file(name, path, f"it holds no table named {chosen!r}", f"one of its columns: {held}")
        return picked[0]
    floats = [key for key, kind in lists.items() if arrow.is_number(kind.value_type, floats=True)]
    whole = [key for key, kind in lists.items() if arrow.is_number(kind.value_type)]
    numbers = [key for key, kind in columns.items() if arrow.is_number(kind)]
    if floats or (whole and not groups):
        return _name_of({key: (str(lists[key]),) for key in floats or whole}, "", name, path)
    if len(groups) == 1:
        (((before, _), those),) = groups.items()
        _refuse_first_without_number(before, those, numbers, name, path)
        return those
    if len(numbers) == 1 and any(map(str.isdigit, numbers[0])):
        return numbers
    if not numbers:
        raise refuse_file(name, path, "it holds no table", f"{TABLES}: a column of lists, or columns of numbers")
    which = ", ".join(f"{before}...{after}" for before, after in groups) or listed(tuple(numbers))
    raise refuse_file(
        name,
        path,
        f"which of its columns are dimensions is not clear from their names ({which})",
        "names that differ in a number alone (dim_0, dim_1, ...), what these begin with after a #, such as "
        f"{path.name}#dim_, or the columns after a #, such as {path.name}#{','.join(numbers[:3])}",
    )


def _refuse_first_without_number(before: str, those: list[str], numbers: list[str], name: str, path: Path) -> None:
    """Raises ValueError for emb beside emb.1, emb.2, ...: pandas numbers columns of one name so, from the second on."""
    stem = before.rstrip(" ._-:")
    left = [key for key in numbers if key not in those and (key == stem or stem == "Unnamed")]
    if left and number_of(those[0]) > 0:
        what = f"{left[0]} stands beside {those[0]}, {those[1]}, ..., and may be the first of them"
        raise refuse_file(name, path, what, f"{path.name}#{left[0]},{','.join(those)}, or a file without {left[0]}")


def _split(chosen: str) -> list[str]:
    return [part.strip() for part in chosen.split(",")] if chosen else []


def _check_family(columns: list[str], chosen: str, name: str, path: Path) -> None:
    """Raises ValueError unless the numbers in the names follow each other; columns that were chosen may have any."""
    if columns == _split(chosen):
        return
    for left, right in pairwise(columns):
        if number_of(right) == number_of(left):
            what = f"the columns {left} and {right} have the same number"
            raise refuse_file(name, path, what, "another number in the name of each dimension")
        if number_of(right) > number_of(left) + 1:
            what = f"between the columns {left} and {right} some are missing"
            raise refuse_file(name, path, what, "dimensions whose numbers follow each other")


def _refuse_hexadecimal(picked: list[str], columns: Mapping[str, Any], chosen: str, name: str, path: Path) -> None:
    """Raises ValueError where d_a, d_b, ... stand beside d_0 to d_9: dimensions that are counted so."""
    read = FAMILY.fullmatch(picked[0])
    if chosen or read is None:
        return
    form = re.compile(re.escape(read[1]) + "[0-9]*[a-f]+[0-9a-f]*" + re.escape(read[3]))
    floats = (key for key, kind in columns.items() if arrow.is_number(kind, floats=True) and key not in picked)
    odd = [key for key in floats if form.fullmatch(key)]
    named = {int(key[len(read[1]) : len(key) - len(read[3])], 16): key for key in (*odd, *picked)}
    run = [named[at] for at in takewhile(named.__contains__, count(min(named)))]  # counted in 16s, with no gap
    letters = [key for key in run if key in odd]
    if letters and {*picked} <= {*run}:  # else it is a word, such as emb_decade
        what = f"beside {picked[0]} to {picked[-1]} stands {letters[0]}, which may be a dimension too"
        raise refuse_file(name, path, what, "dimensions numbered 0, 1, ..., 9, 10, or a # with the columns behind it")


# --------------------------------------------------------------------------------------------------------------- parts


def numpy_arrays(path: Path, name: str) -> tuple[dict[str, AnyArray], list[str]]:
    """({name: array} of .npz or {"": array} of .npy, the names of arrays of Python objects, which are never loaded)."""
    expected = "numbers that numpy.save or numpy.savez wrote"
    arrays: dict[str, AnyArray] = {}
    objects: list[str] = []
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays[""] = loaded
        else:
            with loaded:
                for key in loaded.files:
                    try:
                        arrays[key] = loaded[key]
                    except ValueError as problem:
                        if "allow_pickle" not in str(problem):
                            raise
                        objects.append(key)
    except BROKEN as problem:
        what = first_line(problem)
        if "pickle" in what.lower():  # what numpy says of every file that is not its own, with advice to load it anyway
            what = "it is another kind of file, or holds Python objects"
            expected += "; Python objects are never loaded: convert the array with numpy.stack or .astype(float) first"
        raise refuse_file(name, path, f"it cannot be read ({what})", expected) from None
    records = [key for key, array in arrays.items() if array.dtype.names]
    if "" in arrays and (records or not arrays[""].ndim):
        what = f"records of {listed(arrays[''].dtype.names or ())}" if records else "a single number"
        raise refuse_file(name, path, f"it holds {what}", "a plain array, with ids in a file of their own")
    return {key: array for key, array in arrays.items() if key not in records}, objects + records


def refuse_objects(name: str, path: Path, key: str) -> ValueError:
    """The error for an array of Python objects, such as a column of text from pandas, or of records."""
    return refuse_file(
        name,
        path,
        f"its array {key} holds Python objects or records, which are not read",
        f"numbers or text: store {key}.astype(str) for ids, numpy.stack({key}) for rows",
    )


def _vector(path: Path, chosen: str, name: str, expected: str) -> AnyArray:
    """The numbers or texts (n,) of .npy, .npz#NAME, a list in .json, or a text with one a line."""
    ending, what = path.suffix.lower(), "it holds no array with one axis"
    if ending in (".npy", ".npz"):
        found, objects = numpy_arrays(path, name)
        arrays = {key: array for key, array in found.items() if array.ndim == 1}
        if objects and (chosen in objects or not arrays):
            raise refuse_objects(name, path, chosen or objects[0])
        if arrays:
            return arrays[_name_of(_shapes(arrays), chosen, name, path)]
    elif ending in (".txt", ".csv", ".tsv", ".json"):
        try:
            text = path.read_text(encoding="utf-8-sig")
            # not splitlines: a text may hold other signs that end a line
            values = json.loads(text) if ending == ".json" else text.rstrip("\n").split("\n")
            if isinstance(values, list) and _may_be_ids(values):
                return np.array(values)
            what = "it holds no list of whole numbers, or of texts"
        except ValueError as problem:
            kind = "UTF-8 text" if isinstance(problem, UnicodeDecodeError) else "JSON"
            what = f"it is no {kind} ({first_line(problem)})"
    raise refuse_file(name, path, what, expected)


def _beside(rows: Rows, table: str, ids: Callable[[str], AnyArray], name: str, path: Path, schema: Schema) -> Rows:
    """The rows with the array of ids that stands beside the table, or above it in nested dictionaries."""
    own = schema.of_rows(side_of(name), rows.left_out)
    if own == NONE:
        return rows
    beside = Beside(ids, len(rows.values), name, path)
    if own:
        return _with_ids(rows, own, beside, ())
    above = {at: at.rpartition(".")[0] for at in schema.kept(rows.left_out)}
    near = {at: at.rpartition(".")[2] for at, room in above.items() if not room or table.startswith(f"{room}.")}
    possible = [
        Candidates(tuple(at for at, last in near.items() if last in each.names), each.sure)
        for each in candidates(dict.fromkeys(near.values()), side_of(name), bare=False)
    ]
    return _with_ids(rows, beside.chosen(possible), beside, near)


def _shapes(found: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {key: tuple(np.shape(value)) for key, value in found.items()}


def _width(values: Any) -> str:
    return f"{values.shape[1]} numbers of {str(values.dtype).removeprefix('torch.')}"


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
    """(name, tensor, list or dictionary of plain values) of everything in nested dictionaries."""
    plain = isinstance(found, dict) and found and all(isinstance(each, int | str) for each in found.values())
    if hasattr(found, "detach") or isinstance(found, list | tuple) or plain:
        yield prefix, found
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from _tensors(value, f"{prefix}.{key}" if prefix else str(key))


def _may_be_ids(value: Any) -> bool:
    """Whether a part of a checkpoint is a vector of numbers, or a list of text or of whole numbers."""
    if isinstance(value, list | tuple | dict):
        if isinstance(value, dict) or not value:
            return False
        return all(type(each) is str for each in value) or all(type(each) is int for each in value)
    kinds = str(value.dtype).removeprefix("torch."), str(value.layout)
    number = kinds[0].lstrip("u")[:3] in ("int", "flo")
    return value.ndim == 1 and number and kinds[1] == "torch.strided" and not value.is_meta
