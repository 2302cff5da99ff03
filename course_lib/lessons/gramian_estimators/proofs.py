"""Symbolic proofs for Gramian estimation (P4 and our extensions X14-X16).

`thm_gramian_form` holds for tables of any size (`sympy` on traces of matrix symbols). The others are polynomial
identities in every entry of small tables, or identities in the rates. `enumerate_*` run the estimators of
`course_lib.gramians` themselves, in rational arithmetic, over every draw.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import sympy as sp

from course_lib import gramians
from course_lib.arrays import exact
from course_lib.lessons.shared.symbolic import dot, largest, simplified, symmetric

alpha, beta, delta, sigma, theta = sp.symbols("alpha beta delta sigma theta", positive=True)
N, D = 3, 2  # the tables of the identities: three examples, width two


# ---- the Gramian form


def thm_gramian_form() -> list[sp.Expr]:
    """(3)-(5): <U V', U V'> - <U'U, V'V> for tables with n rows of width k, any n and k; and the double sum itself.

    The first residual is a trace of matrix symbols up to cyclic order. The second spells the left side out as the sum
    of the squared inner products, on tables of three rows.
    """
    n, k = sp.symbols("n k", integer=True, positive=True)
    u, v = sp.MatrixSymbol("U", n, k), sp.MatrixSymbol("V", n, k)
    pairs = sp.Trace((u * v.T).T * (u * v.T)).doit()
    products = sp.Trace(u.T * u * (v.T * v)).doit()
    small_u, small_v = _table("u"), _table("v")
    double = sum((small_u[x, :] * small_v[y, :].T)[0] ** 2 for x in range(N) for y in range(N))
    return [
        pairs._normalize() - products._normalize(),
        sp.expand(double - dot(small_u.T * small_u, small_v.T * small_v)),
    ]


def lem_example_gravity() -> sp.Expr:
    """(7): the mean over the examples of 1/2 [<u_i, G_v u_i> + <v_i, G_u v_i>] - g. P4 prints the sum over i."""
    u, v = _table("u"), _table("v")
    each = [(_form(u, i, _gram(v)) + _form(v, i, _gram(u))) / 2 for i in range(N)]
    return sp.expand(sum(each) / N - dot(_gram(u), _gram(v)))


def prop_batch_gramian() -> sp.Expr:
    """(14) - (15): the mean over B x B' of squared inner products is a product of Gramians, of two batch sizes."""
    u, v = _table("u", 2), _table("v", 4)
    pairs = sum((u[x, :] * v[y, :].T)[0] ** 2 for x in range(2) for y in range(4)) / sp.Integer(8)
    return sp.expand(pairs - dot(_gram(u), _gram(v)))


def prop_gravity_shrinks() -> list[sp.Expr]:
    """Appendix B, repaired: under the gravity term alone, with V frozen, d/dt <u, a> = -(2 l/n) <u, a> for G_v a = l a.

    So the part of u along an eigenvector of G_v decays towards 0 and never past it. Residuals: the gradient (2/n) G_v
    u, and the solution exp(-2 l t/n) of the equation.
    """
    u, v = _table("u"), _table("v")
    gravity = dot(_gram(u), _gram(v))
    slope = sp.Matrix([[sp.diff(gravity, u[i, a]) for a in range(D)] for i in range(N)])
    n, t, level, start = sp.symbols("n t l c", positive=True)
    path = start * sp.exp(-2 * level * t / n)
    return [*(slope - sp.Rational(2, N) * u * _gram(v)).expand(), sp.simplify(path.diff(t) + 2 * level / n * path)]


# ---- the estimated gradient


def thm_unbiased_gravity() -> sp.Expr:
    """Proposition 1: E over i and over the estimates of d/dtheta g_hat_i, minus d/dtheta g.

    Embeddings are arbitrary functions of a parameter theta that both towers may share. The estimates are G +- E with
    arbitrary symmetric errors E, each sign with probability 1/2, independent of i, and constants for the derivative.
    """
    u, v = _moving("u"), _moving("v")
    error_u, error_v = symmetric("e", D), symmetric("f", D)
    mean = sp.Integer(0)
    for i, sign in itertools.product(range(N), (1, -1)):
        mean += _slope(u, v, i, _gram(u) + sign * error_u, _gram(v) + sign * error_v)
    return sp.expand(mean / (2 * N) - dot(_gram(u), _gram(v)).diff(theta))


