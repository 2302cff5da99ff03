"""The statements of P4, each recomputed; the lesson's claims.yml names these tests.

Formulas are written out here as the paper prints them, and never taken from `course_lib`: where the library states the
same, a test compares the two. Exact arithmetic wherever a statement is exact: fractions, over every draw.
"""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
import sympy
import torch

from course_lib import gramians
from course_lib.arrays import exact
from course_lib.checking import some
from course_lib.papers import p4, table
from tests import errata_numbers


def whole(rows, width, seed=0):
    """A table of whole numbers from -3 to 3 without 0, as fractions."""
    return exact(np.random.default_rng(seed).choice([-3, -2, -1, 1, 2, 3], size=(rows, width)))


def gram(X):
    """(4): (1/n) X'X."""
    return X.T @ X / F(len(X))


def outer(x, y=None):
    return np.outer(x, x if y is None else y)


def dot(A, B):
    """<A, B> = sum of the products of the entries."""
    return (A * B).sum()


def mean(values):
    values = list(values)
    return sum(values[1:], values[0]) / F(len(values))


def equal(A, B):
    return bool(np.all(np.asarray(A) == np.asarray(B)))


U, V = whole(3, 2, 1), whole(3, 2, 2)  # n = 3 examples, k = 2: now
OLD_U, OLD_V = whole(3, 2, 3), whole(3, 2, 4)  # and when the caches were filled
GU, GV, N = gram(U), gram(V), 3
Q, R = whole(3, 1, 5), whole(3, 1, 6)  # a prior of rank one


def gravity(U, V):
    """(3) as the double sum over examples."""
    return sum((u @ v) ** 2 for u in U for v in V) / F(len(U) * len(V))


def slopes(batch, GU_hat, GV_hat):
    """The gradient in all u_i and v_i, (2, n, k), of the mean over the batch of (8) with the estimates held
    constant.
    """
    found = np.zeros((2, N, 2), dtype=object)
    for i in batch:
        found[0, i] = found[0, i] + 2 * GV_hat @ U[i] / F(len(batch))
        found[1, i] = found[1, i] + 2 * GU_hat @ V[i] / F(len(batch))
    return found


TRUE = slopes(range(N), GU, GV)
OBSERVED = np.stack([2 * (U * V).sum(axis=1)[:, None] * side / F(N) for side in (V, U)])  # of h = mean <u_i, v_i>^2


def test_the_gradient_of_this_file_is_that_of_autograd():
    u, v = (torch.tensor(x.astype(float), requires_grad=True) for x in (U, V))
    ((u @ v.T).square().sum() / N**2).backward()
    assert np.allclose(TRUE.astype(float), np.stack([u.grad.numpy(), v.grad.numpy()]), atol=1e-12)


def is_psd(matrix):
    """Of a symmetric 2 x 2 matrix of fractions."""
    return matrix[0, 0] >= 0 and matrix[1, 1] >= 0 and matrix[0, 0] * matrix[1, 1] >= matrix[0, 1] ** 2


# --------------------------------------------------------------------------------------------- Section 2: the objective


def test_eq1_eq2_the_double_sum_runs_over_examples_and_counts_popular_entities_more():
    entities_u, entities_v = whole(2, 2, 7), whole(3, 2, 8)
    examples = [(0, 0), (0, 1), (1, 1), (1, 2), (1, 2)]
    rows = np.array([x for x, _ in examples]), np.array([y for _, y in examples])
    g = gravity(entities_u[rows[0]], entities_v[rows[1]])
    count = [np.bincount(side) for side in rows]
    weighted = sum(
        int(count[0][x] * count[1][y]) * (entities_u[x] @ entities_v[y]) ** 2 for x in range(2) for y in range(3)
    ) / F(25)
    plain = gravity(entities_u, entities_v)
    assert g == weighted != plain
    # footnote 4: the rank-one terms of unique entities, weighted by 1/count in the sum over examples
    even = [
        sum(outer(E[at]) / F(int(c[at])) for at in side)
        for E, c, side in zip((entities_u, entities_v), count, rows, strict=True)
    ]
    assert equal(even[0], 2 * gram(entities_u)) and equal(even[1], 3 * gram(entities_v))
    assert dot(*even) / F(6) == plain


def test_the_right_tower_takes_the_right_entity():
    """Figure 1 labels the right tower v(theta, x). Appendix E: users have one kind of features, films another."""
    left, right = torch.nn.Linear(3, 2), torch.nn.Linear(5, 2)
    x, y = torch.ones(4, 3), torch.ones(4, 5)
    assert (left(x) * right(y)).sum(-1).shape == (4,)
    with pytest.raises(RuntimeError):
        right(x)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 2), (3, 5), (6, 3)])
def test_eq3_eq4_eq5_and_the_adjoint_on_exact_tables(n, k):
    A, B = whole(n, k, n), whole(n, k, k + 10)
    products = A @ B.T
    assert gravity(A, B) == dot(products, products) / F(n**2)  # (3)
    assert dot(products, products) == dot(A.T @ A, B.T @ B)  # the adjoint
    assert equal(gram(A), mean(outer(a) for a in A))  # (4)
    assert gravity(A, B) == dot(gram(A), gram(B)) == gramians.gravity(A, B)  # (5)


def test_eq6_eq7_the_gravity_term_is_the_mean_of_its_shares_not_their_sum():
    shares = []
    for i in range(N):
        by_pairs = sum((U[i] @ V[j]) ** 2 + (U[j] @ V[i]) ** 2 for j in range(N)) / F(2 * N)
        by_gramians = (U[i] @ GV @ U[i] + V[i] @ GU @ V[i]) / F(2)
        assert by_pairs == by_gramians  # (7)
        shares.append(by_gramians)
    g = gravity(U, V)
    assert mean(shares) == g and sum(shares) == N * g != g
    losses = [(U[i] @ V[i] - 1) ** 2 for i in range(N)]  # (6) with the square loss and target 1
    lam = F(3, 2)
    assert mean(f + lam * share for f, share in zip(losses, shares, strict=True)) == mean(losses) + lam * g  # (2)


