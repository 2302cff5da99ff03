"""The public checks of the first week."""

from __future__ import annotations

import math

import numpy as np

from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked


def _loss(scores: list[list[float]], axis: int = 1) -> float:
    table = np.array(scores)
    return float(np.mean(np.logaddexp.reduce(table, axis=axis) - np.diag(table)))


def _found(lists: list[list[int]], hidden: list[list[int]]) -> list[int]:
    return [len({*own} & {*asked}) for own, asked in zip(lists, hidden, strict=True)]


loss_of_ignorance = Asked(
    "the loss of a model that knows nothing",
    math.log,
    (2,),
    (64,),
    slips={
        "the right film is one of the candidates, too": lambda size: math.log(max(size - 1, 1e-9)),
        "the logarithm is the natural one": math.log2,
        "this is the probability of the right film; the loss is minus its logarithm": lambda size: 1 / size,
    },
)
softmax_loss = Asked(
    "the loss of a batch",
    _loss,
    ([[2.0, 0.0], [1.0, 1.0]],),
    ([[1.0, 2.0, 3.0], [0.0, 5.0, 0.0], [-1.0, 0.5, 0.0]],),
    slips={
        "a row is a person who chooses among the columns": lambda scores: _loss(scores, axis=0),
        "the mean over the rows is asked for, not the sum": lambda scores: len(scores) * _loss(scores),
    },
)
corrected = Asked(
    "the corrected scores",
    lambda scores, counts: np.array(scores) - np.log(np.array(counts) / sum(counts)),
    ([[2.0, 0.0], [1.0, 1.0]], [9, 1]),
    slips={
        "a popular film is a wrong answer too often: its score is lowered": lambda scores, counts: (
            np.array(scores) + np.log(np.array(counts) / sum(counts))
        ),
        "the logarithm of the film's share of all pairs, not of its count": lambda scores, counts: (
            np.array(scores) - np.log(counts)
        ),
        "a column is a film": lambda scores, counts: (
            np.array(scores) - np.resize(np.log(np.array(counts) / sum(counts)), len(scores))[:, None]
        ),
    },
)
recall = Asked(
    "the recall",
    lambda lists, hidden: float(np.mean([n / len(own) for n, own in zip(_found(lists, hidden), hidden, strict=True)])),
    ([[1, 2, 3], [4, 5, 6]], [[1], [4, 7, 8, 9]]),
    slips={
        "the mean over the people, each with a share of their own": lambda lists, hidden: (
            sum(_found(lists, hidden)) / sum(map(len, hidden))
        ),
        "the share of the hidden films, not of the list": lambda lists, hidden: float(
            np.mean([n / len(own) for n, own in zip(_found(lists, hidden), lists, strict=True)])
        ),
    },
)
