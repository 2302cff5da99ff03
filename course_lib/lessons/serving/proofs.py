"""Proofs of the chapter on serving: residuals that are 0, and enumerations that find nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import sympy as sp

from course_lib.lessons.shared.symbolic import largest, matrix, proof, vector

Row = tuple[int, ...]
HALVES = (Fraction(-1), Fraction(-1, 3), Fraction(0), Fraction(1, 2), Fraction(1))  # of half a step


@proof
def prop_one_more_coordinate() -> Iterator[sp.Expr]:
    """|u' - v'|^2 - (|u|^2 + M^2 - 2 <u, v>) with v' = (v, sqrt(M^2 - |v|^2)) and u' = (u, 0), for widths 1 to 4.

    In inner products first, for every width: |u|^2 - 2 <u, v> + |v|^2 + (M^2 - |v|^2).
    """
    uu, uv, vv, bound = sp.symbols("uu uv vv M2", positive=True)
    yield (uu - 2 * uv + vv) + (bound - vv) - (uu + bound - 2 * uv)
    for d in (1, 2, 3, 4):
        u, v = vector("u", d), vector("v", d)
        more = sp.sqrt(bound - v.dot(v))
        yield (u - v).dot(u - v) + more**2 - (u.dot(u) + bound - 2 * u.dot(v))


@largest
def enumerate_one_more_coordinate() -> Iterator[Fraction]:
    """For each query and pair of items with entries -2 to 2: 1 where the orders by product and by distance differ.

    The square of the last coordinate is a whole number, and the query has 0 there: squared distances are exact.
    """
    rows = list(itertools.product(range(-2, 3), repeat=2))
    longest = max(_dot(v, v) for v in rows)
    for u, v, w in itertools.product(rows, repeat=3):
        product = _dot(u, v) - _dot(u, w)
        distance = _lifted(u, w, longest) - _lifted(u, v, longest)
        yield Fraction(int(_sign(product) != _sign(distance)))


@proof
def prop_cells_of_directions() -> Iterator[sp.Expr]:
    """A cell that fits best fits best at every length: <c, lv> - <c', lv> - l (<c, v> - <c', v>), for l > 0.

    And the length at which the film reaches a score: l |u| cos - s at l = s / (|u| cos).
    """
    length, cosine, score, asker = sp.symbols("l cos s u", positive=True)
    for d in (2, 3):
        v, c, other = vector("v", d), vector("c", d), vector("b", d)
        yield c.dot(length * v) - other.dot(length * v) - length * (c.dot(v) - other.dot(v))
    yield (length * asker * cosine - score).subs(length, score / (asker * cosine))


@largest
def enumerate_cells_of_directions() -> Iterator[Fraction]:
    """Films on rational directions, four cells, lengths 1 to 5: 1 where a length changes the cell of a film."""
    points = [(3, 4), (4, 3), (-3, 4), (4, -3), (5, 0), (0, 5), (-5, 0), (0, -5), (-4, -3)]
    for centroids in itertools.combinations(points, 4):
        for film, length in itertools.product(points, range(1, 6)):
            longer = tuple(length * x for x in film)
            cells = [_best(centroids, row) for row in (film, longer)]
            yield Fraction(int(cells[0] != cells[1]))


@largest
def thm_certified_int8() -> Iterator[Fraction]:
    """The two steps of the proof, in fractions: how far a score moves, and that the certificate loses nothing.

    All queries (u_1, u_2) with entries -2 to 2 and all errors of at most half a step: the excess over the bound. Then
    all exact scores of five items from 0 to 3, all errors -1, 0, 1 with bound 1: 1 where the certificate of the k best
    among the first N holds and an item beyond them belongs to the k best.
    """
    steps = (Fraction(1, 3), Fraction(2, 5))
    for u in itertools.product(range(-2, 3), repeat=2):
        bound = sum((abs(x) * step for x, step in zip(u, steps, strict=True)), Fraction(0)) / 2
        for parts in itertools.product(HALVES, repeat=2):
            moved = sum((x * part * step / 2 for x, part, step in zip(u, parts, steps, strict=True)), Fraction(0))
            yield max(Fraction(0), abs(moved) - bound)
    errors = np.array(list(itertools.product((-1, 0, 1), repeat=4)))  # (E, 4)
    for exact in itertools.product(range(0, 8, 2), repeat=4):
        for rounded in np.array(exact) + errors:
            order = np.argsort(-rounded, kind="stable")
            for k, n in ((1, 1), (1, 2), (2, 2), (2, 3)):
                if rounded[order[k - 1]] - rounded[order[n]] > 2:
                    inside = sorted((exact[i] for i in order[:n]), reverse=True)
                    yield Fraction(int(max(exact[i] for i in order[n:]) >= inside[k - 1]))


@proof
def prop_prefix_gauge() -> Iterator[sp.Expr]:
    """Two numbers cut to one: scores M = diag(s1, s2), U = A and V^T = A^-1 M for every invertible A.

    The error |M - a1 b1^T M|^2 is |a2|^2 |b2^T M|^2, where b are the rows of A^-1; with (a2, b2) = 1 by Lagrange
    |a2|^2 |b2|^2 = 1 + (a2 x b2)^2, and |b2^T M|^2 = s2^2 |b2|^2 + (s1^2 - s2^2) b21^2. So it is at least s2^2 where
    s1 >= s2 > 0. And cut in the SVD gauge, three numbers lose exactly the squares of the singular values cut off.
    """
    s1, s2, s3 = sp.symbols("s1 s2 s3", positive=True)
    A, M = matrix("a", 2, 2), sp.diag(s1, s2)
    B = A.inv()
    a2, b2 = A[:, 1], B[1, :]
    error = M - A[:, 0] * B[0, :] * M
    size = sum(x**2 for x in error)
    rest = b2 * M
    yield size - a2.dot(a2) * rest.dot(rest)
    yield b2.dot(a2) - 1
    yield a2.dot(a2) * b2.dot(b2) - 1 - (a2[0] * b2[1] - a2[1] * b2[0]) ** 2
    yield rest.dot(rest) - s2**2 * b2.dot(b2) - (s1**2 - s2**2) * b2[0] ** 2
    root = sp.diag(*(sp.sqrt(s) for s in (s1, s2, s3)))
    for r in (1, 2):
        cut = root * root - root[:, :r] * root[:, :r].T
        yield sum(x**2 for x in cut) - sum(s**2 for s in (s1, s2, s3)[r:])


def _dot(a: Row, b: Row) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _lifted(u: Row, v: Row, longest: int) -> int:
    """|u' - v'|^2, whose last coordinate adds M^2 - |v|^2."""
    gap = tuple(x - y for x, y in zip(u, v, strict=True))
    return _dot(gap, gap) + longest - _dot(v, v)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _best(centroids: tuple[Row, ...], row: Row) -> int:
    """The centroid with the largest product; of equal ones the first."""
    return max(range(len(centroids)), key=lambda k: (_dot(centroids[k], row), -k))
