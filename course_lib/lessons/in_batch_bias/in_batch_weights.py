"""The interactive of the chapter on in-batch sampling: what the batch really weighs."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib.lessons.shared.widgets.base import CourseWidget, Number, Word
from course_lib.lessons.shared.widgets.drawing import sheet
from course_lib.lessons.shared.widgets.words import list_of, number
from course_lib.maths import in_batch, losses

# A label matrix that fits what P3 says of its Fig. 2: R1 and R3 have one positive each, the batch
# {(2,2), (2,4), (4,1)} mistakes (2,2), (2,4) and (4,4) for negatives, and no row or column is empty. Where the text
# leaves a cell open (the columns of the ones in R1 and R3) the choice is ours.
FIG2_LABELS = ((0, 0, 1, 0), (0, 1, 0, 1), (0, 0, 0, 1), (1, 0, 0, 1))

SMALLEST, LARGEST = 2, 8
KIND_NAMES = {
    "in_batch": "In-Batch",
    "unbiased": "Unbiased",
    "unbiased_omega": "Unbiased-ω",
    "popularity": "Popularity",
    "pos_neg": "Pos-Neg",
    "masked": "Masked",
}
POINTWISE = ("logistic", "square")


class InBatchWeights(CourseWidget):
    """An editable label matrix and the weight that an expected batch puts on each of its pairs.

    labels      (m, n) zeros and ones, 2 to 8 rows and columns; default: a matrix that fits P3's Fig. 2
    batch_size  positives per batch, 2 to the number of positives
    kind        one of in_batch.KINDS
    omega       weight of the negatives, for kind "unbiased_omega"; > 0
    pointwise   "logistic" or "square"
    fit         scores from 0 (all 0) to 1 (square: equal to the labels; logistic: -4 and 4)
    seed        of the batches that the reader draws

    All seven are traits: read, set and observe them. Weights are multiplied by m n, so that the full objective (5)
    gives every pair 1; a pair in a row or column without a positive weighs nothing, because no batch meets it. Raises
    ValueError for labels that are not such a matrix and for values out of range.
    """

    module_name: ClassVar[str] = "in_batch_weights"
    caption: ClassVar[str] = (
        "Ring: how hard the batch pulls a positive pair together, the weight of ℓ⁺. Square: how hard it pushes a pair "
        "apart, the weight of ℓ⁻. Both in units of 1/(mn); the full objective pulls every positive by 1 and pushes "
        "every negative by 1. Cross: a positive that is pushed harder than it is pulled. With JavaScript this picture "
        "is interactive."
    )

    labels = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True, state=True)
    batch_size = traitlets.Int().tag(sync=True, state=True)
    kind = Word("in_batch", in_batch.KINDS)
    omega = traitlets.Float().tag(sync=True, state=True)
    pointwise = Word("logistic", POINTWISE)
    fit = Number(0.0, 0, 1)
    seed = traitlets.Int().tag(sync=True, state=True)

    def __init__(
        self,
        labels: Any = FIG2_LABELS,
        *,
        batch_size: int = 3,
        kind: str = "in_batch",
        omega: float = 0.1,
        pointwise: str = "logistic",
        fit: float = 0.0,
        seed: int = 0,
    ) -> None:
        rows = _label_rows(labels)
        positives = sum(map(sum, rows))
        if not 2 <= batch_size <= max(positives, 2):
            raise ValueError(
                f"batch_size is {batch_size}; expected 2 to {positives}, the number of positives in labels"
            )
        super().__init__(
            labels=rows, batch_size=batch_size, kind=kind, omega=omega, pointwise=pointwise, fit=fit, seed=seed
        )

    # ---- what Python can ask

    @property
    def n_positives(self) -> int:
        return sum(map(sum, self.labels))

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Expected weights of l+ and of l- on every cell, (m, n) each, multiplied by m n."""
        labels, met = self._met()
        found = in_batch.expected_weights(
            self.kind, labels=labels[met], batch_size=self._batch_size(), omega=self._omega()
        )
        pull, push = np.zeros_like(labels), np.zeros_like(labels)
        pull[met], push[met] = (weights * labels[met].size for weights in found)
        return pull, push

    def _met(self) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """(labels, index of the rows and columns that have a positive): the others no batch meets."""
        labels = np.array(self.labels, dtype=float)
        return labels, np.ix_(labels.any(axis=1), labels.any(axis=0))

    @property
    def mistaken(self) -> list[tuple[int, int]]:
        """The positives (row, column, counted from 0) that are pushed apart harder than pulled together."""
        pull, push = self.weights
        wrong = (np.array(self.labels) == 1) & (push > pull * (1 + 1e-12))
        return [(int(i), int(j)) for i, j in np.argwhere(wrong)]

    @property
    def objectives(self) -> tuple[float, float]:
        """The expected objective and the full objective (5), at the scores that `fit` and `pointwise` describe."""
        labels, met = self._met()
        scores = self.fit * (labels if self.pointwise == "square" else 8 * labels - 4)
        pos_loss, neg_loss = losses.pair_losses(self.pointwise, scores)
        expected = in_batch.expected_objective(
            self.kind,
            pos_loss=pos_loss[met],
            neg_loss=neg_loss[met],
            labels=labels[met],
            batch_size=self._batch_size(),
            omega=self._omega(),
        )
        full = in_batch.full_objective(pos_loss=pos_loss, neg_loss=neg_loss, labels=labels)
        return float(expected) * labels[met].size / labels.size, float(full)

    def _batch_size(self) -> int:
        """A reader may have switched labels off since the batch size was set."""
        return min(self.batch_size, self.n_positives)

    def _omega(self) -> float | None:
        return self.omega if self.kind == "unbiased_omega" else None

    # ---- words, picture, table

    def problem(self) -> str | None:
        """Why there are no weights to show, or None."""
        if self.n_positives >= 2:
            return None
        count = "one positive pair" if self.n_positives == 1 else "no positive pair"
        return (
            f"There is {count}. In-batch sampling needs at least two: a batch of one pair holds no negatives. "
            "Switch on a cell of the label matrix."
        )

    def summary(self) -> str:
        """The text equivalent, word for word what the page says."""
        if problem := self.problem():
            return problem
        parts = (self._opening, self._about_mistakes, self._about_negatives, self._about_objective, self._warning)
        return " ".join(filter(None, (part() for part in parts)))

    def _opening(self) -> str:
        rho = in_batch.balance(self._batch_size(), self.n_positives)
        chosen = f", ω = {number(self.omega)}" if self.kind == "unbiased_omega" else ""
        return (
            f"{KIND_NAMES[self.kind]} loss, batches of {self._batch_size()} of {self.n_positives} positives "
            f"(ρ = {number(rho)}{chosen})."
        )

    def _about_mistakes(self) -> str:
        wrong = self.mistaken
        if not wrong:
            return "No positive pair is mistaken for a negative."
        verb = "is" if len(wrong) == 1 else "are"
        batch_size = self._batch_size() if self.kind == "in_batch" else self.n_positives  # popularity: as if s were M
        threshold = in_batch.misclassification_threshold(batch_size, self.n_positives)
        return (
            f"{len(wrong)} of {self.n_positives} positive pairs {verb} mistaken: "
            f"{list_of([_pair_name(*p) for p in wrong])} {verb} pushed apart harder than pulled together, "
            f"because the popularity of such a pair is above {number(threshold)}."
        )

    def _about_negatives(self) -> str:
        push = self.weights[1][np.array(self.labels) == 0]
        if not push.size:
            return "There is no negative pair."
        low, high = number(push.min()), number(push.max())
        weigh = f"Every negative pair weighs {low}" if low == high else f"Negative pairs weigh from {low} to {high}"
        return f"{weigh}; the full objective gives each 1."

    def _about_objective(self) -> str:
        expected, full = map(number, self.objectives)
        return f"At these scores the expected objective is {expected} and the full objective {full}."

    def _warning(self) -> str:
        """What holds no longer, though numbers can be computed."""
        labels = np.array(self.labels)
        empty = [f"R{i + 1}" for i in np.flatnonzero(labels.sum(1) == 0)]
        empty += [f"C{j + 1}" for j in np.flatnonzero(labels.sum(0) == 0)]
        if not empty:
            return ""
        verb = "has" if len(empty) == 1 else "have"
        return (
            f"{list_of(empty)} {verb} no positive, so no batch ever meets the pairs there and no weighting can "
            "repair it (Assumption E.1)."
        )

    def picture(self) -> str:
        """The heat map of weights, or the bare labels where no weights can be computed."""
        weights = None if self.problem() else self.weights
        return _heat_map(self.labels, weights, set() if weights is None else set(self.mistaken), self.summary())

    def table(self) -> tuple[list[str], list[list[str]]]:
        heads = ["Pair", "Label", "Popularity", "Pull, weight of ℓ⁺", "Push, weight of ℓ⁻", "Asked push", "Mistaken"]
        if self.problem():
            return heads, []
        labels = np.array(self.labels)
        popularity = in_batch.pair_popularity(labels.sum(1), labels.sum(0))
        (pull, push), wrong = self.weights, set(self.mistaken)
        rows = [
            [
                _pair_name(i, j),
                str(label),
                str(int(popularity[i, j])),
                number(pull[i, j]),
                number(push[i, j]),
                str(1 - label),
                "yes" if (i, j) in wrong else "no",
            ]
            for i, row in enumerate(self.labels)
            for j, label in enumerate(row)
        ]
        return heads, rows

    # ---- values that make sense

    @traitlets.validate("labels")
    def _valid_labels(self, proposal: dict[str, Any]) -> list[list[int]]:
        return _label_rows(proposal["value"])

    @traitlets.validate("batch_size")
    def _valid_batch_size(self, proposal: dict[str, Any]) -> int:
        size = int(proposal["value"])
        if size < 2:
            raise ValueError(f"batch_size is {size}; expected 2 or more: one pair makes no negatives")
        return size

    @traitlets.validate("omega")
    def _valid_omega(self, proposal: dict[str, Any]) -> float:
        omega = float(proposal["value"])
        if not (math.isfinite(omega) and omega > 0):
            raise ValueError(f"omega is {omega}; expected a number above 0")
        return omega


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


