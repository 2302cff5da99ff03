"""Gauges: changes of the embedding tables that no prediction notices.

A model scores a pair by <a, b>. For every invertible matrix R the tables A R and B R^-T give the same scores A B^T, so
a loss of the scores alone cannot tell them apart. A *diagonal gauge* is the case R = diag(d) (P2, Definition 3).
Cosines between rows of one table do change: they see S = R R^T, since (A R)(A R)^T = A S A^T. Rotations have S = I and
are harmless. This module applies gauges, counts those that keep the length of every row (all that is left when the rows
are held on a sphere), builds gauges with a purpose, and measures how far the nearest neighbours move.

Counting. S = diag(1 + delta) keeps the length of a row a iff sum_l a_l^2 delta_l = 0; S = I + E iff a^T E a = 0. Both
are linear in the unknown, so the gauges that keep *one* table's lengths are a slice of an affine space, and rank
decides. When *both* tables are held, the second condition is b^T S^-1 b = ||b||^2. That is not linear: rank then
decides only about gauges near S = I (see `two_sided_linear_dimension`), and a separate gauge may sit far away
(`swap_squares`).

Ranks are computed in float64 (exactly for Fractions), with a tolerance that the rounding of the input can reach, and
no larger: sigma_max (4 sqrt(columns) eps + max(shape) eps64), eps that of the input's dtype.

Sources: P2 (Sections 4 and 6); Steck, Ekanadham and Kallus 2024 for the two regularised objectives; the counts are ours
(X9).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib.maths import geometry
from course_lib.maths.arrays import (
    Array,
    all_finite,
    as_array,
    first_index,
    is_exact,
    is_torch,
    like,
    namespace,
    shape_of,
)

METRICS = ("cosine", "chord", "geodesic", "euclidean", "dot")
EPS64 = float(np.finfo(np.float64).eps)
BLOCK_NUMBERS = 2**21  # numbers held at once where a table is worked through in blocks


# ---- applying gauges


def apply_gauge(A: Any, B: Any, d: Any) -> tuple[Array, Array]:
    """(A D, B D^-1) with D = diag(d): same scores, since (A D)(B D^-1)^T = A B^T.

    A (..., m, k), B (..., n, k), d (k,) or (..., k). Raises ValueError for widths that differ and for entries of d that
    are zero or not finite. Source: P2, Definition 3 and Proposition 6.
    """
    A, B = _pair(A, B)
    d = like(d, A, "d")
    if not d.shape or shape_of(d)[-1] != shape_of(A)[-1]:
        raise ValueError(
            f"d has shape {shape_of(d)}, but the tables have width {shape_of(A)[-1]}: give one factor per axis"
        )
    if not all_finite(d) or first_index(d == 0) is not None:
        raise ValueError(f"d must hold finite numbers other than 0, so that D is invertible; got {_plain(d)}")
    return A * d[..., None, :], B / d[..., None, :]


def apply_linear_gauge(A: Any, B: Any, R: Any) -> tuple[Array, Array]:
    """(A R, B R^-T): same scores, since (A R)(B R^-T)^T = A B^T.

    A (..., m, k), B (..., n, k), R (k, k) invertible. Raises ValueError for shapes that do not fit and for a singular
    R.
    """
    A, B = _pair(A, B)
    R = like(R, A, "R")
    k = shape_of(A)[-1]
    if shape_of(R)[-2:] != (k, k):
        raise ValueError(f"R has shape {shape_of(R)}, but the tables have width {k}: expected ({k}, {k})")
    if _rank(R) < k:
        raise ValueError("R is singular (to working precision), so no table B R^-T keeps the scores")
    xp = namespace(A)
    if is_exact(A):
        return A @ R, B @ _exact_inverse(R).T
    return A @ R, xp.matrix_transpose(xp.linalg.solve(R, xp.matrix_transpose(B)))  # (k, k) \ (k, n) -> (k, n) -> (n, k)


def find_gauge(A: Any, other: Any) -> tuple[Array, float]:
    """(R, misfit): the matrix with the least ||A R - other||, and misfit = ||A R - other|| / ||other||.

    A, other (m, k). A misfit of rounding size says that two trained tables differ by a gauge only. Raises ValueError
    when the columns of A are linearly dependent (R is then not unique).
    """
    A, other = _pair(A, other, names=("A", "other"))
    if _rank(A) < shape_of(A)[-1]:
        raise ValueError(f"A has rank {_rank(A)} but width {shape_of(A)[-1]}: the gauge is not unique")
    xp = namespace(A)
    R = xp.linalg.pinv(A) @ other
    return R, float(geometry.norm(xp.reshape(A @ R - other, (-1,))) / geometry.norm(xp.reshape(other, (-1,))))


def random_diagonal_gauge(k: int, *, spread: float, rng: np.random.Generator) -> np.ndarray:
    """d (k,) with log d normal, mean 0, standard deviation `spread` (>= 0): 0 is the identity, 1 is a factor of e."""
    if not spread >= 0:
        raise ValueError(f"spread must be 0 or more, got {spread!r}")
    return np.exp(spread * rng.standard_normal(k))


def random_linear_gauge(k: int, *, spread: float, rng: np.random.Generator, rows: Any = None) -> np.ndarray:
    """R = Q diag(d) (k, k): d as in `random_diagonal_gauge`, Q a uniform rotation or reflection, so the axes are random
    too.

    rows: a table (n, k) whose neighbours the gauge will move. Without it Q is drawn in the axes in which the table is
    given; where these are singular vectors, their signs are the processor's choice, and so is what the gauge does to
    the neighbours. With it Q is drawn in the table's own frame: rows^T G = U diag(s) V^T with G (n, k) standard normal,
    Q = U V^T. This Q is uniform as well (G O has the law of G for every rotation O), and rows Q is the same table,
    whichever rotation or reflection of it was given. Raises ValueError where rows has not the width k.
    """
    q = _uniform_rotation(k, rng) if rows is None else _rotation_in_frame(_plain_table(rows, k), rng)
    return q * random_diagonal_gauge(k, spread=spread, rng=rng)


def _uniform_rotation(k: int, rng: np.random.Generator) -> np.ndarray:
    """(k, k), uniform among rotations and reflections, by QR with a positive diagonal."""
    q, r = np.linalg.qr(rng.standard_normal((k, k)))
    return q * np.sign(np.diag(r))


def _rotation_in_frame(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Q (k, k) uniform, with rows Q the same for every rotation of rows (n, k): the polar factor of rows^T G."""
    u, _, vt = np.linalg.svd(rows.T @ rng.standard_normal(rows.shape))
    return u @ vt


