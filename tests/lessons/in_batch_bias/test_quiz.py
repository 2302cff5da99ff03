"""The quiz on in-batch sampling: course_lib decides its answers, and its numbers are right."""

from __future__ import annotations

import pytest

from course_lib import in_batch
from course_lib.lessons.in_batch_bias import quiz as in_batch_bias

WRONG_FORMULAS = [
    (
        in_batch,
        "expected_weights",
        lambda right: lambda *a, **k: tuple(w * 2 for w in right(*a, **k)),
        "coefficient",
        "",
    ),
    (in_batch, "misclassification_threshold", lambda right: lambda s, m: -right(s, m), "bigger-batch", ""),
    (in_batch, "pair_popularity", lambda right: lambda r, c: 1 / right(r, c), "serving", ""),
]


@pytest.mark.parametrize(("kind", "pop"), [("in_batch", 1), ("in_batch", 6), ("unbiased", 6), ("popularity", 2)])
def test_the_weights_of_one_pair_are_those_of_the_whole_matrix(kind: str, pop: int) -> None:
    """The helper works from coefficients alone; in_batch.expected_weights from a label matrix."""
    labels = in_batch_bias._labels_around_one_pair(films=pop, fans=1, n_positives=9)
    found = in_batch.expected_weights(kind, labels=in_batch_bias.exact(labels), batch_size=4)
    expected = tuple(weights[0, 0] * labels.size for weights in found)
    assert in_batch_bias._weights_of_a_positive(kind, pop, 4, 9) == expected


def test_the_numbers_in_the_explanations() -> None:
    threshold = in_batch.misclassification_threshold
    assert [round(threshold(s, 10001)) for s in (32, 1024, 101, 51, 1001)] == [324, 11, 101, 201, 11]
    assert in_batch_bias._labels_around_one_pair(films=4, fans=6, n_positives=101).sum() == 101
