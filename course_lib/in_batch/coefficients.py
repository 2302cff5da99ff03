"""The one source of formulas: the weights of every batch loss and of every expected objective."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from course_lib import checking
from course_lib.arrays import Array, like, namespace, number
from course_lib.in_batch.checks import check_omega, check_pairs_needed, check_shape, check_sizes
from course_lib.in_batch.sampling import exact_balance, inclusion_probability, pair_popularity

KINDS = ("in_batch", "unbiased", "unbiased_omega", "popularity", "pos_neg", "masked")
DIVIDED = ("unbiased", "unbiased_omega", "pos_neg", "masked")
"""The kinds that divide l- by the popularity of the pair."""


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
        """counts^power: one side's part of the weight grid * pop^power of a grid cell; None stands for ones."""
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

    def positive_sum(self, pos_loss: Array) -> Array:
        """positive * sum_S l+, for pos_loss (..., |S|)."""
        return number(self.positive, pos_loss) * namespace(pos_loss).sum(pos_loss, axis=-1)

    def own_sum(self, own: Array, own_popularity: Array) -> Array | int:
        """sum_S (constant + inverse / pop) l-, where `own` (..., |S|) holds l- of the pairs of S."""
        weights = self.own_weights(own_popularity)
        return 0 if weights is None else namespace(own).sum(weights * own, axis=-1)


def coefficients_from(kind: str, *, a: Any, rho: Any) -> Coefficients:
    """The formulas, as plain arithmetic in a = M / (m n s) and rho = (s - 1) / (M - 1).

    Rationals, floats and sympy symbols all work: the chapters' proofs put symbols in and prove these very lines.

    in_batch   (28)  a [ sum l+ + sum sum l- - sum l- ]
    pos_neg    (27)  a [ sum l+ + sum sum l-/pop - sum ((1 - rho)/pop + rho) l- ]
    popularity (26)  in_batch with l- multiplied by 1/rho
    unbiased   (17)  pos_neg with l- multiplied by 1/rho  (unbiased_omega (25): by omega/rho; omega is put in later)
    masked           a [ sum l+ + 1/rho sum over grid cells outside O of l-/pop ]  (claim X2)
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
    omega = check_omega(kind, omega)
    return _unit_coefficients(kind, batch_size, n_positives, shape).weigh_negatives(omega)


def expected_coefficients(
    kind: str, *, batch_size: int, n_positives: int, shape: tuple[int, int], omega: Any = None
) -> Coefficients:
    """The coefficients of the objective that `kind` minimises in expectation; here S is O and the grid all of m x n.

    in_batch gives (13), popularity (15), pos_neg (16), unbiased and masked (5), unbiased_omega (19).
    """
    omega = check_omega(kind, omega)
    p1, p2 = (inclusion_probability(order, batch_size=batch_size, n_positives=n_positives) for order in (1, 2))
    unit = _unit_coefficients(kind, batch_size, n_positives, shape)
    return expectation_of(unit, p1=p1, p2=p2).weigh_negatives(omega)


def sogram_coefficients(
    *, batch_size: int, other_batch_size: int, n_positives: int, shape: tuple[int, int]
) -> Coefficients:
    """The coefficients of the two-batch loss, P3 equation (34): S is batch 1, the grid is batch 1 x batch 2."""
    check_sizes(batch_size, n_positives, least=1)
    check_sizes(other_batch_size, n_positives, least=1)
    m, n = check_shape(shape, n_positives)
    a = Fraction(int(n_positives), m * n * int(batch_size))
    return Coefficients(a, a * Fraction(int(n_positives), int(other_batch_size)), -1, -a, 0 * a)


def _unit_coefficients(kind: str, batch_size: int, n_positives: int, shape: tuple[int, int]) -> Coefficients:
    """The exact coefficients before omega."""
    checking.choice(kind, "kind", KINDS)
    check_sizes(batch_size, n_positives, least=1)
    m, n = check_shape(shape, n_positives)
    check_pairs_needed(kind, batch_size)
    a = Fraction(int(n_positives), m * n * int(batch_size))
    return coefficients_from(kind, a=a, rho=exact_balance(batch_size, n_positives))


def negative_weights(
    coefficients: Coefficients, rows: Array, cols: Array, *, on_diagonal: Array, labels: Array | None
) -> Array:
    """The weights of l- written out, where `on_diagonal` marks the pairs of S."""
    left, right = coefficients.grid_weights(rows, cols)
    weights = pair_popularity(left, cols * 0 + 1 if right is None else right)
    if labels is not None:
        weights = weights * (1 - labels)
    own = coefficients.own_weights(pair_popularity(rows, cols))
    return weights if own is None else weights + on_diagonal * own


def _times(value: Any, factor: Any) -> Any:
    """value * factor; a Fraction times a float, array or tensor becomes a float first (an exact zero stays)."""
    if isinstance(value, Fraction) and not isinstance(factor, numbers.Rational) and not hasattr(factor, "free_symbols"):
        return value if value == 0 else float(value) * factor
    return value * factor


def _factor(value: Any, reference: Array) -> Any:
    """A coefficient as a factor for (..., p) weights: a number, or an array of them (a sweep) with a last axis."""
    value = number(value, reference, "omega")
    return like(value, reference, "omega")[..., None] if getattr(value, "shape", ()) else value


def _is_zero(value: Any) -> bool:
    return isinstance(value, numbers.Real) and value == 0
