"""Symbolic proofs for in-batch sampling (P3 and our extensions X1-X4, X17-X19).

Where a theorem is about a batch loss, the symbols go through `course_lib.in_batch.coefficients_from`, the very
lines that training runs. The symbols: M = |O|, s = |batch|, m x n the label matrix, P = pop_ij the popularity of a
pair.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sympy as sp

from course_lib import in_batch
from course_lib.lessons.shared.symbolic import matrix, proof, simplified

M, s, m, n, P, omega = sp.symbols("M s m n P omega", positive=True)
RHO = (s - 1) / (M - 1)
A = M / (m * n * s)  # the scale of every loss: (M / s) / (m n)


# ---- inclusion probabilities and Lemmas E.4-E.6


def inclusion(order: int) -> sp.Expr:
    """P(`order` given pairs are in the batch) = C(M - order, s - order) / C(M, s), rational in M and s."""
    return sp.factor(sp.combsimp(sp.binomial(M - order, s - order) / sp.binomial(M, s)))


def lem_change_of_variables() -> sp.Expr:
    """Lemma E.4: sum over O x O of f(i, j) - sum_ij |O_i,:| |O_:,j| f(i, j).

    A polynomial identity in the entries of a 3 x 4 label matrix and of f, so it holds for all of them at once.
    """
    labels, f = matrix("y", 3, 4), matrix("f", 3, 4)
    cells = list(itertools.product(range(3), range(4)))
    double = sum(labels[i, jj] * labels[ii, j] * f[i, j] for (i, jj) in cells for (ii, j) in cells)
    single = sum(sum(labels[i, :]) * sum(labels[:, j]) * f[i, j] for i, j in cells)
    return sp.expand(double - single)


def lem_positive_sum() -> sp.Expr:
    """Lemma E.5: P(a pair of O is in the batch) - s/M."""
    return sp.simplify(inclusion(1) - s / M)


def lem_pair_sum() -> list[sp.Expr]:
    """Lemma E.6: P(two pairs are in the batch) - s(s-1)/(M(M-1)), and the lemma assembled from it.

    A cell (i, j) of O is produced by P pairs of pairs, one of which is (i, j) with itself; a cell outside O by P pairs
    of two different pairs.
    """
    p1, p2 = inclusion(1), inclusion(2)
    stated_on, stated_off = s / M + s * (s - 1) / (M * (M - 1)) * (P - 1), s * (s - 1) / (M * (M - 1)) * P
    return simplified(p2 - s * (s - 1) / (M * (M - 1)), p1 + (P - 1) * p2 - stated_on, P * p2 - stated_off)


# ---- the expected objectives


def expected_cell(kind: str) -> dict[str, sp.Expr]:
    """Expected weights of one cell, counted from scratch: "positive" (l+ on O), "on" and "off" (l- on and off O).

    This count does not use `in_batch.expectation_of`, so that the two can be compared.
    """
    c = in_batch.coefficients_from(kind, a=A, rho=RHO)
    return _count_cell(c, inclusion(1), inclusion(2))


def _count_cell(c: in_batch.Coefficients, p1: sp.Expr, p2: sp.Expr) -> dict[str, sp.Expr]:
    per_visit = c.grid * P**c.power
    own = p1 * (c.constant + c.inverse / P)
    grid_on = 0 if c.masked else per_visit * (p1 + (P - 1) * p2)
    return {"positive": c.positive * p1, "on": grid_on + own, "off": per_visit * P * p2}


def _by_lemmas(kind: str) -> dict[str, sp.Expr]:
    """The same three weights through the library's `expectation_of`."""
    c = in_batch.coefficients_from(kind, a=A, rho=RHO)
    e = in_batch.expectation_of(c, p1=inclusion(1), p2=inclusion(2))
    return {"positive": e.positive, "on": e.grid * P**e.power + e.constant + e.inverse / P, "off": e.grid * P**e.power}


