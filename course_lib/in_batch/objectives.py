"""Objectives on the whole label matrix, and Lemmas E.4-E.6."""

from __future__ import annotations

from typing import Any

from course_lib.arrays import (
    Array,
    as_array,
    check_value,
    matrix_shape,
    namespace,
    number,
    shape_of,
    weighted_grid_sum,
)
from course_lib.in_batch import checks
from course_lib.in_batch.coefficients import DIVIDED, expected_coefficients, negative_weights
from course_lib.in_batch.sampling import inclusion_probability


def full_objective(*, pos_loss: Any, neg_loss: Any, labels: Any, omega: Any = 1) -> Array:
    """(1/mn) ( sum over O of l+ + omega * sum outside O of l- ): what training should minimise.

    pos_loss, neg_loss (..., m, n), labels (m, n). Returns (...). omega = 1 is P3's (5) = (4); else it is (19).
    """
    pos_loss, neg_loss = checks.check_matrix_losses(pos_loss, neg_loss)
    omega = checks.check_omega("unbiased_omega", omega)
    labels = checks.check_labels("labels", labels, shape_of(pos_loss)[-2:], pos_loss, True)
    m, n = shape_of(labels)
    xp = namespace(pos_loss)
    positives = xp.sum(labels * pos_loss, axis=(-2, -1))
    negatives = xp.sum((1 - labels) * neg_loss, axis=(-2, -1))
    value = (positives + number(omega, pos_loss, "omega") * negatives) / (m * n)
    return check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss})


def expected_weights(kind: str, *, labels: Any, batch_size: int, omega: Any = None) -> tuple[Array, Array]:
    """Expected weight of l+ and of l- of every cell over all batches, 1/(mn) included: (W_pos, W_neg), both (m, n).

    Computed from the batch loss through Lemmas E.4-E.6 (`expectation_of`), never from the closed forms of the paper, so
    that the two can be compared. labels (m, n) of 0/1; exact for Fractions.
    Raises ValueError when a row or column has no positive (Assumption E.1) and the kind divides by the popularity:
    no batch can contain such a cell, so the promised expectation is false for it.
    """
    labels = checks.whole_labels(labels)
    rows, cols, n_positives = checks.counts_of(labels)
    if kind in DIVIDED:
        checks.check_no_empty(rows, cols)
    coefficients = expected_coefficients(
        kind, batch_size=batch_size, n_positives=n_positives, shape=matrix_shape(labels), omega=omega
    )
    positive = number(coefficients.positive, labels) * labels
    return positive, negative_weights(coefficients, rows, cols, on_diagonal=labels, labels=None)


def expected_objective(
    kind: str, *, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any = None
) -> Array:
    """E[batch_loss(kind)] over all batches of `batch_size` pairs, on full matrices.

    pos_loss, neg_loss (..., m, n), labels (m, n). Returns (...). in_batch gives P3's (13), popularity (15), pos_neg
    (16), unbiased and masked (5), unbiased_omega (19). Errors as in `expected_weights`.
    """
    pos_loss, neg_loss = checks.check_matrix_losses(pos_loss, neg_loss)
    labels = checks.check_labels("labels", labels, shape_of(pos_loss)[-2:], pos_loss, True)
    positive, negative = expected_weights(kind, labels=labels, batch_size=batch_size, omega=omega)
    value = namespace(pos_loss).sum(positive * pos_loss + negative * neg_loss, axis=(-2, -1))
    return check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss})


def change_of_variables(f: Any, labels: Any) -> Array:
    """sum_ij |O_i,:| |O_:,j| f_ij: the double sum over O x O as a sum over cells. Source: P3, Lemma E.4.

    f (..., m, n), labels (m, n) -> (...).
    """
    f = as_array(f, "f")
    rows, cols, _ = checks.counts_of(checks.check_labels("labels", labels, shape_of(f)[-2:], f, True))
    return weighted_grid_sum(f, rows, cols)


def expected_positive_sum(f: Any, labels: Any, *, batch_size: int) -> Array:
    """E[ sum of f over the batch ] = (s/M) sum over O of f. Source: P3, Lemma E.5.  f (..., m, n) -> (...)."""
    f = as_array(f, "f")
    labels = checks.check_labels("labels", labels, shape_of(f)[-2:], f, True)
    _, _, n_positives = checks.counts_of(labels)
    p1 = inclusion_probability(1, batch_size=batch_size, n_positives=n_positives)
    return number(p1, f) * namespace(f).sum(labels * f, axis=(-2, -1))


def expected_pair_sum(f: Any, labels: Any, *, batch_size: int) -> Array:
    """E[ sum of f over the whole s x s grid ] = p1 sum_O f + p2 ( sum_ij pop_ij f_ij - sum_O f ).

    p1 = s/M and p2 = s(s-1)/(M(M-1)). f (..., m, n) -> (...). Source: P3, Lemma E.6.
    """
    f = as_array(f, "f")
    labels = checks.check_labels("labels", labels, shape_of(f)[-2:], f, True)
    _, _, n_positives = checks.counts_of(labels)
    p2 = number(inclusion_probability(2, batch_size=batch_size, n_positives=n_positives), f)
    on_positives = namespace(f).sum(labels * f, axis=(-2, -1))
    once = expected_positive_sum(f, labels, batch_size=batch_size)
    return once + p2 * (change_of_variables(f, labels) - on_positives)