# --------------------------------------------------------------------------------------- Section 3: estimated gradients


def flow(u, GV_hat, t, n):
    """u(t) under du/dt = -(2/n) G_v u: sympy, through the eigenvectors of G_v."""
    return (-sympy.Rational(2, n) * t * sympy.Matrix(GV_hat)).exp() * sympy.Matrix(u)


def test_gravity_alone_shrinks_and_neither_repels_nor_attracts():
    """G_v = diag(4, 1): the two parts of u decay, each towards 0; a negative inner product is pulled up."""
    t = sympy.symbols("t", nonnegative=True)
    u = flow([2, -3], [[4, 0], [0, 1]], t, 2)
    assert sympy.simplify(u[0] - 2 * sympy.exp(-4 * t)) == 0 and sympy.simplify(u[1] + 3 * sympy.exp(-t)) == 0
    below = (sympy.Matrix([[0, 1]]) * u)[0]  # with v = (0, 1): negative, and rises to 0
    assert below.subs(t, 0) == -3 and sympy.limit(below, t, sympy.oo) == 0 and below.diff(t).subs(t, 0) > 0
    right_angle = flow([0, 5], [[4, 0], [0, 0]], t, 2)  # orthogonal to all right embeddings: feels nothing
    assert right_angle == sympy.Matrix([0, 5])


def test_one_inner_product_may_cross_zero_on_the_way():
    """u = (2, 3/2), v = (1, -1), G_v = diag(4, 1): <u, v> goes from 1/2 to below 0 and then back towards 0."""
    x = F(1, 2)  # exp(-2t/n) at some time
    assert F(2) - F(3, 2) == F(1, 2) and 2 * x**4 - F(3, 2) * x < 0
    t = sympy.symbols("t", nonnegative=True)
    u = flow([2, sympy.Rational(3, 2)], [[4, 0], [0, 1]], t, 2)
    product = u[0] - u[1]
    assert product.subs(t, 0) > 0 > product.subs(t, 1) and sympy.limit(product, t, sympy.oo) == 0


@pytest.mark.parametrize("alpha", [0.01, 0.5, 1.0])
def test_eq8_has_twice_the_value_and_without_the_stop_1_plus_alpha_times_the_gradient(alpha):
    """Estimates (1 - alpha) C + alpha G(theta) that equal G: stopped, the gradient is right;
    flowing, it is (1 + alpha) times as long.
    """
    tables = [torch.tensor(x.astype(float), requires_grad=True) for x in (U, V)]
    grams = [x.T @ x / N for x in tables]
    exact_gradient = torch.autograd.grad((grams[0] * grams[1]).sum(), tables, retain_graph=True)
    hats = [(1 - alpha) * G.detach() + alpha * G for G in grams]
    for estimates, factor in ((hats, 1 + alpha), ([G.detach() for G in hats], 1)):
        value = ((tables[0] @ estimates[1]) * tables[0] + (tables[1] @ estimates[0]) * tables[1]).sum(1).mean()
        assert value.item() == pytest.approx(2 * float(gravity(U, V)))
        for found, true in some(
            zip(torch.autograd.grad(value, tables, retain_graph=True), exact_gradient, strict=True)
        ):
            assert torch.allclose(found, factor * true, atol=1e-12)


def shared_towers():
    """u_i and v_i as polynomials of two parameters that both towers share, and the double sum."""
    a, b = sympy.symbols("a b")
    u = [sympy.Matrix([a + i * b, a * b - i]) for i in range(N)]
    v = [sympy.Matrix([b**2 + i, a - i * b]) for i in range(N)]
    g = sum((x.T * y)[0] ** 2 for x in u for y in v) / sympy.Integer(N**2)
    return (a, b), u, v, g


def symbolic_gram(rows):
    return sum((x * x.T for x in rows), sympy.zeros(2)) / len(rows)


def test_enumerate_prop1_with_shared_parameters_and_estimates_that_take_two_values():
    theta, u, v, g = shared_towers()
    error = sympy.Matrix([[1, -2], [-2, 5]])
    at = dict(zip(theta, (sympy.Rational(2, 3), -2), strict=True))
    GU_now, GV_now = (symbolic_gram(rows).subs(at) for rows in (u, v))
    for p in some(theta):
        total = 0
        for i, sign in itertools.product(range(N), (1, -1)):
            shown = (u[i].T * (GV_now + sign * error) * u[i])[0] + (v[i].T * (GU_now - 2 * sign * error) * v[i])[0]
            total += shown.diff(p).subs(at)
        assert sympy.simplify(total / (2 * N) - g.diff(p).subs(at)) == 0
    # dependence on i: the same two values, + for one i, - for another, 0 for the last; unbiased, but not independent
    for p in some(theta[:1]):
        total = 0
        for i, sign in zip(range(N), (1, -1, 0), strict=True):
            total += ((u[i].T * (GV_now + sign * error) * u[i])[0] + (v[i].T * GU_now * v[i])[0]).diff(p).subs(at)
        assert sympy.simplify(total / N - g.diff(p).subs(at)) != 0


