"""Symbolic proofs for directional decomposition and correction (P1, Sections 3.3 to 5.4; claim X12) and beyond it.

One user: positives with scores s_i and projections a_i = <e_pref, e_i>, negatives with scores t_j and b_j = <e_pop,
e_j>. The margin of the rule "b_a" is x_ij = s_i + beta a_i - t_j - alpha b_j, the loss the mean of log(1 + exp(-x_ij)).
Residuals are identities in every entry of two positives and two negatives, of width two where embeddings appear.
`enumerate_*` decide questions of existence exactly, on integer vectors, by an argument that knows nothing of the
theorem. That `course_lib.debiasing.ddc` computes these formulas is tested beside them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import sympy as sp

from course_lib.lessons.shared.symbolic import proof, simplified

alpha, beta, shift = sp.symbols("alpha beta gamma", real=True)
P, Q = 2, 2  # positives and negatives of the identities
s, t, a, b = (sp.symbols(f"{name}1:3", real=True) for name in "stab")
b_pos, a_neg = (
    sp.symbols("g1:3", real=True),
    sp.symbols("h1:3", real=True),
)  # <e_pop, e_i> of positives, <e_pref, e_j> of negatives
PAIRS = tuple(itertools.product(range(P), range(Q)))
RULES = tuple(
    "_".join(rule) for rule in itertools.product(("a", "b", "ab"), repeat=2)
)  # "positive term _ negative term", Table 5


def loss(margins: Iterable[sp.Expr]) -> sp.Expr:
    """Mean of log(1 + exp(-x))."""
    found = list(margins)
    return sum((sp.log(1 + sp.exp(-x)) for x in found), sp.Integer(0)) / len(found)


def weight(x: sp.Expr) -> sp.Expr:
    """w = sigmoid(-x): how much a pair of margin x still pulls."""
    return 1 / (1 + sp.exp(x))


def ddc_margin(i: int, j: int) -> sp.Expr:
    """x_ij of (13)."""
    return s[i] + beta * a[i] - t[j] - alpha * b[j]


def final_margin(i: int, j: int) -> sp.Expr:
    """The margin under the embedding that is served, (14)."""
    return s[i] + alpha * b_pos[i] + beta * a[i] - t[j] - alpha * b[j] - beta * a_neg[j]


# ---- convexity and existence


def prop_user_convex() -> list[sp.Expr]:
    """3.3 repaired: with frozen items BPR's Hessian in e_u is the mean of w (1 - w) (e_i - e_j)(e_i - e_j)'.

    A sum of squares with weights of at least 0: the loss is convex, and every stationary e_u is a global minimum.
    """
    user = sp.Matrix(sp.symbols("u1:3", real=True))
    likes = [sp.Matrix(sp.symbols(f"p{i}_1:3", real=True)) for i in range(P)]
    rest = [sp.Matrix(sp.symbols(f"n{j}_1:3", real=True)) for j in range(Q)]
    apart = [likes[i] - rest[j] for i, j in PAIRS]
    margins = [(user.T * one)[0] for one in apart]
    squares = sum(
        (weight(x) * (1 - weight(x)) * one * one.T for x, one in zip(margins, apart, strict=True)), sp.zeros(2)
    )
    return [_zero(entry, margins) for entry in sp.hessian(loss(margins), list(user)) - squares / len(PAIRS)]


def thm_ddc_convex() -> list[sp.Expr]:
    """The Hessian of L_DDC in (alpha, beta) is the mean of w (1 - w) (-b_j, a_i)(-b_j, a_i)'."""
    margins = [ddc_margin(i, j) for i, j in PAIRS]
    moves = [sp.Matrix([-b[j], a[i]]) for i, j in PAIRS]
    squares = sum(
        (weight(x) * (1 - weight(x)) * one * one.T for x, one in zip(margins, moves, strict=True)), sp.zeros(2)
    )
    return [_zero(entry, margins) for entry in sp.hessian(loss(margins), [alpha, beta]) - squares / len(PAIRS)]


