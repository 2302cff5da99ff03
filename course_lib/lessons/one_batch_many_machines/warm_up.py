"""The public checks of the warm-up on several machines."""

from __future__ import annotations

import numpy as np

from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked

negatives = Asked(
    "the wrong answers of a row",
    lambda rows, machines, gathered: rows * (machines if gathered else 1) - 1,
    (4, 2, True),
    (4, 2, False),
    slips={
        "the row's own film is no wrong answer": lambda rows, machines, gathered: rows * (machines if gathered else 1),
        "gathered: the films of all machines": lambda rows, machines, gathered: rows - 1,
        "not gathered: a machine sees its own films only": lambda rows, machines, gathered: rows * machines - 1,
    },
)
column = Asked(
    "the column of the right film",
    lambda rank, row, rows: rank * rows + row,
    (0, 2, 4),
    (1, 2, 4),
    slips={
        "the films of the machines before it stand to its left": lambda rank, row, rows: row,
        "each machine before it has as many columns as rows": lambda rank, row, rows: rank + row,
        "machines stand one after the other, not their rows in turn": lambda rank, row, rows: row * rows + rank,
    },
)
mean_loss = Asked(
    "the mean loss",
    lambda losses, rows: float(np.average(losses, weights=rows)),
    ([1.0, 2.0], [4, 4]),
    ([1.0, 2.0], [6, 2]),
    slips={
        "a machine with more rows counts for more": lambda losses, rows: float(np.mean(losses)),
        "the mean, not the sum": lambda losses, rows: float(np.dot(losses, rows)),
    },
)