def _plain_table(rows: Any, k: int) -> np.ndarray:
    rows = _table(rows, "rows")
    if len(shape_of(rows)) != 2 or shape_of(rows)[1] != k:
        raise ValueError(f"rows has shape {shape_of(rows)}, expected (n, {k})")
    return np.asarray(rows.detach().cpu() if is_torch(rows) else rows, dtype=np.float64)


# ---- lengths


def is_on_sphere(A: Any, *, radius: float = 1.0, tol: float | None = None) -> bool:
    """True when every row has norm `radius` up to the relative tolerance `tol` (default: 8 sqrt(k) eps of the dtype).

    A (..., n, k). The radius is free: a sphere of any size has the same symmetries and the same cosines.
    """
    A = _table(A, "A")
    if not radius > 0:
        raise ValueError(f"radius must be positive, got {radius!r}")
    tol = 8 * math.sqrt(shape_of(A)[-1]) * _eps(A) if tol is None else tol
    return bool((abs(geometry.norm(A) / radius - 1) <= tol).all())


def keeps_norms(A: Any, S: Any, *, tol: float = 1e-9) -> bool:
    """True when a^T S a = ||a||^2 for every row a of A, up to `tol` times ||a||^2 (exactly for Fractions and tol = 0).

    A (n, k); S = R R^T (k, k) for the gauge A -> A R. For the other table B -> B R^-T give the inverse of S.
    """
    A = _table(A, "A")
    S = like(S, A, "S")
    new, old = ((A @ S) * A).sum(-1), (A * A).sum(-1)
    return bool((abs(new - old) <= tol * old).all())


# ---- counting: one table on the sphere


def squares(A: Any) -> Array:
    """A∘A: row i holds the squares of row i. (n, k) -> (n, k).

    Its null space holds the diagonal gauges that keep lengths.
    """
    A = _table(A, "A")
    return A * A


def outer_rows(A: Any) -> Array:
    """Row i is a_i a_i^T as a vector of k(k+1)/2 numbers: (n, k) -> (n, k(k+1)/2).

    Entries (p, q) with p <= q in row order; those off the diagonal count twice, so that row . coordinates(E) = a^T E a
    for a symmetric E given by its upper triangle. No square roots: Fractions stay exact.
    """
    A = _table(A, "A")
    rows, cols = np.triu_indices(shape_of(A)[-1])
    twice = like(np.where(rows == cols, 1, 2), A, "twice")
    return A[..., _index(rows, A)] * A[..., _index(cols, A)] * twice