def thm_ddc_minimiser() -> list[sp.Expr]:
    """Claim X12 (a). Along (v, w) the slope is -E[w_ij (w a_i - v b_j)]; the loss falls for ever if no bracket is < 0.

    Residuals: that slope; the limit 0 of log(1 + exp(-x - r c)) for r to infinity where c > 0; and the two brackets of
    the proof: along (0, 1) it is a_i, along (-1, 0) it is b_j. That no other direction matters is
    `enumerate_ddc_minimiser`.
    """
    r, v, w = sp.symbols("r v w", real=True)
    c, x = sp.Symbol("c", positive=True), sp.Symbol("x", real=True)
    margins = [ddc_margin(i, j).subs({alpha: alpha + r * v, beta: beta + r * w}, simultaneous=True) for i, j in PAIRS]
    brackets = [w * a[i] - v * b[j] for i, j in PAIRS]
    slope = -sum(weight(x) * bracket for x, bracket in zip(margins, brackets, strict=True)) / len(PAIRS)
    return [
        _zero(loss(margins).diff(r) - slope, margins),
        sp.limit(sp.log(1 + sp.exp(-x - r * c)), r, sp.oo),
        *(bracket.subs({v: 0, w: 1}) - a[i] for bracket, (i, _) in zip(brackets, PAIRS, strict=True)),
        *(bracket.subs({v: -1, w: 0}) - b[j] for bracket, (_, j) in zip(brackets, PAIRS, strict=True)),
    ]


def enumerate_ddc_minimiser(values: Sequence[int] = (-2, -1, 0, 1)) -> Fraction:
    """How many integer a and b (1 to 3 of each) the theorem gets wrong: unique exactly if both change sign.

    The argument that knows nothing of signs: a convex loss has one unique minimiser exactly if no direction other than
    0 has all brackets w a_i - v b_j at least 0. In the plane it is enough to try the directions at right angles to some
    (-b_j, a_i), and those themselves.
    """
    wrong = 0
    for p, q in itertools.product((1, 2, 3), repeat=2):
        for left in itertools.combinations_with_replacement(values, p):
            for right in itertools.combinations_with_replacement(values, q):
                moves = [(-one, other) for other in left for one in right]
                wrong += (changes_sign(left) and changes_sign(right)) is not _unique_minimiser(moves)
    return Fraction(wrong)


def changes_sign(values: Sequence[int]) -> bool:
    """min < 0 < max."""
    return min(values) < 0 < max(values)


def _unique_minimiser(moves: Sequence[tuple[int, int]]) -> bool:
    """No direction but 0 along which no margin falls. Exact: the ones tried span the cone of such directions."""
    tried = [(sign * x, sign * y) for m in moves for x, y in (m, (-m[1], m[0])) for sign in (1, -1)] or [(1, 0)]
    tried = [d for d in tried if d != (0, 0)] or [(1, 0)]
    return not any(all(d[0] * m[0] + d[1] * m[1] >= 0 for m in moves) for d in tried)


def prop_preference_sign() -> list[sp.Expr]:
    """The a_i of the chosen items sum to the length of their sum: with S = e_1 + e_2, <e_1, S> + <e_2, S> = ||S||^2.

    So some a_i is positive, always, and a minimiser can only be missing on this side because no positive points away
    from e_pref. Second residual: one positive, a = ||e_1||.
    """
    one, two = sp.Matrix(sp.symbols("p1:3", real=True)), sp.Matrix(sp.symbols("q1:3", real=True))
    total = one + two
    return [
        sp.expand((one.T * total)[0] + (two.T * total)[0] - (total.T * total)[0]),
        sp.simplify((one.T * one)[0] / one.norm() - one.norm()),
    ]


def enumerate_preference_sign(values: Sequence[int] = (-1, 0, 2)) -> Fraction:
    """How many sets of 1 to 3 integer items have a user without a positive a_i, for any part with a sum not zero."""
    points = list(itertools.product(values, repeat=2))
    wrong = 0
    for count in (1, 2, 3):
        for items in itertools.combinations(points, count):
            for size in range(1, count + 1):
                total = [sum(column) for column in zip(*items[:size], strict=True)]
                if any(total):
                    wrong += not any(x * total[0] + y * total[1] > 0 for x, y in items)
    return Fraction(wrong)


# ---- the two scalars


def prop_sign_of_alpha() -> list[sp.Expr]:
    """Claim X12 (b): dL/dalpha = E[w b_j] = E[w] E[b] + Cov(w, b).

    Convex in alpha, so alpha* < 0 exactly if this is positive at (0, beta*).
    """
    margins = [ddc_margin(i, j) for i, j in PAIRS]
    w = [weight(x) for x in margins]
    mean_w, mean_b = _mean(w), _mean(b)
    covariance = _mean([(w[k] - mean_w) * (b[j] - mean_b) for k, (_, j) in enumerate(PAIRS)])
    slope = _mean([w[k] * b[j] for k, (_, j) in enumerate(PAIRS)])
    return [
        _zero(loss(margins).diff(alpha) - slope, margins),
        _zero(slope - mean_w * mean_b - covariance, margins),
        _zero(
            loss(margins).diff(alpha, 2) - _mean([w[k] * (1 - w[k]) * b[j] ** 2 for k, (_, j) in enumerate(PAIRS)]),
            margins,
        ),
    ]


