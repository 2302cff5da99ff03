"""Symbolic proofs for gauges (P2 and claim X9), and exact counterexamples where a statement is too strong.

Tables are matrices of symbols, so an identity of polynomials in their entries holds for all tables of that size at
once. Where a statement is about every width, the proof is in terms of inner products (coordinate-free), and small
widths are expanded as well. `enumerate_*` visits families of small rational tables. A function that returns a
`Counterexample` refutes a reading.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from course_lib import gauge
from course_lib.arrays import exact
from course_lib.lessons.shared.counterexample import Counterexample
from course_lib.lessons.shared.symbolic import matrix, proof, simplified, symmetric, vector

theta = sp.symbols("theta", positive=True)
eta, t = sp.symbols("eta t", real=True)


# ---- the sphere: cosine, chord, angle


@proof
def thm_cosine_euclid() -> Iterator[sp.Expr]:
    """P2 Theorem 4: 1 - <x, y> - ||x - y||^2 / 2 on the unit sphere.

    First in inner products (any width): it is (1 - ||x||^2)/2 + (1 - ||y||^2)/2. Then expanded for widths 2, 3 and 4.
    """
    xx, xy, yy = sp.symbols("xx xy yy", real=True)
    gap = (1 - xy) - (xx - 2 * xy + yy) / 2
    yield from [gap.subs({xx: 1, yy: 1}), gap - ((1 - xx) + (1 - yy)) / 2]
    for d in (2, 3, 4):
        x, y = vector("x", d), vector("y", d)
        expanded = (1 - x.dot(y)) - (x - y).dot(x - y) / 2
        yield expanded - ((1 - x.dot(x)) + (1 - y.dot(y))) / 2


def cor_neighbours() -> list[sp.Expr]:
    """P2 Corollary 5: half the difference of two squared chords is the difference of the cosine distances.

    For a query q and two candidates on the sphere; the angle orders them alike: d(1 - cos)/d(angle) = sin(angle) > 0.
    """
    s, r = sp.symbols("s r", real=True)  # <q, x>, <q, y>

    def chord2(c: sp.Expr) -> sp.Expr:
        return 2 - 2 * c

    return simplified(
        (chord2(s) - chord2(r)) / 2 - ((1 - s) - (1 - r)), sp.diff(1 - sp.cos(theta), theta) - sp.sin(theta)
    )


def enumerate_neighbours() -> Fraction:
    """Corollary 5 on every query and pair of 28 rational points of the circle: number of orders that differ or tie."""
    points = rational_circle()
    wrong = 0
    for q, x, y in itertools.product(points, repeat=3):
        cosine = _dot(q, y) - _dot(q, x)
        chord = _squared_distance(q, x) - _squared_distance(q, y)
        wrong += _sign(cosine) != _sign(chord)
    return Fraction(wrong)


def prop_geodesic() -> list[sp.Expr]:
    """P2 Proposition 9: 1 - cos = chord^2/2, chord = 2 sin(theta/2), 1 - cos = theta^2/2 - theta^4/24 + O(theta^6)."""
    chord = sp.sqrt((1 - sp.cos(theta)) ** 2 + sp.sin(theta) ** 2)
    series = sp.series(1 - sp.cos(theta), theta, 0, 6).removeO()
    return simplified(
        chord**2 / 2 - (1 - sp.cos(theta)),
        chord**2 - (2 * sp.sin(theta / 2)) ** 2,
        series - (theta**2 / 2 - theta**4 / 24),
        sp.diff(1 - sp.cos(theta), theta) - sp.sin(theta),
    )


def prop_not_a_metric() -> list[sp.Expr]:
    """sqrt(1 - cos) = chord / sqrt 2 inherits the triangle inequality of the line; 1 - cos fails it by sqrt 2 - 1."""
    root = sp.sqrt(1 - sp.cos(theta)) - sp.sqrt(2) * sp.sqrt((1 - sp.cos(theta)) / 2)
    half = sp.simplify((1 - sp.cos(theta)) / 2 - sp.sin(theta / 2) ** 2)
    return simplified(root, half, triangle_fails().unexplained)


# ---- the freedom


@proof
def prop_gauge_freedom() -> Iterator[sp.Expr]:
    """P2 Proposition 6: (A R)(B R^-T)^T = A B^T for every invertible R; and, left out there, no other freedom exists.

    The second part: if A has independent columns and A Q has these scores with some B', R = (A^T A)^-1 A^T (A Q) = Q.
    """
    for k in (2, 3):
        A, B, d = matrix("a", 3, k), matrix("b", 2, k), sp.diag(*sp.symbols(f"d:{k}", positive=True))
        yield from list((A * d) * (B * d.inv()).T - A * B.T)
    A, B, R = matrix("a", 3, 2), matrix("b", 3, 2), matrix("r", 2, 2)
    yield from list((A * R) * (B * R.inv().T).T - A * B.T)
    yield from list((A.T * A).inv() * A.T * (A * R) - R)


def prop_alignment() -> list[sp.Expr]:
    """Tables of rank k with equal scores are one orbit: A' = A R with the scores of (A, B) has the partner B' = B R^-T.

    So a function of (A, B) is a function of the scores exactly when it is the same in every gauge. The partner is what
    least squares gives, B' = S^T A' (A'^T A')^-1 with S = A B^T; with `prop_gauge_freedom`, R = (A^T A)^-1 A^T A'.
    """
    A, B, R = matrix("a", 3, 2), matrix("b", 2, 2), matrix("r", 2, 2)
    scores, moved = A * B.T, A * R
    partner = scores.T * moved * (moved.T * moved).inv()
    return simplified(*(partner - B * R.inv().T), *((A.T * A).inv() * A.T * moved - R))


@proof
def prop_cosine_gauge() -> Iterator[sp.Expr]:
    """cos(Mx, My) = cos(x, y) for all x, y iff M is a multiple of an orthogonal matrix (a diagonal D: c diag(+-1)).

    With S = M^T M: right angles between axes give S_ij = 0, those between e_i + e_j and e_i - e_j give S_ii = S_jj. So
    keeping right angles alone forces S = c I; and S = c I keeps every cosine.
    """
    for k in (2, 3):
        S, c = symmetric("s", k), sp.Symbol("c", positive=True)
        x, y = vector("x", k), vector("y", k)
        for i, j in itertools.combinations(range(k), 2):
            e_i, e_j = _axis(i, k), _axis(j, k)
            yield from [(e_i.T * S * e_j)[0] - S[i, j], ((e_i + e_j).T * S * (e_i - e_j))[0] - (S[i, i] - S[j, j])]
        yield (c * x.dot(y)) ** 2 * x.dot(x) * y.dot(y) - x.dot(y) ** 2 * (c * x.dot(x)) * (c * y.dot(y))


@proof
def thm_normalisation() -> Iterator[sp.Expr]:
    """P2 Theorem 7, repaired. N(x) = x / ||x||.

    Equivariance N(Mx) = M N(x) for all x says ||Mx|| = ||x||: the coefficients of ||Mx||^2 - ||x||^2 are those of M^T M
    - I. Invariance N(Mx) = N(x) for all x makes every x an eigenvector: the coefficients of (Mx)_i x_j - (Mx)_j x_i are
    the off-diagonal entries and the differences of the diagonal ones. For one x and a diagonal D: D x parallel to x
    means (d_i - d_j) x_i x_j = 0 for all i, j.
    """
    for k in (2, 3):
        M, x, d = matrix("m", k, k), vector("x", k), sp.symbols(f"d:{k}")
        excess = M.T * M - sp.eye(k)
        yield (M * x).dot(M * x) - x.dot(x) - (x.T * excess * x)[0]
        for i, j in itertools.combinations(range(k), 2):
            minor = sp.Poly((M * x)[i] * x[j] - (M * x)[j] * x[i], *x)
            yield from [minor.coeff_monomial(x[j] ** 2) - M[i, j], minor.coeff_monomial(x[i] ** 2) + M[j, i]]
            yield minor.coeff_monomial(x[i] * x[j]) - (M[i, i] - M[j, j])
            yield d[i] * x[i] * x[j] - d[j] * x[j] * x[i] - (d[i] - d[j]) * x[i] * x[j]


def prop_score_rows() -> list[sp.Expr]:
    """b_i^T (A^T A) b_j is the inner product of columns i and j of the scores A B^T, and the same in every gauge."""
    A, B, R = matrix("a", 3, 2), matrix("b", 2, 2), matrix("r", 2, 2)
    inner = B * (A.T * A) * B.T
    new_A, new_B = A * R, B * R.inv().T
    return simplified(*(inner - (A * B.T).T * (A * B.T)), *(new_B * (new_A.T * new_A) * new_B.T - inner))


# ---- one table on the sphere


@proof
def thm_diagonal_gauge() -> Iterator[sp.Expr]:
    """Rows keep their length under D iff (A∘A)(d∘d - 1) = 0; and A∘A has rank k for almost every A with n >= k rows.

    The last part: det(A∘A) is a polynomial that is 1 at A = I, hence not identically zero; its zeros have measure 0.
    """
    for k in (2, 3, 4):
        A, d = matrix("a", k, k), sp.Matrix(sp.symbols(f"d:{k}", positive=True))
        squares = A.applyfunc(lambda entry: entry**2)
        lengths = sp.Matrix([sum((A[i, j] * d[j]) ** 2 - A[i, j] ** 2 for j in range(k)) for i in range(k)])
        yield from list(lengths - squares * (d.applyfunc(lambda entry: entry**2) - sp.ones(k, 1)))
        yield squares.subs(dict(zip(A, sp.eye(k), strict=True))).det() - 1


@proof
def thm_linear_gauge() -> Iterator[sp.Expr]:
    """||R^T a||^2 - ||a||^2 = <a a^T, R R^T - I>; fewer than k(k+1)/2 rows leave freedom, and that many can suffice.

    The rows e_i and e_i + e_j are k(k+1)/2 rows whose a a^T are independent; so almost every table of that length is
    rigid.
    """
    for k in (2, 3):
        a, R = vector("a", k), matrix("r", k, k)
        yield (R.T * a).dot(R.T * a) - a.dot(a) - (a * a.T * (R * R.T - sp.eye(k))).trace()
    for k in (2, 3, 4, 5):
        axes = np.eye(k, dtype=int)
        rows = exact(np.array([*axes, *(axes[i] + axes[j] for i, j in itertools.combinations(range(k), 2))]))
        yield from [sp.Integer(len(rows) - k * (k + 1) // 2), sp.Integer(gauge.linear_gauge_dimension(rows))]
        yield sp.Integer(gauge.linear_gauge_dimension(rows[:-1]) - 1)


def enumerate_diagonal_gauge() -> Fraction:
    """Number of cases where "all lengths are kept" and "d∘d - 1 is in the null space that the library finds" disagree.

    Cases: every 2 x 2 table with entries -1, 0, 1, 2, every 3 x 2 table with entries 0, 1, 2, and every D with d^2 in
    {1/2, 2/3, 1, 4/3, 3/2, 2}.
    """
    wrong = 0
    choices = [Fraction(1, 2), Fraction(2, 3), Fraction(1), Fraction(4, 3), Fraction(3, 2), Fraction(2)]
    for n, values in ((2, (-1, 0, 1, 2)), (3, (0, 1, 2))):
        for entries in itertools.product(values, repeat=2 * n):
            A = exact(np.array(entries).reshape(n, 2))
            basis = gauge.gauge_directions(A)  # (2, g)
            for x in itertools.product(choices, repeat=2):
                kept = all(sum(a * a * (xl - 1) for a, xl in zip(row, x, strict=True)) == 0 for row in A)
                wrong += kept != _in_span(basis, [x[0] - 1, x[1] - 1])
    return Fraction(wrong)


# ---- both tables on the sphere


@proof
def lem_trace() -> Iterator[sp.Expr]:
    """tr(M (S + S^-1 - 2 I)) = sum_l (v_l^T M v_l) (s_l - 1)^2 / s_l, S = sum_l s_l v_l v_l^T; M > 0: 0 only at S = I.

    Checked with S diagonal (choose the eigenvectors of S as axes; M is then any symmetric matrix), widths 2, 3 and 4.
    """
    for k in (2, 3, 4):
        M, s = symmetric("m", k), sp.symbols(f"s:{k}", positive=True)
        S = sp.diag(*s)
        yield (M * (S + S.inv() - 2 * sp.eye(k))).trace() - sum(M[i, i] * (s[i] - 1) ** 2 / s[i] for i in range(k))


def thm_certificate() -> list[sp.Expr]:
    """M = sum w_i a_i a_i^T = sum v_j b_j b_j^T > 0: a gauge S that keeps all lengths has tr(M(S + S^-1 - 2I)) = 0.

    Then `lem_trace` gives S = I. The sum: tr(M S) - tr M = sum_i w_i (a_i^T S a_i - a_i^T a_i), and likewise for S^-1.
    """
    k = 2
    S, w, a = symmetric("s", k), sp.symbols("w:3"), [vector(f"a{i}", k) for i in range(3)]
    M = sum((wi * ai * ai.T for wi, ai in zip(w, a, strict=True)), sp.zeros(k, k))
    kept = sum(wi * ((ai.T * S * ai)[0] - ai.dot(ai)) for wi, ai in zip(w, a, strict=True))
    back = sum(wi * ((ai.T * S.inv() * ai)[0] - ai.dot(ai)) for wi, ai in zip(w, a, strict=True))
    both = (M * (S + S.inv() - 2 * sp.eye(k))).trace()
    return simplified((M * S).trace() - M.trace() - kept, both - kept - back, *lem_trace())


@proof
def thm_two_sided_gauge() -> Iterator[sp.Expr]:
    """The pieces of the two-sided theorem.

    First order: d/dt b^T (I + tE)^-1 b at 0 is -b^T E b, so both tables restrict E in the same way. Second order: the
    next coefficient is ||E b||^2, which is where a first-order freedom can be refused. Count: dim of {(S, A, B)} falls
    short of that of all (A, B) by n + m - k(k+1)/2 (n + m - k for diagonal S): positive means that almost every pair is
    rigid.
    """
    for k in (2, 3):
        E, b = symmetric("e", k), vector("b", k)
        inverse = sp.eye(k) - t * E + t**2 * E * E  # up to t^3: (I + tE) inverse = I + t^3 E^3
        yield from list((sp.eye(k) + t * E) * inverse - (sp.eye(k) + t**3 * E**3))
        value = sp.expand((b.T * inverse * b)[0])
        yield from [value.coeff(t, 1) + (b.T * E * b)[0], value.coeff(t, 2) - (E * b).dot(E * b)]
    n, k, p = sp.symbols("n k p", positive=True)  # n: rows of both tables; p: k(k+1)/2, or k
    yield (n * (k - 1) - (p + n * (k - 2))) - (n - p)


def prop_swapped_squares() -> list[sp.Expr]:
    """With d = |b|/|a|: sum a_l^2 d_l^2 = ||b||^2 and sum b_l^2 / d_l^2 = ||a||^2, whatever the signs of the rows."""
    a, b = (sp.symbols(f"{name}:4", positive=True) for name in "ab")
    d = [y / x for x, y in zip(a, b, strict=True)]
    new_a = sum((x * z) ** 2 for x, z in zip(a, d, strict=True)) - sum(y**2 for y in b)
    new_b = sum((y / z) ** 2 for y, z in zip(b, d, strict=True)) - sum(x**2 for x in a)
    return simplified(new_a, new_b)


@proof
def thm_one_row_short() -> Iterator[sp.Expr]:
    """One row short of the count there is one second gauge: f(t) = sum_l w_l/(1 + t l_l) - sum_l w_l is t g(t).

    g(t) = -sum_l w_l l_l/(1 + t l_l), and g' = sum_l w_l l_l^2/(1 + t l_l)^2 > 0: g rises from -infinity to +infinity
    once. w_l: squared coordinates of b in the eigenvectors of E, l_l the eigenvalues (diagonal gauges: b_l^2, delta_l).
    """
    for k in (2, 3, 4):
        w, rate = sp.symbols(f"w:{k}", positive=True), sp.symbols(f"l:{k}", real=True)
        f = sum(wi / (1 + t * ri) - wi for wi, ri in zip(w, rate, strict=True))
        g = -sum(wi * ri / (1 + t * ri) for wi, ri in zip(w, rate, strict=True))
        rise = sum(wi * ri**2 / (1 + t * ri) ** 2 for wi, ri in zip(w, rate, strict=True))
        yield from [f - t * g, sp.diff(g, t) - rise]


def prop_plane_gauge() -> list[sp.Expr]:
    """In the plane S = I + tE with t = e/|det E|, e = b^T E b, ||b|| = 1 keeps ||b|| under S^-1.

    det S = (1 + t l_1)(1 + t l_2) with 1 + t l_1 = 1 + e/|l_2| and 1 + t l_2 = 1 - e/l_1 for the eigenvalues l_1 > 0 >
    l_2: positive unless e is one of them. Here they are l1 and -l2, and b is at the angle phi to the first eigenvector.
    """
    l1, l2, phi = sp.symbols("l1 l2 phi", positive=True)
    e = l1 * sp.cos(phi) ** 2 - l2 * sp.sin(phi) ** 2
    at = e / (l1 * l2)
    back = sp.cos(phi) ** 2 / (1 + at * l1) + sp.sin(phi) ** 2 / (1 - at * l2)
    first, second = 1 + at * l1, 1 - at * l2
    return simplified(back - 1, first - (l1 + l2) * sp.cos(phi) ** 2 / l2, second - (l1 + l2) * sp.sin(phi) ** 2 / l1)


def enumerate_plane_gauge() -> Fraction:
    """`prop_plane_gauge` on all triples of 28 rational points of the circle: where the library's S is wrong.

    It fails to keep a length, is the identity although b is parallel to neither a, or is refused although b is no
    bisector.
    """
    wrong = 0
    half = [p for p in rational_circle() if p[1] > 0 or p[0] == 1]  # one point of each line through 0
    for first, second, b in itertools.product(half, repeat=3):
        if first == second:
            continue
        bisects = abs(_dot(first, b)) == abs(_dot(second, b))
        a1, a2, row = (exact(np.array(point, dtype=object)) for point in (first, second, b))
        try:
            S = gauge.second_plane_gauge(a1, a2, row)
        except ValueError:
            wrong += not bisects
            continue
        inverse = np.array([[S[1, 1], -S[0, 1]], [-S[0, 1], S[0, 0]]]) / (S[0, 0] * S[1, 1] - S[0, 1] ** 2)
        kept = gauge.keeps_norms(np.stack([a1, a2]), S, tol=0) and gauge.keeps_norms(row[None], inverse, tol=0)
        wrong += bisects or not kept or ((S[0, 1], S[0, 0]) == (0, 1)) != (b in (first, second))
    return Fraction(wrong)


# ---- training: steps, decay, and the two objectives


def prop_projected_step() -> list[sp.Expr]:
    """x - eta g = (1 - eta s)(x - eta' P g): s = <x, g>, P g = g - s x, eta' = eta/(1 - eta s), ||x|| = 1 (P2, 4.4).

    In terms of the coefficients of x and g; so N of both sides agrees where 1 - eta s > 0, and is opposite below 0.
    """
    s = sp.Symbol("s", real=True)
    factor = 1 - eta * s
    on_x = 1 - factor * (1 + eta / factor * s)  # coefficients of x: left 1; right factor (1 + eta' s)
    on_g = -eta - factor * (-eta / factor)
    return simplified(on_x, on_g)


def prop_decay_gauge() -> list[sp.Expr]:
    """With A^T A = B^T B = C: ||A R||^2 + ||B R^-T||^2 = tr(C (S + S^-1)), S = R R^T; minus 2 tr C it is `lem_trace`.

    So weight decay on both tables leaves S = I, that is rotations, if C > 0.
    """
    C, R = symmetric("c", 2), matrix("r", 2, 2)
    S = R * R.T
    sizes = (R.T * C * R).trace() + (R.inv() * C * R.inv().T).trace()
    return simplified(sizes - (C * (S + S.inv())).trace(), *lem_trace())


def prop_balance() -> list[sp.Expr]:
    """Gradient flow on any loss of the scores keeps A^T A - B^T B: with G = dL/d(A B^T), A' = -G B and B' = -G^T A."""
    A, B, G = matrix("a", 3, 2), matrix("b", 2, 2), matrix("g", 3, 2)
    dA, dB = -G * B, -G.T * A
    return simplified(*(dA.T * A + A.T * dA - dB.T * B - B.T * dB))


def thm_steck() -> list[sp.Expr]:
    """Steck et al.'s two objectives, in the singular basis of X (X = diag(s); both objectives keep their value there).

    First: ||X - X W||^2 + lam ||W||^2 = sum_ij (s_i^2 + lam)(W_ij - W*_ij)^2 + lam sum_i s_i^2/(s_i^2 + lam), W* =
    diag(1/(1 + lam/s^2)): the best W of rank k keeps the k largest terms s^4/(s^2 + lam) (Eckart-Young after scaling
    rows by sqrt(s^2 + lam)).
    Second: its gradient vanishes at the closed form; and X A, B have the same Gramian there, so `prop_decay_gauge`
    applies.
    """
    n, k = 3, 2
    s, lam = sp.symbols(f"s:{n}", positive=True), sp.Symbol("lam", positive=True)
    X, W = sp.diag(*s), matrix("w", n, n)
    best = sp.diag(*(1 / (1 + lam / si**2) for si in s))
    square = sum((s[i] ** 2 + lam) * (W[i, j] - best[i, j]) ** 2 for i in range(n) for j in range(n))
    constant = sum(lam * si**2 / (si**2 + lam) for si in s)
    first = _size(X - X * W) + lam * _size(W) - square - constant

    r = sp.symbols(f"r:{k}", positive=True)  # s_i = lam + r_i^2 lam on the kept axes, so that the roots are real
    kept = {s[i]: lam * (1 + r[i] ** 2) for i in range(k)}
    A, B = matrix("a", n, k), matrix("b", n, k)
    objective = _size(X - X * A * B.T) + lam * (_size(X * A) + _size(B))
    closed = {A[i, j]: sp.sqrt((1 - lam / s[i]) / s[i]) if i == j else 0 for i in range(n) for j in range(k)}
    closed |= {B[i, j]: sp.sqrt(s[i] * (1 - lam / s[i])) if i == j else 0 for i in range(n) for j in range(k)}
    gradient = [sp.diff(objective, entry).subs(closed).subs(kept) for entry in (*A, *B)]
    towers = (X * A).subs(closed).subs(kept)
    balanced = towers.T * towers - (B.T * B).subs(closed).subs(kept)
    return simplified(first, *gradient, *balanced)


# ---- counterexamples


def triangle_fails() -> Counterexample:
    """1 - cos is no metric: unit vectors at 0, 45, 90 degrees. claimed: d(0,45) + d(45,90) = 2 - sqrt 2; actual: 1."""
    step = 1 - sp.cos(sp.pi / 4)
    return Counterexample("the triangle inequality", 2 * step, 1 - sp.cos(sp.pi / 2), sp.sqrt(2) - 1)


# ---- what they are made of


def rational_circle() -> list[tuple[Fraction, Fraction]]:
    """28 points of the unit circle with rational coordinates: the axes and the triples 3-4-5, 5-12-13 and 8-15-17."""
    points = {
        (Fraction(1), Fraction(0)),
        (Fraction(-1), Fraction(0)),
        (Fraction(0), Fraction(1)),
        (Fraction(0), Fraction(-1)),
    }
    for a, b, c in ((3, 4, 5), (5, 12, 13), (8, 15, 17)):
        for x, y in ((a, b), (b, a)):
            points |= {(Fraction(sx * x, c), Fraction(sy * y, c)) for sx in (1, -1) for sy in (1, -1)}
    return sorted(points)


def _dot(x: Iterable[Any], y: Iterable[Any]) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def _squared_distance(x: Iterable[Any], y: Iterable[Any]) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), Fraction(0))


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _in_span(basis: np.ndarray, vector: list[Fraction]) -> bool:
    """Is a vector of the plane in the span of the columns of basis (2, g)?"""
    if basis.shape[1] == 0:
        return vector == [0, 0]
    if basis.shape[1] == 2:
        return True
    return bool(basis[0, 0] * vector[1] - basis[1, 0] * vector[0] == 0)


def _size(M: sp.Matrix) -> sp.Expr:
    """The squared Frobenius norm."""
    return sum((entry**2 for entry in M), sp.Integer(0))


def _axis(i: int, k: int) -> sp.Matrix:
    return sp.eye(k)[:, i]