def _expectation_residuals(kind: str, on: sp.Expr, off: sp.Expr) -> list[sp.Expr]:
    """Expected weights minus the claimed objective (1/mn)(sum_O l+ + on l-) + (1/mn) sum_notO off l-, both ways."""
    claimed = {"positive": 1 / (m * n), "on": on / (m * n), "off": off / (m * n)}
    return simplified(
        *(weights[part] - claimed[part] for weights in (expected_cell(kind), _by_lemmas(kind)) for part in claimed)
    )


def thm_in_batch_expectation() -> list[sp.Expr]:
    """E[(28)] - (13), in the form (14); and E[(11)] - (12), which differs by the constant M s / (m n)."""
    residuals = _expectation_residuals("in_batch", on=RHO * (P - 1), off=RHO * P)
    weights = expected_cell("in_batch")
    scale = m * n / (M * s)  # (11) = (m n / (M s)) (28)
    printed_12 = {"positive": 1 / (M * s), "on": RHO * (P - 1) / (M * s), "off": RHO * P / (M * s)}
    return residuals + simplified(*(scale * weights[part] - printed_12[part] for part in printed_12))


def thm_unbiased_loss() -> list[sp.Expr]:
    """E[(17)] - (5), and the library's (17) minus the paper's printed coefficients."""
    c = in_batch.coefficients_from("unbiased", a=A, rho=RHO)
    printed_grid = A * (M - 1) / (s - 1) / P
    printed_own = -A * ((M - s) / (s - 1) / P + 1)
    same = simplified(c.grid / P - printed_grid, c.constant + c.inverse / P - printed_own)
    return _expectation_residuals("unbiased", on=sp.Integer(0), off=sp.Integer(1)) + same


def thm_cost_sensitive_loss() -> list[sp.Expr]:
    """E[(25)] - (19): multiplying every l- of (17) by omega multiplies every expected weight of l- by omega."""
    c = in_batch.coefficients_from("unbiased", a=A, rho=RHO).weigh_negatives(omega)
    weights = _count_cell(c, inclusion(1), inclusion(2))
    printed_own = -omega * A * ((M - s) / (s - 1) / P + 1)
    return simplified(
        weights["positive"] - 1 / (m * n),
        weights["on"],
        weights["off"] - omega / (m * n),
        c.constant + c.inverse / P - printed_own,
    )


def thm_popularity_loss() -> list[sp.Expr]:
    """E[(26)] - (15)."""
    return _expectation_residuals("popularity", on=P - 1, off=P)


def thm_pos_neg_loss() -> list[sp.Expr]:
    """E[(27)] - (16) for every label matrix, the library's (27) minus the printed, and (27) - (25) at omega = rho."""
    c = in_batch.coefficients_from("pos_neg", a=A, rho=RHO)
    at_rho = in_batch.coefficients_from("unbiased", a=A, rho=RHO).weigh_negatives(RHO)
    printed_own = -A * ((M - s) / (M - 1) / P + RHO)
    same = simplified(
        c.grid - A,
        c.constant + c.inverse / P - printed_own,
        c.grid - at_rho.grid,
        c.constant - at_rho.constant,
        c.inverse - at_rho.inverse,
    )
    return _expectation_residuals("pos_neg", on=sp.Integer(0), off=RHO) + same


def thm_sogram_loss() -> list[sp.Expr]:
    """E[(34)] - (5) for independent batches of sizes s and t: each member of a pair of pairs is drawn on its own."""
    t = sp.symbols("t", positive=True)
    both = inclusion(1) * inclusion(1).subs(s, t)
    grid = M**2 / (m * n * s * t) / P
    off = grid * P * both
    return simplified(A * inclusion(1) - 1 / (m * n), off - 1 / (m * n), off - A * inclusion(1))


def thm_masked_loss() -> list[sp.Expr]:
    """E[masked] - (5) (ours, X2), and E[(17) - masked] = 0."""
    difference = [expected_cell("unbiased")[part] - expected_cell("masked")[part] for part in ("positive", "on", "off")]
    return _expectation_residuals("masked", on=sp.Integer(0), off=sp.Integer(1)) + simplified(*difference)


# ---- cost, softmax


