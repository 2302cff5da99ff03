"""Objectives on the whole label matrix, and Lemmas E.4-E.6."""

from __future__ import annotations

from typing import Any

from course_lib.arrays import (
    Array,
    as_array,
    at_least_single,
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
    """Return the objective on the whole label matrix: what training should minimise.

    ``(1/mn) ( sum over O of l+ + omega * sum outside O of l- )``.

    Parameters
    ----------
    pos_loss, neg_loss : array_like, shape (..., m, n)
        ``l+`` and ``l-`` of every cell.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones.
    omega : number or array, optional
        The weight of the negatives, at least 0. With ``omega = 1`` this is P3's equation (5), which equals (4); else it
        is (19).

    Returns
    -------
    array, shape (...)
        The objective.

    Raises
    ------
    ValueError
        For shapes and labels that do not fit, for a negative ``omega``, and for NaN or infinite losses.

    Examples
    --------
    All positives are free and every negative costs 1. One of the four cells is a negative:

    >>> import numpy as np
    >>> from course_lib import in_batch
    >>> labels = [[1, 1], [0, 1]]
    >>> float(in_batch.full_objective(pos_loss=np.zeros((2, 2)), neg_loss=np.ones((2, 2)), labels=labels))
    0.25
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
    """Return the expected weights of ``l+`` and of ``l-`` of every cell over all batches.

    They include the factor ``1/(mn)``. They are computed from the batch loss through Lemmas E.4-E.6
    (``expectation_of``), never from the closed forms of the paper, so that the two can be compared.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones. Fractions give exact results.
    batch_size : int
        The number of pairs in a batch.
    omega : number, optional
        The weight of the negatives, for "unbiased_omega" only.

    Returns
    -------
    W_pos, W_neg : array, shape (m, n)
        The weights of ``l+`` and of ``l-``, float32 for labels of 16 bits.

    Raises
    ------
    ValueError
        When a row or a column has no positive (Assumption E.1) and the kind divides by the popularity: no batch can
        contain such a cell, so the promised expectation is false for it. Also for what ``batch_coefficients`` refuses.

    Examples
    --------
    The in-batch loss pushes down the positive cell (0, 1), which is popular, three times as hard as the true negative
    (1, 0):

    >>> from course_lib import in_batch
    >>> _, negative = in_batch.expected_weights("in_batch", labels=[[1, 1], [0, 1]], batch_size=2)
    >>> negative.round(4).tolist()
    [[0.125, 0.375], [0.125, 0.125]]
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
    """Return the expectation of a batch loss over all batches of ``batch_size`` pairs.

    "in_batch" gives P3's equation (13), "popularity" (15), "pos_neg" (16), "unbiased" and "masked" (5),
    "unbiased_omega" (19).

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    pos_loss, neg_loss : array_like, shape (..., m, n)
        ``l+`` and ``l-`` of every cell.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones.
    batch_size : int
        The number of pairs in a batch.
    omega : number, optional
        The weight of the negatives, for "unbiased_omega" only.

    Returns
    -------
    array, shape (...)
        The expectation.

    Raises
    ------
    ValueError
        As ``expected_weights``, and for NaN or infinite losses.

    Examples
    --------
    All positives are free and every negative costs 1, so ``full_objective`` is 0.25. The unbiased loss has this mean:

    >>> import numpy as np
    >>> from course_lib import in_batch
    >>> given = {"pos_loss": np.zeros((2, 2)), "neg_loss": np.ones((2, 2)), "labels": [[1, 1], [0, 1]], "batch_size": 2}
    >>> round(float(in_batch.expected_objective("unbiased", **given)), 4)
    0.25
    >>> round(float(in_batch.expected_objective("in_batch", **given)), 4)
    0.75
    """
    pos_loss, neg_loss = checks.check_matrix_losses(pos_loss, neg_loss)
    labels = checks.check_labels("labels", labels, shape_of(pos_loss)[-2:], pos_loss, True)
    positive, negative = expected_weights(kind, labels=labels, batch_size=batch_size, omega=omega)
    value = namespace(pos_loss).sum(positive * pos_loss + negative * neg_loss, axis=(-2, -1))
    return check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss})


