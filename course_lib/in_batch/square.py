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
    """`batch_loss(kind)` of the square loss for s pairs of embeddings, in O(s k^2) instead of O(s^2 k).

    users, items (..., s, k): row a holds the two embeddings of the batch's pair a. The rest is as in `batch_loss`.
    "masked" has no such form: which cells it leaves out is not of low rank. It raises ValueError.
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
