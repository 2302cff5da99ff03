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
    """P(a cell outside O is in the batch's grid) when its row has a positives and its column b.

    p = 1 - [ C(M-a, s) + C(M-b, s) - C(M-a-b, s) ] / C(M, s): the batch must hit the row and the column, and for a
    cell outside O the positives of its row and of its column are different pairs, so a + b <= M.
    Integers give an exact Fraction; NumPy arrays (they broadcast) give float64, accurate also where p is tiny.
    """
    check_sizes(batch_size, n_positives, least=1)
    if isinstance(a, numbers.Integral) and isinstance(b, numbers.Integral):
        check_cell_counts(a, b, n_positives)
        return _observed_exactly(int(a), int(b), int(batch_size), int(n_positives))
    a, b = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    cells, where = np.unique(np.stack([a.ravel(), b.ravel()]), axis=1, return_inverse=True)
    for row, col in cells.T:
        check_cell_counts(row, col, n_positives)
    values = [_observed_in_float(int(row), int(col), int(batch_size), int(n_positives)) for row, col in cells.T]
    return np.array(values)[where].reshape(a.shape)[()]


def horvitz_thompson_weight(a: Any, b: Any, *, batch_size: int, n_positives: int) -> Any:
    """1 / p: the weight of a seen negative cell that is unbiased and has the least second moment (claim X3).

    a = |O_i,:| and b = |O_:,j| of a cell (i, j) outside O; p is its `observation_probability`. By Cauchy-Schwarz any
    weight w that is zero when the cell is unseen and has E w = 1 satisfies E w^2 >= 1/p, with equality for this one.
    The in-batch losses instead count how often the cell occurs in the grid. Best cell by cell; no claim is made about
    the variance of the sum over cells. Integers give a Fraction, arrays give float64. Needs batch_size >= 2, a, b >= 1.
    """
    if bool(np.any(np.asarray(a) < 1) or np.any(np.asarray(b) < 1)):
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
    """E w^2 of the weight that (17) gives to a negative cell, in units of 1/(mn): never below the 1/p of claim X3.

    (17) weighs the cell by how often the grid shows it: w = X Y / (a b p2), where X and Y count the batch's pairs in
    its row (a of them in O) and in its column (b), and p2 is the probability of two given pairs. Row and column of a
    cell outside O share no pair, so with p_r = `inclusion_probability(r)`
    E (X Y)^2 = a(a-1) b(b-1) p4 + (a(a-1) b + a b(b-1)) p3 + a b p2.
    Integers give a Fraction; NumPy arrays (they broadcast) give float64. Needs batch_size >= 2, a, b >= 1.
    """
    if batch_size < 2:
        raise ValueError(f"batch_size={batch_size}: a batch of one pair shows no cell outside O; use batch_size >= 2")
    chances: list[Any] = [inclusion_probability(r, batch_size=batch_size, n_positives=n_positives) for r in (2, 3, 4)]
    if isinstance(a, numbers.Integral) and isinstance(b, numbers.Integral):
        a, b = Fraction(int(a)), Fraction(int(b))
    else:
        a, b, chances = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64), [float(p) for p in chances]
    p2, p3, p4 = chances
    if bool(np.any((a < 1) | (b < 1) | (a + b > n_positives))):
        raise ValueError(
            f"a={a} and b={b} must be >= 1 with a + b <= n_positives={n_positives}: for a cell outside O the positives "
            f"of its row and of its column are different pairs, and each has at least one (Assumption E.1)"
        )
    rows, cols = a * (a - 1), b * (b - 1)
    return (rows * cols * p4 + (rows * b + a * cols) * p3 + a * b * p2) / (a * b * p2) ** 2


def in_batch_optimum(loss: str, *, pop: Any, batch_size: Any, n_positives: Any) -> Any:
    """The score of a positive pair that minimises its own term of (14), l+ + rho (pop - 1) l- (claim X4).

    loss "square": 1 / (1 + rho (pop - 1));  "logistic": -log(rho (pop - 1)), which is +inf where pop = 1.
    pop: number or NumPy array, >= 1. Square is exact when pop is an int or a Fraction and n_positives a Fraction.
    """
    if bool(np.any(np.asarray(pop) < 1)):
        raise ValueError(f"pop={pop} must be >= 1: a positive pair is itself in its row and in its column")
    pull = balance(batch_size, n_positives) * (pop - 1)
    if loss == "square":
        return 1 / (1 + pull)
    if loss == "logistic":
        with np.errstate(divide="ignore"):
            return -np.log(np.asarray(pull, dtype=np.float64))[()]
    raise checking.refuse(loss, "loss", "'square' or 'logistic'")


def misclassification_threshold(batch_size: Any, n_positives: Any) -> Any:
    """1 + (M - 1)/(s - 1): positives that are more popular than this want to be classified as negatives (claim X4).

    Above it the optimal score of (14) lies below 1/2 (square) or below 0 (logistic): rho (pop - 1) > 1 in both.
    A Fraction argument gives a Fraction. Needs batch_size >= 2.
    """
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
