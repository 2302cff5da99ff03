"""The statements of the chapter, repeated by a machine: each function returns residuals that must be exactly zero."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import sympy as sp

from course_lib.lessons.shared.counterexample import Counterexample
from course_lib.lessons.shared.symbolic import dot, matrix, proof, vector

RATED, FEATURES, WIDTH = 2, 3, 2  # films in the batch, features and coordinates, in what is written out
MOMENTS = range(1, 5)  # even moments of a random cosine that are compared


@proof
def prop_shared_step() -> Iterator[sp.Expr]:
    """One step of gradient descent moves a new film by -eta sum (x_i . x_new) g_i: features, a table, and both.

    The loss is sum |v_i|^4 / 4 over two films of three features, so that g_i = |v_i|^2 v_i; every entry is a symbol.
    With a row for each film beside the features, the rows of rated films change the g_i alone, and the new one stays.
    """
    eta, weights = sp.Symbol("eta"), matrix("w", WIDTH, FEATURES)
    told = [vector(f"x{i}", FEATURES) for i in range(RATED)]
    new, rows = vector("z", FEATURES), matrix("r", WIDTH, RATED + 1)
    for with_rows in (False, True):
        films = [weights * x + (rows[:, i] if with_rows else sp.zeros(WIDTH, 1)) for i, x in enumerate(told)]
        loss = sum((dot(v, v) ** 2 for v in films), sp.Integer(0)) / 4
        moved = weights - eta * weights.applyfunc(lambda entry, loss=loss: sp.diff(loss, entry))
        gradients = [dot(v, v) * v for v in films]
        said = -eta * sum((dot(x, new) * g for x, g in zip(told, gradients, strict=True)), sp.zeros(WIDTH, 1))
        yield from (moved - weights) * new - said
        yield from (sp.diff(loss, entry) for entry in rows[:, RATED])  # a row outside the batch has gradient 0


@proof
def prop_untrained_row() -> Iterator[sp.Expr]:
    """(1 + c) / 2 ~ Beta((d - 1) / 2, (d - 1) / 2) has the moments of a coordinate of a random direction, for every d.

    Even moments up to the eighth: the direction g / |g| of a normal vector g has E c^2k = (2k - 1)!! / (d (d + 2) ...
    (d + 2k - 2)), as |g| and g / |g| are independent. The odd ones are 0. Then the law itself for d = 2 and d = 3. Last
    the place and the first k for d = 3, where the cosine is uniform: counted on each part between the films.
    """
    d, s = sp.Symbol("d", positive=True), sp.Symbol("s", real=True)
    a = (d - 1) / 2

    def raw(power: int) -> sp.Expr:
        return sp.prod([(a + j) / (2 * a + j) for j in range(power)])

    for k in MOMENTS:
        by_law = sum((sp.binomial(2 * k, j) * 2**j * raw(j) * (-1) ** j for j in range(2 * k + 1)), sp.Integer(0))
        yield by_law - sp.factorial2(2 * k - 1) / sp.prod([d + 2 * j for j in range(k)])
        yield sum((sp.binomial(2 * k - 1, j) * 2**j * raw(j) * (-1) ** j for j in range(2 * k)), sp.Integer(0))
    density = (1 - s**2) ** ((d - 3) / 2)
    yield sp.integrate(density.subs(d, 3) / 2, (s, -1, s)) - (1 + s) / 2
    yield sp.diff(1 - sp.acos(s) / sp.pi, s) - density.subs(d, 2) / sp.pi
    cosines = [sp.Rational(*pair) for pair in ((-4, 5), (-1, 3), (1, 2), (5, 7))]
    ends = [sp.Integer(-1), *cosines, sp.Integer(1)]
    parts = {  # place -> the probability of the part where so many films come before
        1 + sum(bool(film > (low + high) / 2) for film in cosines): (high - low) / 2 for low, high in pairwise(ends)
    }
    below = [(1 + film) / 2 for film in cosines]  # F(s_j) for d = 3
    yield sum((place * chance for place, chance in parts.items()), sp.Integer(0)) - (1 + sum(below))
    for k in range(1, len(cosines) + 1):
        first = sum((chance for place, chance in parts.items() if place <= k), sp.Integer(0))
        yield first - (1 - below[-k])


@proof
def prop_new_item_prior() -> Iterator[sp.Expr]:
    """After c ratings in t days a Gamma(a, b) rate has the mean (a + c) / (b + t); c is negative binomial."""
    a, b, t, r = sp.symbols("a b t r", positive=True)
    c = sp.Symbol("c", integer=True, nonnegative=True)

    def integral(power: sp.Expr) -> sp.Expr:
        """Of r^power exp(-(b + t) r) over r from 0."""
        return sp.gamma(power + 1) / (b + t) ** (power + 1)

    yield sp.gammasimp(integral(a + c) / integral(a + c - 1)) - (a + c) / (b + t)
    yield sp.integrate(r**2 * sp.exp(-r * (b + t)), (r, 0, sp.oo)) - integral(sp.Integer(2))
    for many in range(4):
        chance = b**a / sp.gamma(a) * t**many / sp.factorial(many) * integral(a + many - 1)
        said = sp.binomial(a + many - 1, many) * (b / (b + t)) ** a * (t / (b + t)) ** many
        yield sp.expand_func(sp.gammasimp(chance / said.rewrite(sp.gamma))) - 1


def the_floor_does_not_know_the_age() -> Counterexample:
    """No rating today and no rating in thirty days are one number for the floor, and two for a prior."""
    a, b = sp.Rational(1, 2), sp.Integer(10)
    first, later = a / b, a / (b + 30)
    return Counterexample("the days since the film came", sp.Integer(0), first - later, formula=30 * a / (b * (b + 30)))


def features_move_strangers() -> Counterexample:
    """A film that shares a feature with a film of the batch moves, though nobody of the batch has rated it."""
    eta, told, new = sp.Rational(1, 10), sp.Matrix([1, 1]), sp.Matrix([0, 1])
    gradient = sp.Matrix([3, -1])
    return Counterexample(
        "condition (i): features of different films are orthogonal", sp.Integer(0), -eta * dot(told, new) * gradient[0]
    )
