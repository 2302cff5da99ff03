"""The findings on the page's own models, on numbers whose answer is known."""

from __future__ import annotations

import pytest

from course_lib.lessons.gauge_freedom import findings as about
from course_lib.lessons.shared.findings import FindingError


def test_one_film_in_common_refutes_that_there_is_none() -> None:
    assert about.models_name_other_films.evidence([[1, 2], [3, 4], [5, 6]]).support == "both models, one seed each"
    with pytest.raises(FindingError, match="model 3"):
        about.models_name_other_films.evidence([[1, 2], [3, 4], [2, 6]])


def test_the_mean_over_gauges_is_compared_with_half() -> None:
    below = about.hundred_gauges_keep_less_than_half.evidence([40.0, 44.0, 42.0])
    assert below.cases["MovieTweetings"].value == pytest.approx(8)
    with pytest.raises(FindingError, match="hundred-gauges"):
        about.hundred_gauges_keep_less_than_half.evidence([40.0, 90.0, 42.0])  # the interval reaches 50


def test_gauges_that_move_nothing_refute_that_signs_lose_neighbours() -> None:
    assert about.sign_codes_lose_neighbours.evidence([80.0, 84.0, 82.0])
    with pytest.raises(FindingError, match="sign-codes"):
        about.sign_codes_lose_neighbours.evidence([100.0, 100.0, 100.0])


def test_firmness_is_compared_table_by_table() -> None:
    few, more = [60.0, 64.0, 62.0], [80.0, 84.0, 83.0]
    found = about.more_rows_hold_firmer.evidence({"10 rows": few, "20 rows": more})
    assert list(found.cases) == ["20 rows against 10 rows"]
    assert about.few_rows_are_nearly_free.evidence(few, 99.0)
    with pytest.raises(FindingError, match="more-rows"):
        about.more_rows_hold_firmer.evidence({"10 rows": more, "20 rows": few})


def test_one_firm_short_table_refutes_that_the_films_are_firmer() -> None:
    assert about.films_are_firmer_than_few_rows.evidence(0.03, [0.001, 0.002])
    with pytest.raises(FindingError, match="films-are-firmer"):
        about.films_are_firmer_than_few_rows.evidence(0.03, [0.001, 0.04])