def test_eq16_eq17_jacobians_of_gramians_have_k_by_k_entries_for_each_parameter():
    theta, u, v, g = shared_towers()

    def J(matrix):  # (d, k, k)
        return [matrix.diff(p) for p in theta]

    GU_, GV_ = symbolic_gram(u), symbolic_gram(v)
    for place, p in some(enumerate(theta)):
        contracted = sum(x * y for x, y in zip(J(GU_)[place], GV_, strict=True)) + sum(
            x * y for x, y in zip(J(GV_)[place], GU_, strict=True)
        )
        assert sympy.expand(contracted - g.diff(p)) == 0  # (16)
        assert J(GU_)[place].shape == (2, 2) != (N, N)  # the index set is {1, ..., k}, not {1, ..., n}
        average = sum((J(x * x.T)[place] for x in u), sympy.zeros(2)) / N
        assert sympy.expand(average - J(GU_)[place]) == sympy.zeros(2)  # the mean of J_{u,i} is J_u
    hat_u, hat_v = (sympy.Matrix(2, 2, sympy.symbols(f"{name}0 {name}1 {name}1 {name}2")) for name in "xy")
    for i, (place, p) in itertools.product(range(N), enumerate(theta)):
        shown = ((u[i].T * hat_v * u[i])[0] + (v[i].T * hat_u * v[i])[0]).diff(p)
        pulled = sum(x * y for x, y in zip(J(u[i] * u[i].T)[place], hat_v, strict=True)) + sum(
            x * y for x, y in zip(J(v[i] * v[i].T)[place], hat_u, strict=True)
        )
        assert sympy.expand(shown - pulled) == 0  # (17)


def test_two_slips_in_the_proof_of_prop1():
    """Expression (7) is g_i, not g; and the printed form of g_hat_i averages to |G_u|^2 + |G_v|^2."""
    shares = [(U[i] @ GV @ U[i] + V[i] @ GU @ V[i]) / F(2) for i in range(N)]
    assert all(share != gravity(U, V) for share in some(shares))
    printed = mean(dot(GU, outer(u)) + dot(GV, outer(v)) for u, v in zip(U, V, strict=True))
    right = mean(dot(GV, outer(u)) + dot(GU, outer(v)) for u, v in zip(U, V, strict=True))
    assert printed == dot(GU, GU) + dot(GV, GV) and right == 2 * gravity(U, V)
    assert printed - right == dot(GU - GV, GU - GV) != 0


# ---------------------------------------------------------------------------------------------------------- 3.1: SAGram


def sagram(now, cached, i, beta):
    """(9)."""
    return gram(cached) + beta * (outer(now[i]) - outer(cached[i]))


@pytest.mark.parametrize("beta", [F(1, N), F(1, 2), F(1)])
def test_enumerate_eq9_the_mean_error_is_1_minus_beta_times_that_of_the_cache(beta):
    gap = mean(sagram(U, OLD_U, i, beta) for i in range(N)) - GU
    assert equal(gap, (1 - beta) * (gram(OLD_U) - GU))
    assert equal(gap, 0 * GU) == (beta == 1)


def test_alg1_needs_a_second_index_for_the_gradient():
    """beta = 1. Two indices: the mean gradient is right. One:
    off by the covariance of the index's gradient and its staleness.
    """
    two = mean(slopes([i], sagram(U, OLD_U, j, F(1)), sagram(V, OLD_V, j, F(1))) for i in range(N) for j in range(N))
    one = mean(slopes([i], sagram(U, OLD_U, i, F(1)), sagram(V, OLD_V, i, F(1))) for i in range(N))
    assert equal(two, TRUE) and not equal(one, TRUE)
    stale = [[outer(now[i]) - outer(old[i]) for i in range(N)] for now, old in ((V, OLD_V), (U, OLD_U))]
    covariance = np.stack(
        [[2 * (d[i] - mean(d)) @ X[i] / F(N) for i in range(N)] for d, X in zip(stale, (U, V), strict=True)]
    )
    assert equal(one - TRUE, covariance)


def test_prop2_beta_one_over_n_stays_in_the_cone_for_distinct_examples():
    """Along every sequence of three draws. In a batch that draws one example twice and adds both terms, it does not
    stay.
    """
    trajectory = [whole(3, 2, seed) for seed in range(20, 24)]
    for draws in itertools.product(range(N), repeat=3):
        cached = trajectory[0].copy()
        for t, i in some(enumerate(draws, 1)):
            estimate = sagram(trajectory[t], cached, i, F(1, N))
            assert is_psd(estimate)
            cached[i] = trajectory[t][i]
            assert equal(estimate, gram(cached))  # it is the Gramian of the cache that this draw has renewed
    cached, now = exact(np.array([[2, 0], [0, 0]])), exact(np.zeros((2, 2), dtype=int))
    twice = gram(cached) + sum(F(1, 2) * (outer(now[i]) - outer(cached[i])) for i in (0, 0))
    assert twice[0, 0] == -2
    all_distinct = gram(cached) + sum(F(1, 2) * (outer(now[i]) - outer(cached[i])) for i in (0, 1))
    assert is_psd(all_distinct)


def test_prop3_needs_a_condition_that_includes_the_caches_and_a_fresh_index():
    """On a trajectory fixed in advance S_hat still depends on the draws, so the parameters do not determine it. Given
    the caches: no bias. With the index of the step before, whose cache was just renewed, the estimate is biased."""
    trajectory = [whole(3, 2, seed) for seed in (30, 31, 32)]
    sums, fresh, reused = [], [], []
    for past in itertools.product(range(N), repeat=1):
        cached = trajectory[0].copy()
        cached[past[0]] = trajectory[1][past[0]]
        sums.append(gram(cached))
        given = mean(sagram(trajectory[2], cached, i, F(1)) for i in range(N))
        assert equal(given, gram(trajectory[2]))
        fresh.append(given)
        reused.append(sagram(trajectory[2], cached, past[0], F(1)))
    assert not equal(sums[0], sums[1])
    assert equal(mean(fresh), gram(trajectory[2])) and not equal(mean(reused), gram(trajectory[2]))


