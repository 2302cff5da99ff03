"""Rows that a model cannot tell apart: the optima of the square loss over all pairs and in the batch, in fractions.

The rows fall into groups, the rows of a group share one vector, and each label is carried in one group only. This is
the theorem thm-shared-groups of the further page.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from course_lib import checking
from course_lib.arrays import Array


@dataclass(frozen=True)
class Groups:
    """rows: N_g, the rows of each group; counts: c_j of each of its labels, 1 <= c_j <= N_g <= sum of the group's c_j.

    Raises ValueError for counts that no label matrix without an empty row has.
    """

    rows: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.counts):
            raise ValueError(f"counts is for {len(self.counts)} groups; expected {len(self.rows)}, as rows")
        for size, counts in zip(self.rows, self.counts, strict=True):
            if not counts or min(counts) < 1 or not max(counts) <= size <= sum(counts):
                raise ValueError(f"counts is {counts} in a group of {size} rows; expected 1 <= count <= rows <= sum")

    @property
    def positives(self) -> list[int]:
        """M_g, the positives of each group."""
        return [sum(counts) for counts in self.counts]

    def labels(self) -> Array:
        """A label matrix with these counts: the labels of a group go round its rows in turn, (sum of rows, n)."""
        matrix = np.zeros((sum(self.rows), sum(map(len, self.counts))), dtype=int)
        above = left = 0
        for size, counts in zip(self.rows, self.counts, strict=True):
            begin = 0
            for label, count in enumerate(counts, left):
                matrix[above + (begin + np.arange(count)) % size, label] = 1
                begin += count
            above, left = above + size, left + len(counts)
        return matrix


def kept_groups(groups: Groups, width: int) -> list[int]:
    """The `width` groups that the optimum over all pairs serves: those with the largest sum of c_j^2 / N_g.

    ValueError where a tie leaves the optimum open.
    """
    checking.whole(width, "width", most=len(groups.rows) - 1)
    energy = [Fraction(sum(c * c for c in own), size) for size, own in zip(groups.rows, groups.counts, strict=True)]
    order = sorted(range(len(energy)), key=lambda g: -energy[g])
    if energy[order[width - 1]] == energy[order[width]]:
        raise ValueError(f"groups: the {width}-th and the next largest sum of c^2/N are equal; expected no tie")
    return sorted(order[:width])


def own_score(groups: Groups, width: int, rho: Fraction) -> Fraction:
    """d / (rho M + (1 - rho) d): the score of every label of the row's own group at the optimum of the in-batch loss.

    Raises ValueError unless 0 < rho < 1 and no group holds more than M / d positives.
    """
    total = sum(groups.positives)
    checking.whole(width, "width", most=len(groups.rows) - 1)
    if not 0 < rho < 1:
        raise ValueError(f"rho is {rho}; expected 0 < rho < 1")
    if width * max(groups.positives) > total:
        raise ValueError(f"groups hold {groups.positives} positives; expected at most {total}/{width} in each")
    return Fraction(width) / (rho * total + (1 - rho) * width)


def first_hits(groups: Groups, width: int) -> dict[str, Fraction]:
    """P@1 for a new row of a group drawn like the old ones, equal scores in random order: {"all pairs", "in-batch"}.

    A label of the group is right with probability c_j / N_g. For in-batch the labels of other groups score lower.
    """
    whole, n, kept = sum(groups.rows), sum(map(len, groups.counts)), kept_groups(groups, width)
    found = {"all pairs": Fraction(0), "in-batch": Fraction(0)}
    for g, (size, counts) in enumerate(zip(groups.rows, groups.counts, strict=True)):
        share = Fraction(size, whole)
        best, mean = Fraction(max(counts), size), Fraction(sum(counts), size)
        found["all pairs"] += share * (best if g in kept else mean / n)
        found["in-batch"] += share * mean / len(counts)
    return found
