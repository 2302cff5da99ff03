r"""In-batch sampling: the batch losses of P3, their exact expectations, and their exact variances.

Notation. Y is an m x n label matrix with entries 0 and 1; O is its set of M = n_positives ones. A batch O^ holds
s = batch_size distinct pairs of O, drawn uniformly without replacement. Its s x s grid crosses every row of the batch
with every column; the diagonal holds the sampled pairs and in-batch training calls the rest negatives.
row_counts_i = |O_i,:|, col_counts_j = |O_:,j|, pop_ij = row_counts_i * col_counts_j (the popularity of a pair), and
rho = (s - 1) / (M - 1) (the balance between positives and negatives that the batch size sets).

One source of formulas. Every loss here, and every expectation, has the form

    positive * sum_S l+  +  grid * sum_a sum_b pop_ab^power l-_ab  +  sum_S (constant + inverse / pop) l-        (*)

and is one `Coefficients` object. For a batch loss, S is the batch and (a, b) runs over its grid. For an expected
objective, S is O and (a, b) runs over the whole matrix. Lemmas E.4-E.6 of P3 carry the first into the second: the
function `expectation_of`. Weights, values, expectations, variances and the fast Gramian forms all read this object.

Every function takes NumPy float arrays, torch tensors (autograd, any device) or NumPy object arrays of
`fractions.Fraction` (exact results), and leading batch axes on the losses.

Source: P3 = Liu, Lin, Lin, "Examining the Bias of In-Batch Sampling in Similarity Learning with Two-Tower Models".
"""

from __future__ import annotations

import itertools
import math
import numbers
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from . import gramians
from .arrays import (
    Array,
    all_finite,
    as_array,
    as_index,
    diagonal,
    first_index,
    is_exact,
    is_torch,
    like,
    namespace,
    number,
    shape_of,
    to_fraction,
    weighted_grid_sum,
)

KINDS = ("in_batch", "unbiased", "unbiased_omega", "popularity", "pos_neg", "masked")
_DIVIDED = ("unbiased", "unbiased_omega", "pos_neg", "masked")  # the kinds that divide l- by the pair's popularity
_ENUMERATION_LIMIT = 1_000_000


# --------------------------------------------------------------------------------------------------------------------
# Scalars of the theory


def balance(batch_size: Any, n_positives: Any) -> Any:
    """rho = (batch_size - 1) / (n_positives - 1), the weight of the negatives against the positives.

    Lies in [0, 1]; it is 0 for one pair and 1 for the full batch. A Fraction argument gives a Fraction, integers give
    a float. Source: P3, equations (12) and (36).
    """
    _check_sizes(batch_size, n_positives, least=1)
    if n_positives < 2:
        raise ValueError(f"n_positives={n_positives}: (batch_size - 1) / (n_positives - 1) needs at least 2 positives")
    return _reply(_rho(batch_size, n_positives), batch_size, n_positives)


def batch_size_from_ratio(ratio: float, n_positives: int) -> int:
    """The batch size s whose batch ratio s^2 / |O|^2 is nearest to `ratio`, at least 2 and at most n_positives.

    This is P3's equation (18) read as it must be meant: s = sqrt(ratio) |O|. Printed, its "- 1" slipped under the root.
    """
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio={ratio} must lie in (0, 1]: it is |batch|^2 / |O|^2")
    if n_positives < 2:
        raise ValueError(f"n_positives={n_positives} must be at least 2")
    return min(max(round(math.sqrt(ratio) * n_positives), 2), n_positives)


def pair_popularity(row_counts: Any, col_counts: Any) -> Array:
    """pop_ij = row_counts_i * col_counts_j, how often a cell can enter a batch.

    row_counts (..., m), col_counts (..., n) -> (..., m, n), of the same kind (integers stay integers).
    Source: P3, Section 3.3.2.
    """
    if not (is_torch(row_counts) or is_torch(col_counts)):
        row_counts, col_counts = np.asarray(row_counts), np.asarray(col_counts)
    return row_counts[..., :, None] * col_counts[..., None, :]


def inclusion_probability(order: int, *, batch_size: int, n_positives: int) -> Fraction:
    """P(`order` given pairs of O are all in the batch) = s (s-1) ... / (M (M-1) ...), `order` factors each.

    order 1 gives s/M (P3, (30)), order 2 gives s(s-1)/(M(M-1)) (P3, (33)). It is 0 when no such set of pairs exists.
    """
    _check_sizes(batch_size, n_positives, least=0)
    if order > n_positives:
        return Fraction(0)
    return Fraction(math.perm(int(batch_size), order), math.perm(int(n_positives), order))


def encoder_cost(
    strategy: str, batch_pairs: float, cost_left: float, cost_right: float, *, shape: tuple[int, int] | None = None
) -> float:
    """Cost of encoding the entities of one batch of `batch_pairs` = |B| pairs.

    strategy: "naive"    |B| F(f) + |B| F(g)             P3, (9)
              "cross"    sqrt|B| F(f) + sqrt|B| F(g)     P3, (10)
              "in_batch" the same as "cross"             P3, Section 3.2.3
              "sogram"   sqrt|B| F(f) + 2 sqrt|B| F(g)   P3, (35)
    cost_left F(f), cost_right F(g): cost of encoding one left / right entity (any unit; the result has the same).
    shape (m, n): if given, no side encodes more entities than there are. P3's (9) leaves this out, although its own
    batches hold far more pairs than there are entities.
    """
    if batch_pairs < 0 or cost_left < 0 or cost_right < 0:
        raise ValueError(f"batch_pairs={batch_pairs}, cost_left={cost_left} and cost_right={cost_right} must be >= 0")
    side = batch_pairs ** Fraction(1, 2)
    encodings = {
        "naive": (batch_pairs, batch_pairs),
        "cross": (side, side),
        "in_batch": (side, side),
        "sogram": (side, 2 * side),
    }
    if strategy not in encodings:
        raise ValueError(f"strategy={strategy!r} is unknown; expected one of {tuple(encodings)}")
    left, right = encodings[strategy]
    if shape is not None:
        left, right = min(left, shape[0]), min(right, shape[1])
    return left * cost_left + right * cost_right


def probability_of_no_positive(batch_pairs: int, *, n_positives: int, shape: tuple[int, int]) -> float:
    """P(a naive batch of `batch_pairs` distinct cells holds no positive) = C(mn - M, |B|) / C(mn, |B|).

    float64, accurate also for millions of cells. Source: P3, Section 3.2.1 ("batches without positives"), in numbers.
    """
    m, n = _check_shape(shape, n_positives)
    if not 0 <= batch_pairs <= m * n:
        raise ValueError(f"batch_pairs={batch_pairs} must lie between 0 and m * n = {m * n}")
    few, many = sorted((int(batch_pairs), int(n_positives)))  # the formula is symmetric in the two
    return math.exp(_log_missed(few, many, m * n))


# --------------------------------------------------------------------------------------------------------------------
# The one source of coefficients


