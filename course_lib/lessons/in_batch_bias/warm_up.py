"""The public checks of the warm-up on batches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked

popularity = Asked(
    "the popularity of the pair",
    lambda labels, i, j: int(np.array(labels)[i].sum() * np.array(labels)[:, j].sum()),
    ([[0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]], 1, 3),
    ([[0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]], 0, 0),
    slips={
        "the product of the two counts, not their sum": lambda labels, i, j: (
            np.array(labels)[i].sum() + np.array(labels)[:, j].sum()
        ),
        "the count of the film is missing": lambda labels, i, j: np.array(labels)[i].sum(),
        "the count of the person is missing": lambda labels, i, j: np.array(labels)[:, j].sum(),
    },
)
grid = Asked(
    "the cells of the grid",
    lambda size: np.array([size, size * (size - 1)]),
    (2,),
    (64,),
    slips={
        "the diagonal holds the pairs that were drawn: s of the cells": lambda size: np.array([1, size**2 - 1]),
        "the diagonal is no wrong answer": lambda size: np.array([size, size**2]),
        "each of the s people meets the films of all others": lambda size: np.array([size, size - 1]),
    },
)
second_pair = Asked(
    "the chance of the second pair",
    lambda size, total: Fraction(size - 1, total - 1),
    (2, 6),
    (5, 6),
    slips={
        "one pair is in the batch already: s - 1 places, and M - 1 pairs for them": Fraction,
        "one pair less is left to be drawn: M - 1": lambda size, total: Fraction(size - 1, total),
        "this is the chance of both pairs; the first is given": lambda size, total: Fraction(
            size * (size - 1), total * (total - 1)
        ),
    },
)
