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
    """Return ``rho``, the weight of the negatives against the positives that the batch size sets.

    ``rho = (batch_size - 1) / (n_positives - 1)``. It lies in [0, 1]: 0 for a batch of one pair, 1 for the full batch.

    Parameters
    ----------
    batch_size : int or Fraction
        The number of pairs in a batch, at least 1.
    n_positives : int or Fraction
        The number of positive pairs ``|O|``, at least 2.

    Returns
    -------
    float or Fraction
        ``rho``: a Fraction if one of the arguments is a Fraction, else a float.

    Raises
    ------
    ValueError
        For numbers that are not whole, a batch larger than ``n_positives``, and fewer than 2 positives.

    Notes
    -----
    Source: P3, equations (12) and (36).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from course_lib import in_batch
    >>> in_batch.balance(2, 5)
    0.25
    >>> in_batch.balance(Fraction(2), 5)
    Fraction(1, 4)
    """
    check_sizes(batch_size, n_positives, least=1)
    if n_positives < 2:
        raise ValueError(f"n_positives={n_positives}: (batch_size - 1) / (n_positives - 1) needs at least 2 positives")
    return _reply(exact_balance(batch_size, n_positives), batch_size, n_positives)


def batch_size_from_ratio(ratio: float, n_positives: int) -> int:
    """Return the batch size that has a given batch ratio.

    It is the size ``s`` whose batch ratio ``s^2 / |O|^2`` is nearest to ``ratio``, at least 2 and at most
    ``n_positives``.

    Parameters
    ----------
    ratio : float
        The batch ratio, in (0, 1].
    n_positives : int
        The number of positive pairs ``|O|``, at least 2.

    Returns
    -------
    int
        The batch size.

    Raises
    ------
    ValueError
        For a ratio outside (0, 1] and for fewer than 2 positives.

    Notes
    -----
    This is P3's equation (18) as it must be meant: ``s = sqrt(ratio) |O|``. In the printed equation, the "- 1" slipped
    under the root.

    Examples
    --------
    A batch with a tenth of the pairs has a grid with a hundredth of the pairs of pairs:

    >>> from course_lib import in_batch
    >>> in_batch.batch_size_from_ratio(0.01, 1000)
    100
    """
    checking.share(ratio, "ratio")
    checking.whole(n_positives, "n_positives", 2)
    return min(max(round(math.sqrt(ratio) * n_positives), 2), n_positives)


def pair_popularity(row_counts: Any, col_counts: Any) -> Array:
    """Return ``pop_ij = row_counts_i * col_counts_j``: how many pairs of positives put a cell into the grid of a batch.

    Parameters
    ----------
    row_counts : array_like, shape (..., m)
        The number of positives of each row.
    col_counts : array_like, shape (..., n)
        The number of positives of each column.

    Returns
    -------
    array, shape (..., m, n)
        The popularity of each cell, in the same kind of array. Integers become int64.

    Raises
    ------
    ValueError
        For a negative or infinite count, for NaN, and for a tensor beside another kind of array.

    Notes
    -----
    Source: P3, Section 3.3.2.

    Examples
    --------
    >>> from course_lib import in_batch
    >>> in_batch.pair_popularity([2, 1], [1, 2]).tolist()
    [[2, 4], [1, 2]]
    """
    row_counts, col_counts = _counts(row_counts, "row_counts"), _counts(col_counts, "col_counts")
    if is_torch(row_counts) != is_torch(col_counts):
        kinds = type(row_counts).__name__, type(col_counts).__name__
        raise ValueError(f"row_counts is a {kinds[0]} and col_counts a {kinds[1]}; expected one kind of array")
    for name, values in (("row_counts", row_counts), ("col_counts", col_counts)):
        if not bool(((values >= 0) & (values < math.inf)).all()):  # of NaN neither holds; a decayed count is not whole
            raise checking.refuse(values, name, "finite counts of at least 0")
    return row_counts[..., :, None] * col_counts[..., None, :]