def prop_stop_gradient() -> list[sp.Expr]:
    """(8) without the stop: where (1 - alpha) C + alpha G(theta) equals G, the slope is (1 + alpha) times too long.

    Residuals: the expected slope with the gradient flowing minus (1 + alpha) d/dtheta g; with it stopped, minus
    d/dtheta g; and the value of the loss minus 2 g.
    """
    u, v = _moving("u"), _moving("v")
    old_u, old_v = symmetric("c", D), symmetric("k", D)  # constants that hold the value of G now
    now = {old_u[a, b]: _gram(u)[a, b] for a in range(D) for b in range(D)} | {
        old_v[a, b]: _gram(v)[a, b] for a in range(D) for b in range(D)
    }
    gravity = dot(_gram(u), _gram(v))
    flowing = [(1 - alpha) * old + alpha * _gram(x) for old, x in ((old_u, u), (old_v, v))]
    loss = dot(_gram(u), flowing[1]) + dot(_gram(v), flowing[0])
    stopped = dot(_gram(u), old_v) + dot(_gram(v), old_u)
    return [
        sp.expand(loss.diff(theta).subs(now) - (1 + alpha) * gravity.diff(theta)),
        sp.expand(stopped.diff(theta).subs(now) - gravity.diff(theta)),
        sp.expand(stopped.subs(now) - 2 * gravity),
    ]


def thm_prior_gravity() -> list[sp.Expr]:
    """Appendix C with its transposes and its 1/n^2, and Proposition 6.

    Residuals: the double sum of (<u_x, v_y> - <q_x, r_y>)^2 / n^2 minus the Gramian form; and the expected slope of
    (26) minus that of the sum, with cross Gramians H +- E independent of i.
    """
    u, v, q, r = _moving("u"), _moving("v"), _table("q", N, 1), _table("r", N, 1)
    double = sum(((u[x, :] * v[y, :].T)[0] - q[x] * r[y]) ** 2 for x in range(N) for y in range(N)) / sp.Integer(N**2)
    h_u, h_v = u.T * q / N, v.T * r / N
    form = dot(_gram(u), _gram(v)) - 2 * dot(h_u, h_v) + dot(q.T * q, r.T * r) / N**2
    error = sp.Matrix(sp.symbols("e1:3"))
    mean = sp.Integer(0)
    for i, sign in itertools.product(range(N), (1, -1)):
        pull = (u.diff(theta)[i, :] * (h_v + sign * error))[0] * q[i] + (v.diff(theta)[i, :] * (h_u + sign * error))[
            0
        ] * r[i]
        mean += _slope(u, v, i, _gram(u), _gram(v)) - 2 * pull
    return [sp.expand(double - form), sp.expand(mean / (2 * N) - double.diff(theta))]


def thm_stationary_points() -> list[sp.Expr]:
    """Proposition 4. (19) at G' = G(theta), in the cone: the slope of the second player's cost on the way there.

    Residuals: the slope of ||G_hat - G||^2/2 from G_hat towards G, plus ||G_hat - G||^2: below 0 unless G_hat = G, and
    at rest no slope is; and the slope of the first player at G_hat = G minus that of g, so that (18) is then
    stationarity of (2).
    """
    u, v = _moving("u"), _moving("v")
    estimate, gram, t = symmetric("e", D), symmetric("g", D), sp.Symbol("t")
    left = estimate + t * (gram - estimate) - gram
    first = sum(_slope(u, v, i, _gram(u), _gram(v)) for i in range(N)) / N
    return [
        sp.expand((dot(left, left) / 2).diff(t).subs(t, 0) + sum(entry**2 for entry in estimate - gram)),
        sp.expand(first - dot(_gram(u), _gram(v)).diff(theta)),
    ]


