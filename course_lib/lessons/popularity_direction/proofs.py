"""Proofs for the popularity direction (P1, Section 3 and Appendix A; our extensions X10, X11, X13).

A triple (u, i, j) costs f(x) with the margin x = <e_u, e_i - e_j>; for BPR f(x) = -ln sigma(x), so w = -f'(x) =
sigma(-x). A law of triples T says how often each is expected in a pass; nothing is assumed about T unless a statement
says so.

`lem_`, `prop_`, `thm_`, `cor_` return sympy residuals, all 0: polynomial identities in every entry of small tables, or
identities in the sizes m, n, d. `enumerate_*` draw nothing: they visit every outcome of small cases in rational
arithmetic, through the functions of `course_lib.popularity` themselves, and return the largest discrepancy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import sympy as sp

from course_lib import popularity
from course_lib.arrays import exact
from course_lib.lessons.shared.symbolic import largest, proof, simplified, vector
from course_lib.popularity import TripleLaw

M_USERS, N_ITEMS, D = 2, 3, 2  # the tables of the identities
lr, decay, t = sp.symbols("eta lambda t", positive=True)

# three users with 3, 1 and 2 positives, four items with counts 3, 1, 1 and 1; nobody has all
LABELS = exact(np.array([[1, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1]]))
TABLE = exact(np.array([[2, -1], [0, 3], [-4, 1], [1, 1]]))
ALL_LAWS = tuple(
    TripleLaw(*parts)
    for parts in itertools.product(("pairs", "users"), ("uniform", "popularity"), ("redraw", "skip", "keep"))
)


# ---- gradients


def lem_bpr_gradients() -> list[sp.Expr]:
    """(6), Lemma A.2: slopes of -ln sigma(<e_u, e_i - e_j>): -w (e_i - e_j), -w e_u, w e_u, with w = sigma(-margin)."""
    user, positive, negative = (vector(name, 3) for name in ("u", "i", "j"))
    margin = user.dot(positive - negative)
    loss, w = sp.log(1 + sp.exp(-margin)), 1 / (1 + sp.exp(margin))
    stated = [*(-w * (positive - negative)), *(-w * user), *(w * user)]
    return simplified(
        *(sp.diff(loss, x) - slope for x, slope in zip([*user, *positive, *negative], stated, strict=True))
    )


@proof
def prop_item_pull() -> Iterator[sp.Expr]:
    """(5), (16), (17) exactly, for every law T and loss f: the slope of the expected loss is -M(w)' U on the items.

    M at all w = 1/2 is half of T's pull matrix, rows of M(w = 1) sum to 0, and expected positives and negatives have
    one sum.
    """
    users, items, law = _table("u", M_USERS), _table("e", N_ITEMS), _law()
    slope = [[sp.diff(_expected_loss(users, items, law), items[i, a]) for a in range(D)] for i in range(N_ITEMS)]
    weights = {key: _weight(users, items, key) for key in law}
    pull = _pull(law, weights)
    yield from list((sp.Matrix(slope) + pull.T * users).applyfunc(_same_derivative))
    plain = _pull(law, dict.fromkeys(law, sp.Integer(1)))
    halves = _pull(law, dict.fromkeys(law, sp.Rational(1, 2)))
    positives = [sum(law[key] for key in law if key[1] == i) for i in range(N_ITEMS)]
    negatives = [sum(law[key] for key in law if key[2] == i) for i in range(N_ITEMS)]
    yield from list((halves - plain / 2).expand())
    yield from list((plain * sp.ones(N_ITEMS, 1)).expand())
    yield from list(((sp.ones(1, M_USERS) * plain).T - sp.Matrix(positives) + sp.Matrix(negatives)).expand())
    yield sp.expand(sum(positives) - sum(negatives))


# ---- the conservation law


@proof
def thm_bpr_conservation() -> Iterator[sp.Expr]:
    """Claim X10, any law T, any loss f of the margin: the items' slopes sum to 0, so SGD leaves sum_i e_i as it is.

    Also: with heavy ball the velocities sum to 0 if they did before; with decay of all items in every step the sum is
    multiplied by 1 - 2 eta lambda; biases b_i, scores <e_u, e_i> + b_i, are conserved the same way.
    """
    users, items, law = _table("u", M_USERS), _table("e", N_ITEMS), _law()
    bias = vector("b", N_ITEMS)
    loss = _expected_loss(users, items, law, bias)
    slopes = [[sp.diff(loss, items[i, a]) for i in range(N_ITEMS)] for a in range(D)]
    total = [sum(row) for row in slopes]
    yield from [_same_derivative(value) for value in total]
    yield _same_derivative(sum(sp.diff(loss, b) for b in bias))
    mu = sp.Symbol("mu")
    velocity = [sp.Symbol(f"v{i}") for i in range(N_ITEMS - 1)]
    velocity.append(-sum(velocity))  # they sum to 0
    yield _same_derivative(sum(mu * v - lr * slope for v, slope in zip(velocity, slopes[0], strict=True)))
    decayed = sum(items[i, 0] - lr * (slopes[0][i] + 2 * decay * items[i, 0]) for i in range(N_ITEMS))
    yield _same_derivative(decayed - (1 - 2 * lr * decay) * sum(items[:, 0]))


@largest
def enumerate_bpr_conservation() -> Iterator[Fraction]:
    """Three steps of SGD, rational tables, over every sequence of triples of LABELS: how far sum_i e_i moves.

    (f' = -1/(1 + x^2).)
    """
    triples = list(_triples(LABELS))
    for sequence in itertools.product(triples, repeat=3):
        users, items = TABLE[:3].copy(), TABLE.copy()
        for u, i, j in sequence:
            w = 1 / (1 + (users[u] @ (items[i] - items[j])) ** 2) / Fraction(10)
            users[u], items[i], items[j] = (
                users[u] + w * (items[i] - items[j]),
                items[i] + w * users[u],
                items[j] - w * users[u],
            )
        yield from abs(items.sum(0) - TABLE.sum(0))


def cor_negative_mean() -> list[sp.Expr]:
    """Claim X10: g_neg = (N e_bar - n_u g_pos)/(N - n_u), so d* = g_pos - g_neg is N/(N - n_u) (g_pos - e_bar)."""
    total, mine, size, n_u = sp.symbols("S P N n_u", positive=True)
    mean, g_pos, g_neg = total / size, mine / n_u, (total - mine) / (size - n_u)
    return simplified(
        g_neg - (size * mean - n_u * g_pos) / (size - n_u), g_pos - g_neg - size / (size - n_u) * (g_pos - mean)
    )


def prop_mean_item() -> list[sp.Expr]:
    """What moves the mean item: decay of touched rows, by -2 eta lambda sum_i k_i e_i with k_i touches.

    Along e_pop, where <e_i, e_pop> = a (Pop_i - mean Pop) and k_i = Pop_i + c, that is -2 eta lambda a N Var(Pop).
    Adam's first step, d = 1: eta (pulled - pushed).
    """
    size = 4
    counts, (a, c) = sp.symbols(f"p1:{size + 1}"), sp.symbols("a c")
    mean = sum(counts) / size
    change = -2 * lr * decay * sum((p + c) * a * (p - mean) for p in counts)
    variance = sum((p - mean) ** 2 for p in counts) / size
    pulled, pushed = sp.symbols("n_plus n_minus", positive=True)
    gradient = sp.Symbol("g", positive=True)
    first = lr * gradient / sp.sqrt(gradient**2)  # m/(sqrt v) after one step with bias correction: the sign of -slope
    return [
        sp.expand(change + 2 * lr * decay * a * size * variance),
        sp.simplify(pulled * first - pushed * first - lr * (pulled - pushed)),
    ]


# ---- what grows: the singular vectors of the pull matrix


@proof
def thm_bpr_linearised() -> Iterator[sp.Expr]:
    """Claim X10: the expected loss is |T| ln 2 - <U, M E>/2 up to fourth order.

    Under that quadratic, singular pairs grow like cosh and sinh of s t/2; and a right singular vector with s > 0 is
    orthogonal to 1, because M 1 = 0.
    """
    users, items, law = _table("u", M_USERS), _table("e", N_ITEMS), _law()
    scale = sp.Symbol("epsilon")
    loss = sum(
        law[u, i, j] * sp.log(1 + sp.exp(-(scale**2) * users[u, :].dot(items[i, :] - items[j, :]))) for u, i, j in law
    )
    pull = _pull(law, dict.fromkeys(law, sp.Integer(1)))
    quadratic = sum((users[u, :] * items.T)[0, i] * pull[u, i] for u in range(M_USERS) for i in range(N_ITEMS))
    expansion = [sp.diff(loss, scale, k).subs(scale, 0) / sp.factorial(k) for k in range(4)]
    stated = [sum(law.values()) * sp.log(2), 0, -quadratic / 2, 0]
    yield from [sp.expand(found - said) for found, said in zip(expansion, stated, strict=True)]
    s, left, right = sp.symbols("s a b", positive=True)  # a = u'U(0), b = v'E(0)
    item = right * sp.cosh(s * t / 2) + left * sp.sinh(s * t / 2)
    user = left * sp.cosh(s * t / 2) + right * sp.sinh(s * t / 2)
    yield from [item.diff(t) - s / 2 * user, user.diff(t) - s / 2 * item]
    weights = vector("z", M_USERS)  # v = M'u / s
    yield sp.expand((sp.ones(1, N_ITEMS) * pull.T * weights)[0])


def prop_laws_of_negatives() -> list[sp.Expr]:
    """Column sums of M under laws that keep collisions; labels are symbols, so for every data set of this size.

    Pop_i - |O|/N for uniform negatives, and 0 for every item for negatives by popularity, where M = Y - n_u Pop_i/|O|
    is the modularity matrix; for popularity with skips (1/|O|) sum over fans u of sum over k in I_u of (Pop_i - Pop_k).
    """
    y = sp.Matrix(M_USERS, N_ITEMS, sp.symbols(f"y1:{M_USERS * N_ITEMS + 1}"))
    n_u, pop = y * sp.ones(N_ITEMS, 1), (sp.ones(1, M_USERS) * y).T
    total = sum(pop)
    uniform = y - n_u * sp.ones(1, N_ITEMS) / N_ITEMS
    modular = y - n_u * pop.T / total
    own = y * pop / total  # chance that a negative by popularity is the user's own
    skipped = [
        sum(y[u, i] * (1 - own[u]) - n_u[u] * pop[i] / total * (1 - y[u, i]) for u in range(M_USERS))
        for i in range(N_ITEMS)
    ]
    closed = [
        sum(y[u, i] * y[u, k] * (pop[i] - pop[k]) for u in range(M_USERS) for k in range(N_ITEMS)) / total
        for i in range(N_ITEMS)
    ]
    return simplified(
        *(sum(uniform[:, i]) - pop[i] + total / N_ITEMS for i in range(N_ITEMS)),
        *(sum(modular[:, i]) for i in range(N_ITEMS)),
        *(found - said for found, said in zip(skipped, closed, strict=True)),
    )


@largest
def enumerate_laws_of_negatives() -> Iterator[Fraction]:
    """`pull_matrix` and `expected_roles` against samplers written triple by triple, all twelve laws, in Fractions."""
    for law in ALL_LAWS:
        expected = np.zeros(LABELS.shape, dtype=object) + Fraction(0)
        roles = np.zeros((2, LABELS.shape[1]), dtype=object) + Fraction(0)
        for (u, i, j), often in _spelled_out(law).items():
            expected[u, i] += often
            expected[u, j] -= often
            roles[0, i] += often
            roles[1, j] += often
        yield from (abs(expected - popularity.pull_matrix(LABELS, law)).max(), abs(expected.sum(1)).max())
        yield from (
            abs(roles - np.stack(popularity.expected_roles(LABELS, law))).max(),
            abs(roles[0].sum() - roles[1].sum()),
        )


# ---- the mean user


def thm_mean_user() -> list[sp.Expr]:
    """Claim X11: P of m users, mean f, drawn evenly: E<f, v> = |v|^2, E|f - v|^2 = (m - P)/(P (m - 1)) s^2.

    Proposition A.1 repaired, from the inclusion probabilities P/m and P (P - 1)/(m (m - 1)), for all m and P. Then, for
    independent users of mean 0 with |e_u|^2 = q on average: E<f, v>^2/(E|f|^2 E|v|^2) = P/m with the first expectation
    in place of its square, and |v|^2 over noise is P/(m - P).
    """
    m, p, square, mean, q = sp.symbols("m P S v2 q", positive=True)  # S = sum |e_u|^2, v2 = |v|^2
    one, two = p / m, p * (p - 1) / (m * (m - 1))
    inner = (one * m * mean) / p  # E <f, v> = (1/P) sum_u P(u in U_i) <e_u, v>
    norm = (one * square + two * (m**2 * mean - square)) / p**2
    spread = square / m - mean
    noise = (m - p) / (p * (m - 1)) * spread
    start = {square: m * q, mean: q / m}
    return simplified(
        inner - mean,
        norm - 2 * inner + mean - noise,
        (inner**2 / (norm * mean)).subs(start) - p / m,
        (mean / noise).subs(start) - p / (m - p),
    )


@largest
def enumerate_mean_user() -> Iterator[Fraction]:
    """`thm_mean_user` over every set of P among four users; and the pull on an item, over every deal of M's rows.

    The mean of that pull is (expected positives - negatives) times the mean user, under all twelve laws.
    """
    n = len(TABLE)
    mean = TABLE.sum(0) / Fraction(n)
    spread = ((TABLE - mean) ** 2).sum() / Fraction(n)
    for size in range(1, n + 1):
        sets = [TABLE[list(chosen)].sum(0) / Fraction(size) for chosen in itertools.combinations(range(n), size)]
        noise = sum(((one - mean) ** 2).sum() for one in sets) / Fraction(len(sets))
        inner = sum(one @ mean for one in sets) / Fraction(len(sets))
        yield from (abs(inner - mean @ mean), abs(noise - Fraction(n - size, size * (n - 1)) * spread))
    users = TABLE[:3]
    for law in ALL_LAWS:
        pull, (positives, negatives) = popularity.pull_matrix(LABELS, law), popularity.expected_roles(LABELS, law)
        deals = [pull[list(order)].T @ users for order in itertools.permutations(range(3))]
        average = sum(deals[1:], deals[0]) / Fraction(len(deals))
        yield abs(average - np.outer(positives - negatives, users.sum(0) / Fraction(3))).max()


# ---- the direction of a user's gradient


def thm_ideal_direction() -> list[sp.Expr]:
    """(19): a unit d has mean margin <d, g>, g = g_pos - g_neg; |g|^2|d|^2 - <d, g>^2 is squares, 0 at d = g/|g|."""
    positives, negatives, d = _table("p", 2), _table("n", 3), vector("d", D)
    margins = sum(d.dot(positives[i, :] - negatives[j, :]) for i in range(2) for j in range(3)) / sp.Integer(6)
    g = (sp.ones(1, 2) * positives / 2 - sp.ones(1, 3) * negatives / 3).T
    squares = sum((g[a] * d[b] - g[b] * d[a]) ** 2 for a in range(D) for b in range(a))
    at = {d[a]: g[a] / sp.sqrt(g.dot(g)) for a in range(D)}
    return [
        sp.expand(margins - d.dot(g)),
        sp.expand(g.dot(g) * d.dot(d) - d.dot(g) ** 2 - squares),
        sp.simplify(squares.subs(at)),
    ]


def thm_misalignment() -> list[sp.Expr]:
    """Theorem A.4 repaired: E[w x] = E[w] E[x] + Cov(w, x): -gradient is off d* iff Cov(w, x) is not parallel to E[x].

    Residuals: the identity; the area spanned by E[w x] and E[x] is that by Cov and E[x]; both vanish at e_u = 0, where
    all w are 1/2, and for one pair.
    """
    pairs, w = _table("x", 4), vector("w", 4)
    mean_w, mean_x = sum(w) / 4, (sp.ones(1, 4) * pairs / 4).T
    weighted = pairs.T * w / 4
    covariance = sum(((w[k] - mean_w) * (pairs[k, :].T - mean_x) for k in range(4)), sp.zeros(D, 1)) / 4
    area, apart = _area(weighted, mean_x), _area(covariance, mean_x)
    alone = _area(w[0] * pairs[0, :].T, pairs[0, :].T)
    return [
        *(weighted - mean_w * mean_x - covariance).expand(),
        sp.expand(area - apart),
        sp.expand(area.subs(dict.fromkeys(w, sp.Rational(1, 2)))),
        sp.expand(alone),
    ]


# ---- statistics of e_pop


@proof
def prop_direction_error() -> Iterator[sp.Expr]:
    """Claim X13: E|v_hat - v|^2 = tr S_head/H + tr S_tail/T for independent items; H, T up to 3.

    The square is expanded, products of two items' noises have mean 0, squares s_h and s_t. (Per coordinate; coordinates
    add.) The gap |v_hat|^2 exceeds |v|^2 by as much on average.
    """
    s_h, s_t, v = sp.symbols("S_h S_t v", positive=True)
    for h, tail in itertools.product((1, 2, 3), repeat=2):
        heads, tails = vector("x", h), vector("y", tail)
        mean = dict.fromkeys((x**2 for x in heads), s_h) | dict.fromkeys((y**2 for y in tails), s_t)
        zero = dict.fromkeys([*heads, *tails], 0)  # what is left after the squares has mean 0
        noise = sum(heads) / h - sum(tails) / tail
        for square, stated in ((noise**2, 0), ((v + noise) ** 2, v**2)):
            expected = sp.expand(square).subs(mean).subs(zero)
            yield expected - stated - s_h / h - s_t / tail


def enumerate_direction_error() -> Fraction:
    """Claim X13 over every outcome of two head and two tail items, and the library's estimate, without bias."""
    counts = np.array([9, 8, 2, 1])
    choices = {
        True: [(Fraction(1, 3), (3, 0)), (Fraction(2, 3), (0, 3))],
        False: [(Fraction(1, 4), (0, -4)), (Fraction(3, 4), (4, 0))],
    }
    spread, centre = {}, {}
    for head, law in choices.items():
        centre[head] = sum(chance * exact(np.array(x)) for chance, x in law)
        spread[head] = sum(chance * ((exact(np.array(x)) - centre[head]) ** 2).sum() for chance, x in law)
    true, stated = centre[True] - centre[False], spread[True] / 2 + spread[False] / 2
    error = estimate = Fraction(0)
    for outcome in itertools.product(choices[True], choices[True], choices[False], choices[False]):
        chance = math.prod(part for part, _ in outcome)
        items = exact(np.array([x for _, x in outcome]))
        found = (items[0] + items[1] - items[2] - items[3]) / Fraction(2)
        error += chance * ((found - true) ** 2).sum()
        if (found != 0).any():
            estimate += chance * Fraction(
                popularity.direction_error(items.astype(float), counts, 0.5).error ** 2
            ).limit_denominator(10**6)
        else:
            estimate += chance * sum(((items[k] - items[k + 1]) ** 2).sum() / 4 for k in (0, 2))
    return Fraction(max(abs(error - stated), abs(estimate - stated)))