def _pair_name(i: int, j: int) -> str:
    return f"R{i + 1}–C{j + 1}"


# ---- the picture for a page without JavaScript: middle tones, legible on light and on dark

_CELL, _LEFT, _TOP, _GLYPH = 58, 26, 20, 36
_PULL, _PUSH, _LINE = "#3b82c4", "#d9772b", "#8a94a0"


def _heat_map(
    labels: list[list[int]], weights: tuple[np.ndarray, np.ndarray] | None, wrong: set[tuple[int, int]], name: str
) -> str:
    m, n = len(labels), len(labels[0])
    wide, high = _LEFT + n * _CELL + 2, _TOP + m * _CELL + 2
    heads = [_text(_LEFT + (j + 0.5) * _CELL, 13, f"C{j + 1}") for j in range(n)]
    heads += [_text(11, _TOP + (i + 0.5) * _CELL + 4, f"R{i + 1}") for i in range(m)]
    cells = [
        _cell(i, j, labels[i][j], None if weights is None else _glyphs(i, j, labels[i][j], weights), (i, j) in wrong)
        for i in range(m)
        for j in range(n)
    ]
    return sheet(name, wide, high, *heads, *cells)


def _text(x: float, y: float, text: str, size: int = 11) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="middle" fill="currentColor">{text}</text>'


