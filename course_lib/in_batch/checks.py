"""Checks of arguments: each message names the argument, what was given, what was expected, and why."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from course_lib import arrays, checking
from course_lib.arrays import Array, first_index, like, namespace, same_kind, shape_of


def check_omega(kind: str, omega: Any) -> Any:
    """omega as it enters the weights: None where the kind has none, a Fraction where it is rational, else as given."""
    if kind != "unbiased_omega":
        if omega is not None:
            raise ValueError(f"omega={omega!r} was given, but kind={kind!r} has no omega; use kind='unbiased_omega'")
        return None
    if omega is None:
        raise ValueError("kind='unbiased_omega' needs omega >= 0, the weight of the negative pairs in equation (19)")
    number = isinstance(omega, numbers.Real)
    if number or not (hasattr(omega, "shape") or hasattr(omega, "free_symbols")):  # an array, or a symbol of a proof
        checking.real(omega, "omega", least=0)
    elif hasattr(omega, "shape") and arrays.readable(omega):
        bad = first_index(~((omega >= 0) & (omega < math.inf)))
        if bad is not None:
            place = f"omega{list(bad)}" if bad else "omega"
            raise ValueError(f"{place} is {float(omega[bad])}; expected a finite weight of at least 0")
    return arrays.to_fraction(omega, "omega") if isinstance(omega, numbers.Rational) else omega


def check_kind_labels(kind: str, labels: Any) -> None:
    """Labels belong to the masked loss: no other takes a cell out of its grid."""
    if labels is not None and kind != "masked":
        raise ValueError(f"labels were given, but kind={kind!r} does not look at them; use kind='masked', or no labels")


def check_sizes(batch_size: Any, n_positives: Any, *, least: int) -> None:
    """Batch size and number of positives are whole, and least <= batch_size <= n_positives."""
    for name, value in (("batch_size", batch_size), ("n_positives", n_positives)):
        if not isinstance(value, numbers.Rational) or value.denominator != 1:
            raise checking.refuse(value, name, "a whole number of pairs")
    if n_positives < 1:
        raise ValueError(f"n_positives={n_positives}: the label matrix needs at least one positive pair")
    if batch_size < least:
        raise ValueError(f"batch_size={batch_size} must be at least {least}")
    if batch_size > n_positives:
        raise ValueError(
            f"batch_size={batch_size} exceeds n_positives={n_positives}: a batch is drawn without replacement "
            f"(Assumption E.2), so it cannot hold more pairs than there are"
        )


def check_pairs_needed(kind: str, batch_size: int) -> None:
    """The kinds that divide by batch_size - 1 need two pairs."""
    if batch_size == 1 and kind not in ("in_batch", "pos_neg"):
        raise ValueError(
            f"batch_size=1: kind={kind!r} divides by batch_size - 1. One sampled pair makes a 1 x 1 grid with no "
            f"off-diagonal cell, so no cell outside O is ever seen and no loss built from the batch can be unbiased; "
            f"use batch_size >= 2"
        )


def check_shape(shape: Any, n_positives: Any) -> tuple[int, int]:
    """(m, n) as integers, large enough for the positives."""
    try:
        m, n = shape
    except (TypeError, ValueError):
        raise ValueError(f"shape={shape!r} must be (m, n), the shape of the whole label matrix") from None
    m, n = checking.whole(m, "shape[0]"), checking.whole(n, "shape[1]")
    if n_positives > m * n:
        raise ValueError(f"shape=({m}, {n}) cannot hold n_positives={n_positives} distinct positive pairs")
    return m, n


def check_batch_losses(pos_loss: Any, neg_loss: Any) -> tuple[Array, Array]:
    """Both losses as arrays of one kind, (..., s) and (..., s, s)."""
    pos_loss, neg_loss = one_kind(pos_loss=pos_loss, neg_loss=neg_loss)
    s = shape_of(pos_loss)[-1] if pos_loss.shape else 0
    if s == 0 or shape_of(neg_loss)[-2:] != (s, s):
        raise ValueError(
            f"pos_loss must have shape (..., s) and neg_loss (..., s, s) with s >= 1, "
            f"but they have {shape_of(pos_loss)} and {shape_of(neg_loss)}"
        )
    return pos_loss, neg_loss


def one_kind(**losses: Any) -> list[Array]:
    """Named losses or tables as arrays of one kind and dtype: float32 at least, for counts do not fit into 16 bits."""
    return arrays.same_precision(*same_kind(**losses))


def check_matrix_losses(pos_loss: Any, neg_loss: Any) -> tuple[Array, Array]:
    """Both losses as arrays of one kind, (..., m, n)."""
    pos_loss, neg_loss = same_kind(pos_loss=pos_loss, neg_loss=neg_loss)
    if len(pos_loss.shape) < 2 or shape_of(pos_loss)[-2:] != shape_of(neg_loss)[-2:]:
        raise ValueError(
            f"pos_loss and neg_loss must have shape (..., m, n), "
            f"but they have {shape_of(pos_loss)} and {shape_of(neg_loss)}"
        )
    return pos_loss, neg_loss


def check_counts(name: str, counts: Any, length: int, reference: Array, largest: int, validate: bool) -> Array:
    """Counts in the kind of array of the losses, each between 1 and `largest`."""
    counts = like(counts, reference, name)
    if not counts.shape or shape_of(counts)[-1] != length:
        raise ValueError(f"{name} must have shape ({length},), but has shape {shape_of(counts)}")
    if validate and arrays.readable(counts):
        bad = first_index((counts < 1) | (counts > largest) | (counts != counts))
        if bad is not None:
            index = bad[0] if len(bad) == 1 else bad
            raise ValueError(
                f"{name}[{index}] = {counts[bad]} must lie between 1 and {largest}: every entity has at least one "
                f"positive (Assumption E.1), and no more than the other side has entities"
            )
    return counts


def check_tables(users: Any, items: Any) -> tuple[Array, Array]:
    """Two embedding tables of one kind and one width."""
    users, items = one_kind(users=users, items=items)
    if min(len(users.shape), len(items.shape)) < 2 or shape_of(users)[-1] != shape_of(items)[-1]:
        raise ValueError(
            f"users and items must have shapes (..., m, k) and (..., n, k) with one width k, "
            f"but they have {shape_of(users)} and {shape_of(items)}"
        )
    return users, items


def check_labels(name: str, labels: Any, shape: tuple[int, ...], reference: Array, validate: bool) -> Array:
    """Labels in the kind of array of the losses, of the right shape, all 0 or 1."""
    if labels is None:
        raise ValueError(f"{name} is missing: kind='masked' must know which cells of the grid are positives")
    labels = like(labels, reference, name)
    if shape_of(labels) != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, but has shape {shape_of(labels)}")
    if validate and arrays.readable(labels):
        bad = first_index((labels != 0) & (labels != 1))
        if bad is not None:
            raise ValueError(f"{name}{list(bad)} = {labels[bad]} must be 0 or 1 (1 = positive pair)")
    return labels


def check_grid_labels(labels: Any, neg_loss: Array, validate: bool) -> Array:
    """The labels of an s x s grid, with ones on the diagonal."""
    side = shape_of(neg_loss)[-1]
    labels = check_labels("labels", labels, (side, side), neg_loss, validate)
    if validate and arrays.readable(labels):
        bad = first_index(arrays.diagonal(labels) != 1)
        if bad is not None:
            raise ValueError(f"labels[{bad[0]}, {bad[0]}] = 0, but the diagonal holds the sampled pairs, all positive")
    return labels


def whole_labels(labels: Any) -> Array:
    """A label matrix (m, n) on its own, all 0 or 1."""
    array = arrays.as_array(labels, "labels")
    if len(array.shape) != 2:
        raise ValueError(f"labels must have shape (m, n), but has shape {shape_of(array)}")
    return check_labels("labels", array, shape_of(array), array, True)


def check_no_empty(rows: Array, cols: Array) -> None:
    """Assumption E.1: every row and every column has a positive."""
    for name, counts in (("row", rows), ("column", cols)):
        empty = first_index(counts == 0)
        if empty is not None:
            raise ValueError(
                f"labels: {name} {empty[0]} has no positive pair, against Assumption E.1. No batch can contain a cell "
                f"of it, so its l- terms are missing from every expectation; drop empty rows and columns first"
            )


def check_index(name: str, index: Any, length: int, size: int, reference: Array, validate: bool) -> Array:
    """Integers between 0 and size - 1, as an index for arrays like `reference`."""
    index = arrays.as_index(index, reference, name)
    if shape_of(index) != (length,):
        raise ValueError(f"{name} must have shape ({length},), but has shape {shape_of(index)}")
    bad = first_index((index < 0) | (index >= size)) if validate and arrays.readable(index) else None
    if bad is not None:
        raise ValueError(f"{name}[{bad[0]}] = {int(index[bad])} lies outside 0..{size - 1}")
    return index


def check_distinct_pairs(row_index: Array, col_index: Array, n_cols: int) -> None:
    """Assumption E.2: no pair occurs twice."""
    rows, cols = (np.asarray(checking.as_numpy(x), dtype=np.int64) for x in (row_index, col_index))
    cells = np.sort(rows * n_cols + cols)
    repeated = cells[1:][cells[1:] == cells[:-1]]
    if len(repeated):
        row, col = divmod(int(repeated[0]), n_cols)
        raise ValueError(
            f"the pair ({row}, {col}) occurs {np.sum(cells == repeated[0])} times; positives are a set and a batch is "
            f"drawn without replacement (Assumption E.2), or the expectations of this module do not hold"
        )


def check_cell_counts(a: Any, b: Any, n_positives: int) -> None:
    """Counts that the row and the column of a cell outside O can have."""
    if a < 0 or b < 0 or a + b > n_positives:
        raise ValueError(
            f"a={a}, b={b} must be >= 0 with a + b <= n_positives={n_positives}: for a cell outside O the positives "
            f"of its row and of its column are different pairs"
        )


def counts_of(labels: Array) -> tuple[Array, Array, int]:
    """(row counts (m,), column counts (n,), M) of a label matrix, in its own kind of array."""
    xp = namespace(labels)
    return xp.sum(labels, axis=1), xp.sum(labels, axis=0), int(xp.sum(labels != 0))


def positives_of(labels: Array) -> list[tuple[int, int]]:
    """The cells of O, row by row."""
    return [(int(i), int(j)) for i, j in np.argwhere(checking.as_numpy(labels) != 0)]
