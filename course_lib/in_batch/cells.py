"""One cell at a time: the best weight of a negative, and what the biased objective wants from a positive."""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.in_batch.checks import check_cell_counts, check_sizes
from course_lib.in_batch.sampling import balance, inclusion_probability, log_missed


def observation_probability(a: Any, b: Any, *, batch_size: int, n_positives: int) -> Any:
    """Return the probability that a cell outside ``O`` is in the grid of the batch.

    ``p = 1 - [ C(M-a, s) + C(M-b, s) - C(M-a-b, s) ] / C(M, s)``: the batch must hit the row of the cell and its
    column.

    Parameters
    ----------
    a : int or array_like of int
        The number of positives in the row of the cell.
    b : int or array_like of int
        The number of positives in the column of the cell. It broadcasts with ``a``. For a cell outside ``O`` the
        positives of its row and of its column are different pairs, so ``a + b <= M``.
    batch_size : int
        The number ``s`` of pairs in a batch, at least 1.
    n_positives : int
        The number ``M`` of positive pairs.

    Returns
    -------
    Fraction or array
        The probability: an exact Fraction for integers, float64 for arrays. It is accurate also where ``p`` is tiny.

    Raises
    ------
    ValueError
        For counts that are negative or not whole, for ``a + b > M``, and for sizes that do not fit.

    Examples
    --------
    Three positives, and a cell with one in its row and one in its column. One of the three batches of two
    pairs holds both:

    >>> from course_lib import in_batch
    >>> in_batch.observation_probability(1, 1, batch_size=2, n_positives=3)
    Fraction(1, 3)
    """
    check_sizes(batch_size, n_positives, least=1)
    if isinstance(a, numbers.Integral) and isinstance(b, numbers.Integral):
        check_cell_counts(a, b, n_positives)
        return _observed_exactly(int(a), int(b), int(batch_size), int(n_positives))
    a, b = np.broadcast_arrays(checking.numeric(a, "a"), checking.numeric(b, "b"))
    cells, where = np.unique(np.stack([a.ravel(), b.ravel()]), axis=1, return_inverse=True)
    for row, col in cells.T:
        check_cell_counts(row, col, n_positives)
    values = [_observed_in_float(int(row), int(col), int(batch_size), int(n_positives)) for row, col in cells.T]
    return np.array(values)[where].reshape(a.shape)[()]


def horvitz_thompson_weight(a: Any, b: Any, *, batch_size: int, n_positives: int) -> Any:
    """Return ``1 / p``, the unbiased weight of a seen negative cell that has the least second moment.

    ``p`` is the ``observation_probability`` of a cell ``(i, j)`` outside ``O`` with ``a = |O_i,:|`` and
    ``b = |O_:,j|``.

    Parameters
    ----------
    a, b : int or array_like of int
        The number of positives in the row and in the column of the cell, at least 1.
    batch_size : int
        The number of pairs in a batch, at least 2.
    n_positives : int
        The number of positive pairs.

    Returns
    -------
    Fraction or array
        The weight: a Fraction for integers, float64 for arrays.

    Raises
    ------
    ValueError
        For ``a`` or ``b`` below 1, a batch of one pair, and for what ``observation_probability`` refuses.

    Notes
    -----
    By Cauchy-Schwarz, any weight ``w`` that is zero when the cell is unseen and has ``E w = 1`` satisfies
    ``E w^2 >= 1/p``, with equality for this one. The in-batch losses count instead how often the cell occurs in the
    grid. The weight is the best cell by cell; no claim is made about the variance of the sum over cells.

    Source: claim X3.

    Examples
    --------
    The cell is in the grid with probability 3/4:

    >>> from course_lib import in_batch
    >>> in_batch.horvitz_thompson_weight(2, 1, batch_size=3, n_positives=4)
    Fraction(4, 3)
    """
    check_sizes(batch_size, n_positives, least=1)
    if not (np.all(checking.numeric(a, "a") >= 1) and np.all(checking.numeric(b, "b") >= 1)):
        raise ValueError(
            f"a={a} and b={b} must be >= 1: the grid never shows a cell whose row or column has no positive "
            f"(Assumption E.1), so no weight makes it unbiased"
        )
    if batch_size < 2:
        raise ValueError(
            f"batch_size={batch_size}: a cell outside O needs two sampled pairs, one from its row and one from its "
            f"column, so a batch of one never shows it and no weight can make it unbiased"
        )
    return 1 / observation_probability(a, b, batch_size=batch_size, n_positives=n_positives)