def change_of_variables(f: Any, labels: Any) -> Array:
    """Return the double sum of ``f`` over ``O x O`` as a sum over cells.

    ``sum_ij |O_i,:| |O_:,j| f_ij``.

    Parameters
    ----------
    f : array_like, shape (..., m, n)
        A number for each cell. 16 bits become float32.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones.

    Returns
    -------
    array, shape (...)
        The sum.

    Raises
    ------
    ValueError
        For shapes and labels that do not fit.

    Notes
    -----
    Source: P3, Lemma E.4.

    Examples
    --------
    With ``f = 1`` it counts the pairs of pairs, ``|O|^2``:

    >>> import numpy as np
    >>> from course_lib import in_batch
    >>> float(in_batch.change_of_variables(np.ones((2, 2)), [[1, 1], [0, 1]]))
    9.0
    """
    f = at_least_single(as_array(f, "f"))  # sums and counts do not fit into 16 bits
    rows, cols, _ = checks.counts_of(checks.check_labels("labels", labels, shape_of(f)[-2:], f, True))
    return weighted_grid_sum(f, rows, cols)


def expected_positive_sum(f: Any, labels: Any, *, batch_size: int) -> Array:
    """Return the expectation of the sum of ``f`` over the pairs of a batch.

    ``(s/M) sum over O of f``.

    Parameters
    ----------
    f : array_like, shape (..., m, n)
        A number for each cell. 16 bits become float32.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones, with ``M`` ones.
    batch_size : int
        The number ``s`` of pairs in a batch.

    Returns
    -------
    array, shape (...)
        The expectation.

    Raises
    ------
    ValueError
        For shapes, labels and sizes that do not fit.

    Notes
    -----
    Source: P3, Lemma E.5.

    Examples
    --------
    With ``f = 1`` it counts the pairs of a batch:

    >>> import numpy as np
    >>> from course_lib import in_batch
    >>> round(float(in_batch.expected_positive_sum(np.ones((2, 2)), [[1, 1], [0, 1]], batch_size=2)), 4)
    2.0
    """
    f = at_least_single(as_array(f, "f"))  # sums and counts do not fit into 16 bits
    labels = checks.check_labels("labels", labels, shape_of(f)[-2:], f, True)
    _, _, n_positives = checks.counts_of(labels)
    p1 = inclusion_probability(1, batch_size=batch_size, n_positives=n_positives)
    return number(p1, f) * namespace(f).sum(labels * f, axis=(-2, -1))


def expected_pair_sum(f: Any, labels: Any, *, batch_size: int) -> Array:
    """Return the expectation of the sum of ``f`` over the whole ``s x s`` grid of a batch.

    ``p1 sum_O f + p2 ( sum_ij pop_ij f_ij - sum_O f )`` with ``p1 = s/M`` and ``p2 = s(s-1) / (M(M-1))``.

    Parameters
    ----------
    f : array_like, shape (..., m, n)
        A number for each cell. 16 bits become float32.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones, with ``M`` ones.
    batch_size : int
        The number ``s`` of pairs in a batch.

    Returns
    -------
    array, shape (...)
        The expectation.

    Raises
    ------
    ValueError
        For shapes, labels and sizes that do not fit.

    Notes
    -----
    Source: P3, Lemma E.6.

    Examples
    --------
    With ``f = 1`` it counts the cells of the grid of two pairs:

    >>> import numpy as np
    >>> from course_lib import in_batch
    >>> round(float(in_batch.expected_pair_sum(np.ones((2, 2)), [[1, 1], [0, 1]], batch_size=2)), 4)
    4.0
    """
    f = at_least_single(as_array(f, "f"))  # sums and counts do not fit into 16 bits
    labels = checks.check_labels("labels", labels, shape_of(f)[-2:], f, True)
    _, _, n_positives = checks.counts_of(labels)
    p2 = number(inclusion_probability(2, batch_size=batch_size, n_positives=n_positives), f)
    on_positives = namespace(f).sum(labels * f, axis=(-2, -1))
    once = expected_positive_sum(f, labels, batch_size=batch_size)
    return once + p2 * (change_of_variables(f, labels) - on_positives)
