"""The statements of the chapter, repeated by a machine: each function returns residuals that must be exactly zero.

Where a statement is about the library's formulas, its symbols go through the library's own lines: `in_batch`
(`coefficients_from`, `expectation_of`), `processes.gradient_factors`, `processes.meetings`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import sympy as sp

from course_lib import gramians, in_batch, processes
from course_lib.lessons.shared.symbolic import proof, simplified

P, B, M, m, n, pop = sp.symbols("P B M m n pop", positive=True)
SIZES = ((1, 2), (2, 1), (2, 2), (3, 2))  # processes, pairs of each
MANY = SIZES[1:]


# ---- local negatives


def thm_local_negatives() -> list[sp.Expr]:
    """Weights of l-, times mn, of a mean of local losses: (B-1)/(M-1) pop, on O (B-1)/(M-1)(pop - 1); of l+: 1.

    Then the same with every l- multiplied by (PB-1)/(B-1), minus one batch of PB pairs. P, B, M are symbols.
    """
    local, whole = expected_in_batch(B), expected_in_batch(P * B)
    ratio = (P * B - 1) / (B - 1)
    negative = [m * n * (local[1] - (B - 1) / (M - 1) * pop / (m * n))]
    positive = [m * n * (local[2] - (B - 1) / (M - 1) * (pop - 1) / (m * n)), m * n * local[0] - 1]
    return simplified(*negative, *positive, *(ratio * a - b for a, b in zip(local[1:], whole[1:], strict=True)))


def expected_in_batch(size: sp.Expr) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Expected weights of l+, of l- of a negative and of l- of a positive, in the in-batch loss of `size` pairs."""
    plain = in_batch.coefficients_from("in_batch", a=M / (m * n * size), rho=(size - 1) / (M - 1))
    found = in_batch.expectation_of(plain, p1=size / M, p2=size * (size - 1) / (M * (M - 1)))
    grid = found.grid * pop**found.power
    return found.positive, grid, grid + found.constant + found.inverse / pop


@proof
def thm_corrected_losses() -> Iterator[sp.Expr]:
    """The expected weights of the unbiased, the popularity and the masked loss do not contain the size of the batch.

    Times mn they are, of l+ and of l- of a negative and of a positive, 1, 1 and 0; with popularity 1, pop and pop - 1.
    """
    for kind, stated in (("unbiased", (1, 1, 0)), ("popularity", (1, pop, pop - 1)), ("masked", (1, 1, 0))):
        plain = in_batch.coefficients_from(kind, a=M / (m * n * B), rho=(B - 1) / (M - 1))
        found = in_batch.expectation_of(plain, p1=B / M, p2=B * (B - 1) / (M * (M - 1)))
        grid = found.grid * pop**found.power
        weights = (found.positive, grid, grid + found.constant + found.inverse / pop)
        yield from [m * n * weight - value for weight, value in zip(weights, stated, strict=True)]


# ---- what averaging leaves of the gradient


@proof
def thm_averaged_gradient() -> Iterator[sp.Expr]:
    """The averaged gradient, part by part, minus the one process's times the factors of `gradient_factors`.

    The slopes of the rows' losses are symbols, so the losses are any: E_a of row a in its query, D_ac in the item c,
    T_a in a number that the loss uses itself. Each of the four ways, mean and sum, 1, 2 and 3 processes.
    """
    for (p, b), rows, gather, reduction in itertools.product(
        SIZES, processes.ROWS, processes.GATHERS, processes.REDUCTIONS
    ):
        found = averaged(p, b, rows, gather, reduction)
        factors = processes.gradient_factors(processes=p, rows=rows, gather=gather, reduction=reduction)
        right = multiplied(p, b, factors, reduction)
        yield from [sp.expand(x - y) for x, y in zip(found, right, strict=True)]


