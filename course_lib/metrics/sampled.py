"""Sampled metrics: the test item is ranked among m sampled items in place of all N others, and what that does.

A test item of rank r (1 is best) has r - 1 better items among the N others. Of m of them, sampled without replacement,
the number J of better ones is hypergeometric, so that every expectation here is a finite sum. Ranks have no ties.

Source: W. Krichene and S. Rendle, On sampled metrics for item recommendation, KDD 2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from course_lib import checking

Float = NDArray[np.float64]


def better_in_sample(ranks: Any, n_others: int, m: int) -> Float:
    """Compute the law of the number ``J`` of better items in a sample, for test items of given ranks.

    ``P(J = j) = C(r - 1, j) C(N - r + 1, m - j) / C(N, m)``.

    Parameters
    ----------
    ranks : array_like of int, shape (t,)
        The full rank ``r`` of each test item among itself and all others, from 1 to ``N + 1``.
    n_others : int
        The number ``N`` of other items.
    m : int
        How many of them are sampled, from 1 to ``N``.

    Returns
    -------
    array of float64, shape (t, m + 1)
        The probability of each ``j`` from 0 to ``m``.

    Raises
    ------
    ValueError
        For ranks that are not whole or out of range, and for ``m`` out of range.

    Examples
    --------
    One of two others is better. A sample of one other holds it half of the time:

    >>> from course_lib.metrics import sampled
    >>> sampled.better_in_sample([2], 2, 1).round(4).tolist()
    [[0.5, 0.5]]
    """
    n = checking.whole(n_others, "n_others")
    m = checking.whole(m, "m", 1, n, why="the number of other items")
    ranks = checking.as_numpy(ranks, "ranks")
    if ranks.ndim != 1 or ranks.dtype.kind not in "iu":
        raise ValueError(f"ranks has shape {ranks.shape} and dtype {ranks.dtype}; expected whole numbers, shape (t,)")
    wrong = ranks[(ranks < 1) | (ranks > n + 1)]
    if wrong.size:
        raise ValueError(f"ranks holds {wrong[0]}; expected ranks in 1..{n + 1}, for n_others={n}")
    law: Float = stats.hypergeom.pmf(np.arange(m + 1), n, ranks[:, None] - 1, m)
    return law


def sampled_hit(ranks: Any, n_others: int, m: int, k: int) -> Float:
    """Compute the probability that a test item is among the best ``k`` of itself and ``m`` sampled items.

    ``P(J < k)``, the expectation of the sampled hit rate at ``k`` of one test item.

    Parameters
    ----------
    ranks : array_like of int, shape (t,)
        The full rank of each test item.
    n_others : int
        The number ``N`` of other items.
    m : int
        How many of them are sampled, from 1 to ``N``. With ``m = N`` this is the hit itself, 0 or 1.
    k : int
        The length of the list, at least 1.

    Returns
    -------
    array of float64, shape (t,)
        The probabilities.

    Raises
    ------
    ValueError
        As ``better_in_sample``, and for ``k < 1``.

    See Also
    --------
    estimate_hit : The hit at ``k`` among all items, estimated from a sample.

    Examples
    --------
    Two people, three other items, samples of one, lists of one. Ranks of 1 and 4 give one hit and ranks of 2 and 2
    give none, but the sampled metric prefers the second pair:

    >>> from course_lib.metrics import sampled
    >>> sampled.sampled_hit([1, 4], 3, 1, 1).sum().round(4), sampled.sampled_hit([2, 2], 3, 1, 1).sum().round(4)
    (np.float64(1.0), np.float64(1.3333))
    """
    k = checking.whole(k, "k")
    return np.asarray(better_in_sample(ranks, n_others, m)[:, :k].sum(axis=1))


def estimate_hit(better: Any, n_others: int, m: int, k: int, *, gamma: float = 0.0) -> Float:
    """Estimate whether a test item is among the best ``k`` of all items, from the better ones in a sample.

    It is ``f(J)`` with the ``f`` that makes ``(E[f(J) | r] - 1{r <= k})^2 + gamma Var[f(J) | r]`` least on average over
    the ranks ``r`` from 1 to ``N + 1``, all with the same weight.

    Parameters
    ----------
    better : array_like of int, shape (t,)
        How many sampled items are better than each test item, from 0 to ``m``.
    n_others : int
        The number ``N`` of other items.
    m : int
        How many of them were sampled.
    k : int
        The length of the list among all items.
    gamma : float, optional
        The weight of the variance, in [0, 1]: 0 asks for the least bias, 1 for the least mean squared error.

    Returns
    -------
    array of float64, shape (t,)
        The estimates; a single one may lie outside [0, 1]. Their mean estimates the hit rate.

    Raises
    ------
    ValueError
        For numbers out of range.

    Notes
    -----
    For ``m < N`` and ``k <= N`` no function of ``J`` is unbiased for every rank: its mean is a polynomial of degree at
    most ``m`` in the rank, and none of degree below ``N`` takes the values ``1{r <= k}`` at all ``N + 1`` ranks.

    Source: Krichene and Rendle 2020, Section 6 (the bias-variance trade-off, with a uniform prior of ranks).

    Examples
    --------
    A sample of all items leaves nothing to estimate:

    >>> from course_lib.metrics import sampled
    >>> sampled.estimate_hit([0, 1, 2], 2, 2, 1).round(6).tolist()
    [1.0, 0.0, 0.0]
    """
    k, gamma = checking.whole(k, "k"), checking.real(gamma, "gamma", least=0, most=1)
    law = better_in_sample(np.arange(1, checking.whole(n_others, "n_others") + 2), n_others, m)  # (N + 1, m + 1)
    better = checking.as_numpy(better, "better")
    if better.ndim != 1 or better.dtype.kind not in "iu" or ((better < 0) | (better > m)).any():
        raise checking.refuse(better, "better", f"whole numbers in 0..{m}, how many of the m={m} sampled are better")
    wanted = (np.arange(1, n_others + 2) <= k).astype(np.float64)
    if gamma == 1:
        values = law.T @ wanted / law.sum(axis=0)
    else:  # one least squares; the normal equations would square its condition number
        bias, spread = (1 - gamma) ** 0.5, np.diag((gamma * law.sum(axis=0)) ** 0.5)
        target = np.concatenate([wanted / bias, np.zeros(m + 1)])
        values = np.linalg.lstsq(np.vstack([bias * law, spread]), target, rcond=None)[0]
    return np.asarray(values[better], dtype=np.float64)