def prop_sampling_cost() -> list[sp.Expr]:
    """(9), (10), (35): naive - |B| (F + G), cross and in-batch - sqrt|B| (F + G), sogram - in-batch - sqrt|B| G."""
    pairs, left, right = sp.symbols("B F G", positive=True)
    cost = {kind: in_batch.encoder_cost(kind, pairs, left, right) for kind in ("naive", "cross", "in_batch", "sogram")}
    return simplified(
        cost["naive"] - pairs * (left + right),
        cost["cross"] - sp.sqrt(pairs) * (left + right),
        cost["in_batch"] - cost["cross"],
        cost["sogram"] - cost["in_batch"] - sp.sqrt(pairs) * right,
    )


@proof
def thm_no_softmax() -> Iterator[sp.Expr]:
    """No sampled loss is unbiased for log-sum-exp (P3, footnote 1 and Appendix F.2; Lin et al. 2025).

    A loss of a batch that misses one of the n scores does not depend on that score, so its n-th mixed derivative in
    all the scores is zero, and so is that of any average of such losses. But that of log-sum-exp is
    (-1)^(n-1) (n-1)! times the product of the softmax probabilities, never zero. Residuals: that formula for n = 2..5,
    its value 2/27 at n = 3 and equal scores, and the zero for an arbitrary average over the proper subsets of three.
    """
    for size in range(2, 6):
        scores = sp.symbols(f"x:{size}")
        total = sum(sp.exp(x) for x in scores)
        mixed = sp.diff(sp.log(total), *scores)
        product = sp.prod([sp.exp(x) / total for x in scores])
        yield mixed / product - (-1) ** (size - 1) * sp.factorial(size - 1)
    x = sp.symbols("x:3")
    sampled = sum(
        sp.Function(f"g{''.join(map(str, subset))}")(*(x[i] for i in subset))
        for size in (1, 2)
        for subset in itertools.combinations(range(3), size)
    )
    yield from [softmax_mixed_derivative(3) - sp.Rational(2, 27), sp.diff(sampled, *x)]


def softmax_mixed_derivative(size: int) -> sp.Expr:
    """The mixed derivative of log sum exp in all its `size` scores, at equal scores: 2/27 for three.

    Any loss sampled from proper subsets of the scores has 0 here; see `thm_no_softmax`.
    """
    scores = sp.symbols(f"x:{size}")
    return sp.diff(sp.log(sum(sp.exp(x) for x in scores)), *scores).subs(dict.fromkeys(scores, 0))


# ---- claim X1: variance


@proof
def thm_batch_variance() -> Iterator[sp.Expr]:
    """Var T for T = sum_e A_e + sum_(e != f) B_ef over a random batch (ours, X1).

    Residuals: the four inclusion probabilities against their falling factorials, for all M and s; and for M = 4, 5 and
    every s >= 2 the formula against E[T^2] - E[T]^2 over all batches, as a polynomial in the entries of A and B.
    """
    falling = [sp.prod([(s - r) / (M - r) for r in range(order)]) for order in (1, 2, 3, 4)]
    yield from simplified(*(inclusion(order) - falling[order - 1] for order in (1, 2, 3, 4)))
    for size in (4, 5):
        for batch_size in range(2, size + 1):
            yield _variance_residual(size, batch_size)


def _variance_residual(size: int, batch_size: int) -> sp.Expr:
    """Enumerated second moment minus the formula, with symbols A_e and B_ef."""
    a = sp.symbols(f"a:{size}")
    b = matrix("b", size, size)
    members = range(size)
    values = [
        sum(a[e] for e in batch) + sum(b[e, f] for e in batch for f in batch if e != f)
        for batch in itertools.combinations(members, batch_size)
    ]
    mean = sum(values) / len(values)
    enumerated = sum(sp.expand(v**2) for v in values) / len(values) - sp.expand(mean**2)

    k = {
        (e, f): (a[e] + a[f]) / sp.Integer(batch_size - 1) + b[e, f] + b[f, e]
        for e in members
        for f in members
        if e != f
    }
    q = sum(k[e, f] ** 2 for e, f in itertools.combinations(members, 2))
    total = sum(k[e, f] for e, f in itertools.combinations(members, 2))
    row_squares = sum(sum(k[e, f] for f in members if f != e) ** 2 for e in members)
    p2, p3, p4 = (
        sp.Rational(in_batch.inclusion_probability(o, batch_size=batch_size, n_positives=size)) for o in (2, 3, 4)
    )
    formula = p2 * q + p3 * (row_squares - 2 * q) + p4 * (total**2 - row_squares + q) - (p2 * total) ** 2
    return sp.expand(enumerated - sp.expand(formula))