def inclusion_probability(order: int, *, batch_size: int, n_positives: int) -> Fraction:
    """Return the probability that some given pairs of ``O`` are all in the batch.

    ``P = s (s-1) ... / (M (M-1) ...)`` with ``order`` factors each, where ``s`` is the batch size and ``M`` the number
    of positives. Order 1 gives ``s/M`` and order 2 gives ``s(s-1) / (M(M-1))``.

    Parameters
    ----------
    order : int
        How many different pairs are given.
    batch_size : int
        The number of pairs in a batch, at least 0.
    n_positives : int
        The number of positive pairs, at least 1.

    Returns
    -------
    Fraction
        The probability. It is 0 when no such set of pairs exists.

    Raises
    ------
    ValueError
        For an order and sizes that are not whole, and a batch larger than ``n_positives``.

    Notes
    -----
    Source: P3, equation (30) for order 1 and equation (33) for order 2.

    Examples
    --------
    Two of three pairs are drawn. There are three such batches, and one of them holds two given pairs:

    >>> from course_lib import in_batch
    >>> in_batch.inclusion_probability(1, batch_size=2, n_positives=3)
    Fraction(2, 3)
    >>> in_batch.inclusion_probability(2, batch_size=2, n_positives=3)
    Fraction(1, 3)
    """
    check_sizes(batch_size, n_positives, least=0)
    checking.whole(order, "order", 0)
    if order > n_positives:
        return Fraction(0)
    return Fraction(math.perm(int(batch_size), order), math.perm(int(n_positives), order))


def probability_of_no_positive(batch_pairs: int, *, n_positives: int, shape: tuple[int, int]) -> float:
    """Return the probability that a naive batch holds no positive pair.

    A naive batch is drawn from all cells of the label matrix. With ``|B|`` distinct cells, ``M`` positives and ``m n``
    cells, the probability is ``C(mn - M, |B|) / C(mn, |B|)``.

    Parameters
    ----------
    batch_pairs : int
        The number ``|B|`` of distinct cells in the batch, from 0 to ``m n``.
    n_positives : int
        The number of positive pairs ``M``, at least 0.
    shape : tuple of int
        The shape ``(m, n)`` of the label matrix.

    Returns
    -------
    float
        The probability, in float64. It is accurate also for millions of cells.

    Raises
    ------
    ValueError
        For numbers that are not whole, and for more pairs or positives than cells.

    Notes
    -----
    Source: P3, Section 3.2.1 ("batches without positives"), in numbers.

    Examples
    --------
    One of four cells is no positive. One draw finds it with probability 1/4, and two draws cannot miss all positives:

    >>> from course_lib import in_batch
    >>> round(in_batch.probability_of_no_positive(1, n_positives=3, shape=(2, 2)), 4)
    0.25
    >>> in_batch.probability_of_no_positive(2, n_positives=3, shape=(2, 2))
    0.0
    """
    m, n = check_shape(shape, checking.whole(n_positives, "n_positives", 0))
    checking.whole(batch_pairs, "batch_pairs", 0, m * n, why="the number of cells")
    few, many = sorted((int(batch_pairs), int(n_positives)))  # the formula is symmetric in the two
    return math.exp(log_missed(few, many, m * n))


