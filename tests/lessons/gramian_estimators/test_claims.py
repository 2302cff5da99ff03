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


# --------------------------------------------------------------------------------------- Section 3: estimated gradients


def shared_towers():
    """u_i and v_i as polynomials of two parameters that both towers share, and the double sum."""
    a, b = sympy.symbols("a b")
    u = [sympy.Matrix([a + i * b, a * b - i]) for i in range(N)]
    v = [sympy.Matrix([b**2 + i, a - i * b]) for i in range(N)]
    g = sum((x.T * y)[0] ** 2 for x in u for y in v) / sympy.Integer(N**2)
    return (a, b), u, v, g


def symbolic_gram(rows):
    return sum((x * x.T for x in rows), sympy.zeros(2)) / len(rows)


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


# ---------------------------------------------------------------------------------------------------------- 3.1: SAGram


def sagram(now, cached, i, beta):
    """(9)."""
    return gram(cached) + beta * (outer(now[i]) - outer(cached[i]))


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


def test_the_factor_of_the_variance_rises_with_alpha_and_that_of_the_bias_falls():
    """a/(2 - a) of (12) and 1/a - 1 of (13), at every rate 0 < a < 1 at once: a = 1/(1 + x) with x > 0."""
    x = sympy.Symbol("x", positive=True)
    a = sympy.Symbol("a")
    slopes = [sympy.factor(sympy.diff(f, a).subs(a, 1 / (1 + x))) for f in (a / (2 - a), 1 / a - 1)]
    assert slopes[0].is_positive and slopes[1].is_negative
    assert [f.subs(a, 1) for f in (a / (2 - a), 1 / a - 1)] == [1, 0]


# -------------------------------------------------------------------------------------------------------- 3.3: sampling


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


# -------------------------------------------------------------------------------------------------- Section 4: training


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
    """ex-consistently: SOGram is below sampling in three of the twelve cells of P4's Table 2."""
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
