"""Counterexamples: what happens when an assumption of P3 is dropped.

Every function returns a `Counterexample`: what the statement promises, what is true instead, and where we can say it,
the exact formula of the difference. The numbers are rational; nothing is simulated.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from course_lib import in_batch, losses
from course_lib.arrays import exact
from course_lib.checking import some
from course_lib.lessons.in_batch_bias.enumeration import (
    SMALL_LABELS,
    Pair,
    averaged_weights,
    batches,
    positives,
    scattered_weights,
    sogram_weights,
    stated_weights,
)
from course_lib.lessons.shared.counterexample import Counterexample


def sogram_with_one_batch(labels: np.ndarray, batch_size: int) -> Counterexample:
    """The two-batch loss (34) with the same batch used twice: expected weight of l- of every cell, (m, n).

    Lemma E.6 gives the difference: cells outside O weigh M (s - 1)/(s (M - 1)) instead of 1, cells of O get
    M (s-1)/(s (M-1)) - 1 + (M/s)(1 - rho)/pop.
    """
    n_positives, y = int(labels.sum()), exact(labels)
    every = [sogram_weights(labels, batch, batch)[1] for batch in batches(labels, batch_size)]
    rho = Fraction(batch_size - 1, n_positives - 1)
    drop = Fraction(n_positives, batch_size) * rho - 1
    extra = Fraction(n_positives, batch_size) * (1 - rho) / _popularity(labels)
    return Counterexample(
        "independence of the two batches of (34)",
        stated_weights("unbiased", labels, 2)[1],
        sum(every) / len(every),
        (drop + y * extra) / labels.size,
    )


def sampling_with_replacement(labels: np.ndarray, batch_size: int, kind: str = "unbiased") -> Counterexample:
    """Assumption E.2 dropped: s pairs drawn one by one with replacement, all M^s sequences enumerated.

    claimed / actual: expected weight of l- of every cell, (m, n). For (17) the negatives weigh 1 - 1/M instead of 1,
    and each positive gets 1/pop - 1/M of l- instead of none: almost a full negative where pop = 1.
    """
    n_positives = int(labels.sum())
    every = [
        scattered_weights(kind, labels, sequence)[1]
        for sequence in itertools.product(positives(labels), repeat=batch_size)
    ]
    formula = None
    if kind == "unbiased":
        y = exact(labels)
        formula = (y / _popularity(labels) - Fraction(1, n_positives)) / labels.size
    return Counterexample(
        "sampling without replacement (Assumption E.2)",
        stated_weights(kind, labels, batch_size)[1],
        sum(every) / len(every),
        formula,
    )


def repaired_with_replacement(labels: np.ndarray, batch_size: int) -> Counterexample:
    """The repair of `sampling_with_replacement` (ours): an unbiased loss for batches drawn with replacement.

    a [ sum l+ - sum l- + M/(s - 1) sum over a != b of l-/pop ],  a = M/(mns).
    Two different draws now hit the same pair as easily as any other, so the diagonal of the grid is left out and M
    takes the place of M - 1. claimed / actual: expected weights of l-; the gap is zero.
    """
    n_positives = int(labels.sum())
    a = Fraction(n_positives, labels.size * batch_size)
    inverse_pop = 1 / _popularity(labels)
    total, count = exact(np.zeros(labels.shape, dtype=int)), 0
    for sequence in some(itertools.product(positives(labels), repeat=batch_size)):
        count += 1
        for (x, (i, own)), (y, (_, j)) in some(itertools.product(enumerate(sequence), repeat=2)):
            total[i, j] += -a if x == y else a * Fraction(n_positives, batch_size - 1) * inverse_pop[i, j]
            assert x != y or own == j
    claimed = stated_weights("unbiased", labels, batch_size)[1]
    return Counterexample("nothing: the repaired loss", claimed, total / count, claimed * 0)


def empty_column(labels: np.ndarray, batch_size: int) -> Counterexample:
    """Assumption E.1 dropped: an empty column is appended, and no batch ever shows it.

    claimed / actual: expected weight of l- of every cell of the (m, n + 1) matrix under (17). The difference is the
    whole l- of the new column and nothing else: a cold item is never pushed away.
    """
    wider = np.concatenate([labels, np.zeros((labels.shape[0], 1), dtype=labels.dtype)], axis=1)
    missing = exact(np.zeros(wider.shape, dtype=int))
    missing[:, -1] = Fraction(-1, wider.size)
    return Counterexample(
        "no empty column (Assumption E.1)",
        stated_weights("unbiased", wider, batch_size)[1],
        averaged_weights("unbiased", wider, batch_size)[1],
        missing,
    )


def duplicate_pairs(labels: np.ndarray, pair: Pair, batch_size: int) -> Counterexample:
    """The set O given as a list that names one pair twice (a repeat purchase): expected weights of (17), enumerated.

    claimed / actual: array (2, m, n) of the weights of l+ and l-. The repeated pair gets 2 l+ - l- instead of l+: with
    the logistic loss that has no lower bound, so even the full expected objective runs to minus infinity.
    """
    listed = [*positives(labels), pair]
    counts = np.zeros(labels.shape, dtype=int)
    for cell in listed:
        counts[cell] += 1
    rows, cols = exact(counts.sum(axis=1)), exact(counts.sum(axis=0))
    total = exact(np.zeros((2, *labels.shape), dtype=int))
    chosen = list(itertools.combinations(listed, batch_size))
    for batch in chosen:
        i, j = (list(side) for side in zip(*batch, strict=True))
        w_pos, w_neg = in_batch.batch_weights(
            "unbiased", row_counts=rows[i], col_counts=cols[j], n_positives=len(listed), shape=(99, 99)
        )
        np.add.at(total[0], (i, j), w_pos)
        np.add.at(total[1], np.ix_(i, j), w_neg)
    actual = total * Fraction(99 * 99, labels.size) / len(chosen)  # 99 x 99: a frame that holds the longer list
    claimed = np.stack(stated_weights("unbiased", labels, batch_size))
    extra = exact(np.zeros(claimed.shape, dtype=int))
    extra[0][pair], extra[1][pair] = Fraction(1, labels.size), Fraction(-1, labels.size)
    return Counterexample("positives are a set", claimed, actual, extra)


def unbounded_below(score: float) -> Counterexample:
    """One batch of (17) under the logistic loss, with all sampled pairs at `score` and every other cell at 0.

    claimed: 0, the least value of a sum of losses with weights >= 0. actual: the batch loss. It follows the line
    - score * a * sum over the batch of (1 - 1/pop) + constant, so it has no lower bound; formula None.
    The labels: the 2 x 2 matrix of ones, where every pair has popularity 4. The batch: its two diagonal cells.
    """
    labels, grid = SMALL_LABELS[0], score * np.eye(2)
    value = in_batch.batch_loss(
        "unbiased",
        pos_loss=losses.logistic(1, grid.diagonal()),
        neg_loss=losses.logistic(0, grid),
        row_counts=labels.sum(axis=1),
        col_counts=labels.sum(axis=0),
        n_positives=int(labels.sum()),
        shape=labels.shape,
    )
    return Counterexample("weights are not negative", 0.0, float(value))


def unbounded_slope() -> Fraction:
    """The slope of `unbounded_below` for large scores, exactly: -a sum over the batch of (1 - 1/pop), a = M/(mns)."""
    labels, batch = SMALL_LABELS[0], ((0, 0), (1, 1))
    pop = _popularity(labels)
    a = Fraction(int(labels.sum()), labels.size * len(batch))
    return -a * sum((1 - 1 / Fraction(pop[pair]) for pair in batch), Fraction(0))


def one_bias_for_all_films() -> Counterexample:
    """A learned bias as logQ: two films liked alike, one four times as common, differ by log 4.

    claimed: 1, the ratio of the two probabilities p / q; actual: that of exp(score), whatever the one bias is.
    """
    p, q = (Fraction(1, 2), Fraction(1, 2)), (Fraction(4, 5), Fraction(1, 5))
    ratio = (p[1] / q[1]) / (p[0] / q[0])
    return Counterexample("the score is log p", Fraction(1), ratio, Fraction(3))


def _popularity(labels: np.ndarray) -> np.ndarray:
    """pop_ij as an exact (m, n) array."""
    return exact(in_batch.pair_popularity(exact(labels.sum(axis=1)), exact(labels.sum(axis=0))))
