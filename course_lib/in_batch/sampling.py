"""Who is in a batch, with what probability, and at what cost (P3, Section 3 and Appendix E.1)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.arrays import Array, is_torch
from course_lib.in_batch.checks import check_shape, check_sizes


def balance(batch_size: Any, n_positives: Any) -> Any:
    """rho = (batch_size - 1) / (n_positives - 1), the weight of the negatives against the positives.

    Lies in [0, 1]; it is 0 for one pair and 1 for the full batch. A Fraction argument gives a Fraction, integers give
    a float. Source: P3, equations (12) and (36).
    """
    check_sizes(batch_size, n_positives, least=1)
    if n_positives < 2:
        raise ValueError(f"n_positives={n_positives}: (batch_size - 1) / (n_positives - 1) needs at least 2 positives")
    return _reply(exact_balance(batch_size, n_positives), batch_size, n_positives)


def batch_size_from_ratio(ratio: float, n_positives: int) -> int:
    """The batch size s whose batch ratio s^2 / |O|^2 is nearest to `ratio`, at least 2 and at most n_positives.

    This is P3's equation (18) read as it must be meant: s = sqrt(ratio) |O|. Printed, its "- 1" slipped under the root.
    """
    checking.share(ratio, "ratio")
    checking.whole(n_positives, "n_positives", 2)
    return min(max(round(math.sqrt(ratio) * n_positives), 2), n_positives)


def pair_popularity(row_counts: Any, col_counts: Any) -> Array:
    """pop_ij = row_counts_i * col_counts_j, how often a cell can enter a batch.

    row_counts (..., m), col_counts (..., n) -> (..., m, n), of the same kind (integers stay integers).
    Source: P3, Section 3.3.2.
    """
    if not (is_torch(row_counts) or is_torch(col_counts)):
        row_counts, col_counts = np.asarray(row_counts), np.asarray(col_counts)
    return row_counts[..., :, None] * col_counts[..., None, :]


def inclusion_probability(order: int, *, batch_size: int, n_positives: int) -> Fraction:
    """P(`order` given pairs of O are all in the batch) = s (s-1) ... / (M (M-1) ...), `order` factors each.

    order 1 gives s/M (P3, (30)), order 2 gives s(s-1)/(M(M-1)) (P3, (33)). It is 0 when no such set of pairs exists.
    """
    check_sizes(batch_size, n_positives, least=0)
    if order > n_positives:
        return Fraction(0)
    return Fraction(math.perm(int(batch_size), order), math.perm(int(n_positives), order))


def probability_of_no_positive(batch_pairs: int, *, n_positives: int, shape: tuple[int, int]) -> float:
    """P(a naive batch of `batch_pairs` distinct cells holds no positive) = C(mn - M, |B|) / C(mn, |B|).

    float64, accurate also for millions of cells. Source: P3, Section 3.2.1 ("batches without positives"), in numbers.
    """
    m, n = check_shape(shape, checking.whole(n_positives, "n_positives", 0))
    checking.whole(batch_pairs, "batch_pairs", 0, m * n, why="the number of cells")
    few, many = sorted((int(batch_pairs), int(n_positives)))  # the formula is symmetric in the two
    return math.exp(log_missed(few, many, m * n))


def encoder_cost(
    strategy: str, batch_pairs: float, cost_left: float, cost_right: float, *, shape: tuple[int, int] | None = None
) -> float:
    """Cost of encoding the entities of one batch of `batch_pairs` = |B| pairs.

    strategy: "naive"    |B| F(f) + |B| F(g)             P3, (9)
              "cross"    sqrt|B| F(f) + sqrt|B| F(g)     P3, (10)
              "in_batch" the same as "cross"             P3, Section 3.2.3
              "sogram"   sqrt|B| F(f) + 2 sqrt|B| F(g)   P3, (35)
    cost_left F(f), cost_right F(g): cost of encoding one left / right entity (any unit; the result has the same).
    shape (m, n): if given, no side encodes more entities than there are. P3's (9) leaves this out, although its own
    batches hold far more pairs than there are entities.
    """
    for name, value in (("batch_pairs", batch_pairs), ("cost_left", cost_left), ("cost_right", cost_right)):
        if value < 0:  # a number, or a symbol of a proof
            raise checking.refuse(value, name, "at least 0")
    side = batch_pairs ** Fraction(1, 2)
    encodings = {
        "naive": (batch_pairs, batch_pairs),
        "cross": (side, side),
        "in_batch": (side, side),
        "sogram": (side, 2 * side),
    }
    left, right = encodings[checking.choice(strategy, "strategy", encodings)]
    if shape is not None:
        left, right = min(left, shape[0]), min(right, shape[1])
    return left * cost_left + right * cost_right


def exact_balance(batch_size: Any, n_positives: Any) -> Fraction:
    """(s - 1)/(M - 1) as a Fraction; 0 for s = 1, whatever M. Python integers inside: NumPy's would overflow."""
    return Fraction(0) if batch_size == 1 else Fraction(int(batch_size) - 1, int(n_positives) - 1)


def _reply(value: Fraction, *arguments: Any) -> Any:
    return value if any(isinstance(x, Fraction) for x in arguments) else float(value)


def log_missed(a: int, s: int, m: int) -> float:
    if a > m - s:
        return -math.inf
    return float(np.log1p(-s / (m - np.arange(a, dtype=np.float64))).sum())