def test_beta_one_leaves_the_cone_and_projecting_loses_the_mean():
    """n = 2, k = 1, caches 2 and 0, now both at 0: the estimates are -2 and 2, projected 0 and 2; the Gramian is 0."""
    cached, now = exact(np.array([[2], [0]])), exact(np.array([[0], [0]]))
    estimates = [sagram(now, cached, i, F(1))[0, 0] for i in range(2)]
    assert estimates == [-2, 2] and mean(estimates) == gram(now)[0, 0] == 0
    assert mean(max(x, F(0)) for x in estimates) == 1
    estimator = gramians.SAGram(2, 1, 1.0, project=True)
    estimator.start(np.array([[2.0], [0.0]]))
    assert [estimator.look([i], np.zeros((1, 1)))[0, 0] for i in range(2)] == [0, 2]


def test_memory_of_sagram_is_n_k_numbers_and_of_sogram_k_squared():
    n, k = 40, 3
    averaged, online = gramians.SAGram(n, k, 1.0), gramians.SOGram(k, 0.1)
    rows = np.ones((n, k))
    averaged.start(rows)
    averaged.update(np.arange(5), rows[:5])
    online.update(np.arange(5), rows[:5])

    def numbers(estimator):
        return sum(x.size for x in vars(estimator).values() if isinstance(x, np.ndarray) and x.base is None)

    assert n * k <= numbers(averaged) <= n * k + 3 * k * k
    assert numbers(online) <= 3 * k * k < n * k
    with pytest.raises(MemoryError, match=r"480 bytes"):
        gramians.SAGram(n, k, 1.0, budget=400)


# ---------------------------------------------------------------------------------------------------------- 3.2: SOGram


def test_eq10_the_second_player_descends_to_the_gramian_and_the_first_sees_two_lambda_g():
    hat = whole(2, 2, 9)
    hat = hat + hat.T
    entries = sympy.Matrix(2, 2, sympy.symbols("x:4"))
    value = sum((entries - sympy.Matrix(GU)).applyfunc(lambda x: x**2)) / 2
    gradient = np.array([[value.diff(entries[a, b]) for b in range(2)] for a in range(2)])
    at = {entries[a, b]: sympy.Rational(hat[a, b]) for a in range(2) for b in range(2)}
    assert all(sympy.simplify(gradient[a, b].subs(at) - (hat - GU)[a, b]) == 0 for a in range(2) for b in range(2))
    # a step of SGD with rate alpha along hat - u u' is (11)
    alpha = F(1, 4)
    for u in some(U):
        assert equal(hat - alpha * (hat - outer(u)), (1 - alpha) * hat + alpha * outer(u))
    at_the_gramians = mean(u @ GV @ u + v @ GU @ v for u, v in zip(U, V, strict=True))
    assert at_the_gramians == 2 * gravity(U, V)


def test_prop4_eq18_to_eq20_only_the_gramian_itself_supports_the_cone():
    rng = np.random.default_rng(0)
    G = GU.astype(float)
    for _ in range(200):
        A = rng.normal(size=(2, 2))
        hat = A @ A.T
        assert dot(hat - G, G - hat) < 0  # (19) fails at G' = G
    for _ in range(200):
        A = rng.normal(size=(2, 2))
        assert dot(G - G, A @ A.T - G) == 0  # and holds everywhere when hat = G
    assert equal(slopes(range(N), GU, GV), TRUE)  # (18) at hat = G is the slope of (2)


def run_sogram(terms, alpha, start=None):
    """(11) along rank-one terms."""
    estimate = np.zeros((2, 2), dtype=object) * F(0) if start is None else start
    for term in terms:
        estimate = (1 - alpha) * estimate + alpha * term
    return estimate


@pytest.mark.parametrize("alpha", [F(1, 3), F(3, 4), F(1)])
def test_eq11_unrolled_uses_the_embeddings_of_each_step_and_stays_in_the_cone(alpha):
    trajectory = [whole(3, 2, seed) for seed in range(40, 45)]
    t = len(trajectory)
    for draws in itertools.product(range(N), repeat=t):
        terms = [outer(trajectory[s][i]) for s, i in enumerate(draws)]
        estimate = run_sogram(terms, alpha)
        unrolled = sum(alpha * (1 - alpha) ** (t - 1 - s) * term for s, term in enumerate(terms))
        assert equal(estimate, unrolled) and is_psd(estimate)
    # the proof of Prop. 5 prints u_{i_tau}(theta^(t)): the embedding of the last step for every term
    printed = sum(alpha * (1 - alpha) ** (t - 1 - s) * outer(trajectory[-1][i]) for s, i in enumerate(draws))
    assert equal(printed, estimate) == (alpha == 1)


def test_alg2_starts_too_small_and_dividing_by_the_weight_repairs_it():
    alpha, steps = F(1, 10), 4
    estimate = run_sogram([GU] * steps, alpha)
    short = 1 - (1 - alpha) ** steps
    assert equal(estimate, short * GU) and equal(estimate / short, GU)
    online = gramians.SOGram(2, alpha, correct_start=True)
    one = U[:1]
    for _ in range(steps):
        online.update([0], one)
    assert equal(online.estimate, gram(one))


def sogram_error(alpha, t, *, reuse=False):
    """E|G_hat - G_bar|^2 over sigma^2 on tables that stand still, over every sequence of draws."""
    spread = mean(dot(outer(u) - GU, outer(u) - GU) for u in U)
    reached = (1 - (1 - alpha) ** t) * GU
    sequences = [(i,) * t for i in range(N)] if reuse else list(itertools.product(range(N), repeat=t))
    gaps = (run_sogram([outer(U[i]) for i in draws], alpha) - reached for draws in sequences)
    return mean(dot(gap, gap) for gap in gaps) / spread


