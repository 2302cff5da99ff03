"""What is right in the quiz of the chapter: each function gives {answer id: is it right?}."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from course_lib import in_batch, processes


def factor() -> dict[str, bool]:
    """Eight machines, every one computes all rows, without gradients."""
    right = processes.gradient_factors(processes=8, rows="all", gather="constant").repair
    return {"one": right == 1, "eighth": right == Fraction(1, 8), "eight": right == 8, "none": right is None}


def pushes() -> dict[str, bool]:
    """Two machines with two pairs each, own rows without gradients: the share of the pushes on a film that is left."""
    factors = processes.gradient_factors(processes=2, rows="own", gather="constant")
    share = processes.mean_push(factors, processes=2, batch_size=2)
    return {"all": share == 1, "half": share == Fraction(1, 2), "third": share == Fraction(1, 3), "none": share == 0}


def temperature() -> dict[str, bool]:
    """All rows without gradients and the loss times 8: the vectors' factor, and the temperature's."""
    found = processes.gradient_factors(processes=8, rows="all", gather="constant").times(8)
    return {
        "right": found.right,
        "eighth": found.direct == Fraction(1, 8),
        "eight": found.direct == 8 and found.query == found.pull == found.near == found.far == 1,
        "all-eight": found.direct == found.query == 8,
    }


def local() -> dict[str, bool]:
    """8192 pairs on one machine or on eight with local negatives, a million positives: the weights of the negatives."""
    one, eight = (in_batch.balance(Fraction(pairs), 1_000_000) for pairs in (8192, 1024))
    ratio = eight / one
    return {"same": ratio == 1, "eighth": abs(ratio - Fraction(1, 8)) < Fraction(1, 1000), "eightfold": ratio > 1}


def untouched() -> dict[str, bool]:
    """Which losses have the same expectation with batches of 2 and of 4 of the five positives of a small table."""
    labels = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]])

    def same(kind: str) -> bool:
        weights = [in_batch.expected_weights(kind, labels=labels, batch_size=size)[1] for size in (2, 4)]
        return bool(np.allclose(*weights))

    softmax = np.log(2) == np.log(4)  # equal scores, 2 and 4 candidates
    return {
        "in-batch": same("in_batch"),
        "unbiased": same("unbiased"),
        "popularity": same("popularity"),
        "softmax": bool(softmax),
    }


def bytes_sent() -> dict[str, bool]:
    """How the bytes of a gather and of a sum of Gramians grow when every machine takes twice as many pairs."""
    gathered = [
        processes.gathered_bytes(processes=8, batch_size=size, width=64, rows="own", gather="gradients")
        for size in (512, 1024)
    ]
    gramians = [processes.gramian_bytes(processes=8, width=64) for _ in (512, 1024)]
    double, level = gathered[1] == 2 * gathered[0], gramians[1] == gramians[0]
    return {"both": double and not level, "gather": double and level, "neither": not double and level}