# ---- claims X2, X3, X4


def thm_unbiased_structure() -> list[sp.Expr]:
    """What one batch of (17) wants from a sampled pair (ours, X2).

    Residuals: its l- weighs a (1/P - 1), whatever s; so its term is l-/P plus a line and therefore convex, for the
    square loss (second derivative 1/P, minimum (1 - P)/2 at score P) and for the logistic loss (second derivative
    sigma'/P); the logistic slope tends to -(1 - 1/P) as the score grows, so for P > 1 it has no lower bound.
    """
    x = sp.symbols("x", real=True)
    c = in_batch.coefficients_from("unbiased", a=A, rho=RHO)
    weight = sp.simplify((c.grid / P + c.constant + c.inverse / P) / A)
    square = (1 - x) ** 2 / 2 + weight * x**2 / 2
    logistic = sp.log(1 + sp.exp(-x)) + weight * sp.log(1 + sp.exp(x))
    sigma_slope = sp.exp(x) / (1 + sp.exp(x)) ** 2
    return simplified(
        weight - (1 / P - 1),
        sp.diff(square, x, 2) - 1 / P,
        sp.diff(square, x).subs(x, P),
        square.subs(x, P) - (1 - P) / 2,
        sp.diff(logistic, x, 2) - sigma_slope / P,
        sp.limit(sp.diff(logistic, x), x, sp.oo) + (1 - 1 / P),
    )


def thm_horvitz_thompson() -> list[sp.Expr]:
    """The least second moment of an unbiased weight on a cell that is seen with probability p (ours, X3).

    Let the cell be seen in outcomes with probabilities p_1..p_r, p = sum p_k, and let w_k be any weights with
    sum p_k w_k = 1. Then sum p_k w_k^2 - 1/p = sum p_k (w_k - 1/p)^2, a sum of squares that vanishes at w = 1/p only.
    Residuals: that identity for r = 4 (with w_4 eliminated by unbiasedness), and p for a = b = 1, where it
    must be s(s-1)/(M(M-1)), from the same binomials.
    """
    p, w = sp.symbols("p1:5", positive=True), list(sp.symbols("w1:4"))
    w.append((1 - sum(p[k] * w[k] for k in range(3))) / p[3])
    total = sum(p)
    identity = (
        sum(p[k] * w[k] ** 2 for k in range(4)) - 1 / total - sum(p[k] * (w[k] - 1 / total) ** 2 for k in range(4))
    )
    seen = 1 - (2 * sp.binomial(M - 1, s) - sp.binomial(M - 2, s)) / sp.binomial(M, s)
    return simplified(identity, sp.gammasimp(sp.combsimp(seen)) - s * (s - 1) / (M * (M - 1)))


def thm_misclassification() -> list[sp.Expr]:
    """What the biased objective (14) wants from a positive pair: l+ + rho (P - 1) l- (ours, X4).

    Residuals: the slope of that term at the claimed optimum, 1/(1 + rho (P - 1)) for the square loss and
    -log(rho (P - 1)) for the logistic; and, at the threshold P = 1 + (M - 1)/(s - 1), square optimum - 1/2 and logistic
    optimum - 0.
    """
    x = sp.symbols("x", real=True)
    pull = sp.symbols("t", positive=True)  # rho (P - 1)
    square = (1 - x) ** 2 / 2 + pull * x**2 / 2
    logistic = sp.log(1 + sp.exp(-x)) + pull * sp.log(1 + sp.exp(x))
    at_square, at_logistic = 1 / (1 + pull), -sp.log(pull)
    threshold = (RHO * (P - 1)).subs(P, 1 + (M - 1) / (s - 1))
    return simplified(
        sp.diff(square, x).subs(x, at_square),
        sp.diff(logistic, x).subs(x, at_logistic),
        at_square.subs(pull, threshold) - sp.Rational(1, 2),
        at_logistic.subs(pull, threshold),
        (expected_cell("in_batch")["on"] / expected_cell("in_batch")["positive"]) - RHO * (P - 1),
    )


