"""The statements of P2, each recomputed; the lesson's claims.yml names these tests.

Formulas are written out here and never taken from `course_lib`: where the library states the same, a test compares the
two. Counterexamples are in exact arithmetic: fractions, or square roots in sympy.
"""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
import sympy
import torch

from course_lib.checking import some
from tests import errata_numbers


def unit(rows):
    rows = np.asarray(rows, dtype=float)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def cos(x, y):
    return float(np.dot(x, y) / np.linalg.norm(x) / np.linalg.norm(y))


def cosine_matrix(X, Y=None):
    return unit(X) @ unit(X if Y is None else Y).T


def roots(rows):
    """A sympy matrix with sqrt of each entry (negative: minus the root of its absolute value)."""
    return sympy.Matrix([[sympy.sign(F(x)) * sympy.sqrt(sympy.Rational(abs(F(x)))) for x in row] for row in rows])


def squared_norms(A):
    """The squared length of each row of a sympy matrix."""
    return [sympy.simplify(sum(x**2 for x in A.row(i))) for i in range(A.rows)]


def rank_of_squares(A):
    """The rank of the matrix of squared entries, in rationals."""
    return sympy.Matrix(A.rows, A.cols, lambda i, j: sympy.nsimplify(A[i, j] ** 2)).rank()


TWO_AXES = roots([["1/2", "1/2"], ["1/2", "-1/2"]])  # (1, 1)/sqrt 2 and (1, -1)/sqrt 2
STRETCH = sympy.diag(sympy.sqrt(sympy.Rational(3, 2)), sympy.sqrt(sympy.Rational(1, 2)))
LEFT = roots([["1/3", "2/3"], ["1/3", "-2/3"]])
RIGHT = roots([["2/3", "1/3"], ["2/3", "-1/3"]])
BOTH = sympy.diag(sympy.sqrt(2), sympy.sqrt(sympy.Rational(1, 2)))
HALVES = np.array(list(itertools.product([0.5, -0.5], repeat=4)))  # 16 rows, all on the sphere


# ---- Sections 2 and 3: the distances


def test_gauge_matrices_include_signs_and_form_a_group():
    D, E = np.diag([2.0, -1.0, 0.5]), np.diag([-3.0, 1.0, 4.0])
    for made in (D @ E, np.linalg.inv(D)):
        assert (made == np.diag(np.diagonal(made))).all() and (np.diagonal(made) != 0).all()
    signs = [np.diag(s) for s in itertools.product([1.0, -1.0], repeat=3)]
    A = unit(drawn(5, 3))
    assert all(np.linalg.norm(A @ s, axis=1) == pytest.approx(1) for s in signs) and len(signs) == 8


def test_the_chord_is_twice_the_sine_of_half_the_angle():
    t = sympy.symbols("t", real=True)
    x, y = sympy.Matrix([1, 0]), sympy.Matrix([sympy.cos(t), sympy.sin(t)])
    square = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    assert sympy.simplify(square - (2 * sympy.sin(t / 2)) ** 2) == 0
    assert sympy.simplify(square / 2 - (1 - sympy.cos(t))) == 0
    angles = np.linspace(0, np.pi, 181)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    cosine, half = 1 - circle @ circle[0], ((circle - circle[0]) ** 2).sum(1) / 2
    assert np.abs(cosine - half).max() < 1e-14 and (np.diff(cosine) > 0).all() and cosine[-1] == pytest.approx(2)


# ---- Section 4: gauge freedom


def test_the_same_d_on_both_sides_does_not_keep_the_inner_product():
    D, x = np.diag([2, 1]), np.array([1, 0])
    assert x @ x == 1 and (D @ x) @ (D @ x) == 4
    inverse = np.diag([0.5, 1])
    assert (D @ x) @ (inverse @ x) == 1


def N(x):
    return x / np.linalg.norm(x)


def test_thm_7_normalisation_and_gauge_differ_except_on_eigenvectors():
    D = np.diag([2.0, 1.0, 0.5])
    for x in some(unit(drawn(200, 3, seed=6))):
        assert np.abs(N(D @ x) - N(x)).max() > 1e-6
    for x, equal in (([1, 0, 0], True), ([0, 0, -1], True), ([1, 1, 0], False)):
        assert np.allclose(N(D @ np.array(x, float)), N(np.array(x, float))) == equal
    for x in some(unit(drawn(20, 3, seed=7))):
        assert np.allclose(N(3 * np.eye(3) @ x), N(x))
        assert np.allclose(N(-3 * np.eye(3) @ x), -N(x))  # -3 I is a gauge of Definition 3, and N changes sign


