"""The hero of the chapter: both ways give the number of the library, and the square has a cell for each pair."""

from __future__ import annotations

import re

import numpy as np
import pytest
import words

from course_lib import gramians
from course_lib.lessons.gramian_estimators.two_matrices import MOST, STORED, TwoMatrices
from course_lib.lessons.shared.widgets.base import read
from course_lib.lessons.shared.widgets.tables import unpack
from tests.lessons.every import printed
from tests.lessons.gramian_estimators import make_two_matrices

ROWS = read(STORED)


def sides(size: int) -> list[np.ndarray]:
    """The first rows of both sides."""
    return [unpack(ROWS[side])[:size] for side in ("left", "right")]


@pytest.mark.seconds
def test_the_stored_examples_are_those_of_the_model_of_the_chapter() -> None:
    found = make_two_matrices.data()
    assert found["all"] == ROWS["all"]
    for side in ("left", "right"):  # float32: a processor may round an entry otherwise
        np.testing.assert_allclose(unpack(found[side]), unpack(ROWS[side]), atol=0.05)


@pytest.mark.parametrize("size", [2, 17, MOST])
def test_both_ways_give_the_gravity_of_the_library(size: int) -> None:
    shown = TwoMatrices(size=size)
    left, right = sides(size)
    gravity = words.number(float(gramians.gravity(left, right)))
    assert f"examples is {gravity}" in shown.summary()
    assert f"means give {gravity}," in TwoMatrices(size=size, way="matrices").summary()
    [row] = [row for row in shown.table()[1] if row[0] == str(size)]
    assert row[2] == row[3] == gravity


def test_there_is_a_cell_for_each_pair_and_for_each_mean() -> None:
    for size in (5, MOST):
        picture = TwoMatrices(size=size).picture()
        paths = {
            look: re.findall(rf'class="{look}" d="([^"]*)"', picture) for look in ("cw-cells-pairs", "cw-cells-means")
        }
        cells = {look: sum(map(int, re.findall(r"h(\d+)", "".join(found)))) / 5 for look, found in paths.items()}
        assert cells == {"cw-cells-pairs": size**2, "cw-cells-means": 2 * 16**2}


def test_the_same_in_python_prints_one_number_twice() -> None:
    said, names = printed(TwoMatrices(size=30).python())
    first, second = said.split()[:2]
    assert first == second and names["shown"].size == 30
