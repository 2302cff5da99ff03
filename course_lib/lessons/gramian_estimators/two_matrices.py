"""The hero of the chapter: a square of all pairs that grows with the data, and two matrices that do not."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from course_lib.lessons.shared.widgets.base import Count, Stored, Word
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("two_matrices.json")  # made by make_two_matrices.py of the tests
MOST = 60  # examples
WAYS = ("pairs", "matrices")


class TwoMatrices(Hero):
    """The mean squared score of all pairs, by way of every pair or of two matrices: `TwoMatrices(size=60)`.

    size  of how many examples all pairs are taken, 2 to 60
    way   "pairs" shows the square of all pairs, "matrices" the two Gramians that give the same number
    """

    module_name: ClassVar[str] = "two_matrices"
    caption: ClassVar[str] = (
        "Left: every left side with every right side, a cell for each squared score; darker is larger. Right, with "
        "cells of the same size: the means of the products of two coordinates, for the left sides and for the right "
        "sides. The mean of the square and the sum of the products of the two matrices are one number. With "
        "JavaScript the matrices take the place of the square."
    )

    rows = Stored(STORED)
    size = Count(MOST, 2, MOST)
    way = Word("pairs", WAYS)
