"""The films of the pages: gauges keep every prediction, and the weakest direction does to lengths what it says."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import gauge, geometry
from course_lib.lessons.gauge_freedom import films


def test_the_model_keeps_all_of_its_own_neighbours_and_few_of_those_of_a_stretched_one() -> None:
    _, movies = films.model()
    assert (films.kept(movies) == 1).all()
    shares = [films.kept(films.stretched(seed)).mean() for seed in range(10)]
    assert films.chance() < min(shares) and max(shares) < 0.7


def test_turns_and_lengths_keep_all_neighbours() -> None:
    """What a cosine does not feel: a rotation, and the lengths of the rows."""
    _, movies = films.model()
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((films.WIDTH, films.WIDTH)))[0]
    assert (films.kept(movies @ turn) == 1).all()
    assert (films.kept(geometry.normalise(movies)) == 1).all()


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


def test_rows_off_the_sphere_and_changes_that_are_not_positive_are_refused() -> None:
    rows = films.random_unit_rows(20, 0)
    with pytest.raises(ValueError, match="length 1"):
        films.nearly_kept(2 * rows, [0.1])
    with pytest.raises(ValueError, match="change"):
        films.nearly_kept(rows, [0.0])