@pytest.mark.parametrize("alpha", [F(1, 10), F(1, 2), F(1)])
def test_enumerate_eq12_the_variance_is_exactly_the_geometric_sum(alpha):
    q = 1 - alpha
    for t in (1, 2, 4):
        found = sogram_error(alpha, t)
        assert found == alpha**2 * sum(q ** (2 * s) for s in range(t)) == alpha / (2 - alpha) * (1 - q ** (2 * t))
        assert found <= alpha / (2 - alpha)


def test_eq12_fails_when_one_index_is_used_at_every_step():
    alpha, t = F(1, 10), 60
    reused = sogram_error(alpha, t, reuse=True)
    assert reused == (1 - (1 - alpha) ** t) ** 2 and reused > F(99, 100)
    assert alpha / (2 - alpha) == F(1, 19)


def weighted_past(path, alpha):
    """G_bar of Prop. 5 for a path of numbers G^(1), ..., G^(t)."""
    t = len(path)
    return sum(alpha * (1 - alpha) ** (t - 1 - s) * G for s, G in enumerate(path))


@pytest.mark.parametrize("alpha", [F(1, 10), F(1, 2), F(1)])
def test_eq13_holds_on_random_paths_and_each_term_is_attained(alpha):
    q, rng = 1 - alpha, np.random.default_rng(0)
    for _ in range(50):
        path = [F(int(x)) for x in np.cumsum(rng.integers(-4, 5, size=8))]
        delta = max(abs(b - a) for a, b in itertools.pairwise(path))
        assert abs(weighted_past(path, alpha) - path[-1]) <= delta * (1 / alpha - 1) + q ** len(path) * abs(path[-1])
    t, delta = 60, F(3)
    still = [F(5)] * 4
    assert weighted_past(still, alpha) - 5 == -(q**4) * 5  # the second term
    line = [delta * s for s in range(t)]  # ends at (t - 1) delta
    lag = line[-1] - weighted_past(line, alpha)
    exact_lag = delta * ((1 - alpha) / alpha * (1 - q**t) - t * q**t)
    assert lag == exact_lag + q**t * line[-1]  # (23): the sum of the lags, then the start at zero
    assert exact_lag <= delta * (1 / alpha - 1) and float(exact_lag) == pytest.approx(
        float(delta * (1 / alpha - 1)), abs=0.5
    )


def test_eq24_the_sum_of_lags_and_its_bound():
    for alpha in (F(1, 100), F(1, 7), F(1, 2), F(1)):
        q = 1 - alpha
        for t in range(1, 30):
            total = sum(alpha * q**s * s for s in range(t))
            assert total == q / alpha * (1 - q**t) - t * q**t <= q / alpha == 1 / alpha - 1
    total = sum(F(1, 2) * F(1, 2) ** s * s for s in range(60))
    assert float(1 - total) < 1e-15  # the bound is the limit


def test_alpha_one_is_a_single_draw_without_lag():
    assert sogram_error(F(1), 3) == 1 and weighted_past([F(1), F(9), F(4)], F(1)) == 4


def test_the_factor_of_the_variance_rises_with_alpha_and_that_of_the_bias_falls():
    """a/(2 - a) of (12) and 1/a - 1 of (13), at every rate 0 < a < 1 at once: a = 1/(1 + x) with x > 0."""
    x = sympy.Symbol("x", positive=True)
    a = sympy.Symbol("a")
    slopes = [sympy.factor(sympy.diff(f, a).subs(a, 1 / (1 + x))) for f in (a / (2 - a), 1 / a - 1)]
    assert slopes[0].is_positive and slopes[1].is_negative
    assert [f.subs(a, 1) for f in (a / (2 - a), 1 / a - 1)] == [1, 0]


def test_error_curves_of_two_rates_cross():
    """sigma^2 alpha/(2-alpha)(1-q^2t) + q^2t |G|^2, the error on a Gramian that stands still:
    a high rate is better early, a low one late.
    """

    def error(alpha, t):
        return alpha / (2 - alpha) * (1 - (1 - alpha) ** (2 * t)) + (1 - alpha) ** (2 * t)

    rates = (0.1, 0.01, 0.001)
    assert sorted(rates, key=lambda a: error(a, 20)) == [0.1, 0.01, 0.001]
    assert sorted(rates, key=lambda a: error(a, 10_000)) == [0.001, 0.01, 0.1]
    crossing = [
        a
        for a, b in itertools.combinations(rates, 2)
        if (error(a, 20) < error(b, 20)) != (error(a, 10_000) < error(b, 10_000))
    ]
    assert len(crossing) == 3  # every pair of curves crosses


def test_a_lower_learning_rate_lets_the_early_error_decay_sooner_relative_to_the_drift():
    """The second term of (13) does not know delta; the first is delta (1/alpha - 1):
    a fifth of the drift, a fifth of the lag.
    """
    for alpha in (0.1, 0.01):
        lags = [gramians.sogram_bias_bound(alpha, delta=delta, norm=0) for delta in (1.0, 0.2)]
        assert lags[1] == pytest.approx(lags[0] / 5)


# -------------------------------------------------------------------------------------------------------- 3.3: sampling


def batch_slope(left, right):
    """The gradient of (14) with u from `left` and v from `right`; the same batch twice for (14) as printed."""
    found = np.zeros((2, N, 2), dtype=object)
    for i, j in itertools.product(left, right):
        product = U[i] @ V[j]
        found[0, i] = found[0, i] + 2 * product * V[j] / F(len(left) * len(right))
        found[1, j] = found[1, j] + 2 * product * U[i] / F(len(left) * len(right))
    return found


