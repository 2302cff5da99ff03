"""Items that are new: their features, the place of an untrained row, the prior of their ratings, and the split."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refused import refused
from scipy import stats

from course_lib import new_items
from course_lib.interactions import Interactions
from course_lib.new_items import GammaPrior
from course_lib.training.on_features import feature_tables, served_items
from course_lib.training.on_pairs import cosine_tables


def test_the_place_is_that_of_drawn_directions() -> None:
    rng = np.random.default_rng(0)
    scores, width = rng.uniform(-0.7, 0.9, 40), 8
    drawn = rng.standard_normal((20_000, width))
    cosines = drawn[:, 0] / np.linalg.norm(drawn, axis=1)
    place, chance = new_items.expected_place(scores, width, k=5)
    assert float(place) == pytest.approx(1 + (scores > cosines[:, None]).sum(axis=1).mean(), abs=0.25)
    assert float(chance) == pytest.approx((cosines > np.sort(scores)[-5]).mean(), abs=0.005)
    assert float(new_items.expected_place(np.zeros(10), width, k=1)[0]) == pytest.approx(6)
    square = scores[:36].reshape(6, 6)  # a row for each user
    each = [new_items.expected_place(row, width, k=2) for row in square]
    np.testing.assert_allclose(new_items.expected_place(square, width, k=2), np.transpose(each))


def test_a_random_cosine_is_uniform_in_space_and_an_angle_in_the_plane() -> None:
    scores = np.array([-0.8, 0.1, 0.6])
    for width, below in ((3, (1 + scores) / 2), (2, 1 - np.arccos(scores) / np.pi)):
        place, chance = new_items.expected_place(scores, width, k=2)
        assert (float(place), float(chance)) == (pytest.approx(1 + below.sum()), pytest.approx(1 - below[1]))


@pytest.mark.seconds
def test_a_prior_is_found_again() -> None:
    rng = np.random.default_rng(1)
    days = rng.uniform(2, 20, 20_000)
    prior = GammaPrior.fit(rng.poisson(rng.gamma(0.3, 1 / 1.5, 20_000) * days), days)
    assert (prior.shape, prior.rate) == (pytest.approx(0.3, rel=0.06), pytest.approx(1.5, rel=0.12))
    np.testing.assert_allclose(
        prior.mean([0, 3], [0, 6]), [prior.shape / prior.rate, (prior.shape + 3) / (prior.rate + 6)]
    )


def test_a_law_of_items_watched_equally_long_has_their_mean_however_uneven_they_are() -> None:
    """The likelihood is greatest where the means agree, here with one hit among fifty items that nobody saw."""
    counts = np.array([0] * 50 + [2000])
    prior = GammaPrior.fit(counts, np.full(51, 4.0))
    assert prior.mean([0], [0])[0] == pytest.approx(counts.mean() / 4, rel=1e-4)


def test_features_are_unit_rows_of_genres_and_years() -> None:
    rows, columns = new_items.film_features(["A (1940)", "B (2013)", "C (2004)"], ["Drama", "", "Comedy|Drama"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    named = [{columns[at] for at in np.flatnonzero(row)} for row in rows]
    assert named == [
        {"Drama", "from 1950", "every film"},
        {"from 2013", "every film"},
        {"Comedy", "Drama", "from 2000", "every film"},
    ]


def tiny() -> Interactions:
    """Four people, three films and a fourth that comes late; film 3 gets a low rating first."""
    users, items = [0, 1, 2, 0, 1, 2, 0, 1, 3, 2], [0, 0, 0, 1, 1, 1, 2, 3, 3, 3]
    values = [9, 9, 9, 9, 9, 9, 9, 3, 9, 8]
    titles = {"name": np.array(["a", "b", "c", "d"])}
    times = np.arange(10.0)
    return Interactions(users, items, n_users=4, n_items=4, times=times, ratings=values, item_table=titles)


def test_new_films_have_no_rating_before_the_cut_and_no_pair_to_learn_from() -> None:
    found = new_items.new_by_time(tiny(), 0.8, length=0.2, core=2)
    assert found.items[found.new].tolist() == [3] and found.train.col_counts[found.new].tolist() == [0]
    assert found.users.tolist() == [0, 1, 2] and found.items.tolist() == [0, 1, 3]
    assert found.train.item_names.tolist() == ["a", "b", "d"]
    assert found.later.pairs.tolist() == [[2, 2]]  # person 3 is not known, and person 1 did not like film 3
    assert found.train.times.max() < found.cut <= found.later.times.min()


def test_a_film_that_was_disliked_before_the_cut_is_not_new() -> None:
    users, items, values = [0, 1, 2, 0, 1, 2, 3, 0, 1], [0, 0, 0, 1, 1, 1, 2, 2, 3], [9, 9, 9, 9, 9, 9, 3, 9, 9]
    ratings = Interactions(users, items, n_users=4, n_items=4, times=np.arange(9.0), ratings=values)
    found = new_items.new_by_time(ratings, 0.8, length=0.2, core=2)
    assert 6 < found.cut < 7  # film 2 has a low rating at 6, and is liked at 7
    assert found.items.tolist() == [0, 1, 3] and found.new.tolist() == [False, False, True]


@pytest.mark.parametrize("core", [1, 2])
def test_a_pair_at_the_very_cut_is_a_later_one(core: int) -> None:
    found = new_items.new_by_time(tiny(), 0.75, length=0.25, core=core)
    assert found.cut == 6.0 and found.train.times.max() == 5.0 and found.later.times.min() == 6.0
    assert found.items[found.new].tolist() == [2, 3]


def test_later_pairs_end_where_the_next_part_begins() -> None:
    users, items = [0, 1, 0, 2, 0, 1, 1, 2], [0, 0, 1, 0, 2, 2, 1, 1]  # film 2 is new at 4
    ratings = Interactions(users, items, n_users=3, n_items=3, times=np.arange(8.0), ratings=np.full(8, 9))
    found = new_items.new_by_time(ratings, 0.5, length=0.25, core=1)
    assert found.later.times.tolist() == [4, 5] and 5 < found.end < 6


def test_the_core_counts_pairs_before_the_cut_alone() -> None:
    users, items = [0, 1, 2, 0, 1, 2, 0, 0, 1, 2], [0, 0, 0, 1, 1, 1, 2, 3, 2, 2]  # film 2: once before 7, then twice
    times = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]
    ratings = Interactions(users, items, n_users=3, n_items=4, times=times, ratings=np.full(10, 9))
    found = new_items.new_by_time(ratings, 0.7, length=0.3, core=2)
    assert 6 < found.cut < 8 and found.items.tolist() == [0, 1, 3] and len(found.train) == 6


@pytest.mark.seconds
def test_without_features_the_tables_are_those_of_the_pairs_alone() -> None:
    train = Interactions([0, 0, 1, 1, 2], [0, 1, 1, 2, 3], n_users=3, n_items=5)
    log_q = torch.tensor([-1.0, -0.5, -1.0, -2.0, 0.0])
    users, rows, weights = feature_tables(train, np.zeros((5, 2)), log_q=log_q, width=4, passes=2, batch=8)
    start = cosine_tables(train, log_q=log_q, width=4, passes=0)
    assert users.shape == start[0].shape and torch.equal(rows[4], start[1][4])  # film 4 stays where it was drawn
    assert not torch.equal(rows[0], start[1][0])
    new = np.array([False, False, False, False, True])
    assert torch.equal(served_items(rows, np.zeros((5, 2)), weights, new)[:4], rows[:4])


@pytest.mark.parametrize("drop", [0.0, 0.3])
def test_each_film_of_a_batch_is_left_its_features_alone_as_often_as_is_said(drop: float) -> None:
    """A row that was left out has no slope, so that Adam's first step leaves it where it was drawn."""
    films = np.arange(400)
    train = Interactions(films, films, n_users=400, n_items=400)
    features = np.random.default_rng(0).normal(size=(400, 3))
    start = feature_tables(train, features, drop=drop, width=4, passes=0)[1]
    rows = feature_tables(train, features, drop=drop, width=4, passes=1, batch=400)[1]
    left_out = int((rows == start).all(dim=1).sum())
    assert left_out == 0 if not drop else stats.binomtest(left_out, 400, drop).pvalue > 1e-3