def thm_same_batch() -> list[sp.Expr]:
    """Claim X16: the expected weight of the pair (i, j) where one batch of b gives the Gramian and the gradient.

    It is (1 - share)/n^2 + [i = j] share/n, for draws with and without replacement, i = j and i != j.
    """
    n, b = sp.symbols("n b", positive=True)
    both = b * (b - 1)  # ordered pairs of different draws
    with_replacement = (both / n**2 / b**2, (both / n**2 + b / n) / b**2)
    without = (both / (n * (n - 1)) / b**2, (b / n) / b**2)
    residuals = []
    for (off, on), share in ((with_replacement, 1 / b), (without, (n - b) / (b * (n - 1)))):
        residuals += [off - (1 - share) / n**2, on - ((1 - share) / n**2 + share / n)]
    return simplified(*residuals)


# ---- SAGram and SOGram


def thm_sagram_psd() -> sp.Expr:
    """Proposition 2, beta = 1/n: z' G_hat z = (1/n) [sum over j != i of <u^_j, z>^2 + <u_i, z>^2], a sum of squares."""
    cached, now, z = _table("c"), _table("u"), sp.Matrix(sp.symbols("z1:3"))
    estimate = _gram(cached) + (now[0, :].T * now[0, :] - cached[0, :].T * cached[0, :]) / N
    squares = sum((cached[j, :] * z)[0] ** 2 for j in range(1, N)) + (now[0, :] * z)[0] ** 2
    return sp.expand((z.T * estimate * z)[0] - squares / N)


def thm_sagram_unbiased() -> list[sp.Expr]:
    """Proposition 3 and what holds for any beta: the mean of G_hat over i, minus G, minus (1 - beta)(S - G)."""
    cached, now = _table("c"), _table("u")
    mean = sp.zeros(D)
    for i in range(N):
        mean += _gram(cached) + beta * (now[i, :].T * now[i, :] - cached[i, :].T * cached[i, :])
    return list((mean / N - _gram(now) - (1 - beta) * (_gram(cached) - _gram(now))).expand())


def thm_sogram_bound() -> list[sp.Expr]:
    """Proposition 5: the two sums behind (12) and (13), exactly, and by how much the printed bounds are larger.

    With q = 1 - alpha: sum of alpha^2 q^(2 tau) = alpha/(2-alpha) (1 - q^(2t)); sum of alpha q^tau tau = (q/alpha)(1 -
    q^t) - t q^t, which is 1/alpha - 1 less q^(t+1)/alpha + t q^t; and a Gramian on the line tau delta attains it.
    """
    t, k = sp.symbols("t k", integer=True, positive=True)
    q = sp.Symbol("q", positive=True)  # alpha = 1 - q
    variance = (1 - q) ** 2 * sp.summation((q**2) ** k, (k, 0, t - 1))
    closed_variance = (1 - q) / (1 + q) * (1 - q ** (2 * t))
    lag, closed_lag = (1 - q) * _sum_of_k_powers(q, t), q / (1 - q) * (1 - q**t) - t * q**t
    slack = (1 / (1 - q) - 1) - closed_lag - (q ** (t + 1) / (1 - q) + t * q**t)
    line = sum((1 - q) * q ** (4 - s) * s * delta for s in range(1, 5)) - 4 * delta  # G_bar - G after four steps
    attained = line + delta * closed_lag.subs(t, 4) + q**4 * 4 * delta
    return [
        _cancelled(variance - closed_variance),
        _cancelled(lag - closed_lag),
        sp.simplify(slack),
        sp.simplify(attained),
    ]


