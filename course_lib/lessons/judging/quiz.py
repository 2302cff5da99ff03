"""What is right in the quiz of the chapter: each function gives {answer id: is it right?}."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from course_lib import datasets
from course_lib.interactions import Interactions


def nine_others() -> dict[str, bool]:
    """A film of rank 60 among 101, nine of the 100 others sampled, a list of ten: the chance to be in the list."""
    n, m, k, r = 100, 9, 10, 60
    ways = sum(math.comb(r - 1, j) * math.comb(n - r + 1, m - j) for j in range(min(k, m + 1)))
    found = Fraction(ways, math.comb(n, m))
    answers = {"zero": Fraction(0), "tenth": Fraction(1, 10), "certain": Fraction(1)}
    return {name: value == found for name, value in answers.items()}


def one_of_three() -> dict[str, bool]:
    """The film of rank 2 among itself and three others, one of the others sampled, a list of one: every sample."""
    better, samples = {0}, list(combinations(range(3), 1))
    found = Fraction(sum(not better & set(sample) for sample in samples), len(samples))
    answers = {"zero": Fraction(0), "third": Fraction(1, 3), "two-thirds": Fraction(2, 3), "one": Fraction(1)}
    return {name: value == found for name, value in answers.items()}


def which_know_the_future() -> dict[str, bool]:
    """After which splits a training pair, or what chose the films, is later than some test pair: the embedded films."""
    pairs = datasets.load("movietweetings", min_rating=7, core=10)

    def late(train: Interactions, test: Interactions) -> bool:
        assert train.times is not None and test.times is not None
        return bool(train.times.max() > test.times.min())

    everything = datasets.load("movietweetings", min_rating=7)
    earlier, _ = everything.split_by_time(0.9)
    of_all = np.isin(np.asarray(everything.item_names), np.asarray(pairs.item_names))  # films of the core of all pairs
    return {
        "random": late(*pairs.split_random(0.9, np.random.default_rng(0))),
        "leave-last": late(*pairs.split_leave_last()),
        "moment": late(*pairs.split_by_time(0.9)),
        "core": bool((of_all != (earlier.k_core(10).col_counts > 0)).any()),
    }


def more_seeds() -> dict[str, bool]:
    """The error of a mean over 800 people and 5 seeds, then 20: 0.17 a person, 0.002 a seed."""
    few, many = (math.hypot(0.17 / math.sqrt(800), 0.002 / math.sqrt(seeds)) for seeds in (5, 20))
    answers = {"half": 0.5, "hardly": 1.0, "tiny": 0.0}
    return {name: abs(value - many / few) < 0.05 for name, value in answers.items()}


def twelve_tests() -> dict[str, bool]:
    """The chance that at least one of twelve independent tests of nothing is below 5 %: every pattern of outcomes."""
    found = math.fsum(
        math.prod(0.05 if below else 0.95 for below in outcome)
        for outcome in product((False, True), repeat=12)
        if any(outcome)
    )
    answers = {"five": 0.05, "sixty": 0.60, "half": 0.46}
    return {name: abs(value - found) < 0.005 for name, value in answers.items()}
