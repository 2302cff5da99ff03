"""Hidden checks of the assignment in-batch-bias. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import datasets
from course_lib.lessons.in_batch_bias import checks
from course_lib.lessons.shared.forms import expect, short
from exercises.engine.inputs import Answer, generator

UNSEEN = [[1, 1, 0], [1, 0, 1], [0, 0, 1], [1, 0, 1]]
HIT = [[1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [1, 0, 0, 1, 0]]


def weight_of_negatives(answer: Answer, **numbers: Any) -> None:
    """Task 1: every cell outside O of two matrices, at every batch size."""
    _weights(answer, positive=False, **numbers)


def weight_of_positives(answer: Answer, **numbers: Any) -> None:
    """Task 1: every cell of O."""
    _weights(answer, positive=True, **numbers)


def best_score(answer: Answer, **numbers: Any) -> None:
    """Task 2: popular and unpopular pairs, omegas above and below 1, the full batch, a batch of two."""
    cases = [(12, Fraction(3, 7), 5, 40), (12, 3, 40, 40), (1, Fraction(1, 9), 2, 9), (35, Fraction(0), 8, 60)]
    checks.check_best_score(answer, [*cases, (7, Fraction(5, 2), 2, 1000)], **numbers)


def counterexample_is_biased(answer: Answer, **numbers: Any) -> None:
    """Task 3: at the cell named, the expectation over all batches differs from the claim."""
    checks.check_bias(answer, **numbers)


def counterexample_gap(answer: Answer, **numbers: Any) -> None:
    """Task 3: the gap itself, exactly, and not zero."""
    labels, size, cell, gap = checks.counterexample_form(answer(), **numbers)
    right = checks.local_count_gap(labels, size)[cell]
    expect(right != 0, "no bias at this cell, so there is no gap to state")
    expect(gap != -right, "the gap is what the loss gives minus what is claimed; yours has the other sign")
    expect(gap * labels.size != right, "the gap is asked for times m n")
    expect(
        gap == right,
        f"the gap at cell {cell} is not {short(gap)}: average over all batches, also those that do not show the cell",
    )


def shard_negatives(answer: Answer, negative: str = "1", positive: str = "0") -> None:
    """Task 4: outside O every expected weight of l- is `negative`/(mn)."""
    for labels, size in _shard_cases():
        checks.check_shard_negatives(answer, labels, size, negative)


def shard_positives(answer: Answer, negative: str = "1", positive: str = "0") -> None:
    """Task 4: on O every expected weight of l- is `positive`/(mn)."""
    for labels, size in _shard_cases():
        checks.check_shard_positives(answer, labels, size, positive)


def share_with_a_tie(answer: Answer, **numbers: Any) -> None:
    """Task 5: a small table where pairs lie exactly on the threshold; names of users with gaps."""
    users, items = np.nonzero(np.array(UNSEEN))
    checks.check_share(answer, users.tolist(), items.tolist(), [2, 3, 4, 7], **numbers)
    checks.check_share(answer, (3 * users + 1).tolist(), (items + 4).tolist(), [4], **numbers)
    users, items = np.unique(generator(61).integers([[12], [9]], size=(2, 70)), axis=1)
    checks.check_share(answer, users.tolist(), items.tolist(), [5, 20, 40], **numbers)


def share_on_data(answer: Answer, **numbers: Any) -> None:
    """Task 5: the films."""
    data = datasets.load("movietweetings", min_rating=7, core=10)
    checks.check_share(answer, data.users.tolist(), data.items.tolist(), [16, 100], **numbers)


def _weights(answer: Answer, *, positive: bool, **numbers: Any) -> None:
    for labels in (UNSEEN, HIT):
        table = np.array(labels)
        cells = [(int(i), int(j)) for i, j in zip(*np.nonzero(table == positive), strict=True)]
        checks.check_weights(answer, labels, cells, list(range(2, int(table.sum()) + 1)), **numbers)


def _shard_cases() -> Iterator[tuple[np.ndarray, int]]:
    yield np.array(UNSEEN), 2
    yield np.array(UNSEEN), 3
    yield np.array([[1, 1], [1, 1]]), 3
