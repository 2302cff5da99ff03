"""PRACTICE-3: its pieces by hand, and what its smoke run shows."""

import numpy as np
import pytest

from course_lib import experiments
from course_lib.experiments.practice import new_films
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds


@pytest.fixture(scope="module")
def smoke() -> experiments.Result:
    """The smoke run: one cut, lists and three towers."""
    return experiments.run("PRACTICE-3", progress=False)


def test_hits_by_hand() -> None:
    test = Interactions([0, 0, 2], [1, 2, 0], n_users=3, n_items=3)
    found = new_films.judged(np.array([[1, 0], [0, 1], [1, 2]]), test)
    assert (found.people.tolist(), found.hits.tolist(), found.tests.tolist()) == ([0, 2], [1, 0], [2, 1])
    assert found.recall() == 0.25


def test_what_is_known_at_a_cut_is_earlier() -> None:
    at = new_films.moment("movietweetings", 0.6)
    assert at.train.times.max() < at.cut <= at.later.times.min() and at.later.times.max() < at.end
    assert not at.train.col_counts[at.new].any() and (at.first[at.new] >= at.cut).all()
    assert at.before.times.max() < at.cut and (at.first_before < at.cut).all()
    floor = new_films.rates(at, new_films.priors("movietweetings", 0.6), "floor", at.cut)
    assert (floor[at.new] == 0.05).all() and (floor[~at.new] > 0.05).all()


@pytest.mark.parametrize("daily", [False, True])
def test_what_a_day_is_to_find_is_not_known_that_day(daily: bool) -> None:
    day, shape, none = new_films.DAY, {"n_users": 1, "n_items": 12}, np.zeros(12, dtype=bool)
    train = Interactions([0], [0], **shape, times=[0.0])
    later = Interactions([0, 0], [10, 11], **shape, times=[11.5 * day, 10.5 * day])
    at = new_films.Moment(
        train, later, none, train, 10 * day, 12 * day, np.zeros(12), before=train, before_new=none, first_before=none
    )
    films = (np.arange(12) > 9)[:, None] * 1.0
    found = new_films.served(np.ones((1, 1)), films, at, None, "floor", weight=0.0, daily=daily)
    assert found["all"].recall() == 1


def test_a_prior_puts_new_films_above_the_floor_of_nothing() -> None:
    at, fitted = new_films.moment("movietweetings", 0.6), new_films.priors("movietweetings", 0.6)
    early, late = (new_films.rates(at, fitted, "one prior", at.cut + days * new_films.DAY) for days in (0, 9))
    assert len(set(early[at.new])) == 1  # before its first rating each new film has one rate
    silent = at.new & (at.everybody.col_counts == 0)
    assert (late[silent] <= early[silent]).all()


def test_the_smoke_run_shows_features_and_a_list_that_knows_more(smoke: experiments.Result) -> None:
    def new(model: str) -> float:
        return smoke.mean(new_films.NEW, model=model)

    assert new("genres and year") > 5 * new(new_films.TABLE)
    assert new(new_films.ORACLE) > new(new_films.LIST) > new(new_films.NEWEST)
    place, said = (smoke.mean(metric, model=new_films.TABLE) for metric in ("place", "expected place"))
    assert place == pytest.approx(said, rel=0.1)
    [row] = smoke.select(model=new_films.ORACLE, metric=new_films.NEW)
    hits, tests = (np.array([int(one, 36) for one in row[key]]) for key in ("hits", "tests"))
    assert (hits <= tests).all() and row["value"] == pytest.approx((hits / tests).mean())
