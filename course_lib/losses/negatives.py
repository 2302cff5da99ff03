"""The law of a batch's negatives: mixtures, the hardest of a sample, a stream, and negatives that are positives.

The logQ correction subtracts from every score, the positive's too, the logarithm of the probability q_j with which the
item comes into a slot of the candidates. So a law of negatives is of use to it exactly if its log q is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from course_lib import checking
from course_lib.interactions import Interactions, check_ids

Float = NDArray[np.float64]


def mixed_log_q(counts: ArrayLike, uniform: float) -> Float:
    """Compute ``log q`` of candidates of which a share is drawn uniformly and the rest by count.

    ``q_j = uniform / n + (1 - uniform) c_j / sum(c)``.

    Parameters
    ----------
    counts : array_like, shape (n,)
        The number of pairs ``c_j`` of each item: in-batch candidates come in proportion to it.
    uniform : float
        The share of the candidates that is uniform over all ``n`` items, in [0, 1].

    Returns
    -------
    array of float64, shape (n,)
        The logarithms; -infinity for an item that no candidate can be.

    Raises
    ------
    ValueError
        For counts that are negative or all 0, and a share outside [0, 1].

    Notes
    -----
    Exact where each candidate is drawn from the mixture. With B in-batch and B' uniform candidates in every batch it
    holds for a slot chosen at random, with ``uniform = B' / (B + B')``. Source: Yang et al., WWW 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import losses
    >>> np.exp(losses.mixed_log_q([3, 1], 0.5)).round(4).tolist()
    [0.625, 0.375]
    """
    counted = checking.counts(counts)
    if not counted.sum():
        raise ValueError("counts are all 0; expected at least one pair")
    uniform = checking.real(uniform, "uniform", least=0, most=1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(uniform / len(counted) + (1 - uniform) * counted / counted.sum()))


def hardest_law(n: int, m: int, k: int) -> Float:
    """Compute the probability that the item of each rank is among the ``k`` hardest of ``m`` sampled items.

    ``P_r = sum_{j < k} C(r - 1, j) C(n - r, m - 1 - j) / C(n, m)``, the items ranked by score, the hardest first and no
    two of them equal.

    Parameters
    ----------
    n : int
        The number of items to sample from.
    m : int
        How many are sampled, uniformly and without replacement, from 1 to ``n``.
    k : int
        How many of these are kept, from 1 to ``m``.

    Returns
    -------
    array of float64, shape (n,)
        The probability of each rank 1 to ``n``. The sum is ``k``.

    Raises
    ------
    ValueError
        For numbers out of range.

    Examples
    --------
    The harder of two sampled from three is the hardest of all two times in three:

    >>> from course_lib import losses
    >>> losses.hardest_law(3, 2, 1).round(4).tolist()
    [0.6667, 0.3333, 0.0]
    """
    n = checking.whole(n, "n")
    m = checking.whole(m, "m", 1, n, why="the number of items")
    k = checking.whole(k, "k", 1, m, why="the number of sampled items")
    if n == 1:
        return np.ones(1)
    law: Float = m / n * stats.hypergeom.cdf(k - 1, n - 1, np.arange(n), m - 1)
    return law


def false_negatives(known: Interactions, users: ArrayLike, items: ArrayLike) -> NDArray[np.bool_]:
    """Find the cells of a batch's grid that are known pairs, although the batch takes them for negatives.

    Parameters
    ----------
    known : Interactions
        The positive pairs.
    users : array_like of int, shape (B,)
        The user of each row.
    items : array_like of int, shape (n,)
        The item of each column, ``n >= B``; the positive of row ``i`` is in column ``i``.

    Returns
    -------
    array of bool, shape (B, n)
        True where the user has the column's item and the cell is not on the diagonal. Setting these scores to
        -infinity leaves the cells out of ``in_batch_softmax``.

    Raises
    ------
    ValueError
        For ids out of range, and for fewer columns than rows.

    Notes
    -----
    Equal ids (``item_ids`` of ``in_batch_softmax``) find the copies of the row's own positive only. This finds the
    other items that the user has, too.

    Examples
    --------
    User 0 has the items 0 and 1, and the batch holds the pairs (0, 0) and (1, 1):

    >>> from course_lib import losses
    >>> from course_lib.interactions import Interactions
    >>> known = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2)
    >>> losses.false_negatives(known, [0, 1], [0, 1]).tolist()
    [[False, True], [False, False]]
    """
    checking.instance(known, "known", Interactions, "Interactions, the positive pairs")
    rows, columns = (
        check_ids(users, known.n_users, "users", "n_users"),
        check_ids(items, known.n_items, "items", "n_items"),
    )
    if len(columns) < len(rows):
        raise ValueError(
            f"items has {len(columns)} entries and users {len(rows)}; expected a positive for each user first"
        )
    hits = known.contains(rows[:, None], columns[None, :])
    hits[np.arange(len(rows)), np.arange(len(rows))] = False
    return hits


class StreamFrequencies:
    """How often each item comes into a batch of a stream, from the steps between its batches.

    At step ``t`` each item of the batch that was last seen at step ``a`` gets the gap
    ``gap <- (1 - rate) gap + rate (t - a)``, and its estimated probability is ``1 / gap``.

    Parameters
    ----------
    n_items : int
        The number of items.
    rate : float, optional
        The weight of the latest gap, in (0, 1]: large follows changes, small has less noise.

    Raises
    ------
    ValueError
        For numbers out of range.

    Notes
    -----
    The first gap of an item is the number of steps until it was first seen. An item that comes into one batch several
    times counts once, so the probability is that of being in the batch, ``p = 1 - (1 - q)^B``. That is about ``B q``
    only where ``B q`` is far below 1: for an item that is in nearly every batch take ``q = 1 - (1 - p)^(1/B)``.
    Source: Yi et al., RecSys 2019, Algorithm 2, without hashing.

    Examples
    --------
    Item 0 is in every batch and item 1 in every other one:

    >>> from course_lib import losses
    >>> stream = losses.StreamFrequencies(2, rate=0.5)
    >>> for step in range(20):
    ...     stream.update([0, 1] if step % 2 else [0])
    >>> stream.probabilities.tolist()
    [1.0, 0.5]
    """

    def __init__(self, n_items: int, *, rate: float = 0.01) -> None:
        self.n_items = checking.whole(n_items, "n_items")
        self.rate = checking.real(rate, "rate", above=0, most=1)
        self.step = 0
        self.last = np.zeros(self.n_items, dtype=np.int64)
        self.gap = np.full(self.n_items, np.nan)

    def update(self, items: ArrayLike) -> None:
        """Count one batch. items: (B,) the item of each pair."""
        seen = np.unique(check_ids(items, self.n_items, "items", "n_items"))
        self.step += 1
        latest = (self.step - self.last[seen]).astype(np.float64)
        before = self.gap[seen]
        self.gap[seen] = np.where(np.isnan(before), latest, (1 - self.rate) * before + self.rate * latest)
        self.last[seen] = self.step

    @property
    def probabilities(self) -> Float:
        """(n,) the estimated probability that a batch holds each item; NaN for an item that was not seen yet."""
        return 1 / self.gap

    def log_q(self, items: Any) -> Float:
        """(B,) the logarithm of the probability of each item, which must have been seen."""
        asked = check_ids(items, self.n_items, "items", "n_items")
        unseen = asked[np.isnan(self.gap[asked])]
        if unseen.size:
            raise ValueError(f"items holds {unseen[0]}, which no batch has held yet; call update with the batch first")
        return np.asarray(-np.log(self.gap[asked]))