test_nonsense_is_named = refused(
    (lambda: new_items.film_years([""]), r"names\[0\] is ''"),
    (lambda: new_items.film_features(["A (1990)"], ["Horor"], known=["Horror"]), r"genres\[0\] holds 'Horor'"),
    (lambda: new_items.film_features(["A (1990)"], []), "genres has 0 entries"),
    (lambda: new_items.film_years("Alien (1979)"), "names is 'Alien .1979.'; expected a sequence of texts"),
    (lambda: new_items.film_features(["A (1990)"], [None]), r"genres\[0\] is None; expected a text"),
    (lambda: new_items.film_features(["A (1990)"], ["B"], known="B"), "known is 'B'; expected a sequence"),
    (lambda: new_items.film_features(["A (1990)"], ["B"], years=2000), "years is 2000"),
    (lambda: new_items.expected_place([2.0], 3, k=1), "scores"),
    (lambda: new_items.expected_place([np.nan, 0.5], 3, k=1), "scores"),
    (lambda: new_items.expected_place([0.5 + 1j], 3, k=1), "scores"),
    (lambda: GammaPrior(1, 1).mean([1, 2, 3], [1, 2]), r"days has shape \(2,\); expected \(3,\) numbers"),
    (lambda: new_items.new_by_time([[0, 1]], 0.5), "ratings is .*expected Interactions"),
    (lambda: new_items.new_by_time(tiny(), 0.7, length=0.3, liked="7"), "liked is '7'"),
    (lambda: new_items.new_by_time(tiny(), 0.7, length=0.3, core=0), "core is 0"),
    (lambda: feature_tables([[0, 1]], np.zeros((4, 1))), "train is .*expected Interactions"),
    (lambda: feature_tables(tiny(), np.zeros((4, 1)), ids=-1), "ids is -1"),
    (lambda: feature_tables(tiny(), np.zeros((4, 1)), look=1), "look is 1"),
    (lambda: served_items([[1.0]], [[1.0]], torch.ones(1, 1), [True]), "rows is .*expected a tensor"),
    (lambda: new_items.expected_place([0.5], 1, k=1), "width"),
    (lambda: new_items.expected_place([0.5], 3), "k"),
    (lambda: GammaPrior(0.0, 1.0), "shape"),
    (lambda: GammaPrior.fit([0, 0], [1, 1]), "counts has no rating"),
    (lambda: GammaPrior.fit([1, 0.5], [1, 1]), "counts"),
    (lambda: GammaPrior.fit([1, 0], [1, 0]), "days has the entry 0"),
    (lambda: GammaPrior(1, 1).mean([-1], [1]), "counts has the entry -1"),
    (lambda: new_items.first_times(Interactions([0], [0], n_users=1, n_items=1)), "pairs has no times"),
    (lambda: new_items.new_by_time(tiny(), 0.7, length=0.5), "length"),
    (lambda: new_items.new_by_time(tiny(), 0.7, length=0.3, core=9), "0 users"),
    (lambda: feature_tables(tiny(), np.zeros((4, 1)), drop=1.0), "drop"),
    (lambda: feature_tables(tiny(), np.zeros((3, 1))), "features"),
    (lambda: served_items(torch.ones(2, 1), [[1.0], [1.0]], torch.ones(1, 1), [0, 1]), "new"),
)


def test_the_prior_of_items_with_very_different_days_is_the_most_likely_one() -> None:
    counts, days = np.array([5, 3] + [0] * 20), np.array([0.1] * 2 + [3000.0] * 20)
    found = GammaPrior.fit(counts, days)

    def likelihood(shape: float, rate: float) -> float:
        return float(stats.nbinom.logpmf(counts, shape, rate / (rate + days)).sum())

    best = likelihood(found.shape, found.rate)
    grid = [(found.shape * a, found.rate * b) for a in (0.5, 0.99, 1, 1.01, 2) for b in (0.01, 0.1, 0.99, 1, 1.01, 10)]
    assert best >= max(likelihood(*at) for at in grid) - 1e-9
