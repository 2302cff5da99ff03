"""The one source of formulas: the weights of every batch loss and of every expected objective."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from course_lib import checking
from course_lib.arrays import Array, like, namespace, number, shape_of
from course_lib.in_batch.checks import check_omega, check_pairs_needed, check_shape, check_sizes
from course_lib.in_batch.sampling import exact_balance, inclusion_probability

KINDS = ("in_batch", "unbiased", "unbiased_omega", "popularity", "pos_neg", "masked")
DIVIDED = ("unbiased", "unbiased_omega", "pos_neg", "masked")
"""The kinds that divide l- by the popularity of the pair."""


@dataclass(frozen=True)
class Coefficients:
    """The weights of a batch loss or of an expected objective.

    Formula ``(*)`` in the docstring of ``course_lib.in_batch`` says how they enter.

    Parameters
    ----------
    positive : number
        The weight of each ``l+`` of ``S``.
    grid : number
        With ``power``, the weight of ``l-`` of every grid cell: ``grid * pop^power``.
    power : int
        The exponent of the popularity.
    constant, inverse : number
        Each pair of ``S`` weighs its ``l-`` by a further ``constant + inverse / pop``.
    masked : bool, optional
        Whether cells of ``O`` are left out of the sum over the grid.

    Examples
    --------
    ``weigh_negatives`` changes every weight of ``l-`` and leaves that of ``l+``:

    >>> from course_lib import in_batch
    >>> in_batch.Coefficients(positive=1, grid=1, power=0, constant=-1, inverse=0).weigh_negatives(2)
    Coefficients(positive=1, grid=2, power=0, constant=-2, inverse=0, masked=False)
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
        if self.power in (-1, 1):
            return 1 / counts if self.power < 0 else counts
        return counts**self.power

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
    """Return the weights of a batch loss, as plain arithmetic in ``a`` and ``rho``.

    The formulas, by kind, with their equations in P3:

    - "in_batch", (28): ``a [ sum l+ + sum sum l- - sum l- ]``
    - "pos_neg", (27): ``a [ sum l+ + sum sum l-/pop - sum ((1 - rho)/pop + rho) l- ]``
    - "popularity", (26): "in_batch" with ``l-`` multiplied by ``1/rho``
    - "unbiased", (17): "pos_neg" with ``l-`` multiplied by ``1/rho``
    - "unbiased_omega", (25): by ``omega/rho``; omega is put in later
    - "masked": ``a [ sum l+ + 1/rho sum over grid cells outside O of l-/pop ]`` (claim X2)

    Parameters
    ----------
    kind : str
        One of ``KINDS``. The caller checks it.
    a : number
        ``M / (m n s)``.
    rho : number
        ``(s - 1) / (M - 1)``.

    Returns
    -------
    Coefficients
        The weights.

    Notes
    -----
    Rationals, floats and sympy symbols all work: the proofs of the chapters put symbols in and prove these lines.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from course_lib import in_batch
    >>> in_batch.coefficients_from("in_batch", a=1, rho=Fraction(1, 2))
    Coefficients(positive=1, grid=1, power=0, constant=-1, inverse=0, masked=False)
    """
    if kind in ("in_batch", "popularity"):
        plain = Coefficients(a, a, 0, -a, 0 * a)
    elif kind == "masked":
        plain = Coefficients(a, a, -1, 0 * a, 0 * a, masked=True)
    else:
        plain = Coefficients(a, a, -1, -a * rho, a * (rho - 1))
    return plain if kind in ("in_batch", "pos_neg") else plain.weigh_negatives(1 / rho)


def expectation_of(coefficients: Coefficients, *, p1: Any, p2: Any) -> Coefficients:
    """Return the expected objective of a batch loss, by Lemmas E.4-E.6 of P3, as plain arithmetic.

    A grid cell ``(i, j)`` is produced by ``pop_ij`` pairs of pairs (E.4), so the power of the grid rises by one. The
    pairs that meet themselves, on the diagonal, come with ``p1`` instead of ``p2``: that difference is left over on
    ``O`` (E.6).

    Parameters
    ----------
    coefficients : Coefficients
        The weights of the batch loss.
    p1, p2 : number
        The probability that one pair, and that two given pairs, are in the batch.

    Returns
    -------
    Coefficients
        The weights of the objective, where ``S`` is ``O`` and the grid is the whole matrix.

    Raises
    ------
    ValueError
        For a power other than 0 and -1, and other than -1 with a mask: what is left over on ``O`` then has no place in
        ``Coefficients``. The expectation of an expectation is such a case.

    Examples
    --------
    The in-batch loss weighs each grid cell by the same number. In expectation, each cell weighs ``pop`` times a number:

    >>> from fractions import Fraction
    >>> from course_lib import in_batch
    >>> loss = in_batch.coefficients_from("in_batch", a=1, rho=Fraction(1, 2))
    >>> expected = in_batch.expectation_of(loss, p1=Fraction(2, 3), p2=Fraction(1, 3))
    >>> loss.power, expected.power
    (0, 1)
    >>> expected.positive, expected.grid, expected.constant
    (Fraction(2, 3), Fraction(1, 3), Fraction(-1, 3))
    """
    if coefficients.power not in ((-1,) if coefficients.masked else (-1, 0)):
        expected = "-1, the power of the masked loss" if coefficients.masked else "-1 or 0, the power of a batch loss"
        raise checking.refuse(coefficients.power, "coefficients.power", expected)
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
    """Return the weights of one batch loss of ``batch_size`` pairs.

    Parameters
    ----------
    kind : str
        One of ``KINDS``; the formulas are in ``coefficients_from``.
    batch_size : int
        The number of pairs in the batch.
    n_positives : int
        The number of positive pairs ``|O|``.
    shape : tuple of int
        The shape ``(m, n)`` of the label matrix.
    omega : number or array, optional
        The weight of the negatives, at least 0, for "unbiased_omega" only.

    Returns
    -------
    Coefficients
        Exact rationals, unless ``omega`` is a float or an array.

    Raises
    ------
    ValueError
        For an unknown kind, sizes that do not fit, a batch of one pair where the loss divides by ``s - 1``, and an
        ``omega`` that is missing, negative, infinite, or not asked for.

    Notes
    -----
    Source: P3, equations (17), (25)-(28).

    Examples
    --------
    Two of three positives of a 2 x 2 matrix, so that every positive weighs ``M / (m n s) = 3/8``:

    >>> from course_lib import in_batch
    >>> in_batch.batch_coefficients("in_batch", batch_size=2, n_positives=3, shape=(2, 2)).positive
    Fraction(3, 8)
    """
    omega = check_omega(kind, omega)
    return _unit_coefficients(kind, batch_size, n_positives, shape).weigh_negatives(omega)