@dataclass(frozen=True)
class Coefficients:
    """The weights of (*) in the module's docstring: a batch loss or an expected objective.

    positive: weight of each l+ of S;  grid, power: l- of every grid cell weighs grid * pop^power;
    constant, inverse: each pair of S weighs its l- by a further constant + inverse / pop;
    masked: cells of O are left out of the grid sum.
    """

    positive: Any
    grid: Any
    power: int
    constant: Any
    inverse: Any
    masked: bool = False

    def weigh_negatives(self, factor: Any) -> Coefficients:
        """The same with every l- multiplied by `factor` (None: 1). An array of factors gives an array of weights."""
        if factor is None:
            return self
        grid, constant, inverse = (_times(x, factor) for x in (self.grid, self.constant, self.inverse))
        return Coefficients(self.positive, grid, self.power, constant, inverse, self.masked)

    def grid_factor(self, counts: Array) -> Array | None:
        """counts^power: what one side contributes to the weight grid * pop^power of a grid cell; None stands for ones."""
        if self.power == 0:
            return None
        return 1 / counts if self.power < 0 else counts

    def grid_weights(self, row_counts: Array, col_counts: Array) -> tuple[Array, Array | None]:
        """(left, right) such that the grid cell (a, b) weighs left_a right_b = grid * pop_ab^power.

        right is None where it would be ones. An array of grid weights (a sweep) gets a last axis: left is (..., p).
        """
        left = self.grid_factor(row_counts)
        grid = _factor(self.grid, row_counts)
        return grid * (row_counts * 0 + 1 if left is None else left), self.grid_factor(col_counts)

    def own_weights(self, popularity: Array) -> Array | None:
        """constant + inverse / pop: the further weight of l- on the pairs of S; None where it is zero."""
        if _is_zero(self.constant) and _is_zero(self.inverse):
            return None
        constant = _factor(self.constant, popularity) + popularity * 0
        return constant if _is_zero(self.inverse) else constant + _factor(self.inverse, popularity) / popularity


def coefficients_from(kind: str, *, a: Any, rho: Any) -> Coefficients:
    """The formulas, as plain arithmetic in a = M / (m n s) and rho = (s - 1) / (M - 1).

    Rationals, floats and sympy symbols all work: `course_lib.proofs` puts symbols in and proves these very lines.

    in_batch   (28)  a [ sum l+ + sum sum l- - sum l- ]
    pos_neg    (27)  a [ sum l+ + sum sum l-/pop - sum ((1 - rho)/pop + rho) l- ]
    popularity (26)  in_batch with l- multiplied by 1/rho
    unbiased   (17)  pos_neg with l- multiplied by 1/rho  (unbiased_omega (25): by omega/rho; omega is put in later)
    masked           a [ sum l+ + 1/rho sum over grid cells outside O of l-/pop ]  (ours, X2)
    """
    if kind in ("in_batch", "popularity"):
        plain = Coefficients(a, a, 0, -a, 0 * a)
    elif kind == "masked":
        plain = Coefficients(a, a, -1, 0 * a, 0 * a, masked=True)
    else:
        plain = Coefficients(a, a, -1, -a * rho, a * (rho - 1))
    return plain if kind in ("in_batch", "pos_neg") else plain.weigh_negatives(1 / rho)


def expectation_of(coefficients: Coefficients, *, p1: Any, p2: Any) -> Coefficients:
    """The expected objective of a batch loss, by Lemmas E.4-E.6 of P3, as plain arithmetic.

    p1, p2: probability that one pair, and that two given pairs, are in the batch. A grid cell (i, j) is produced by
    pop_ij pairs of pairs (E.4), so the grid's power rises by one. The pairs that meet themselves, on the diagonal,
    come with p1 instead of p2: that difference is left over on O (E.6).
    """
    positive, grid, power = coefficients.positive * p1, coefficients.grid * p2, coefficients.power + 1
    constant, inverse = coefficients.constant * p1, coefficients.inverse * p1
    if coefficients.masked:  # the grid skips O: the whole grid minus its cells of O; a masked grid has power 0 here
        return Coefficients(positive, grid, power, constant - grid, inverse)
    left_over = coefficients.grid * (p1 - p2)
    if coefficients.power == 0:
        return Coefficients(positive, grid, power, constant + left_over, inverse)
    return Coefficients(positive, grid, power, constant, inverse + left_over)


def batch_coefficients(
    kind: str, *, batch_size: int, n_positives: int, shape: tuple[int, int], omega: Any = None
) -> Coefficients:
    """The coefficients of one batch loss of `batch_size` pairs; exact rationals unless omega is a float or an array.

    Formulas: `coefficients_from`. Source: P3, equations (17), (25)-(28).
    """
    omega = _check_omega(kind, omega)
    return _unit_coefficients(kind, batch_size, n_positives, shape).weigh_negatives(omega)


def expected_coefficients(
    kind: str, *, batch_size: int, n_positives: int, shape: tuple[int, int], omega: Any = None
) -> Coefficients:
    """The coefficients of the objective that `kind` minimises in expectation; here S is O and the grid all of m x n.

    in_batch gives (13), popularity (15), pos_neg (16), unbiased and masked (5), unbiased_omega (19).
    """
    omega = _check_omega(kind, omega)
    p1, p2 = (inclusion_probability(order, batch_size=batch_size, n_positives=n_positives) for order in (1, 2))
    unit = _unit_coefficients(kind, batch_size, n_positives, shape)
    return expectation_of(unit, p1=p1, p2=p2).weigh_negatives(omega)


def sogram_coefficients(
    *, batch_size: int, other_batch_size: int, n_positives: int, shape: tuple[int, int]
) -> Coefficients:
    """The coefficients of the two-batch loss, P3 equation (34): S is batch 1, the grid is batch 1 x batch 2."""
    _check_sizes(batch_size, n_positives, least=1)
    _check_sizes(other_batch_size, n_positives, least=1)
    m, n = _check_shape(shape, n_positives)
    a = Fraction(int(n_positives), m * n * int(batch_size))
    return Coefficients(a, a * Fraction(int(n_positives), int(other_batch_size)), -1, -a, 0 * a)


def _unit_coefficients(kind: str, batch_size: int, n_positives: int, shape: tuple[int, int]) -> Coefficients:
    """The exact coefficients before omega."""
    _check_kind(kind)
    _check_sizes(batch_size, n_positives, least=1)
    m, n = _check_shape(shape, n_positives)
    _check_pairs_needed(kind, batch_size)
    a = Fraction(int(n_positives), m * n * int(batch_size))
    return coefficients_from(kind, a=a, rho=_rho(batch_size, n_positives))


# --------------------------------------------------------------------------------------------------------------------
# Losses of one batch


def batch_loss(
    kind: str,
    *,
    pos_loss: Any,
    neg_loss: Any,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    omega: Any = None,
    labels: Any = None,
    validate: bool = True,
) -> Array:
    """The loss of one batch, in the scaling of P3's (17), (25)-(28) (so "in_batch" is (28), not (11)).

    kind         one of KINDS; the formulas stand in `coefficients_from`
    pos_loss     (..., s) l+ of the sampled pairs, in the order of the batch
    neg_loss     (..., s, s) l- of every cell of the grid; its diagonal holds l- of the sampled pairs
    row_counts   (s,) |O_i,:| of the batch's rows;  col_counts (s,) |O_:,j| of its columns
    n_positives  M = |O|;  shape (m, n) of the whole label matrix
    omega        "unbiased_omega" only: weight of the negatives, >= 0; a number or an array that broadcasts with (...)
    labels       "masked" only: (s, s) true labels of the grid, ones on the diagonal
    validate     False skips the checks that read values (needed inside torch.func.vmap; no GPU synchronisation)

    Returns (...): one loss per leading index, differentiable, exact for Fractions. The weights of the grid have rank
    one, so "unbiased" costs what "in_batch" costs: one pass over the grid.
    Raises ValueError for an unknown kind, wrong shapes, a batch of one pair where the loss divides by s - 1, counts
    below 1 (Assumption E.1), s > M, a missing or negative omega, labels other than 0/1, and NaN or infinite losses.
    The pairs must be distinct (Assumption E.2); `collapsed_batch_loss`, which sees the pairs, checks that.
    """
    pos_loss, neg_loss = _check_batch_losses(pos_loss, neg_loss)
    s = shape_of(pos_loss)[-1]
    coefficients = batch_coefficients(kind, batch_size=s, n_positives=n_positives, shape=shape, omega=omega)
    rows = _check_counts("row_counts", row_counts, s, pos_loss, shape[1], validate)
    cols = _check_counts("col_counts", col_counts, s, pos_loss, shape[0], validate)
    grid = neg_loss
    if coefficients.masked:
        grid = neg_loss * (1 - _check_grid_labels(labels, neg_loss, validate))
    left, right = coefficients.grid_weights(rows, cols)
    negative = weighted_grid_sum(grid, left, right, coefficients.own_weights(rows * cols))
    value = _positive_sum(coefficients, pos_loss) + negative
    return _check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss}) if validate else value


