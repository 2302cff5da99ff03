"""What the pages measure on the films: starts, steps, projections, the gradient of a user."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib import popularity
from course_lib.lessons.popularity_direction import films
from course_lib.lessons.popularity_direction import findings as about
from course_lib.lessons.popularity_direction.films import Angles
from course_lib.lessons.shared.findings import Finding, FindingError


def test_every_person_and_film_has_a_training_pair() -> None:
    data = films.train()
    assert data.row_counts.min() >= 1 and data.col_counts.min() >= 1


def test_a_seed_gives_one_model() -> None:
    first, again, other = (films.factorise(1, seed=seed)[1] for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_no_pass_is_the_start() -> None:
    for ours, theirs in zip(films.factorise(0, seed=2), films.normal_tables(2), strict=True):
        assert np.array_equal(ours, theirs)


def test_sgd_leaves_the_mean_film_where_it_was_and_adam_moves_it() -> None:
    still, moved = (films.descend(films.mf(), 1, optimiser()) for optimiser in (films.sgd, films.adam))
    assert still.moves[-1] < 1e-12 < 1e-2 < moved.moves[-1]
    assert moved.sides[-1] == pytest.approx(films.centre(moved.tables[1]))


def test_a_shift_of_the_start_is_added_to_every_number() -> None:
    plain, shifted = (films.lightgcn(0, shift=shift).items.detach() for shift in (0.0, 0.1))
    assert torch.allclose(shifted - plain, torch.tensor(0.1))
    assert abs(float(plain.mean())) < 0.01


def test_the_first_axis_is_a_singular_vector_with_the_sign_of_popularity() -> None:
    data = films.without_head()
    axis, pull = films.first_axis(data), popularity.pull_matrix(data.labels())
    again = pull.T @ (pull @ axis)
    assert again @ axis / np.linalg.norm(again) == pytest.approx(1)
    assert np.linalg.norm(pull @ axis) == pytest.approx(np.linalg.norm(pull, 2))
    assert axis @ (data.col_counts - data.col_counts.mean()) > 0


def test_without_the_head_no_film_is_had_by_more_than_the_share() -> None:
    data, whole = films.without_head(0.05), films.train()
    assert data.n_items < whole.n_items
    assert data.col_counts.max() <= 0.05 * whole.n_users


def test_where_all_items_lie_on_a_line_all_people_have_the_same_first_film() -> None:
    people, places = np.array([[1.0], [2.0], [0.5], [-1.0]]), np.array([[0.0], [3.0], [-2.0]])
    assert films.same_first_film(people, places) == pytest.approx(3 / 4)


def test_at_zero_the_step_is_half_of_the_ideal_direction() -> None:
    _, items = films.normal_tables()
    found = films.angles(np.zeros((films.train().n_users, films.WIDTH)), items)
    assert found.ideal == pytest.approx(1)
    assert found.length == pytest.approx(1 / 2)
    assert found.popular == pytest.approx(found.ideal_popular)


def test_a_users_step_is_that_of_autograd() -> None:
    users, items = films.normal_tables(scale=0.5)
    person = 3
    users[:] = users[person]  # the medians are those of one vector, and the lengths of one user's films differ
    mine = np.zeros(len(items), dtype=bool)
    mine[films.train().items_of(person)] = True
    vector = torch.tensor(users[person], requires_grad=True)
    scores = torch.tensor(items) @ vector
    loss = -torch.nn.functional.logsigmoid(scores[mine][:, None] - scores[~mine]).mean()
    (slope,) = torch.autograd.grad(loss, vector)
    ideal = items[mine].mean(0) - items[~mine].mean(0)
    expected = -slope.numpy() @ ideal / (np.linalg.norm(slope.numpy()) * np.linalg.norm(ideal))
    only = films._angles_of(mine, users[person], items, np.ones(films.WIDTH) / 8)
    assert only.ideal == pytest.approx(expected)
    assert only.length == pytest.approx(np.linalg.norm(slope.numpy()) / np.linalg.norm(ideal))


# ---- findings of the pages' own runs

FEW = Angles(ideal=0.95, popular=0.1, ideal_popular=0.8, length=0.05)
MANY = Angles(ideal=0.5, popular=0.9, ideal_popular=0.8, length=0.4)


@pytest.mark.parametrize(
    ("found", "holds", "fails"),
    [
        (about.training_raises_r_of_mf, ([0.8, 0.9], [0.1, 0.2]), ([0.1, 0.2], [0.8, 0.9])),
        (about.training_raises_r_of_films, ([0.8, 0.9], [0.1, 0.2]), ([0.1, 0.2], [0.8, 0.9])),
        (about.formula_beats_mf, (0.98, [0.8, 0.81]), (0.7, [0.8, 0.81])),
        (about.one_list_for_most, ([0.95, 0.951],), ([0.5, 0.6],)),
        (about.lists_part, ([0.94, 0.95], [0.1, 0.1]), ([0.1, 0.1], [0.94, 0.95])),
        (about.r_falls_later, ([0.98, 0.98], [0.8, 0.81]), ([0.8, 0.81], [0.98, 0.98])),
        (about.growth_is_predicted, ([0.95, 1.051],), ([0.5, 0.6],)),
        (about.shifted_start_beats_training, ([0.9, 0.9], [0.8, 0.8]), ([0.8, 0.8], [0.9, 0.9])),
        (about.fans_meet_the_mean_user, ([0.9, 0.9], [0.1, 0.1]), ([0.1, 0.1], [0.9, 0.9])),
        (about.the_shelf_is_widest, ([0.99, 0.99], [0.0, -0.01]), ([0.99, 0.99], [0.8, -0.8])),
    ],
    ids=lambda given: given.name if isinstance(given, Finding) else "",
)
def test_a_finding_of_one_data_set(found: Finding, holds: tuple[object, ...], fails: tuple[object, ...]) -> None:
    assert found.evidence(*holds).support.startswith("one data set, 2 seeds")
    with pytest.raises(FindingError, match=found.name):
        found.evidence(*fails)


@pytest.mark.parametrize(
    ("found", "holds", "fails"),
    [
        (about.mean_film_is_unpopular, ([-0.9, -0.8],), ([0.9, 0.8],)),
        (about.mean_film_is_popular, ([0.9, 0.8],), ([-0.9, -0.8],)),
        (about.widest_is_popularity, ([0.9, 0.9],), ([0.6, 0.6],)),
        (about.mean_user_follows, ([0.98, 0.98],), ([-0.9, -0.9],)),
        (about.popular_negatives_lower_r, ([0.8, 0.8], [0.5, 0.5]), ([0.5, 0.5], [0.8, 0.8])),
        (about.popular_negatives_turn_the_widest, ([0.9, 0.9], [0.6, 0.6]), ([0.6, 0.6], [0.9, 0.9])),
        (about.gradient_has_vanished, ([FEW, FEW],), ([MANY, MANY],)),
        (about.last_step_is_less_popular, ([FEW, FEW],), ([MANY, MANY],)),
        (about.half_way_it_is_aligned, ([FEW, FEW],), ([MANY, MANY],)),
        (about.the_axis_comes_and_goes, ([[0.1, 0.9, 0.2]] * 2,), ([[0.1, 0.9, 0.8]] * 2,)),
        (
            about.reading_outlasts_dominance,
            ([[0.9, 0.2]] * 2, [[0.9, 0.8]] * 2),
            ([[0.9, 0.8]] * 2, [[0.9, 0.2]] * 2),
        ),
    ],
    ids=lambda given: given.name if isinstance(given, Finding) else "",
)
def test_a_finding_of_several_cases(found: Finding, holds: tuple[object, ...], fails: tuple[object, ...]) -> None:
    """Each case is a name in a mapping; the sentence fails as soon as one of them does."""
    assert found.evidence(*({"one": given, "two": given} for given in holds)).cases.keys() == {"one", "two"}
    with pytest.raises(FindingError, match="fails in two"):
        found.evidence(*({"one": good, "two": bad} for good, bad in zip(holds, fails, strict=True)))
