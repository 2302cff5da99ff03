"""The gauges that keep the lengths of one table: how many there are, and how to build one.

S = diag(1 + delta) keeps the length of a row a iff sum_l a_l^2 delta_l = 0; S = I + E iff a^T E a = 0. Both are linear
in the unknown, so these gauges are a slice of an affine space, and rank decides. Source: claim X9.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import checking, geometry
from course_lib.arrays import Array, as_array, first_index, is_exact, like, namespace, shape_of
from course_lib.gauge import algebra


def is_on_sphere(A: Any, *, radius: float = 1.0, tol: float | None = None) -> bool:
    """Return whether every row of a table has the same given norm, up to rounding.

    Parameters
    ----------
    A : array_like, shape (..., n, k)
        The table of floats, NumPy or torch.
    radius : float
        The norm that the rows should have, above 0. It is free: a sphere of any size has the same symmetries and the
        same cosines.
    tol : float, optional
        The relative tolerance. By default ``8 sqrt(k) eps``, with ``eps`` that of the dtype.

    Returns
    -------
    bool
        True where ``| ||a|| / radius - 1 | <= tol`` for every row ``a``.

    Raises
    ------
    ValueError
        For a radius that is not above 0, a ``tol`` below 0, for NaN or infinite entries, and for Fractions, which have
        no exact norm.

    Examples
    --------
    >>> from course_lib import gauge
    >>> gauge.is_on_sphere([[0.6, 0.8], [1.0, 0.0]]), gauge.is_on_sphere([[3.0, 4.0], [5.0, 0.0]])
    (True, False)
    >>> gauge.is_on_sphere([[3.0, 4.0], [5.0, 0.0]], radius=5.0)
    True
    """
    A = algebra.checked_table(A, "A", stack=True)
    checking.real(radius, "radius", above=0)
    rounding = 8 * math.sqrt(shape_of(A)[-1]) * algebra.machine_epsilon(A)
    tol = rounding if tol is None else checking.real(tol, "tol", least=0)
    return bool((abs(geometry.norm(A) / radius - 1) <= tol).all())


def keeps_norms(A: Any, S: Any, *, tol: float = 1e-9) -> bool:
    """Return whether a gauge keeps the length of every row of a table.

    ``a^T S a = ||a||^2`` for every row ``a``, with ``S = R R^T`` for the gauge ``A -> A R``.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.
    S : array_like, shape (k, k)
        ``R R^T``. For the other table, ``B -> B R^-T``, give the inverse of ``S``.
    tol : float
        The tolerance, in units of ``||a||^2``. Exact for Fractions and ``tol = 0``. The default is one for float64;
        float32 needs about 1e-6.

    Returns
    -------
    bool
        True where ``|a^T S a - ||a||^2| <= tol ||a||^2`` for every row.

    Raises
    ------
    ValueError
        For a table or an ``S`` that is not finite, for an ``S`` of another shape, and for a tensor beside an array.

    Examples
    --------
    Doubling the first axis and leaving the second keeps the length of (0, 1), but not that of (1, 0):

    >>> from course_lib import gauge
    >>> S = [[4.0, 0.0], [0.0, 1.0]]
    >>> gauge.keeps_norms([[0.0, 1.0]], S), gauge.keeps_norms([[0.0, 1.0], [1.0, 0.0]], S)
    (True, False)
    """
    A = algebra.checked_table(A, "A")
    S = algebra.checked_table(like(S, A, "S"), "S")
    if shape_of(S) != (shape_of(A)[-1],) * 2:
        raise ValueError(f"S has shape {shape_of(S)}; expected {(shape_of(A)[-1],) * 2}, the width of A twice")
    checking.real(tol, "tol", least=0)
    new, old = ((A @ S) * A).sum(-1), (A * A).sum(-1)
    return bool((abs(new - old) <= tol * old).all())


def squares(A: Any) -> Array:
    """Return the table of the squared entries, whose null space holds the diagonal gauges that keep lengths.

    ``A∘A``: row i holds the squares of row i.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    array, shape (n, k)
        The squares.

    Raises
    ------
    ValueError
        For a table that is not finite or has fewer than two axes, and where its squares overflow or vanish.

    Examples
    --------
    >>> from course_lib import gauge
    >>> gauge.squares([[3.0, 4.0], [3.0, -4.0]]).tolist()  # rank 1: one diagonal gauge keeps both lengths
    [[9.0, 16.0], [9.0, 16.0]]
    """
    A = _squarable(algebra.checked_table(A, "A"))
    return A * A


def outer_rows(A: Any) -> Array:
    """Return the outer products of the rows with themselves, each as a vector of ``k(k+1)/2`` numbers.

    Row i is ``a_i a_i^T``: the entries (p, q) with ``p <= q`` in row order.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    array, shape (n, k(k+1)/2)
        The outer products. Entries off the diagonal count twice, so that the dot product of a row with the
        upper triangle of a symmetric ``E`` is ``a^T E a``. There are no square roots: Fractions stay exact.

    Raises
    ------
    ValueError
        For a table that is not finite or has fewer than two axes, and where its squares overflow or vanish.

    Examples
    --------
    >>> from course_lib import gauge
    >>> gauge.outer_rows([[3.0, 4.0]]).tolist()  # 3 * 3, 2 * (3 * 4), 4 * 4
    [[9.0, 24.0, 16.0]]
    """
    return _outer(_squarable(algebra.checked_table(A, "A")))


def _outer(A: Array) -> Array:
    rows, cols = np.triu_indices(shape_of(A)[-1])
    twice = like(np.where(rows == cols, 1, 2), A, "twice")
    return A[..., algebra.index_for(rows, A)] * A[..., algebra.index_for(cols, A)] * twice


def diagonal_gauge_dimension(A: Any) -> int:
    """Return the dimension of the set of diagonal gauges that keep the length of every row of a table.

    ``k - rank(A∘A)``: the dimension of the set of positive ``D`` for which every row of ``A D`` is as long as that of
    ``A``.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    int
        The dimension. 0 means ``D = I`` alone (and its sign changes ``diag(+-1)``, which change no cosine).

    Raises
    ------
    ValueError
        For a table that is not finite or has fewer than two axes, and where its squares overflow or vanish.

    See Also
    --------
    gauge_directions : The gauges themselves.
    visible_diagonal_dimension : The part that cosines can feel.

    Notes
    -----
    The set is ``{D : d∘d - 1 in ker(A∘A), d > 0}``: an open piece of that dimension. Source: claim X9, the repair of
    P2's Proposition 8.

    Examples
    --------
    The rows (3, 4) and (3, -4) have the same squares, so one gauge is left. A row with other squares takes it away:

    >>> from course_lib import gauge
    >>> gauge.diagonal_gauge_dimension([[3.0, 4.0], [3.0, -4.0]])
    1
    >>> gauge.diagonal_gauge_dimension([[3.0, 4.0], [3.0, -4.0], [4.0, 3.0]])
    0
    """
    A = algebra.checked_table(A, "A")
    return shape_of(A)[-1] - algebra.rank(squares(A))


def linear_gauge_dimension(A: Any) -> int:
    """Return the dimension of the set of linear gauges that keep the length of every row of a table.

    ``k(k+1)/2`` minus the rank of the rows ``a a^T``: the dimension of
    ``{S = R R^T : every row of A R is as long as that of A}``.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    int
        The dimension. 0 means that ``R`` must be orthogonal, which changes no cosine. It needs ``n >= k(k+1)/2`` rows.

    Raises
    ------
    ValueError
        For a table that is not finite or has fewer than two axes, and where its squares overflow or vanish.

    See Also
    --------
    visible_linear_dimension : Less the gauges that act outside the span of the table.

    Notes
    -----
    If ``A`` has rank ``r < k``, the count includes ``S`` that act outside the span of ``A``. Source: claim X9.

    Examples
    --------
    In the plane ``S`` has 3 entries, and each row of another direction takes one away:

    >>> from course_lib import gauge
    >>> gauge.linear_gauge_dimension([[1.0, 0.0], [0.0, 1.0]])
    1
    >>> gauge.linear_gauge_dimension([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    0
    """
    A = algebra.checked_table(A, "A")
    k = shape_of(A)[-1]
    return k * (k + 1) // 2 - outer_rank(A)


def visible_diagonal_dimension(A: Any) -> int:
    """Return the dimension of the diagonal gauges that keep lengths and that the cosines of a table can feel.

    That is the part of :func:`diagonal_gauge_dimension` that is left without the directions that change no inner
    product of two rows.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    int
        The dimension.

    Raises
    ------
    ValueError
        For a table that is not finite or has fewer than two axes, and where its squares overflow or vanish.

    Examples
    --------
    One row alone has no cosine to change. With (3, -4) beside it, the same gauge changes a cosine:

    >>> from course_lib import gauge
    >>> gauge.diagonal_gauge_dimension([[3.0, 4.0]]), gauge.visible_diagonal_dimension([[3.0, 4.0]])
    (1, 0)
    >>> gauge.visible_diagonal_dimension([[3.0, 4.0], [3.0, -4.0]])
    1
    """
    A = algebra.checked_table(A, "A")
    directions = gauge_directions(A)  # (k, g)
    if not shape_of(directions)[1]:
        return 0
    if is_exact(A):
        return algebra.rank(np.stack([(A * delta @ A.T).reshape(-1) for delta in directions.T]))
    basis = algebra.row_space(A)  # (k, r): the inner products of A's rows see Q^T diag(delta) Q
    xp = namespace(A)
    seen = [xp.reshape((basis * directions[:, g, None]).T @ basis, (-1,)) for g in range(shape_of(directions)[1])]
    return algebra.rank(xp.stack(seen), relative_to=1.0)


def visible_linear_dimension(A: Any) -> int:
    """Return the dimension of the linear gauges that keep lengths and that the cosines of a table can feel.

    With ``r = rank A`` it is ``r(r+1)/2`` minus the rank of the rows ``a a^T``.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    int
        The part of :func:`linear_gauge_dimension` that the cosines of ``A`` can feel.

    Raises
    ------
    ValueError
        For a table that is not finite or has fewer than two axes, and where its squares overflow or vanish.

    Examples
    --------
    The rows (1, 0) and (2, 0) leave two of the three entries of ``S`` free, but both act outside the span of the rows:

    >>> from course_lib import gauge
    >>> A = [[1.0, 0.0], [2.0, 0.0]]
    >>> gauge.linear_gauge_dimension(A), gauge.visible_linear_dimension(A)
    (2, 0)
    """
    A = algebra.checked_table(A, "A")
    r = algebra.rank(A)
    return r * (r + 1) // 2 - outer_rank(A)


def gauge_directions(A: Any) -> Array:
    """Return a basis of the directions of the diagonal gauges that keep the length of every row.

    A basis of ``ker(A∘A)``. ``d = sqrt(1 + delta)`` keeps all lengths for any combination ``delta`` of the basis with
    entries above -1.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    array, shape (k, g)
        The basis as columns, ``g = diagonal_gauge_dimension(A)``. Orthonormal for floats; rational (not orthonormal)
        for Fractions.

    Raises
    ------
    ValueError
        For a table that is not finite or has fewer than two axes, and where its squares overflow or vanish.

    See Also
    --------
    stretch_along : The gauge in one of the directions.

    Examples
    --------
    >>> from course_lib import arrays, gauge
    >>> directions = gauge.gauge_directions(arrays.exact([[1, 2], [1, -2]]))
    >>> [str(x) for x in directions[:, 0]]  # 1 (-4) + 4 (1) = 0
    ['-4', '1']
    """
    A = algebra.checked_table(A, "A")
    if is_exact(A):
        return algebra.exact_null_space(squares(A))
    return algebra.null_space(squares(A))


def linear_gauge_directions(A: Any) -> Array:
    """Return a basis of the directions of the linear gauges that keep the length of every row.

    A basis of ``{E symmetric : a^T E a = 0 for every row a}``. ``S = I + t E`` keeps all lengths; it is that of a gauge
    while it is positive definite, so for small ``t``.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    array, shape (g, k, k)
        The basis, ``g = linear_gauge_dimension(A)``. For floats each matrix has Frobenius norm 1; they are not
        orthogonal to each other.

    Raises
    ------
    ValueError
        For a table that is not finite or has fewer than two axes, and where its squares overflow or vanish.

    See Also
    --------
    linear_stretch_along : The gauge in one of the directions.

    Examples
    --------
    The lengths of (1, 0) and (0, 1) are the diagonal of ``S``; the entry off the diagonal, their inner product, is
    free:

    >>> from course_lib import arrays, gauge
    >>> E = gauge.linear_gauge_directions(arrays.exact([[1, 0], [0, 1]]))[0]
    >>> [[int(x) for x in row] for row in E]
    [[0, 1], [1, 0]]
    """
    A = algebra.checked_table(A, "A")
    k = shape_of(A)[-1]
    null = algebra.exact_null_space(outer_rows(A)) if is_exact(A) else algebra.null_space(reduced_outer(A))  # (p, g)
    E = unpack(null.T, k)
    return E if is_exact(A) else E / geometry.norm(namespace(A).reshape(E, (-1, k * k)))[:, None, None]


def random_linear_directions(A: Any, draws: int, *, rng: np.random.Generator) -> np.ndarray:
    """Return random directions of the linear gauges that keep the length of every row.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table of floats, with ``linear_gauge_dimension(A)`` of at least 1.
    draws : int
        How many directions to draw, at least 1.
    rng : numpy.random.Generator
        Where the numbers come from.

    Returns
    -------
    NumPy array, shape (draws, k, k)
        Symmetric ``E`` of Frobenius norm 1 in the span of :func:`linear_gauge_directions`, each direction of the span
        as likely.

    Raises
    ------
    ValueError
        Where ``A`` leaves no linear direction, for ``draws`` below 1, and for an ``rng`` that is no Generator.

    Notes
    -----
    A symmetric matrix whose entries are normal in the axes of ``A`` is projected on the span and divided by its norm.
    Unlike a combination of the basis, the result does not depend on which basis of the span the processor found.

    Examples
    --------
    The rows (1, 0) and (0, 1) leave one direction. A draw is that direction or its opposite:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> E = gauge.random_linear_directions([[1.0, 0.0], [0.0, 1.0]], 5, rng=np.random.default_rng(0))
    >>> E.shape, abs(E[0]).round(3).tolist()
    ((5, 2, 2), [[0.0, 0.707], [0.707, 0.0]])
    """
    checking.whole(draws, "draws")
    directions = linear_gauge_directions(A)  # (g, k, k)
    g, k = shape_of(directions)[:2]
    if not g:
        raise ValueError("A leaves no linear direction: every gauge that keeps its lengths is orthogonal")
    flat = np.asarray(checking.as_numpy(directions), dtype=np.float64).reshape(g, k * k)
    basis = np.linalg.qr(flat.T)[0]  # (k k, g), orthonormal
    normal = checking.generator(rng).standard_normal((draws, k, k))
    symmetric = (normal + normal.transpose(0, 2, 1)).reshape(draws, k * k)
    E: np.ndarray = (symmetric @ basis @ basis.T).reshape(draws, k, k)
    E /= geometry.norm(E.reshape(draws, k * k))[:, None, None]
    return E


def stretch_along(delta: Any, t: Any) -> Array:
    """Return the diagonal gauge at a given distance from the identity in a given direction.

    ``d = sqrt(1 + t delta)``.

    Parameters
    ----------
    delta : array_like, shape (k,)
        The direction in floats, for example a column of :func:`gauge_directions`.
    t : float
        The distance, of either sign. Every ``1 + t delta`` must stay above 0: ``-1/max(delta) < t < 1/max(-delta)`` for
        a ``delta`` with entries of both signs.

    Returns
    -------
    array, shape (k,)
        The factors ``d``, all above 0.

    Raises
    ------
    ValueError
        Where an entry of ``1 + t delta`` is not positive and finite.

    Examples
    --------
    A gauge that keeps the lengths of (3, 4) and (3, -4), which are 5, and changes the cosine between them:

    >>> import numpy as np
    >>> from course_lib import gauge, geometry
    >>> A = np.array([[3.0, 4.0], [3.0, -4.0]])
    >>> moved = A * gauge.stretch_along([-16 / 9, 1.0], 0.5)
    >>> geometry.norm(moved).round(3).tolist()
    [5.0, 5.0]
    >>> round(float(geometry.cosine(A[0], A[1])), 4), round(float(geometry.cosine(moved[0], moved[1])), 4)
    (-0.28, -0.92)
    """
    delta = as_array(delta, "delta")
    delta = algebra.doubled(delta) if is_exact(delta) else delta
    if len(shape_of(delta)) != 1:
        raise ValueError(f"delta has shape {shape_of(delta)}; expected (k,)")
    checking.real(t, "t")
    x = 1 + (float(t) if isinstance(t, Fraction) else t) * delta
    if (at := first_index(~((x > 0) & (x < math.inf)))) is not None:  # NaN fails both
        raise ValueError(
            f"1 + t delta is {float(x[at]):.4g} on axis {at[0]}: "
            f"t = {float(t):.4g} is outside {_range_of(-delta, delta)}"
        )
    return namespace(x).sqrt(x)


def weakest_direction(A: Any) -> tuple[float, Array]:
    """Return how far the lengths of a table are from leaving a gauge free, and the gauge's direction.

    Among symmetric ``E`` (k, k) of Frobenius norm 1, the margin is the least ``sqrt(mean over rows of (u^T E u)^2)``,
    where ``u`` is the row divided by its length.

    Parameters
    ----------
    A : array_like, shape (n, k)
        The table, no row zero. The work is done in float64.

    Returns
    -------
    margin : float
        The least singular value of the table of the ``u u^T``, over ``sqrt(n)``. 0: a gauge is free
        (:func:`linear_gauge_dimension`). Small: a gauge is nearly free, and lengths that are kept only roughly do not
        forbid it.
    E : NumPy array, shape (k, k)
        A symmetric matrix of norm 1 that attains the margin. Its sign makes the eigenvalue of largest size positive.

    Raises
    ------
    ValueError
        For a zero row and for a table that is not finite.

    Notes
    -----
    ``S = I + t E`` changes squared lengths by ``t`` times the margin, relatively and in root mean square.

    Examples
    --------
    Two directions of the plane leave a gauge free, three do not:

    >>> from course_lib import gauge
    >>> margin, E = gauge.weakest_direction([[1.0, 0.0], [0.0, 1.0]])
    >>> round(margin, 3), abs(E).round(3).tolist()
    (0.0, [[0.0, 0.707], [0.707, 0.0]])
    >>> round(gauge.weakest_direction([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])[0], 2)
    0.31
    """
    A = algebra.checked_table(A, "A")
    table = np.asarray(checking.as_numpy(A), dtype=np.float64)
    k = table.shape[1]
    rows, cols = np.triu_indices(k)
    weight = np.where(rows == cols, 1.0, math.sqrt(0.5))  # coordinates in which the dot product is tr(M N)
    triangle = np.linalg.qr(reduced_outer(geometry.normalise(table)) * weight, mode="r")
    sigma, across = np.linalg.svd(triangle)[1:]  # all k(k+1)/2 right vectors, also where there are fewer rows
    E = unpack(across[-1] * weight, k)
    values = np.linalg.eigvalsh(E)
    margin = sigma[-1] / math.sqrt(len(table)) if len(sigma) == len(rows) else 0.0
    return float(margin), E if values[-1] >= -values[0] else -E


def linear_stretch_along(E: Any, t: Any) -> Array:
    """Return the symmetric positive definite gauge at a given distance from the identity in a given direction.

    ``R = (I + t E)^(1/2)``, so that ``R R^T = I + t E``.

    Parameters
    ----------
    E : array_like, shape (k, k)
        The direction, a symmetric matrix, for example one of :func:`linear_gauge_directions`. 16 bits become float32.
    t : float
        The distance.

    Returns
    -------
    array, shape (k, k)
        The matrix ``R``, symmetric and positive definite. In floats, also where ``E`` is exact.

    Raises
    ------
    ValueError
        For an ``E`` that is not symmetric (beyond rounding), and where ``I + t E`` is not positive definite.

    Examples
    --------
    The gauge keeps the lengths of (1, 0) and (0, 1), and turns their cosine from 0 to 0.6:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> R = gauge.linear_stretch_along([[0.0, 1.0], [1.0, 0.0]], 0.6)
    >>> A = np.eye(2) @ R
    >>> (A @ A.T).round(3).tolist()
    [[1.0, 0.6], [0.6, 1.0]]
    """
    E = algebra.checked_table(E, "E")
    if len(shape_of(E)) != 2 or shape_of(E)[0] != shape_of(E)[1]:
        raise ValueError(f"E has shape {shape_of(E)}; expected (k, k)")
    checking.real(t, "t")
    xp = namespace(E)
    if bool((gap := abs(E - E.T).max()) > math.sqrt(algebra.machine_epsilon(E)) * abs(E).max()):
        raise ValueError(f"E differs from its transpose by up to {float(gap):.4g}; expected a symmetric matrix")
    values, vectors = xp.linalg.eigh(algebra.in_floats(E))
    x = 1 + like(t, values, "t") * values
    if first_index(~((x > 0) & (x < math.inf))) is not None:
        raise ValueError(f"I + t E is not positive: t = {float(t):.4g} is outside {_range_of(-values, values)}")
    return (vectors * xp.sqrt(x)) @ xp.matrix_transpose(vectors)


def outer_rank(A: Array) -> int:
    """Return the rank of the outer products of the rows with themselves.

    Parameters
    ----------
    A : array, shape (n, k)
        The table: NumPy, torch or exact.

    Returns
    -------
    int
        The rank of :func:`outer_rows`, at most ``k(k+1)/2``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.gauge import counting
    >>> counting.outer_rank(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]))  # (1, 0) and (2, 0) are one direction
    2
    """
    return algebra.rank(outer_rows(A) if is_exact(A) else reduced_outer(A))


def reduced_outer(A: Array) -> Array:
    """Return the outer products of the rows of a table, reduced to few rows where the table is long.

    Parameters
    ----------
    A : array, shape (n, k)
        The table of floats, NumPy or torch.

    Returns
    -------
    array
        :func:`outer_rows` of ``A`` where the table has at most ``k(k+1)`` rows. Of a longer table the factor R of QR,
        with ``k(k+1)/2`` rows: it has the same row space and singular values.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.gauge import counting
    >>> A = np.random.default_rng(0).standard_normal((1000, 2))
    >>> reduced = counting.reduced_outer(A)
    >>> reduced.shape, bool(np.allclose(reduced.T @ reduced, counting.outer_rows(A).T @ counting.outer_rows(A)))
    ((3, 3), True)
    """
    k = shape_of(A)[-1]
    p = k * (k + 1) // 2
    if shape_of(A)[0] <= 2 * p:
        return outer_rows(A)
    xp, A = namespace(A), _squarable(A)
    kept, block = None, max(p, algebra.BLOCK_NUMBERS // p)
    for start in range(0, shape_of(A)[0], block):
        rows = algebra.doubled(_outer(A[start : start + block]))
        kept = xp.linalg.qr(rows if kept is None else xp.concat([kept, rows]))[1]
    return kept if algebra.machine_epsilon(A) == algebra.EPS64 else like(kept, A, "rows")


def weighted_outer(A: Array) -> Array:
    """Return the outer products of the rows in coordinates in which the dot product is that of matrices.

    Rows ``a a^T`` in the coordinates in which the dot product is ``tr(M N)``: entries off the diagonal times
    ``sqrt(2)``.

    Parameters
    ----------
    A : array, shape (n, k)
        The table of floats, NumPy or torch.

    Returns
    -------
    array, shape (n, k(k+1)/2)
        The outer products.

    Examples
    --------
    The dot product of two rows is ``tr(a a^T b b^T) = <a, b>^2``. Here ``<a, b> = 1*3 + 2*4 = 11``:

    >>> import numpy as np
    >>> from course_lib.gauge import counting
    >>> rows = counting.weighted_outer(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> round(float(rows[0] @ rows[1]), 4)
    121.0
    """
    rows, cols = np.triu_indices(shape_of(A)[-1])
    return outer_rows(A) * like(np.where(rows == cols, 1.0, math.sqrt(0.5)), A, "weight")


def unpack(vectors: Array, k: int) -> Array:
    """Return symmetric matrices from their upper triangles in row order.

    Parameters
    ----------
    vectors : array, shape (..., k(k+1)/2)
        The upper triangles.
    k : int
        The width of the matrices.

    Returns
    -------
    array, shape (..., k, k)
        The matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.gauge import counting
    >>> counting.unpack(np.array([1.0, 2.0, 3.0]), 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    rows, cols = np.triu_indices(k)
    place = np.zeros((k, k), dtype=np.int64)
    place[rows, cols] = place[cols, rows] = np.arange(len(rows))
    return vectors[..., algebra.index_for(place, vectors)]


def _squarable(A: Array) -> Array:
    """The table, unless the squares of its largest entries overflow or vanish: they would be read as another rank."""
    if is_exact(A):
        return A
    largest, limits = abs(A).max(), namespace(A).finfo(A.dtype)
    with np.errstate(over="ignore", under="ignore"):
        square = float(largest * largest)
    if largest and not float(limits.tiny) <= square <= float(limits.max):
        raise ValueError(
            f"the table has entries up to {float(largest):.4g}, whose squares {A.dtype} cannot hold; scale it, which "
            "changes no rank"
        )
    return A


def _range_of(low: Array, high: Array) -> str:
    """The open interval of t for which 1 + t x > 0, x between min(-low) and max(high), as text."""
    most, least = float(max(low)), float(max(high))
    upper = f"{1 / most:.4g}" if most > 0 else "infinity"
    lower = f"{-1 / least:.4g}" if least > 0 else "-infinity"
    return f"({lower}, {upper})"
