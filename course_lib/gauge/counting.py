"""The gauges that keep the lengths of one table: how many there are, and how to build one.

S = diag(1 + delta) keeps the length of a row a iff sum_l a_l^2 delta_l = 0; S = I + E iff a^T E a = 0. Both are linear
in the unknown, so these gauges are a slice of an affine space, and rank decides. Source: claim X9.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from course_lib import checking, geometry
from course_lib.arrays import Array, as_array, first_index, is_exact, like, namespace, shape_of
from course_lib.gauge import algebra


def is_on_sphere(A: Any, *, radius: float = 1.0, tol: float | None = None) -> bool:
    """True when every row has norm `radius` up to the relative tolerance `tol` (default: 8 sqrt(k) eps of the dtype).

    A (..., n, k). The radius is free: a sphere of any size has the same symmetries and the same cosines.
    """
    A = algebra.checked_table(A, "A")
    checking.real(radius, "radius", above=0)
    tol = 8 * math.sqrt(shape_of(A)[-1]) * algebra.machine_epsilon(A) if tol is None else tol
    return bool((abs(geometry.norm(A) / radius - 1) <= tol).all())


def keeps_norms(A: Any, S: Any, *, tol: float = 1e-9) -> bool:
    """True when a^T S a = ||a||^2 for every row a of A, up to `tol` times ||a||^2 (exactly for Fractions and tol = 0).

    A (n, k); S = R R^T (k, k) for the gauge A -> A R. For the other table B -> B R^-T give the inverse of S.
    """
    A = algebra.checked_table(A, "A")
    S = like(S, A, "S")
    new, old = ((A @ S) * A).sum(-1), (A * A).sum(-1)
    return bool((abs(new - old) <= tol * old).all())


def squares(A: Any) -> Array:
    """A∘A: row i holds the squares of row i. (n, k) -> (n, k).

    Its null space holds the diagonal gauges that keep lengths.
    """
    A = algebra.checked_table(A, "A")
    return A * A


def outer_rows(A: Any) -> Array:
    """Row i is a_i a_i^T as a vector of k(k+1)/2 numbers: (n, k) -> (n, k(k+1)/2).

    Entries (p, q) with p <= q in row order; those off the diagonal count twice, so that row . coordinates(E) = a^T E a
    for a symmetric E given by its upper triangle. No square roots: Fractions stay exact.
    """
    A = algebra.checked_table(A, "A")
    rows, cols = np.triu_indices(shape_of(A)[-1])
    twice = like(np.where(rows == cols, 1, 2), A, "twice")
    return A[..., algebra.index_for(rows, A)] * A[..., algebra.index_for(cols, A)] * twice


def diagonal_gauge_dimension(A: Any) -> int:
    """k - rank(A∘A): the dimension of the set of positive D for which every row of A D is as long as that of A.

    The set is {D : d∘d - 1 in ker(A∘A), d > 0}: an open piece of that dimension, so 0 means D = I alone (and its sign
    changes diag(+-1), which change no cosine). A (n, k), NumPy, torch or exact. Source: claim X9, the repair
    of P2's Proposition 8.
    """
    A = algebra.checked_table(A, "A")
    return shape_of(A)[-1] - algebra.rank(squares(A))


def linear_gauge_dimension(A: Any) -> int:
    """k(k+1)/2 - rank of the rows a a^T: the dimension of {S = R R^T : every row of A R is as long as that of A}.

    0 means that R must be orthogonal, which changes no cosine. It needs n >= k(k+1)/2 rows. A (n, k), NumPy, torch or
    exact. If A has rank r < k, the count includes S that act outside the span of A: see `visible_linear_dimension`.
    Source: claim X9.
    """
    A = algebra.checked_table(A, "A")
    k = shape_of(A)[-1]
    return k * (k + 1) // 2 - outer_rank(A)


def visible_diagonal_dimension(A: Any) -> int:
    """The part of `diagonal_gauge_dimension` that the cosines of A can feel.

    That is, less the directions that change no inner product of two rows.
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
    """The part of `linear_gauge_dimension` that the cosines of A can feel.

    With r = rank A it is r(r+1)/2 - rank of the rows a a^T.
    """
    A = algebra.checked_table(A, "A")
    r = algebra.rank(A)
    return r * (r + 1) // 2 - outer_rank(A)


def gauge_directions(A: Any) -> Array:
    """A basis of ker(A∘A) as columns, (k, g) with g = diagonal_gauge_dimension(A).

    Orthonormal for floats; rational (not orthonormal) for Fractions. d = sqrt(1 + delta) keeps all lengths for any
    combination delta of the columns with entries above -1: see `stretch_along`.
    """
    A = algebra.checked_table(A, "A")
    if is_exact(A):
        return algebra.exact_null_space(squares(A))
    return algebra.null_space(squares(A))


def linear_gauge_directions(A: Any) -> Array:
    """A basis of {E symmetric : a^T E a = 0 for every row a}, (g, k, k) with g = linear_gauge_dimension(A).

    Each of Frobenius norm 1 for floats (not orthogonal to each other). S = I + t E keeps all lengths:
    `linear_stretch_along`.
    """
    A = algebra.checked_table(A, "A")
    k = shape_of(A)[-1]
    null = algebra.exact_null_space(outer_rows(A)) if is_exact(A) else algebra.null_space(reduced_outer(A))  # (p, g)
    E = unpack(null.T, k)
    return E if is_exact(A) else E / geometry.norm(namespace(A).reshape(E, (-1, k * k)))[:, None, None]