def encoder_cost(
    strategy: str, batch_pairs: float, cost_left: float, cost_right: float, *, shape: tuple[int, int] | None = None
) -> float:
    """Return the cost of encoding the entities of one batch of ``|B|`` pairs.

    With ``F(f)`` and ``F(g)`` the costs of one left and of one right entity, the strategies cost

    - "naive": ``|B| F(f) + |B| F(g)``, P3, equation (9);
    - "cross": ``sqrt|B| F(f) + sqrt|B| F(g)``, P3, equation (10);
    - "in_batch": the same as "cross", P3, Section 3.2.3;
    - "sogram": ``sqrt|B| F(f) + 2 sqrt|B| F(g)``, P3, equation (35).

    Parameters
    ----------
    strategy : {"naive", "cross", "in_batch", "sogram"}
        How the batch is made.
    batch_pairs : float
        The number ``|B|`` of pairs, at least 0.
    cost_left, cost_right : float
        The cost of encoding one left and one right entity, at least 0, in any unit.
    shape : tuple of int, optional
        The numbers ``(m, n)`` of left and right entities. If given, no side encodes more entities than there are.

    Returns
    -------
    float
        The cost, in the unit of ``cost_left`` and ``cost_right``.

    Raises
    ------
    ValueError
        For an unknown strategy, for a negative number and NaN, and for a shape that is no pair of whole numbers.

    Notes
    -----
    P3's equation (9) leaves out the limit that ``shape`` sets, although the paper's own batches hold far more
    pairs than there are entities.

    Examples
    --------
    A grid of 10 x 10 pairs needs 20 encodings. As many pairs drawn one by one need 200:

    >>> from course_lib import in_batch
    >>> float(in_batch.encoder_cost("in_batch", 100, 1.0, 1.0))
    20.0
    >>> float(in_batch.encoder_cost("naive", 100, 1.0, 1.0))
    200.0
    """
    for name, value in (("batch_pairs", batch_pairs), ("cost_left", cost_left), ("cost_right", cost_right)):
        if not hasattr(value, "free_symbols"):  # of a proof
            checking.real(value, name, least=0)
    batch_pairs, cost_left, cost_right = (
        int(x) if isinstance(x, np.integer) else x for x in (batch_pairs, cost_left, cost_right)
    )  # NumPy's whole numbers would wrap around
    side = batch_pairs ** Fraction(1, 2)
    encodings = {
        "naive": (batch_pairs, batch_pairs),
        "cross": (side, side),
        "in_batch": (side, side),
        "sogram": (side, 2 * side),
    }
    left, right = encodings[checking.choice(strategy, "strategy", encodings)]
    if shape is not None:
        m, n = check_shape(shape, 0)
        left, right = min(left, m), min(right, n)
    return left * cost_left + right * cost_right


def exact_balance(batch_size: Any, n_positives: Any) -> Fraction:
    """Return ``rho = (s - 1) / (M - 1)`` as a Fraction.

    It is 0 for ``s = 1``, whatever ``M`` is. The computation uses Python integers, because NumPy's would overflow.

    Parameters
    ----------
    batch_size : int
        The number ``s`` of pairs in a batch.
    n_positives : int
        The number ``M`` of positive pairs.

    Returns
    -------
    Fraction
        The balance.

    See Also
    --------
    balance : The same with checks of its arguments.

    Examples
    --------
    >>> from course_lib.in_batch import sampling
    >>> sampling.exact_balance(2, 5)
    Fraction(1, 4)
    """
    return Fraction(0) if batch_size == 1 else Fraction(int(batch_size) - 1, int(n_positives) - 1)


def _reply(value: Fraction, *arguments: Any) -> Any:
    return value if any(isinstance(x, Fraction) for x in arguments) else float(value)


def log_missed(a: int, s: int, m: int) -> float:
    """Return the logarithm of the probability that a random subset misses some given members.

    The subset holds ``s`` of ``m`` members, drawn without replacement. It misses all of ``a`` given members with
    probability ``C(m - a, s) / C(m, s)``.

    Parameters
    ----------
    a : int
        The number of given members.
    s : int
        The size of the subset.
    m : int
        The number of all members.

    Returns
    -------
    float
        The natural logarithm of the probability, -infinity where the subset cannot miss them.

    Examples
    --------
    A subset of 3 out of 4 misses a given member with probability 1/4, and it cannot miss two:

    >>> import math
    >>> from course_lib.in_batch import sampling
    >>> round(math.exp(sampling.log_missed(1, 3, 4)), 4)
    0.25
    >>> sampling.log_missed(2, 3, 4)
    -inf
    """
    if a > m - s:
        return -math.inf
    return float(np.log1p(-s / (m - np.arange(a, dtype=np.float64))).sum())


def _counts(values: Any, name: str) -> Array:
    """Integers in 64 bits: the product of two int32 wraps around beyond 2^31."""
    if is_torch(values):
        return values if values.is_floating_point() else values.long()
    counts = checking.numeric(values, name)
    return counts.astype(np.int64) if counts.dtype.kind in "biu" else counts
