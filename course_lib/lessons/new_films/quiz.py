"""What is right in the quiz of the chapter: each function gives {answer id: is it right?}."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from course_lib.new_items import expected_place


def one_step() -> dict[str, bool]:
    """The move of a film with features (1, 1), after a step of size 1/2 with one film (1, 0) of gradient (2, -4)."""
    weights, told, new, g = np.zeros((2, 2)), np.array([1.0, 0]), np.array([1.0, 1]), np.array([2.0, -4])
    moved = (weights - 0.5 * np.outer(g, told)) @ new - weights @ new
    answers = {"none": [0, 0], "towards": [-1, 2], "away": [1, -2], "twice": [-2, 4]}
    return {name: bool(np.array_equal(move, moved)) for name, move in answers.items()}


def who_moves() -> dict[str, bool]:
    """Which films outside the batch move: the batch holds one horror film of 1979, and no film has a column of 1."""
    columns = ["Horror", "Comedy", "1979", "2013"]
    batch = np.array([1, 0, 1, 0])
    films = {
        "horror": {"Horror", "2013"},
        "same-year": {"Comedy", "1979"},
        "comedy": {"Comedy", "2013"},
        "row-only": set(),
    }
    return {name: bool(batch @ np.array([column in told for column in columns])) for name, told in films.items()}


def middle_of_the_list() -> dict[str, bool]:
    """The expected place among four films with the cosines .6, .2, -.2, -.6, in any dimension: 1 + F sums to 2."""
    places = {round(float(expected_place([0.6, 0.2, -0.2, -0.6], d, k=1)[0]), 9) for d in (2, 3, 8, 32)}
    answers = {"first": 1.0, "middle": 3.0, "last": 5.0}
    return {name: places == {value} for name, value in answers.items()}


def three_dimensions() -> dict[str, bool]:
    """In three dimensions a cosine is uniform on [-1, 1]: how often it is above 3/5."""
    chance = float(expected_place([0.6], 3, k=1)[1])
    answers = {"fifth": Fraction(1, 5), "two-fifths": Fraction(2, 5), "half": Fraction(1, 2)}
    return {name: math.isclose(float(value), chance) for name, value in answers.items()}


def after_ten_days() -> dict[str, bool]:
    """Shape 1/2 and rate 5 days: the expected rate after ten days without a rating, as a share of the first."""
    a, b = Fraction(1, 2), Fraction(5)
    share = (a / (b + 10)) / (a / b)
    answers = {"same": Fraction(1), "half": Fraction(1, 2), "third": Fraction(1, 3), "zero": Fraction(0)}
    return {name: value == share for name, value in answers.items()}