def _cell(i: int, j: int, label: int, glyphs: str | None, mistaken: bool) -> str:
    x, y = _LEFT + j * _CELL, _TOP + i * _CELL
    edge = f'stroke="{_PULL}" stroke-width="2"' if label else f'stroke="{_LINE}"'
    dash = ' stroke-dasharray="5 3"' if mistaken else ""
    box = (
        f'<rect x="{x + 1.5}" y="{y + 1.5}" width="{_CELL - 3}" height="{_CELL - 3}" rx="5" fill="none" {edge}{dash}/>'
    )
    cross = _text(x + _CELL - 9, y + 14, "✕") if mistaken else ""
    return box + (glyphs if glyphs is not None else _text(x + _CELL / 2, y + _CELL / 2 + 5, str(label), 14)) + cross


def _glyphs(i: int, j: int, label: int, weights: tuple[np.ndarray, np.ndarray]) -> str:
    """Ring = pull, square = push, each with an area in proportion; the numbers stand below."""
    pull, push = weights[0][i, j], weights[1][i, j]
    unit = _GLYPH / math.sqrt(max(1.0, weights[0].max(), weights[1].max()))
    x, y = _LEFT + (j + 0.5) * _CELL, _TOP + i * _CELL + 23
    side, radius = unit * math.sqrt(push), unit * math.sqrt(pull / math.pi)
    square = (
        f'<rect x="{x - side / 2:.2f}" y="{y - side / 2:.2f}" width="{side:.2f}" height="{side:.2f}" fill="{_PUSH}"/>'
    )
    ring = (
        f'<circle cx="{x:g}" cy="{y:g}" r="{radius:.2f}" fill="none" stroke="{_PULL}" stroke-width="2.4"/>'
        if label
        else ""
    )
    words = f"○{number(pull)} ■{number(push)}" if label else number(push)
    return square + ring + _text(x, _TOP + i * _CELL + 53, words)
