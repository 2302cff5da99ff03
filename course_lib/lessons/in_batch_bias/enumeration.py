"""Exact enumeration: every batch of a family of small label matrices, in rational arithmetic.

A loss is linear in the numbers l+ and l- of the cells, so two losses agree for EVERY choice of them when their weights
agree cell by cell. That is what most functions here compare: averaged weights over all C(M, s) batches against the
weights that the paper states. Each returns the largest absolute discrepancy, a Fraction that must be 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import in_batch, losses
from course_lib.arrays import exact
from course_lib.lessons.in_batch_bias.groups import Groups, own_score
from course_lib.lessons.shared.symbolic import largest

Pair = tuple[int, int]

OMEGA = Fraction(2, 7)

SMALL_LABELS: tuple[np.ndarray, ...] = tuple(
    np.array(rows)
    for rows in (
        [[1, 1], [1, 1]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[1, 1, 0], [0, 1, 1]],
        [[1, 1, 1, 1], [1, 0, 0, 0]],
        [[0, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 0], [1, 0, 0, 1]],
        [[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]],
    )
)
"""Label matrices under Assumption E.1: full, permutation, chain, star, one like P3's Figure 2, and a head item."""


def labelled_cases() -> Iterator[tuple[np.ndarray, int]]:
    """(labels, batch size) for every small label matrix and every batch size from 2 to |O|."""
    for labels in SMALL_LABELS:
        for batch_size in range(2, int(labels.sum()) + 1):
            yield labels, batch_size


def positives(labels: np.ndarray) -> list[Pair]:
    """The pairs of O, row by row."""
    return [(int(i), int(j)) for i, j in np.argwhere(labels)]


def batches(labels: np.ndarray, batch_size: int) -> list[tuple[Pair, ...]]:
    """All C(M, s) batches."""
    return list(itertools.combinations(positives(labels), batch_size))