@proof
def prop_beta_gradient() -> Iterator[sp.Expr]:
    """4.2 repaired: dL/dbeta = -E[w a_i]; every negative's score moves it: d/dt_j is -(1/pq) sum_i w (1 - w) a_i."""
    margins = [ddc_margin(i, j) for i, j in PAIRS]
    slope = -_mean([weight(x) * a[i] for x, (i, _) in zip(margins, PAIRS, strict=True)])
    yield _zero(loss(margins).diff(beta) - slope, margins)
    for j in range(Q):
        own = [weight(ddc_margin(i, j)) * (1 - weight(ddc_margin(i, j))) * a[i] for i in range(P)]
        yield _zero(slope.diff(t[j]) + sum(own) / len(PAIRS), margins)


def prop_surrogate() -> list[sp.Expr]:
    """Claim X12 (c): around 0 the loss is log 2 - x/2 + x^2/8: least squares of 2 on x, two normal equations.

    Residuals: the expansion's three coefficients; and the slopes of the mean of (x - 2)^2 / 8 minus the printed system.
    """
    x = sp.Symbol("x")
    series = sp.series(sp.log(1 + sp.exp(-x)), x, 0, 3).removeO()
    square = _mean([(ddc_margin(i, j) - 2) ** 2 / 8 for i, j in PAIRS])
    mean_a, mean_b, mean_s, mean_t = (_mean(one) for one in (a, b, s, t))
    b_squared, a_squared = _mean([one**2 for one in b]), _mean([one**2 for one in a])
    tb, sa = _mean([x * y for x, y in zip(t, b, strict=True)]), _mean([x * y for x, y in zip(s, a, strict=True)])
    first = b_squared * alpha - mean_a * mean_b * beta + (2 - mean_s) * mean_b + tb
    second = -mean_a * mean_b * alpha + a_squared * beta - (2 + mean_t) * mean_a + sa
    return [
        sp.expand(series - sp.log(2) + x / 2 - x**2 / 8),
        sp.expand(4 * square.diff(alpha) - first),
        sp.expand(4 * square.diff(beta) - second),
    ]


def prop_centred_surrogate() -> list[sp.Expr]:
    """The surrogate where the b_j have mean 0: alpha = -E[t b]/E[b^2], minus the slope of the scores on b.

    What it leaves, t_j + alpha b_j, is uncorrelated with b. Second residual: with a mean c as well, alpha = -(E[t b] +
    (2 - E s + ...) c) / E[b^2], worked out at beta given.
    """
    mean_zero = {b[1]: -b[0]}
    tb, bb = _mean([x * y for x, y in zip(t, b, strict=True)]), _mean([one**2 for one in b])
    best = -tb / bb
    square = _mean([(ddc_margin(i, j) - 2) ** 2 / 8 for i, j in PAIRS])
    left = [t[j] + best * b[j] for j in range(Q)]
    covariance = _mean([left[j] * b[j] for j in range(Q)]) - _mean(left) * _mean(b)
    general = -(tb + (2 - _mean(s) - beta * _mean(a)) * _mean(b)) / bb
    return simplified(
        square.diff(alpha).subs(alpha, best).subs(mean_zero),
        covariance.subs(mean_zero),
        square.diff(alpha).subs(alpha, general),
    )


def prop_level_scores() -> list[sp.Expr]:
    """Positives with a = (c, -c), negatives with b = (d, -d): beta* = (s_2 - s_1)/(2c), alpha* = (t_2 - t_1)/(2d).

    There all four margins are equal, so both slopes vanish. L_DDC levels: it takes from the positive that stands high.
    """
    c, d = sp.symbols("c d", positive=True)
    at = {a[0]: c, a[1]: -c, b[0]: d, b[1]: -d}
    best = {alpha: (t[1] - t[0]) / (2 * d), beta: (s[1] - s[0]) / (2 * c)}
    margins = [sp.expand(ddc_margin(i, j).subs(at).subs(best)) for i, j in PAIRS]
    value = loss(ddc_margin(i, j).subs(at) for i, j in PAIRS)
    return [
        *(sp.expand(x - margins[0]) for x in margins[1:]),
        sp.simplify(value.diff(alpha).subs(best)),
        sp.simplify(value.diff(beta).subs(best)),
    ]


