"""The statements of the chapter as residuals that are exactly zero.

p is the law of a person's film, q that of a candidate, s a score; a loss is least where its gradient is 0, because
each loss here is convex in the scores.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from course_lib.lessons.shared.symbolic import dot, largest, matrix, proof


def slot_gradient(p: Sequence[Any], q: Sequence[Any], weights: Sequence[Any], m: int) -> list[Any]:
    """(n,) the gradient of the expected cross entropy in each score, at exp(score + shift) = weights.

    The film y comes with probability p, each of m candidates beside it with probability q, and the softmax is over
    all m + 1 of them. Sums and quotients only, so that Fractions and symbols both work.
    """
    n = len(p)
    slope: list[Any] = [0] * n
    for own, *others in itertools.product(range(n), repeat=m + 1):
        chance = p[own]
        for other in others:
            chance = chance * q[other]
        total = sum(weights[film] for film in (own, *others))
        for film in (own, *others):
            slope[film] = slope[film] + chance * weights[film] / total
        slope[own] = slope[own] - chance
    return slope


@proof
def thm_which_slot() -> Iterator[sp.Expr]:
    """The gradient is 0 at exp(s + c) = p / q, with two candidates out of three films: p, q any positive numbers."""
    p, q = sp.symbols("p_1:4", positive=True), sp.symbols("q_1:4", positive=True)
    slope = slot_gradient(p, q, [a / b for a, b in zip(p, q, strict=True)], 2)
    yield from (sp.cancel(sp.together(part)) for part in slope)


def law(*parts: int) -> list[Fraction]:
    """Probabilities in the ratio of whole numbers."""
    return [Fraction(part, sum(parts)) for part in parts]


@largest
def enumerate_which_slot() -> Iterator[Fraction]:
    """The largest slope at the optimum: up to four films, one to three candidates, any set of them; exact."""
    for p, q in ((law(3, 1), law(1, 4)), (law(5, 2, 1), law(1, 1, 4)), (law(1, 2, 3, 4), law(4, 2, 2, 1))):
        for m in (1, 2, 3):
            yield from map(abs, slot_gradient(p, q, [a / b for a, b in zip(p, q, strict=True)], m))


@proof
def prop_batches_in_time() -> Iterator[sp.Expr]:
    """With p_k = a q_k / sum(a q_k) in each window k: one table of scores, log a, is the optimum of both windows.

    Residuals: the gradient of either window at exp(s) = a, three films, one candidate; and a q_now / sum - p_now.
    """
    a = sp.symbols("a_1:4", positive=True)
    for window in ("q", "r"):
        q = sp.symbols(f"{window}_1:4", positive=True)
        total = sum(x * y for x, y in zip(a, q, strict=True))
        p = [x * y / total for x, y in zip(a, q, strict=True)]
        share = [y / sum(q) for y in q]
        yield from (sp.cancel(sp.together(part)) for part in slot_gradient(p, share, a, 1))
        served = [x * y for x, y in zip(a, q, strict=True)]
        yield from (value / sum(served) - chance for value, chance in zip(served, p, strict=True))


@proof
def prop_temperature_floor() -> Iterator[sp.Expr]:
    """The identity, the inequality as a sum of squares, the convexity, and the simplex, where equality holds.

    For n = 2 to 4 pairs in the plane: positives minus the mean of the others = n/(n-1) times the mean of centred
    products; 2 - 2 (u - a)(v - b) averaged, at |u| = |v| = 1, is a sum of squares. The second derivative of
    log(1 + (n-1) exp x) is positive as written. A simplex of n = 2 to 5 points: its loss is the floor.
    """
    for n in (2, 3, 4):
        u, v = matrix("u", n, 2), matrix("v", n, 2)
        ones = sp.ones(1, n) / n
        centred = dot(u - sp.ones(n, 1) * (ones * u), v - sp.ones(n, 1) * (ones * v)) / n
        grid = u * v.T
        own = grid.trace() / n
        others = (sum(grid) - grid.trace()) / (n * (n - 1))
        yield sp.expand(own - others - sp.Rational(n, n - 1) * centred)
        lengths = (dot(u, u) + dot(v, v)) / n
        left = u - sp.ones(n, 1) * (ones * u) - v + sp.ones(n, 1) * (ones * v)
        means = dot(ones * u, ones * u) + dot(ones * v, ones * v)
        yield sp.expand(lengths - 2 * centred - dot(left, left) / n - means)
    x, size, tau = sp.symbols("x n tau", positive=True)
    bent = sp.diff(sp.log(1 + (size - 1) * sp.exp(x)), x, 2)
    yield sp.simplify(bent - (size - 1) * sp.exp(x) / (1 + (size - 1) * sp.exp(x)) ** 2)
    for n in range(2, 6):
        gram = sp.Matrix(n, n, lambda i, j, n=n: 1 if i == j else -sp.Rational(1, n - 1))
        loss = sp.log(sum(sp.exp(score / tau) for score in gram[0, :])) - gram[0, 0] / tau
        floor = sp.log(1 + (n - 1) * sp.exp(-sp.Rational(n, n - 1) / tau))
        yield sp.simplify(sp.expand(sp.exp(loss) - sp.exp(floor), power_exp=True))


@proof
def prop_one_budget() -> Iterator[sp.Expr]:
    """Mean squared plus variance is the mean of squares; Cauchy and Schwarz as a square; |v - w|^2 + |v + w|^2 = 4.

    For two to four people in the plane, with |u| = |v| = |w| = 1 put in where it is used. The bound is 4 - |v + w|^2.
    """
    v, w = matrix("v", 1, 2), matrix("w", 1, 2)
    apart = v - w
    for people in (2, 3, 4):
        u = matrix("u", people, 2)
        gaps = list(u * apart.T)
        mean = sum(gaps) / people
        variance = sum((gap - mean) ** 2 for gap in gaps) / people
        yield sp.expand(mean**2 + variance - sum(gap**2 for gap in gaps) / people)
        for row, gap in enumerate(gaps):
            beside = u[row, 0] * apart[1] - u[row, 1] * apart[0]
            yield sp.expand(dot(u[row, :], u[row, :]) * dot(apart, apart) - gap**2 - beside**2)
    yield sp.expand(dot(apart, apart) + dot(v + w, v + w) - 2 * dot(v, v) - 2 * dot(w, w))


@proof
def gradient_without_the_positive() -> Iterator[sp.Expr]:
    """The gradient of the full softmax = (1 - p) that of the loss whose sum leaves the positive out, p its probability.

    For three and four films. Sampled with importance weights, the right side is the refined logQ of 2025.
    """
    for n in (3, 4):
        s = sp.symbols(f"s_1:{n + 1}", real=True)
        total = sum(map(sp.exp, s))
        full, without = sp.log(total) - s[0], sp.log(total - sp.exp(s[0])) - s[0]
        for score in s:
            yield sp.diff(full, score) - (1 - sp.exp(s[0]) / total) * sp.diff(without, score)
