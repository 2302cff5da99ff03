"""What lists show, sampled metrics and index recall, each against its definition counted out."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from course_lib import metrics
from course_lib.interactions import Interactions
from course_lib.metrics import sampled


@given(st.lists(st.lists(st.integers(-1, 5), min_size=3, max_size=3), min_size=1, max_size=6))
def test_coverage_and_gini_are_their_definitions(lists: list[list[int]]) -> None:
    shown = [item for row in lists for item in row if item >= 0]
    assert metrics.coverage(lists, 6) == len(set(shown)) / 6
    if shown:
        places = [shown.count(item) for item in range(6)]
        spread = Fraction(sum(abs(a - b) for a in places for b in places), 2 * 6 * sum(places))
        assert metrics.gini(lists, 6) == pytest.approx(float(spread), abs=1e-15)


def test_overlap_leaves_out_empty_lists_and_the_places_without_an_item() -> None:
    assert metrics.overlap([[3, -1], [-1, -1], [0, 1]], [[3, -1], [0, 1], [2, 0]]) == (1 + 1 / 2) / 2


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_sampled_hits_by_visiting_every_sample(m: int) -> None:
    n = 5
    for rank in range(1, n + 2):
        samples = [sum(other < rank - 1 for other in sample) for sample in combinations(range(n), m)]
        for k in range(1, n + 2):
            expected = Fraction(sum(better < k for better in samples), len(samples))
            assert metrics.sampled_hit([rank], n, m, k)[0] == pytest.approx(float(expected), abs=1e-14)


@pytest.mark.parametrize("gamma", [0.0, 0.2, 0.7, 1.0])
def test_the_estimate_has_the_least_of_squared_bias_and_gamma_variances(gamma: float) -> None:
    """A convex quadratic in the values of f: no value that is moved a little makes it less."""
    n, m, k = 7, 3, 2
    law, step = sampled.better_in_sample(np.arange(1, n + 2), n, m), np.arange(1, n + 2) <= k

    def cost(f: Any) -> float:
        mean = law @ f
        return float(((mean - step) ** 2 + gamma * (law @ f**2 - mean**2)).mean())

    best = metrics.estimate_hit(np.arange(m + 1), n, m, k, gamma=gamma)
    assert all(cost(best + move) > cost(best) for move in np.concatenate([np.eye(m + 1), -np.eye(m + 1)]) * 1e-3)


def test_places_without_an_item_are_no_places_of_an_exact_list() -> None:
    """Three exact items, of which the index finds one; a -1 in both lists is not found."""
    exact, found = [[0, -1, -1], [1, 2, -1]], [[0, -1, -1], [3, -1, -1]]
    assert metrics.index_recall(found, exact) == pytest.approx(1 / 3)
    assert metrics.index_recall(found, exact, groups=[0, 0, 1, 1]).tolist() == [1 / 2, 0.0]


def test_leave_last_takes_the_latest_of_each_user() -> None:
    data = Interactions(
        [0, 0, 0, 1, 2, 2], [0, 1, 2, 0, 1, 3], n_users=4, n_items=4, times=[5.0, 9.0, 9.0, 1.0, 8.0, 2.0]
    )
    train, test = data.split_leave_last()
    assert test.pairs.tolist() == [[0, 2], [2, 1]]
    assert train.pairs.tolist() == [[0, 0], [0, 1], [1, 0], [2, 3]]
    assert train.shape == test.shape == data.shape
    assert data.split_leave_last(2)[1].pairs.tolist() == [[0, 1], [0, 2]]


LISTS: Any = [[0, 1]]
timeless = Interactions([0], [0], n_users=1, n_items=1)
timed = Interactions([0, 0], [0, 1], n_users=1, n_items=2, times=[1.0, 2.0])


test_bad_input_is_named = refused(
    (lambda: metrics.coverage([[0, 7]], 3), "lists holds 7; expected items in 0..2"),
    (lambda: metrics.coverage([[0.5]], 3), "lists has shape"),
    (lambda: metrics.gini([[-1]], 3), "expected at least one item"),
    (lambda: metrics.overlap(LISTS, [[0], [1]]), "others 2"),
    (lambda: metrics.sampled_hit([0], 3, 1, 1), "ranks holds 0"),
    (lambda: metrics.sampled_hit([1], 3, 4, 1), "m .*the number of other items"),
    (lambda: metrics.estimate_hit([3], 5, 2, 1), "better"),
    (lambda: metrics.estimate_hit([1], "5", 2, 1), "n_others is '5'"),
    (lambda: metrics.index_recall(LISTS, LISTS, [0]), "groups has 1 entries"),
    (lambda: metrics.index_recall(LISTS, LISTS, [0, 2]), "no item of group 1"),
    (lambda: metrics.index_recall(LISTS, LISTS, [[0], [1, 2]]), "^groups is"),
    (lambda: metrics.estimate_hit([[0], [1, 2]], 5, 2, 1), "^better is"),
    (timeless.split_leave_last, "times is None"),
    (lambda: metrics.popularity_scores([(0, 0)]), "train"),  # type: ignore[arg-type]
    (lambda: metrics.popularity_scores(timeless, lately=1.0), "lately"),
    (lambda: metrics.popularity_scores(timeless, lately=0.5), "^lately is 0.5; expected a train with times"),
    (lambda: metrics.popularity_scores(timed, lately=1e-9), "^lately is 1e-09; expected a train with times on both"),
    (lambda: metrics.coverage([[0], [0, 1]], 3), "^lists is .* expected an array, whose rows are of one length"),
)
