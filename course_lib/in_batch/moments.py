"""Exact mean and variance of a batch loss over all batches, and the best mix of two unbiased losses."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from course_lib.arrays import (
    Array,
    check_value,
    diagonal,
    is_exact,
    is_torch,
    like,
    matrix_shape,
    namespace,
    number,
    shape_of,
)
from course_lib.in_batch import checks
from course_lib.in_batch.batch import batch_loss
from course_lib.in_batch.coefficients import batch_coefficients, negative_weights
from course_lib.in_batch.sampling import inclusion_probability

_ENUMERATION_LIMIT = 1_000_000


def exact_moments(
    kind: str, *, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any = None
) -> tuple[Array, Array]:
    """Return the mean and the variance of ``batch_loss(kind)`` over all batches, in O(M^2).

    There are ``C(M, s)`` batches of ``s`` of the ``M`` positives. None of them is visited.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    pos_loss, neg_loss : array_like, shape (m, n)
        ``l+`` and ``l-`` of every cell. Fractions give exact results.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones.
    batch_size : int
        The number ``s`` of pairs in a batch.
    omega : number, optional
        The weight of the negatives, for "unbiased_omega" only.

    Returns
    -------
    mean, variance : number
        The two moments, in the kind of number of the losses.

    Raises
    ------
    ValueError
        For shapes, labels and sizes that do not fit, and for NaN or infinite losses.

    Notes
    -----
    A batch loss is ``T = sum_e A_e + sum_(e != f) B_ef`` over the pairs ``e, f`` of the batch, so it is a sum
    over unordered pairs. Products of two such pairs overlap in 2, 1 or 0 members. The probability that all their
    members are in the batch depends on nothing else (``inclusion_probability``), and the sums over each kind of overlap
    follow from row sums. Source: claim X1.

    The mean needs no Assumption E.1: it is what the batches average to, whether or not that is the objective wanted.

    Examples
    --------
    Every negative costs 1. One of the three batches shows the only true negative, and its masked loss is 3/4;
    the others are 0:

    >>> from course_lib import arrays, in_batch
    >>> zeros, ones = arrays.exact([[0, 0], [0, 0]]), arrays.exact([[1, 1], [1, 1]])
    >>> in_batch.exact_moments("masked", pos_loss=zeros, neg_loss=ones, labels=[[1, 1], [0, 1]], batch_size=2)
    (Fraction(1, 4), Fraction(1, 8))
    """
    a, b, _ = _pair_terms(kind, pos_loss, neg_loss, labels, batch_size, omega)
    return _moments(a, b, batch_size)


def enumerate_moments(
    kind: str, *, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any = None
) -> tuple[Array, Array]:
    """Return the mean and the variance of ``batch_loss(kind)`` by visiting all ``C(M, s)`` batches.

    This is the brute force behind ``exact_moments``.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    pos_loss, neg_loss : array_like, shape (m, n)
        ``l+`` and ``l-`` of every cell.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones.
    batch_size : int
        The number ``s`` of pairs in a batch.
    omega : number, optional
        The weight of the negatives, for "unbiased_omega" only.

    Returns
    -------
    mean, variance : number
        The two moments.

    Raises
    ------
    ValueError
        Beyond a million batches, for losses with leading axes, and for arguments that ``batch_loss`` refuses.

    Examples
    --------
    >>> from course_lib import arrays, in_batch
    >>> zeros, ones = arrays.exact([[0, 0], [0, 0]]), arrays.exact([[1, 1], [1, 1]])
    >>> in_batch.enumerate_moments("masked", pos_loss=zeros, neg_loss=ones, labels=[[1, 1], [0, 1]], batch_size=2)
    (Fraction(1, 4), Fraction(1, 8))
    """
    given: dict[str, Any] = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": labels}
    values = enumerate_batch_losses(kind, batch_size=batch_size, omega=omega, **given)
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / len(values)


def enumerate_batch_losses(
    kind: str, *, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any = None
) -> list[Array]:
    """Return ``batch_loss(kind)`` of every batch.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    pos_loss, neg_loss : array_like, shape (m, n)
        ``l+`` and ``l-`` of every cell.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones.
    batch_size : int
        The number ``s`` of pairs in a batch.
    omega : number, optional
        The weight of the negatives, for "unbiased_omega" only.

    Returns
    -------
    list of array
        The losses, in the order of ``itertools.combinations`` over the positives, row by row.

    Raises
    ------
    ValueError
        Beyond a million batches, for losses with leading axes, and for arguments that ``batch_loss`` refuses.

    Examples
    --------
    Of the batches {(0, 0), (0, 1)}, {(0, 0), (1, 1)} and {(0, 1), (1, 1)}, the second has the negative cell
    (1, 0) in its grid:

    >>> from course_lib import arrays, in_batch
    >>> given = {"pos_loss": arrays.exact([[0, 0], [0, 0]]), "neg_loss": arrays.exact([[1, 1], [1, 1]])}
    >>> losses = in_batch.enumerate_batch_losses("masked", **given, labels=[[1, 1], [0, 1]], batch_size=2)
    >>> [str(loss) for loss in losses]
    ['0', '3/4', '0']
    """
    pos_loss, neg_loss = _one_matrix(pos_loss, neg_loss)
    labels = checks.check_labels("labels", labels, shape_of(pos_loss), pos_loss, True)
    rows, cols, n_positives = checks.counts_of(labels)
    checks.check_sizes(batch_size, n_positives, least=1)
    if math.comb(n_positives, batch_size) > _ENUMERATION_LIMIT:
        raise ValueError(
            f"{math.comb(n_positives, batch_size)} batches of {batch_size} out of {n_positives} positives are more "
            f"than {_ENUMERATION_LIMIT}; use exact_moments, which needs no enumeration"
        )
    values = []
    for batch in itertools.combinations(checks.positives_of(labels), batch_size):
        i, j = [pair[0] for pair in batch], [pair[1] for pair in batch]
        values.append(
            batch_loss(
                kind,
                pos_loss=pos_loss[i, j],
                neg_loss=neg_loss[i][:, j],
                row_counts=rows[i],
                col_counts=cols[j],
                n_positives=n_positives,
                shape=matrix_shape(labels),
                omega=omega,
                labels=labels[i][:, j] if kind == "masked" else None,
            )
        )
    return values


class OptimalMix(NamedTuple):
    """The unbiased loss ``masked + c (unbiased - masked)`` of least variance; see ``optimal_mix``.

    Parameters
    ----------
    c : number
        The mixing factor.
    variance : number
        The variance of the mix.
    variance_masked, variance_unbiased : number
        The variances of the two losses that are mixed.

    Examples
    --------
    >>> from course_lib import in_batch
    >>> mix = in_batch.OptimalMix(c=0.5, variance=1.0, variance_masked=2.0, variance_unbiased=2.0)
    >>> mix.variance < min(mix.variance_masked, mix.variance_unbiased)
    True
    """

    c: Any
    variance: Any
    variance_masked: Any
    variance_unbiased: Any


def optimal_mix(*, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int) -> OptimalMix:
    """Return the mix of the masked and the unbiased loss that has the least variance.

    ``c* = -Cov(masked, Z) / Var Z``, where ``Z = unbiased - masked`` has mean zero.

    Parameters
    ----------
    pos_loss, neg_loss : array_like, shape (m, n)
        ``l+`` and ``l-`` of every cell. Fractions give exact results.
    labels : array_like, shape (m, n)
        The label matrix, of zeros and ones.
    batch_size : int
        The number of pairs in a batch, at least 2.

    Returns
    -------
    OptimalMix
        ``c*``, the variance of the mix, and the variances of the two losses.

    Raises
    ------
    ValueError
        For shapes, labels and sizes that do not fit, and for NaN or infinite losses.

    Notes
    -----
    Every ``masked + c Z`` is unbiased: ``c = 0`` is the masked loss, ``c = 1`` is P3's equation (17). Neither
    always has the smaller variance; ``c*`` is the best of the family at these scores. Where ``Z`` vanishes (every pair
    of ``O`` has popularity 1), ``c*`` is set to 0. Source: claim X2.

    Examples
    --------
    Here ``masked`` takes the values 0, 3/4, 0 over the three batches, and a mix with ``Z`` takes the value 1/4 in all:

    >>> from course_lib import arrays, in_batch
    >>> zeros, ones = arrays.exact([[0, 0], [0, 0]]), arrays.exact([[1, 1], [1, 1]])
    >>> mix = in_batch.optimal_mix(pos_loss=zeros, neg_loss=ones, labels=[[1, 1], [0, 1]], batch_size=2)
    >>> mix.c, mix.variance, mix.variance_masked, mix.variance_unbiased
    (Fraction(8, 3), Fraction(0, 1), Fraction(1, 8), Fraction(25, 512))
    """
    terms = [_pair_terms(kind, pos_loss, neg_loss, labels, batch_size, None) for kind in ("masked", "unbiased")]
    (a0, b0, _), (a1, b1, _) = terms
    _, var_masked = _moments(a0, b0, batch_size)
    _, var_unbiased = _moments(a1, b1, batch_size)
    _, var_z = _moments(a1 - a0, b1 - b0, batch_size)
    if var_z <= (0 if is_exact(a0) else 1e-24 * float(var_masked + var_unbiased)):  # rounding may leave a trace of Z
        return OptimalMix(var_z * 0, var_masked, var_masked, var_unbiased)
    covariance = (var_unbiased - var_masked - var_z) / 2
    c = -covariance / var_z
    return OptimalMix(c, var_masked + c * covariance, var_masked, var_unbiased)


def _pair_terms(
    kind: str, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any
) -> tuple[Array, Array, int]:
    """(A (M,), B (M, M) with a zero diagonal, M) of claim X1 for the positives in row-major order."""
    pos_loss, neg_loss = _one_matrix(pos_loss, neg_loss)
    labels = checks.check_labels("labels", labels, shape_of(pos_loss), pos_loss, True)
    rows, cols, n_positives = checks.counts_of(labels)
    coefficients = batch_coefficients(
        kind, batch_size=batch_size, n_positives=n_positives, shape=matrix_shape(labels), omega=omega
    )
    pairs = checks.positives_of(labels)
    i, j = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    negative = neg_loss[i][:, j]  # (M, M): row of pair e against column of pair f
    weights = negative_weights(
        coefficients,
        rows[i],
        cols[j],
        on_diagonal=like(np.eye(n_positives), pos_loss, "eye"),
        labels=labels[i][:, j] if coefficients.masked else None,
    )
    terms = weights * negative
    own = diagonal(terms)
    a = number(coefficients.positive, pos_loss) * pos_loss[i, j] + own
    b = terms * (1 - like(np.eye(n_positives), pos_loss, "eye"))
    check_value(namespace(a).sum(a) + namespace(b).sum(b), {"pos_loss": pos_loss, "neg_loss": neg_loss})
    return a, b, n_positives


def _one_matrix(pos_loss: Any, neg_loss: Any) -> tuple[Array, Array]:
    """Both losses (m, n), without leading axes."""
    losses = checks.check_matrix_losses(pos_loss, neg_loss)
    for name, loss in zip(("pos_loss", "neg_loss"), losses, strict=True):
        if len(shape_of(loss)) != 2:
            raise ValueError(f"{name} has shape {shape_of(loss)}; expected (m, n), the losses of one label matrix")
    return losses


def _moments(a: Array, b: Array, batch_size: int) -> tuple[Array, Array]:
    """(mean, variance) of sum_e a_e + sum_(e != f) b_ef over uniform subsets of `batch_size` members."""
    xp, n_positives = namespace(a), shape_of(a)[0]
    p1, p2, p3, p4 = (
        number(inclusion_probability(order, batch_size=batch_size, n_positives=n_positives), a)
        for order in (1, 2, 3, 4)
    )
    if batch_size == 1:
        mean = p1 * xp.sum(a)
        return mean, p1 * xp.sum((a - mean) ** 2)
    # k_ef = (a_e + a_f)/(s - 1) + b_ef + b_fe for e != f: every batch value is a sum of k over its unordered pairs.
    # All batches hold equally many pairs, so taking the mean off k moves the mean only; it keeps floats accurate.
    off = 1 - like(np.eye(n_positives), a, "eye")
    k = ((a[:, None] + a[None, :]) / (batch_size - 1) + b + b.swapaxes(0, 1)) * off
    total = xp.sum(k) / 2
    k = (k - total * 2 / (n_positives * (n_positives - 1))) * off  # now the sum over all pairs is 0
    squares = xp.sum(k * k) / 2  # two members shared
    row_squares = xp.sum(xp.sum(k, axis=1) ** 2)
    one_shared, none_shared = row_squares - 2 * squares, squares - row_squares
    return p2 * total, _not_negative(p2 * squares + p3 * one_shared + p4 * none_shared)


def _not_negative(variance: Array) -> Array:
    """Rounding may leave a variance of 0 at -1e-20; exact numbers pass through."""
    if isinstance(variance, Fraction):
        return variance
    return variance.clamp(min=0) if is_torch(variance) else max(variance, variance * 0)