# ---- the origin


def thm_origin() -> list[sp.Expr]:
    """One vector c added to every item: BPR's margins and e_pop stay, DDC's gain -alpha <e_pop, c> + beta <e_pref, c>.

    Residuals: the margin of a pair before and after; a head-minus-tail difference before and after; the DDC margin
    after minus before, with e_pref held; and the slope in alpha along a shift gamma of all b, E[w (b + gamma)].
    """
    user, c, pop, pref, one, two = (
        sp.Matrix(sp.symbols(f"{name}1:3", real=True)) for name in ("u", "c", "k", "f", "p", "n")
    )

    def margin(like: sp.Matrix, other: sp.Matrix) -> sp.Expr:
        return ((user + beta * pref).T * like)[0] - ((user + alpha * pop).T * other)[0]

    plain = (user.T * (one - two))[0]
    shifted = [ddc_margin(i, j) - alpha * shift for i, j in PAIRS]
    slope = _mean([weight(x) * (b[j] + shift) for x, (_, j) in zip(shifted, PAIRS, strict=True)])
    return [
        sp.expand((user.T * (one + c))[0] - (user.T * (two + c))[0] - plain),
        *((one + c) - (two + c) - (one - two)),
        sp.expand(margin(one + c, two + c) - margin(one, two) - beta * (pref.T * c)[0] + alpha * (pop.T * c)[0]),
        _zero(loss(shifted).diff(alpha) - slope, shifted),
    ]


@proof
def prop_free_margin() -> Iterator[sp.Expr]:
    """x_ij = (s_i - t_j) + (beta E a - alpha E b) + beta (a_i - E a) - alpha (b_j - E b); E's bracket lifts all alike.

    Second residual: the margin that is served minus the margin that is learned, alpha b_i - beta a_j with the two roles
    exchanged.
    """
    mean_a, mean_b = _mean(a), _mean(b)
    free = beta * mean_a - alpha * mean_b
    for i, j in PAIRS:
        moved = beta * (a[i] - mean_a) - alpha * (b[j] - mean_b)
        yield sp.expand(ddc_margin(i, j) - (s[i] - t[j]) - free - moved)
        yield sp.expand(final_margin(i, j) - ddc_margin(i, j) - alpha * b_pos[i] + beta * a_neg[j])


def prop_net_popularity() -> sp.Expr:
    """Head mean score minus tail mean score, after (14) minus before: ||v_diff|| (alpha + beta <e_pref, e_pop>)."""
    user, pref = sp.Matrix(sp.symbols("u1:3", real=True)), sp.Matrix(sp.symbols("f1:3", real=True))
    head, tail = ([sp.Matrix(sp.symbols(f"{name}{k}_1:3", real=True)) for k in range(2)] for name in "xy")
    apart = sum(head, sp.zeros(2, 1)) / 2 - sum(tail, sp.zeros(2, 1)) / 2
    pop = apart / apart.norm()

    def gap(vector: sp.Matrix) -> sp.Expr:
        return _mean([(vector.T * one)[0] for one in head]) - _mean([(vector.T * one)[0] for one in tail])

    final = user + alpha * pop + beta * pref
    return sp.simplify(gap(final) - gap(user) - apart.norm() * (alpha + beta * (pref.T * pop)[0]))


# ---- what a loss says


def thm_objective_not_embedding() -> list[sp.Expr]:
    """A.5 repaired. (i) L_DDC at (0, 0) is the loss of the model. (ii) f(y) >= f(x) + f'(x)(y - x) for f = log(1 +
    exp(-x)): the gap is 0 at y = x and its slope in y is sigmoid(-x) - sigmoid(-y), which has the sign of y - x.
    Averaged over the pairs at a stationary e_u the linear term vanishes, so no embedding, corrected or not, has a lower
    loss. (iii) ab_ab is the loss of the embedding that is served.
    """
    x, y = sp.symbols("x y", real=True)
    f = sp.log(1 + sp.exp(-x))
    gap = f.subs(x, y) - f - f.diff(x) * (y - x)
    plain = [s[i] - t[j] for i, j in PAIRS]
    both = [_rule_margin("ab_ab", i, j) for i, j in PAIRS]
    return [
        sp.expand(loss(ddc_margin(i, j) for i, j in PAIRS).subs({alpha: 0, beta: 0}) - loss(plain)),
        gap.subs(y, x),
        sp.simplify(gap.diff(y) - (weight(x) - weight(y))),
        *(sp.expand(one - final_margin(i, j)) for one, (i, j) in zip(both, PAIRS, strict=True)),
    ]


