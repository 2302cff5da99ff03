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
from course_lib.arrays import Array, as_array, first_index, is_exact, like, namespace, shape_of
from course_lib.gauge import counting
from course_lib.gauge.algebra import checked_pair, doubled, rank, row_space


def two_sided_diagonal_dimension(A: Any, B: Any) -> int:
    """The dimension of the *infinitesimal* diagonal gauges that keep both tables' lengths: k - rank of A∘A over B∘B.

    0: D = I is isolated among the gauges that keep both tables (others may lie far away: `swap_squares`). Positive:
    they form a smooth family of that dimension near I if the rows of the stack are linearly independent; otherwise a
    family may fail to exist (`rigidity_certificate`). A (m, k), B (n, k). Source: claim X9.
    """
    A, B = checked_pair(A, B)
    return shape_of(A)[-1] - rank(namespace(A).concat([counting.squares(A), counting.squares(B)]))


def two_sided_linear_dimension(A: Any, B: Any) -> int:
    """The dimension of the infinitesimal gauges S = I + E that keep both tables' lengths.

    It is k(k+1)/2 - rank of all a a^T and b b^T together. Read as `two_sided_diagonal_dimension`. At first order S^-1 =
    I - E, so both tables ask for the same thing: x^T E x = 0.
    """
    A, B = checked_pair(A, B)
    k = shape_of(A)[-1]
    return k * (k + 1) // 2 - counting.outer_rank(namespace(A).concat([A, B]))


def rigidity_certificate(A: Any, B: Any) -> Array | None:
    """A positive definite M in span{a a^T} and in span{b b^T}, or None where this search finds none.

    If there is one, S = I is the only gauge that keeps the lengths of both tables, near or far: such a gauge has
    tr(M S) = tr M = tr(M S^-1), and tr(M (S + S^-1 - 2 I)) = 0 forces S = I. The search projects the identity on the
    intersection of the two spans; None proves nothing. A (m, k), B (n, k) floats. Source: claim X9.
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


def second_linear_gauge(A: Any, b: Any) -> Array:
    """R (k, k) symmetric: the second gauge that keeps the rows of A under R and b under R^-T.

    A leaves one direction E, with eigenvalues r, and R = (I + t E)^(1/2), where t is the root of
    sum_l w_l r_l / (1 + t r_l) = 0, w the squares of b in E's eigenvectors. That sum falls strictly from +infinity to
    -infinity if b has a part where r is least and where it is greatest, so there is one root; it is t = 0 iff
    b^T E b = 0. A (n, k) with linear_gauge_dimension 1, b (k,). Source: claim X9.
    """
    directions = counting.linear_gauge_directions(A)
    if shape_of(directions)[0] != 1:
        raise ValueError(f"A leaves {shape_of(directions)[0]} linear directions; expected exactly one")
    E = doubled(directions[0]) if is_exact(directions) else directions[0]
    b = like(b, E, "b")
    values, vectors = namespace(E).linalg.eigh(E)
    return counting.linear_stretch_along(E, _second_root((b @ vectors) ** 2, values))


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
    """S (k, k) != I, positive definite, with a^T S a = ||a||^2 and b^T S^-1 b = ||b||^2 for all rows; None: not found.

    Least squares in X = log S (symmetric, so that S = e^X is positive definite) from `starts` random X with normal
    entries; found is what meets all conditions to 1e-9 and is no rotation. None is no proof that there is none. A
    (n, k), B (m, k) floats.
    """
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
    """The second S (2, 2) in the plane that keeps ||a1||, ||a2|| under S and ||b|| under S^-1.

    S = I + t E with t = b^T E b / (||b||^2 |det E|), where E spans the symmetric matrices with a1^T E a1 = a2^T E a2 =
    0; a1 and a2 must not be parallel. S is positive definite unless b is an eigenvector of E (a bisector of the lines
    of a1 and a2): ValueError then. S = I iff b is parallel to a1 or a2. Source: claim X9.
    """
    a1 = as_array(a1, "a1")
    A = namespace(a1).stack([a1, like(a2, a1, "a2")])
    directions = counting.linear_gauge_directions(A)
    if shape_of(A) != (2, 2) or shape_of(directions)[0] != 1:
        raise ValueError("a1 and a2 must be two vectors of the plane that are not parallel")
    E, b = directions[0], like(b, a1, "b")
    determinant = E[0, 0] * E[1, 1] - E[0, 1] * E[1, 0]  # negative: E vanishes on two lines
    S = like(np.array([[1, 0], [0, 1]]), A, "S") + E * ((b @ E @ b) / (b @ b) / abs(determinant))
    if not S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0] > (0 if is_exact(A) else 1e-12):
        raise ValueError("b is a bisector of the lines of a1 and a2, so there is no second gauge")
    return S