def test_enumerate_eq14_one_batch_counts_the_observed_pairs_and_two_batches_do_not():
    """Every batch of two, with replacement: E = g + (h - g)/b, in the value and in the gradient. Two batches:
    no bias.
    """
    g, h, b = gravity(U, V), mean((u @ v) ** 2 for u, v in zip(U, V, strict=True)), 2
    batches = [list(x) for x in itertools.product(range(N), repeat=b)]
    assert mean(gravity(U[x], V[x]) for x in batches) == g + (h - g) / F(b) != g
    assert mean(gravity(U[x], V[y]) for x in batches for y in batches) == g
    one = mean(batch_slope(x, x) for x in batches)
    assert equal(one, TRUE + (OBSERVED - TRUE) / F(b)) and not equal(one, TRUE)
    assert equal(mean(batch_slope(x, y) for x in batches for y in batches), TRUE)
    distinct = [list(x) for x in itertools.permutations(range(N), b)]
    assert equal(mean(batch_slope(x, x) for x in distinct), TRUE + F(N - b, b * (N - 1)) * (OBSERVED - TRUE))


@pytest.mark.parametrize("batch", [[0, 1], [0, 0, 2], [2, 1, 0, 2, 2]])
def test_eq15_is_eq14(batch):
    assert gravity(U[batch], V[batch]) == dot(gram(U[batch]), gram(V[batch]))


class Counted:
    """A number that counts the multiplications it takes part in."""

    times = 0

    def __init__(self, number):
        self.number = number

    def __mul__(self, other):
        Counted.times += 1
        return Counted(self.number * other.number)

    def __add__(self, other):
        return Counted(self.number + getattr(other, "number", other))

    __radd__ = __add__


def count_multiplications(compute, *tables):
    Counted.times = 0
    compute(*(np.array([[Counted(float(x)) for x in row] for row in X], dtype=object) for X in tables))
    return Counted.times


@pytest.mark.parametrize(("b", "k"), [(4, 2), (9, 2), (5, 5), (3, 6)])
def test_costs_of_the_double_sum_and_of_the_gramian_form_are_counted(b, k):
    def double(A, B):
        products = A @ B.T
        return (products * products).sum()

    def through_gramians(A, B):
        return ((A.T @ A) * (B.T @ B)).sum()

    A, B = whole(b, k, 1), whole(b, k, 2)
    assert count_multiplications(double, A, B) == k * b**2 + b**2
    assert count_multiplications(through_gramians, A, B) == 2 * k**2 * b + k**2
    # the gradient needs, beside, k b^2 or k^2 b for each side; the cheaper form changes near b = 2 k
    assert ((k + 1) * b**2 > (2 * b + 1) * k**2) == (b >= 2 * k or (b, k) == (9, 2))


def test_sogram_with_small_batches_varies_like_sampling_with_large_ones():
    """alpha/(2 - alpha)/b = 1/B at alpha = 2b/(B+b); with b = 128 and B = 1024 it is 2/9.

    Checked by enumeration for b = 1, B = 3.
    """
    assert F(2, 9) == F(2 * 128, 1024 + 128) and F(2, 9) / (2 - F(2, 9)) == F(128, 1024)
    alpha = F(2, 4)  # b = 1, B = 3
    limit = alpha / (2 - alpha)
    sampled = mean(dot(gram(U[list(x)]) - GU, gram(U[list(x)]) - GU) for x in itertools.product(range(N), repeat=3))
    assert sampled / mean(dot(outer(u) - GU, outer(u) - GU) for u in U) == F(1, 3) == limit
    assert sogram_error(alpha, 5) == limit * (1 - F(1, 2) ** 10)


# -------------------------------------------------------------------------------------------------- Section 4: training


def test_a_sum_over_the_batch_misses_the_gramian_by_the_batch_size():
    """Batches of b = 4, tables that stand still. SOGram with a sum goes to 4 G; SAGram with beta = 1 is off by 3 (G -
    S); with beta = 1/n the sum over distinct examples is right: it is the Gramian of the renewed cache."""
    b, alpha = 4, F(1, 2)
    estimate = run_sogram([b * GU] * 60, alpha)
    assert np.abs((estimate - b * GU).astype(float)).max() < 1e-12
    S = gram(OLD_U)
    batches = list(itertools.product(range(N), repeat=b))
    summed = mean(S + sum(outer(U[i]) - outer(OLD_U[i]) for i in batch) for batch in batches)
    assert equal(summed - GU, (b - 1) * (GU - S)) and not equal(GU, S)
    for batch in some(itertools.combinations(range(N), 2)):
        renewed = OLD_U.copy()
        renewed[list(batch)] = U[list(batch)]
        assert equal(gram(renewed), S + sum(outer(U[i]) - outer(OLD_U[i]) for i in batch) / F(N))


def test_reusing_the_batch_costs_its_share():
    """Footnote 5, quantified: the bias of one batch is (h - g)/b of the gradient;
    of SOGram that folds it in first, alpha/b.
    """
    alpha, b = F(1, 3), 2
    batches = [list(x) for x in itertools.product(range(N), repeat=b)]
    first = mean(
        slopes(x, (1 - alpha) * GU + alpha * gram(U[x]), (1 - alpha) * GV + alpha * gram(V[x])) for x in batches
    )
    assert equal(first - TRUE, alpha / b * (OBSERVED - TRUE)) and not equal(first, TRUE)


def test_enumerate_two_batches_of_one_epoch_are_not_independent():
    """Footnote 5: the batch of the gradient and that of the Gramians are two batches of one example each.

    Drawn independently they have no bias. As two batches of one shuffled epoch the second never holds the example of
    the first, and the mean is off by -1/(n - 1) of (h - g).
    """

    def mean_over(pairs):
        return mean(slopes([i], gram(U[[j]]), gram(V[[j]])) for i, j in pairs)

    assert equal(mean_over(itertools.product(range(N), repeat=2)), TRUE)
    epoch = mean_over(itertools.permutations(range(N), 2))
    assert equal(epoch - TRUE, -(OBSERVED - TRUE) / F(N - 1)) and not equal(epoch, TRUE)