def random_linear_directions(A: Any, draws: int, *, rng: np.random.Generator) -> np.ndarray:
    """(draws, k, k): random E of norm 1 in the span of `linear_gauge_directions`, each direction of the span as likely.

    A symmetric matrix whose entries are normal in A's own axes, projected on the span and divided by its norm: unlike
    a combination of the basis, it does not depend on which basis of the span the processor found. A (n, k) floats with
    linear_gauge_dimension 1 or more (ValueError otherwise).
    """
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
    """d = sqrt(1 + t delta) (k,): the diagonal gauge that lies t away from the identity in the direction delta (k,).

    Raises ValueError when an entry of 1 + t delta is not positive; the largest t allowed is 1 / max(-delta).
    """
    delta = as_array(delta, "delta")
    x = 1 + t * delta
    if (at := first_index(~((x > 0) & (x < math.inf)))) is not None:  # NaN fails both
        raise ValueError(
            f"1 + t delta is {float(x[at]):.4g} on axis {at[0]}: "
            f"t = {float(t):.4g} is outside {_range_of(-delta, delta)}"
        )
    return namespace(x).sqrt(x)


def weakest_direction(A: Any) -> tuple[float, Array]:
    """How far the lengths of A are from leaving a gauge free: (margin, E), floats.

    Among symmetric E (k, k) of Frobenius norm 1 the margin is the least sqrt(mean over rows of (u^T E u)^2), where u is
    the row divided by its length: the least singular value of the table of the u u^T, over sqrt(n). S = I + t E changes
    squared lengths by t times the margin, relatively and in root mean square. 0: a gauge is free
    (`linear_gauge_dimension`); small: one is nearly free, and lengths that are kept only roughly do not forbid it. The
    sign of E makes the eigenvalue of largest size positive. A (n, k), rows not 0.
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
    """R = (I + t E)^(1/2), symmetric and positive definite (k, k), for a symmetric E (k, k): R R^T = I + t E.

    In floats, also where E is exact. Raises ValueError for an E that is not symmetric (beyond rounding), and when
    I + t E is not positive definite.
    """
    E = algebra.checked_table(E, "E")
    if len(shape_of(E)) != 2 or shape_of(E)[0] != shape_of(E)[1]:
        raise ValueError(f"E has shape {shape_of(E)}; expected (k, k)")
    xp = namespace(E)
    if bool((gap := abs(E - E.T).max()) > math.sqrt(algebra.machine_epsilon(E)) * abs(E).max()):
        raise ValueError(f"E differs from its transpose by up to {float(gap):.4g}; expected a symmetric matrix")
    values, vectors = xp.linalg.eigh(algebra.doubled(E) if is_exact(E) else E)
    x = 1 + like(t, values, "t") * values
    if first_index(~((x > 0) & (x < math.inf))) is not None:
        raise ValueError(f"I + t E is not positive: t = {float(t):.4g} is outside {_range_of(-values, values)}")
    return (vectors * xp.sqrt(x)) @ xp.matrix_transpose(vectors)


def outer_rank(A: Array) -> int:
    return algebra.rank(outer_rows(A) if is_exact(A) else reduced_outer(A))


def reduced_outer(A: Array) -> Array:
    """`outer_rows` of a long table, reduced by QR to at most k(k+1) rows of the same row space and singular values."""
    k = shape_of(A)[-1]
    p = k * (k + 1) // 2
    if shape_of(A)[0] <= 2 * p:
        return outer_rows(A)
    xp = namespace(A)
    kept, block = None, max(p, algebra.BLOCK_NUMBERS // p)
    for start in range(0, shape_of(A)[0], block):
        rows = algebra.doubled(outer_rows(A[start : start + block]))
        kept = xp.linalg.qr(rows if kept is None else xp.concat([kept, rows]))[1]
    return kept if algebra.machine_epsilon(A) == algebra.EPS64 else like(kept, A, "rows")


def weighted_outer(A: Array) -> Array:
    """Rows a a^T in the coordinates in which the dot product is tr(M N): off-diagonal entries times sqrt(2)."""
    rows, cols = np.triu_indices(shape_of(A)[-1])
    return outer_rows(A) * like(np.where(rows == cols, 1.0, math.sqrt(0.5)), A, "weight")


def unpack(vectors: Array, k: int) -> Array:
    """Symmetric matrices from their upper triangles in row order: (..., k(k+1)/2) -> (..., k, k)."""
    rows, cols = np.triu_indices(k)
    place = np.zeros((k, k), dtype=np.int64)
    place[rows, cols] = place[cols, rows] = np.arange(len(rows))
    return vectors[..., algebra.index_for(place, vectors)]


def _range_of(low: Array, high: Array) -> str:
    """The open interval of t for which 1 + t x > 0, x between min(-low) and max(high), as text."""
    most, least = float(max(low)), float(max(high))
    upper = f"{1 / most:.4g}" if most > 0 else "infinity"
    lower = f"{-1 / least:.4g}" if least > 0 else "-infinity"
    return f"({lower}, {upper})"
