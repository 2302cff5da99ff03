"""The chapter: what its towers, lists, priors and its interactive do, on its own data and by hand."""

from inspect import unwrap

import numpy as np
import pytest

from course_lib import experiments
from course_lib.lessons.new_films import films, findings
from course_lib.lessons.new_films.sliding_film import SlidingFilm
from course_lib.lessons.shared.findings import Finding, holm
from course_lib.new_items import new_by_time
from tests.lessons.every import printed
from tools.findings import from_results


@pytest.mark.seconds
def test_new_films_are_in_no_batch_and_have_no_earlier_rating() -> None:
    at, ratings = films.at_cut(), films.ratings()
    earlier = ratings.select(ratings.times < at.cut)
    assert at.new.sum() > 100 and not at.train.col_counts[at.new].any()
    assert not np.isin(earlier.items, at.items[at.new]).any()


@pytest.mark.seconds
def test_a_list_that_knows_the_future_finds_most() -> None:
    at = films.at_cut()
    rng = np.random.default_rng(0)
    ones, to_come = np.ones((at.train.n_users, 1)), at.later.col_counts[:, None].astype(float)
    chance = films.recall_of_new(ones, np.zeros((at.train.n_items, 1)))
    drawn = films.recall_of_new(*(rng.standard_normal((rows, 8)) for rows in at.train.shape))
    assert abs(chance - films.TOP / at.new.sum()) < 1e-9 and abs(drawn - chance) < 0.02
    assert films.recall_of_new(ones, to_come) > 5 * chance


@pytest.mark.seconds
def test_films_of_this_year_are_expected_to_get_more_ratings() -> None:
    priors = films.priors()
    means = [prior.shape / prior.rate for prior in priors.values()]
    assert means[-1] > 5 * means[0] and all(prior.shape < 1 for prior in priors.values())


POOLED = [one for one in vars(findings).values() if isinstance(one, Finding) and one.rests_on]


def test_each_finding_fails_at_one_cut_or_more_where_cuts_are_not_pooled() -> None:
    """The page says so of the section on four cuts, since pooling was chosen after the run."""
    stored = experiments.load_result("PRACTICE-3", "laptop")
    each = {(one.name, cut): unwrap(one.function)(stored, (cut,)) for one in POOLED for cut in findings.CUTS.values()}
    p = dict(zip(each, holm([case.p for case in each.values()]), strict=True))
    cuts = findings.CUTS.values()
    everywhere = [one for one in POOLED if all(each[one.name, cut].holds and p[one.name, cut] < 0.05 for cut in cuts)]
    assert everywhere == [findings.untrained_rows_stand_by_chance], "which stands in the section before"
    assert len(POOLED) == 9


def test_a_support_over_people_says_that_there_are_several_trainings() -> None:
    supports = [from_results(one).support for one in POOLED]
    assert not any("one seed" in support for support in supports)
    assert sum("interval over people, each a mean over 5 seeds" in support for support in supports) == 7


@pytest.mark.seconds
def test_people_who_count_at_several_cuts_make_the_intervals_a_little_narrow() -> None:
    """With the sum of each person's deviations in place of single ones the intervals are wider, by less than 5 %."""
    stored, ratings = experiments.load_result("PRACTICE-3", "laptop"), films.ratings()
    who = []
    for cut in findings.CUTS.values():
        at = new_by_time(ratings, cut)
        who.append(at.users[at.later.select(at.new[at.later.items]).row_counts > 0])
    _, person = np.unique(np.concatenate(who), return_inverse=True)
    assert len(person) > person.max() + 1
    change = findings.pooled(stored, findings.LIST) - findings.pooled(stored, findings.IDS)
    off = change - change.mean()
    clustered = np.sqrt((np.bincount(person, off) ** 2).sum()) / len(off)
    assert 1 < clustered / (off.std(ddof=1) / np.sqrt(len(off))) < 1.05


# ==== the interactive of the chapter: one script draws it on the page and on paper

LAST = 9  # the stored moment at which the training is over


def test_its_words_are_those_of_its_state() -> None:
    film = SlidingFilm()
    assert film.moment == LAST and film.summary().startswith("After 760 batches, in a film tower that reads genres")
    film.reads, film.moment = "nothing", 0
    assert "stands where it was drawn" in film.summary() and film.summary().startswith("After 0 batches")


def test_a_film_moves_with_features_and_stays_without() -> None:
    models = SlidingFilm().film["models"]
    places = {name: np.array([now[-3:] for now in one["map"]]) for name, one in models.items()}
    assert (places["nothing"] == places["nothing"][0]).all()
    assert (np.abs(places["features"][-1] - places["features"][0]).max(axis=1) > 20).all()


def test_paper_holds_the_map_and_the_five_films() -> None:
    film = SlidingFilm(chosen=2)
    picture = film.picture()
    assert picture.count("<svg") == 1 and picture.count("<li") == 5
    assert film.film["titles"][film.film["models"]["features"]["near"][-1][1][0]] in picture


@pytest.mark.seconds
def test_the_same_in_python_is_python_that_runs() -> None:
    shown = SlidingFilm()
    share = printed(shown.python())[0].partition("%")[0]
    assert f"hold {share} % of the pairs on new films" in shown.summary()