def test_consistently_best_holds_for_the_best_rate_only():
    assert p4.worse_than_sampling() == [("simple", 0.001), ("simple", 0.005), ("fr", 0.1)]
    assert [p4.best_alpha(dataset) for dataset in ("simple", "fr", "en")] == [0.01, 0.001, 0.001]
    assert all(p4.improvement(dataset, p4.best_alpha(dataset)) > 0 for dataset in ("simple", "fr", "en"))
    # no one rate of the four is best on all three, and only 0.01 is above sampling on all three
    above = [a for a in (0.001, 0.005, 0.01, 0.1) if all(p4.improvement(d, a) > 0 for d in ("simple", "fr", "en"))]
    assert above == [0.01]


def test_few_candidates_leave_out_most_of_those_that_would_come_first():
    """MAP@10 against 50,000 candidates: 59 % of the pages of simple, under 1 % of those of en."""
    assert p4.share_of_candidates("simple") > 0.5 and p4.share_of_candidates("en") < 0.01
    assert {cell["value"] for cell in table("P4", "numbers") if cell["quantity"] == "candidates"} == {50_000}


# ----------------------------------------------------------------------------------------- Appendix B: the gravity term


def test_eq25_and_the_gradient_of_one_embedding():
    assert gravity(U, V) == mean(u @ GV @ u for u in U)
    entries = sympy.symbols("x0 x1")
    moved = [sympy.Matrix(entries), *(sympy.Matrix(u) for u in U[1:])]
    g = sum((u.T * sympy.Matrix(v))[0] ** 2 for u in moved for v in V) / sympy.Integer(N**2)
    now = dict(zip(entries, U[0], strict=True))
    assert [F(int(x.p), int(x.q)) for x in (g.diff(e).subs(now) for e in entries)] == list(F(2, N) * GV @ U[0])
    for u, v in some(itertools.product(U, V)):
        assert equal(outer(v) @ u, v * (v @ u))  # |v|^2 times the projection of u on v


def test_a_left_embedding_feels_the_right_ones_and_no_left_one():
    """Appendix B speaks of a high density of left embeddings. Moving all other left ones changes nothing;
    moving right ones does.
    """

    def slope_of_first(left, right):
        u = torch.tensor(left.astype(float), requires_grad=True)
        v = torch.tensor(right.astype(float))
        ((u @ v.T).square().sum() / N**2).backward()
        return u.grad[0].numpy()

    crowd = U.copy()
    crowd[1:] = U[0] * 7
    assert np.array_equal(slope_of_first(U, V), slope_of_first(crowd, V))
    assert not np.allclose(slope_of_first(U, V), slope_of_first(U, OLD_V))


# ------------------------------------------------------------------------------------------ Appendix C: low-rank priors


def prior_gravity():
    return sum((U[i] @ V[j] - Q[i] @ R[j]) ** 2 for i in range(N) for j in range(N)) / F(N**2)


H_U, H_V = U.T @ Q / F(N), V.T @ R / F(N)


def test_the_penalty_towards_a_prior_has_transposes_and_its_constant_over_n_squared():
    c = dot(Q.T @ Q, R.T @ R)
    expanded = (dot(U.T @ U, V.T @ V) - 2 * dot(U.T @ Q, V.T @ R) + c) / F(N**2)
    assert prior_gravity() == expanded == dot(GU, GV) - 2 * dot(H_U, H_V) + c / F(N**2)
    printed = dot(GU, GV) - 2 * dot(H_U, H_V) + c
    assert printed - prior_gravity() == c - c / F(N**2) != 0
    assert equal(H_U, mean(outer(u, q) for u, q in zip(U, Q, strict=True)))
    wide_u, wide_q = whole(4, 2), whole(4, 3)
    assert (wide_u.T @ wide_q).shape == (2, 3)
    with pytest.raises(ValueError, match="mismatch"):
        wide_u @ wide_q  # (n, k) times (n, k_P): as printed


def prior_slopes(i, hat_u, hat_v):
    """The part of the gradient of (26) that is not (8): -2 <u, H_v q> - 2 <v, H_u r>."""
    found = np.zeros((2, N, 2), dtype=object) * F(0)
    found[0, i], found[1, i] = -2 * hat_v @ Q[i], -2 * hat_u @ R[i]
    return found


def test_enumerate_prop6_and_what_happens_without_independence():
    wanted = np.stack([-2 * (Q @ H_V.T), -2 * (R @ H_U.T)]) / F(N)
    error = exact(np.array([[3], [-1]]))
    two_values = mean(prior_slopes(i, H_U + s * error, H_V - s * error) for i in range(N) for s in (1, -1))
    assert equal(two_values, wanted)
    own = mean(prior_slopes(i, outer(U[i], Q[i]), outer(V[i], R[i])) for i in range(N))  # unbiased, but of the same i
    assert equal(mean(outer(u, q) for u, q in zip(U, Q, strict=True)), H_U) and not equal(own, wanted)
    # together with the part of (8) it is the gradient of the double sum
    u, v = (torch.tensor(x.astype(float), requires_grad=True) for x in (U, V))
    target = torch.tensor((Q @ R.T).astype(float))
    ((u @ v.T - target).square().sum() / N**2).backward()
    assert np.allclose((TRUE + wanted).astype(float), np.stack([u.grad.numpy(), v.grad.numpy()]), atol=1e-12)


def test_alg3_with_lambda_for_beta_is_biased_and_its_cache_update_is_right():
    T = OLD_U.T @ Q / F(N)

    def estimate(i, factor):
        return T + factor * outer(U[i] - OLD_U[i], Q[i])

    assert equal(mean(estimate(i, F(1)) for i in range(N)), H_U)
    lam = 10
    off = mean(estimate(i, lam) for i in range(N)) - H_U
    assert equal(off, (lam - 1) * (H_U - T)) and not equal(H_U, T)
    for i in range(N):  # lines 15-17: the running sums are those of the renewed caches
        renewed = OLD_U.copy()
        renewed[i] = U[i]
        assert equal(renewed.T @ Q / F(N), T + outer(U[i] - OLD_U[i], Q[i]) / F(N))
        assert equal(gram(renewed), gram(OLD_U) + (outer(U[i]) - outer(OLD_U[i])) / F(N))