@proof
def prop_double_dipping() -> Iterator[sp.Expr]:
    """Claim X13: the parts of the exact law of r for items from N(0, s^2 I), counts any.

    With c the contrast, v_hat = E'c and R = E - c v_hat'/|c|^2: c'R = 0; a Gaussian R and v_hat are uncorrelated, so
    independent; the projection E v_hat/|v_hat| is c |v_hat|/|c|^2 + R v_hat/|v_hat|; a sum of squares splits. Then E
    sqrt(B) for Beta(d/2, k/2) as a ratio of Gammas, by integration, k = n - 2, and the same value from the library.
    """
    n = 4
    table, contrast = _table("e", n), sp.Matrix([1, 0, 0, -1])
    found = (contrast.T * table).T
    rest = table - contrast * found.T / contrast.dot(contrast)
    keep = sp.eye(n) - contrast * contrast.T / contrast.dot(contrast)  # R = keep E
    length = sp.Symbol("L", positive=True)
    unit = found / length
    split = table * unit - contrast * length / contrast.dot(contrast) - rest * unit
    yield from [*(contrast.T * rest).expand(), *(keep * contrast)]
    yield from [entry.subs(length, sp.sqrt(found.dot(found))) for entry in split]
    z, cosine = vector("z", 3), sp.Symbol("k", positive=True)  # z: along c, along the rest of the counts, elsewhere
    counts = sp.Matrix([cosine, sp.sqrt(1 - cosine**2), 0])
    square = z[0] ** 2 / z.dot(z)  # B
    first = z[1] / sp.sqrt(z[1] ** 2 + z[2] ** 2)
    r = z.dot(counts) / sp.sqrt(z.dot(z))
    stated = cosine * sp.sqrt(square) * sp.sign(z[0]) + sp.sqrt(1 - cosine**2) * sp.sqrt(1 - square) * first
    at = {z[0]: 2, z[1]: sp.Rational(1, 3), z[2]: 5}
    yield (r - stated).subs(at)
    x = sp.Symbol("x", positive=True)
    for d, k in ((2, 4), (3, 2), (4, 6)):
        density = (
            x ** (sp.Rational(d, 2) - 1)
            * (1 - x) ** (sp.Rational(k, 2) - 1)
            / sp.beta(sp.Rational(d, 2), sp.Rational(k, 2))
        )
        mean = sp.integrate(sp.expand_func(density * sp.sqrt(x)), (x, 0, 1))
        closed = (
            sp.gamma(sp.Rational(d + 1, 2))
            * sp.gamma(sp.Rational(d + k, 2))
            / (sp.gamma(sp.Rational(d, 2)) * sp.gamma(sp.Rational(d + k + 1, 2)))
        )
        yield sp.gammasimp(mean - closed)
        law = popularity.double_dipping_law(np.arange(k + 2.0), d, 1 / (k + 2))
        share = law.mean / popularity.chance_cosine(np.arange(k + 2.0), 1 / (k + 2))
        yield sp.Integer(0) if math.isclose(share, float(closed), rel_tol=1e-12) else sp.Float(share) - closed