def diagonal_gauge_dimension(A: Any) -> int:
    """k - rank(A∘A): the dimension of the set of positive D for which every row of A D is as long as that of A.

    The set is {D : d∘d - 1 in ker(A∘A), d > 0}: an open piece of that dimension, so 0 means D = I alone (and its sign
    changes diag(+-1), which change no cosine). A (n, k), NumPy, torch or exact. Source: X9, the repair of P2's
    Proposition 8.
    """
    A = _table(A, "A")
    return shape_of(A)[-1] - _rank(squares(A))


def linear_gauge_dimension(A: Any) -> int:
    """k(k+1)/2 - rank of the rows a a^T: the dimension of {S = R R^T : every row of A R is as long as that of A}.

    0 means that R must be orthogonal, which changes no cosine. It needs n >= k(k+1)/2 rows. A (n, k), NumPy, torch or
    exact. If A has rank r < k, the count includes S that act outside the span of A: see `visible_linear_dimension`.
    Source: X9.
    """
    A = _table(A, "A")
    k = shape_of(A)[-1]
    return k * (k + 1) // 2 - _outer_rank(A)


def visible_diagonal_dimension(A: Any) -> int:
    """`diagonal_gauge_dimension` less the directions that change no inner product of rows:
    what the cosines of A can feel.
    """
    A = _table(A, "A")
    directions = gauge_directions(A)  # (k, g)
    if not shape_of(directions)[1]:
        return 0
    if is_exact(A):
        return _rank(np.stack([(A * delta @ A.T).reshape(-1) for delta in directions.T]))
    basis = _row_space(A)  # (k, r): the inner products of A's rows see Q^T diag(delta) Q
    xp = namespace(A)
    seen = [xp.reshape((basis * directions[:, g, None]).T @ basis, (-1,)) for g in range(shape_of(directions)[1])]
    return _rank(xp.stack(seen), relative_to=1.0)


def visible_linear_dimension(A: Any) -> int:
    """r(r+1)/2 - rank of the rows a a^T, r = rank of A:
    the part of `linear_gauge_dimension` that the cosines of A can feel.
    """
    A = _table(A, "A")
    r = _rank(A)
    return r * (r + 1) // 2 - _outer_rank(A)


def gauge_directions(A: Any) -> Array:
    """A basis of ker(A∘A) as columns, (k, g) with g = diagonal_gauge_dimension(A): d = sqrt(1 + delta) keeps all
    lengths.

    Orthonormal for floats; rational (not orthonormal) for Fractions. delta is any combination of the columns with
    entries above -1: see `stretch_along`.
    """
    A = _table(A, "A")
    if is_exact(A):
        return _exact_null_space(squares(A))
    return _null_space(squares(A))


def linear_gauge_directions(A: Any) -> Array:
    """A basis of {E symmetric : a^T E a = 0 for every row a}, (g, k, k) with g = linear_gauge_dimension(A).

    Each of Frobenius norm 1 for floats (not orthogonal to each other). S = I + t E keeps all lengths:
    `linear_stretch_along`.
    """
    A = _table(A, "A")
    k = shape_of(A)[-1]
    null = _exact_null_space(outer_rows(A)) if is_exact(A) else _null_space(_reduced_outer(A))  # (p, g)
    E = _unpack(null.T, k)
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
    flat = np.asarray(directions.cpu() if is_torch(directions) else directions, dtype=np.float64).reshape(g, k * k)
    basis = np.linalg.qr(flat.T)[0]  # (k k, g), orthonormal
    normal = rng.standard_normal((draws, k, k))
    symmetric = (normal + normal.transpose(0, 2, 1)).reshape(draws, k * k)
    E = (symmetric @ basis @ basis.T).reshape(draws, k, k)
    return E / geometry.norm(E.reshape(draws, k * k))[:, None, None]


def stretch_along(delta: Any, t: Any) -> Array:
    """d = sqrt(1 + t delta) (k,): the diagonal gauge that lies t away from the identity in the direction delta (k,).

    Raises ValueError when an entry of 1 + t delta is not positive; the largest t allowed is 1 / max(-delta).
    """
    delta = as_array(delta, "delta")
    x = 1 + t * delta
    if (at := first_index(x <= 0)) is not None:
        raise ValueError(
            f"1 + t delta is {float(x[at]):.4g} on axis {at[0]}: t = {float(t):.4g} is outside {_range_of(-delta, delta)}"
        )
    return namespace(x).sqrt(x)