def thm_optimal_alpha() -> list[sp.Expr]:
    """Claim X14: the mean square error in the long run, and where it is least.

    A step turns a lag into (1-a)(lag + delta), a variance into (1-a)^2 variance + a^2 sigma^2, and the error e of a
    walk into (1-a)^2 (e + delta^2) + a^2 sigma^2; in the long run each repeats itself. Straight on the error is the
    variance plus the squared lag, least at delta^2 (1-a)(2-a)^2 = sigma^2 a^3; with a = x^2 and delta = sigma x^3/2,
    which is a = (2 delta/sigma)^(2/3), the ratio of the two sides goes to 1 as x goes to 0. A walk:
    a = (sqrt(r^2+4r) - r)/2, r = (delta/sigma)^2; there the error is sigma^2 a.
    """
    a = alpha
    coherent = gramians.coherent_error(a, delta=delta, sigma=sigma)
    walk = gramians.random_walk_error(a, delta=delta, sigma=sigma)
    r = delta**2 / sigma**2
    best = (sp.sqrt(r**2 + 4 * r) - r) / 2
    condition = delta**2 * (1 - a) * (2 - a) ** 2 - sigma**2 * a**3
    lag, spread, x = delta * (1 / a - 1), sigma**2 * a / (2 - a), sp.Symbol("x", positive=True)
    small = {alpha: x**2, delta: sigma * x**3 / 2}
    return simplified(
        (1 - a) * (lag + delta) - lag,
        (1 - a) ** 2 * spread + a**2 * sigma**2 - spread,
        coherent - spread - lag**2,
        (1 - a) ** 2 * (walk + delta**2) + a**2 * sigma**2 - walk,
        sp.limit((delta**2 * (1 - a) * (2 - a) ** 2 / (sigma**2 * a**3)).subs(small, simultaneous=True), x, 0) - 1,
        coherent.diff(a) * a**3 * (2 - a) ** 2 + 2 * condition,
        walk.diff(a).subs(a, best),
        walk.subs(a, best) - sigma**2 * best,
    )


def thm_optimal_beta() -> list[sp.Expr]:
    """Claim X15: the error (1-b)^2 ||m||^2 + b^2 V of SAGram, from its definition, and the b where its slope vanishes.

    First residual: E||G_hat - G||^2 over i, from the estimates themselves, on tables of three rows of width one.
    """
    cached, now = _table("c", N, 1), _table("u", N, 1)
    stale = [now[i] ** 2 - cached[i] ** 2 for i in range(N)]
    m = sum(stale) / N
    variance = sum((one - m) ** 2 for one in stale) / N
    error = sum((_gram(cached)[0] + beta * one - _gram(now)[0]) ** 2 for one in stale) / N
    square, spread = sp.symbols("m2 V", positive=True)
    best = square / (square + spread)
    slope = gramians.sagram_error(beta, mean_square=square, variance=spread).diff(beta)
    return [
        sp.expand(error - gramians.sagram_error(beta, mean_square=m**2, variance=variance)),
        sp.simplify(slope.subs(beta, best)),
    ]


def prop_sampling_by_memory() -> list[sp.Expr]:
    """Section 3.3 made exact: SOGram on batches of b varies as sampling on batches of B when alpha = 2b/(B+b).

    The zero start changes the variance by 1 - q^(2t), and correcting it by (1 + q^t)/(1 - q^t) instead. The library's
    variance itself is sigma^2 times the sum of the squared weights alpha q^k, here for one to five steps.
    """
    b, large, t = sp.symbols("b B t", positive=True)
    rate = 2 * b / (large + b)
    summed = [
        gramians.sogram_variance(alpha, sigma=sigma, steps=steps)
        - sigma**2 * sum(alpha**2 * (1 - alpha) ** (2 * k) for k in range(steps))
        for steps in range(1, 6)
    ]
    q = 1 - alpha
    corrected = gramians.sogram_variance(alpha, sigma=sigma, steps=t) / (1 - q**t) ** 2
    return simplified(
        gramians.sogram_variance(rate, sigma=sigma) / b - sigma**2 / large,
        corrected - gramians.sogram_variance(alpha, sigma=sigma, steps=t, corrected=True),
        *summed,
    )


def prop_fold_afterwards() -> sp.Expr:
    """The estimate before lags one step more: the sum of alpha q^k (k + 1), k < t, is (1 - q^t)/alpha - t q^t."""
    t, q = sp.Symbol("t", integer=True, positive=True), sp.Symbol("q", positive=True)
    lag = (1 - q) * ((q - q ** (t + 1)) / (1 - q)).diff(q)  # of the sum of q^(k+1)
    return sp.simplify(lag - ((1 - q**t) / (1 - q) - t * q**t))