def collapsed_batch_loss(
    kind: str,
    *,
    pos_loss: Any,
    neg_loss: Any,
    row_index: Any,
    col_index: Any,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    omega: Any = None,
    labels: Any = None,
    validate: bool = True,
) -> Array:
    """`batch_loss` from the grid of DISTINCT rows and columns: the same number, often much cheaper.

    A large batch names the same user and the same item many times. Let p and q be its numbers of distinct rows and
    columns. A cell that d_i copies of row i and e_j copies of column j produce is computed once and weighted d_i e_j.

    pos_loss (..., s) l+ of the sampled pairs;  neg_loss (..., p, q) l- of the distinct grid
    row_index, col_index (s,) where each sampled pair lies in the distinct grid (`np.unique(..., return_inverse=True)`)
    row_counts (p,), col_counts (q,) of the distinct rows and columns;  labels (p, q) for "masked"
    The rest is as in `batch_loss`. Raises ValueError also when two sampled pairs are the same (Assumption E.2: a batch
    is drawn without replacement) or an index points outside the grid.
    """
    pos_loss, neg_loss = as_array(pos_loss, "pos_loss"), as_array(neg_loss, "neg_loss")
    if len(neg_loss.shape) < 2 or len(pos_loss.shape) < 1:
        raise ValueError(
            f"pos_loss must have shape (..., s) and neg_loss (..., p, q), "
            f"but they have {shape_of(pos_loss)} and {shape_of(neg_loss)}"
        )
    s, (p, q) = shape_of(pos_loss)[-1], shape_of(neg_loss)[-2:]
    coefficients = batch_coefficients(kind, batch_size=s, n_positives=n_positives, shape=shape, omega=omega)
    row_index = _check_index("row_index", row_index, s, p, neg_loss, validate)
    col_index = _check_index("col_index", col_index, s, q, neg_loss, validate)
    if validate:
        _check_distinct_pairs(row_index, col_index, q)
    rows = _check_counts("row_counts", row_counts, p, neg_loss, shape[1], validate)
    cols = _check_counts("col_counts", col_counts, q, neg_loss, shape[0], validate)
    grid = neg_loss
    if coefficients.masked:
        labels = _check_labels("labels", labels, (p, q), neg_loss, validate)
        if validate and bool((labels[row_index, col_index] != 1).any()):
            raise ValueError("labels must be 1 at the sampled pairs: a batch is drawn from the positives")
        grid = neg_loss * (1 - labels)
    left, right = coefficients.grid_weights(rows, cols)
    row_copies, col_copies = _copies(row_index, p, neg_loss), _copies(col_index, q, neg_loss)
    negative = weighted_grid_sum(grid, left * row_copies, col_copies if right is None else right * col_copies)
    own = neg_loss[..., row_index, col_index]
    own_negative = _own_sum(coefficients, own, rows[row_index] * cols[col_index])
    value = _positive_sum(coefficients, pos_loss) + negative + own_negative
    return _check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss}) if validate else value


def sogram_loss(
    *,
    pos_loss: Any,
    neg_diag: Any,
    neg_cross: Any,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    validate: bool = True,
) -> Array:
    """The two-batch unbiased loss of P3, equation (34) (Yuan et al. 2021, Krichene et al. 2019).

    (1/mn) ( M/s1 sum_batch1 (l+ - l-) + M^2/(s1 s2) sum over rows of batch 1, columns of batch 2 of l- / pop )

    pos_loss (..., s1) and neg_diag (..., s1): l+ and l- of the pairs of batch 1
    neg_cross (..., s1, s2): l- of the rows of batch 1 against the columns of batch 2
    row_counts (s1,) of batch 1's rows; col_counts (s2,) of batch 2's columns
    It is unbiased when the two batches are independent; with one batch used twice it is not. s1 = 1 is allowed.
    """
    pos_loss, neg_diag = as_array(pos_loss, "pos_loss"), as_array(neg_diag, "neg_diag")
    neg_cross = as_array(neg_cross, "neg_cross")
    if len(pos_loss.shape) < 1 or shape_of(neg_diag) != shape_of(pos_loss):
        raise ValueError(
            f"pos_loss and neg_diag must both have shape (..., s1), "
            f"but have {shape_of(pos_loss)} and {shape_of(neg_diag)}"
        )
    s1 = shape_of(pos_loss)[-1]
    if len(neg_cross.shape) < 2 or shape_of(neg_cross)[-2] != s1:
        raise ValueError(f"neg_cross must have shape (..., {s1}, s2), but has {shape_of(neg_cross)}")
    s2 = shape_of(neg_cross)[-1]
    coefficients = sogram_coefficients(batch_size=s1, other_batch_size=s2, n_positives=n_positives, shape=shape)
    rows = _check_counts("row_counts", row_counts, s1, neg_cross, shape[1], validate)
    cols = _check_counts("col_counts", col_counts, s2, neg_cross, shape[0], validate)
    negative = weighted_grid_sum(neg_cross, *coefficients.grid_weights(rows, cols))
    value = _positive_sum(coefficients, pos_loss) + negative + _own_sum(coefficients, neg_diag, rows)
    losses = {"pos_loss": pos_loss, "neg_diag": neg_diag, "neg_cross": neg_cross}
    return _check_value(value, losses) if validate else value


def batch_weights(
    kind: str,
    *,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    omega: Any = None,
    labels: Any = None,
) -> tuple[Array, Array]:
    """The weights of one batch written out: (w_pos (s,), w_neg (s, s)).

    batch_loss(...) = sum(w_pos * pos_loss) + sum(w_neg * neg_loss). For looking, plotting and testing; the loss itself
    never forms w_neg. Arguments as in `batch_loss`; float64, or exact when row_counts hold Fractions.
    On the diagonal of "unbiased" w_neg is a (1/pop - 1) <= 0, whatever the batch size (X2).
    """
    rows = as_array(row_counts, "row_counts")
    if len(rows.shape) != 1:
        raise ValueError(f"row_counts must have shape (s,), but has shape {shape_of(rows)}")
    s = shape_of(rows)[0]
    rows = _check_counts("row_counts", rows, s, rows, shape[1], True)
    cols = _check_counts("col_counts", col_counts, s, rows, shape[0], True)
    coefficients = batch_coefficients(kind, batch_size=s, n_positives=n_positives, shape=shape, omega=omega)
    grid_labels = None
    if coefficients.masked:
        grid_labels = _check_grid_labels(labels, pair_popularity(rows, cols), True)
    positive = number(coefficients.positive, rows) * (rows * 0 + 1)
    eye = like(np.eye(s), rows, "eye")
    return positive, _negative_weights(coefficients, rows, cols, on_diagonal=eye, labels=grid_labels)