def test_alg3_and_alg4_need_the_gradient_of_one_example():
    """Without the subscript i, line 14 (11) would differentiate a function of no example:
    the slope of (26) differs from i to i.
    """
    each = [prior_slopes(i, H_U, H_V) + slopes([i], GU, GV) for i in range(N)]
    assert not equal(each[0], each[1]) and not equal(each[1], each[2])


def test_alg4_another_start_of_the_cross_gramians_leaves_its_trace():
    """H_hat is not initialised in Algorithm 4. From any start H_0 the first estimates keep q^t H_0;
    zero is what the rest needs.
    """
    alpha, t = F(1, 10), 5
    for start in (exact(np.zeros((2, 1), dtype=int)), exact(np.array([[7], [-4]]))):
        estimate = start
        for _ in range(t):
            estimate = (1 - alpha) * estimate + alpha * H_U
        assert equal(estimate, (1 - (1 - alpha) ** t) * H_U + (1 - alpha) ** t * start)
    online = gramians.SOGram(2, alpha)
    online.update([0], U[:1], Q[:1])
    assert equal(online.estimate, alpha * outer(U[0], Q[0]))  # the library starts at zero


# -------------------------------------------------------------------------------------------------- ours: X14, X15, X16


@pytest.mark.parametrize("ratio", [0.001, 0.05, 1.0])
def test_the_best_rates_of_sogram_are_minima_of_simulated_free_recursions(ratio):
    """The error as the limit of its own recursion, without a closed form;
    the stated rates are better than their neighbours.
    """
    delta, sigma = ratio, 1.0

    def straight_on(alpha):
        lag = variance = 0.0  # of G_hat behind G, and of G_hat: one step moves G by delta and folds a draw in
        for _ in range(int(60 / alpha)):
            lag, variance = (1 - alpha) * (lag + delta), (1 - alpha) ** 2 * variance + alpha**2 * sigma**2
        return variance + lag**2

    def walk(alpha):
        error = 0.0
        for _ in range(int(60 / alpha)):
            error = (1 - alpha) ** 2 * (error + delta**2) + alpha**2 * sigma**2
        return error

    for drift, error in (("coherent", straight_on), ("random_walk", walk)):
        best = gramians.optimal_alpha(delta, sigma, drift)
        assert error(best) < min(error(best * 0.97), error(min(1.0, best * 1.03)))
        if drift == "random_walk":
            assert error(best) == pytest.approx(sigma**2 * best, rel=1e-6)
    if ratio == 0.001:
        rule = (2 * delta / sigma) ** (2 / 3)
        assert gramians.optimal_alpha(delta, sigma) == pytest.approx(rule, rel=0.02)
        assert straight_on(rule) == pytest.approx(0.75 * sigma**2 * rule, rel=0.02)


def test_the_best_beta_of_sagram_by_enumeration():
    """The mean square error over i, in fractions, on a grid of beta and at the stated one."""

    def error(beta):
        return mean(dot(*[sagram(U, OLD_U, i, beta) - GU] * 2) for i in range(N))

    stale = [outer(now) - outer(old) for now, old in zip(U, OLD_U, strict=True)]
    m = mean(stale)
    square, spread = dot(m, m), mean(dot(x - m, x - m) for x in stale)
    for beta in (F(0), F(1, N), F(1, 2), F(1)):
        assert error(beta) == (1 - beta) ** 2 * square + beta**2 * spread
    best = square / (square + spread)
    assert gramians.optimal_beta(mean_square=square, variance=spread) == best
    assert 0 < best < 1 and error(best) < min(error(best + F(1, 50)), error(best - F(1, 50)))


def test_enumerate_the_gramian_of_the_others_is_independent_of_the_example():
    b = 3

    def slope(batch):
        parts = []
        for at, i in some(enumerate(batch)):
            rest = batch[:at] + batch[at + 1 :]
            assert equal(gram(V[rest]), (b * gram(V[batch]) - outer(V[i])) / F(b - 1))
            parts.append(slopes([i], gram(U[rest]), gram(V[rest])))
        return mean(parts)

    assert equal(mean(slope(list(x)) for x in itertools.product(range(N), repeat=b)), TRUE)
    without = mean(slopes([x[0]], gram(U[[x[1]]]), gram(V[[x[1]]])) for x in itertools.permutations(range(N), 2))
    assert equal(without - TRUE, F(-1, N - 1) * (OBSERVED - TRUE))


# ---------------------------------------------------------------------------------------------- the prose of the errata


def errata_numbers_of_p4():
    """Each decimal of the errata that no scalar of its row holds, and the number it stands for."""
    known = {f"{abs(p4.improvement(d, a)):.1f}": abs(p4.improvement(d, a)) for d, a in p4.worse_than_sampling()}
    known |= {str(a): a for a in (0.001, 0.005, 0.01, 0.1)}
    known |= {f"{cell['value']:.4f}": cell["value"] for cell in table("P4", "T2")}
    return known | {"0.053": 1 / 19}


def test_every_decimal_in_the_errata_comes_from_a_table_or_a_computation():
    known = errata_numbers_of_p4()
    for text, number in some(known.items()):
        assert float(text) == pytest.approx(number, abs=0.5 * 10.0 ** -len(text.split(".")[1])), text
    assert errata_numbers.unknown("P4", set(known)) == []
    assert math.isclose(gramians.sogram_variance(0.1), 1 / 19)