def linear_stretch_along(E: Any, t: Any) -> Array:
    """R = (I + t E)^(1/2), symmetric and positive definite (k, k), for a symmetric E (k, k): R R^T = I + t E.

    Raises ValueError when I + t E is not positive definite.
    """
    E = as_array(E, "E")
    xp = namespace(E)
    values, vectors = xp.linalg.eigh(E)
    x = 1 + t * values
    if first_index(x <= 0) is not None:
        raise ValueError(
            f"I + t E is not positive definite: t = {float(t):.4g} is outside {_range_of(-values, values)}"
        )
    return (vectors * xp.sqrt(x)) @ xp.matrix_transpose(vectors)


# ---- counting: both tables on the sphere


def two_sided_diagonal_dimension(A: Any, B: Any) -> int:
    """k - rank of A∘A stacked on B∘B: the dimension of the *infinitesimal* diagonal gauges that keep both tables'
    lengths.

    0: D = I is isolated among the gauges that keep both tables (others may lie far away: `swap_squares`). Positive:
    they form a smooth family of that dimension near I if the rows of the stack are linearly independent; otherwise a
    family may fail to exist (`rigidity_certificate`). A (m, k), B (n, k). Source: X9.
    """
    A, B = _pair(A, B)
    return shape_of(A)[-1] - _rank(namespace(A).concat([squares(A), squares(B)]))


def two_sided_linear_dimension(A: Any, B: Any) -> int:
    """k(k+1)/2 - rank of all a a^T and b b^T together: the infinitesimal gauges S = I + E that keep both tables'
    lengths.

    Read as `two_sided_diagonal_dimension`. At first order S^-1 = I - E, so both tables ask for the same thing: x^T E x
    = 0.
    """
    A, B = _pair(A, B)
    k = shape_of(A)[-1]
    return k * (k + 1) // 2 - _outer_rank(namespace(A).concat([A, B]))


def rigidity_certificate(A: Any, B: Any) -> Array | None:
    """A positive definite M in span{a a^T} and in span{b b^T}, or None where this search finds none.

    If there is one, S = I is the only gauge that keeps the lengths of both tables, near or far: such a gauge has
    tr(M S) = tr M = tr(M S^-1), and tr(M (S + S^-1 - 2 I)) = 0 forces S = I. The search projects the identity on the
    intersection of the two spans; None proves nothing. A (m, k), B (n, k) floats. Source: ours (X9).
    """
    A, B = _pair(A, B)
    xp, k = namespace(A), shape_of(A)[-1]
    left, right = (_row_space(_weighted_outer(_double(table))) for table in (A, B))  # orthonormal columns (k(k+1)/2, .)
    if not shape_of(left)[1] or not shape_of(right)[1]:
        return None
    u, cosines, _ = xp.linalg.svd(left.T @ right, full_matrices=False)
    shared = left @ u[:, : int((cosines > 1 - 1e-10).sum())]  # principal angles 0: the intersection
    rows, cols = np.triu_indices(k)
    identity = like(np.where(rows == cols, 1.0, 0.0), shared, "identity")
    M = _unpack(shared @ (shared.T @ identity), k) * like(
        np.where(np.eye(k) == 1, 1.0, math.sqrt(0.5)), shared, "weight"
    )
    return like(M, A, "M") if float(xp.linalg.eigvalsh(M)[0]) > 1e-9 else None


def swap_squares(a: Any, b: Any) -> Array:
    """d = |b| / |a| (k,): the diagonal gauge that gives a the squares of b, and b those of a.

    If all rows of A have the squares a∘a and all rows of B the squares b∘b (||a|| = ||b||), then A D and B D^-1 have
    all their old lengths: a second gauge, far from the identity, even where `two_sided_diagonal_dimension` is 0. a, b
    (k,) without zeros.
    """
    a = as_array(a, "a")
    b = like(b, a, "b")
    if first_index(a == 0) is not None or first_index(b == 0) is not None:
        raise ValueError("a and b must not hold zeros: the gauge |b| / |a| would not be invertible")
    return abs(b) / abs(a)


def second_diagonal_gauge(A: Any, b: Any) -> Array:
    """d (k,): the second diagonal gauge that keeps the rows of A under D and the row b under D^-1, where A leaves one
    direction.

    d = sqrt(1 + t delta) with delta = gauge_directions(A) and t the root of sum_l b_l^2 delta_l / (1 + t delta_l) = 0.
    That sum falls strictly from +infinity to -infinity if b has no zero where delta is least or greatest, so there is
    one root; it is t = 0 iff sum_l b_l^2 delta_l = 0. A (n, k) with diagonal_gauge_dimension 1, b (k,). Source: ours
    (X9).
    """
    delta = gauge_directions(A)
    if shape_of(delta)[1] != 1:
        raise ValueError(f"A leaves {shape_of(delta)[1]} diagonal directions; expected exactly one")
    b = like(b, delta, "b")
    return stretch_along(delta[:, 0], _second_root(b * b, delta[:, 0]))