# --------------------------------------------------------------------------------------------------------------------
# Objectives on the whole matrix


def full_objective(*, pos_loss: Any, neg_loss: Any, labels: Any, omega: Any = 1) -> Array:
    """(1/mn) ( sum over O of l+ + omega * sum outside O of l- ): what training should minimise.

    pos_loss, neg_loss (..., m, n), labels (m, n). Returns (...). omega = 1 is P3's (5) = (4); else it is (19).
    """
    pos_loss, neg_loss = _check_matrix_losses(pos_loss, neg_loss)
    omega = _check_omega("unbiased_omega", omega)
    labels = _check_labels("labels", labels, shape_of(pos_loss)[-2:], pos_loss, True)
    m, n = shape_of(labels)
    xp = namespace(pos_loss)
    positives = xp.sum(labels * pos_loss, axis=(-2, -1))
    negatives = xp.sum((1 - labels) * neg_loss, axis=(-2, -1))
    value = (positives + number(omega, pos_loss, "omega") * negatives) / (m * n)
    return _check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss})


def expected_weights(
    kind: str, *, labels: Any, batch_size: int, omega: Any = None
) -> tuple[Array, Array]:
    """Expected weight of l+ and of l- of every cell over all batches, 1/(mn) included: (W_pos, W_neg), both (m, n).

    Computed from the batch loss through Lemmas E.4-E.6 (`expectation_of`), never from the closed forms of the paper, so
    that the two can be compared. labels (m, n) of 0/1; exact for Fractions.
    Raises ValueError when a row or column has no positive (Assumption E.1) and the kind divides by the popularity:
    no batch can contain such a cell, so the promised expectation is false for it.
    """
    labels = _whole_labels(labels)
    rows, cols, n_positives = _counts(labels)
    if kind in _DIVIDED:
        _check_no_empty(rows, cols)
    coefficients = expected_coefficients(
        kind, batch_size=batch_size, n_positives=n_positives, shape=shape_of(labels), omega=omega
    )
    positive = number(coefficients.positive, labels) * labels
    return positive, _negative_weights(coefficients, rows, cols, on_diagonal=labels, labels=None)


def expected_objective(
    kind: str, *, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any = None
) -> Array:
    """E[batch_loss(kind)] over all batches of `batch_size` pairs, on full matrices.

    pos_loss, neg_loss (..., m, n), labels (m, n). Returns (...). in_batch gives P3's (13), popularity (15), pos_neg
    (16), unbiased and masked (5), unbiased_omega (19). Errors as in `expected_weights`.
    """
    pos_loss, neg_loss = _check_matrix_losses(pos_loss, neg_loss)
    labels = _check_labels("labels", labels, shape_of(pos_loss)[-2:], pos_loss, True)
    positive, negative = expected_weights(kind, labels=labels, batch_size=batch_size, omega=omega)
    value = namespace(pos_loss).sum(positive * pos_loss + negative * neg_loss, axis=(-2, -1))
    return _check_value(value, {"pos_loss": pos_loss, "neg_loss": neg_loss})


def square_objective(
    kind: str,
    *,
    users: Any,
    items: Any,
    rows: Any,
    cols: Any,
    row_counts: Any,
    col_counts: Any,
    batch_size: int | None = None,
    omega: Any = None,
    validate: bool = True,
) -> Array:
    """`expected_objective(kind)` of the square loss at scores users @ items.T, in O(|O| k + (m + n) k^2).

    The sum over all m n cells is a product of two k x k Gramians, because the weights of the grid have rank one; only
    the cells of O are visited. Differentiable: the gradient costs the same.

    users (..., m, k), items (..., n, k): embeddings; leading axes are a sweep of models
    rows, cols (M,): the pairs of O, distinct;  row_counts (m,), col_counts (n,): how often each entity occurs in them
    batch_size: needed by the kinds whose expectation depends on it (in_batch, pos_neg); omega: for unbiased_omega
    validate: False skips the checks that read values (duplicates, counts, finiteness)
    """
    users, items = _check_tables(users, items)
    (m, _), (n, _) = shape_of(users)[-2:], shape_of(items)[-2:]
    rows = _check_index("rows", rows, None, m, users, validate)
    n_positives = shape_of(rows)[0]
    cols = _check_index("cols", cols, n_positives, n, users, validate)
    if batch_size is None:
        if kind in ("in_batch", "pos_neg"):
            raise ValueError(f"kind={kind!r} needs batch_size: its expected objective depends on rho = (s-1)/(M-1)")
        batch_size = n_positives  # the expectation of the other kinds does not depend on it
    coefficients = expected_coefficients(
        kind, batch_size=batch_size, n_positives=n_positives, shape=(m, n), omega=omega
    )
    row_counts = _check_counts("row_counts", row_counts, m, users, n, validate and kind in _DIVIDED)
    col_counts = _check_counts("col_counts", col_counts, n, users, m, validate and kind in _DIVIDED)
    if validate:
        _check_distinct_pairs(rows, cols, n)
        _check_totals(row_counts, col_counts, n_positives)
    return _square_form(coefficients, users, items, rows, cols, row_counts, col_counts, validate)


def square_batch_loss(
    kind: str,
    *,
    users: Any,
    items: Any,
    row_counts: Any,
    col_counts: Any,
    n_positives: int,
    shape: tuple[int, int],
    omega: Any = None,
    validate: bool = True,
) -> Array:
    """`batch_loss(kind)` of the square loss for s pairs of embeddings, in O(s k^2) instead of O(s^2 k).

    users, items (..., s, k): row a holds the two embeddings of the batch's pair a. The rest is as in `batch_loss`.
    "masked" has no such form: which cells it leaves out is not of low rank. It raises ValueError.
    """
    users, items = _check_tables(users, items)
    s = shape_of(users)[-2]
    if shape_of(items)[-2] != s:
        raise ValueError(f"users has {s} rows and items has {shape_of(items)[-2]}; both hold one row per sampled pair")
    coefficients = batch_coefficients(kind, batch_size=s, n_positives=n_positives, shape=shape, omega=omega)
    if coefficients.masked:
        raise ValueError(
            "kind='masked' has no Gramian form: the cells it leaves out do not form a low-rank pattern; use batch_loss"
        )
    rows = _check_counts("row_counts", row_counts, s, users, shape[1], validate)
    cols = _check_counts("col_counts", col_counts, s, users, shape[0], validate)
    return _square_form(coefficients, users, items, None, None, rows, cols, validate)


# --------------------------------------------------------------------------------------------------------------------
# Lemmas E.4-E.6


def change_of_variables(f: Any, labels: Any) -> Array:
    """sum_ij |O_i,:| |O_:,j| f_ij: the double sum over O x O as a sum over cells. Source: P3, Lemma E.4.

    f (..., m, n), labels (m, n) -> (...).
    """
    f = as_array(f, "f")
    rows, cols, _ = _counts(_check_labels("labels", labels, shape_of(f)[-2:], f, True))
    return weighted_grid_sum(f, rows, cols)


