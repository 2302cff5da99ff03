"""The chapter on the popularity direction: proofs, what it measures on the films, its findings, figures and quiz."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch
from matplotlib.figure import Figure
from scipy import stats

from course_lib import popularity
from course_lib.lessons.popularity_direction import broken as broken_bpr
from course_lib.lessons.popularity_direction import films, plots, proofs, quiz
from course_lib.lessons.popularity_direction import findings as about
from course_lib.lessons.popularity_direction.films import Angles
from course_lib.popularity import TripleLaw
from tests.lessons.every import explanation

# ---- wrong code is caught


def keeps_its_own(labels: Any, law: TripleLaw | None = None) -> Any:
    """Collisions kept, whatever the law says."""
    law = law or TripleLaw()
    return pull(labels, TripleLaw(law.users, law.negatives, "keep"))


def forgets_users(labels: Any, law: TripleLaw | None = None) -> Any:
    law = law or TripleLaw()
    return pull(labels, TripleLaw("pairs", law.negatives, law.collision))


def popular_positives(labels: Any, law: TripleLaw | None = None) -> Any:
    """The positive role without skips."""
    positives, negatives = roles(labels, law)
    return labels.sum(0) + 0 * positives, negatives


pull, roles = popularity.pull_matrix, popularity.expected_roles


def lopsided(users: Any, items: Any, key: tuple[int, int, int], bias: Any = None) -> sp.Expr:
    """f(<e_u, e_i> - 2 <e_u, e_j>), no function of the margin: it conserves nothing, and its pull is another."""
    u, i, j = key
    return sp.expand(users[u, :].dot(items[i, :] - 2 * items[j, :]))


def too_far(*_: Any) -> popularity.DirectionError:
    return popularity.DirectionError(1.0, 1.0, 0.5)


def too_small(*_: Any) -> popularity.ChanceLaw:
    return popularity.ChanceLaw(0.1, 0.1)


P = proofs
WRONG = [
    (popularity, "pull_matrix", lambda f: keeps_its_own, [P.enumerate_laws_of_negatives]),
    (popularity, "pull_matrix", lambda f: forgets_users, [P.enumerate_laws_of_negatives]),
    (popularity, "pull_matrix", lambda f: lambda labels, law=None: -f(labels, law), [P.enumerate_mean_user]),
    (popularity, "expected_roles", lambda f: popular_positives, [P.enumerate_laws_of_negatives, P.enumerate_mean_user]),
    (popularity, "direction_error", lambda f: too_far, [P.enumerate_direction_error]),
    (popularity, "double_dipping_law", lambda f: too_small, [P.prop_double_dipping]),
    (P, "_margin", lambda f: lopsided, [P.thm_bpr_conservation, P.prop_item_pull]),
]


# ---- counterexamples


def test_two_tastes_in_floating_point() -> None:
    """The exact argument (odd against even) and numpy's singular vectors say the same."""
    pull_matrix = popularity.pull_matrix(broken_bpr.TWO_TASTES.astype(float))
    _, sizes, right = np.linalg.svd(pull_matrix)
    counts = broken_bpr.TWO_TASTES.sum(0).astype(float)
    assert abs(np.corrcoef(right[0], counts)[0, 1]) < 1e-12
    found = broken_bpr.taste_beats_popularity()
    assert sizes[0] == pytest.approx(found.actual) and found.actual > 2 * found.claimed


def test_numbers_that_the_chapter_quotes() -> None:
    assert broken_bpr.one_percent().actual == Fraction(1, 4)
    assert broken_bpr.popular_positives_weigh_less().actual == sp.Rational(1, 5)
    assert broken_bpr.sign_steps().actual < 0
    drifts = broken_bpr.below_average().actual
    assert (drifts < 0).sum() > len(drifts) / 2 and drifts.sum() == 0  # more than half are pushed more than pulled


def test_adams_first_step_counts_items_and_a_step_of_sgd_leaves_their_sum() -> None:
    """Proposition on the mean item, (b): four items at 0 in one dimension, one user at 1, the pulls of `sign_steps`."""
    pulls = torch.tensor([6.0, -2, -2, -2], dtype=torch.float64)  # one head item, three tail items
    moved = {}
    for name, kind in (("sgd", torch.optim.SGD), ("adam", torch.optim.Adam)):
        items = torch.zeros(4, dtype=torch.float64, requires_grad=True)
        optimiser = kind([items], lr=0.1, **({"eps": 0.0} if name == "adam" else {}))
        (-(items * pulls).sum()).backward()
        optimiser.step()
        moved[name] = float(items.sum().detach())
    assert moved["sgd"] == pytest.approx(0, abs=1e-12)
    assert moved["adam"] == pytest.approx(float(broken_bpr.sign_steps(Fraction(1, 10)).actual), abs=1e-12)