def prop_logq() -> list[sp.Expr]:
    """What subtracting log w from a score inside the loss does and does not do (ours, X4); w = rho P.

    Residuals, for the logistic loss:
    1. a cell that is positive with chance pi, with l- weighted by w: the optimum is logit(pi) - log w;
    2. with x - log w inside the loss the optimum is logit(pi) again: the popularity bias of the optimum is gone;
    3. on a weighted negative, w log(1 + e^(x - log w)) = log(1 + e^x) + (1 - 1/w) e^(2x)/2 + O(e^(3x)): the weight
       itself is removed to first order only;
    4. a known positive of (14), which the batch also shows as a negative, gets the optimum log(P/(P - 1)): always
       above 0 and the same for every batch size, but it still falls to 0 as P grows (unbiased training: no bound).
    """
    x = sp.Symbol("x", real=True)
    w, pi = sp.symbols("w pi", positive=True)

    def softplus(t: sp.Expr) -> sp.Expr:
        return sp.log(1 + sp.exp(t))

    weighted = pi * softplus(-x) + w * (1 - pi) * softplus(x)
    logit = sp.log(pi / (1 - pi))
    corrected = weighted.subs(x, x - sp.log(w))
    y = sp.symbols("y", positive=True)  # y = exp(x)
    expansion = sp.series(w * sp.log(1 + y / w) - sp.log(1 + y), y, 0, 3).removeO()
    positive = softplus(-(x - sp.log(RHO * P))) + RHO * (P - 1) * softplus(x - sp.log(RHO * P))
    return simplified(
        sp.diff(weighted, x).subs(x, logit - sp.log(w)),
        sp.diff(corrected, x).subs(x, logit),
        expansion - (1 - 1 / w) * y**2 / 2,
        sp.diff(positive, x).subs(x, sp.log(P / (P - 1))),
    )


@proof
def prop_one_bias() -> Iterator[sp.Expr]:
    """The in-batch logistic loss of one cell, -P log sigma(z) - (B-1) R log sigma(-z), is least at log P/R - log(B-1).

    P is the probability of the pair, R that of the two on their own. Twice the batch moves the optimum by
    -log((2B-1)/(B-1)), for every pair alike: so no order changes.
    """
    both, apart = sp.symbols("P R", positive=True)
    size = sp.Symbol("k", positive=True)  # B = k + 1
    z = sp.Symbol("z", real=True)
    loss = both * sp.log(1 + sp.exp(-z)) + size * apart * sp.log(1 + sp.exp(z))
    best = sp.log(both / apart) - sp.log(size)
    yield sp.simplify(sp.diff(loss, z).subs(z, best))
    yield sp.simplify(best.subs(size, 2 * size + 1) - best + sp.log((2 * size + 1) / size))


# ---- claims X17, X18, X19


def prop_gravity_is_popularity() -> sp.Expr:
    """sum over O x O of <u_i, v_j>^2 - sum_ij |O_i,:| |O_:,j| <u_i, v_j>^2 (ours, X17).

    The left side is M^2 times P4's gravity term (5) over the M training pairs; the right side is twice the popularity
    term of (15) for the square loss. A polynomial identity in a 2 x 3 label matrix and two-dimensional embeddings,
    with the left side written as a product of two Gramians.
    """
    labels, u, v = matrix("y", 2, 3), matrix("u", 2, 2), matrix("v", 3, 2)
    rows, cols = [sum(labels[i, :]) for i in range(2)], [sum(labels[:, j]) for j in range(3)]
    cells = list(itertools.product(range(2), range(3)))
    gram_u = sum((labels[i, j] * u[i, :].T * u[i, :] for i, j in cells), sp.zeros(2))
    gram_v = sum((labels[i, j] * v[j, :].T * v[j, :] for i, j in cells), sp.zeros(2))
    gravity = sum(gram_u[a, b] * gram_v[a, b] for a in range(2) for b in range(2))
    popularity = sum(rows[i] * cols[j] * (u[i, :] * v[j, :].T)[0] ** 2 for i, j in cells)
    return sp.expand(gravity - popularity)