def expected_positive_sum(f: Any, labels: Any, *, batch_size: int) -> Array:
    """E[ sum of f over the batch ] = (s/M) sum over O of f. Source: P3, Lemma E.5.  f (..., m, n) -> (...)."""
    f = as_array(f, "f")
    labels = _check_labels("labels", labels, shape_of(f)[-2:], f, True)
    _, _, n_positives = _counts(labels)
    p1 = inclusion_probability(1, batch_size=batch_size, n_positives=n_positives)
    return number(p1, f) * namespace(f).sum(labels * f, axis=(-2, -1))


def expected_pair_sum(f: Any, labels: Any, *, batch_size: int) -> Array:
    """E[ sum of f over the whole s x s grid ] = p1 sum_O f + p2 ( sum_ij pop_ij f_ij - sum_O f ), with p1 = s/M and
    p2 = s(s-1)/(M(M-1)). Source: P3, Lemma E.6.  f (..., m, n) -> (...)."""
    f = as_array(f, "f")
    labels = _check_labels("labels", labels, shape_of(f)[-2:], f, True)
    _, _, n_positives = _counts(labels)
    p2 = number(inclusion_probability(2, batch_size=batch_size, n_positives=n_positives), f)
    on_positives = namespace(f).sum(labels * f, axis=(-2, -1))
    once = expected_positive_sum(f, labels, batch_size=batch_size)
    return once + p2 * (change_of_variables(f, labels) - on_positives)


# --------------------------------------------------------------------------------------------------------------------
# X1: exact variance


def exact_moments(
    kind: str, *, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any = None
) -> tuple[Array, Array]:
    """(mean, variance) of `batch_loss(kind)` over all C(M, s) batches, in O(M^2) (ours, X1). Exact for Fractions.

    A batch loss is T = sum_e A_e + sum_(e != f) B_ef over the pairs e, f of the batch, so it is a sum over unordered
    pairs. Products of two such pairs overlap in 2, 1 or 0 members; the probability that all their members are in the
    batch depends on nothing else (`inclusion_probability`), and the sums over each kind of overlap follow from row
    sums. pos_loss, neg_loss (m, n), labels (m, n).
    The mean needs no Assumption E.1: it is what the batches average to, whether or not that is the objective wanted.
    """
    a, b, _ = _pair_terms(kind, pos_loss, neg_loss, labels, batch_size, omega)
    return _moments(a, b, batch_size)


def enumerate_moments(
    kind: str, *, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any = None
) -> tuple[Array, Array]:
    """(mean, variance) of `batch_loss(kind)` by visiting all C(M, s) batches: the brute force behind `exact_moments`.

    pos_loss, neg_loss (m, n), labels (m, n). Raises ValueError beyond a million batches.
    """
    values = list(enumerate_batch_losses(
        kind, pos_loss=pos_loss, neg_loss=neg_loss, labels=labels, batch_size=batch_size, omega=omega
    ))
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / len(values)


def enumerate_batch_losses(
    kind: str, *, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any = None
) -> list[Array]:
    """`batch_loss(kind)` of every batch, in the order of `itertools.combinations` over the positives, row by row."""
    pos_loss, neg_loss = _check_matrix_losses(pos_loss, neg_loss)
    labels = _check_labels("labels", labels, shape_of(pos_loss)[-2:], pos_loss, True)
    rows, cols, n_positives = _counts(labels)
    _check_sizes(batch_size, n_positives, least=1)
    if math.comb(n_positives, batch_size) > _ENUMERATION_LIMIT:
        raise ValueError(
            f"{math.comb(n_positives, batch_size)} batches of {batch_size} out of {n_positives} positives are more "
            f"than {_ENUMERATION_LIMIT}; use exact_moments, which needs no enumeration"
        )
    values = []
    for batch in itertools.combinations(_positives(labels), batch_size):
        i, j = [pair[0] for pair in batch], [pair[1] for pair in batch]
        values.append(batch_loss(
            kind, pos_loss=pos_loss[i, j], neg_loss=neg_loss[i][:, j], row_counts=rows[i], col_counts=cols[j],
            n_positives=n_positives, shape=shape_of(labels), omega=omega,
            labels=labels[i][:, j] if kind == "masked" else None,
        ))
    return values


class OptimalMix(NamedTuple):
    """The unbiased loss masked + c (unbiased - masked) of least variance; see `optimal_mix`."""

    c: Any
    variance: Any
    variance_masked: Any
    variance_unbiased: Any


def optimal_mix(*, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int) -> OptimalMix:
    """c* = -Cov(masked, Z) / Var Z, where Z = unbiased - masked has mean zero (ours, X2).

    Every masked + c Z is unbiased: c = 0 is the masked loss, c = 1 is (17). Neither is always the quieter one; c* is
    the best of the family at these scores. Where Z vanishes (every pair of O has popularity 1) c* is set to 0.
    pos_loss, neg_loss (m, n), labels (m, n). Exact for Fractions.
    """
    terms = [_pair_terms(kind, pos_loss, neg_loss, labels, batch_size, None) for kind in ("masked", "unbiased")]
    (a0, b0, _), (a1, b1, _) = terms
    _, var_masked = _moments(a0, b0, batch_size)
    _, var_unbiased = _moments(a1, b1, batch_size)
    _, var_z = _moments(a1 - a0, b1 - b0, batch_size)
    if var_z <= (0 if is_exact(a0) else 1e-24 * float(var_masked + var_unbiased)):  # rounding may leave a trace of Z
        return OptimalMix(var_z * 0, var_masked, var_masked, var_unbiased)
    covariance = (var_unbiased - var_masked - var_z) / 2
    c = -covariance / var_z
    return OptimalMix(c, var_masked + c * covariance, var_masked, var_unbiased)


# --------------------------------------------------------------------------------------------------------------------
# X3: the best weight of one negative cell


def observation_probability(a: Any, b: Any, *, batch_size: int, n_positives: int) -> Any:
    """P(a cell outside O is in the batch's grid) when its row has a positives and its column b.

    p = 1 - [ C(M-a, s) + C(M-b, s) - C(M-a-b, s) ] / C(M, s): the batch must hit the row and the column, and for a
    cell outside O the positives of its row and of its column are different pairs, so a + b <= M.
    Integers give an exact Fraction; NumPy arrays (they broadcast) give float64, accurate also where p is tiny.
    """
    _check_sizes(batch_size, n_positives, least=1)
    if isinstance(a, numbers.Integral) and isinstance(b, numbers.Integral):
        _check_cell_counts(a, b, n_positives)
        return _observed_exactly(int(a), int(b), int(batch_size), int(n_positives))
    a, b = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    cells, where = np.unique(np.stack([a.ravel(), b.ravel()]), axis=1, return_inverse=True)
    for row, col in cells.T:
        _check_cell_counts(row, col, n_positives)
    values = [_observed_in_float(int(row), int(col), int(batch_size), int(n_positives)) for row, col in cells.T]
    return np.array(values)[where].reshape(a.shape)[()]


def horvitz_thompson_weight(a: Any, b: Any, *, batch_size: int, n_positives: int) -> Any:
    """1 / p: the weight of a seen negative cell that is unbiased and has the least second moment (ours, X3).

    a = |O_i,:| and b = |O_:,j| of a cell (i, j) outside O; p is its `observation_probability`. By Cauchy-Schwarz any
    weight w that is zero when the cell is unseen and has E w = 1 satisfies E w^2 >= 1/p, with equality for this one.
    The in-batch losses instead count how often the cell occurs in the grid. Best cell by cell; no claim is made about
    the variance of the sum over cells. Integers give a Fraction, arrays give float64. Needs batch_size >= 2.
    """
    if batch_size < 2:
        raise ValueError(
            f"batch_size={batch_size}: a cell outside O needs two sampled pairs, one from its row and one from its "
            f"column, so a batch of one never shows it and no weight can make it unbiased"
        )
    return 1 / observation_probability(a, b, batch_size=batch_size, n_positives=n_positives)