def prop_sagram_memory() -> list[sp.Expr]:
    """SAGram's cache averages with decaying weights: its mean Gramian becomes (1 - p) S + p G, p = 1 - (1 - 1/n)^b.

    After a batch of b draws; over every batch of two of three examples, with replacement, for tables of any entries.
    """
    cached, now = _table("c"), _table("u")
    p = 1 - (1 - sp.Rational(1, N)) ** 2
    mean = sp.zeros(D)
    for drawn in itertools.product(range(N), repeat=2):
        renewed = sp.Matrix.vstack(*(now[i, :] if i in drawn else cached[i, :] for i in range(N)))
        mean += _gram(renewed)
    return list((mean / N**2 - (1 - p) * _gram(cached) - p * _gram(now)).expand())


def prop_uniform_gravity() -> sp.Expr:
    """Footnote 4, claim X17: weights sqrt(n/(m r_x)), sqrt(n/(m' c_y)) make g the mean of <u_x, v_y>^2 over all pairs.

    Examples: a list of five pairs of two left and three right entities, one pair twice; embeddings of any entries.
    """
    examples = [(0, 0), (0, 1), (1, 1), (1, 2), (1, 2)]
    u, v, n = _table("u", 2), _table("v", 3), len(examples)
    rows, cols = (
        [sum(x == at for x in side) for at in range(size)]
        for side, size in zip(zip(*examples, strict=True), (2, 3), strict=True)
    )
    left = sum((u[x, :].T * u[x, :] * sp.Rational(n, 2 * rows[x]) for x, _ in examples), sp.zeros(D)) / n
    right = sum((v[y, :].T * v[y, :] * sp.Rational(n, 3 * cols[y]) for _, y in examples), sp.zeros(D)) / n
    mean = sum((u[x, :] * v[y, :].T)[0] ** 2 for x in range(2) for y in range(3)) / sp.Integer(6)
    return sp.expand(dot(left, right) - mean)


# ---- the estimators themselves, over every draw, in rational arithmetic

_TABLES = {  # small tables of Fractions, fixed: three examples of width two, at four moments of a trajectory
    name: [exact([[(7 * t + 3 * i + 5 * a + shift) % 9 - 4 for a in range(D)] for i in range(N)]) for t in range(4)]
    for name, shift in (("u", 0), ("v", 2))
}


@largest
def enumerate_sagram() -> Iterator[Fraction]:
    """Largest discrepancy of E G_hat - G from (1 - beta)(S - G), over beta, steps and every sequence of draws."""
    tables = _TABLES["u"]
    for rate in (Fraction(1, N), Fraction(1, 2), Fraction(1)):
        for past in itertools.product(range(N), repeat=2):  # the cache depends on what was drawn before
            total = np.zeros((D, D), dtype=object)
            for i in range(N):
                estimator = gramians.SAGram(N, D, rate)
                estimator.start(tables[0])
                cache = tables[0].copy()
                for t, drawn in enumerate(past, 1):
                    estimator.update([drawn], tables[t][[drawn]])
                    cache[drawn] = tables[t][drawn]
                total = total + estimator.look([i], tables[3][[i]]) / Fraction(N)
            true = gramians.gramian(tables[3])
            yield _largest(total - true - (1 - rate) * (gramians.gramian(cache) - true))


