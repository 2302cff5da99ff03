"""The chapter on gauges: its proofs can fail, what it measures on the films, its findings, figures and quiz."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from course_lib import gauge, geometry
from course_lib.arrays import as_table
from course_lib.checking import some
from course_lib.gauge import counting
from course_lib.lessons.gauge_freedom import films, plots, proofs, stretched_axes
from course_lib.lessons.gauge_freedom import findings as about
from tests.lessons.every import explanation
from tests.refused import refused

WRONG = [
    # the rank of the rows instead of that of their squares
    (counting, "squares", lambda f: lambda A: as_table(A, "A"), [proofs.enumerate_diagonal_gauge]),
    (gauge, "second_plane_gauge", lambda f: lambda a1, a2, b: f(a2, a1, a1), [proofs.enumerate_plane_gauge]),
]


def test_the_circle_is_the_circle():
    points = proofs.rational_circle()
    assert len(points) == len(set(points)) == 28 and all(x * x + y * y == 1 for x, y in some(points))


def test_the_second_derivative_explains_why_a_first_order_freedom_may_be_refused():
    """Along S = I + tE with b^T E b = 0 the second table grows by t^2 ||Eb||^2: measured against the formula."""
    E, b, t = np.array([[1.0, 0], [0, -1]]), np.array([1.0, 1]) / np.sqrt(2), 1e-4
    grown = b @ np.linalg.inv(np.eye(2) + t * E) @ b - 1
    assert grown / t**2 == pytest.approx((E @ b) @ (E @ b), rel=1e-6)


# ==== the films of the pages: gauges keep every prediction, and the weakest direction does to lengths what it says


def test_the_model_keeps_all_of_its_own_neighbours_and_few_of_those_of_a_stretched_one() -> None:
    _, movies = films.model()
    assert (films.kept(movies) == 1).all()
    shares = [films.kept(films.stretched(seed)).mean() for seed in range(10)]
    assert films.chance() < min(shares) and max(shares) < 0.7


def test_the_picked_gauge_is_the_worst_of_the_hundred() -> None:
    shares = [films.kept(films.stretched(seed)).mean() for seed in range(films.GAUGES)]
    assert int(np.argmin(shares)) == films.PICKED


def test_lengths_vary_as_much_as_they_may() -> None:
    rows = films.random_unit_rows(400, 0)
    small, edge = films.nearly_kept(rows, (1e-3, 10.0))
    assert small.lengths == pytest.approx(1e-3, rel=0.02)
    assert edge.lengths < 10 and edge.kept < small.kept  # S stays positive
    assert gauge.is_on_sphere(small.rows) and small.margin == pytest.approx(gauge.weakest_direction(rows)[0])


def test_a_free_table_needs_no_variation_of_its_lengths() -> None:
    """Sign codes leave a gauge: the lengths stay, and neighbours go."""
    codes = np.random.default_rng(0).choice([-0.25, 0.25], (200, films.WIDTH))
    [found] = films.nearly_kept(codes, [1e-6])
    assert found.lengths < 1e-9 and found.kept < 0.95


test_nonsense_is_named = refused(
    (lambda: films.nearly_kept(2 * films.random_unit_rows(20, 0), [0.1]), "length 1"),
    (lambda: films.nearly_kept(films.random_unit_rows(20, 0), [0.0]), "change"),
)


# ==== the findings on the page's own models, on numbers whose answer is known

FINDINGS = [
    (about.models_name_other_films, ([[1, 2], [3, 4], [5, 6]],), ([[1, 2], [3, 4], [2, 6]],)),
    # the interval reaches 50
    (about.hundred_gauges_keep_less_than_half, ([40.0, 44.0, 42.0],), ([40.0, 90.0, 42.0],)),
    (about.sign_codes_lose_neighbours, ([80.0, 84.0, 82.0],), ([100.0, 100.0, 100.0],)),
    (about.few_rows_are_nearly_free, ([60.0, 64.0, 62.0], 99.0), ([60.0, 64.0, 62.0], 61.0)),
    (about.more_rows_hold_firmer, ({"10": [60.0, 64.0], "20": [80.0, 84.0]},), ({"10": [80.0], "20": [60.0]},)),
    (about.films_are_firmer_than_few_rows, (0.03, [0.001, 0.002]), (0.03, [0.001, 0.04])),
]


# ==== the figures of the chapter on gauge freedom

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "circle_and_ellipse": lambda: plots.circle_and_ellipse([[1.0, 0.0], [0.5**0.5, 0.5**0.5]], [1.5**0.5, 0.5**0.5]),
    "free_dimensions": lambda: plots.free_dimensions({"any": ([0, 1, 2], [2, 1, 0])}, needed={"k": 2}),
    "hundred_gauges": lambda: plots.hundred_gauges([0.2, 0.4, 0.41], picked=0.2, chance=0.07),
    "neighbour_overlap": lambda: plots.neighbour_overlap(
        {"diagonal": ([0, 1], [1.0, 0.3]), "linear": ([0, 1], [1.0, 0.4])}, chance=0.02
    ),
    "on_the_circle": lambda: plots.on_the_circle([[0.6, 0.8]], [[0.8, 0.6]], [4 / 3, 3 / 4]),
    "scores_and_cosines": lambda: plots.scores_and_cosines(([0.0, 1.0], [0.0, 1.0]), ([0.2, -0.4], [0.5, 0.9])),
    "sphere_distances": plots.sphere_distances,
    "two_starts": lambda: plots.two_starts({"sphere": {"cosine": 0.3, "scores": 0.4}}, chance=0.02, x_label="share"),
}


# ==== the quiz of the chapter: course_lib decides its answers, and its numbers are right

NAME = "gauge-freedom"


WRONG_FORMULAS = [
    (gauge, "apply_gauge", lambda f: lambda A, B, d: (A * d, B * d), "what-changes", ""),
    (gauge, "apply_gauge", lambda f: lambda A, B, d: (A, B), "post-hoc", ""),
    (gauge, "keeps_norms", lambda f: lambda A, S, tol: True, "which-stretch", ""),
    (gauge, "linear_gauge_dimension", lambda f: lambda A: max(0, 4 - len(A)), "how-many-rows", ""),
    (gauge, "steck_objectives", lambda f: lambda X, A, B, decay: (f(X, A, B, decay=decay)[0],) * 2, "decay", ""),
    (geometry, "cosine_distance", lambda f: lambda a, b: f(a, b) ** 0.5, "distances", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    row = np.array([0.6, 0.8])
    assert f"{geometry.norm(row * [2, 0.5]):.2f}" in explanation(NAME, "which-stretch", "all")
    rows = np.random.default_rng(0).normal(size=(5, 4))
    assert gauge.linear_gauge_dimension(rows[:4]) == 6 and gauge.diagonal_gauge_dimension(rows[:4]) == 0
    assert gauge.linear_gauge_dimension(rows) == 5
    assert gauge.linear_gauge_dimension(np.random.default_rng(1).normal(size=(10, 4))) == 0
    assert f"{2 - math.sqrt(2):.2f}" in explanation(NAME, "distances", "metric")
    films = stretched_axes.StretchedAxes()  # "with six items in the plane the nearest neighbour already changes"
    before, after = (gauge.neighbours(rows, 1) for rows in (films.trained[0], films.moved[0]))
    assert len(films.items) == 6 and (before != after).any()


def test_the_family_of_stretches_changes_cosines() -> None:
    """The explanation says so; here for d_1^2 = 2: exact squares, one cosine before and after."""
    first, second = Fraction(2), (1 - Fraction(36, 100) * 2) / Fraction(64, 100)
    rows = np.array([[0.6, 0.8], [0.6, -0.8]])
    moved = rows * np.sqrt([float(first), float(second)])
    assert geometry.norm(moved) == pytest.approx([1, 1])
    assert geometry.cosine(*rows) == pytest.approx(-0.28) and geometry.cosine(*moved) == pytest.approx(0.44)
