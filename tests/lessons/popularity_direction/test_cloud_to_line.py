"""The hero of the chapter: its places, correlations and shares are those of the training."""

from __future__ import annotations

import re

import numpy as np
import pytest

from course_lib.lessons.popularity_direction import films, make_cloud_to_line
from course_lib.lessons.popularity_direction.cloud_to_line import LAWS, PASSES, STORED, CloudToLine
from course_lib.lessons.shared.widgets.base import read
from tests.lessons.every import printed

KEPT = read(STORED)


@pytest.mark.seconds
def test_the_stored_training_is_that_of_the_chapter() -> None:
    found = make_cloud_to_line.run("uniform")
    np.testing.assert_allclose(found["r"], KEPT["laws"]["uniform"]["r"], atol=0.01)
    np.testing.assert_allclose(found["share"], KEPT["laws"]["uniform"]["share"], atol=0.01)
    np.testing.assert_allclose(found["places"][5], KEPT["laws"]["uniform"]["places"][5], atol=1)


def test_a_cloud_becomes_a_line_and_opens_again() -> None:
    spread = [np.array(places)[:, 1].std() for places in KEPT["laws"]["uniform"]["places"]]
    line = int(np.argmin(spread))
    assert PASSES[line] == 20 and spread[line] < 0.05 * min(spread[0], spread[-1])


def test_films_are_the_most_popular_first_and_places_are_in_standard_deviations() -> None:
    counts = KEPT["counts"]
    assert counts == sorted(counts, reverse=True) and counts[0] == films.train().col_counts.max()
    _, items = films.normal_tables(3)
    np.testing.assert_allclose(make_cloud_to_line.places(items)[:, 0].std(), 1)


@pytest.mark.parametrize("law", LAWS)
def test_the_picture_has_the_most_popular_film_where_it_is(law: str) -> None:
    for moment, places in enumerate(KEPT["laws"][law]["places"]):
        drawn = re.findall(
            r'class="cw-star"[^>]*translate\(([\d.]+)px, ([\d.]+)px\)', CloudToLine(moment=moment, law=law).picture()
        )
        x, y = map(float, drawn[-1])  # drawn last, upon the others
        along, beside = (place / make_cloud_to_line.UNIT for place in places[0])
        assert x == pytest.approx(14 + (min(along, 9.6) + 3.4) / 13 * 732, abs=0.1)
        assert y == pytest.approx(165 - min(max(beside, -3.4), 3.4) / 3.4 * 149, abs=0.1)
        assert len(drawn) == len(KEPT["counts"])


def test_the_same_in_python_prints_the_numbers_of_the_summary() -> None:
    shown = CloudToLine(moment=4)
    said, names = printed(shown.python())
    assert names["r"] == pytest.approx(KEPT["laws"]["uniform"]["r"][4], abs=0.01)
    assert f"correlation of {names['r']:.2f}" in shown.summary() and said.startswith(f"{names['r']:.2f}")
