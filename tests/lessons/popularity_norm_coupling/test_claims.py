"""The statements of P0 in this chapter, each recomputed; the lesson's claims.yml names these tests.

Formulas are written out here as the paper prints them, with torch's own layers and optimisers, and never taken from
`course_lib`: where the library states the same, a test compares the two. Exact arithmetic wherever a statement is
exact.
"""

import itertools
import math
from fractions import Fraction as F

import pytest

from course_lib.checking import some
from course_lib.papers import p0

# ---- Section 3 and Appendix C: popularity


def test_enumerate_a_slot_draws_an_item_in_proportion_to_its_count():
    counts = {"a": 3, "b": 1, "c": 2}
    interactions = [item for item, count in counts.items() for _ in range(count)]
    for item, count in counts.items():
        assert F(sum(drawn == item for drawn in interactions), len(interactions)) == F(count, 6)
    # batches cut from one shuffled pass are not i.i.d.: in every pass each item comes exactly as often as it occurs
    passes = set(itertools.permutations(interactions))
    appearances = {sum("a" in order[i : i + 2] for i in (0, 2, 4)) for order in passes}
    assert appearances == {2, 3} and 1 - (1 - F(3, 6)) ** 2 == F(3, 4)  # (30) would put 9/4 batches out of three


def test_enumerate_eq32_eq33_eq34_for_fixed_increments():
    """f(n) = |q_0|^2 + delta_1 + ... + delta_n along the coupling: path by path, and in expectation."""
    deltas, start = [F(0), F(3), F(1, 2)], F(2)
    f = [start + sum(deltas[:n]) for n in range(4)]
    assert all(a <= b for a, b in some(itertools.pairwise(f)))
    rates = (F(1, 6), F(2, 6), F(5, 6), F(1))
    means = [sum(math.comb(3, n) * pi**n * (1 - pi) ** (3 - n) * f[n] for n in range(4)) for pi in rates]
    assert all(a < b for a, b in some(itertools.pairwise(means)))
    paths = itertools.product(range(6), repeat=3)
    assert all(f[sum(u < 2 for u in path)] <= f[sum(u < 5 for u in path)] for path in paths)  # (33)
    # the same with any weights that are not negative and any f that does not fall: nothing of training is used
    flat = [start] * 4
    assert sum(math.comb(3, n) * F(1, 6) ** 3 * 5 ** (3 - n) * flat[n] for n in range(4)) == start


# ---- Section 4 and 5: experiments


def test_shares_below_chance_and_correlations_that_any_large_catalogue_calls_significant():
    """Experiment 9: 0.007 of the top 100 are top 1 % items, fewer than in a list drawn at random.

    p < 0.05 needs |r| < 0.01.
    """
    assert p0.share_against_chance(9, "share_dot") == p0.share_against_chance(9, "share_cos") == pytest.approx(0.7)
    assert p0.smallest_significant_correlation(80_000) < 0.01
    assert min(p0.printed(8, "pearson"), p0.printed(10, "pearson")) > 50 * p0.smallest_significant_correlation(80_000)