def gauge_dimension(A):
    """Free directions of d^2 with every row of A D on the unit sphere, in floats: k - rank(A o A)."""
    squares = np.asarray(A, float) ** 2
    return squares.shape[1] - np.linalg.matrix_rank(squares)


def test_prop_8_b_a_stretch_that_stays_on_the_sphere():
    """Rows (1, 1)/sqrt 2 and (1, -1)/sqrt 2 span the plane; D^2 = diag(3/2, 1/2) keeps both on it.

    The cosine 0 becomes 1/2.
    """
    assert TWO_AXES.rank() == 2 and squared_norms(TWO_AXES) == [1, 1]
    moved = TWO_AXES * STRETCH
    assert squared_norms(moved) == [1, 1] and moved != TWO_AXES
    assert TWO_AXES.row(0).dot(TWO_AXES.row(1)) == 0
    assert sympy.simplify(moved.row(0).dot(moved.row(1))) == sympy.Rational(1, 2)
    inverse = STRETCH.inv()  # the paper's B D^-1: D^-2 has the entries 2/3 and 2, whose mean is not 1
    assert squared_norms(TWO_AXES * inverse) == [sympy.Rational(4, 3)] * 2
    other = sympy.diag(sympy.sqrt(sympy.Rational(2, 3)), sympy.sqrt(2))  # D = its inverse is a gauge that B D^-1 allows
    assert squared_norms(TWO_AXES * other.inv()) == [1, 1]


def test_prop_8_c_a_stretch_that_keeps_both_sides_on_the_sphere():
    """A and B on the sphere before and after, the product unchanged, and cos(a_1, a_2) from -1/3 to +1/3."""
    moved_left, moved_right = LEFT * BOTH, RIGHT * BOTH.inv()
    for rows in (LEFT, RIGHT, moved_left, moved_right):
        assert squared_norms(rows) == [1, 1]
    assert (moved_left * moved_right.T - LEFT * RIGHT.T).applyfunc(sympy.simplify) == sympy.zeros(2)
    assert LEFT.row(0).dot(LEFT.row(1)) == -sympy.Rational(1, 3)
    assert sympy.simplify(moved_left.row(0).dot(moved_left.row(1))) == sympy.Rational(1, 3)
    assert LEFT.rank() == RIGHT.rank() == 2


def test_the_terms_of_the_proof_of_prop_8_can_cancel():
    """sum_l b_l^2 (1/d_l^2 - 1) = 0 with no zero term: one scale above 1, one below."""
    squares, inverse = (F(1, 2), F(1, 2)), (F(3, 2), F(1, 2))
    terms = [b * (d - 1) for b, d in zip(squares, inverse, strict=True)]
    assert sum(terms) == 0 and 0 not in terms
    # with as many independent rows of squares as columns the only solution is d^2 = 1
    assert rank_of_squares(TWO_AXES) == 1
    assert rank_of_squares(roots([["1/4", "3/4"], ["1/2", "1/2"]])) == 2


def test_rows_that_span_the_space_and_leave_three_free_gauges():
    assert np.linalg.matrix_rank(HALVES) == 4 and np.allclose(np.linalg.norm(HALVES, axis=1), 1)
    assert gauge_dimension(HALVES) == 3
    d = np.sqrt([1.5, 0.5, 1.8, 0.2])
    assert np.allclose(np.linalg.norm(HALVES * d, axis=1), 1)
    assert np.abs(cosine_matrix(HALVES * d) - cosine_matrix(HALVES)).max() > 0.5


def test_projecting_after_a_step_is_a_riemannian_step_of_another_length():
    """N(x - lr g) = N(x - lr' P_x g), lr' = lr/(1 - lr <x, g>), as long as 1 - lr <x, g> > 0."""
    for x, g in some(zip(unit(drawn(50, 4, seed=40)), drawn(50, 4, seed=41), strict=True)):
        tangent = g - (x @ g) * x
        for lr in (0.01, 0.3, 3.0):
            factor = 1 - lr * (x @ g)
            same = np.allclose(N(x - lr * g), N(x - lr / factor * tangent))
            assert same == (factor > 0)
    x, g = np.array([1.0, 0.0]), np.array([-0.9, 1.0])
    assert not np.allclose(N(x - 1.0 * g), N(x - 1.0 * (g - (x @ g) * x)))  # the step length is not lr