def count_weight_second_moment(a: Any, b: Any, *, batch_size: int, n_positives: int) -> Any:
    """Return ``E w^2`` of the weight that P3's loss (17) gives to a negative cell, in units of ``1/(mn)``.

    It is never below the ``1/p`` of ``horvitz_thompson_weight`` (claim X3).

    Parameters
    ----------
    a, b : int or array_like of int
        The number of positives in the row and in the column of the cell, at least 1, with ``a + b <= n_positives``.
    batch_size : int
        The number of pairs in a batch, at least 2.
    n_positives : int
        The number of positive pairs.

    Returns
    -------
    Fraction or array
        The second moment: a Fraction for integers, float64 for arrays, which broadcast.

    Raises
    ------
    ValueError
        For counts and sizes outside these ranges.

    Notes
    -----
    (17) weighs the cell by how often the grid shows it: ``w = X Y / (a b p2)``, where ``X`` and ``Y`` count the
    batch's pairs in its row (``a`` of them in ``O``) and in its column (``b``), and ``p2`` is the probability of two
    given pairs. Row and column of a cell outside ``O`` share no pair, so with ``p_r`` = ``inclusion_probability(r)``

    ``E (X Y)^2 = a(a-1) b(b-1) p4 + (a(a-1) b + a b(b-1)) p3 + a b p2``.

    Examples
    --------
    The best weight for this cell has the second moment 4/3:

    >>> from course_lib import in_batch
    >>> in_batch.count_weight_second_moment(2, 1, batch_size=3, n_positives=4)
    Fraction(3, 2)
    """
    check_sizes(batch_size, n_positives, least=1)
    if batch_size < 2:
        raise ValueError(f"batch_size={batch_size}: a batch of one pair shows no cell outside O; use batch_size >= 2")
    chances: list[Any] = [inclusion_probability(r, batch_size=batch_size, n_positives=n_positives) for r in (2, 3, 4)]
    if isinstance(a, numbers.Integral) and isinstance(b, numbers.Integral):
        a, b = Fraction(int(a)), Fraction(int(b))
    else:
        a, b = (checking.numeric(x, name).astype(np.float64) for x, name in ((a, "a"), (b, "b")))
        chances = [float(p) for p in chances]
    p2, p3, p4 = chances
    if not np.all((a >= 1) & (b >= 1) & (a + b <= n_positives) & (a % 1 == 0) & (b % 1 == 0)):
        raise ValueError(
            f"a={a} and b={b} must be >= 1 and whole, with a + b <= n_positives={n_positives}: for a cell outside O "
            f"the positives of its row and its column are different pairs, and each has at least one (Assumption E.1)"
        )
    rows, cols = a * (a - 1), b * (b - 1)
    return (rows * cols * p4 + (rows * b + a * cols) * p3 + a * b * p2) / (a * b * p2) ** 2


