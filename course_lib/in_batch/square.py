"""The square loss of a batch through Gramians: no s x s matrix is formed."""

from __future__ import annotations

from typing import Any

from course_lib import gramians
from course_lib.arrays import Array, check_value, namespace, shape_of
from course_lib.in_batch.checks import check_counts, check_tables
from course_lib.in_batch.coefficients import batch_coefficients


def square_batch_loss(
    kind: str,
    *,
    users: Any,
    items: Any,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    omega: Any = None,
    validate: bool = True,
) -> Array:
    """Return ``batch_loss(kind)`` of the square loss through Gramians, in O(s k^2) instead of O(s^2 k).

    No ``s x s`` matrix is formed.

    Parameters
    ----------
    kind : str
        One of ``KINDS`` other than "masked".
    users, items : array_like, shape (..., s, k)
        Row ``a`` holds the two embeddings of the batch's pair ``a``.
    row_counts, col_counts : array_like, shape (s,)
        The number of positives of each row and of each column of the batch.
    n_positives, shape, omega, validate
        As in ``batch_loss``.

    Returns
    -------
    array, shape (...)
        The loss.

    Raises
    ------
    ValueError
        As ``batch_loss``, and for "masked", which has no such form: the cells that it leaves out are not of low rank.

    Examples
    --------
    All four scores are 1. The positives cost nothing, and the two cells off the diagonal cost 1/2 each, times
    the factor ``M / (m n s) = 3/8``:

    >>> from course_lib import in_batch
    >>> loss = in_batch.square_batch_loss(
    ...     "in_batch", users=[[1, 0], [0, 1]], items=[[1, 1], [1, 1]],
    ...     row_counts=[2, 1], col_counts=[1, 2], n_positives=3, shape=(2, 2))
    >>> round(float(loss), 4)
    0.375
    """
    users, items = check_tables(users, items)
    s = shape_of(users)[-2]
    if shape_of(items)[-2] != s:
        raise ValueError(f"users has {s} rows and items has {shape_of(items)[-2]}; both hold one row per sampled pair")
    coefficients = batch_coefficients(kind, batch_size=s, n_positives=n_positives, shape=shape, omega=omega)
    if coefficients.masked:
        raise ValueError("kind='masked' has no Gramian form: what it leaves out is not of low rank; use batch_loss")
    rows = check_counts("row_counts", row_counts, s, users, shape[1], validate)
    cols = check_counts("col_counts", col_counts, s, users, shape[0], validate)
    scores = namespace(users).sum(users * items, axis=-1)  # (..., s, k) -> (..., s)
    left, right = coefficients.grid_weights(rows, cols)
    grid_sum = gramians.all_pairs_square(users, items, left_weights=left, right_weights=right, validate=False) / 2
    value = (
        coefficients.positive_sum((1 - scores) * (1 - scores) / 2)
        + grid_sum
        + coefficients.own_sum(scores * scores / 2, rows * cols)
    )
    return check_value(value, {"users": users, "items": items}) if validate else value