def scattered_weights(
    kind: str, labels: np.ndarray, batch: Iterable[Pair], *, omega: Fraction | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(W_pos, W_neg), both (m, n): how much one batch weighs l+ and l- of every cell of the matrix."""
    rows, cols = exact(labels.sum(axis=1)), exact(labels.sum(axis=0))
    i, j = (list(side) for side in zip(*batch, strict=True))
    w_pos, w_neg = in_batch.batch_weights(
        kind,
        row_counts=rows[i],
        col_counts=cols[j],
        n_positives=int(labels.sum()),
        shape=labels.shape,
        omega=omega,
        labels=labels[np.ix_(i, j)] if kind == "masked" else None,
    )
    positive, negative = exact(np.zeros(labels.shape, dtype=int)), exact(np.zeros(labels.shape, dtype=int))
    np.add.at(positive, (i, j), w_pos)
    np.add.at(negative, np.ix_(i, j), w_neg)
    return positive, negative


def averaged_weights(
    kind: str, labels: np.ndarray, batch_size: int, *, omega: Fraction | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of `scattered_weights` over all batches of this size."""
    every = [scattered_weights(kind, labels, batch, omega=omega) for batch in batches(labels, batch_size)]
    return _mean(positive for positive, _ in every), _mean(negative for _, negative in every)


def stated_weights(
    kind: str, labels: np.ndarray, batch_size: int, *, omega: Fraction | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the objective that the paper states for `kind`, as printed: (13), (15), (16), (5) or (19)."""
    y = exact(labels)
    pop = np.outer(y.sum(axis=1), y.sum(axis=0))
    rho = Fraction(batch_size - 1, int(labels.sum()) - 1)
    negatives = {
        "in_batch": -rho * y + rho * pop,
        "popularity": pop - y,
        "pos_neg": rho * (1 - y),
        "unbiased": 1 - y,
        "masked": 1 - y,
        "unbiased_omega": (omega or 0) * (1 - y),
    }
    return y / labels.size, negatives[kind] / labels.size


@largest
def enumerate_inclusion() -> Iterator[Fraction]:
    """Share of batches that hold 1 to 4 given members, against `in_batch.inclusion_probability`, all s <= M <= 7."""
    for size in range(1, 8):
        for batch_size, order in itertools.product(range(size + 1), (1, 2, 3, 4)):
            hits = sum(set(range(order)) <= set(batch) for batch in itertools.combinations(range(size), batch_size))
            stated = in_batch.inclusion_probability(order, batch_size=batch_size, n_positives=size)
            yield abs(Fraction(hits, math.comb(size, batch_size)) - stated)


def enumerate_change_of_variables() -> Fraction:
    """Lemma E.4 on every small label matrix, with a function f whose values are all different."""
    return _worst(
        sum(f[i, j] for (i, _), (_, j) in itertools.product(positives(labels), repeat=2))
        - in_batch.change_of_variables(f, labels)
        for labels in SMALL_LABELS
        for f in [_generic(labels.shape)]
    )


def enumerate_positive_sum() -> Fraction:
    """Lemma E.5 over all batches: mean of the sum of f over the batch against `expected_positive_sum`."""
    return _worst(
        _mean(sum(f[pair] for pair in batch) for batch in batches(labels, batch_size))
        - in_batch.expected_positive_sum(f, labels, batch_size=batch_size)
        for labels, batch_size in labelled_cases()
        for f in [_generic(labels.shape)]
    )


def enumerate_pair_sum() -> Fraction:
    """Lemma E.6 over all batches: mean of the sum of f over the s x s grid against `expected_pair_sum`."""
    return _worst(
        _mean(sum(f[i, j] for (i, _) in batch for (_, j) in batch) for batch in batches(labels, batch_size))
        - in_batch.expected_pair_sum(f, labels, batch_size=batch_size)
        for labels, batch_size in labelled_cases()
        for f in [_generic(labels.shape)]
    )


@largest
def enumerate_expected_weights(kind: str | None = None) -> Iterator[Fraction]:
    """Averaged weights of l+ and l- of every cell against the stated objective and against `expected_weights`.

    All kinds (or one), all small label matrices, all batch sizes. Zero means E[loss] = objective for EVERY point-wise
    loss and all scores on these matrices.
    """
    for name in in_batch.KINDS if kind is None else (kind,):
        omega = OMEGA if name == "unbiased_omega" else None
        for labels, batch_size in labelled_cases():
            averaged = averaged_weights(name, labels, batch_size, omega=omega)
            stated = stated_weights(name, labels, batch_size, omega=omega)
            library = in_batch.expected_weights(name, labels=exact(labels), batch_size=batch_size, omega=omega)
            for a, b, c in zip(averaged, stated, library, strict=True):
                yield from (_largest(a - b), _largest(a - c))


@largest
def enumerate_sogram() -> Iterator[Fraction]:
    """E[(34)] - (5) over all pairs of independent batches of sizes 1-3, one label matrix after the other."""
    for labels in SMALL_LABELS[1:4]:
        for sizes in ((1, 1), (2, 3), (3, 2)):
            pairs = itertools.product(*(batches(labels, size) for size in sizes))
            every = [sogram_weights(labels, first, second) for first, second in pairs]
            stated = stated_weights("unbiased", labels, 2)
            yield from (_largest(_mean(w[part] for w in every) - stated[part]) for part in (0, 1))


def sogram_weights(
    labels: np.ndarray, first: tuple[Pair, ...], second: tuple[Pair, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """(W_pos, W_neg) of (34) for two given batches, read off `in_batch.sogram_loss` by feeding it indicators."""
    rows, cols = exact(labels.sum(axis=1)), exact(labels.sum(axis=0))
    m, n = labels.shape
    cells = exact(np.eye(m * n, dtype=int)).reshape(m * n, m, n)  # one loss matrix per cell, 1 there and 0 elsewhere
    (i1, j1), (_, j2) = np.transpose(first), np.transpose(second)
    common: dict[str, Any] = {
        "row_counts": rows[i1],
        "col_counts": cols[j2],
        "n_positives": int(labels.sum()),
        "shape": labels.shape,
    }
    diag, cross = cells[:, i1, j1], cells[:, i1][:, :, j2]
    positive = in_batch.sogram_loss(pos_loss=diag, neg_diag=diag * 0, neg_cross=cross * 0, **common)
    negative = in_batch.sogram_loss(pos_loss=diag * 0, neg_diag=diag, neg_cross=cross, **common)
    return positive.reshape(m, n), negative.reshape(m, n)


@largest
def enumerate_naive_and_cross() -> Iterator[Fraction]:
    """Naive batches (20) and cross batches (21) are unbiased: averaged weight of every cell minus 1/(mn).

    All batches of 1-3 cells, and all choices of rows and columns, of a 3 x 4 matrix. The labels play no part.
    """
    m, n = 3, 4
    cells = list(itertools.product(range(m), range(n)))
    for size in (1, 2, 3):
        every = list(itertools.combinations(cells, size))
        for cell in cells:
            weight = _mean(Fraction(cell in batch, size) for batch in every)
            yield abs(weight - Fraction(1, m * n))
    for r, c in itertools.product((1, 2, 3), (1, 2, 4)):
        grids = list(itertools.product(itertools.combinations(range(m), r), itertools.combinations(range(n), c)))
        for i, j in cells:
            weight = _mean(Fraction(i in rows and j in cols, r * c) for rows, cols in grids)
            yield abs(weight - Fraction(1, m * n))


@largest
def enumerate_batch_variance() -> Iterator[Fraction]:
    """Claim X1: `exact_moments` against `enumerate_moments`, every kind, every small label matrix, every batch size."""
    for labels, batch_size in labelled_cases():
        pos_loss, neg_loss = _generic(labels.shape), _generic(labels.shape, shift=5)
        for kind in in_batch.KINDS:
            arguments: dict[str, Any] = {
                "pos_loss": pos_loss,
                "neg_loss": neg_loss,
                "labels": labels,
                "batch_size": batch_size,
                "omega": OMEGA if kind == "unbiased_omega" else None,
            }
            quick, slow = in_batch.exact_moments(kind, **arguments), in_batch.enumerate_moments(kind, **arguments)
            yield from (abs(a - b) for a, b in zip(quick, slow, strict=True))


@largest
def enumerate_optimal_mix() -> Iterator[Fraction]:
    """Claim X2: the variance of masked + c* (unbiased - masked) over all batches, against `optimal_mix`; c* is best.

    The third residual is the slope of the enumerated variance in c at c*, by a symmetric difference (exact, since the
    variance is a parabola in c).
    """
    for labels, batch_size in labelled_cases():
        arguments: dict[str, Any] = {
            "pos_loss": _generic(labels.shape),
            "neg_loss": _generic(labels.shape, shift=5),
            "labels": labels,
            "batch_size": batch_size,
        }
        mix = in_batch.optimal_mix(**arguments)
        masked = in_batch.enumerate_batch_losses("masked", **arguments)
        unbiased = in_batch.enumerate_batch_losses("unbiased", **arguments)

        def variance(c: Fraction, masked: list[Any] = masked, unbiased: list[Any] = unbiased) -> Fraction:
            values = [a + c * (b - a) for a, b in zip(masked, unbiased, strict=True)]
            mean = _mean(values)
            return Fraction(_mean((v - mean) ** 2 for v in values))

        slope = variance(mix.c + 1) - variance(mix.c - 1)
        off = (variance(mix.c) - mix.variance, slope, variance(Fraction(0)) - mix.variance_masked)
        yield from map(abs, off)


def cell_counts(labels: np.ndarray, cell: Pair, batch_size: int) -> list[int]:
    """How often a cell occurs in the grid of each batch: (rows that are its row) x (columns that are its column)."""
    i, j = cell
    return [sum(a == i for a, _ in batch) * sum(b == j for _, b in batch) for batch in batches(labels, batch_size)]


@largest
def enumerate_horvitz_thompson() -> Iterator[Fraction]:
    """Claim X3 on every negative cell: p, E w = 1 and E w^2 = 1/p for w = 1/p on seen cells, against enumeration.

    Also the weight that (17) uses, a constant times the number of occurrences: E w = 1, E w^2 against
    `in_batch.count_weight_second_moment`, and how far it falls below 1/p, which must be nothing.
    """
    for labels, batch_size in labelled_cases():
        rows, cols = labels.sum(axis=1), labels.sum(axis=0)
        for i, j in np.argwhere(labels == 0):
            counts = cell_counts(labels, (int(i), int(j)), batch_size)
            seen = Fraction(sum(c > 0 for c in counts), len(counts))
            weight = in_batch.horvitz_thompson_weight(
                int(rows[i]), int(cols[j]), batch_size=batch_size, n_positives=int(labels.sum())
            )
            by_count = 1 / _mean(Fraction(c) for c in counts)  # makes E[by_count * count] = 1
            pairs = in_batch.inclusion_probability(2, batch_size=batch_size, n_positives=int(labels.sum()))
            second = _mean((by_count * c) ** 2 for c in counts)
            stated = in_batch.count_weight_second_moment(
                int(rows[i]), int(cols[j]), batch_size=batch_size, n_positives=int(labels.sum())
            )
            yield from (
                abs(seen * weight - 1),
                abs(_mean((weight * (c > 0)) ** 2 for c in counts) - 1 / seen),
                abs(by_count * pairs * int(rows[i] * cols[j]) - 1),
                abs(second - stated),
                1 / seen - second,
            )


@largest
def enumerate_square_closed_form() -> Iterator[Fraction]:
    """Claims X18 and X19 through the library, in rationals: (5) and (15) for the square loss as weighted distances.

    For rational scores S on every small label matrix, mn (5) - 1/2 sum (S - Y)^2, and mn (15) minus each of
    1/2 sum pop (S - Y/pop)^2 + constant (claim X18) and 1/2 sum (pop S - Y)^2 / pop + constant (claim X19).
    """
    for labels in SMALL_LABELS:
        y, scores = exact(labels), _generic(labels.shape, shift=-6) / 3
        pop = np.outer(y.sum(axis=1), y.sum(axis=0))
        pos_loss, neg_loss = losses.pair_losses("square", scores)
        arguments = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": labels, "batch_size": 2}
        full = in_batch.expected_objective("unbiased", **arguments) * labels.size
        popularity = in_batch.expected_objective("popularity", **arguments) * labels.size
        constant = (y - y / pop).sum() / 2
        yield from (
            abs(full - ((scores - y) ** 2).sum() / 2),
            abs(popularity - (pop * (scores - y / pop) ** 2).sum() / 2 - constant),
            abs(popularity - ((pop * scores - y) ** 2 / pop).sum() / 2 - constant),
        )


GROUPS = (
    Groups((4, 3, 2), ((4, 4), (3, 3), (2, 2))),
    Groups((8, 8, 4), ((6, 2), (5, 3), (3, 1, 1))),
    Groups((5, 4, 4, 3), ((5, 2), (4, 3), (4,), (3, 1, 1))),
)
"""Labels carried by every row of their group, by a part of its rows, and one group more than that."""


def enumerate_shared_groups() -> Fraction:
    """Claim X18c through the library, in rationals, for the groups of GROUPS and one dimension less than groups.

    With one vector for the rows of a group and scores s_gj, and z_gj = sqrt(M_g c_j) s_gj:
      mn (5)  = 1/2 sum_g N_g sum_j (s_gj - c_j/N_g)^2 + constant
      mn (13) = 1/2 (rho ||z||^2 - 2 sum_O s + (1 - rho) sum_O s^2 + M)
    for generic scores; and (13) takes the least value that the theorem allows, (M - d M / (rho M + (1 - rho) d)) / 2,
    at s_gh = tau P_gh / sqrt(M_g M_h) with the projection P = 1 - v v^T, v_g^2 = 1 - d M_g / M.
    """
    return _worst(difference for groups in GROUPS for difference in [*_square_forms(groups), *_least_values(groups)])


def _square_forms(groups: Groups) -> Iterator[Fraction]:
    """mn (5) and mn (13) minus their forms in the docstring above, at generic scores."""
    y, inside = exact(groups.labels()), _inside(groups)
    of_row, sizes, held, counts = _spread(groups)
    scores, total = _generic((len(groups.rows), y.shape[1]), shift=-6)[of_row] / 3, int(y.sum())
    pos_loss, neg_loss = losses.pair_losses("square", scores)
    arguments = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": y}
    share = inside * counts / sizes[:, None]
    full = in_batch.expected_objective("unbiased", batch_size=2, **arguments) * y.size
    yield full - (((scores - share) ** 2).sum() + y.sum() - (share * share).sum()) / 2
    for batch_size in (2, total // 2, total - 1):
        rho = Fraction(batch_size - 1, total - 1)
        norm = ((held / sizes)[:, None] * counts * scores**2).sum()
        form = (rho * norm - 2 * (y * scores).sum() + (1 - rho) * (y * scores**2).sum() + total) / 2
        yield in_batch.expected_objective("in_batch", batch_size=batch_size, **arguments) * y.size - form


def _least_values(groups: Groups) -> Iterator[Fraction]:
    """mn (13) at the scores of the theorem, minus the least value. Of scores off the groups only the square counts."""
    y, inside = exact(groups.labels()), _inside(groups)
    width, total, held = len(groups.rows) - 1, int(y.sum()), _spread(groups)[2]
    label_held = exact(np.repeat(groups.positives, [len(counts) for counts in groups.counts]))
    for batch_size in (2, total // 2, total - 1):
        score = own_score(groups, width, Fraction(batch_size - 1, total - 1))
        part = np.array(Fraction(width, total), dtype=object)
        off = (1 / held - part)[:, None] * (1 / label_held - part)  # P_gh^2 / (M_g M_h)
        square = inside * score**2 + (1 - inside) * (score * total / width) ** 2 * off
        best = {"pos_loss": y * (1 - score) ** 2 / 2, "neg_loss": square / 2, "labels": y}
        reached = in_batch.expected_objective("in_batch", batch_size=batch_size, **best) * y.size
        yield reached - (total - total * score) / 2


def _inside(groups: Groups) -> np.ndarray:
    """1 where a row and a label are of the same group: (rows, n), exact."""
    of_label = np.repeat(np.arange(len(groups.rows)), [len(counts) for counts in groups.counts])
    return exact((_spread(groups)[0][:, None] == of_label).astype(int))


def _spread(groups: Groups) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of each row its group, the rows and the positives of that group; of each label its count c_j."""
    of_row = np.repeat(np.arange(len(groups.rows)), groups.rows)
    counts = exact(np.concatenate([np.array(own) for own in groups.counts]))
    return of_row, exact(np.array(groups.rows))[of_row], exact(np.array(groups.positives))[of_row], counts


@largest
def enumerate_fit_gradient() -> Iterator[Fraction]:
    """At a perfect square-loss fit (scores = labels) every batch of the masked loss has gradient zero (claim X2).

    dl+/dscore = score - 1 vanishes on O and dl-/dscore = score vanishes outside O, so the gradient of a batch is its
    weights of l- on O; the residual is the largest of these. (17) has weights (1/pop - 1) M/(mns) there: it keeps its
    noise.
    """
    for labels, batch_size in labelled_cases():
        for batch in batches(labels, batch_size):
            _, negative = scattered_weights("masked", labels, batch)
            yield _largest(negative * exact(labels))


def _generic(shape: tuple[int, ...], shift: int = 0) -> np.ndarray:
    """Fractions with no accidental relations: 1/prime-like values, all different."""
    size = int(np.prod(shape))
    return np.array([Fraction(k * k + 3 * k + 1 + shift, 7 + 2 * k) for k in range(size)], dtype=object).reshape(shape)


def _mean(values: Iterable[Any]) -> Any:
    found = list(values)
    return sum(found) / len(found)


def _largest(array: np.ndarray) -> Fraction:
    return Fraction(max(abs(x) for x in array.ravel()))


def _worst(differences: Iterable[Fraction]) -> Fraction:
    return max(abs(d) for d in differences)