def in_batch_optimum(loss: str, *, pop: Any, batch_size: Any, n_positives: Any) -> Any:
    """Return the score of a positive pair that minimises its own term of P3's equation (14).

    The term is ``l+ + rho (pop - 1) l-``. Its minimum is at ``1 / (1 + rho (pop - 1))`` for the square loss and at
    ``-log(rho (pop - 1))`` for the logistic loss, which is +infinity where ``pop = 1``.

    Parameters
    ----------
    loss : {"square", "logistic"}
        The point-wise loss.
    pop : float, Fraction, or array_like
        The popularity of the pair, at least 1: the number of positives in its row times that in its column.
    batch_size : int or Fraction
        The number of pairs in a batch. With one pair ``rho`` is 0: nothing holds the score back.
    n_positives : int or Fraction
        The number of positive pairs.

    Returns
    -------
    float, Fraction or array
        The score. For the square loss it is exact when ``pop`` is an int or a Fraction and one of ``batch_size`` and
        ``n_positives`` a Fraction. For the logistic loss it is a float.

    Raises
    ------
    ValueError
        For ``pop`` below 1, an unknown loss, and for sizes that ``balance`` refuses.

    Notes
    -----
    Source: claim X4.

    Examples
    --------
    A label of 1 asks for the score 1. The popular pair ends half way to 0:

    >>> from course_lib import in_batch
    >>> in_batch.in_batch_optimum("square", pop=1, batch_size=2, n_positives=3)
    1.0
    >>> in_batch.in_batch_optimum("square", pop=3, batch_size=2, n_positives=3)
    0.5
    """
    pop = pop if isinstance(pop, numbers.Real) else checking.numeric(pop, "pop")
    if not np.all(np.asarray(pop) >= 1):
        raise ValueError(f"pop={pop} must be >= 1: a positive pair is itself in its row and in its column")
    pull = balance(batch_size, n_positives) * (pop - 1)
    if loss == "square":
        return 1 / (1 + pull)
    if loss == "logistic":
        with np.errstate(divide="ignore"):
            return -np.log(np.asarray(pull, dtype=np.float64))[()]
    raise checking.refuse(loss, "loss", "'square' or 'logistic'")


def misclassification_threshold(batch_size: Any, n_positives: Any) -> Any:
    """Return the popularity beyond which the biased objective classifies a positive pair as negative.

    ``1 + (M - 1) / (s - 1)``. Above it, the optimal score of P3's equation (14) lies below 1/2 (square loss) or below 0
    (logistic loss): ``rho (pop - 1) > 1`` in both.

    Parameters
    ----------
    batch_size : int or Fraction
        The number ``s`` of pairs in a batch, at least 2.
    n_positives : int or Fraction
        The number ``M`` of positive pairs.

    Returns
    -------
    float or Fraction
        The threshold: a Fraction if one of the arguments is a Fraction.

    Raises
    ------
    ValueError
        For a batch of one pair, and for sizes that ``balance`` refuses.

    Notes
    -----
    Source: claim X4.

    Examples
    --------
    A larger batch lowers the threshold:

    >>> from course_lib import in_batch
    >>> in_batch.misclassification_threshold(2, 5)
    5.0
    >>> in_batch.misclassification_threshold(5, 5)
    2.0
    """
    check_sizes(batch_size, n_positives, least=1)
    if batch_size < 2:
        raise ValueError(f"batch_size={batch_size}: with one pair per batch there are no negatives and no threshold")
    return 1 + 1 / balance(batch_size, n_positives)


def _observed_exactly(a: int, b: int, s: int, m: int) -> Fraction:
    missed = math.comb(m - a, s) + math.comb(m - b, s) - math.comb(m - a - b, s)
    return 1 - Fraction(missed, math.comb(m, s))


def _observed_in_float(a: int, b: int, s: int, m: int) -> float:
    """The same without cancellation: P(hit row) P(hit column) minus the small price of drawing without replacement.

    log P(row missed) = sum_t log(1 - s/(M-t)); given a missed row, the column is missed with a slightly smaller
    probability, by the factor prod_t (1 - a s / ((M-a-t)(M-s-t))).
    """
    if a == 0 or b == 0:
        return 0.0
    log_miss_row, log_miss_col = log_missed(a, s, m), log_missed(b, s, m)
    both_free = -math.expm1(log_miss_row) * -math.expm1(log_miss_col)
    if a + b > m - s:  # both together cannot be missed
        return both_free - math.exp(log_miss_row + log_miss_col)
    t = np.arange(b, dtype=np.float64)
    shrink = np.log1p(-a * s / ((m - a - t) * (m - s - t))).sum()
    return both_free + math.exp(log_miss_row + log_miss_col) * math.expm1(shrink)