def prop_loss_scale() -> list[sp.Expr]:
    """Margins times c keep every ranking; a pair's loss goes to 0 if x > 0, and grows like c |x| if x < 0."""
    c, x = sp.symbols("c x", positive=True)
    f = sp.log(1 + sp.exp(-x))
    return [
        sp.limit(f.subs(x, c * x), c, sp.oo),
        sp.limit(sp.log(1 + sp.exp(c * x)) / c, c, sp.oo) - x,
        sp.simplify(sp.sign(c * x) - sp.sign(x)),
    ]


def prop_loss_counts_mistakes() -> list[sp.Expr]:
    """A wrongly ranked pair costs at least log 2 (f falls, f(0) = log 2): share of wrong pairs <= loss / log 2.

    Residuals: f(0) - log 2 and f' + sigmoid(-x), negative everywhere. What a low loss does say.
    """
    x = sp.Symbol("x", real=True)
    f = sp.log(1 + sp.exp(-x))
    return simplified(f.subs(x, 0) - sp.log(2), f.diff(x) + weight(x))


@proof
def prop_nine_rules() -> Iterator[sp.Expr]:
    """Every rule's margin is s_i - t_j + alpha A + beta B with the coefficients that its name says.

    Residuals, for the nine rules: the margin minus that linear form. Then: b_b and a_a know one scalar only (the other
    derivative is 0); under a_b and a_ab the slope in beta is E[w a_j] over the negatives alone, so that beta* < 0 where
    their weighted mean similarity to the user's taste is positive.
    """
    for rule in RULES:
        for i, j in PAIRS:
            by_alpha, by_beta = rule_coefficients(rule, i, j)
            yield sp.expand(_rule_margin(rule, i, j) - (s[i] - t[j] + alpha * by_alpha + beta * by_beta))
    yield from [_rule_margin("b_b", i, j).diff(alpha) for i, j in PAIRS]
    yield from [_rule_margin("a_a", i, j).diff(beta) for i, j in PAIRS]
    for rule in ("a_b", "a_ab"):
        margins = [_rule_margin(rule, i, j) for i, j in PAIRS]
        slope = _mean([weight(x) * a_neg[j] for x, (_, j) in zip(margins, PAIRS, strict=True)])
        yield _zero(loss(margins).diff(beta) - slope, margins)


def rule_coefficients(rule: str, i: int, j: int) -> tuple[sp.Expr, sp.Expr]:
    """(dx/dalpha, dx/dbeta) of the margin of a pair under a rule "positive term _ negative term"."""
    on_positives, on_negatives = rule.split("_")
    by_alpha = int("a" in on_positives) * b_pos[i] - int("a" in on_negatives) * b[j]
    by_beta = int("b" in on_positives) * a[i] - int("b" in on_negatives) * a_neg[j]
    return sp.sympify(by_alpha), sp.sympify(by_beta)


def _rule_margin(rule: str, i: int, j: int) -> sp.Expr:
    """The margin from two users, one for each term of the triple, as Table 5 describes a rule."""
    on_positives, on_negatives = rule.split("_")
    like, other = s[i], t[j]
    for part, scalar, on_like, on_other in (("a", alpha, b_pos[i], b[j]), ("b", beta, a[i], a_neg[j])):
        like += scalar * on_like if part in on_positives else 0
        other += scalar * on_other if part in on_negatives else 0
    return like - other


# ---- tools


def _mean(values: Iterable[sp.Expr]) -> sp.Expr:
    found = list(values)
    return sum(found, sp.Integer(0)) / len(found)


def _zero(expression: sp.Expr, margins: Sequence[sp.Expr]) -> sp.Expr:
    """The expression as a rational function of y_k = exp(x_k), one per margin, cancelled: exactly 0 if it vanishes.

    Terms with the same y are cancelled together first, which is all that most sums over pairs need.
    """
    names = sp.symbols(f"y0:{len(margins)}", positive=True)
    known = {}
    for power in expression.atoms(sp.exp):
        for x, y in zip(margins, names, strict=True):
            times = sp.cancel(power.args[0] / x)
            if times.is_integer:
                known[power] = y**times
    parts: dict[frozenset[sp.Symbol], list[sp.Expr]] = {}
    for term in sp.Add.make_args(sp.expand(expression.xreplace(known), deep=False)):
        parts.setdefault(frozenset(term.free_symbols & set(names)), []).append(term)
    return sp.cancel(sp.Add(*(sp.cancel(sp.together(sp.Add(*terms))) for terms in parts.values())))
