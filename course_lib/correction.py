"""The two scalars that DDC learns for one user, as a convex problem, and the directions that they scale.

For one user let s be their scores, a_i = <e_pref, e_i> and b_j = <e_pop, e_j>. The rule "b_a" of P1 gives the margin of
a triple

    x_ij(alpha, beta) = s_i + beta a_i - s_j - alpha b_j,        L = mean over i, j of log(1 + exp(-x_ij)).

The margin is linear in (alpha, beta) under all nine rules of Table 5, so L is convex and Newton's method finds its
minimum, where there is one: exactly if the vectors of coefficients (dx/dalpha, dx/dbeta) of the triples lie in no
closed half-plane. For "b_a" over all pairs that says: a has both signs and b has both signs. e_pref is made of the
user's own positives, so a is mostly positive on them: a user whose a_i are all positive has no minimiser, and whoever
stops the training chooses beta. Sources: P1, Section 4; claim X12.

`Frozen` solves the problems of all users; `course_lib.debiasing.DDC` is the torch module that holds their scalars.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.sparse import csr_array

from course_lib import checking
from course_lib.compiled import njit
from course_lib.interactions import Interactions, check_pairs, sample_negatives
from course_lib.popularity import popularity_direction

RULES = ("a_a", "a_b", "a_ab", "b_a", "b_b", "b_ab", "ab_a", "ab_b", "ab_ab")  # positive _ negative term: P1, Table 5
TABLE = 20_000_000  # numbers that a table of all users and items may hold
BLOCK = 2_000_000  # numbers that a block of pairs, or of gathered embeddings, may hold
STEPS, HALVINGS, ACCURACY = 200, 60, 1e-20  # of Newton's method; the accuracy is that of half the squared decrement
TINY = float(np.finfo(float).tiny)
FLAT = 1e-40  # added to the second derivative of log(1 + exp(-x)), which is 0 in floating point from |x| = 745 on

Float = NDArray[np.float64]
AnyArray = NDArray[Any]
Ids = NDArray[np.int64]


# ------------------------------------------------------------------------------------------------------- the directions
def preference_directions(users: Any, items: Any, interactions: Interactions, top: float = 0.3) -> AnyArray:
    """Return for each user the direction of those of their items that score highest with them.

    The direction is the normed sum of these items, ``e_pref`` of P1, equation (10).

    Parameters
    ----------
    users : array_like, shape (m, d)
        The embeddings of the users, NumPy array or torch tensor.
    items : array_like, shape (n, d)
        The embeddings of the items.
    interactions : Interactions
        Which items are a user's.
    top : float
        The part of a user's items that counts, in (0, 1].

    Returns
    -------
    array, shape (m, d)
        The unit vectors. Users without an item get zeros.

    Raises
    ------
    ValueError
        For ``top`` outside (0, 1], for tables that do not fit, and for a user whose chosen items sum to exactly zero or
        to a vector whose squared length overflows.

    Notes
    -----
    Of a user's items the ``ceil(top |I_u|)`` with the highest ``<e_u, e_i>`` count, so at least one; equal scores go by
    the lower id. P1 does not say how it rounds. The function works through the pairs that exist, never the m x n
    scores. Source: P1, equation (10).

    Examples
    --------
    The user has both items. Half of them is the item with score 3, not the one with score 0:

    >>> from course_lib import correction
    >>> from course_lib.interactions import Interactions
    >>> pairs = Interactions(users=[0, 0], items=[0, 1], n_users=1, n_items=2)
    >>> users, items = [[1.0, 0.0]], [[3.0, 0.0], [0.0, 4.0]]
    >>> correction.preference_directions(users, items, pairs, top=0.5).round(3).tolist()
    [[1.0, 0.0]]
    >>> correction.preference_directions(users, items, pairs, top=1.0).round(3).tolist()
    [[0.6, 0.8]]
    """
    users, items = checked_tables(users, items, interactions)
    checking.share(top, "top")
    counts = interactions.row_counts
    scores = pair_products(users, interactions.users, items, interactions.items)
    wanted = np.ceil(np.round(top * counts, 9)).astype(np.int64)
    best = np.lexsort((-scores, interactions.users))  # of each user the best pair first; equal scores by their items
    place = np.arange(len(scores)) - np.repeat(interactions.row_starts[:-1], counts)
    chosen = np.sort(best[place < np.repeat(wanted, counts)])  # as the items stand: sums are rounded in this order
    ones, starts = np.ones(len(chosen), items.dtype), np.concatenate(([0], np.cumsum(wanted)))
    sums: AnyArray = csr_array((ones, interactions.items[chosen], starts), shape=interactions.shape) @ items
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(sums, axis=1)
    wild = np.flatnonzero(~np.isfinite(lengths))
    if len(wild):
        raise ValueError(
            f"items: those chosen of user {wild[0]} sum to a vector of length {lengths[wild[0]]}; "
            f"expected numbers whose squares {items.dtype} can hold"
        )
    lost = np.flatnonzero((lengths == 0) & (counts > 0))
    if len(lost):
        raise ValueError(
            f"the chosen items of user {lost[0]} sum to zero, so there is no preference direction: "
            "change top, or train longer"
        )
    sums /= np.where(lengths > 0, lengths, 1)[:, None]
    return sums


# ------------------------------------------------------------------------------------------------ all pairs of a user
def user_loss(
    pos_scores: ArrayLike, neg_scores: ArrayLike, a: ArrayLike, b: ArrayLike, alpha: float, beta: float
) -> float:
    """Return the loss of DDC for one user: the mean over all pairs of a positive and a negative.

    The mean of ``log(1 + exp(-x_ij))`` with the margin ``x_ij = s_i + beta a_i - s_j - alpha b_j``.

    Parameters
    ----------
    pos_scores : array_like, shape (p,)
        The scores ``s_i`` of the positives.
    neg_scores : array_like, shape (q,)
        The scores ``s_j`` of the negatives.
    a : array_like, shape (p,)
        The projections of the positives on ``e_pref``.
    b : array_like, shape (q,)
        The projections of the negatives on ``e_pop``.
    alpha, beta : float
        The two scalars of the user.

    Returns
    -------
    float
        The loss.

    Raises
    ------
    ValueError
        For empty vectors, for ``a`` or ``b`` of another length than their scores, and for NaN or infinite numbers.

    Notes
    -----
    Source: P1, equation (13), for one user.

    Examples
    --------
    A margin of 0 costs ``log 2``; with ``beta = 1`` the margin is 1:

    >>> from course_lib import correction
    >>> round(correction.user_loss([0.0], [0.0], a=[1.0], b=[1.0], alpha=0, beta=0), 4)
    0.6931
    >>> round(correction.user_loss([0.0], [0.0], a=[1.0], b=[1.0], alpha=0, beta=1), 4)
    0.3133
    """
    s, a, t, b = _one_user(pos_scores, neg_scores, a, b)
    alpha, beta = checking.real(alpha, "alpha"), checking.real(beta, "beta")
    return float(np.logaddexp(0, (t + alpha * b)[None, :] - (s + beta * a)[:, None]).mean())


def user_gradient(
    pos_scores: ArrayLike, neg_scores: ArrayLike, a: ArrayLike, b: ArrayLike, alpha: float, beta: float
) -> tuple[float, float]:
    """Return the slopes of :func:`user_loss` in its two scalars.

    ``(dL/dalpha, dL/dbeta) = (E[w b_j], -E[w a_i])`` with ``w = sigmoid(-x_ij)``, means over all pairs.

    Parameters
    ----------
    pos_scores : array_like, shape (p,)
        The scores ``s_i`` of the positives.
    neg_scores : array_like, shape (q,)
        The scores ``s_j`` of the negatives.
    a : array_like, shape (p,)
        The projections of the positives on ``e_pref``.
    b : array_like, shape (q,)
        The projections of the negatives on ``e_pop``.
    alpha, beta : float
        The two scalars of the user.

    Returns
    -------
    tuple of float
        ``dL/dalpha`` and ``dL/dbeta``. Both depend on positives and negatives, through ``w``.

    Raises
    ------
    ValueError
        As in :func:`user_loss`.

    Examples
    --------
    At a margin of 0 the weight ``w`` is 1/2:

    >>> from course_lib import correction
    >>> correction.user_gradient([0.0], [0.0], a=[1.0], b=[3.0], alpha=0, beta=0)
    (1.5, -0.5)
    """
    s, a, t, b = _one_user(pos_scores, neg_scores, a, b)
    alpha, beta = checking.real(alpha, "alpha"), checking.real(beta, "beta")
    w = special.expit((t + alpha * b)[None, :] - (s + beta * a)[:, None])
    return float((w @ b).mean() / len(b)), float(-(a @ w).mean() / len(a))


def has_minimiser(a: ArrayLike, b: ArrayLike) -> bool:
    """Return whether :func:`user_loss` has exactly one minimiser.

    It has one and no other where ``min a < 0 < max a`` and ``min b < 0 < max b``.

    Parameters
    ----------
    a : array_like, shape (p,)
        The projections of the positives on ``e_pref``.
    b : array_like, shape (q,)
        The projections of the negatives on ``e_pop``.

    Returns
    -------
    bool
        True where there is exactly one minimiser.

    Raises
    ------
    ValueError
        For empty vectors, and for NaN or infinite numbers.

    Notes
    -----
    Otherwise one scalar can grow for ever and the loss still falls, down to 0 where ``a`` or ``b`` has strictly one
    sign; or all of ``a``, or all of ``b``, is 0, and its scalar changes nothing. Source: claim X12.

    Examples
    --------
    >>> from course_lib import correction
    >>> correction.has_minimiser(a=[2.0, -1.0], b=[1.0, -1.0]), correction.has_minimiser(a=[2.0, 1.0], b=[1.0, -1.0])
    (True, False)
    """
    a, b = checking.vector(a, "a"), checking.vector(b, "b")
    return bool(a.min() < 0 < a.max() and b.min() < 0 < b.max())


def solve_user(pos_scores: ArrayLike, neg_scores: ArrayLike, a: ArrayLike, b: ArrayLike) -> tuple[float, float] | None:
    """Return the two scalars that minimise :func:`user_loss`, or None where not exactly one pair does.

    Parameters
    ----------
    pos_scores : array_like, shape (p,)
        The scores ``s_i`` of the positives.
    neg_scores : array_like, shape (q,)
        The scores ``s_j`` of the negatives.
    a : array_like, shape (p,)
        The projections of the positives on ``e_pref``.
    b : array_like, shape (q,)
        The projections of the negatives on ``e_pop``.

    Returns
    -------
    tuple of float or None
        ``alpha`` and ``beta``, to about 1e-9 where ``a`` and ``b`` are of size 1. None where :func:`has_minimiser` says
        no.

    Raises
    ------
    ValueError
        For empty vectors, for ``a`` or ``b`` of another length than their scores, and for NaN or infinite numbers.

    Notes
    -----
    By Newton's method: :func:`newton_minima`. The first call compiles it.

    Examples
    --------
    The scores are ``a`` and twice ``b``. The best scalars take them away again, so that all margins are 0:

    >>> from course_lib import correction
    >>> alpha, beta = correction.solve_user([1.0, -1.0], [2.0, -2.0], a=[1.0, -1.0], b=[1.0, -1.0])
    >>> round(alpha, 4), round(beta, 4)
    (-2.0, -1.0)
    >>> print(correction.solve_user([0.0, 0.0], [0.0, 0.0], a=[2.0, 1.0], b=[1.0, -1.0]))
    None
    """
    s, a, t, b = _one_user(pos_scores, neg_scores, a, b)
    if not has_minimiser(a, b):
        return None
    offset, by_alpha, by_beta = (s[:, None] - t).ravel(), np.tile(-b, len(a)), np.repeat(a, len(b))
    alpha, beta = newton_minima(np.zeros(offset.size, np.int64), 1, offset, by_alpha, by_beta, ridge=0.0)
    return float(alpha[0]), float(beta[0])


def surrogate_user(pos_scores: ArrayLike, neg_scores: ArrayLike, a: ArrayLike, b: ArrayLike) -> tuple[float, float]:
    """Return the two scalars that minimise the loss to second order around margin 0.

    The surrogate of the loss is ``log 2 - x/2 + x^2/8``. Its minimiser solves a two-by-two linear system.

    Parameters
    ----------
    pos_scores : array_like, shape (p,)
        The scores ``s_i`` of the positives.
    neg_scores : array_like, shape (q,)
        The scores ``s_j`` of the negatives.
    a : array_like, shape (p,)
        The projections of the positives on ``e_pref``.
    b : array_like, shape (q,)
        The projections of the negatives on ``e_pop``.

    Returns
    -------
    tuple of float
        ``alpha`` and ``beta``.

    Raises
    ------
    ValueError
        Where the matrix is singular (``a`` or ``b`` zero, or both constant), and as in :func:`solve_user`.

    Notes
    -----
    The system is::

        [  E b^2     -E a E b ] (alpha)   ( -(2 - E s_i) E b - E[s_j b_j] )
        [ -E a E b    E a^2   ] (beta ) = (  (2 + E s_j) E a - E[s_i a_i] )

    Source: claim X12.

    Examples
    --------
    Here ``beta`` is ``2 E a / E a^2 = 1 / 2.5``, and the minimum of the loss itself is near:

    >>> from course_lib import correction
    >>> case = [0.0, 0.0], [0.0, 0.0], [2.0, -1.0], [1.0, -1.0]
    >>> round(correction.surrogate_user(*case)[1], 3), round(correction.solve_user(*case)[1], 3)
    (0.4, 0.42)
    """
    s, a, t, b = _one_user(pos_scores, neg_scores, a, b)
    matrix = np.array([[(b * b).mean(), -a.mean() * b.mean()], [-a.mean() * b.mean(), (a * a).mean()]])
    if np.linalg.det(matrix) <= 1e-14 * matrix[0, 0] * matrix[1, 1]:
        raise ValueError("the quadratic surrogate has no unique minimum: a or b is zero, or both are constant")
    right = np.array([-(2 - s.mean()) * b.mean() - (t * b).mean(), (2 + t.mean()) * a.mean() - (s * a).mean()])
    alpha, beta = np.linalg.solve(matrix, right)
    return float(alpha), float(beta)


# ------------------------------------------------------------------------------------------------------ convex problems
def newton_minima(
    owner: NDArray[np.int64], size: int, offset: Float, by_alpha: Float, by_beta: Float, *, ridge: float
) -> tuple[Float, Float]:
    """Return the minimisers of many independent convex problems in two scalars.

    Problem ``u`` is the mean over its ``t`` of ``log(1 + exp(-(offset_t + alpha by_alpha_t + beta by_beta_t)))``, plus
    ``ridge (alpha^2 + beta^2) / 2``.

    Parameters
    ----------
    owner : array of int64, shape (T,)
        The problem that each margin belongs to, from 0 to ``size - 1``. Sorted, or it is sorted first.
    size : int
        The number of problems.
    offset : array, shape (T,)
        The margins at ``alpha = beta = 0``.
    by_alpha, by_beta : array, shape (T,)
        The slopes of the margins in the two scalars.
    ridge : float
        The weight of the squares of the scalars.

    Returns
    -------
    alpha, beta : array, shape (size,)
        The minimisers. A problem without a margin gets 0, and so does a scalar that no margin of any problem depends
        on.

    Warnings
    --------
    Each problem must have exactly one minimiser: ask :func:`bounded_below`, or take a positive ``ridge``.

    Notes
    -----
    Damped Newton steps with halving, problem by problem. A problem whose curvature was lost in rounding on the way, as
    with large scores of few pairs, is solved once more with a little added to it. The first call compiles the loop.

    Examples
    --------
    Two problems of two margins. The best ``beta`` makes both margins 0:

    >>> import numpy as np
    >>> from course_lib import correction
    >>> owner, offset = np.array([0, 0, 1, 1]), np.array([3.0, -3.0, 1.0, -1.0])
    >>> by_beta = np.array([1.0, -1.0, 1.0, -1.0])
    >>> alpha, beta = correction.newton_minima(owner, 2, offset, np.zeros(4), by_beta, ridge=0)
    >>> alpha.tolist(), beta.round(4).tolist()
    ([0.0, 0.0], [-3.0, -1.0])
    """
    columns = [np.ascontiguousarray(column, dtype=np.float64) for column in (offset, by_alpha, by_beta)]
    if len(owner) and (np.diff(owner) < 0).any():
        order = np.argsort(owner, kind="stable")
        owner, columns = owner[order], [column[order] for column in columns]
    bounds = np.searchsorted(owner, np.arange(size + 1))
    known = bool(columns[1].any()), bool(columns[2].any())  # a scalar that no margin knows stays at 0
    minima: tuple[Float, Float] = _newton(bounds, columns[0], columns[1], columns[2], float(ridge), known[0], known[1])
    return minima


@njit(cache=True)
def _newton(
    bounds: Any, offset: Any, by_alpha: Any, by_beta: Any, ridge: float, knows_alpha: bool, knows_beta: bool
) -> tuple[Any, Any]:
    size = len(bounds) - 1
    alphas, betas = np.zeros(size), np.zeros(size)
    for u in range(size):
        first, last = bounds[u], bounds[u + 1]
        if first == last:
            continue
        for careful in (False, True):  # the second time only where the curvature was lost in rounding on the way
            alpha = beta = 0.0
            seen = _look(offset, by_alpha, by_beta, first, last, alpha, beta, ridge)
            for _ in range(STEPS):
                value, left, right, aa, ab, bb, largest = seen
                aa, bb = aa if knows_alpha else 1.0, bb if knows_beta else 1.0
                if careful and aa * bb - ab * ab < 1e-14 * aa * bb:
                    aa, bb = aa * (1 + 1e-7), bb * (1 + 1e-7)
                determinant = max(aa * bb - ab * ab, TINY)
                step_alpha, step_beta = (ab * right - bb * left) / determinant, (ab * left - aa * right) / determinant
                gain = -(left * step_alpha + right * step_beta) / 2
                # Where the loss is nearly straight a full step has no bound: no margin may move by more than its
                # problem's largest, and 10.
                reach = 1e-30
                for t in range(first, last):
                    reach = max(reach, abs(step_alpha * by_alpha[t] + step_beta * by_beta[t]))
                length = min(1.0, (10 + largest) / reach)
                done = not gain > ACCURACY * (1 + value)
                for _ in range(HALVINGS):
                    there = alpha + length * step_alpha, beta + length * step_beta
                    if done:
                        break
                    seen = _look(offset, by_alpha, by_beta, first, last, *there, ridge)
                    # Near the minimum rounding would hide what a step gains.
                    if gain <= 1e-8 or seen[0] <= value - 0.1 * length * gain:
                        break
                    length /= 2
                alpha, beta = there
                if done:
                    break
            flat = abs(left) <= 1e-7 * np.abs(by_alpha[first:last]).max()
            if flat and abs(right) <= 1e-7 * np.abs(by_beta[first:last]).max() and abs(gain) <= 1e-12 * (1 + value):
                break
        alphas[u], betas[u] = alpha, beta
    return alphas, betas


@njit(cache=True)
def _look(
    offset: Any, by_alpha: Any, by_beta: Any, first: int, last: int, alpha: float, beta: float, ridge: float
) -> tuple[float, ...]:
    """The loss of one problem, its slopes in alpha and beta, its second derivatives, and the largest |x|."""
    total = left = right = aa = ab = bb = largest = 0.0
    for t in range(first, last):
        x = offset[t] + alpha * by_alpha[t] + beta * by_beta[t]
        small = math.exp(-abs(x))
        total += max(-x, 0.0) + math.log1p(small)
        w = small / (1 + small) if x >= 0 else 1 / (1 + small)
        bend = small / (1 + small) ** 2 + FLAT
        left -= w * by_alpha[t]
        right -= w * by_beta[t]
        aa += bend * by_alpha[t] ** 2
        ab += bend * by_alpha[t] * by_beta[t]
        bb += bend * by_beta[t] ** 2
        largest = max(largest, abs(x))
    count = last - first
    value = total / count + ridge / 2 * (alpha * alpha + beta * beta)
    return (
        value,
        left / count + ridge * alpha,
        right / count + ridge * beta,
        aa / count + ridge,
        ab / count,
        bb / count + ridge,
        largest,
    )


def bounded_below(owner: NDArray[np.int64], size: int, by_alpha: Float, by_beta: Float) -> NDArray[np.bool_]:
    """Return which of the problems of :func:`newton_minima` have exactly one minimiser without a ridge.

    A problem has it exactly if its vectors ``(by_alpha, by_beta)`` lie in no closed half-plane. A scalar on which no
    margin of any problem depends is left aside: then the other one must have slopes of both signs.

    Parameters
    ----------
    owner : array of int64, shape (T,)
        The problem that each vector belongs to, from 0 to ``size - 1``, in any order.
    size : int
        The number of problems.
    by_alpha, by_beta : array, shape (T,)
        The slopes of the margins in the two scalars.

    Returns
    -------
    array of bool, shape (size,)
        True where the problem has exactly one minimiser; False for a problem without a margin.

    Notes
    -----
    The loss itself is never below 0, whatever the vectors are: what may be missing is a point where it is least, or
    there may be a line of them. Angles within 1e-12 of a half-plane count as one.

    Examples
    --------
    The vectors of the first problem point to all sides, those of the second do not:

    >>> import numpy as np
    >>> from course_lib import correction
    >>> owner = np.array([0, 0, 0, 1, 1])
    >>> by_alpha, by_beta = np.array([1.0, -1.0, -1.0, 1.0, 0.0]), np.array([0.0, 1.0, -1.0, 0.0, 1.0])
    >>> correction.bounded_below(owner, 2, by_alpha, by_beta).tolist()
    [True, False]
    """
    columns = [column for column in (by_alpha, by_beta) if column.any()]
    if len(columns) < 2:
        low, high = np.zeros(size), np.zeros(size)
        for column in columns:
            np.minimum.at(low, owner, column)
            np.maximum.at(high, owner, column)
        return (low < 0) & (high > 0)
    moved = (by_alpha != 0) | (by_beta != 0)
    owner, angle = owner[moved], np.arctan2(by_beta[moved], by_alpha[moved])
    order = np.lexsort((angle, owner))
    owner, angle = owner[order], angle[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    last = np.append(first[1:], len(owner)) - 1
    gap = np.diff(angle, append=0.0)
    gap[last] = 2 * np.pi + angle[first] - angle[last]  # once around
    widest = np.full(size, 2 * np.pi)
    widest[owner[first]] = np.maximum.reduceat(gap, first)
    return widest < np.pi - 1e-12


# ------------------------------------------------------------------------------------------------------------ arguments
def pair_products(left: AnyArray, rows: AnyArray, right: AnyArray, columns: AnyArray) -> AnyArray:
    """Return the inner products of pairs of rows of two tables.

    ``<left[rows_t], right[columns_t]>`` for every ``t``, without ever holding all the rows.

    Parameters
    ----------
    left : array, shape (m, d)
        The first table.
    rows : array of int, shape (T,)
        The row of each pair in ``left``.
    right : array, shape (n, d)
        The second table, of the dtype of ``left``.
    columns : array of int, shape (T,)
        The row of each pair in ``right``.

    Returns
    -------
    array, shape (T,)
        The products, of the dtype of ``left``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import correction
    >>> left, right = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> correction.pair_products(left, np.array([0, 1, 1]), right, np.array([1, 0, 1])).tolist()
    [2.0, 3.0, 4.0]
    """
    step = max(1, BLOCK // left.shape[1])
    result = np.empty(len(rows), left.dtype)
    for at in range(0, len(rows), step):
        np.einsum("td,td->t", left[rows[at : at + step]], right[columns[at : at + step]], out=result[at : at + step])
    return result


def checked_tables(users: Any, items: Any, interactions: Interactions) -> tuple[AnyArray, AnyArray]:
    """Return both tables as NumPy arrays of one floating dtype, checked against the interactions and each other.

    Parameters
    ----------
    users : array_like, shape (m, d)
        The embeddings of the users, NumPy array or torch tensor.
    items : array_like, shape (n, d)
        The embeddings of the items.
    interactions : Interactions
        The interactions of ``m`` users and ``n`` items.

    Returns
    -------
    tuple of array
        Both tables. The dtype is that of the users; integers become float64, 16 bits float32.

    Raises
    ------
    ValueError
        For ``interactions`` of another type, for tables of other shapes or of different widths, and for NaN or
        infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import correction
    >>> from course_lib.interactions import Interactions
    >>> pairs = Interactions(users=[0, 1], items=[2, 0], n_users=2, n_items=3)
    >>> users, items = correction.checked_tables(np.ones((2, 4), np.float32), np.ones((3, 4)), pairs)
    >>> users.shape, items.shape, str(items.dtype)
    ((2, 4), (3, 4), 'float32')
    >>> correction.checked_tables(np.ones((5, 4)), np.ones((3, 4)), pairs)
    Traceback (most recent call last):
    ValueError: users has shape (5, 4) and dtype float64; expected numbers of shape (2, d)
    """
    check_pairs(interactions, "interactions")
    tables = []
    for name, table, rows in zip(("users", "items"), (users, items), interactions.shape, strict=True):
        array = checking.table(table, name, rows=rows)
        tables.append(array)
    checking.same_width(tables[0], tables[1], "users", "items")
    return tables[0], tables[1].astype(tables[0].dtype)


def _one_user(
    pos_scores: ArrayLike, neg_scores: ArrayLike, a: ArrayLike, b: ArrayLike
) -> tuple[Float, Float, Float, Float]:
    s, t = checking.vector(pos_scores, "pos_scores"), checking.vector(neg_scores, "neg_scores")
    a, b = checking.vector(a, "a"), checking.vector(b, "b")
    if len(a) != len(s) or len(b) != len(t):
        raise ValueError(
            f"a has {len(a)} entries for {len(s)} positives, b {len(b)} for {len(t)} negatives; expected as many"
        )
    return s, a, t, b


# ------------------------------------------------------------------------------------------------------- all users
class Problem(NamedTuple):
    """Hold the margins of users' triples as functions of their scalars, one entry for each triple.

    Parameters
    ----------
    owners : ndarray of int64, shape (T,)
        The user of each triple.
    margins : ndarray, shape (T,)
        The margin x at alpha = beta = 0.
    by_alpha, by_beta : ndarray, shape (T,)
        The derivatives ``dx/dalpha`` and ``dx/dbeta``.
    """

    owners: Ids
    margins: Float
    by_alpha: Float
    by_beta: Float


@dataclass(frozen=True)
class Frozen:
    """The tables of a trained model, with the directions of P1's corrections: what `debiasing.DDC` trains, in NumPy.

    Parameters
    ----------
    users, items : array, shape (m, d), (n, d)
        The frozen tables.
    pop, pref : array, shape (d,), (m, d)
        The popularity direction (4) and the users' preference directions (10).
    interactions : Interactions, shape (m, n)
        The training pairs.
    rule : str
        One of `RULES`.

    Raises
    ------
    ValueError
        For another rule; and in ``of`` and ``solve`` for tables, shares, negatives and a ridge that do not fit.

    Notes
    -----
    ``of`` makes the two directions from tables and pairs; the constructor takes them as they are. Source: P1, (13) and
    (14).

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.correction import Frozen
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 0, 1], [0, 1, 0], n_users=2, n_items=4)
    >>> tables = Frozen.of(np.eye(2), np.array([[1.0, 0.0], [0.5, 1.0], [0.0, -1.0], [-1.0, 0.5]]), data, ratio=0.25)
    >>> alpha, beta, without = tables.solve(ridge=0.1)
    >>> without.tolist(), tables.served(alpha, beta).shape
    ([], (2, 2))
    """

    users: AnyArray
    items: AnyArray
    pop: AnyArray
    pref: AnyArray
    interactions: Interactions
    rule: str = "b_a"

    def __post_init__(self) -> None:
        checking.choice(self.rule, "rule", RULES)

    @classmethod
    def of(
        cls,
        users: Any,
        items: Any,
        interactions: Interactions,
        *,
        top: float = 0.3,
        ratio: float = 0.05,
        rule: str = "b_a",
    ) -> Frozen:
        """With the popularity direction of `ratio` and the preference directions of `top`, see `debiasing.DDC`."""
        users, items = checked_tables(users, items, interactions)
        pop = popularity_direction(items, interactions.col_counts, ratio)
        pref = preference_directions(users, items, interactions, top)
        return cls(users, items, pop, pref, interactions, rule)

    def served(self, alpha: Float, beta: Float) -> AnyArray:
        """e_u + alpha_u e_pop + beta_u e_pref of (14), (m, d), in the dtype of the users; alpha, beta (m,)."""
        scalars = (checking.vector(each, name, len(self.users)) for each, name in ((alpha, "alpha"), (beta, "beta")))
        left, right = (each.astype(self.users.dtype)[:, None] for each in scalars)
        table: AnyArray = self.users + left * self.pop + right * self.pref
        return table

    @cached_property
    def _exact(self) -> tuple[Float, Float, Float, Float]:
        """Users, items, preference and popularity directions in float64."""
        users, items, pref, pop = (table.astype(np.float64) for table in (self.users, self.items, self.pref, self.pop))
        return users, items, pref, pop

    def solve(
        self, negatives: int | None = None, *, ridge: float = 0.0, rng: Generator | None = None
    ) -> tuple[Float, Float, NDArray[np.int64]]:
        """Every user's two scalars (m,), and the ids of those who keep 0 and 0: see `debiasing.DDC.solve`."""
        ridge = checking.real(ridge, "ridge", least=0)
        alpha, beta = np.zeros(len(self.users)), np.zeros(len(self.users))
        solved = np.zeros(len(self.users), dtype=bool)
        for owners, *columns in self._problems(negatives, ridge, rng):
            ids, owner = np.unique(owners, return_inverse=True)
            able: NDArray[np.bool_] = np.ones(len(ids), bool)
            if not ridge:
                able = bounded_below(owner, len(ids), columns[1], columns[2])
            here, renamed = able[owner], np.cumsum(able) - 1
            offset, by_alpha, by_beta = (column[here] for column in columns)
            found = newton_minima(renamed[owner[here]], int(able.sum()), offset, by_alpha, by_beta, ridge=ridge)
            alpha[ids[able]], beta[ids[able]] = found
            solved[ids[able]] = True
        return alpha, beta, np.flatnonzero(~solved)

    def _problems(self, negatives: int | None, ridge: float, rng: Generator | None) -> Iterator[Problem]:
        """The users' problems in blocks that never part a user."""
        data = self.interactions
        able = (data.row_counts > 0) & (data.row_counts < data.n_items)
        if negatives is None:
            found = (self._all_pairs(int(user), ridge) for user in np.flatnonzero(able))
            yield from _in_blocks(problem for problem in found if problem is not None)
        elif type(negatives) is int and negatives >= 1 and isinstance(rng, Generator):
            block = np.cumsum(data.row_counts * negatives) // BLOCK
            for number in np.unique(block[able]):
                mine = (able & (block == number))[data.users]
                owners, positives = (np.repeat(ids[mine], negatives) for ids in (data.users, data.items))
                yield self._triples(owners, positives, sample_negatives(data, owners, rng))
        else:
            expected = "None, or a whole number of at least 1 and a numpy Generator"
            raise ValueError(f"negatives is {negatives!r} and rng {rng!r}; expected {expected}")

    def _all_pairs(self, user: int, ridge: float) -> Problem | None:
        """One user's own items with all others; None where "b_a" cannot have a minimiser."""
        own = self.interactions.items_of(user)
        others = np.setdiff1d(np.arange(self.interactions.n_items), own, assume_unique=True)
        users, items, pref, pop = self._exact
        scores, toward_pref, toward_pop = items @ users[user], items @ pref[user], items @ pop
        if self.rule == "b_a" and not ridge and not has_minimiser(toward_pref[own], toward_pop[others]):
            return None
        margins, by_alpha, by_beta = (
            (on_own[own][:, None] - on_others[others]).ravel()
            for on_own, on_others in (
                (scores, scores),
                self._sides("a", toward_pop, toward_pop),
                self._sides("b", toward_pref, toward_pref),
            )
        )
        return Problem(np.full(margins.size, user), margins, by_alpha, by_beta)

    def _triples(self, owners: Ids, positives: Ids, negatives: Ids) -> Problem:
        """The same for any triples (T,)."""
        users, items, pref, pop = self._exact
        along = items @ pop
        of_scores, of_pref = (_products(table, items, owners, positives, negatives) for table in (users, pref))
        margins, by_alpha, by_beta = (
            on_positives - on_negatives
            for on_positives, on_negatives in (
                of_scores,
                self._sides("a", along[positives], along[negatives]),
                self._sides("b", *of_pref),
            )
        )
        return Problem(owners, margins, by_alpha, by_beta)

    def _sides(self, part: str, on_positives: Float, on_negatives: Float) -> tuple[Float, Float]:
        """A direction's projections of both kinds of items, 0 where the rule does not apply the correction."""
        of_positives, of_negatives = self.rule.split("_")
        return on_positives * (part in of_positives), on_negatives * (part in of_negatives)


def _products(table: Float, items: Float, owners: Ids, positives: Ids, negatives: Ids) -> tuple[Float, Float]:
    """<table[owner], item> of the positive and the negative items of triples (T,): (T,) each.

    Read off the table of all products where that is small.
    """
    if len(table) * len(items) > min(TABLE, 20 * len(owners)):
        return pair_products(table, owners, items, positives), pair_products(table, owners, items, negatives)
    every, start = (table @ items.T).ravel(), owners * len(items)
    return every[start + positives], every[start + negatives]


def _in_blocks(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Joins problems until they hold about BLOCK entries."""
    held: list[Problem] = []
    size = 0
    for problem in problems:
        held, size = [*held, problem], size + len(problem.owners)
        if size >= BLOCK:
            yield Problem(*map(np.concatenate, zip(*held, strict=True)))
            held, size = [], 0
    if held:
        yield Problem(*map(np.concatenate, zip(*held, strict=True)))
