"""The gauges that keep the lengths of both tables: near the identity, where rank decides, and far from it.

The second table asks for b^T S^-1 b = ||b||^2, which is not linear in S: rank decides about gauges near S = I only, and
a separate gauge may sit far away. Source: claim X9.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.optimize import least_squares

from course_lib import checking
from course_lib.arrays import Array, as_array, check_finite, first_index, is_exact, like, namespace, shape_of
from course_lib.gauge import counting
from course_lib.gauge.algebra import checked_pair, doubled, in_floats, rank, row_space


def two_sided_diagonal_dimension(A: Any, B: Any) -> int:
    """Return the dimension of the infinitesimal diagonal gauges that keep the lengths of both tables.

    ``k`` minus the rank of ``A∘A`` over ``B∘B``.

    Parameters
    ----------
    A : array_like, shape (m, k)
        The first table: NumPy, torch or exact.
    B : array_like, shape (n, k)
        The second table.

    Returns
    -------
    int
        The dimension. 0: ``D = I`` is isolated among the gauges that keep both tables. Others may lie far away
        (:func:`swap_squares`). Positive: they form a smooth family of that dimension near ``I`` if the rows of the
        stack are linearly independent; otherwise a family may fail to exist (:func:`rigidity_certificate`).

    Raises
    ------
    ValueError
        For widths that differ and for tables that are not finite.

    Notes
    -----
    Source: claim X9.

    Examples
    --------
    In three axes the two rows leave one gauge, in two axes none near the identity:

    >>> from course_lib import gauge
    >>> gauge.two_sided_diagonal_dimension([[1.0, 2.0, 2.0]], [[2.0, 1.0, 2.0]])
    1
    >>> gauge.two_sided_diagonal_dimension([[3.0, 4.0]], [[4.0, 3.0]])
    0
    """
    A, B = checked_pair(A, B)
    return shape_of(A)[-1] - rank(namespace(A).concat([counting.squares(A), counting.squares(B)]))


def two_sided_linear_dimension(A: Any, B: Any) -> int:
    """Return the dimension of the infinitesimal linear gauges that keep the lengths of both tables.

    ``k(k+1)/2`` minus the rank of all ``a a^T`` and ``b b^T`` together, for the gauges ``S = I + E``.

    Parameters
    ----------
    A : array_like, shape (m, k)
        The first table: NumPy, torch or exact.
    B : array_like, shape (n, k)
        The second table.

    Returns
    -------
    int
        The dimension, to be read as that of :func:`two_sided_diagonal_dimension`.

    Raises
    ------
    ValueError
        For widths that differ and for tables that are not finite.

    Notes
    -----
    At first order ``S^-1 = I - E``, so both tables ask for the same thing: ``x^T E x = 0``.

    Examples
    --------
    The two tables of unit vectors leave one direction at first order. No gauge follows it: :func:`rigidity_certificate`
    shows that the identity is the only one.

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> gauge.two_sided_linear_dimension(np.eye(2), np.eye(2))
    1
    >>> gauge.two_sided_linear_dimension(np.eye(2), [[2.0, 1.0]])
    0
    """
    A, B = checked_pair(A, B)
    k = shape_of(A)[-1]
    return k * (k + 1) // 2 - counting.outer_rank(namespace(A).concat([A, B]))


def rigidity_certificate(A: Any, B: Any) -> Array | None:
    """Return a matrix that proves that only rotations keep the lengths of both tables, or None if none is found.

    A positive definite ``M`` in ``span{a a^T}`` and in ``span{b b^T}``.

    Parameters
    ----------
    A : array_like, shape (m, k)
        The first table of floats, NumPy or torch.
    B : array_like, shape (n, k)
        The second table.

    Returns
    -------
    array, shape (k, k), or None
        The matrix ``M``: then ``S = I`` is the only gauge that keeps the lengths of both tables, near or far. None
        proves nothing.

    Raises
    ------
    ValueError
        For widths that differ and for tables that are not finite.

    Notes
    -----
    A gauge that keeps the lengths has ``tr(M S) = tr M = tr(M S^-1)``, and ``tr(M (S + S^-1 - 2 I)) = 0`` forces
    ``S = I``. The search projects the identity on the intersection of the two spans. Source: claim X9.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import gauge
    >>> M = gauge.rigidity_certificate(np.eye(2), np.eye(2))  # I = e_1 e_1^T + e_2 e_2^T lies in both spans
    >>> bool(np.allclose(M, np.eye(2)))
    True
    >>> gauge.rigidity_certificate(np.eye(2), [[2.0, 1.0]]) is None  # there is a gauge: see second_linear_gauge
    True
    """
    A, B = checked_pair(A, B)
    xp, k = namespace(A), shape_of(A)[-1]
    left, right = (
        row_space(counting.weighted_outer(doubled(table))) for table in (A, B)
    )  # orthonormal columns (k(k+1)/2, .)
    u, cosines, _ = xp.linalg.svd(left.T @ right, full_matrices=False)
    shared = left @ u[:, : int((cosines > 1 - 1e-10).sum())]  # principal angles 0: the intersection
    rows, cols = np.triu_indices(k)
    identity = like(np.where(rows == cols, 1.0, 0.0), shared, "identity")
    M = counting.unpack(shared @ (shared.T @ identity), k) * like(
        np.where(np.eye(k) == 1, 1.0, math.sqrt(0.5)), shared, "weight"
    )
    return like(M, A, "M") if float(xp.linalg.eigvalsh(M)[0]) > 1e-9 else None


def swap_squares(a: Any, b: Any) -> Array:
    """Return the diagonal gauge that gives one vector the squares of another, and the other those of the first.

    ``d = |b| / |a|``.

    Parameters
    ----------
    a : array_like, shape (k,)
        The first vector, without zeros: NumPy, torch or exact.
    b : array_like, shape (k,)
        The second vector, without zeros.

    Returns
    -------
    array, shape (k,)
        The factors ``d``.

    Raises
    ------
    ValueError
        For vectors that hold zeros, NaN or infinity, and for two lengths.

    Notes
    -----
    If all rows of ``A`` have the squares ``a∘a`` and all rows of ``B`` the squares ``b∘b`` (``||a|| = ||b||``), then
    ``A D`` and ``B D^-1`` have all their old lengths: a second gauge, far from the identity, even where
    :func:`two_sided_diagonal_dimension` is 0. That the two norms are equal is not checked.

    Examples
    --------
    >>> from course_lib import arrays, gauge
    >>> a, b = arrays.exact([3, 4]), arrays.exact([4, 3])
    >>> d = gauge.swap_squares(a, b)
    >>> [str(x) for x in d], [str(x) for x in a * d], [str(x) for x in b / d]  # all lengths are still 5
    (['4/3', '3/4'], ['4', '3'], ['3', '4'])
    """
    a = as_array(a, "a")
    b = like(b, a, "b")
    if shape_of(a) != shape_of(b) or len(shape_of(a)) != 1:
        raise ValueError(f"a has shape {shape_of(a)} and b {shape_of(b)}; expected both (k,)")
    check_finite(a, "a")
    check_finite(b, "b")
    if first_index(a == 0) is not None or first_index(b == 0) is not None:
        raise ValueError("a and b must not hold zeros: the gauge |b| / |a| would not be invertible")
    return abs(b) / abs(a)


def second_linear_gauge(A: Any, b: Any) -> Array:
    """Return the second gauge that keeps the lengths of a table and of one row of the other table.

    The gauge keeps the rows of ``A`` under ``R`` and ``b`` under ``R^-T``.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table, with ``linear_gauge_dimension(A)`` of exactly 1: NumPy, torch or exact.
    b : array_like, shape (k,)
        The row of the other table.

    Returns
    -------
    array, shape (k, k)
        The matrix ``R``, symmetric, in floats.

    Raises
    ------
    ValueError
        Where ``A`` does not leave exactly one direction, where that direction does not change its sign, and where ``b``
        has (almost) no part where the direction is least or greatest.

    Notes
    -----
    ``A`` leaves one direction ``E``, with eigenvalues ``r``, and ``R = (I + t E)^(1/2)``, where ``t`` is the root of
    ``sum_l w_l r_l / (1 + t r_l) = 0``, with ``w`` the squares of ``b`` in the eigenvectors of ``E``. That sum falls
    strictly from +infinity to -infinity if ``b`` has a part where ``r`` is least and where it is greatest, so there is
    one root. It is ``t = 0`` iff ``b^T E b = 0``. Source: claim X9.

    Examples
    --------
    The squared length of (2, 1) is 5 in both gauges:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> b = np.array([2.0, 1.0])
    >>> R = gauge.second_linear_gauge(np.eye(2), b)
    >>> (R @ R.T).round(3).tolist()  # the diagonal holds the lengths of (1, 0) and (0, 1)
    [[1.0, 0.8], [0.8, 1.0]]
    >>> round(float(b @ np.linalg.inv(R @ R.T) @ b), 4)
    5.0
    """
    directions = counting.linear_gauge_directions(A)
    if shape_of(directions)[0] != 1:
        raise ValueError(f"A leaves {shape_of(directions)[0]} linear directions; expected exactly one")
    E = in_floats(directions[0])
    b = _vector(like(b, E, "b"), "b", len(E))
    values, vectors = namespace(E).linalg.eigh(E)
    return counting.linear_stretch_along(E, _second_root((b @ vectors) ** 2, values))


def _vector(x: Array, name: str, length: int) -> Array:
    if shape_of(x) != (length,):
        raise ValueError(f"{name} has shape {shape_of(x)}; expected ({length},)")
    return x


def _second_root(weights: Array, rates: Array) -> float:
    """The root t of sum_l w_l r_l / (1 + t r_l), which falls strictly on the interval where all 1 + t r_l > 0.

    By bisection.
    """
    w, r = ([float(v) for v in values] for values in (weights, rates))
    if not min(r) < 0 < max(r):
        raise ValueError(
            "the direction does not change its sign (A does not span, or has a column of zeros): "
            "there is no second gauge"
        )
    low, high = -1 / max(r), -1 / min(r)

    def slope(t: float) -> float:
        return sum(wl * rl / (1 + t * rl) for wl, rl in zip(w, r, strict=True))

    edge = 1e-9 * (high - low)
    if not slope(low + edge) > 0 > slope(high - edge):
        raise ValueError("b has (almost) no part where the direction is least or greatest: there is no second gauge")
    low, high = low + edge, high - edge
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def search_second_gauge(A: Any, B: Any, *, starts: int, rng: Generator) -> np.ndarray | None:
    """Search for a gauge other than the identity that keeps the lengths of all rows of both tables.

    ``S != I``, positive definite, with ``a^T S a = ||a||^2`` and ``b^T S^-1 b = ||b||^2`` for all rows.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The first table of floats.
    B : array_like, shape (m, k)
        The second table of floats.
    starts : int
        How many random starts to try, at least 1.
    rng : numpy.random.Generator
        Where the starts come from.

    Returns
    -------
    NumPy array, shape (k, k), or None
        The matrix ``S``; None where nothing was found, which is no proof that there is none.

    Raises
    ------
    ValueError
        For widths that differ, for tables that are not finite, for ``starts`` below 1, and for an ``rng`` that is no
        Generator.

    Notes
    -----
    Least squares in ``X = log S`` (symmetric, so that ``S = e^X`` is positive definite) from ``starts`` random ``X``
    with normal entries. Found is what meets all conditions to 1e-9 and is no rotation.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import gauge
    >>> S = gauge.search_second_gauge(np.eye(2), [[2.0, 1.0]], starts=20, rng=np.random.default_rng(0))
    >>> S.round(3).tolist()  # the gauge that second_linear_gauge computes
    [[1.0, 0.8], [0.8, 1.0]]
    """
    checking.whole(starts, "starts")
    checking.generator(rng)
    A, B = (np.asarray(checking.as_numpy(table), dtype=np.float64) for table in checked_pair(A, B))
    k = A.shape[1]

    def stretch(x: np.ndarray, sign: int) -> np.ndarray:
        values, vectors = np.linalg.eigh(counting.unpack(x, k))
        found: np.ndarray = (vectors * np.exp(sign * np.clip(values, -30, 30))) @ vectors.T
        return found

    def misfit(x: np.ndarray) -> np.ndarray:
        grown = [((table @ stretch(x, sign)) * table).sum(1) for table, sign in ((A, 1), (B, -1))]
        lost: np.ndarray = np.concatenate(grown) - lengths
        return lost

    lengths = np.concatenate([(table**2).sum(1) for table in (A, B)])
    for _ in range(starts):
        found = least_squares(misfit, rng.standard_normal(k * (k + 1) // 2), max_nfev=400)
        if abs(found.fun).max() < 1e-9 * lengths.max() and abs(found.x).max() > 1e-3:
            return stretch(found.x, 1)
    return None


def second_plane_gauge(a1: Any, a2: Any, b: Any) -> Array:
    """Return the second gauge in the plane that keeps the lengths of two rows of a table and one of the other.

    ``S = I + t E`` keeps ``||a1||``, ``||a2||`` under ``S`` and ``||b||`` under ``S^-1``.

    Parameters
    ----------
    a1, a2 : array_like, shape (2,)
        Two rows of the first table, not parallel: NumPy, torch or exact.
    b : array_like, shape (2,)
        A row of the second table.

    Returns
    -------
    array, shape (2, 2)
        The matrix ``S``, exact for Fractions. ``S = I`` iff ``b`` is parallel to ``a1`` or ``a2``.

    Raises
    ------
    ValueError
        For parallel ``a1`` and ``a2``, and for a ``b`` that is an eigenvector of ``E`` (a bisector of the lines of
        ``a1`` and ``a2``): ``S`` is then not positive definite.

    Notes
    -----
    ``t = b^T E b / (||b||^2 |det E|)``, where ``E`` spans the symmetric matrices with ``a1^T E a1 = a2^T E a2 = 0``.
    Source: claim X9.

    Examples
    --------
    >>> from course_lib import arrays, gauge
    >>> S = gauge.second_plane_gauge(arrays.exact([1, 0]), [0, 1], [2, 1])
    >>> [[str(x) for x in row] for row in S]
    [['1', '4/5'], ['4/5', '1']]
    >>> gauge.second_plane_gauge([1.0, 0.0], [0.0, 1.0], [1.0, 1.0])
    Traceback (most recent call last):
    ValueError: b is a bisector of the lines of a1 and a2, so there is no second gauge
    """
    a1 = as_array(a1, "a1")
    a1, a2, b = (_vector(like(row, a1, name), name, 2) for name, row in (("a1", a1), ("a2", a2), ("b", b)))
    A = namespace(a1).stack([a1, a2])
    directions = counting.linear_gauge_directions(A)
    if shape_of(directions)[0] != 1:
        raise ValueError("a1 and a2 are parallel; expected two vectors that are not parallel")
    E = directions[0]
    determinant = E[0, 0] * E[1, 1] - E[0, 1] * E[1, 0]  # negative: E vanishes on two lines
    S = like(np.array([[1, 0], [0, 1]]), A, "S") + E * ((b @ E @ b) / (b @ b) / abs(determinant))
    if not S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0] > (0 if is_exact(A) else 1e-12):
        raise ValueError("b is a bisector of the lines of a1 and a2, so there is no second gauge")
    return S