def expected_coefficients(
    kind: str, *, batch_size: int, n_positives: int, shape: tuple[int, int], omega: Any = None
) -> Coefficients:
    """Return the weights of the objective that a batch loss minimises in expectation.

    Here ``S`` is ``O`` and the grid is all of ``m x n``. "in_batch" gives P3's equation (13), "popularity" (15),
    "pos_neg" (16), "unbiased" and "masked" (5), "unbiased_omega" (19).

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    batch_size : int
        The number of pairs in a batch.
    n_positives : int
        The number of positive pairs ``|O|``.
    shape : tuple of int
        The shape ``(m, n)`` of the label matrix.
    omega : number or array, optional
        The weight of the negatives, at least 0, for "unbiased_omega" only.

    Returns
    -------
    Coefficients
        Exact rationals, unless ``omega`` is a float or an array.

    Raises
    ------
    ValueError
        As ``batch_coefficients``.

    Examples
    --------
    The unbiased loss gives every cell the weight ``1/(mn) = 1/4``, ``l+`` on ``O`` and ``l-`` outside ``O``:

    >>> from course_lib import in_batch
    >>> in_batch.expected_coefficients("unbiased", batch_size=2, n_positives=3, shape=(2, 2))
    Coefficients(positive=Fraction(1, 4), grid=Fraction(1, 4), power=0, constant=Fraction(-1, 4),
                 inverse=Fraction(0, 1), masked=False)
    """
    omega = check_omega(kind, omega)
    p1, p2 = (inclusion_probability(order, batch_size=batch_size, n_positives=n_positives) for order in (1, 2))
    unit = _unit_coefficients(kind, batch_size, n_positives, shape)
    return expectation_of(unit, p1=p1, p2=p2).weigh_negatives(omega)


def sogram_coefficients(
    *, batch_size: int, other_batch_size: int, n_positives: int, shape: tuple[int, int]
) -> Coefficients:
    """Return the weights of the two-batch loss, P3 equation (34).

    ``S`` is batch 1, and the grid crosses the rows of batch 1 with the columns of batch 2.

    Parameters
    ----------
    batch_size, other_batch_size : int
        The number of pairs in batch 1 and in batch 2, at least 1.
    n_positives : int
        The number of positive pairs ``|O|``.
    shape : tuple of int
        The shape ``(m, n)`` of the label matrix.

    Returns
    -------
    Coefficients
        Exact rationals.

    Raises
    ------
    ValueError
        For sizes that do not fit.

    Examples
    --------
    >>> from course_lib import in_batch
    >>> in_batch.sogram_coefficients(batch_size=2, other_batch_size=3, n_positives=3, shape=(2, 2))
    Coefficients(positive=Fraction(3, 8), grid=Fraction(3, 8), power=-1, constant=Fraction(-3, 8),
                 inverse=Fraction(0, 1), masked=False)
    """
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
    """Return the weights of ``l-`` written out as a matrix.

    Parameters
    ----------
    coefficients : Coefficients
        The weights in their short form.
    rows, cols : array, shapes (p,) and (q,)
        The number of positives of each row and of each column.
    on_diagonal : array, shape (p, q)
        1 where a pair of ``S`` is, else 0.
    labels : array, shape (p, q), or None
        1 for the positive cells, which are then left out of the grid; None for losses without a mask.

    Returns
    -------
    array, shape (p, q)
        The weights.

    Raises
    ------
    ValueError
        For coefficients of a sweep of omegas: one matrix holds the weights of one omega.

    Examples
    --------
    The in-batch loss takes its own pairs, on the diagonal, out of the negatives:

    >>> import numpy as np
    >>> from course_lib.in_batch import coefficients
    >>> loss = coefficients.coefficients_from("in_batch", a=1.0, rho=0.5)
    >>> rows, cols = np.array([2.0, 1.0]), np.array([1.0, 2.0])
    >>> coefficients.negative_weights(loss, rows, cols, on_diagonal=np.eye(2), labels=None).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if shape := shape_of(coefficients.grid) if hasattr(coefficients.grid, "shape") else ():
        raise ValueError(f"omega has shape {shape}; expected one number: these weights are written out for one omega")
    left, right = coefficients.grid_weights(rows, cols)
    weights = left[:, None] * (cols * 0 + 1 if right is None else right)
    if labels is not None:
        weights = weights * (1 - labels)
    own = coefficients.own_weights(rows[:, None] * cols)
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
