"""Embedding tables as the audit takes them: arrays, tensors on any device, `torch.nn.Embedding`, and their ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import checking

AnyArray = NDArray[Any]
Ids = NDArray[np.int64]
TINY = 1e-12  # a row whose entries are all this small, against the table's median row, counts as zero
SAFE = 1e-6, 1e15  # largest entries of a float32 table whose squares stay numbers; others become float64
BITS = 2**12  # half of the entries of a table of whole numbers lie above: they are the bits of floats
BYTES = 2**6  # the same of whole numbers from 0 to 255: codes, of which another one means 0
SAFE64 = 1e-130, 1e150


@dataclass(frozen=True)
class Table:
    """rows (n, d), float32 or float64, none of them zero.

    source: where the table comes from; size: rows in the source; zero_rows: places in it of the rows that were left
    out; ids (size,) the names of the source's rows in the pairs, or None for 0 ... size - 1; read, schema: what a
    reader took from a file, and as what, in a sentence and as {id, dimensions, ignored}; places (n,): the place of each
    row in the source, where they stand in another order (`ids.by_id`).
    """

    rows: AnyArray
    source: str
    size: int
    zero_rows: Ids
    ids: AnyArray | None = None
    read: str = ""
    schema: dict[str, Any] = field(default_factory=dict)
    places: Ids | None = None

    @property
    def kept(self) -> Ids:
        """(n,) the place of each row in the source."""
        if self.places is not None:
            return self.places
        return np.setdiff1d(np.arange(self.size), self.zero_rows, assume_unique=True)

    @property
    def moved(self) -> bool:
        """Whether a row may stand at another place than in the source."""
        return self.places is not None or len(self.zero_rows) > 0

    def aligned(self, values: AnyArray) -> AnyArray:
        """`values` (size,), one for each row of the source, as those of the rows here."""
        return values[self.kept] if self.moved else values


def table_of(values: Any, name: str, *, drop_zero_rows: bool = False) -> Table:
    """The table in `values`: a `Table`, an array, a tensor, or what has a `weight` or a `to_numpy` (n, d).

    Tensors may require gradients, lie on any device and have any floating dtype. Raises ValueError for what is no
    numeric matrix, for bits of floats (`no_codes`), for NaN, for entries whose squares overflow, and for zero rows,
    unless they may be dropped.
    """
    if isinstance(values, Table):
        return values
    array = no_codes(checking.as_numpy(_matrix_of(values)), name)
    array = checking.table(array, name)
    if not array.size:
        raise ValueError(f"{name} has shape {array.shape}; expected at least one row and one column")
    top = float(np.abs(array).max())
    if top and not SAFE64[0] < top < SAFE64[1]:
        raise ValueError(
            f"{name} has entries up to {top:.3g}, whose squares are no numbers; expected less: divide the table by its "
            "largest entry, which changes no cosine"
        )
    small = array.dtype.itemsize <= 4 and SAFE[0] < top < SAFE[1]
    rows = array.astype(np.float32 if small else np.float64, copy=False)
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    if not top:
        raise ValueError(f"{name} holds zeros alone; expected a trained table")
    zero = np.flatnonzero(largest <= TINY * np.median(largest[largest > 0]))
    if len(zero) and not drop_zero_rows:
        raise ValueError(
            f"{name} has {len(zero)} zero rows, the first is row {zero[0]}; a zero row has no cosine. Expected none, "
            "or drop_zero_rows=True (--drop-zero-rows), which leaves them out with their counts and their pairs"
        )
    kept = np.delete(rows, zero, axis=0) if len(zero) else rows
    return Table(kept, "memory", len(rows), zero)


def no_codes(array: AnyArray, name: str, *, refused: tuple[int, ...] = (2,)) -> AnyArray:
    """The array. Raises ValueError for whole numbers that are the bits of floats, or codes of a quantised table.

    Floats that are all whole count as such: the bits may have been read into any type.

    refused: sizes in bytes of whole numbers that are. One byte may be a code with the same scale for all, which changes
    no verdict; who has such a table in memory knows, and a file does not say.
    """
    if array.ndim == 0 or array.dtype.names:
        what = f"a record array of {', '.join(array.dtype.names)}" if array.dtype.names else "a single number"
        raise ValueError(f"{name} is {what}; expected a table of numbers, one row a vector")
    whole = array.dtype.kind in "iu"
    if not array.any() or not (whole or (array.dtype.kind == "f" and _whole(array[:1000]) and _whole(array))):
        return array
    sizes = np.abs(array[array != 0].astype(np.float64))
    middle, byte = np.median(sizes), 1 in refused and array.min() >= 0 and sizes.max() <= 255
    if (whole and array.dtype.itemsize in refused) or middle > BITS or (byte and middle > BYTES):
        raise ValueError(
            f"{name} holds whole numbers of the type {array.dtype}, from {array.min()} to {array.max()}: these are "
            "codes of a quantised table, or the bits of other numbers (NumPy has no bfloat16); expected the numbers "
            "themselves, such as tensor.float().numpy()"
        )
    return array


def _whole(array: AnyArray) -> bool:
    """Whether floats are all whole numbers of 16 bits; large floats are all whole."""
    most = min(2**16, float(np.finfo(array.dtype).max))  # float16 ends below
    return bool((np.abs(array) < most).all() and (array == np.floor(array)).all())


def _matrix_of(values: Any) -> Any:
    """The matrix in an `nn.Embedding` (its weight) or in implicit's table on a GPU (to_numpy)."""
    values = getattr(values, "weight", values)
    return values.to_numpy() if hasattr(values, "to_numpy") and not hasattr(values, "detach") else values