def count_weight_second_moment(a: Any, b: Any, *, batch_size: int, n_positives: int) -> Any:
    """E w^2 of the weight that (17) gives to a negative cell, in units of 1/(mn): never below the 1/p of X3.

    (17) weighs the cell by how often the grid shows it: w = X Y / (a b p2), where X and Y count the batch's pairs in
    its row (a of them in O) and in its column (b), and p2 is the probability of two given pairs. Row and column of a
    cell outside O share no pair, so with p_r = `inclusion_probability(r)`
    E (X Y)^2 = a(a-1) b(b-1) p4 + (a(a-1) b + a b(b-1)) p3 + a b p2.
    Integers give a Fraction; NumPy arrays (they broadcast) give float64. Needs batch_size >= 2, a, b >= 1.
    """
    if batch_size < 2:
        raise ValueError(f"batch_size={batch_size}: a batch of one pair shows no cell outside O; use batch_size >= 2")
    whole = isinstance(a, numbers.Integral) and isinstance(b, numbers.Integral)
    p2, p3, p4 = (inclusion_probability(r, batch_size=batch_size, n_positives=n_positives) for r in (2, 3, 4))
    if whole:
        a, b = Fraction(int(a)), Fraction(int(b))
    else:
        a, b, p2, p3, p4 = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64), *map(float, (p2, p3, p4))
    if bool(np.any((a < 1) | (b < 1) | (a + b > n_positives))):
        raise ValueError(
            f"a={a} and b={b} must be >= 1 with a + b <= n_positives={n_positives}: for a cell outside O the positives "
            f"of its row and of its column are different pairs, and each has at least one (Assumption E.1)"
        )
    rows, cols = a * (a - 1), b * (b - 1)
    return (rows * cols * p4 + (rows * b + a * cols) * p3 + a * b * p2) / (a * b * p2) ** 2


# --------------------------------------------------------------------------------------------------------------------
# X4: what the biased objective wants


def in_batch_optimum(loss: str, *, pop: Any, batch_size: Any, n_positives: Any) -> Any:
    """The score of a positive pair that minimises its own term of (14), l+ + rho (pop - 1) l- (ours, X4).

    loss "square": 1 / (1 + rho (pop - 1));  "logistic": -log(rho (pop - 1)), which is +inf where pop = 1.
    pop: number or NumPy array, >= 1. Square is exact when pop is an int or a Fraction and n_positives a Fraction.
    """
    if bool(np.any(np.asarray(pop) < 1)):
        raise ValueError(f"pop={pop} must be >= 1: a positive pair is itself in its row and in its column")
    pull = balance(batch_size, n_positives) * (pop - 1)
    if loss == "square":
        return 1 / (1 + pull)
    if loss == "logistic":
        with np.errstate(divide="ignore"):
            return -np.log(np.asarray(pull, dtype=np.float64))[()]
    raise ValueError(f"loss={loss!r} is unknown; expected 'square' or 'logistic'")


def misclassification_threshold(batch_size: Any, n_positives: Any) -> Any:
    """1 + (M - 1)/(s - 1): positives that are more popular than this want to be classified as negatives (ours, X4).

    Above it the optimal score of (14) lies below 1/2 (square) or below 0 (logistic): rho (pop - 1) > 1 in both.
    A Fraction argument gives a Fraction. Needs batch_size >= 2.
    """
    if batch_size < 2:
        raise ValueError(f"batch_size={batch_size}: with one pair per batch there are no negatives and no threshold")
    return 1 + 1 / balance(batch_size, n_positives)


# --------------------------------------------------------------------------------------------------------------------
# How coefficients are used (private)


def _positive_sum(coefficients: Coefficients, pos_loss: Array) -> Array:
    """positive * sum_S l+ of (*)."""
    return number(coefficients.positive, pos_loss) * namespace(pos_loss).sum(pos_loss, axis=-1)


def _own_sum(coefficients: Coefficients, own: Array, own_popularity: Array) -> Array:
    """sum_S (constant + inverse / pop) l- of (*), where `own` (..., |S|) holds l- of the pairs of S."""
    weights = coefficients.own_weights(own_popularity)
    return 0 if weights is None else namespace(own).sum(weights * own, axis=-1)


def _negative_weights(
    coefficients: Coefficients, rows: Array, cols: Array, *, on_diagonal: Array, labels: Array | None
) -> Array:
    """The weights of l- written out, where `on_diagonal` marks the pairs of S."""
    left, right = coefficients.grid_weights(rows, cols)
    weights = pair_popularity(left, cols * 0 + 1 if right is None else right)
    if labels is not None:
        weights = weights * (1 - labels)
    own = coefficients.own_weights(pair_popularity(rows, cols))
    return weights if own is None else weights + on_diagonal * own


def _square_form(
    coefficients: Coefficients,
    users: Array,
    items: Array,
    rows: Array | None,
    cols: Array | None,
    row_counts: Array,
    col_counts: Array,
    validate: bool,
) -> Array:
    """Formula (*) for l+ = (1 - score)^2 / 2 and l- = score^2 / 2 through Gramians; rows = None means pair a is (a, a)."""
    u, v = (users, items) if rows is None else (users[..., rows, :], items[..., cols, :])
    row_pop, col_pop = (row_counts, col_counts) if rows is None else (row_counts[rows], col_counts[cols])
    scores = namespace(u).sum(u * v, axis=-1)  # (..., |S|, k) -> (..., |S|)
    left, right = coefficients.grid_weights(row_counts, col_counts)
    grid_sum = gramians.all_pairs_square(users, items, left_weights=left, right_weights=right) / 2
    value = (
        _positive_sum(coefficients, (1 - scores) * (1 - scores) / 2)
        + grid_sum
        + _own_sum(coefficients, scores * scores / 2, row_pop * col_pop)
    )
    return _check_value(value, {"users": users, "items": items}) if validate else value


def _pair_terms(
    kind: str, pos_loss: Any, neg_loss: Any, labels: Any, batch_size: int, omega: Any
) -> tuple[Array, Array, int]:
    """(A (M,), B (M, M) with a zero diagonal, M) of X1 for the positives in row-major order."""
    pos_loss, neg_loss = _check_matrix_losses(pos_loss, neg_loss)
    if len(pos_loss.shape) != 2:
        raise ValueError(f"pos_loss must have shape (m, n), but has shape {shape_of(pos_loss)}")
    labels = _check_labels("labels", labels, shape_of(pos_loss), pos_loss, True)
    rows, cols, n_positives = _counts(labels)
    coefficients = batch_coefficients(
        kind, batch_size=batch_size, n_positives=n_positives, shape=shape_of(labels), omega=omega
    )
    pairs = _positives(labels)
    i, j = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    negative = neg_loss[i][:, j]  # (M, M): row of pair e against column of pair f
    weights = _negative_weights(
        coefficients, rows[i], cols[j],
        on_diagonal=like(np.eye(n_positives), pos_loss, "eye"),
        labels=labels[i][:, j] if coefficients.masked else None,
    )
    terms = weights * negative
    own = diagonal(terms)
    a = number(coefficients.positive, pos_loss) * pos_loss[i, j] + own
    b = terms * (1 - like(np.eye(n_positives), pos_loss, "eye"))
    _check_value(namespace(a).sum(a) + namespace(b).sum(b), {"pos_loss": pos_loss, "neg_loss": neg_loss})
    return a, b, n_positives