def second_linear_gauge(A: Any, b: Any) -> Array:
    """R (k, k) symmetric: the second gauge that keeps the rows of A under R and b under R^-T, where A leaves one
    direction E.

    As `second_diagonal_gauge`, in the eigenvectors of E. A (n, k) with linear_gauge_dimension 1, b (k,). Source: ours
    (X9).
    """
    directions = linear_gauge_directions(A)
    if shape_of(directions)[0] != 1:
        raise ValueError(f"A leaves {shape_of(directions)[0]} linear directions; expected exactly one")
    E, b = directions[0], like(b, directions, "b")
    values, vectors = namespace(E).linalg.eigh(E)
    return linear_stretch_along(E, _second_root((b @ vectors) ** 2, values))


def _second_root(weights: Array, rates: Array) -> float:
    """The root t of sum_l w_l r_l / (1 + t r_l), which falls strictly on the interval where all 1 + t r_l > 0.

    By bisection.
    """
    w, r = ([float(v) for v in values] for values in (weights, rates))
    if not min(r) < 0 < max(r):
        raise ValueError(
            "the direction does not change its sign (A does not span, or has a column of zeros): there is no second gauge"
        )
    low, high = -1 / max(r), -1 / min(r)
    slope = lambda t: sum(wl * rl / (1 + t * rl) for wl, rl in zip(w, r, strict=True))
    edge = 1e-9 * (high - low)
    if not slope(low + edge) > 0 > slope(high - edge):
        raise ValueError("b has (almost) no part where the direction is least or greatest: there is no second gauge")
    low, high = low + edge, high - edge
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def second_plane_gauge(a1: Any, a2: Any, b: Any) -> Array:
    """The second S (2, 2) in the plane that keeps ||a1||, ||a2|| under S and ||b|| under S^-1: S = I + t E, t = b^T E b
    / (||b||^2 |det E|).

    E spans the symmetric matrices with a1^T E a1 = a2^T E a2 = 0; a1 and a2 must not be parallel. S is positive
    definite unless b is an eigenvector of E (a bisector of the lines of a1 and a2): ValueError then. S = I iff b is
    parallel to a1 or a2. Source: ours (X9).
    """
    a1 = as_array(a1, "a1")
    A = namespace(a1).stack([a1, like(a2, a1, "a2")])
    directions = linear_gauge_directions(A)
    if shape_of(A) != (2, 2) or shape_of(directions)[0] != 1:
        raise ValueError("a1 and a2 must be two vectors of the plane that are not parallel")
    E, b = directions[0], like(b, a1, "b")
    determinant = E[0, 0] * E[1, 1] - E[0, 1] * E[1, 0]  # negative: E vanishes on two lines
    S = like(np.array([[1, 0], [0, 1]]), A, "S") + E * ((b @ E @ b) / (b @ b) / abs(determinant))
    if not S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0] > (0 if is_exact(A) else 1e-12):
        raise ValueError(
            "b is a bisector of the lines of a1 and a2: the second solution is singular, so there is no second gauge"
        )
    return S


# ---- gauges with a purpose


def gauge_for_neighbours(B: Any, query: int, chosen: Any, *, stretch: float = 100.0) -> Array:
    """R (k, k) such that in B R^-T the rows `chosen` have almost the direction of row `query`, and the others have not.

    With f the vector for which <f, b> = 1 on the query and the chosen rows, P the projection on their span, s their
    mean
    length: R^-1 = s (f/||f||) f^T + P / stretch + stretch (I - P). The chosen rows land within an angle of order
    1/stretch of each other; every other row is dragged out of that direction by stretch times its part outside the
    span. The condition number grows like stretch^2. Raises ValueError unless the 1 + len(chosen) rows are linearly
    independent and fewer than k.
    """
    B = _table(B, "B")
    xp, k = namespace(B), shape_of(B)[-1]
    rows = [int(query), *(int(c) for c in chosen)]
    if len(set(rows)) < len(rows) or len(rows) >= k:
        raise ValueError(f"query and chosen are {len(rows)} rows; expected different ones, fewer than the width {k}")
    C = B[_index(np.array(rows), B)]  # (c, k)
    if _rank(C) < len(rows):
        raise ValueError("the query and the chosen rows are linearly dependent: no gauge can treat them freely")
    if not stretch > 0:
        raise ValueError(f"stretch must be positive, got {stretch!r}")
    inverse = xp.linalg.pinv(C)  # (k, c)
    P, f = inverse @ C, inverse.sum(-1)
    length = geometry.norm(C).mean()
    one = like(np.eye(k), B, "one")
    back = length * (f / geometry.norm(f))[:, None] * f[None, :] + P / stretch + stretch * (one - P)
    return xp.linalg.inv(back)