# ---- tools

Key = tuple[int, int, int]


def _table(name: str, rows: int, width: int = D) -> sp.Matrix:
    return sp.Matrix(rows, width, lambda i, a: sp.Symbol(f"{name}{i}{a}", real=True))


def _law() -> dict[Key, sp.Symbol]:
    """A symbol for how often each triple of two different items is expected: every law of triples at once."""
    return {
        (u, i, j): sp.Symbol(f"T{u}{i}{j}", nonnegative=True)
        for u in range(M_USERS)
        for i in range(N_ITEMS)
        for j in range(N_ITEMS)
        if i != j
    }


_F = sp.Function("f")
# f'(x), one symbol for each argument, so that derivatives of an unknown function can be compared
_SLOPES: dict[sp.Expr, sp.Dummy] = {}


def _margin(users: sp.Matrix, items: sp.Matrix, key: Key, bias: sp.Matrix | None = None) -> sp.Expr:
    u, i, j = key
    own = bias[i] - bias[j] if bias is not None else 0
    return sp.expand(users[u, :].dot(items[i, :] - items[j, :]) + own)


def _expected_loss(
    users: sp.Matrix, items: sp.Matrix, law: dict[Key, sp.Symbol], bias: sp.Matrix | None = None
) -> sp.Expr:
    return sum(law[key] * _F(_margin(users, items, key, bias)) for key in law)


