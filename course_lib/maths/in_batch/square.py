"""The square loss through Gramians: no m x n and no s x s matrix is formed."""

from __future__ import annotations

from typing import Any

from course_lib.maths import gramians
from course_lib.maths.arrays import Array, namespace, shape_of
from course_lib.maths.in_batch.checks import (
    check_counts,
    check_distinct_pairs,
    check_index,
    check_tables,
    check_totals,
    check_value,
)
from course_lib.maths.in_batch.coefficients import DIVIDED, Coefficients, batch_coefficients, expected_coefficients


def square_objective(
    kind: str,
    *,
    users: Any,
    items: Any,
    rows: Any,
    cols: Any,
    row_counts: Any,
    col_counts: Any,
    batch_size: int | None = None,
    omega: Any = None,
    validate: bool = True,
) -> Array:
    """`expected_objective(kind)` of the square loss at scores users @ items.T, in O(|O| k + (m + n) k^2).

    The sum over all m n cells is a product of two k x k Gramians, because the weights of the grid have rank one; only
    the cells of O are visited. Differentiable: the gradient costs the same.

    users (..., m, k), items (..., n, k): embeddings; leading axes are a sweep of models
    rows, cols (M,): the pairs of O, distinct;  row_counts (m,), col_counts (n,): how often each entity occurs in them
    batch_size: needed by the kinds whose expectation depends on it (in_batch, pos_neg); omega: for unbiased_omega
    validate: False skips the checks that read values (duplicates, counts, finiteness)
    """
    users, items = check_tables(users, items)
    (m, _), (n, _) = shape_of(users)[-2:], shape_of(items)[-2:]
    rows = check_index("rows", rows, None, m, users, validate)
    n_positives = shape_of(rows)[0]
    cols = check_index("cols", cols, n_positives, n, users, validate)
    if batch_size is None:
        if kind in ("in_batch", "pos_neg"):
            raise ValueError(f"kind={kind!r} needs batch_size: its expected objective depends on rho = (s-1)/(M-1)")
        batch_size = n_positives  # the expectation of the other kinds does not depend on it
    coefficients = expected_coefficients(
        kind, batch_size=batch_size, n_positives=n_positives, shape=(m, n), omega=omega
    )
    row_counts = check_counts("row_counts", row_counts, m, users, n, validate and kind in DIVIDED)
    col_counts = check_counts("col_counts", col_counts, n, users, m, validate and kind in DIVIDED)
    if validate:
        check_distinct_pairs(rows, cols, n)
        check_totals(row_counts, col_counts, n_positives)
    return _square_form(coefficients, users, items, rows, cols, row_counts, col_counts, validate)


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
        raise ValueError(
            "kind='masked' has no Gramian form: the cells it leaves out do not form a low-rank pattern; use batch_loss"
        )
    rows = check_counts("row_counts", row_counts, s, users, shape[1], validate)
    cols = check_counts("col_counts", col_counts, s, users, shape[0], validate)
    return _square_form(coefficients, users, items, None, None, rows, cols, validate)


def _square_form(
    coefficients: Coefficients,
    users: Array,
    items: Array,
    rows: Array | None,
    cols: Array | None,
    row_counts: Array,
    col_counts: Array,
    validate: bool,
) -> Array:
    """Formula (*) for l+ = (1 - score)^2/2 and l- = score^2/2 by Gramians; rows = None means pair a is (a, a)."""
    u, v = (users, items) if rows is None else (users[..., rows, :], items[..., cols, :])
    row_pop, col_pop = (row_counts, col_counts) if rows is None else (row_counts[rows], col_counts[cols])
    scores = namespace(u).sum(u * v, axis=-1)  # (..., |S|, k) -> (..., |S|)
    left, right = coefficients.grid_weights(row_counts, col_counts)
    grid_sum = gramians.all_pairs_square(users, items, left_weights=left, right_weights=right) / 2
    value = (
        coefficients.positive_sum((1 - scores) * (1 - scores) / 2)
        + grid_sum
        + coefficients.own_sum(scores * scores / 2, row_pop * col_pop)
    )
    return check_value(value, {"users": users, "items": items}) if validate else value