@largest
def enumerate_sogram_average() -> Iterator[Fraction]:
    """Largest discrepancies of E||G_hat - G_bar||^2 from sum of (alpha q^(t-s))^2 sigma_s^2, of E G_hat from G_bar.

    Over every draw. The trajectory depends on them (the table of step s is chosen by the draws before it): these are
    martingale differences, not independent. P4's proof has the sum for a fixed trajectory.
    """
    for rate in (Fraction(1, 3), Fraction(3, 4), Fraction(1)):
        mean_gap, square, predicted = np.zeros((D, D), dtype=object), Fraction(0), Fraction(0)
        sequences = list(itertools.product(range(N), repeat=3))
        for draws in sequences:
            estimator = gramians.SOGram(D, rate)
            average = np.zeros((D, D), dtype=object)
            for t, i in enumerate(draws):
                table = _TABLES["u"][sum(draws[:t]) % 4]
                estimate = estimator.update([i], table[[i]])
                average = (1 - rate) * average + rate * gramians.gramian(table)
                spread = sum(
                    ((gramians.gramian(table[[j]]) - gramians.gramian(table)) ** 2).sum() for j in range(N)
                ) / Fraction(N)
                predicted += (rate * (1 - rate) ** (2 - t)) ** 2 * spread / len(sequences)
            mean_gap = mean_gap + (estimate - average) / Fraction(len(sequences))
            square += ((estimate - average) ** 2).sum() / len(sequences)
        yield from (_largest(mean_gap), abs(square - predicted))


@largest
def enumerate_unbiased_gravity() -> Iterator[Fraction]:
    """Proposition 1 with the estimators running: E over the Gramian's draws and the gradient's, minus the exact slope.

    The slope in every entry of U and V. SAGram with beta = 1 and a stale cache, and the Gramian of a batch of two.
    """
    u, v = _TABLES["u"][1], _TABLES["v"][1]
    true = _slopes(u, v, range(N), gramians.gramian(u), gramians.gramian(v))
    for cached in (True, False):
        totals = np.zeros((2, N, D), dtype=object)
        draws = list(itertools.product(range(N), repeat=2))
        for seen in draws:
            grams = []
            for name, table in (("u", u), ("v", v)):
                estimator = _started(_TABLES[name][0]) if cached else gramians.BatchGramian()
                estimator.update(list(seen), table[list(seen)])
                grams.append(estimator.estimate)
            for i in range(N):
                totals = totals + _slopes(u, v, [i], *grams) / Fraction(N * len(draws))
        yield _largest(totals - true)


@largest
def enumerate_same_batch() -> Iterator[Fraction]:
    """Claim X16 over every batch of two out of three, with and without replacement: mean slope minus formula."""
    u, v = _TABLES["u"][1], _TABLES["v"][1]
    true = _slopes(u, v, range(N), gramians.gramian(u), gramians.gramian(v))
    own = 2 * (u * v).sum(axis=1)[:, None] / Fraction(N)
    observed = np.stack([own * v, own * u])
    for batches, n in ((itertools.product(range(N), repeat=2), None), (itertools.permutations(range(N), 2), N)):
        drawn = [list(batch) for batch in batches]
        share = gramians.same_batch_share(Fraction(2), n)
        totals = np.zeros((2, N, D), dtype=object)
        for batch in drawn:
            slopes = _slopes(u, v, batch, gramians.gramian(u[batch]), gramians.gramian(v[batch]))
            totals = totals + slopes / Fraction(len(drawn))
        yield _largest(totals - true - share * (observed - true))


def enumerate_prior_gravity() -> Fraction:
    """Appendix C: `gravity_with_prior` minus the double sum, on tables of Fractions."""
    u, v, q, r = (_TABLES[name][t] for name, t in (("u", 0), ("v", 0), ("u", 1), ("v", 1)))
    double = sum((u[x] @ v[y] - q[x] @ r[y]) ** 2 for x in range(N) for y in range(N)) / Fraction(N**2)
    return abs(Fraction(gramians.gravity_with_prior(u, v, q, r) - double))


@largest
def enumerate_fold_afterwards() -> Iterator[Fraction]:
    """The expected gradient with the estimate of the steps before, minus the true one, on tables that stand still.

    Every sequence of draws.
    """
    u, v = _TABLES["u"][1], _TABLES["v"][1]
    true = _slopes(u, v, range(N), gramians.gramian(u), gramians.gramian(v))
    for rate in (Fraction(1, 3), Fraction(1)):
        totals = np.zeros((2, N, D), dtype=object)
        draws = list(itertools.product(range(N), repeat=3))
        for *past, i in draws:
            sides = [gramians.SOGram(D, rate, correct_start=True) for _ in range(2)]
            for drawn in past:
                for side, table in zip(sides, (u, v), strict=True):
                    side.update([drawn], table[[drawn]])
            totals = totals + _slopes(u, v, [i], *(side.estimate for side in sides)) / Fraction(len(draws))
        yield _largest(totals - true)