def _weight(users: sp.Matrix, items: sp.Matrix, key: Key) -> sp.Expr:
    """w = -f'(margin)."""
    x = sp.Dummy("x")
    return -sp.Subs(sp.diff(_F(x), x), x, _margin(users, items, key))


def _same_derivative(expression: sp.Expr) -> sp.Expr:
    """The expression with each f'(argument) replaced by one symbol for that argument, expanded."""
    found = sp.expand(expression).replace(
        lambda e: isinstance(e, sp.Subs), lambda e: _SLOPES.setdefault(sp.expand(e.point[0]), sp.Dummy("slope"))
    )
    return sp.expand(found)


def _pull(law: dict[Key, sp.Symbol], weights: dict[Key, sp.Expr]) -> sp.Matrix:
    """M(w)_ui = sum_j T_uij w_uij - T_uji w_uji."""
    pull = sp.zeros(M_USERS, N_ITEMS)
    for (u, i, j), often in law.items():
        pull[u, i] += often * weights[u, i, j]
        pull[u, j] -= often * weights[u, i, j]
    return pull


def _area(a: sp.Matrix, b: sp.Matrix) -> sp.Expr:
    return a[0] * b[1] - a[1] * b[0]


def _triples(labels: np.ndarray) -> Iterator[Key]:
    m, n = labels.shape
    for u, i, j in itertools.product(range(m), range(n), range(n)):
        if labels[u, i] == 1 and labels[u, j] == 0:
            yield u, i, j


def _spelled_out(law: TripleLaw) -> dict[Key, Fraction]:
    """Expected number of each triple in |O| draws from LABELS, following the sampler's steps one after the other."""
    m, n = LABELS.shape
    own = [[i for i in range(n) if LABELS[u, i] == 1] for u in range(m)]
    pairs = [(u, i) for u in range(m) for i in own[u]]
    starts = {}
    for u, i in pairs:
        starts[u, i] = Fraction(1, len(pairs)) if law.users == "pairs" else Fraction(1, m) * Fraction(1, len(own[u]))
    urn = list(range(n)) if law.negatives == "uniform" else [i for _, i in pairs]  # a uniform draw from the urn
    found: dict[Key, Fraction] = {}
    for (u, i), chance in starts.items():
        allowed = [j for j in urn if j not in own[u]] if law.collision == "redraw" else urn
        for j in allowed:
            if law.collision == "skip" and j in own[u]:
                continue
            key = (u, i, j)
            found[key] = found.get(key, Fraction(0)) + len(pairs) * chance * Fraction(1, len(allowed))
    return found