def test_a_loss_of_the_normalised_vector_has_tangent_gradients_and_iterates_that_leave_the_sphere():
    x = torch.tensor(unit(drawn(1, 3, seed=42))[0], requires_grad=True)
    target = torch.tensor(unit(drawn(1, 3, seed=43))[0])
    (g,) = torch.autograd.grad((1 - x @ target / x.norm()).square(), x)
    assert abs(float(x @ g)) < 1e-15 and g.norm() > 0.1
    moved = (x - 0.5 * g).detach()
    assert moved.norm() ** 2 == pytest.approx(1 + 0.25 * float(g.square().sum()), rel=1e-12)
    # and a new freedom: each row may have any length, without any effect on the loss
    loss = [float((1 - (scale * x) @ target / (scale * x).norm()).square()) for scale in (1.0, 7.0)]
    assert loss[0] == pytest.approx(loss[1], rel=1e-12)


def test_the_gradient_that_a_projection_follows_need_not_be_tangent():
    """Approach (i), loss -<x, t>: the gradient -t has a part along x. Approach (ii), loss -cos(x, t): it has none."""
    x, t = sympy.Matrix([1, 0]), sympy.Matrix([1, 1])
    a, b = sympy.symbols("a b", real=True)
    dot, cosine = a * t[0] + b * t[1], (a * t[0] + b * t[1]) / sympy.sqrt(a**2 + b**2)
    along = [
        sympy.simplify(-sum(sympy.diff(loss, v) * w for v, w in ((a, a), (b, b))).subs({a: x[0], b: x[1]}))
        for loss in (dot, cosine)
    ]
    assert along == [-1, 0]


def test_normalising_afterwards_keeps_the_trace_of_d():
    B = drawn(6, 3, seed=44)
    D = np.diag([4.0, 1.0, 0.25])
    assert np.abs(cosine_matrix(unit(B @ np.linalg.inv(D))) - cosine_matrix(unit(B))).max() > 0.3


# ---- Sections 6 to 9: geometry, practice


def test_the_cosine_tells_a_vector_from_its_opposite():
    """Lines through 0 (projective space) would identify x and -x; rays do not."""
    x, y = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    assert cos(-x, y) == -cos(x, y) != 0
    assert cos(3 * x, y) == pytest.approx(cos(x, y))


def test_mahalanobis_needs_a_positive_definite_matrix():
    M = np.array([[2.0, 1.0], [1.0, 2.0]])
    factor = np.linalg.cholesky(M)
    x, y = np.array([1.0, 3.0]), np.array([-2.0, 1.0])
    assert (x - y) @ M @ (x - y) == pytest.approx(np.square((x - y) @ factor).sum())
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_the_objective_keeps_the_scores_and_not_the_similarities():
    """|X - X A B^T|^2 + lam |A B^T|^2 is the same for every D; cosines and dot products of two items are not.

    Nor is the second objective, which weighs the two tables: |X - X A B^T|^2 + lam (|X A|^2 + |B|^2).
    """
    X, A, B = drawn(8, 5, seed=47), drawn(5, 3, seed=45), drawn(5, 3, seed=46)
    d, lam = np.array([3.0, 1.0, 0.2]), 0.7

    def first(left, right):
        return np.square(X - X @ left @ right.T).sum() + lam * np.square(left @ right.T).sum()

    def second(left, right):
        return np.square(X - X @ left @ right.T).sum() + lam * (np.square(X @ left).sum() + np.square(right).sum())

    assert first(A * d, B / d) == pytest.approx(first(A, B), rel=1e-12) and first(A, 2 * B) > 1.1 * first(A, B)
    assert abs(second(A * d, B / d) / second(A, B) - 1) > 0.1
    for similarity in (cosine_matrix, lambda X: X @ X.T):
        assert np.abs(similarity(B / d) - similarity(B)).max() > 0.1