def enumerate_sagram_memory() -> Fraction:
    """SAGram's cache after three draws: mean Gramian minus sum of p (1-p)^(3-s) G_s + (1-p)^3 G_0, p = 1/n."""
    tables, total, p = _TABLES["u"], np.zeros((D, D), dtype=object), Fraction(1, N)
    for draws in itertools.product(range(N), repeat=3):
        estimator = gramians.SAGram(N, D, p)
        estimator.start(tables[0])
        for t, i in enumerate(draws, 1):
            estimator.update([i], tables[t][[i]])
        rest = estimator.look([0], tables[0][[0]])  # S + p (u u' - cached cached'): take the correction off again
        cached = tables[0][0]
        for t, i in enumerate(draws, 1):
            cached = tables[t][0] if i == 0 else cached
        rest = rest - p * (np.outer(tables[0][0], tables[0][0]) - np.outer(cached, cached))
        total = total + rest / Fraction(N**3)
    expected = (1 - p) ** 3 * gramians.gramian(tables[0])
    for t in range(1, 4):
        expected = expected + p * (1 - p) ** (3 - t) * gramians.gramian(tables[t])
    return _largest(total - expected)


def _started(table: np.ndarray) -> gramians.SAGram:
    estimator = gramians.SAGram(N, D, 1)
    estimator.start(table)
    return estimator


def _slopes(u: np.ndarray, v: np.ndarray, batch: Sequence[int], gram_u: np.ndarray, gram_v: np.ndarray) -> np.ndarray:
    """(2, n, d): the gradient of `gravity_loss` on a batch, in U and V: (2/b) G_v u_i for each draw of i."""
    found = np.zeros((2, N, D), dtype=object)
    for i in batch:
        found[0, i] = found[0, i] + 2 * gram_v @ u[i] / Fraction(len(batch))
        found[1, i] = found[1, i] + 2 * gram_u @ v[i] / Fraction(len(batch))
    return found


# ---- tables of symbols


def _table(name: str, rows: int = N, width: int = D) -> sp.Matrix:
    return sp.Matrix(rows, width, lambda i, a: sp.Symbol(f"{name}{i}{a}", real=True))


def _moving(name: str) -> sp.Matrix:
    """A table whose entries are arbitrary functions of theta."""
    return sp.Matrix(N, D, lambda i, a: sp.Function(f"{name}{i}{a}")(theta))


def _gram(table: sp.Matrix) -> sp.Matrix:
    return table.T * table / table.rows


def _form(table: sp.Matrix, i: int, matrix: sp.Matrix) -> sp.Expr:
    return (table[i, :] * matrix * table[i, :].T)[0]


def _slope(u: sp.Matrix, v: sp.Matrix, i: int, gram_u: sp.Matrix, gram_v: sp.Matrix) -> sp.Expr:
    """d/dtheta of g_hat_i, the estimates held constant: 2 <du_i, G_v u_i> + 2 <dv_i, G_u v_i>."""
    return 2 * (u.diff(theta)[i, :] * gram_v * u[i, :].T)[0] + 2 * (v.diff(theta)[i, :] * gram_u * v[i, :].T)[0]


def _sum_of_k_powers(q: sp.Symbol, t: sp.Symbol) -> sp.Expr:
    """sum of k q^k for k = 0 .. t-1, as the derivative of the geometric sum."""
    geometric = (1 - q**t) / (1 - q)
    return q * geometric.diff(q)


def _cancelled(expression: sp.Expr) -> sp.Expr:
    """Simplified for 0 < q < 1 (sympy's sums carry a case for q = 1)."""
    return sp.simplify(sp.piecewise_fold(expression).args[-1][0] if expression.has(sp.Piecewise) else expression)


def _largest(array: np.ndarray) -> Fraction:
    return max(abs(Fraction(entry)) for entry in np.ravel(array))