def score_rows(A: Any, B: Any) -> Array:
    """B (A^T A)^(1/2): rows whose inner products are those of the columns of scores A b_j. (m, k), (n, k) -> (n, k).

    A cosine between these rows compares two items by what the model predicts for them, and is the same in every gauge:
    b_i^T (A^T A) b_j does not change when A -> A R, B -> B R^-T.
    """
    A, B = _pair(A, B)
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(xp.matrix_transpose(A) @ A)
    root = vectors * xp.sqrt(xp.clip(values, 0, None))  # (k, k): any root will do, roots differ by a rotation
    return B @ (root @ xp.matrix_transpose(vectors))


def balance(A: Any, B: Any) -> tuple[Array, Array]:
    """The tables of the same scores with A^T A = B^T B diagonal: the gauge with the least ||A||^2 + ||B||^2.

    A (m, k), B (n, k) of rank k. This is where weight decay on both tables leads, up to a rotation. Raises ValueError
    where a table has rank below k.
    """
    A, B = _pair(A, B)
    xp, k = namespace(A), shape_of(A)[-1]
    if min(_rank(A), _rank(B)) < k:
        raise ValueError(f"the tables have ranks {_rank(A)} and {_rank(B)}, expected the width {k}")
    (qa, ra), (qb, rb) = xp.linalg.qr(A), xp.linalg.qr(B)
    u, s, vt = xp.linalg.svd(ra @ xp.matrix_transpose(rb))
    return qa @ u * xp.sqrt(s), qb @ xp.matrix_transpose(vt) * xp.sqrt(s)


# ---- the two objectives of Steck, Ekanadham and Kallus


def steck_objectives(X: Any, A: Any, B: Any, *, decay: float) -> tuple[Array, Array]:
    """(||X - X A B^T||^2 + decay ||A B^T||^2, ||X - X A B^T||^2 + decay (||X A||^2 + ||B||^2)).

    X (m, n) users by items, A, B (n, k). The first depends on A and B through A B^T only. Source: steck2024, (1) and
    (2).
    """
    A, B = _pair(A, B)
    X = like(X, A, "X")
    product, towers = A @ B.T, X @ A
    fit = ((X - X @ product) ** 2).sum()
    return fit + decay * (product**2).sum(), fit + decay * ((towers**2).sum() + (B**2).sum())


def steck_first(X: Any, *, k: int, decay: float) -> tuple[Array, Array]:
    """One minimiser (A, B) of the first objective; (A R, B R^-T) is another for every invertible R.

    X = U diag(s) V^T: A = V_k, B = V_k diag(1 / (1 + decay / s^2)), the k largest s. X (m, n) of rank at least k; A, B
    (n, k).
    """
    s, V = _right_singular(X, k, decay)
    return V, V / (1 + decay / s**2)


def steck_second(X: Any, *, k: int, decay: float) -> tuple[Array, Array]:
    """The minimiser (A, B) of the second objective, unique up to one rotation of both where s_k > s_(k+1) and s_k >
    decay.

    X = U diag(s) V^T, g = max(1 - decay / s, 0): A = V_k diag(sqrt(g / s)), B = V_k diag(sqrt(s g)). X (m, n); A, B (n,
    k).
    """
    s, V = _right_singular(X, k, decay)
    xp = namespace(V)
    g = xp.clip(1 - decay / s, 0, None)
    return V * xp.sqrt(g / s), V * xp.sqrt(s * g)


def _right_singular(X: Any, k: int, decay: float) -> tuple[Array, Array]:
    X = _table(X, "X")
    if not decay >= 0:
        raise ValueError(f"decay must be 0 or more, got {decay!r}")
    if not 1 <= k <= (rank := _rank(X)):
        raise ValueError(f"k is {k}, expected 1 to the rank of X, {rank}")
    xp = namespace(X)
    _, s, vt = xp.linalg.svd(X, full_matrices=False)
    return s[:k], xp.matrix_transpose(vt)[:, :k]


# ---- neighbours