@proof
def thm_square_closed_form() -> Iterator[sp.Expr]:
    """The square loss turns (5) and (15) into low-rank approximation (ours, X18).

    With R = diag(row counts), C = diag(column counts):
      mn (5)  = 1/2 || S - Y ||^2
      mn (15) = 1/2 || R^(1/2) S C^(1/2) - R^(-1/2) Y C^(-1/2) ||^2 + |O|/2 - 1/2 sum_O 1/pop
    so that, by Eckart and Young, the best S of rank k is SVD_k(Y) for (5) and, for (15),
    R^(-1/2) SVD_k(R^(-1/2) Y C^(-1/2)) C^(-1/2). Residuals: both identities on every 2 x 3 label matrix without
    empty rows or columns, as polynomials in S.
    """
    for case in _square_cases():
        distance = sum((case.scores[x] - case.labels[x]) ** 2 for x in case.cells) / 2
        scaled = (
            sum(
                (sp.sqrt(case.pop[x]) * case.scores[x] - case.labels[x] / sp.sqrt(case.pop[x])) ** 2 for x in case.cells
            )
            / 2
        )
        yield from [sp.expand(case.full - distance), sp.expand(case.popularity - scaled - case.constant)]


@proof
def thm_multiply_back() -> Iterator[sp.Expr]:
    """Multiplying the scores by the popularity undoes the weights of (15) for the square loss (ours, X19).

    With Z_ij = pop_ij S_ij, that is Z = R S C:
      mn (15) = 1/2 sum_ij (Z_ij - Y_ij)^2 / pop_ij + |O|/2 - 1/2 sum_O 1/pop
    S and Z = R S C have the same rank, so the best S of rank k for (15) gives the best Z of rank k for this weighted
    fit of the labels themselves. For one user R is a constant: multiplying each item's score by its count |O_:,j| at
    serving time gives the ranking of Z. Residuals: the identity on every 2 x 3 label matrix without empty rows or
    columns, as a polynomial in S.
    """
    for case in _square_cases():
        fit = sum((case.pop[x] * case.scores[x] - case.labels[x]) ** 2 / case.pop[x] for x in case.cells) / 2
        yield sp.expand(case.popularity - fit - case.constant)


def thm_shared_groups() -> list[sp.Expr]:
    """The in-batch loss of rows that share a vector (ours, X18c): the pieces of the proof.

    A label that two of three rows carry, r_1, r_2, r_3 positives each, M_g = r_1 + r_2 + r_3, all with the score x:
      its part of mn (13) = 1/2 (rho M_g c x^2 - 2 c x + (1 - rho) c x^2 + c),  c = 2, from the weights counted above.
    Then the least value of rho S^2/d - 2 S + (1 - rho) S^2/M lies at S = d M/(rho M + (1 - rho) d) and is -S, and with
    P_gg = d M_g/M the own score (S/d) P_gg/M_g is d/(rho M + (1 - rho) d).
    """
    x, S, d, held, *counts = sp.symbols("x S d M_g r_1 r_2 r_3", positive=True)
    weights, c = expected_cell("in_batch"), 2
    pull = c * weights["positive"] * (1 - x) ** 2 / 2
    push = sum(weights[part].subs(P, r * c) for part, r in zip(("on", "on", "off"), counts, strict=True)) * x**2 / 2
    stated = (RHO * sum(counts) * c * x**2 - 2 * c * x + (1 - RHO) * c * x**2 + c) / (2 * m * n)
    value, best = RHO * S**2 / d - 2 * S + (1 - RHO) * S**2 / M, d * M / (RHO * M + (1 - RHO) * d)
    own = best / d * (d * held / M) / held
    return simplified(
        pull + push - stated,
        sp.diff(value, S).subs(S, best),
        value.subs(S, best) + best,
        own - d / (RHO * M + (1 - RHO) * d),
    )


