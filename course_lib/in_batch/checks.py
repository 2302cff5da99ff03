"""Checks of arguments: each message names the argument, what was given, what was expected, and why."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from course_lib import arrays, checking
from course_lib.arrays import Array, first_index, like, namespace, same_kind, shape_of


def check_omega(kind: str, omega: Any) -> Any:
    """Return ``omega`` as it enters the weights of a loss.

    Parameters
    ----------
    kind : str
        The kind of loss. "unbiased_omega" alone has an omega.
    omega : number, array or None
        The weight of the negatives, finite and at least 0, or a symbol of a proof.

    Returns
    -------
    object
        None where the kind has no omega, a Fraction where omega is rational, else omega as given.

    Raises
    ------
    ValueError
        For an omega that is missing, not asked for, negative, NaN or infinite.

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> checks.check_omega("unbiased_omega", 2)
    Fraction(2, 1)
    >>> checks.check_omega("in_batch", 2)
    Traceback (most recent call last):
        ...
    ValueError: omega=2 was given, but kind='in_batch' has no omega; use kind='unbiased_omega'
    """
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
    """Check that labels are given to the masked loss only: no other takes a cell out of its grid.

    Parameters
    ----------
    kind : str
        The kind of loss.
    labels : array_like or None
        The labels of the grid.

    Raises
    ------
    ValueError
        For labels with another kind than "masked".

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> checks.check_kind_labels("in_batch", [[1]])
    Traceback (most recent call last):
        ...
    ValueError: labels were given, but kind='in_batch' does not look at them; ...
    """
    if labels is not None and kind != "masked":
        raise ValueError(f"labels were given, but kind={kind!r} does not look at them; use kind='masked', or no labels")


def check_sizes(batch_size: Any, n_positives: Any, *, least: int) -> None:
    """Check that the batch size and the number of positives are whole and fit each other.

    Parameters
    ----------
    batch_size : int or Fraction
        The number of pairs in a batch, from ``least`` to ``n_positives``.
    n_positives : int or Fraction
        The number of positive pairs, at least 1.
    least : int
        The smallest batch size that is allowed.

    Raises
    ------
    ValueError
        For a number that is not whole or not in its range.

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> checks.check_sizes(5, 3, least=1)
    Traceback (most recent call last):
        ...
    ValueError: batch_size=5 exceeds n_positives=3: ...
    """
    for name, value in (("batch_size", batch_size), ("n_positives", n_positives)):
        plain = isinstance(value, numbers.Rational) and not isinstance(value, (bool, np.timedelta64))
        if not plain or value.denominator != 1:
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
    """Check that a batch has two pairs where the kind of loss divides by ``batch_size - 1``.

    Parameters
    ----------
    kind : str
        The kind of loss. "in_batch" and "pos_neg" do not divide.
    batch_size : int
        The number of pairs in a batch.

    Raises
    ------
    ValueError
        For a batch of one pair with any other kind.

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> checks.check_pairs_needed("in_batch", 1)
    >>> checks.check_pairs_needed("unbiased", 1)
    Traceback (most recent call last):
        ...
    ValueError: batch_size=1: kind='unbiased' divides by batch_size - 1. ...
    """
    if batch_size == 1 and kind not in ("in_batch", "pos_neg"):
        raise ValueError(
            f"batch_size=1: kind={kind!r} divides by batch_size - 1. One sampled pair makes a 1 x 1 grid with no "
            f"off-diagonal cell, so no cell outside O is ever seen and no loss built from the batch can be unbiased; "
            f"use batch_size >= 2"
        )


def check_shape(shape: Any, n_positives: Any) -> tuple[int, int]:
    """Return the shape of the label matrix as two integers.

    Parameters
    ----------
    shape : tuple of int
        ``(m, n)``, each at least 1.
    n_positives : int
        The number of positive pairs, which the matrix must be able to hold.

    Returns
    -------
    m, n : int
        The numbers of rows and columns.

    Raises
    ------
    ValueError
        For a shape that is no pair of whole numbers, or too small.

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> checks.check_shape((2, 2), 3)
    (2, 2)
    >>> checks.check_shape((2, 2), 5)
    Traceback (most recent call last):
        ...
    ValueError: shape=(2, 2) cannot hold n_positives=5 distinct positive pairs
    """
    try:
        m, n = shape
    except (TypeError, ValueError):
        raise ValueError(f"shape={shape!r} must be (m, n), the shape of the whole label matrix") from None
    m, n = checking.whole(m, "shape[0]"), checking.whole(n, "shape[1]")
    if n_positives > m * n:
        raise ValueError(f"shape=({m}, {n}) cannot hold n_positives={n_positives} distinct positive pairs")
    return m, n


def check_batch_losses(pos_loss: Any, neg_loss: Any) -> tuple[Array, Array]:
    """Return the two losses of a batch as arrays of one kind.

    Parameters
    ----------
    pos_loss : array_like, shape (..., s)
        ``l+`` of the sampled pairs.
    neg_loss : array_like, shape (..., s, s)
        ``l-`` of every cell of the grid.

    Returns
    -------
    pos_loss, neg_loss : array
        The losses, in one dtype: float32 at least.

    Raises
    ------
    ValueError
        For other shapes, and for arrays of two kinds.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> pos_loss, neg_loss = checks.check_batch_losses(np.ones(2, np.float32), np.ones((2, 2)))
    >>> str(pos_loss.dtype)
    'float64'
    """
    pos_loss, neg_loss = one_kind(pos_loss=pos_loss, neg_loss=neg_loss)
    s = shape_of(pos_loss)[-1] if pos_loss.shape else 0
    if s == 0 or shape_of(neg_loss)[-2:] != (s, s):
        raise ValueError(
            f"pos_loss must have shape (..., s) and neg_loss (..., s, s) with s >= 1, "
            f"but they have {shape_of(pos_loss)} and {shape_of(neg_loss)}"
        )
    return pos_loss, neg_loss


def one_kind(**losses: Any) -> list[Array]:
    """Return named losses or tables as arrays of one kind and dtype.

    The dtype is the widest of all, and float32 at least, because counts do not fit into 16 bits.

    Parameters
    ----------
    losses : array_like
        The arrays, as keyword arguments. An error calls each by its name.

    Returns
    -------
    list of array
        The arrays, in the order given.

    Raises
    ------
    ValueError
        For arrays of two kinds, such as a NumPy array and a tensor.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> [table] = checks.one_kind(users=np.ones((2, 3), np.float16))
    >>> str(table.dtype)
    'float32'
    """
    return arrays.same_precision(*same_kind(**losses))


def check_matrix_losses(pos_loss: Any, neg_loss: Any) -> tuple[Array, Array]:
    """Return the two losses of a whole label matrix as arrays of one kind.

    Parameters
    ----------
    pos_loss, neg_loss : array_like, shape (..., m, n)
        ``l+`` and ``l-`` of every cell.

    Returns
    -------
    pos_loss, neg_loss : array
        The losses; those of 16 bits in float32.

    Raises
    ------
    ValueError
        For fewer than two axes, for last axes that differ, and for arrays of two kinds.

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> pos_loss, neg_loss = checks.check_matrix_losses([[0, 1]], [[1, 0]])
    >>> neg_loss.tolist()
    [[1.0, 0.0]]
    """
    pos_loss, neg_loss = map(arrays.at_least_single, same_kind(pos_loss=pos_loss, neg_loss=neg_loss))
    if len(pos_loss.shape) < 2 or shape_of(pos_loss)[-2:] != shape_of(neg_loss)[-2:]:
        raise ValueError(
            f"pos_loss and neg_loss must have shape (..., m, n), "
            f"but they have {shape_of(pos_loss)} and {shape_of(neg_loss)}"
        )
    return pos_loss, neg_loss


def check_counts(name: str, counts: Any, length: int, reference: Array, largest: int, validate: bool) -> Array:
    """Return counts in the kind of array that the losses are.

    Parameters
    ----------
    name : str
        The name of the counts in errors.
    counts : array_like, shape (..., length)
        The number of positives of each entity, from 1 to ``largest``.
    length : int
        How many entities there are.
    reference : array
        An array of the kind, dtype and device wanted.
    largest : int
        The number of entities of the other side.
    validate : bool
        False skips the check of the values.

    Returns
    -------
    array
        The counts.

    Raises
    ------
    ValueError
        For another length, and for a count outside the range (Assumption E.1).

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> checks.check_counts("row_counts", [2, 1], 2, np.ones(2), 2, True).tolist()
    [2.0, 1.0]
    >>> checks.check_counts("row_counts", [2, 0], 2, np.ones(2), 2, True)
    Traceback (most recent call last):
        ...
    ValueError: row_counts[1] = 0.0 must lie between 1 and 2: ...
    """
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
    """Return two embedding tables as arrays of one kind and one width.

    Parameters
    ----------
    users : array_like, shape (..., m, k)
        The embeddings of the users.
    items : array_like, shape (..., n, k)
        The embeddings of the items.

    Returns
    -------
    users, items : array
        The tables, in one dtype: float32 at least.

    Raises
    ------
    ValueError
        For other shapes, widths that differ, and arrays of two kinds.

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> users, items = checks.check_tables([[1, 0]], [[0, 1], [1, 1]])
    >>> users.shape, items.shape
    ((1, 2), (2, 2))
    """
    users, items = one_kind(users=users, items=items)
    if min(len(users.shape), len(items.shape)) < 2 or shape_of(users)[-1] != shape_of(items)[-1]:
        raise ValueError(
            f"users and items must have shapes (..., m, k) and (..., n, k) with one width k, "
            f"but they have {shape_of(users)} and {shape_of(items)}"
        )
    return users, items


def check_labels(name: str, labels: Any, shape: tuple[int, ...], reference: Array, validate: bool) -> Array:
    """Return labels in the kind of array that the losses are.

    Parameters
    ----------
    name : str
        The name of the labels in errors.
    labels : array_like
        The labels, all 0 or 1 (1 = positive pair).
    shape : tuple of int
        The shape that the labels must have.
    reference : array
        An array of the kind, dtype and device wanted.
    validate : bool
        False skips the check of the values.

    Returns
    -------
    array
        The labels.

    Raises
    ------
    ValueError
        For labels that are missing, have another shape, or hold another number.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> checks.check_labels("labels", [[1, 0]], (1, 2), np.ones(1), True).tolist()
    [[1.0, 0.0]]
    >>> checks.check_labels("labels", [[1, 2]], (1, 2), np.ones(1), True)
    Traceback (most recent call last):
        ...
    ValueError: labels[0, 1] = 2.0 must be 0 or 1 (1 = positive pair)
    """
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
    """Return the labels of an ``s x s`` grid, which has ones on its diagonal.

    Parameters
    ----------
    labels : array_like, shape (s, s)
        The labels, all 0 or 1.
    neg_loss : array, shape (..., s, s)
        The losses of the grid, whose kind of array the labels get.
    validate : bool
        False skips the checks of the values.

    Returns
    -------
    array, shape (s, s)
        The labels.

    Raises
    ------
    ValueError
        For what ``check_labels`` refuses, and for a 0 on the diagonal, which holds the sampled pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> checks.check_grid_labels([[1, 0], [1, 0]], np.ones((2, 2)), True)
    Traceback (most recent call last):
        ...
    ValueError: labels[1, 1] = 0, but the diagonal holds the sampled pairs, all positive
    """
    side = shape_of(neg_loss)[-1]
    labels = check_labels("labels", labels, (side, side), neg_loss, validate)
    if validate and arrays.readable(labels):
        bad = first_index(arrays.diagonal(labels) != 1)
        if bad is not None:
            raise ValueError(f"labels[{bad[0]}, {bad[0]}] = 0, but the diagonal holds the sampled pairs, all positive")
    return labels


def whole_labels(labels: Any) -> Array:
    """Return a label matrix that stands on its own, without losses beside it.

    Parameters
    ----------
    labels : array_like, shape (m, n)
        The labels, all 0 or 1. Integers become float64, 16 bits float32; Fractions stay exact.

    Returns
    -------
    array, shape (m, n)
        The labels.

    Raises
    ------
    ValueError
        For another number of axes, and for another number than 0 and 1.

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> checks.whole_labels([[1, 1], [0, 1]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    array = arrays.at_least_single(arrays.as_array(labels, "labels"))  # counts do not fit into 16 bits
    if len(array.shape) != 2:
        raise ValueError(f"labels must have shape (m, n), but has shape {shape_of(array)}")
    return check_labels("labels", array, shape_of(array), array, True)


def check_no_empty(rows: Array, cols: Array) -> None:
    """Check Assumption E.1: every row and every column has a positive.

    Parameters
    ----------
    rows : array, shape (m,)
        The number of positives of each row.
    cols : array, shape (n,)
        The number of positives of each column.

    Raises
    ------
    ValueError
        For a row or a column without a positive. No batch can contain a cell of it.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> checks.check_no_empty(np.array([2, 1]), np.array([3, 0]))
    Traceback (most recent call last):
        ...
    ValueError: labels: column 1 has no positive pair, against Assumption E.1. ...
    """
    for name, counts in (("row", rows), ("column", cols)):
        empty = first_index(counts == 0)
        if empty is not None:
            raise ValueError(
                f"labels: {name} {empty[0]} has no positive pair, against Assumption E.1. No batch can contain a cell "
                f"of it, so its l- terms are missing from every expectation; drop empty rows and columns first"
            )


def check_index(name: str, index: Any, length: int, size: int, reference: Array, validate: bool) -> Array:
    """Return positions as an index for arrays like ``reference``.

    Parameters
    ----------
    name : str
        The name of the index in errors.
    index : array_like of int, shape (length,)
        The positions, from 0 to ``size - 1``.
    length : int
        How many positions there are.
    size : int
        The length of the axis that they point into.
    reference : array
        An array of the library and device wanted.
    validate : bool
        False skips the check of the values.

    Returns
    -------
    array of int, shape (length,)
        The index.

    Raises
    ------
    ValueError
        For another shape, numbers that are not integers, and a position outside the range.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> checks.check_index("row_index", [0, 3], 2, 3, np.ones(2), True)
    Traceback (most recent call last):
        ...
    ValueError: row_index[1] = 3 lies outside 0..2
    """
    index = arrays.as_index(index, reference, name)
    if shape_of(index) != (length,):
        raise ValueError(f"{name} must have shape ({length},), but has shape {shape_of(index)}")
    bad = first_index((index < 0) | (index >= size)) if validate and arrays.readable(index) else None
    if bad is not None:
        raise ValueError(f"{name}[{bad[0]}] = {int(index[bad])} lies outside 0..{size - 1}")
    return index


def check_distinct_pairs(row_index: Array, col_index: Array, n_cols: int) -> None:
    """Check Assumption E.2: no pair occurs twice in a batch.

    Parameters
    ----------
    row_index, col_index : array of int, shape (s,)
        The row and the column of each pair.
    n_cols : int
        The number of columns.

    Raises
    ------
    ValueError
        For a pair that occurs twice, because the expectations do not hold then.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> checks.check_distinct_pairs(np.array([0, 0]), np.array([1, 1]), 2)
    Traceback (most recent call last):
        ...
    ValueError: the pair (0, 1) occurs 2 times; ...
    """
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
    """Check that the row and the column of a cell outside ``O`` can have these counts.

    The positives of its row and of its column are different pairs, so ``a + b <= n_positives``.

    Parameters
    ----------
    a, b : int
        The number of positives in the row and in the column, at least 0.
    n_positives : int
        The number of all positive pairs.

    Raises
    ------
    ValueError
        For counts that are not whole, negative, or too large together.

    Examples
    --------
    >>> from course_lib.in_batch import checks
    >>> checks.check_cell_counts(2, 2, 3)
    Traceback (most recent call last):
        ...
    ValueError: a=2, b=2 must be >= 0 and whole, with a + b <= n_positives=3: ...
    """
    # as floats: in int8 100 + 100 is -56
    if not (a >= 0 and b >= 0 and float(a) + float(b) <= n_positives) or a % 1 or b % 1:
        raise ValueError(
            f"a={a}, b={b} must be >= 0 and whole, with a + b <= n_positives={n_positives}: for a cell outside O the "
            f"positives of its row and of its column are different pairs"
        )


def counts_of(labels: Array) -> tuple[Array, Array, int]:
    """Return the counts of a label matrix.

    Parameters
    ----------
    labels : array, shape (m, n)
        The labels, all 0 or 1.

    Returns
    -------
    rows : array, shape (m,)
        The number of positives of each row, in the kind of array that ``labels`` is.
    cols : array, shape (n,)
        The number of positives of each column.
    n_positives : int
        The number ``M`` of positives.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> rows, cols, n_positives = checks.counts_of(np.array([[1, 1], [0, 1]]))
    >>> rows.tolist(), cols.tolist(), n_positives
    ([2, 1], [1, 2], 3)
    """
    xp = namespace(labels)
    return xp.sum(labels, axis=1), xp.sum(labels, axis=0), int(xp.sum(labels != 0))


def positives_of(labels: Array) -> list[tuple[int, int]]:
    """Return the cells of ``O``, row by row.

    Parameters
    ----------
    labels : array, shape (m, n)
        The label matrix.

    Returns
    -------
    list of tuple of int
        The row and the column of each positive pair.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.in_batch import checks
    >>> checks.positives_of(np.array([[1, 1], [0, 1]]))
    [(0, 0), (0, 1), (1, 1)]
    """
    return [(int(i), int(j)) for i, j in np.argwhere(checking.as_numpy(labels) != 0)]