def neighbours(X: Any, k: int, metric: str = "cosine", *, queries: Any = None) -> Array:
    """Ids of the k nearest other rows of each row: (q, k) integers, nearest first, ties by the lower id.

    X (n, d); queries (q,) ids of the rows to ask for, all by default. metric: "cosine" (largest), "chord", "geodesic",
    "euclidean" (smallest) or "dot" (largest). The first three agree for all rows, "euclidean" joins them on a sphere.
    Raises ValueError for an unknown metric, k outside 1 ... n - 1, and zero rows where a direction is needed.
    """
    X = _table(X, "X")
    n = shape_of(X)[0]
    if metric not in METRICS:
        raise ValueError(f"metric is {metric!r}; expected one of {METRICS}")
    if not 1 <= k < n:
        raise ValueError(f"k is {k}; expected 1 to {n - 1}, the number of other rows")
    xp, queries = namespace(X), np.arange(n) if queries is None else np.asarray(queries)
    if metric in ("cosine", "chord", "geodesic"):
        X = geometry.normalise(X)
    found = []
    for ids in _blocks(queries, n * (shape_of(X)[1] if metric in ("chord", "geodesic", "euclidean") else 1)):
        far = _distances(X, X[_index(ids, X)], metric)
        far[_index(np.arange(len(ids)), X), _index(ids, X)] = math.inf  # a row is not its own neighbour
        found.append(xp.argsort(far, axis=-1, stable=True)[:, :k])
    return xp.concat(found)


def neighbour_overlap(first: Any, second: Any) -> np.ndarray:
    """Share of common ids in each row of two neighbour lists: (q, k), (q, k) -> (q,) in [0, 1].

    Two lists drawn at random from n - 1 rows share k / (n - 1) on average.
    """
    first, second = (np.asarray(ids.cpu() if is_torch(ids) else ids) for ids in (first, second))
    if first.shape != second.shape or first.ndim != 2:
        raise ValueError(f"first and second have shapes {first.shape} and {second.shape}; expected the same (q, k)")
    return (first[:, :, None] == second[:, None, :]).any(-1).mean(-1)


def _distances(X: Array, rows: Array, metric: str) -> Array:
    """Something that grows with the distance, (q, d), (n, d) -> (q, n)."""
    if metric in ("cosine", "dot"):
        return -(rows @ X.T)
    if metric == "euclidean":
        return geometry.norm(rows[:, None, :] - X[None, :, :])
    return getattr(geometry, metric)(rows[:, None, :], X[None, :, :])