# ==== what the pages measure on the films: starts, steps, projections, the gradient of a user


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


def each(one: tuple[Any, ...], two: tuple[Any, ...]) -> tuple[Any, ...]:
    """Each argument as a mapping from names to cases: the sentence fails as soon as one of them does."""
    return tuple({"one": first, "two": second} for first, second in zip(one, two, strict=True))


# (a finding, what it holds of, what it fails of), where each argument is that of one case
OF_EACH_CASE = [
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
    (about.reading_outlasts_dominance, ([[0.9, 0.2]] * 2, [[0.9, 0.8]] * 2), ([[0.9, 0.8]] * 2, [[0.9, 0.2]] * 2)),
]
FINDINGS = [
    *((found, each(holds, holds), each(holds, fails)) for found, holds, fails in OF_EACH_CASE),
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
]


# ==== the figures of the chapter on the popularity direction

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "axis_growth": lambda: plots.axis_growth(
        [1, 2, 3], {"first": [1.0, 2.0, 4.0], "second": [1.0, 1.2, 1.5]}, {"first": [1.0, 2.1, 4.4]}
    ),
    "chance_law": lambda: plots.chance_law([0.1, 0.2, 0.3, 0.2], [0.15, 0.22, 0.3], marks={"shuffled": 0.2}),
    "fan_means": lambda: plots.fan_means(
        [1, 3, 9, 80], {"at the start": [0.1, 0.1, 0.3, 0.9], "trained": [0.5, 0.6, 0.8, 0.9]}, 100
    ),
    "mean_item": lambda: plots.mean_item(
        {"SGD": [0.0, 1e-16], "Adam": [0.1, 0.2]}, {"SGD": [0.0, 0.0], "Adam": [-0.2, -0.4]}
    ),
    "one_list": lambda: plots.one_list([1, 2, 3], [0.1, 0.9, 0.8], [0.0, 0.9, 0.5], formula=0.98),
    "popularity_cloud": lambda: plots.popularity_cloud(
        np.arange(60.0).reshape(20, 3) % 7, np.arange(20), 0.1, groups=np.arange(20) % 2
    ),
    "projections": lambda: plots.projections(
        {"A": [0.1, 0.3, 0.2], "B": [1.0, 0.0, -1.0], "C": [0, 1, 2]}, [1, 5, 9], named={"Jaws": 0, "Alien": 2}
    ),
    "roles": lambda: plots.roles([1, 5, 9], {"uniform": [5, 5, 5], "popular": [1, 5, 8]}),
    "projection_panels": lambda: plots.projection_panels(
        {"MF": ([1, 2, 9], [0.1, -0.2, 0.8], "r = 0.9"), "null": ([1, 2, 9], [0.0, 0.1, 0.3], "r = 0.3")}
    ),
}


# ==== the quiz on the popularity direction: verdicts come from course_lib, and so do the numbers in the explanations


WRONG_FORMULAS = [
    (popularity, "double_dipping_law", lambda f: lambda c, d, r: f(c, 16, r), "null", "width"),
    (popularity, "pull_matrix", lambda f: lambda y, law: f(y, popularity.TripleLaw()), "first-axis", "law"),
    (popularity, "expected_roles", lambda f: lambda y, law: (f(y, law)[0], 0 * f(y, law)[1]), "pushed", "none"),
]


def test_the_numbers_in_the_explanations_on_the_direction() -> None:
    counts = quiz._power_law(quiz.ITEMS)
    few, many = (popularity.double_dipping_law(c, 16, 0.05).mean for c in (counts, np.repeat(counts, 10)))
    assert few == pytest.approx(0.14, abs=0.005) and "0.14" in explanation("popularity-direction", "null", "zero")
    assert many / few == pytest.approx(1 / 3, abs=0.02) and "a third" in explanation(
        "popularity-direction", "null", "more"
    )
    drawn = popularity.double_dipping_draws(counts, 16, 0.05, size=20_000, rng=np.random.default_rng(1))
    least = stats.t.isf(0.025, 238)
    share = (np.abs(drawn) > least / np.sqrt(238 + least**2)).mean()
    assert 0.5 < share < 0.7 and "more than half" in explanation("popularity-direction", "null", "significant")
    assert quiz.FANS / quiz.USERS == 1 / 100


def test_opposite_means_lie_away_from_popularity() -> None:
    """'Slightly away': the mean cosine of unseen means and e_pop is below 0 in the world of the first question."""
    labels = quiz._skewed(30, 12)
    items = quiz._model(labels, steps=60, centred=True)[1]
    axis = popularity.popularity_direction(items, labels.sum(0), 0.25)
    cosines = [quiz._cosine(items[row == 0].mean(0), axis) for row in labels]
    assert np.mean(cosines) < 0 and "*away*" in explanation("popularity-direction", "conserved", "aligned")
