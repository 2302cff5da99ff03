"""Hypothesis strategies shared by the tests: small label matrices, exact losses, batches."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

rationals = st.fractions(min_value=-4, max_value=4, max_denominator=9)
non_negative = st.fractions(min_value=0, max_value=3, max_denominator=9)


@st.composite
def label_matrices(draw: st.DrawFn, *, max_side: int = 4, max_positives: int = 7) -> np.ndarray:
    """A 0/1 matrix with 2 to `max_positives` ones and no empty row or column (Assumption E.1)."""
    m, n = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    labels = np.zeros((m, n), dtype=int)
    for i in range(m):  # one positive per row ...
        labels[i, draw(st.integers(0, n - 1))] = 1
    for j in range(n):  # ... and per column
        if not labels[:, j].any():
            labels[draw(st.integers(0, m - 1)), j] = 1
    zeros = [tuple(cell) for cell in np.argwhere(labels == 0)]
    free = max_positives - int(labels.sum())
    for cell in draw(st.lists(st.sampled_from(zeros), max_size=max(free, 0), unique=True)) if zeros else []:
        labels[cell] = 1
    if labels.sum() < 2:  # 1 x 1: make it the smallest matrix with two positives
        labels = np.ones((1, 2), dtype=int)
    return labels


@st.composite
def exact_arrays(draw: st.DrawFn, shape: tuple[int, ...], elements: st.SearchStrategy = rationals) -> np.ndarray:
    """An object array of Fractions."""
    size = int(np.prod(shape))
    array = np.empty(size, dtype=object)
    array[:] = draw(st.lists(elements, min_size=size, max_size=size))
    return array.reshape(shape)


@dataclass(frozen=True)
class Case:
    """A label matrix, the two losses of every cell, a batch of its positives, and a weight omega; all exact."""

    labels: np.ndarray
    pos_loss: np.ndarray
    neg_loss: np.ndarray
    batch: tuple[tuple[int, int], ...]
    omega: Fraction

    @property
    def n_positives(self) -> int:
        return int(self.labels.sum())

    @property
    def batch_size(self) -> int:
        return len(self.batch)

    @property
    def rows(self) -> list[int]:
        return [i for i, _ in self.batch]

    @property
    def cols(self) -> list[int]:
        return [j for _, j in self.batch]

    def omega_of(self, kind: str) -> Fraction | None:
        return self.omega if kind == "unbiased_omega" else None

    def matrices(self) -> dict:
        """Arguments of the functions on whole matrices."""
        return {"pos_loss": self.pos_loss, "neg_loss": self.neg_loss, "labels": self.labels}

    def batch_arguments(self, kind: str) -> dict:
        """Arguments of `batch_loss`."""
        i, j = self.rows, self.cols
        return {
            "pos_loss": self.pos_loss[i, j],
            "neg_loss": self.neg_loss[np.ix_(i, j)],
            "row_counts": self.labels.sum(axis=1)[i],
            "col_counts": self.labels.sum(axis=0)[j],
            "n_positives": self.n_positives,
            "shape": self.labels.shape,
            "omega": self.omega_of(kind),
            "labels": self.labels[np.ix_(i, j)] if kind == "masked" else None,
        }


@st.composite
def cases(draw: st.DrawFn, *, max_side: int = 4, max_positives: int = 7) -> Case:
    """A `Case` with a batch of 2 to M pairs in random order."""
    labels = draw(label_matrices(max_side=max_side, max_positives=max_positives))
    positives = [(int(i), int(j)) for i, j in np.argwhere(labels)]
    order = draw(st.permutations(positives))
    size = draw(st.integers(2, len(positives)))
    return Case(
        labels=labels,
        pos_loss=draw(exact_arrays(labels.shape)),
        neg_loss=draw(exact_arrays(labels.shape)),
        batch=tuple(order[:size]),
        omega=draw(non_negative),
    )