def _blocks(ids: np.ndarray, width: int) -> Iterator[np.ndarray]:
    size = max(1, BLOCK_NUMBERS // max(width, 1))
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


# ---- ranks and null spaces


def _rank(rows: Array, *, relative_to: float | None = None) -> int:
    """The rank of (n, p), by the tolerance of the module docstring; exact for Fractions. relative_to:
    in place of sigma_max.
    """
    if is_exact(rows):
        return len(_echelon(rows)[1])
    sigma = namespace(rows).linalg.svdvals(_double(rows))
    return int((sigma > _tolerance(rows, sigma if relative_to is None else relative_to)).sum())


def _null_space(rows: Array) -> Array:
    """An orthonormal basis of {x : rows x = 0} as columns, (p, g), in the dtype of rows."""
    xp, p = namespace(rows), shape_of(rows)[1]
    wide = _double(rows)
    if shape_of(rows)[0] < p:  # the null space needs p right singular vectors
        wide = xp.concat([wide, xp.broadcast_to(wide[:1] * 0, (p - shape_of(rows)[0], p))])
    _, sigma, vt = xp.linalg.svd(wide, full_matrices=False)
    return like(xp.matrix_transpose(vt)[:, int((sigma > _tolerance(rows, sigma)).sum()) :], rows, "basis")


def _row_space(rows: Array) -> Array:
    """An orthonormal basis of the span of the rows as columns, (p, r)."""
    xp = namespace(rows)
    _, sigma, vt = xp.linalg.svd(_double(rows), full_matrices=False)
    return like(xp.matrix_transpose(vt)[:, : int((sigma > _tolerance(rows, sigma)).sum())], rows, "basis")


def _tolerance(rows: Array, sigma: Any) -> float:
    largest = float(sigma) if isinstance(sigma, float) else float(sigma[0]) if shape_of(sigma)[0] else 0.0
    return largest * (4 * math.sqrt(shape_of(rows)[1]) * _eps(rows) + max(shape_of(rows)) * EPS64)


def _outer_rank(A: Array) -> int:
    return _rank(outer_rows(A) if is_exact(A) else _reduced_outer(A))


def _reduced_outer(A: Array) -> Array:
    """`outer_rows` of a long table, boiled down by QR to at most 2 k(k+1)/2 rows of the same row space and singular
    values.
    """
    k = shape_of(A)[-1]
    p = k * (k + 1) // 2
    if shape_of(A)[0] <= 2 * p:
        return outer_rows(A)
    xp = namespace(A)
    kept, block = None, max(p, BLOCK_NUMBERS // p)
    for start in range(0, shape_of(A)[0], block):
        rows = _double(outer_rows(A[start : start + block]))
        kept = xp.linalg.qr(rows if kept is None else xp.concat([kept, rows]))[1]
    return kept if _eps(A) == EPS64 else like(kept, A, "rows")


def _weighted_outer(A: Array) -> Array:
    """Rows a a^T in the coordinates in which the dot product is tr(M N): off-diagonal entries times sqrt(2)."""
    rows, cols = np.triu_indices(shape_of(A)[-1])
    return outer_rows(A) * like(np.where(rows == cols, 1.0, math.sqrt(0.5)), A, "weight")


def _unpack(vectors: Array, k: int) -> Array:
    """Symmetric matrices from their upper triangles in row order: (..., k(k+1)/2) -> (..., k, k)."""
    rows, cols = np.triu_indices(k)
    place = np.zeros((k, k), dtype=np.int64)
    place[rows, cols] = place[cols, rows] = np.arange(len(rows))
    return vectors[..., _index(place, vectors)]


def _echelon(rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Reduced row echelon form of Fractions, and its pivot columns."""
    m, pivots = rows.copy(), []
    for col in range(m.shape[1]):
        at = len(pivots)
        candidates = [r for r in range(at, m.shape[0]) if m[r, col] != 0]
        if not candidates:
            continue
        m[[at, candidates[0]]] = m[[candidates[0], at]]
        m[at] = m[at] / m[at, col]
        for r in range(m.shape[0]):
            if r != at and m[r, col] != 0:
                m[r] = m[r] - m[at] * m[r, col]
        pivots.append(col)
    return m, pivots


def _exact_inverse(R: np.ndarray) -> np.ndarray:
    """The inverse of an invertible matrix of Fractions."""
    k = len(R)
    identity = np.array([[Fraction(int(i == j)) for j in range(k)] for i in range(k)], dtype=object)
    return _echelon(np.concatenate([R, identity], axis=1))[0][:, k:]


def _exact_null_space(rows: np.ndarray) -> np.ndarray:
    """A rational basis of {x : rows x = 0} as columns, (p, g)."""
    m, pivots = _echelon(rows)
    free = [c for c in range(rows.shape[1]) if c not in pivots]
    basis = np.full((rows.shape[1], len(free)), Fraction(0), dtype=object)
    for g, c in enumerate(free):
        basis[c, g] = Fraction(1)
        for r, pivot in enumerate(pivots):
            basis[pivot, g] = -m[r, c]
    return basis


# ---- input


def _table(A: Any, name: str) -> Array:
    A = as_array(A, name)
    if len(A.shape) < 2 or 0 in shape_of(A)[-2:]:
        raise ValueError(f"{name} must have shape (rows, width) with at least one of each, but has shape {shape_of(A)}")
    if not all_finite(A):
        raise ValueError(f"{name} holds NaN or infinite entries, the first at {first_index(~namespace(A).isfinite(A))}")
    return A


def _pair(A: Any, B: Any, names: tuple[str, str] = ("A", "B")) -> tuple[Array, Array]:
    A = _table(A, names[0])
    B = _table(like(as_array(B, names[1]), A, names[1]), names[1])
    if shape_of(A)[-1] != shape_of(B)[-1]:
        raise ValueError(f"{names[0]} has width {shape_of(A)[-1]} but {names[1]} has width {shape_of(B)[-1]}")
    return A, B


def _double(x: Array) -> Array:
    return x.double() if is_torch(x) else x.astype(np.float64)


def _eps(x: Array) -> float:
    return 0.0 if is_exact(x) else float(namespace(x).finfo(x.dtype).eps)


def _index(ids: np.ndarray, reference: Array) -> Array:
    """Integer ids for indexing `reference`: a tensor on its device, or the array itself."""
    if not is_torch(reference):
        return ids
    return namespace(reference).asarray(ids, device=reference.device)


def _range_of(low: Array, high: Array) -> str:
    """The open interval of t for which 1 + t x > 0, x between min(-low) and max(high), as text."""
    most, least = float(max(low)), float(max(high))
    upper = f"{1 / most:.4g}" if most > 0 else "infinity"
    lower = f"{-1 / least:.4g}" if least > 0 else "-infinity"
    return f"({lower}, {upper})"


def _plain(x: Array) -> list:
    return [float(value) for value in np.asarray(x.detach().cpu() if is_torch(x) else x).reshape(-1)[:8]]