@dataclass(frozen=True)
class _SquareCase:
    """mn (5) and mn (15) for the square loss on one label matrix, as polynomials in the scores S."""

    labels: sp.Matrix
    scores: sp.Matrix
    cells: list[tuple[int, int]]
    pop: dict[tuple[int, int], sp.Expr]
    full: sp.Expr
    popularity: sp.Expr
    constant: sp.Expr  # |O|/2 - 1/2 sum_O 1/pop


def _square_cases() -> Iterable[_SquareCase]:
    scores = matrix("S", 2, 3)
    cells = list(itertools.product(range(2), range(3)))
    plus = {x: (1 - scores[x]) ** 2 / 2 for x in cells}
    minus = {x: scores[x] ** 2 / 2 for x in cells}
    for labels in _label_matrices(2, 3):
        pop = {(i, j): sum(labels[i, :]) * sum(labels[:, j]) for i, j in cells}
        ones = [x for x in cells if labels[x]]
        yield _SquareCase(
            labels,
            scores,
            cells,
            pop,
            full=sum(plus[x] if labels[x] else minus[x] for x in cells),
            popularity=sum(plus[x] - minus[x] for x in ones) + sum(pop[x] * minus[x] for x in cells),
            constant=sp.Rational(len(ones), 2) - sum(sp.Rational(1, 2 * pop[x]) for x in ones),
        )


# ---- what they are made of


def _label_matrices(rows: int, cols: int) -> Iterable[sp.Matrix]:
    """Every 0/1 matrix of this shape without empty rows or columns (Assumption E.1)."""
    for entries in itertools.product((0, 1), repeat=rows * cols):
        matrix = sp.Matrix(rows, cols, entries)
        if all(any(matrix[i, :]) for i in range(rows)) and all(any(matrix[:, j]) for j in range(cols)):
            yield matrix


# ---- a logistic objective over separable labels


@proof
def thm_no_logistic_minimiser() -> Iterator[sp.Expr]:
    """Along t (U, V) a pair of margin g > 0 pays log(1 + exp(-t^2 g)): it falls for ever, to 0, and so do its slopes.

    The slope of the pair in u_i at t (U, V) is -z w s(t) t v_j with s(t) = 1 / (1 + exp(t^2 g)). Separating tables are
    in `separable.separating_tables`.
    """
    t, g = sp.symbols("t g", positive=True)
    loss, share = sp.log(1 + sp.exp(-(t**2) * g)), 1 / (1 + sp.exp(t**2 * g))
    yield sp.diff(loss, t) + 2 * t * g * share  # the derivative is -2 t g share: below 0 for every t > 0
    yield sp.limit(loss, t, sp.oo)
    yield sp.limit(t * share, t, sp.oo)
    score = sp.Symbol("s", real=True)
    yield sp.diff(sp.log(1 + sp.exp(-score)), score) + 1 / (1 + sp.exp(score))


@proof
def prop_logistic_margin() -> Iterator[sp.Expr]:
    """At t^2 delta = log(2 S / w) the two bounds S exp(-t^2 g) and (w / 2) exp(-t^2 (g - delta)) meet; then they part.

    S is the sum of the weights, w the least of them and g the best margin. And log(1 + y) >= y / 2 on [0, 1], which the
    lower bound uses: both sides are 0 at 0, and the difference is concave and above 0 at 1.
    """
    S, w, g, delta, x, y = sp.symbols("S w g delta x y", positive=True)  # x = t^2
    ratio = (w / 2 * sp.exp(-x * (g - delta))) / (S * sp.exp(-x * g))
    yield sp.simplify(ratio.subs(x, sp.log(2 * S / w) / delta)) - 1
    yield sp.simplify(sp.diff(sp.log(ratio), x) - delta)  # the logarithm of their ratio grows with the slope delta > 0
    gap = sp.log(1 + y) - y / 2
    yield gap.subs(y, 0)
    yield sp.simplify(sp.diff(gap, y, 2) + 1 / (1 + y) ** 2)  # concave