def _moments(a: Array, b: Array, batch_size: int) -> tuple[Array, Array]:
    """(mean, variance) of sum_e a_e + sum_(e != f) b_ef over uniform subsets of `batch_size` members."""
    xp, n_positives = namespace(a), shape_of(a)[0]
    p1, p2, p3, p4 = (
        number(inclusion_probability(order, batch_size=batch_size, n_positives=n_positives), a)
        for order in (1, 2, 3, 4)
    )
    if batch_size == 1:
        mean = p1 * xp.sum(a)
        return mean, p1 * xp.sum((a - mean) ** 2)
    # k_ef = (a_e + a_f)/(s - 1) + b_ef + b_fe for e != f: every batch value is a sum of k over its unordered pairs.
    # All batches hold equally many pairs, so taking the mean off k moves the mean only; it keeps floats accurate.
    off = 1 - like(np.eye(n_positives), a, "eye")
    k = ((a[:, None] + a[None, :]) / (batch_size - 1) + b + b.swapaxes(0, 1)) * off
    total = xp.sum(k) / 2
    k = (k - total * 2 / (n_positives * (n_positives - 1))) * off  # now the sum over all pairs is 0
    squares = xp.sum(k * k) / 2  # two members shared
    row_squares = xp.sum(xp.sum(k, axis=1) ** 2)
    one_shared, none_shared = row_squares - 2 * squares, squares - row_squares
    return p2 * total, _not_negative(p2 * squares + p3 * one_shared + p4 * none_shared)


def _not_negative(variance: Array) -> Array:
    """Rounding may leave a variance of 0 at -1e-20; exact numbers pass through."""
    if isinstance(variance, Fraction):
        return variance
    return variance.clamp(min=0) if is_torch(variance) else max(variance, variance * 0)


def _observed_exactly(a: int, b: int, s: int, m: int) -> Fraction:
    missed = math.comb(m - a, s) + math.comb(m - b, s) - math.comb(m - a - b, s)
    return 1 - Fraction(missed, math.comb(m, s))


def _observed_in_float(a: int, b: int, s: int, m: int) -> float:
    """The same without cancellation: P(hit row) P(hit column) minus the small price of drawing without replacement.

    log P(row missed) = sum_t log(1 - s/(M-t)); given a missed row, the column is missed with a slightly smaller
    probability, by the factor prod_t (1 - a s / ((M-a-t)(M-s-t))).
    """
    if a == 0 or b == 0:
        return 0.0
    log_miss_row, log_miss_col = _log_missed(a, s, m), _log_missed(b, s, m)
    both_free = -math.expm1(log_miss_row) * -math.expm1(log_miss_col)
    if a + b > m - s:  # both together cannot be missed
        return both_free - math.exp(log_miss_row + log_miss_col)
    t = np.arange(b, dtype=np.float64)
    shrink = np.log1p(-a * s / ((m - a - t) * (m - s - t))).sum()
    return both_free + math.exp(log_miss_row + log_miss_col) * math.expm1(shrink)


def _log_missed(a: int, s: int, m: int) -> float:
    if a > m - s:
        return -math.inf
    return float(np.log1p(-s / (m - np.arange(a, dtype=np.float64))).sum())


# --------------------------------------------------------------------------------------------------------------------
# Numbers and counts (private)


def _rho(batch_size: Any, n_positives: Any) -> Fraction:
    """(s - 1)/(M - 1) as a Fraction; 0 for s = 1, whatever M. Python integers inside: NumPy's would overflow."""
    return Fraction(0) if batch_size == 1 else Fraction(int(batch_size) - 1, int(n_positives) - 1)


def _times(value: Any, factor: Any) -> Any:
    """value * factor; a Fraction becomes a float where the factor is a float, an array or a tensor (an exact zero stays)."""
    if isinstance(value, Fraction) and not isinstance(factor, numbers.Rational) and not hasattr(factor, "free_symbols"):
        return value if value == 0 else float(value) * factor
    return value * factor


def _factor(value: Any, reference: Array) -> Any:
    """A coefficient as a factor for (..., p) weights: a number, or an array of them (a sweep) with a last axis."""
    value = number(value, reference, "omega")
    return like(value, reference, "omega")[..., None] if getattr(value, "shape", ()) else value


def _is_zero(value: Any) -> bool:
    return isinstance(value, numbers.Real) and value == 0


def _reply(value: Fraction, *arguments: Any) -> Any:
    return value if any(isinstance(x, Fraction) for x in arguments) else float(value)


def _counts(labels: Array) -> tuple[Array, Array, int]:
    """(row counts (m,), column counts (n,), M) of a label matrix, in its own kind of array."""
    xp = namespace(labels)
    return xp.sum(labels, axis=1), xp.sum(labels, axis=0), int(xp.sum(labels != 0))


def _positives(labels: Array) -> list[tuple[int, int]]:
    mask = np.asarray(labels.detach().cpu() if is_torch(labels) else labels != 0, dtype=bool)
    return [(int(i), int(j)) for i, j in np.argwhere(mask)]


def _copies(index: Array, length: int, reference: Array) -> Array:
    """How often each of `length` entities occurs in `index`."""
    copies = np.bincount(np.asarray(index.cpu() if is_torch(index) else index), minlength=length)
    return like(copies, reference, "copies")


# --------------------------------------------------------------------------------------------------------------------
# Checks (private): each message names the argument, what was given, what was expected, and why


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is unknown; expected one of {KINDS}")


def _check_omega(kind: str, omega: Any) -> Any:
    if kind != "unbiased_omega":
        if omega is not None:
            raise ValueError(f"omega={omega!r} was given, but kind={kind!r} has no omega; use kind='unbiased_omega'")
        return None
    if omega is None:
        raise ValueError("kind='unbiased_omega' needs omega >= 0, the weight of the negative pairs in equation (19)")
    if isinstance(omega, numbers.Real) and not (omega >= 0 and math.isfinite(omega)):
        raise ValueError(f"omega={omega} must be finite and >= 0: it is the weight of the negative pairs")
    return to_fraction(omega, "omega") if isinstance(omega, numbers.Rational) else omega


def _check_sizes(batch_size: Any, n_positives: Any, *, least: int) -> None:
    for name, value in (("batch_size", batch_size), ("n_positives", n_positives)):
        if not isinstance(value, numbers.Rational) or value != int(value):
            raise ValueError(f"{name}={value!r} must be a whole number of pairs")
    if n_positives < 1:
        raise ValueError(f"n_positives={n_positives}: the label matrix needs at least one positive pair")
    if batch_size < least:
        raise ValueError(f"batch_size={batch_size} must be at least {least}")
    if batch_size > n_positives:
        raise ValueError(
            f"batch_size={batch_size} exceeds n_positives={n_positives}: a batch is drawn without replacement "
            f"(Assumption E.2), so it cannot hold more pairs than there are"
        )


def _check_pairs_needed(kind: str, batch_size: int) -> None:
    if batch_size == 1 and kind not in ("in_batch", "pos_neg"):
        raise ValueError(
            f"batch_size=1: kind={kind!r} divides by batch_size - 1. One sampled pair makes a 1 x 1 grid with no "
            f"off-diagonal cell, so no cell outside O is ever seen and no loss built from the batch can be unbiased; "
            f"use batch_size >= 2"
        )


