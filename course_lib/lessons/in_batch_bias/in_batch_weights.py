"""The interactive of the chapter on in-batch sampling: what the batch really weighs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib import checking, in_batch
from course_lib.lessons.shared.widgets.base import Checked, Number, Word
from course_lib.lessons.shared.widgets.paper import WrittenOnce

# A label matrix that fits what P3 says of its Fig. 2: R1 and R3 have one positive each, the batch
# {(2,2), (2,4), (4,1)} mistakes (2,2), (2,4) and (4,4) for negatives, and no row or column is empty. Where the text
# leaves a cell open (the columns of the ones in R1 and R3) the choice is ours.
FIG2_LABELS = ((0, 0, 1, 0), (0, 1, 0, 1), (0, 0, 0, 1), (1, 0, 0, 1))

SMALLEST, LARGEST = 2, 8
POINTWISE = ("logistic", "square")


def _batch_size(given: Any, name: str, _: Any) -> int:
    return checking.whole(given, name, 2, why="one pair makes no negatives")


def _omega(given: Any, name: str, _: Any) -> float:
    return checking.real(given, name, above=0)


class InBatchWeights(WrittenOnce):
    """An editable label matrix, and what an expected batch weighs on each of its pairs.

    labels      (m, n) zeros and ones, 2 to 8 rows and columns; default: a matrix that fits P3's Fig. 2
    batch_size  positives per batch, 2 to the number of positives
    kind        one of in_batch.KINDS
    omega       weight of the negatives, for kind "unbiased_omega"; > 0
    pointwise   "logistic" or "square"
    fit         scores from 0 (all 0) to 1 (square: equal to the labels; logistic: -4 and 4)
    seed        of the matrices that "Random" draws

    All seven are traits: read, set and observe them. Weights are multiplied by m n, so that the full objective (5)
    gives every pair 1; a pair in a row or column without a positive weighs nothing, because no batch meets it. Raises
    ValueError for labels that are not such a matrix and for values out of range.
    """

    module_name: ClassVar[str] = "in_batch_weights"
    caption: ClassVar[str] = (
        "Ring: how hard the batch pulls a positive pair together. Square: how hard it pushes a pair apart. The unit is "
        "that of the full objective, the mean over all pairs: it pulls every positive by 1 and pushes every negative "
        "by 1. Cross: a positive that is pushed harder than it is pulled. With JavaScript this picture is interactive."
    )

    labels = Checked(FIG2_LABELS, lambda given, _, __: _label_rows(given))
    batch_size = Checked(3, _batch_size)
    kind = Word("in_batch", in_batch.KINDS)
    omega = Checked(0.1, _omega)
    pointwise = Word("logistic", POINTWISE)
    fit = Number(0.0, 0, 1)
    seed = traitlets.Int().tag(sync=True, state=True)

    def __init__(self, labels: Any = FIG2_LABELS, *, batch_size: int = 3, **state: Any) -> None:
        rows = _label_rows(labels)
        positives = sum(map(sum, rows))
        if not 2 <= batch_size <= max(positives, 2):
            raise ValueError(
                f"batch_size is {batch_size}; expected 2 to {positives}, the number of positives in labels"
            )
        super().__init__(labels=rows, batch_size=batch_size, **state)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Expected weights of l+ and of l- on every cell, (m, n) each, multiplied by m n; 0 where no batch comes."""
        labels = np.array(self.labels, dtype=float)
        met = np.ix_(labels.any(axis=1), labels.any(axis=0))
        found = in_batch.expected_weights(
            self.kind,
            labels=labels[met],
            batch_size=min(self.batch_size, int(labels.sum())),  # labels may have been switched off since it was set
            omega=self.omega if self.kind == "unbiased_omega" else None,
        )
        pull, push = np.zeros_like(labels), np.zeros_like(labels)
        pull[met], push[met] = (weights * labels[met].size for weights in found)
        return pull, push


def _label_rows(labels: Any) -> list[list[int]]:
    """Labels as lists of plain ints; ValueError where they are no small matrix of zeros and ones."""
    try:
        matrix = np.asarray(labels)
    except ValueError:
        raise ValueError("labels has rows of different lengths; expected a matrix") from None
    if matrix.ndim != 2 or not all(SMALLEST <= size <= LARGEST for size in matrix.shape):
        raise ValueError(
            f"labels has shape {matrix.shape}; expected (m, n) with {SMALLEST} to {LARGEST} rows and columns"
        )
    if not np.isin(matrix, (0, 1)).all():
        raise ValueError(f"labels has values {np.unique(matrix).tolist()}; expected only 0 and 1")
    return [[int(value) for value in row] for row in matrix]
