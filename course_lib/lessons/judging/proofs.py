"""Sampled metrics, exactly: every sample of small catalogues, and why no function of a sample mends them.

A hidden film has rank r among itself and N others, so r - 1 of the others are better. J of m sampled others are better.
Ranks have no ties. Everything is whole numbers and fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise
from math import comb

import sympy as sp

from course_lib.lessons.shared.counterexample import Counterexample
from course_lib.lessons.shared.symbolic import proof

MOST = 6  # other films, in what is enumerated


def hit(r: int, n: int, m: int, k: int) -> Fraction:
    """The probability that a film of rank r is among the best k of itself and m of n others: the sum of the chapter."""
    ways = sum(comb(r - 1, j) * comb(n - r + 1, m - j) for j in range(min(k, m + 1)))
    return Fraction(ways, comb(n, m))


def hit_by_counting(r: int, n: int, m: int, k: int) -> Fraction:
    """The same by going through every sample: others 0, 1, ... in order of rank, so that the first r - 1 are better."""
    samples = list(combinations(range(n), m))
    return Fraction(sum(sum(other < r - 1 for other in sample) < k for sample in samples), len(samples))


@proof
def prop_sampled_hit() -> Iterator[Fraction]:
    """The sum against every sample, for up to six others and every rank, sample size and length of the list."""
    for n in range(1, MOST + 1):
        for m in range(1, n + 1):
            yield from (hit(r, n, m, k) - hit_by_counting(r, n, m, k) for r in range(1, n + 2) for k in range(1, n + 2))


def flips(people: int, n: int) -> list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]:
    """Every (k, m, first, second) with first ahead by the hits among all and second ahead by the sampled hits.

    first, second: the ranks that two models give to one hidden film of each person, in ascending order.
    """
    found = []
    rankings = list(combinations_with_replacement(range(1, n + 2), people))
    for m in range(1, n):
        for k in range(1, n + 1):
            full = {ranks: sum(r <= k for r in ranks) for ranks in rankings}
            sampled = {ranks: sum(hit(r, n, m, k) for r in ranks) for ranks in rankings}
            found += [
                (k, m, one, two)
                for one in rankings
                for two in rankings
                if full[one] > full[two] and sampled[one] < sampled[two]
            ]
    return found


@proof
def prop_smallest_flip() -> Iterator[int]:
    """No flip for one person with up to six others, nor for two people with one or two others; each that is named."""
    yield from (len(flips(1, n)) for n in range(1, MOST + 1))
    yield from (len(flips(2, n)) for n in (1, 2))
    yield int((1, 1, (1, 4), (2, 2)) not in flips(2, 3))
    yield int((1, 1, (1, 3, 3), (2, 2, 2)) not in flips(3, 2))
    # the hit falls in the rank, which is why one person alone never flips
    for n in range(1, MOST + 1):
        for m in range(1, n + 1):
            values = [[hit(r, n, m, k) for r in range(1, n + 2)] for k in range(1, n + 1)]
            yield sum(a < b for row in values for a, b in pairwise(row))


def two_people() -> Counterexample:
    """ "The better model has the better sampled metric": two people, three others, samples of one, lists of one."""
    first, second = (1, 4), (2, 2)
    sampled = [sum(hit(r, 3, 1, 1) for r in ranks) for ranks in (first, second)]
    order = [sum(r <= 1 for r in ranks) for ranks in (first, second)]
    return Counterexample("all others are ranked", order[0] - order[1], sampled[0] - sampled[1], Fraction(-4, 3))


@proof
def thm_no_repair() -> Iterator[Fraction | int]:
    """The two computations of the proof, for up to six others.

    (m+1)-th differences in r of P(J = j) vanish, so those of the mean of any f(J) do; and the same difference of
    1{r <= k} over a window with i + 1 ranks up to k is (-1)^i C(m, i).
    """
    for n in range(2, MOST + 1):
        for m in range(1, n):
            law = [[comb(r - 1, j) * comb(n - r + 1, m - j) for r in range(1, n + 2)] for j in range(m + 1)]
            for start in range(n - m):
                window = range(m + 2)
                yield from (sum((-1) ** t * comb(m + 1, t) * values[start + t] for t in window) for values in law)
    for m in range(1, 12):
        yield from (
            sum((-1) ** t * comb(m + 1, t) for t in range(i + 1)) - (-1) ** i * comb(m, i) for i in range(m + 1)
        )


def enumerate_no_repair() -> int:
    """How many (N, m, k), N up to five, break the theorem by exact linear algebra: unsolvable if and only if m < N."""
    wrong = 0
    for n in range(1, 6):
        for m in range(1, n + 1):
            law = sp.Matrix([[comb(r, j) * comb(n - r, m - j) for j in range(m + 1)] for r in range(n + 1)]) / comb(
                n, m
            )
            for k in range(1, n + 1):
                target = sp.Matrix([int(r < k) for r in range(n + 1)])
                solvable = law.row_join(target).rank() == law.rank()
                wrong += solvable != (m == n)
    return wrong


def least_error(m: int, i: int) -> Fraction:
    """The theorem's bound: the largest error over a window of ranks is at least C(m, i) / 2^(m + 1)."""
    return Fraction(comb(m, i), 2 ** (m + 1))