def test_a_sphere_of_any_radius_has_the_same_two_properties():
    """(a) every ray meets it once, (b) O(d) moves every point to every other;
    radius 2 has both, and is not isometric to 1.
    """
    rng = np.random.default_rng(0)
    for radius in (1.0, 2.0):
        x, y = (radius * unit(rng.normal(size=(1, 3)))[0] for _ in range(2))
        v = (x - y) / np.linalg.norm(x - y)
        reflection = np.eye(3) - 2 * np.outer(v, v)
        assert np.allclose(reflection @ x, y)  # (b)
        z = rng.normal(size=3)
        assert np.linalg.norm(radius * N(z)) == pytest.approx(radius) and np.allclose(N(5 * z), N(z))  # (a)
        half = ((x - y) ** 2).sum() / 2
        assert (half == pytest.approx(1 - cos(x, y))) == (radius == 1)  # what tells the radii apart is (4)


def test_a_gauge_can_put_all_of_the_distance_on_one_axis():
    A = drawn(30, 3, seed=49)
    first = np.abs(A[:, None, 0] - A[None, :, 0])
    shares = []
    for size in (1.0, 1e-2, 1e-4):
        distance = np.linalg.norm((A[:, None] - A) * np.array([1.0, size, size]), axis=-1)
        shares.append(float(np.abs(distance - first).max()))
    assert shares[0] > 1 and shares[1] < 0.1 and shares[2] < 1e-3


def minimise_dot_product_model(start, *, decay, steps=20_000):
    """A and B of the least |X - A B^T|^2 + decay (|A|^2 + |B|^2), by gradient steps from a gauged start."""
    X = unit(drawn(6, 2, seed=52)) @ unit(drawn(5, 2, seed=53)).T
    A, B = drawn(6, 2, seed=54) * start, drawn(5, 2, seed=55) / start
    for _ in range(steps):
        residual = A @ B.T - X
        A, B = A - 0.05 * (residual @ B + decay * A), B - 0.05 * (residual.T @ A + decay * B)
    return A, B


@pytest.mark.seconds
def test_without_decay_the_cosines_depend_on_the_start_and_with_it_they_do_not():
    starts = (np.array([1.0, 1.0]), np.array([2.0, 0.6]))
    free = [minimise_dot_product_model(start, decay=0.0) for start in starts]
    assert np.allclose(free[0][0] @ free[0][1].T, free[1][0] @ free[1][1].T, atol=1e-6)
    assert np.abs(cosine_matrix(free[0][1]) - cosine_matrix(free[1][1])).max() > 0.02
    decayed = [minimise_dot_product_model(start, decay=0.3) for start in starts]
    assert np.abs(cosine_matrix(decayed[0][1]) - cosine_matrix(decayed[1][1])).max() < 1e-6
    assert np.linalg.svd(decayed[0][1])[1].min() > 0.1  # not for want of a second direction


def test_layer_normalisation_with_a_gain_leaves_the_sphere_by_a_diagonal():
    layer = torch.nn.LayerNorm(4, elementwise_affine=True, eps=0.0, dtype=torch.float64)
    x = torch.tensor(drawn(6, 4, seed=56))
    plain = layer(x).detach()
    assert torch.allclose(plain.norm(dim=1), torch.full((6,), 2.0, dtype=torch.float64))  # a sphere of radius sqrt 4
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([3.0, 1.0, 1.0, 0.5]))
    gained = layer(x).detach()
    assert torch.allclose(gained, plain * layer.weight) and gained.norm(dim=1).std() > 0.1


def test_projecting_back_keeps_the_cosines_of_the_scores_under_every_gauge():
    """The other remedy of Steck et al.: similarities of rows of X A B^T, which no gauge changes;
    no sphere is needed.
    """
    X, A, B = drawn(7, 5, seed=57), drawn(5, 2, seed=58), drawn(5, 2, seed=59)
    R = drawn(2, 2, seed=60)
    scores, gauged = X @ A @ B.T, X @ (A @ R) @ (B @ np.linalg.inv(R).T).T
    assert np.allclose(cosine_matrix(scores), cosine_matrix(gauged))
    assert np.abs(np.linalg.norm(scores, axis=1) - 1).max() > 0.5


def test_every_decimal_in_the_errata_comes_from_a_computation():
    known = {"0.586": 2 - math.sqrt(2)}
    assert all(f"{number:.3f}" == text for text, number in known.items())
    assert errata_numbers.unknown("P2", set(known)) == []
    assert errata_numbers.decimals("P2")