def _check_shape(shape: Any, n_positives: Any) -> tuple[int, int]:
    try:
        m, n = (int(side) for side in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape={shape!r} must be (m, n), the shape of the whole label matrix") from None
    if m < 1 or n < 1 or n_positives > m * n:
        raise ValueError(f"shape=({m}, {n}) cannot hold n_positives={n_positives} distinct positive pairs")
    return m, n


def _check_batch_losses(pos_loss: Any, neg_loss: Any) -> tuple[Array, Array]:
    pos_loss, neg_loss = as_array(pos_loss, "pos_loss"), as_array(neg_loss, "neg_loss")
    _check_same_kind(pos_loss, neg_loss)
    s = shape_of(pos_loss)[-1] if pos_loss.shape else 0
    if s == 0 or shape_of(neg_loss)[-2:] != (s, s):
        raise ValueError(
            f"pos_loss must have shape (..., s) and neg_loss (..., s, s) with s >= 1, "
            f"but they have {shape_of(pos_loss)} and {shape_of(neg_loss)}"
        )
    return pos_loss, neg_loss


def _check_matrix_losses(pos_loss: Any, neg_loss: Any) -> tuple[Array, Array]:
    pos_loss, neg_loss = as_array(pos_loss, "pos_loss"), as_array(neg_loss, "neg_loss")
    _check_same_kind(pos_loss, neg_loss)
    if len(pos_loss.shape) < 2 or shape_of(pos_loss)[-2:] != shape_of(neg_loss)[-2:]:
        raise ValueError(
            f"pos_loss and neg_loss must have shape (..., m, n), "
            f"but they have {shape_of(pos_loss)} and {shape_of(neg_loss)}"
        )
    return pos_loss, neg_loss


def _check_same_kind(pos_loss: Array, neg_loss: Array) -> None:
    if is_torch(pos_loss) != is_torch(neg_loss) or is_exact(pos_loss) != is_exact(neg_loss):
        raise ValueError(
            f"pos_loss ({type(pos_loss).__name__}, {pos_loss.dtype}) and neg_loss ({type(neg_loss).__name__}, "
            f"{neg_loss.dtype}) must be the same kind of array: both NumPy, both torch, or both exact"
        )


def _check_counts(
    name: str, counts: Any, length: int, reference: Array, largest: int, validate: bool
) -> Array:
    counts = like(counts, reference, name)
    if not counts.shape or shape_of(counts)[-1] != length:
        raise ValueError(f"{name} must have shape ({length},), but has shape {shape_of(counts)}")
    if validate:
        bad = first_index((counts < 1) | (counts > largest) | (counts != counts))
        if bad is not None:
            index = bad[0] if len(bad) == 1 else bad
            raise ValueError(
                f"{name}[{index}] = {counts[bad]} must lie between 1 and {largest}: every entity has at least one "
                f"positive (Assumption E.1), and no more than the other side has entities"
            )
    return counts


def _check_totals(row_counts: Array, col_counts: Array, n_positives: int) -> None:
    for name, counts in (("row_counts", row_counts), ("col_counts", col_counts)):
        total = float(namespace(counts).sum(counts * 1.0 if not is_exact(counts) else counts))
        if abs(total - n_positives) > 1e-4 * n_positives:
            raise ValueError(f"{name} sum to {total:g}, but rows and cols name {n_positives} positive pairs")


def _check_tables(users: Any, items: Any) -> tuple[Array, Array]:
    users, items = as_array(users, "users"), as_array(items, "items")
    _check_same_kind(users, items)
    if min(len(users.shape), len(items.shape)) < 2 or shape_of(users)[-1] != shape_of(items)[-1]:
        raise ValueError(
            f"users and items must have shapes (..., m, k) and (..., n, k) with one width k, "
            f"but they have {shape_of(users)} and {shape_of(items)}"
        )
    return users, items


def _check_labels(name: str, labels: Any, shape: tuple[int, ...], reference: Array, validate: bool) -> Array:
    if labels is None:
        raise ValueError(f"{name} is missing: kind='masked' must know which cells of the grid are positives")
    labels = like(labels, reference, name)
    if shape_of(labels) != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, but has shape {shape_of(labels)}")
    if validate:
        bad = first_index((labels != 0) & (labels != 1))
        if bad is not None:
            raise ValueError(f"{name}{list(bad)} = {labels[bad]} must be 0 or 1 (1 = positive pair)")
    return labels


def _check_grid_labels(labels: Any, neg_loss: Array, validate: bool) -> Array:
    side = shape_of(neg_loss)[-1]
    labels = _check_labels("labels", labels, (side, side), neg_loss, validate)
    if validate:
        bad = first_index(diagonal(labels) != 1)
        if bad is not None:
            raise ValueError(
                f"labels[{bad[0]}, {bad[0]}] = 0, but the diagonal of the grid holds the sampled pairs, all positive"
            )
    return labels


def _whole_labels(labels: Any) -> Array:
    array = as_array(labels, "labels")
    if len(array.shape) != 2:
        raise ValueError(f"labels must have shape (m, n), but has shape {shape_of(array)}")
    return _check_labels("labels", array, shape_of(array), array, True)


def _check_no_empty(rows: Array, cols: Array) -> None:
    for name, counts in (("row", rows), ("column", cols)):
        empty = first_index(counts == 0)
        if empty is not None:
            raise ValueError(
                f"labels: {name} {empty[0]} has no positive pair, against Assumption E.1. No batch can contain a cell "
                f"of it, so its l- terms are missing from every expectation; drop empty rows and columns first"
            )


def _check_index(
    name: str, index: Any, length: int | None, size: int, reference: Array, validate: bool
) -> Array:
    index = as_index(index, reference, name)
    if len(index.shape) != 1 or (length is not None and shape_of(index)[0] != length):
        expected = "(M,)" if length is None else f"({length},)"
        raise ValueError(f"{name} must have shape {expected}, but has shape {shape_of(index)}")
    if validate:
        bad = first_index((index < 0) | (index >= size))
        if bad is not None:
            raise ValueError(f"{name}[{bad[0]}] = {int(index[bad])} lies outside 0..{size - 1}")
    return index


def _check_distinct_pairs(row_index: Array, col_index: Array, n_cols: int) -> None:
    rows, cols = (np.asarray(x.cpu() if is_torch(x) else x, dtype=np.int64) for x in (row_index, col_index))
    values, first, copies = np.unique(rows * n_cols + cols, return_index=True, return_counts=True)
    if len(values) != len(rows):
        at = first[np.argmax(copies > 1)]
        raise ValueError(
            f"the pair ({rows[at]}, {cols[at]}) occurs {copies.max()} times; positives are a set and a batch is drawn "
            f"without replacement (Assumption E.2), or the expectations of this module do not hold"
        )


def _check_cell_counts(a: Any, b: Any, n_positives: int) -> None:
    if a < 0 or b < 0 or a + b > n_positives:
        raise ValueError(
            f"a={a}, b={b} must be >= 0 with a + b <= n_positives={n_positives}: for a cell outside O the positives "
            f"of its row and of its column are different pairs"
        )


def _check_value(value: Array, losses: dict[str, Array]) -> Array:
    if is_exact(value) or isinstance(value, numbers.Rational) or all_finite(value):
        return value
    for name, loss in losses.items():
        xp = namespace(loss)
        bad = first_index(~xp.isfinite(loss))
        if bad is not None:
            raise ValueError(f"{name}{list(bad)} = {float(loss[bad])}: every entry must be finite")
    raise ValueError(f"the loss overflowed to {value} although every entry is finite; use float64 or smaller scores")
