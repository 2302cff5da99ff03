"""Hidden checks of the assignment in-batch-bias. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import datasets, in_batch
from course_lib.lessons.in_batch_bias import checks
from course_lib.lessons.shared.forms import expect, short

UNSEEN = [[1, 1, 0], [1, 0, 1], [0, 0, 1], [1, 0, 1]]
HIT = [[1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [1, 0, 0, 1, 0]]


def weight_of_negatives(answer: Callable[..., Any]) -> None:
    """Task 1: every cell outside O of two matrices, at every batch size."""
    _weights(answer, positive=False)


def weight_of_positives(answer: Callable[..., Any]) -> None:
    """Task 1: every cell of O."""
    _weights(answer, positive=True)


def best_score(answer: Callable[..., Any]) -> None:
    """Task 2: popular and unpopular pairs, omegas above and below 1, the full batch, a batch of two."""
    cases = [(12, Fraction(3, 7), 5, 40), (12, 3, 40, 40), (1, Fraction(1, 9), 2, 9), (35, Fraction(0), 8, 60)]
    checks.check_best_score(answer, [*cases, (7, Fraction(5, 2), 2, 1000)])


def counterexample_is_biased(answer: Callable[..., Any]) -> None:
    """Task 3: at the cell named, the expectation over all batches differs from the claim."""
    labels, size, cell, _ = checks.counterexample_form(answer())
    expect(
        local_count_gap(labels, size)[cell] != 0,
        f"listing all batches of {size}: at cell {cell} the expected weight of l- is right, so nothing is disproved "
        "there. When do the counts inside a batch agree with the true ones?",
    )


def counterexample_gap(answer: Callable[..., Any]) -> None:
    """Task 3: the gap itself, exactly, and not zero."""
    labels, size, cell, gap = checks.counterexample_form(answer())
    right = local_count_gap(labels, size)[cell]
    expect(right != 0, "no bias at this cell, so there is no gap to state")
    expect(gap != -right, "the gap is what the loss gives minus what is claimed; yours has the other sign")
    expect(gap * labels.size != right, "the gap is asked for times m n")
    expect(
        gap == right,
        f"the gap at cell {cell} is not {short(gap)}: average over all batches, also those that do not show the cell",
    )


def shard_negatives(answer: Callable[..., Any]) -> None:
    """Task 4: outside O every expected weight of l- is 1/(mn)."""
    for labels, size in _shard_cases():
        wrong = (_expected_shard(answer, labels, size) * labels.size != 1) & (labels == 0)
        expect(
            not wrong.any(),
            f"shards of {size}: the expected weight of l- on a negative pair is not 1/(mn). A shard is a uniform "
            "draw of h positives, whatever the other devices hold: which batch size belongs into rho?",
        )


def shard_positives(answer: Callable[..., Any]) -> None:
    """Task 4: on O every expected weight of l- is 0."""
    for labels, size in _shard_cases():
        wrong = (_expected_shard(answer, labels, size) != 0) & (labels == 1)
        expect(
            not wrong.any(),
            f"shards of {size}: a positive pair keeps some l- on average. It appears on the diagonal and, through "
            "two other pairs, off it; the diagonal must cancel both.",
        )


def share_with_a_tie(answer: Callable[..., Any]) -> None:
    """Task 5: a small table where pairs lie exactly on the threshold; names of users with gaps."""
    users, items = np.nonzero(np.array(UNSEEN))
    checks.check_share(answer, users.tolist(), items.tolist(), [2, 3, 4, 7])
    checks.check_share(answer, (3 * users + 1).tolist(), (items + 4).tolist(), [4])


def share_on_data(answer: Callable[..., Any]) -> None:
    """Task 5: the films."""
    data = datasets.load("movietweetings", min_rating=7, core=10)
    checks.check_share(answer, data.users.tolist(), data.items.tolist(), [16, 100])


def local_count_gap(labels: np.ndarray, size: int) -> np.ndarray:
    """m n times (expected weight of l- under (17) with counts taken inside the batch, minus the claimed 1 - Y)."""
    pairs = list(zip(*np.nonzero(labels), strict=True))
    total = np.array([[Fraction(0)] * labels.shape[1] for _ in labels], dtype=object)
    batches = list(itertools.combinations(pairs, size))
    for batch in batches:
        rows, cols = (np.array(side) for side in zip(*batch, strict=True))
        own_rows, own_cols = ([Fraction(int((side == x).sum())) for x in side] for side in (rows, cols))
        _, weights = in_batch.batch_weights(
            "unbiased",
            row_counts=np.array(own_rows, dtype=object),
            col_counts=np.array(own_cols, dtype=object),
            n_positives=len(pairs),
            shape=labels.shape,
        )
        np.add.at(total, (rows[:, None], cols[None, :]), weights)
    mean: np.ndarray = total * labels.size / len(batches) - (1 - labels)
    return mean


def _weights(answer: Callable[..., Any], *, positive: bool) -> None:
    for labels in (UNSEEN, HIT):
        table = np.array(labels)
        cells = [(int(i), int(j)) for i, j in zip(*np.nonzero(table == positive), strict=True)]
        checks.check_weights(answer, labels, cells, list(range(2, int(table.sum()) + 1)))


def _shard_cases() -> Iterator[tuple[np.ndarray, int]]:
    yield np.array(UNSEEN), 2
    yield np.array(UNSEEN), 3
    yield np.array([[1, 1], [1, 1]]), 3


def _expected_shard(answer: Callable[..., Any], labels: np.ndarray, size: int) -> np.ndarray:
    """The expected weight of l- of every cell over all shards of `size` pairs."""
    pairs = list(zip(*np.nonzero(labels), strict=True))
    row_counts, col_counts = labels.sum(1).tolist(), labels.sum(0).tolist()
    total = np.array([[Fraction(0)] * labels.shape[1] for _ in labels], dtype=object)
    shards = list(itertools.combinations(pairs, size))
    for shard in shards:
        rows, cols = ([int(place) for place in side] for side in zip(*shard, strict=True))
        counts = [row_counts[i] for i in rows], [col_counts[j] for j in cols]
        weights = checks.shard_matrix(answer, *counts, len(pairs), labels.shape)
        np.add.at(total, (np.array(rows)[:, None], np.array(cols)[None, :]), np.array(weights, dtype=object))
    return total / len(shards)