def averaged(p: int, b: int, rows: str, gather: str, reduction: str) -> list[sp.Expr]:
    """The gradient in each query, each item and the number, after the processes have averaged theirs.

    A process owns b queries and b items. Its backward leaves at its own vectors the slopes of its own loss; a gather
    with gradients adds those of the other processes' losses.
    """
    size, owner = p * b, [a // b for a in range(p * b)]
    computed = [[a for a in range(size) if rows == "all" or owner[a] == r] for r in range(p)]
    weight = [1 / sp.Integer(len(some)) if reduction == "mean" else sp.Integer(1) for some in computed]

    def left_at(home: int, slope: Callable[[int], sp.Expr]) -> sp.Expr:
        heard = range(p) if gather == "gradients" else (home,)
        return sum(weight[r] * slope(a) for r in heard for a in computed[r]) / p

    queries = [left_at(owner[c], partial(_query_slope, c)) for c in range(size)]
    items = [left_at(owner[c], partial(_D, c=c)) for c in range(size)]
    return [*queries, *items, sum(weight[r] * _T(a) for r in range(p) for a in computed[r]) / p]


@proof
def thm_more_pull() -> Iterator[sp.Expr]:
    """Own rows, constants: the items' gradient on average over all dealings is kappa whole + (1 - kappa) pull.

    kappa = (B - 1)/(P B - 1), `whole` the gradient of one machine, `pull` its part in which each row meets its own
    item. The rows' losses are any. Every assignment of the P B pairs to the machines is visited.
    """
    for p, b in ((2, 2), (3, 2), (2, 3)):
        size, kappa = p * b, sp.Rational(b - 1, p * b - 1)
        dealings = [order for order in itertools.permutations(range(size)) if _is_dealing(order, b)]
        for item in range(size):
            near = sum(_D(a, item) for order in dealings for a in _machine_of(item, order, b)) / len(dealings)
            whole = sum(_D(a, item) for a in range(size))
            yield sp.expand(near - kappa * whole - (1 - kappa) * _D(item, item))


@proof
def prop_queue_pull() -> Iterator[sp.Expr]:
    """A queue of constants: the items' gradient on average over all batches is kappa whole + (1 - kappa) pull.

    kappa = (B - 1)/(B + Q - 1), `whole` and `pull` of one batch of B + Q pairs. Every batch is visited.
    """
    for b, q in ((1, 2), (2, 1), (2, 3), (3, 2)):
        size, kappa = b + q, sp.Rational(b - 1, b + q - 1)
        batches = list(itertools.combinations(range(size), b))
        for item in range(size):
            felt = sum(_D(a, item) for batch in batches if item in batch for a in batch) / (b * len(batches))
            whole = sum(_D(a, item) for a in range(size))
            yield sp.expand(felt - (kappa * whole + (1 - kappa) * _D(item, item)) / size)


def _is_dealing(order: Sequence[int], b: int) -> bool:
    """Whether the pairs of each machine stand in ascending order, so that each dealing is visited once."""
    return all(x < y for start in range(0, len(order), b) for x, y in itertools.pairwise(order[start : start + b]))


def _machine_of(item: int, order: Sequence[int], b: int) -> Sequence[int]:
    """The pairs on the machine that has the item."""
    start = order.index(item) // b * b
    return order[start : start + b]


def multiplied(p: int, b: int, factors: processes.GradientFactors, reduction: str) -> list[sp.Expr]:
    """The gradient of one process with all rows, each part multiplied by its factor."""
    size = p * b
    weight = 1 / sp.Integer(size) if reduction == "mean" else sp.Integer(1)

    def part(a: int, c: int) -> Fraction:
        return factors.pull if a == c else factors.near if a // b == c // b else factors.far

    queries = [weight * factors.query * _E(c) for c in range(size)]
    items = [weight * sum(part(a, c) * _D(a, c) for a in range(size)) for c in range(size)]
    return [*queries, *items, weight * factors.direct * sum(_T(a) for a in range(size))]


def prop_not_a_gradient() -> list[sp.Expr]:
    """Own rows without gradients, in-batch softmax over N = PB films: no potential, for any N and any other films.

    At q_a = 0 the part of q_a changes with the vector k of a far film by 1/N^2, whatever the other films are: their
    N - 2 terms add up to R(x), so R(0) = N - 2, and the own film is y. Along one coordinate x of q_a the row sees one
    coordinate of each film, so any width follows. The part of k never changes with q_a, as no row of its machine
    contains q_a: by differentiating the losses of two and of three machines. A gradient has both alike.
    """
    x, y, k, N = sp.symbols("x y k N", real=True)
    others = sp.Function("R")(x)
    part = (sp.log(sp.exp(x * y) + sp.exp(x * k) + others) - x * y).diff(x) / N
    change = part.diff(k).doit().subs(x, 0).subs(others.subs(x, 0), N - 2)
    back = [field[p * b + p * b - 1].diff(q[0]) for p, b in MANY for q, _, field in [numbers_on(p, b)]]
    return [sp.simplify(change - 1 / N**2), *back]


def numbers_on(p: int, b: int) -> tuple[Sequence[sp.Symbol], Sequence[sp.Symbol], list[sp.Expr]]:
    """(q, k, the averaged gradient in q and then in k) of P processes with B pairs of numbers: own rows, constants."""
    size = p * b
    q, k = sp.symbols(f"q1:{size + 1}", real=True), sp.symbols(f"k1:{size + 1}", real=True)
    losses = [sp.log(sum(sp.exp(x * y) for y in k)) - x * k[a] for a, x in enumerate(q)]
    near = [sum(losses[c // b * b : (c // b + 1) * b]) for c in range(size)]  # the rows of the machine of film c
    return q, k, [loss.diff(x) / size for column in (q, k) for loss, x in zip(near, column, strict=True)]


def prop_items_drift() -> list[sp.Expr]:
    """Softmax of inner products: the items' gradients add up to 0; own rows with constants leave -sum far_a q_a / PB.

    Two processes of two pairs, any scores and queries; far_a is the probability that row a gives to the far items.
    """
    p, b = 2, 2
    size = p * b
    scores = sp.Matrix(size, size, lambda a, c: sp.Symbol(f"s{a}{c}", real=True))
    queries = sp.symbols(f"q:{size}", real=True)
    chance = scores.applyfunc(sp.exp)
    chance = sp.Matrix(size, size, lambda a, c: chance[a, c] / sum(chance[a, :]))
    slope = [[(chance[a, c] - int(a == c)) * queries[a] for c in range(size)] for a in range(size)]
    near = [[a // b == c // b for c in range(size)] for a in range(size)]
    whole = sum(slope[a][c] for a in range(size) for c in range(size))
    kept = sum(slope[a][c] for a in range(size) for c in range(size) if near[a][c]) / size
    far = sum(chance[a, c] * queries[a] for a in range(size) for c in range(size) if not near[a][c]) / size
    return simplified(whole, kept + far)


# ---- softmax with local negatives


@proof
def thm_local_softmax() -> Iterator[sp.Expr]:
    """The mean of (N-1)/(B-1) times a sum over B-1 of N-1 numbers is the sum over all: any numbers, N = PB <= 6.

    And equal scores: log N - log B - log P. The inequality itself is Jensen's, in words.
    """
    yield sp.expand_log(sp.log(P * B) - sp.log(B) - sp.log(P))
    for p, b in ((2, 2), (3, 2), (2, 3)):
        numbers = sp.symbols(f"x1:{p * b}", positive=True)
        draws = list(itertools.combinations(numbers, b - 1))
        ratio = processes.negatives_ratio(processes=p, batch_size=b)
        mean = sum(ratio * sum(draw) for draw in draws) / sp.Integer(len(draws))
        yield sp.expand(mean - sum(numbers))


@proof
def prop_no_local_softmax() -> Iterator[sp.Expr]:
    """Any functions of B-1 of the negatives, another for each choice: their mean has no mixed derivative of order B.

    And log(a + sum of all PB-1 negatives) has (-1)^(B-1) (B-1)! / (a + sum)^B, which is nowhere 0. P B <= 6.
    """
    positive = sp.Symbol("a", positive=True)
    for p, b in ((2, 1), (3, 1), (2, 2), (3, 2), (2, 3)):
        negatives = sp.symbols(f"x1:{p * b}", positive=True)
        mean = mean_of_local(negatives, b - 1)
        total = positive + sum(negatives)
        slope = (-1) ** (b - 1) * sp.factorial(b - 1) / total**b
        yield from (mean.diff(*negatives[:b]), sp.log(total).diff(*negatives[:b]) - slope)


def mean_of_local(negatives: Sequence[sp.Symbol], count: int) -> sp.Expr:
    """The mean over all choices of `count` negatives of a function of these, named g0, g1, ..."""
    draws = list(itertools.combinations(negatives, count))
    return sum(sp.Function(f"g{at}")(*draw) for at, draw in enumerate(draws)) / sp.Integer(len(draws))


# ---- who meets whom


@proof
def thm_meetings() -> Iterator[sp.Expr]:
    """near + far = p2 (PB) where one draw is dealt out; and the weights of the gathered in-batch grid for each draw.

    Positives weigh (pop - 1)(near + far) + copies and negatives pop (near + far) in the grid of PB rows: counted in
    every step of a 2 x 2 table with three positives, for both draws of `draws`.
    """
    for p, b, size in ((2, 2, 6), (3, 1, 4), (2, 3, 9)):
        dealt = processes.meetings("together", processes=p, batch_size=b, n_positives=size)
        pair = in_batch.inclusion_probability(2, batch_size=p * b, n_positives=size)
        yield sp.sympify(dealt.near + dealt.far - pair)
    yield from [sp.sympify(enumerate_grid("together")), sp.sympify(enumerate_grid("apart"))]


def enumerate_grid(draw: str = "apart") -> Fraction:
    """Squared differences of the expected off-diagonal counts and the formula; two processes, one pair each."""
    cells, p = [(0, 0), (0, 1), (1, 1)], 2
    found = np.full((2, 2), Fraction(0))
    steps = list(itertools.product(cells, repeat=p) if draw == "apart" else itertools.permutations(cells, p))
    for step in steps:
        for a, c in itertools.permutations(range(p), 2):
            found[step[a][0], step[c][1]] += Fraction(1, len(steps))
    met = processes.meetings(draw, processes=p, batch_size=1, n_positives=len(cells))
    labels = np.array([[1, 1], [0, 1]])
    popularity = np.outer(labels.sum(1), labels.sum(0))
    right = (popularity - labels) * (met.near + met.far) + labels * met.copies
    return Fraction(((found - right) ** 2).sum())


# ---- Gramians


@proof
def thm_gramian_of_processes() -> Iterator[sp.Expr]:
    """The mean of the processes' Gramians minus the Gramian of all rows: 1, 2 and 3 processes, rows of two symbols."""
    for p, b in SIZES:
        table = sp.Matrix(p * b, 2, lambda a, c: sp.Symbol(f"u{a}{c}", real=True))
        whole = table.T * table / (p * b)
        parts = [table[r * b : (r + 1) * b, :] for r in range(p)]
        mean = sum((part.T * part / b for part in parts), sp.zeros(2, 2)) / p
        yield from list((mean - whole).expand())


def enumerate_sogram_of_processes() -> Fraction:
    """SOGram fed with the mean of two processes' Gramians minus SOGram fed with all rows, three steps, exactly."""
    rng, alpha, left = np.random.default_rng(0), Fraction(1, 3), Fraction(0)
    alone, running = gramians.SOGram(2, alpha), np.full((2, 2), Fraction(0))
    for _ in range(3):
        rows = np.array([[Fraction(int(x), 3) for x in row] for row in rng.integers(-4, 5, (4, 2))], dtype=object)
        estimate = alone.update(np.arange(4), rows)
        halves = [part.T @ part / Fraction(2) for part in (rows[:2], rows[2:])]
        running = (1 - alpha) * running + alpha * sum(halves) / Fraction(2)
        left += ((estimate - running) ** 2).sum()
    return left


# ---- small parts


def _E(a: int) -> sp.Symbol:
    return sp.Symbol(f"E{a}")


def _D(a: int, c: int) -> sp.Symbol:
    return sp.Symbol(f"D{a}_{c}")


def _query_slope(c: int, a: int) -> sp.Expr:
    """The slope of row a in query c: only row c has query c."""
    return _E(a) if a == c else sp.Integer(0)


def _T(a: int) -> sp.Symbol:
    return sp.Symbol(f"T{a}")
