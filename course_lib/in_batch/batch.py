"""The loss of one batch: (17), (25)-(28), (34) and the masked loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib import checking
from course_lib.arrays import (
    Array,
    as_array,
    at_least_single,
    check_value,
    like,
    number,
    readable,
    shape_of,
    weighted_grid_sum,
)
from course_lib.in_batch import checks
from course_lib.in_batch.coefficients import batch_coefficients, negative_weights, sogram_coefficients
from course_lib.in_batch.sampling import pair_popularity


def batch_loss(
    kind: str,
    *,
    pos_loss: Any,
    neg_loss: Any,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    omega: Any = None,
    labels: Any = None,
    validate: bool = True,
) -> Array:
    """Return the loss of one batch, in the scaling of P3's equations (17), (25)-(28).

    In this scaling, "in_batch" is (28), not (11).

    Parameters
    ----------
    kind : str
        One of ``KINDS``; the formulas are in ``coefficients_from``.
    pos_loss : array_like, shape (..., s)
        ``l+`` of the sampled pairs, in the order of the batch. Losses of 16 bits are summed in float32, under autocast
        too.
    neg_loss : array_like, shape (..., s, s)
        ``l-`` of every cell of the grid. Its diagonal holds ``l-`` of the sampled pairs.
    row_counts, col_counts : array_like, shape (s,)
        The number of positives ``|O_i,:|`` of each row of the batch, and ``|O_:,j|`` of each column.
    n_positives : int
        ``M = |O|``.
    shape : tuple of int
        The shape ``(m, n)`` of the whole label matrix.
    omega : number or array, optional
        For "unbiased_omega" only: the weight of the negatives, at least 0, a number or an array that broadcasts with
        (...).
    labels : array_like, shape (s, s), optional
        For "masked" only: the true labels of the grid, with ones on the diagonal.
    validate : bool, optional
        False skips the checks that read values, which make the program wait for a GPU. ``torch.compile`` and
        ``torch.func.vmap``, where values cannot be read, skip these checks too.

    Returns
    -------
    array, shape (...)
        One loss for each leading index, differentiable, exact for Fractions, float32 for losses of 16 bits.

    Raises
    ------
    ValueError
        For an unknown kind, wrong shapes, a batch of one pair where the loss divides by ``s - 1``, counts below 1
        (Assumption E.1), ``s > M``, a missing, negative or infinite ``omega``, labels other than 0 and 1 or with
        another kind than "masked", and NaN or infinite losses.

    Notes
    -----
    The weights of the grid have rank one, so "unbiased" costs what "in_batch" costs: one pass over the grid.

    The pairs must be distinct (Assumption E.2). ``collapsed_batch_loss``, which sees the pairs, checks that.

    Examples
    --------
    The batch holds the pairs (0, 0) and (1, 1) of the label matrix ``[[1, 1], [0, 1]]``. Every negative costs 1:

    >>> import numpy as np
    >>> from course_lib import in_batch
    >>> batch = {"pos_loss": np.zeros(2), "neg_loss": np.ones((2, 2)), "row_counts": [2, 1], "col_counts": [1, 2]}
    >>> float(in_batch.batch_loss("in_batch", **batch, n_positives=3, shape=(2, 2)))
    0.75
    >>> round(float(in_batch.batch_loss("unbiased", **batch, n_positives=3, shape=(2, 2))), 4)
    0.5625
    """
    pos_loss, neg_loss = checks.check_batch_losses(pos_loss, neg_loss)
    s = shape_of(pos_loss)[-1]
    checks.check_kind_labels(kind, labels)
    coefficients = batch_coefficients(kind, batch_size=s, n_positives=n_positives, shape=shape, omega=omega)
    rows = checks.check_counts("row_counts", row_counts, s, pos_loss, shape[1], validate)
    cols = checks.check_counts("col_counts", col_counts, s, pos_loss, shape[0], validate)
    grid = neg_loss
    if coefficients.masked:
        grid = neg_loss * (1 - checks.check_grid_labels(labels, neg_loss, validate))
    left, right = coefficients.grid_weights(rows, cols)
    negative = weighted_grid_sum(grid, left, right, coefficients.own_weights(rows * cols))
    value = coefficients.positive_sum(pos_loss) + negative
    return check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss}) if validate else value


def collapsed_batch_loss(
    kind: str,
    *,
    pos_loss: Any,
    neg_loss: Any,
    row_index: Any,
    col_index: Any,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    omega: Any = None,
    labels: Any = None,
    validate: bool = True,
) -> Array:
    """Return ``batch_loss`` from the grid of distinct rows and columns: the same number, often much cheaper.

    A large batch names the same user and the same item many times. Let ``p`` and ``q`` be its numbers of distinct rows
    and columns. A cell that ``d_i`` copies of row ``i`` and ``e_j`` copies of column ``j`` produce is computed once and
    weighted by ``d_i e_j``.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    pos_loss : array_like, shape (..., s)
        ``l+`` of the sampled pairs.
    neg_loss : array_like, shape (..., p, q)
        ``l-`` of the distinct grid.
    row_index, col_index : array_like of int, shape (s,)
        Where each sampled pair lies in the distinct grid, as ``np.unique(..., return_inverse=True)`` gives it.
    row_counts, col_counts : array_like, shapes (p,) and (q,)
        The number of positives of the distinct rows and columns.
    n_positives, shape, omega, validate
        As in ``batch_loss``.
    labels : array_like, shape (p, q), optional
        For "masked" only: the true labels of the distinct grid.

    Returns
    -------
    array, shape (...)
        The loss.

    Raises
    ------
    ValueError
        As ``batch_loss``, and when two sampled pairs are the same (Assumption E.2: a batch is drawn without
        replacement) or an index points outside the grid.

    Examples
    --------
    The batch holds the pairs (0, 0) and (0, 1): one user, two items, so that one row stands for two:

    >>> import numpy as np
    >>> from course_lib import in_batch
    >>> data = {"pos_loss": np.zeros(2), "col_counts": [1, 2], "n_positives": 3, "shape": (2, 2)}
    >>> float(in_batch.collapsed_batch_loss(
    ...     "in_batch", neg_loss=np.ones((1, 2)), row_index=[0, 0], col_index=[0, 1], row_counts=[2], **data))
    0.75
    >>> float(in_batch.batch_loss("in_batch", neg_loss=np.ones((2, 2)), row_counts=[2, 2], **data))
    0.75
    """
    pos_loss, neg_loss = checks.one_kind(pos_loss=pos_loss, neg_loss=neg_loss)
    if len(neg_loss.shape) < 2 or len(pos_loss.shape) < 1:
        raise ValueError(
            f"pos_loss must have shape (..., s) and neg_loss (..., p, q), "
            f"but they have {shape_of(pos_loss)} and {shape_of(neg_loss)}"
        )
    s, (p, q) = shape_of(pos_loss)[-1], shape_of(neg_loss)[-2:]
    checks.check_kind_labels(kind, labels)
    coefficients = batch_coefficients(kind, batch_size=s, n_positives=n_positives, shape=shape, omega=omega)
    row_index = checks.check_index("row_index", row_index, s, p, neg_loss, validate)
    col_index = checks.check_index("col_index", col_index, s, q, neg_loss, validate)
    if validate and readable(row_index):
        checks.check_distinct_pairs(row_index, col_index, q)
    rows = checks.check_counts("row_counts", row_counts, p, neg_loss, shape[1], validate)
    cols = checks.check_counts("col_counts", col_counts, q, neg_loss, shape[0], validate)
    grid = neg_loss
    if coefficients.masked:
        labels = checks.check_labels("labels", labels, (p, q), neg_loss, validate)
        if validate and readable(labels) and bool((labels[row_index, col_index] != 1).any()):
            raise ValueError("labels must be 1 at the sampled pairs: a batch is drawn from the positives")
        grid = neg_loss * (1 - labels)
    left, right = coefficients.grid_weights(rows, cols)
    row_copies, col_copies = _copies(row_index, p, neg_loss), _copies(col_index, q, neg_loss)
    negative = weighted_grid_sum(grid, left * row_copies, col_copies if right is None else right * col_copies)
    own = neg_loss[..., row_index, col_index]
    own_negative = coefficients.own_sum(own, rows[row_index] * cols[col_index])
    value = coefficients.positive_sum(pos_loss) + negative + own_negative
    return check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss}) if validate else value


def sogram_loss(
    *,
    pos_loss: Any,
    neg_diag: Any,
    neg_cross: Any,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    validate: bool = True,
) -> Array:
    """Return the two-batch unbiased loss of P3, equation (34).

    ``(1/mn) ( M/s1 sum_batch1 (l+ - l-) + M^2/(s1 s2) sum over rows of batch 1, columns of batch 2 of l- / pop )``.

    Parameters
    ----------
    pos_loss, neg_diag : array_like, shape (..., s1)
        ``l+`` and ``l-`` of the pairs of batch 1.
    neg_cross : array_like, shape (..., s1, s2)
        ``l-`` of the rows of batch 1 against the columns of batch 2.
    row_counts : array_like, shape (s1,)
        The number of positives of the rows of batch 1.
    col_counts : array_like, shape (s2,)
        The number of positives of the columns of batch 2.
    n_positives : int
        ``M = |O|``.
    shape : tuple of int
        The shape ``(m, n)`` of the whole label matrix.
    validate : bool, optional
        False skips the checks that read values.

    Returns
    -------
    array, shape (...)
        The loss.

    Raises
    ------
    ValueError
        For shapes, counts and sizes that do not fit, and for NaN or infinite losses.

    Notes
    -----
    The loss is unbiased when the two batches are independent. With one batch used twice it is not. ``s1 = 1`` is
    allowed.

    Source: P3, equation (34); Yuan et al. 2021; Krichene et al. 2019.

    Examples
    --------
    Batch 1 holds the pairs (0, 0) and (1, 1) of the label matrix ``[[1, 1], [0, 1]]``, batch 2 all three pairs. Every
    negative costs 1:

    >>> import numpy as np
    >>> from course_lib import in_batch
    >>> loss = in_batch.sogram_loss(
    ...     pos_loss=np.zeros(2), neg_diag=np.ones(2), neg_cross=np.ones((2, 3)),
    ...     row_counts=[2, 1], col_counts=[1, 2, 2], n_positives=3, shape=(2, 2))
    >>> round(float(loss), 4)
    0.375
    """
    pos_loss, neg_diag, neg_cross = checks.one_kind(pos_loss=pos_loss, neg_diag=neg_diag, neg_cross=neg_cross)
    if len(pos_loss.shape) < 1 or shape_of(neg_diag) != shape_of(pos_loss):
        raise ValueError(
            f"pos_loss and neg_diag must both have shape (..., s1), "
            f"but have {shape_of(pos_loss)} and {shape_of(neg_diag)}"
        )
    s1 = shape_of(pos_loss)[-1]
    if len(neg_cross.shape) < 2 or shape_of(neg_cross)[-2] != s1:
        raise ValueError(f"neg_cross must have shape (..., {s1}, s2), but has {shape_of(neg_cross)}")
    s2 = shape_of(neg_cross)[-1]
    coefficients = sogram_coefficients(batch_size=s1, other_batch_size=s2, n_positives=n_positives, shape=shape)
    rows = checks.check_counts("row_counts", row_counts, s1, neg_cross, shape[1], validate)
    cols = checks.check_counts("col_counts", col_counts, s2, neg_cross, shape[0], validate)
    negative = weighted_grid_sum(neg_cross, *coefficients.grid_weights(rows, cols))
    value = coefficients.positive_sum(pos_loss) + negative + coefficients.own_sum(neg_diag, rows)
    losses = {"pos_loss": pos_loss, "neg_diag": neg_diag, "neg_cross": neg_cross}
    return check_value(value, losses) if validate else value


def batch_weights(
    kind: str,
    *,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    omega: Any = None,
    labels: Any = None,
) -> tuple[Array, Array]:
    """Return the weights of one batch written out, for looking, plotting and testing.

    ``batch_loss(...) = sum(w_pos * pos_loss) + sum(w_neg * neg_loss)``. The loss itself never forms ``w_neg``.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    row_counts, col_counts : array_like, shape (s,)
        The number of positives of each row and of each column of the batch.
    n_positives : int
        ``M = |O|``.
    shape : tuple of int
        The shape ``(m, n)`` of the whole label matrix.
    omega : number, optional
        The weight of the negatives, for "unbiased_omega" only.
    labels : array_like, shape (s, s), optional
        The true labels of the grid, for "masked" only.

    Returns
    -------
    w_pos : array, shape (s,)
        The weights of ``l+``.
    w_neg : array, shape (s, s)
        The weights of ``l-``. Both are of the kind and dtype of ``row_counts``: float64 for whole numbers, float32 for
        16 bits, exact for Fractions.

    Raises
    ------
    ValueError
        As ``batch_loss``, and for an ``omega`` with axes.

    Notes
    -----
    On the diagonal of "unbiased", ``w_neg`` is ``a (1/pop - 1) <= 0``, whatever the batch size (claim X2).

    Examples
    --------
    The unbiased loss gives the rare cell (1, 0) the largest weight, and the sampled pairs a negative one:

    >>> from course_lib import in_batch
    >>> _, w_neg = in_batch.batch_weights("unbiased", row_counts=[2, 1], col_counts=[1, 2], n_positives=3, shape=(2, 2))
    >>> w_neg.round(4).tolist()
    [[-0.1875, 0.1875], [0.75, -0.1875]]
    """
    rows = at_least_single(as_array(row_counts, "row_counts"))  # a popularity does not fit into 16 bits
    if len(rows.shape) != 1:
        raise ValueError(f"row_counts must have shape (s,), but has shape {shape_of(rows)}")
    s = shape_of(rows)[0]
    rows = checks.check_counts("row_counts", rows, s, rows, shape[1], True)
    cols = checks.check_counts("col_counts", col_counts, s, rows, shape[0], True)
    checks.check_kind_labels(kind, labels)
    coefficients = batch_coefficients(kind, batch_size=s, n_positives=n_positives, shape=shape, omega=omega)
    grid_labels = None
    if coefficients.masked:
        grid_labels = checks.check_grid_labels(labels, pair_popularity(rows, cols), True)
    positive = number(coefficients.positive, rows) * (rows * 0 + 1)
    eye = like(np.eye(s), rows, "eye")
    return positive, negative_weights(coefficients, rows, cols, on_diagonal=eye, labels=grid_labels)


def _copies(index: Array, length: int, reference: Array) -> Array:
    """How often each of `length` entities occurs in `index`."""
    copies = np.bincount(checking.as_numpy(index), minlength=length)
    return like(copies, reference, "copies")
