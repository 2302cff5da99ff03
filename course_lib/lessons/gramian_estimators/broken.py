"""Counterexamples to Gramian estimation: each assumption dropped once, each formula taken as printed once (P4).

Every function returns a `Counterexample`, in rational numbers, by visiting every draw with the estimators of
`course_lib.gramians` themselves. Tables are those of `proofs`: three examples of width two, at four moments of a
trajectory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import gramians
from course_lib.arrays import exact
from course_lib.lessons.gramian_estimators.proofs import _TABLES, D, N, _slopes
from course_lib.lessons.shared.counterexample import Counterexample

U, V = _TABLES["u"][1], _TABLES["v"][1]  # the tables now
OLD_U, OLD_V = _TABLES["u"][0], _TABLES["v"][0]  # what a cache remembers


# ---- one batch for the Gramian and for the gradient


def one_batch_for_both(batch_size: int = 2, *, replace: bool = True) -> Counterexample:
    """P4 (14) with one batch on both sides: the expected gradient in every entry of U and V, (2, n, d).

    claimed: the gradient of g. formula: share times (gradient of h - gradient of g), h the mean of the squared inner
    products of the observed pairs, share 1/b or (n - b)/(b (n - 1)) (claim X16).
    """
    draws = itertools.product(range(N), repeat=batch_size) if replace else itertools.permutations(range(N), batch_size)
    actual = _mean(_gradient(list(b), gramians.gramian(U[list(b)]), gramians.gramian(V[list(b)])) for b in draws)
    share = gramians.same_batch_share(Fraction(batch_size), None if replace else N)
    return Counterexample("two independent batches", _true(), actual, share * (_observed() - _true()))


def value_of_one_batch(batch_size: int = 2) -> Counterexample:
    """The value of (14): E g~ = g + (h - g)/b over every batch drawn with replacement (P4-Eq14)."""
    draws = itertools.product(range(N), repeat=batch_size)
    actual = _mean(gramians.gravity(U[list(b)], V[list(b)]) for b in draws)
    g = gramians.gravity(U, V)
    h = ((U * V).sum(axis=1) ** 2).sum() / Fraction(N)
    return Counterexample("two independent batches", g, actual, (h - g) / batch_size)


def batch_folded_in_first(alpha: Fraction = Fraction(1, 3), batch_size: int = 2) -> Counterexample:
    """SOGram with one batch a step, folded in before it is used: the expected gradient, on tables that stand still.

    The estimate is (1 - alpha) G + alpha (the batch's), from a past that is right. formula: alpha/b (gradient of h -
    gradient of g).
    """
    actual = _mean(
        _gradient(
            list(b),
            (1 - alpha) * gramians.gramian(U) + alpha * gramians.gramian(U[list(b)]),
            (1 - alpha) * gramians.gramian(V) + alpha * gramians.gramian(V[list(b)]),
        )
        for b in itertools.product(range(N), repeat=batch_size)
    )
    return Counterexample(
        "independence of the gradient's batch", _true(), actual, alpha / batch_size * (_observed() - _true())
    )


def batch_folded_in_afterwards(alpha: Fraction = Fraction(1, 3), steps: int = 2) -> Counterexample:
    """The repair: the gradient uses the estimate of the steps before, then its own batch is folded in.

    One batch a step, no gap. Every sequence of draws of `steps` updates and of the example of the gradient; tables that
    stand still, the zero start corrected.
    """

    def slope(past: Sequence[int], i: int) -> np.ndarray:
        grams = []
        for table in (U, V):
            estimator = gramians.SOGram(D, alpha, correct_start=True)
            for drawn in past:
                estimator.update([drawn], table[[drawn]])
            grams.append(estimator.estimate)
        return _gradient([i], *grams)

    sequences = itertools.product(range(N), repeat=steps + 1)
    actual = _mean(slope(draws[:-1], draws[-1]) for draws in sequences)
    return Counterexample("nothing: the order of two lines", _true(), actual, exact(np.zeros((2, N, D), dtype=int)))


def sagram_with_one_index() -> Counterexample:
    """SAGram, beta = 1, the same index for the estimate and for the gradient: Proposition 1 without its independence.

    formula: the covariance of the index's gradient and of how stale its cache is, 2 (delta_v_i - mean) u_i / n, and the
    same with u and v swapped.
    """
    actual = _mean(_gradient([i], _looked(U, OLD_U, i), _looked(V, OLD_V, i)) for i in range(N))
    stale_u, stale_v = _stale(U, OLD_U), _stale(V, OLD_V)
    gap = np.stack(
        [
            [2 * (stale[i] - sum(stale) / Fraction(N)) @ table[i] / Fraction(N) for i in range(N)]
            for table, stale in ((U, stale_v), (V, stale_u))
        ]
    )
    return Counterexample("an estimate independent of i (Proposition 1)", _true(), actual, gap)


def prior_with_one_index() -> Counterexample:
    """Proposition 6 as printed, without "independent of i": H_hat from the same example as the gradient.

    Shape (2, n, d). The gradient of (26) has -2 H_v q_i for u_i. With H_hat_v = v_i r_i the part of every other example
    is lost.
    """
    q, r = OLD_U[:, :1], OLD_V[:, :1]
    h_u, h_v = gramians.cross_gramian(U, q), gramians.cross_gramian(V, r)
    claimed = -2 * np.stack([q * h_v[:, 0], r * h_u[:, 0]]) / Fraction(N)
    actual = -2 * np.stack([q * V * r, r * U * q]) / Fraction(N)
    formula = -2 * np.stack([q * (V * r - h_v[:, 0]), r * (U * q - h_u[:, 0])]) / Fraction(N)
    return Counterexample('"independent of i" in Proposition 6', claimed, actual, formula)


# ---- SAGram


def leaving_the_cone() -> Counterexample:
    """Two examples of width one, cached at 2, now at 0; beta = 1: the estimates for either draw, (2,).

    claimed: at least 0, as every Gramian is. The two estimates are -2 and 2; their mean, 0, is right.
    """
    cached, now = exact(np.array([[2], [0]])), exact(np.array([[0], [0]]))
    values = exact(np.array([_looked(now, cached, i)[0, 0] for i in range(2)]))
    return Counterexample("beta at most 1/n (Proposition 2)", np.maximum(values, 0), values)


def projecting() -> Counterexample:
    """The same example, each estimate projected on the cone: the mean is 1, the Gramian is 0 (P4-3.1.proj)."""
    return Counterexample("no projection", Fraction(0), sum(leaving_the_cone().claimed) / Fraction(2), Fraction(1))


def sagram_half_way(beta: Fraction = Fraction(1, 2)) -> Counterexample:
    """0 < beta < 1: the mean estimate is off by (1 - beta)(S - G)."""
    true, cached = gramians.gramian(U), gramians.gramian(OLD_U)
    actual = _mean(_looked(U, OLD_U, i, beta) for i in range(N))
    return Counterexample("beta = 1 (Proposition 3)", true, actual, (1 - beta) * (cached - true))


# ---- SOGram


def sum_for_mean(batch_size: int = 2, steps: int = 3, alpha: Fraction = Fraction(1, 2)) -> Counterexample:
    """P4 Section 4.1: "a sum of rank-1 terms over the batch". SOGram then goes to b G.

    claimed / actual: its mean after `steps` steps on still tables.
    """
    true = gramians.gramian(U)
    reached = 1 - (1 - alpha) ** steps

    def last(draws: tuple[int, ...]) -> np.ndarray:
        estimate = exact(np.zeros((D, D), dtype=int))
        for at in range(steps):
            rows = U[list(draws[at * batch_size : (at + 1) * batch_size])]
            estimate = (1 - alpha) * estimate + alpha * rows.T @ rows  # the sum
        return estimate

    actual = _mean(last(draws) for draws in itertools.product(range(N), repeat=batch_size * steps))
    return Counterexample("the mean over the batch", reached * true, actual, (batch_size - 1) * reached * true)


def sum_in_sagram(batch_size: int = 2) -> Counterexample:
    """SAGram with beta = 1 and a sum over the batch: the mean estimate is off by (b - 1)(G - S)."""
    true, cached = gramians.gramian(U), gramians.gramian(OLD_U)
    stale = _stale(U, OLD_U)
    actual = _mean(cached + sum(stale[i] for i in draws) for draws in itertools.product(range(N), repeat=batch_size))
    return Counterexample("the mean over the batch", true, actual, (batch_size - 1) * (true - cached))


def index_reused(alpha: Fraction = Fraction(1, 10), steps: int = 60) -> Counterexample:
    """(12) with one example that is drawn once and then used at every step: variance over sigma^2, towards 1.

    claimed: the bound alpha/(2 - alpha). formula: (1 - q^t)^2 - alpha/(2 - alpha).
    """
    true = gramians.gramian(U)
    square = spread = Fraction(0)
    for i in range(N):
        estimator = gramians.SOGram(D, alpha)
        for _ in range(steps):
            estimator.update([i], U[[i]])
        reached = 1 - (1 - alpha) ** steps
        square += ((estimator.estimate - reached * true) ** 2).sum()
        spread += ((gramians.gramian(U[[i]]) - true) ** 2).sum()
    bound = alpha / (2 - alpha)
    return Counterexample(
        "a fresh index at every step", bound, square / spread, (1 - (1 - alpha) ** steps) ** 2 - bound
    )


def zero_start(alpha: Fraction = Fraction(1, 10), steps: int = 4) -> Counterexample:
    """SOGram from zero on a table of one row that stands still: the estimate is short by q^t G, whatever is drawn."""
    one = U[:1]
    estimator = gramians.SOGram(D, alpha)
    for _ in range(steps):
        estimator.update([0], one)
    true = gramians.gramian(one)
    return Counterexample("a start at the Gramian", true, estimator.estimate, -((1 - alpha) ** steps) * true)


def memory_without_replacement() -> Counterexample:
    """SOGram's memory against batches drawn without replacement: with all three examples in a batch nothing varies.

    claimed: the variance that SOGram on one draw has at alpha = 2b/(B+b), b = 1 and B = 3; actual: that of the Gramian
    of every batch of three without replacement. formula: -sigma^2/3.
    """
    true = gramians.gramian(U)
    spread = sum(((gramians.gramian(U[[i]]) - true) ** 2).sum() for i in range(N)) / Fraction(N)
    alpha = gramians.alpha_like_batch(Fraction(1), N)
    actual = _mean(((gramians.gramian(U[list(b)]) - true) ** 2).sum() for b in itertools.permutations(range(N), N))
    return Counterexample(
        "draws with replacement", gramians.sogram_variance(alpha) * spread, actual, -spread / Fraction(N)
    )


# ---- formulas as printed


def gravity_as_a_sum() -> Counterexample:
    """P4 Section 3: "g = sum_i g_i". The sum is n g."""
    u, v = gramians.gramian(U), gramians.gramian(V)
    total = sum((U[i] @ v @ U[i] + V[i] @ u @ V[i]) / Fraction(2) for i in range(N))
    g = gramians.gravity(U, V)
    return Counterexample("the 1/n before the sum", g, total, (N - 1) * g)


def gramians_on_their_own_side() -> Counterexample:
    """Appendix A prints g_hat_i with G_u beside u u', G_v beside v v': ||G_u||^2 + ||G_v||^2, not 2 <G_u, G_v>."""
    u, v = gramians.gramian(U), gramians.gramian(V)
    total = sum(U[i] @ u @ U[i] + V[i] @ v @ V[i] for i in range(N)) / Fraction(N)
    return Counterexample("the Gramian of the other side", 2 * (u * v).sum(), total, ((u - v) ** 2).sum())


def prior_constant() -> Counterexample:
    """Appendix C prints + c with c = <Q'Q, R'R>; the double sum over n^2 has c/n^2."""
    q, r = OLD_U[:, :1], OLD_V[:, :1]
    c = ((q.T @ q) * (r.T @ r)).sum()
    crossed = (gramians.cross_gramian(U, q) * gramians.cross_gramian(V, r)).sum()
    printed = gramians.gravity(U, V) - 2 * crossed + c
    return Counterexample(
        "the 1/n^2 of the constant", gramians.gravity_with_prior(U, V, q, r), printed, c - c / Fraction(N**2)
    )


def prior_with_lambda(lam: int = 10) -> Counterexample:
    """Algorithm 3, lines 11, 12, prints lambda where beta belongs: the mean of H_hat is off by (lambda - 1)(H - T)."""
    q = OLD_V[:, :1]
    true, cached = gramians.cross_gramian(U, q), gramians.cross_gramian(OLD_U, q)
    actual = cached + lam * _mean(np.outer(U[i] - OLD_U[i], q[i]) for i in range(N))
    return Counterexample("beta in lines 11 and 12", true, actual, (lam - 1) * (true - cached))


def overshooting_pair(time: Fraction = Fraction(1, 2)) -> Counterexample:
    """A pair that crosses zero: "never past zero" holds along an eigenvector of G_v, not for every pair.

    G_v = diag(4, 1) in the eigenvectors' coordinates, u = (2, 3/2), v = (1, -1): <u, v> = 1/2. Under the flow the first
    coordinate is multiplied by x^4 and the second by x, x = exp(-2 t/n) = `time`. claimed: the sign at the start.
    """
    u, v = exact(np.array([2, 3])) / np.array([Fraction(1), Fraction(2)]), exact(np.array([1, -1]))
    before = u @ v
    after = (u * np.array([time**4, time])) @ v
    return Counterexample("one eigenvector", before, after)


# ---- tools


def _gradient(batch: Sequence[int], gram_u: np.ndarray, gram_v: np.ndarray) -> np.ndarray:
    """(2, n, d): the slope of `gravity_loss` on a batch of rows of U and V."""
    return _slopes(U, V, batch, gram_u, gram_v)


def _true() -> np.ndarray:
    return _gradient(range(N), gramians.gramian(U), gramians.gramian(V))


def _observed() -> np.ndarray:
    """The gradient of h = (1/n) sum_i <u_i, v_i>^2."""
    own = 2 * (U * V).sum(axis=1)[:, None] / Fraction(N)
    return np.stack([own * V, own * U])


def _looked(now: np.ndarray, cached: np.ndarray, i: int, beta: Any = 1) -> np.ndarray:
    estimator = gramians.SAGram(len(now), now.shape[1], beta)
    estimator.start(cached)
    return np.asarray(estimator.look([i], now[[i]]))


def _stale(now: np.ndarray, cached: np.ndarray) -> list[np.ndarray]:
    return [np.outer(now[i], now[i]) - np.outer(cached[i], cached[i]) for i in range(len(now))]


def _mean(values: Iterable[Any]) -> Any:
    found = list(values)
    return sum(found[1:], found[0]) / Fraction(len(found))
